"""Published figures, as data that experiments are compared with: of five papers, of LmBench, of one message on RISC-V.

One TOML file per document in `published/`, with the document named; see `Claim` for the fields.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, PlainValidator, ValidationError

from pagewalk.errors import BadInput, nearest, unknown
from pagewalk.published_range import Printed

Kind = Literal["measured", "constant", "open"]


def _figure(raw: object) -> float:
    """A figure of a file, which keeps the digits that are printed there; ValueError if it is no number."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) <= sys.float_info.max:
        raise ValueError("input should be a valid number")
    return raw if isinstance(raw, Printed) else float(raw)


Figure = Annotated[float, PlainValidator(_figure)]
Figures = Annotated[tuple[Figure, ...], BeforeValidator(lambda raw: tuple(raw) if isinstance(raw, list) else (raw,))]
"""Figures of a file: one number, or a list."""


class _Model(BaseModel):
    """What a file holds, field by field; other fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Statement(_Model):
    """Something that a document says and that no row measures, with the reason."""

    what: str
    why: str
    section: str = ""


class Technique(_Model):
    """A technique that a document lists, and what is here of it."""

    section: str
    what: str
    here: str


class Document(_Model):
    """A published document: where a claim was printed.

    `page` is the `document` of the experiments whose page has its figures, if it has no page by itself.
    `about` is what its page begins with: what the document did, and how it is measured here. `seen` names the rows
    whose figures come closest to the printed ones, as EXPERIMENT/ROW/MACHINE. `unmeasured` is what it says besides its
    claims, and `techniques` lists its techniques.
    """

    id: str
    title: str
    authors: str
    venue: str
    year: int
    page: str = ""
    about: str = ""
    seen: Annotated[tuple[str, ...], BeforeValidator(tuple)] = ()
    unmeasured: Annotated[tuple[Statement, ...], BeforeValidator(tuple)] = ()
    techniques: Annotated[tuple[Technique, ...], BeforeValidator(tuple)] = ()

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in one line."""
        return f"{self.authors}. {self.title}. {self.venue} {self.year}."


class Claim(_Model):
    """One published figure, or one row of figures.

    `value` is the figure with the policy and `baseline` the one without; both are in `unit`, empty
    where the document prints none. Several numbers are either a range or one figure for each of
    the comma-separated `columns`. `ratio` is baseline / value for times and counts and
    value / baseline for bandwidths, as the document or its figures give it. `recalled` figures come from memory of the
    document; no copy at hand confirms them. `steps` is how coarse the document's words are ("over 60 %": steps of
    0.05): a bound leaves half a step of room. `of_some`: the document says it of some of the figures that its rows
    measure.
    """

    id: str
    document: Document
    kind: Kind
    section: str = ""
    machine: str = ""
    workload: str = ""
    metric: str = ""
    unit: str = ""
    policy: str = ""
    against: str = ""
    value: Figures = ()
    baseline: Figures = ()
    ratio: FiniteFloat | None = None
    recalled: bool = False
    steps: Annotated[FiniteFloat, Field(gt=0)] | None = None
    of_some: bool = False
    note: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a row's figures (`unit` lists them, comma-separated), or one empty name."""
        parts = tuple(part.strip() for part in self.unit.split(","))
        return parts if len(parts) > 1 and len(parts) == len(self.value) else ("",)

    @property
    def is_row(self) -> bool:
        """Whether the claim holds one figure for each of several columns."""
        return len(self.columns) > 1


def _problem(error: ValidationError) -> tuple[str, str | None]:
    """What is wrong, with the nearest field for one that does not exist."""
    problem = error.errors()[0]
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        close = nearest(place, Claim.model_fields)
        return f"unknown field {place!r}", f"did you mean {close!r}?" if close else None
    shown = "" if problem["type"] == "missing" else f", not {problem['input']!r}"
    return f"{place}: {problem['msg'].lower()}{shown}", None


def _claim(document: Document, raw: Mapping[str, Any]) -> Claim:
    claim_id = str(raw.get("id", ""))
    if not claim_id.startswith(document.id + "."):
        raise BadInput(f"claim {claim_id!r} of {document.id}: an id starts with {document.id + '.'!r}")
    try:
        claim = Claim.model_validate({**raw, "document": document})
    except ValidationError as error:
        problem, hint = _problem(error)
        raise BadInput(f"claim {claim_id}: {problem}", hint=hint) from None
    if claim.is_row and claim.baseline and len(claim.baseline) != len(claim.value):
        raise BadInput(f"claim {claim_id}: baseline and value differ in length")
    return claim


def parse(text: str) -> tuple[Document, list[Claim]]:
    """The document and claims of one published file; BadInput names what is wrong with it."""
    raw = tomllib.loads(text, parse_float=Printed)
    try:
        document = Document.model_validate({
            **raw["document"], "unmeasured": raw.get("unmeasured", []), "techniques": raw.get("technique", []),
        })  # fmt: skip
    except ValidationError as error:
        problem, hint = _problem(error)
        raise BadInput(f"document {raw['document'].get('id', '')}: {problem}", hint=hint) from None
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


def page_of(document_id: str) -> str:
    """The `document` of the experiments on the page that has a document's figures: its id, if the page is its."""
    pages = (entry.document.page for entry in all_claims().values() if entry.document.id == document_id)
    return next(pages, "") or document_id


def of_document(document_id: str) -> list[Claim]:
    """The claims of one document, in its own order."""
    found = [entry for entry in all_claims().values() if entry.document.id == document_id]
    if not found:
        raise unknown("document", document_id, documents())
    return found
