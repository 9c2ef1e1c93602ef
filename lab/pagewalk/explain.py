"""The reason for a row's result, generated from counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from pagewalk import policies
from pagewalk.experiments import Row
from pagewalk.figures import Measured, pollution, total
from pagewalk.verdict import Kind, remark

_MOVERS = 3
_LEAST_SHARE = 0.01
_UNSHOWN: tuple[Kind, ...] = ("not reproduced", "overshoots", "worse")
"""Verdicts that ask for a reason beyond cycles."""
_CYCLES = "cycles.cause."

_EVENTS = {
    "instructions": "instructions",
    "I-TLB misses": "tlb.instruction.miss",
    "D-TLB misses": "tlb.data.miss",
    "hash-table misses": "hash.miss",
    "I-cache misses": "cache.instruction.miss",
    "D-cache misses": "cache.data.miss",
    "L2 misses": "cache.l2.miss",
    "cycles waited for memory": "stall.memory",
}
"""What is counted beside cycles: the words for it, and the counter."""

_COUNTED = re.compile(r'(?:count|each|run)\("([^"]+\.miss)"\)')
"""The misses that a figure is made of."""


def _each(measured: Measured, name: str) -> float:
    return total(measured.counters, name) / measured.iterations


def _by_cause(measured: Measured, prefix: str) -> dict[str, float]:
    """Events of one iteration by cost category; `prefix` is what their counters' names begin with (`*`: anything)."""
    found: dict[str, float] = {}
    for name, count in measured.counters.items():
        first, dot, cause = name.rpartition(".cause.")
        if dot and fnmatchcase(first, prefix):
            found[cause] = found.get(cause, 0) + count / measured.iterations
    return found


def cycles_by_cause(measured: Measured) -> dict[str, float]:
    """Cycles of one iteration by cost category."""
    return {
        name.removeprefix(_CYCLES): count / measured.iterations
        for name, count in measured.counters.items()
        if name.startswith(_CYCLES)
    }


def _several_processors(measured: Measured) -> bool:
    """Whether the cycles are those of several processors in sum."""
    cycles = measured.counters.get("cycles", 0)
    return measured.counters.get("elapsed", cycles) < cycles


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _ordered(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[str, float]]:
    """What changed, by name, the largest change first."""
    changes = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    return sorted(changes.items(), key=lambda item: (-abs(item[1]), item[0]))


def movers(before: Mapping[str, float], after: Mapping[str, float], least: float = _LEAST_SHARE) -> list[str]:
    """The cost categories whose counts changed most, as words; changes below this share of all are left out."""
    whole = max(sum(before.values()), sum(after.values()))
    return [
        f"{cause} {_number(before.get(cause, 0))} -> {_number(after.get(cause, 0))}"
        for cause, change in _ordered(before, after)[:_MOVERS]
        if whole and change and abs(change) >= least * whole
    ]


def changed_policies(row: Row) -> list[str]:
    """The policies that differ between the row's two sides; none if they are different systems."""
    if row.before is None or row.before.setting.subject != row.after.setting.subject:
        return []
    before, after = row.before.setting.policies, row.after.setting.policies
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def _told(row: Row, before: Measured, after: Measured) -> list[str]:
    """What the guest printed about the changed policies, for one iteration, as words."""
    words = []
    for name in changed_policies(row):
        for what, values in policies.descriptions()[name].values.items():
            pair = [sum(side.values.get(value, 0) for value in values) / side.iterations for side in (before, after)]
            if any(pair):
                words.append(f"{what} {_number(pair[0])} -> {_number(pair[1])}")
    return words


