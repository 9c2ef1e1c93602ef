"""Tables that were measured on kernel images of a person's own, kept in the project: `experiments/measured/*.json`.

A file has an experiment's table and counters of its runs. Of each image it has the hash, the banner and facts of its
configuration. Of each row it has what other inputs of the machine made of it, if they were tried. From these files a
paper's page can be printed again by who does not have the images. A table is judged when it is read, by the rules of
verdicts as they are then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field as dataclass_field
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from pagewalk import explain, memories, records, writing
from pagewalk.errors import BadInput
from pagewalk.experiment_file import Setting
from pagewalk.experiments import Experiment, Row
from pagewalk.figures import Measured
from pagewalk.paths import home, read_file
from pagewalk.records import CellRecord, TableRow
from pagewalk.store import Store
from pagewalk.verdict import at_edge, controlled, judge_spread

_COUNTERS = re.compile(
    r"(cycles|instructions)(\.cause\.\w+|\.user|\.kernel)?|(tlb|cache)\.(instruction|data)\.miss(\.cause\.\w+|\.user|\.kernel)?"
    r"|hash\.(search|miss|access)|stall\.memory\.cause\.reload"
)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ImageFacts(_Model):
    """What is kept of an image. `configuration` is empty if it is not known."""

    banner: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    configuration: dict[str, str]


class SideCounts(_Model):
    """The region of one side of a row: the image's role, None for a kernel of another kind, and counters."""

    image: str | None
    iterations: Annotated[int, Field(ge=1)]
    counters: dict[str, int]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class MeasuredRow(TableRow):
    """A row with the counters of its sides: one, or before and after.

    `tried` is what the row was with each variant of the machine's inputs; empty if none was tried.
    """

    sides: list[SideCounts]
    tried: list[memories.Tried] = dataclass_field(default_factory=list, kw_only=True)


class Table(_Model):
    """An experiment's table."""

    experiment: str
    images: dict[str, ImageFacts]
    rows: list[MeasuredRow]


def place(experiment: str) -> Path:
    """The file of that experiment."""
    return home().experiments / "measured" / f"{experiment}.json"


def read(experiment: Experiment) -> Table | None:
    """The kept table, judged; None if there is none."""
    path = place(experiment.name)
    if not path.is_file():
        return None
    try:
        table = Table.model_validate_json(read_file(path))
    except ValidationError as error:
        problem = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg'].lower()}") from None
    rows = experiment.by_place
    judged = [
        _judged(rows[kept.row_name, kept.machine], kept) if (kept.row_name, kept.machine) in rows else kept
        for kept in table.rows
    ]
    return table.model_copy(update={"rows": judged})


def _figures(row: Row, kept: MeasuredRow) -> Sequence[tuple[float | None, float | None]]:
    """Before and after of each placement.

    A table that was kept without them has those of the placement in the middle. The ends of the spread then stand for
    the others, with the before of the middle: their ratios, or figures, are right.
    """
    if kept.pairs:
        return kept.pairs
    ends = [end for end in (kept.low, kept.high) if end is not None]
    if kept.ratio is None:
        return [(kept.before, kept.after), *((kept.before, end) for end in ends)]
    before = kept.before or 0.0
    afters = [before * ratio if row.better == "higher" else before / ratio for ratio in ends]
    return [(kept.before, kept.after), *((before, after) for after in afters)]


def _judged(row: Row, kept: MeasuredRow) -> MeasuredRow:
    """The row with the claims, the verdict and the reason that its figures have by the rules of today."""
    kept = replace(kept, claims=tuple(claim.id for claim in row.published.claims))
    figures = _figures(row, kept)
    verdict = judge_spread(row, figures).kind
    sides = [Measured(0, side.iterations, 0, side.counters, {}) for side in kept.sides]
    if not sides:
        return _over_inputs(row, replace(kept, verdict=verdict))
    if len(sides) > 1:
        verdict = controlled(verdict, acted=[sides[0].counters != sides[-1].counters])
    edge = at_edge(row, figures)
    reason = explain.reason(row, verdict, sides[0] if len(sides) > 1 else None, sides[-1], edge=edge)
    if row.composite is not None:
        reason = f"counts for no claim: {row.composite}; {reason}"
    return _over_inputs(row, replace(kept, verdict=verdict, reason=reason))


def _over_inputs(row: Row, kept: MeasuredRow) -> MeasuredRow:
    """The row with the verdict that holds with the variants that it was tried with, each judged by today's rules."""
    again = [
        replace(one, verdict=judge_spread(row, [(one.before, one.after)]).kind)
        for one in kept.tried
        if one.after is not None
    ]
    spread = memories.spread_of(again)
    return kept if spread is None or not row.published.claims else memories.with_inputs(kept, spread, row)


def counts(measured: Measured) -> dict[str, int]:
    """The counters that a page shows."""
    return {name: count for name, count in sorted(measured.counters.items()) if count and _COUNTERS.fullmatch(name)}


def _runs(row: Row, cell: CellRecord) -> list[tuple[Setting, str | None]]:
    """The setting of each side, and the key of its run."""
    keys = [cell.before_run, cell.after_run][-len(row.sides) :]
    return [(side.setting, key) for side, key in zip(row.sides, keys, strict=True)]


def _sides(store: Store, row: Row, cell: CellRecord) -> list[SideCounts]:
    found = []
    for setting, key in _runs(row, cell):
        run = store.get(key) if key else None
        measured = records.measured(run, row.row) if run else None
        if measured is not None:
            found.append(SideCounts(image=setting.image, iterations=measured.iterations, counters=counts(measured)))
    return found


def _images(store: Store, rows: Mapping[tuple[str, str], Row], cells: list[CellRecord]) -> dict[str, ImageFacts]:
    found: dict[str, ImageFacts] = {}
    for cell in cells:
        for setting, key in _runs(rows[cell.row_name, cell.machine], cell):
            role = setting.image
            sha256 = store.kernel_of(key) if key and role else None
            known = store.image(sha256) if sha256 else None
            if role is None or sha256 is None or known is None:
                continue
            facts = ImageFacts(banner=known[0], sha256=sha256, configuration=known[1])
            if found.setdefault(role, facts) != facts:
                raise BadInput(
                    f"the table's rows were measured with different images for {role}",
                    hint="measure the whole experiment with one",
                )
    return found


def write(store: Store, experiment: Experiment) -> Path:
    """Keeps the experiment's latest table; returns the file. BadInput if rows are missing in it."""
    rows = experiment.by_place
    tried = memories.tried_last(store, experiment.name)
    cells = [cell for cell in records.cells(store, experiment.name) if (cell.row_name, cell.machine) in rows]
    if len(cells) < len(rows):
        raise BadInput(
            f"{experiment.name}: {len(rows) - len(cells)} of its {len(rows)} rows were never measured: nothing is kept",
            hint="measure all rows, without -k",
        )
    table = Table(
        experiment=experiment.name,
        images=_images(store, rows, cells),
        rows=[
            MeasuredRow(
                sides=_sides(store, rows[cell.row_name, cell.machine], cell),
                tried=tried.get((cell.row_name, cell.machine), []),
                **{field.name: getattr(cell, field.name) for field in fields(TableRow)},
            )
            for cell in cells
            if cell.after_run
        ],
    )
    path = place(experiment.name)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    writing.write(path, table.model_dump_json(indent=1) + "\n")
    return path
