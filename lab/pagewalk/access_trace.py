"""Every instruction of a run and its accesses, in a format that other tools read, with a side file for the rest.

docs/replay.md describes both.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from pagewalk import _machine, writing
from pagewalk.errors import BadInput, Interrupted
from pagewalk.paths import read_file
from pagewalk.runner import NO_LIMIT

FORMATS = ("champsim", "drmemtrace")
"""The formats that are written."""
SHARED_FROM = 0xC000_0000
"""Where the kernel's addresses begin, which all address spaces share: of our kernel and of Linux alike."""
_SIDE_MOST = 1 << 28
"""The size in bytes of the largest side file that is read."""
_SLICE = 20_000_000
"""Cycles between two calls of `watch`."""

Event = tuple[int, str, int]
"""What a side file tells: before which instruction, what (`switch`, `invalidate`, `flush`), and its number."""


@dataclass(frozen=True)
class Side:
    """What a side file tells: where shared addresses begin, the events in order, and pages of other sizes than 4 KB."""

    shared_from: int | None
    events: list[Event]
    large: list[tuple[int, int]]


def files_of(path: Path, format: str, processors: int) -> list[Path]:
    """The files of a trace: ChampSim reads one for each processor, whose number stands before the suffixes."""
    if format != "champsim" or processors == 1:
        return [path]
    stem, dot, suffixes = path.name.partition(".")
    return [path.with_name(f"{stem}.cpu{number}{dot}{suffixes}") for number in range(processors)]


def side_of(path: Path) -> Path:
    """The side file of a trace."""
    return path.with_name(f"{path.name}.side.jsonl")


@contextmanager
def _packed(path: Path) -> Iterator[IO[bytes]]:
    """The file to write, packed as its last suffix says."""
    packers: Mapping[str, Callable[[IO[bytes]], IO[bytes]]] = {
        ".xz": partial(lzma.LZMAFile, mode="w", preset=1),
        ".gz": lambda file: cast("IO[bytes]", gzip.GzipFile("", "wb", 6, file, 0)),
        ".bz2": partial(bz2.BZ2File, mode="w"),
    }
    with writing.replacing(path) as fresh, fresh.open("wb") as file:
        if (packer := packers.get(path.suffix)) is None:
            yield file
            return
        with packer(file) as stream:
            yield stream


def write(
    machine: _machine.Machine,
    path: Path,
    format: str,
    *,
    count: int,
    until: int,
    limit: int,
    about: Mapping[str, str],
    watch: Callable[[], bool] = lambda: True,
) -> tuple[str, int, str]:
    """Runs the machine on and writes `count` instructions at most, up to the cycle `until`, to the files of `files_of`;
    gives how the run stopped.

    `about` goes to the first line of the side file. BadInput says what cannot be written; Interrupted if `watch`
    returns False.
    """
    try:
        machine.record_accesses(format, count)
    except ValueError as error:
        raise BadInput(str(error)) from None
    try:
        with ExitStack() as opened:
            files = []
            for file in files_of(path, format, machine.processors):
                stream = opened.enter_context(_packed(file))
                beside = opened.enter_context(writing.replacing(side_of(file)))
                side = opened.enter_context(beside.open("w", encoding="utf-8"))
                side.write(json.dumps({**about, "format": format, "shared-from": SHARED_FROM}) + "\n")
                files.append((stream, side))
            while True:
                stop = machine.run(min(machine.cycles + _SLICE, until), limit)
                ended = machine.cycles >= until or machine.instructions >= limit or stop[0] not in ("batch", "limit")
                ended = ended or machine.recorded() >= count
                for (stream, side), (data, lines) in zip(files, machine.take_accesses(ended), strict=True):
                    stream.write(data)
                    side.writelines(f"{line}\n" for line in lines)
                if ended:
                    return stop
                if not watch():
                    raise Interrupted(f"interrupted while {path} was written: it is left as it was")
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while {path} was written: it is left as it was") from None
    except OSError as error:
        raise BadInput(f"{error.filename or path}: {error.strerror}") from None


def read_side(path: Path) -> Side:
    """What a side file tells; BadInput says what is wrong with it."""
    shared: int | None = None
    events: list[Event] = []
    large: list[tuple[int, int]] = []
    for number, line in enumerate(read_file(path, _SIDE_MOST).splitlines(), start=1):
        try:
            said = json.loads(line)
            if number == 1:
                shared = _number(said["shared-from"])
                continue
            at = _number(said["at"])
            if events and at < events[-1][0]:
                raise ValueError
            for kind in ("switch", "invalidate", "flush"):
                if kind in said:
                    events.append((at, kind, _number(said[kind])))
            if "page" in said:
                large.append(_page(said["page"], said["bytes"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadInput(
                f"{path}: line {number} is none of a side file", hint="docs/replay.md describes it"
            ) from None
    if shared is None:
        raise BadInput(f"{path}: is empty")
    return Side(shared, events, large)


def _page(address: object, size: object) -> tuple[int, int]:
    first, count = _number(address), _number(size)
    if not 0 < count < 1 << 32 or count & (count - 1) or first % count:
        raise ValueError
    return first, count


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= NO_LIMIT:
        raise TypeError
    return int(value)
