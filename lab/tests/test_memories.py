import dataclasses
from pathlib import Path

import pytest
from scripted import EXPERIMENT, BenchLab, ScriptedRunner, benchmark

from pagewalk import experiments, memories
from pagewalk.experiments import Experiment
from pagewalk.memories import MEMORIES
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "osdi99-mine.toml"
    path.write_text(EXPERIMENT)
    return experiments.load(path)


def script(job: Job) -> RunResult:
    """The flush costs nothing with the slow memory, so that the policy gains nothing there."""
    slow = "read-first = 12" in job.machine.config
    dear = "tlb.cutoff=off" in job.command_line and not slow
    return benchmark("mmap-latency", {"flush": 500_000 if dear else 2000, "kernel": 4000})


def test_a_variant_has_the_memory_on_both_sides(experiment: Experiment) -> None:
    (row,) = memories.variant(experiment, MEMORIES[1]).rows
    assert row.before is not None
    assert row.before.keys == row.after.keys == {"bus.read-first": "5", "bus.read-next": "2"}


def test_a_verdict_that_depends_on_the_memory_is_told(experiment: Experiment, tmp_path: Path) -> None:
    runner = ScriptedRunner(script)
    with Store(tmp_path / "results.duckdb") as store:
        (compared,) = memories.compare(BenchLab(runner, store), [experiment], Quiet())
        assert store.query("SELECT count(*) FROM cells") == [(0,)], "the experiment's own table is left alone"
    assert compared.depends
    assert len(runner.ran) == 2 * len(MEMORIES)
    page = memories.page([compared])
    assert "in 1 of the 1 rows; in 1 of these it depends on the memory." in page
    assert f"with {len(MEMORIES)} memories, with 1 placement of code and data." in page
    assert "| mmap latency | ppc604-185 | 82.8 | 84 ratio reproduced | 84 ratio reproduced | 1 not reproduced |" in page


def test_only_rows_with_a_verdict_are_counted(tmp_path: Path) -> None:
    whole = experiments.find("osdi99-table3")[0]
    found = dataclasses.replace(whole, rows=tuple(row for row in whole.rows if row.name == "null call"))
    with Store(tmp_path / "results.duckdb") as store:
        runner = ScriptedRunner(lambda job: benchmark("null-call", {"kernel": 4000}))
        page = memories.page(memories.compare(BenchLab(runner, store), [found], Quiet()))
    assert "in 0 of the 2 rows; in 0 of these" in page, "recalled figures have no verdict"


def test_the_spread_over_placements_stands_beside_the_memories(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store)
        (cell,) = lab.experiment(experiment, Quiet())
        store.add_cells(experiment.name, [cell.record() | {"low": 60.0, "high": 90.0, "placements": 7}])
        page = memories.page(memories.compare(lab, [experiment], Quiet()))
    assert "| yes | 60 to 90 (7 placements) ratio reproduced |" in page
