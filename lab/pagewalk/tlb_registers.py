"""The instruction TLB of an MPC8xx as its debug register MI_CAM shows it, in the form that a debugger prints it.

The kernel list's thread of June 2005 (document lkml05) compares such lists from before and after a call.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

MI_CAM = 816
"""The register's number (Linux, arch/powerpc/include/asm/reg_8xx.h)."""

_SIZES = {"4K": 0, "16K": 1, "512K": 3, "8M": 7}
_BYTES = {"4K": 4 << 10, "16K": 16 << 10, "512K": 512 << 10, "8M": 8 << 20}

Entry = Mapping[str, Any]
"""A row of `instruction_entries` of a state dump."""

Functions = Callable[[int, int], Sequence[str]]
"""The names of functions between two addresses."""


def mi_cam(entry: Entry) -> int:
    """What MI_CAM holds of the entry: page, size, address space, whether it is shared, valid subpages.

    The places of these fields are those of the thread's values; the codes of sizes beyond 4 KB are recalled of the
    MPC860's manual.
    """
    low = _SIZES[entry["size"]] << 9 | entry["asid"] << 5 | entry["shared"] << 4 | entry["subpages"]
    return int(entry["effective"] & 0xFFFFF000 | low)


def new(before: Iterable[Entry], after: Iterable[Entry]) -> list[Entry]:
    """The entries that only the later list has, in its order."""
    known = {mi_cam(entry) for entry in before}
    return [entry for entry in after if mi_cam(entry) not in known]


def line(entry: Entry, functions: Functions, sign: str = "") -> str:
    """The line that a debugger prints, with the names of functions in the page behind it."""
    value = mi_cam(entry)
    signed = value - (1 << 32) if value >> 31 else value
    start = int(entry["effective"])
    names = ", ".join(functions(start, start + _BYTES[entry["size"]]))
    return f"{sign}SPR  {MI_CAM} : {value:#010x}  {signed:>11}" + (f"  {names}" if names else "")


def functions_of(elf: bytes, ran: Iterable[str]) -> Functions:
    """Which of the functions that ran lie between two addresses, by the image's symbols, the first one first."""
    wanted = set(ran)
    if not elf:
        return lambda start, end: []
    tables = [s for s in ELFFile(io.BytesIO(elf)).iter_sections() if isinstance(s, SymbolTableSection)]
    places = sorted(
        {
            (symbol["st_value"], symbol["st_value"] + max(symbol["st_size"], 1), symbol.name)
            for table in tables
            for symbol in table.iter_symbols()
            if symbol.name in wanted
        }
    )
    return lambda start, end: [name for first, last, name in places if first < end and last > start]
