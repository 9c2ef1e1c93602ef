"""Profiles by call stack: speedscope's file format, and the difference of two."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pagewalk.errors import BadInput
from pagewalk.paths import read_file

KERNEL = "_[k]"
"""The end of the name of a kernel's function in a stack."""


@dataclass(frozen=True)
class StackRow:
    """The cycles of one call stack; `frames` from the outermost."""

    program: str
    frames: tuple[str, ...]
    cause: str
    cycles: int
    instructions: int


def stack_rows(found: Sequence[tuple[str, list[str], str, int, int]]) -> list[StackRow]:
    """What the machine recorded, as rows."""
    return [StackRow(row[0], tuple(row[1]), *row[2:]) for row in found]


def speedscope(rows: Sequence[StackRow], name: str) -> dict[str, Any]:
    """The profile in speedscope's file format (https://www.speedscope.app/file-format-schema.json).

    The outermost frame is the program. Weights are cycles: the format has no such unit, so they have none.
    """
    numbers: dict[str, int] = {}
    weights: dict[tuple[int, ...], int] = {}
    for row in rows:
        stack = tuple(numbers.setdefault(frame, len(numbers)) for frame in (row.program, *row.frames))
        weights[stack] = weights.get(stack, 0) + row.cycles
    samples = [stack for stack, weight in weights.items() if weight]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "pagewalk",
        "name": name,
        "shared": {"frames": [{"name": frame} for frame in numbers]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights[stack] for stack in samples),
                "samples": samples,
                "weights": [weights[stack] for stack in samples],
            }
        ],
    }


class _Model(BaseModel):
    model_config = ConfigDict(strict=True)


class _Frame(_Model):
    name: str


class _Shared(_Model):
    frames: list[_Frame]


class _Profile(_Model):
    samples: list[list[int]]
    weights: list[float]


class _Document(_Model):
    shared: _Shared
    profiles: list[_Profile]


def read_speedscope(path: Path) -> dict[tuple[str, ...], int]:
    """The weight of each stack in a speedscope file that `profile --flame FILE.json` wrote; BadInput for another."""
    try:
        document = _Document.model_validate_json(read_file(path))
    except ValidationError:
        raise BadInput(
            f"{path}: no speedscope file with samples", hint="make one: pagewalk profile --flame FILE.json -- PROG"
        ) from None
    names = [frame.name for frame in document.shared.frames]
    found: dict[tuple[str, ...], int] = {}
    for profile in document.profiles:
        if len(profile.samples) != len(profile.weights):
            raise BadInput(f"{path}: {len(profile.samples)} samples have {len(profile.weights)} weights")
        for sample, weight in zip(profile.samples, profile.weights, strict=True):
            if not all(0 <= number < len(names) for number in sample):
                raise BadInput(f"{path}: a sample names a frame that is not in the file")
            stack = tuple(names[number] for number in sample)
            found[stack] = found.get(stack, 0) + int(weight)
    return found


def by_function(stacks: Mapping[tuple[str, ...], int]) -> dict[tuple[str, str], int]:
    """Each function's own cycles, by program and name."""
    found: dict[tuple[str, str], int] = {}
    for stack, cycles in stacks.items():
        if stack:
            key = (stack[0], stack[-1])
            found[key] = found.get(key, 0) + cycles
    return found


@dataclass(frozen=True)
class Change:
    """A function's own cycles in two profiles."""

    program: str
    function: str
    before: int
    after: int

    @property
    def cycles(self) -> int:
        """How many cycles it gained."""
        return self.after - self.before


def difference(before: Mapping[tuple[str, ...], int], after: Mapping[tuple[str, ...], int]) -> list[Change]:
    """What changed, the largest change first; functions without a change are left out."""
    old, new = by_function(before), by_function(after)
    changes = [Change(*key, old.get(key, 0), new.get(key, 0)) for key in {**old, **new}]
    moved = [change for change in changes if change.cycles]
    return sorted(moved, key=lambda change: (-abs(change.cycles), change.program, change.function))


def write_speedscope(rows: Sequence[StackRow], name: str) -> str:
    """`speedscope` as text."""
    return json.dumps(speedscope(rows, name), separators=(",", ":"))
