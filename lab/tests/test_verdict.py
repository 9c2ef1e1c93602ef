import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pagewalk import experiments
from pagewalk.experiments import Row
from pagewalk.published_range import Range, ratio_range
from pagewalk.verdict import (
    Judgement,
    at_edge,
    by_class,
    claims_none,
    class_of_claim,
    classes_of_claims,
    controlled,
    count_classes,
    improvement,
    is_null,
    judge,
    judge_figure,
    judge_null,
    judge_ratio,
    judge_saving,
    judge_spread,
    null_tolerance,
    remark,
    stronger,
    tells_effect,
    weakest,
)


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (80.0, 79.0, "ratio reproduced"),
        (40.0, 79.0, "direction reproduced"),
        (2.5, 79.0, "not reproduced"),
        (0.9, 79.0, "not reproduced"),
        (1.0, 79.0, "not reproduced"),
        (1.009, 1.0, "no change, as published"),
        (0.991, 1.0, "no change, as published"),
        (1.03, 1.0, "not reproduced"),
        (1 / 1.03, 1.0, "not reproduced"),
        (1.009, 1.004, "no change, as published"),
        (1.03, 1.004, "not reproduced"),
        (1.12, 1.18, "direction reproduced"),
        (1.15, 1.18, "ratio reproduced"),
        (1.03, 1.18, "not reproduced"),
        (0.55, 0.5, "ratio reproduced"),
        (0.7, 0.5, "direction reproduced"),
        (0.9, 0.5, "not reproduced"),
        (1.5, 0.5, "not reproduced"),
    ],
)
def test_a_ratio_is_judged(ours: float, published: float, verdict: str) -> None:
    assert judge_ratio(ours, Range.exactly(published)) == verdict


def rounded(before: float, after: float) -> Range:
    found = ratio_range(Range.exactly(before), Range.exactly(after), "lower")
    assert found is not None
    return found


def test_figures_that_are_the_same_claim_no_change() -> None:
    assert judge_ratio(1.03, rounded(6, 6)) == "no change, as published"
    assert judge_ratio(1.15, rounded(6, 6)) == "not reproduced", "rounding leaves room for it, but ours does change"
    assert judge_ratio(1.03, rounded(100, 100)) == "not reproduced", "these figures leave room for 1 %"


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.0, 1.0, 1.0], "no change, as published"),
        ([1.004, 1.009, 1.006], "no change, as published"),
        ([0.98, 1.005, 1.04], "no change, as published"),
        ([0.98, 1.02, 1.04], "not reproduced"),
        ([0.98, 0.985, 1.02], "not reproduced"),
        ([0.997, 1.005, 1.014], "not reproduced"),
        ([0.999, 1.0, 1.04], "not reproduced"),
        ([1.03, 1.04, 1.05], "not reproduced"),
        ([0.96, 0.97, 0.98], "not reproduced"),
        ([0.9, 1.0, 1.1], "not reproduced"),
        ([1.0, 1.2], "not reproduced"),
    ],
)
def test_no_change_is_none_in_every_placement_or_within_the_spread(ratios: list[float], verdict: str) -> None:
    assert judge_null(ratios, Range.exactly(1.0)) == verdict
    null = next(row for row in experiments.find("osdi99-bat")[0].rows if "I/O" in row.name)
    assert judge_spread(null, [(ratio, 1.0) for ratio in ratios]).kind == verdict


def test_a_change_that_a_paper_names_is_one_however_small() -> None:
    compile_time = next(row for row in experiments.find("ols03-exec")[0].rows if row.name == "compile")
    assert compile_time.published.ratio is not None
    assert is_null(compile_time.published.ratio)
    assert not claims_none(compile_time.published)
    assert judge(compile_time, 1.0037, 1.0).kind == "ratio reproduced"
    assert judge(compile_time, 1.03, 1.0).kind == "direction reproduced"
    assert judge(compile_time, 1.0, 1.0).kind == "not reproduced"
    assert judge_spread(compile_time, [(1.03, 1.0), (0.999, 1.0)]).kind == "not reproduced"
    user = next(row for row in experiments.find("ols03-exec")[0].rows if row.name.startswith("user time"))
    assert claims_none(user.published), "the paper prints two figures and names no change"


