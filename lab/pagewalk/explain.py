"""The reason for a row's result, generated from counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pagewalk import policies
from pagewalk.experiments import Row
from pagewalk.figures import Measured
from pagewalk.verdict import Kind, remark

_MOVERS = 3
_LEAST_SHARE = 0.01


def cycles_by_cause(measured: Measured) -> dict[str, float]:
    """Cycles of one iteration by cost category."""
    prefix = "cycles.cause."
    return {
        name.removeprefix(prefix): count / measured.iterations
        for name, count in measured.counters.items()
        if name.startswith(prefix)
    }


def _several_processors(measured: Measured) -> bool:
    """Whether the cycles are those of several processors in sum."""
    cycles = measured.counters.get("cycles", 0)
    return measured.counters.get("elapsed", cycles) < cycles


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def movers(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """The cost categories whose cycles changed most, as words; changes below 1 % of all cycles are left out."""
    whole = max(sum(before.values()), sum(after.values()))
    changes = {cause: after.get(cause, 0) - before.get(cause, 0) for cause in {**before, **after}}
    ordered = sorted(changes, key=lambda cause: (-abs(changes[cause]), cause))
    return [
        f"{cause} {_number(before.get(cause, 0))} -> {_number(after.get(cause, 0))}"
        for cause in ordered[:_MOVERS]
        if whole and abs(changes[cause]) >= _LEAST_SHARE * whole
    ]


def changed_policies(row: Row) -> list[str]:
    """The policies that differ between the row's two sides."""
    if row.before is None:
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


def _share(cycles: Mapping[str, float], causes: Iterable[str]) -> float:
    whole = sum(cycles.values())
    return sum(cycles.get(cause, 0) for cause in causes) / whole if whole else 0.0


def reason(row: Row, kind: Kind, before: Measured | None, after: Measured) -> str:
    """Which cost categories changed; if the ratio was not reproduced, also how much the policy could have changed."""
    ours = cycles_by_cause(after)
    remarked = remark(row, kind)
    words = [remarked] if remarked else []
    if before is None:
        largest = sorted(ours, key=lambda cause: -ours[cause])[:_MOVERS]
        words.append("cycles each: " + ", ".join(f"{cause} {_number(ours[cause])}" for cause in largest))
        return "; ".join(words)
    theirs = cycles_by_cause(before)
    if _several_processors(before) or _several_processors(after):
        # That a processor has nothing to do is not the row's cost.
        for cycles in (ours, theirs):
            cycles.pop("idle", None)
    moved = movers(theirs, ours)
    words += [f"cycles each: {', '.join(moved)}" if moved else "no cost category changed by 1 % of the row's cycles"]
    if told := _told(row, before, after):
        words.append(f"each: {', '.join(told)}")
    if kind in ("not reproduced", "direction reproduced"):
        about = policies.descriptions()
        causes = sorted({cause for name in changed_policies(row) for cause in about[name].causes})
        if causes:
            words.append(
                f"the policy can change {' and '.join(causes)}: {_share(theirs, causes):.1%} of the row's cycles "
                f"before and {_share(ours, causes):.1%} after"
            )
    return "; ".join(words)
