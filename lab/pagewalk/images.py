"""Kernel images of a person's own. An experiment names each by its role: `--image v2.4=PATH`.

The images are other people's work and no part of pagewalk. What a result keeps of one is its SHA-256, its banner and
facts of its configuration.
"""

from __future__ import annotations

import hashlib
import io
import re
import tomllib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from pagewalk import architectures
from pagewalk.architectures import Architecture
from pagewalk.errors import BadInput, unknown
from pagewalk.paths import read_file

if TYPE_CHECKING:
    from pagewalk.experiment_file import Wanted

_BANNER = re.compile(rb"Linux version (\d+(?:\.\d+)+)([^\s\0]*)([^\0\n]*)")
_BUILDER = re.compile(r" \([^()\s]*@[^()\s]*\)")
"""Who built the kernel, and on which computer."""
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x02\x21\x4c\x18": "lz4",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x89LZO": "lzo",
    b"\x5d\0\0": "lzma",
    b"\x27\x05\x19\x56": "U-Boot's mkimage",
}
_RAW_MAGIC, _RAW_AT = b"RSC\x05", 0x38
"""What the header of a RISC-V Linux's Image has, and where (Linux, Documentation/riscv/boot-image-header.rst)."""
_CONFIG_MARK = b"IKCFG_ST"
"""What precedes the compressed configuration in a kernel with CONFIG_IKCONFIG (Linux, kernel/configs.c)."""
_CONFIG_MOST = 4 << 20
_OPTIONS_TOLD = 3
_OPTION = re.compile(r"^(?:# )?(CONFIG_\w+)(?:=(.*)| is not set)$", re.MULTILINE)
_CAUSES = Path(__file__).with_name("linux-2-causes.toml")
_BAD_ELF = (ELFError, UnicodeDecodeError)
"""What the ELF reader raises for a damaged file."""
_NAME_VMLINUX = "name the kernel's own ELF file, `vmlinux` in its build folder"


@dataclass(frozen=True)
class Image:
    """An ELF image of a Linux, or an Image of a RISC-V Linux, which has no sections.

    `configuration` has the values of its options, and is empty if they are not known.
    """

    path: str
    data: bytes = field(repr=False)
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    architecture: Architecture = architectures.POWERPC

    @cached_property
    def sha256(self) -> str:
        """The image's hash."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def banner(self) -> str:
        """What the kernel says of itself, without who built it; empty if it is no Linux."""
        found = _BANNER.search(self.data)
        if found is None:
            return ""
        return _BUILDER.sub("", found[0].decode("utf-8", "replace")).strip()

    @property
    def version(self) -> str:
        """Its version, as in `2.4.29`; empty if it is no Linux."""
        found = _BANNER.search(self.data)
        return found[1].decode() if found else ""

    @property
    def is_old(self) -> bool:
        """Whether it is too old for programs with a C library of today, which want Linux 3.2."""
        return self.is_older_than((3, 2))

    @property
    def wants_fads(self) -> bool:
        """Whether it is a Linux of arch/ppc for an MPC8xx, which is handed a board information structure.

        Such a kernel names its interrupt controller (arch/ppc/kernel/ppc8xx_pic.c of 2.2 to 2.6). One of arch/powerpc,
        which may do so too, looks in the device tree for its initrd (arch/powerpc/kernel/prom.c).
        """
        return self.is_old and b" 8xx SIU " in self.data and b"linux,initrd-start\0" not in self.data

    def is_older_than(self, version: tuple[int, ...]) -> bool:
        """Whether it is a Linux before that version."""
        return bool(self.version) and tuple(map(int, self.version.split("."))) < version

    @cached_property
    def _sections(self) -> Sequence[Section]:
        return () if _is_raw(self.data) else _parsed(self.path, self.data)[1]

    def has_section(self, name: str) -> bool:
        """Whether it has a section of that name."""
        return any(section.name == name for section in self._sections)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names in its symbol table."""
        try:
            tables = [section for section in self._sections if isinstance(section, SymbolTableSection)]
            names = (symbol.name for table in tables for symbol in table.iter_symbols())
            # A compiler calls the parts of a function `name.part.0`.
            return frozenset(part for name in names for part in (name, name.partition(".")[0]))
        except (BadInput, *_BAD_ELF):
            return frozenset()

    def causes(self) -> str:
        """Which of its functions belong to which cause; empty for another kernel than a Linux, or without symbols."""
        if not self.version:
            return ""
        lines = []
        for cause, names in tomllib.loads(_CAUSES.read_text(encoding="utf-8")).items():
            held = [name for name in names["symbols"] if set(name.split("..")) <= self.symbols]
            if held:
                lines += [f"[{cause}]", f"symbols = {held}".replace("'", '"')]
        return "".join(f"{line}\n" for line in lines)

    def facts(self, options: Iterable[str]) -> dict[str, str]:
        """What the configuration says of these options; nothing if it is not known."""
        return {option: self.configuration.get(option, "n") for option in options} if self.configuration else {}


