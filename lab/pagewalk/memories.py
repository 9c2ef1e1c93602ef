"""What the inputs of the machines decide: verdicts with everything that a machine's file leaves open.

No paper says what memory its machines had. So many keys of the machine files are inputs, and the files' tables
`[inputs]` say within what bounds. Here every row that has a claim runs with these values too, on both sides of the
row: all fastest and all slowest, their corners, and each alone where that tells more. What they give is kept beside the
experiment's table.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias, TypeVar

from pagewalk import inputs, machines, records
from pagewalk.errors import BadInput
from pagewalk.execute import Cell, Lab
from pagewalk.experiments import Experiment, Row, Side
from pagewalk.inputs import AS_IN_FILE, FASTEST, SLOWEST, Variant, end_of, told
from pagewalk.machines import Machine
from pagewalk.markdown import head, line
from pagewalk.records import CellRecord, TableRow
from pagewalk.rejudged import rejudged
from pagewalk.simulate import Events
from pagewalk.store import Store
from pagewalk.verdict import NO_CHANGE, REFUTED, Kind, at_edge, class_of, is_verdict, judged_figures, weakest

DECIDES = "an input decides"
"""The verdict on a row whose class is another with other inputs."""
_SHOW = ("reproduced", "direction")
"""Classes of verdicts that show a published effect."""
OTHER_RANGES = "measured with other ranges"
"""Said of a row that was tried with values that the machines' files do not have now."""

LONG = 300_000_000
"""Cycles from which a run counts as long: its row has no corner, no input alone, and one placement."""
EDGE_PLACEMENTS = 3
"""Placements of a row whose verdict with the files' inputs is within 1 % of an edge of its class."""

Figures: TypeAlias = tuple[float | None, float | None, float | None]
"""What a row gave with one variant: before, after and their ratio."""
_R = TypeVar("_R", bound=TableRow)
_Choice: TypeAlias = Callable[[Machine, Collection[str]], list[Variant]]


def _variants(row: Row, choice: _Choice) -> dict[str, dict[str, Variant]]:
    """The variants of a row by name, each with that of every machine of its sides."""
    found: dict[str, dict[str, Variant]] = {}
    for side in row.sides:
        for variant in choice(machines.find(side.machine), side.keys):
            found.setdefault(variant.name, {})[side.machine] = variant
    return found


def _settings(of_machine: Mapping[str, Variant]) -> str:
    """The keys that a variant sets on each machine of a row, as they are kept."""
    return json.dumps({machine: dict(variant.keys) for machine, variant in of_machine.items()}, sort_keys=True)


def _of_today(row: Row, kept: Mapping[str, str | None]) -> bool:
    """Whether the variants that a row was tried with, and the keys that each of them set, are among today's."""
    today = {name: _settings(of_machine) for name, of_machine in _variants(row, inputs.variants).items()}
    ends = {name for name in today if end_of(name) == name}
    return ends <= kept.keys() and all(today.get(name) == settings for name, settings in kept.items())


def _with(row: Row, of_machine: Mapping[str, Variant]) -> Row:
    """The row with a variant on both of its sides."""

    def side(of: Side) -> Side:
        variant = of_machine.get(of.machine)
        return of if variant is None else replace(of, keys={**of.keys, **variant.keys})

    return replace(row, before=row.before and side(row.before), after=side(row.after))


