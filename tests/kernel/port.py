"""Checks that the kernel is portable: everything outside `arch/` compiles against `arch/stub`, which is empty.

The stub has none of a PowerPC's registers, page-table bits or instructions, and the host's compiler checks against it
as a little-endian machine of 32 bits. Nothing is linked.
"""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite.places import ROOT

KERNEL = ROOT / "kernel"
FOLDERS = ("mm", "proc", "ipc", "fs", "dev", "lib", "stat", "syscall", "policy", "genarch")
COMPILER = (
    *("gcc", "-m32", "-std=gnu11", "-ffreestanding", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"),
    # The ABI aligns 64-bit numbers in structures to 8 bytes; the host's own ABI does not.
    *("-malign-double", "-Iinclude", "-Iarch/stub/include", "-Iinclude/abi/ppc32", "-Iinclude/abi/linux"),
    f"-I{ROOT / 'build' / 'kernel' / 'include'}",
)
_ASSEMBLY = re.compile(r"\b(?:__asm__|asm)\b(?: volatile| goto)?\s*\(")


def _sources() -> list[Path]:
    """The C files of kernel/ itself, and those of the folders and below them."""
    found = [path for folder in FOLDERS for path in sorted((KERNEL / folder).rglob("*.c"))]
    return [*sorted(KERNEL.glob("*.c")), *found]


def _faults(source: Path) -> list[str]:
    """The compiler's messages for a file, and its lines of assembly."""
    name = source.relative_to(KERNEL)
    lines = source.read_text(encoding="utf-8").splitlines()
    found = [f"{name}:{n}: assembly" for n, line in enumerate(lines, 1) if _ASSEMBLY.search(line)]
    done = subprocess.run((*COMPILER, str(name)), cwd=KERNEL, capture_output=True, text=True, check=False)
    if done.returncode:
        found.append(done.stderr.rstrip() or f"{name}: {COMPILER[0]} ends with status {done.returncode}")
    return found


def check() -> int:
    """The number of files that need more than the stub gives."""
    sources = _sources()
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        failed = [faults for faults in pool.map(_faults, sources) if faults]
    for faults in failed:
        print("\n".join(faults))
    print(f"port: {len(sources) - len(failed)} of {len(sources)} files compile for another architecture")
    return len(failed)
