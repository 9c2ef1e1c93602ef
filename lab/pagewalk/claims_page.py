"""The page of a paper: all of its claims, each with our result. It is generated from the results file.

Experiments that reproduce no paper (`document = "pagewalk"`, "smp" or "workloads") have pages of the same kind, without
claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pagewalk import (
    architectures,
    claims,
    distance,
    experiments,
    linux_page,
    measured,
    measurements,
    memories,
    own_page,
    page_head,
    reasons,
    records,
)
from pagewalk.claims import Claim
from pagewalk.errors import unknown
from pagewalk.experiments import Elsewhere, Experiment, Row
from pagewalk.image_hash import hash_of_file
from pagewalk.markdown import line, number
from pagewalk.measurements import Measurement
from pagewalk.published_range import Range, digits
from pagewalk.records import CellRecord
from pagewalk.store import Store
from pagewalk.verdict import by_class, count_classes, in_order

_OWN = {
    "pagewalk": (
        "Beyond the papers",
        "Policies that no paper has measured, each compared with its plain form. Then the kernel's shortest paths, "
        "each compared with an estimate of the least that the hardware allows.",
    ),
    "smp": (
        "Several processors",
        "What it costs to change a translation that other processors hold, by each form of TLB shootdown "
        "([policies.md](policies.md)). Then what the hardware's broadcast is worth, and how much slower one process "
        "runs on a kernel that several processors share.",
    ),
    "workloads": (
        "Workloads of the papers' size",
        "The papers compiled with GCC, which is far larger than TinyCC. Their claims stand at it "
        "([experiments.md](experiments.md#compiles)). Here both compile under each optimisation, and one with few free "
        "frames. `make compilers` builds GCC, binutils, bash and GNU coreutils from Debian's source packages.",
    ),
    "riscv": (
        "Linux on RISC-V: questions of today",
        "Questions about the TLB code of Linux for RISC-V, answered by Linux 6.12, and in some rows "
        "by Linux 6.1, on the machines of [riscv.md](riscv.md), with Debian's OpenSBI below. A published figure stands "
        "in its row, with a verdict by the rules of [experiments.md](experiments.md).",
    ),
}
"""The `document` of experiments that reproduce no paper: the title of their page, and what it is about."""


def _top(store: Store, document: str) -> list[str]:
    title, about = _OWN[document]
    return [
        f"# {title}",
        "",
        about,
        "",
        f"{records.generated(store, f'pagewalk claims page {document}')} A row is better or worse if it changes by 1 % "
        "or more, with every placement that it was measured with.",
        "",
    ]


ALL = "all"
"""The page of all documents (`claims_overview`)."""

_LINUX = "linux"
"""The `document` of experiments with Linux of today."""

_OWN_COLUMN = " the paper's own kernel here |"


def _what(claim: Claim) -> str:
    return claim.metric or claim.unit


def _figures(numbers: Sequence[float]) -> str:
    return ", ".join(map(digits, numbers))


def published(claim: Claim, ranges: Collection[str] = ()) -> str:
    """What the document prints of a claim, as a table shows it; the figures of `ranges` are the ends of one."""
    parts = []
    if claim.baseline:
        parts.append(f"{_figures(claim.baseline)} → {_figures(claim.value)}")
    elif claim.id in ranges and (whole := Range.of(tuple(claim.value), None)) is not None:
        parts.append(whole.shown)
    elif claim.value:
        parts.append(_figures(claim.value))
    if claim.ratio is not None:
        parts.append(f"ratio {claim.ratio:g}")
    if claim.recalled:
        parts.append("recalled")
    return "; ".join(parts)


def _ranges(found: Iterable[Experiment]) -> set[str]:
    """The claims whose figures are the ends of a range: a row measures them as one figure."""
    return {
        claim.id
        for experiment in found
        for row in experiment.rows
        for claim in row.published.claims
        if (held := row.published.after or row.published.saving) is not None and held.low < held.high
    }


def _spread(cell: CellRecord, most: int) -> str:
    """The spread of a row; a row with fewer placements than the page's most says how many it had."""
    spread = records.spread(cell.low, cell.high, cell.placements)
    if not cell.after_run or cell.placements == most:
        return spread
    made = "1 placement" if cell.placements == 1 else f"{cell.placements} placements"
    return f"{spread}, {made}" if spread else made


