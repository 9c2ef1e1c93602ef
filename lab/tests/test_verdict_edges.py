"""The edges of each rule of verdicts (docs/experiments.md, "Verdicts"): a hair within, and a hair beyond."""

from __future__ import annotations

import math
from typing import Any

import pytest
from test_claims_page import cell

from pagewalk import claims, claims_overview, claims_page, experiments, explain, memories
from pagewalk.experiments import Row
from pagewalk.figures import Measured
from pagewalk.published_range import Range
from pagewalk.store import Store
from pagewalk.verdict import (
    Kind,
    at_edge,
    class_of_claim,
    controlled,
    judge,
    judge_figure,
    judge_null,
    judge_ratio,
    judge_saving,
    judge_share,
    judge_spread,
    null_tolerance,
    stronger,
    tells_effect,
    too_wide,
)

HAIR = 1e-9
EFFECTS = [1.18, 0.5, 79.0, 1.06]


def of_effect(published: float, share: float) -> float:
    """The ratio that shows this share of the published effect."""
    return math.exp(math.log(published) * share)


def judged(published: float, share: float) -> Kind:
    return judge_ratio(of_effect(published, share), Range.exactly(published))


@pytest.mark.parametrize("published", [1.18, 0.5, 1.3])
@pytest.mark.parametrize(
    ("share", "inside", "outside"),
    [
        (0.25, "direction reproduced", "not reproduced"),
        (0.75, "ratio reproduced", "direction reproduced"),
        (1.25, "ratio reproduced", "direction reproduced"),
        (2.0, "direction reproduced", "overshoots"),
    ],
)
def test_a_ratio_has_a_floor_a_window_and_a_ceiling(published: float, share: float, inside: str, outside: str) -> None:
    within = HAIR if share < 1 else -HAIR
    assert judged(published, share + within) == inside
    assert judged(published, share - within) == outside


@pytest.mark.parametrize("published", EFFECTS)
@pytest.mark.parametrize("share", [0.0, -HAIR, -0.25, -1.0, -3.0])
def test_no_effect_and_the_other_direction_are_never_reproduced(published: float, share: float) -> None:
    assert judged(published, share) == "not reproduced"


def test_a_small_effect_overshoots_beyond_five_per_cent_alone() -> None:
    published = Range.exactly(1.02)
    assert judge_ratio(1.05 - HAIR, published) == "direction reproduced"
    assert judge_ratio(1.05 + HAIR, published) == "overshoots"
    assert judge_ratio(1.06, Range.exactly(1.04)) == "direction reproduced", "twice 4 % is more than 5 %"


def test_a_window_is_as_wide_as_rounding_leaves_it() -> None:
    """The quarter is added to the ends of the range, and the floor is a quarter of its middle."""
    printed = Range(1.1, 1.2, "1.15")
    quarter = math.log(printed.middle) / 4
    low, high = math.exp(math.log(1.1) - quarter), math.exp(math.log(1.2) + quarter)
    assert judge_ratio(low + HAIR, printed) == judge_ratio(high - HAIR, printed) == "ratio reproduced"
    assert judge_ratio(low - HAIR, printed) == judge_ratio(high + HAIR, printed) == "direction reproduced"
    assert judge_ratio(1.2**2 - HAIR, printed) == "direction reproduced", "the ceiling is twice the far end"
    assert judge_ratio(1.2**2 + HAIR, printed) == "overshoots"


def test_a_range_that_holds_one_has_no_ratio_to_reproduce() -> None:
    for printed, told in ((Range(1.03, 1.2, ""), True), (Range(0.99, 1.2, ""), False), (Range(1.02, 1.2, ""), False)):
        assert tells_effect(printed) is told
        assert judge_ratio(printed.middle, printed) == ("ratio reproduced" if told else "direction reproduced")


def test_a_range_is_too_wide_beyond_threefold() -> None:
    assert not too_wide(Range(1.0, 3.0, ""))
    assert too_wide(Range(1.0, 3.0 + HAIR, ""))
    assert judge_figure(2.0, Range(1.0, 3.1, ""), "equal") == "published only"
    assert judge_ratio(2.0, Range(1.1, 3.4, "")) == "direction reproduced"


