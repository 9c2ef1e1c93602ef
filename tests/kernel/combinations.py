"""Runs attacks, races and tests of memory under random combinations of policies, from a seed.

The rows of `policies` hold each pair of choices, but few combinations. Each row here is a machine and a choice for
every policy, with the invariant checker.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from suite.catalog import all_groups
from suite.groups import user_tests

from kernel.policies import CHECKED, MACHINES, SEVERAL_MACHINES, Matrix, Row, declared, meant, only

# One processor of each kind, then several.
ON = (*MACHINES, *SEVERAL_MACHINES)

# Programs whose errors depend most on how translations are cached and on who runs when.
ATTACKS = ("race", "remap", "rights", "socket", "futex", "chain", "mapping", "memory", "pressure")
TESTS = ("cow", "exec", "ipc", "ipc_memory", "mmap", "pipe", "pipe_pages", "process", "thread", "thread_memory")


def rows_at_random(machines: tuple[str, ...], folder: Path, seed: int, count: int) -> list[Row]:
    """Row 1 has the defaults on the first machine; then `count` rows of random choices, on one machine after the other.

    The same seed, machines and kernel give the same rows.
    """
    probe = folder / "probe.cpio"
    probe.write_bytes(only(user_tests(), ()).packed([]))
    choices = declared()
    used = machines[: min(count, len(machines))]
    accepted = {machine: meant(machine, choices, probe) for machine in used}
    dice = random.Random(seed)
    rows = [Row(1, machines[0], {})]
    for number in range(count):
        machine = used[number % len(used)]
        drawn = {name: dice.choice(values) for name, values in accepted[machine].items()}
        rows.append(Row(number + 2, machine, drawn))
    return rows


def check(*, machines: list[str], seed: int, count: int) -> int:
    """Runs `count` rows from the seed on these machines (default: all); returns the number of failed rows."""
    with tempfile.TemporaryDirectory(prefix="pagewalk-combinations-") as name:
        folder = Path(name)
        rows = rows_at_random(tuple(machines) or ON, folder, seed, count)
        print(f"combinations: {count} rows from seed {seed}", flush=True)
        attacks, tests = only(all_groups()["hostile"](), ATTACKS), only(user_tests(), TESTS)
        return sum(Matrix(group, folder, CHECKED).run(rows, rows) for group in (attacks, tests))
