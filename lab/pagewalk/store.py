"""Results in one DuckDB file: every run by its key, every experiment's cells, each committed on its own.

The file is open for any SQL; docs/results.md describes the tables.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pagewalk.errors import StoreError
from pagewalk.runner import Job, RunResult, Sample, Stop

SCHEMA = 1
_LOCK_SECONDS = 20.0
_LEAST_FREE = 16 << 20

_TABLES = """
CREATE TABLE meta (schema INTEGER NOT NULL);
CREATE TABLE runs (
    key VARCHAR PRIMARY KEY, made TIMESTAMP NOT NULL, version VARCHAR NOT NULL, machine VARCHAR NOT NULL,
    clock UBIGINT NOT NULL, config VARCHAR NOT NULL, kernel VARCHAR NOT NULL, initrd VARCHAR NOT NULL,
    command_line VARCHAR NOT NULL, stop VARCHAR NOT NULL, status INTEGER NOT NULL, reason VARCHAR NOT NULL,
    console BLOB NOT NULL, host_seconds DOUBLE NOT NULL);
CREATE TABLE counters (
    run VARCHAR NOT NULL, region INTEGER NOT NULL, name VARCHAR NOT NULL, value UBIGINT NOT NULL,
    PRIMARY KEY (run, region, name));
CREATE TABLE samples (
    run VARCHAR NOT NULL, cycle UBIGINT NOT NULL, name VARCHAR NOT NULL, value UBIGINT NOT NULL,
    PRIMARY KEY (run, cycle, name));
CREATE TABLE dumps (
    run VARCHAR NOT NULL, number INTEGER NOT NULL, state VARCHAR NOT NULL, PRIMARY KEY (run, number));
CREATE TABLE points (
    sweep VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, settings VARCHAR NOT NULL,
    unit VARCHAR NOT NULL, value DOUBLE, run VARCHAR NOT NULL, reason VARCHAR NOT NULL,
    PRIMARY KEY (sweep, made, number));
CREATE TABLE cells (
    experiment VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, row_name VARCHAR NOT NULL,
    machine VARCHAR NOT NULL, unit VARCHAR NOT NULL, claims VARCHAR[] NOT NULL,
    before_run VARCHAR, after_run VARCHAR NOT NULL, before DOUBLE, after DOUBLE, ratio DOUBLE,
    published_before VARCHAR, published_after VARCHAR, published_ratio VARCHAR,
    verdict VARCHAR NOT NULL, reason VARCHAR NOT NULL,
    PRIMARY KEY (experiment, made, number));
"""


def _columns(rows: Sequence[tuple[int, str, int]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]


WHOLE_RUN = 0
"""The number under which `counters` keeps the whole run beside its regions."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the store keeps it."""

    key: str
    machine: str
    clock: int
    command_line: str
    result: RunResult


