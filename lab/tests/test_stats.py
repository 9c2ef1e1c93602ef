"""What scripts for other tools read: gem5's statistics, and walks as a Parquet table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pagewalk import stats
from pagewalk.errors import BadInput

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
COUNTERS = {"cycles": 3000, "instructions": 1000, "tlb.data.access": 400, "tlb.data.miss": 10, "tlb.data.miss.user": 9}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def read(text: str) -> dict[str, str]:
    """Statistics as scripts read them: a name, a value, and a comment."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    return {line[0]: line[1] for line in lines if len(line) == 2}


def test_statistics_have_the_names_of_gem5() -> None:
    found = read(stats.text(COUNTERS, 100_000_000))
    assert float(found["simSeconds"]) == pytest.approx(3e-5)
    assert found["simTicks"] == "30000000"
    assert (found["system.cpu.mmu.dtb.misses"], found["system.cpu.mmu.dtb.hits"]) == ("10", "390")
    assert found["pagewalk.tlb.data.miss.user"] == "9"
    assert float(found["system.cpu.cpi"]) == 3


def test_a_tree_has_every_part() -> None:
    found: Any = stats.tree(COUNTERS, 100_000_000)
    assert found["system"]["cpu"]["mmu"]["dtb"]["misses"] == 10
    assert found["pagewalk"]["tlb"]["data"]["miss"] == {"total": 10, "user": 9}


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="directory"):
        stats.write(tmp_path, COUNTERS, 1)
    done = run("exec", "--stats", "/nonexistent/stats.txt", "--", "hello")
    assert done.returncode == 2
    assert "--stats" in done.stderr


@pytest.mark.built
def test_the_command_writes_both_forms(tmp_path: Path) -> None:
    whole = json.loads(run("exec", "--json", "--stats", str(tmp_path / "stats.txt"), "--", "hello").stdout)
    found = read((tmp_path / "stats.txt").read_text())
    assert int(found["system.cpu.mmu.dtb.misses"]) == whole["counters"]["tlb.data.miss"]
    assert int(found["pagewalk.cycles"]) == whole["counters"]["cycles"]
    assert run("exec", "--stats", str(tmp_path / "stats.json"), "--", "hello").returncode == 0
    tree = json.loads((tmp_path / "stats.json").read_text())
    assert tree["system"]["cpu"]["numCycles"] == whole["counters"]["cycles"]


@pytest.mark.built
@pytest.mark.parametrize("machine", ["ppc604-133", "mpc855t-48", "p6-200"])
def test_walks_are_a_table(tmp_path: Path, machine: str) -> None:
    path = tmp_path / "o'dd walks.parquet"
    done = run("trace", "-m", machine, "-o", str(path), "--", "hello")
    assert done.returncode == 0, done.stderr
    name = str(path).replace("'", "''")
    with duckdb.connect() as engine:
        query = f"SELECT count(*), min(cycle), max(len(steps)), list(DISTINCT side ORDER BY side) FROM '{name}'"
        found = engine.execute(query).fetchall()
    ((count, first, steps, sides),) = found
    assert count > 50
    assert first > 100_000
    assert steps >= 1
    assert sides == ["data", "instruction"]
