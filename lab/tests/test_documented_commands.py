"""Every `pagewalk` command that the documentation shows has options and arguments that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from pagewalk import experiments
from pagewalk.cli.app import whole
from pagewalk.paths import home

_BLOCK = re.compile(r"^ *```(?:sh|text)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


COMMAND: Any = get_command(whole())


def pages() -> list[Path]:
    """The pages with commands; docs/extend.md makes the machines that it names, and has a test of its own."""
    found = [home().root / "README.md", *sorted((home().root / "docs").rglob("*.md"))]
    return [page for page in found if page.stem != "extend" and any(commands(page))]


def commands(page: Path) -> Iterator[str]:
    """The commands of a page's blocks, one a line, without comments and redirections."""
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith("pagewalk "):
                yield line.strip()


def check(line: str) -> None:
    """Raises for a command line that the command would refuse; nothing is run."""
    words = shlex.split(line, comments=True)
    words = words[: next((n for n, word in enumerate(words) if word in {">", "|", "||"}), len(words))]
    command = COMMAND
    name = words.pop(0)
    while hasattr(command, "commands") and words:
        name = words.pop(0)
        assert name in command.commands, f"{line}: there is no command {name}"
        command = command.commands[name]
    command.make_context(name, words)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_command_is_known(page: Path) -> None:
    for line in commands(page):
        check(line)


def test_every_experiment_that_a_page_tells_to_run_exists() -> None:
    """A name, or how the names of several begin; docs/extend.md makes the experiment that it names."""
    lost = [
        f"{page.name}: {name}"
        for page in sorted((home().root / "docs").rglob("*.md"))
        if page.stem != "extend"
        for name in re.findall(r"pagewalk run ([a-z]\w*(?:-\w+)*)", page.read_text(encoding="utf-8"))
        if not any(known.startswith(name) for known in experiments.names())
    ]
    assert lost == []


def test_the_pages_have_commands() -> None:
    assert sum(1 for page in pages() for _ in commands(page)) > 50


def test_a_wrong_command_is_found() -> None:
    with pytest.raises(AssertionError, match="no command"):
        check("pagewalk exce -- hello")
    with pytest.raises(Exception, match="--polcy"):
        check("pagewalk exec --polcy tlb.cutoff=off -- hello")
