"""All pages that are made from results, written at once, so that all show the same results: `pagewalk claims pages`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pagewalk import claims_overview, claims_page, memories, page_head, writing
from pagewalk.errors import BadInput
from pagewalk.report import plots
from pagewalk.report.plots import Drawing
from pagewalk.store import Store

_NAMES = {"pagewalk": "beyond", "lmbench96": "validation", "riscv": "riscv-linux", claims_page.ALL: "claims"}
"""The pages whose file has another name than their document."""
_COUNTED = re.compile(r"(?<=<!-- claims: made by `make docs` -->\n).*?(?=\n<!-- end of claims -->)", re.DOTALL)
"""The line of the README that counts the claims."""


def name(document: str) -> str:
    """The name of a page's file, without `.md`."""
    return _NAMES.get(document, document)


def texts(store: Store) -> Iterator[tuple[str, str]]:
    """Each page with the name of its file."""
    for document in claims_page.documents():
        whole = document == claims_page.ALL
        yield f"{name(document)}.md", claims_overview.build(store) if whole else claims_page.build(store, document)
    tried = [*claims_overview.papers(), claims_overview.MACHINES]
    found = [entry for document in tried for entry in claims_page.experiments_of(document)]
    yield "memories.md", memories.page(store, memories.tried(store, found))


def _pictures(store: Store) -> Iterator[tuple[str, Drawing]]:
    papers = claims_overview.papers()
    for label, documents in [*((paper, [paper]) for paper in [*papers, claims_overview.MACHINES]), ("claims", papers)]:
        ours = [cell for paper in documents for _, cell in claims_page.measured_rows(store, paper)]
        own = [row for paper in documents for _, row in claims_page.own_rows(paper)]
        try:
            yield f"{label}.svg", plots.of_claims(ours, own)
        except BadInput:
            continue  # Nothing was measured, and the page shows no picture.


def readme_line(store: Store) -> str:
    """How many measurements of the five documents each class has, as the README says it."""
    entries = [entry for paper in claims_overview.papers() for entry in claims_page.measurements_of(store, paper)]
    return f"Of {len(entries)} measurements that the five documents printed: " + (
        f"{page_head.tally(entry.shown for entry in entries)}."
    )


def count_in(readme: Path, store: Store) -> None:
    """Renews the line of the README; BadInput if it has no place for it."""
    text = readme.read_text(encoding="utf-8")
    renewed, places = _COUNTED.subn(lambda _: readme_line(store), text)
    if places != 1:
        raise BadInput(f"{readme}: no line for the counts of claims")
    writing.write(readme, renewed)


def write(store: Store, folder: Path) -> list[str]:
    """Writes every page and picture into the folder; returns the names of the files. BadInput if one cannot be."""
    written = []
    for file, text in texts(store):
        writing.write(folder / file, text)
        written.append(file)
    for file, drawing in _pictures(store):
        drawing.save(folder / file)
        written.append(file)
    return written
