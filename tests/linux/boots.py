"""Which Linux boots on which RISC-V machine, with how many processors: `python -m linux.boots`, after `make riscv`.

Each runs hello with and without the machine's shortcuts (--oracle), and all counters must be equal. Prints a table.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("PAGEWALK_ARCH", "riscv")

from pagewalk.guest import Program
from suite.places import USER, Missing, wanted

from linux.runs import ran

KERNELS = (
    "linux-6.1-riscv",
    "linux-6.1-riscv-bare",
    "linux-6.1-riscv-default",
    "linux-6.12-riscv",
    "linux-6.12-riscv-bare",
    "linux-6.12-riscv-default",
)
MACHINES = {"u74-1500": (1,), "c906-1000": (1,), "c910-1850x4": (1, 2, 3, 4), "u74-1500x4": (1, 2, 3, 4)}


def boots(kernel: str, machine: str, processors: int) -> str:
    """What a cell of the table says: the kernel ran the program, with the same counts twice, or what went wrong."""
    program = Program(wanted(USER / "hello", "run make riscv"), ())
    keys = {"processors": str(processors)}
    try:
        fast, slow = (
            ran(kernel, machine, program, b"hello", keys=keys, oracle=oracle).counters() for oracle in (False, True)
        )
    except Missing as error:
        return str(error).partition("\n")[0]
    differ = [name for name in {*fast, *slow} if fast.get(name) != slow.get(name)]
    return "yes" if not differ else f"the oracle counts {', '.join(sorted(differ)[:3])} differently"


def main() -> int:
    """Exit status 0 if every kernel boots on every machine, else 1."""
    parser = argparse.ArgumentParser(prog="python -m linux.boots", description=__doc__)
    parser.add_argument("--most", type=int, default=8, help="leave out rows with more processors")
    parser.add_argument("--kernel", action="append", choices=KERNELS, help="only this column; may be given again")
    chosen = parser.parse_args()
    most, kernels = chosen.most, chosen.kernel or KERNELS
    print(f"| machine | processors | {' | '.join(kernels)} |\n| --- | --- |{' --- |' * len(kernels)}")
    good = True
    for machine, counts in MACHINES.items():
        for processors in (count for count in counts if count <= most):
            cells = [boots(kernel, machine, processors) for kernel in kernels]
            print(f"| `{machine}` | {processors} | {' | '.join(cells)} |", flush=True)
            good &= set(cells) == {"yes"}
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
