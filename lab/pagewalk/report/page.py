"""Builds the HTML page from the results file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from pagewalk import claims, experiments, explain, memories, records
from pagewalk.errors import BadInput
from pagewalk.experiments import Elsewhere, Experiment, Row
from pagewalk.figures import Measured, pollution, total
from pagewalk.records import CellRecord
from pagewalk.report import charts, embed, plots, svg
from pagewalk.report.charts import Bar, Spec
from pagewalk.store import Store
from pagewalk.stored_runs import StoredRun
from pagewalk.verdict import by_class, tone, unmeasured

_MISSES = {
    "instruction, user": "tlb.instruction.miss.user",
    "instruction, kernel": "tlb.instruction.miss.kernel",
    "data, user": "tlb.data.miss.user",
    "data, kernel": "tlb.data.miss.kernel",
}
_POLLUTED = ("cache.data", "cache.instruction", "cache.data.taken", "tlb.data.taken")
_LEAST_POLLUTION = 0.002


@dataclass(frozen=True)
class Plot:
    """As SVG, for print and without scripts, and as a specification that a script makes live."""

    svg: Markup
    spec: Markup


@dataclass(frozen=True)
class Picture:
    """A plot with its caption; drawn when the page is written, which takes long."""

    caption: str
    draw: Callable[[], Spec] | None = None

    @property
    def plot(self) -> Plot | None:
        """The drawing, if there is one."""
        if self.draw is None:
            return None
        spec = self.draw()
        return Plot(Markup(svg.draw(spec)), embed.data(spec))


@dataclass
class Section:
    """One experiment on the page. `of_images`: it runs kernels that a person names."""

    name: str
    title: str
    section: str
    about: str
    cells: Sequence[CellRecord]
    elsewhere: Sequence[Elsewhere]
    pictures: list[Picture] = field(default_factory=list)
    of_images: bool = False

    @property
    def machines(self) -> list[str]:
        """The machines of the table, once each."""
        return list(dict.fromkeys(cell.machine for cell in self.cells))

    @cached_property
    def notes(self) -> dict[tuple[str, str], list[str]]:
        """What is said of the published figures, by row and machine: each note once."""
        said: set[str] = set()
        found: dict[tuple[str, str], list[str]] = {}
        for cell in self.cells:
            notes = dict.fromkeys(note for name in cell.claims if (note := claims.claim(name).note))
            found[cell.row_name, cell.machine] = [note for note in notes if note not in said]
            said.update(notes)
        return found

    def why(self, cell: CellRecord) -> str:
        """The sentences below a row."""
        notes = [f"Published figure: {note}" for note in self.notes[cell.row_name, cell.machine]]
        if any(claims.claim(name).recalled for name in cell.claims):
            notes.append("Published figures are recalled, not confirmed")
        return " ".join(f"{said.rstrip('.')}." for said in (cell.reason, *notes) if said)


class _Gatherer:
    """Reads one experiment's runs, for the plots of what they show."""

    def __init__(self, store: Store, experiment: Experiment, cells: Sequence[CellRecord]) -> None:
        self.store = store
        self.experiment = experiment
        self.cells = cells
        self._runs = records.runs(store, cells)

    def run(self, key: str | None) -> StoredRun | None:
        return None if key is None else self._runs.get(key)

    @cached_property
    def sides(self) -> list[tuple[str, str, Measured]]:
        """Row with machine, the side's label, and what was measured, for each side of each row.

        Rows that show different figures of the same runs are one, with the name of the first.
        """
        printed = self.experiment.by_place
        several = len({cell.machine for cell in self.cells}) > 1
        same: dict[tuple[str, str | None, str | None], list[tuple[str, Row, CellRecord]]] = {}
        # A row of one side alone is among those that have both.
        both = {cell.after_run: cell.before_run for cell in self.cells if cell.before_run}
        for cell in self.cells:
            if (row := printed.get((cell.row_name, cell.machine))) is not None:
                name = f"{cell.row_name}, {cell.machine}" if several else cell.row_name
                before = cell.before_run or both.get(cell.after_run)
                same.setdefault((row.row, before, cell.after_run), []).append((name, row, cell))
        found = []
        for rows in same.values():
            name, row, cell = max(rows, key=lambda entry: entry[2].before_run is not None)
            more = "1 more row" if len(rows) == 2 else f"{len(rows) - 1} more rows"
            label = name if len(rows) == 1 else f"{name} (and {more})"
            for side, key in ((row.before, cell.before_run), (row.after, cell.after_run)):
                run = self.run(key)
                seen = records.measured(run, row.row) if run else None
                if side is not None and seen is not None:
                    found.append((label, side.setting.label, seen))
        return found

    def curves(self) -> list[Picture]:
        """The figures of rows that differ in one argument, over that argument: a line for each side."""
        cells = {(cell.row_name, cell.machine): cell for cell in self.cells}
        found: dict[tuple[str, str, str, str], dict[str, list[tuple[float, float]]]] = {}
        for row in self.experiment.rows:
            cell = cells.get(row.place)
            if row.curve is None or cell is None:
                continue
            lines = found.setdefault((row.row, row.after.machine, row.curve, row.unit), {})
            for side, value in ((row.before, cell.before), (row.after, cell.after)):
                if side is not None and value is not None:
                    lines.setdefault(side.setting.label, []).append((row.at, value))
        return [
            Picture(f"{name} over {axis} on {machine}", partial(charts.curves, lines, axis, unit))
            for (name, machine, axis, unit), lines in found.items()
            if lines
        ]

    def cycles(self) -> Picture | None:
        bars = [Bar(row, side, explain.cycles_by_cause(seen)) for row, side, seen in self.sides]
        bars = [bar for bar in bars if sum(bar.parts.values()) > 0]
        return (
            Picture(
                "Cycles of one iteration by cost category. The longer bar of a pair is 100 %; the number is its total",
                partial(charts.cycles_by_cause, bars),
            )
            if bars
            else None
        )

    def misses(self) -> Picture | None:
        bars = [
            Bar(row, side, {name: total(seen.counters, key) / seen.iterations for name, key in _MISSES.items()})
            for row, side, seen in self.sides
        ]
        bars = [bar for bar in bars if sum(bar.parts.values()) > 0]
        return (
            Picture(
                "TLB misses of one iteration. The longer bar of each pair is 100 %; the number is its total",
                partial(charts.misses, bars),
            )
            if bars
            else None
        )

    def pollution(self, array: str) -> Picture | None:
        summed: Counter[tuple[str, str]] = Counter()
        for key in {cell.after_run for cell in self.cells}:
            run = self.run(key)
            summed.update(pollution(run.result.counters, array) if run else {})
        least = _LEAST_POLLUTION * sum(summed.values())
        kept = {pair: count for pair, count in summed.items() if count > least}
        if not kept:
            return None
        caption = f"Pollution of {array}: who evicted entries that were missed later, summed over all rows"
        return Picture(caption, partial(charts.pollution, kept, "misses"))

    def occupancy(self) -> Picture | None:
        """Hash-table occupancy at its fullest, before and after, of the first row that was sampled."""
        for cell in self.cells:
            maps = []
            for label, key in (("before", cell.before_run), ("after", cell.after_run)):
                run = self.run(key)
                tables = (
                    [self.store.decoded(state, "a state").get("hash_table") for state in run.result.dumps]
                    if run
                    else []
                )
                filled = [table for table in tables if table is not None]
                if filled:
                    fullest = max(filled, key=lambda table: int(table["used"]))
                    maps.append((label, fullest["occupancy"]))
            if maps:
                caption = f"The hash table at its fullest: PTEs in each PTEG ({cell.row_name}, {cell.machine})"
                return Picture(caption, partial(charts.occupancy, maps))
        return None

    def effects(self) -> Picture | None:
        drawn = plots.effects_of(self.cells)
        caption = (
            "Published and measured. A ring is the published ratio, a filled mark ours in the colour of its verdict"
        )
        return Picture(caption, partial(charts.effects, drawn)) if drawn else None

    def pictures(self) -> list[Picture]:
        drawn = [
            self.effects(),
            self.occupancy(),
            self.cycles(),
            self.misses(),
            *(self.pollution(array) for array in _POLLUTED),
        ]
        return [*self.curves(), *(picture for picture in drawn if picture is not None)]


