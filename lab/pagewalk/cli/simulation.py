"""One run of a machine to its end: what the guest prints, its snapshot, its exit status and what it cost."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pagewalk import _machine, guest, native, summary, systems, writing
from pagewalk.cli.output import err, say, table
from pagewalk.cli.sheet import Shown
from pagewalk.cli.sheet import chosen as form_chosen
from pagewalk.cli.ticker import Expected, Ticker
from pagewalk.errors import BadInput, ExitStatus, Interrupted, RunFailed, RunLimit
from pagewalk.runner import NO_LIMIT, Progress, Stop

_WALK = "walk"
_TYPED_MOST = 16 << 20
"""How many bytes are typed on a guest's console."""


@dataclass
class Watched:
    """A machine that has run to its end, and how it ended."""

    machine: _machine.Machine
    stop: Stop
    rooted: bool = True
    """Whether the kernel was given an initial RAM file system."""

    @property
    def _panic(self) -> str | None:
        """Why Linux panicked, if it did."""
        return systems.panic(self.machine.printed(), rooted=self.rooted) if self.stop.kind == "power-off" else None

    @property
    def status(self) -> int:
        """The exit status that the command ends with."""
        if self.stop.kind == "power-off" and self._panic is None:
            return guest.exit_status(self.stop.status, self.machine.printed())
        return int(ExitStatus.LIMIT if self.stop.kind == "limit" else ExitStatus.FATAL)

    @property
    def refused(self) -> bool:
        """Our kernel did not begin with the program, and has said why."""
        return self.stop.kind == "power-off" and self.stop.status in guest.NOT_BEGUN

    def check(self) -> None:
        """Raises unless the guest powered off by itself."""
        if self.stop.kind == "limit":
            raise RunLimit(self.stop.reason)
        if self.stop.kind == "fatal":
            raise RunFailed(self.stop.reason)
        if (panic := self._panic) is not None:
            raise RunFailed(f"Linux panicked: {panic}")


def _typed(path: Path) -> bytes:
    """What is typed on the guest's console: the beginning of a file, which may be a device without an end."""
    try:
        if str(path) == "-":
            found = sys.stdin.buffer.read(_TYPED_MOST + 1)
        else:
            with path.open("rb") as stream:
                found = stream.read(_TYPED_MOST + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    if len(found) > _TYPED_MOST:
        say(err, f"{path}: only the first {_TYPED_MOST >> 20} MB are typed")
    return found[:_TYPED_MOST]


def _write_console(machine: _machine.Machine, shown: int) -> int:
    fresh = machine.printed(shown)
    sys.stdout.buffer.write(fresh)
    sys.stdout.buffer.flush()
    return shown + len(fresh)


@dataclass(frozen=True)
class Save:
    """A snapshot to write: the file, and the cycle at which to write it."""

    path: Path
    cycle: int

    def write(self, machine: _machine.Machine) -> None:
        """Writes it, if the machine has come to that cycle."""
        if machine.cycles < self.cycle:
            raise BadInput(
                f"{self.path}: not written: the run ended after {machine.cycles:,} cycles, before cycle {self.cycle:,}"
            )
        writing.write(self.path, machine.save())


def watch(
    machine: _machine.Machine,
    limit: int,
    *,
    quiet: bool = False,
    on_linux: bool = False,
    typed: Path | None = None,
    save: Save | None = None,
    until: int = NO_LIMIT,
    boot_limit: int = NO_LIMIT,
    expected: Expected | None = None,
) -> Watched:
    """Runs a machine to its end, to `limit` instructions or to the cycle `until`, both counted from reset.

    Linux's init must be ready within `boot_limit` instructions.

    What the guest prints appears as it does, unless `quiet`; `on_linux`, only what comes after init is ready, or all of
    it at the end if init never was. `typed` is a file with what is typed on the guest's console, `-` for standard
    input. `expected` finds out about how many instructions the run takes, if anyone waits long enough to be told.
    """
    quiet = quiet or form_chosen.form != "table"
    shown = len(machine.printed())
    waiting = on_linux
    if typed is not None:
        machine.type_in(_typed(typed))
    ticker = Ticker(expected)

    def show(*, ended: bool = False) -> None:
        nonlocal shown, waiting
        if quiet:
            return
        if waiting:
            printed = machine.printed()
            before = len(printed) - len(systems.output(printed))
            waiting = before == 0 and not ended
            shown = max(shown, before)
        if not waiting:
            shown = _write_console(machine, shown)

    def look(progress: Progress) -> bool:
        ticker.clear()
        show()
        if not quiet:
            ticker.show(progress)
        return True

    try:
        stop = native.go(
            machine, limit, look, until=until if save is None else min(save.cycle, until), boot_limit=boot_limit
        )
        if save is not None:
            show(ended=True)
            save.write(machine)
            stop = native.go(machine, limit, look, until=until, boot_limit=boot_limit)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {machine.instructions:,} instructions") from None
    finally:
        ticker.clear()
    show(ended=True)
    return Watched(machine, stop)


def print_summary(watched: Watched, title: str) -> None:
    """What the run cost, on standard error, so that a pipe gets the program's output alone."""
    if watched.refused:
        say(err, "the kernel did not begin with the program, so there are no costs of it")
        return
    counters = guest.program_counters(watched.machine.regions(), watched.machine.counters())
    err.print(
        table(
            title,
            ["what", ">count", "detail"],
            ([line.name, f"{line.count:,}", line.share] for line in summary.overview(counters, watched.machine.clock)),
        )
    )
    causes = summary.by_cause(counters)
    walked = counters.get("walk.cycles", 0)
    err.print(
        table(
            "by cause",
            ["cause", ">cycles", ">share", ">TLB misses", ">I-cache misses", ">D-cache misses"],
            (
                # The cycles of walks and write-backs are charged to the category that caused them.
                [row[0], *_cycles(row, share, walked), *(f"{count:,}" for count in row[2:])]
                for row, share in zip(causes, summary.shares(causes), strict=True)
            ),
        )
    )
    if walked and any(row[0] == _WALK and not row[1] for row in causes):
        say(err, f"({walked:,}): cycles of table walks, which are charged to the causes whose accesses missed")


def _cycles(row: tuple[str, int, int, int, int], share: str, walked: int) -> list[str | Shown]:
    """A cause's cycles and their share. The cycles of walks are in brackets: the rows of other causes have them."""
    if row[1]:
        return [f"{row[1]:,}", share]
    return [Shown(None, f"({walked:,})" if row[0] == _WALK and walked else ""), ""]
