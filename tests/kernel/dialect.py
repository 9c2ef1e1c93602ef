"""Checks that the kernel's C has one dialect where a formatter would not tell.

At the head of a file the `#include <...>` lines come first, then, after an empty line, the `#include "..."` lines, each
in alphabetical order. A comment behind code is aligned by spaces, so that it stays in its column whatever a tab's width
is.
"""

from __future__ import annotations

import re
from pathlib import Path

from suite.places import ROOT

KERNEL = ROOT / "kernel"

_HEAD = re.compile(r'(?:^#include [<"][^\n]*\n|^\n(?=#include ))+', re.MULTILINE)
_TABBED = re.compile(r"[^\t\n][ ]*\t[\t ]*(?=/\*)")


def head(lines: list[str]) -> list[str]:
    """The #include lines of a file's head as they are to be written."""
    angled = sorted({line for line in lines if line.startswith("#include <")})
    quoted = sorted({line for line in lines if line.startswith('#include "')})
    return [*angled, *([""] if angled and quoted else []), *quoted]


def faults(text: str) -> list[str]:
    """What is written otherwise in a file, each with its line."""
    found: list[str] = []
    if match := _HEAD.search(text):
        lines = match[0].rstrip("\n").split("\n")
        if lines != head(lines):
            found.append(f"{text.count(chr(10), 0, match.start()) + 1}: order of #include lines")
    found += [
        f"{number}: a tab before a comment" for number, line in enumerate(text.split("\n"), 1) if _TABBED.search(line)
    ]
    return found


def _sources() -> list[Path]:
    return [path for pattern in ("*.c", "*.h") for path in sorted(KERNEL.rglob(pattern))]


def check() -> int:
    """Returns the number of faults."""
    found = [
        f"kernel/{path.relative_to(KERNEL)}:{fault}" for path in _sources() for fault in faults(path.read_text("utf-8"))
    ]
    print("\n".join([*found, f"dialect: {len(found)} faults in {len(_sources())} files"]))
    return len(found)
