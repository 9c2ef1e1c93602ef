"""Good kernels under stress must be silent under the translation sanitizer, and not because it was blind.

    python -m linux.silent [--kernel NAME]...   ours and each Linux of `LINUX` that is built
    python -m linux.silent --storm SECONDS      lets tests/planted/storm.c change translations so long

Each run prints its fills, suspects, windows and undetermined uses. It fails if something was found, or if one in a
hundred suspects or more is undetermined. In each set-up an error that is put into that kernel must be found: one of
`kernel.planted` in ours, one of `planted.toml` in a Linux.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pagewalk import machines, subjects
from suite.places import BUILD, Missing, refuse_unknown, wanted

from kernel import planted as ours
from linux import planted
from linux.planted import Told

MOST_UNDETERMINED = 0.01
"""Of the suspects."""

_LITTLE_MEMORY = "0x2000000"
_OURS = ("thread_memory", "fork", "cow", "mmap", "memory")
"""The kernel's tests that change translations most, from tests/user."""

STORM = 1
"""Seconds of the machine's time that the storm lasts. On a faster machine than `CLOCK` it lasts as many cycles."""
CLOCK = 200_000_000
"""In Hz."""

_SEVERAL = ("p6-200x2", "p6-200x4", "ppc604-185x2", "ppc750-400x2", "ppc604-200x4")
_FORMS = ("queue", "short", "lazy", "generation")
OURS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("i486dx-50", ()),
    ("p6-200", ()),
    ("ppc603-133", ("tlb.flush=search",)),
    ("ppc603-133", ("tlb.flush=lazy",)),
    ("ppc604-133", ("tlb.flush=search",)),
    ("ppc604-133", ("tlb.flush=lazy", "tlb.cutoff=20")),
    ("mpc855t-48", ()),
    ("ppc405-200", ()),
    ("ppc970-1600", ()),
    *((machine, ()) for machine in _SEVERAL),
    *((machine, ("kernel.lock=fine", f"shootdown={form}")) for machine in _SEVERAL for form in _FORMS),
    ("ppc604-200x4", ("kernel.lock=fine", "shootdown=broadcast")),
)  # fmt: skip
"""The machines of our kernel, and its policies there."""

LINUX: tuple[tuple[str, str, str], ...] = (
    ("linux-6.1-i486-pc", "p6-200", "mprotect"),
    ("linux-6.1-i686-smp-pc-smp", "p6-200x2", "no-ipi"),
    ("linux-6.1-i686-smp-pc-smp", "p6-200x4", "no-ipi"),
    ("linux-6.1-small-mpc83xx", "ppc603-133", "mprotect-603"),
    ("linux-6.1-small-mpc83xx", "ppc604-133", "hash-left"),
    ("linux-6.1-bare-mpc8xx", "mpc855t-48", "roll-over"),
    ("linux-6.1-bare-ppc405gp", "ppc405-200", "mprotect-405"),
    ("linux-6.1-bare-mpc86xx-smp", "ppc604-185x2", "hash-tlbie-smp"),
    ("linux-6.1-riscv-virt", "u74-1500x4", "mprotect-riscv"),
)
"""Kernel, machine, and the error of planted.toml that is found there."""


@dataclass(frozen=True)
class SetUp:
    """A kernel on a machine, the programs that must be silent there, and the error that must be found."""

    name: str
    words: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...]
    error: tuple[str, ...]
    """The words of the command with the error in its kernel."""


