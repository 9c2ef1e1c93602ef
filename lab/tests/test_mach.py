"""GNU Mach as a subject: its boot script, its programs, and its build from a folder and from Debian's archive."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pagewalk import architectures, experiments, mach, native, rows, subject_build, subjects, systems
from pagewalk.build_steps import Choice, cross
from pagewalk.errors import BadInput, NotBuilt
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.workshop import Workshop

MACH = "gnumach-1.8-plain"
ON = "i486dx-50"


class Silent:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, name: str, done: int, total: int, seconds_left: float) -> None:
        del name, done, total, seconds_left


@pytest.fixture
def workshop() -> Workshop:
    return Workshop(native.NativeRunner())


def test_the_boot_script_has_the_words_between_the_ports_and_the_task() -> None:
    (kernel,) = subjects.find(MACH)
    assert mach.is_mach(MACH)
    assert mach.is_mach(kernel.name)
    assert not mach.is_mach("linux-6.1-bare")
    assert mach.command_line(kernel, ["size=8", "limit=1"]) == (
        "mach console=com0 ${host-port} ${device-port} size=8 limit=1 $(task-create) $(task-resume)"
    )
    for word in ("a b", "$(task-create)", "x\ty"):
        with pytest.raises(BadInput, match="boot script"):
            mach.command_line(kernel, [word])


def test_mach_runs_no_program_of_linux(workshop: Workshop) -> None:
    with pytest.raises(BadInput, match="no file system"):
        systems.named(workshop, ON, {}, MACH)
    with pytest.raises(BadInput, match=r"no kernel of gnumach-1\.8-plain is for ppc604-133"):
        systems.named(workshop, "ppc604-133", {}, MACH)


def test_an_unknown_program_for_mach_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown program for Mach 'nul-call'") as refused:
        mach.program("nul-call")
    assert "null-call" in str(refused.value.hint)


@pytest.mark.parametrize("name", ["ipc", "null-call"])
def test_an_i486_knows_every_instruction_of_the_programs(name: str) -> None:
    path = architectures.X86.user / "mach" / name
    listed = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True).stdout
    assert "lcall" in listed
    assert not re.search(r"\t(cmov|endbr)", listed)


def test_a_linux_is_not_built_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--source is for a Mach"):
        subject_build.build(subjects.find("linux-6.1-i486"), Choice(source=tmp_path), Silent())


def test_a_folder_without_mach_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pagewalk.mach_build._check_tools", lambda: None)
    empty = tmp_path / "source"
    empty.mkdir()
    with pytest.raises(BadInput, match=r"version\.m4: No such file"):
        subject_build.build(subjects.find(MACH), Choice(source=empty), Silent())
    (empty / "version.m4").write_text("m4_define([AC_PACKAGE_NAME],[Hello])\n")
    with pytest.raises(BadInput, match="no source of GNU Mach"):
        subject_build.build(subjects.find(MACH), Choice(source=empty), Silent())


def test_an_archive_without_the_source_names_the_other_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "apt-get").write_text(
        '#!/bin/sh\n[ "$1" = indextargets ] && echo http://mirror\ncase "$*" in *source*gnumach)'
        " echo 'E: 404  Not Found' >&2; exit 100 ;; esac\nexit 0\n"
    )
    (tools / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pagewalk.mach_build._check_tools", lambda: None)
    with pytest.raises(NotBuilt, match="404") as failed:
        subject_build.build(subjects.find(MACH), Choice(), Silent())
    assert "--source FOLDER" in str(failed.value.hint)


def test_a_compiler_without_libraries_of_32_bits_is_told_before_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / f"{cross('i386')}gcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(NotBuilt, match=r"a C library of 32 bits") as failed:
        subject_build.build(subjects.find(MACH), Choice(source=tmp_path), Silent())
    assert "gcc-12-multilib" in str(failed.value.hint)
    assert "--no-install-recommends" in str(failed.value.hint), "gcc-multilib removes the cross compilers"


def test_a_placement_moves_the_stack_and_the_frames(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects.Kernel, "image", lambda self: b"")
    made = mach.job(workshop, ON, {}, MACH, b"module", words=["size=8"], placement=Placement(1, 2, 0, 48))
    assert made.initrd == b"module" + bytes(2 * 4096)
    assert " stack=48 size=8 " in made.command_line
    assert mach.job(workshop, ON, {}, MACH, b"module").initrd == b"module"
    assert AS_BUILT.init_options == []


def test_both_paths_of_mach_are_compared_with_the_claim() -> None:
    (found,) = experiments.find("sosp93-mach")
    held = [row for row in found.rows if row.published.claims]
    assert [row.before.setting.arguments for row in held if row.before] == [[], ["limit=10000"]]
    assert all(row.published.ratio is not None and 22 < row.published.ratio.middle < 23 for row in held)


@pytest.mark.foreign
@pytest.mark.parametrize("limit", ["0", "10000"])
def test_two_tasks_exchange_messages_whose_contents_are_checked(workshop: Workshop, limit: str) -> None:
    """Twice as many messages take twice as many cycles: the warm path alone is measured."""
    cycles = []
    for iterations in (200, 400):
        words = [f"iterations={iterations}", f"limit={limit}", "size=64"]
        done = workshop.runner.run(mach.job(workshop, ON, {}, MACH, mach.program("ipc"), words=words), lambda _: True)
        assert (done.stop.kind, done.stop.status) == ("power-off", 0)
        (row,) = rows.parse_rows(done.console)
        assert row.iterations == 2 * iterations
        cycles.append(done.regions[1]["cycles"] / row.iterations)
    assert cycles[0] == pytest.approx(cycles[1], rel=0.01)


@pytest.mark.foreign
def test_a_wrong_argument_ends_the_run_with_a_sentence(workshop: Workshop) -> None:
    done = workshop.runner.run(mach.job(workshop, ON, {}, MACH, mach.program("ipc"), words=["size=6"]), lambda _: True)
    assert done.stop.status == 1
    assert b"size: Mach refused it" in done.console
