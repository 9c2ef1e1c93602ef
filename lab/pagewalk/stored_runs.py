"""A run as the results file keeps it, and the reading of runs from its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from pagewalk.runner import RunResult, Sample, Stop

COLUMNS = {
    "runs": (
        "?::VARCHAR[]", "now()::TIMESTAMP", "?::VARCHAR[]", "?::VARCHAR[]", "?::UBIGINT[]", "?::VARCHAR[]",
        "?::VARCHAR[]", "?::VARCHAR[]", "?::VARCHAR[]", "?::VARCHAR[]", "?::INTEGER[]", "?::VARCHAR[]", "?::BLOB[]",
        "?::DOUBLE[]",
    ),
    "counters": ("?::VARCHAR[]", "?::INTEGER[]", "?::VARCHAR[]", "?::UBIGINT[]"),
    "samples": ("?::VARCHAR[]", "?::UBIGINT[]", "?::VARCHAR[]", "?::UBIGINT[]"),
    "dumps": ("?::VARCHAR[]", "?::INTEGER[]", "?::VARCHAR[]"),
    "profiles": ("?::VARCHAR[]", "?::VARCHAR[]"),
}  # fmt: skip
"""The tables of a run, and of each the columns that it is given."""
WHOLE_RUN = 0
"""The region number under which the table `counters` has the whole run's."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the store keeps it. `clock` is the core clock in Hz; counters that are 0 are missing."""

    key: str
    machine: str
    clock: int
    command_line: str
    result: RunResult


def read(connection: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> Iterator[StoredRun]:
    """The runs with these keys, each table read once."""

    def rows(columns: str, table: str, key: str = "run", order: str = "") -> list[tuple[Any, ...]]:
        chosen = f"SELECT {columns} FROM {table} WHERE {key} IN (SELECT unnest(?::VARCHAR[])) {order}"
        return connection.execute(chosen, [list(keys)]).fetchall()

    regions: dict[str, dict[int, dict[str, int]]] = {}
    for run, region, name, value in rows("run, region, name, value", "counters"):
        regions.setdefault(run, {}).setdefault(region, {})[name] = value
    samples: dict[str, dict[int, dict[str, int]]] = {}
    for run, cycle, name, value in rows("run, cycle, name, value", "samples", order="ORDER BY cycle, name"):
        samples.setdefault(run, {}).setdefault(cycle, {})[name] = value
    dumps: dict[str, list[str]] = {}
    for run, state in rows("run, state", "dumps", order="ORDER BY number"):
        dumps.setdefault(run, []).append(state)
    profiles = dict(rows("run, folded", "profiles"))
    columns = "key, machine, clock, command_line, stop, status, reason, console, host_seconds"
    for key, machine, clock, line, stop, status, reason, console, seconds in rows(columns, "runs", "key"):
        counted = regions.get(key, {})
        yield StoredRun(
            key=key,
            machine=machine,
            clock=clock,
            command_line=line,
            result=RunResult(
                stop=Stop(stop, status, reason),
                console=bytes(console),
                counters=counted.pop(WHOLE_RUN, {}),
                regions=counted,
                host_seconds=seconds,
                samples=tuple(Sample(cycle, counts) for cycle, counts in samples.get(key, {}).items()),
                dumps=tuple(dumps.get(key, ())),
                profile=profiles.get(key, ""),
            ),
        )
