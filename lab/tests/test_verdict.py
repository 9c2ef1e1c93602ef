import pytest

from pagewalk import experiments
from pagewalk.published_range import Range, ratio_range
from pagewalk.verdict import Judgement, improvement, judge, judge_figure, judge_ratio, judge_saving


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (80.0, 79.0, "ratio reproduced"),
        (40.0, 79.0, "direction reproduced"),
        (0.9, 79.0, "not reproduced"),
        (1.0, 79.0, "not reproduced"),
        (1.04, 1.0, "ratio reproduced"),
        (1.2, 1.0, "not reproduced"),
        (1.12, 1.18, "direction reproduced"),
        (1.15, 1.18, "ratio reproduced"),
        (0.55, 0.5, "ratio reproduced"),
        (0.7, 0.5, "direction reproduced"),
        (1.5, 0.5, "not reproduced"),
    ],
)
def test_a_ratio_is_judged(ours: float, published: float, verdict: str) -> None:
    assert judge_ratio(ours, Range.exactly(published)) == verdict


def test_rounded_figures_leave_room() -> None:
    published = ratio_range(Range.exactly(6), Range.exactly(6), "lower")
    assert published is not None
    assert judge_ratio(1.15, published) == "ratio reproduced"
    assert judge_ratio(1.5, published) == "not reproduced"


@pytest.mark.parametrize(
    ("figure", "bound", "verdict"),
    [
        (32.0, "equal", "figure reproduced"),
        (40.0, "equal", "not reproduced"),
        (40.0, "at least", "figure reproduced"),
        (20.0, "at least", "not reproduced"),
        (20.0, "at most", "figure reproduced"),
        (40.0, "at most", "not reproduced"),
    ],
)
def test_a_figure_is_judged(figure: float, bound: str, verdict: str) -> None:
    assert judge_figure(figure, Range.exactly(32), bound) == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (600.0, 500.0, "figure reproduced"),
        (600.0, 540.0, "direction reproduced"),
        (600.0, 300.0, "direction reproduced"),
        (600.0, 597.0, "not reproduced"),
        (500.0, 600.0, "not reproduced"),
    ],
)
def test_a_saving_is_judged(before: float, after: float, verdict: str) -> None:
    assert judge_saving(before - after, before / after, Range.exactly(100)) == verdict


def test_nothing_at_all_can_be_the_published_figure() -> None:
    assert judge_figure(0.0, Range.exactly(0.0), "equal") == "figure reproduced"
    assert judge_figure(0.1, Range.exactly(0.0), "equal") == "not reproduced"
    assert judge_figure(0.0, Range.exactly(4), "at most") == "figure reproduced"


def test_improvement_is_above_one_when_it_is_better() -> None:
    assert improvement(20, 10, "lower") == 2
    assert improvement(10, 20, "higher") == 2
    assert improvement(10, 0, "lower") is None


def test_what_is_gone_altogether_is_better_by_no_finite_ratio() -> None:
    evictions = experiments.find("osdi99-zombie")[0].rows[0]
    assert judge(evictions, 0.7, 0.0) == Judgement("direction reproduced", None)


def test_a_row_may_be_held_against_what_is_saved() -> None:
    combined = next(row for row in experiments.find("sosp93-short")[0].rows if "two calls" in row.name)
    assert combined.published.effect == "saves 344"
    assert judge(combined, 1044.0, 700.0) == Judgement("figure reproduced", 1044 / 700)
    assert judge(combined, 800.0, 700.0).kind == "direction reproduced"
    assert judge(combined, 700.0, 800.0).kind == "not reproduced"


def test_a_row_without_a_claim_is_held_against_its_floor() -> None:
    null_call = experiments.find("paths")[0].rows[0]
    assert judge(null_call, None, 60.0) == Judgement("measured", 3.0)


def test_a_policy_beyond_the_documents_is_judged_by_whether_it_gets_better() -> None:
    forks = experiments.find("beyond-fork")[0].rows[0]
    assert judge(forks, 110.0, 100.0) == Judgement("better", 1.1)
    assert judge(forks, 100.0, 100.5).kind == "no difference"
    assert judge(forks, 100.0, 125.0) == Judgement("worse", 0.8)