def _row(experiment: Experiment, cell: CellRecord, row: Row | None, most: int, *, inputs: bool) -> str:
    ours = " → ".join(number(value) for value in (cell.before, cell.after) if value is not None)
    fields = [
        cell.row_name,
        cell.machine,
        cell.unit,
        records.printed(cell),
        cell.published_ratio or "",
        ours,
        number(cell.ratio) or distance.shown(row, cell.after),
        _spread(cell, most),
        *([cell.inputs] if inputs else []),
        cell.verdict,
        reasons.told(experiment, cell),
    ]
    return line(fields)


def _head(*, inputs: bool) -> str:
    """The columns of a table; with the spread over the inputs, if it has any."""
    names = ["row", "machine", "unit", "published", "ratio", "ours", "ratio", "spread", *(["inputs"] if inputs else [])]
    names += ["verdict", "what the counters say"]
    return f"{line(names)}\n{'| --- ' * len(names)}|"


def _several(cells: Sequence[CellRecord], before: str, most: int) -> list[str]:
    """A table with a column for each `after` setting: the names of its rows end in it (`pages=1: lazy`)."""
    names = dict.fromkeys((cell.machine, cell.row_name.rpartition(": ")[0]) for cell in cells)
    choices = list(dict.fromkeys(cell.row_name.rpartition(": ")[2] for cell in cells))
    held = {(cell.machine, *cell.row_name.rpartition(": ")[::2]): cell for cell in cells}
    befores: dict[tuple[str, str], str] = {}
    for cell in cells:
        befores.setdefault((cell.machine, cell.row_name.rpartition(": ")[0]), number(cell.before))

    def shown(cell: CellRecord | None) -> str:
        if cell is None:
            return ""
        if cell.after is None or cell.before is None:
            return cell.verdict
        figures = number(cell.after)
        if number(cell.before) != befores[cell.machine, cell.row_name.rpartition(": ")[0]]:
            figures = f"{number(cell.before)} → {figures}"
        apart = f", {_spread(cell, most)}" if cell.placements > 1 else ""
        return f"{figures} ({number(cell.ratio)}{apart}, {cell.verdict})"

    lines = [
        f"Each figure is followed by the ratio of that of {before} to it, by the spread of the ratio over the "
        f"placements, and by the verdict. Each ratio is that of the placement in the middle, which may be another in "
        f"each column: where {before} had another figure in it, the cell has both.",
        "",
        f"| row | machine | unit | {before} | {' | '.join(choices)} | what the counters say of {choices[0]} |",
        "| --- " * (len(choices) + 5) + "|",
    ]
    for machine, name in names:
        row = [held.get((machine, name, choice)) for choice in choices]
        first = next(cell for cell in row if cell is not None)
        fields = [name, machine, first.unit, befores[machine, name], *map(shown, row), row[0].reason if row[0] else ""]
        lines.append(line(fields))
    return lines


def _compares_several(experiment: Experiment) -> bool:
    """Whether several settings are compared with one `before`: each row's name ends in the label of its `after`."""
    return all(row.name.endswith(f": {row.after.setting.label}") for row in experiment.rows)


def _of_worse(cells: Sequence[CellRecord]) -> list[str]:
    """The reasons of what got worse in a table whose columns have no room for them."""
    worse = [cell for cell in cells if cell.verdict == "worse"]
    if not worse:
        return []
    lines = ["", "What the counters say where a row is worse:", ""]
    for cell in worse:
        name, _, choice = cell.row_name.rpartition(": ")
        lines.append(f"- {name}, {cell.machine}, {choice} ({number(cell.ratio)}): {cell.reason}.")
    return lines


