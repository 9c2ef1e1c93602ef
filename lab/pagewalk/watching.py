"""A running machine as `pagewalk watch` shows it: run on, run to the next event, and the state as lines of text."""

from __future__ import annotations

import itertools
import json
import threading
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pagewalk import snapshot, systems
from pagewalk._machine import Event, Machine
from pagewalk.guest import PROGRAM_REGION
from pagewalk.runner import Job

_Name = TypeVar("_Name", bound=Hashable)
Step = Literal["miss", "exception", "switch"]

_SLICE = 4_000_000
"""After so many cycles, some hundredths of a second, it is checked whether the run must stop."""
_ALL = (0, 2**32 - 1)
_NEVER = 2**62
_LINE = 64
"""How many TLB sets, or shares of the hash table, a line of text shows."""
_FILL = " ▁▂▃▄▅▆▇█"
_ENDS = {"power-off", "fatal"}
_LETTERS = {"kernel": "k", "running": "u", "other": "o"}


@dataclass(frozen=True)
class View:
    """The state at an instant.

    Causes are rows of name, cycles, and cycles since the last stop; functions of name, cost category and cycles.
    """

    cycles: int
    instructions: int
    tlbs: Mapping[str, Sequence[str]]
    hash_table: Sequence[str]
    causes: Sequence[tuple[str, int, int]]
    functions: Sequence[tuple[str, str, int]]
    event: str
    console: str
    ended: str | None


@dataclass
class Watching:
    """A loaded machine that is run piece by piece. Looking at it changes no count and no cycle.

    Its methods are called from one thread at a time; `stop` from any. Cycles are those of the program; with `boot`,
    all since reset.
    """

    machine: Machine
    job: Job
    boot: bool = False
    ended: str | None = None
    event: str = ""
    _before: dict[str, int] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.machine.record_profile(None if self.boot else PROGRAM_REGION)

    def stop(self) -> None:
        """Ends the step or run that goes on; the next one begins anew."""
        self._stopped.set()

    def skip_boot(self, program: str) -> None:
        """See `to_program`."""
        ended = to_program(self.machine, program, self.job.limit)
        if ended is not None:
            self._note(*ended)
        self.event = "the program begins"

    def run(self, cycles: int = _SLICE) -> None:
        """Runs on for that many cycles."""
        self._since = self._totals()
        self._stopped.clear()
        _listen_no_more(self.machine)
        self._go(self.machine.cycles + cycles)
        self.event = ""

    def step(self, kind: Step) -> None:
        """Runs to the next event of that kind."""
        self._since = self._totals()
        self._stopped.clear()
        _listen(self.machine, kind)
        heard = self._until_event()
        where = f"processor {heard.processor}: " if heard and self.machine.processors > 1 else ""
        self.event = "" if heard is None else where + describe(heard)

    def _until_event(self) -> Event | None:
        """The next event that is listened for; None if the run ended or was stopped before."""
        while self.ended is None and not self._stopped.is_set():
            self._go(self.machine.cycles + _SLICE)
            if heard := self.machine.heard():
                return heard[0]
        return None

    def _go(self, cycles: int) -> None:
        """Runs to a cycle: a limit of cycles changes nothing of what the guest does."""
        if self.ended is not None:
            return
        self._note(*self.machine.run(cycles, self.job.limit))

    def _note(self, kind: str, status: int, words: str) -> None:
        if kind in _ENDS:
            self.ended = f"powered off with status {status}" if kind == "power-off" else words
        elif _is_over(self.machine, self.job.limit):
            self.ended = f"reached its limit of {self.job.limit:,} instructions"

    def _totals(self) -> dict[str, int]:
        return totals((row[2], row[4]) for row in self.machine.profile())

    def view(self, functions: int = 8) -> View:
        """The state now; of several processors, that of the one whose turn it is."""
        state = json.loads(self.machine.dump(0))
        number = state.get("processor")
        tlbs = tlb_lines(state, self.job.machine.config)
        profile = self.machine.profile()
        causes = totals((row[2], row[4]) for row in profile)
        by_function = totals(((row[3], row[2]), row[4]) for row in profile)
        return View(
            cycles=self.machine.cycles,
            instructions=self.machine.instructions,
            tlbs={snapshot.tlb_name(side, number): lines for side, lines in tlbs.items()},
            hash_table=hash_lines(state),
            causes=[(name, count, count - self._since.get(name, 0)) for name, count in causes.items()],
            functions=[(*name, count) for name, count in itertools.islice(by_function.items(), functions)],
            event=self.event,
            console=self.machine.printed().decode("utf-8", "replace"),
            ended=self.ended,
        )


