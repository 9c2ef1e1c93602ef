"""The user-level tests under every policy's every choice and under combinations that hold each pair of choices: what
they show must not depend on any of it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from allpairspy import AllPairs  # type: ignore[import-untyped]
from pagewalk import kernel_image
from pagewalk.initramfs import Initramfs
from suite.groups import user_tests
from suite.model import Group, read_transcript
from suite.places import BUILD, wanted

from kernel.runs import REFUSED_WORD, Boot, boot, side_by_side

# What stands for the number of a choice such as "scatter:<multiplier>".
NUMBERS = {"pages": "20", "multiplier": "897", "neighbours": "8"}

QUICK_MACHINES = ("ppc603-133", "ppc604-133")
MACHINES = (*QUICK_MACHINES, "ppc750-400")

# What depends most on translation, and takes little time.
QUICK_CASES = ("cow", "exec", "pipe", "process")
# What the invariant checker, which looks at every entry after each operation, gets through in time.
CHECKED_CASES = ("cow", "exec", "pipe")

# In instructions: the longest that a boot with cases may take.
CASES_LIMIT = 40_000_000_000

Choices = dict[str, list[str]]


def declared() -> Choices:
    """Every policy of the built kernel with its choices, the first being the default."""
    image = wanted(BUILD / "kernel" / "vmlinux", "run make kernel").read_bytes()
    return {policy.name: [_filled(choice) for choice in policy.choices] for policy in kernel_image.policies(image)}


def _filled(choice: str) -> str:
    return re.sub(r"<(\w+)>", lambda found: NUMBERS[found[1]], choice)


def meant(machine: str, choices: Choices, initramfs: Path) -> Choices:
    """The choices without those that the kernel refuses on this machine's processor."""
    singles = [(name, value) for name, values in choices.items() for value in values[1:]]
    boots = side_by_side(lambda one: boot(machine, initramfs, f"quiet {one[0]}={one[1]} -- /bin/hello"), singles)
    refused = {
        one for one, done in zip(singles, boots, strict=True)
        if done.status == REFUSED_WORD and "has no meaning on this processor" in done.console
    }  # fmt: skip
    return {name: [value for value in values if (name, value) not in refused] for name, values in choices.items()}


def combinations(choices: Choices) -> list[str]:
    """Command lines in which each pair of choices of two policies occurs, the defaults' first."""
    free = {name: values for name, values in choices.items() if len(values) > 1}
    return [
        " ".join(f"{name}={value}" for name, value in zip(free, row, strict=True))
        for row in AllPairs(list(free.values()))
    ]


def singles(choices: Choices) -> list[str]:
    """Command lines that leave one policy's default."""
    return [f"{name}={value}" for name, values in choices.items() for value in values[1:]]


def only(group: Group, names: tuple[str, ...]) -> Group:
    """The group with these cases, and without the programs of the others."""
    cases = [case for case in group.cases if case.name in names]
    kept = {case.command[0].lstrip("/") for case in cases}
    entries = {path: e for path, e in group.image.entries.items() if not path.startswith("test/") or path in kept}
    return Group(group.name, group.program, Initramfs(entries), cases)


def _judge(done: Boot, cases: list[str], expected: dict[str, str]) -> list[str]:
    """What is wrong with a run; `expected` has the cases' output under the defaults, and is filled by the first run."""
    outcomes = read_transcript(done.console).outcomes
    wrong = []
    for name in cases:
        outcome = outcomes.get(name)
        if outcome is None or outcome.end != "status=0":
            wrong.append(f"{name}: {outcome.end if outcome else 'did not start'}")
        elif outcome.output != expected.setdefault(name, outcome.output):
            wrong.append(f"{name}: shows something else than under the defaults")
    if done.status != 0 or wrong:
        wrong.append(f"exit status {done.status}; the console ends with\n{done.console[-1500:]}")
    return wrong


def _run(group: Group, rows: list[tuple[str, str]], folder: Path) -> int:
    """Runs a group under rows of (machine, words); prints what went wrong; the number of runs that did."""
    initramfs = folder / f"{len(group.cases)}.cpio"
    initramfs.write_bytes(group.packed(group.cases))
    names = [case.name for case in group.cases]
    expected: dict[str, str] = {}
    first = boot(rows[0][0], initramfs, "quiet -- /bin/suite /etc/suite", instructions=CASES_LIMIT)
    bad = _judge(first, names, expected)
    if bad:
        print("under the defaults:", *bad, sep="\n  ")
        return 1

    def judged(row: tuple[str, str]) -> bool:
        machine, words = row
        done = boot(machine, initramfs, f"quiet {words} -- /bin/suite /etc/suite", instructions=CASES_LIMIT)
        wrong = _judge(done, names, expected)
        if wrong:
            print(f"{machine} {words}:", *wrong, sep="\n  ", flush=True)
        return not wrong

    passed = sum(side_by_side(judged, rows))
    print(f"policies: {', '.join(names)}: {passed} of {len(rows)} runs pass", flush=True)
    return len(rows) - passed


def check(*, whole: bool) -> int:
    """Runs the matrix, the quick part of it or the whole; the number of failed runs."""
    group = user_tests()
    group.cases = [case for case in group.cases if not case.alone]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pagewalk-policies-") as name:
        folder = Path(name)
        probe = folder / "probe.cpio"
        probe.write_bytes(only(group, ()).packed([]))
        choices = declared()
        pairs: list[tuple[str, str]] = []
        alone: list[tuple[str, str]] = []
        for machine in MACHINES if whole else QUICK_MACHINES:
            here = meant(machine, choices, probe)
            rows = combinations(here)
            pairs += [(machine, row) for row in rows]
            alone += [(machine, row) for row in ["", *singles(here)]]
        print(
            f"policies: {len(choices)}, choices: {sum(map(len, choices.values()))}, combinations: {len(pairs)}",
            flush=True,
        )
        failed += _run(only(group, QUICK_CASES), pairs, folder)
        if whole:
            failed += _run(only(group, CHECKED_CASES), [(machine, f"check=on {row}") for machine, row in pairs], folder)
            failed += _run(group, alone + pairs, folder)
    return failed
