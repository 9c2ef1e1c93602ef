"""How far off a figure that stands alone is."""

import dataclasses
from pathlib import Path

import pytest
from test_claims_page import cell

from pagewalk import claims_page, distance, experiments
from pagewalk.experiments import Experiment, Row
from pagewalk.published_range import Range
from pagewalk.store import Store


@pytest.fixture(scope="module")
def memory() -> Experiment:
    (found,) = experiments.find("lmbench96-memory")
    return found


def row_of(experiment: Experiment, name: str, machine: str = "ppc604-133") -> Row:
    return next(row for row in experiment.rows if (row.name, row.after.machine) == (name, machine))


def test_a_figure_is_compared_with_the_published_one(memory: Experiment) -> None:
    row = row_of(memory, "load, first-level cache")
    assert distance.quotient(row, 7.68) == pytest.approx(1.28)
    assert distance.shown(row, 7.68) == "1.28 x published"
    assert distance.shown(row, None) == distance.shown(row, 0.0) == distance.shown(None, 7.68) == ""


def test_a_range_is_compared_by_its_nearer_end(memory: Experiment) -> None:
    row = row_of(memory, "copy less write, 32 bytes")
    assert [distance.quotient(row, ours) for ours in (111.5, 223.0, 280.0, 337.0, 674.0)] == [0.5, 1.0, 1.0, 1.0, 2.0]


def test_what_is_no_figure_of_one_side_has_no_quotient(memory: Experiment) -> None:
    row = row_of(memory, "copy")
    assert distance.quotient(dataclasses.replace(row, before=row.after), 20.0) is None
    assert distance.quotient(dataclasses.replace(row, bound="at least"), 20.0) is None
    for published in (
        {"claims": ()},
        {"after": None},
        {"after": Range.exactly(0.0)},
        {"after": Range(1.0, 9.0, "1-9")},
    ):
        changed = dataclasses.replace(row, published=dataclasses.replace(row.published, **published))
        assert distance.quotient(changed, 20.0) is None


def test_the_page_shows_and_counts_what_is_far_off(memory: Experiment, tmp_path: Path) -> None:
    def measured(name: str, after: float, verdict: str, machine: str = "ppc604-133") -> dict[str, object]:
        claims = [claim.id for claim in row_of(memory, name, machine).published.claims]
        made = {"before": None, "after": after, "ratio": None, "claims": claims, "before_run": None}
        return cell(name, after, verdict) | made | {"machine": machine}

    table = [
        measured("load, first-level cache", 7.2, "not reproduced"),
        measured("load, second-level cache", 138.0, "not reproduced"),
        measured("load, memory", 476.0, "an input decides"),
        measured("load, first-level cache", 24.0, "not reproduced", "i486dx-50"),
        measured("another P6: load, first-level cache", 140.0, "an input", "p6-167"),
    ]
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("lmbench96-memory", table)
        page = claims_page.build(store, "lmbench96")
    assert "| published of | measured on | figures with a verdict | off by a factor of more than 1.2 |" in page
    assert "| IBM PowerPC | ppc604-133 | 3 | 1 |" in page, "one is off by less than a factor of 1.2"
    assert "| Linux/i486 | i486dx-50 | 1 | 1 |" in page
    assert "| Unixware/i686 |" not in page, "what is an input judges nothing"
    assert "| load, memory | ppc604-133 | us |  |  | 476 | 1.21 x published |" in page


def test_figures_of_one_published_processor_are_not_counted(tmp_path: Path) -> None:
    (constants,) = experiments.find("osdi99-constants")
    name = "hash-table search, worst case"
    claims = [claim.id for claim in row_of(constants, name).published.claims]
    made = {"before": None, "ratio": None, "claims": claims, "before_run": None, "machine": "ppc604-133"}
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells(
            "osdi99-constants",
            [
                cell(name, 220.0, "not reproduced") | made,
                cell(name, 270.0, "not reproduced") | made | {"machine": "ppc604-185"},
            ],
        )
        page = claims_page.build(store, "osdi99")
    assert "| 220 | 1.83 x published |" in page
    assert "| published of | measured on |" not in page


def test_an_experiment_that_compares_two_sides_counts_nothing() -> None:
    (compared,) = experiments.find("osdi99-table2")
    assert distance.far(compared, ()) == []
