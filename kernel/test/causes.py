#!/usr/bin/env python3
"""Check that no function of one cost category is inlined into another's code.

    causes.py OBJDUMP IMAGE [SOURCES]

The machine charges a cycle by the section that the program counter is in. A function that `CAUSE(x)` places into a
category's section is charged elsewhere if the compiler inlines it into a function in another section. The compiler's
debugging information shows where this happened. SOURCES is the kernel's folder unless another is given.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

KERNEL = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, order=True)
class Leak:
    """`function` of category `cause` has a copy at `address` inside `caller`, which is charged to `charged`."""

    function: str
    cause: str
    caller: str
    charged: str
    address: int

    def __str__(self) -> str:
        return (
            f"{self.function} ({self.cause}) is inlined into {self.caller} at 0x{self.address:08x}, "
            f"which is charged to {self.charged}"
        )


@dataclass
class Entry:
    """An entry of the debugging information: its depth in the tree, its kind, and its attributes."""

    depth: int
    tag: str
    unit: int
    attributes: dict[str, str] = field(default_factory=dict)


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CAUSE = re.compile(r"^(?:[\w*]+\s+)*?CAUSE\((\w+)\)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_NAME = re.compile(r"[^;{}()=]*?(\w+)\s*\(")


# The folder of `arch` for each processor that an ELF header names.
_ARCHES = {3: "x86", 20: "ppc"}


def _form(image: Path) -> tuple[Literal["big", "little"], str]:
    """The image's order of bytes, and the folder of its architecture."""
    header = image.read_bytes()[:20]
    order: Literal["big", "little"] = "big" if header[5] == 2 else "little"
    return order, _ARCHES.get(int.from_bytes(header[18:20], order), "")


def declared(sources: Path, arch: str) -> dict[tuple[str, str], str]:
    """The category of each function that a source file places by `CAUSE`, by the names of its file and its own.

    Files of other architectures are left out: they may have the same names.

    A use of `CAUSE` at which no function's name is found is an error: the check would not see that function.
    """
    found: dict[tuple[str, str], str] = {}
    for path in sorted([*sources.rglob("*.c"), *sources.rglob("*.h")]):
        folders = path.relative_to(sources).parts
        if folders[0] == "arch" and folders[1] != arch:
            continue
        text = _ATTRIBUTE.sub("", _COMMENT.sub("", path.read_text(encoding="utf-8")))
        for match in _CAUSE.finditer(text):
            name = _NAME.match(text, match.end())
            if name is None:
                raise ValueError(f"{path}: no function follows {match[0]!r}")
            place = (path.name, name[1])
            if found.setdefault(place, match[1]) != match[1]:
                raise ValueError(f"{path}: {name[1]} is of another category in a file of the same name")
    return found


