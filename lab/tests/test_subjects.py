"""Subjects: their table, their choice by machine, and their build from an archive that tests make themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from pagewalk import _machine, build_steps, guest, machines, native, policies, subject_build, subjects, systems
from pagewalk.build_steps import Choice
from pagewalk.errors import BadInput, NotBuilt, PagewalkError
from pagewalk.runner import Job
from pagewalk.subjects import Needs

NAME = "toy-1-bare-mpc83xx"
MAKEFILE = """
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(O)/.config
vmlinux:
\t@echo "  CC      one.o"
\t@! grep -q BREAK $(O)/.config || { echo "one.c: error: broken"; exit 1; }
\tcat one.c $(O)/.config > $(O)/one.o
\tcp $(O)/one.o $(O)/vmlinux
"""
TABLE = """
title = "Toy"
[source]
package = "toy-source"
version = "{version}"
sha256 = "{sha256}"
archive = "usr/src/toy.tar.xz"
unused = ["unused/*"]
[boot]
words = ["norandmaps"]
[platforms.mpc83xx]
board = "mpc83xx"
cores = ["603e", "604"]
objects = "all"
config = []
[variants.bare]
about = "the toy"
platforms = ["mpc83xx"]
config = []
[variants.broken]
about = "cannot be compiled"
platforms = ["mpc83xx"]
config = ["broken.config"]
[variants.patched]
about = "patched"
platforms = ["mpc83xx"]
config = []
[[variants.patched.edits]]
file = "one.c"
function = "one"
first = "return 2;"
"""


class Told:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: list[tuple[str, int, int]] = []

    def said(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, name: str, done: int, total: int, seconds_left: float) -> None:
        assert seconds_left >= 0
        self.steps.append((name, done, total))


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package toy-source 1-1 that a false apt-get brings, and a subject of it. Returns the folder of all of it."""
    tree = tmp_path / "tree" / "toy"
    (tree / "unused").mkdir(parents=True)
    (tree / "unused" / "x").write_text("x")
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "one.c").write_text("int one(void)\n{\n\treturn 1;\n}\n")
    package = tmp_path / "package"
    (package / "usr" / "src").mkdir(parents=True)
    (package / "DEBIAN").mkdir()
    # Whatever the umask is: dpkg-deb refuses another mode.
    (package / "DEBIAN").chmod(0o755)
    (package / "DEBIAN" / "control").write_text(
        "Package: toy-source\nVersion: 1-1\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n"
    )
    subprocess.run(["tar", "-cJf", package / "usr" / "src" / "toy.tar.xz", "-C", tree.parent, "toy"], check=True)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", package, tmp_path / "toy.deb"], check=True)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    apt_get = f"""#!/bin/sh
