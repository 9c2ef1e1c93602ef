"""Whether a published figure was reproduced (docs/experiments.md, "Verdicts").

A published figure is rounded, so a ratio of two of them is a range (`published_range`). Ratios are compared by their
logarithms, so that 2 against 1 is as far off as 1 against 0.5; the effect is the logarithm of the published ratio.
Each rule can fail: a row without any effect reproduces only a claim that there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from pagewalk.experiment_file import Better, Bound
from pagewalk.experiments import Published, Row
from pagewalk.published_range import Range

Kind = Literal[
    "ratio reproduced",
    "figure reproduced",
    "direction reproduced",
    "overshoots",
    "no change, as published",
    "not exercised",
    "refuted by a pair",
    "not reproduced",
    "published only",
    "answered",
    "measured",
    "better",
    "worse",
    "no difference",
    "an input",
    "an input decides",
    "recalled",
    "no figure",
]

_K = TypeVar("_K", bound=str)
_C = TypeVar("_C", bound=Hashable)

Tone = Literal["good", "part", "open", "bad"]

_TONES: dict[str, Tone] = {
    "ratio reproduced": "good",
    "figure reproduced": "good",
    "better": "good",
    "direction reproduced": "part",
    "overshoots": "open",
    "not exercised": "open",
    "no change, as published": "open",
    "published only": "open",
    "answered": "open",
    "measured": "open",
    "no difference": "open",
    "an input": "open",
    "an input decides": "open",
    "recalled": "open",
}

REFUTED: Literal["refuted by a pair"] = "refuted by a pair"
"""The verdict where a change is published, and two sides that differ in the technique alone have the same counters."""

_CLASSES: dict[str, str] = {
    "ratio reproduced": "reproduced",
    "figure reproduced": "reproduced",
    "direction reproduced": "direction",
    "no change, as published": "no change as published",
    "overshoots": "overshoots",
    "not exercised": "not exercised",
    REFUTED: REFUTED,
    "not reproduced": "not reproduced",
    "an input": "input",
    "an input decides": "decided by an input",
    "recalled": "recalled",
    "answered": "open",
    "published only": "published only",
}
"""The class that a verdict on a claim is counted under. Verdicts on rows without a claim are counted by themselves."""

_VERDICTS = (
    "reproduced",
    "direction",
    "no change as published",
    "overshoots",
    "not exercised",
    REFUTED,
    "not reproduced",
)
"""The classes of a figure on which there is a verdict: the others cannot be reproduced, or were not measured."""


def is_verdict(kind: str) -> bool:
    """Whether this says that a published figure is reproduced, or that it is not."""
    return _CLASSES.get(kind) in _VERDICTS


def class_of(kind: str) -> str:
    """The class that this verdict is counted under."""
    return _CLASSES.get(kind, kind)


_STRENGTH: tuple[str, ...] = (
    "no figure",
    "not reproduced",
    REFUTED,
    "not exercised",
    "overshoots",
    "an input decides",
    "no difference",
    "direction reproduced",
    "no change, as published",
    "figure reproduced",
    "ratio reproduced",
    "better",
    "worse",
    "measured",
    "answered",
    "an input",
    "recalled",
    "published only",
)
"""The verdicts, the weakest first; those that judge nothing count only where there is no other."""


def tone(kind: str) -> Tone:
    """The colour class of a verdict."""
    return _TONES.get(kind, "bad")


def by_class(judged: Iterable[tuple[Hashable | None, str]]) -> list[tuple[str, int]]:
    """How many verdicts each class has, in the order of the classes; empty classes are left out.

    Each verdict comes with the published figure that its row measures. Several rows that measure one figure count as
    one, with the weakest of their verdicts. A row that measures no published figure counts by itself.
    """
    figures: dict[Hashable, list[str]] = {}
    for number, (figure, kind) in enumerate(judged):
        figures.setdefault(number if figure is None else figure, []).append(kind)
    return _ordered(Counter(_CLASSES.get(kind, kind) for kind in map(weakest, figures.values())))


IN_PART = "in part"
"""The class of a claim of which some rows are reproduced, in ratio, direction or as no change, and others are not."""
_ORDER = (
    "reproduced",
    "direction",
    "no change as published",
    IN_PART,
    "overshoots",
    "decided by an input",
    "not exercised",
    "not reproduced",
    REFUTED,
    "input",
    "recalled",
    "open",
    "published only",
    "not run",
)
_UNJUDGED = ("input", "recalled", "open")
"""Classes of claims that no kernel can show."""
_SHOWN = ("reproduced", "direction", "no change as published")
JUDGED = (*_SHOWN, IN_PART, "overshoots", "decided by an input", "not exercised", "not reproduced", REFUTED)
"""Classes of claims that were measured and compared."""
_UNSHOWN = ("overshoots", "not exercised", "not reproduced", REFUTED, "no figure")
"""Classes of verdicts that show nothing of a claim."""


def in_order(names: Iterable[str]) -> list[str]:
    """The names of classes, each once, in the order in which tables have them."""
    found = set(names)
    return [*(name for name in _ORDER if name in found), *sorted(found.difference(_ORDER))]


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in in_order(counts)]


def class_of_claim(kinds: Iterable[str], *, of_some: bool = False) -> str:
    """The class of a claim, from the verdicts of all rows that measure it: that of the weakest, or `IN_PART`.

    `of_some`: the document says it of some of the figures, so that the strongest counts.
    """
    found = list(kinds)
    if of_some:
        kind = max(found, key=_strength)
    elif class_of(kind := weakest(found)) in _UNSHOWN and any(class_of(other) in _SHOWN for other in found):
        return IN_PART
    return class_of(kind)


def classes_of_claims(judged: Iterable[tuple[Iterable[_C], str]], of_some: Container[_C] = ()) -> dict[_C, str]:
    """The class of each claim; each verdict comes with the claims of its row, `of_some` as `class_of_claim` has it."""
    found: dict[_C, list[str]] = {}
    for claims, kind in judged:
        for claim in claims:
            found.setdefault(claim, []).append(kind)
    return {claim: class_of_claim(kinds, of_some=claim in of_some) for claim, kinds in found.items()}


def count_classes(classes: Iterable[str]) -> list[tuple[str, int]]:
    """How many of these each class has, in the order of the classes."""
    return _ordered(Counter(classes))


def stronger(ours: str, own: str | None) -> str:
    """The class of a claim that our kernel or the paper's own may show: the stronger of the two.

    An input, a recalled figure and an open question stay what they are.
    """
    if own is None or ours in _UNJUDGED:
        return ours
    rank = (*JUDGED, *_UNJUDGED, "published only", "not run")
    return min(ours, own, key=lambda name: rank.index(name) if name in rank else len(rank))


PART = 0.25
"""The share of the published effect by which our ratio may be off, and the least share that is a direction."""
MOST_EFFECT = 2.0
"""How many times the published effect ours may be, as a direction; beyond it the row overshoots."""
FIGURE_TOLERANCE = math.log(1.10)
"""How far a figure that stands alone may be off. A bound has no such tolerance."""
UNCHANGED = math.log(1.05)
"""A change beyond this is never none, however widely the placements differ."""
NO_CHANGE = 1.01
"""A change below this factor is no change, a published one and a measured one, unless the document names it."""
WIDEST = 3.0
"""A published range whose ends are further apart than this factor is too wide to be compared with."""
MOST_TOLERANCE = math.log(WIDEST) / 2
"""The greatest tolerance: what it makes of one figure is a range of WIDEST."""


@dataclass(frozen=True)
class Judgement:
    """The verdict, and our ratio (above 1 is better), where there is one."""

    kind: Kind
    ratio: float | None


@dataclass(frozen=True)
class Spread:
    """The verdict over several placements: the weakest of theirs, and how far the compared figures are apart.

    `middle` is the number of the placement whose figure is the median; `low` and `high` are the least and the greatest
    ratio, or figure of a row without a ratio.
    """

    kind: Kind
    ratio: float | None
    middle: int
    low: float | None
    high: float | None


def improvement(before: float, after: float, better: Better) -> float | None:
    """Our ratio: before / after, or after / before where higher is better; None without a quotient."""
    worse, good = (after, before) if better == "higher" else (before, after)
    return worse / good if good > 0 and worse > 0 else None


def _window(published: Range, tolerance: float) -> tuple[float, float]:
    """The logarithms between which a figure of ours is the published one."""
    low = math.log(published.low) - tolerance if published.low > 0 else -math.inf
    return low, math.log(published.high) + tolerance if published.high > 0 else -math.inf


def _within(ours: float, published: Range, tolerance: float) -> bool:
    if ours <= 0:
        return published.low <= 0
    low, high = _window(published, tolerance)
    return low <= math.log(ours) <= high


def too_wide(published: Range) -> bool:
    """Whether the range is no figure."""
    return published.low <= 0 < published.high or (published.low > 0 and published.high / published.low > WIDEST)


def is_null(published: Range) -> bool:
    """Whether the document says that nothing changes, or prints figures that hardly differ."""
    return abs(math.log(published.middle)) < math.log(NO_CHANGE)


def claims_none(published: Published) -> bool:
    """Whether the row's claim is that nothing changes. A change that the document names is one, however small."""
    return published.ratio is not None and is_null(published.ratio) and not published.names_change


