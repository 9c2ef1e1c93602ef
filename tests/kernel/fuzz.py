"""Repeats a run of the fuzzer (tests/fuzz) from its seed: the same calls must come in the same order and take the same
cycles. A shorter run must be the beginning of a longer one, so that a failing case can be shortened.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from kernel.runs import boot, packed, side_by_side

MACHINES = ("ppc603-133", "ppc604-133")
SEED = 11
CALLS = 1000
SHORTENED = 400
# The number of calls in the fuzzer's two warm-up rounds.
WARMING = 2000


def _trace(console: str) -> list[str]:
    """The lines that show calls: a process's number, the call's name and its arguments."""
    return [line for line in console.splitlines() if line[:1].isdigit() and line.endswith(")")]


def check() -> int:
    """Returns the number of machines on which the repeated run or the shortened run differed."""
    failed = 0
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/fuzz": "fuzz"}))
        file.flush()
        # Always use four digits: a command line of another length would move the program's stack and change the run.
        rows = [(machine, calls) for machine in MACHINES for calls in (CALLS, CALLS, SHORTENED)]
        done = side_by_side(
            lambda row: boot(
                row[0], Path(file.name), f"quiet -- /bin/fuzz seed={SEED} calls={row[1]:04} trace=1", (), counted=True
            ),
            rows,
        )
    for n, machine in enumerate(MACHINES):
        first, again, short = done[3 * n : 3 * n + 3]
        calls, beginning = _trace(first.console), _trace(short.console)
        wrong = [f"exit status {run.status}: {run.console[-1500:]}" for run in (first, short) if run.status != 0]
        if (again.status, again.console, again.counters) != (first.status, first.console, first.counters):
            wrong.append("a second run with the same seed differs")
        # Until its goal both runs must be the same. The shortened run tells how many calls it made after the warm-up. A
        # worker can close its trace, and some calls then have no line: so the goal lies at this line or later.
        made = re.search(r"^fuzz: seed \d+, (\d+) calls, ", short.console, re.MULTILINE)
        same = len(beginning) - int(made[1]) + SHORTENED if made else 0
        if same <= WARMING or beginning[:same] != calls[:same]:
            wrong.append("the shortened run has another beginning")
        print(f"fuzz {machine}: {len(calls)} calls, {len(beginning)} of a shortened run: ", end="")
        print("\n  ".join(wrong) if wrong else "repeated to the cycle")
        failed += bool(wrong)
    return failed