def _of_tests(architecture: str, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    if architecture != "riscv":  # our kernel does not run there
        folder = BUILD / ("user-x86" if architecture == "i386" else "user") / "test"
        for name in names:
            yield (str(wanted(folder / name, "run make -C user")),)


def _storm(architecture: str, machine: str, seconds: int) -> tuple[str, ...]:
    milliseconds = seconds * 1000 * min(CLOCK, machines.find(machine).clock) // machines.find(machine).clock
    return (str(planted.program(architecture, "storm")), str(milliseconds))


def _ours(machine: str, policies: tuple[str, ...], seconds: int) -> SetUp:
    first = next(error for error in ours.ERRORS if error.name == "mprotect")
    error = ours.on(first, machine)
    words = ("ours", "-m", machine, *(word for policy in policies for word in ("-p", policy)))
    architecture = "i386" if error.is_x86 else "powerpc"
    # By this form others may use an unmapped page for a while (docs/kernel-smp.md), as this test's threads do.
    without = "thread_memory" if "shootdown=generation" in policies else ""
    return SetUp(
        f"ours on {machine} {' '.join(policies)}".strip(),
        words,
        (*_of_tests(architecture, [name for name in _OURS if name != without]), _storm(architecture, machine, seconds)),
        (*words, "--image", str(ours.built(error)), "--", *ours.program(error)),
    )


def _stress(architecture: str) -> Iterator[tuple[str, ...]]:
    """stress-ng, where the tree has built it."""
    program = BUILD / "programs" / "bin" / "glibc" / "stress-ng"
    if architecture == "powerpc" and program.is_file():
        for name, options in (("vm", ("--vm-bytes", "2m")), ("fork", ()), ("mmap", ("--mmap-bytes", "2m"))):
            yield (str(program), f"--{name}", "2", f"--{name}-ops", "20", "--timeout", "1s", "--no-rand-seed", *options)


def _linux(name: str, machine: str, error: str, seconds: int) -> SetUp:
    kernel = planted.kernel_of(name)
    folder = kernel.built()
    assert folder is not None, "it is built"
    architecture = kernel.platform.architecture
    stale = str(planted.program(architecture))
    one = next(known for known in planted.table() if known.name == error)
    rest: tuple[str, ...] = (
        "-m",
        machine,
        "--set",
        f"board.kind={kernel.platform.board}",
        "--append",
        " ".join(kernel.boot.words),
    )
    image = planted.built(one)
    pressure: tuple[tuple[str, ...], ...] = ()
    if architecture == "i386":  # these kernels have RAM disks, whose pages do not fit into this memory
        rest = (*rest, "--set", f"memory.size={_LITTLE_MEMORY}")
        pressure = ((stale, "pressure"),)
    return SetUp(
        f"{name} on {machine}",
        (str(folder / subjects.IMAGE), *rest),
        (*_of_tests(architecture, _OURS), *_stress(architecture), *pressure, _storm(architecture, machine, seconds)),
        (str(image), *rest, "--", stale, one.case),
    )


def _problem(told: Told) -> str | None:
    """What is wrong with a run that should be silent; None if nothing is."""
    if told.findings:
        return f"not silent: {told.findings[0]['text']}"
    if not told.counts["fills"]:
        return "blind"
    if told.counts["undetermined"] and told.counts["undetermined"] >= MOST_UNDETERMINED * told.counts["suspects"]:
        return "too many undetermined uses"
    return None


def _line(counts: dict[str, int], problem: str | None) -> str:
    suspects = counts["suspects"]
    share = 100 * counts["undetermined"] / suspects if suspects else 0
    told = ", ".join(f"{counts[name]:,} {name}" for name in ("fills", "suspects", "windows", "undetermined"))
    silent = "silent" if suspects else "silent, but nothing was suspect"
    return f"{told} ({share:.2f} %): {problem or silent}"


def silent(set_up: SetUp) -> int:
    """The number of failures in a set-up."""
    failed = 0
    for words in set_up.programs:
        told = planted.told([*set_up.words, "--", *words])
        problem = _problem(told)
        failed += problem is not None
        run = " ".join((Path(words[0]).name, *words[1:3]))
        print(f"silent: {set_up.name}: {run}: {_line(told.counts, problem)}", flush=True)
    found = planted.told(set_up.error).findings
    failed += not found
    print(f"silent: {set_up.name}: {'found' if found else 'did not find'} the error put in", flush=True)
    return failed


def _set_ups(kernels: Sequence[str], machines: Sequence[str], seconds: int) -> Iterator[SetUp]:
    refuse_unknown("kernel", kernels, ("ours", *(name for name, *_ in LINUX)))
    refuse_unknown("machine", machines, (*(machine for machine, _ in OURS), *(machine for _, machine, _ in LINUX)))
    for machine, policies in OURS:
        if (not kernels or "ours" in kernels) and (not machines or machine in machines):
            yield _ours(machine, policies, seconds)
    for name, machine, error in LINUX:
        if (kernels and name not in kernels) or (machines and machine not in machines):
            continue
        if subjects.find(name)[0].built() is None:
            print(
                f"silent: {name} is not built, and was left out: pagewalk subjects build {name}",
                flush=True,
            )
            continue
        yield _linux(name, machine, error, seconds)


def main() -> int:
    """Exit status 0 if all were silent and nothing was blind, 1 if not, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m linux.silent", description=__doc__)
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        help="ours, or a kernel of LINUX (default: all)",
    )
    parser.add_argument("--machine", action="append", default=[], help="only these machines")
    parser.add_argument(
        "--storm",
        type=int,
        default=STORM,
        help=f"seconds of the storm, on a machine of up to 200 MHz (default: {STORM})",
    )
    chosen = parser.parse_args()
    try:
        failures = [silent(set_up) for set_up in _set_ups(chosen.kernel, chosen.machine, chosen.storm)]
    except Missing as problem:
        print(f"silent: {problem}", file=sys.stderr)
        return 2
    print(f"silent: {len(failures)} set-ups, {sum(failures)} failures")
    return 1 if any(failures) or not failures else 0


if __name__ == "__main__":
    sys.exit(main())