def test_the_window_of_a_ratio_is_no_wider_than_threefold() -> None:
    assert judge_ratio(47.0, Range.exactly(80)) == judge_ratio(138.0, Range.exactly(80)) == "ratio reproduced"
    assert judge_ratio(45.0, Range.exactly(80)) == judge_ratio(140.0, Range.exactly(80)) == "direction reproduced"


def test_figures_that_rounding_may_make_equal_have_no_ratio_to_reproduce() -> None:
    for published in (rounded(22, 21), rounded(4, 3)):
        effect = math.log(published.middle)
        assert not tells_effect(published)
        assert judge_ratio(math.exp(effect), published) == "direction reproduced"
        assert judge_ratio(math.exp(effect / 5), published) == "not reproduced"


def rows_with_an_effect() -> Iterator[Row]:
    for name in experiments.names():
        for row in experiments.find(name)[0].rows:
            unjudged = row.input is not None or row.published.is_open
            recalled = any(claim.recalled for claim in row.published.claims)
            if row.published.ratio is not None and not unjudged and not recalled:
                yield row


@pytest.mark.parametrize("row", list(rows_with_an_effect()), ids=lambda row: f"{row.name}, {row.after.machine}")
def test_the_verdict_on_every_published_ratio_can_fail(row: Row) -> None:
    published = row.published.ratio
    assert published is not None
    effect = math.log(published.middle)

    def verdict(share: float) -> str:
        worse, good = math.exp(effect * share), 1.0
        before, after = (good, worse) if row.better == "higher" else (worse, good)
        return judge(row, before, after).kind

    if row.bound != "equal":
        beyond = {"at least": published.low / 1.02, "at most": published.high * 1.02, "nearly none": 1.06}[row.bound]
        shown = "no change, as published" if row.bound == "nearly none" else "ratio reproduced"
        assert judge_ratio(published.middle, published, row.bound) == shown
        assert judge_ratio(beyond, published, row.bound) == "not reproduced"
    elif claims_none(row.published):
        changed = math.exp(1.1 * null_tolerance(published))
        assert verdict(1) == "no change, as published"
        assert judge_ratio(changed, published) == judge_ratio(1 / changed, published) == "not reproduced"
        assert judge_null([changed, changed * 1.01], published) == "not reproduced"
    else:
        assert verdict(1) in ("ratio reproduced", "direction reproduced")
        assert [verdict(share) for share in (0, 0.2, -1)] == ["not reproduced"] * 3


def test_a_range_wider_than_threefold_is_no_figure() -> None:
    wide = Range(26, 3092, "26-3092")
    assert judge_figure(300.0, wide, "equal") == "published only"
    assert judge_saving(300.0, 1.5, wide) == "direction reproduced"
    assert judge_saving(30.0, 1.03, wide) == judge_saving(30.0, 1.03, None) == "direction reproduced"
    assert judge_saving(5.0, 1.005, wide) == judge_saving(5.0, 1.005, None) == "not reproduced"
    assert judge_ratio(10.0, Range(2.0, 20.0, "2-20")) == "direction reproduced"