def test_one_per_cent_is_no_change() -> None:
    one = Range.exactly(1.0)
    for within, beyond in ((1.01 - HAIR, 1.01 + HAIR), (1 / 1.01 + HAIR, 1 / 1.01 - HAIR)):
        assert judge_null([within], one) == "no change, as published"
        assert judge_null([beyond], one) == "not reproduced"
    assert null_tolerance(Range(0.9, 1.2, "")) == math.log(1.05), "rounding leaves 5 % at most"


def test_chance_on_both_sides_is_no_change_up_to_five_per_cent() -> None:
    one = Range.exactly(1.0)
    assert judge_null([1 / 1.02, 1.0, 1.05 - HAIR], one) == "no change, as published"
    assert judge_null([1 / 1.02, 1.0, 1.05 + HAIR], one) == "not reproduced"
    assert judge_null([1 / 1.02, 1.011, 1.04], one) == "not reproduced", "the median is beyond the tolerance"
    assert judge_null([1.0, 1.005, 1.04], one) == "not reproduced", "on one side alone it is an effect"


def test_no_change_needs_a_policy_that_acted() -> None:
    assert controlled("no change, as published", acted=[True]) == "no change, as published"
    assert controlled("no change, as published", acted=[False]) == "not exercised"
    assert controlled("no change, as published", acted=[True, False]) == "not exercised"
    assert controlled("ratio reproduced", acted=[False]) == "ratio reproduced"


def test_a_published_change_is_refuted_by_sides_with_the_same_counters() -> None:
    assert controlled("not reproduced", acted=[False, False]) == "refuted by a pair"
    assert controlled("not reproduced", acted=[False, True]) == "not reproduced", "one placement with a difference"
    assert controlled("direction reproduced", acted=[False]) == "direction reproduced"
    assert class_of_claim(["refuted by a pair", "refuted by a pair"]) == "refuted by a pair"
    assert class_of_claim(["refuted by a pair", "not reproduced"]) == "not reproduced"
    assert class_of_claim(["refuted by a pair", "direction reproduced"]) == "in part"
    assert stronger("refuted by a pair", "direction") == "direction"
    both = {"as in the file": "refuted by a pair", "all slowest": "not reproduced"}
    assert memories.of_another_class(both) == [], "both say that the claim is not shown"


@pytest.mark.parametrize(
    ("bound", "within", "beyond"),
    [
        ("at least", 1.6, 1.6 - HAIR),
        ("at most", 1.6, 1.6 + HAIR),
    ],
)
def test_a_bound_without_steps_has_no_tolerance(bound: Any, within: float, beyond: float) -> None:
    assert judge_ratio(within, Range.exactly(1.6), bound) == "ratio reproduced"
    assert judge_ratio(beyond, Range.exactly(1.6), bound) == "not reproduced"
    assert judge_figure(within, Range.exactly(1.6), bound) == "figure reproduced"
    assert judge_figure(beyond, Range.exactly(1.6), bound) == "not reproduced"


def test_words_in_steps_leave_half_a_step() -> None:
    row = next(row for row in experiments.find("ols03-copy")[0].rows if row.bound == "at least")
    claim = next(claim for claim in row.published.claims if claim.steps)
    assert claim.ratio is not None
    assert claim.steps is not None
    least = claim.ratio - claim.steps / 2

    def verdict(ratio: float) -> Kind:
        return judge_spread(row, [(1.0, ratio) if row.better == "higher" else (ratio, 1.0)]).kind

    assert verdict(least + 1e-6) == "ratio reproduced"
    assert verdict(least - 1e-6) == "not reproduced"


