"""`pagewalk check`: what it prints, its JUnit report and its exit status."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from pagewalk.cli.check import FOUND, Checked, summary
from pagewalk.cli.simulation import Watched

COUNTS = {"fills": 2341, "suspects": 24, "windows": 1, "undetermined": 0, "stale": 0}
COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
FINDING = {"kind": "late", "times": 3, "text": 'stale translation (late): a read of "<0x1000>"\n  access  here'}


@dataclass
class Machine:
    """What a machine that has run tells."""

    findings_json: list[str] = field(default_factory=list)

    def printed(self) -> bytes:
        return b"hello\n"


def checked(findings: list[dict[str, Any]], kind: str = "power-off", reason: str = "power-off 0") -> Checked:
    watched = SimpleNamespace(stop=SimpleNamespace(kind=kind, reason=reason, status=0), status=125, machine=Machine())
    return Checked("ours on i486dx-50", cast("Watched", watched), COUNTS, findings, None)


def test_counts_are_one_line() -> None:
    assert summary(COUNTS) == "2,341 fills, 24 suspects, 1 windows, 0 undetermined, 0 stale"


def test_a_silent_run_passes() -> None:
    run = checked([])
    assert run.status == 0
    case = ElementTree.fromstring(run.junit())[0]
    assert case.attrib == {"classname": "translation", "name": "ours on i486dx-50"}
    assert len(case) == 0


@pytest.mark.parametrize("kind", ["power-off", "fatal"])
def test_a_finding_fails(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = checked([FINDING], kind, "fatal: sanitizer: stale translation (late)")
    assert run.status == FOUND
    assert run.ended is None
    suite = ElementTree.fromstring(run.junit())
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    failure = suite[0][0]
    assert failure.get("type") == "late"
    assert failure.text == FINDING["text"]
    run.print()
    assert "found 3 times" in capsys.readouterr().out
    assert run.json()["findings"] == [FINDING]


def test_a_run_that_does_not_end_is_an_error() -> None:
    run = checked([], "limit", "limit: reached")
    assert run.status == 125
    suite = ElementTree.fromstring(run.junit())
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def refused(*words: str) -> str:
    """What the command prints on standard error when it refuses."""
    done = subprocess.run([*COMMAND, "check", *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode not in (0, FOUND)
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_report_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    told = refused("ours", "--junit", str(tmp_path / "none" / "x.xml"), "--", "hello")
    assert "none is no folder" in told
    assert "fills" not in told


def test_a_second_level_tlb_of_a_power_pc_is_refused() -> None:
    keys = [word for key in ("entries=32", "ways=2", "hit=5", "miss=3") for word in ("--set", f"tlb.l2.{key}")]
    told = refused("ours", "-m", "ppc604-133", *keys, "--", "hello")
    assert "does not know the second-level TLB" in told