class Store:
    """An open results file; use as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._check_room()
            self._connection = self._open()
            self._prepare()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what was committed is on the disk."""
        self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise self._explanation(str(error)) from error
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise self._full() from error
            raise StoreError(f"{self.path}: {error.strerror}") from error

    def _full(self) -> StoreError:
        return StoreError(
            f"the disk that holds {self.path} is full; results finished before this are kept",
            hint="make room, or name another file by PAGEWALK_RESULTS, and run the same command again",
        )

    def _explanation(self, message: str) -> StoreError:
        first = message.splitlines()[0]
        if "No space left" in message:
            return self._full()
        if "lock" in message.lower():
            return StoreError(f"{self.path} is in use by another program", hint="wait for it to end, or end it")
        return StoreError(
            f"{self.path} cannot be used as a results file: {first}",
            hint="move it away: a new one is made, and runs are simulated again",
        )

    def _check_room(self) -> None:
        if shutil.disk_usage(self.path.parent).free < _LEAST_FREE:
            raise self._full()

    def _open(self) -> duckdb.DuckDBPyConnection:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                return duckdb.connect(str(self.path))
            except duckdb.IOException as error:
                if "lock" not in str(error).lower() or time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def _prepare(self) -> None:
        tables = {row[0] for row in self._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        if not tables:
            with self._transaction():
                self._connection.execute(_TABLES)
                self._connection.execute("INSERT INTO meta VALUES (?)", [SCHEMA])
            return
        if "meta" not in tables:
            raise StoreError(f"{self.path} is a database, but not one of results", hint="name another file")
        found = self._connection.execute("SELECT schema FROM meta").fetchall()
        if found != [(SCHEMA,)]:
            raise StoreError(
                f"{self.path} was written by another version (schema {found}, this one is {SCHEMA})",
                hint="move it away: a new one is made, and runs are simulated again",
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._check_room()
            self._connection.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def add(self, key: str, version: str, job: Job, result: RunResult) -> None:
        """Commits one run; a run that is already there stays as it is."""
        with self._transaction():
            if self._connection.execute("SELECT 1 FROM runs WHERE key = ?", [key]).fetchone():
                return
            self._connection.execute(
                "INSERT INTO runs VALUES (?, now()::TIMESTAMP, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    key, version, job.machine.name, job.machine.clock, job.machine.config, job.kernel_hash,
                    job.initrd_hash, job.command_line, result.stop.kind, result.stop.status, result.stop.reason,
                    result.console, result.host_seconds,
                ],
            )  # fmt: skip
            self._add_counts(key, result)
            for number, state in enumerate(result.dumps):
                self._connection.execute("INSERT INTO dumps VALUES (?, ?, ?)", [key, number, state])

    def _add_counts(self, key: str, result: RunResult) -> None:
        """Counters that are 0 are left out."""
        counted = [
            (region, name, value)
            for region, counters in {WHOLE_RUN: result.counters, **result.regions}.items()
            for name, value in counters.items()
            if value
        ]
        self._connection.execute(
            "INSERT INTO counters SELECT ?, unnest(?::INTEGER[]), unnest(?::VARCHAR[]), unnest(?::UBIGINT[])",
            [key, *_columns(counted)],
        )
        sampled = [(sample.cycle, name, value) for sample in result.samples for name, value in sample.counts.items()]
        self._connection.execute(
            "INSERT INTO samples SELECT ?, unnest(?::UBIGINT[]), unnest(?::VARCHAR[]), unnest(?::UBIGINT[])",
            [key, *_columns(sampled)],
        )

    def get(self, key: str) -> StoredRun | None:
        """The run of that key, or None if it was never finished."""
        with self._explained():
            found = self._connection.execute(
                "SELECT machine, clock, command_line, stop, status, reason, console, host_seconds "
                "FROM runs WHERE key = ?",
                [key],
            ).fetchone()
            if found is None:
                return None
            counted = self._connection.execute(
                "SELECT region, name, value FROM counters WHERE run = ?", [key]
            ).fetchall()
            sampled = self._connection.execute(
                "SELECT cycle, name, value FROM samples WHERE run = ? ORDER BY cycle, name", [key]
            ).fetchall()
            dumps = self._connection.execute("SELECT state FROM dumps WHERE run = ? ORDER BY number", [key]).fetchall()
        regions: dict[int, dict[str, int]] = {}
        for region, name, value in counted:
            regions.setdefault(region, {})[name] = value
        samples: dict[int, dict[str, int]] = {}
        for cycle, name, value in sampled:
            samples.setdefault(cycle, {})[name] = value
        machine, clock, command_line, stop, status, reason, console, seconds = found
        return StoredRun(
            key=key,
            machine=machine,
            clock=clock,
            command_line=command_line,
            result=RunResult(
                stop=Stop(stop, status, reason),
                console=bytes(console),
                counters=regions.pop(WHOLE_RUN, {}),
                regions=regions,
                host_seconds=seconds,
                samples=tuple(Sample(cycle, counts) for cycle, counts in samples.items()),
                dumps=tuple(state for (state,) in dumps),
            ),
        )

    def find(self, prefix: str) -> StoredRun:
        """The one run whose key starts with `prefix`; StoreError when there is none or several."""
        keys = [row[0] for row in self.query("SELECT key FROM runs WHERE starts_with(key, ?)", [prefix])]
        run = self.get(keys[0]) if len(keys) == 1 else None
        if run is None:
            raise StoreError(
                f"{'no run' if not keys else f'{len(keys)} runs'} with a key that starts with {prefix!r}",
                hint="`pagewalk results` lists them",
            )
        return run

    def add_cells(self, experiment: str, cells: Sequence[Mapping[str, Any]]) -> None:
        """Commits the cells of one experiment's table."""
        with self._transaction():
            made = self._connection.execute("SELECT now()::TIMESTAMP").fetchall()[0][0]
            for number, cell in enumerate(cells):
                names = ", ".join(cell)
                marks = ", ".join("?" for _ in cell)
                self._connection.execute(
                    f"INSERT INTO cells (experiment, made, number, {names}) VALUES (?, ?, ?, {marks})",
                    [experiment, made, number, *cell.values()],
                )

    def add_points(self, sweep: str, unit: str, points: Sequence[tuple[str, float | None, str, str]]) -> None:
        """Commits the points of a sweep: settings as JSON, value, run and reason of each."""
        with self._transaction():
            made = self._connection.execute("SELECT now()::TIMESTAMP").fetchall()[0][0]
            for number, (settings, value, run, reason) in enumerate(points):
                self._connection.execute(
                    "INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [sweep, made, number, settings, unit, value, run, reason],
                )

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of any SQL query."""
        with self._explained():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def query_columns(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of any SQL query."""
        with self._explained():
            cursor = self._connection.execute(sql, list(parameters))
            return [column[0] for column in cursor.description or ()], cursor.fetchall()
