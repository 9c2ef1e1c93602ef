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
from suite.groups import all_groups, user_tests
from suite.model import Case, Group, read_transcript
from suite.places import BUILD, wanted

from kernel.runs import REFUSED_WORD, Boot, boot, side_by_side

# What stands for the number of a choice such as "scatter:<multiplier>".
NUMBERS = {"pages": "20", "multiplier": "897", "neighbours": "8"}

QUICK_MACHINES = ("ppc603-133", "ppc604-133")
MACHINES = (*QUICK_MACHINES, "ppc750-400")

# What depends most on translation, and takes little time.
QUICK_CASES = ("cow", "exec", "pipe", "process")

# The whole suite: what the invariant checker and the sanitizers get through in hours.
WHOLE_GROUPS = ("user", "busybox-glibc", "lua-glibc", "sqlite-glibc")
CHECKED = "check=on "

# In instructions: the longest that a boot with cases may take; in MB, what it needs.
CASES_LIMIT = 100_000_000_000
MEMORY = 64

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


def _judge(done: Boot, cases: list[Case], expected: dict[str, str]) -> list[str]:
    """What is wrong with a run; `expected` has the cases' output under the defaults, and is filled by the first run."""
    outcomes = read_transcript(done.console).outcomes
    wrong = []
    for case in cases:
        outcome = outcomes.get(case.name)
        if outcome is None or outcome.end != "status=0":
            wrong.append(f"{case.name}: {outcome.end if outcome else 'did not start'}")
        elif not case.alone and outcome.output != expected.setdefault(case.name, outcome.output):
            wrong.append(f"{case.name}: shows something else than under the defaults")
    if done.status != 0 or wrong:
        wrong.append(f"exit status {done.status}; the console ends with\n{done.console[-1500:]}")
    return wrong


def _run(group: Group, rows: list[tuple[str, str]], folder: Path) -> int:
    """Runs a group under rows of (machine, words), and says how each went; the number of runs that went wrong."""
    initramfs = folder / f"{group.name}-{len(group.cases)}.cpio"
    initramfs.write_bytes(group.packed(group.cases))
    names = ", ".join(case.name for case in group.cases)
    expected: dict[str, str] = {}

    def judged(row: tuple[str, str]) -> bool:
        machine, words = row
        done = boot(
            machine, initramfs, f"quiet {words} -- /bin/suite /etc/suite", instructions=CASES_LIMIT, memory=MEMORY
        )
        wrong = _judge(done, group.cases, expected)
        print("\n  ".join([f"{group.name}: {machine} {words}: {'FAILED' if wrong else 'same'}", *wrong]), flush=True)
        return not wrong

    print(f"policies: {group.name}: {names}; under the defaults, and under {len(rows)} others", flush=True)
    if not judged((rows[0][0], "")):
        return 1
    passed = sum(side_by_side(judged, rows))
    print(f"policies: {group.name}: {passed} of {len(rows)} runs pass", flush=True)
    return len(rows) - passed


def check(*, whole: bool, machines: list[str]) -> int:
    """Runs the matrix on these machines, the quick part of it or the whole; the number of failed runs."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pagewalk-policies-") as name:
        folder = Path(name)
        probe = folder / "probe.cpio"
        probe.write_bytes(only(user_tests(), ()).packed([]))
        choices = declared()
        pairs: list[tuple[str, str]] = []
        alone: list[tuple[str, str]] = []
        for machine in machines or (MACHINES if whole else QUICK_MACHINES):
            here = meant(machine, choices, probe)
            pairs += [(machine, row) for row in combinations(here)]
            alone += [(machine, row) for row in singles(here)]
        print(
            f"policies: {len(choices)}, choices: {sum(map(len, choices.values()))}, combinations: {len(pairs)}",
            flush=True,
        )
        if not whole:
            return _run(only(user_tests(), QUICK_CASES), pairs, folder)
        for group in WHOLE_GROUPS:
            failed += _run(all_groups()[group](), [(machine, CHECKED + row) for machine, row in alone + pairs], folder)
    return failed
