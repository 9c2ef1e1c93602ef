"""Checks that the kernel is portable: all C outside of `arch/` compiles against `arch/stub`, and against `arch/stub64`.
No code but what handles the ABI's numbers of 32 bits shortens an address of 64 bits, and none masks one by a constant
of 32 bits, or by a number of 32 bits that is widened, which would clear its upper half.

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
MASKS = "-fdump-tree-gimple-gimple-lineno=/dev/stdout"
"""Has the compiler write each operation with the type of its constants: `_2 = _1 & 4294963200ull;`."""
STUBS = (
    ("-m32", "-fsyntax-only"),
    (
        *("-m64", "-Iarch/stub64/include", "-Wconversion", "-Wno-sign-conversion", "-Wno-error=conversion"),
        *("-S", "-o", os.devnull, MASKS),
    ),
)
COMPILER = (
    *("gcc", "-std=gnu11", "-ffreestanding", "-Wall", "-Wextra", "-Werror"),
    # Linux's structures have 64-bit numbers at multiples of 8 bytes; the host's own ABI does not align them.
    *("-malign-double", "-Iinclude", "-Iarch/stub/include", "-Iinclude/abi/stub", "-Iinclude/abi/linux"),
    "-Igenarch/include",
)
SHORTENED = re.compile(r"^(?:\w+/(?:policy/)?(?:\.\./)+)?([\w/.]+):\d+.*conversion from .[vup]addr_t\b", re.MULTILINE)
MASKED = re.compile(r"^ *\[(?:\w+/(?:policy/)?(?:\.\./)+)?([\w/.]+):(\d+):\d+\].* & (\d+)ull?;", re.MULTILINE)
CAST = re.compile(r"\(u32\)\s*\(?\(?(?:uintptr_t|[vup]addr_t)\b")
_AT = r"^ *\[(?:\w+/(?:policy/)?(?:\.\./)+)?([\w/.]+):(\d+):\d+\]"
_FUNCTION = re.compile(r"__GIMPLE \((.*)\)$")
_ADDRESS = re.compile(r"(?:const )?[vup]addr_t (\w+)")
_CUT = re.compile(_AT + r" (\w+) = \((?:u32|unsigned int)\) (\w+);")
_WIDENED = re.compile(r" (\w+) = \((?:long )?long unsigned int\) \w+;")
_AND = re.compile(_AT + r" .*?(\w+) & (\w+);")

PLANTED = """#include <lib.h>
#include <types.h>
uaddr_t planted(uaddr_t address, paddr_t pa, u32 flags);
uaddr_t planted(uaddr_t address, paddr_t pa, u32 flags)
{
	address &= ~15u;
	pa = (pa + 1) & ~(u32)0xfff;
	address += pa & 0xfffff000;
	address += (u32)(uintptr_t)&address;
	address = ALIGN_DOWN(address, 4096u);
	address += (u32)pa;
	address &= ~(flags - 1);
	return (address & 0xfff) + (flags & 7);
}
"""
"""A file for the check to find fault with, and the lines that have faults."""
PLANTED_FAULTS = {6, 7, 8, 9, 11, 12}

# Files that shorten addresses because the ABI has 32 bits for them, and what it is that has so many.
ABI = {
    "dev/tty_ioctl.c": "the argument of ioctl is a number",
    "genarch/control.c": "the control device's registers",
    "fs/cpio.c": "an archive in memory has less than 4 GB",
    "fs/fcntl.c": "the argument of fcntl is a number",
    "include/uaccess.h": "put_user of what the ABI has",
    "ipc/socket_message.c": "the length of control data in struct msghdr",
    "ipc/sysv_call.c": "arguments of System V's calls in one",
    "proc/coredump.c": "a core file of 32 bits",
    "proc/elf.c": "a program's headers",
    "proc/exec_stack.c": "words of a new program's stack",
    "proc/fork.c": "a stack and a thread pointer in registers of 32 bits",
    "proc/futex.c": "an argument is a number, or an address",
    "proc/ptrace.c": "the same",
    "proc/signal_calls.c": "a handler's address in struct sigaction",
    "proc/system.c": "an argument of prctl is a number, or an address",
    "task/signal.c": "an address in struct siginfo",
}
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


def _halves(dump: str) -> set[str]:
    """Messages for each place in gcc's dump that takes the lower half of an address, or masks by a widened number.

    A lower half of which only the offset in a page is taken is none.
    """
    found: set[str] = set()
    addresses: set[str] = set()
    widened: set[str] = set()
    cut: dict[str, str] = {}
    for line in dump.splitlines():
        if function := _FUNCTION.search(line):
            parts = (_ADDRESS.fullmatch(part.strip()) for part in function[1].split(","))
            addresses, widened, cut = {part[1] for part in parts if part}, set(), {}
        elif declared := _ADDRESS.fullmatch(line.strip().removesuffix(";")):
            addresses.add(declared[1])
        elif (match := _CUT.match(line)) and match[4] in addresses:
            cut[match[3]] = f"{match[1]}:{match[2]}: an address is cut to 32 bits"
            found.add(cut[match[3]])
        elif match := _AND.match(line):
            left, right = match[3], match[4]
            if left in cut and right.removesuffix("u").isdecimal() and int(right.removesuffix("u")) < 0x1000:
                found.discard(cut[left])
            if {left, right} & widened and not right[0].isdecimal():
                found.add(f"{match[1]}:{match[2]}: a number of 64 bits is masked by one of 32 bits")
        elif match := _WIDENED.search(line):
            widened.add(match[1])
    return {message for message in found if not _is_left_out(message.partition(":")[0])}


def _is_left_out(name: str) -> bool:
    return name in ABI or name.startswith(("arch/", "include/abi/"))


def _faults(source: Path, image: str, stub: tuple[str, ...], generated: Path) -> list[str]:
    """The compiler's messages for a file, and a message for each line that contains assembly."""
    name = source.relative_to(KERNEL) if source.is_relative_to(KERNEL) else source
    lines = source.read_text(encoding="utf-8").splitlines()
    found = [f"{name}:{n}: assembly" for n, line in enumerate(lines, 1) if _ASSEMBLY.search(line)]
    found += [f"{name}:{n}: an address cast to u32" for n, line in enumerate(lines, 1) if CAST.search(line)]
    done = subprocess.run(
        (COMPILER[0], *stub, *COMPILER[1:], f"-I{image}/include", f"-I{generated}", str(name)),
        cwd=KERNEL,
        capture_output=True,
        text=True,
        check=False,
    )
    found += [
        f"{match[1]}: an address is shortened: {match[0]}"
        for match in SHORTENED.finditer(done.stderr)
        if not _is_left_out(match[1])
    ]
    found += sorted(
        {
            f"{match[1]}:{match[2]}: a number of 64 bits is masked by {int(match[3]):#x}"
            for match in MASKED.finditer(done.stdout)
            if 0x80000000 <= int(match[3]) <= 0xFFFFFFFF and not match[1].startswith(("arch/", "include/abi/"))
        }
    )
    found += sorted(_halves(done.stdout))
    if done.returncode:
        found.append(done.stderr.rstrip() or f"{name}: {COMPILER[0]} ends with status {done.returncode}")
    return found


def _overlooked(generated: Path) -> list[str]:
    """The lines of the planted file whose faults are not found, and those without a fault that are."""
    planted = generated / "planted.c"
    planted.write_text(PLANTED, encoding="utf-8")
    faults = _faults(planted, IMAGES[0], STUBS[1], generated)
    found = {int(line[1]) for fault in faults if (line := re.search(r"planted\.c:(\d+):", fault))}
    return [f"{planted}:{line}: the check does not see what is planted here" for line in sorted(found ^ PLANTED_FAULTS)]


def check() -> int:
    """Returns the number of files that do not compile against the stub, or whose faults are not found."""
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        generated = Path(made)
        sources = _cases(generated)
        overlooked = _overlooked(generated)
        failed = [
            faults for faults in pool.map(lambda case: _faults(case[0], case[1], case[2], generated), sources) if faults
        ]
    for faults in [*failed, overlooked]:
        print("\n".join(faults), end="\n" if faults else "")
    print(f"port: {len(sources) - len(failed)} of {len(sources)} files compile for two other architectures and an ABI")
    return len(failed) + len(overlooked)
