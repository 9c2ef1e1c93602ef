"""The comparison as a command: both kinds of row in one boot, and a table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from pagewalk.initramfs import Initramfs
from suite.groups import LIBCS
from suite.places import BUILD, ROOT, USER, Missing, program, wanted

from lmbench.build import build
from lmbench.rows import HELPERS, ROWS

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


def _strip(source: Path, to: Path) -> None:
    subprocess.run(["powerpc-linux-gnu-strip", "-o", str(to), str(source)], check=True)


def _image(folder: Path, ours: list[str]) -> bytes:
    image = Initramfs()
    for name in ("dev", "proc", "bench"):
        image.directory(name)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    image.copy("init", wanted(USER / "init", "run make -C user"))
    image.copy("bin/busybox", program(LIBCS[1], "busybox"))
    for name in {row.command.split()[0] for row in ROWS} | set(HELPERS):
        _strip(folder / name, folder / f"{name}.stripped")
        image.copy(f"lmbench/{name}", folder / f"{name}.stripped")
    for name in {line.split()[0] for line in ours}:
        _strip(wanted(USER / "bench" / name, "run make -C user"), folder / f"{name}.stripped")
        image.copy(f"bench/{name}", folder / f"{name}.stripped")
    theirs_text = "".join(f"echo '@lmbench {row.name}'\n{row.command} 2>&1\n" for row in ROWS)
    ours_text = "".join(f"/bench/{line} region={1 + number * _REGIONS_EACH}\n" for number, line in enumerate(ours))
    image.file("run", _SCRIPT.format(theirs=theirs_text, ours=ours_text).encode(), 0o755)
    return image.pack()


def _sections(console: str) -> dict[str, str]:
    parts = console.replace("\r\n", "\n").split("@lmbench ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def _ours(console: str, regions: dict[int, int]) -> dict[str, float]:
    found = {}
    for line in console.splitlines():
        if line.startswith("@row "):
            words = dict(word.split("=", 1) for word in line.split()[1:])
            cycles = regions[int(words["region"])] / int(words["iterations"])
            if "minus" in words:
                cycles -= regions[int(words["minus"])] / int(words["iterations"])
            found[words["name"]] = cycles
    return found


def _compare(machine: str, words: str, sources: Path) -> int:
    """Prints the table; the number of rows for which one side gave no figure."""
    ours = sorted({row.program for row in ROWS})
    runner = wanted(ROOT / "target" / "release" / "pagewalk-machine", "run make")
    kernel = wanted(BUILD / "kernel" / "vmlinux", "run make kernel")
    file = ROOT / "machines" / f"{machine}.toml"
    mhz = tomllib.loads(file.read_text())["core"]["clock"] / 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(sources, {row.command.split()[0] for row in ROWS} | set(HELPERS), folder)
        (folder / "image.cpio").write_bytes(_image(folder, ours))
        done = subprocess.run(
            [
                str(runner), "run", "--machine", str(file), "--set", f"memory.size={64 << 20}", "--kernel", str(kernel),
                "--initrd", str(folder / "image.cpio"), f"--append=quiet {words} -- /run",
                "--counters", str(folder / "counters.json"),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        console = done.stdout.decode(errors="replace")
        if done.returncode or "@end" not in console:
            print(console[-3000:], file=sys.stderr)
            return len(ROWS)
        counters = json.loads((folder / "counters.json").read_bytes())
    regions = {int(region["number"]): int(region["counters"]["cycles"]) for region in counters["regions"]}
    return _table(machine, words, mhz, _sections(console), _ours(console, regions))


def _table(machine: str, words: str, mhz: float, theirs: dict[str, str], ours: dict[str, float]) -> int:
    print(f"{machine} {words}".strip())
    print(f"{'row':24}{'LmBench':>12}{'ours':>12}{'ours/LmBench':>14}   (cycles)")
    missing = 0
    for row in ROWS:
        their = row.cycles(theirs.get(row.name, ""), mhz)
        our = ours.get(row.name)
        missing += their is None or our is None
        cells = ["-" if figure is None else f"{figure:.0f}" for figure in (their, our)]
        ratio = f"{our / their:.3f}" if our and their else "-"
        print(f"{row.name:24}{cells[0]:>12}{cells[1]:>12}{ratio:>14}")
    return missing


def main() -> int:
    """Exit status 0 when every row has both figures, 1 when one has not, 2 when something is missing."""
    parser = argparse.ArgumentParser(prog="python -m lmbench", description=__doc__)
    parser.add_argument("sources", type=Path, help="directory of LmBench 3's sources (the one that holds src)")
    parser.add_argument("--machine", default="ppc604-133", help="a file of machines/ (default: ppc604-133)")
    parser.add_argument("--options", default="", help="words for the kernel's command line")
    chosen = parser.parse_args()
    try:
        return 1 if _compare(chosen.machine, chosen.options, chosen.sources) else 0
    except Missing as error:
        print(f"lmbench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
