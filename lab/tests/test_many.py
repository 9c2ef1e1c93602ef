"""Many runs on many machines: two thousand points, and processes that are killed. None is lost, none is there twice."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from scripted import BenchLab, ScriptedRunner, benchmark

from pagewalk import sweep
from pagewalk.errors import RunFailed
from pagewalk.figures import Figure
from pagewalk.place import Cluster
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store
from pagewalk.sweep import Sweep

HERE = Path(__file__).parent
POINTS = 2_000
SIZE = 50
"""Points of the sweeps on a cluster."""


def plan(points: int) -> Sweep:
    cutoffs = [str(n) for n in range(1, points + 1)]
    return Sweep("ppc604-185", "b", (), "b", Figure.parse("us"), sets={}, policies={"tlb.cutoff": cutoffs})


def answer(job: Job) -> RunResult:
    return benchmark("b", {"user": 185 * int(job.command_line.split("tlb.cutoff=")[1].split()[0])})


def slow(job: Job) -> RunResult:
    time.sleep(0.05)
    return answer(job)


def check(points: list[sweep.Point], count: int, store: Store) -> None:
    assert [point.value for point in points] == pytest.approx(list(range(1, count + 1)))
    assert store.query("SELECT count(*), count(DISTINCT key) FROM runs") == [(count, count)]


class Killed(Quiet):
    """Ends this process, with no chance to clean up, when so many runs are kept."""

    def __init__(self, after: int) -> None:
        self.left = after

    def finished(self, label: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.built
def test_thousands_of_points_go_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    code = (
        "import sys; from pathlib import Path; import test_many as t\n"
        "with t.Store(Path(sys.argv[1])) as store:\n"
        "    lab = t.BenchLab(t.ScriptedRunner(t.answer), store, workers=2)\n"
        "    t.sweep.measure(lab, t.plan(t.POINTS), t.Killed(600))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=os.environ | {"PYTHONPATH": str(HERE)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    runner = ScriptedRunner(answer)
    with Store(path) as store:
        (kept,) = store.query("SELECT count(*) FROM runs")[0]
        points = sweep.measure(BenchLab(runner, store, workers=2), plan(POINTS), Quiet())
        check(points, POINTS, store)
    assert 600 <= kept < POINTS
    assert len(runner.ran) == POINTS - kept


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        env=os.environ | {"PYTHONPATH": str(HERE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def cluster(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler on that port with two workers; gives the scheduler's process when it answers."""
    address = f"tcp://127.0.0.1:{port}"
    worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
    with (
        process("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard") as one,
        process(*worker),
        process(*worker),
    ):
        yield one


class Killer(Quiet):
    """Kills a process when so many runs are kept."""

    def __init__(self, victim: subprocess.Popen[bytes], after: int) -> None:
        self.victim, self.left = victim, after

    def finished(self, label: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.victim.kill()


@pytest.mark.built
def test_a_killed_scheduler_loses_no_finished_run_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with Store(tmp_path / "r.duckdb") as store:
        for last in (False, True):
            port = free_port()
            lab = BenchLab(ScriptedRunner(slow), store, cluster=f"tcp://127.0.0.1:{port}")
            with cluster(port) as scheduler:
                if last:
                    check(sweep.measure(lab, plan(SIZE), Quiet()), SIZE, store)
                    continue
                with pytest.raises(RunFailed, match="lost this run") as lost:
                    sweep.measure(lab, plan(SIZE), Killer(scheduler, 10))
                assert "finished runs are kept" in str(lost.value.hint)
                (kept,) = store.query("SELECT count(*) FROM runs")[0]
                assert 10 <= kept < SIZE


@pytest.mark.built
def test_a_run_for_a_scheduler_that_has_ended_is_lost() -> None:
    """Dask's client gives a scheduler up that does not answer, and then takes nothing more."""
    port = free_port()
    with cluster(port):
        place = Cluster(ScriptedRunner(answer), f"tcp://127.0.0.1:{port}")
        place._client.close(timeout=5)
        job: Any = None
        error = place.submit(job, lambda _: None).exception()
    assert error is not None
    assert isinstance(place.lost(error), RunFailed)
    assert place.ended


def test_a_cluster_without_workers_is_said_to_wait(tmp_path: Path) -> None:
    port = free_port()
    said: list[str] = []

    class Told(Quiet):
        def waiting(self, words: str) -> None:
            said.append(words)
            os.kill(os.getpid(), signal.SIGINT)

    with (
        process("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"),
        Store(tmp_path / "r.duckdb") as store,
    ):
        lab = BenchLab(ScriptedRunner(answer), store, cluster=f"tcp://127.0.0.1:{port}")
        with pytest.raises(Exception, match="interrupted: 0 of 1"):
            sweep.measure(lab, Sweep("ppc604-185", "b", (), "b", Figure.parse("us"), {}, {}), Told())
    assert "no worker" in said[0]


def operators(plan: object) -> Iterator[dict[str, object]]:
    """Every operator of a query's plan in JSON."""
    if isinstance(plan, list):
        for entry in plan:
            yield from operators(entry)
    elif isinstance(plan, dict):
        yield plan
        yield from operators(plan.get("children", []))


QUESTIONS = {
    "the listing of runs": (
        "SELECT substr(key, 1, 12), (SELECT value FROM counters WHERE run = key AND region = 0 AND name = 'cycles') "
        "FROM runs ORDER BY made"
    ),
    "a counter over all runs": "SELECT machine, sum(value) FROM runs JOIN counters ON run = key "
    "WHERE name = 'tlb.data.miss' GROUP BY machine",
    "the runs of a batch": "SELECT run, region, name, value FROM counters WHERE run IN (SELECT unnest(['a', 'b']))",
}


@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
def test_a_million_rows_are_read_by_column_and_joined_by_hash(query: str, tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    Store(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "INSERT INTO counters SELECT 'k' || (i // 1000), 0, CASE i % 1000 WHEN 0 THEN 'cycles' "
            "WHEN 1 THEN 'tlb.data.miss' ELSE 'c' || (i % 1000) END, i FROM range(1000000) t(i)"
        )
        connection.execute(
            "INSERT INTO runs SELECT 'k' || i, now()::TIMESTAMP, '', '', 1, '', '', '', '', '', 0, '', ''::BLOB, 0 "
            "FROM range(1000) t(i)"
        )
        text = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()[0][1]
    found = list(operators(json.loads(text)))
    names = [str(entry["name"]).strip() for entry in found]
    assert not any("NESTED_LOOP" in name or "CROSS" in name or "BLOCKWISE" in name for name in names), names
    scans = [json.dumps(entry["extra_info"]) for entry in found if "SCAN" in str(entry["name"])]
    assert any("counters" in scan for scan in scans), scans
    assert not any("console" in scan or "config" in scan for scan in scans), scans