@dataclass(frozen=True)
class Varied:
    """A row of an experiment with each variant of its machines, the files' own first.

    `kept` is the row in the experiment's own table, which may have been measured with more placements. `settings` are
    the keys that each variant set (None: not kept).
    """

    experiment: str
    cells: Mapping[str, Cell]
    kept: CellRecord | None
    settings: Mapping[str, str | None]

    @property
    def own(self) -> Cell:
        """The cell with the files' own values."""
        return self.cells[AS_IN_FILE]

    @property
    def _others(self) -> dict[str, str]:
        """The verdicts of the variants with which the row moves, and is counted under another class."""
        table = self.kept.verdict if self.kept is not None else None
        figures = {name: (cell.before, cell.after, cell.ratio) for name, cell in self.cells.items()}
        verdicts = {name: cell.verdict for name, cell in self.cells.items()}
        return {name: verdicts[name] for name in _others(self.own.row, verdicts, figures, table)}

    @property
    def deciding(self) -> list[str]:
        """The variants that decide the row (`over_inputs`)."""
        others = self._others
        return list(others) if over_inputs(self.own.verdict, others.values()) == DECIDES else []

    @property
    def verdict(self) -> str:
        """The verdict that holds with all variants, or DECIDES."""
        return over_inputs(self.own.verdict, self._others.values())

    @property
    def of_today(self) -> bool:
        """Whether the row was tried with the ranges that the machines' files have now."""
        return _of_today(self.own.row, self.settings)

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on a published figure, with one variant at least."""
        return any(is_verdict(cell.verdict) for cell in self.cells.values())

    def ends(self, *, alone: bool = False) -> tuple[float, float] | None:
        """The least and the greatest ratio, or figure where there is no ratio; `alone`: of one input at a time."""
        found = [
            value
            for name, cell in self.cells.items()
            if not (alone and end_of(name)) and (value := _compared(cell)) is not None
        ]
        return (min(found), max(found)) if found else None


def of_another_class(verdicts: Mapping[str, str], table: str | None = None) -> list[str]:
    """The variants whose verdict is counted under another class than that with the files' values.

    `table` is the verdict of the row's own table, if it has one. Its placements may be more than those of the variants,
    so that it is weaker: a variant with the same class has moved nothing.
    """

    def counted(verdict: str) -> str:
        return "not reproduced" if verdict == REFUTED else class_of(verdict)

    same = {counted(verdicts[AS_IN_FILE]), *([] if table is None else [counted(table)])}
    return [name for name, verdict in verdicts.items() if counted(verdict) not in same]


def moved(row: Row, own: Figures, other: Figures) -> bool:
    """Whether what the verdict is made of differs by 1 % at least: by less, its class changes at an edge alone."""
    (before, after, ratio), (other_before, other_after, other_ratio) = own, other
    if after is None or other_after is None:
        return after != other_after
    ours = judged_figures(row, before, after, ratio)
    theirs = judged_figures(row, other_before, other_after, other_ratio)
    return len(ours) != len(theirs) or any(
        abs(one - two) > (NO_CHANGE - 1) * min(abs(one), abs(two)) for one, two in zip(ours, theirs, strict=True)
    )


def _others(row: Row, verdicts: Mapping[str, str], figures: Mapping[str, Figures], table: str | None) -> list[str]:
    """The variants with which a row moves, and is counted under another class."""
    found = of_another_class(verdicts, table)
    return [name for name in found if moved(row, figures[AS_IN_FILE], figures[name])]


def over_inputs(own: str, others: Iterable[str]) -> str:
    """The verdict over all inputs, of a row's own verdict and those of variants that are of another class.

    If all of them show the published effect, in ratio or in direction, it is the weakest, as with placements: that
    holds with every input. Else an input decides.
    """
    found = [own, *others]
    if len(found) == 1 or all(class_of(verdict) in _SHOW for verdict in found):
        return weakest(found)
    return DECIDES


def _compared(cell: Cell) -> float | None:
    return cell.after if cell.ratio is None else cell.ratio


@dataclass
class _Planned:
    """A row that is being measured: its cells by the names of the variants, and with how many placements."""

    experiment: Experiment
    row: Row
    placements: int = 1
    cells: dict[str, Cell] = field(default_factory=dict)
    settings: dict[str, str | None] = field(default_factory=dict)

    def is_long(self, store: Store) -> bool:
        """Whether a run of the row with the files' inputs is long."""
        cell = self.cells[AS_IN_FILE]
        runs = [store.get(key) for key in (cell.before_run, cell.after_run) if key]
        return any(run is not None and run.result.counters.get("cycles", 0) > LONG for run in runs)

    @property
    def at_edge(self) -> bool:
        pairs = self.cells[AS_IN_FILE].pairs
        return bool(pairs) and at_edge(self.row, pairs)

    @property
    def alone_tells(self) -> bool:
        """Whether each input alone tells more: the class differs at an end or corner, or the row has one side."""
        return self.row.before is None or bool(
            of_another_class({name: cell.verdict for name, cell in self.cells.items()})
        )


