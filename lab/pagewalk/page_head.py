"""The parts of a document's page that are not measured rows.

It begins with three sentences, the picture of its claims, and the figures that come closest; it tells what it leaves
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pagewalk import effects
from pagewalk.claims import Document
from pagewalk.experiments import Experiment
from pagewalk.markdown import head, line, number
from pagewalk.measurements import Measurement
from pagewalk.records import TableRow
from pagewalk.verdict import JUDGED, in_order

_WORDS = {
    "reproduced": "reproduced",
    "direction": "reproduced in direction alone",
    "no change as published": "no change, as published",
    "not run": "not run yet",
}
"""What the sentence says of a class; the other classes stand for themselves."""


def tally(classes: Iterable[str]) -> str:
    """How many measurements each class has, in words; those that cannot be judged are one number."""
    told = (*JUDGED, "not run")
    counts = Counter(name if name in told else "without a verdict" for name in classes)
    names = [*(name for name in in_order(counts) if name in told), "without a verdict"]
    return ", ".join(f"{counts[name]} {_WORDS.get(name, name)}" for name in names if counts[name])


def counted(entries: Sequence[Measurement]) -> str:
    """The sentence that counts a document's measurements by class."""
    shown = [entry.shown for entry in entries]
    claims = sum(len(entry.claims) for entry in entries)
    whole = "one measurement" if len(shown) == 1 else f"{len(shown)} measurements"
    told = f"Its {claims} claims are {whole}" if claims > len(shown) else f"Of {whole}"
    return f"{told}: {tally(shown)}."


def _seen(document: Document, own: Iterable[tuple[Experiment, TableRow]]) -> list[str]:
    rows = {f"{experiment.name}/{row.row_name}/{row.machine}": row for experiment, row in own}
    told = []
    for row in (rows[place] for place in document.seen if place in rows):
        ours = " → ".join(number(value) for value in (row.before, row.after) if value is not None)
        theirs = " → ".join(
            number(float(text)) if text.isdecimal() else text
            for text in (row.published_before, row.published_after)
            if text
        )
        told.append(f"{row.row_name} on {row.machine} {ours} {row.unit} (published {theirs})")
    return [f"On the paper's own kernels: {'. '.join(told)}.", ""] if told else []


def rest(document: Document) -> list[str]:
    """The tables of a document's techniques, and of what it says that no row measures."""
    made: list[str] = []
    if document.techniques:
        made += [f"## The {len(document.techniques)} techniques", ""]
        made += [*head(["section", "technique", "here"])]
        made += [*(line([one.section, one.what, one.here]) for one in document.techniques), ""]
    if document.unmeasured:
        made += ["## What else the document says", ""]
        made += [*head(["section", "what", "why no row measures it"])]
        made += [*(line([one.section, one.what, one.why]) for one in document.unmeasured), ""]
    return made


def lines(
    document: Document,
    entries: Sequence[Measurement],
    rows: Iterable[TableRow],
    own: Sequence[tuple[Experiment, TableRow]],
) -> list[str]:
    """The page's beginning. The picture is left out if nothing can be drawn in it."""
    drawn = any(effects.shown(row) for row in (*rows, *(row for _, row in own)))
    picture = f"![Each published change, and how much of it was measured]({document.id}.svg)"
    return [
        f"# {document.title}",
        "",
        f"{document.about} {counted(entries)}".strip(),
        "",
        *([picture, ""] if drawn else []),
        *_seen(document, own),
        document.citation,
        "",
    ]
