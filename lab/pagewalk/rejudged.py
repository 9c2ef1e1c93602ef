"""Kept rows of our kernel by the claims and rules of today: the figures stay, and what is said of them may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pagewalk import explain, records
from pagewalk.execute import Cell
from pagewalk.experiments import Row
from pagewalk.figures import Measured
from pagewalk.records import CellRecord
from pagewalk.stored_runs import StoredRun
from pagewalk.verdict import REFUTED, Kind, at_edge, controlled, judge_spread

_PUBLISHED = ("claims", "published_before", "published_after", "published_ratio")


def _measured(runs: Mapping[str, StoredRun], row: Row, key: str | None) -> Measured | None:
    """What the run of this key measured, if the results have it."""
    run = runs.get(key) if key else None
    found = records.measured(run, row.row) if run else None
    return None if found is None else found.explaining(row.figure)


def _acted(cell: CellRecord, before: Measured | None, after: Measured | None) -> bool:
    """Whether some counter differs between the sides, as far as the row or its runs tell."""
    if cell.verdict in ("not exercised", REFUTED):
        return False
    return before is None or after is None or before.counters != after.counters


def rejudged(runs: Mapping[str, StoredRun], row: Row, cell: CellRecord) -> CellRecord:
    """The row with the claim that it has today, and the verdict that its figures then have.

    `runs` holds the runs of both sides by key (`records.runs`).

    A row that was kept without the figures of its placements, or that gave none, stays as it is, and so does a hardware
    cost.
    """
    if row.constant or not cell.pairs or cell.after is None:
        return cell
    before, after = (_measured(runs, row, key) for key in (cell.before_run, cell.after_run))
    kind: Kind = judge_spread(row, cell.pairs).kind
    if len(row.sides) > 1:
        kind = controlled(kind, acted=[_acted(cell, before, after)])
    shown = Cell(row, cell.before, cell.after, cell.ratio, kind, cell.reason, cell.before_run, cell.after_run).record()
    told = {name: shown[name] for name in _PUBLISHED} | {"claims": tuple(shown["claims"])}
    reason = cell.reason
    if after is not None:
        reason = explain.reason(row, kind, before, after, edge=at_edge(row, cell.pairs))
    return replace(cell, verdict=kind, reason=reason, **told)
