"""The part of a paper's page that is about the paper's own kernels: published, on them, and on our kernel."""

from __future__ import annotations

from collections.abc import Mapping

from pagewalk import distance, experiments, measured, reasons, records
from pagewalk.errors import BadInput
from pagewalk.experiments import Experiment, Row
from pagewalk.markdown import head, line, number
from pagewalk.measured import ImageFacts, Table
from pagewalk.records import CellRecord
from pagewalk.store import Store

_CAUSES_MOST = 4


Ours = Mapping[tuple[str, str], tuple[Row, CellRecord]]
"""Our kernel's rows beside those of an experiment, by the names of its row and machine: the row, and its cell."""


def counterpart(experiment: Experiment, row: Row) -> Row | None:
    """Our kernel's row beside the experiment's, if it names one; BadInput if that does not exist."""
    if row.counterpart is None:
        return None
    name, wanted = row.counterpart
    (other,) = experiments.find(name)
    place = (wanted, row.after.machine)
    found = next((entry for entry in other.rows if entry.place == place), None)
    if found is None:
        raise BadInput(f"{experiment.name}, row {row.name!r}: {name} has no row {wanted!r} on {row.after.machine}")
    return found


def counterparts(store: Store, experiment: Experiment) -> Ours:
    """Our kernel's rows beside the experiment's, as far as they were measured."""
    found = {}
    for row in experiment.rows:
        ours = counterpart(experiment, row)
        if ours is None or row.counterpart is None:
            continue
        for cell in records.cells(store, row.counterpart[0]):
            if (cell.row_name, cell.machine) == ours.place:
                found[row.place] = (ours, cell)
    return found


def _images(images: Mapping[str, ImageFacts], experiment: Experiment) -> list[str]:
    lines = head(["kernel", "it says", "SHA-256 of the image", "options that matter"])
    for role, facts in images.items():
        options = ", ".join(f"{name}={value}" for name, value in facts.configuration.items()) or "not known"
        wanted = experiment.images[role].kernel if role in experiment.images else ""
        lines.append(line([f"`{role}`: {wanted}", facts.banner, f"`{facts.sha256}`", options]))
    return lines


def _sides(before: float | None, after: float | None) -> str:
    return " → ".join(number(value) for value in (before, after) if value is not None)


_COLUMNS = (
    "row", "machine", "unit", "published (ratio)", "the paper's own kernel", "ratio (spread)", "over inputs",
    "verdict", "what the counters say", "our kernel", "ratio", "verdict",
)  # fmt: skip


def _rows(experiment: Experiment, table: Table, ours: Ours) -> list[str]:
    lines = head(_COLUMNS)
    held = experiment.by_place
    for row in table.rows:
        asked = held.get((row.row_name, row.machine))
        published = " ".join(
            filter(None, (records.printed(row), f"({row.published_ratio})" if row.published_ratio else ""))
        )
        fields = [row.row_name, row.machine, row.unit, published]
        spread = records.spread(row.low, row.high, row.placements)
        ratio = number(row.ratio) or distance.shown(asked, row.after)
        ratio = f"{ratio} ({spread})" if spread and ratio else ratio or spread
        fields += [_sides(row.before, row.after), ratio, row.inputs, row.verdict, reasons.told(experiment, row)]
        beside, cell = ours.get((row.row_name, row.machine), (None, None))
        if cell is None:
            fields += ["", "", ""]
        else:
            ratio = number(cell.ratio) or distance.shown(beside, cell.after)
            fields += [_sides(cell.before, cell.after), ratio, cell.verdict]
        lines.append(line(fields))
    return lines


def _each(counters: Mapping[str, int], iterations: int, name: str) -> float:
    return counters.get(name, 0) / iterations


def _by_cause(counters: Mapping[str, int], iterations: int, prefix: str) -> str:
    """The causes with most of these events, as in `copy 12, entry 3`."""
    found = {
        name.removeprefix(prefix): count / iterations for name, count in counters.items() if name.startswith(prefix)
    }
    whole = sum(found.values())
    most = sorted(found.items(), key=lambda item: -item[1])[:_CAUSES_MOST]
    return ", ".join(f"{cause} {number(count)}" for cause, count in most if count >= whole / 100)


