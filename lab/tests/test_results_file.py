"""Results that come with the checkout: kept as Parquet, and taken in by the person's results file."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from scripted import EXPERIMENT, BenchLab, ScriptedRunner, benchmark
from test_claims_page import MACHINE, cell

from pagewalk import experiments, records, results_file
from pagewalk.errors import BadInput, StoreError
from pagewalk.execute import Lab
from pagewalk.paths import Home
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store

TRIED = {"row_name": "mmap latency", "machine": "ppc604-185", "before": 12.0, "after": 0.25, "ratio": 48.0}


def script(job: Job) -> RunResult:
    dear = "tlb.cutoff=off" in job.command_line
    return benchmark("mmap-latency", {"flush": 500_000 if dear else 2000, "kernel": 4000})


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A checkout with kept results of one experiment, and no results file."""
    folder = tmp_path / "experiments" / "measured"
    folder.mkdir(parents=True)
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    (experiment,) = experiments.find(str(tmp_path / "mine.toml"))
    with Store(tmp_path / "other.duckdb") as store:
        lab: Lab = BenchLab(ScriptedRunner(script), store)
        lab.experiment(experiment, Quiet())
        lab.experiment(experiment, Quiet())
        store.add_inputs(experiment.name, [TRIED | {"variant": "as in the file", "verdict": "ratio reproduced"}])
        store.add_cells("another", [cell("mmap latency", 8.0, "ratio reproduced")])
        store.add("alone", "v", Job(MACHINE, b"kernel", b"", ""), benchmark("row", {"flush": 7}))
        files = store.keep(folder, [experiment.name])
    assert {path.name for path in files} == {f"{name}.parquet" for name in ("cells", "inputs", "runs", "counters")}
    made = Home(tmp_path)
    monkeypatch.delenv("PAGEWALK_RESULTS", raising=False)
    monkeypatch.setattr(results_file, "home", lambda: made)
    return made


def test_a_new_results_file_begins_with_what_was_kept(checkout: Home) -> None:
    with results_file.opened() as store:
        assert records.experiments(store) == ["mine"]
        (row,) = records.cells(store, "mine")
        assert len(records.tables(store, "mine")) == 1, "the latest table alone is kept"
        run = store.get(row.after_run)
        assert run is not None
        assert (found := records.measured(run, "mmap-latency")) is not None
        assert found.counters["cycles"] == 6000
        assert store.query("SELECT count(*) FROM runs") == [(2,)], "runs of no table are not kept"
        assert store.query("SELECT variant FROM inputs") == [("as in the file",)]
        assert records.stamp(store) is None, "it is no experiment of the project"


def test_a_set_of_tables_has_the_same_stamp_wherever_it_is(tmp_path: Path) -> None:
    stamps = []
    with Store(tmp_path / "one.duckdb") as store:
        for verdict in ("not reproduced", "ratio reproduced"):
            store.add_cells("osdi99-table2", [cell("mmap latency", 8.0, verdict)])
            stamps.append(records.stamp(store))
        store.add_cells("mine", [cell("mmap latency", 8.0, "better")])
        store.keep(tmp_path, experiments.names())
        with Store(tmp_path / "other.duckdb") as other:
            other.join(tmp_path)
            assert stamps[0] != stamps[1] == records.stamp(store) == records.stamp(other)
            assert records.experiments(other) == ["osdi99-table2"]


def test_it_is_taken_in_once_and_beside_a_persons_own(checkout: Home) -> None:
    with Store(checkout.results) as store:
        store.add_cells("osdi99-table2", [cell("mmap latency", 8.0, "ratio reproduced")])
    for _ in range(2):
        with results_file.opened(read_only=True) as store:
            assert records.experiments(store) == ["mine", "osdi99-table2"]
            assert store.query("SELECT count(*) FROM cells") == [(2,)]
    with results_file.opened() as store:
        store.add_cells("mine", [cell("mmap latency", 8.0, "not reproduced")])
        assert [row.verdict for row in records.cells(store, "mine")] == ["not reproduced"], "a later table counts"


def test_a_results_file_that_a_person_names_begins_empty(checkout: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEWALK_RESULTS", str(checkout.root / "named.duckdb"))
    with results_file.opened() as store:
        assert records.experiments(store) == []


def test_kept_tables_can_be_read_by_any_program(checkout: Home) -> None:
    path = str(checkout.measured / "cells.parquet")
    found = duckdb.connect().execute("SELECT row_name, machine FROM read_parquet(?)", [path]).fetchall()
    assert found == [("mmap latency", "ppc604-185")]


@pytest.mark.parametrize("table", ["cells", "counters"])
def test_damaged_kept_results_are_named(checkout: Home, table: str) -> None:
    (checkout.measured / f"{table}.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(StoreError, match="experiments/measured: the results that are kept there cannot be read"):
        results_file.opened()


def test_a_folder_that_cannot_be_written_is_refused(checkout: Home) -> None:
    with results_file.opened() as store, pytest.raises(BadInput, match=r"cells\.parquet"):
        store.keep(checkout.root / "missing", ["mine"])