def test_nearly_none_leaves_five_per_cent() -> None:
    for ratio in (1.05 - HAIR, 1 / 1.05 + HAIR):
        assert judge_ratio(ratio, Range.exactly(1.0), "nearly none") == "no change, as published"
    for ratio in (1.05 + HAIR, 1 / 1.05 - HAIR):
        assert judge_ratio(ratio, Range.exactly(1.0), "nearly none") == "not reproduced"


def test_a_figure_alone_may_be_off_by_a_tenth() -> None:
    published = Range(100.0, 100.0, "100.0")
    low, high = published.rounded_out().low / 1.1, published.rounded_out().high * 1.1
    assert judge_figure(low + HAIR, published, "equal") == judge_figure(high - HAIR, published, "equal")
    assert judge_figure(low + HAIR, published, "equal") == "figure reproduced"
    assert judge_figure(low - HAIR, published, "equal") == "not reproduced"
    assert judge_figure(high + HAIR, published, "equal") == "not reproduced"


def test_a_share_is_held_from_both_ends() -> None:
    published = Range(0.98, 0.98, "0.980")
    assert judge_share(0.98, published) == "figure reproduced"
    assert judge_share(0.93, published) == "not reproduced", "it leaves more than three times as much"


def test_a_saving_has_a_floor_and_a_ceiling() -> None:
    published = Range.exactly(0.2)
    assert judge_saving(0.05, 1.05, published) == "direction reproduced"
    assert judge_saving(0.05 - HAIR, 1.05, published) == "not reproduced"
    assert judge_saving(0.4, 1.7, published) == "direction reproduced"
    assert judge_saving(0.4 + HAIR, 1.7, published) == "overshoots"
    assert judge_saving(-0.2, 0.8, published) == "not reproduced"


def effect_row() -> Row:
    found = experiments.find("osdi99-table2")[0].rows
    return next(row for row in found if row.name == "mmap latency" and row.after.machine == "ppc604-185")


def test_one_placement_beyond_the_window_decides() -> None:
    row = effect_row()
    published = row.published.ratio
    assert published is not None
    inside, below = (published.middle, 1.0), (of_effect(published.middle, 0.5), 1.0)
    above, none = (of_effect(published.middle, 2.5), 1.0), (1.0, 1.0)
    assert judge_spread(row, [inside] * 7).kind == "ratio reproduced"
    assert judge_spread(row, [*[inside] * 6, below]).kind == "direction reproduced"
    assert judge_spread(row, [*[inside] * 6, above]).kind == "overshoots"
    assert judge_spread(row, [*[inside] * 6, none]).kind == "not reproduced"


@pytest.mark.parametrize("share", [0.25, 2.0])
def test_a_verdict_within_one_per_cent_of_its_edge_says_so(share: float) -> None:
    row = effect_row()
    published = row.published.ratio
    assert published is not None
    end = published.middle if share < 1 else published.high
    edge = of_effect(end, share)
    assert at_edge(row, [(edge * 1.009, 1.0)])
    assert at_edge(row, [(edge / 1.009, 1.0)])
    assert not at_edge(row, [(edge * 1.03, 1.0)])
    assert not at_edge(row, [(edge / 1.03, 1.0)])


def test_rows_on_kernels_that_differ_in_more_than_the_technique_count_for_no_claim() -> None:
    (own,) = experiments.find("osdi99-own")
    composite = {(row.name, row.after.machine) for row in own.rows if row.composite is not None}
    counting = {(row.row_name, row.machine) for entry, row in claims_page.own_rows("osdi99") if entry.name == own.name}
    assert composite
    assert counting
    assert not composite & counting


@pytest.mark.parametrize("shown", [(8.0, 1.0), (1.0, 1.0), (1.0, 8.0)])
def test_a_workload_whose_size_decides_is_an_input_whatever_it_shows(shown: tuple[float, float]) -> None:
    rows = [row for name in experiments.names() for found in experiments.find(name) for row in found.rows if row.input]
    assert rows
    for row in rows:
        assert judge(row, *shown).kind == "an input", row.name