def totals(rows: Iterable[tuple[_Name, int]]) -> dict[_Name, int]:
    """The sum of each name's cycles, the largest first."""
    found: Counter[_Name] = Counter()
    for name, cycles in rows:
        found[name] += cycles
    return dict(found.most_common())


def _listen(machine: Machine, kind: str, *, user: bool | None = None, every: int = 1) -> None:
    machine.listen([kind], _ALL, None, [], user, every, 1)


def _listen_no_more(machine: Machine) -> None:
    # There is no way to listen to nothing: take every n-th event only, with an n that no run reaches.
    _listen(machine, "switch", every=_NEVER)


def _is_over(machine: Machine, limit: int) -> bool:
    """Whether a run with this limit of instructions has come to it, or to the limit of cycles that follows from it."""
    return machine.instructions >= limit or machine.cycles >= machine.most_cycles(limit)


def to_program(machine: Machine, program: str, limit: int) -> tuple[str, int, str] | None:
    """Runs until the program of that path misses a TLB for the first time, which is at its beginning.

    Linux does not tell the machine the names of its programs: there it is the first such miss after init is ready to
    start the program. Returns None, or how the run ended if the program did not begin.
    """
    _listen(machine, "miss", user=True)
    while True:
        stop = machine.run(machine.cycles + _SLICE, limit)
        heard = machine.heard()
        if any(event.program == program for event in heard) or (heard and systems.is_ready(machine.printed())):
            _listen_no_more(machine)
            return None
        if stop[0] in _ENDS or _is_over(machine, limit):
            return stop


def describe(event: Event) -> str:
    """An event in one line."""
    where = f"{event.program or 'kernel'}, {'user' if event.user else event.cause}, pc {event.pc:08x}"
    if event.kind == "miss":
        side = "instruction" if event.fetch else "data"
        words = f"{side} TLB miss at {event.address or 0:08x}, set {event.set}"
        if event.victim is not None:
            words += f", way {event.way} taken from page {event.victim:08x}"
        return f"{words}; {where}"
    if event.kind == "exception":
        return f"exception {event.vector}; {where}"
    return f"switch from address space {event.previous} to {event.context}; {event.program or 'kernel'} ran before"


def tlb_lines(state: Mapping[str, Any], config: str) -> dict[str, list[str]]:
    """Each TLB, by name, one character for each entry and one line for each way, or more if it has many sets.

    `k` is an entry of the kernel, `u` of the address space that runs, `o` of another one; a dot is an empty entry. The
    entries of a fully associative TLB are one line.
    """
    shapes = tomllib.loads(config)["tlb"]
    found = {}
    for name, entries in snapshot.tlbs(state).items():
        ways, sets = snapshot.places(shapes[name])
        slots = [["·"] * sets for _ in range(ways)]
        for entry in entries:
            slots[entry.way][entry.set] = _LETTERS[entry.whose]
        lines = ["".join(line) for line in slots]
        lines = ["".join(lines)] if sets == 1 else lines
        found[name] = [line[at : at + _LINE] for line in lines for at in range(0, len(line), _LINE)]
    return found


def hash_lines(state: Mapping[str, Any]) -> list[str]:
    """The hash table: a number and a line of how full each share of its groups is; nothing if there is none."""
    table = state.get("hash_table")
    if table is None:
        return []
    occupancy = table["occupancy"]
    share = max(len(occupancy) // _LINE, 1)
    parts = [occupancy[at : at + share] for at in range(0, len(occupancy), share)]
    # A share with anything in it shows the least bar.
    bars = "".join(_FILL[-(-sum(part) * 8 // (8 * len(part)))] for part in parts)
    slots, full = 8 * table["groups"], table["histogram"][8]
    return [f"{table['used']:,} of {slots:,} slots in use, {full:,} of {table['groups']:,} groups full", bars]
