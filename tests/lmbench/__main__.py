"""The comparison as a command: both kinds of row in one boot, and a table."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from pagewalk.initramfs import Initramfs
from suite.groups import LIBCS
from suite.places import BUILD, ROOT, USER, Missing, program, wanted

from lmbench.build import build
from lmbench.rows import HELPERS, ROWS, Row

# A timing interval of 5 ms, LmBench's shortest; what a loop and a look at the clock cost is found out once for all.
_SCRIPT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/lmbench:/bin ENOUGH=5000
cd /tmp
cp /lmbench/hello /tmp/hello
mkdir -p /tmp/include/sys
echo typedef > /tmp/include/sys/types.h
LOOP_O=$(loop_o)
TIMING_O=$(timing_o)
export LOOP_O TIMING_O
lmdd of=/tmp/file move=4m fsync=1 2>/dev/null
{theirs}rm /tmp/file
{ours}echo @end
"""
_REGIONS_EACH = 100
_THEIR_REGIONS = 1 + 100 * _REGIONS_EACH

Regions = Mapping[int, Mapping[str, int]]


def _pages(program: Path) -> int:
    with program.open("rb") as file:
        loaded = [part for part in ELFFile(file).iter_segments() if part["p_type"] == "PT_LOAD"]
    return sum((part["p_vaddr"] % 4096 + part["p_memsz"] + 4095) // 4096 for part in loaded)


def _line_of(row: Row, folder: Path) -> str:
    """Our program and its parameters."""
    if not row.as_large:
        return row.program
    ours = wanted(USER / "bench" / row.program.split()[0], "run make -C user")
    more = max(0, _pages(folder / row.command.split()[0]) - _pages(ours))
    return f"{row.program} heap={more * 4096}"


def _strip(source: Path, to: Path) -> None:
    subprocess.run(["powerpc-linux-gnu-strip", "-o", str(to), str(source)], check=True)


def _image(folder: Path, rows: Sequence[Row], ours: Sequence[str]) -> bytes:
    image = Initramfs()
    for name in ("dev", "proc", "bench"):
        image.directory(name)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    image.copy("init", wanted(USER / "init", "run make -C user"))
    image.copy("bin/busybox", program(LIBCS[1], "busybox"))
    for name in {row.command.split()[0] for row in rows} | set(HELPERS):
        _strip(folder / name, folder / f"{name}.stripped")
        image.copy(f"lmbench/{name}", folder / f"{name}.stripped")
    for name in {line.split()[0] for line in ours}:
        _strip(wanted(USER / "bench" / name, "run make -C user"), folder / f"{name}.stripped")
        image.copy(f"bench/{name}", folder / f"{name}.stripped")
    theirs_text = "".join(
        f"echo '@lmbench {row.name}'\nLMBENCH_REGION={_THEIR_REGIONS + number * _REGIONS_EACH} {row.command} 2>&1\n"
        for number, row in enumerate(rows)
    )
    ours_text = "".join(f"/bench/{line} region={1 + number * _REGIONS_EACH}\n" for number, line in enumerate(ours))
    image.file("run", _SCRIPT.format(theirs=theirs_text, ours=ours_text).encode(), 0o755)
    return image.pack()


def _sections(console: str) -> dict[str, str]:
    parts = console.replace("\r\n", "\n").split("@lmbench ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def _ours(console: str, regions: Regions, counter: str) -> dict[str, float]:
    found = {}
    for line in console.splitlines():
        if line.startswith("@row "):
            words = dict(word.split("=", 1) for word in line.split()[1:])
            count = regions[int(words["region"])][counter]
            if "minus" in words:
                count -= regions[int(words["minus"])][counter]
            found[words["name"]] = count / int(words["iterations"])
    return found


def _theirs(row: Row, text: str, regions: Regions, counter: str) -> float | None:
    """A counter of LmBench's last benchmark for one of our iterations, less that of the one that it subtracts."""
    marked = [(int(region), int(iterations)) for region, iterations in re.findall(r"@region (\d+) (\d+)", text)]
    if not marked:
        return None
    measured, *subtracted = [regions[region][counter] / iterations for region, iterations in reversed(marked)]
    return measured / row.holds[0] - sum(subtracted) / row.holds[1]


def _compare(chosen: argparse.Namespace) -> int:
    """Prints the table; the number of rows for which one side gave no figure."""
    rows = [row for row in ROWS if not chosen.rows or row.name in chosen.rows]
    runner = wanted(ROOT / "target" / "release" / "pagewalk-machine", "run make")
    kernel = wanted(BUILD / "kernel" / "vmlinux", "run make kernel")
    file = ROOT / "machines" / f"{chosen.machine}.toml"
    mhz = tomllib.loads(file.read_text())["core"]["clock"] / 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(chosen.sources, {row.command.split()[0] for row in rows} | set(HELPERS), folder, bool(chosen.counters))
        ours = sorted({_line_of(row, folder) for row in rows})
        (folder / "image.cpio").write_bytes(_image(folder, rows, ours))
        done = subprocess.run(
            [
                str(runner), "run", "--machine", str(file), "--set", f"memory.size={64 << 20}", "--kernel", str(kernel),
                "--initrd", str(folder / "image.cpio"), f"--append=quiet {chosen.options} -- /run",
                "--counters", str(folder / "counters.json"),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        console = done.stdout.decode(errors="replace")
        if done.returncode or "@end" not in console:
            print(console[-3000:], file=sys.stderr)
            return len(rows)
        counted = json.loads((folder / "counters.json").read_bytes())
    regions = {int(region["number"]): region["counters"] for region in counted["regions"]}
    print(f"{chosen.machine} {chosen.options}".strip())
    sections = _sections(console)
    missing = _table(rows, mhz, sections, _ours(console, regions, "cycles"))
    for counter in chosen.counters:
        own = _ours(console, regions, counter)
        print(f"{counter}:")
        for row in rows:
            their = _theirs(row, sections.get(row.name, ""), regions, counter)
            print(_line(row.name, their, own.get(row.name), ".1f"))
    return missing


def _line(name: str, their: float | None, our: float | None, form: str) -> str:
    cells = ["-" if figure is None else format(figure, form) for figure in (their, our)]
    ratio = f"{our / their:.3f}" if our and their else "-"
    return f"{name:24}{cells[0]:>12}{cells[1]:>12}{ratio:>14}"


def _table(rows: Sequence[Row], mhz: float, theirs: dict[str, str], ours: dict[str, float]) -> int:
    print(f"{'row':24}{'LmBench':>12}{'ours':>12}{'ours/LmBench':>14}   (cycles)")
    missing = 0
    for row in rows:
        their = row.cycles(theirs.get(row.name, ""), mhz)
        our = ours.get(row.name)
        missing += their is None or our is None
        print(_line(row.name, their, our, ".0f"))
    return missing


def main() -> int:
    """Exit status 0 when every row has both figures, 1 when one has not, 2 when something is missing."""
    parser = argparse.ArgumentParser(prog="python -m lmbench", description=__doc__)
    parser.add_argument("sources", type=Path, help="directory of LmBench 3's sources (the one that holds src)")
    parser.add_argument("--machine", default="ppc604-133", help="a file of machines/ (default: ppc604-133)")
    parser.add_argument("--options", default="", help="words for the kernel's command line")
    names = [row.name for row in ROWS]
    parser.add_argument("--rows", nargs="+", choices=names, metavar="ROW", help="only these (default: all)")
    parser.add_argument(
        "--counters", nargs="+", default=[], metavar="NAME",
        help="also what these counters say of an iteration; LmBench's programs then mark the intervals that they time",
    )  # fmt: skip
    chosen = parser.parse_args()
    try:
        return 1 if _compare(chosen) else 0
    except Missing as error:
        print(f"lmbench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
