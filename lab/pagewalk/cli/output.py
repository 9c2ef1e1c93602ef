"""What every command shares: tables for people, JSON for programs, and errors with exit statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pagewalk.errors import PagewalkError

out = Console()
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def plain(value: object) -> Any:
    """The value as JSON knows it: data classes as objects, tuples as arrays, paths as strings."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def print_json(value: object) -> None:
    """One JSON document on standard output, nothing else beside it."""
    json.dump(plain(value), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table; columns that are named with a leading `>` are aligned to the right."""
    made = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        made.add_row(*row)
    return made


def number(value: float | None) -> str:
    """A figure in three or four digits."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def complain(error: PagewalkError, *, as_json: bool) -> None:
    """The error on standard error, with its hint; as JSON on standard output when asked for."""
    if as_json:
        print_json({"error": error.message, "hint": error.hint, "status": int(error.status)})
        return
    err.print(f"[bold red]pagewalk:[/] {error.message}", highlight=False, soft_wrap=True)
    if error.hint:
        err.print(f"  {error.hint}", highlight=False, soft_wrap=True)
