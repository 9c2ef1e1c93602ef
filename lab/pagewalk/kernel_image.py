"""What a kernel image says about itself: the policies that it has.

The layout is that of `struct policy` in kernel/include/policy.h: 32-bit words in the order of the image's bytes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from pagewalk.errors import BadInput
from pagewalk.image_hash import SECTION

_WORDS = 7
"""How many words a `struct policy` has."""
_NAME, _CHOICES, _WHEN, _COUNTER_NAME, _NOW = 0, 1, 2, 4, 6
_WHEN_NAMES = ("any time", "quiesced", "boot")


class _Memory:
    """The image's bytes by their address when loaded."""

    def __init__(self, elf: ELFFile) -> None:
        self.mark = "<" if elf.little_endian else ">"
        """What `struct` calls the order of its bytes."""
        self._segments = [
            (segment["p_vaddr"], segment.data()) for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"
        ]

    def at(self, address: int) -> bytes:
        for start, data in self._segments:
            if start <= address < start + len(data):
                return bytes(data[address - start :])
        raise BadInput(f"the kernel's policy table points to 0x{address:08x}, where it loads nothing")

    def text(self, address: int) -> str:
        return self.at(address).split(b"\0", 1)[0].decode()

    def word(self, address: int) -> int:
        """The word at `address`; zero where the image loads nothing, since memory starts as zeros there."""
        for start, data in self._segments:
            if start <= address <= start + len(data) - 4:
                return int(struct.unpack_from(f"{self.mark}I", data, address - start)[0])
        return 0

    def words(self, address: int) -> Iterator[int]:
        """The words from `address` on, up to a zero."""
        data = self.at(address)
        for offset in range(0, len(data) - 3, 4):
            (word,) = struct.unpack_from(f"{self.mark}I", data, offset)
            if word == 0:
                return
            yield word


class KernelPolicy:
    """A policy as the kernel declares it; the first choice is the original kernel's, `default` is often the same."""

    def __init__(self, memory: _Memory, fields: tuple[int, ...]) -> None:
        self.name = memory.text(fields[_NAME])
        self.choices = tuple(memory.text(pointer) for pointer in memory.words(fields[_CHOICES]))
        self.default = self.choices[memory.word(fields[_NOW])]
        self.when = _WHEN_NAMES[fields[_WHEN]]
        self.counter = memory.text(fields[_COUNTER_NAME]) if fields[_COUNTER_NAME] else ""


def policies(image: bytes) -> list[KernelPolicy]:
    """The policies of a kernel image, by name; BadInput when it is no image of this kernel."""
    try:
        elf = ELFFile(io.BytesIO(image))
        section = elf.get_section_by_name(SECTION)
    except ELFError as error:
        raise BadInput(f"the kernel image is not an ELF file: {error}") from None
    if section is None:
        raise BadInput(f"the kernel image has no section {SECTION}: it is not a kernel of pagewalk")
    memory = _Memory(elf)
    table = section.data()
    layout = struct.Struct(f"{memory.mark}{_WORDS}I")
    whole = table[: len(table) // layout.size * layout.size]
    found = [KernelPolicy(memory, fields) for fields in layout.iter_unpack(whole)]
    return sorted(found, key=lambda policy: policy.name)
