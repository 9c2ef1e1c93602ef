#!/usr/bin/env python3
"""Another order for the parts of a program for old kernels, chosen by a seed: it moves the program's code and data.

  ld -t -t ... | shuffle.py SEED FOLDER

Reads the files that the linker took, and prints the object files in another order. Those out of an archive lie in
FOLDER too, under their own names."""

import random
import re
import sys
from pathlib import Path

MEMBER = re.compile(r"\(.*/library\.a\)(.+)|.*/library\.a\((.+)\)")
ALONE = re.compile(r"[^()]+\.o")


def main() -> None:
    """Prints the order of a seed."""
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    inside = {path.name: str(path) for part in ("libc", "bench/common") for path in (folder / part).glob("*.o")}
    parts = []
    for line in sys.stdin.read().splitlines():
        if member := MEMBER.fullmatch(line):
            parts.append(inside[member[1] or member[2]])
        elif ALONE.fullmatch(line):
            parts.append(line)
    parts.sort()
    random.Random(seed).shuffle(parts)
    print(*parts)


main()
