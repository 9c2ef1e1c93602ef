"""Checks docs/missing-calls.md: it must list exactly the calls of Linux 6.1 that kernel/syscall/syscalls.tbl lacks.

Linux's calls and numbers come from the headers of the two cross compilers' C libraries (linux-libc-dev), up to the last
number of 6.1. A call that one architecture has and the other lacks is listed with its number there alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from suite.places import ROOT, wanted

PAGE = ROOT / "docs" / "missing-calls.md"
TABLE = ROOT / "kernel" / "syscall" / "syscalls.tbl"
HEADERS = (
    Path("/usr/powerpc-linux-gnu/include/asm/unistd_32.h"),
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_32.h"),
)
"""For PowerPC and i386, in the order of the table's columns."""
_LAST = 450  # set_mempolicy_home_node, the youngest call of 6.1
_DEFINED = re.compile(r"^#define __NR_(\w+)\s+(\d+)\s*$", re.MULTILINE)
_CALL = re.compile(r"^(\d+|-)\s+(\d+|-)\s+\w+\s", re.MULTILINE)
_ROW = re.compile(r"^\| `(\w+)` \| (\d+|-) \| (\d+|-) \|", re.MULTILINE)
Missing = dict[str, tuple[str, str]]


def missing() -> Missing:
    """The numbers, on PowerPC and i386, of each call that is missing; "-" where it is not missing."""
    calls = [
        {
            name: int(number)
            for name, number in _DEFINED.findall(
                wanted(header, "install linux-libc-dev and linux-libc-dev-powerpc-cross").read_text(encoding="utf-8")
            )
            if int(number) <= _LAST
        }
        for header in HEADERS
    ]
    rows = _CALL.findall(TABLE.read_text(encoding="utf-8"))
    have = [{int(row[column]) for row in rows if row[column] != "-"} for column in range(2)]
    found: Missing = {}
    for name in sorted(calls[0].keys() | calls[1].keys()):
        numbers = [
            str(calls[column][name]) if name in calls[column] and calls[column][name] not in have[column] else "-"
            for column in range(2)
        ]
        if numbers != ["-", "-"]:
            found[name] = (numbers[0], numbers[1])
    return found


def check() -> int:
    """The number of calls that the page lists wrongly, twice, or not at all; each is printed."""
    listed = _ROW.findall(wanted(PAGE, "it is part of the checkout").read_text(encoding="utf-8"))
    told = {name: (ppc, i386) for name, ppc, i386 in listed}
    truth = missing()
    wrong = [f"{name} is listed twice" for name in told if [row[0] for row in listed].count(name) > 1]
    wrong += [f"{name} is not listed: {truth[name]}" for name in truth if name not in told]
    wrong += [f"{name} is listed, but it is there" for name in told if name not in truth]
    wrong += [
        f"{name}: {told[name]}, not {truth[name]}" for name in truth if told.get(name, truth[name]) != truth[name]
    ]
    for line in wrong:
        print(f"docs/missing-calls.md: {line}")
    print(f"docs/missing-calls.md: {len(truth)} calls of Linux 6.1 are missing, {len(wrong)} listed wrongly")
    return len(wrong)
