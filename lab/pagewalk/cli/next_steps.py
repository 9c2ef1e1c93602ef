"""What to try after each command, for those whose next step depends on nothing that they found."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping

NEXT: Mapping[str, tuple[str, ...]] = {
    "machines": ("pagewalk exec -m ppc604-133 -- hello",),
    "policies": ("pagewalk ab -p tlb.cutoff=off,20 -- hello",),
    "programs": ("pagewalk exec -- hello",),
    "experiments": ("pagewalk run osdi99-table2",),
    "claims list": ("pagewalk claims explain osdi99.table2.604-185",),
    "claims explain": ("pagewalk run EXPERIMENT measures it", "pagewalk claims list for the others"),
    "claims count": ("pagewalk claims explain <id> for one claim", "pagewalk run <experiment> to measure again"),
    "claims page": ("pagewalk report for all results as one page",),
    "claims pages": ("pagewalk results --keep FOLDER keeps the results that they show",),
    "subjects": ("pagewalk subjects build linux-6.1-bare",),
    "subjects build": ("pagewalk exec --kernel linux-6.1-bare -- hello",),
    "boot": ("pagewalk exec -- PROG for what a program cost", "pagewalk gdb -- PROG to debug it"),
    "check": (
        "--set tlb.extreme.keep=until-flushed for a TLB that shows more errors",
        "-p POLICY=CHOICE for another policy",
    ),
    "resume": ("pagewalk profile --from SNAPSHOT", "pagewalk trace --from SNAPSHOT -o run.pftrace"),
    "profile": (
        "pagewalk see -- PROG for a flame graph and more",
        "pagewalk ab -p POLICY=A,B -- PROG for what a policy changes",
    ),
    "trace": ("pagewalk profile -- PROG for the cycles of each function",),
    "see": (
        "--misses N for more of them",
        "pagewalk watch --paused -- PROG to step in the terminal",
        "pagewalk trace --translation -o misses.json -- PROG for all misses, for scripts",
    ),
    "dump": (
        "--at CYCLE for another instant",
        "--region N for where a region of interest ends",
        "--json for all of the state",
    ),
    "gdb": ("pagewalk profile -- PROG for the cycles of each function",),
    "observe": ("pagewalk profile -- PROG for the cycles of each function", "docs/observers.md for a Python function"),
    "replay": ("-m MACHINE for another machine", "--pages 4M for larger pages"),
    "compare": ("pagewalk results lists the runs", "pagewalk ab -p POLICY=A,B -- PROG runs and compares"),
    "report": ("open the page in a browser", "pagewalk run osdi99-table2 adds a table to it"),
    "results": ("pagewalk compare RUN RUN", 'pagewalk results "SELECT * FROM cells"'),
    "tune vsid": ("pagewalk ab -p vsid=pid,VSID -- PROG tries one of them on your program",),
    "memories": ("pagewalk report",),
}
"""By the command's words. Each step is a command line, an option of the same command, or what to do."""


def quoted(words: Iterable[str]) -> str:
    """The words as a shell reads them, all of it printable: a byte or character that is not becomes $'\\...'."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(_escaped(letter) for letter in word) + "'"


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    # Three digits, so that a digit which follows is none of the number.
    return letter if letter.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
