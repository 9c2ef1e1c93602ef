"""Boots the smallest Linux, runs a program on it, and compares exact counts with those on record (counts*.toml).

On PowerPC, a second run starts a program from a RAM disk, and an experiment is given the kernel as an image. With
PAGEWALK_ARCH=x86 the kernels for i486 and P6 are booted, and a shell says how many processors it sees; with
PAGEWALK_ARCH=riscv those for RISC-V, with and without extensions, a disk and perf's counters. Kernels are built first
if they are not there. `--record` writes the counts of this run instead.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pagewalk import guest, images, native, subjects, systems
from pagewalk.guest import Program
from pagewalk.placement import Placement
from pagewalk.programs import GuestFile
from pagewalk.rows import parse_rows
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.workshop import Workshop
from suite.places import ARCH, ARCHES, BUILD, ROOT, USER, Missing, wanted

from linux import riscv
from linux.calls import compare_calls
from linux.runs import ran

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Booted:
    """A subject, the machines that it is booted on, and where its counts are on record."""

    subject: str
    machines: tuple[str, ...]
    record: Path


SMALL = Booted("linux-6.1-small", ("ppc603-133", "ppc604-133", "ppc750-400"), HERE / "counts.toml")
X86 = (
    Booted("linux-6.1-i486", ("i486dx-50", "p6-200"), HERE / "counts-i486.toml"),
    Booted("linux-6.1-i686-smp", ("p6-200x2", "p6-200x4"), HERE / "counts-i686-smp.toml"),
)
RISCV = (
    Booted("linux-6.12-riscv", ("u74-1500", "u74-1500x4"), HERE / "counts-6.12-riscv.toml"),
    Booted("linux-6.1-riscv", ("c906-1000", "u74-1500"), HERE / "counts-6.1-riscv.toml"),
)
EXPERIMENT = HERE / "image.toml"
_COUNTERS = ("cycles", "instructions", "tlb.instruction.miss", "tlb.data.miss", "cache.instruction.miss")


def run(subject: str, machine: str) -> dict[str, int]:
    """Counts of a whole run of hello, and of the program alone."""
    loaded = ran(subject, machine, Program(wanted(USER / "hello", "run make -C user"), ()), b"hello")
    whole, alone = loaded.counters(), guest.program_counters(loaded.regions(), {})
    return {
        **{name: whole[name] for name in _COUNTERS},
        **{f"program.{name}": alone[name] for name in _COUNTERS},
    }


_ARGUMENTS = ('BEGIN { print "a b" }', "", "--", "a\\b", os.fsdecode(bytes(range(1, 256))), "nokaslr", "panic=0")
_SHOWN = "".join(f"{os.fsencode(word).hex()}.\r\n" for word in _ARGUMENTS).encode()


def run_with_arguments(subject: str, machine: str) -> None:
    """Hands any bytes to a program, with words before it that Linux does not know."""
    program = Program(wanted(USER / "arguments", "run make -C user"), _ARGUMENTS)
    ran(subject, machine, program, b"init: ready\r\n" + _SHOWN, {"nokaslr": "", "unknown.word": "1", "other": "/bin/x"})


def run_shell(subject: str, machine: str) -> None:
    """Has a shell say how many processors Linux sees, and that each has had interrupts of its timer."""
    busybox = wanted(
        BUILD / f"programs{ARCH.suffix}" / "bin" / "busybox", "run PROGRAMS_ARCH=x86 tests/programs/build.sh"
    )
    script = GuestFile(HERE / "processors.sh", "/processors.sh")
    processors = subjects.needs(machine, Workshop(native.NativeRunner()).machine(machine).config, None).processors
    said = f"processors: {processors}, with a timer: {processors}".encode()
    ran(subject, machine, Program(busybox, ("sh", "/processors.sh"), (script,)), said)


def _small_from_disk(machine: str) -> tuple[Workshop, systems.System]:
    """The smallest Linux with a RAM disk as root."""
    kernel = subjects.find(SMALL.subject)[0]
    folder = kernel.built()
    assert folder is not None, "it is built"
    workshop, board = Workshop(native.NativeRunner()), {"board.kind": kernel.platform.board}
    return workshop, systems.from_image(workshop, machine, board, images.read(folder / subjects.IMAGE), root="ext2")


def run_arguments_from_disk(machine: str) -> None:
    """As `run_with_arguments`, by the init of old kernels."""
    _, system = _small_from_disk(machine)
    command = ["/bin/arguments", *_ARGUMENTS]
    files = system.files([GuestFile(wanted(USER / "arguments", "run make -C user"), command[0])], command)
    loaded = native.load(system.job(files, system.command_line({}, command)))
    stop = native.go(loaded, DEFAULT_INSTRUCTIONS, lambda _: True)
    if stop.kind != "power-off" or stop.status or b"init: ready\r\n" + _SHOWN not in loaded.printed():
        raise Missing(f"arguments from a RAM disk on {machine}: {stop.kind}: {stop.reason}\n{loaded.printed()!r}")


def run_from_disk(machine: str) -> None:
    """Runs a program from a RAM disk, as kernels without an initial RAM file system do, with two placements.

    Missing if a run fails, or if the second placement moves nothing that a cache could tell.
    """
    workshop, system = _small_from_disk(machine)
    command, cycles = ["/bin/exec", "iterations=3"], set()
    for seed in range(2):
        place = Placement.of_seed(seed)
        run = [workshop.old_program(name, place) for name in ("exec", "hello")]
        loaded = native.load(system.job(system.files(run, command, placement=place), system.command_line({}, command)))
        stop = native.go(loaded, DEFAULT_INSTRUCTIONS, lambda _: True)
        rows, region = [row.name for row in parse_rows(loaded.printed())], loaded.regions().get(1)
        if stop.kind != "power-off" or stop.status or rows != ["exec"] or not region:
            raise Missing(
                f"{SMALL.subject} from a RAM disk on {machine}: {stop.kind}: {stop.reason}\n{loaded.printed()!r}"
            )
        cycles.add(region["cycles"])
    if len(cycles) < 2:
        raise Missing(f"{SMALL.subject} from a RAM disk on {machine}: a seed moves nothing")


def run_as_image() -> None:
    """Runs an experiment whose user names the kernel's image, as with the papers' own kernels. Missing if it fails."""
    kernel = subjects.find(SMALL.subject)[0]
    folder = kernel.built()
    assert folder is not None, "it is built"
    words = [str(ROOT / ".venv" / "bin" / "pagewalk"), "run", str(EXPERIMENT)]
    for role in ("bats", "nobats"):
        words += ["--image", f"{role}={folder / subjects.IMAGE}", "--image-config", f"{role}={folder / 'config'}"]
    with tempfile.TemporaryDirectory() as name:
        results = {"PAGEWALK_RESULTS": str(Path(name) / "results.duckdb")}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **results})
    if done.returncode:
        raise Missing(f"{EXPERIMENT.name} with {SMALL.subject}: status {done.returncode}\n{done.stdout}{done.stderr}")


def write(booted: Booted, counts: Mapping[str, Mapping[str, int]], record: subjects.Record) -> None:
    """Puts counts on record, with the kernel that they are of."""
    lines = [f"# What a run of hello costs on {booted.subject}: written by `python -m linux --record`.", ""]
    lines += [
        f'{name} = "{value}"' for name, value in record.model_dump(include={"version", "compiler", "sha256"}).items()
    ]
    for machine, found in counts.items():
        lines += ["", f"[{machine}]", *(f'"{name}" = {count}' for name, count in found.items())]
    booted.record.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare(booted: Booted, counts: Mapping[str, Mapping[str, int]], record: subjects.Record) -> int:
    """Prints what differs; returns the number of differences."""
    known = tomllib.loads(wanted(booted.record, "run python -m linux --record").read_text(encoding="utf-8"))
    if record.sha256 != known["sha256"]:
        print(
            f"{booted.subject} is not the kernel on record: {record.version} by gcc {record.compiler}, SHA-256 "
            f"{record.sha256[:12]}; on record {known['version']} by gcc {known['compiler']}, {known['sha256'][:12]}"
        )
        return 1
    wrong = 0
    for machine, found in counts.items():
        for name, count in found.items():
            if count != known[machine][name]:
                wrong += 1
                print(f"{machine}: {name}: {count:,}, on record {known[machine][name]:,}")
    return wrong


def _counts(booted: Booted, *, record: bool) -> int:
    """Counts the runs of a subject and compares them, or puts them on record; the number of differences."""
    built = subjects.find(booted.subject)[0].record()
    assert built is not None, "it is built"
    counts = {machine: run(booted.subject, machine) for machine in booted.machines}
    if record:
        write(booted, counts, built)
        return 0
    wrong = compare(booted, counts, built)
    number = len(counts) * 2 * len(_COUNTERS)
    print(f"{booted.subject}: {number} counts on {len(counts)} machines, {wrong} not as on record")
    return wrong


def _fitting(booted: Booted) -> str:
    """The name of the one kernel of the subject that its first machine runs."""
    machine = booted.machines[0]
    config = Workshop(native.NativeRunner()).machine(machine).config
    return subjects.choose(booted.subject, subjects.needs(machine, config, None)).name


# Of each group of calls. The first machine of each kernel is enough: what they return does not depend on the processor.
_FEW_CASES = 30


def _calls(booted: tuple[Booted, ...], cases: int) -> int:
    """Compares generated calls on each subject with our kernel; the number of cases that differ without a reason."""
    return sum(compare_calls(one.subject, one.machines[0], cases) for one in booted)


def main() -> int:
    """Exit status 0 if all counts are those on record, 1 if not, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m linux", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the counts of this run to counts*.toml")
    parser.add_argument(
        "--calls", type=int, metavar="N", help="only compare calls, N generated cases of each group, on each kernel"
    )
    parser.add_argument("--kernel", help="a subject instead of those that the tests boot, with --machine")
    parser.add_argument("--machine", help="the machine for --kernel")
    chosen = parser.parse_args()
    is_x86, is_riscv = ARCH is ARCHES["x86"], ARCH is ARCHES["riscv"]
    if bool(chosen.kernel) != bool(chosen.machine) or (chosen.kernel and not chosen.calls):
        parser.error("--kernel and --machine belong together, and to --calls")
    booted = X86 if is_x86 else RISCV if is_riscv else (SMALL,)
    if chosen.kernel:
        booted = (Booted(chosen.kernel, (chosen.machine,), HERE),)
    names = [_fitting(one) for one in booted]
    if subprocess.run([str(ROOT / ".venv" / "bin" / "pagewalk"), "subjects", "build", *names], check=False).returncode:
        return 2
    try:
        if chosen.calls:
            return 1 if _calls(booted, chosen.calls) else 0
        if is_x86:
            for one in booted:
                for machine in one.machines:
                    run_shell(one.subject, machine)
                run_with_arguments(one.subject, one.machines[0])
        elif is_riscv:
            riscv.check(booted[0].subject, booted[0].machines[0])
        else:
            run_with_arguments(SMALL.subject, SMALL.machines[0])
            run_arguments_from_disk(SMALL.machines[0])
            run_from_disk(SMALL.machines[0])
            run_as_image()
        wrong = sum(_counts(one, record=chosen.record) for one in booted)
        # Our kernel does not run on RISC-V, so that there is nothing to compare calls with.
        wrong += 0 if is_riscv else _calls(booted, _FEW_CASES)
    except Missing as error:
        print(f"linux: {error}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
