import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted import BenchLab, ScriptedRunner, benchmark

from pagewalk import sweep
from pagewalk.errors import BadInput
from pagewalk.figures import Figure
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store
from pagewalk.sweep import Sweep

pytestmark = pytest.mark.usefixtures("small_policies")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("32,64,128", ["32", "64", "128"]),
        ("10..13", ["10", "11", "12", "13"]),
        ("10..40..15", ["10", "25", "40"]),
        ("1..64..*4", ["1", "4", "16", "64"]),
        ("off,1..3", ["off", "1", "2", "3"]),
        ("lru", ["lru"]),
    ],
)
def test_an_axis_is_read(text: str, expected: list[str]) -> None:
    assert sweep.values(text) == expected


@pytest.mark.parametrize("text", ["", "1,,2", "5..1", "1..9..0", "0..9..*2", "1..9..*1", "1..99999999"])
def test_a_wrong_axis_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        sweep.values(text)


def test_an_axis_has_a_name() -> None:
    with pytest.raises(BadInput, match="is no axis"):
        sweep.axes(["32,64"])


PLAN = Sweep(
    machine="ppc604-185",
    program="mmap-latency",
    arguments=(),
    row="mmap-latency",
    figure=Figure.parse("us"),
    sets={"tlb.data.entries": ["32", "64", "128"]},
    policies={"tlb.cutoff": ["off", "20"]},
)


def script(job: Job) -> RunResult:
    """Cycles that tell every combination from every other."""
    entries = next(int(line.split("=")[1]) for line in job.machine.config.split("[tlb.data]")[1].splitlines()[1:2])
    return benchmark("mmap-latency", {"flush": entries * (100 if "tlb.cutoff=off" in job.command_line else 1)})


def slow_script(job: Job) -> RunResult:
    """Long enough for a worker to be killed in the middle; leaves a mark of who ran it."""
    marks = Path(os.environ["PAGEWALK_TEST_MARKS"])
    (marks / f"{time.monotonic_ns()}-{os.getpid()}").write_text(str(os.getpid()))
    time.sleep(0.3)
    return script(job)


def test_every_combination_is_measured_once(tmp_path: Path) -> None:
    runner = ScriptedRunner(script)
    with Store(tmp_path / "r.duckdb") as store:
        lab = BenchLab(runner, store)
        points = sweep.measure(lab, PLAN, Quiet())
        assert len(runner.ran) == 6
        assert [point.settings for point in points[:2]] == [
            {"tlb.data.entries": "32", "tlb.cutoff": "off"},
            {"tlb.data.entries": "32", "tlb.cutoff": "20"},
        ]
        assert [point.value for point in points] == pytest.approx(
            [n * f / 185 for n in (32, 64, 128) for f in (100, 1)]
        )
        assert sweep.measure(lab, PLAN, Quiet()) == points
        assert len(runner.ran) == 6


def printing(values: dict[str, float], job: Job) -> RunResult:
    """The run of `script`, whose guest also prints these values."""
    found = script(job)
    lines = "".join(f"@value name={name} value={value}\n" for name, value in values.items())
    return replace(found, console=found.console + lines.encode())


def test_a_value_that_the_guest_does_not_print_ends_the_sweep_at_its_first_point(tmp_path: Path) -> None:
    wrong = replace(PLAN, figure=Figure.parse('value("latenc")'))
    cases: list[tuple[dict[str, float], str]] = [({"latency": 1.0}, "did you mean 'latency'"), ({}, "us, ms, mb_s")]
    for values, hint in cases:
        runner = ScriptedRunner(partial(printing, values))
        with Store(tmp_path / f"{len(values)}.duckdb") as store, pytest.raises(BadInput, match="latenc") as error:
            sweep.measure(BenchLab(runner, store), wrong, Quiet())
        assert len(runner.ran) == 1
        assert hint in str(error.value.hint)


def test_a_machine_key_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    wrong = Sweep(**{**vars(PLAN), "sets": {"tlb.data.entry": ["32"]}})
    with Store(tmp_path / "r.duckdb") as store, pytest.raises(BadInput, match="nearest: `entries`"):
        sweep.measure(BenchLab(ScriptedRunner(script), store), wrong, Quiet())


def test_no_scheduler_at_an_address_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagewalk.place.CONNECT_SECONDS", 1)
    with Store(tmp_path / "r.duckdb") as store, pytest.raises(BadInput, match="no Dask scheduler answers"):
        sweep.measure(BenchLab(ScriptedRunner(script), store, cluster="tcp://127.0.0.1:9"), PLAN, Quiet())


def test_a_cluster_that_loses_a_worker_loses_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("PAGEWALK_TEST_MARKS", str(marks))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    killed: list[int] = []

    class Killer(Quiet):
        """Kills the process of one worker as soon as the first run is kept."""

        def finished(self, label: str) -> None:
            del label
            if not killed:
                killed.append(int(sorted(marks.iterdir())[-1].read_text()))
                os.kill(killed[0], signal.SIGKILL)

    make_cluster: Any = LocalCluster
    with (
        make_cluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Store(tmp_path / "r.duckdb") as store,
    ):
        lab = BenchLab(ScriptedRunner(slow_script), store, cluster=cluster.scheduler_address)
        points = sweep.measure(lab, PLAN, Killer())
        kept = store.query("SELECT count(*), count(DISTINCT key) FROM runs")
    assert killed
    assert kept == [(6, 6)]
    assert [point.value for point in points] == pytest.approx([n * f / 185 for n in (32, 64, 128) for f in (100, 1)])