def _section(experiment: Experiment, cells: Sequence[CellRecord], most: int) -> list[str]:
    section = "" if experiment.document in (*_OWN, _LINUX) else f"Section {experiment.section}. "
    lines = [f"## {experiment.title}", "", f"{section}{experiment.about.strip()}", ""]
    if experiment.base:
        lines += [f"Before: {experiment.base}.", ""]
    placements = [cell.placements for cell in cells if cell.after_run]
    made = f" (measured with {records.how_many(placements)})" if placements else ""
    lines += [f"`pagewalk run {experiment.name}`{made}", ""]
    if _compares_several(experiment) and (before := experiment.rows[0].before) is not None:
        lines += [*_several(cells, before.setting.label, most), *_of_worse(cells), ""]
    else:
        inputs = any(cell.inputs for cell in cells)
        rows = experiment.by_place
        lines += [
            *distance.far(experiment, cells),
            _head(inputs=inputs),
            *(_row(experiment, cell, rows.get((cell.row_name, cell.machine)), most, inputs=inputs) for cell in cells),
            "",
        ]
    lines += [
        f"{entry.label}: published {published(entry.claim)} ({entry.claim.unit}). Not measured here: {entry.why}."
        for entry in experiment.elsewhere
    ]
    return [*lines, ""] if experiment.elsewhere else lines


def _state(
    claim: Claim, cells: Sequence[CellRecord], elsewhere: Mapping[str, Elsewhere], found: Sequence[Experiment]
) -> str:
    held = [cell for cell in cells if claim.id in cell.claims]
    if held:
        return _tally([cell.verdict for cell in held])
    if claim.id in elsewhere:
        return f"not measured: {elsewhere[claim.id].why}"
    if planned := measurements.planned(claim, found):
        return f"not run: `pagewalk run {planned[0]}`"
    own = [experiment.name for experiment in measurements.holding(claim, found) if experiment.images]
    return f"not of our kernel: {own[0]}" if own else "not measured: no experiment reproduces it"


@dataclass(frozen=True)
class Counts:
    """How many claims, and how many published figures, each class of verdicts has.

    Claims that the same rows measure together are one measurement, and count once: a comparison of two published rows
    is one claim, however many figures were printed of it.

    `claims` and `figures` are of our kernel alone. In `shown` a claim has the stronger class of our kernel and of the
    papers' own kernels.
    """

    claims: list[tuple[str, int]]
    shown: list[tuple[str, int]]
    figures: list[tuple[str, int]]
    placements: int


def experiments_of(document: str) -> list[Experiment]:
    """The experiments on the page that has the figures of a document, by name."""
    page = claims.page_of(document)
    return [entry for name in experiments.names() for entry in experiments.find(name) if entry.document == page]


def _tables(store: Store, found: Sequence[Experiment]) -> dict[str, list[CellRecord]]:
    """The latest tables of our kernel by experiment. Those of the papers' own kernels are in `experiments/measured`."""
    with store.reading():
        return {entry.name: [] if entry.images else _judged(store, entry) for entry in found}


def _judged(store: Store, experiment: Experiment) -> list[CellRecord]:
    """The latest table with today's rule for inputs: a row that has become one since it was measured is one."""
    inputs = {row.name: row.input for row in experiment.rows if row.input is not None}
    return [
        replace(cell, verdict="an input", reason=inputs[cell.row_name])
        if cell.row_name in inputs and cell.verdict != "an input"
        else cell
        for cell in memories.judged(store, experiment)
    ]


def measured_rows(store: Store, document: str) -> list[tuple[Experiment, CellRecord]]:
    """The rows of the latest tables of all of the document's experiments, on our kernel."""
    found = experiments_of(document)
    return _rows_of(_tables(store, found), found)


