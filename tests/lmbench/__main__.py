"""The comparison as a command: runs both kinds of row in one boot and prints a table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from pagewalk.initramfs import Initramfs
from suite import built
from suite.groups import LIBCS, stripped
from suite.places import BUILD, ROOT, USER, Missing, program, wanted

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


def _image(theirs: Mapping[str, Path], rows: Sequence[Row], ours: Sequence[str]) -> bytes:
    image = Initramfs()
    for name in ("dev", "proc", "bench"):
        image.directory(name)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    image.copy("init", wanted(USER / "init", "run make -C user"))
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


def _compare(chosen: argparse.Namespace) -> int:
    """Prints the table; returns the number of rows without a figure of one side."""
    rows = [row for row in ROWS if not chosen.rows or row.name in chosen.rows]
    theirs = built.wanted_programs(chosen.folder, {row.command.split()[0] for row in rows} | set(HELPERS))
    runner = wanted(ROOT / "target" / "release" / "pagewalk-machine", "run make")
    kernel = wanted(BUILD / "kernel" / "vmlinux", "run make kernel")
    file = wanted(ROOT / "machines" / f"{chosen.machine}.toml", "name a file of machines/")
    mhz = tomllib.loads(file.read_text())["core"]["clock"] / 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = sorted({_line_of(row, theirs) for row in rows})
        (folder / "image.cpio").write_bytes(_image(theirs, rows, ours))
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
    sections = _sections(console)
    measured = _ours(console, regions)
    cycles = {row.name: (row.cycles(sections.get(row.name, ""), mhz), measured.get(row.name)) for row in rows}
    ran = built.record(chosen.folder, theirs.values(), kernel)
    _print(f"{chosen.machine} {chosen.options}".strip(), cycles, ran)
    if chosen.save:
        figures = {name: {"lmbench": their, "ours": our} for name, (their, our) in cycles.items()}
        result = {"machine": chosen.machine, "options": chosen.options, "lmbench": ran, "cycles": figures}
        chosen.save.write_text(json.dumps(result, indent=1) + "\n")
    return sum(None in pair for pair in cycles.values())


def _print(title: str, cycles: Mapping[str, tuple[float | None, float | None]], ran: Mapping[str, object]) -> None:
    print(f"{title}; LmBench's version: {ran['version']}")
    print(f"{'row':24}{'LmBench':>12}{'ours':>12}{'ours/LmBench':>14}   (cycles)")
    for name, (their, our) in cycles.items():
        cells = ["-" if figure is None else format(figure, ".0f") for figure in (their, our)]
        ratio = f"{our / their:.3f}" if our and their else "-"
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
    names = [row.name for row in ROWS]
    parser.add_argument("--rows", nargs="+", choices=names, metavar="ROW", help="only these (default: all)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="figures, versions and hashes as JSON")
    chosen = parser.parse_args()
    try:
        return 1 if _compare(chosen) else 0
    except Missing as error:
        print(f"lmbench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