@pytest.mark.parametrize(
    ("figure", "bound", "verdict"),
    [
        (32.0, "equal", "figure reproduced"),
        (40.0, "equal", "not reproduced"),
        (32.0, "at least", "figure reproduced"),
        (31.0, "at least", "not reproduced"),
        (32.0, "at most", "figure reproduced"),
        (33.0, "at most", "not reproduced"),
    ],
)
def test_a_figure_is_judged(figure: float, bound: str, verdict: str) -> None:
    assert judge_figure(figure, Range.exactly(32), bound) == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (600.0, 500.0, "figure reproduced"),
        (600.0, 540.0, "direction reproduced"),
        (600.0, 420.0, "direction reproduced"),
        (600.0, 300.0, "overshoots"),
        (600.0, 580.0, "not reproduced"),
        (600.0, 600.0, "not reproduced"),
        (500.0, 600.0, "not reproduced"),
    ],
)
def test_a_saving_is_judged(before: float, after: float, verdict: str) -> None:
    assert judge_saving(before - after, before / after, Range.exactly(100)) == verdict


def test_nothing_at_all_can_be_the_published_figure() -> None:
    assert judge_figure(0.0, Range.exactly(0.0), "equal") == "figure reproduced"
    assert judge_figure(0.1, Range.exactly(0.0), "equal") == "not reproduced"
    assert judge_figure(0.0, Range.exactly(4), "at most") == "figure reproduced"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (0.33, 0.0, "figure reproduced"),
        (0.3, 0.002, "figure reproduced"),
        (0.9, 0.0, "direction reproduced"),
        (0.05, 0.0, "not reproduced"),
        (0.33, 0.2, "direction reproduced"),
        (0.33, 0.27, "not reproduced"),
        (0.33, 0.33, "not reproduced"),
        (0.1, 0.2, "not reproduced"),
        (0.0, 0.0, "not reproduced"),
    ],
)
def test_both_sides_count_where_one_is_nothing(before: float, after: float, verdict: str) -> None:
    share = experiments.find("osdi99-bat")[0].rows[0]
    assert judge(share, before, after).kind == verdict


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.98, "figure reproduced"), (0.982, "figure reproduced"), (0.93, "not reproduced"), (0.999, "not reproduced")],
)
def test_a_share_is_compared_from_both_of_its_ends(share: float, verdict: str) -> None:
    short = experiments.find("ols03-copies")[0].rows[0]
    assert judge(short, None, share).kind == verdict


def test_there_is_no_verdict_on_recalled_figures() -> None:
    null_call = experiments.find("osdi99-table3")[0].rows[0]
    assert judge(null_call, 18.0, 2.0) == Judgement("recalled", 9.0)
    assert "recalled" in (remark(null_call, "recalled") or "")
    assert class_of_claim(["recalled", "recalled"]) == "recalled"


def test_improvement_is_above_one_when_it_is_better() -> None:
    assert improvement(20, 10, "lower") == 2
    assert improvement(10, 20, "higher") == 2
    assert improvement(10, 0, "lower") is None


def test_what_is_gone_altogether_is_better_by_no_finite_ratio() -> None:
    evictions = next(row for row in experiments.find("osdi99-zombie")[0].rows if row.name.endswith("entry, compile"))
    assert judge(evictions, 0.7, 0.0) == Judgement("direction reproduced", None)
    assert judge(evictions, 0.0, 0.0).kind == judge(evictions, 0.0, 0.7).kind == "not reproduced"


def test_growth_from_nothing_is_a_direction_as_the_fall_to_nothing_is() -> None:
    misses = next(row for row in experiments.find("lkml05-footprint")[0].rows if row.name == "dd: I-TLB misses, kernel")
    assert judge(misses, 0.0, 30000.0) == Judgement("direction reproduced", None)
    assert judge(misses, 30000.0, 0.0).kind == judge(misses, 0.0, 0.0).kind == "not reproduced"
    assert judge_spread(misses, [(0.0, 30000.0), (0.0, 0.0)]).kind == "not reproduced"
    null = next(row for row in experiments.find("osdi99-bat")[0].rows if "I/O" in row.name)
    assert judge(null, 0.0, 0.0).kind == "no change, as published"
    assert judge(null, 0.0, 1.0).kind == judge(null, 1.0, 0.0).kind == "not reproduced"


