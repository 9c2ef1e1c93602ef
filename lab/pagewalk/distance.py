"""How far off a figure that stands alone is: ours over what the document prints."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pagewalk.experiments import Experiment, Row
from pagewalk.markdown import head, line, number
from pagewalk.records import TableRow
from pagewalk.verdict import class_of, is_verdict, too_wide

FAR = 1.2
"""The factor beyond which the page counts a figure as far off."""


def quotient(row: Row, after: float | None) -> float | None:
    """Our figure over the published one, or over the nearer end of a range; 1 within the range.

    None where a row compares two sides, and where the document prints a bound, a range that is no figure, or nothing.
    """
    published = row.published.after
    if row.before is not None or row.bound != "equal" or not row.published.claims or published is None:
        return None
    if after is None or after <= 0 or published.low <= 0 or too_wide(published):
        return None
    return after / min(max(after, published.low), published.high)


def shown(row: Row | None, after: float | None) -> str:
    """The quotient as the column "ratio" shows it, where there is no ratio of two sides."""
    if row is None or (found := quotient(row, after)) is None:
        return ""
    return f"{number(found)} x published"


def far(experiment: Experiment, cells: Sequence[TableRow]) -> list[str]:
    """How many figures of each published machine are far off, as a table.

    Empty if a row compares two sides, or if the document names fewer than two machines whose figures are judged.
    """
    if any(row.before is not None for row in experiment.rows):
        return []
    rows = experiment.by_place
    counted: dict[tuple[str, str], list[bool]] = {}
    for cell in cells:
        row = rows.get((cell.row_name, cell.machine))
        found = None if row is None else quotient(row, cell.after)
        if row is not None and found is not None and _is_judged(cell) and (theirs := row.published.claims[0].machine):
            place = theirs, cell.machine
            counted.setdefault(place, []).append(abs(math.log(found)) > math.log(FAR))
    if len({theirs for theirs, _ in counted}) < 2:
        return []
    lines = head(["published of", "measured on", "figures with a verdict", f"off by a factor of more than {FAR}"])
    lines += (line([*place, str(len(off)), str(sum(off))]) for place, off in counted.items())
    return [*lines, ""]


def _is_judged(cell: TableRow) -> bool:
    return is_verdict(cell.verdict) or class_of(cell.verdict) == "decided by an input"
