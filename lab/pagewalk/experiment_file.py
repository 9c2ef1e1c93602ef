"""What an experiment's file may say, and the rows that it stands for. docs/experiments.md explains the keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pagewalk.errors import BadInput, nearest
from pagewalk.policies import NAMED
from pagewalk.programs import Root
from pagewalk.runner import NO_LIMIT, BootProtocol

Better = Literal["lower", "higher", "neither"]
Bound = Literal["equal", "at least", "at most", "nearly none"]

CONTEXT_SWITCHES = ((2, 0), (2, 16), (8, 0), (8, 16), (16, 16))
"""Processes and KB of each: what every row of the program `context-switch` is measured with."""
PRINTED_SWITCH = (2, 0)
"""The setting that a published context switch is compared with, if the row does not say how many processes: the first
that LmBench prints. The others are shown beside it (docs/experiments.md, "Context switches")."""


NOTHING = "nothing"
"""The word of a row that has no setting before, or no published figure."""

MOST_SWEPT = 1000
"""The most rows that one row of a file may stand for."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Setting(_Model):
    """One side of a comparison: policies by name, or a named set of them, other words of the kernel's command line,
    keys of the machine, the program's arguments after the row's own, the kernel image, and the words a table heads its
    column with. `subject` is the kernel of other people that takes the place of ours, and `symbols` are variables of it
    that have another value when it is loaded; `image` is the role of one that the person who runs the experiment names,
    and `sysctl` is what its init writes to files of /proc/sys, after what the image's own says."""

    label: str
    policies: dict[str, str] = {}
    boot: dict[str, str] = {}
    keys: dict[str, str] = {}
    arguments: list[str] = []
    kernel: str = "vmlinux"
    named: str | None = None
    subject: str | None = None
    symbols: dict[str, Annotated[int, Field(ge=0)]] = {}
    image: str | None = None
    sysctl: dict[str, str] = {}

    @property
    def chosen(self) -> dict[str, str]:
        """The policies, after those of the named set."""
        return {NAMED: self.named, **self.policies} if self.named else self.policies

    def leaving_out(self, names: Collection[str]) -> Setting:
        """The setting without the policies of these names."""
        kept = {name: value for name, value in self.policies.items() if name not in names}
        return self if kept == self.policies else self.model_copy(update={"policies": kept})


class Wanted(_Model):
    """A kernel image that a person must have to run the experiment: which kernel it is, how its `version` begins, and
    what its configuration must say. Then how it is run: its board and the protocol that starts it, words of the command
    line, what its root file system is, how many MB are free on a RAM disk, and what init writes to files of /proc/sys.
    `facts` are options whose values the result keeps besides. `pair` is the role of an image that must differ in one
    switch of the source alone: in neither the version nor, as far as it is known, the configuration.
    """

    kernel: str
    version: str
    pair: str | None = None
    options: dict[str, str] = {}
    facts: list[str] = []
    board: str
    protocol: BootProtocol
    words: list[str] = []
    root: Root = "ext2"
    room: Annotated[int, Field(ge=1, le=56)] = 8
    sysctl: dict[str, str] = {}

    @property
    def recorded(self) -> list[str]:
        """The options whose values a result keeps."""
        return [*self.options, *self.facts]


class MachineEntry(_Model):
    """A machine to run on, with the claims that its columns are compared with. `without` names policies that its core
    does not have: its settings leave them out."""

    name: str
    claim: str | None = None
    baseline_claim: str | None = None
    baseline_machine: str | None = None
    before: str | None = None
    after: str | None = None
    without: list[str] = []


class RowEntry(_Model):
    """A row of the table; it may stand for several."""

    name: str
    program: str = ""
    constant: str | None = None
    arguments: list[str] = []
    keys: dict[str, str] = {}
    sweep: dict[str, Annotated[list[str | int], Field(min_length=1)]] = {}
    files: list[str] = []
    image: str | None = None
    sample: Annotated[int, Field(ge=0, le=NO_LIMIT)] = 0
    row: str | None = None
    curve: str | None = None
    figure: str = "us"
    unit: str
    better: Better
    bound: Bound = "equal"
    saves: bool = False
    complement: bool = False
    input: str | None = None
    claim: str | None = None
    floor: float | None = None
    item: int | None = None
    machines: list[str] | None = None
    before: str | None = None
    after: str | None = None
    counterpart: str | None = None
    composite: str | None = None
    cause: str | None = None
    every_setting: bool = False


