"""The machine on this computer, through its binding."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pagewalk import _machine, snapshot, systems
from pagewalk.errors import BadInput, Interrupted
from pagewalk.machines import Machine
from pagewalk.observe import Observer
from pagewalk.paths import home, read_file
from pagewalk.runner import NO_LIMIT, Job, Progress, ResolvedMachine, RunResult, Sample, Stop, StopKind, Watch

_RESET = "power-off 0"
"""How the machine describes the stop of a board that was reset."""
_SLICE = 20_000_000
"""Cycles between two calls of `watch`: about a tenth of a second. They are not instructions, because a limit of
instructions issues the last ones one by one, which may take more cycles."""
_SNAPSHOT_MOST = 4 << 30
"""The size in bytes of the largest snapshot that is read."""


def load(job: Job) -> _machine.Machine:
    """A machine with the job's kernel loaded, before its first instruction; BadInput if something does not fit."""
    chosen: dict[str, str] = {} if job.protocol is None else {"protocol": job.protocol}
    try:
        return _machine.Machine(
            job.machine.config,
            job.kernel,
            job.kernel_name,
            job.initrd or None,
            job.command_line,
            job.causes or None,
            **chosen,
            firmware=job.firmware or None,
            disk=job.disk or None,
        )
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r}: not UTF-8") from None
    except ValueError as error:
        raise BadInput(str(error)) from None


def restore(path: Path) -> _machine.Machine:
    """The machine that a snapshot file holds; BadInput if the file is none, damaged, or of another version."""
    try:
        return _machine.Machine.restore(read_file(path, _SNAPSHOT_MOST), str(path))
    except UnicodeEncodeError as error:
        raise BadInput(f"{error.object!r}: not UTF-8") from None
    except ValueError as error:
        raise BadInput(str(error), hint="pagewalk exec --save makes one; another version's cannot be used") from None


def _has_started(machine: _machine.Machine) -> bool:
    """Whether Linux's init was ready. Without a console it has still marked the program's region."""
    return systems.is_ready(machine.printed()) or systems.PROGRAM_REGION in machine.regions()


def _reset_early(printed: bytes, words: str) -> str:
    """Why the run ended before init was ready. What the machine says ends with the log of a silent kernel."""
    if not words.startswith(_RESET):
        last = printed.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"init could not prepare the run: {last or words}"
    panic = systems.panic(printed) or systems.panic(words.encode())
    what = "Linux has reset the board before init was ready" if panic is None else f"Linux panicked: {panic}"
    return what + words.removeprefix(_RESET)


class _Boot:
    """A Linux that has not started its init yet. It goes on as long as it prints."""

    def __init__(self, machine: _machine.Machine, limit: int) -> None:
        self._limit = limit
        self._shown = len(machine.printed())
        self._end = machine.instructions + limit
        self.is_over = limit == NO_LIMIT

    def given_up(self, machine: _machine.Machine, words: str) -> Stop | None:
        """The end of a Linux that has been silent for too long; `words` are the machine's own about where it is."""
        if self.is_over:
            return None
        printed = machine.printed()
        if len(printed) > self._shown:
            self._shown, self._end = len(printed), machine.instructions + self._limit
        self.is_over = systems.is_ready(printed)
        if self.is_over or machine.instructions < self._end:
            return None
        first, _, log = words.partition("\n")
        new = " new" if self._shown else ""
        why = f"its console has shown nothing{new} for {self._limit:,} instructions (--boot-limit)"
        return Stop("limit", 0, f"{first}, and Linux had not started init by then: {why}\n{log}".rstrip())


