"""The comparison as a command: runs both kinds of row in one boot and prints a table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile
from pagewalk import policies
from pagewalk.errors import PagewalkError
from pagewalk.initramfs import Initramfs
from suite import built, targets
from suite.groups import LIBCS, stripped
from suite.places import ROOT, USER, Missing, program, wanted

from lmbench.rows import HELPERS, ROWS, Row

# The guest's script. A timing interval of 5 ms, LmBench's shortest. The costs of a loop and of reading the clock are
# measured once. LmBench starts `hello` from the folder for temporary files.
_SCRIPT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/lmbench:/bin ENOUGH=5000
cd /tmp
cp /lmbench/hello .
mkdir -p /lmbench/include/sys
echo typedef > /lmbench/include/sys/types.h
LOOP_O=$(loop_o)
TIMING_O=$(timing_o)
export LOOP_O TIMING_O
lmdd of=/lmbench/file move=4m fsync=1 2>/dev/null
{theirs}rm /lmbench/file
{ours}echo @end
"""

# In MB. Linux unpacks the archive into a tmpfs, which holds half of the memory.
_MEMORY, _MEMORY_WITH_LINUX = 64, 128

Regions = Mapping[int, Mapping[str, int]]


def _pages(program: Path) -> int:
    with program.open("rb") as file:
        loaded = [part for part in ELFFile(file).iter_segments() if part["p_type"] == "PT_LOAD"]
    return sum((part["p_vaddr"] % 4096 + part["p_memsz"] + 4095) // 4096 for part in loaded)


def _line_of(row: Row, theirs: Mapping[str, Path]) -> str:
    """Our program and its parameters."""
    if not row.as_large:
        return row.program
    ours = wanted(USER / "bench" / row.program.split()[0], "run make -C user")
    more = max(0, _pages(theirs[row.command.split()[0]]) - _pages(ours))
    return f"{row.program} heap={more * 4096}"


def _core(machine: str) -> str:
    file = wanted(ROOT / "machines" / f"{machine}.toml", "name a file of machines/")
    return str(tomllib.loads(file.read_text())["core"]["kind"])


def _check_floats(machine: str, theirs: Mapping[str, Path]) -> None:
    """LmBench computes its figures with floating-point numbers, which neither an 8xx nor our kernel does."""
    if _core(machine) == "8xx" and any(map(built.computes_in_registers, theirs.values())):
        raise Missing(
            f"{machine} has no floating-point unit, and our kernel emulates none: LmBench's programs would end by "
            "SIGILL; build them and their C library with -msoft-float, or name another machine"
        )


def _policies(chosen: argparse.Namespace) -> list[str]:
    """The words of the named set of policies, for the machine's core."""
    if not chosen.named:
        return []
    named = policies.expanded({policies.NAMED: chosen.named}, _core(chosen.machine))
    return [f"{name}={value}" for name, value in named.items()]


def _image(theirs: Mapping[str, Path], rows: Sequence[Row], ours: Sequence[str], init: bytes | None) -> bytes:
    image = Initramfs()
    for name in ("dev", "proc", "bench"):
        image.directory(name)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    image.file("init", init or wanted(USER / "init", "run make -C user").read_bytes(), 0o755)
    image.copy("bin/busybox", program(LIBCS[1], "busybox"))
    for name, path in theirs.items():
        image.file(f"lmbench/{name}", stripped(path), 0o755)
    for name in {line.split()[0] for line in ours}:
        image.file(f"bench/{name}", stripped(wanted(USER / "bench" / name, "run make -C user")), 0o755)
    theirs_text = "".join(f"echo '@lmbench {row.name}'\n{row.command} 2>&1\n" for row in rows)
    ours_text = "".join(f"/bench/{line} region={number}\n" for number, line in enumerate(ours, 1))
    image.file("run", _SCRIPT.format(theirs=theirs_text, ours=ours_text).encode(), 0o755)
    return image.pack()


def _sections(console: str) -> dict[str, str]:
    parts = console.replace("\r\n", "\n").split("@lmbench ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def _ours(console: str, regions: Regions) -> dict[str, float]:
    found = {}
    for line in console.splitlines():
        if line.startswith("@row "):
            words = dict(word.split("=", 1) for word in line.split()[1:])
            count = regions[int(words["region"])]["cycles"]
            if "minus" in words:
                count -= regions[int(words["minus"])]["cycles"]
            found[words["name"]] = count / int(words["iterations"])
    return found


@dataclass(frozen=True)
class _Boot:
    """What one boot has shown: the cycles of LmBench's rows and of ours, by the names of rows."""

    theirs: Mapping[str, float | None]
    ours: Mapping[str, float | None]
    kernel: Path


def _boot(target: targets.MachineTarget, rows: Sequence[Row], theirs: Mapping[str, Path]) -> _Boot | None:
    """Runs LmBench and our rows in one boot. None if they did not run to the end; the console's end is shown then."""
    file = wanted(ROOT / "machines" / f"{target.machine}.toml", "name a file of machines/")
    mhz = tomllib.loads(file.read_text())["core"]["clock"] / 1e6
    ours = sorted({_line_of(row, theirs) for row in rows})
    with tempfile.TemporaryDirectory() as name:
        image, counters = Path(name) / "image.cpio", Path(name) / "counters.json"
        image.write_bytes(_image(theirs, rows, ours, target.init))
        target = replace(target, flags=(*target.flags, "--counters", str(counters)))
        console = target.boot(image, "-- /run")
        if "@end" not in console:
            print(console[-3000:], file=sys.stderr)
            return None
        counted = json.loads(counters.read_bytes())
    regions = {int(region["number"]): region["counters"] for region in counted["regions"]}
    sections = _sections(console)
    cycles = {row.name: row.cycles(sections.get(row.name, ""), mhz) for row in rows}
    return _Boot(cycles, _ours(console, regions), target.kernel)


def _compare(chosen: argparse.Namespace) -> int:
    """Prints the table; returns the number of rows without a figure of one side."""
    rows = [row for row in ROWS if not chosen.rows or row.name in chosen.rows]
    theirs = built.wanted_programs(chosen.folder, {row.command.split()[0] for row in rows} | set(HELPERS))
    _check_floats(chosen.machine, theirs)
    options = " ".join(["quiet", *_policies(chosen), chosen.options]).strip()
    memory = _MEMORY_WITH_LINUX if chosen.kernel else _MEMORY
    own = _boot(targets.MachineTarget(chosen.machine, options, memory=memory), rows, theirs)
    if own is None:
        return len(rows)
    sides, first, second = ("LmBench", "ours"), own.theirs, own.ours
    kernel = own.kernel
    if chosen.kernel:
        linux = _boot(replace(targets.linux(chosen.kernel, chosen.machine, "", ()), memory=memory), rows, theirs)
        if linux is None:
            return len(rows)
        sides, first, second = ("Linux", "ours"), linux.theirs, own.theirs
        kernel = linux.kernel
    cycles = {row.name: (first.get(row.name), second.get(row.name)) for row in rows}
    ran = built.record(chosen.folder, theirs.values(), kernel)
    _print(f"{chosen.machine} {chosen.options}".strip(), sides, cycles, ran)
    if chosen.save:
        figures = {name: dict(zip(map(str.lower, sides), pair, strict=True)) for name, pair in cycles.items()}
        result = {"machine": chosen.machine, "options": chosen.options, "lmbench": ran, "cycles": figures}
        chosen.save.write_text(json.dumps(result, indent=1) + "\n")
    return sum(None in pair for pair in cycles.values())


def _print(
    title: str,
    sides: tuple[str, str],
    cycles: Mapping[str, tuple[float | None, float | None]],
    ran: Mapping[str, object],
) -> None:
    print(f"{title}; LmBench's version: {ran['version']}")
    print(f"{'row':24}{sides[0]:>12}{sides[1]:>12}{'/'.join(reversed(sides)):>14}   (cycles)")
    for name, (first, second) in cycles.items():
        cells = ["-" if figure is None else format(figure, ".0f") for figure in (first, second)]
        ratio = f"{second / first:.3f}" if first and second else "-"
        print(f"{name:24}{cells[0]:>12}{cells[1]:>12}{ratio:>14}")


def main() -> int:
    """Exit status 0 if every row has both figures, 1 if one lacks a figure, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m lmbench", description=__doc__)
    parser.add_argument(
        "folder",
        type=Path,
        help=f"holds LmBench 3's built programs under their names, each {built.KIND}; what is missing is listed",
    )
    parser.add_argument("--machine", default="ppc604-133", help="a file of machines/ (default: ppc604-133)")
    parser.add_argument("--options", default="", help="words for the kernel's command line")
    parser.add_argument("--named", metavar="SET", help="a named set of policies, such as best")
    parser.add_argument(
        "--kernel", metavar="SUBJECT", help="LmBench on this Linux, such as linux-6.1-bare, and on our kernel"
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--rows", nargs="+", choices=names, metavar="ROW", help="only these (default: all)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="figures, versions and hashes as JSON")
    chosen = parser.parse_args()
    try:
        return 1 if _compare(chosen) else 0
    except (Missing, PagewalkError) as error:
        print(f"lmbench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