def _measure(lab: Lab, planned: Sequence[_Planned], choice: _Choice, events: Events) -> None:
    """Measures each row with the variants that `choice` gives of its machines."""
    for placements in sorted({entry.placements for entry in planned}):
        work = [
            (entry, name, of_machine, _with(entry.row, of_machine))
            for entry in planned
            if entry.placements == placements
            for name, of_machine in _variants(entry.row, choice).items()
        ]
        if not work:
            continue
        # One table with all of them: the runs are planned together, and progress shows how many there are.
        rows = tuple(row for *_, row in work)
        for (entry, name, of_machine, _), cell in zip(
            work, lab.measure(replace(planned[0].experiment, rows=rows), events, placements), strict=True
        ):
            entry.cells[name] = replace(cell, row=entry.row)
            entry.settings[name] = _settings(of_machine)


def compare(lab: Lab, found: Iterable[Experiment], events: Events, *, extremes: bool = False) -> list[Varied]:
    """Every row with a claim with the variants of its machines, which are kept in the results.

    `extremes`: with the files' inputs, all fastest and all slowest alone. Else also with the corners, and with each
    input alone if the class differs at one of these, or if the row has one side; a row whose runs are long has neither.
    A row at an edge of its class has more placements. Rows of kernels that a person must have are left out, unless
    `lab` has their images.
    """
    planned = [
        _Planned(experiment, row)
        for experiment in found
        for row in experiment.rows
        if row.published.claims and lab.images.keys() >= set(row.images)
    ]
    if not planned:
        raise BadInput("no row that can be run has a claim: there is no verdict that an input could decide")
    _measure(lab, planned, lambda machine, fixed: inputs.ends(machine, fixed)[:1], events)
    short = [] if extremes else [entry for entry in planned if not entry.is_long(lab.store)]
    for entry in short:
        entry.placements = EDGE_PLACEMENTS if entry.at_edge else 1
    _measure(lab, planned, inputs.ends, events)
    _measure(lab, short, inputs.corners, events)
    _measure(lab, [entry for entry in short if entry.alone_tells], inputs.alone, events)
    kept = {
        (experiment.name, cell.row_name, cell.machine): cell
        for experiment in {entry.experiment.name: entry.experiment for entry in planned}.values()
        for cell in records.cells(lab.store, experiment.name)
    }
    varied = [
        Varied(
            entry.experiment.name,
            entry.cells,
            kept.get((entry.experiment.name, *entry.row.place)),
            entry.settings,
        )
        for entry in planned
    ]
    for name in dict.fromkeys(entry.experiment for entry in varied):
        lab.store.add_inputs(name, [
            {
                "row_name": cell.row.name, "machine": cell.row.after.machine, "variant": variant,
                "before": cell.before, "after": cell.after, "ratio": cell.ratio,
                "settings": entry.settings[variant], "verdict": cell.verdict,
            }
            for entry in varied if entry.experiment == name for variant, cell in entry.cells.items()
        ])  # fmt: skip
    return varied


def tried(store: Store, found: Iterable[Experiment]) -> list[Varied]:
    """Every row with a claim as it was when it was last tried with the inputs, without measuring anything.

    Experiments, and rows, that were not tried, or could not be run, are left out.
    """
    varied = []
    for experiment in found:
        kept = {(cell.row_name, cell.machine): cell for cell in records.cells(store, experiment.name)}
        latest = tried_last(store, experiment.name)
        for row in experiment.rows:
            place = row.place
            made = latest.get(place, ())
            cells = {
                one.variant: Cell(row, one.before, one.after, one.ratio, one.verdict, "", None, "") for one in made
            }
            ran = AS_IN_FILE in cells and any(cell.verdict != "no figure" for cell in cells.values())
            if row.published.claims and ran:
                settings = {one.variant: one.settings for one in made}
                varied.append(Varied(experiment.name, cells, kept.get(place), settings))
    return varied


