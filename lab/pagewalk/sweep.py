"""One benchmark row over every combination of machine keys and policies."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pagewalk import systems
from pagewalk.errors import BadInput, RunFailed, RunLimit
from pagewalk.figures import Figure
from pagewalk.simulate import Events, Work

if TYPE_CHECKING:
    from pagewalk.execute import Lab

MOST_POINTS = 100_000

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.([+*])?(\d+))?")


def values(text: str) -> list[str]:
    """The values of an axis: a list (`32,64,128`), a range (`10..40`), or one with a step (`10..40..5`, `1..64..*2`).

    Lists may hold ranges; both ends of a range belong to it.
    """
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            if not part.strip():
                raise BadInput(f"{text!r} has an empty value", hint="write a list as in 32,64,128")
            found.append(part.strip())
            continue
        low, high, times, step = int(match[1]), int(match[2]), match[3] == "*", int(match[4] or 1)
        if step < (2 if times else 1) or high < low or (times and low < 1):
            raise BadInput(
                f"{part.strip()!r} is no range", hint="write low..high, low..high..step or low..high..*factor"
            )
        at = low
        while at <= high:
            found.append(str(at))
            at = at * step if times else at + step
            if len(found) > MOST_POINTS:
                raise BadInput(f"{part.strip()!r} has more than {MOST_POINTS:,} values")
    return list(dict.fromkeys(found))


Value = str | int | float
"""What a machine key or a policy may be set to from Python."""


def text_of(value: Value) -> str:
    """The value as a machine file or the kernel's command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def axis(given: Value | Sequence[Value]) -> list[str]:
    """The values of an axis from Python: a word with lists and ranges in it, one value, or a sequence of values."""
    if isinstance(given, str):
        return values(given)
    if isinstance(given, Sequence):
        if not given:
            raise BadInput("an axis has no value")
        return list(dict.fromkeys(text_of(value) for value in given))
    return [text_of(given)]


def axes(words: Iterable[str]) -> dict[str, list[str]]:
    """Axes by name, from `name=values` words; an axis that is given again gets further values."""
    found: dict[str, list[str]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise BadInput(f"{word!r} is no axis", hint="write name=values, as in tlb.data.entries=32,64,128")
        found[name] = list(dict.fromkeys([*found.get(name, []), *values(text)]))
    return found


@dataclass(frozen=True)
class Sweep:
    """What to measure, and over which machine keys (`sets`) and policies."""

    machine: str
    program: str
    arguments: tuple[str, ...]
    row: str
    figure: Figure
    sets: Mapping[str, Sequence[str]]
    policies: Mapping[str, Sequence[str]]
    files: tuple[str, ...] = ()
    image: str | None = None

    def points(self) -> list[dict[str, str]]:
        """Every combination: the setting of each axis by its name."""
        names = [*self.sets, *self.policies]
        count = 1
        for name in names:
            count *= len(self.sets[name] if name in self.sets else self.policies[name])
        if count > MOST_POINTS:
            raise BadInput(f"{count:,} combinations: at most {MOST_POINTS:,} are allowed")
        lists = [*self.sets.values(), *self.policies.values()]
        return [dict(zip(names, point, strict=True)) for point in itertools.product(*lists)]


@dataclass(frozen=True)
class Point:
    """One measured combination; `value` is None where the run gave no figure, and `reason` says why."""

    settings: Mapping[str, str]
    value: float | None
    run: str
    reason: str = ""


def work(lab: Lab, sweep: Sweep, settings: Mapping[str, str]) -> Work:
    """The run that measures one combination."""
    overrides = {name: value for name, value in settings.items() if name in sweep.sets}
    chosen = {name: value for name, value in settings.items() if name in sweep.policies}
    system = systems.own(lab, sweep.machine, overrides)
    sweep.figure.check(system.machine.architecture)
    initrd = lab.bench_image(sweep.program, sweep.files, sweep.image, architecture=system.machine.architecture)
    job = system.job(initrd, system.command_line(chosen, [f"/bin/{sweep.program}", *sweep.arguments]))
    return Work(" ".join(f"{name}={value}" for name, value in settings.items()) or sweep.row, job)


def measure(lab: Lab, sweep: Sweep, events: Events) -> list[Point]:
    """Every combination's figure, in the order of `points`; runs in the store are not simulated again."""
    works = [(settings, work(lab, sweep, settings)) for settings in sweep.points()]
    wanted = {entry.job.key(lab.runner.version): entry for _, entry in works}
    if sweep.figure.needs_guest and len(wanted) > 1:
        # Its first point tells a wrong name before the others are simulated.
        first = dict(itertools.islice(wanted.items(), 1))
        lab.ensure(first, events)
        _figures(lab, sweep, first)
    lab.ensure(wanted, events)
    found = _figures(lab, sweep, wanted)
    points = []
    for (settings, _), key in zip(works, (entry.job.key(lab.runner.version) for _, entry in works), strict=True):
        value = found[key]
        points.append(Point(settings, None, key, value) if isinstance(value, str) else Point(settings, value, key))
    return points


def _figures(lab: Lab, sweep: Sweep, wanted: Mapping[str, Work]) -> dict[str, float | str | None]:
    """The figure of each run that is in the store, or why it has none."""
    found: dict[str, float | str | None] = {}
    for run in lab.store.runs(wanted):
        try:
            found[run.key] = lab.measured(sweep.row, run, wanted[run.key].label).compute(sweep.figure)
        except (RunFailed, RunLimit) as error:
            found[run.key] = error.explained
    return found