def test_a_little_that_is_gone_is_no_direction() -> None:
    """The published sides are 1369 and 118288 misses: one miss of ours, or a fifth of theirs, is not their change."""
    misses = next(row for row in experiments.find("lkml05-footprint")[0].rows if row.name == "dd: I-TLB misses, kernel")
    assert judge(misses, 0.0, 1.0).kind == judge(misses, 0.0, 118288 / 5).kind == "not reproduced"
    share = next(row for row in experiments.find("osdi99-bat")[0].rows if row.name.startswith("kernel's share"))
    assert judge(share, 0.31, 0.0).kind == "figure reproduced"
    assert judge(share, 0.15, 0.0).kind == "direction reproduced"
    assert judge(share, 0.33 / 5, 0.0).kind == judge(share, 0.02, 0.01).kind == "not reproduced"


def test_a_row_may_be_held_against_what_is_saved() -> None:
    combined = next(
        row for row in experiments.find("sosp93-i486")[0].rows if row.name.startswith("round trip by two calls")
    )
    assert combined.published.effect == "saves 344"
    assert judge(combined, 1044.0, 700.0) == Judgement("figure reproduced", 1044 / 700)
    assert judge(combined, 800.0, 700.0).kind == "direction reproduced"
    assert judge(combined, 760.0, 700.0).kind == "not reproduced"
    assert judge(combined, 700.0, 800.0).kind == "not reproduced"


def test_hit_rates_are_compared_as_misses() -> None:
    row = next(row for row in experiments.find("osdi99-zombie")[0].rows if "miss rate" in row.name)
    assert (row.published.before, row.published.after) == (Range(0.05, 0.15, "0.15-0.05"), Range(0.02, 0.02, "0.02"))
    assert judge(row, 0.09, 0.085).kind == "not reproduced", "as hits it would be 0.91 and 0.915"


def test_a_figure_that_the_workload_fixes_is_an_input() -> None:
    live = next(row for row in experiments.find("osdi99-zombie")[0].rows if row.name == "live entries")
    assert judge(live, 600.0, 1400.0).kind == "an input"
    assert remark(live, "an input") == live.input


def test_a_row_without_a_claim_is_held_against_its_floor() -> None:
    null_call = experiments.find("paths")[0].rows[0]
    assert judge(null_call, None, 60.0) == Judgement("measured", 3.0)


def test_a_policy_beyond_the_documents_is_judged_by_whether_it_gets_better() -> None:
    forks = experiments.find("beyond-fork")[0].rows[0]
    assert judge(forks, 110.0, 100.0) == Judgement("better", 1.1)
    assert judge(forks, 100.0, 100.5).kind == "no difference"
    assert judge(forks, 100.0, 125.0) == Judgement("worse", 0.8)


def test_more_or_fewer_interrupts_are_neither_better_nor_worse() -> None:
    rows = [row for experiment in experiments.find("riscv-imsic") for row in experiment.rows]
    counted = next(row for row in rows if row.name.startswith("interrupts into machine mode"))
    assert judge(counted, 3.0, 1.0) == Judgement("measured", 3.0)
    assert judge(counted, 3.0, 0.0) == Judgement("measured", None)


def test_a_verdict_is_one_that_every_placement_bears_out() -> None:
    mmap = experiments.find("osdi99-table2")[0].rows[0]
    spread = judge_spread(mmap, [(8000.0, 100.0), (3000.0, 100.0), (7000.0, 100.0)])
    assert (spread.kind, spread.ratio, spread.middle) == ("direction reproduced", 70.0, 2)
    assert (spread.low, spread.high) == (30.0, 80.0)
    assert judge_spread(mmap, [(8000.0, 100.0), (100.0, 100.0)]).kind == "not reproduced"
    switch = next(row for row in experiments.find("osdi99-table2")[0].rows if row.name.startswith("context switch"))
    assert judge_spread(switch, [(6.0, 6.0), (6.0, 6.1)]).kind == "no change, as published"
    assert judge_spread(switch, [(6.0, 6.0), (6.0, 5.0)]).kind == "not reproduced"
    fork = experiments.find("beyond-fork")[0].rows[0]
    assert judge_spread(fork, [(100.0, 90.0), (90.0, 100.0)]).kind == "no difference"
    assert judge_spread(fork, [(100.0, 90.0), (100.0, 95.0)]).kind == "better"


