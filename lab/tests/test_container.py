"""The container file: what it runs exists here. No test builds it: that needs a container engine and a network."""

import fnmatch
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from pagewalk.paths import home

ROOT = home().root


def steps(kind: str) -> list[str]:
    """The values of the file's instructions of that kind, in order."""
    path = ROOT / "Containerfile"
    parser = DockerfileParser(fileobj=path.open("rb"))
    return [step["value"] for step in parser.structure if step["instruction"] == kind]


def ignored(path: str) -> bool:
    """Whether the file, or a folder of it, is left out of the image."""
    patterns = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    names = [str(part) for part in (Path(path), *Path(path).parents)]
    return any(
        fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(f"/{name}", pattern.replace("**", "*"))
        for name in names
        for pattern in patterns
    )


def test_it_begins_with_the_least_rust_that_bootstrap_accepts() -> None:
    least = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    assert steps("FROM") == [f"rust:{least}-bookworm"]


def test_what_it_runs_is_bootstrap_and_make() -> None:
    commands = [shlex.split(command) for command in steps("RUN")]
    assert commands[0] == ["./bootstrap", "test"]
    assert "  test) packages=" in (ROOT / "bootstrap").read_text(encoding="utf-8")
    assert [command[0] for command in commands[1:]] == ["make"] * (len(commands) - 1)
    for command in commands[1:]:
        known = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert [target for target in command[1:] if not re.search(rf"^{target}:", known, re.MULTILINE)] == []


def test_what_it_copies_is_here_and_nothing_of_it_is_left_out() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines() or ["README.md", "kernel/Makefile", "lab/pyproject.toml"]
    assert [path for path in tracked if ignored(path)] == []
    assert ignored("target/release/pagewalk-machine")
    assert ignored("lab/pagewalk/_machine.abi3.so")
    for copied in steps("COPY"):
        *sources, _ = copied.split()
        assert [source for source in sources if not (ROOT / source).exists()] == []


def test_its_command_is_on_the_path() -> None:
    (folder,) = steps("WORKDIR")
    assert steps("ENV") == [f"PATH={folder}/.venv/bin:$PATH"]
    assert steps("ENTRYPOINT") == ['["pagewalk"]']


@pytest.mark.parametrize("name", ["README.md", "docs/install.md"])
def test_the_pages_name_it(name: str) -> None:
    assert "Containerfile" in (ROOT / name).read_text(encoding="utf-8")
