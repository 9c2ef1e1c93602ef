"""What every command shares: tables for people, JSON for programs, and errors with exit statuses."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions
from rich.text import Text

from pagewalk.cli.sheet import Sheet, Shown, chosen
from pagewalk.errors import PagewalkError

_UNLIMITED = 10_000


class _Console(Console):
    """A console as wide as the terminal, or as COLUMNS says; with `--wide`, and in a pipe or a file without COLUMNS,
    tables take the width that they need.

    A table that is wanted as CSV or Markdown goes to standard output, whichever console prints it.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr)

    @property
    def options(self) -> ConsoleOptions:
        """See Console."""
        options = super().options
        return options if self._limited else options.update(width=_UNLIMITED)

    @property
    def _limited(self) -> bool:
        """Whether something has a width to keep to."""
        return not chosen.wide and (self.is_terminal or os.environ.get("COLUMNS", "0").strip("0").isdecimal())

    @property
    def width(self) -> int:
        """Columns."""
        return super().width if self._limited else _UNLIMITED

    @width.setter
    def width(self, width: int) -> None:
        self._width = width

    def print(self, *objects: Any, **options: Any) -> None:
        """See Console."""
        if chosen.form != "table" and len(objects) == 1 and isinstance(objects[0], Sheet):
            sys.stdout.write("\n" if chosen.printed else "")  # between two tables
            sys.stdout.write(objects[0].written(chosen.form))
            chosen.printed += 1
            return
        super().print(*objects, **options)


out = _Console()
err = _Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


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
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import, and most commands print tables

    plain = TypeAdapter(Any).dump_python(value, mode="python", fallback=_fallback)
    json.dump(plain, sys.stdout, indent=2, ensure_ascii=False, default=_fallback)
    sys.stdout.write("\n")


def say(console: Console, text: str) -> None:
    """Prints text as it is: brackets are no markup, nothing is wrapped. Beside CSV or Markdown, it goes to `err`."""
    if chosen.form != "table":
        console = err
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def next_step(*steps: str) -> None:
    """Says on standard error what to try next; programs that read the output are told nothing."""
    if chosen.form == "table":
        for number, step in enumerate(steps):
            say(err, f"{'next:' if number == 0 else '  or:'} {step}")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Shown]]) -> Sheet:
    """A table to print; columns that are named with a leading `>` are aligned to the right."""
    return Sheet(title, tuple(columns), tuple(tuple(row) for row in rows))


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
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.7g}"


_DIGITS = 5


def digits(values: Iterable[float | None]) -> list[Shown]:
    """A column of figures: all in full if all are whole, else each in five digits, and none rounded above the point."""
    column = list(values)
    whole = all(value is None or float(value).is_integer() for value in column)

    def text(value: float | None) -> str:
        if value is None or whole or not math.isfinite(value):
            return exact(value)
        places = _DIGITS - 1 - (math.floor(math.log10(abs(value))) if value else 0)
        return f"{value:,.{min(max(places, 0), 12)}f}"

    return [Shown(value, text(value)) for value in column]


def complain(error: PagewalkError, *, as_json: bool) -> None:
    """The error on standard error, with its hint; as JSON on standard output when asked for."""
    if as_json:
        print_json({"error": error.message, "hint": error.hint, "status": int(error.status)})
        return
    err.print(Text.assemble(("pagewalk:", "bold red"), f" {error.message}"), soft_wrap=True)
    if error.hint:
        say(err, f"  {error.hint}")