def test_the_spread_of_a_row_with_one_side_is_that_of_its_figure() -> None:
    rows = experiments.find("osdi99-bat")[0].rows
    most = next(replace(row, input=None) for row in rows if row.name == "most kernel entries in the TLB")
    spread = judge_spread(most, [(None, 3.0), (None, 4.0), (None, 2.0)])
    assert (spread.kind, spread.ratio, spread.middle) == ("figure reproduced", None, 0)
    assert (spread.low, spread.high) == (2.0, 4.0)


def test_the_weakest_verdict_counts() -> None:
    assert weakest(["ratio reproduced", "direction reproduced"]) == "direction reproduced"
    assert weakest(["no change, as published", "not reproduced"]) == "not reproduced"
    assert weakest(["ratio reproduced", "no figure"]) == "no figure"
    assert weakest(["better", "no difference"]) == "no difference"


def test_verdicts_are_counted_by_class() -> None:
    kinds = ["ratio reproduced", "better", "figure reproduced", "an input", "no change, as published"]
    found = by_class((None, kind) for kind in kinds)
    assert found == [("reproduced", 2), ("no change as published", 1), ("input", 1), ("better", 1)]


def test_rows_on_the_same_published_figure_count_once() -> None:
    rows = [("figure", "ratio reproduced"), ("figure", "not reproduced"), ("other", "direction reproduced")]
    assert by_class(rows) == [("direction", 1), ("not reproduced", 1)]


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        (["ratio reproduced", "figure reproduced"], "reproduced"),
        (["ratio reproduced", "direction reproduced"], "direction"),
        (["ratio reproduced", "not reproduced"], "in part"),
        (["no change, as published", "no figure"], "in part"),
        (["not reproduced", "not reproduced"], "not reproduced"),
        (["an input"], "input"),
        (["an input", "not reproduced"], "not reproduced"),
        (["an input", "direction reproduced"], "direction"),
        (["an input", "figure reproduced"], "reproduced"),
        (["recalled", "no change, as published"], "no change as published"),
        (["ratio reproduced", "no change, as published"], "no change as published"),
        (["published only", "an input"], "input"),
    ],
)
def test_a_claim_has_the_class_of_its_weakest_row_or_is_reproduced_in_part(kinds: list[str], name: str) -> None:
    assert class_of_claim(kinds) == class_of_claim(kinds[::-1]) == name


@pytest.mark.parametrize(
    ("ours", "own", "shown"),
    [
        ("not reproduced", "direction", "direction"),
        ("in part", "not reproduced", "in part"),
        ("not reproduced", "in part", "in part"),
        ("reproduced", "not reproduced", "reproduced"),
        ("published only", "not reproduced", "not reproduced"),
        ("input", "reproduced", "input"),
        ("recalled", "not reproduced", "recalled"),
        ("not run", "in part", "in part"),
        ("direction", None, "direction"),
    ],
)
def test_the_stronger_of_two_kernels_shows_a_claim(ours: str, own: str | None, shown: str) -> None:
    assert stronger(ours, own) == shown


def test_a_row_on_two_claims_counts_for_both() -> None:
    rows = [(["before", "after"], "ratio reproduced"), (["after"], "not reproduced"), (["other"], "published only")]
    assert count_classes(classes_of_claims(rows).values()) == [("reproduced", 1), ("in part", 1), ("published only", 1)]


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (1.38, 1.18, "direction reproduced"),
        (1.40, 1.18, "overshoots"),
        (1 / 1.40, 1 / 1.18, "overshoots"),
        (1.049, 1.01, "direction reproduced"),
        (1.06, 1.01, "overshoots"),
        (1.0 / 1.40, 1.18, "not reproduced"),
    ],
)
def test_an_effect_of_more_than_twice_the_published_one_is_no_reproduction(
    ours: float, published: float, verdict: str
) -> None:
    assert judge_ratio(ours, Range.exactly(published)) == verdict


