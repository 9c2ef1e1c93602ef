"""TLB misses with the steps of their walks as a Parquet table, for data frames and SQL."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from pagewalk import _machine, query, writing
from pagewalk.errors import BadInput
from pagewalk.recording import events

COLUMNS = {
    "cycle": "UBIGINT",
    "processor": "UINTEGER",
    "side": "VARCHAR",
    "address": "UBIGINT",
    "set": "UINTEGER",
    "way": "UINTEGER",
    "cycles": "UBIGINT",
    "pc": "UBIGINT",
    "function": "VARCHAR",
    "program": "VARCHAR",
    "context": "UINTEGER",
    "mode": "VARCHAR",
    "cause": "VARCHAR",
    "victim": "UBIGINT",
    "victim_context": "UINTEGER",
    "steps": "STRUCT(began UBIGINT, took UBIGINT, address UBIGINT, bytes UINTEGER, value UBIGINT, store BOOLEAN, "
    "place VARCHAR)[]",
}
"""The columns and their types: `cycle` is when the miss began, `cycles` how long its walk took (null where software's
is not known). A step began so many cycles after the miss, and read or
wrote an entry of `place`: a group of the hash table, a level of a tree. docs/running.md has the rest."""


def _number(text: str | None) -> int | None:
    return None if text is None else int(text, 16)


def _row(event: dict[str, Any]) -> dict[str, Any]:
    """A miss of a trace as a row."""
    args = event["args"]
    victim = args.get("victim") or {}
    plain = ("cycle", "side", "set", "way", "cycles", "function", "program", "context", "mode", "cause")
    return {
        **{name: args.get(name) for name in plain},
        "processor": args.get("processor", 0),
        "address": _number(args["address"]),
        "pc": _number(args["pc"]),
        "victim": _number(victim.get("page") or victim.get("page_in_segment")),
        "victim_context": victim.get("context"),
        "steps": [
            {
                "began": step["at"],
                "place": step.get("table"),
                "took": step["took"],
                "bytes": step["bytes"],
                "address": _number(step["address"]),
                "value": _number(step["value"]),
                "store": bool(step.get("store")),
            }
            for step in args.get("walk", [])
        ],
    }


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def write(machine: _machine.Machine, path: Path) -> int:
    """Writes the misses that the machine recorded; gives how many. BadInput says why the file cannot be written."""
    columns = ", ".join(f"{_literal(name)}: {_literal(kind)}" for name, kind in COLUMNS.items())
    count = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "rows.json"
            with lines.open("w", encoding="utf-8") as file:
                for event in events(machine):
                    if event["name"] in {"tlb.instruction.miss", "tlb.data.miss"}:
                        file.write(json.dumps(_row(event)) + "\n")
                        count += 1
            source = f"read_json({_literal(str(lines))}, format='newline_delimited', columns={{{columns}}})"
            with writing.replacing(path) as fresh, query.quiet(duckdb.connect()) as engine:
                try:
                    engine.execute(f"COPY (FROM {source}) TO {_literal(str(fresh.absolute()))} (FORMAT parquet)")
                except duckdb.Error as error:
                    raise BadInput(f"{path}: {str(error).replace(str(fresh.absolute()), str(path))}") from None
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    return count
