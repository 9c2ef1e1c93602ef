"""Observers in one line: the machine counts events by a query. docs/observers.md has the language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagewalk import _machine
from pagewalk.errors import BadInput, nearest


@dataclass(frozen=True)
class Part:
    """A part of a histogram: its smallest and largest size, and how many events there were."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class Group:
    """A group of events; `sum` and `histogram` are those of what was measured."""

    key: list[str]
    count: int
    sum: int
    histogram: list[Part]


@dataclass(frozen=True)
class Counted:
    """What a query has counted. `others` are events of groups beyond the limit."""

    query: str
    keys: list[str]
    measured: str | None
    groups: list[Group]
    others: int


_LISTED = re.compile(r'.*"([^"]+)"[^"]*: (?:there are|those that have are) (.+)')


def _meant(error: str) -> str:
    """The nearest of the names that a refusal lists; otherwise where they are explained."""
    found = _LISTED.fullmatch(error)
    close = nearest(found[1], found[2].split(", ")) if found else None
    return "docs/observers.md has the events and fields" if close is None else f"did you mean {close!r}?"


class Tally:
    """Queries that a machine evaluates from now on; with a region, only inside of that. BadInput says what is wrong."""

    def __init__(self, machine: _machine.Machine, queries: Sequence[str], region: int | None) -> None:
        self._machine = machine
        self._queries = list(queries)
        try:
            self._names = machine.tally(self._queries, region)
        except ValueError as error:
            raise BadInput(str(error), hint=_meant(str(error))) from None

    def counted(self) -> list[Counted]:
        """What each query has counted; BadInput if one names a program that has not run."""
        try:
            tallied = self._machine.tallied()
        except ValueError as error:
            raise BadInput(str(error), hint=_meant(str(error))) from None
        return [
            Counted(
                query,
                keys,
                measured,
                [Group(key, count, size, [Part(*part) for part in parts]) for key, count, size, parts in rows],
                others,
            )
            for query, (keys, measured), (rows, others) in zip(self._queries, self._names, tallied, strict=True)
        ]
