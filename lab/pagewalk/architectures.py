"""The architectures of the machines, and what the build makes for each: a kernel image and user programs.

PowerPC's are in `build/kernel` and `build/user`; those of an x86 are in `build/kernel-x86` and `build/user-x86`, which
`make x86` makes. RISC-V machines run other people's kernels only; `make riscv` makes programs for these.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pagewalk.errors import NotBuilt
from pagewalk.paths import home, read_file


@dataclass(frozen=True)
class Architecture:
    """An architecture: `order` and `machine`, for which `elf` is the name, are what an ELF header says of its
    executables.

    `bits` is the size of an address. `folder` ends the names of the build's folders, `make_words` are what its
    makefiles take, `target` makes all, and `programs` makes other people's programs. `board` is the one that our
    kernel has drivers for; empty if our kernel does not run on it. A kernel is started by `firmware`, if there is any.
    """

    name: str
    order: Literal["big", "little"]
    machine: int
    elf: str
    board: str
    folder: str
    make_words: tuple[str, ...]
    target: str
    programs: str
    compile_hint: str
    bits: int = 32
    firmware: Path | None = None

    def firmware_bytes(self) -> bytes:
        """The firmware; empty if the architecture has none, NotBuilt if this computer has none."""
        if self.firmware is None:
            return b""
        if not self.firmware.is_file():
            raise NotBuilt(f"{self.firmware} is not there", hint="`./bootstrap test` installs Debian's package opensbi")
        return read_file(self.firmware)

    @property
    def words(self) -> str:
        """What its executables are for, in words."""
        return f"{self.order}-endian {self.name}"

    @property
    def kernel(self) -> Path:
        """Our kernel's image for one processor."""
        return self.image(1)

    def image(self, processors: int) -> Path:
        """Our kernel's image for so many processors."""
        return home().build / f"kernel{self.folder}" / ("vmlinux" if processors == 1 else "vmlinux-smp")

    @property
    def user(self) -> Path:
        """The folder of the user programs."""
        return home().build / f"user{self.folder}"

    def built(self, path: Path, what: str) -> Path:
        """`path`, which the build must have made; NotBuilt names the command that makes it."""
        return home().built(path, f"{what} for {self.name}" if self.folder else what, self.target)


POWERPC = Architecture(
    name="PowerPC",
    order="big",
    machine=20,
    elf="EM_PPC",
    board="prep",
    folder="",
    make_words=(),
    target="make",
    programs="make programs",
    compile_hint="compile it with: powerpc-linux-gnu-gcc -static -O2 -o prog prog.c",
)
X86 = Architecture(
    name="x86",
    order="little",
    machine=3,
    elf="EM_386",
    board="pc",
    folder="-x86",
    make_words=("ARCH=x86",),
    target="make x86",
    programs="PROGRAMS_ARCH=x86 tests/programs/build.sh",
    compile_hint="compile it with: build/programs-x86/musl-sysroot/bin/musl-gcc -static -O2 -o prog prog.c "
    "(`make x86` makes this compiler driver)",
)
RISCV = Architecture(
    name="RISC-V",
    order="little",
    machine=243,
    elf="EM_RISCV",
    board="",
    folder="-riscv",
    make_words=("ARCH=riscv",),
    target="make riscv",
    programs="make programs",
    compile_hint="compile it with: riscv64-linux-gnu-gcc -static -O2 -o prog prog.c",
    bits=64,
    firmware=Path("/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin"),
)
ALL = (POWERPC, X86)
"""Those that our kernel runs on."""
KNOWN = (*ALL, RISCV)
"""Those of all machines."""

_X86_CORES = ("i486", "p6")
_RISCV_CORES = ("rv64gc",)


def named(name: str) -> Architecture:
    """The architecture of that name; KeyError if there is none."""
    return {architecture.name: architecture for architecture in KNOWN}[name]


def of_core(kind: str) -> Architecture:
    """The architecture of a machine by its core's kind (`core.kind`), which the machine itself checks."""
    if kind in _RISCV_CORES:
        return RISCV
    return X86 if kind in _X86_CORES else POWERPC
