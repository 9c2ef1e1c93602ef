"""The difference of two profiles as a file for flame-graph programs.

- Folded stacks with two counts (`outer;inner before after`), as difffolded.pl writes them: flamegraph.pl and
  `inferno-flamegraph` paint what grew red and what shrank blue.
- speedscope's format, with four profiles: both sides, what grew, and what shrank.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pagewalk.ab import Side, stacks
from pagewalk.errors import BadInput

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def cycles(side: Side) -> Counter[str]:
    """Cycles of each stack, the mean of the side's placements."""
    found: Counter[str] = Counter()
    for run in side.runs:
        for stack, count in stacks(run.result.profile):
            found[stack] += count
    return Counter({stack: round(count / len(side.runs)) for stack, count in found.items()})


def folded(first: Side, second: Side) -> str:
    """Folded stacks with two counts."""
    one, other = cycles(first), cycles(second)
    return "".join(f"{stack} {one[stack]} {other[stack]}\n" for stack in sorted({*one, *other}))


def speedscope(first: Side, second: Side) -> str:
    """A file for speedscope."""
    one, other = cycles(first), cycles(second)
    grown, shrunk = other - one, one - other
    names = list(dict.fromkeys(frame for stack in sorted({*one, *other}) for frame in stack.split(";")))
    numbers = {name: number for number, name in enumerate(names)}
    shown = {first.label: one, second.label: other, "more cycles": grown, "fewer cycles": shrunk}
    return json.dumps(
        {
            "$schema": _SCHEMA,
            "exporter": "pagewalk",
            "name": f"{first.label} and {second.label}",
            "shared": {"frames": [{"name": name} for name in names]},
            "profiles": [_profile(name, counts, numbers) for name, counts in shown.items()],
        },
        ensure_ascii=False,
    )


def _profile(name: str, counts: Mapping[str, int], numbers: Mapping[str, int]) -> dict[str, Any]:
    ordered = sorted(counts.items())
    return {
        "type": "sampled",
        "name": f"{name}, cycles",
        "unit": "none",
        "startValue": 0,
        "endValue": sum(counts.values()),
        "samples": [[numbers[frame] for frame in stack.split(";")] for stack, _ in ordered],
        "weights": [count for _, count in ordered],
    }


_WRITERS: Mapping[str, Callable[[Side, Side], str]] = {".folded": folded, ".txt": folded, ".json": speedscope}


def writer(path: Path) -> Callable[[Side, Side], str]:
    """What writes the format that the file's suffix names."""
    if path.suffix.lower() not in _WRITERS:
        raise BadInput(
            f"{path}: the suffix names no format", hint="write FILE.json for speedscope, FILE.folded for folded stacks"
        )
    return _WRITERS[path.suffix.lower()]
