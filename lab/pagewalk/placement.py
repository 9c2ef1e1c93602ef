"""Placements: where the same run has its code, frames, stacks and heaps, chosen by a seed.

Caches and TLBs have few ways, so that what a path costs depends on which of its lines and pages share a set. None of
the papers says where its kernel's functions were, so that no figure may depend on where ours are. Seed 0 is the
placement that the build has made. Every other seed

- links the same objects with the kernel's functions and data in another order (kernel/test/shuffle.py),
- puts a file of some pages into the initial RAM file system, which moves every frame that is taken after it,
- gives programs some pages more of zeroed data, which moves their heaps,
- gives them a longer environment, which moves their stacks (Mytkowicz et al., ASPLOS 2009).

A kernel image that a person named cannot be linked again. There a seed moves frames, heaps and stacks too, the frames
by pages that init keeps, and links the programs with their parts in another order (user/libc/shuffle.py).
"""

from __future__ import annotations

import os
import random
import re
import struct
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import NotBuilt
from pagewalk.initramfs import Initramfs
from pagewalk.paths import home

_PAGE = 4096
_PAGES = 64
"""How many pages frames and heaps move at most: as many as a TLB's or a second-level cache's sets tell apart."""
_STACK_ALIGNMENT = 16

_MAKE = ("make", "--silent")

# ELF: System V ABI, chapters 4 and 5.
_EXECUTABLES = {b"\x7fELF\x01\x01": "<", b"\x7fELF\x01\x02": ">"}
"""How a file of 32 bits begins, and what `struct` calls the order of its bytes."""
_TYPE_EXECUTABLE = 2
_SEGMENT_LOAD = 1
_FLAG_WRITE = 2


_STACK_WORD = re.compile(r" stack=\d+(?= |$)")


@dataclass(frozen=True)
class Placement:
    """A placement: how far frames and heaps are moved, in pages, and stacks, in bytes."""

    seed: int
    frames: int
    heap: int
    stack: int

    @classmethod
    def of_seed(cls, seed: int) -> Placement:
        """The placement of a seed."""
        if seed == 0:
            return AS_BUILT
        chance = random.Random(seed)
        stack = _STACK_ALIGNMENT * chance.randrange(1, _PAGE // _STACK_ALIGNMENT)
        return cls(seed, chance.randrange(1, _PAGES), chance.randrange(1, _PAGES), stack)

    @property
    def init_options(self) -> list[str]:
        """init's own words, before the program's."""
        return [f"stack={self.stack}"] if self.stack else []

    def apply(self, archive: Initramfs) -> None:
        """Moves frames and heaps of the guest with this initial RAM file system."""
        if self.frames:
            archive.file("/etc/placement", bytes(_PAGE * self.frames))
        self._move_heaps(archive)

    def apply_to_disk(self, tree: Initramfs) -> None:
        """Moves frames, heaps and stacks of a guest with this RAM disk: its init reads /etc/placement (user/init)."""
        if self.seed:
            tree.file("/etc/placement", f"frames={self.frames}\nstack={self.stack}\n".encode())
        self._move_heaps(tree)

    def _move_heaps(self, archive: Initramfs) -> None:
        for path, entry in archive.entries.items():
            archive.entries[path] = replace(entry, data=self._moved(entry.data))

    def _moved(self, data: bytes) -> bytes:
        """The program with more zeroed data behind what it has, where its heap begins; anything else as it is."""
        order = _EXECUTABLES.get(data[:6])
        if not self.heap or order is None:
            return data
        (kind,) = struct.unpack_from(f"{order}H", data, 16)
        (table,) = struct.unpack_from(f"{order}I", data, 28)
        size, count = struct.unpack_from(f"{order}HH", data, 42)
        headers = [table + number * size for number in range(count)]
        writable = [
            header
            for header in headers
            if struct.unpack_from(f"{order}I", data, header)[0] == _SEGMENT_LOAD
            and struct.unpack_from(f"{order}I", data, header + 24)[0] & _FLAG_WRITE
        ]
        if kind != _TYPE_EXECUTABLE or not writable:
            return data
        last = max(writable, key=lambda header: int(struct.unpack_from(f"{order}I", data, header + 8)[0]))
        (memory,) = struct.unpack_from(f"{order}I", data, last + 20)
        moved = bytearray(data)
        struct.pack_into(f"{order}I", moved, last + 20, memory + self.heap * _PAGE)
        return bytes(moved)


def without(command_line: str) -> str:
    """The command line without the words of a placement: what all placements of a run have in common."""
    return _STACK_WORD.sub("", command_line)


AS_BUILT = Placement(seed=0, frames=0, heap=0, stack=0)


def _from(folder: Path, path: Path) -> str:
    """The path as seen from the folder: make splits names at a space, which the checkout's own path may have."""
    return os.path.relpath(path, folder)


def _made(image: Path, what: str, part: str, *words: str) -> Path:
    """The file that `make` in that folder of the checkout makes; a wheel has it or not."""
    if home().packaged:
        return home().built(image, what)
    folder = home().root / part
    made = subprocess.run(
        [*_MAKE, "-C", str(folder), *words, _from(folder, image)],
        env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise NotBuilt(f"{what} cannot be linked", hint=made.stderr.strip() or None)
    return image


def linked(folder: Path, name: str, placement: Placement, architecture: Architecture = POWERPC) -> Path:
    """The kernel image `name` of the build's `folder`, linked as the placement says; it is made if it is not there."""
    if placement.seed == 0:
        return folder / name
    image = folder / f"seed-{placement.seed}" / name
    words = (*architecture.make_words, f"BUILD={_from(home().root / 'kernel', folder)}")
    return _made(image, f"the kernel of seed {placement.seed}", "kernel", *words)


def linked_program(folder: Path, name: str, placement: Placement) -> Path:
    """The program `name` for old kernels of the build's `folder`, with its parts in the placement's order."""
    if placement.seed == 0:
        return folder / name
    program = folder / f"seed-{placement.seed}" / name
    return _made(
        program, f"{name} of seed {placement.seed}", "user", f"BUILD={_from(home().root / 'user', folder.parent)}"
    )
