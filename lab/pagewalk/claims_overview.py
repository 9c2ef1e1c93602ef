"""The page of all documents: each claim in a line, with what was published, what was measured, and the verdict.

A line stands for one measurement: claims that the same rows measure together are one. Where a claim has several rows,
the line shows the row that decides its class, and names it. The reason is that of the kernel that has the class. Beside
it stands the row of the other kernel that has the same published figures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pagewalk import claims, claims_page, reasons, records
from pagewalk.experiments import Experiment
from pagewalk.markdown import head, line, number
from pagewalk.measurements import Measurement, Rows
from pagewalk.records import TableRow
from pagewalk.store import Store
from pagewalk.verdict import class_of, in_order, weakest

_COLUMNS = ("claim", "published", "our kernel", "over inputs", "the paper's own kernel", "over inputs", "class", "why")
MACHINES = "lmbench96"
_MOST_WORDS = 160
"""The most characters of a reason: the document's page has all of it."""


def _deciding(rows: Rows) -> tuple[Experiment, TableRow]:
    """The row with the weakest verdict."""
    kind = weakest([row.verdict for _, row in rows])
    return next((entry for entry in rows if entry[1].verdict == kind), rows[0])


def _strongest(rows: Rows, shown: str) -> tuple[Experiment, TableRow]:
    """A row of the class that is shown; the deciding one if no row has it."""
    return next((entry for entry in rows if class_of(entry[1].verdict) == shown), _deciding(rows))


def _beside(rows: Rows, shown: str, row: TableRow | None) -> tuple[Experiment, TableRow] | None:
    """The row of the other kernel with the published figures of this row; its row of the class if there is none."""
    if not rows:
        return None
    alike = [entry for entry in rows if row is not None and _figures(entry[1]) == _figures(row)]
    return _strongest(alike or rows, shown)


def _figures(row: TableRow) -> tuple[str | None, ...]:
    return row.published_before, row.published_after, row.published_ratio


def _cell(entry: tuple[Experiment, TableRow] | None, rows: Rows) -> str:
    """What the row gave, and its name where a claim has several."""
    if entry is None:
        return ""
    return f"{_measured(entry[1])}{f' in {len(rows)} rows: {entry[1].row_name}' if len(rows) > 1 else ''}"


def _measured(row: TableRow) -> str:
    """The ratio, or the figure where there is none, with the spread over the placements.

    Where a document prints what is saved, that stands first.
    """
    spread = records.spread(row.low, row.high, row.placements)
    value = number(row.after) if row.ratio is None else number(row.ratio)
    if (row.published_ratio or "").startswith("saves") and row.before is not None and row.after is not None:
        return f"saves {number(row.before - row.after)}, ratio {value}{f' ({spread})' if spread else ''}"
    without = _without_ratio(row) if row.ratio is not None else not row.before
    if without and row.before is not None and row.after is not None:
        return f"{number(row.before)} → {number(row.after)} {row.unit}"
    unit = f" {row.unit}" if row.ratio is None and value else ""
    return f"{value}{unit}{f' ({spread})' if spread else ''}"


def _published(row: TableRow | None, entry: Measurement) -> str:
    if row is None:
        return "; ".join(dict.fromkeys(filter(None, (claims_page.published(claim) for claim in entry.claims))))
    if _without_ratio(row):
        return f"{row.published_before} → {row.published_after}"
    return row.published_ratio or row.published_after or ""


def _without_ratio(row: TableRow) -> bool:
    """Whether two figures are published that have no ratio, because one of them is 0."""
    return row.published_ratio is None and row.published_before is not None and row.published_after is not None


