"""What every command shares: tables for people, JSON for programs, and errors with exit statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pagewalk.errors import PagewalkError

_UNLIMITED = 10_000


def _console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; in a pipe or a file tables take the width that they need."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _UNLIMITED)


out = _console()
err = _console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def _fallback(value: object) -> Any:
    """Converts a value that JSON cannot hold."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def print_json(value: object) -> None:
    """One JSON document on standard output, nothing else beside it.

    Data classes and models become objects, dates ISO 8601 text, bytes text with replacement characters.
    """
    plain = _JSON.dump_python(value, mode="python", fallback=_fallback)
    json.dump(plain, sys.stdout, indent=2, ensure_ascii=False, default=_fallback)
    sys.stdout.write("\n")


def say(console: Console, text: str) -> None:
    """Prints text as it is: brackets are no markup, and nothing is wrapped."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table; columns that are named with a leading `>` are aligned to the right.

    Cells hold plain text: brackets are no markup. A cell that does not fit is folded, never cut.
    """
    made = Table(title=Text(title) if title else None, title_justify="left", header_style="bold")
    for column in columns:
        made.add_column(
            Text(column.lstrip(">")), justify="right" if column.startswith(">") else "left", overflow="fold"
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def number(value: float | None) -> str:
    """A figure in three or four digits."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def exact(value: float | None) -> str:
    """A figure in full: whole numbers with all digits, others to a millionth of themselves."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.7g}"


def complain(error: PagewalkError, *, as_json: bool) -> None:
    """The error on standard error, with its hint; as JSON on standard output when asked for."""
    if as_json:
        print_json({"error": error.message, "hint": error.hint, "status": int(error.status)})
        return
    err.print(Text.assemble(("pagewalk:", "bold red"), f" {error.message}"), soft_wrap=True)
    if error.hint:
        say(err, f"  {error.hint}")
