import dataclasses
from pathlib import Path

import pytest
from scripted import EXPERIMENT, BenchLab, ScriptedRunner, benchmark

from pagewalk import claims_page, experiments, machines, memories, records, verdict
from pagewalk.errors import BadInput
from pagewalk.experiments import Experiment
from pagewalk.inputs import Variant
from pagewalk.machines import Machine
from pagewalk.published_range import Range
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store

INPUTS = {"memory.read-delay": ("5", "6", "12"), "exception.entry": ("6", "20")}


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """A row on a machine that leaves two keys open."""
    found = machines.find
    values = {"memory.read-delay": "6", "exception.entry": "20"}

    def with_inputs(name: str) -> Machine:
        return dataclasses.replace(found(name), values=values, inputs=INPUTS)

    monkeypatch.setattr(machines, "find", with_inputs)
    path = tmp_path / "osdi99-mine.toml"
    path.write_text(EXPERIMENT)
    return experiments.load(path)


def script(job: Job) -> RunResult:
    """The flush costs nothing with the slow memory, so that the policy gains nothing there."""
    slow = "read-delay = 12" in job.machine.config
    dear = "tlb.cutoff=off" in job.command_line and not slow
    # Sides whose counters are all equal would refute the claim.
    more = 1 if "tlb.cutoff=off" in job.command_line else 0
    return benchmark("mmap-latency", {"flush": (500_000 if dear else 2000) + more, "kernel": 4000 - more})


SIX = [
    "as in the file",
    "all fastest",
    "all slowest",
    "memory.read-delay=5",
    "memory.read-delay=12",
    "exception.entry=6",
]


def test_a_row_runs_with_every_value_on_both_sides(experiment: Experiment, tmp_path: Path) -> None:
    runner = ScriptedRunner(script)
    with Store(tmp_path / "results.duckdb") as store:
        (varied,) = memories.compare(BenchLab(runner, store), [experiment], Quiet())
        assert store.query("SELECT count(*) FROM cells") == [(0,)], "the experiment's own table is left alone"
    assert list(varied.cells) == SIX
    # All slowest is what the slow memory is alone, because the other key's file has its slowest value.
    assert len(runner.ran) == 2 * (len(SIX) - 1)
    assert varied.deciding == ["all slowest", "memory.read-delay=12"]
    assert varied.ends(alone=True) == varied.ends() == pytest.approx((1.0, 84.0))
    page = memories.page(store, [varied])
    assert "in 1 of the 1 rows; in 1 of these an input decides it." in page
    assert "There is one placement of code and data, or more where" in page
    shown = "| mmap latency | ppc604-185 | 82.8 | 84 ratio reproduced | 84 ratio reproduced | 1 not reproduced |"
    assert f"{shown} 1 to 84 | all slowest, memory.read-delay=12 |" in page
    assert "| ppc604-185 | `memory.read-delay` | 6 | 5, 6, 12 |" in page


def test_a_row_runs_at_every_corner_and_alone_only_where_that_tells_more(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machines.find
    crossed = {"memory.page-mode": ("open", "closed"), "exception.entry": ("6", "20")}

    def with_inputs(name: str) -> Machine:
        values = {"memory.page-mode": "closed", "exception.entry": "20"}
        return dataclasses.replace(found(name), values=values, inputs=crossed)

    monkeypatch.setattr(machines, "find", with_inputs)

    def helps_closed_rows(job: Job) -> RunResult:
        config = job.machine.config
        dear = "tlb.cutoff=off" in job.command_line and not ('"open"' in config and "entry = 6" in config)
        more = 1 if "tlb.cutoff=off" in job.command_line else 0
        return benchmark("mmap-latency", {"flush": (500_000 if dear else 2000) + more, "kernel": 4000 - more})

    corners = ["all fastest with memory.page-mode=open", "all slowest with memory.page-mode=open"]
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(helps_closed_rows), store)
        (varied,) = memories.compare(lab, [experiment], Quiet())
        page = memories.page(store, [varied])
    with Store(tmp_path / "others.duckdb") as store:
        (same,) = memories.compare(BenchLab(ScriptedRunner(script), store), [experiment], Quiet())
    assert list(varied.cells) == [*SIX[:3], *corners, "memory.page-mode=open", "exception.entry=6"]
    assert varied.deciding == corners[:1], "neither end alone shows it"
    assert "| 1 to 84 ratio reproduced, not reproduced | 84 ratio reproduced |" in page
    assert f"| {corners[0]} |" in page
    assert list(same.cells) == [*SIX[:3], *corners], "nothing decides the row, so that no input runs alone"


