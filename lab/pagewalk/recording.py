"""Records a run for `pagewalk see`: its TLB misses, and TLB and hash table over time.

The program runs twice, which is the same run twice, because the machine is deterministic. The first run records misses,
flushes and the profile. The second one stops at the instants that the first has shown to be of interest, the beginning
and end of the longest flushes among them, and looks at the state there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pagewalk import _machine, guest, profiles, snapshot
from pagewalk.profiles import StackRow

_FLUSHES = 8
_FLUSH_GAP = 2000
"""Flushes that are at most so many cycles apart count as one."""

_CHUNK = 20_000
"""Events that the machine hands over at a time."""

State = dict[str, Any]
Event = dict[str, Any]


@dataclass(frozen=True)
class Flush:
    """A stretch of time in which the kernel invalidated translations."""

    begin: int
    end: int
    function: str

    @property
    def cycles(self) -> int:
        """How long it took."""
        return self.end - self.begin


@dataclass(frozen=True)
class Instant:
    """The state at a cycle, and the counters so far."""

    state: State
    counters: Mapping[str, int]


@dataclass
class Recording:
    """What was recorded."""

    begin: int
    end: int
    misses: list[Event]
    missed: int
    flushes: list[Flush]
    stacks: list[StackRow]
    limits: list[str]
    instants: list[Instant] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)
    """The cycles at which the instants were wanted. The machine stops a little later, at the end of a block."""

    def counted(self) -> dict[str, int]:
        """By how much the counters grew from the first instant to the last."""
        if not self.instants:
            return {}
        first, last = self.instants[0].counters, self.instants[-1].counters
        return {name: count - first.get(name, 0) for name, count in last.items()}


def events(machine: _machine.Machine) -> Iterator[dict[str, Any]]:
    """The recorded events, in the order of recording; docs/running.md says what they hold."""
    for start in range(0, machine.trace_len(), _CHUNK):
        yield from json.loads(machine.trace_events(start, _CHUNK))


def outcome(args: Mapping[str, Any]) -> str:
    """How the walk for a miss ended, in words: the same words for the same kind."""
    found = [step for step in args.get("walk", []) if step.get("found") == "match"]
    if found:
        return f"found in the {found[-1]['table']} group"
    return "loaded" if "way" in args else "not found"


def _program(events: Iterable[Event]) -> tuple[list[Event], int | None, int | None, int]:
    """The events of the program itself, where it begins and ends, and the cycle of the last event."""
    kept: list[Event] = []
    begin = end = None
    last = 0
    for event in events:
        last = event["args"]["cycle"] + event["args"].get("cycles", 0)
        if event.get("cat") == "region":
            if event["id"] == guest.PROGRAM_REGION:
                if event["ph"] == "b":
                    begin, kept = event["args"]["cycle"], []
                else:
                    end = event["args"]["cycle"]
        elif end is None:
            kept.append(event)
    return kept, begin, end, last


def _is_miss(event: Event) -> bool:
    return event["name"] in {"tlb.instruction.miss", "tlb.data.miss"}


def choose(misses: Sequence[Event], most: int) -> list[Event]:
    """At most so many misses: the first of each kind (side, mode, outcome, and processor where there are several), and
    the others evenly over time."""
    kinds: dict[tuple[str, str, str, int], list[int]] = {}
    for number, miss in enumerate(misses):
        args = miss["args"]
        kind = args["side"], args["mode"], outcome(args), args.get("processor", 0)
        kinds.setdefault(kind, []).append(number)
    each = max(most // (2 * len(kinds)), 1) if kinds else 0
    chosen: list[int] = [number for numbers in kinds.values() for number in numbers[:each]][:most]
    left = most - len(chosen)
    others = sorted(set(range(len(misses))) - set(chosen))
    if left > 0 and others:
        step = max(len(others) / left, 1)
        chosen += [others[int(n * step)] for n in range(min(left, len(others)))]
    return [misses[number] for number in sorted(set(chosen))]


def flushes(events: Iterable[Event]) -> list[Flush]:
    """The longest flushes, in order of time."""
    found: list[Flush] = []
    for event in events:
        args = event["args"]
        if _is_miss(event) or args.get("cause") != "flush":
            continue
        begin, end = args["cycle"], args["cycle"] + args["cycles"]
        if found and begin - found[-1].end <= _FLUSH_GAP:
            found[-1] = Flush(found[-1].begin, end, found[-1].function)
        else:
            found.append(Flush(begin, end, event["name"]))
    longest = sorted(found, key=lambda flush: -flush.cycles)[:_FLUSHES]
    return sorted(longest, key=lambda flush: flush.begin)


def read(machine: _machine.Machine, most: int, processor: int | None = None) -> Recording:
    """What a machine that has run to its end recorded, of all its processors or of one. The profile is of all.

    Where there are several, each miss says by `processor` which had it.
    """
    kept, begin, end, last = _program(events(machine))
    if machine.processors > 1:
        for event in kept:
            event["args"]["processor"] = event["pid"] - 1
    if processor is not None:
        kept = [event for event in kept if event["pid"] - 1 == processor]
    misses = [event for event in kept if _is_miss(event)]
    return Recording(
        begin=begin or 0,
        end=max(end or last, (begin or 0) + 1),
        misses=choose(misses, most),
        missed=len(misses),
        flushes=flushes(kept),
        stacks=profiles.stack_rows(machine.profile_stacks()),
        limits=machine.trace_limits(),
    )


def instants(recording: Recording, count: int) -> list[int]:
    """The cycles at which to look: evenly over the run, and before and after each flush."""
    span = recording.end - recording.begin
    even = {recording.begin + span * n // max(count - 1, 1) for n in range(count)}
    edges = {cycle for flush in recording.flushes for cycle in (flush.begin, flush.end)}
    return sorted(even | edges)


def slim(state: State) -> State:
    """The part of a state dump that the page shows.

    A TLB entry is set, way, VSID, ASID or PID, page, physical, whose: see `snapshot.Entry`.
    """
    tlbs = snapshot.tlbs(state)
    number = state.get("processor")
    found: State = {
        "cycle": state["cycle"],
        "tlb": {snapshot.tlb_name(side, number): [list(row) for row in rows] for side, rows in tlbs.items()},
    }
    table = state.get("hash_table")
    if table is not None:
        kernel, user = snapshot.kernel_vsids(state), snapshot.user_vsids(state)
        found["hash"] = {
            "occupancy": "".join(map(str, table["occupancy"])),
            "used": table["used"],
            "owners": _owners(table, kernel, user),
        }
    return found


def _owners(table: Mapping[str, Any], kernel: set[int], user: set[int]) -> dict[str, int]:
    owners = {"kernel": 0, "running": 0, "other": 0}
    for row in table["entries"]:
        owners[snapshot.whose(row["vsid"], kernel, user)] += 1
    return owners


def slim_of_all(states: Sequence[State]) -> State:
    """As `slim`, of several processors: the TLBs of each. In the hash table, what any of them runs is running."""
    each = [slim(state) for state in states]
    found = each[0] | {"tlb": {name: rows for state in each for name, rows in state["tlb"].items()}}
    if (table := states[0].get("hash_table")) is not None:
        kernel = {vsid for state in states for vsid in snapshot.kernel_vsids(state)}
        user = {vsid for state in states for vsid in snapshot.user_vsids(state)}
        found["hash"] = found["hash"] | {"owners": _owners(table, kernel, user)}
    return found


def look(
    recording: Recording,
    machine: _machine.Machine,
    go: Callable[[int], bool],
    count: int,
    processor: int | None = None,
) -> None:
    """Runs a second machine through the same run and looks at it, at all processors or at one.

    `go` runs it to a cycle, and says if it goes on.
    """
    shown = range(machine.processors) if processor is None else [processor]
    for cycle in instants(recording, count):
        running = go(cycle)
        states = [json.loads(machine.dump(0, number)) for number in shown]
        recording.looked.append(cycle)
        # A processor that saves power has an old clock.
        state = slim_of_all(states) | ({"cycle": machine.cycles} if machine.processors > 1 else {})
        counters = machine.counters() if processor is None else machine.counters_of_each()[processor]
        recording.instants.append(Instant(state, counters))
        if not running:
            break
