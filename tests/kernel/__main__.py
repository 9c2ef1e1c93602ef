"""Tests of the kernel as a command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from suite.places import Missing

from kernel import (
    boot,
    calls,
    causes,
    checker,
    columns,
    combinations,
    contexts,
    dialect,
    failalloc,
    forms,
    fuzz,
    images,
    includes,
    missing,
    names,
    planted,
    policies,
    port,
    replaced,
    text,
    trees,
)

SUBJECTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "boot": lambda chosen: boot.check(update=chosen.update),
    "calls": lambda _: calls.check(),
    "causes": lambda _: causes.check(),
    "checker": lambda _: checker.check(),
    "columns": lambda _: columns.check(),
    "combinations": lambda chosen: combinations.check(machines=chosen.machine, seed=chosen.seed, count=chosen.count),
    "contexts": lambda _: contexts.check(),
    "dialect": lambda _: dialect.check(),
    "failalloc": lambda chosen: failalloc.check(whole=chosen.whole, machines=chosen.machine),
    "forms": lambda _: forms.check(),
    "fuzz": lambda _: fuzz.check(),
    "images": lambda _: images.check(),
    "includes": lambda _: includes.check(),
    "missing": lambda _: missing.check(),
    "names": lambda _: names.check(),
    "planted": lambda chosen: planted.check(chosen.error, chosen.machine),
    "policies": lambda chosen: policies.check(whole=chosen.whole, machines=chosen.machine, chosen=chosen.rows),
    "port": lambda _: port.check(),
    "replaced": lambda _: replaced.check(),
    "text": lambda chosen: text.check(whole=chosen.whole),
    "trees": lambda _: trees.check(),
}
"""Each returns the number of failures."""

ON_REQUEST = frozenset({"combinations", "planted"})
"""Those that run only if they are named."""


def main() -> int:
    """Exit status 0 if all tests passed, 1 if one failed, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m kernel", description=__doc__)
    parser.add_argument(
        "subject",
        nargs="*",
        metavar="subject",
        help=f"{', '.join(SUBJECTS)} (default: all but {', '.join(ON_REQUEST)})",
    )
    parser.add_argument(
        "--whole", action="store_true", help="all machines, groups and cases: takes most of an hour instead of minutes"
    )
    parser.add_argument(
        "--rows", type=_numbers, default=set(), help="run only these rows of the policies' matrix, such as 5-12 or 3,7"
    )
    parser.add_argument("--machine", action="append", default=[], help="machines for policies, failalloc and planted")
    parser.add_argument("--error", action="append", default=[], help="only these errors of planted")
    parser.add_argument("--seed", type=int, default=1, help="of the random combinations of policies")
    parser.add_argument("--count", type=int, default=9, help="how many random combinations")
    parser.add_argument("--update", action="store_true", help="record the measured cycles of a boot")
    chosen = parser.parse_args()
    unknown = set(chosen.subject) - set(SUBJECTS)
    if unknown:
        parser.error(f"no such subject: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    subjects = chosen.subject or SUBJECTS.keys() - ON_REQUEST
    try:
        failed = sum(check(chosen) for subject, check in SUBJECTS.items() if subject in subjects)
    except Missing as error:
        print(f"kernel: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


def _numbers(text: str) -> set[int]:
    """The numbers in a list such as "3,5-7"."""
    ends = [(part.split("-")[0], part.split("-")[-1]) for part in text.split(",")]
    return {number for first, last in ends for number in range(int(first), int(last) + 1)}


if __name__ == "__main__":
    sys.exit(main())
