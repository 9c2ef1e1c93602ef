"""Subjects: kernels of other people that the lab builds from Debian's sources, `subjects/*/subject.toml`.

A subject is a source with variants, such as `linux-6.1-bare`. A variant is built once for each platform, a board with
the processors that it has. The finished kernels are in a cache that all checkouts share.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pagewalk.errors import BadInput, NotBuilt, unknown
from pagewalk.paths import home, read_file, user_folder

IMAGE = "vmlinux"
RECORD = "build.json"


Architecture = Literal["powerpc", "i386", "riscv"]
SystemKind = Literal["linux", "mach"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Model):
    """Where the source comes from. `unused` is not unpacked.

    A Linux is in an archive inside one of Debian's binary packages. A Mach is the archive itself of a source package.
    """

    package: str
    version: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    archive: str
    unused: list[str] = []


class Tool(_Model):
    """Debian's binary package of a program that compiles the source, for the architecture that has it."""

    package: str
    version: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    architecture: str


class Boot(_Model):
    """Words of the kernel's command line."""

    words: list[str]


class Platform(_Model):
    """A board, and the machines that a kernel for it runs on: their cores, and at most so many processors.

    `objects` names the folder of objects, which several platforms may share. `architecture` is Linux's name of it.
    """

    board: str
    cores: list[str]
    config: list[str]
    objects: str
    processors: int = 1
    architecture: Architecture = "powerpc"

    def fits(self, machine: Needs) -> bool:
        """Whether the machine, or its board if one was chosen, is one of these."""
        if machine.core not in self.cores or machine.processors > self.processors:
            return False
        return machine.board in (None, self.board)


class Edit(_Model):
    """A change of the source: the statement that becomes the first of a function."""

    file: str
    function: str
    first: str


class Variant(_Model):
    """A configuration."""

    about: str
    platforms: list[str]
    config: list[str]
    edits: list[Edit] = []


class Record(_Model):
    """What a build wrote about its kernel: its name, Debian's package and version, the compiler, the image's hash."""

    kernel: str
    package: str
    version: str
    compiler: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _File(_Model):
    title: str
    system: SystemKind = "linux"
    source: Source
    tool: Tool | None = None
    boot: Boot
    platforms: dict[str, Platform]
    variants: dict[str, Variant]


@dataclass(frozen=True)
class Needs:
    """What a kernel must fit: a machine's core and number of processors. `board` is None if any will do."""

    machine: str
    core: str
    processors: int
    board: str | None


def needs(name: str, config: str, board: str | None) -> Needs:
    """What the machine with this whole file needs."""
    raw = tomllib.loads(config)
    return Needs(name, raw["core"]["kind"], raw.get("processors", 1), board)


@dataclass(frozen=True)
class Kernel:
    """A variant for a platform: something to build, or built."""

    family: str
    folder: Path
    source: Source
    boot: Boot
    variant_name: str
    variant: Variant
    platform_name: str
    platform: Platform
    system: SystemKind = "linux"
    tool: Tool | None = None

    @property
    def subject(self) -> str:
        """The name that stands for the variant on every platform."""
        return f"{self.family}-{self.variant_name}"

    @property
    def name(self) -> str:
        """The kernel's own name."""
        return f"{self.subject}-{self.platform_name}"

    @property
    def configuration(self) -> str:
        """The configuration's symbols with their values; the rest is `n`."""
        symbols: dict[str, str] = {}
        for part in ("common.config", *self.platform.config, *self.variant.config):
            for line in (self.folder / part).read_text(encoding="utf-8").splitlines():
                symbol, equals, value = line.strip().partition("=")
                if equals and not symbol.startswith("#"):
                    symbols[symbol] = value
        return "".join(f"{symbol}={value}\n" for symbol, value in sorted(symbols.items()))

    @property
    def key(self) -> str:
        """Stands for everything beside the source's version and the compiler that decides what is built."""
        edits = [edit.model_dump() for edit in self.variant.edits]
        own = [path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.c"))]
        parts = [self.configuration, edits, *([own] if own else [])]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    def place(self, version: str) -> Path:
        """The folder of the finished kernel, made of that version of the source."""
        return (
            cache_folder() / self.family / version / "kernels" / f"{self.variant_name}-{self.platform_name}-{self.key}"
        )

    def built(self) -> Path | None:
        """The folder of the finished kernel: of the pinned version, else of the latest other one; None without any."""
        pinned = self.place(self.source.version)
        others = (cache_folder() / self.family).glob(f"*/kernels/{pinned.name}/{RECORD}")
        for record in (pinned / RECORD, *sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)):
            if finished(record.parent) is not None:
                return record.parent
        return None

    def record(self) -> Record | None:
        """What the build wrote about the finished kernel; None if there is none."""
        folder = self.built()
        return finished(folder) if folder else None

    def image(self) -> bytes:
        """The finished kernel; NotBuilt says what to type."""
        folder = self.built()
        if folder is None:
            raise NotBuilt(
                f"the kernel {self.name} is not built", hint=f"`pagewalk subjects build {self.name}` takes some minutes"
            )
        return read_file(folder / IMAGE)

    @property
    def causes(self) -> str:
        """Which of its functions belong to which cause: the text of the architecture's file; empty if there is none."""
        names = {"powerpc": "causes.toml", "i386": "causes-i386.toml", "riscv": "causes-riscv.toml"}
        path = self.folder / names[self.platform.architecture]
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def finished(folder: Path) -> Record | None:
    """The record of a finished kernel's folder; None if record or image are missing or damaged."""
    if not (folder / RECORD).is_file() or not (folder / IMAGE).is_file():
        return None
    try:
        return Record.model_validate_json((folder / RECORD).read_bytes())
    except (ValidationError, OSError):
        return None


