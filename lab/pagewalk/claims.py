"""The published figures of five papers, and of LmBench for the machines, as data that experiments are compared with.

One TOML file per document in `published/`, with the document named; see `Claim` for the fields.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from pagewalk.errors import BadInput, unknown

Kind = Literal["measured", "constant", "open"]
KINDS: tuple[Kind, ...] = ("measured", "constant", "open")

_FIELDS = {
    "id", "section", "machine", "workload", "metric", "unit", "policy", "against",
    "value", "baseline", "ratio", "kind", "recalled", "note",
}  # fmt: skip


@dataclass(frozen=True)
class Document:
    """A published document: where a claim was printed."""

    id: str
    title: str
    authors: str
    venue: str
    year: int

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in one line."""
        return f"{self.authors}. {self.title}. {self.venue} {self.year}."


@dataclass(frozen=True)
class Claim:
    """One published figure, or one row of figures.

    `value` is the figure with the policy and `baseline` the one without; both are in `unit`, empty
    where the document prints none. Several numbers are either a range or one figure for each of
    the comma-separated `columns`. `ratio` is baseline / value for times and counts and
    value / baseline for bandwidths, as the document or its figures give it. `recalled` figures come from memory of the
    document; no copy at hand confirms them.
    """

    id: str
    document: Document
    kind: Kind
    section: str
    machine: str
    workload: str
    metric: str
    unit: str
    policy: str
    against: str
    value: tuple[float, ...]
    baseline: tuple[float, ...]
    ratio: float | None
    recalled: bool
    note: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a row's figures (`unit` lists them, comma-separated), or one empty name."""
        parts = tuple(part.strip() for part in self.unit.split(","))
        return parts if len(parts) > 1 and len(parts) == len(self.value) else ("",)

    @property
    def is_row(self) -> bool:
        """Whether the claim holds one figure for each of several columns."""
        return len(self.columns) > 1


def _numbers(claim_id: str, field: str, raw: object) -> tuple[float, ...]:
    values = raw if isinstance(raw, list) else [] if raw is None else [raw]
    numbers = []
    for number in values:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise BadInput(f"claim {claim_id}: {field} holds {number!r}, not a number")
        numbers.append(float(number))
    return tuple(numbers)


def _claim(document: Document, raw: Mapping[str, Any]) -> Claim:
    claim_id = str(raw.get("id", ""))
    if not claim_id.startswith(document.id + "."):
        raise BadInput(f"claim {claim_id!r} of {document.id}: an id starts with {document.id + '.'!r}")
    for field in raw:
        if field not in _FIELDS:
            raise unknown(f"field of claim {claim_id}", field, _FIELDS)
    kind = raw.get("kind")
    if kind not in KINDS:
        raise BadInput(f"claim {claim_id}: kind {kind!r} is none of {', '.join(KINDS)}")
    ratio = raw.get("ratio")
    claim = Claim(
        id=claim_id,
        document=document,
        kind=kind,
        section=str(raw.get("section", "")),
        machine=raw.get("machine", ""),
        workload=raw.get("workload", ""),
        metric=raw.get("metric", ""),
        unit=raw.get("unit", ""),
        policy=raw.get("policy", ""),
        against=raw.get("against", ""),
        value=_numbers(claim_id, "value", raw.get("value")),
        baseline=_numbers(claim_id, "baseline", raw.get("baseline")),
        ratio=None if ratio is None else _numbers(claim_id, "ratio", ratio)[0],
        recalled=bool(raw.get("recalled", False)),
        note=raw.get("note", ""),
    )
    if claim.is_row and claim.baseline and len(claim.baseline) != len(claim.value):
        raise BadInput(f"claim {claim_id}: baseline and value differ in length")
    return claim


def parse(text: str) -> tuple[Document, list[Claim]]:
    """The document and claims of one published file; BadInput names what is wrong with it."""
    raw = tomllib.loads(text)
    document = Document(**raw["document"])
    return document, [_claim(document, entry) for entry in raw["claim"]]


@cache
def all_claims() -> Mapping[str, Claim]:
    """Every claim by its id, in the documents' own order."""
    claims: dict[str, Claim] = {}
    for entry in sorted(resources.files("pagewalk.published").iterdir(), key=lambda e: e.name):
        if not entry.name.endswith(".toml"):
            continue
        for claim in parse(entry.read_text(encoding="utf-8"))[1]:
            if claim.id in claims:
                raise BadInput(f"claim {claim.id} stands twice")
            claims[claim.id] = claim
    return claims


def claim(claim_id: str) -> Claim:
    """The claim of that id; an unknown one is refused with the nearest suggested."""
    claims = all_claims()
    if claim_id not in claims:
        raise unknown("claim", claim_id, claims, listing="pagewalk claims")
    return claims[claim_id]


def documents() -> set[str]:
    """The ids of the documents that have claims."""
    return {entry.document.id for entry in all_claims().values()}


def of_document(document_id: str) -> list[Claim]:
    """The claims of one document, in its own order."""
    found = [entry for entry in all_claims().values() if entry.document.id == document_id]
    if not found:
        raise unknown("document", document_id, documents())
    return found
