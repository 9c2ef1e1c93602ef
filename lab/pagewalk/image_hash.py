"""The hash of a kernel image, for the key of a run: what only a source-level debugger reads is no part of ours."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

SECTION = ".policies"
"""The section of an image of our kernel that holds its policies; other kernels have none of this name."""
_MAGIC = b"\x7fELF\x01"
"""How an ELF file of 32 bits begins."""
_LOAD = 1
_SYMBOLS = 2
"""The type of a section of symbols; the field `link` names the section of their names."""
_OF_SECTIONS_AND_FILES = (3, 4)
"""Types of symbols that name no code and no data."""


def image_hash(image: bytes) -> str:
    """SHA-256 of the entry, loaded segments and symbols of an image of our kernel; of all bytes of another file.

    So our kernel has the same hash with and without debugging information, and another has that of `sha256sum`.
    """
    digest = hashlib.sha256()
    try:
        for part in _parts(image):
            digest.update(part)
    except (struct.error, IndexError, ValueError):
        return hashlib.sha256(image).hexdigest()
    return digest.hexdigest()


def hash_of_file(path: Path) -> str:
    """`image_hash` of a file, which is read again only when it has changed."""
    told = path.stat()
    return _hash_of_file(path, told.st_mtime_ns, told.st_size)


@lru_cache(maxsize=128)
def _hash_of_file(path: Path, _changed: int, _size: int) -> str:
    return image_hash(path.read_bytes())


def _parts(image: bytes) -> Iterator[bytes]:
    if not image.startswith(_MAGIC):
        raise IndexError
    order = "<" if image[5] == 1 else ">"
    entry, segments, sections = struct.unpack_from(f"{order}3I", image, 24)
    segment_size, segment_count, section_size, section_count, names = struct.unpack_from(f"{order}5H", image, 42)
    headers = [
        struct.unpack_from(f"{order}10I", image, sections + number * section_size) for number in range(section_count)
    ]
    if SECTION.encode() not in [_text(image, headers[names][4] + header[0]) for header in headers]:
        raise IndexError
    # A segment may hold the file's own header, which tells where the sections are.
    loaded = image[:32] + bytes(4) + image[36:46] + bytes(6) + image[52:]
    yield struct.pack(">I", entry)
    for number in range(segment_count):
        header = struct.unpack_from(f"{order}8I", image, segments + number * segment_size)
        kind, offset, size = header[0], header[1], header[4]
        if kind == _LOAD:
            yield repr((*header[2:], size)).encode()
            yield loaded[offset : offset + size]
    for header in headers:
        if header[1] == _SYMBOLS:
            yield repr(sorted(_symbols(image, order, header, headers[header[6]]))).encode()


def _text(image: bytes, start: int) -> bytes:
    return image[start : image.index(b"\0", start)]


def _symbols(
    image: bytes, order: str, table: tuple[int, ...], names: tuple[int, ...]
) -> Iterator[tuple[bytes, int, int, int]]:
    """Name, value, size and kind of every symbol that names code or data."""
    data = image[table[4] : table[4] + table[5]]
    for name, value, size, info, _, _ in struct.iter_unpack(f"{order}3I2BH", data):
        if info & 0xF not in _OF_SECTIONS_AND_FILES:
            yield _text(image, names[4] + name), value, size, info
