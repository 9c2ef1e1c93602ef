"""Initial RAM file systems: what is packed comes back, here and from cpio; bad input is named."""

import stat
import subprocess
from pathlib import Path

import pytest

from pagewalk.initramfs import Initramfs, InitramfsError, read_list, unpack


def sample() -> Initramfs:
    image = Initramfs()
    image.file("/etc/deep/greeting", b"hello\n")
    image.file("odd", b"12345", 0o600)
    image.symlink("bin/sh", "busybox")
    image.node("dev/console", "c", 5, 1)
    image.pipe("run/queue")
    image.directory("tmp", 0o1777)
    return image


def test_members_come_back_parents_first() -> None:
    entries = list(unpack(sample().pack()))
    paths = [entry.path for entry in entries]
    assert paths == [
        "bin", "bin/sh", "dev", "dev/console", "etc", "etc/deep", "etc/deep/greeting", "odd", "run", "run/queue", "tmp",
    ]  # fmt: skip
    by_path = {entry.path: entry for entry in entries}
    assert by_path["etc/deep/greeting"].data == b"hello\n"
    assert by_path["bin/sh"].data == b"busybox"
    assert by_path["dev/console"].device == (5, 1)
    assert stat.filemode(by_path["tmp"].mode) == "drwxrwxrwt"
    assert stat.filemode(by_path["odd"].mode) == "-rw-------"


def test_same_content_same_bytes_in_any_order() -> None:
    first, second = Initramfs(), Initramfs()
    first.file("a", b"1")
    first.file("b", b"2")
    second.file("b", b"2")
    second.file("a", b"1")
    assert first.pack() == second.pack()
    assert len(first.pack()) % 512 == 0


def test_cpio_reads_it(tmp_path: Path) -> None:
    listing = subprocess.run(["cpio", "-it"], input=sample().pack(), capture_output=True, check=True, cwd=tmp_path)
    assert b"etc/deep/greeting" in listing.stdout.split(b"\n")


def test_host_files_bring_only_their_executable_bit(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"x")
    program.chmod(0o711)
    text = tmp_path / "text"
    text.write_bytes(b"y")
    text.chmod(0o660)
    image = Initramfs()
    image.tree("copied", tmp_path)
    modes = {entry.path: stat.S_IMODE(entry.mode) for entry in unpack(image.pack())}
    assert modes == {"copied": 0o755, "copied/program": 0o755, "copied/text": 0o644}


def test_list_file(tmp_path: Path) -> None:
    (tmp_path / "init").write_bytes(b"\x7fELF")
    text = (
        "# a comment\ndir /dev 0755 0 0\nnod /dev/null 0666 0 0 c 1 3\nfile /init init 0755 0 0\nslink /a init 0777\n"
    )
    paths = [entry.path for entry in unpack(read_list(text, "list", tmp_path).pack())]
    assert paths == ["a", "dev", "dev/null", "init"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dir", "list:1: wanted: dir <path> <mode>"),
        ("\nfolder /x 0755", "list:2: unknown word 'folder'; allowed: dir, file"),
        ("file /x missing 0644", "list:1: /x: cannot read"),
        ("file /x missing 9", "list:1: "),
        ("dir /../x 0755", "without '..'"),
        ("nod /dev/x 0600 0 0 z 1 1", "'c' or 'b', not 'z'"),
        ("slink /a x\ndir /a/b 0755", "not as a directory"),
    ],
)
def test_bad_lists_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InitramfsError) as caught:
        read_list(text, "list", tmp_path)
    assert message in str(caught.value)


def test_damaged_archives_are_refused() -> None:
    archive = sample().pack()
    with pytest.raises(InitramfsError, match="byte 0: no newc header"):
        list(unpack(b"070702" + archive[6:]))
    short = Initramfs()
    short.file("a", bytes(1000))
    with pytest.raises(InitramfsError, match="ends after the archive"):
        list(unpack(short.pack()[:600]))


def test_a_tree_takes_the_files_that_match(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("a.c", "a.o", "deep/b.h"):
        (tmp_path / "src" / name).write_text("")
    for line, expected in (
        ("tree /src src", ["src", "src/a.c", "src/a.o", "src/deep", "src/deep/b.h"]),
        ("tree /src src *.[ch]", ["src", "src/a.c", "src/deep", "src/deep/b.h"]),
    ):
        assert [entry.path for entry in unpack(read_list(line, "list", tmp_path).pack())] == expected