def anchor(title: str) -> str:
    """The fragment by which a heading of this text is found, on the site and where the checkout is read."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def _said(entry: Measurement) -> str:
    return "; ".join(dict.fromkeys(claim.metric or claim.unit for claim in entry.claims))


def _words(entry: Measurement, document: str, experiment: Experiment | None, *, alike: bool) -> str:
    """What was measured, with a link; `alike`: another measurement of the document has the same words."""
    said = _said(entry)
    if alike:
        machines = dict.fromkeys(claim.machine for claim in entry.claims if claim.machine)
        said = ", ".join(filter(None, (said, experiment.name if experiment else "", *machines)))
    where = f"{document}.md" if experiment is None else f"{document}.md#{anchor(experiment.title)}"
    return f"[{said}]({where})"


def _why(deciding: tuple[Experiment, TableRow] | None) -> str:
    if deciding is None:
        return ""
    return short(reasons.told(*deciding))


def short(reason: str) -> str:
    """The parts of a reason for which there is room, in their order: a part that is too long hides none behind it."""
    told = ""
    for part in reason.split("; "):
        longer = f"{told}; {part}" if told else part
        if len(longer) <= _MOST_WORDS:
            told = longer
    return told or f"{reason[:_MOST_WORDS].rpartition(' ')[0]} …"


def _line(entry: Measurement, document: str, *, alike: bool) -> str:
    shown = entry.shown
    of_ours = bool(entry.ours) and (entry.alone == shown or not entry.own)
    deciding = _strongest(entry.ours if of_ours else entry.own, shown) if entry.ours or entry.own else None
    row = deciding[1] if deciding else None
    ours = deciding if of_ours else _beside(entry.ours, shown, row)
    own = _beside(entry.own, shown, row) if of_ours else deciding
    return line([
        _words(entry, document, deciding[0] if deciding else None, alike=alike),
        _published(row, entry),
        _cell(ours, entry.ours),
        ours[1].inputs if ours else "",
        _cell(own, entry.own),
        own[1].inputs if own else "",
        shown,
        _why(deciding),
    ])  # fmt: skip


def counts(of: Mapping[str, Sequence[Measurement]]) -> dict[str, dict[str, int]]:
    """How many measurements of each document each class has: by class, then by document."""
    classes = {document: [entry.shown for entry in found] for document, found in of.items()}
    names = in_order({name for found in classes.values() for name in found})
    return {name: {document: found.count(name) for document, found in classes.items()} for name in names}


def papers() -> list[str]:
    """The ids of the documents with a page whose claims are about kernels; LmBench's figures judge the machines."""
    printed = (claim.document for claim in claims.all_claims().values())
    return list(dict.fromkeys(entry.id for entry in printed if not entry.page and entry.id != MACHINES))


def build(store: Store) -> str:
    """The page, as Markdown."""
    documents = papers()
    of = {document: claims_page.measurements_of(store, document) for document in documents}
    titles = {claim.document.id: claim.document for claim in claims.all_claims().values()}
    lines = [
        "# The five documents' claims on one page",
        "",
        "Each line is one measurement that a document printed: published, on our kernel, on the paper's own kernel, "
        "and the class of its verdict. The class is the stronger of the two kernels'. "
        "[Experiments](experiments.md) has the rules. The link of a claim leads to all of its rows and counters. "
        'Behind a figure, in brackets, is its spread over placements of code and data. "Over inputs" is its spread '
        "over what the machine's file leaves open ([memories.md](memories.md)).",
        "",
        records.generated(store, "pagewalk claims page all"),
        "",
        "![Each published change, and how much of it was measured](claims.svg)",
        "",
        *head(["class", *(f"[{document}]({document}.md)" for document in documents), "all"]),
    ]
    for name, by_document in counts(of).items():
        lines.append(line([name, *map(str, by_document.values()), str(sum(by_document.values()))]))
    for document in documents:
        about = titles[document]
        lines += ["", f"## {about.title}, {about.venue} {about.year}", "", *head(_COLUMNS)]
        said = Counter(map(_said, of[document]))
        lines += [_line(entry, document, alike=said[_said(entry)] > 1) for entry in of[document]]
    return "\n".join(lines) + "\n"