@dataclass(frozen=True)
class Tried:
    """What a row is with one variant of its machine; `settings` are the keys that it sets (None: not kept)."""

    variant: str
    before: float | None
    after: float | None
    ratio: float | None
    settings: str | None
    verdict: Kind


def tried_last(store: Store, experiment: str) -> dict[tuple[str, str], list[Tried]]:
    """What the rows of an experiment were with each variant when they were last tried, by name and machine."""
    found: dict[tuple[str, str], list[Tried]] = {}
    made: dict[tuple[str, str], datetime] = {}
    for row, machine, when, *values in store.query(
        "SELECT row_name, machine, made, variant, before, after, ratio, settings, verdict FROM inputs "
        "WHERE experiment = ? ORDER BY made DESC, number",
        [experiment],
    ):
        if made.setdefault((row, machine), when) == when:
            found.setdefault((row, machine), []).append(Tried(*values))
    return found


@dataclass(frozen=True)
class Spread:
    """What a row of a kept table is with other inputs: the ends of its ratio or figure, and verdicts by variant."""

    low: float | None
    high: float | None
    verdicts: Mapping[str, str]
    figures: Mapping[str, Figures]
    settings: Mapping[str, str | None]

    def others(self, row: Row | None, table: str) -> list[str]:
        """The variants with which the row, whose own table has this verdict, is counted under another class."""
        return (
            of_another_class(self.verdicts, table) if row is None else _others(row, self.verdicts, self.figures, table)
        )

    @property
    def shown(self) -> str:
        """The ends, as tables print them."""
        return records.spread(self.low, self.high, len(self.verdicts))


def spreads(store: Store, experiment: str) -> dict[tuple[str, str], Spread]:
    """What the rows of an experiment were with other inputs when they were last tried, by name and machine."""
    return {place: spread for place, latest in tried_last(store, experiment).items() if (spread := spread_of(latest))}


def spread_of(tried: Sequence[Tried]) -> Spread | None:
    """The spread of one row; None if it was not tried with the files' own values."""
    compared = [one.after if one.ratio is None else one.ratio for one in tried]
    known = [value for value in compared if value is not None]
    verdicts: dict[str, str] = {one.variant: one.verdict for one in tried}
    if AS_IN_FILE not in verdicts:
        return None
    settings = {one.variant: one.settings for one in tried}
    figures = {one.variant: (one.before, one.after, one.ratio) for one in tried}
    return Spread(min(known, default=None), max(known, default=None), verdicts, figures, settings)


def judged(store: Store, experiment: Experiment) -> list[CellRecord]:
    """The experiment's latest table, with the verdicts that hold with other inputs too.

    Where the class is another with other inputs, the reason says which verdict the row has with which. The verdict is
    `over_inputs` of them.
    """
    found = spreads(store, experiment.name)
    rows = experiment.by_place
    cells, judged = records.cells(store, experiment.name), []
    runs = records.runs(store, cells)
    for cell in cells:
        place = cell.row_name, cell.machine
        spread, row = found.get(place), rows.get(place)
        if row is not None:
            cell = rejudged(runs, row, cell)  # noqa: PLW2901
        # A row whose claim stands elsewhere now is tried with other inputs no more.
        tried_now = spread is not None and (row is None or bool(row.published.claims))
        judged.append(with_inputs(cell, spread, row) if spread is not None and tried_now else cell)
    return judged


def _figure_when_tried(cell: TableRow, spread: Spread) -> list[str]:
    """What the row was with the files' inputs when others were tried, unless that lies within its placements now."""
    _, after, ratio = spread.figures[AS_IN_FILE]
    then = after if ratio is None else ratio
    own = cell.after if cell.ratio is None else cell.ratio
    now = [float(f"{value:.3g}") for value in (own, cell.low, cell.high) if value is not None]
    if then is None or not now or min(now) <= float(f"{then:.3g}") <= max(now):
        return []
    return [f"tried when the row was {then:.3g}"]


