"""Checks that the kernel is portable: all C outside of `arch/` compiles against `arch/stub`, and against `arch/stub64`.

The stub is empty: it has none of a PowerPC's registers, page-table bits or instructions. The host's compiler compiles
for a little-endian processor of 32 bits, then for one of 64, whose addresses and layout of memory `arch/stub64` has.
The stub's ABI, `include/abi/stub`, has other numbers and layouts than PowerPC's. This test adds its column to
`syscalls.tbl`. Nothing is linked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite.places import ROOT

KERNEL = ROOT / "kernel"
IMAGES = ("one", "several")
FOLDERS = ("task", "mm", "proc", "ipc", "fs", "dev", "lib", "stat", "syscall", "policy", "genarch", "test")
STUBS = (("-m32",), ("-m64", "-Iarch/stub64/include"))
COMPILER = (
    *("gcc", "-std=gnu11", "-ffreestanding", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"),
    # Linux's structures have 64-bit numbers at multiples of 8 bytes; the host's own ABI does not align them.
    *("-malign-double", "-Iinclude", "-Iarch/stub/include", "-Iinclude/abi/stub", "-Iinclude/abi/linux"),
)
_ASSEMBLY = re.compile(r"\b(?:__asm__|asm)\b(?: volatile| goto)?\s*\(")


def _sources() -> list[Path]:
    """The C files directly in kernel/, and all C files below the folders."""
    found = [path for folder in FOLDERS for path in sorted((KERNEL / folder).rglob("*.c"))]
    return [*sorted(KERNEL.glob("*.c")), *found]


def _cases(generated: Path) -> list[tuple[Path, str, tuple[str, ...]]]:
    """Each source with each image and each stub that it is compiled for."""
    common = [*_sources(), _generate(generated)]
    return [
        (path, image, stub)
        for stub in STUBS
        for image in IMAGES
        for path in [*common, *sorted((KERNEL / image).rglob("*.c"))]
    ]


def _second_abi(table: str) -> str:
    """The table of calls with a first column of numbers for the stub's ABI, which passes the low word of a pair first.

    The stub has the calls of the first ABI.
    """
    lines: list[str] = []
    for line in table.splitlines():
        number = re.match(r"(\d+|-)\s", line)
        if line.startswith("abi ") and not any(before.startswith("abi ") for before in lines):
            lines.append("abi stub a,b,c,d,e,f packed low-first")
        lines.append(f"{number[1] if number[1] == '-' else 1000 - int(number[1])} {line}" if number else line)
    return "\n".join(lines) + "\n"


def _generate(folder: Path) -> Path:
    """Makes the prototypes of the stub's calls and their dispatch table in the folder; returns the table's path."""
    calls, dispatch = folder / "syscalls.tbl", folder / "table.c"
    calls.write_text(_second_abi((KERNEL / "syscall" / "syscalls.tbl").read_text(encoding="utf-8")), encoding="utf-8")
    command = (sys.executable, "syscall/generate.py", str(calls), "--abi", "stub", "--table", str(dispatch))
    subprocess.run((*command, "--prototypes", str(folder / "syscall_prototypes.h")), cwd=KERNEL, check=True)
    return dispatch


def _faults(source: Path, image: str, stub: tuple[str, ...], generated: Path) -> list[str]:
    """The compiler's messages for a file, and a message for each line that contains assembly."""
    name = source.relative_to(KERNEL) if source.is_relative_to(KERNEL) else source
    lines = source.read_text(encoding="utf-8").splitlines()
    found = [f"{name}:{n}: assembly" for n, line in enumerate(lines, 1) if _ASSEMBLY.search(line)]
    done = subprocess.run(
        (COMPILER[0], *stub, *COMPILER[1:], f"-I{image}/include", f"-I{generated}", str(name)),
        cwd=KERNEL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        found.append(done.stderr.rstrip() or f"{name}: {COMPILER[0]} ends with status {done.returncode}")
    return found


def check() -> int:
    """Returns the number of files that do not compile against the stub."""
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        generated = Path(made)
        sources = _cases(generated)
        failed = [
            faults for faults in pool.map(lambda case: _faults(case[0], case[1], case[2], generated), sources) if faults
        ]
    for faults in failed:
        print("\n".join(faults))
    print(f"port: {len(sources) - len(failed)} of {len(sources)} files compile for two other architectures and an ABI")
    return len(failed)
