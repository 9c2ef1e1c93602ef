"""Whether a published figure was reproduced: the ratio first, else the direction, else not.

A published figure is rounded, so a ratio of two of them is a range (`published_range`); a measured
ratio within that range, widened by the tolerance, reproduces it. Ratios are compared by their
logarithms, so that 2 against 1 is as far off as 1 against 0.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pagewalk.experiments import Better, Bound, Row
from pagewalk.published_range import Range

Kind = Literal[
    "ratio reproduced",
    "figure reproduced",
    "direction reproduced",
    "not reproduced",
    "answered",
    "measured",
    "better",
    "worse",
    "no difference",
    "an input",
    "no figure",
]

Tone = Literal["good", "part", "open", "bad"]

_TONES: dict[str, Tone] = {
    "ratio reproduced": "good",
    "figure reproduced": "good",
    "better": "good",
    "direction reproduced": "part",
    "answered": "open",
    "measured": "open",
    "no difference": "open",
    "an input": "open",
}


def tone(kind: str) -> Tone:
    """The colour class of a verdict."""
    return _TONES.get(kind, "bad")


RATIO_TOLERANCE = 0.25
"""How far our ratio may be off, as a share of the published effect (the logarithm of the ratio)."""
LEAST_TOLERANCE = math.log(1.05)
"""The least tolerance: two measurements of the same thing may differ by this much."""
MOST_TOLERANCE = math.log(1.5)
"""The greatest tolerance: a ratio 1.5 times as large is never the same."""
FIGURE_TOLERANCE = math.log(1.10)
"""How far a figure that stands alone may be off."""
NO_CHANGE = 1.01
"""A change of less than 1 % counts as no change."""


@dataclass(frozen=True)
class Judgement:
    """The verdict, and our ratio (above 1 is better), where there is one."""

    kind: Kind
    ratio: float | None


def improvement(before: float, after: float, better: Better) -> float | None:
    """Our ratio: before / after, or after / before where higher is better; None without a quotient."""
    worse, good = (after, before) if better == "higher" else (before, after)
    return worse / good if good > 0 and worse > 0 else None


def _within(ours: float, published: Range, tolerance: float) -> bool:
    if ours <= 0:
        return published.low <= 0
    low = math.log(published.low) - tolerance if published.low > 0 else -math.inf
    return low <= math.log(ours) <= math.log(published.high) + tolerance


def _ratio_tolerance(published: Range) -> float:
    effect = abs(math.log(published.middle))
    return max(LEAST_TOLERANCE, min(RATIO_TOLERANCE * effect, MOST_TOLERANCE))


def _direction(ratio: float) -> int:
    return 0 if 1 / NO_CHANGE < ratio < NO_CHANGE else 1 if ratio > 1 else -1


def judge_ratio(ratio: float, published: Range) -> Kind:
    """The verdict on a ratio."""
    if _within(ratio, published, _ratio_tolerance(published)):
        return "ratio reproduced"
    return "direction reproduced" if _direction(ratio) == _direction(published.middle) else "not reproduced"


def judge_figure(figure: float, published: Range, bound: Bound) -> Kind:
    """The verdict on a figure that stands alone: equal to the published one, or on its side of a bound."""
    tolerance = FIGURE_TOLERANCE
    widened = {
        "equal": published.rounded_out(),
        "at least": Range(published.low, math.inf, published.shown),
        "at most": Range(0.0, published.high, published.shown),
    }[bound]
    return "figure reproduced" if _within(figure, widened, tolerance) else "not reproduced"


def judge_change(ratio: float) -> Kind:
    """The verdict where nothing is published: whether the policy makes the row better."""
    return {1: "better", 0: "no difference", -1: "worse"}[_direction(ratio)]  # type: ignore[return-value]


def judge_saving(saved: float, ratio: float, published: Range | None) -> Kind:
    """The verdict where the paper prints only a saving, or (None) only says that the figure is better."""
    if published is not None and saved > 0 and judge_figure(saved, published, "equal") == "figure reproduced":
        return "figure reproduced"
    return "direction reproduced" if _direction(ratio) == 1 else "not reproduced"


def _judge_without_ratio(row: Row, before: float | None, after: float) -> Judgement:
    """The verdict where before / after is undefined, or the paper prints no ratio."""
    published = row.published
    if published.after is None:
        return Judgement("no figure", None)
    if not published.claims:
        return Judgement("measured", after / published.after.middle)
    # A count that falls to 0 is better, but by no finite ratio.
    vanished = before and row.better == "lower" and published.ratio and _direction(published.ratio.middle) == 1
    return Judgement("direction reproduced" if vanished else judge_figure(after, published.after, row.bound), None)


def judge(row: Row, before: float | None, after: float | None) -> Judgement:
    """The verdict on one row of a table."""
    if after is None or (before is None and row.before is not None):
        return Judgement("no figure", None)
    ratio = None if before is None else improvement(before, after, row.better)
    published = row.published
    if published.is_open:
        return Judgement("answered", ratio)
    if ratio is not None and not published.claims and published.after is None:
        return Judgement(judge_change(ratio), ratio)
    if ratio is not None and published.ratio is not None:
        return Judgement(judge_ratio(ratio, published.ratio), ratio)
    if before is not None and ratio is not None and published.after is None:
        return Judgement(judge_saving(before - after, ratio, published.saving), ratio)
    alone = _judge_without_ratio(row, before, after)
    return alone if ratio is None else Judgement(alone.kind, ratio)