class _ElsewhereEntry(_Model):
    label: str
    claim: str
    why: str


class File(_Model):
    """A whole file."""

    title: str
    document: str
    section: str
    about: str
    base: str | None = None
    settings: dict[str, Setting]
    images: dict[str, Wanted] = {}
    machine: Annotated[list[MachineEntry], Field(min_length=1)]
    row: Annotated[list[RowEntry], Field(min_length=1)]
    elsewhere: list[_ElsewhereEntry] = []


_MODELS: dict[str, type[_Model]] = {
    "settings": Setting,
    "images": Wanted,
    "machine": MachineEntry,
    "row": RowEntry,
    "elsewhere": _ElsewhereEntry,
}


def given(arguments: Iterable[str]) -> dict[str, str]:
    """A program's arguments by name."""
    return {name: value for name, _, value in (argument.partition("=") for argument in arguments)}


def problems(error: ValidationError) -> str:
    """What is wrong with a file: each place with what it may say."""
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            key = str(problem["loc"][-1])
            close = nearest(key, (_MODELS[str(problem["loc"][0])] if len(problem["loc"]) > 1 else File).model_fields)
            lines.append(f"{place}: unknown key" + (f", did you mean {close!r}?" if close else ""))
        else:
            lines.append(f"{place}: {problem['msg'].lower()}")
    return "; ".join(lines)


def _filled(value: Any, point: Mapping[str, str]) -> Any:
    """The value with the `{name}` in its words replaced by the point's values."""
    if isinstance(value, str):
        for name, text in point.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [_filled(entry, point) for entry in value]
    if isinstance(value, dict):
        return {name: _filled(entry, point) for name, entry in value.items()}
    return value


def _swept(rows: Iterable[RowEntry]) -> Iterator[RowEntry]:
    """The rows; one with a sweep stands for a row for each combination of its values."""
    for row in rows:
        if math.prod(map(len, row.sweep.values())) > MOST_SWEPT:
            raise BadInput(f"row {row.name!r}: its sweep has more than {MOST_SWEPT} combinations")
        text = row.model_dump(exclude={"sweep"}, exclude_unset=True)
        for name in row.sweep:
            if f"{{{name}}}" not in repr(text):
                raise BadInput(f"row {row.name!r}: sweep {name!r} is used nowhere: write {{{name}}} where it belongs")
        for values in itertools.product(*row.sweep.values()):
            point = {name: str(value) for name, value in zip(row.sweep, values, strict=True)}
            yield RowEntry.model_validate(_filled(text, point)) if point else row


def entries(rows: Iterable[RowEntry]) -> Iterator[RowEntry]:
    """The rows that those of a file stand for: one with a sweep is a row for each combination of its values.

    A `context-switch` row without a size becomes one for each of CONTEXT_SWITCHES.
    If the row says how many processes, it becomes those with as many. One of them has the row's claim: of two
    processes, or of as many as the row says, without data. With every_setting all of them have it.
    """
    for row in _swept(rows):
        arguments = given(row.arguments)
        if row.program != "context-switch" or "size" in arguments:
            yield row
            continue
        for processes, size in CONTEXT_SWITCHES:
            if arguments.get("processes", str(processes)) == str(processes):
                setting = f", {processes}p/{size}k"
                printed = row.every_setting or (
                    size == 0 and ("processes" in arguments or (processes, size) == PRINTED_SWITCH)
                )
                yield row.model_copy(
                    update={
                        "claim": row.claim if printed else NOTHING,
                        "bound": row.bound if printed else "equal",
                        "name": f"{row.name}{setting}",
                        "counterpart": row.counterpart and f"{row.counterpart}{setting}",
                        "arguments": [f"processes={processes}", f"size={size}k" if size else "size=0"],
                        "row": f"context-switch-{processes}p-{size}k",
                    }
                )
