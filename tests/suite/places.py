"""The files that the suite needs, and how to build or install missing ones.

The environment's PAGEWALK_ARCH chooses the architecture whose kernel and programs are run: ppc, x86, or riscv, whose
programs run on Linux alone.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CASES = ROOT / "tests" / "cases"


class Missing(RuntimeError):
    """Something must be built or installed first; the message says how."""


def refuse_unknown(kind: str, chosen: Iterable[str], names: Iterable[str]) -> None:
    """Missing if one of the chosen names is not there; the message lists those that are."""
    there = list(dict.fromkeys(names))
    for name in chosen:
        if name not in there:
            raise Missing(f"there is no {kind} {name}; there are {', '.join(there)}")


@dataclass(frozen=True)
class Arch:
    """An architecture: where the build puts what is for it, its tools, and how to know its programs.

    `header` is what an executable's ELF header has first: class, order of bytes and version; `kind` its type and
    machine at byte 16. `libcs` are the C libraries that programs of other people are built with.
    """

    suffix: str
    strip: str
    emulator: str
    header: bytes
    kind: bytes
    machine: str
    libcs: tuple[str, ...]
    called: str


ARCHES = {
    "ppc": Arch(
        "", "powerpc-linux-gnu-strip", "qemu-ppc-static", b"\x7fELF\x01\x02\x01", b"\x00\x02\x00\x14", "ppc604-133",
        ("glibc", "musl"), "PPC32",
    ),
    "x86": Arch(
        "-x86", "strip", "qemu-i386-static", b"\x7fELF\x01\x01\x01", b"\x02\x00\x03\x00", "i486dx-50", ("musl",), "i386"
    ),
    "riscv": Arch(
        "-riscv", "riscv64-linux-gnu-strip", "qemu-riscv64-static", b"\x7fELF\x02\x01\x01", b"\x02\x00\xf3\x00",
        "u74-1500", ("glibc",), "RV64",
    ),
}  # fmt: skip


def chosen() -> Arch:
    """The architecture that the environment chooses."""
    name = os.environ.get("PAGEWALK_ARCH", "ppc")
    if name not in ARCHES:
        raise Missing(f"PAGEWALK_ARCH={name}: allowed are {', '.join(ARCHES)}")
    return ARCHES[name]


ARCH = chosen()
KERNELS = BUILD / f"kernel{ARCH.suffix}"
KERNEL = KERNELS / "vmlinux"
USER = BUILD / f"user{ARCH.suffix}"
PROGRAMS = BUILD / f"programs{ARCH.suffix}"
BUILDS = f"PROGRAMS_ARCH={ARCH.suffix[1:]} " if ARCH.suffix else ""
"""What the command that builds programs of other people begins with."""


def wanted(path: Path, how: str) -> Path:
    """`path`, or an error that says how to make it."""
    if not path.exists():
        raise Missing(f"{path} is missing: {how}")
    return path


def kernel_for(processors: int) -> Path:
    """The kernel image for a machine with so many processors."""
    return wanted(KERNELS / "vmlinux-smp" if processors > 1 else KERNEL, "run make kernel")


def machine_file(machine: str) -> Path:
    """The file of the machine of this name."""
    return ROOT / "machines" / f"{machine}.toml"


def processors_of(machine: str) -> int:
    """How many processors the machine of this name has."""
    processors: int = tomllib.loads(machine_file(machine).read_text(encoding="utf-8")).get("processors", 1)
    return processors


def program(libc: str, name: str, script: str = "build") -> Path:
    """A program that a script of tests/programs builds from Debian's sources with this C library (glibc, musl)."""
    return wanted(PROGRAMS / "bin" / libc / name, f"run {BUILDS}tests/programs/{script}.sh")
