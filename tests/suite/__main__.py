"""The suite as a command: runs groups on targets, and prints programs, cases, passes and differences."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pagewalk.errors import PagewalkError

from suite import reference, targets
from suite.catalog import ON_REQUEST, all_groups, is_long
from suite.groups import programs
from suite.model import Group, Transcript, Verdict, judge
from suite.places import ARCH, Missing


def main() -> int:
    """Exit status 0 if every case passed, 1 if one failed, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m suite", description=__doc__)
    parser.add_argument(
        "--group",
        action="append",
        choices=list(all_groups()),
        help=f"default: all but {', '.join(ON_REQUEST)}",
    )
    parser.add_argument(
        "--built", type=Path, metavar="FOLDER", help="built programs that are not part of the checkout: stress-ng"
    )
    parser.add_argument("--programs", type=Path, help="instead of groups: every static program below this folder")
    parser.add_argument("--machine", action="append", default=[], help=f"a file of machines/ (default: {ARCH.machine})")
    parser.add_argument(
        "--qemu",
        action="append",
        default=[],
        metavar="CPU",
        help="QEMU's 40p: 603e, 604 or 750; its PC: 486, pentium, ..., with two processors pentium2x2",
    )
    parser.add_argument(
        "--kernel", metavar="SUBJECT", help="Linux instead of our kernel (pagewalk subjects), such as linux-6.1-bare"
    )
    parser.add_argument("--options", default="", help="words for the kernel's command line, such as check=on")
    parser.add_argument("--sanitize", default="", help="of the machine: translation, reuse, fetch, or all")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="changes a key of the machine files"
    )
    parser.add_argument("--case", action="append", help="only cases of this name")
    parser.add_argument("--reference", action="store_true", help="show the reference's transcripts only")
    chosen = parser.parse_args()
    flags = tuple(word for change in chosen.set for word in ("--set", change))
    flags += ("--sanitize", chosen.sanitize) if chosen.sanitize else ()
    machines = chosen.machine or ([] if chosen.qemu else [ARCH.machine])
    try:
        where: list[targets.Target] = [
            targets.linux(chosen.kernel, name, chosen.options, flags)
            if chosen.kernel
            else targets.MachineTarget(name, chosen.options, flags)
            for name in machines
        ]
    except (Missing, PagewalkError) as error:
        print(f"suite: {error}", file=sys.stderr)
        return 2
    where += [targets.QemuTarget(cpu, chosen.options) for cpu in chosen.qemu]

    verdicts: list[Verdict] = []
    try:
        for group in programs(chosen.programs) if chosen.programs else named(chosen.group, chosen.built):
            if chosen.case:
                group.cases = [case for case in group.cases if case.name in chosen.case]
            compared = [case for case in group.cases if not case.alone]
            expected = reference.run(group, compared) if compared else Transcript({}, "")
            if chosen.reference:
                show(group, expected)
                continue
            for target in where:
                explained = on_linux(group, target.machine) if isinstance(target, targets.LinuxTarget) else {}
                judged = replace(group, cases=[case for case in group.cases if explained.get(case.name) != SKIPPED])
                verdict = judge(judged, target.name, targets.run(target, judged), expected)
                report(verdict, explained)
                verdict.failures = {name: said for name, said in verdict.failures.items() if name not in explained}
                verdicts.append(verdict)
    except Missing as error:
        print(f"suite: {error}", file=sys.stderr)
        return 2
    return 1 if any(verdict.failures for verdict in verdicts) else 0


def named(names: list[str] | None, built: Path | None) -> Iterator[Group]:
    """The groups of these names, or all that do not run on request only; each is made when it is needed."""
    groups = all_groups(built)
    return (groups[name]() for name in names or [name for name in groups if not is_long(name)])


SKIPPED = ""
"""Stands for the reason of a case that is not run."""


def on_linux(group: Group, machine: str) -> dict[str, str]:
    """Why cases of our own tests differ on Linux on this machine, by their names (linux.toml).

    SKIPPED for those that do not run."""
    if group.name not in ("user", "waits"):
        return {}
    table = tomllib.loads((Path(__file__).with_name("linux.toml")).read_text(encoding="utf-8"))
    return {
        name: entry["why"] if entry.get("runs", True) else SKIPPED
        for name, entry in table.items()
        if machine in entry.get("machines", [machine])
    }


def show(group: Group, transcript: Transcript) -> None:
    """Prints the result of every case of a group on Linux."""
    for case in group.cases:
        outcome = transcript.outcomes.get(case.name)
        if outcome is not None:
            print(f"== {group.name} {case.name}: {outcome.end}\n{outcome.output}", end="")


def report(verdict: Verdict, explained: Mapping[str, str]) -> None:
    """Prints one line for a group on a target, and a paragraph for each case that failed, or its reason."""
    print(f"{verdict.group.program}, on {verdict.target}: {verdict.passed} of {len(verdict.group.cases)} cases pass")
    for name, difference in verdict.failures.items():
        if name in explained:
            print(f"  {name} differs, as is known: {explained[name]}")
            continue
        print(f"  {name}:")
        print("".join(f"    {line}\n" for line in difference.splitlines()), end="")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
