"""Experiments: which runs reproduce which published figures, and how a figure is computed.

One TOML file per published table or section in `experiments/`; docs/experiments.md explains the keys.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pagewalk import claims
from pagewalk.claims import Claim
from pagewalk.errors import BadInput, PagewalkError, unknown
from pagewalk.experiment_file import (
    NOTHING,
    Better,
    Bound,
    File,
    MachineEntry,
    RowEntry,
    Setting,
    Wanted,
    entries,
    given,
    problems,
)
from pagewalk.figures import Figure
from pagewalk.paths import Home, home
from pagewalk.published_range import Range, ratio_range

PART_SAVED = "fraction saved"
"""The unit of a claim that tells what part of the figure before is saved."""


@dataclass(frozen=True)
class Published:
    """What the document prints for one cell: ranges, since figures are rounded or printed as ranges.

    Without claims, `after` is the least that the hardware allows: nothing to reproduce, but to come close to; or there
    is nothing at all, and a policy is judged by whether its row gets better. `saving` is what a document prints that
    tells neither figure, but what lies between them.
    """

    claims: tuple[Claim, ...]
    before: Range | None
    after: Range | None
    ratio: Range | None
    saving: Range | None = None

    @property
    def effect(self) -> str | None:
        """The ratio, or what is saved, as a table prints it."""
        return self.ratio.shown if self.ratio else f"saves {self.saving.shown}" if self.saving else None

    @property
    def names_change(self) -> bool:
        """Whether the document gives the change itself, as in "5 % less", and not only figures before and after."""
        return any(claim.ratio not in (None, 1.0) for claim in self.claims)

    @property
    def is_open(self) -> bool:
        """Whether the document leaves the question open."""
        return any(claim.kind == "open" for claim in self.claims)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is uncertain about the figures, once each."""
        return tuple(dict.fromkeys(claim.note for claim in self.claims if claim.note))


@dataclass(frozen=True)
class Side:
    """A machine under a setting: what has to be run. `keys` are those of the machine that differ from its file.

    `wanted` is how the image that the setting names is run.
    """

    machine: str
    setting: Setting
    keys: Mapping[str, str]
    wanted: Wanted | None = None


@dataclass(frozen=True)
class Row:
    """One row of an experiment's table on one machine.

    `initramfs` names the list of guest files that the file's key `image` gives (`user/initramfs-<image>.list`).
    `counterpart` is our kernel's row beside one of other kernels: the names of an experiment and of its row.
    `composite` says what its two kernels differ in beside the claim's technique: such a row counts for no claim.
    `cause` is a sentence on why the published effect is not there, if it is not.
    `curve` is the argument over which the report draws the row's figure together with those of its like.
    """

    name: str
    program: str
    constant: str | None
    arguments: tuple[str, ...]
    files: tuple[str, ...]
    initramfs: str | None
    sample: int
    row: str
    figure: Figure
    unit: str
    better: Better
    bound: Bound
    input: str | None
    before: Side | None
    after: Side
    published: Published
    counterpart: tuple[str, str] | None = None
    composite: str | None = None
    cause: str | None = None
    curve: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """What tells the row from the others of its experiment: its name, and the machine of its after side."""
        return self.name, self.after.machine

    @property
    def at(self) -> float:
        """The place of the row on its curve: the number of its argument of that name."""
        return float(given(self.arguments)[self.curve or ""])

    @property
    def sides(self) -> tuple[Side, ...]:
        """The runs that the row needs: the one after, preceded by the one before if the row compares two."""
        return (self.after,) if self.before is None else (self.before, self.after)

    @property
    def images(self) -> tuple[str, ...]:
        """The roles of the kernel images that its sides run, once each."""
        return tuple(dict.fromkeys(side.setting.image for side in self.sides if side.setting.image))


@dataclass(frozen=True)
class Elsewhere:
    """A published figure of a system that cannot be run here, set beside ours."""

    label: str
    claim: Claim
    why: str


