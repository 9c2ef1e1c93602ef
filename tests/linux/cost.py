"""What the translation sanitizer costs: each program runs without it and with it, in turn.

    python -m linux.cost [--machine NAME]... [--runs N]

A line says what a run without it took of the host's processor, and the ratio: the median of the pairs' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pagewalk import guest, native, subjects
from pagewalk.guest import Program
from pagewalk.programs import GuestFile
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.workshop import Workshop
from suite.places import BUILD, Missing, refuse_unknown, wanted

RUNS = 3

_SHELL = "n=0; while [ $n -lt 12 ]; do /bin/busybox ls /bin | /bin/busybox wc; n=$((n+1)); done"
_ROWS = "with recursive n(i) as (select 1 union all select i+1 from n where i<6000)"
_QUERY = (
    f"create table t(a,b); {_ROWS} insert into t select i, i*i%977 from n; "
    "select b,count(*),sum(a) from t group by b limit 3;"
)
_FUNCTION = (
    "int f%d(int a, int *b) { int i, s = a; "
    "for (i = 0; i < %d; i++) { s += b[i] * (a - i); if (s & 8) s ^= i; } return s; }\n"
)

OURS = ("i486dx-50", "p6-200", "p6-200x2", "ppc603-133", "ppc604-133", "mpc855t-48", "ppc405-200", "ppc970-1600")
LINUX = (
    ("linux-6.1-i486-pc", "i486dx-50"),
    ("linux-6.1-i486-pc", "p6-200"),
    ("linux-6.1-i686-smp-pc-smp", "p6-200x2"),
    ("linux-6.1-small-mpc83xx", "ppc603-133"),
    ("linux-6.1-small-mpc83xx", "ppc604-133"),
    ("linux-6.1-bare-mpc8xx", "mpc855t-48"),
)


@dataclass(frozen=True)
class Case:
    """A program on a kernel on a machine."""

    kernel: str | None
    machine: str
    name: str
    program: Program

    def seconds(self, *, sanitizer: bool) -> float:
        """What one run takes of the host's processor, from reset on."""
        keys = {}
        if self.kernel is not None:
            keys = {"board.kind": subjects.find(self.kernel)[0].platform.board}
        workshop = Workshop(native.NativeRunner())
        job = guest.job(workshop, self.machine, self.program, overrides=keys, settings={}, kernel=self.kernel)
        loaded = native.load(job)
        if sanitizer:
            loaded.sanitize("translation")
        begin = time.process_time()
        stop = native.go(loaded, DEFAULT_INSTRUCTIONS, lambda _: True)
        seconds = time.process_time() - begin
        if stop.kind != "power-off" or stop.status:
            raise Missing(f"{self.name} on {self.machine}: {stop.reason}: {loaded.printed()[-500:]!r}")
        return seconds


def _programs(machine: str, scratch: Path) -> Iterator[tuple[str, Program]]:
    if machine.startswith(("p6", "i486")):
        for name in ("sh", "fork"):
            yield name, Program(wanted(BUILD / "user-x86" / "bench" / name, "run make x86"), ("iterations=30",))
        return
    tools = BUILD / "programs" / "bin"
    source = scratch / "many.c"
    source.write_text("".join(_FUNCTION % (n, n) for n in range(600)))
    yield "shell", Program(wanted(tools / "busybox", "run make programs"), ("sh", "-c", _SHELL))
    yield (
        "compile",
        Program(
            wanted(tools / "i386-tcc", "run make programs"),
            ("-nostdinc", "-c", "-o", "/tmp/many.o", "/many.c"),
            (GuestFile(source, "/many.c"),),
        ),
    )
    if not machine.startswith(("mpc", "ppc405")):  # these have no floating point
        yield "database", Program(wanted(tools / "sqlite3", "run make programs"), ("/tmp/db", _QUERY))


def _cases(machines: list[str], scratch: Path) -> Iterator[Case]:
    refuse_unknown("machine", machines, (*OURS, *(machine for _, machine in LINUX)))
    for machine in OURS:
        if not machines or machine in machines:
            for name, program in _programs(machine, scratch):
                yield Case(None, machine, name, program)
    for kernel, machine in LINUX:
        if machines and machine not in machines:
            continue
        if subjects.find(kernel)[0].built() is None:
            print(f"cost: {kernel} is not built, and was left out: pagewalk subjects build {kernel}", flush=True)
            continue
        folder = "user-x86" if machine.startswith(("p6", "i486")) else "user"
        hello = wanted(BUILD / folder / "hello", "run make -C user")
        yield Case(kernel, machine, "boot", Program(hello, ()))


def main() -> int:
    """Exit status 0, or 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m linux.cost", description=__doc__)
    parser.add_argument("--machine", action="append", default=[], help="only these machines")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"pairs of each program (default: {RUNS})")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for case in _cases(chosen.machine, Path(scratch)):
                pairs = [(case.seconds(sanitizer=False), case.seconds(sanitizer=True)) for _ in range(chosen.runs)]
                ratio = statistics.median(on / off for off, on in pairs)
                off = statistics.median(off for off, _ in pairs)
                where = f"{case.kernel or 'ours'} on {case.machine}"
                print(f"cost: {where}: {case.name}: {off:.2f} s, with the sanitizer {ratio:.2f} times", flush=True)
        except Missing as problem:
            print(f"cost: {problem}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
