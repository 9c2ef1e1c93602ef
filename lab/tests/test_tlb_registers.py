"""The instruction TLB of an MPC8xx in the form of a debugger: values and lines as the thread of 2005 prints them."""

import subprocess
from pathlib import Path

import pytest

from pagewalk import tlb_registers
from pagewalk.tlb_registers import Entry


def entry(page: int, *, asid: int = 0, shared: bool = False, size: str = "4K") -> Entry:
    return {"effective": page, "asid": asid, "shared": shared, "size": size, "subpages": 15}


def nothing(_start: int, _end: int) -> list[str]:
    return []


PRINTED = [
    (entry(0x0FFE8000), "SPR  816 : 0x0ffe800f    268337167"),
    (entry(0xC009E000, shared=True), "SPR  816 : 0xc009e01f  -1073094625"),
    (entry(0x0FEDA000, asid=11), "SPR  816 : 0x0feda16f    267231599"),
    (entry(0xC004B000, asid=11, shared=True), "SPR  816 : 0xc004b17f  -1073434241"),
]
"""Lines of the thread."""


@pytest.mark.parametrize(("shown", "line"), PRINTED, ids=[line for _, line in PRINTED])
def test_a_line_is_as_the_thread_prints_it(shown: Entry, line: str) -> None:
    assert tlb_registers.line(shown, nothing) == line
    assert tlb_registers.line(shown, nothing, "+") == f"+{line}"


def test_the_size_is_in_the_value() -> None:
    assert tlb_registers.mi_cam(entry(0xC0000000, shared=True, size="8M")) == 0xC0000E1F


def test_only_new_entries_are_left() -> None:
    old, moved, fresh = entry(0x1000), entry(0x2000, asid=1), entry(0x2000, asid=2)
    assert tlb_registers.new([old, moved], [old, fresh]) == [fresh]


def test_functions_that_ran_are_named_by_their_page(tmp_path: Path) -> None:
    source = tmp_path / "k.s"
    source.write_text("""
.globl _start, first, long, other
.text
.type first, @function
.type long, @function
_start:
first: nop
  nop
.size first, 8
long: .space 0x1000
.size long, 0x1000
other: nop
""")
    made = tmp_path / "k"
    subprocess.run(["powerpc-linux-gnu-as", "-o", str(tmp_path / "k.o"), str(source)], check=True)
    subprocess.run(["powerpc-linux-gnu-ld", "-Ttext=0x10000", "-o", str(made), str(tmp_path / "k.o")], check=True)
    functions = tlb_registers.functions_of(made.read_bytes(), ["first", "long", "other", "elsewhere"])
    assert functions(0x10000, 0x11000) == ["first", "long"]
    assert functions(0x11000, 0x12000) == ["long", "other"]
    assert tlb_registers.functions_of(b"", ["first"])(0, 1 << 32) == []
