"""The multiplier that scatters VSIDs best over the hash table: found by a model, checked by the machine.

The authors of OSDI 1999 tuned theirs by a histogram of hash-table misses (section 5.2). Here a run
with a hash table eight times as large as the machine's, so that nothing is lost, shows which pages the contexts of a
workload have; a model then puts them into the machine's own table under each multiplier, slot by slot as hardware and
kernel do, and counts what finds none. The best few, and what they are compared with, are simulated.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagewalk import snapshot
from pagewalk.errors import BadInput
from pagewalk.execute import Events, Lab, Work, command_line, succeeded
from pagewalk.figures import Figure
from pagewalk.runner import Job
from pagewalk.sweep import Point, Sweep, measure

_SLOTS = 8
"""PTEs of a PTEG."""
_NUMBER_SHIFT = 4
"""Under `vsid=pid` a VSID is 16 times the context's number, and the segment."""
_STEP = 0x111
"""Between the VSIDs of a context's segments under `vsid=scatter` (kernel/arch/ppc/policy/vsid.c)."""
_TABLE_TIMES = 8
_SAMPLE = 500_000
"""Cycles between two looks at the hash table."""


@dataclass(frozen=True)
class Page:
    """A page of a context: its number, the segment, and the page's index in it (EA bits 4 to 19)."""

    number: int
    segment: int
    index: int


@dataclass(frozen=True)
class Spread:
    """What the model says of a multiplier; None: the process number as it is.

    `placed` is the share of the pages that find a slot, `use` the share of slots in use, `deviation` the standard
    deviation of the number of pages whose primary group is the same: 0 would be perfectly even.
    """

    multiplier: int | None
    placed: float
    use: float
    deviation: float

    @property
    def policy(self) -> str:
        """The choice of the policy `vsid`."""
        return "pid" if self.multiplier is None else f"scatter:{self.multiplier}"


def vsid(page: Page, multiplier: int | None) -> int:
    """The VSID of a page's segment."""
    if multiplier is None:
        return (page.number << _NUMBER_SHIFT) + page.segment
    return (16 * page.number * multiplier + page.segment * _STEP) & 0xFFFFFF


def pages(state: Mapping[str, Any]) -> list[Page]:
    """The programs' pages that a dump's hash table holds; the run's policy is `vsid=pid`."""
    kernel = snapshot.kernel_vsids(state)
    return [
        Page(row["vsid"] >> _NUMBER_SHIFT, row["vsid"] & 0xF, row["page_index"])
        for row in state["hash_table"]["entries"]
        if row["vsid"] not in kernel
    ]


def spread(found: Iterable[Page], groups: int, multiplier: int | None) -> Spread:
    """Puts the pages into a table of so many groups: primary group first, then the secondary (604 manual, 5.4)."""
    mask = groups - 1
    primary = [0] * groups
    used = [0] * groups
    placed = whole = 0
    for page in found:
        whole += 1
        group = (vsid(page, multiplier) ^ page.index) & mask
        primary[group] += 1
        if used[group] == _SLOTS:
            group = ~group & mask
        if used[group] < _SLOTS:
            used[group] += 1
            placed += 1
    mean = whole / groups
    deviation = (sum((count - mean) ** 2 for count in primary) / groups) ** 0.5
    return Spread(multiplier, placed / whole if whole else 0.0, placed / (_SLOTS * groups), deviation)


def ranked(found: Sequence[Page], groups: int, multipliers: Iterable[int]) -> list[Spread]:
    """The multipliers by the share of pages that find a slot, then by evenness, then the smaller first."""
    spreads = [spread(found, groups, multiplier) for multiplier in multipliers]
    return sorted(spreads, key=lambda s: (-s.placed, s.deviation, s.multiplier or 0))


def odd(texts: Iterable[str]) -> list[int]:
    """Multipliers, checked: only odd ones have an inverse, which the kernel needs."""
    found = []
    for text in texts:
        if not text.isdigit() or int(text) % 2 == 0:
            raise BadInput(f"{text!r} is no odd number", hint="write odd multipliers, as in 3..1023..2")
        found.append(int(text))
    return found


@dataclass(frozen=True)
class Tuned:
    """A choice with what the model says, and what the machine measured of it."""

    spread: Spread
    point: Point


def observe(lab: Lab, sweep: Sweep, events: Events) -> tuple[list[Page], int]:
    """The pages that the workload has when its table is fullest, and the groups of the machine's own table."""
    size = tomllib.loads(lab.machine(sweep.machine).config)["memory"]["size"]
    job = Job(
        machine=lab.machine(sweep.machine, {"memory.size": str(size * _TABLE_TIMES)}),
        kernel=lab.kernel,
        initrd=lab.bench_image(sweep.program, sweep.files, sweep.image),
        command_line=command_line(
            {"vsid": "pid", "kernel.map": "bat", "tlb.flush": "search"}, [f"/bin/{sweep.program}", *sweep.arguments]
        ),
        sample=_SAMPLE,
    )
    run = lab.run([Work(f"{sweep.program}, its pages", job)], events)[job.key(lab.runner.version)]
    dumps = succeeded(run, sweep.program).dumps
    if not dumps:
        raise BadInput(f"{sweep.program} ended before the first look at its hash table")
    state = json.loads(dumps[-1])
    if state["hash_table"] is None:
        raise BadInput(f"{sweep.machine} has no hash table to tune")
    return pages(state), state["hash_table"]["groups"] // _TABLE_TIMES


def tune(lab: Lab, sweep: Sweep, multipliers: Sequence[int], keep: int, events: Events) -> list[Tuned]:
    """The process number as it is, and the best `keep` multipliers, each measured by the sweep's figure."""
    found, groups = observe(lab, sweep, events)
    best = [spread(found, groups, None), *ranked(found, groups, multipliers)[:keep]]
    points = measure(lab, replace(sweep, policies={**sweep.policies, "vsid": [s.policy for s in best]}), events)
    return [Tuned(s, p) for s, p in zip(best, points, strict=True)]


FIGURE = Figure.parse('run("hash.miss")')
"""What is measured by default: the searches that found nothing."""