def with_inputs(cell: _R, spread: Spread, row: Row | None) -> _R:
    """The row with what other inputs make of it; `row` is None if its experiment has it no more."""
    of_today = row is None or _of_today(row, spread.settings)
    said = [spread.shown, *([] if of_today else [OTHER_RANGES]), *_figure_when_tried(cell, spread)]
    cell = replace(cell, inputs=", ".join(said))
    others = spread.others(row, cell.verdict)
    if not others or not is_verdict(cell.verdict):
        return cell
    by_verdict: dict[str, list[str]] = {}
    for name in others:
        by_verdict.setdefault(spread.verdicts[name], []).append(name)
    words = "; ".join(
        f"{verdict} with {', '.join(told(names, spread.verdicts))}" for verdict, names in by_verdict.items()
    )
    return replace(
        cell,
        verdict=over_inputs(cell.verdict, by_verdict),
        reason=f"{cell.verdict} with the files' inputs; {words}; {cell.reason}",
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _cell(cell: Cell | None) -> str:
    return "" if cell is None else f"{_figure(_compared(cell))} {cell.verdict}".strip()


def _kept(cell: CellRecord | None) -> str:
    """The spread over the placements of the experiment's own table, and its verdict."""
    if cell is None or cell.placements < 2:
        return ""
    made = f"{records.spread(cell.low, cell.high, cell.placements)} ({records.how_many([cell.placements])})"
    return f"{made} {cell.verdict}"


def _end(name: str) -> Callable[[Varied], str]:
    """The column of an end: what the row is at all corners of it."""

    def text(entry: Varied) -> str:
        cells = [cell for variant, cell in entry.cells.items() if end_of(variant) == name]
        if len(cells) < 2:
            return _cell(next(iter(cells), None))
        compared = [value for cell in cells if (value := _compared(cell)) is not None]
        verdicts = dict.fromkeys(cell.verdict for cell in cells)
        shown = records.spread(min(compared), max(compared), len(compared)) if compared else ""
        return f"{shown} {', '.join(verdicts)}".strip()

    return text


def _has_alone(entry: Varied) -> bool:
    return any(name != AS_IN_FILE and not end_of(name) for name in entry.cells)


def _alone(entry: Varied) -> str:
    ends = entry.ends(alone=True)
    return "" if ends is None or not _has_alone(entry) else records.spread(*ends, 2)


_COLUMNS: tuple[tuple[str, Callable[[Varied], str]], ...] = (
    ("row", lambda entry: entry.own.row.name),
    ("machine", lambda entry: entry.own.row.after.machine),
    ("published", lambda entry: _published(entry.own.row)),
    ("as in the files", lambda entry: _cell(entry.own)),
    (FASTEST, _end(FASTEST)),
    (SLOWEST, _end(SLOWEST)),
    ("one input at a time", _alone),
    (
        "decided by",
        lambda entry: ", ".join([*told(entry.deciding, entry.cells), *([] if entry.of_today else [OTHER_RANGES])]),
    ),
    ("other placements", lambda entry: _kept(entry.kept)),
)


def _held(varied: Sequence[Varied]) -> str:
    """Which variants the results hold of these rows, as a sentence."""
    rows = Counter(map(_kinds, varied))
    words = (f"{kinds} ({count} row{'' if count == 1 else 's'})" for kinds, count in rows.items())
    return f"Variants: {'; '.join(words)}."


def _kinds(entry: Varied) -> str:
    names = [name for name in entry.cells if name != AS_IN_FILE]
    kinds = {
        "both ends": any(name in (FASTEST, SLOWEST) for name in names),
        "their corners": any(end_of(name) and name not in (FASTEST, SLOWEST) for name in names),
        "each input alone": _has_alone(entry),
    }
    return ", ".join(kind for kind, held in kinds.items() if held) or "none, because no input is open"


def _published(row: Row) -> str:
    return row.published.effect or (row.published.after.shown if row.published.after else "")


def _machines(varied: Sequence[Varied]) -> list[str]:
    """The inputs of every machine, as a table."""
    names = dict.fromkeys(side.machine for entry in varied for side in entry.own.row.sides)
    lines = ["| machine | key | in the file | range |", "| --- | --- | --- | --- |"]
    for name in names:
        machine = machines.find(name)
        for key, values in machine.inputs.items():
            lines.append(line([name, f"`{key}`", machine.values.get(key, ""), ", ".join(values)]))
    return lines


def page(store: Store, varied: Sequence[Varied]) -> str:
    """The comparison as a page in Markdown."""
    names = list(dict.fromkeys(entry.experiment for entry in varied))
    counted = [entry for entry in varied if entry.judged]
    decided = sum(bool(entry.deciding) for entry in counted)
    keys = ", ".join(f"`{key}`" for key in inputs.CROSSED)
    lines = [
        "# Verdicts and the inputs of the machines",
        "",
        f"{records.generated(store, ' '.join(['pagewalk memories', *names]))} "
        "Verdicts: [experiments.md](experiments.md).",
        "",
        "No paper says what memory its machines had, and no manual gives every time of a processor. Such keys of the "
        "machine files are inputs; each file says in its table `[inputs]` within what bounds. Each row here has a "
        "claim and is measured with other values of its inputs. There is one placement of code and data, or more "
        'where the text below says so. The line "Variants" under each experiment says which values its results hold.',
        "",
        *head(["variants", "what is measured"]),
        line(
            [
                "both ends",
                f"all inputs fastest, and all inputs slowest. {keys} keep the file's value: they have no "
                "faster end, because a value helps one kind of access and hinders another",
            ]
        ),
        line(
            [
                "their corners",
                "both ends, crossed with each combination of these keys, if the machine leaves one of "
                "them open. The columns of the ends then have the spread over the corners",
            ]
        ),
        line(["each input alone", "one input has another value, and all others have the file's"]),
        "",
        "`pagewalk memories` tries the corners of each row, unless `--extremes` asks for the ends alone. It tries each "
        "input alone if the class differs at an end or at a corner, or if the row has one side and so judges the "
        "machine's times. A row "
        f"that has corners has {EDGE_PLACEMENTS} placements if its verdict with the files' inputs is within 1 % of an "
        f"edge of its class. A row with a run of more than {LONG // 1_000_000} million cycles has the ends alone, and "
        "one placement. The claims' pages say which rows are at an edge. Nothing proves that no other choice lies "
        "outside of what was tried. The list at the end has the ranges of the machine files now. "
        f'A row that was tried with other values says "{OTHER_RANGES}". A claim\'s page says what the row was when it '
        "was tried, if its table has another figure now.",
        "",
        "A cell has our ratio, or our figure where there is no ratio, and the verdict. An input decides a row if its "
        "class differs with that input, and if what the verdict is made of moves by 1 % at least. The class must "
        "differ from that of the row's own table, too. Then the claim's page says so. No input decides a row that "
        "shows the published effect with all of them, in ratio or in direction: its verdict is the weakest. The last "
        "column has the spread over all placements in the experiment's own table, with the inputs as in the files. "
        "Where it is as wide as the columns are apart, the placement matters as much as the inputs. Where the cell "
        '"as in the files" '
        "lies outside of the last, the two are not of one build or of the same placements.",
        "",
        f"There is a verdict on a published figure in {len(counted)} of the {len(varied)} rows; in {decided} of these "
        "an input decides it.",
        "",
    ]
    for name in names:
        heads = [title for title, _ in _COLUMNS]
        rows = [entry for entry in varied if entry.experiment == name]
        lines += [f"## {name}", "", _held(rows), "", *head(heads)]
        lines += [line([text(entry) for _, text in _COLUMNS]) for entry in rows]
        lines.append("")
    lines += ["## The inputs", "", *_machines(varied)]
    return "\n".join(lines).rstrip() + "\n"