@dataclass(frozen=True)
class Experiment:
    """A published table or section as something to run. `images` are the kernels that a person must have for it.

    `base` is the version of the kernel of the time whose forms the before side has.
    """

    name: str
    title: str
    document: str
    section: str
    about: str
    rows: tuple[Row, ...]
    elsewhere: tuple[Elsewhere, ...]
    images: Mapping[str, Wanted] = field(default_factory=dict)
    base: str | None = None

    @property
    def by_place(self) -> dict[tuple[str, str], Row]:
        """The rows by `Row.place`."""
        return {row.place: row for row in self.rows}

    @property
    def causes(self) -> dict[tuple[str, str], str]:
        """Why rows are not what was published, as its file says it, by row and machine."""
        return {row.place: row.cause for row in self.rows if row.cause}

    @property
    def claims(self) -> tuple[str, ...]:
        """The ids of every claim that the experiment reproduces, once each."""
        ids = [claim.id for row in self.rows for claim in row.published.claims]
        ids += [entry.claim.id for entry in self.elsewhere]
        return tuple(dict.fromkeys(ids))

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines that it runs on, once each."""
        return tuple(dict.fromkeys(side.machine for row in self.rows for side in row.sides))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


class _Builder:
    """Turns a checked file into rows, looking up every name that it mentions."""

    def __init__(self, name: str, file: File) -> None:
        self.name = name
        self.file = file
        self.machines = {entry.name: entry for entry in file.machine}
        for machine in file.machine:
            for policy in machine.without:
                if not any(policy in setting.policies for setting in file.settings.values()):
                    raise BadInput(f"machine {machine.name}: without names {policy!r}, which no setting has")

    def setting(self, name: str) -> Setting:
        if name not in self.file.settings:
            raise unknown("setting", name, self.file.settings)
        return self.file.settings[name]

    def published(self, row: RowEntry, machine: MachineEntry) -> Published:
        claim_id = row.claim or machine.claim
        if claim_id is None and row.floor is not None:
            return Published(claims=(), before=None, after=Range.exactly(row.floor), ratio=None)
        if claim_id == NOTHING or (claim_id is None and self.file.document not in claims.documents()):
            return Published(claims=(), before=None, after=None, ratio=None)
        if claim_id is None:
            raise BadInput(f"row {row.name!r} on {machine.name} names no claim")
        claim = claims.claim(claim_id)
        item = row.item if claim.is_row else None
        if claim.is_row and item is None:
            raise BadInput(f"row {row.name!r}: {claim.id} has columns {claim.columns}: give item")
        item = row.item
        after = Range.of(claim.value, item)
        before = Range.of(claim.baseline, item)
        if row.complement:
            before, after = before and before.complement, after and after.complement
        held = [claim]
        if row.saves:
            return Published(claims=(claim,), before=None, after=None, ratio=None, saving=after)
        if row.claim is None and machine.baseline_claim is not None:
            baseline = claims.claim(machine.baseline_claim)
            before = Range.of(baseline.value, item)
            held.insert(0, baseline)
        ratio = ratio_range(before, after, row.better)
        if ratio is None and claim.ratio is not None:
            ratio = Range.exactly(claim.ratio)
        if claim.unit == PART_SAVED and after is not None:
            ratio = after.rounded_out().saved_as_ratio
            before = after = None
        if ratio is not None and row.bound != "equal" and claim.steps is not None:
            ratio = Range(ratio.low - claim.steps / 2, ratio.high + claim.steps / 2, ratio.shown)
        return Published(claims=tuple(held), before=before, after=after, ratio=ratio)

    def side(self, row: RowEntry, machine: MachineEntry, which: Literal["before", "after"]) -> Side | None:
        named = getattr(row, which) or getattr(machine, which)
        if named == NOTHING or (named is None and which not in self.file.settings):
            return None
        name = machine.baseline_machine if which == "before" and machine.baseline_machine else machine.name
        setting = self.setting(named or which).leaving_out(machine.without)
        if setting.image is not None and setting.image not in self.file.images:
            raise unknown("image", setting.image, self.file.images)
        wanted = self.file.images[setting.image] if setting.image is not None else None
        if setting.sysctl and (wanted is None or wanted.root != "ext2"):
            raise BadInput(f"setting {named or which!r}: sysctl goes with an image whose root is a RAM disk")
        if setting.symbols and setting.subject is None:
            raise BadInput(f"setting {named or which!r}: symbols go with a subject")
        if wanted is None:
            return Side(name, setting, {**row.keys, **setting.keys})
        return Side(name, setting, {"board.kind": wanted.board, **row.keys, **setting.keys}, wanted)

    def named(self, row: RowEntry, machine: MachineEntry) -> str:
        """The row's name; on a machine that is compared with several others, with the other machine."""
        several = sum(entry.name == machine.name for entry in self.file.machine) > 1
        return f"{row.name}, beside {machine.baseline_machine}" if several and machine.baseline_machine else row.name

    def row(self, row: RowEntry, machine: MachineEntry) -> Row:
        after = self.side(row, machine, "after")
        if after is None:
            raise BadInput(f"row {row.name!r}: no setting named after")
        if bool(row.program) == bool(row.constant):
            raise BadInput(f"row {row.name!r}: give program or constant")
        before = None if row.constant else self.side(row, machine, "before")
        if row.saves and before is None:
            raise BadInput(f"row {row.name!r}: saves what? it has no setting before")
        return Row(
            name=self.named(row, machine),
            program=row.program,
            constant=row.constant,
            arguments=tuple(row.arguments),
            files=tuple(row.files),
            initramfs=row.image,
            sample=row.sample,
            row=row.row or row.program,
            figure=Figure.parse(row.figure),
            unit=row.unit,
            better=row.better,
            bound=row.bound,
            input=row.input,
            before=before,
            after=after,
            published=self.published(row, machine),
            counterpart=self.counterpart(row),
            composite=row.composite,
            cause=row.cause,
            curve=self.curve(row),
        )

    def curve(self, row: RowEntry) -> str | None:
        if row.curve is not None and not _is_number(given(row.arguments).get(row.curve, "")):
            raise BadInput(
                f"row {row.name!r}: its curve is over {row.curve}, but no argument gives {row.curve} a number"
            )
        return row.curve

    def counterpart(self, row: RowEntry) -> tuple[str, str] | None:
        if row.counterpart is None:
            return None
        experiment, slash, name = row.counterpart.partition("/")
        if not slash:
            raise BadInput(f"row {row.name!r}: write counterpart as EXPERIMENT/ROW")
        return experiment, name

    def rows(self) -> list[Row]:
        rows = []
        for machine in self.file.machine:
            for row in entries(self.file.row):
                for name in row.machines or []:
                    if name not in self.machines:
                        raise unknown("machine of this experiment", name, self.machines)
                if row.machines is None or machine.name in row.machines:
                    rows.append(self.row(row, machine))
        places = Counter(row.place for row in rows)
        if twice := [place for place, count in places.items() if count > 1]:
            raise BadInput(
                f"two rows on {twice[0][1]} have the name {twice[0][0]!r}", hint="give each a name of its own"
            )
        return rows

    def build(self) -> Experiment:
        for wanted in self.file.images.values():
            if wanted.pair is not None and wanted.pair not in self.file.images:
                raise unknown("image", wanted.pair, self.file.images)
        return Experiment(
            name=self.name,
            title=self.file.title,
            document=self.file.document,
            section=self.file.section,
            about=self.file.about,
            base=self.file.base,
            rows=tuple(self.rows()),
            elsewhere=tuple(
                Elsewhere(entry.label, claims.claim(entry.claim), entry.why) for entry in self.file.elsewhere
            ),
            images=self.file.images,
        )