def _is_raw(data: bytes) -> bool:
    return data[_RAW_AT : _RAW_AT + len(_RAW_MAGIC)] == _RAW_MAGIC


def _parsed(path: str, data: bytes) -> tuple[ELFFile, list[Section]]:
    """The ELF file and its sections; BadInput if it is none."""
    try:
        elf = ELFFile(io.BytesIO(data))
        # The table of sections stands at the end of the file, so this fails for one that was cut off.
        return elf, list(elf.iter_sections())
    except _BAD_ELF as error:
        what = "a damaged or cut off" if data.startswith(b"\x7fELF") else "not an"
        raise BadInput(f"{path} is {what} ELF file: {error}", hint=_NAME_VMLINUX) from None


def read(path: Path, configuration: Path | None = None) -> Image:
    """The image in that file; BadInput says what else it is. The configuration is a `.config`, or in the image."""
    if path.is_dir():
        raise BadInput(f"{path} is a directory", hint=_NAME_VMLINUX)
    data = read_file(path)
    if not data:
        raise BadInput(f"{path} is empty", hint=_NAME_VMLINUX)
    for magic, name in _COMPRESSED.items():
        if data.startswith(magic):
            raise BadInput(f"{path} is compressed ({name})", hint=_NAME_VMLINUX)
    architecture = architectures.RISCV if _is_raw(data) else _architecture(path, data)
    text = read_file(configuration, _CONFIG_MOST).decode("utf-8", "replace") if configuration else _embedded(data)
    options = {name: value or "n" for name, value in _OPTION.findall(text)}
    if configuration and not options:
        raise BadInput(f"{configuration} is no configuration of a kernel: no line CONFIG_...=")
    return Image(str(path), data, options, architecture)


def _architecture(path: Path, data: bytes) -> Architecture:
    """Which machines an ELF file is for; BadInput if it is no kernel."""
    elf, _ = _parsed(str(path), data)
    order = "little" if elf.little_endian else "big"
    found_of = (elf.elfclass, order, elf["e_machine"])
    known = (one for one in architectures.KNOWN if found_of == (one.bits, one.order, one.elf))
    architecture = next(known, None)
    if architecture is None:
        found = f"a {elf.elfclass}-bit {order}-endian file for {elf.get_machine_arch()}"
        raise BadInput(
            f"{path} is no kernel for a big-endian 32-bit PowerPC, a 32-bit x86 or a 64-bit RISC-V: it is {found}"
        )
    if elf["e_type"] != "ET_EXEC":
        raise BadInput(f"{path} is an ELF file that is not linked to run at fixed addresses", hint=_NAME_VMLINUX)
    return architecture


