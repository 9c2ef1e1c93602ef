"""Tables: for people, as CSV and as Markdown, and the options that choose among them."""

from __future__ import annotations

import csv
import inspect
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from pagewalk.errors import WrongOption

Form = Literal["table", "csv", "markdown"]

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_FOLDED = 14
"""A longer word may be folded."""
_BORDER = 3
"""Columns that a table's border and padding take for each of its columns, beside one at the left."""


@dataclass
class Chosen:
    """How the tables of this command are printed; the command line decides."""

    form: Form = "table"
    wide: bool = False
    printed: int = 0

    def reset(self) -> None:
        """Takes back what an earlier command line chose."""
        self.form, self.wide, self.printed = "table", False, 0


chosen = Chosen()


class Shown(NamedTuple):
    """A cell whose value has more digits than a person is shown."""

    value: float | int | None
    text: str


@dataclass(frozen=True)
class Sheet:
    """A table. Cells hold plain text: brackets are no markup.

    A cell that does not fit is folded, never cut. A table whose words do not fit the terminal is printed row by row,
    one line for each cell.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Shown, ...], ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.removeprefix(">") for column in self.columns]

    def _texts(self) -> list[list[str]]:
        return [[cell.text if isinstance(cell, Shown) else cell for cell in row] for row in self.rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        texts = self._texts()
        title = Text(self.title, style="italic") if self.title else None
        columns = list(zip(self.names, *texts, strict=True))
        longest = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
        # Names of other columns may be folded, but the first column's are to be copied.
        least = [longest[0], *(min(width, _FOLDED) for width in longest[1:])] if longest else []
        if sum(least) + _BORDER * len(columns) + 1 > options.max_width and len(columns) > 2:
            if title:
                yield title
            yield from self._stacked(texts)
            return
        made = Table(title=title, title_justify="left", header_style="bold")
        for column, width in zip(self.columns, least, strict=True):
            right = column.startswith(">")
            made.add_column(
                Text(column.lstrip(">")), justify="right" if right else "left", overflow="fold", min_width=width
            )
        for row in texts:
            made.add_row(*(Text(cell) for cell in row))
        yield made

    def _stacked(self, texts: list[list[str]]) -> RenderResult:
        wide = max(map(len, self.names))
        for row in texts:
            grid = Table.grid(padding=(0, 2))
            grid.add_column(width=wide, no_wrap=True)
            grid.add_column(overflow="fold")
            for name, cell in zip(self.names, row, strict=True):
                if cell:
                    grid.add_row(Text(name, style="bold"), Text(cell))
            yield grid
            yield Text("")

    def written(self, form: Form) -> str:
        """The table as CSV, numbers in full and without separators, or as Markdown."""
        return self._csv() if form == "csv" else self._markdown()

    def _csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows([_plain(cell) for cell in row] for row in self.rows)
        return text.getvalue()

    def _markdown(self) -> str:
        lines = [f"**{_escaped(self.title)}**", ""] if self.title else []
        lines.append(_line(self.names))
        lines.append(_line(["---:" if column.startswith(">") else "---" for column in self.columns]))
        lines += [_line([_escaped(cell) for cell in row]) for row in self._texts()]
        return "\n".join(lines) + "\n"


def _plain(cell: str | Shown) -> str | float | int:
    if isinstance(cell, Shown):
        return "" if cell.value is None else cell.value
    return cell.replace(",", "") if _GROUPED.fullmatch(cell) else cell


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


Csv = Annotated[bool, typer.Option("--csv", help="Print tables as CSV, with all digits.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print tables as Markdown.")]
Wide = Annotated[bool, typer.Option("--wide", help="Let tables be wider than the terminal.")]


def _prints_tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of all that print tables: `--csv`, `--markdown` and `--wide`."""

    @wraps(command)
    def with_form(*, csv: bool, markdown: bool, wide: bool, **options: Any) -> Any:
        forms = [
            name for name, wanted in (("csv", csv), ("markdown", markdown), ("json", options["as_json"])) if wanted
        ]
        if len(forms) > 1:
            raise WrongOption(f"--{forms[0]} and --{forms[1]} exclude each other", hint="leave out one of them")
        chosen.form = "csv" if csv else "markdown" if markdown else "table"
        chosen.wide = wide
        return command(**options)

    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=False)
        for name, kind in (("csv", Csv), ("markdown", Markdown), ("wide", Wide))
    ]
    parameters = [*signature.parameters.values(), *added]
    with_form.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_form.__annotations__ = {entry.name: entry.annotation for entry in parameters}
    del with_form.__wrapped__
    return with_form


_NO_TABLES = {"boot", "gdb", "trace", "report", "claims page", "subjects build"}
"""Commands with `--json` that print no table."""


def commands(app: typer.Typer, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words, with what Typer knows of it."""
    for entry in app.registered_commands:
        yield f"{above}{entry.name}", entry
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{above}{group.name} ")
        callback = group.typer_instance.registered_callback
        if callback is not None and group.typer_instance.info.invoke_without_command is True:
            yield f"{above}{group.name}", callback


def add_forms(app: typer.Typer) -> None:
    """Gives every command that prints tables, and has them not yet, the options that choose their form."""
    for name, entry in commands(app):
        taken = inspect.signature(entry.callback).parameters
        if name not in _NO_TABLES and "as_json" in taken and "csv" not in taken:
            entry.callback = _prints_tables(entry.callback)