def cache_folder() -> Path:
    """Where kernels are kept for all checkouts: `pagewalk/subjects` in the user's cache."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "subjects"


def load(path: Path) -> list[Kernel]:
    """The kernels that a subject.toml describes; BadInput names the file and what is wrong."""
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        return [
            Kernel(
                path.parent.name, path.parent, file.source, file.boot, name, variant, platform,
                file.platforms[platform], file.system, file.tool,
            )
            for name, variant in file.variants.items()
            for platform in variant.platforms
        ]  # fmt: skip
    except ValidationError as error:
        problem = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg'].lower()}") from None
    except KeyError as error:
        raise BadInput(f"{path}: there is no platform {error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


@cache
def all_kernels() -> tuple[Kernel, ...]:
    """Every kernel of every subject."""
    return tuple(kernel for path in sorted((home().root / "subjects").glob("*/subject.toml")) for kernel in load(path))


def names() -> list[str]:
    """The names of subjects, then those of single kernels."""
    kernels = all_kernels()
    return [*dict.fromkeys(kernel.subject for kernel in kernels), *(kernel.name for kernel in kernels)]


def is_subject(name: str) -> bool:
    """Whether `name` is meant as a subject: no file has this name, and a subject begins as it does."""
    families = {kernel.family.partition("-")[0] for kernel in all_kernels()}
    return not Path(name).exists() and name.partition("-")[0] in families


def find(name: str) -> list[Kernel]:
    """The kernels of a subject, or the one kernel of that name; the nearest name is suggested."""
    found = [kernel for kernel in all_kernels() if name in (kernel.subject, kernel.name)]
    if not found:
        raise unknown("subject", name, names(), listing="pagewalk subjects")
    return found


def choose(name: str, machine: Needs) -> Kernel:
    """The kernel of that name which fits the machine; BadInput says which machines would."""
    known = all_kernels()
    fitting = {word for kernel in known if kernel.platform.fits(machine) for word in (kernel.subject, kernel.name)}
    if fitting and not any(name in (kernel.subject, kernel.name) for kernel in known):
        raise unknown("subject", name, fitting, listing="pagewalk subjects")
    kernels = find(name)
    for kernel in kernels:
        if kernel.platform.fits(machine):
            return kernel
    number = f"{machine.processors} processors, " if machine.processors > 1 else ""
    board = f"the board {machine.board}" if machine.board else "any board"
    raise BadInput(
        f"no kernel of {name} is for {machine.machine} ({machine.core}, {number}{board})",
        hint="it runs on: " + "; ".join(_told(kernels)),
    )


def _told(kernels: Iterable[Kernel]) -> list[str]:
    return [
        f"{kernel.platform.board} ({', '.join(kernel.platform.cores)}"
        + (f"; up to {kernel.platform.processors} processors)" if kernel.platform.processors > 1 else ")")
        for kernel in kernels
    ]