def with_symbols(name: str, data: bytes, values: Mapping[str, int]) -> bytes:
    """The kernel with these values in its variables, which must have them in the file; BadInput says what is wrong."""
    elf, sections = _parsed(name, data)
    tables = [section for section in sections if isinstance(section, SymbolTableSection)]
    changed = bytearray(data)
    for wanted, value in values.items():
        found = [symbol for table in tables for symbol in table.get_symbol_by_name(wanted) or ()]
        if not found:
            raise unknown(
                f"symbol of {name}", wanted, {symbol.name for table in tables for symbol in table.iter_symbols()}
            )
        start, size, where = found[0]["st_value"], found[0]["st_size"], found[0]["st_shndx"]
        section = sections[where] if isinstance(where, int) else None
        if len(found) > 1 or section is None or section["sh_type"] == "SHT_NOBITS" or size not in (1, 2, 4, 8):
            raise BadInput(f"{name}: {wanted} is no variable of 1, 2, 4 or 8 bytes whose value is in the file")
        if value >> (8 * size):
            raise BadInput(f"{name}: {wanted} has {size} bytes, and {value} does not fit")
        at = section["sh_offset"] + start - section["sh_addr"]
        changed[at : at + size] = value.to_bytes(size, "little" if elf.little_endian else "big")
    return bytes(changed)


def check(image: Image, architecture: Architecture) -> None:
    """Raises BadInput if the image is not for machines of that architecture."""
    if image.architecture != architecture:
        raise BadInput(
            f"{image.path} is a kernel for {image.architecture.name}, and the machine is {architecture.words}",
            hint="-m names another machine (pagewalk machines)",
        )


def wrong(image: Image, wanted: Wanted) -> str | None:
    """Why the image is not the one that the experiment wants; None if it is, as far as is known."""
    if not f"{image.version}.".startswith(f"{wanted.version.removesuffix('.')}."):
        said = f"says {image.banner!r}" if image.banner else "has no banner of a Linux"
        return f"{image.path} {said}, and the experiment wants {wanted.kernel}"
    if not image.symbols:
        return f"{image.path} has no symbols to charge its cycles to causes by: name the vmlinux before it was stripped"
    for option, value in wanted.options.items():
        if image.configuration and (found := image.configuration.get(option, "n")) != value:
            return f"{image.path} is configured with {option}={found}, and the experiment wants {option}={value}"
    return None


def differ(image: Image, other: Image) -> str | None:
    """In what the two differ beside a switch of their source; None if in nothing, as far as is known."""
    if image.version != other.version:
        return f"{image.path} is Linux {image.version or 'of no known version'}, and {other.path} {other.version}"
    mine, theirs = image.configuration, other.configuration
    if not mine or not theirs:
        return None
    found = [
        f"{name}={mine.get(name, 'n')} against {theirs.get(name, 'n')}"
        for name in sorted({*mine, *theirs})
        if mine.get(name, "n") != theirs.get(name, "n")
    ]
    if not found:
        return None
    more = f" and {len(found) - _OPTIONS_TOLD} more" if len(found) > _OPTIONS_TOLD else ""
    return f"{image.path} and {other.path} differ in {', '.join(found[:_OPTIONS_TOLD])}{more}"


def _embedded(data: bytes) -> str:
    """The configuration that the image holds; empty if there is none."""
    start = data.find(_CONFIG_MARK + b"\x1f\x8b")
    if start < 0:
        return ""
    try:
        text = zlib.decompressobj(wbits=31).decompress(data[start + len(_CONFIG_MARK) :], _CONFIG_MOST)
    except zlib.error:
        return ""
    return text.decode("utf-8", "replace")


def _pairs(words: Sequence[str], option: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for word in words:
        role, equals, path = word.partition("=")
        if not (role and equals and path):
            raise BadInput(f"{word!r} names no role and file", hint=f"write {option} ROLE=PATH")
        if role in found:
            raise BadInput(f"the role {role!r} is named twice: {found[role]} and {path}")
        found[role] = Path(path)
    return found


def from_words(words: Sequence[str], configurations: Sequence[str], roles: Iterable[str]) -> dict[str, Image]:
    """The images of `ROLE=PATH` words, by role, with their configurations; the roles must be among these."""
    known = list(dict.fromkeys(roles))
    paths, configured = _pairs(words, "--image"), _pairs(configurations, "--image-config")
    for role in (*paths, *configured):
        if not known:
            raise BadInput("none of these experiments takes an image", hint="leave out --image")
        if role not in known:
            raise unknown("role of an image", role, known)
    for role in configured:
        if role not in paths:
            raise BadInput(f"a configuration for {role!r}, but no image", hint=f"add --image {role}=PATH")
    return {role: read(path, configured.get(role)) for role, path in paths.items()}