def _dumped(objdump: str, image: Path, what: str) -> Iterator[str]:
    with subprocess.Popen([objdump, *what.split(), str(image)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode:
        raise ValueError(f"{objdump} cannot read {image}")


def bounds(objdump: str, image: Path) -> list[tuple[int, int, str]]:
    """Where each category's code lies: the linker script's symbols `__cause_<name>[.<part>]_start` and `_end`."""
    words = (line.split() for line in _dumped(objdump, image, "--syms"))
    places = {word[-1]: int(word[0], 16) for word in words if word and word[-1].startswith("__cause_")}
    starts = [name for name in places if name.endswith("_start")]
    return [
        (places[name], places[name.removesuffix("_start") + "_end"], re.split(r"[._]", name[len("__cause_") :])[0])
        for name in starts
    ]


_ENTRY = re.compile(r" <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_VALUE = re.compile(r"    <[0-9a-f]+>   DW_AT_(\w+)\s*: (.*)")
_WANTED = ("subprogram", "inlined_subroutine")


def _entries(objdump: str, image: Path) -> dict[int, Entry]:
    """The functions and their inlined copies, by their offsets."""
    entries: dict[int, Entry] = {}
    unit = -1
    now: Entry | None = None
    for line in _dumped(objdump, image, "--dwarf=info"):
        if line.startswith(" <"):
            now = None
            found = _ENTRY.match(line)
            if found is None:
                continue
            if found[3] == "compile_unit":
                unit += 1
            elif found[3] in _WANTED:
                now = entries[int(found[2], 16)] = Entry(int(found[1], 16), found[3], unit)
        elif now is not None and (found := _VALUE.match(line)):
            now.attributes[found[1]] = found[2].strip()
    return entries


class Ranges:
    """The section of lists of ranges (DWARF 5, section 7.25), as gcc writes it: without indexed addresses."""

    def __init__(self, objdump: str, image: Path) -> None:
        lines = _dumped(objdump, image, "--full-contents --section=.debug_rnglists")
        rows = (re.match(r" [0-9a-f]+ ((?:[0-9a-f]{2,8} ){1,4})", line) for line in lines)
        self._bytes = bytes.fromhex("".join(row[1] for row in rows if row))
        self._order = _form(image)[0]

    def starts(self, at: int) -> Iterator[int]:
        """The first address of each piece of the list at that offset."""
        base = 0

        def address() -> int:
            nonlocal at
            at += 4
            return int.from_bytes(self._bytes[at - 4 : at], self._order)

        def number() -> int:
            """An unsigned LEB128."""
            nonlocal at
            value = shift = 0
            while True:
                byte = self._bytes[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return value

        while kind := self._bytes[at]:
            at += 1
            if kind == 4:  # DW_RLE_offset_pair
                yield base + number()
                number()
            elif kind == 5:  # DW_RLE_base_address
                base = address()
            elif kind == 6:  # DW_RLE_start_end
                yield address()
                address()
            elif kind == 7:  # DW_RLE_start_length
                yield address()
                number()
            else:
                raise ValueError(f"a list of ranges has an entry of the unknown kind {kind}")


def _files(objdump: str, image: Path) -> list[dict[int, str]]:
    """The names of each unit's files, without folders, by their numbers."""
    units: list[dict[int, str]] = []
    inside = False
    for line in _dumped(objdump, image, "--dwarf=rawline"):
        if "The File Name Table" in line:
            units.append({})
            inside = True
        elif inside and (found := re.match(r"\s+(\d+)\s+\d.*?(\S+)$", line)):
            units[-1][int(found[1])] = found[2].rsplit("/", 1)[-1]
        elif inside and not line.strip():
            inside = False
    return units


def _reference(text: str) -> int:
    return int(text.strip("<>").removeprefix("0x"), 16)


def leaks(objdump: str, image: Path, sources: Path) -> list[Leak]:
    """Every inlined copy that is charged to another category than its function's own."""
    causes = declared(sources, _form(image)[1])
    entries = _entries(objdump, image)
    ranges = Ranges(objdump, image)
    files = _files(objdump, image)
    areas = bounds(objdump, image)
    found = set()

    def origin(entry: Entry) -> Entry:
        while "abstract_origin" in entry.attributes:
            entry = entries[_reference(entry.attributes["abstract_origin"])]
        return entry

    def name(entry: Entry) -> str:
        return origin(entry).attributes.get("name", "?").rsplit(": ", 1)[-1]

    caller = "?"
    for entry in entries.values():
        if entry.tag == "subprogram":
            caller = name(entry)
            continue
        source = origin(entry)
        file = files[source.unit][int(source.attributes["decl_file"].split()[0])]
        own = causes.get((file, name(entry)))
        if own is None:
            continue
        if "ranges" in entry.attributes:
            starts = list(ranges.starts(_reference(entry.attributes["ranges"].split()[0])))
        else:
            starts = [int(entry.attributes["low_pc"], 16)] if "low_pc" in entry.attributes else []
        for address in starts:
            charged = next((cause for low, high, cause in areas if low <= address < high), "kernel")
            if charged != own:
                found.add(Leak(name(entry), own, caller, charged, address))
    return sorted(found)


def main(words: list[str]) -> int:
    """Prints the leaks; the exit status is 1 if there is one."""
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    try:
        found = leaks(words[0], Path(words[1]), Path(words[2]) if len(words) == 3 else KERNEL)
    except (OSError, ValueError) as error:
        sys.exit(f"causes: {error}")
    for leak in found:
        print(f"causes: {leak}", file=sys.stderr)
    print(f"causes: {len(found)} inlined copies are charged to another cost category than their function's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