def go(
    machine: _machine.Machine,
    limit: int,
    watch: Watch,
    *,
    sample: Callable[[], None] = lambda: None,
    every: int = 0,
    until: int = NO_LIMIT,
    boot_limit: int = NO_LIMIT,
    observer: Observer | None = None,
) -> Stop:
    """Runs a machine to its end, to `limit` instructions or to the cycle `until`, both counted from reset.

    A guest that completes no instructions comes to another limit of cycles, which follows from `limit`.

    With a `boot_limit`, the kernel is a Linux: until its init is ready, the run ends too when the console has shown
    nothing new for so many instructions, and a board that Linux resets before that is an error.

    `watch` is called about ten times a second; Interrupted if it returns False. `sample` is called each `every` cycles,
    never if that is 0. An `observer` hears what happens from now on.
    """
    if observer is not None:
        observer.begin(machine)
    until = min(until, machine.most_cycles(limit))
    next_sample = every or NO_LIMIT
    boot = _Boot(machine, boot_limit)
    slice_end = machine.cycles + _SLICE
    while True:
        kind, status, words = machine.run(min(next_sample, slice_end, until), limit)
        if observer is not None:
            observer.hear(machine)
        if kind == "power-off" and boot_limit != NO_LIMIT and not _has_started(machine):
            return Stop("fatal", 0, _reset_early(machine.printed(), words))
        if kind not in ("limit", "batch"):
            return Stop(cast("StopKind", kind), status, "" if kind == "power-off" else words)
        if machine.cycles >= next_sample:
            sample()
            next_sample = machine.cycles + every
        if kind == "batch":
            continue
        slice_end = machine.cycles + _SLICE
        if machine.instructions >= limit or machine.cycles >= until:
            return Stop("limit", 0, words)
        if (stop := boot.given_up(machine, words)) is not None:
            return stop
        if not watch(Progress(machine.instructions, machine.cycles)):
            raise Interrupted("the run was ended")


@dataclass(frozen=True)
class Constant:
    """A hardware cost that a program without a kernel measured, in the unit that its row gives.

    `words` say what it consists of.
    """

    figure: float
    words: str


def constants(machine: ResolvedMachine) -> dict[str, Constant]:
    """The hardware costs that `machine/guest/constants.S` measures, by name."""
    path = home().built(home().build / "constants.elf", "the program that measures hardware costs")
    try:
        found = _machine.measure_constants(machine.config, path.read_bytes(), str(path))
    except _machine.ConfigurationError as error:
        raise BadInput(str(error)) from None
    return {name: Constant(float(figure), words) for name, figure, words in found}


class NativeRunner:
    """Runs jobs on this computer; any number of threads may do so at once."""

    @property
    def version(self) -> str:
        """The version of the package and a hash of the machine's sources."""
        return _machine.VERSION

    def resolve(self, machine: Machine, overrides: Mapping[str, str]) -> ResolvedMachine:
        """See Runner."""
        text = machine.path.read_text(encoding="utf-8")
        settings = [f"{key}={value}" for key, value in overrides.items()]
        try:
            config, clock = _machine.resolve(text, str(machine.path), settings)
        except UnicodeEncodeError:
            word = next(word for word in settings if not word.isprintable())
            raise BadInput(f"{word!r}: not UTF-8", hint="write key=value, as in tlb.data.entries=32") from None
        except _machine.ConfigurationError as error:
            raise BadInput(str(error)) from None
        return ResolvedMachine(machine.name, config, clock)

    def run(self, job: Job, watch: Watch, observer: Observer | None = None) -> RunResult:
        """See Runner. An `observer` hears of the run's events; the result is the same."""
        started = time.monotonic()
        machine = load(job)
        if job.profile is not None:
            machine.record_profile(job.profile)
        samples: list[Sample] = []
        fullest: list[tuple[int, str]] = []

        def sample() -> None:
            states = [machine.dump_translation(0, number) for number in range(machine.processors)]
            counts = snapshot.counts_of_all([json.loads(state) for state in states])
            samples.append(Sample(machine.cycles, counts))
            used = counts.get("hash.used", 0)
            if not fullest or used > fullest[0][0]:
                fullest[:] = [(used, states[0])]

        stop = go(
            machine,
            job.limit,
            watch,
            sample=sample,
            every=job.sample,
            boot_limit=job.boot_limit,
            observer=observer,
        )
        return RunResult(
            stop=stop,
            console=machine.printed(),
            counters=machine.counters(),
            regions=machine.regions(),
            host_seconds=time.monotonic() - started,
            samples=tuple(samples),
            dumps=(*machine.dumps(), *(state for _, state in fullest)),
            profile=machine.profile_folded(),
        )
