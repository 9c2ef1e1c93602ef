"""A person's SQL query of a results file: what it may do, and how much it may give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from pagewalk.errors import BadInput

Answer = tuple[list[tuple[str, str]], list[tuple[Any, ...]]]
"""Each column's name and its type in DuckDB's words, and the rows."""
_SETTINGS = {
    "enable_external_access": "false",
    "memory_limit": "1GB",
    "temp_directory": "",
}
"""How the file is open for a person's query: no other file is read or written, and memory is limited."""
_ROWS_MOST = 1_000_000
"""How many rows a person's query may give."""
_ROWS_AT_A_TIME = 100
_BYTES_MOST = 256 << 20
"""How many bytes of text a person's query may give."""


def quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The connection, without DuckDB's bar of progress, which would come into a command's standard output.

    In a notebook without ipywidgets DuckDB has no bar, and refuses every change of the setting.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def answer(path: Path, sql: str) -> Answer:
    """The columns and rows of the query `sql` of the results file `path`; BadInput says what is wrong with it."""
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise BadInput("the query is not UTF-8") from None
    try:
        with quiet(duckdb.connect(str(path), read_only=True, config=dict(_SETTINGS))) as connection:
            connection.execute("SET lock_configuration = true")
            return _fetch(connection, sql)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise BadInput(f"the query: {error}", hint="docs/results.md describes the tables") from None


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> Answer:
    """The columns and rows of the one query in `sql`; BadInput if it is none, or gives too much."""
    statements = connection.extract_statements(sql)
    if [statement.type for statement in statements] not in (
        [duckdb.StatementType.SELECT],
        [duckdb.StatementType.EXPLAIN],
    ):
        raise BadInput("only one query is answered, no other statement", hint="as in: SELECT * FROM runs")
    cursor = connection.execute(statements[0])
    rows: list[tuple[Any, ...]] = []
    size = 0
    while some := cursor.fetchmany(_ROWS_AT_A_TIME):
        rows += some
        size += sum(len(cell) for row in some for cell in row if isinstance(cell, str | bytes))
        if len(rows) > _ROWS_MOST or size > _BYTES_MOST:
            raise BadInput(
                f"the query gives more than {_ROWS_MOST:,} rows or {_BYTES_MOST >> 20} MB of text",
                hint="add LIMIT, or ask for sums",
            )
    return [(column[0], str(column[1])) for column in cursor.description or ()], rows
