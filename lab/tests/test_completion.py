"""What a shell offers, and the list of stored runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pagewalk import subjects
from pagewalk.cli import options
from pagewalk.errors import BadInput
from pagewalk.subjects import Needs

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


@pytest.mark.built
def test_programs_and_files_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hello" in options.complete_command("he")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    assert options.complete_command("./m") == ["./mine"]
    assert options.complete_command("./fo") == ["./folder/"]
    assert options.complete_command(f"{tmp_path}/mi") == [f"{tmp_path}/mine"]
    assert options.complete_command("./none/x") == []


@pytest.mark.usefixtures("small_policies")
def test_a_number_is_offered_as_what_stands_before_it() -> None:
    assert options.complete_policy("tlb.cutoff=") == ["tlb.cutoff=off"]
    assert options.complete_policy("vsid=sc") == ["vsid=scatter:"]
    assert options.complete_policy("tlb.cu") == ["tlb.cutoff="]


def test_a_kernel_for_the_machine_is_suggested() -> None:
    powerpc = Needs("ppc604-185", "604", 1, None)
    with pytest.raises(BadInput) as refused:
        subjects.choose("linux-6.2", powerpc)
    assert "i486" not in (refused.value.hint or "")


@pytest.mark.built
def test_the_newest_runs_are_listed_with_their_dates(tmp_path: Path) -> None:
    environment = {**os.environ, "PAGEWALK_RESULTS": str(tmp_path / "results.duckdb")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, *words], env=environment, capture_output=True, text=True, check=False)

    for machine in ("ppc604-133", "ppc603-133"):
        assert run("exec", "-m", machine, "-p", "tlb.cutoff=20", "--", "hello").returncode == 0
    listed = json.loads(run("results", "--json").stdout)
    assert [found["machine"] for found in listed] == ["ppc604-133", "ppc603-133"]
    assert {found["program"] for found in listed} == {"hello"}
    assert all("tlb.cutoff=20" in found["settings"] for found in listed)
    assert all(found["made"].startswith("20") for found in listed)
    done = run("results", "--limit", "1")
    assert "ppc603-133" in done.stdout
    assert "ppc604-133" not in done.stdout
    assert "1 older runs are not listed" in done.stderr
    assert run("results", "--limit", "1", "SELECT 1").returncode == 2
