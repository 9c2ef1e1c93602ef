"""The results file read back: the latest table of each experiment, and what its runs measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pagewalk import claims, rows
from pagewalk import experiments as experiments_here
from pagewalk.errors import PagewalkError
from pagewalk.figures import Measured
from pagewalk.store import Store
from pagewalk.stored_runs import StoredRun

Pairs = tuple[tuple[float | None, float | None], ...]
"""Before and after of each placement; a row with one side has no before."""

_COLUMNS = (
    "experiment", "made", "number", "row_name", "machine", "unit", "claims", "before_run", "after_run",
    "before", "after", "ratio", "low", "high", "placements", "pairs",
    "published_before", "published_after", "published_ratio", "verdict", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class TableRow:
    """One row of an experiment's table: published figures as they are printed, ours, and the verdict.

    `pairs` is empty for a table that was kept without them. `inputs` is the spread of its ratio, or figure, over what
    the machine's file leaves open (`memories.with_inputs`).
    """

    row_name: str
    machine: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None
    low: float | None
    high: float | None
    placements: int
    published_before: str | None
    published_after: str | None
    published_ratio: str | None
    claims: tuple[str, ...]
    verdict: str
    reason: str
    pairs: Pairs = field(default=(), kw_only=True)
    inputs: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class CellRecord(TableRow):
    """A row as the results file keeps it, with the runs that it was measured by."""

    experiment: str
    made: datetime
    number: int
    before_run: str | None
    after_run: str

    @property
    def figure(self) -> tuple[str | None, ...] | None:
        """The published figure that the row is on; None where nothing is published."""
        return figure(vars(self))

    @property
    def kept(self) -> dict[str, Any]:
        """The row as `Store.add_cells` takes it."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in {"experiment", "made", "number", "claims", "pairs", "inputs"}
        } | {"claims": list(self.claims), "pairs": [list(pair) for pair in self.pairs]}


def figure(cell: Mapping[str, Any]) -> tuple[str | None, ...] | None:
    """The published figure that a cell is on, by what the table prints of it; None where nothing is published.

    A claim of a table's row holds several figures. The same claim on two machines is two.
    """
    if not cell["claims"]:
        return None
    fields = ("machine", "unit", "published_before", "published_after", "published_ratio")
    return (*cell["claims"], *(cell[field] for field in fields))


def printed(row: TableRow) -> str:
    """What the document prints of the row's figures, as a table shows it."""
    words = " → ".join(text for text in (row.published_before, row.published_after) if text)
    recalled = any(claims.claim(name).recalled for name in row.claims)
    return f"{words} (recalled)" if recalled else words


def spread(low: float | None, high: float | None, placements: int) -> str:
    """How far ratios, or figures, of the placements are apart, as tables print it; empty for one placement."""
    if placements < 2 or low is None or high is None:
        return ""
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"


def how_many(placements: Iterable[int]) -> str:
    """The numbers of placements in words, as in `7 placements` or `1 to 7 placements`."""
    found = sorted(set(placements))
    if not found or found == [1]:
        return "1 placement"
    return f"{found[0]} placements" if len(found) == 1 else f"{found[0]} to {found[-1]} placements"


def _record(row: tuple[object, ...]) -> CellRecord:
    fields = dict(zip(_COLUMNS, row, strict=True))
    claims, pairs = fields.pop("claims"), fields.pop("pairs") or []
    assert isinstance(claims, list), "claims is an array column"
    assert isinstance(pairs, list), "pairs is an array column"
    return CellRecord(claims=tuple(claims), pairs=tuple(map(tuple, pairs)), **fields)  # type: ignore[arg-type]


def tables(store: Store, experiment: str) -> list[datetime]:
    """When the experiment's tables were made, the latest first."""
    found = store.query("SELECT DISTINCT made FROM cells WHERE experiment = ? ORDER BY made DESC", [experiment])
    return [made for (made,) in found]


def experiments(store: Store) -> list[str]:
    """The experiments that have a table, by name."""
    return [name for (name,) in store.query("SELECT DISTINCT experiment FROM cells ORDER BY experiment")]


def stamp(store: Store) -> str | None:
    """Names the latest tables of the project's experiments: pages that were made from the same have the same stamp.

    None if the file has no table.
    """
    found = [
        row
        for table in ("cells", "inputs")
        for row in store.query(
            f"SELECT experiment, max(made) FROM {table} WHERE experiment IN (SELECT unnest(?::VARCHAR[])) "
            "GROUP BY experiment ORDER BY experiment",
            [experiments_here.names()],
        )
    ]
    return hashlib.sha256(repr(found).encode()).hexdigest()[:8] if found else None


def generated(store: Store, command: str) -> str:
    """The sentence that says how a page is made, and from which results."""
    named = stamp(store)
    return f"Generated by `{command}` from {'results ' + named if named else 'no results of our kernel'}."


def cells(store: Store, experiment: str, made: datetime | None = None) -> list[CellRecord]:
    """The rows of the experiment's latest table, or of the one made then."""
    found = store.query(
        f"SELECT {', '.join(_COLUMNS)} FROM cells WHERE experiment = $1 "
        "AND made = coalesce($2, (SELECT max(made) FROM cells WHERE experiment = $1)) ORDER BY number",
        [experiment, made],
    )
    return [_record(row) for row in found]


def runs(store: Store, cells: Iterable[CellRecord]) -> dict[str, StoredRun]:
    """The runs of both sides of these rows that are in the results, by key. They are read together, which takes less
    time than one after another."""
    keys = [key for cell in cells for key in (cell.before_run, cell.after_run) if key]
    return {run.key: run for run in store.runs(keys)}


def measured(run: StoredRun, row: str) -> Measured | None:
    """What a kept run measured for the printed row of that name; None where it did not print it."""
    try:
        for printed in rows.parse_rows(run.result.console):
            if printed.name == row:
                return rows.measured(printed, run.clock, run.result)
    except PagewalkError:
        return None
    return None
