"""Tables of results in Python: named columns with types, which any library that reads Arrow takes as they are."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pagewalk.errors import BadInput, unknown

if TYPE_CHECKING:
    import duckdb
    import polars

_SHOWN = 100
"""Rows that a notebook and `repr` show."""


@dataclass(frozen=True, repr=False)
class Table:
    """Rows under named columns. `types` gives each column's type in DuckDB's words, such as `DOUBLE` or `VARCHAR[]`.

    `table["cycles"]` is a column, `for row in table` gives each row by its columns' names, `table.rows` has them as
    tuples. `pl.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)` and `pyarrow.table(table)` take it as an Arrow
    table; `table.polars()` is the first of these. `table.sql("select machine, ratio from this where ratio > 1")` is
    another table.
    """

    types: Mapping[str, str]
    rows: Sequence[tuple[Any, ...]]

    @classmethod
    def of(cls, types: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> Table:
        """A table of rows by name. A column that a row does not name is null there."""
        return cls(dict(types), [tuple(row.get(name) for name in types) for row in rows])

    @property
    def columns(self) -> list[str]:
        """The columns' names, in order."""
        return list(self.types)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.types, row, strict=True)) for row in self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        """A column's values. BadInput, with the nearest name, if there is none of this name."""
        if name not in self.types:
            raise unknown("column", name, self.types)
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The table as DuckDB has it, in memory: to filter, to join, to write (`relation().write_parquet(name)`)."""
        import duckdb  # noqa: PLC0415 - slow to import

        connection = duckdb.connect(":memory:")
        connection.execute("SET TimeZone = 'UTC'")
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in self.types.items())
        connection.execute(f"CREATE TABLE this ({columns})")
        if self.rows:
            places = ", ".join("?" for _ in self.types)
            connection.executemany(f"INSERT INTO this VALUES ({places})", self.rows)
        return connection.table("this")

    def sql(self, query: str) -> Table:
        """What a query gives of this table, whose name in it is `this`. BadInput says what is wrong with the query."""
        import duckdb  # noqa: PLC0415 - slow to import

        try:
            found = self.relation().query("this", query)
            if found is None:
                raise BadInput("this is no query of a table", hint="as in: SELECT * FROM this")
            return Table(
                {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}, found.fetchall()
            )
        except duckdb.Error as error:
            raise BadInput(str(error)) from None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation().__arrow_c_stream__(requested_schema)

    def polars(self) -> polars.DataFrame:
        """The table as a data frame of polars, which `pip install polars` brings; BadInput without it."""
        try:
            import polars  # noqa: PLC0415 - an extra
        except ImportError:
            raise BadInput("polars is not installed", hint="pip install polars") from None
        return polars.DataFrame(self)

    def __repr__(self) -> str:
        """The first rows, each column as wide as its longest entry."""
        lines = [self.columns, *([_shown(value) for value in row] for row in self.rows[:_SHOWN])]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.types))]
        text = "\n".join(
            "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return text + self._rest()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.types)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row) + "</tr>"
            for row in self.rows[:_SHOWN]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{self._rest()}"

    def _rest(self) -> str:
        more = len(self.rows) - _SHOWN
        return f"\n{more:,} more rows" if more > 0 else ""


def concat(tables: Iterable[Table]) -> Table:
    """The rows of all, one table below the other. BadInput if their columns or types differ."""
    found = list(tables)
    if not found:
        raise BadInput("there is no table to put together")
    for table in found[1:]:
        if dict(table.types) != dict(found[0].types):
            raise BadInput("these tables have different columns", hint="choose the same columns of each")
    return Table(found[0].types, [row for table in found for row in table.rows])


def typed(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Table:
    """A table whose columns have the narrowest type that all of their values have: BIGINT, DOUBLE or VARCHAR."""
    kept = list(rows)
    types = {name: _type([row.get(name) for row in kept]) for name in names}
    makes = {"BIGINT": int, "DOUBLE": float}
    return Table.of(
        types,
        (
            {
                name: makes[types[name]](value) if types[name] in makes and value is not None else value
                for name, value in row.items()
            }
            for row in kept
        ),
    )


def _type(values: Sequence[Any]) -> str:
    for name, make in (("BIGINT", int), ("DOUBLE", float)):
        try:
            for value in values:
                if value is not None and make(value) != float(value):
                    raise ValueError
        except (ValueError, TypeError, OverflowError):
            continue
        return name
    return "VARCHAR"


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
