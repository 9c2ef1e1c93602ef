"""The tutorial and the course, as a reader works through them: every command runs, and every solution holds."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pagewalk.paths import home

pytestmark = [pytest.mark.built]

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^ *```$", re.M | re.S)
EXERCISES = sorted((home().root / "docs" / "course").glob("[0-9]-*.md"))


def work_through(page: Path, folder: Path) -> str:
    """Runs a page's commands and solution in a folder; returns what the commands printed."""
    environment = {
        **os.environ,
        "PAGEWALK_HOME": str(home().root),
        "PAGEWALK_RESULTS": str(folder / "results.duckdb"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = ""
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        words = textwrap.dedent(block["text"])
        if block["file"]:
            (folder / block["file"]).write_text(words, encoding="utf-8")
            words = f"python {block['file']}" if block["language"] == "python" else ""
        elif block["language"] != "sh":
            continue
        done = subprocess.run(
            ["bash", "-eu", "-c", words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, words + done.stdout + done.stderr
        printed += done.stdout
    return printed


def test_the_tutorial_works(tmp_path: Path) -> None:
    printed = work_through(home().root / "docs" / "tutorial.md", tmp_path)
    assert "hello" in printed
    assert "osdi99-table2" in printed
    assert (tmp_path / "report.html").is_file()


def test_the_course_has_six_exercises() -> None:
    assert len(EXERCISES) == 6
    contents = (home().root / "docs" / "course" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in EXERCISES if f"({page.name})" not in contents] == []


@pytest.mark.parametrize("page", EXERCISES, ids=lambda page: page.stem)
def test_a_solution_holds(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [f"## {part}" in text for part in ("Question", "Run", "Look at", "What you should find")] == [True] * 4
    assert "assert " in text
    assert "over" in work_through(page, tmp_path)
