"""Traces that other tools have recorded, replayed through the TLBs, walkers and caches of a machine.

ChampSim's records, DynamoRIO's drmemtrace and the lines of Valgrind's lackey are read piece by piece, packed or not.
docs/replay.md has the rules.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pagewalk import _machine, access_trace
from pagewalk.errors import BadInput, Interrupted
from pagewalk.runner import NO_LIMIT, ResolvedMachine

FORMATS = ("champsim", "cloudsuite", "drmemtrace", "lackey")
"""The formats that are read."""
_PIECE = 1 << 20
"""Bytes that are read at a time."""
_HEADER = (25).to_bytes(2, "little") + bytes(2)
"""How a drmemtrace begins: type and size of its first entry."""


@dataclass(frozen=True)
class Replayed:
    """What a replay counted: `totals` of the trace's records, and the machine's counters. `clock` is in Hz."""

    format: str
    totals: Mapping[str, int]
    counters: Mapping[str, int]
    clock: int


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Errors of files and of what they hold, as sentences that name the file."""
    try:
        yield
    except (lzma.LZMAError, zlib.error, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{name}: damaged, or cut: {error}") from None
    except OSError as error:
        why = error.strerror or f"damaged, or cut: {error}"
        raise BadInput(f"{name}: {why}") from None
    except _machine.ConfigurationError:
        raise
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from None


def _members(path: Path) -> Iterator[IO[bytes]]:
    """The parts of a zip file, in order: DynamoRIO writes a long trace as several.

    BadInput for an encrypted part, and for one that is packed in a way that zipfile does not know: that is when it
    raises a RuntimeError.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with archive.open(member) as stream:
                        yield stream
    except RuntimeError as error:
        raise BadInput(f"{path}: {error}") from None


def _streams(path: Path) -> Iterator[IO[bytes]]:
    """What a file holds, unpacked. Its first bytes tell how it was packed."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with path.open("rb") as file:
        first = file.peek(6)[:6]
        packed: Mapping[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
            b"\xfd7zXZ\0": lzma.LZMAFile,
            b"\x1f\x8b": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
            b"BZh": bz2.BZ2File,
        }
        if first.startswith(b"PK\x03\x04"):
            yield from _members(path)
            return
        for magic, unpack in packed.items():
            if first.startswith(magic):
                with unpack(file) as stream:
                    yield stream
                return
        yield file


def _pieces(path: Path) -> Iterator[bytes]:
    for stream in _streams(path):
        while piece := stream.read(_PIECE):
            yield piece


def _format(path: Path, first: bytes) -> str:
    """The format of a trace by its name and its first bytes."""
    if first.startswith(_HEADER):
        return "drmemtrace"
    if first.startswith((b"==", b"I  ", b" L ", b" S ", b" M ")):
        return "lackey"
    if any("champsim" in suffix for suffix in path.suffixes):
        return "champsim"
    raise BadInput(f"{path}: neither its name nor its beginning tells its format", hint="--format NAME tells it")


def replay(
    path: Path,
    machine: ResolvedMachine,
    *,
    format: str | None = None,
    pages: Sequence[str] = (),
    shared_from: int | None = None,
    skip: int = 0,
    warmup: int = 0,
    count: int = NO_LIMIT,
    side: Path | None = None,
    watch: Callable[[int], bool] = lambda _: True,
) -> Replayed:
    """Replays the trace in a file, or on standard input for `-`.

    `pages` are rules such as `4M` or `0x400000-0x800000=4M`. Addresses from `shared_from` on belong to all address
    spaces. The first `skip` instructions are left out, the next `warmup` are not counted, and `count` are counted at
    most. `side` is the side file of a trace of ours: its switches and invalidations are done, `shared_from` is its, and
    its large pages are, if the machine has their sizes and no rule of `pages` says otherwise.
    `watch` is called with the number of bytes read, after each megabyte; Interrupted if it returns False.
    BadInput says what is wrong with the trace, or what the machine has no place for.
    """
    name = "standard input" if str(path) == "-" else str(path)
    told = access_trace.Side(shared_from, [], [])
    if side is not None:
        told = access_trace.read_side(side)
        shared_from = told.shared_from if shared_from is None else shared_from
    with _refusals(name):
        pieces = _pieces(path)
        first = next(pieces, b"")
        if not first:
            raise BadInput(f"{name}: is empty")
        format = format or _format(path, first)
        try:
            run = _machine.Replay(
                *(machine.config, format, list(pages), shared_from, skip, warmup, count, told.events, told.large)
            )
        except _machine.ConfigurationError as error:
            raise BadInput(str(error)) from None
        except ValueError as error:
            raise BadInput(str(error)) from None
        read, whole = 0, True
        piece: bytes | None = first
        while piece is not None:
            read += len(piece)
            if not run.feed(piece):
                whole = False
                break
            if not watch(read):
                raise Interrupted("the replay was ended")
            piece = next(pieces, None)
        run.finish(whole)
        return Replayed(format, run.totals(), run.counters(), machine.clock)


__all__ = ["FORMATS", "Replayed", "replay"]
