"""What a run cost, in a few tables: cycles, TLB, hash table and caches, by cost category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagewalk.figures import total

_CAUSES = "cycles.cause."


@dataclass(frozen=True)
class Line:
    """One line of a summary: name, count, and its share of a total."""

    name: str
    count: int
    share: str = ""


def _share(part: int, whole: int, of: str) -> str:
    return f"{part / whole:.2%} of {of}" if whole else ""


def overview(counters: Mapping[str, int], clock: int) -> list[Line]:
    """Time, instructions and misses; `clock` is in Hz. Of several processors the sums, and the time that passed."""
    cycles, instructions = counters.get("cycles", 0), counters.get("instructions", 0)
    elapsed = counters.get("elapsed", cycles)
    found = [
        Line("cycles", cycles, f"{elapsed / clock * 1e3:,.3f} ms at {clock / 1e6:g} MHz"),
        Line("instructions", instructions, f"{cycles / instructions:.2f} cycles each" if instructions else ""),
    ]
    for what in ("instruction", "data"):
        for name, event in (("TLB", "tlb"), ("cache", "cache")):
            misses = counters.get(f"{event}.{what}.miss", 0)
            accesses = counters.get(f"{event}.{what}.access", 0)
            found.append(Line(f"{what} {name} misses", misses, _share(misses, accesses, "accesses")))
    looked_up = counters.get("tlb.l2.access", 0)
    if looked_up:
        missed = counters.get("tlb.l2.miss", 0)
        hits = looked_up - missed
        found.append(Line("second-level TLB hits", hits, _share(hits, looked_up, "look-ups")))
        found.append(Line("second-level TLB misses", missed, _share(missed, looked_up, "look-ups")))
    searches = counters.get("hash.search", 0)
    if searches:
        found.append(Line("hash-table searches", searches))
        missed = counters.get("hash.miss", 0)
        found.append(Line("hash-table misses", missed, _share(missed, searches, "searches")))
        walked = counters.get("walk.cycles", 0)
        found.append(Line("cycles of table walks", walked, _share(walked, cycles, "cycles")))
    found.append(Line("exceptions", total(counters, "exception.*")))
    return found


def by_cause(counters: Mapping[str, int]) -> list[tuple[str, int, int, int, int]]:
    """For each cost category: cycles, TLB misses (instruction and data), I-cache misses, D-cache misses."""
    causes = [name.removeprefix(_CAUSES) for name in counters if name.startswith(_CAUSES)]
    rows = [
        (
            cause,
            counters.get(f"{_CAUSES}{cause}", 0),
            counters.get(f"tlb.instruction.miss.cause.{cause}", 0) + counters.get(f"tlb.data.miss.cause.{cause}", 0),
            counters.get(f"cache.instruction.miss.cause.{cause}", 0),
            counters.get(f"cache.data.miss.cause.{cause}", 0),
        )
        for cause in causes
    ]
    return sorted((row for row in rows if any(row[1:])), key=lambda row: -row[1])


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Counters between two moments."""
    return {name: value - before.get(name, 0) for name, value in after.items()}


def shares(rows: Sequence[tuple[str, int, int, int, int]]) -> list[str]:
    """Each row's share of all cycles."""
    whole = sum(row[1] for row in rows)
    return [f"{row[1] / whole:.1%}" if whole else "" for row in rows]
