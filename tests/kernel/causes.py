"""No function of one cost category is inlined into another's code.

The machine charges a cycle by the section that the program counter is in. A function that `CAUSE(x)` places into
a category's section is charged elsewhere if the compiler inlines it into a caller in another section. The compiler's
debugging information shows where this happened.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from suite.places import ROOT

_DEFINITION = re.compile(r"CAUSE\((\w+)\)[^;{}()]*?(\w+)\s*\(")


@dataclass(frozen=True, order=True)
class Leak:
    """`function` of category `cause` has a copy at `address`, which is charged to `charged`."""

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


Place = tuple[str, str]
"""A function: the name of its file without folders, and its own."""


def declared(sources: Path) -> dict[Place, str]:
    """The category of each function that a source file places by `CAUSE`."""
    return {
        (path.name, match[2]): match[1]
        for path in sorted([*sources.rglob("*.c"), *sources.rglob("*.h")])
        for match in _DEFINITION.finditer(path.read_text(encoding="utf-8"))
    }


def _bounds(elf: ELFFile) -> list[tuple[int, int, str]]:
    """Where each category's code lies: the linker script's symbols `__cause_<name>[.<part>]_start` and `_end`."""
    table = elf.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection), "the kernel is not stripped"
    places = {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}
    starts = [name for name in places if name.startswith("__cause_") and name.endswith("_start")]
    return [
        (places[name], places[name.removesuffix("_start") + "_end"], re.split(r"[._]", name[len("__cause_") :])[0])
        for name in starts
    ]


def _starts(unit: CompileUnit, die: DIE, elf: ELFFile) -> Iterator[int]:
    """The first addresses of the pieces of code that the entry describes."""
    if "DW_AT_low_pc" in die.attributes:
        yield die.attributes["DW_AT_low_pc"].value
    elif "DW_AT_ranges" in die.attributes:
        dwarf = elf.get_dwarf_info()
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        at = base.value if base else 0
        lists = dwarf.range_lists()
        assert lists is not None, "an entry refers to them"
        for entry in lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
            if isinstance(entry, BaseAddressEntry):
                at = entry.base_address
            else:
                yield entry.begin_offset + (0 if getattr(entry, "is_absolute", False) else at)


def _origin(die: DIE) -> DIE:
    while "DW_AT_abstract_origin" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
    return die


def _name(die: DIE) -> str:
    name = _origin(die).attributes.get("DW_AT_name")
    return name.value.decode() if name else "?"


def _file(unit: CompileUnit, elf: ELFFile, die: DIE) -> str:
    """The file that declares the function, without its folders."""
    number = _origin(die).attributes.get("DW_AT_decl_file")
    program = elf.get_dwarf_info().line_program_for_CU(unit)
    if number is None or program is None:
        return ""
    # Before version 5 the line table counts its files from 1.
    first = 0 if program["version"] >= 5 else 1
    name: bytes = program["file_entry"][number.value - first].name
    return name.decode().rsplit("/", 1)[-1]


def _inlined(die: DIE, caller: str) -> Iterator[tuple[DIE, str]]:
    for child in die.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield child, caller
            yield from _inlined(child, caller)
        elif child.tag == "DW_TAG_subprogram":
            yield from _inlined(child, _name(child))
        else:
            yield from _inlined(child, caller)


def leaks(image: Path, sources: Path) -> list[Leak]:
    """Every inlined copy that is charged to another category than its function's own."""
    causes = declared(sources)
    names = {name for _, name in causes}
    found = set()
    with image.open("rb") as stream:
        elf = ELFFile(stream)
        bounds = _bounds(elf)
        for unit in elf.get_dwarf_info().iter_CUs():
            for die, caller in _inlined(unit.get_top_DIE(), "?"):
                function = _name(die)
                if function not in names:
                    continue
                own = causes.get((_file(unit, elf, die), function))
                if own is None:
                    continue
                for address in _starts(unit, die, elf):
                    charged = next((name for low, high, name in bounds if low <= address < high), "kernel")
                    if charged != own:
                        found.add(Leak(function, own, caller, charged, address))
    return sorted(found)


def check() -> int:
    """Prints the leaks of the built kernel; the number of them is the exit status."""
    found = leaks(ROOT / "build" / "kernel" / "vmlinux", ROOT / "kernel")
    for leak in found:
        print(f"causes: {leak}", file=sys.stderr)
    print(f"causes: {len(found)} functions are charged to another cost category than their own")
    return min(len(found), 1)
