"""The README's own section, as a reader works through it in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pagewalk.paths import home

pytestmark = [pytest.mark.built]

_LONG = ("run ", "tune ", "watch ")
"""Commands that take minutes, or a terminal; tests of their own run them."""


def test_its_line_of_speed_is_one_that_make_bench_writes() -> None:
    text = (home().root / "README.md").read_text(encoding="utf-8")
    words = text.partition("<!-- speed: made by `make bench` -->\n")[2].partition("\n<!-- end of speed -->")[0]
    assert re.fullmatch(
        r"A second of one core simulates \d+ to \d+ million instructions of ppc604-185 and \d+ to \d+ million "
        r"instructions of p6-200, of kernel and program, with every TLB, cache and cycle "
        r"\(measured on \d{4}-\d\d-\d\d, on a computer with \d+ processors whose load was \d+\)\.",
        words,
    ), words


def test_the_commands_of_your_own_work_in_their_order(tmp_path: Path) -> None:
    section = (home().root / "README.md").read_text(encoding="utf-8").partition("## Your own\n")[2]
    blocks = re.findall(r"```(?:sh|text)\n(.*?)```", section, re.DOTALL)
    x86 = next(line for line in blocks[1].splitlines() if line.startswith("pagewalk exec -m p6"))
    lines = [*blocks[0].splitlines(), x86]
    assert len(lines) > 10
    environment = {
        **os.environ,
        "PAGEWALK_HOME": str(home().root),
        "PAGEWALK_RESULTS": str(tmp_path / "results.duckdb"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for line in lines:
        if not line.startswith(tuple(f"pagewalk {word}" for word in _LONG)):
            done = subprocess.run(
                ["bash", "-eu", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, line + done.stdout + done.stderr
        if line.startswith("pagewalk sweep"):
            # The first point has no cutoff; the figure must show what the paper gains by one (Table 2).
            without, *others = [float(us.replace(",", "")) for us in re.findall(r"([\d.,]+) │$", done.stdout, re.M)]
            assert min(others) * 5 < without, done.stdout
    assert (tmp_path / "cutoff.svg").is_file()
    assert (tmp_path / "see.html").is_file()
