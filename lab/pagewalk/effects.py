"""How much of a published change a row shows: the measured effect over the published one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pagewalk.records import TableRow
from pagewalk.verdict import NO_CHANGE

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Shown:
    """Shares of the published effect (logarithm of its ratio): of the row, and of its spread's ends."""

    low: float
    share: float
    high: float


def numbers(text: str | None) -> tuple[float, float] | None:
    """The ends of a published figure or range as it is printed; None where there is none, or only a saving."""
    if text is None or text.startswith("saves"):
        return None
    found = [float(word) for word in _NUMBER.findall(text.replace(",", ""))]
    return (min(found), max(found)) if found else None


def shown(row: TableRow) -> Shown | None:
    """The row's shares; None if it has no claim or no ratio, or if nothing changes in the document."""
    published = numbers(row.published_ratio)
    if not row.claims or row.ratio is None or published is None or published[0] <= 0:
        return None
    effect = math.log(published[0] * published[1]) / 2
    if abs(effect) < math.log(NO_CHANGE):
        return None
    low, middle, high = (math.log(end or row.ratio) / effect for end in (row.low, row.ratio, row.high))
    return Shown(min(low, high), middle, max(low, high))