def _rows_of(
    tables: Mapping[str, Sequence[CellRecord]], found: Sequence[Experiment]
) -> list[tuple[Experiment, CellRecord]]:
    return [(entry, cell) for entry in found for cell in tables[entry.name]]


OwnRows = list[tuple[Experiment, measured.MeasuredRow]]


def own_rows(document: str) -> OwnRows:
    """The rows on the paper's own kernels that count: both kernels are the claim's own before and after."""
    return _counting(_own_rows(experiments_of(document)))


def _own_rows(found: Sequence[Experiment]) -> OwnRows:
    tables = [(entry, measured.read(entry)) for entry in found if entry.images]
    return [(entry, row) for entry, table in tables if table for row in table.rows]


def _counting(own: OwnRows) -> OwnRows:
    """Without rows whose kernels differ in more than the claim's technique."""
    composite = {
        (entry.name, row.name, row.after.machine) for entry, _ in own for row in entry.rows if row.composite is not None
    }
    return [(entry, row) for entry, row in own if (entry.name, row.row_name, row.machine) not in composite]


def measurements_of(store: Store, document: str) -> list[Measurement]:
    """The measurements of a paper, in the order of its claims."""
    return measurements.of(
        claims.of_document(document), measured_rows(store, document), own_rows(document), experiments_of(document)
    )


def count(store: Store, document: str, without: Sequence[str] = ()) -> Counts:
    """The counts of a paper, from the latest tables.

    Rows on a machine that one of the patterns `without` names (as in `ppc*`) are left out, and with them the claims
    for which no experiment has other rows.
    """

    def counted(machine: str) -> bool:
        return not any(fnmatchcase(machine, pattern) for pattern in without)

    found = experiments_of(document)
    machines: dict[str, set[str]] = {}
    for row in (row for experiment in found for row in experiment.rows):
        for claim in row.published.claims:
            machines.setdefault(claim.id, set()).add(row.after.machine)
    listed = [
        claim
        for claim in claims.of_document(document)
        if claim.id not in machines or any(map(counted, machines[claim.id]))
    ]
    ours = [(entry, cell) for entry, cell in measured_rows(store, document) if counted(cell.machine)]
    own = [(entry, row) for entry, row in _counting(_own_rows(found)) if counted(row.machine)]
    return _count(measurements.of(listed, ours, own, found))


def _count(entries: Sequence[Measurement]) -> Counts:
    rows = [row for entry in entries for _, row in entry.ours]
    return Counts(
        count_classes(entry.alone for entry in entries),
        count_classes(entry.shown for entry in entries),
        by_class([
            *((records.figure(vars(row)), row.verdict) for row in rows),
            *((None, entry.alone) for entry in entries if not entry.ours),
        ]),
        min((row.placements for row in rows if row.verdict != "no figure"), default=1),
    )  # fmt: skip


def _summary(
    listed: Sequence[Claim],
    tables: Mapping[str, Sequence[CellRecord]],
    found: Sequence[Experiment],
    own: Sequence[tuple[Experiment, measured.MeasuredRow]],
) -> list[str]:
    """How many claims and figures each class has, and with how many placements they were measured."""
    counts = _count(measurements.of(listed, _rows_of(tables, found), own, found))
    figures, whole, shown = dict(counts.figures), dict(counts.claims), dict(counts.shown)
    beside = " claims, our kernel or the paper's own |" if own else ""
    lines = [f"| class | claims |{beside} published figures |", "| --- " * (4 if own else 3) + "|"]
    for name in in_order([*whole, *figures, *shown]):
        numbers = [whole.get(name, 0), *([shown.get(name, 0)] if own else []), figures.get(name, 0)]
        lines.append(line([name, *map(str, numbers)]))
    also = (
        " The second count of claims takes the stronger class of our kernel and of the paper's own kernels, "
        "where these were measured."
        if own
        else ""
    )
    return [
        *lines,
        "",
        "A claim may hold several figures, and a figure may be measured on several machines. A claim is reproduced in "
        f"part if some of its rows are reproduced and others are not.{also}",
        "",
        " ".join([_placements(tables, whose=" of our kernel" if own else ""), *_own_placements(found)]),
        "",
    ]


