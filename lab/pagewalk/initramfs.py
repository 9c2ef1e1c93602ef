"""Initial RAM file systems: cpio archives in the "newc" format, byte for byte the same for the same content.

An image is a set of directories, files, symbolic links and device nodes. Entries are sorted by path, parents first.
Inode numbers count from 1, time stamps are 0, and the owner is root. So the same content gives the same bytes on
every host. Every error is an InitramfsError.

Format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst. The textual list that `read_list` takes is
that of Linux's usr/gen_init_cpio (dir, file, slink, nod, pipe lines).
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pagewalk.errors import BadInput
from pagewalk.paths import read_file

MAGIC = b"070701"
TRAILER = "TRAILER!!!"


class InitramfsError(ValueError):
    """An image that cannot be built; the message names the entry and what is allowed."""


@dataclass(frozen=True)
class Entry:
    """One member: `mode` has type and permission bits, `data` is a file's content or a link's target.

    `device` is major and minor number, `owner` user and group.
    """

    path: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)
    owner: tuple[int, int] = (0, 0)


@dataclass
class Initramfs:
    """An image under construction; missing parent directories are made with mode 0755.

    A path may be added again only with the same content and mode.
    """

    entries: dict[str, Entry] = field(default_factory=dict)

    def _add(self, entry: Entry) -> None:
        present = self.entries.get(entry.path)
        if present is not None and present != entry and not stat.S_ISDIR(present.mode & entry.mode):
            raise InitramfsError(f"{entry.path}: already in the image with another content or mode")
        for parent in reversed(PurePosixPath(entry.path).parents):
            name = str(parent)
            if name in (".", "/", ""):
                continue
            above = self.entries.setdefault(name, Entry(name, stat.S_IFDIR | 0o755))
            if not stat.S_ISDIR(above.mode):
                raise InitramfsError(f"{entry.path}: {name} is in the image, but not as a directory")
        self.entries[entry.path] = entry

    def directory(self, path: str, mode: int = 0o755) -> None:
        """Add a directory, or set the mode of one that was made as a parent."""
        self._add(Entry(normalise(path), stat.S_IFDIR | mode))

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file with this content."""
        self._add(Entry(normalise(path), stat.S_IFREG | mode, data))

    def copy(self, path: str, source: Path, mode: int | None = None) -> None:
        """Add a host file under `path`; without `mode` it gets 0755 if its owner may execute it, else 0644."""
        try:
            data = read_file(source)
            bits = stat.S_IMODE(source.stat().st_mode) if mode is None else mode
        except BadInput as error:
            raise InitramfsError(f"{path}: cannot read {error.message}") from None
        except OSError as error:
            raise InitramfsError(f"{path}: cannot read {source}: {error.strerror}") from error
        # The host's umask must not show: executable or not is all that is taken over.
        if mode is None:
            bits = 0o755 if bits & 0o100 else 0o644
        self.file(path, data, bits)

    def tree(self, path: str, source: Path, pattern: str = "*") -> None:
        """Add a host directory with everything below it (files, directories and symbolic links).

        Files are added only where their name matches the pattern.
        """
        if not source.is_dir():
            raise InitramfsError(f"{path}: {source} is not a directory")
        self.directory(path)
        for item in sorted(source.rglob("*")):
            name = f"{path}/{item.relative_to(source).as_posix()}"
            if item.is_symlink():
                self.symlink(name, str(item.readlink()))
            elif item.is_dir():
                self.directory(name)
            elif not fnmatchcase(item.name, pattern):
                continue
            elif item.is_file():
                self.copy(name, item)
            else:
                raise InitramfsError(f"{name}: {item} is neither file, directory nor symbolic link")

    def symlink(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self._add(Entry(normalise(path), stat.S_IFLNK | 0o777, os.fsencode(target)))

    def node(self, path: str, kind: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a device node: `kind` is "c" (character) or "b" (block)."""
        types = {"c": stat.S_IFCHR, "b": stat.S_IFBLK}
        if kind not in types:
            raise InitramfsError(f"{path}: a device is 'c' or 'b', not {kind!r}")
        self._add(Entry(normalise(path), types[kind] | mode, device=(major, minor)))

    def pipe(self, path: str, mode: int = 0o644) -> None:
        """Add a FIFO."""
        self._add(Entry(normalise(path), stat.S_IFIFO | mode))

    def pack(self) -> bytes:
        """The archive, padded to whole 512-byte blocks."""
        out = bytearray()
        for inode, path in enumerate(sorted(self.entries, key=lambda p: PurePosixPath(p).parts), start=1):
            out += _member(self.entries[path], inode)
        out += _member(Entry(TRAILER, 0), 0)
        out += bytes(-len(out) % 512)
        return bytes(out)

    def write(self, target: Path) -> None:
        """Write the archive to a file."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.pack())


def normalise(path: str) -> str:
    """`path` as the archive names it: relative to the root, without `.` or empty parts; `..` is refused."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise InitramfsError(f"{path!r}: a path below the root is wanted, without '..'")
    return "/".join(parts)


def _member(entry: Entry, inode: int) -> bytes:
    name = os.fsencode(entry.path) + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (
        inode, entry.mode, *entry.owner, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0,
    )  # fmt: skip
    head = MAGIC + b"".join(b"%08x" % value for value in fields) + name
    head += bytes(-len(head) % 4)
    return head + entry.data + bytes(-len(entry.data) % 4)


def unpack(archive: bytes) -> Iterator[Entry]:
    """The members of a newc archive, in its order, without the trailer; InitramfsError names the byte that is wrong."""
    at = 0
    while True:
        head = archive[at : at + 110]
        if len(head) < 110 or head[:6] != MAGIC:
            raise InitramfsError(f"byte {at}: no newc header (magic 070701) where one must be")
        try:
            values = [int(head[6 + 8 * i : 14 + 8 * i], 16) for i in range(13)]
        except ValueError as error:
            raise InitramfsError(f"byte {at}: a header field is not hexadecimal") from error
        mode, uid, gid, size, major, minor, name_size = (values[i] for i in (1, 2, 3, 6, 9, 10, 11))
        name_end = at + 110 + name_size
        data_at = name_end + -name_end % 4
        if data_at + size > len(archive):
            raise InitramfsError(f"byte {at}: the member ends after the archive does")
        name = os.fsdecode(archive[at + 110 : name_end - 1])
        if name == TRAILER:
            return
        yield Entry(name, mode, archive[data_at : data_at + size], (major, minor), (uid, gid))
        at = data_at + size + -size % 4


def read_list(text: str, origin: str, base: Path) -> Initramfs:
    """Build an image from gen_init_cpio lines. Relative sources are below `base`; messages name the list `origin`."""
    image = Initramfs()
    forms = {
        "dir": "dir <path> <mode> [uid gid]",
        "file": "file <path> <source> <mode> [uid gid]",
        "slink": "slink <path> <target> <mode> [uid gid]",
        "nod": "nod <path> <mode> <uid> <gid> <c|b> <major> <minor>",
        "pipe": "pipe <path> <mode> [uid gid]",
        "tree": "tree <path> <source> [pattern of file names]",
    }
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            match words:
                case ["dir", path, mode, *_]:
                    image.directory(path, int(mode, 8))
                case ["file", path, source, mode, *_]:
                    image.copy(path, base / source, int(mode, 8))
                case ["slink", path, target, *_]:
                    image.symlink(path, target)
                case ["nod", path, mode, _, _, kind, major, minor]:
                    image.node(path, kind, int(major), int(minor), int(mode, 8))
                case ["pipe", path, mode, *_]:
                    image.pipe(path, int(mode, 8))
                case ["tree", path, source, *pattern] if len(pattern) < 2:
                    image.tree(path, base / source, *pattern)
                case [word, *_] if word in forms:
                    raise InitramfsError(f"wanted: {forms[word]}")
                case [word, *_]:
                    raise InitramfsError(f"unknown word {word!r}; allowed: {', '.join(forms)}")
        except (InitramfsError, ValueError) as error:
            raise InitramfsError(f"{origin}:{number}: {error}") from error
    return image


def main(arguments: list[str] | None = None) -> int:
    """Command: build an image from a list file, or show what an image holds."""
    parser = argparse.ArgumentParser(prog="python -m pagewalk.initramfs", description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--build", type=Path, metavar="LIST", help="gen_init_cpio list to build from")
    action.add_argument("--list", type=Path, metavar="IMAGE", help="print an image's members")
    parser.add_argument("--output", type=Path, metavar="IMAGE", help="where --build writes")
    options = parser.parse_args(arguments)
    try:
        if options.build is not None:
            if options.output is None:
                parser.error("--build needs --output")
            text = options.build.read_text()
            read_list(text, str(options.build), options.build.parent).write(options.output)
        else:
            for entry in unpack(options.list.read_bytes()):
                print(f"{stat.filemode(entry.mode)} {len(entry.data):9d} {entry.path}")
    except (InitramfsError, OSError) as error:
        print(f"initramfs: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