_CYCLES, _FETCHES, _LOADS = "cycles.cause.", "tlb.instruction.miss.cause.", "tlb.data.miss.cause."


def _counted(name: str, kernel: str, counters: Mapping[str, int], iterations: int) -> str:
    return line([
        name, kernel, number(_each(counters, iterations, "instructions")), _by_cause(counters, iterations, _CYCLES),
        _by_cause(counters, iterations, _FETCHES), _by_cause(counters, iterations, _LOADS),
        number(_each(counters, iterations, "cache.instruction.miss")),
        number(_each(counters, iterations, "cache.data.miss")),
    ])  # fmt: skip


def _ours(store: Store, row: Row, cell: CellRecord, name: str) -> list[str]:
    run = store.get(cell.after_run)
    found = records.measured(run, row.row) if run else None
    if found is None:
        return []
    return [_counted(name, f"ours, {row.after.setting.label}", measured.counts(found), found.iterations)]


def _differences(store: Store, table: Table, experiment: Experiment, ours: Ours) -> list[str]:
    """Counters of each program on each kernel, once: several rows are figures of the same program.

    They can come from runs with different placements, whose counters differ a little. The first row's are shown.
    """
    rows = experiment.by_place
    programs: dict[str, dict[str, str]] = {}
    for measured_row in table.rows:
        row = rows.get((measured_row.row_name, measured_row.machine))
        if row is None:
            continue
        name = f"{' '.join([row.program, *row.arguments])}, {measured_row.machine}"
        shown = programs.setdefault(name, {})
        for side, setting in zip(measured_row.sides, row.sides[-len(measured_row.sides) :], strict=True):
            label = setting.setting.label
            shown.setdefault(label, _counted(name, label, side.counters, side.iterations))
        if beside := ours.get((measured_row.row_name, measured_row.machine)):
            shown.update({counted: counted for counted in _ours(store, *beside, name)})
    lines = head((
        "program", "kernel", "instructions", "cycles", "I-TLB misses", "D-TLB misses", "I-cache misses",
        "D-cache misses",
    ))  # fmt: skip
    return [*lines, *(counted for shown in programs.values() for counted in shown.values())]


def _missing(table: Table, experiment: Experiment) -> list[str]:
    whole = len(experiment.rows)
    if len(table.rows) >= whole:
        return []
    return [f"These are {len(table.rows)} of the experiment's {whole} rows. The others have not been measured yet.", ""]


def _placements(table: Table) -> list[str]:
    return [
        f"Measured with {records.how_many(row.placements for row in table.rows)} of frames, heaps, stacks and the "
        "programs' code. The figures are those of the placement whose ratio is the median. The kernels' own code and "
        "data stay where the linker put them, so what a figure owes to that is not in the spread.",
        "",
    ]


def section(store: Store, experiment: Experiment) -> list[str]:
    """The experiment's part of the page; how to measure it if nothing is kept."""
    table = measured.read(experiment)
    named = " ".join(f"--image {role}=PATH" for role in experiment.images)
    lines = [
        f"## {experiment.title}",
        "",
        f"Section {experiment.section}. {experiment.about.strip()}",
        "",
        f"`pagewalk run {experiment.name} {named} --record`",
        "",
    ]
    if table is None:
        return [*lines, "Not measured yet.", ""]
    ours = counterparts(store, experiment)
    return [
        *lines,
        "Nothing of these kernels is part of pagewalk. They were built elsewhere, with small changes that a compiler "
        "of today asks for; the table names any further change. The figures below were measured on them.",
        "",
        *_images(table.images, experiment),
        "",
        *_rows(experiment, table, ours),
        "",
        *_placements(table),
        *_missing(table, experiment),
        "Counters of one iteration on each kernel. Cycles and TLB misses are shown for the causes that have most:",
        "",
        *_differences(store, table, experiment, ours),
        "",
    ]
