"""Programs for the guest: checked before anything boots, and packed into an initial RAM file system."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pagewalk import disk
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import BadInput, NotBuilt, nearest, unknown
from pagewalk.initramfs import Initramfs, InitramfsError, read_list
from pagewalk.paths import Home, home
from pagewalk.placement import AS_BUILT, Placement, linked_program

# ELF: System V ABI, chapter 4; machine numbers and PT_ types from its tables.
_ELF_MAGIC = b"\x7fELF"
_CLASS_32 = 1
_DATA_BIG = 2
_TYPE_EXECUTABLE = 2
_SEGMENT_INTERPRETER = 3
_MACHINES = {
    3: "i386", 8: "MIPS", 20: "PowerPC", 21: "64-bit PowerPC", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V",
}  # fmt: skip

Root = Literal["cpio", "ext2"]
"""What the root file system is: an initial RAM file system, or a RAM disk with our programs for Linux from 2.1 on."""


def check_executable(path: Path, data: bytes, architecture: Architecture = POWERPC) -> None:
    """Refuses what the kernel could not run, with the reason: only static executables of its architecture pass."""
    hint = architecture.compile_hint
    if data[:2] == b"#!":
        raise BadInput(f"{path} is a script, and no interpreter for it is in the guest", hint=hint)
    if data[:4] != _ELF_MAGIC or len(data) < 52:
        raise BadInput(f"{path} is not an ELF executable", hint=hint)
    order: Literal["big", "little"] = "big" if data[5] == _DATA_BIG else "little"
    machine = int.from_bytes(data[18:20], order)
    name = _MACHINES.get(machine, f"machine number {machine}")
    if order != architecture.order:
        raise BadInput(f"{path} is {order}-endian ({name}); the machine is {architecture.words}", hint=hint)
    bits = 32 if data[4] == _CLASS_32 else 64
    if bits != architecture.bits or machine != architecture.machine:
        raise BadInput(
            f"{path} is for {name}, {bits} bits; the kernel runs programs of {architecture.bits}-bit "
            f"{architecture.name}",
            hint=hint,
        )
    table, size, count = (
        int.from_bytes(data[28:32], order),
        int.from_bytes(data[42:44], order),
        int.from_bytes(data[44:46], order),
    )
    for number in range(count):
        if int.from_bytes(data[table + number * size :][:4], order) == _SEGMENT_INTERPRETER:
            raise BadInput(f"{path} is dynamically linked; the guest has no shared libraries", hint=hint)

    if int.from_bytes(data[16:18], order) != _TYPE_EXECUTABLE:
        raise BadInput(f"{path} is not an executable at fixed addresses (object, library or PIE)", hint=hint)


@dataclass(frozen=True)
class GuestFile:
    """A host file and where it lies in the guest."""

    source: Path
    path: str


def _one_of(folder: Path, name: str, kind: str) -> Path:
    """The file of that name in a folder of the build: a name and no path, which might lead to another folder."""
    known = [entry.name for entry in folder.iterdir() if entry.is_file()]
    if name not in known:
        raise unknown(kind, name, known)
    return folder / name


def old_program(name: str, placement: Placement = AS_BUILT) -> GuestFile:
    """A program for Linux from 2.1 on that the build has made, for `/bin`, linked as the placement says."""
    folder = home().build / "user" / "old"
    _one_of(home().built(folder, "the programs for old kernels"), name, "program for old kernels")
    return GuestFile(linked_program(folder, name, placement), f"/bin/{name}")


def bench_program(name: str, architecture: Architecture = POWERPC) -> GuestFile:
    """A benchmark program that the build has made; an unknown one is refused with the nearest suggested."""
    folder = architecture.built(architecture.user / "bench", "the benchmark programs")
    return GuestFile(_one_of(folder, name, "benchmark program"), f"/bin/{name}")


def user_program(name: str, architecture: Architecture = POWERPC) -> GuestFile:
    """A user program that the build has made, under its own name in `/bin`."""
    folder = architecture.built(architecture.user, "the user programs")
    return GuestFile(_one_of(folder, name, "user program"), f"/bin/{name}")


def names(architecture: Architecture = POWERPC) -> list[str]:
    """The names of the built programs that a person can run."""
    bench = architecture.built(architecture.user / "bench", "the benchmark programs")
    return sorted(path.name for path in (*bench.iterdir(), bench.parent / "hello") if path.is_file())


def find(wanted: str | Path, root: Root = "cpio", architecture: Architecture = POWERPC) -> Path:
    """The program that is wanted: a path if the word has a slash; else a built program for such a root, or a file here.

    BadInput if there is none, or if both are there. A `Path` is a path, whatever it looks like.
    """
    name = f"./{wanted}" if isinstance(wanted, Path) and wanted.name == str(wanted) else str(wanted)
    if not name:
        raise BadInput("the program's name is empty")
    path, built = Path(name), architecture.user
    places = [built / name, built / "bench" / name] if root == "cpio" else [built / "old" / name]
    try:
        is_here = path.exists()
        found = None if "/" in name else next((place for place in places if place.is_file()), None)
        if found is not None and is_here and not path.samefile(found):
            raise BadInput(
                f"{name} is a file in this folder and a built program",
                hint=f"write ./{name} for the file, {found} for the built program",
            )
    except (OSError, ValueError):
        return path  # no file can have such a name, which the reader of the file says
    if found is not None or is_here:
        return found or path
    if "/" in name:
        raise BadInput(f"{name}: No such file or directory")
    known = [entry.name for entry in (*built.glob("*"), *built.glob("bench/*")) if entry.is_file()]
    close = nearest(name, known if root == "cpio" else [entry.name for entry in built.glob("old/*")])
    raise BadInput(
        f"{name}: there is no such file, and no built program has this name",
        hint=f"did you mean {close!r}?" if close else "`pagewalk programs` lists the built ones",
    )


def image(
    files: Sequence[GuestFile],
    listed: str | None = None,
    placement: Placement = AS_BUILT,
    init: str = "init",
    architecture: Architecture = POWERPC,
) -> bytes:
    """An initial RAM file system with init (that user program), the usual folders, these files, and what a list names.

    `listed` names `user/initramfs-<listed>.list` (gen_init_cpio lines), whose programs of other people are those of the
    architecture. The placement moves frames and heaps.
    """
    where = home()
    archive = Initramfs()
    try:
        if listed is not None:
            archive = _read_list(where, listed, architecture)
        for folder in ("/bin", "/dev", "/etc", "/proc", "/root"):
            archive.directory(folder)
        archive.directory("/tmp", 0o1777)
        archive.node("/dev/console", "c", 5, 1)
        archive.copy("/init", architecture.built(architecture.user / init, "init"))
        for file in files:
            archive.copy(file.path, file.source)
        placement.apply(archive)
        return archive.pack()
    except InitramfsError as error:
        raise BadInput(str(error)) from None


CONSOLE = (5, 1)
_DEVICES = (
    ("null", "c", 1, 3), ("zero", "c", 1, 5), ("mem", "c", 1, 1), ("tty", "c", 5, 0),
    ("ram0", "b", 1, 0), ("ram1", "b", 1, 1),
)  # fmt: skip
"""Linux, Documentation/devices.txt, which has had these numbers since 2.1."""


def disk_image(
    files: Sequence[GuestFile],
    command: Sequence[str],
    room: int = disk.ROOM,
    placement: Placement = AS_BUILT,
    console: tuple[int, int] = CONSOLE,
    *,
    sysctl: Mapping[str, str] | None = None,
) -> bytes:
    """A RAM disk with init for Linux from 2.1 on, which runs the command, the usual folders and devices, and these
    files. Before the command, init writes the values of `sysctl` to files of /proc/sys. The placement moves frames,
    heaps and stacks.
    """
    tree = Initramfs()
    try:
        for folder in ("/bin", "/dev", "/etc", "/proc", "/sbin"):
            tree.directory(folder)
        tree.directory("/tmp", 0o1777)
        for name, kind, major, minor in (("console", "c", *console), *_DEVICES):
            tree.node(f"/dev/{name}", kind, major, minor, 0o666)
        tree.copy("/sbin/init", old_program("init").source)
        tree.file("/etc/command", b"".join(os.fsencode(word) + b"\0" for word in command))
        if sysctl:
            tree.file("/etc/sysctl", "".join(f"{name} {value}\n" for name, value in sysctl.items()).encode())
        for file in files:
            tree.copy(file.path, file.source)
        placement.apply_to_disk(tree)
    except InitramfsError as error:
        raise BadInput(str(error)) from None
    return disk.ext2(tree, room)


def _read_list(where: Home, name: str, architecture: Architecture) -> Initramfs:
    folder = where.root / "user"
    path = folder / f"initramfs-{name}.list"
    if not path.is_file():
        known = [entry.stem.removeprefix("initramfs-") for entry in folder.glob("initramfs-*.list")]
        raise unknown("list of guest files", name, known)
    try:
        text = path.read_text(encoding="utf-8")
        text = text.replace("../build/programs/", f"../build/programs{architecture.folder}/")
        return read_list(text, str(path), folder)
    except InitramfsError as error:
        target = "make compilers" if name.startswith("gcc") else architecture.programs
        raise NotBuilt(str(error), hint=where.how_to_build(target)) from None
