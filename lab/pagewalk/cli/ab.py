"""`pagewalk ab`: one program under several choices, side by side."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pagewalk import ab, flame_difference, robustness, summary, sweep, writing
from pagewalk.ab import Moved, Plan, Side
from pagewalk.cli import ab_inputs, options
from pagewalk.cli.laboratory import laboratory
from pagewalk.cli.output import Json, err, exact, next_step, number, out, print_json, say, table
from pagewalk.cli.progress import events
from pagewalk.cli.sheet import Shown
from pagewalk.cli.sheet import chosen as form
from pagewalk.errors import BadInput, WrongOption
from pagewalk.execute import Lab
from pagewalk.guest import Program, guest_file, program_counters
from pagewalk.runner import DEFAULT_INSTRUCTIONS

_NAME = re.compile(r"[\w.-]{1,64}")
_HEAD_MOST = 10
"""The longest heading of a column that leaves room for the others in 80 columns."""
_SHORT = 8
"""How many lines of functions are shown, unless told otherwise."""


def _choices(machine: str, policy: Sequence[str], sets: Sequence[str]) -> list[ab.Choice]:
    axes = options.policy_axes([word for word in policy if "=" in word], machine)
    with options.option("--policy"):
        chosen = ab.axes((word for word in policy if "=" not in word), axes)
    with options.option("--set"):
        keys = sweep.axes(sets)
    with options.option("--policy and --set"):
        return ab.choices(chosen, keys)


def _named(option: str, name: str | None) -> None:
    if name is not None and not _NAME.fullmatch(name):
        raise WrongOption(
            f"{option}: {name!r} is no name for a baseline", hint="write up to 64 letters, digits, dots and dashes"
        )


def _baseline(lab: Lab, name: str) -> Side:
    with options.option("--baseline"):
        kept = lab.store.baseline(name)
    with lab.store.reading():
        runs = [lab.store.get(key) for _, key in kept]
    return Side(f"{name} ({kept[0][0]})", [run for run in runs if run is not None])


def _count(value: float) -> Shown:
    """A median: whole, or a half between two numbers."""
    return Shown(
        value, exact(value) if value == round(value) else f"{value:,.1f}" if abs(value) >= 1 else number(value)
    )


def _change(moved: Moved) -> Shown:
    share = moved.change
    return Shown(share, f"{share:+.1%}" if share is not None else "" if any(moved.first) else "new")


def _spread(moved: Moved) -> list[str | Shown]:
    """The least and the greatest change, and whether it is noise: in one cell for people, as numbers in CSV."""
    least, greatest = (moved.shares[0], moved.shares[-1]) if moved.shares else (None, None)
    if form.form == "csv":
        return [Shown(least, ""), Shown(greatest, ""), "yes" if moved.noise else "no"]
    low, high = ("" if share is None else f"{share:+.1%}" for share in (least, greatest))
    return [low if low == high else f"{low.rstrip('%')} to {high}", "noise" if moved.noise else ""]


def _shown(found: Sequence[Moved], top: int) -> list[Moved]:
    """All but the functions that moved least."""
    functions = itertools.islice((moved for moved in found if moved.group == ab.FUNCTION), top)
    listed = {moved.name for moved in functions}
    return [moved for moved in found if moved.group != ab.FUNCTION or moved.name in listed]


def print_difference(first: Side, second: Side, found: Sequence[Moved], top: int) -> None:
    """The table of one combination against the first."""
    several = len(first.runs) > 1
    heads, title = [first.label, second.label], f"{first.label} → {second.label}"
    if form.form == "table" and max(map(len, heads)) > _HEAD_MOST:
        heads, title = ["before", "after"], f"before: {first.label}; after: {second.label}"
    columns = ["group", "what moved", f">{heads[0]}", f">{heads[1]}", ">change"]
    rows: list[list[str | Shown]] = []
    for moved in _shown(found, top):
        one, other = moved.medians
        row: list[str | Shown] = [moved.group, moved.name, _count(one), _count(other), _change(moved)]
        rows.append([*row, *_spread(moved)] if several else row)
    spread = [">least change", ">greatest change", "noise"] if form.form == "csv" else [">spread", ""]
    out.print(table(title, [*columns, *spread] if several else columns, rows))


def _record(first: Side, second: Side, found: Sequence[Moved]) -> dict[str, object]:
    return {
        "first": {"label": first.label, "runs": [run.key for run in first.runs]},
        "second": {"label": second.label, "runs": [run.key for run in second.runs]},
        "moved": [
            {
                "group": moved.group,
                "name": moved.name,
                "first": moved.first,
                "second": moved.second,
                "change": moved.change,
                "spread": [moved.shares[0], moved.shares[-1]] if moved.shares else None,
                "noise": moved.noise,
            }
            for moved in found
        ],
    }


def _flames(flame: Path, sides: Sequence[Side]) -> list[Path]:
    """Writes the difference of each side to the first; several go to numbered files."""
    write = flame_difference.writer(flame)
    first, others = sides[0], sides[1:]
    several = len(others) > 1
    paths = [flame.with_stem(f"{flame.stem}-{n}") if several else flame for n in range(1, len(others) + 1)]
    for path, side in zip(paths, others, strict=True):
        writing.write(path, write(first, side))
    return paths


def compare_choices(
    command: options.Command,
    machine: options.Machine = options.DEFAULT_MACHINE,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="A policy and its values: tlb.cutoff=off,20; or named sets: default,best.",
            autocompletion=options.complete_policy,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A machine key and its values: tlb.data.entries=32,64.", autocompletion=options.complete_key
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=99, help="How many placements of code, frames, heaps and stacks to measure.")
    ] = 1,
    kernel: options.Kernel = None,
    file: options.Files = None,
    save_baseline: Annotated[
        str | None, typer.Option("--save-baseline", help="Keep the first combination's runs under this name.")
    ] = None,
    inputs: Annotated[
        bool,
        typer.Option(
            "--inputs", help="Try everything that the machine's file leaves open: does the answer survive it?"
        ),
    ] = False,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Compare with the runs that were kept under this name.")
    ] = None,
    flame: Annotated[
        Path | None, typer.Option(help="Write a flame graph of the difference: FILE.json (speedscope) or FILE.folded.")
    ] = None,
    plot: options.Plot = None,
    top: Annotated[int, typer.Option(min=0, help="Functions to list.")] = _SHORT,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Run one program under several policies or machine keys, and show what moved.

    Every combination of the values is compared with the first. With --seeds, figures are medians, and a difference no
    larger than its spread over the placements is called noise. Runs that are in the results are not simulated again.
    With --inputs each combination also runs with the values of the machine's table [inputs]: all fastest, all slowest,
    and each alone.

    Examples: `pagewalk ab -p tlb.cutoff=off,20 -- ./prog`,
    `pagewalk ab -p default,best --seeds 5 --flame difference.json -- ./prog`,
    `pagewalk ab -p tlb.cutoff=off,20 --inputs -- ./prog`,
    `pagewalk ab --save-baseline before -- ./prog`, then `pagewalk ab --baseline before -- ./prog`
    """
    _named("--save-baseline", save_baseline)
    _named("--baseline", baseline)
    chosen = _choices(machine, policy or [], sets or [])
    if inputs and (baseline is not None or save_baseline is not None):
        raise WrongOption(
            "--inputs and baselines exclude each other", hint="a baseline is of one machine: leave it out"
        )
    if len(chosen) == 1 and baseline is None and save_baseline is None and not inputs:
        raise WrongOption(
            "there is nothing to compare",
            hint="give a policy or a key two values, as in -p tlb.cutoff=off,20, or name a --baseline",
        )
    if flame is not None:
        with options.option("--flame"):
            flame_difference.writer(flame)
            if not flame.parent.is_dir():
                raise BadInput(f"{flame.parent} is no folder", hint="make it, or name another file")
            if len(chosen) == 1 and baseline is None:
                raise BadInput("with one combination there is no difference", hint="give a policy two values")
    with options.option("--file"):
        program = Program(command[0], tuple(command[1:]), tuple(guest_file(text) for text in file or []))
    with laboratory(jobs, cluster) as lab:
        options.check_machine(lab, machine, [choice.keys for choice in chosen])
        kept = None if baseline is None else _baseline(lab, baseline)
        if kept is not None and len(kept.runs) != seeds:
            raise WrongOption(
                f"--seeds: the baseline {baseline} has {len(kept.runs)} placements, not {seeds}",
                hint=f"write --seeds {len(kept.runs)}",
            )
        plan = Plan(machine, program, chosen, seeds, limit, kernel)
        tried = ab_inputs.variants(lab, plan) if inputs else []
        if tried:
            plan = ab.varied(plan, tried)
        with events(as_json=as_json) as listener:
            sides = ab.measure(lab, plan, listener)
        if save_baseline is not None:
            label = f"{sides[0].label} on {machine}"
            lab.store.add_baseline(save_baseline, [(label, run.key) for run in sides[0].runs])
    robust = robustness.across(sides, len(chosen), tried) if tried else []
    sides = [*([] if kept is None else [kept]), *sides[: len(chosen)]]
    found = [ab.compare(sides[0], side) for side in sides[1:]]
    title = shlex.join([program.title, *program.arguments])
    written = [*([] if flame is None else _flames(flame, sides)), *([] if plot is None else _draw(title, sides, plot))]
    if as_json:
        records = [_record(sides[0], side, moved) for side, moved in zip(sides[1:], found, strict=True)]
        print_json(ab_inputs.with_inputs(records, robust))
        return
    say(out, f"{title} on {machine}")
    for side, moved in zip(sides[1:], found, strict=True):
        print_difference(sides[0], side, moved, top)
    for compared in robust:
        ab_inputs.print_robustness(compared)
    _notes(sides, found, top)
    for path in written:
        say(err, f"wrote {path}")
    _advise(sides, seeds, save_baseline, flame)


