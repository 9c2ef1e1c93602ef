"""Checks that no line of C, assembly, Rust and Python is wider than 120 columns.

rustfmt and ruff wrap code, but neither every comment nor every macro. A tab goes to the next multiple of eight. Not
counted: a line with a long string, since a message is found by searching for it whole, and a line with an address on
the Web.
"""

from __future__ import annotations

import re

from suite.places import ROOT

WIDEST = 120
SUFFIXES = frozenset({".c", ".h", ".S", ".rs", ".py"})
LONG_STRING = 40
"""From how many characters on a string may make its line wider."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def _may_be_wide(line: str) -> bool:
    return "://" in line or any(len(string) >= LONG_STRING for string in _STRING.findall(line))


def check() -> int:
    """The number of lines that are too wide; each is printed."""
    files = 0
    wide = []
    for folder in ("kernel", "user", "machine", "lab", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES or path.is_relative_to(ROOT / folder / "build"):
                continue
            files += 1
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                columns = len(line.expandtabs(8))
                if columns > WIDEST and not _may_be_wide(line):
                    wide.append(f"{path.relative_to(ROOT)}:{number}: {columns} columns")
    for where in wide:
        print(where)
    print(f"columns: {files} files, {len(wide)} lines wider than {WIDEST} columns")
    return len(wide)
