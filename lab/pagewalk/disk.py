"""Disk images: a root file system as Linux from 2.1 on reads it, ext2 of revision 0, for a RAM disk.

mke2fs and debugfs of Debian's package e2fsprogs make it, without privileges. The same content gives the same bytes, by
the same version of the package.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pagewalk.errors import BadInput, NotBuilt, PagewalkError
from pagewalk.initramfs import Entry, Initramfs

BLOCK = 1024
"""The size of a block in bytes: all versions have RAM disks of such blocks."""
ROOM = 8 << 20
"""How many bytes are free for the programs' own files, by default."""
_INODES_FREE = 256
_METADATA = 1.03
"""How much larger an image is than its content: bitmaps, inodes, indirect blocks."""
_UUID = "00000000-0000-0000-0000-000000000001"
"""In the place of a random number for the file system, and for the order of hashed directories: there are none."""
_SECONDS = "1"
"""The time of everything in it, counted from 1970; 0 means the present."""
_NAME = re.compile(r'[^\s"\\]+')
_FOLDERS = (os.defpath, "/usr/sbin", "/sbin")
_TOOL_SECONDS = 600
"""A bound for a tool that hangs, on a slow computer too."""


def _tool(name: str) -> str:
    """Where a tool of e2fsprogs is. Debian has it in folders that are not in every user's PATH."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS]))
    if found is None:
        raise NotBuilt(
            f"{name} is not installed: it makes the root file systems of old kernels",
            hint="install Debian's package e2fsprogs (`./bootstrap run` does)",
        )
    return found


def _run(*command: str) -> str:
    """What the tool said on standard error, but for its version."""
    ran = subprocess.run(
        command,
        env={**os.environ, "E2FSPROGS_FAKE_TIME": _SECONDS, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TOOL_SECONDS,
    )
    name = Path(command[0]).name
    complaints = "\n".join(line for line in ran.stderr.splitlines() if not line.startswith(f"{name} "))
    if ran.returncode:
        raise PagewalkError(f"{name} failed with status {ran.returncode}", hint=complaints or None)
    return complaints


def _commands(entries: list[Entry], folder: Path) -> Iterator[str]:
    """debugfs's commands that make the entries, whose contents are put into files of the folder."""
    for number, entry in enumerate(entries):
        if not _NAME.fullmatch(entry.path):
            raise BadInput(f"{entry.path!r}: a RAM disk's file names have no spaces, quotes and backslashes")
        # Nodes and links are made in the current directory only.
        parent, _, path = f"/{entry.path}".rpartition("/")
        yield f"cd {parent or '/'}"
        if stat.S_ISDIR(entry.mode):
            yield f"mkdir {path}"
        elif stat.S_ISREG(entry.mode):
            source = folder / str(number)
            source.write_bytes(entry.data)
            yield f"write {source} {path}"
        elif stat.S_ISLNK(entry.mode):
            yield f"symlink {path} {os.fsdecode(entry.data)}"
            continue
        elif stat.S_ISCHR(entry.mode) or stat.S_ISBLK(entry.mode):
            kind = "c" if stat.S_ISCHR(entry.mode) else "b"
            yield f"mknod {path} {kind} {entry.device[0]} {entry.device[1]}"
        else:
            raise BadInput(f"/{entry.path}: a RAM disk holds files, directories, links and devices only")
        yield f"set_inode_field {path} mode 0{entry.mode:o}"


def size(tree: Initramfs, room: int = ROOM) -> int:
    """How many bytes the image has: a multiple of 1 MB, with `room` bytes free."""
    content = sum(len(entry.data) + BLOCK for entry in tree.entries.values())
    megabytes = (int((content + room) * _METADATA) >> 20) + 1
    return megabytes << 20


def ext2(tree: Initramfs, room: int = ROOM) -> bytes:
    """The image of a file system with this content, and about `room` bytes free for files that programs make."""
    entries = sorted(tree.entries.values(), key=lambda entry: PurePosixPath(entry.path).parts)
    with tempfile.TemporaryDirectory(prefix="pagewalk-") as name:
        folder = Path(name)
        image, script = folder / "image", folder / "script"
        with image.open("wb") as file:
            file.truncate(size(tree, room))
        _run(
            _tool("mke2fs"), "-q", "-F", "-t", "ext2", "-r", "0", "-O", "none", "-b", str(BLOCK), "-I", "128",
            "-m", "0", "-N", str(len(entries) + _INODES_FREE), "-U", _UUID, "-E", f"hash_seed={_UUID}", str(image),
        )  # fmt: skip
        script.write_text("".join(f"{line}\n" for line in _commands(entries, folder)), encoding="utf-8")
        if complaints := _run(_tool("debugfs"), "-w", "-f", str(script), str(image)):
            raise PagewalkError("the root file system cannot be made", hint=complaints)
        return image.read_bytes()
