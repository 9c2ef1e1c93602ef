"""Tables in Python: columns with types, with and without polars."""

from __future__ import annotations

import sys

import polars as pl
import pytest

from pagewalk.errors import BadInput
from pagewalk.table import Table, concat, typed

TYPES = {"name": "VARCHAR", "value": "UBIGINT", "pairs": "DOUBLE[][]", 'odd "name"': "DOUBLE"}
TABLE = Table(TYPES, [("a", 2**64 - 1, [[1.0, 2.0]], None), ("b <&>", 0, [], 0.5)])


def test_columns_and_rows() -> None:
    assert len(TABLE) == 2
    assert TABLE["name"] == ["a", "b <&>"]
    assert [row["value"] for row in TABLE] == [2**64 - 1, 0]
    assert Table.of({"a": "DOUBLE"}, [{}, {"a": 1.0}]).rows == [(None,), (1.0,)]
    with pytest.raises(BadInput, match="unknown column"):
        TABLE["valu"]


def test_arrow_has_the_same_types_and_values() -> None:
    frame = TABLE.polars()
    assert dict(frame.schema) == {
        "name": pl.String,
        "value": pl.UInt64,
        "pairs": pl.List(pl.List(pl.Float64)),
        'odd "name"': pl.Float64,
    }
    assert frame.rows() == TABLE.rows
    assert pl.DataFrame(Table(TYPES, [])).schema == frame.schema


def test_two_tables_are_put_together_with_and_without_polars() -> None:
    assert concat([TABLE, TABLE]).rows == [*TABLE.rows, *TABLE.rows]
    assert pl.concat([TABLE.polars(), TABLE.polars()]).height == 4
    with pytest.raises(BadInput, match="different columns"):
        concat([TABLE, Table({"a": "DOUBLE"}, [])])
    with pytest.raises(BadInput, match="no table"):
        concat([])


def test_a_query_of_a_table_is_a_table() -> None:
    assert TABLE.sql("select count(*) n, max(value) v from this").rows == [(2, 2**64 - 1)]
    with pytest.raises(BadInput, match="nothing"):
        TABLE.sql("select nothing from this")


def test_columns_are_numbers_if_all_their_values_are() -> None:
    found = typed(["n", "x", "word"], [{"n": "1", "x": "0.5", "word": "off"}, {"n": "2", "x": "3", "word": "4"}])
    assert found.types == {"n": "BIGINT", "x": "DOUBLE", "word": "VARCHAR"}
    assert found.rows == [(1, 0.5, "off"), (2, 3.0, "4")]


def test_it_is_shown_as_text_and_in_a_notebook() -> None:
    assert repr(TABLE).splitlines()[1].startswith("a")
    assert "b &lt;&amp;&gt;" in TABLE._repr_html_()
    assert repr(Table({"n": "BIGINT"}, [(n,) for n in range(300)])).endswith("200 more rows")


def test_without_polars_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(BadInput, match="polars is not installed"):
        TABLE.polars()
