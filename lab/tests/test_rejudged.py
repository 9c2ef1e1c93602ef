"""Rows that were kept, by the claims and the rules of today."""

import dataclasses
from pathlib import Path

import pytest
from scripted import EXPERIMENT, BenchLab, ScriptedRunner, benchmark

from pagewalk import experiments, memories, records
from pagewalk.experiments import Experiment, Published
from pagewalk.rejudged import rejudged
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store

NOTHING = Published((), None, None, None)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "osdi99-mine.toml"
    path.write_text(EXPERIMENT)
    return experiments.load(path)


def script(job: Job) -> RunResult:
    flush = 500_000 if "tlb.cutoff=off" in job.command_line else 2000
    return benchmark("mmap-latency", {"flush": flush, "kernel": 4000})


def test_a_kept_row_has_the_claim_and_the_verdict_of_today(experiment: Experiment, tmp_path: Path) -> None:
    """A claim that is taken from a row, and one that becomes an input, show on the page without a run."""
    with Store(tmp_path / "results.duckdb") as store:
        BenchLab(ScriptedRunner(script), store).experiment(experiment, Quiet())
        (kept,) = records.cells(store, experiment.name)
        (row,) = experiment.rows
        runs = records.runs(store, [kept])
        assert rejudged(runs, row, kept) == kept
        decided = dataclasses.replace(row, input="its size decides")
        shown = rejudged(runs, decided, kept)
        assert (shown.verdict, shown.before, shown.after) == ("an input", kept.before, kept.after)
        assert shown.reason.startswith("its size decides")
        bare = dataclasses.replace(row, published=NOTHING)
        shown = rejudged(runs, bare, kept)
        assert (shown.claims, shown.published_ratio, shown.verdict) == ((), None, "better")
        mine = dataclasses.replace(experiment, rows=(bare,))
        assert [cell.inputs for cell in memories.judged(store, mine)] == [""]


def test_a_row_without_the_figures_of_its_placements_stays(experiment: Experiment, tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        BenchLab(ScriptedRunner(script), store).experiment(experiment, Quiet())
        (kept,) = records.cells(store, experiment.name)
        bare = dataclasses.replace(experiment.rows[0], published=NOTHING)
        runs = records.runs(store, [kept])
        for cell in (dataclasses.replace(kept, pairs=()), dataclasses.replace(kept, after=None)):
            assert rejudged(runs, bare, cell) is cell
