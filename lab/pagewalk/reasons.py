"""Why a row is not what was published: the sentence of its experiment's file, then what the counters say."""

from __future__ import annotations

from pagewalk.experiments import Experiment
from pagewalk.records import TableRow
from pagewalk.verdict import REFUTED, class_of

_UNSHOWN = ("not reproduced", "overshoots", "decided by an input", "not exercised", REFUTED)
"""Classes of verdicts that leave a reader with a question."""


def told(experiment: Experiment, row: TableRow) -> str:
    """The reason of a measured row. The file's sentence stands first where the published effect was not found."""
    cause = experiment.causes.get((row.row_name, row.machine))
    if cause is None or class_of(row.verdict) not in _UNSHOWN:
        return row.reason
    return f"{cause}; {row.reason}" if row.reason else cause