def _own_placements(found: Sequence[Experiment]) -> list[str]:
    """With how many placements the rows of the papers' own kernels were measured, as a sentence."""
    kept = {entry.name: table for entry in found if entry.images and (table := measured.read(entry))}
    made = [f"{records.how_many(row.placements for row in table.rows)} in {name}" for name, table in kept.items()]
    return [f"Rows of the paper's own kernels: {'; '.join(made)}."] if made else []


def _most_placements(cells: Iterable[CellRecord]) -> int:
    return max((cell.placements for cell in cells if cell.after_run), default=1)


def _placements(tables: Mapping[str, Sequence[CellRecord]], whose: str = "") -> str:
    """With how many placements the rows of our kernel were measured."""
    groups: dict[str, list[str]] = {}
    for name, cells in tables.items():
        if placements := [cell.placements for cell in cells if cell.after_run]:
            groups.setdefault(records.how_many(placements), []).append(name)
    where = " of code, frames, heaps and stacks"
    if not groups:
        return "Nothing was measured yet."
    if list(groups) == ["1 placement"]:
        return f"Each row{whose} was measured with one placement{where}."
    if len(groups) == 1:
        made = f"Each row{whose} was measured with {next(iter(groups))}{where}"
    else:
        parts = [f"{number} in {', '.join(names)}" for number, names in groups.items()]
        made = f"The rows{whose} were measured with several placements{where}: {'; '.join(parts)}"
    return (
        f"{made}. Figures and ratio are those of the median. The spread is from the least to the greatest. A verdict "
        "is one that all bear out."
    )


def _tally(verdicts: Sequence[str]) -> str:
    """The verdicts with their numbers, as in `2 x not reproduced, ratio reproduced`."""
    counts = Counter(verdicts)
    return ", ".join(f"{count} x {verdict}" if count > 1 else verdict for verdict, count in counts.most_common())


def _claims(
    store: Store,
    listed: Sequence[Claim],
    tables: Mapping[str, Sequence[CellRecord]],
    elsewhere: Mapping[str, Elsewhere],
    found: Sequence[Experiment],
) -> list[str]:
    cells = [cell for table in tables.values() for cell in table]
    document = listed[0].document
    own = _own_rows(found)
    # Our kernel's results are those that the page counts; the papers' own kernels stand beside them.
    everything, found = found, [experiment for experiment in found if not experiment.images]
    entries = measurements.of(listed, _rows_of(tables, everything), _counting(own), everything)
    lines = [
        *page_head.lines(document, entries, cells, own),
        f"{records.generated(store, f'pagewalk claims page {document.id}')} "
        "Verdicts: [experiments.md](experiments.md).",
        "",
        *_summary(listed, tables, everything, _counting(own)),
        f"## All {len(listed)} claims",
        "",
        f"| claim | section | what | published |{_OWN_COLUMN if own else ''} result |",
        "| --- " * (6 if own else 5) + "|",
    ]
    ranges = _ranges(everything)
    for claim in listed:
        what = _what(claim) + (f" ({claim.note})" if claim.note else "")
        result = _state(claim, cells, elsewhere, everything)
        beside = [_tally([row.verdict for _, row in own if claim.id in row.claims])] if own else []
        fields = [f"`{claim.id}`", claim.section, what, published(claim, ranges), *beside, result]
        lines.append(line(fields))
    return [*lines, "", *page_head.rest(document)]


def _built() -> set[str]:
    """The hash of every image of our kernel that is built: of all its orders of functions."""
    return {
        hash_of_file(path)
        for architecture in architectures.ALL
        for place in ("", "seed-*/")
        for path in architecture.kernel.parent.glob(f"{place}vmlinux*")
    }


