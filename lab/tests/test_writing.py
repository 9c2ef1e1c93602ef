"""A file that cannot be written whole leaves the old one as it was, and nothing beside it."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pagewalk import writing
from pagewalk.errors import BadInput

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
ROOM = 64
"""Bytes that a file may have in these tests: the kernel refuses the rest, as a full disk does."""

WRITERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("page.html", ("see", "-o", "{}", "--", "hello")),
    ("t.pftrace", ("trace", "-o", "{}", "--", "hello")),
    ("t.json", ("trace", "--translation", "-o", "{}", "--", "hello")),
    ("t.parquet", ("trace", "-o", "{}", "--", "hello")),
    ("t.champsimtrace.xz", ("trace", "--format", "champsim", "--count", "5000", "-o", "{}", "--", "hello")),
    ("t.snap", ("exec", "--oracle", "--save", "{}", "--at", "3000000", "--", "hello")),
    ("stats.txt", ("exec", "--oracle", "--stats", "{}", "--", "hello")),
    ("flame.folded", ("profile", "--flame", "{}", "--", "hello")),
    ("junit.xml", ("check", "ours", "-m", "i486dx-50", "--junit", "{}", "--", "hello")),
    ("page.md", ("claims", "page", "osdi99", "-o", "{}")),
)


@pytest.mark.parametrize(("name", "words"), WRITERS, ids=[name for name, _ in WRITERS])
def test_a_full_disk_leaves_the_old_file(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    results = tmp_path / "results.duckdb"
    if words[0] == "claims":
        subprocess.run([*COMMAND, "results"], env=os.environ | {"PAGEWALK_RESULTS": str(results)}, check=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / name
    file.write_text("old and good")
    done = subprocess.run(
        [*COMMAND, *(word.format(file) for word in words)],
        env=os.environ | {"PAGEWALK_RESULTS": str(results), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM)),
    )
    assert file.read_text() == "old and good", done.stderr
    assert [entry.name for entry in folder.iterdir()] == [name], done.stderr
    assert done.returncode == 126, done.stderr
    assert str(file) in done.stderr
    assert ".pagewalk-" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 250)
    file.write_text("old")
    file.chmod(0o640)
    (link := tmp_path / "link").symlink_to(file)
    writing.write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == sorted([file, link])


def test_what_is_no_file_is_written_itself() -> None:
    writing.write(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(BadInput, match="No space left"):
        writing.write(Path("/dev/full"), "text")
