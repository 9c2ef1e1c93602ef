"""Results in one DuckDB file: every run by its key, the cells of every experiment, the points of every sweep.

Each run, table and sweep is one transaction. docs/results.md describes the tables. Errors of the file are
StoreErrors.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from pagewalk import interrupts, placement, query, schema, stored_runs, writing
from pagewalk.errors import BadInput, StoreError, unknown
from pagewalk.query import Answer
from pagewalk.runner import Job, RunResult
from pagewalk.stored_runs import WHOLE_RUN, StoredRun

_LOCK_SECONDS = 600.0
"""How long to wait for a program that has the file open, in seconds. Our own commands have it open for milliseconds."""
_PATIENCE_SECONDS = 2.0
"""How long to wait before saying so, in seconds."""
_RETRY_SECONDS = 0.05
"""Between two attempts to open it, in seconds."""
_LOCKED = "Could not set lock on file"
"""What DuckDB says of a file that another process has open."""
_LEAST_FREE = 16 << 20
"""Bytes that must be free on the disk before anything is written."""
_BATCH = 256
"""How many runs are read at a time."""


def _holder(message: str) -> str:
    """The process that DuckDB names as the holder of a lock, as words to append."""
    found = re.search(r"PID (\d+)", message)
    return f" (process {found[1]})" if found else ""


class InUse(StoreError):
    """Another program has the results file open."""


def _check_kind(path: Path) -> None:
    """Raises for what is no file, such as a FIFO, which is waited for without end, or where no files are."""
    why = None
    try:
        there = path.exists()
        if there and not path.is_file():
            why = "not a regular file"
        elif (place := path if there else path.parent).exists() and shutil.disk_usage(place).total == 0:
            why = "its file system holds no files of a person"
    except OSError as error:
        why = error.strerror
    except ValueError as error:
        why = str(error)
    if why is not None:
        raise StoreError(f"{path}: {why}", hint="name another results file by PAGEWALK_RESULTS")


def _unwritable(folder: Path) -> str | None:
    """Why no file can be made in the folder; None if one can."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror


def _may_be_made(path: Path) -> bool:
    """Whether a new results file has a place there: a folder that may be written, with room, or a place for one."""
    place = next(folder for folder in path.absolute().parents if folder.exists())
    return not place.is_dir() or (not _unwritable(place) and shutil.disk_usage(place).free >= _LEAST_FREE)


def _nobody(_: str) -> None:
    pass