def test_the_page_says_which_variants_its_results_hold(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        (ends,) = memories.compare(lab, [experiment], Quiet(), extremes=True)
        page = memories.page(store, [ends])
        (alone,) = memories.compare(lab, [experiment], Quiet())
        other = memories.page(store, [alone])
    assert "\nVariants: both ends (1 row).\n" in page
    assert "\nVariants: both ends, each input alone (1 row).\n" in other
    corner = dataclasses.replace(ends, cells={**ends.cells, "all slowest with memory.banks=1": ends.own})
    own = dataclasses.replace(ends, cells={"as in the file": ends.own})
    with Store(tmp_path / "results.duckdb") as store:
        page = memories.page(store, [ends, corner, own, ends])
    said = "both ends (2 rows); both ends, their corners (1 row); none, because no input is open (1 row)"
    assert f"\nVariants: {said}.\n" in page


def test_a_long_row_has_both_ends_only(experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "LONG", 1000)

    def long(job: Job) -> RunResult:
        result = script(job)
        return dataclasses.replace(result, counters={**result.counters, "cycles": 1001})

    with Store(tmp_path / "results.duckdb") as store:
        (varied,) = memories.compare(BenchLab(ScriptedRunner(long), store), [experiment], Quiet())
    assert list(varied.cells) == SIX[:3]


def test_a_row_at_an_edge_has_more_placements(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "at_edge", lambda row, pairs: True)
    with Store(tmp_path / "results.duckdb") as store:
        (varied,) = memories.compare(BenchLab(ScriptedRunner(script), store), [experiment], Quiet())
    assert {cell.placements for cell in varied.cells.values()} == {3}


def test_the_extremes_alone_are_fewer_runs(experiment: Experiment, tmp_path: Path) -> None:
    runner = ScriptedRunner(script)
    with Store(tmp_path / "results.duckdb") as store:
        (varied,) = memories.compare(BenchLab(runner, store), [experiment], Quiet(), extremes=True)
    assert list(varied.cells) == SIX[:3]
    assert len(runner.ran) == 6


def test_what_was_tried_is_kept_without_measuring(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        assert memories.tried(store, [experiment]) == []
        measured = memories.compare(BenchLab(ScriptedRunner(script), store), [experiment], Quiet())
        memories.compare(BenchLab(ScriptedRunner(script), store), [experiment], Quiet(), extremes=True)
        (kept,) = memories.tried(store, [experiment])
        assert list(kept.cells) == SIX[:3], "the latest alone counts"
        memories.compare(BenchLab(ScriptedRunner(script), store), [experiment], Quiet())
        assert memories.page(store, memories.tried(store, [experiment])) == memories.page(store, measured)


def test_a_row_that_was_tried_with_other_ranges_says_so(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        lab.measure(experiment, Quiet())
        (varied,) = memories.compare(lab, [experiment], Quiet())
        assert varied.of_today
        (kept,) = memories.tried(store, [experiment])
        assert kept.of_today
        assert memories.OTHER_RANGES not in memories.page(store, [kept]).split("## ", 1)[1]
        found = machines.find

        def wider(name: str) -> Machine:
            machine = found(name)
            return dataclasses.replace(machine, inputs={**machine.inputs, "memory.read-delay": ("4", "6", "12")})

        monkeypatch.setattr(machines, "find", wider)
        (kept,) = memories.tried(store, [experiment])
        assert not kept.of_today
        assert f"{memories.OTHER_RANGES} |" in memories.page(store, [kept])


def test_a_row_that_has_another_figure_than_when_it_was_tried_says_so(experiment: Experiment, tmp_path: Path) -> None:
    """A table of a later kernel stands beside what was tried with an earlier one."""
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        lab.experiment(experiment, Quiet())
        memories.compare(lab, [experiment], Quiet())
        (cell,) = memories.judged(store, experiment)
        assert "tried when" not in cell.inputs
        (kept,) = records.cells(store, experiment.name)
        assert kept.ratio is not None
        later = kept.kept | {"ratio": 2 * kept.ratio, "low": 2 * kept.ratio, "high": 2 * kept.ratio}
        store.add_cells(experiment.name, [later])
        (cell,) = memories.judged(store, experiment)
        assert cell.inputs.endswith(f", tried when the row was {kept.ratio:.3g}")


def test_what_the_experiment_sets_is_not_varied(experiment: Experiment, tmp_path: Path) -> None:
    (row,) = experiment.rows
    keys = {"memory.read-delay": "9"}
    fixed = dataclasses.replace(row, after=dataclasses.replace(row.after, keys=keys), before=None)
    runner = ScriptedRunner(script)
    with Store(tmp_path / "results.duckdb") as store:
        found = dataclasses.replace(experiment, rows=(fixed,))
        (varied,) = memories.compare(BenchLab(runner, store), [found], Quiet())
    assert list(varied.cells) == ["as in the file", "all fastest", "all slowest", "exception.entry=6"]
    assert all("read-delay = 9" in job.machine.config for job in runner.ran)


def test_only_rows_with_a_claim_are_varied_and_only_verdicts_counted(tmp_path: Path) -> None:
    whole = experiments.find("osdi99-table3")[0]
    found = dataclasses.replace(
        whole, rows=tuple(row for row in whole.rows if row.name in ("null call", "context switch, 2p/16k"))
    )
    with Store(tmp_path / "results.duckdb") as store:
        runner = ScriptedRunner(lambda job: benchmark("null-call", {"kernel": 4000}))
        varied = memories.compare(BenchLab(runner, store), [found], Quiet(), extremes=True)
    assert {entry.own.row.name for entry in varied} == {"null call"}
    assert "in 0 of the" in memories.page(store, varied), "recalled figures have no verdict"


def test_an_experiment_without_claims_is_refused(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        found = dataclasses.replace(experiment, rows=())
        with pytest.raises(BadInput, match="no row that can be run has a claim"):
            memories.compare(BenchLab(ScriptedRunner(script), store), [found], Quiet())


def test_a_hardware_cost_is_measured_with_the_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = experiments.find("osdi99-constants")[0]
    row = next(row for row in whole.rows if row.after.machine == "ppc604-133" and "worst case" in row.name)
    asked: list[str] = []

    def constants(machine: object) -> dict[str, object]:
        asked.append(str(machine))
        return {}

    monkeypatch.setattr("pagewalk.native.constants", constants)
    variants = {row.after.machine: Variant("slow", {"memory.read-delay": "12"})}
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        lab.measure(dataclasses.replace(whole, rows=(memories._with(row, variants),)), Quiet())
    assert len(asked) == 1
    assert "read-delay = 12" in asked[0]


def test_the_page_of_the_claims_says_what_an_input_decides(experiment: Experiment, tmp_path: Path) -> None:
    name = "osdi99-table2"
    mine = dataclasses.replace(experiment, name=name)
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        (cell,) = lab.experiment(mine, Quiet())
        store.add_cells(name, [cell.record() | {"low": 60.0, "high": 90.0, "placements": 7}])
        (before,) = memories.judged(store, mine)
        assert (before.verdict, before.inputs) == ("ratio reproduced", "")
        page = memories.page(store, memories.compare(lab, [mine], Quiet()))
        assert "| 60 to 90 (7 placements) ratio reproduced |" in page
        (after,) = memories.judged(store, mine)
        shown = claims_page.build(store, "osdi99")
        counts = dict(claims_page.count(store, "osdi99").figures)
    assert after.verdict == memories.DECIDES
    assert after.inputs.startswith("1 to ")
    assert after.reason.startswith(
        "ratio reproduced with the files' inputs; not reproduced with all slowest, memory.read-delay=12; "
    )
    assert counts["decided by an input"] == 1
    assert "| spread | inputs | verdict |" in shown
    assert f"| 60 to 90 | {after.inputs} | an input decides |" in shown
    assert "| decided by an input | 1 |" in shown


def test_only_verdicts_of_another_class_are_decided(experiment: Experiment, tmp_path: Path) -> None:
    assert memories.of_another_class({"as in the file": "ratio reproduced", "b": "figure reproduced"}) == []
    assert memories.of_another_class({"as in the file": "ratio reproduced", "b": "direction reproduced"}) == ["b"]
    assert memories.of_another_class({"as in the file": "ratio reproduced", "b": "no figure"}) == ["b"]
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        lab.experiment(experiment, Quiet())
        rows = [{"row_name": "mmap latency", "machine": "ppc604-185", "before": 1.0, "after": 2.0, "ratio": 0.5}]
        for variant, kind in (("as in the file", "recalled"), ("all slowest", "no figure")):
            store.add_inputs(experiment.name, [rows[0] | {"variant": variant, "verdict": kind}])
        (cell,) = memories.judged(store, experiment)
    assert cell.verdict != memories.DECIDES, "each table of inputs is whole: the latest alone counts"


def test_what_the_row_has_over_its_placements_decides_nothing() -> None:
    """The row's own table may have more placements than its variants, and so a weaker verdict."""
    own = {"as in the file": "figure reproduced"}
    assert memories.of_another_class(own | {"all slowest": "not reproduced"}, "not reproduced") == []
    assert memories.of_another_class(own | {"all slowest": "figure reproduced"}, "not reproduced") == []
    assert memories.of_another_class(own | {"all slowest": "overshoots"}, "not reproduced") == ["all slowest"]
    assert memories.of_another_class(own | {"all slowest": "not reproduced"}, "figure reproduced") == ["all slowest"]


@pytest.mark.parametrize(
    ("verdict", "shown"), [("not reproduced", "not reproduced"), ("ratio reproduced", memories.DECIDES)]
)
def test_the_verdict_over_placements_is_what_inputs_are_held_against(
    verdict: str, shown: str, experiment: Experiment, tmp_path: Path
) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        (cell,) = lab.experiment(experiment, Quiet())
        memories.compare(lab, [experiment], Quiet())
        # One placement without a gain makes the weakest verdict.
        pairs = [*cell.pairs, (cell.before, cell.before if verdict == "not reproduced" else cell.after)]
        kept = {"low": 1.0, "placements": 2, "verdict": verdict, "pairs": [list(pair) for pair in pairs]}
        store.add_cells(experiment.name, [cell.record() | kept])
        (judged,) = memories.judged(store, experiment)
        (varied,) = memories.tried(store, [experiment])
    assert judged.verdict == shown
    assert bool(varied.deciding) == (shown == memories.DECIDES)
    assert "with the files' inputs" not in judged.reason or shown == memories.DECIDES


@pytest.mark.parametrize(
    ("row", "own", "other", "moved"),
    [
        ({}, (8.0, 4.0, 2.0), (8.0, 3.97, 2.015), False),
        ({}, (8.0, 4.0, 2.0), (80.0, 40.0, 2.0), False),
        ({}, (8.0, 4.0, 2.0), (8.0, 3.95, 2.025), True),
        ({}, (8.0, 4.0, 2.0), (None, None, None), True),
        ({}, (8.0, 0.0, None), (9.0, 0.0, None), True),
        ({"saving": True}, (100.0, 90.0, 1.111), (100.0, 90.5, 1.105), True),
        ({"saving": True}, (100.0, 50.0, 2.0), (100.0, 50.3, 1.988), False),
        ({"alone": "ns"}, (None, 202.3, None), (None, 203.0, None), False),
        ({"alone": "ns"}, (None, 202.3, None), (None, 215.0, None), True),
        ({"alone": "fraction"}, (None, 0.980, None), (None, 0.985, None), True),
    ],
)  # fmt: skip
def test_what_moved_by_less_than_a_hundredth_did_not_move(
    row: dict[str, object], own: memories.Figures, other: memories.Figures, moved: bool, experiment: Experiment
) -> None:
    (held,) = experiment.rows
    if row.get("saving"):
        published = dataclasses.replace(held.published, after=None, ratio=None, saving=Range.exactly(40.0))
        held = dataclasses.replace(held, published=published)
    if row.get("alone"):
        published = dataclasses.replace(held.published, before=None, after=Range.exactly(0.98), ratio=None)
        held = dataclasses.replace(held, before=None, published=published, unit=str(row["alone"]))
    assert memories.moved(held, own, other) is moved
    assert memories.moved(held, other, own) is moved
    assert not memories.moved(held, own, own)


def test_what_crosses_an_edge_without_moving_decides_nothing(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        lab.experiment(experiment, Quiet())
        row = {"row_name": "mmap latency", "machine": "ppc604-185", "before": 8400.0, "after": 100.0, "ratio": 84.0}
        store.add_inputs(experiment.name, [
            row | {"variant": "as in the file", "verdict": "ratio reproduced"},
            row | {"variant": "all slowest", "ratio": 83.5, "verdict": "direction reproduced"},
        ])  # fmt: skip
        (judged,) = memories.judged(store, experiment)
        (varied,) = memories.tried(store, [experiment])
    assert judged.verdict == "ratio reproduced"
    assert varied.deciding == []


def test_a_decided_verdict_is_weaker_than_a_shown_one() -> None:
    decides = memories.DECIDES
    assert verdict.weakest(["ratio reproduced", decides]) == decides
    assert verdict.weakest([decides, "not reproduced"]) == "not reproduced"
    assert verdict.class_of_claim([decides, "ratio reproduced"]) == "decided by an input"
    assert verdict.stronger("decided by an input", "direction") == "direction"
    assert verdict.stronger("decided by an input", "not reproduced") == "decided by an input"
    assert not verdict.is_verdict(decides)
