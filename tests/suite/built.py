"""Programs that are not part of the checkout: checks a folder of built ones, and records which were run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from suite.places import Missing

# The kind of program that is required, for messages.
KIND = "a static executable for 32-bit big-endian PowerPC (ELF)"

# How many names a message lists.
_NAMES_MOST = 12

# Tag_GNU_Power_ABI_FP, and its values of registers for double and for single precision.
_ABI_FP, _HARD_FLOAT = 4, (1, 3)

# The errors that reading a damaged ELF file may raise.
_DAMAGED = (ELFError, OSError, ValueError, KeyError, OverflowError)


def fault(path: Path) -> str:
    """Why the kernel cannot run a file as a program without libraries; empty if it can."""
    if not path.is_file():
        return "missing"
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            header = elf.header
            if (elf.elfclass, elf.little_endian, header.e_machine) != (32, False, "EM_PPC"):
                return "for another processor"
            if header.e_type != "ET_EXEC":
                return "not an executable"
            if any(part.header.p_type == "PT_INTERP" for part in elf.iter_segments()):
                return "dynamically linked"
    except _DAMAGED as error:
        return f"not an ELF file ({error})" if str(error) else "not an ELF file"
    return ""


def _section(path: Path, name: str) -> bytes:
    """The section's bytes; none if the file has no such section, or is damaged."""
    try:
        with path.open("rb") as file:
            section = ELFFile(file).get_section_by_name(name)
            return section.data() if section else b""
    except _DAMAGED:
        return b""


def computes_in_registers(path: Path) -> bool:
    """Whether the compiler used floating-point registers (Tag_GNU_Power_ABI_FP); False if the program does not say."""
    data = _section(path, ".gnu.attributes")
    # "A", the length, "gnu", the tag and length of what holds for the file, then pairs of a tag and a value.
    pairs = data.partition(b"gnu\0\x01")[2][4:]
    values = dict(zip(pairs[::2], pairs[1::2], strict=False))
    return values.get(_ABI_FP, 0) & 3 in _HARD_FLOAT


def wanted_programs(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """The programs `names` of a folder, or an error that lists which are missing and which are of another kind."""
    found = {name: folder / name for name in sorted(names)}
    if not folder.is_dir():
        raise Missing(f"{folder}: not a folder: name one that holds {', '.join(found)}; each has to be {KIND}")
    faults = [f"{name} ({why})" for name, path in found.items() if (why := fault(path))]
    if faults:
        more = f", and {len(faults) - _NAMES_MOST} more" if len(faults) > _NAMES_MOST else ""
        raise Missing(f"{folder} lacks {', '.join(faults[:_NAMES_MOST])}{more}; each has to be {KIND}")
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compiler(path: Path) -> str:
    """The compiler's note in a program; empty if there is none."""
    text = _section(path, ".comment")
    return "; ".join(sorted({part.decode(errors="replace") for part in text.split(b"\0") if part}))


def version(folder: Path) -> str:
    """The first line of the folder's file VERSION (or Version), which names the programs' release."""
    for name in ("VERSION", "Version"):
        if (folder / name).is_file():
            lines = (folder / name).read_text(errors="replace").split("\n")
            return lines[0].strip()
    return ""


def record(folder: Path, programs: Iterable[Path], kernel: Path) -> dict[str, object]:
    """The programs that ran, for the results: release, and each program's hash and compiler."""
    return {
        "version": version(folder) or "not stated",
        "kernel": digest(kernel),
        "programs": {
            str(path.relative_to(folder)): {"sha256": digest(path), "compiler": compiler(path)}
            for path in sorted(programs)
        },
    }
