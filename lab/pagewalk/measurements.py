"""The measurements of a document: claims that the same rows measure together, with these rows, are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pagewalk.claims import Claim
from pagewalk.experiments import Experiment
from pagewalk.records import TableRow
from pagewalk.verdict import class_of_claim, stronger, unmeasured

Rows = Sequence[tuple[Experiment, TableRow]]
"""Rows of tables with their experiments."""


@dataclass(frozen=True)
class Measurement:
    """Claims, and the rows that measure them on our kernel and on the paper's own; `planned`: our kernel has rows."""

    claims: tuple[Claim, ...]
    ours: Rows
    own: Rows
    planned: bool

    def _class(self, rows: Rows) -> str:
        of_some = any(claim.of_some for claim in self.claims)
        return class_of_claim([row.verdict for _, row in rows], of_some=of_some)

    @property
    def alone(self) -> str:
        """The class on our kernel."""
        if self.ours:
            return self._class(self.ours)
        return unmeasured(recalled=any(claim.recalled for claim in self.claims), planned=self.planned)

    @property
    def shown(self) -> str:
        """The stronger class of our kernel and the paper's own."""
        return stronger(self.alone, self._class(self.own) if self.own else None)


def planned(claim: Claim, found: Iterable[Experiment]) -> list[str]:
    """The experiments of our kernel that have rows for the claim."""
    return [entry.name for entry in holding(claim, found) if not entry.images]


def holding(claim: Claim, found: Iterable[Experiment]) -> list[Experiment]:
    """The experiments that have rows for the claim."""
    return [experiment for experiment in found if any(claim in row.published.claims for row in experiment.rows)]


def of(listed: Sequence[Claim], ours: Rows, own: Rows, found: Sequence[Experiment]) -> list[Measurement]:
    """The measurements of these claims, in their order; a claim without a row is one by itself."""
    order = {claim.id: number for number, claim in enumerate(listed)}
    rows: dict[tuple[str, ...], tuple[list[tuple[Experiment, TableRow]], list[tuple[Experiment, TableRow]]]] = {}
    for side, table in enumerate((ours, own)):
        for experiment, row in table:
            if row.claims and order.keys() >= set(row.claims):
                rows.setdefault(row.claims, ([], []))[side].append((experiment, row))
    held = {name for key in rows for name in key}
    for wanted in (wanted for experiment in found for wanted in experiment.rows):
        # What rows measure together is one measurement before they have run, too.
        key = tuple(claim.id for claim in wanted.published.claims)
        if len(key) > 1 and order.keys() >= set(key) and held.isdisjoint(key):
            rows[key] = ([], [])
            held.update(key)
    for claim in listed:
        if claim.id not in held:
            rows[claim.id,] = ([], [])
    by_id = {claim.id: claim for claim in listed}
    return [
        Measurement(
            tuple(by_id[name] for name in key),
            *rows[key],
            planned=any(planned(by_id[name], found) for name in key),
        )
        for key in sorted(rows, key=lambda key: [order[name] for name in key])
    ]