def _sections(store: Store) -> list[Section]:
    made = records.experiments(store)
    found = []
    for name in made:
        try:
            (experiment,) = experiments.find(name)
        except BadInput:
            continue  # made from a file outside the checkout, which is not here to describe it
        cells = memories.judged(store, experiment)
        gathered = _Gatherer(store, experiment, cells)
        found.append(
            Section(
                name=name,
                title=experiment.title,
                section=f"{experiment.document}, section {experiment.section}",
                about=experiment.about.strip(),
                cells=cells,
                elsewhere=experiment.elsewhere,
                pictures=gathered.pictures(),
                of_images=bool(experiment.images),
            )
        )
    # The documents' own tables come first.
    return sorted(found, key=lambda section: section.section.startswith("pagewalk,"))


def _settings(store: Store, text: str) -> Mapping[str, str]:
    """The settings of a point, as they are kept."""
    found = store.decoded(text, "a sweep's point")
    if not all(isinstance(value, str) for value in found.values()):
        raise store.damaged("a sweep's point")
    return found


def _sweeps(store: Store) -> list[Picture]:
    """The latest sweep of each name: a curve if it has one axis, a heat map if it has two."""
    rows = store.query(
        "SELECT sweep, settings, unit, value FROM points p WHERE value IS NOT NULL "
        "AND made = (SELECT max(made) FROM points q WHERE q.sweep = p.sweep) ORDER BY sweep, number"
    )
    sweeps: dict[str, list[tuple[Mapping[str, str], str, float]]] = {}
    for sweep, settings, unit, value in rows:
        sweeps.setdefault(sweep, []).append((_settings(store, settings), unit, value))
    pictures = []
    for name, points in sweeps.items():
        drawn = plots.of_sweep([(settings, value) for settings, _, value in points], points[0][1])
        if drawn is not None:
            pictures.append(Picture(name, drawn))
        elif len({axis for settings, _, _ in points for axis in settings}) > 2:
            undrawn = f"{name}: a plot has two axes that vary at most; the table `points` holds the figures"
            pictures.append(Picture(undrawn))
    return pictures


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _printed(text: str | None) -> str:
    """A figure as its document prints it, with commas as ours have them."""
    return re.sub(r"(?<![\d.,])\d{4,}(?![\d,])", lambda found: f"{int(found[0]):,}", text or "")


def build(store: Store) -> str:
    """The page as HTML; BadInput if there is no result yet. The results file is open only while it is read."""
    with store.reading():
        sections = _sections(store)
        sweeps = _sweeps(store)
    if not sections and not sweeps:
        raise BadInput("there is no result to report yet", hint="make some: pagewalk run osdi99-table2")
    environment = Environment(
        loader=PackageLoader("pagewalk.report", "."),
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["printed"] = _printed
    environment.filters["tone"] = tone
    environment.globals["spread"] = records.spread
    # The count is of our kernel; kernels that a person named stand beside it.
    counted = [section for section in sections if not section.of_images]
    verdicts = by_class(
        [
            *((cell.figure, cell.verdict) for section in counted for cell in section.cells),
            *(
                (None, unmeasured(recalled=entry.claim.recalled, planned=False))
                for section in sections
                for entry in section.elsewhere
            ),
        ]
    )
    held = {claim for section in sections for cell in section.cells for claim in cell.claims}
    return environment.get_template("template.html").render(
        sections=sections,
        sweeps=sweeps,
        verdicts=verdicts,
        vega=embed.vega(),
        documents={claims.claim(claim).document.citation for claim in held},
    )
