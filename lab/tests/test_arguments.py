"""Arguments with any bytes reach a program as they are: on our kernel and without one. On Linux: tests/linux."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pagewalk import systems
from pagewalk.architectures import POWERPC, X86
from pagewalk.errors import BadInput
from pagewalk.paths import home
from pagewalk.programs import disk_image, find
from pagewalk.systems import command_line

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
EVERY_BYTE = os.fsdecode(bytes(range(1, 256)))
WORDS = ('BEGIN { print "a b" }', "", "--", "a\\b", "\\", "it's", EVERY_BYTE, "\u00e9\u2028", "stack=5", "program=x")
SHOWN = "".join(f"{os.fsencode(word).hex()}.\n" for word in WORDS)


def test_a_plain_word_stands_as_it_is() -> None:
    assert command_line(POWERPC, {}, ["/bin/x", "a=1", "-v", "it's", "{%}"]) == "-- /bin/x a=1 -v it's {%}"


def test_other_bytes_are_written_as_numbers() -> None:
    line = command_line(POWERPC, {}, ["/bin/x", "two words", 'a"b', "a\\b", "", "\u00e0", "--", "\udcff"])
    assert line == r"-- /bin/x two\040words a\042b a\134b \ \303\240 \055- \377"


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_what_no_program_can_get_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="argument"):
        command_line(POWERPC, {}, ["/bin/x", word])


@pytest.mark.parametrize("word", ["--", "two words", 'a"b', "\u00e9"])
def test_a_word_of_the_kernels_own_is_plain(word: str) -> None:
    with pytest.raises(BadInput, match="word"):
        command_line(POWERPC, {}, ["/bin/x"], {word: ""})


@pytest.mark.built
@pytest.mark.parametrize("machine", ["ppc604-133", "i486dx-50"])
def test_our_kernels_program_gets_every_byte(machine: str, tmp_path: Path) -> None:
    architecture = X86 if machine == "i486dx-50" else POWERPC
    program = tmp_path / 'a "name"'
    shutil.copy(architecture.user / "arguments", program)
    done = subprocess.run(
        [*COMMAND, "exec", "-m", machine, "--", str(program), *WORDS],
        capture_output=True,
        check=False,
        env={**os.environ, "PAGEWALK_RESULTS": str(tmp_path / "r.duckdb")},
    )
    assert (done.stdout.decode().replace("\r", ""), done.returncode) == (SHOWN, 0), done.stderr.decode()


@pytest.mark.built
@pytest.mark.parametrize("machine", ["ppc604-133", "i486dx-50"])
def test_a_program_without_a_kernel_gets_every_byte(machine: str) -> None:
    architecture = X86 if machine == "i486dx-50" else POWERPC
    runner = home().root / "target" / "release" / "pagewalk-machine"
    assert runner.is_file(), "the plain runner is not built: `make` builds it"
    file = home().machines / f"{machine}.toml"
    done = subprocess.run(
        [runner, "program", "--machine", file, "--", architecture.user / "arguments", *WORDS],
        capture_output=True,
        check=False,
    )
    assert (done.stdout.decode(), done.returncode) == (SHOWN, 0), done.stderr.decode()


@pytest.mark.built
@pytest.mark.parametrize("words", [["x"] * 64, ["x" * 2048], [" " * 600]])
def test_more_than_a_kernel_takes_is_refused_with_the_bound(words: Sequence[str]) -> None:
    program = [*COMMAND, "exec", "--", str(POWERPC.user / "arguments"), *words]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 126
    assert "at most 64 words" in done.stderr
    assert "2047 bytes" in done.stderr
    assert "--file" in done.stderr


@pytest.mark.built
def test_a_ram_disk_holds_every_byte() -> None:
    assert b"/bin/x\0\0a b\n\0" in disk_image([], ["/bin/x", "", "a b\n"])


def test_on_linux_the_program_is_marked() -> None:
    line = command_line(POWERPC, {}, systems.marked(["stack=16", "/bin/x", "y"]), {"nokaslr": ""})
    assert line == "nokaslr -- stack=16 program=/bin/x y"


@pytest.mark.built
def test_a_path_is_no_built_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    built = POWERPC.user / "hello"
    assert find("hello") == built
    for missing in ("./hello", Path("hello"), "bench/null-call", "../hello", ""):
        with pytest.raises(BadInput):
            find(missing)
    with pytest.raises(BadInput, match="no built program") as error:
        find("helo")
    assert error.value.hint == "did you mean 'hello'?"
    (tmp_path / "hello").write_text("")
    assert find("./hello") == find(Path("hello")) == Path("hello")
    with pytest.raises(BadInput, match="a file in this folder and a built program") as error:
        find("hello")
    assert str(built) in (error.value.hint or "")
    (tmp_path / "own").write_text("")
    assert find("own") == Path("own")
    monkeypatch.chdir(built.parent)
    assert find("hello").samefile(built)
