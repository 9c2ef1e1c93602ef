#!/usr/bin/env python3
"""Another order for the kernel's link, chosen by a seed: what a figure owes to where functions happen to be.

  shuffle.py ARCH SEED OBJDUMP FOLDER OBJECT...

Writes into FOLDER: `objects`, the object files in another order, which moves data and the code of each cost category;
`hot.lds`, the functions of hot paths in another order within their place; and `kernel.lds`, which also names all other
functions in another order."""

import random
import re
import subprocess
import sys
from pathlib import Path

KERNEL = Path(__file__).parent.parent
ARCHES = KERNEL / "arch"
OTHERS = "*(.text .text.*)"


def hot(text: str) -> list[str]:
    """The input sections of hot.lds and of what it includes, one by one."""
    found = []
    text = re.sub(r"^INCLUDE (\S+)$", lambda name: (KERNEL / name[1]).read_text(), text, flags=re.MULTILINE)
    for files, sections in re.findall(r"(\S+?)\(([^)]*)\)", re.sub(r"/\*.*?\*/(?=\s)", "", text, flags=re.DOTALL)):
        found += [f"{files}({section})" for section in sections.split()]
    return found


def functions(objdump: str, objects: list[str]) -> list[str]:
    """The names of all functions' sections."""
    listed = subprocess.run([objdump, "-h", *objects], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^\s*\d+ (\.text\.\S+)", listed, flags=re.MULTILINE))
    return sorted(name for name in names if not name.startswith((".text.cause.", ".text.start")))


def main() -> None:
    """Writes the order of a seed."""
    arch, seed, objdump, folder = ARCHES / sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    objects = sys.argv[5:]
    chance = random.Random(seed)
    script = (arch / "kernel.lds").read_text()
    if script.count(OTHERS) != 1:
        sys.exit(f"shuffle.py: {arch}/kernel.lds has no line {OTHERS}")
    hottest, others = hot((arch / "hot.lds").read_text()), functions(objdump, objects)
    for order in (objects, hottest, others):
        chance.shuffle(order)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "objects").write_text("\n".join(objects) + "\n")
    (folder / "hot.lds").write_text("\n".join(hottest) + "\n")
    named = "\n".join(f"\t\t*({name})" for name in others)
    (folder / "kernel.lds").write_text(script.replace(OTHERS, f"{named.strip()}\n\t\t{OTHERS}"))


main()
