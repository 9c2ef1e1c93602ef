"""docs/extend.md, executed block by block in a copy of the checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pagewalk.paths import home

pytestmark = [pytest.mark.built]

_BLOCK = re.compile(r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout of its own: what the page changes is copied, the rest linked."""
    root = tmp_path / "checkout"
    root.mkdir()
    for folder in ("machines", "experiments", "kernel", "build/kernel"):
        shutil.copytree(home().root / folder, root / folder, ignore=shutil.ignore_patterns("build"))
    for folder in ("user", "build/user"):
        (root / folder).symlink_to(home().root / folder)
    return root


def test_the_examples_work(copy: Path) -> None:
    text = (home().root / "docs" / "extend.md").read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    assert [block["language"] for block in blocks] == ["sh", "sh", "sh", "sh", "sh", "toml", "sh", "c", "sh"]
    environment = {
        **os.environ,
        "PAGEWALK_HOME": str(copy),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = ""
    for block in blocks:
        if block["file"]:
            (copy / block["file"]).write_text(block["text"], encoding="utf-8")
        else:
            done = subprocess.run(
                ["bash", "-eu", "-c", block["text"]],
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed += done.stdout
    assert "bigtlb" in printed
    assert "hello" in printed
    assert "walk-cache" in printed
    for policy in ("lru", "fifo", "random"):
        assert policy in printed
    assert "tlb.range" in printed