def _accepted(published: Range) -> tuple[float, float]:
    effect = abs(math.log(published.middle))
    return _window(published, min(PART * effect, MOST_TOLERANCE))


def tells_effect(published: Range) -> bool:
    """Whether the ratios that count as the published one exclude 1: if not, only a direction can be reproduced."""
    low, high = _accepted(published)
    return low > 0 or high < 0


def _direction(ratio: float) -> int:
    return 0 if 1 / NO_CHANGE < ratio < NO_CHANGE else 1 if ratio > 1 else -1


def null_tolerance(published: Range) -> float:
    """How far from 1 a ratio may be (logarithm) if nothing changes.

    It is what the published figures, as rounded, leave room for. Where they leave less than 1 %, or are not printed,
    it is the 1 % below which no verdict sees a change. It is never more than UNCHANGED.
    """
    printed = max(math.log(published.high), -math.log(published.low)) if published.low > 0 else 0.0
    return min(max(printed, math.log(NO_CHANGE)), UNCHANGED)


def judge_null(ratios: Sequence[float], published: Range) -> Kind:
    """The verdict on a published "no change", from the ratios of all placements.

    None of them is beyond the tolerance. Or what changes is within the spread: some placements are beyond it on either
    side, the median is not, and none is far from 1.
    """
    ours = sorted(math.log(ratio) for ratio in ratios)
    tolerance = null_tolerance(published)
    far = max(-ours[0], ours[-1])
    spread = ours[0] < -tolerance and ours[-1] > tolerance and far <= UNCHANGED
    by_chance = spread and abs(ours[(len(ours) - 1) // 2]) <= tolerance
    return "no change, as published" if far <= tolerance or by_chance else "not reproduced"


def judge_ratio(ratio: float, published: Range, bound: Bound = "equal", *, named: bool = False) -> Kind:
    """The verdict on a ratio: the published one, or on its side of a bound; `named`: the document names the change."""
    if bound == "nearly none":
        return "no change, as published" if abs(math.log(ratio)) <= UNCHANGED else "not reproduced"
    if bound != "equal":
        beyond = ratio >= published.low if bound == "at least" else ratio <= published.high
        return "ratio reproduced" if beyond else "not reproduced"
    effect, ours = math.log(published.middle), math.log(ratio)
    if is_null(published) and not named:
        return judge_null([ratio], published)
    if ours * effect <= 0 or abs(ours) < PART * abs(effect):
        return "not reproduced"
    low, high = _accepted(published)
    if tells_effect(published) and not too_wide(published) and low <= ours <= high:
        return "ratio reproduced"
    most = math.log(published.high) if effect > 0 or published.low <= 0 else -math.log(published.low)
    return "overshoots" if abs(ours) > max(MOST_EFFECT * most, UNCHANGED) else "direction reproduced"


def judge_figure(figure: float, published: Range, bound: Bound) -> Kind:
    """The verdict on a figure that stands alone: equal to the published one, or on its side of a bound."""
    if bound == "equal" and too_wide(published):
        return "published only"
    inside = {
        "equal": _within(figure, published.rounded_out(), FIGURE_TOLERANCE),
        "at least": figure >= published.low,
        "at most": figure <= published.high,
        "nearly none": figure == 0,
    }[bound]
    return "figure reproduced" if inside else "not reproduced"


def judge_share(share: float, published: Range) -> Kind:
    """The verdict on a share that stands alone: what it leaves must be the published figure's too.

    Else 0.93 would be 0.98, which leaves less than a third of what 0.93 leaves.
    """
    if too_wide(published):
        return "published only"
    return weakest([
        judge_figure(share, published, "equal"),
        judge_figure(1 - share, published.complement, "equal"),
    ])  # fmt: skip


def judge_change(ratio: float) -> Kind:
    """The verdict where nothing is published: whether the policy makes the row better."""
    return {1: "better", 0: "no difference", -1: "worse"}[_direction(ratio)]  # type: ignore[return-value]


def judge_saving(saved: float, ratio: float, published: Range | None) -> Kind:
    """The verdict where the paper prints only a saving, or (None) only says that the figure is better."""
    if published is None or too_wide(published):
        return "direction reproduced" if _direction(ratio) > 0 else "not reproduced"
    if saved > 0 and judge_figure(saved, published, "equal") == "figure reproduced":
        return "figure reproduced"
    if saved > MOST_EFFECT * published.high:
        return "overshoots"
    return "direction reproduced" if saved >= PART * published.middle else "not reproduced"


def _judge_without_ratio(row: Row, before: float | None, after: float) -> Kind:
    """The verdict where before / after is undefined, or the paper prints no ratio."""
    published = row.published
    if before is not None and 0 in (before, after) and published.ratio is not None:
        return _judge_to_or_from_nothing(before, after, published, row.better)
    if published.after is None:
        if published.claims or before is None or before == after:
            return "no figure"
        return judge_change(math.inf if (after < before) == (row.better == "lower") else 0.0)
    if published.before is not None and before is not None:
        return _judge_both_sides(before, after, published, row.better)
    if _is_share(row):
        return judge_share(after, published.after)
    return judge_figure(after, published.after, row.bound)


def _is_share(row: Row) -> bool:
    """Whether the row's figure is a share of a whole, which is judged by what it leaves, too."""
    share = row.published.after
    return row.unit == "fraction" and row.bound == "equal" and share is not None and 0 < share.low <= share.high < 1


def _part(before: float, after: float, better: Better) -> float:
    """The part of the larger figure by which the row gets better, from -1 to 1; a change to or from 0 is a whole."""
    worse, good = (after, before) if better == "higher" else (before, after)
    return (worse - good) / max(worse, good) if worse != good else 0.0


def _direction_of(ours: float, published: float) -> Kind:
    """The verdict on parts that are gained: the published direction, by a part of the published one at least."""
    if ours * published <= 0 or abs(ours) < PART * abs(published):
        return "not reproduced"
    return "overshoots" if abs(ours) > MOST_EFFECT * abs(published) else "direction reproduced"


def _is_small(before: float, after: float, was: Range, became: Range) -> bool:
    """Whether the larger of our sides is less than a part of the larger published one: a change to 0 is a whole."""
    return max(before, after) < PART * max(was.middle, became.middle)


def _judge_to_or_from_nothing(before: float, after: float, published: Published, better: Better) -> Kind:
    """The verdict where our figure falls to 0 or grows from 0, which is a direction without a finite ratio.

    It is a change of the whole, however small the figure is. So where both sides are printed, the larger of ours must
    be a part of the larger of theirs.
    """
    assert published.ratio is not None, "asked only where a ratio is published"
    if claims_none(published):
        return "no change, as published" if before == after else "not reproduced"
    was, became = published.before, published.after
    if was is not None and became is not None and _is_small(before, after, was, became):
        return "not reproduced"
    return _direction_of(_part(before, after, better), _part(published.ratio.middle, 1.0, "lower"))


def _judge_both_sides(before: float, after: float, published: Published, better: Better) -> Kind:
    """The verdict where both sides are printed, but no ratio, because one is 0: on each side, or on the change."""
    was, became = published.before, published.after
    assert was is not None, "asked only where both are printed"
    assert became is not None, "asked only where both are printed"
    if {judge_figure(before, was, "equal"), judge_figure(after, became, "equal")} == {"figure reproduced"}:
        return "figure reproduced"
    if _is_small(before, after, was, became):
        return "not reproduced"
    return _direction_of(_part(before, after, better), _part(was.middle, became.middle, better))


def _judge_compared(row: Row, before: float, after: float, ratio: float) -> Kind:
    """The verdict on two sides that have a ratio."""
    published = row.published
    if published.ratio is not None:
        return judge_ratio(ratio, published.ratio, row.bound, named=published.names_change)
    if published.after is not None:
        return _judge_without_ratio(row, before, after)
    return judge_saving(before - after, ratio, published.saving) if published.claims else judge_change(ratio)


def _unjudged(row: Row) -> Kind | None:
    """Why there is no verdict on what the row shows; None if there is one."""
    if row.input is not None:
        return "an input"
    if any(claim.recalled for claim in row.published.claims):
        return "recalled"
    return "answered" if row.published.is_open else None


def judge(row: Row, before: float | None, after: float | None) -> Judgement:
    """The verdict on one row of a table, measured once."""
    published = row.published
    if after is None or (before is None and row.before is not None):
        return Judgement("no figure", None)
    if not published.claims and published.after is not None:
        return Judgement("measured", after / published.after.middle)
    ratio = None if before is None else improvement(before, after, row.better)
    if row.better == "neither" and not published.claims:
        return Judgement("measured", ratio)
    if (unjudged := _unjudged(row)) is not None:
        return Judgement(unjudged, ratio)
    if before is None or ratio is None:
        return Judgement(_judge_without_ratio(row, before, after), ratio)
    return Judgement(_judge_compared(row, before, after, ratio), ratio)


def judged_figures(row: Row, before: float | None, after: float, ratio: float | None) -> tuple[float, ...]:
    """What the verdict on a row is made of: its ratio, what it saves, or its figures where it has neither.

    A share is judged by what it leaves, too.
    """
    published = row.published
    if ratio is not None and before is not None and (published.ratio is not None or published.after is None):
        of_saving = published.ratio is None and published.saving is not None and not too_wide(published.saving)
        return (before - after if of_saving else ratio,)
    if before is not None:
        return before, after
    return (after, 1 - after) if _is_share(row) else (after,)


def unmeasured(*, recalled: bool, planned: bool) -> str:
    """The class of a claim that no row measures; `planned`: an experiment has rows for it, which were not run."""
    return "recalled" if recalled else "not run" if planned else "published only"


def _strength(kind: str) -> int:
    return _STRENGTH.index(kind) if kind in _STRENGTH else len(_STRENGTH)


def weakest(kinds: Sequence[_K]) -> _K:
    """The verdict that all of these bear out."""
    if {"better", "worse"} <= set(kinds):
        return cast("_K", "no difference")
    return min(kinds, key=_strength)


def _over_placements(row: Row, judged: Sequence[Judgement]) -> Kind:
    """The verdict that all placements bear out."""
    kind, published = weakest([entry.kind for entry in judged]), row.published.ratio
    ratios = [entry.ratio for entry in judged if entry.ratio is not None]
    if kind == "not reproduced" and published is not None and row.bound == "equal" and claims_none(row.published):
        return judge_null(ratios, published) if len(ratios) == len(judged) else kind
    return kind


def judge_spread(row: Row, figures: Sequence[tuple[float | None, float | None]]) -> Spread:
    """The verdict on a row measured once for each placement, as pairs of before and after."""
    judged = [judge(row, before, after) for before, after in figures]
    ratios = [entry.ratio for entry in judged]
    compared = ratios if any(ratio is not None for ratio in ratios) else [after for _, after in figures]
    known = sorted((value, number) for number, value in enumerate(compared) if value is not None)
    kind = _over_placements(row, judged)
    if not known:
        return Spread(kind, None, 0, None, None)
    middle = known[(len(known) - 1) // 2][1]
    return Spread(kind, judged[middle].ratio, middle, known[0][0], known[-1][0])


def controlled(kind: Kind, *, acted: Sequence[bool]) -> Kind:
    """The verdict on a row whose two sides ran: no change proves nothing if the policy did nothing in the very run.

    `acted`: for each placement, whether some counter differs between the sides. The machine counts every cycle, so a
    policy that acts shows in one. Where a change is published and none differs, the technique cannot have made it.
    """
    if kind == "no change, as published" and not all(acted):
        return "not exercised"
    return REFUTED if kind == "not reproduced" and not any(acted) else kind


def at_edge(row: Row, figures: Sequence[tuple[float | None, float | None]]) -> bool:
    """Whether figures by 1 % higher or lower would have a verdict of another class.

    A null is left out: its tolerance is 1 % itself.
    """
    own = class_of(judge_spread(row, figures).kind)
    if own not in ("reproduced", "direction", "overshoots", "not reproduced") or claims_none(row.published):
        return False
    moved = (
        [(before, None if after is None else after * factor) for before, after in figures]
        for factor in (NO_CHANGE, 1 / NO_CHANGE)
    )
    return any(class_of(judge_spread(row, pairs).kind) != own for pairs in moved)


_REMARKS: dict[str, str] = {
    "recalled": "the published figures are recalled, and no copy at hand confirms them: there is no verdict on them",
    "overshoots": "the effect is more than twice the published one",
    "not exercised": "no counter differs between the two sides: the policy did nothing in this run",
    REFUTED: "no counter differs between the two sides, so that the technique cannot have made the published change",
}
"""What a verdict says for itself, whatever the row is."""


def remark(row: Row, kind: Kind) -> str | None:
    """Why a better verdict was not to be had from the published figures, or could not be given."""
    published = row.published
    if kind == "an input":
        return row.input
    if kind in _REMARKS:
        return _REMARKS[kind]
    wide = next((entry for entry in (published.saving, published.ratio) if entry is not None and too_wide(entry)), None)
    if wide is not None or kind == "published only":
        return "the published range is wider than threefold: no figure"
    if kind == "direction reproduced" and published.ratio is not None and not tells_effect(published.ratio):
        return "the published figures, as rounded, do not tell their effect from none"
    return None
