"""Counters in the form of gem5's `stats.txt`, or as a tree in JSON, for scripts that read these."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pagewalk import writing

_TICKS = 10**12
"""Ticks in a second: gem5's are picoseconds."""
_CPU = {
    "tlb.instruction": "mmu.itb",
    "tlb.data": "mmu.dtb",
    "cache.instruction": "icache",
    "cache.data": "dcache",
}
"""Our counters' parts, and gem5's objects."""


def _named(counters: Mapping[str, int], clock: int) -> Iterator[tuple[str, float, str]]:
    """Name, value and description, as gem5 has them, of what both count."""
    cycles, instructions = counters.get("elapsed", counters.get("cycles", 0)), counters.get("instructions", 0)
    yield "simSeconds", cycles / clock, "Number of seconds simulated (Second)"
    yield "simTicks", cycles * _TICKS // clock, "Number of ticks simulated (Tick)"
    yield "simFreq", _TICKS, "The number of ticks per simulated second ((Tick/Second))"
    yield "simInsts", instructions, "Number of instructions simulated (Count)"
    yield "system.cpu.numCycles", counters.get("cycles", 0), "Number of cpu cycles simulated (Cycle)"
    if instructions:
        yield "system.cpu.cpi", counters.get("cycles", 0) / instructions, "CPI: cycles per instruction ((Cycle/Count))"
    for ours, theirs in _CPU.items():
        accesses, misses = counters.get(f"{ours}.access", 0), counters.get(f"{ours}.miss", 0)
        if theirs.startswith("mmu"):
            hits, missed, all_of_them = "hits", "misses", "accesses"
        else:
            hits, missed, all_of_them = (f"overall{what}::total" for what in ("Hits", "Misses", "Accesses"))
        yield f"system.cpu.{theirs}.{hits}", accesses - misses, "Total hits (Count)"
        yield f"system.cpu.{theirs}.{missed}", misses, "Total misses (Count)"
        yield f"system.cpu.{theirs}.{all_of_them}", accesses, "Total accesses (Count)"
    if "cache.l2.access" in counters:
        yield "system.l2.overallMisses::total", counters.get("cache.l2.miss", 0), "Total misses (Count)"
        yield "system.l2.overallAccesses::total", counters["cache.l2.access"], "Total accesses (Count)"


def text(counters: Mapping[str, int], clock: int) -> str:
    """The counters as gem5 writes statistics; `clock` is in Hz. Ours follow gem5's, under `pagewalk`."""
    rows = [*_named(counters, clock)]
    rows += [(f"pagewalk.{name}", value, "docs/interfaces.md, section 7 (Count)") for name, value in counters.items()]
    lines = (
        f"{name:<50} {value if isinstance(value, int) else format(value, '.9f'):>14}  # {words}"
        for name, value, words in rows
    )
    return "\n".join(
        [
            "",
            "---------- Begin Simulation Statistics ----------",
            *lines,
            "",
            "---------- End Simulation Statistics   ----------",
            "",
        ]
    )


def tree(counters: Mapping[str, int], clock: int) -> dict[str, Any]:
    """The same by its parts: `{"system": {"cpu": {"numCycles": ...}}}`. A number that has parts is their `total`."""
    whole: dict[str, Any] = {}
    ours = ((f"pagewalk.{name}", value) for name, value in counters.items())
    for name, value in [*((name, value) for name, value, _ in _named(counters, clock)), *ours]:
        *path, last = name.split(".")
        place = whole
        for part in path:
            inner = place.get(part, {})
            if not isinstance(inner, dict):
                inner = {"total": inner}
            place[part] = inner
            place = inner
        if isinstance(place.get(last), dict):
            place[last]["total"] = value
        else:
            place[last] = value
    return whole


def write(path: Path, counters: Mapping[str, int], clock: int) -> None:
    """Writes `stats.txt`, or the tree if the file's name ends in .json; BadInput says why it cannot be written."""
    made = json.dumps(tree(counters, clock), indent=2) + "\n" if path.suffix == ".json" else text(counters, clock)
    writing.write(path, made)