def _most_changed(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """The entry of the largest relative change, as words; None: no entry differs."""
    names = [name for name in {**before, **after} if before.get(name, 0) != after.get(name, 0)]
    if not names:
        return None
    pairs = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    name = max(sorted(names), key=lambda name: abs(pairs[name][1] - pairs[name][0]) / max(map(abs, pairs[name])))
    return f"{name} {_number(pairs[name][0])} -> {_number(pairs[name][1])}"


def control(row: Row, before: Measured, after: Measured) -> str | None:
    """What shows that the policy acts in a row that does not change, as words; None: no counter differs.

    First what the guest counted of the changed policies, then cycles of the categories that they act on, then the
    counter that changed most.
    """
    about = policies.descriptions()
    names = changed_policies(row)
    told = [
        {what: sum(side.values.get(value, 0) for value in values) / side.iterations
         for name in names for what, values in about[name].values.items()}
        for side in (before, after)
    ]  # fmt: skip
    causes = {cause for name in names for cause in about[name].causes}
    cycles = [
        {f"cycles of {cause}": spent for cause, spent in cycles_by_cause(side).items() if cause in causes}
        for side in (before, after)
    ]
    counters = [{name: _each(side, name) for name in {**before.counters, **after.counters}} for side in (before, after)]
    return _most_changed(*told) or _most_changed(*cycles) or _most_changed(*counters)


def _share(cycles: Mapping[str, float], causes: Iterable[str]) -> float:
    whole = sum(cycles.values())
    return sum(cycles.get(cause, 0) for cause in causes) / whole if whole else 0.0


def _within_one_per_cent(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """What changed most, where nothing changed by 1 % of the row's cycles."""
    words = "no cost category changed by 1 % of the row's cycles"
    whole = max(sum(before.values()), sum(after.values()))
    for cause, change in _ordered(before, after)[:1]:
        if whole and abs(change) >= 1:
            pair = f"{cause} {_number(before.get(cause, 0))} -> {_number(after.get(cause, 0))}"
            return f"{words}; the largest change: {pair}, {abs(change) / whole:.2%} of them"
    return words


def _events(before: Measured, after: Measured) -> list[str]:
    """The counts beside cycles that changed by 1 % or more, as words."""
    words = []
    for what, name in _EVENTS.items():
        pair = _each(before, name), _each(after, name)
        if max(pair) >= 1 and abs(pair[1] - pair[0]) >= _LEAST_SHARE * max(pair):
            words.append(f"{what} {_number(pair[0])} -> {_number(pair[1])}")
    return words


def _misses_by_cause(row: Row, before: Measured, after: Measured) -> list[str]:
    """The misses that the row's figure counts, by cost category."""
    words = []
    for pattern in dict.fromkeys(_COUNTED.findall(row.figure.text)):
        moved = movers(_by_cause(before, pattern), _by_cause(after, pattern), 0)
        if moved:
            words.append(f"{pattern} by cause: {', '.join(moved)}")
    return words


def _evicted_by(before: Measured, after: Measured) -> str | None:
    """Whose TLB entries pushed out others' if TLB misses rose by a tenth: the evictor whose count rose most."""
    if _each(after, "tlb.*.miss") < 1.1 * _each(before, "tlb.*.miss"):
        return None
    pairs: list[dict[str, float]] = []
    for side in (before, after):
        found: dict[str, float] = {}
        for array in ("tlb.instruction", "tlb.data"):
            for (evictor, victim), count in pollution(side.counters, array).items():
                if evictor == victim:
                    continue
                name = f"{evictor} evicted {victim}"
                found[name] = found.get(name, 0) + count / side.iterations
        pairs.append(found)
    moved = movers(pairs[0], pairs[1], 0)
    return f"TLB misses on entries that others evicted: {', '.join(moved)}" if moved else None


def _cycles_of_published(row: Row, measured: Measured) -> str | None:
    """A published time or rate in cycles of this machine's clock, beside ours."""
    published = row.published.after
    if published is None or not measured.clock:
        return None
    if row.unit in ("ns", "us"):
        scale = measured.clock / {"ns": 1e9, "us": 1e6}[row.unit]
        return f"published: {_number(published.middle * scale)} cycles at {measured.clock / 1e6:g} MHz"
    if row.unit == "MB/s":
        ours = measured.clock * measured.seconds / measured.bytes if measured.bytes else 0.0
        # Both rates are in the row's own megabytes, whatever these are.
        theirs = ours * (measured.compute(row.figure) or 0.0) / published.middle
        return (
            f"cycles for 32 bytes at {measured.clock / 1e6:g} MHz: "
            f"{_number(32 * ours)}, published {_number(32 * theirs)}"
        )
    return None


def _alone(row: Row, kind: Kind, measured: Measured) -> list[str]:
    """The words for a row that has one side."""
    cycles = cycles_by_cause(measured)
    largest = sorted(cycles, key=lambda cause: -cycles[cause])[:_MOVERS]
    words = ["cycles each: " + ", ".join(f"{cause} {_number(cycles[cause])}" for cause in largest)]
    if kind not in _UNSHOWN:
        return words
    counted = [f"{what} {_number(each)}" for what, name in _EVENTS.items() if (each := _each(measured, name)) >= 0.1]
    if counted:
        words.append(f"each: {', '.join(counted)}")
    if published := _cycles_of_published(row, measured):
        words.append(published)
    return words


def _deeper(row: Row, before: Measured, after: Measured) -> list[str]:
    """What else changed, for a row whose effect is not the published one or that got worse."""
    words = _misses_by_cause(row, before, after)
    events = _events(before, after)
    words.append(
        f"each: {', '.join(events)}" if events else "instructions, misses and waits for memory changed by less than 1 %"
    )
    if evicted := _evicted_by(before, after):
        words.append(evicted)
    return words


EDGE = "within 1 % of the edge of its class"


def reason(row: Row, kind: Kind, before: Measured | None, after: Measured, *, edge: bool = False) -> str:
    """Which cost categories changed, and what else if the row asks for it.

    If the ratio was not reproduced, also how much the policy could have changed. `edge`: figures by 1 % higher or lower
    would have a verdict of another class.
    """
    remarked = remark(row, kind)
    words = [*([EDGE] if edge else []), *([remarked] if remarked else [])]
    if before is None:
        return "; ".join([*words, *_alone(row, kind, after)])
    ours, theirs = cycles_by_cause(after), cycles_by_cause(before)
    if _several_processors(before) or _several_processors(after):
        # That a processor has nothing to do is not the row's cost.
        for cycles in (ours, theirs):
            cycles.pop("idle", None)
    moved = movers(theirs, ours)
    words.append(f"cycles each: {', '.join(moved)}" if moved else _within_one_per_cent(theirs, ours))
    if told := _told(row, before, after):
        words.append(f"each: {', '.join(told)}")
    if kind == "no change, as published" and (acted := control(row, before, after)):
        words.append(f"the control, which shows that the policy acts here: {acted}")
    if kind in _UNSHOWN:
        words += _deeper(row, before, after)
    if kind in ("not reproduced", "direction reproduced", "overshoots", "no change, as published"):
        about = policies.descriptions()
        causes = sorted({cause for name in changed_policies(row) for cause in about[name].causes})
        if causes:
            words.append(
                f"the policy can change {' and '.join(causes)}: {_share(theirs, causes):.1%} of the row's cycles "
                f"before and {_share(ours, causes):.1%} after"
            )
    return "; ".join(words)
