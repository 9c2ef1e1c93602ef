"""Tables of the generated pages, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def number(value: float | None) -> str:
    """A figure; empty for none."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def line(fields: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(field.replace("|", "\\|").replace("\n", " ") for field in fields) + " |"


def head(fields: Sequence[str]) -> list[str]:
    """The first two lines of a table: the names of its columns, and the line below."""
    return [line(fields), line(["---"] * len(fields))]