def _draw(title: str, sides: Sequence[Side], path: Path) -> list[Path]:
    """Draws the program's cycles by cause: a bar for each combination, of the median placement or the two beside it."""
    from pagewalk.report import charts, plots  # noqa: PLC0415 - slow to import

    bars = []
    for side in sides:
        rows = [summary.by_cause(program_counters(run.result.regions, run.result.counters)) for run in side.runs]
        causes = [{cause: float(cycles) for cause, cycles, *_ in row} for row in rows]
        causes.sort(key=lambda found: sum(found.values()))
        one, other = causes[(len(causes) - 1) // 2], causes[len(causes) // 2]
        middle = {cause: (one.get(cause, 0) + other.get(cause, 0)) / 2 for cause in {**one, **other}}
        bars.append(charts.Bar(title, side.label, middle))
    plots.Drawing(charts.cycles_by_cause(bars)).save(path)
    return [path]


def _notes(sides: Sequence[Side], found: Sequence[Sequence[Moved]], top: int) -> None:
    """What a reader must know of the runs."""
    ended = {ab.status(run) for side in sides for run in side.runs}
    if ended != {0}:
        say(err, f"note: the program ended with status {', '.join(map(str, sorted(ended)))}")
    more = max((sum(moved.group == ab.FUNCTION for moved in table) for table in found), default=0)
    if more > top:
        say(err, f"{more - top} more functions moved: --top {more} lists them")


def _advise(sides: Sequence[Side], seeds: int, saved: str | None, flame: Path | None) -> None:
    keys = [side.runs[0].key[:12] for side in sides]
    steps = []
    if len(sides) == 1 and saved is not None:
        steps.append(f"change something, then pagewalk ab --baseline {saved} -- PROG compares with these runs")
    if seeds == 1:
        steps.append("--seeds 5 tells an effect from the chance of where code and data were placed")
    if len(sides) > 1:
        steps += [f"pagewalk compare {one} {other} for every counter" for one, other in itertools.pairwise(keys[:2])]
        if flame is None:
            steps.append("--flame difference.json for the functions, to open in speedscope")
    next_step(*steps)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("ab")(compare_choices)