[ "$2" = download ] || exit 0
case $3 in
*=1-1) cp {tmp_path}/toy.deb toy-source_1-1_all.deb ;;
*) echo "E: Version for toy-source was not found" >&2; exit 100 ;;
esac
"""
    (bin_folder / "apt-get").write_text(apt_get)
    (bin_folder / "apt-cache").write_text("#!/bin/sh\nprintf 'toy-source:\\n  Candidate: 1-1\\n'\n")
    for tool in bin_folder.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_table(tmp_path, build_steps.sha256(tmp_path / "toy.deb"), "1-1", monkeypatch)
    return tmp_path


def write_table(folder: Path, sha256: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = folder / "subjects" / "toy-1"
    subject.mkdir(parents=True, exist_ok=True)
    (subject / "subject.toml").write_text(TABLE.format(sha256=sha256, version=version))
    (subject / "common.config").write_text("# a comment\nCONFIG_B=y\nCONFIG_A=2\n")
    (subject / "broken.config").write_text("CONFIG_BREAK=y\n")
    kernels = tuple(subjects.load(subject / "subject.toml"))
    monkeypatch.setattr(subjects, "all_kernels", lambda: kernels)


def build(name: str, *, newest: bool = False) -> Told:
    told = Told()
    subject_build.build(subjects.find(name), Choice(newest=newest, jobs=1), told)
    return told


def test_a_kernel_is_built_once(archive: Path) -> None:
    told = build(NAME)
    assert told.steps == [(NAME, 1, subject_build._OBJECTS)]
    kernel = subjects.find(NAME)[0]
    assert kernel.image() == b"int one(void)\n{\n\treturn 1;\n}\nCONFIG_A=2\nCONFIG_B=y\n"
    record = kernel.record()
    assert record is not None
    assert record.version == "1-1"
    assert not (archive / "cache/pagewalk/subjects/toy-1/1-1/source/unused/x").exists()
    assert build(NAME).lines == []


@pytest.mark.parametrize("record", [b"{", b"[1, 2]", b'{"sha256": 3, "x": null}', b"\xff\xfe", b"[" * 200_000])
def test_a_kernel_with_a_damaged_record_is_not_built(archive: Path, record: bytes) -> None:
    build(NAME)
    kernel = subjects.find(NAME)[0]
    folder = kernel.built()
    assert folder is not None
    (folder / subjects.RECORD).write_bytes(record)
    assert kernel.record() is None
    with pytest.raises(NotBuilt, match="is not built"):
        kernel.image()
    build(NAME)
    assert kernel.record() is not None


def test_a_patched_kernel_leaves_no_trace_in_the_next(archive: Path) -> None:
    build("toy-1-patched")
    assert b"{\n\treturn 2;\n\treturn 1;" in subjects.find("toy-1-patched")[0].image()
    build("toy-1-bare")
    assert b"return 2" not in subjects.find("toy-1-bare")[0].image()


def test_a_kernel_that_does_not_compile_says_where(archive: Path) -> None:
    with pytest.raises(NotBuilt, match="toy-1-broken-mpc83xx cannot be built") as error:
        build("toy-1-broken")
    assert "one.c: error: broken" in str(error.value.hint)


def test_an_archive_that_has_moved_on_is_told_with_the_word_to_say(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(archive, "0" * 64, "0-9", monkeypatch)
    with pytest.raises(NotBuilt, match="moved on from toy-source 0-9 to 1-1") as error:
        build(NAME)
    assert "--newest" in str(error.value.hint)
    build(NAME, newest=True)
    record = subjects.find(NAME)[0].record()
    assert record is not None
    assert record.version == "1-1"


def test_another_file_than_the_pinned_one_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(archive, "0" * 64, "1-1", monkeypatch)
    with pytest.raises(NotBuilt, match="SHA-256"):
        build(NAME)
    assert not list((archive / "cache").rglob("*.deb"))


def test_what_is_missing_is_told_with_its_package(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(archive / "bin"))
    with pytest.raises(NotBuilt, match="powerpc-linux-gnu-gcc") as error:
        build(NAME)
    assert "./bootstrap run" in str(error.value.hint)


def test_a_full_disk_is_told_before_it_is_full(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_build, "_SOURCE_ROOM", 1 << 60)
    with pytest.raises(BadInput, match="MB are free") as error:
        build(NAME)
    assert "XDG_CACHE_HOME" in str(error.value.hint)


def test_a_cache_that_cannot_be_written_is_told(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (archive / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(archive / "file"))
    with pytest.raises(BadInput, match="Not a directory"):
        build(NAME)


def test_two_builders_do_not_build_at_once(archive: Path) -> None:
    folder = archive / "cache/pagewalk/subjects"
    folder.mkdir(parents=True)
    holds = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", holds, str(folder / "lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdout.readline()

    class Leaves(Told):
        def said(self, line: str) -> None:
            super().said(line)
            if "another build" in line:
                assert holder.stdin is not None
                holder.stdin.close()

    told = Leaves()
    subject_build.build(subjects.find(NAME), Choice(jobs=1), told)
    assert "waiting" in told.lines[0]
    holder.wait()


def test_an_unknown_subject_suggests_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"unknown subject 'linux-6\.1-bar'") as error:
        subjects.find("linux-6.1-bar")
    assert "linux-6.1-bare" in str(error.value.hint)


@pytest.mark.parametrize(
    ("core", "processors", "board", "chosen"),
    [
        ("603e", 1, None, "linux-6.1-bare-mpc83xx"),
        ("750", 1, None, "linux-6.1-bare-mpc83xx"),
        ("750", 1, "mpc86xx", "linux-6.1-bare-mpc86xx"),
        ("604e", 2, None, "linux-6.1-bare-mpc86xx-smp"),
        ("8xx", 1, None, "linux-6.1-bare-mpc8xx"),
        ("405", 1, None, "linux-6.1-bare-ppc405gp"),
    ],
)
def test_the_machine_decides_which_kernel_a_name_stands_for(
    core: str, processors: int, board: str | None, chosen: str
) -> None:
    assert subjects.choose("linux-6.1-bare", Needs("m", core, processors, board)).name == chosen


def test_a_machine_without_a_kernel_is_told_where_it_runs() -> None:
    with pytest.raises(BadInput, match=r"no kernel of linux-6.1-small is for m \(8xx") as error:
        subjects.choose("linux-6.1-small", Needs("m", "8xx", 1, None))
    assert "mpc83xx" in str(error.value.hint)


def test_a_kernel_that_is_not_built_says_what_to_type(archive: Path) -> None:
    with pytest.raises(NotBuilt) as error:
        subjects.find(NAME)[0].image()
    assert f"pagewalk subjects build {NAME}" in str(error.value.hint)


def test_output_begins_when_init_is_ready() -> None:
    assert systems.output(b"early\r\n  \r\ninit: ready\r\nhello\r\n") == b"hello\r\n"
    assert systems.output(b"VFS: Mounted root.\n\rinit: ready\r\nhello\r\n") == b"hello\r\n"
    assert systems.output(b"no such line\r\n") == b"no such line\r\n"


class _Machine:
    """Executes an instruction in a cycle, and prints `said` at first.

    With `last`, it powers off in the first call, and says so.
    """

    def __init__(self, said: bytes, last: str | None = None, regions: tuple[int, ...] = ()) -> None:
        self.instructions = self.cycles = 0
        self.said = said
        self.last = last
        self.marked = regions

    def most_cycles(self, instructions: int) -> int:
        return instructions

    def run(self, cycles: int, instructions: int) -> tuple[str, int, str]:
        self.instructions = self.cycles = min(cycles, instructions)
        if self.last is not None:
            return "power-off", 0, self.last
        return "limit", 0, f"reached after {self.instructions} instructions"

    def printed(self) -> bytes:
        return self.said

    def regions(self) -> dict[int, dict[str, int]]:
        return {number: {} for number in self.marked}


def test_a_linux_that_hangs_before_init_ends_early() -> None:
    hung, ready = (cast("_machine.Machine", _Machine(said)) for said in (b"Linux\n", b"Linux\ninit: ready\n"))
    stop = native.go(hung, 1000_000_000, lambda _: True, boot_limit=100_000_000)
    assert stop.reason == (
        "reached after 100000000 instructions, and Linux had not started init by then: its console has shown nothing "
        "new for 100,000,000 instructions (--boot-limit)"
    )
    stop = native.go(ready, 1000_000_000, lambda _: True, boot_limit=100_000_000)
    assert stop.reason == "reached after 1000000000 instructions"


@pytest.mark.parametrize(
    ("machine", "kind", "reason"),
    [
        (_Machine(b"init: ready\n", "power-off 0"), "power-off", ""),
        # It has no console, and the program has run.
        (_Machine(b"", "power-off 0\nnothing was printed", (65536,)), "power-off", ""),
        (_Machine(b"Linux\n", "power-off 0"), "fatal", "Linux has reset the board before init was ready"),
        (
            _Machine(b"Linux\ninit: /proc/sys/vm/odd: error 2\n", "power-off 63"),
            "fatal",
            "init could not prepare the run: init: /proc/sys/vm/odd: error 2",
        ),
        (
            _Machine(b"", "power-off 0\nnothing was printed"),
            "fatal",
            "Linux has reset the board before init was ready\nnothing was printed",
        ),
        (
            _Machine(
                b"", "power-off 0\nnothing was printed\n  Kernel panic - not syncing: VFS: Unable to mount root fs"
            ),
            "fatal",
            "Linux panicked: VFS: Unable to mount root fs: to start init, it needs CONFIG_BLK_DEV_INITRD "
            "and CONFIG_BINFMT_ELF\nnothing was printed\n  Kernel panic - not syncing: VFS: Unable to mount root fs",
        ),
    ],
)
def test_a_linux_that_resets_the_board_before_init_has_failed(machine: _Machine, kind: str, reason: str) -> None:
    stop = native.go(cast("_machine.Machine", machine), 1000_000_000, lambda _: True, boot_limit=100_000_000)
    assert (stop.kind, stop.reason) == (kind, reason)


def test_a_kernel_that_boots_nothing_of_ours_may_reset_the_board() -> None:
    machine = cast("_machine.Machine", _Machine(b"", "power-off 0"))
    assert native.go(machine, 1000_000_000, lambda _: True).kind == "power-off"


def test_a_status_that_only_init_tells_is_the_programs() -> None:
    told = b"init: this kernel has no /dev/mem: counts are of the whole run; status "
    assert guest.exit_status(0, told + b"7\r\nreboot: Restarting system\r\n") == 7
    killed = b"init: /bin/a: killed by signal 4\r\n"
    assert guest.exit_status(0, killed + told + b"63\r\n") == 132


@pytest.mark.parametrize(
    ("machine", "image", "lacks"),
    [
        ("mpc855t-48", b"\0printk\0", True),
        ("mpc855t-48", b"\0do_mathemu\0", False),
        ("ppc603-133", b"\0printk\0", False),
    ],
)
def test_a_kernel_without_floats_is_known(machine: str, image: bytes, lacks: bool) -> None:
    resolved = native.NativeRunner().resolve(machines.find(machine), {})
    job = Job(resolved, image, b"", "", boot_limit=1)
    assert systems.lacks_floats(job) is lacks


def test_a_panic_is_found() -> None:
    console = b"x\r\n[    0.1] Kernel panic - not syncing: No working init found.\r\nRebooting\r\n"
    needs = "to start init, it needs CONFIG_BLK_DEV_INITRD and CONFIG_BINFMT_ELF"
    assert systems.panic(console) == f"No working init found: {needs}"
    assert systems.panic(b"Kernel panic - not syncing: Attempted to kill init!\r\n") == "Attempted to kill init!"
    alone = systems.panic(console, rooted=False)
    assert alone is not None
    assert alone.startswith("No working init found: it was given no program")
    assert systems.panic(b"nothing") is None


def test_every_fragment_is_there() -> None:
    for kernel in (kernel for kernel in subjects.all_kernels() if kernel.system == "linux"):
        assert "CONFIG_EXPERT=y\n" in kernel.configuration
        assert kernel.causes or kernel.platform.architecture == "riscv"


def test_a_named_set_is_expanded_and_what_is_set_beside_it_wins() -> None:
    found = policies.expanded({policies.NAMED: "best", "copy": "words"}, "604")
    assert found["copy"] == "words"
    assert found["kernel.map"] == "bat"
    with pytest.raises(PagewalkError, match="core"):
        policies.expanded({policies.NAMED: "best"}, "68000")


@pytest.mark.parametrize("words", [["boot", "linux-6.2"], ["subjects", "build", "linux-6.3"]])
def test_the_command_suggests_the_plain_kernel_for_an_unknown_version(words: list[str]) -> None:
    command = [sys.executable, "-c", "from pagewalk.entry import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"unknown subject '{words[-1]}'" in done.stderr
    assert "did you mean 'linux-6.1-bare'?" in done.stderr