class Store:
    """A results file; use as a context manager.

    The file is opened for each operation and closed after it, so that others may read and write it while one command
    simulates. With `read_only` it is never opened for writing, except to make a file that does not exist; where none
    can be made, the store has no results. `notify` is called with a sentence if another program has the file open and
    must be waited for, and if there is no file. `kept` is a folder to `join`.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        notify: Callable[[str], None] = _nobody,
        kept: Path | None = None,
    ) -> None:
        self.path = path
        self._read_only = read_only
        self._notify = notify
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._writes = False
        self._patience = _LOCK_SECONDS
        self._beside: dict[str, StoredRun] = {}
        _check_kind(path)
        if read_only and not path.exists() and not _may_be_made(path):
            notify(f"there are no results yet: {path} does not exist")
            self._empty = tempfile.TemporaryDirectory(prefix="pagewalk-")
            self.path = path = Path(self._empty.name) / "results.duckdb"
        self._aside = path.with_name(f"{path.name}.aside")
        with self._explained():
            if not read_only or not path.exists() or self._schema() in schema.UPGRADES:
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.exists() and (why := _unwritable(path.parent)):
                    raise self._denied(why)
                self._check_room()
                with self._session(write=True):
                    self._prepare()
                    self._join()
                    if kept is not None:
                        self.join(kept)
                return
            with self._session():
                self._check_schema()
        if kept is not None:
            self.join(kept)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; everything committed is on the disk."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keeps the file open for several queries inside the block; nothing may be added in it."""
        with self._session():
            yield

    @contextmanager
    def _session(self, *, write: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        if self._connection is not None:
            assert self._writes or not write, "nothing is added while the file is open for questions"
            yield self._connection
            return
        with self._explained():
            self._connection = self._open(write=write)
        self._writes = write
        try:
            yield self._connection
        finally:
            with self._explained():
                self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise self._explanation(str(error)) from error
        except RuntimeError as error:
            # DuckDB's way to say that Ctrl-C ended a query.
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise self._full() from error
            raise self._denied(error.strerror) from error

    def _full(self) -> StoreError:
        return StoreError(
            f"the disk that holds {self.path} is full; results finished before this are kept",
            hint="make room, or name another file by PAGEWALK_RESULTS, and run the same command again",
        )

    def _denied(self, why: str | None) -> StoreError:
        return StoreError(f"{self.path}: {why}", hint="name another results file by PAGEWALK_RESULTS")

    def _explanation(self, message: str) -> StoreError:
        first = message.splitlines()[0]
        if "No space left" in message:
            return self._full()
        if _LOCKED in message:
            return InUse(
                f"{self.path} is in use by another program{_holder(message)}", hint="wait for it to end, or end it"
            )
        for why in map(os.strerror, (errno.EROFS, errno.EACCES, errno.EPERM)):
            if why in message:
                return self._denied(why)
        return StoreError(
            f"{self.path} cannot be used as a results file: {first}",
            hint="move it away: a new one is made, and runs are simulated again",
        )

    def _check_room(self) -> None:
        free = shutil.disk_usage(self.path.parent).free
        if free >= _LEAST_FREE:
            return
        if self.path.exists():
            raise self._full()
        raise StoreError(
            f"{self.path} cannot be made: its disk has {free >> 20} MB free, and {_LEAST_FREE >> 20} MB are needed",
            hint="make room, or name another file by PAGEWALK_RESULTS",
        )

    def _open(self, *, write: bool) -> duckdb.DuckDBPyConnection:
        """Opens the file; waits while another program has it open, because DuckDB locks whole files.

        DuckDB's own lock is the one to wait for: it holds against every program that opens the file, such as DuckDB's
        shell. DuckDB does not wait by itself, and a lock file beside it would bind our commands alone.
        """
        begin = time.monotonic()
        said = False
        while True:
            try:
                return query.quiet(duckdb.connect(str(self.path), read_only=not write))
            except duckdb.IOException as error:
                waited = time.monotonic() - begin
                if _LOCKED not in str(error) or waited >= self._patience or interrupts.asked():
                    raise
                if not said and waited >= _PATIENCE_SECONDS:
                    said = True
                    self._notify(f"waiting for {self.path}, which another program has open{_holder(str(error))}")
                time.sleep(_RETRY_SECONDS)

    def _prepare(self) -> None:
        if self._tables():
            if (found := self._schema()) in schema.UPGRADES:
                with self._transaction() as connection:
                    connection.execute(schema.UPGRADES[found])
                    connection.execute("UPDATE meta SET schema = ?", [schema.SCHEMA])
            self._check_schema()
            return
        with self._transaction() as connection:
            connection.execute(schema.CREATION)
            connection.execute("INSERT INTO meta VALUES (?)", [schema.SCHEMA])

    def _join(self) -> None:
        """Takes in the runs that were kept aside while another program had the file open."""
        if not self._aside.exists():
            return
        Store(self._aside).close()  # which brings it up to this schema
        with self._transaction() as connection:
            name = str(self._aside).replace("'", "''")
            connection.execute(f"ATTACH '{name}' AS aside (READ_ONLY)")
            for table in ("runs", "counters", "samples", "dumps", "profiles"):
                connection.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM aside.{table}")
        self._aside.unlink()

    def keep(self, folder: Path, experiments: Sequence[str]) -> list[Path]:
        """Writes the latest tables of these experiments, with the runs of their rows, as Parquet; returns the files.

        BadInput if they cannot be written.
        """
        written = []
        with self._session() as connection:
            for table, chosen in schema.LATEST.items():
                path = folder / f"{table}.parquet"
                try:
                    with writing.replacing(path) as fresh:
                        name = str(fresh).replace("'", "''")
                        # In this order the file is smallest, and the same results give the same bytes.
                        ordered = f"SELECT * FROM ({chosen}) ORDER BY ALL"
                        form = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19"
                        connection.execute(f"COPY ({ordered}) TO '{name}' ({form})", [list(experiments)])
                except duckdb.IOException as error:
                    raise BadInput(f"{path}: {str(error).splitlines()[0].replace(name, str(path))}") from None
                written.append(path)
        return written

    def join(self, folder: Path) -> None:
        """Takes in what `keep` has written to the folder, as far as it is not in the file.

        Nothing if there is none, or if the file may only be read.

        StoreError if the files are damaged.
        """
        names = {table: str(folder / f"{table}.parquet").replace("'", "''") for table in schema.LATEST}
        if not (folder / "cells.parquet").is_file() or not os.access(self.path, os.W_OK):
            return
        missing = (
            f"SELECT count(*) FROM read_parquet('{names['cells']}') AS kept ANTI JOIN cells "
            "ON (kept.experiment, kept.made, kept.number) = (cells.experiment, cells.made, cells.number)"
        )
        try:
            with self._session() as connection:
                if connection.execute(missing).fetchall() == [(0,)]:
                    return
            with self._transaction() as connection:
                for table, name in names.items():
                    connection.execute(f"INSERT OR IGNORE INTO {table} BY NAME SELECT * FROM read_parquet('{name}')")
        except (duckdb.Error, StoreError) as error:
            cause = str(error.__cause__ or error).splitlines()[0]
            raise StoreError(f"{folder}: the results that are kept there cannot be read: {cause}") from error

    def damaged(self, what: str) -> StoreError:
        """The error of a file that holds something which no version has written there."""
        return StoreError(
            f"{self.path}: {what} is damaged",
            hint="move the file away: a new one is made, and runs are simulated again",
        )

    def decoded(self, text: str, what: str) -> dict[str, Any]:
        """The JSON object that is kept as this text."""
        try:
            found = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise self.damaged(what) from None
        if not isinstance(found, dict):
            raise self.damaged(what)
        return found

    def _tables(self) -> set[str]:
        return {name for (name,) in self.query("SELECT table_name FROM duckdb_tables()")}

    def _schema(self) -> int | None:
        """The file's schema; None if it is no file of results."""
        if "meta" not in self._tables():
            return None
        rows = self.query("SELECT schema FROM meta")
        return rows[0][0] if rows and isinstance(rows[0][0], int) else None

    def _check_schema(self) -> None:
        found = self._schema()
        if found is None:
            raise StoreError(f"{self.path} is a database, but not one of results", hint="name another file")
        if found != schema.SCHEMA:
            raise StoreError(
                f"{self.path} was written by another version (schema {found}, this one is {schema.SCHEMA})",
                hint="move it away: a new one is made, and runs are simulated again",
            )

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._explained(), self._session(write=True) as connection:
            self._check_room()
            connection.execute("BEGIN")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def add(self, key: str, version: str, job: Job, result: RunResult) -> StoredRun:
        """Commits one run, if the key is not there already; returns the run as it is kept."""
        self.add_all(version, [(key, job, result)])
        return next(self.runs([key]))

    def add_all(self, version: str, runs: Sequence[tuple[str, Job, RunResult]]) -> None:
        """Commits runs, all in one, except those whose key is there already.

        If another program does not let go of the file, they are kept in a second file beside it. The next command
        that writes results joins them.
        """
        try:
            self._commit(version, runs)
        except InUse:
            # Who has the file open has had it for long: the next run does not wait as long again.
            self._patience = 0.0
            with Store(self._aside) as aside:
                aside._commit(version, runs)
                self._beside |= {run.key: run for run in aside.runs([key for key, _, _ in runs])}
            self._notify(f"{self.path} is in use: the run is kept in {self._aside} until the next command")

    def _commit(self, version: str, runs: Sequence[tuple[str, Job, RunResult]]) -> None:
        """Adds the rows of all runs, table by table and column by column. Counters that are 0 are left out."""
        with self._transaction() as connection:
            by_key = {key: (job, result) for key, job, result in runs}
            found = connection.execute(
                "SELECT key FROM runs WHERE key IN (SELECT unnest(?::VARCHAR[]))", [list(by_key)]
            )
            for (key,) in found.fetchall():
                del by_key[key]
            tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in stored_runs.COLUMNS}
            for key, (job, result) in by_key.items():
                stop = result.stop
                tables["runs"].append((
                    key, version, job.machine.name, job.machine.clock, job.machine.config, job.kernel_hash,
                    job.initrd_hash, job.command_line, stop.kind, stop.status, stop.reason, result.console,
                    result.host_seconds,
                ))  # fmt: skip
                for region, counters in {WHOLE_RUN: result.counters, **result.regions}.items():
                    tables["counters"] += [(key, region, name, value) for name, value in counters.items() if value]
                for sample in result.samples:
                    tables["samples"] += [(key, sample.cycle, name, value) for name, value in sample.counts.items()]
                tables["dumps"] += [(key, number, state) for number, state in enumerate(result.dumps)]
                tables["profiles"] += [(key, result.profile)] if result.profile else []
            for table, rows in tables.items():
                if rows:
                    values = ", ".join(
                        value if "?" not in value else f"unnest({value})" for value in stored_runs.COLUMNS[table]
                    )
                    columns = [list(column) for column in zip(*rows, strict=True)]
                    connection.execute(f"INSERT INTO {table} SELECT {values}", columns)

    def get(self, key: str) -> StoredRun | None:
        """The run with this key; None if it is not in the file."""
        return next(self.runs([key]), None)

    def known(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys whose runs are in the file."""
        found = self.query("SELECT key FROM runs WHERE key IN (SELECT unnest(?::VARCHAR[]))", [list(keys)])
        return {key for (key,) in found}

    def runs(self, keys: Iterable[str]) -> Iterator[StoredRun]:
        """The runs with these keys that are in the file, in no order; a few at a time are in memory."""
        wanted = iter(dict.fromkeys(keys))
        while batch := list(itertools.islice(wanted, _BATCH)):
            yield from (self._beside[key] for key in batch if key in self._beside)
            with self._explained(), self._session() as connection:
                found = list(stored_runs.read(connection, [key for key in batch if key not in self._beside]))
            yield from found

    def expected_instructions(self, machine: str, command_line: str) -> int | None:
        """How many instructions the latest run of that command line on that machine took; None if there is none."""
        found = self.query(
            "SELECT value FROM runs JOIN counters ON run = key AND region = ? AND name = 'instructions' "
            "WHERE machine = ? AND command_line = ? AND stop = 'power-off' ORDER BY made DESC LIMIT 1",
            [WHOLE_RUN, machine, command_line],
        )
        return int(found[0][0]) if found else None

    def durations(self) -> dict[tuple[str, str], float]:
        """How many seconds the latest run took, by machine and command line without what a placement adds to it."""
        found = self.query(
            "SELECT machine, command_line, host_seconds FROM runs WHERE stop = 'power-off' ORDER BY made"
        )
        return {(machine, placement.without(line)): seconds for machine, line, seconds in found}

    def find(self, prefix: str) -> StoredRun:
        """The one run whose key starts with `prefix`; BadInput when there is none or several."""
        keys = [row[0] for row in self.query("SELECT key FROM runs WHERE starts_with(key, ?)", [prefix])]
        run = self.get(keys[0]) if len(keys) == 1 else None
        if run is None:
            raise BadInput(
                f"{'no run' if not keys else f'{len(keys)} runs'} with a key that starts with {prefix!r}",
                hint="`pagewalk results` lists them",
            )
        return run

    def add_image(self, sha256: str, banner: str, configuration: Mapping[str, str]) -> None:
        """Keeps banner and configuration of a person's kernel image; an empty one does not replace one that is kept."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO images VALUES ($1, $2, $3) ON CONFLICT DO UPDATE SET configuration = $3 WHERE $3 <> '{}'",
                [sha256, banner, json.dumps(dict(configuration))],
            )

    def image(self, sha256: str) -> tuple[str, dict[str, str]] | None:
        """The banner of that image, and what is known of its configuration; None if it is not in the file."""
        found = self.query("SELECT banner, configuration FROM images WHERE sha256 = ?", [sha256])
        return (found[0][0], self.decoded(found[0][1], "an image")) if found else None

    def kernel_of(self, run: str) -> str | None:
        """The SHA-256 of the kernel image of that run; None if the run is not in the file."""
        found = self.query("SELECT kernel FROM runs WHERE key = ?", [run])
        return found[0][0] if found else None

    def version_of(self, run: str) -> str | None:
        """The build of the machine that made that run; None if the run is not in the file."""
        found = self.query("SELECT version FROM runs WHERE key = ?", [run])
        return found[0][0] if found else None

    def add_cells(self, experiment: str, cells: Sequence[Mapping[str, Any]]) -> None:
        """Commits one experiment's table: the cells, as `execute.Cell.record` gives them, in order."""
        self._add_columns("cells", "experiment", experiment, cells)

    def add_inputs(self, experiment: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Commits what an experiment's rows are with other inputs: columns of the table `inputs`, in order."""
        self._add_columns("inputs", "experiment", experiment, rows)

    def add_points(self, sweep: str, unit: str, points: Sequence[tuple[str, float | None, str, str]]) -> None:
        """Commits the points of a sweep: of each its settings (JSON), value (in `unit`, or None), run and reason."""
        names = ("settings", "value", "run", "reason")
        rows = [{"unit": unit, **dict(zip(names, point, strict=True))} for point in points]
        self._add_columns("points", "sweep", sweep, rows)

    def _add_columns(self, table: str, owner: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds the rows that belong to a name, column by column, numbered and with one time."""
        if not rows:
            return
        columns = list(rows[0])
        with self._transaction() as connection:
            kinds = dict(
                connection.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?", [table])
                .fetchall()
            )  # fmt: skip
            values = ", ".join(f"unnest(?::{kinds[column]}[])" for column in columns)
            connection.execute(
                f"INSERT INTO {table} ({owner}, made, number, {', '.join(columns)}) "
                f"SELECT ?, now()::TIMESTAMP, unnest(?::INTEGER[]), {values}",
                [name, list(range(len(rows))), *([row[column] for row in rows] for column in columns)],
            )

    def add_baseline(self, name: str, runs: Sequence[tuple[str, str]]) -> None:
        """Keeps runs under a name: of each its label and key. An earlier baseline of that name stays in the file."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO baselines SELECT ?, now()::TIMESTAMP, unnest(?::INTEGER[]), unnest(?::VARCHAR[]), "
                "unnest(?::VARCHAR[])",
                [name, list(range(len(runs))), [label for label, _ in runs], [key for _, key in runs]],
            )

    def baseline(self, name: str) -> list[tuple[str, str]]:
        """The latest runs that were kept under that name: label and key; BadInput if there is none."""
        found = self.query(
            "SELECT label, run FROM baselines WHERE name = $1 "
            "AND made = (SELECT max(made) FROM baselines WHERE name = $1) ORDER BY number",
            [name],
        )
        if not found:
            known = [known for (known,) in self.query("SELECT DISTINCT name FROM baselines")]
            raise unknown("baseline", name, known)
        return [(label, key) for label, key in found]

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query of ours; `parameters` stand for its question marks."""
        with self._explained(), self._session() as connection:
            return connection.execute(sql, list(parameters)).fetchall()

    def ask(self, sql: str) -> Answer:
        """The columns and rows of a person's query; BadInput says what is wrong with it.

        The query sees a copy of the file. So it changes nothing, and no run waits for a long query.
        """
        with self._copied() as path:
            return query.answer(path, sql)

    @contextmanager
    def _copied(self) -> Iterator[Path]:
        """A copy of the file, which is there during the block. Nobody writes the file while it is copied."""
        with tempfile.TemporaryDirectory(prefix="pagewalk-") as folder:
            copy = Path(folder) / "results.duckdb"
            with self._session(), self._explained():
                shutil.copyfile(self.path, copy)
            yield copy
