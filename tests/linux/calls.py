"""The same generated calls on Linux and on our kernel (tests/calltable), on the same machine, line by line.

Each case prints a line with its memory or files, its calls, what they returned, and what memory holds then. A line that
differs must be one that calls.toml knows, with the reason.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pagewalk.guest import Program
from suite.places import ARCH, USER, Missing, wanted

from linux.runs import ran

KNOWN = Path(__file__).with_name("calls.toml")
_CASE = re.compile(r"^(\w+) (\d+): ")


@dataclass(frozen=True)
class Difference:
    """A difference that is known: what Linux's line has, of which groups, and why it differs."""

    groups: tuple[str, ...]
    linux: re.Pattern[str]
    why: str

    def explains(self, group: str, line: str) -> bool:
        """Whether it is the difference of this line of Linux."""
        return group in self.groups and self.linux.search(line) is not None


def known_differences() -> list[Difference]:
    """Those of calls.toml that concern the architecture."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    suffix = ARCH.suffix.lstrip("-") or "ppc"
    return [
        Difference(tuple(entry["groups"]), re.compile(entry["linux"]), entry["why"])
        for entry in table["difference"]
        if suffix in entry.get("architectures", [suffix])
    ]


def lines(kernel: str | None, machine: str, cases: int) -> dict[str, str]:
    """The line of each case by its group and number, on a subject or (None) on our kernel."""
    program = Program(wanted(USER / "calltable", "run make -C user"), (f"cases={cases}",))
    printed = ran(kernel, machine, program, b"calltable: end").printed().decode(errors="replace")
    return {match[0]: line for line in printed.splitlines() if (match := _CASE.match(line))}


def compare_calls(subject: str, machine: str, cases: int) -> int:
    """Prints each line that differs without a known reason, and a summary; returns how many there are."""
    theirs, ours = lines(subject, machine, cases), lines(None, machine, cases)
    if theirs.keys() != ours.keys():
        raise Missing(f"{subject} on {machine}: {len(theirs)} cases on Linux, {len(ours)} on our kernel")
    known = known_differences()
    wrong = explained = 0
    for case, line in theirs.items():
        if line == ours[case]:
            continue
        if any(one.explains(case.split()[0], line) for one in known):
            explained += 1
            continue
        wrong += 1
        print(f"{subject} on {machine}:\n  Linux {line}\n  ours  {ours[case]}")
    print(
        f"{subject} on {machine}: {len(theirs)} cases of calls, {explained} differ as is known (linux/calls.toml), "
        f"{wrong} otherwise"
    )
    return wrong