@cache
def _built(name: str, text: str, _home: Home) -> Experiment:
    """The experiment with that text. Claims and machines, which it names, are those of `home()`."""
    return _Builder(name, File.model_validate(tomllib.loads(text))).build()


def load(path: Path) -> Experiment:
    """The experiment in that file; BadInput names the file, the key and what is allowed."""
    try:
        return _built(path.stem, path.read_text(encoding="utf-8"), home())
    except ValidationError as error:
        raise BadInput(f"{path}: {problems(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except PagewalkError as error:
        raise BadInput(f"{path}: {error.message}", hint=error.hint) from None


def names() -> list[str]:
    """The names of all experiments of the checkout."""
    return sorted(path.stem for path in home().experiments.glob("*.toml"))


def find(name: str) -> list[Experiment]:
    """The experiment of that name or at that path, or all experiments of a document (`osdi99`)."""
    if name.endswith(".toml"):
        return [load(Path(name))]
    known = names()
    if name in known:
        return [load(home().experiments / f"{name}.toml")]
    group = [entry for entry in known if entry.split("-", 1)[0] == name]
    if not group:
        documents = {entry.split("-", 1)[0] for entry in known}
        raise unknown("experiment", name, {*known, *documents}, listing="pagewalk experiments")
    return [load(home().experiments / f"{entry}.toml") for entry in group]
