"""Plots as files: what `--plot` writes, and what a notebook shows of a frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from pagewalk import effects, records, writing
from pagewalk.errors import BadInput
from pagewalk.execute import Cell
from pagewalk.memories import Varied
from pagewalk.paths import check_writable
from pagewalk.records import CellRecord, TableRow
from pagewalk.report import charts, svg
from pagewalk.report.charts import Effect, Kernel, Share, Spec

_DOTS_PER_INCH = 200
_SUFFIXES = (".svg", ".pdf", ".png")


def check(path: Path) -> None:
    """Refuses a file that no plot can be written to, before anything is measured; BadInput says why."""
    if path.suffix not in _SUFFIXES:
        raise BadInput(f"{path}: a plot is an .svg, .pdf or .png file", hint=f"name it {path.name}.svg")
    if path.suffix != ".svg" and find_spec("vl_convert") is None:
        raise BadInput(
            f"{path}: a PDF or PNG needs the package vl-convert-python",
            hint=f"pip install vl-convert-python, or write {path.with_suffix('.svg').name}",
        )
    check_writable(path)


def _written(suffix: str, drawn: str) -> bytes:
    """The plot in the form that a suffix names."""
    if suffix == ".svg":
        return drawn.encode()
    import vl_convert  # noqa: PLC0415 - an extra

    if suffix == ".pdf":
        return bytes(vl_convert.svg_to_pdf(drawn))
    return bytes(vl_convert.svg_to_png(drawn, ppi=_DOTS_PER_INCH))


@dataclass(frozen=True)
class Drawing:
    """A plot: a notebook shows it, `save` writes it to a file. `spec` is its specification for Vega-Lite."""

    spec: Spec

    def _repr_svg_(self) -> str:
        return svg.draw(self.spec)

    def save(self, path: str | Path) -> None:
        """Writes the plot as SVG, PDF or PNG, as the name's end says; BadInput if it cannot be written."""
        file = Path(path)
        check(file)
        writing.write(file, _written(file.suffix, svg.draw(self.spec)))


Ends = tuple[float, float]


@dataclass(frozen=True)
class Drawn:
    """One row of a table as a plot needs it: figures in one unit, the published ones as their least and greatest."""

    row: str
    machine: str
    verdict: str
    after: float | None
    ratio: float | None
    low: float | None
    high: float | None
    published_after: Ends | None
    published_ratio: Ends | None

    @property
    def effect(self) -> Effect | None:
        """The row by its ratio, or by its figure over the published one; None if neither was measured."""
        if self.ratio is not None:
            ends = (self.low or self.ratio, self.high or self.ratio)
            return Effect(self.row, self.machine, self.verdict, self.published_ratio, self.ratio, *ends)
        if not self.after or self.after < 0 or self.published_after is None or self.published_after[0] <= 0:
            return None
        least, most = self.published_after
        middle = math.sqrt(least * most)
        low, high = (self.low or self.after, self.high or self.after)
        ends = (least / middle, most / middle)
        measured = (self.after / middle, low / middle, high / middle)
        return Effect(self.row, self.machine, self.verdict, ends, *measured, charts.FIGURE)


def of_rows(rows: Iterable[Drawn]) -> Drawing:
    """The rows of tables: what a ratio is published as, and what it is here. BadInput if no row was measured."""
    effects = [effect for row in rows if (effect := row.effect) is not None]
    if not effects:
        raise BadInput("no row has a figure to draw")
    return Drawing(charts.effects(effects))


def of_cells(cells: Iterable[Cell]) -> Drawing:
    """The rows of measured tables, as `of_rows`."""
    return of_rows(
        Drawn(
            cell.row.name,
            cell.row.after.machine,
            cell.verdict,
            *(cell.after, cell.ratio, cell.low, cell.high),
            *(None if found is None else (found.low, found.high) for found in cell.published),
        )
        for cell in cells
    )


def effects_of(cells: Iterable[CellRecord]) -> list[Effect]:
    """The rows of a kept table that were measured, and of which something is published."""
    drawn = (
        Drawn(
            cell.row_name,
            cell.machine,
            cell.verdict,
            *(cell.after, cell.ratio, cell.low, cell.high),
            *(effects.numbers(cell.published_after), effects.numbers(cell.published_ratio)),
        )
        for cell in cells
        if cell.claims
    )
    return [effect for row in drawn if (effect := row.effect) is not None]


def of_memories(rows: Iterable[Varied]) -> Drawing:
    """The rows of experiments with the spread over the inputs of their machines, as `of_rows`."""
    return of_rows(
        Drawn(
            varied.own.row.name,
            varied.own.row.after.machine,
            varied.verdict,
            *(varied.own.after, varied.own.ratio),
            *(varied.ends() or (None, None)),
            *(None if found is None else (found.low, found.high) for found in varied.own.published),
        )
        for varied in rows
    )


def of_claims(cells: Iterable[TableRow], own: Iterable[TableRow] = ()) -> Drawing:
    """The rows that measure a published change: how much of it each shows, on our kernel and on the papers' `own`.

    Rows on one published figure share a line. BadInput if there is none.
    """
    lines: dict[Hashable, str] = {}
    marks: list[tuple[TableRow, Kernel]] = [(cell, "our kernel") for cell in cells]
    marks += [(row, "the paper's own") for row in own]
    shares = [share for cell, kernel in marks if (share := _share(cell, kernel, lines)) is not None]
    if not shares:
        raise BadInput("no published change was measured", hint="pagewalk run osdi99 measures a paper's")
    return Drawing(charts.shares(shares))


def _share(cell: TableRow, kernel: Kernel, lines: dict[Hashable, str]) -> Share | None:
    found = effects.shown(cell)
    if found is None:
        return None
    row = lines.setdefault(records.figure(vars(cell)), f"{cell.claims[-1]}: {cell.row_name}, {cell.machine}")
    return Share(row, kernel, cell.verdict, found.share, found.low, found.high)


def of_sweep(points: Sequence[tuple[Mapping[str, str], float]], unit: str) -> Callable[[], Spec] | None:
    """What draws a curve if one axis varies, a heat map if two do; None if a plot cannot show the axes.

    Each point has its axes' values as they are written, and the figure in `unit`.
    """
    axes = dict.fromkeys(axis for settings, _ in points for axis in settings)
    varying = [axis for axis in axes if len({settings.get(axis) for settings, _ in points}) > 1]
    if len(varying) == 2:
        across, down = varying
        cells = [(settings[across], settings[down], value) for settings, value in points]
        return partial(charts.grid, cells, (across, down), unit)
    if len(varying) != 1:
        return None
    (axis,) = varying
    values = [(settings[axis], value) for settings, value in points]
    numeric = [(float(text), value) for text, value in values if _is_number(text)]
    words = [(text, value) for text, value in values if not _is_number(text)]
    return partial(charts.curve, numeric, axis, unit, words)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