def _of_other_builds(
    store: Store, found: Sequence[Experiment], tables: Mapping[str, Sequence[CellRecord]]
) -> list[str]:
    """The experiments that were measured on another build of our kernel than the one here, as a sentence."""
    built, others = _built(), []
    for experiment in found:
        ours = {row.place for row in experiment.rows if row.after.setting.subject is None and not row.images}
        cells = [cell for cell in tables[experiment.name] if (cell.row_name, cell.machine) in ours]
        kernels = [kernel for cell in cells if (kernel := store.kernel_of(cell.after_run))]
        elsewhere = sum(kernel not in built for kernel in kernels)
        if elsewhere:
            part = "" if elsewhere == len(kernels) else f" ({elsewhere} of {len(kernels)} rows)"
            others.append(experiment.name + part)
    if not others:
        return []
    return [f"Measured on another build of the kernel than the one here: {', '.join(others)}.", ""]


def _of_several_machines(store: Store, tables: Mapping[str, Sequence[CellRecord]]) -> list[str]:
    """The experiments whose rows were measured by several builds of the machine, as a sentence."""
    several, mixed = [], False
    for name, cells in tables.items():
        builds = Counter(
            found
            for cell in cells
            if (
                found := frozenset(filter(None, map(store.version_of, filter(None, (cell.before_run, cell.after_run)))))
            )
        )
        sides = sum(count for found, count in builds.items() if len(found) > 1)
        rows = sorted((count for found, count in builds.items() if len(found) == 1), reverse=True)
        words = [f"{' and '.join(map(str, rows))} rows"] if len(rows) > 1 else []
        if sides:
            words.append(
                "1 row with a build for each side" if sides == 1 else f"{sides} rows with a build for each side"
            )
        if words:
            several.append(f"{name} ({', '.join(words)})")
        mixed = mixed or bool(sides)
    if not several:
        return []
    rest = "" if mixed else " Both sides of each row are of one build."
    return [f"Measured by more than one build of the machine: {', '.join(several)}.{rest}", ""]


def documents() -> dict[str, str]:
    """What there is a page of: the names that `build` takes, with the pages' titles."""
    printed = (claim.document for claim in claims.all_claims().values())
    papers = {document.id: document.title for document in printed if not document.page}
    own = {name: title for name, (title, _) in _OWN.items()}
    return papers | own | {_LINUX: "Linux beside our kernel", ALL: "The five documents' claims on one page"}


def build(store: Store, document: str) -> str:
    """The page of a paper, or of our own experiments, as Markdown; BadInput if there is no such page."""
    if document not in (known := documents()):
        raise unknown("document", document, known, listing="pagewalk claims page")
    with store.reading():
        return "\n".join(_lines(store, document)).rstrip() + "\n"


def _lines(store: Store, document: str) -> list[str]:
    found = experiments_of(document)
    tables = _tables(store, found)
    most = _most_placements(cell for table in tables.values() for cell in table)
    if document in _OWN:
        lines = [*_top(store, document), _placements(tables), ""]
    elif document == _LINUX:
        made = records.generated(store, f"pagewalk claims page {document}")
        lines = [*linux_page.rows(store), f"{made} {_placements(tables)}", ""]
        found = [entry for entry in found if entry.name not in (linux_page.BARE, linux_page.DEFAULT)]
    else:
        elsewhere = {other.claim.id: other for entry in found for other in entry.elsewhere}
        lines = _claims(store, claims.of_document(document), tables, elsewhere, found)
    lines += [*_of_other_builds(store, found, tables), *_of_several_machines(store, tables)]
    for entry in found:
        if entry.images:
            lines += own_page.section(store, entry)
        elif document == _LINUX and not any(cell.after is not None for cell in tables[entry.name]):
            lines += [f"## {entry.title}", "", f"Not measured on this build: `pagewalk run {entry.name}`.", ""]
        elif tables[entry.name]:
            lines += _section(entry, tables[entry.name], most)
    return lines