def test_what_overshoots_in_one_placement_or_row_does_so_as_a_whole() -> None:
    assert weakest(["overshoots", "ratio reproduced"]) == "overshoots"
    assert weakest(["overshoots", "not reproduced"]) == "not reproduced"
    assert class_of_claim(["overshoots", "overshoots"]) == "overshoots"
    assert class_of_claim(["overshoots", "ratio reproduced"]) == "in part"
    assert stronger("overshoots", "direction") == "direction"
    assert stronger("not reproduced", "overshoots") == "overshoots"


def test_a_published_range_has_its_ceiling_at_its_far_end() -> None:
    rounded_range = Range(1.1, 1.5, "1.1-1.5")
    assert judge_ratio(2.2, rounded_range) == "direction reproduced"
    assert judge_ratio(2.3, rounded_range) == "overshoots"


def test_no_change_proves_nothing_if_the_policy_did_nothing() -> None:
    assert controlled("no change, as published", acted=[True]) == "no change, as published"
    assert controlled("no change, as published", acted=[False]) == "not exercised"
    assert class_of_claim(["not exercised", "not exercised"]) == "not exercised"
    row = experiments.find("osdi99-bat")[0].rows[0]
    told = remark(row, "not exercised")
    assert told is not None
    assert "no counter differs" in told


def test_a_bound_leaves_the_room_that_its_words_leave() -> None:
    over_60 = next(row for row in experiments.find("ols03-copy")[0].rows if row.bound == "at least")
    assert over_60.published.ratio is not None
    verdicts = [judge_ratio(ratio, over_60.published.ratio, over_60.bound) for ratio in (1.587, 1.57)]
    assert verdicts == ["ratio reproduced", "not reproduced"]
    gone = Range.exactly(1.0)
    assert judge_ratio(1.049, gone, "nearly none") == judge_ratio(1 / 1.049, gone, "nearly none")
    assert judge_ratio(1.049, gone, "nearly none") == "no change, as published"
    assert judge_ratio(1.06, gone, "nearly none") == judge_ratio(1 / 1.06, gone, "nearly none") == "not reproduced"


def test_what_a_document_says_of_some_figures_holds_if_one_of_them_shows_it() -> None:
    assert class_of_claim(["ratio reproduced", "not reproduced"], of_some=True) == "reproduced"
    assert class_of_claim(["not reproduced", "overshoots"], of_some=True) == "overshoots"
    rows = [(["some"], "ratio reproduced"), (["some"], "not reproduced"), (["all"], "not reproduced")]
    assert classes_of_claims(rows, {"some"}) == {"some": "reproduced", "all": "not reproduced"}


def test_a_verdict_says_that_it_is_at_the_edge_of_its_class() -> None:
    row = next(row for row in experiments.find("osdi99-table2")[0].rows if "mmap" in row.name)
    published = row.published.ratio
    assert published is not None
    edge = math.exp(math.log(published.low) - math.log(3) / 2)
    assert at_edge(row, [(edge * 1.005, 1.0)])
    assert at_edge(row, [(edge / 1.005, 1.0)])
    assert not at_edge(row, [(edge * 1.2, 1.0)])
    assert at_edge(row, [(edge * 1.005, 1.0), (edge * 1.2, 1.0)]), "the weakest placement decides"
    null = next(row for row in experiments.find("osdi99-bat")[0].rows if "I/O" in row.name)
    assert not at_edge(null, [(1.0095, 1.0)]), "the tolerance of a null is 1 % itself"