@pytest.mark.parametrize("kind", ["not reproduced", "overshoots"])
def test_what_is_not_reproduced_says_why_by_counters(kind: Kind) -> None:
    """Its reason has cycles by cause, how much of them the policy can change, and what else changed."""
    (row, *_) = (row for row in experiments.find("osdi99-table2")[0].rows if row.name == "mmap latency")
    sides = [
        Measured(1_000_000, 10, 0, {"cycles": cycles, "cycles.cause.flush": cycles // 2, "instructions": cycles}, {})
        for cycles in (4000, 3000)
    ]
    words = explain.reason(row, kind, *sides)
    assert "cycles each: flush 200 -> 150" in words
    assert "each: instructions 400 -> 300" in words
    assert "the policy can change flush: 100.0% of the row's cycles before" in words


def test_two_systems_differ_in_no_policy() -> None:
    for row in experiments.find("sosp93-mach")[0].rows:
        assert explain.changed_policies(row) == []


def test_every_claim_of_a_document_stands_on_the_page_of_all(tmp_path: Any) -> None:
    """However many figures a claim has, and whether a row measures it or not."""
    with Store(tmp_path / "results.duckdb") as store:
        for paper in claims_overview.papers():
            shown = [claim.id for entry in claims_page.measurements_of(store, paper) for claim in entry.claims]
            assert sorted(shown) == sorted(claim.id for claim in claims.of_document(paper))


def test_a_row_that_shows_the_effect_with_every_input_has_the_weakest_verdict() -> None:
    """As with placements. Where one input shows no effect, or too large a one, that input decides."""
    ratio, direction = "ratio reproduced", "direction reproduced"
    assert memories.over_inputs(ratio, []) == ratio
    assert memories.over_inputs(ratio, [direction]) == direction
    assert memories.over_inputs(direction, [ratio, "figure reproduced"]) == direction
    for other in ("not reproduced", "overshoots", "no change, as published", "not exercised", "no figure"):
        assert memories.over_inputs(ratio, [direction, other]) == memories.DECIDES
        assert memories.over_inputs(other, [ratio]) == memories.DECIDES
        assert memories.over_inputs(other, []) == other


def test_an_input_that_moves_the_class_decides() -> None:
    own = {"as in the file": "direction reproduced"}
    assert memories.of_another_class(own | {"all slowest": "ratio reproduced"}) == ["all slowest"]
    assert memories.of_another_class(own | {"all slowest": "overshoots"}) == ["all slowest"]
    assert memories.of_another_class(own | {"all slowest": "direction reproduced"}) == []


@pytest.mark.parametrize("other", ["overshoots", "not exercised", "not reproduced", "no figure"])
def test_a_claim_is_in_part_if_one_row_shows_it_and_one_does_not(other: str) -> None:
    assert class_of_claim(["direction reproduced", other]) == "in part"
    assert class_of_claim([other, other]) not in ("in part", "direction", "reproduced")
    assert class_of_claim(["ratio reproduced", other], of_some=True) == "reproduced"


def test_an_overshoot_counts_less_than_what_is_in_part_and_more_than_nothing() -> None:
    assert stronger("overshoots", "in part") == "in part"
    assert stronger("overshoots", "not reproduced") == "overshoots"
    assert stronger("not exercised", "no change as published") == "no change as published"


def test_one_measurement_is_one_claim_however_many_figures_it_has(tmp_path: Any) -> None:
    pair = ["osdi99.table1.603-180-htab", "osdi99.table1.603-180-nohtab"]
    with Store(tmp_path / "results.duckdb") as store:
        before = claims_page.measurements_of(store, "osdi99")
        rows = [cell(f"row {number}", 8.0, "ratio reproduced") | {"claims": pair} for number in range(5)]
        store.add_cells("osdi99-table1", rows)
        after = claims_page.measurements_of(store, "osdi99")
    (found,) = (entry for entry in after if {claim.id for claim in entry.claims} == set(pair))
    assert len(found.ours) == 5
    assert found.shown == "reproduced"
    assert sum(len(entry.claims) for entry in after) == len(claims.of_document("osdi99"))
    assert len(after) <= len(before)
