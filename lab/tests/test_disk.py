"""Root file systems for old kernels: ext2 on a RAM disk, and the programs that they hold."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from pagewalk import architectures, disk, programs
from pagewalk.architectures import Architecture
from pagewalk.errors import BadInput, NotBuilt, PagewalkError
from pagewalk.initramfs import Initramfs
from pagewalk.paths import home

OLD = sorted(path.name for path in (home().build / "user" / "old").iterdir() if path.is_file())


def ask(image: bytes, folder: Path, *command: str) -> str:
    """What a tool of e2fsprogs says of the image."""
    (folder / "image").write_bytes(image)
    tools = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    ran = subprocess.run([*command, str(folder / "image")], env=tools, capture_output=True, text=True, check=True)
    return ran.stdout


def test_the_root_is_whole_and_has_what_init_needs(tmp_path: Path) -> None:
    hello = programs.old_program("hello")
    image = programs.disk_image([hello], ["/bin/hello", "a word"])
    ask(image, tmp_path, "e2fsck", "-fn")
    assert "revision #:    0 (original)" in ask(image, tmp_path, "dumpe2fs", "-h")
    assert ask(image, tmp_path, "debugfs", "-R", "cat /etc/command") == "/bin/hello\0a word\0"
    assert "Device major/minor number: 01:01" in ask(image, tmp_path, "debugfs", "-R", "stat /dev/mem")
    listed = ask(image, tmp_path, "debugfs", "-R", "ls -l /bin")
    assert "100755" in listed
    assert str(hello.source.stat().st_size) in listed


@pytest.mark.parametrize("architecture", architectures.ALL, ids=lambda architecture: architecture.name)
def test_init_runs_on_linux_with_pages_of_64_kilobytes(architecture: Architecture) -> None:
    """No page of up to 64 KB holds parts of two segments, which have different rights."""
    with (architecture.user / "init-linux").open("rb") as stream:
        segments = [part for part in ELFFile(stream).iter_segments() if part["p_type"] == "PT_LOAD"]
    assert len(segments) > 1
    pages = [set(range(part["p_vaddr"] >> 16, (part["p_vaddr"] + part["p_memsz"] - 1 >> 16) + 1)) for part in segments]
    assert len(set.union(*pages)) == sum(map(len, pages))
    assert all((part["p_vaddr"] - part["p_offset"]) % 65536 == 0 for part in segments)


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    tree = Initramfs()
    tree.file("/bin/a", b"content", 0o755)
    tree.symlink("/bin/b", "a")
    assert disk.ext2(tree) == disk.ext2(tree)
    assert "Fast link dest" in ask(disk.ext2(tree), tmp_path, "debugfs", "-R", "stat /bin/b")


def test_room_is_left_for_files(tmp_path: Path) -> None:
    image = programs.disk_image([], ["/bin/dd"], 20 << 20)
    (free,) = (line for line in ask(image, tmp_path, "dumpe2fs", "-h").splitlines() if line.startswith("Free blocks"))
    assert int(free.split()[-1]) * disk.BLOCK >= 20 << 20


def test_init_is_told_what_to_write_to_proc_sys(tmp_path: Path) -> None:
    image = programs.disk_image([], ["/bin/dd"], sysctl={"vm/a": "30", "kernel/b": "1"})
    assert ask(image, tmp_path, "debugfs", "-R", "cat /etc/sysctl") == "vm/a 30\nkernel/b 1\n"


def test_missing_tools_are_told_with_their_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(disk, "_FOLDERS", ())
    with pytest.raises(NotBuilt, match="mke2fs is not installed") as error:
        disk.ext2(Initramfs())
    assert "e2fsprogs" in str(error.value.hint)


@pytest.mark.parametrize("path", ["/a b", '/"', "/a\\", "/a\nrm bin"])
def test_a_name_that_cannot_be_written_is_refused(path: str) -> None:
    tree = Initramfs()
    tree.file(path, b"")
    with pytest.raises(BadInput, match="no spaces, quotes and backslashes"):
        disk.ext2(tree)


def test_what_does_not_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Initramfs()
    tree.file("/big", bytes(range(256)) * (12 << 10))
    monkeypatch.setattr(disk, "size", lambda *_: 1 << 20)
    with pytest.raises(PagewalkError, match="cannot be made") as error:
        disk.ext2(tree)
    assert error.value.hint


@pytest.mark.parametrize("name", OLD)
def test_an_old_kernel_can_load_the_program(name: str) -> None:
    """Linux 2.6.11 clears the end of the last segment, which must be writable; none has thread-local storage."""
    segments = list(ELFFile(io.BytesIO(programs.old_program(name).source.read_bytes())).iter_segments())
    loaded = [segment for segment in segments if segment["p_type"] == "PT_LOAD"]
    assert loaded[-1]["p_flags"] & 2
    assert loaded[-1]["p_filesz"] > 0
    assert not [segment for segment in segments if segment["p_type"] in ("PT_TLS", "PT_INTERP")]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Removes what these programs leave in /tmp of this computer, where another user's run could not replace it."""
    made = [Path("/tmp", name) for name in ("dd", "include/sys/types.h", "include/sys", "include")]
    made = [path for path in made if not path.exists()]
    yield
    for path in made:
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("name", [name for name in OLD if name not in ("init", "hello", "exec")])
def test_a_program_prints_the_rows_of_its_twin(name: str) -> None:
    """Run by QEMU, where both measure by the clock."""
    less = {"dd": ["blocks=2"], "context-switch": ["processes=2", "size=0"], "churn": ["idle=1"]}
    small = ["iterations=1", "warmup=0", *less.get(name, [])]
    if name.startswith("memory"):
        small.append("size=64k")

    def rows(folder: str) -> list[str]:
        ran = subprocess.run(
            ["qemu-ppc", str(home().build / "user" / folder / name), *small],
            capture_output=True, text=True, check=True, timeout=1200,
        )  # fmt: skip
        return [line.partition(" ns=")[0] for line in ran.stdout.splitlines() if line.startswith("@row")]

    assert rows("old") == rows("bench") != []
