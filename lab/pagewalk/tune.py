"""Finds the multiplier of the policy `vsid` that scatters a workload best over the hash table.

The authors of OSDI 1999 tuned theirs by a histogram of hash-table misses (section 5.2). Here it takes three steps. A
run with a hash table eight times as large as the machine's, which loses no entry, shows which pages the workload's
contexts have. A model puts these pages into a table of the machine's own size under each multiplier, slot by slot as
hardware and kernel do, and counts the pages that find no slot. The best few multipliers, and `vsid=pid`, are
simulated.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pagewalk import snapshot, systems
from pagewalk.errors import BadInput
from pagewalk.execute import Lab, succeeded
from pagewalk.figures import Figure
from pagewalk.simulate import Events, Work
from pagewalk.sweep import Point, Sweep, measure

_SLOTS = 8
"""PTEs of a PTEG."""
_NUMBER_SHIFT = 4
"""Under `vsid=pid` a VSID is 16 times the context's number, plus the segment's."""
_STEP = 0x111
"""Between the VSIDs of neighbouring segments under `vsid=scatter` (kernel/arch/ppc/policy/vsid.c)."""
_TABLE_TIMES = 8
"""How many times as large the observed hash table is; the table grows with RAM."""
_SAMPLE = 500_000
"""Cycles between two looks at the hash table."""


@dataclass(frozen=True)
class Page:
    """A page: its context's number, its segment (0 to 15), and its index in the segment (EA bits 4 to 19)."""

    number: int
    segment: int
    index: int


@dataclass(frozen=True)
class Spread:
    """The model's figures for one multiplier; None stands for `vsid=pid`.

    `placed`: the share of pages that find a slot, 0 to 1. `use`: the share of slots in use, 0 to 1. `deviation`: the
    standard deviation, over the groups, of the number of pages whose primary group it is; 0 is perfectly even.
    """

    multiplier: int | None
    placed: float
    use: float
    deviation: float

    @property
    def policy(self) -> str:
        """The choice of the policy `vsid`, as the command line has it."""
        return "pid" if self.multiplier is None else f"scatter:{self.multiplier}"


def vsid(page: Page, multiplier: int | None) -> int:
    """The VSID (24 bits) of a page's segment."""
    if multiplier is None:
        return (page.number << _NUMBER_SHIFT) + page.segment
    return (16 * page.number * multiplier + page.segment * _STEP) & 0xFFFFFF


def pages(state: Mapping[str, Any]) -> list[Page]:
    """The programs' pages in the hash table of a state dump. The run's policy must be `vsid=pid`."""
    kernel = snapshot.kernel_vsids(state)
    return [
        Page(row["vsid"] >> _NUMBER_SHIFT, row["vsid"] & 0xF, row["page_index"])
        for row in state["hash_table"]["entries"]
        if row["vsid"] not in kernel
    ]


def spread(found: Iterable[Page], groups: int, multiplier: int | None) -> Spread:
    """Puts the pages into an empty table of `groups` groups (a power of two), each of eight slots.

    A page goes to its primary group, or to its secondary one if that is full (604 manual, 5.4).
    """
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
    """The multipliers, best first: by the share of placed pages, then by evenness, then the smaller one."""
    spreads = [spread(found, groups, multiplier) for multiplier in multipliers]
    return sorted(spreads, key=lambda s: (-s.placed, s.deviation, s.multiplier or 0))


def odd(texts: Iterable[str]) -> list[int]:
    """The words as numbers; BadInput unless each is odd. The kernel needs the inverse, which even ones do not have."""
    found = []
    for text in texts:
        if not text.isdigit() or int(text) % 2 == 0:
            raise BadInput(f"{text!r} is no odd number", hint="write odd multipliers, as in 3..1023..2")
        found.append(int(text))
    return found


@dataclass(frozen=True)
class Tuned:
    """A multiplier with the model's figures and the machine's."""

    spread: Spread
    point: Point


def observe(lab: Lab, sweep: Sweep, events: Events) -> tuple[list[Page], int]:
    """The workload's pages when the hash table is fullest, and the number of groups of the machine's own table.

    BadInput if the machine has no hash table, or the workload ends before the first sample.
    """
    size = tomllib.loads(lab.machine(sweep.machine).config)["memory"]["size"]
    system = systems.own(lab, sweep.machine, {"memory.size": str(size * _TABLE_TIMES)})
    initrd = lab.bench_image(sweep.program, sweep.files, sweep.image, architecture=system.machine.architecture)
    settings = {"vsid": "pid", "kernel.map": "bat", "tlb.flush": "search"}
    line = system.command_line(settings, [f"/bin/{sweep.program}", *sweep.arguments])
    job = system.job(initrd, line, sample=_SAMPLE)
    run = lab.run([Work(f"{sweep.program}, its pages", job)], events)[job.key(lab.runner.version)]
    dumps = succeeded(run, sweep.program).dumps
    if not dumps:
        raise BadInput(f"{sweep.program} ended before the first look at its hash table")
    state = json.loads(dumps[-1])
    if state["hash_table"] is None:
        raise BadInput(f"{sweep.machine} has no hash table to tune")
    return pages(state), state["hash_table"]["groups"] // _TABLE_TIMES


def tune(lab: Lab, sweep: Sweep, multipliers: Sequence[int], keep: int, events: Events) -> list[Tuned]:
    """`vsid=pid` and the best `keep` multipliers, each measured by the sweep's figure."""
    found, groups = observe(lab, sweep, events)
    best = [spread(found, groups, None), *ranked(found, groups, multipliers)[:keep]]
    points = measure(lab, replace(sweep, policies={**sweep.policies, "vsid": [s.policy for s in best]}), events)
    return [Tuned(s, p) for s, p in zip(best, points, strict=True)]


FIGURE = Figure.parse('run("hash.miss")')
"""The default figure: searches of the hash table that found no entry, in the whole run."""
