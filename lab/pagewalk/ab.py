"""One program under several choices of policies and machine keys: what moved, and whether it is more than chance.

Every combination is run with the same placements of code, frames, heaps and stacks (`placement`), one for each seed,
and is compared with the first: quantity by quantity, placement by placement.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pagewalk import guest, policies
from pagewalk.errors import BadInput, RunFailed, RunLimit
from pagewalk.execute import Lab
from pagewalk.figures import total
from pagewalk.guest import PROGRAM_REGION, Program
from pagewalk.inputs import Variant
from pagewalk.placement import Placement
from pagewalk.profiles import KERNEL
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.simulate import Events, Work
from pagewalk.stored_runs import StoredRun
from pagewalk.workshop import Workshop

_DEFAULT = "default"
"""Among named sets of policies: the kernel's own defaults."""
_MOST = 1000
"""How many combinations are compared at most."""

TOTAL, FUNCTION = "total", "function"
"""Groups of quantities that are treated in a way of their own."""
_CAUSE = "cycles.cause."
_COUNTS = {
    "TLB": (
        ("instruction TLB misses", "tlb.instruction.miss"), ("data TLB misses", "tlb.data.miss"),
        ("TLB entries loaded", "tlb.load"), ("TLB invalidations", "tlb.invalidate"),
    ),
    "hash": (
        ("searches", "hash.search"), ("hits, primary group", "hash.hit.primary"),
        ("hits, secondary group", "hash.hit.secondary"), ("misses", "hash.miss"),
        ("memory accesses", "hash.access"), ("cycles of walks", "walk.cycles"),
    ),
    "cache": (
        ("instruction cache misses", "cache.instruction.miss"), ("data cache misses", "cache.data.miss"),
        ("data cache write-backs", "cache.data.writeback"), ("second-level misses", "cache.l2.miss"),
        ("cycles of waiting", "stall.memory"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """A combination: the policies and machine keys that tell it from others, and those that all share."""

    label: str
    settings: Mapping[str, str]
    keys: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """What to run: the program, and each combination on the machine with that many placements."""

    machine: str
    program: Program
    choices: Sequence[Choice]
    seeds: int = 1
    limit: int = DEFAULT_INSTRUCTIONS
    kernel: str | None = None


@dataclass(frozen=True)
class Side:
    """The runs of one combination, one for each placement."""

    label: str
    runs: Sequence[StoredRun]


@dataclass(frozen=True)
class Moved:
    """A quantity of two combinations: the values of each, one for each placement, in the same order."""

    group: str
    name: str
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """The median of either side."""
        return statistics.median(self.first), statistics.median(self.second)

    @property
    def differences(self) -> list[float]:
        """How far it moved with each placement, the least first."""
        return sorted(other - one for one, other in zip(self.first, self.second, strict=True))

    @property
    def difference(self) -> float:
        """The median of the differences."""
        return statistics.median(self.differences)

    @property
    def shares(self) -> list[float]:
        """How far it moved with each placement as a share of that placement's first value, the least first.

        Empty if a first value is 0.
        """
        if not all(self.first):
            return []
        return sorted((other - one) / one for one, other in zip(self.first, self.second, strict=True))

    @property
    def change(self) -> float | None:
        """How far the median moved, as a share of the first side's; None if that is 0.

        It lies between the least and the greatest share. A difference that is no noise has the same sign with every
        placement, so the medians move that way, too.
        """
        one, other = self.medians
        return (other - one) / one if one else None

    @property
    def noise(self) -> bool | None:
        """Whether the difference is no larger than its spread over the placements; None with one placement."""
        differences = self.differences
        return None if len(differences) == 1 else abs(self.difference) <= differences[-1] - differences[0]


def axes(words: Iterable[str], values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The axes of policies: `values` by name, and words that name sets of policies, as in `default,best`."""
    found = {name: list(entries) for name, entries in values.items()}
    for word in words:
        known = {_DEFAULT, *policies.named_sets()}
        for name in word.split(","):
            if name not in known:
                raise BadInput(
                    f"{word!r} is not a policy setting",
                    hint=f"write name=value,value, as in tlb.cutoff=off,20, or named sets: {', '.join(sorted(known))}",
                )
        found[policies.NAMED] = list(dict.fromkeys([*found.get(policies.NAMED, []), *word.split(",")]))
    return found


def choices(chosen: Mapping[str, Sequence[str]], keys: Mapping[str, Sequence[str]]) -> list[Choice]:
    """Every combination of the axes' values, in the order given; labels name only what differs."""
    lists = {**keys, **chosen}
    count = 1
    for values in lists.values():
        count *= len(values)
    if count > _MOST:
        raise BadInput(f"{count:,} combinations: at most {_MOST:,} are compared", hint="use sweep for more")
    varied = [name for name, values in lists.items() if len(values) > 1] or list(lists)
    made = []
    for point in itertools.product(*lists.values()):
        setting = dict(zip(lists, point, strict=True))
        made.append(
            Choice(
                label=", ".join(_word(name, setting[name]) for name in varied) or "as built",
                settings={
                    name: value
                    for name, value in setting.items()
                    if name in chosen and (name, value) != (policies.NAMED, _DEFAULT)
                },
                keys={name: value for name, value in setting.items() if name in keys},
            )
        )
    return made


def _word(name: str, value: str) -> str:
    return value if name == policies.NAMED else f"{name}={value}"


def fitting(workshop: Workshop, plan: Plan, variants: Sequence[Variant]) -> tuple[list[Variant], dict[str, str]]:
    """The variants that go with the keys of every combination, and what refuses each of the rest.

    The inputs of a file go with one another and with the file's keys. A person's key may exclude some of their values.
    BadInput if the file's own values alone are left.
    """
    found, left_out = [], {}
    for variant in variants:
        try:
            for choice in plan.choices:
                workshop.machine(plan.machine, {**choice.keys, **variant.keys})
            found.append(variant)
        except BadInput as error:
            if not variant.keys:
                raise
            left_out[variant.name] = error.message
    if left_out and len(found) <= 1:
        raise BadInput(
            f"no other value of {plan.machine}'s inputs goes with these keys: {next(iter(left_out.values()))}",
            hint="set the input that is named, too",
        )
    return found, left_out


def varied(plan: Plan, variants: Sequence[Variant]) -> Plan:
    """The plan with every combination on every variant of the machine: first all on the first, then on the next."""
    made = [
        Choice(
            choice.label if not variant.keys else f"{choice.label}, {variant.name}",
            choice.settings,
            {**choice.keys, **variant.keys},
        )
        for variant in variants
        for choice in plan.choices
    ]
    return replace(plan, choices=made)


def works(lab: Lab, plan: Plan) -> list[list[Work]]:
    """The runs of each combination, one for each placement; BadInput says what does not fit."""
    if plan.kernel is not None and plan.seeds > 1:
        raise BadInput(f"{plan.kernel} has one placement only: --seeds is for our kernel", hint="leave out --seeds")
    return [
        [_work(lab, plan, choice, Placement.of_seed(seed)) for seed in range(plan.seeds)] for choice in plan.choices
    ]


def _work(lab: Lab, plan: Plan, choice: Choice, placement: Placement) -> Work:
    job = guest.job(
        lab,
        plan.machine,
        plan.program,
        overrides=choice.keys,
        settings=choice.settings,
        limit=plan.limit,
        kernel=plan.kernel,
        placement=placement,
        profile=PROGRAM_REGION,
    )
    seed = f", seed {placement.seed}" if placement.seed else ""
    return Work(f"{plan.program.title}, {choice.label}{seed}", job)


def measure(lab: Lab, plan: Plan, events: Events) -> list[Side]:
    """The runs of every combination, from the results or simulated. All must have come to the program's end."""
    planned = works(lab, plan)
    runs = lab.run((entry for entries in planned for entry in entries), events)
    sides = []
    for choice, entries in zip(plan.choices, planned, strict=True):
        found = [runs[entry.job.key(lab.runner.version)] for entry in entries]
        for entry, run in zip(entries, found, strict=True):
            check(run, entry.label)
        sides.append(Side(choice.label, found))
    return sides


def status(run: StoredRun) -> int:
    """The program's exit status."""
    return guest.exit_status(run.result.stop.status, run.result.console)


def check(run: StoredRun, what: str) -> None:
    """Raises unless the run came to the end of its program."""
    stop = run.result.stop
    if stop.kind == "limit":
        raise RunLimit(f"{what}: the run reached its limit; {stop.reason}", hint="give it more: --limit INSTRUCTIONS")
    if stop.kind == "fatal":
        raise RunFailed(f"{what}: the machine stopped: {stop.reason}")
    if PROGRAM_REGION not in run.result.regions:
        raise RunFailed(f"{what}: the run ended before the program's end", hint="pagewalk exec shows what it printed")


def functions(run: StoredRun) -> Counter[str]:
    """Each function's own cycles, from the stacks that end in it. A program's function has the program's name, too."""
    found: Counter[str] = Counter()
    for stack, cycles in stacks(run.result.profile):
        outer, function = stack.partition(";")[0], stack.rpartition(";")[2]
        name = function.removesuffix(KERNEL)
        found[name if name != function else f"{function} ({outer})"] += cycles
    return found


def stacks(folded: str) -> Iterator[tuple[str, int]]:
    """Stacks and their cycles from folded stacks."""
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        if not (stack and count.isdecimal()):
            raise BadInput(
                "a stored profile has a form that this version does not read",
                hint="measure again: a baseline with --save-baseline",
            )
        yield stack, int(count)


def quantities(run: StoredRun) -> dict[tuple[str, str], float]:
    """What is compared, by group and name."""
    counters = guest.program_counters(run.result.regions, run.result.counters)
    found: dict[tuple[str, str], float] = {
        (TOTAL, "cycles"): counters.get("cycles", 0),
        (TOTAL, "microseconds"): counters.get("elapsed", counters.get("cycles", 0)) / run.clock * 1e6,
        (TOTAL, "instructions"): counters.get("instructions", 0),
        (TOTAL, "exceptions"): total(counters, "exception.*"),
    }
    for name, count in counters.items():
        if name.startswith(_CAUSE):
            found["cause", name.removeprefix(_CAUSE)] = count
    for group, entries in _COUNTS.items():
        for words, name in entries:
            found[group, words] = counters.get(name, 0)
    for name, cycles in functions(run).items():
        found[FUNCTION, name] = cycles
    return found


def compare(first: Side, second: Side) -> list[Moved]:
    """Every quantity of the two, the totals first, then group by group what moved furthest. Equal ones are left out."""
    if len(first.runs) != len(second.runs):
        raise BadInput(
            f"{first.label} has {len(first.runs)} placements, {second.label} has {len(second.runs)}",
            hint=f"measure as many: --seeds {len(first.runs)}",
        )
    sides = [[quantities(run) for run in side.runs] for side in (first, second)]
    names = list(dict.fromkeys(name for side in sides for found in side for name in found))
    moved = [
        Moved(group, name, *(tuple(found.get((group, name), 0) for found in side) for side in sides))
        for group, name in names
    ]
    groups = list(dict.fromkeys(group for group, _ in names))
    return sorted(
        (entry for entry in moved if entry.group == TOTAL or entry.first != entry.second),
        key=lambda entry: (groups.index(entry.group), 0 if entry.group == TOTAL else -abs(entry.difference)),
    )
