"""`pagewalk run`: an experiment, published and measured side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from pagewalk import experiments, measured, memories, records, results_file, writing
from pagewalk.cli import options, own_images
from pagewalk.cli.laboratory import laboratory
from pagewalk.cli.output import Json, err, next_step, number, out, print_json, say, table
from pagewalk.cli.progress import events
from pagewalk.cli.sheet import Sheet, Shown
from pagewalk.cli.sheet import chosen as form
from pagewalk.cli.ticker import duration
from pagewalk.errors import BadInput, ExitStatus, WrongOption, nearest
from pagewalk.execute import Cell, Cost, Lab
from pagewalk.experiments import Experiment, Row
from pagewalk.paths import check_writable
from pagewalk.store import Store
from pagewalk.verdict import Tone, by_class, tone, unmeasured

_COLOURS: dict[Tone, str] = {"good": "green", "part": "yellow", "open": "cyan", "bad": "red"}


def experiment_table(experiment: Experiment, cells: Sequence[Cell], machine: str) -> Table:
    """The table of one machine: published before and after, ours, both ratios, and the verdict."""
    chosen = [cell for cell in cells if cell.row.after.machine == machine]
    labels = [f"{c.row.before.setting.label} → {c.row.after.setting.label}" for c in chosen if c.row.before]
    heading = Counter(labels).most_common(1)[0][0] if labels else chosen[0].row.after.setting.label
    made = Table(
        title=Text(f"{experiment.title}\n{machine}: {heading}"), title_justify="left", header_style="bold", box=SIMPLE
    )
    made.add_column("row")
    spread = any(cell.placements > 1 for cell in chosen)
    for column in ("published", "ratio", "ours", "ratio", *(["spread"] if spread else [])):
        made.add_column(column, justify="right", no_wrap=True)
    made.add_column("verdict")
    for cell in chosen:
        published = cell.row.published
        theirs = " → ".join(figure.shown for figure in (published.before, published.after) if figure)
        if any(claim.recalled for claim in published.claims):
            theirs += " (recalled)"
        ours = " → ".join(
            number(figure) for figure in ((cell.before, cell.after) if cell.row.before else (cell.after,))
        )
        made.add_row(
            Text(f"{cell.row.name}, {cell.row.unit}"),
            Text(theirs),
            published.effect or "",
            ours,
            "" if cell.ratio is None else f"{cell.ratio:.3g}",
            *([records.spread(cell.low, cell.high, cell.placements)] if spread else []),
            Text(cell.verdict, style=_COLOURS[tone(cell.verdict)]),
        )
    return made


def print_experiment(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """The tables, what moved in each row, other systems' published figures, and the count of verdicts."""
    for machine in dict.fromkeys(cell.row.after.machine for cell in cells):
        out.print(experiment_table(experiment, cells, machine))
    for cell in cells:
        out.print(Text.assemble("  ", (cell.row.name, "bold"), f", {cell.row.after.machine}: {cell.reason}"))
    for entry in experiment.elsewhere:
        figures = ", ".join(f"{figure:g}" for figure in entry.claim.value)
        if entry.claim.recalled:
            figures += ", recalled"
        out.print(
            Text.assemble(
                "  ", (entry.label, "bold"), f" (published only, {entry.why}): {figures} ({entry.claim.unit})"
            )
        )
    counts = by_class(
        [
            *((cell.figure, cell.verdict) for cell in cells),
            *((None, unmeasured(recalled=entry.claim.recalled, planned=False)) for entry in experiment.elsewhere),
        ]
    )
    out.print(", ".join(f"{count} {name}" for name, count in counts), highlight=False)


def matches(pattern: str, experiment: Experiment, row: Row) -> bool:
    """Whether the pattern is part of the row's full name, in any case; `*` and `?` stand for others."""
    name = f"{experiment.name}/{row.name}/{row.after.machine}".casefold()
    return fnmatchcase(name, f"*{pattern.casefold().replace('[', '[[]')}*")


def _failed(store: Store, experiment: Experiment) -> set[tuple[str, str]]:
    """The rows of its latest table that gave no figure, or reproduced nothing."""
    return {(c.row_name, c.machine) for c in records.cells(store, experiment.name) if tone(c.verdict) == "bad"}


def select(
    store: Store, found: Sequence[Experiment], pattern: str | None, *, failed: bool
) -> list[tuple[Experiment, list[Row] | None]]:
    """The rows of each experiment that are asked for, None for all; experiments without any are left out."""
    if pattern is None and not failed:
        return [(experiment, None) for experiment in found]
    chosen: list[tuple[Experiment, list[Row] | None]] = []
    for experiment in found:
        wanted = _failed(store, experiment) if failed else None
        rows = [
            row
            for row in experiment.rows
            if (pattern is None or matches(pattern, experiment, row)) and (wanted is None or row.place in wanted)
        ]
        if rows:
            chosen.append((experiment, rows))
    if not chosen and pattern is not None:
        known = {word for e in found for row in e.rows for word in (e.name, *row.name.split(), row.after.machine)}
        close = nearest(pattern, known)
        raise WrongOption(
            f"-k: no {'failed ' if failed else ''}row matches {pattern!r}",
            hint=f"did you mean {close!r}?" if close else "pagewalk experiments lists the experiments",
        )
    return chosen


_COLUMNS = (
    "experiment", "row_name", "machine", "unit", "published_before", "published_after", "published_ratio", ">before",
    ">after", ">ratio", ">low", ">high", ">placements", "verdict", "reason",
)  # fmt: skip


def _flat(done: Sequence[tuple[Experiment, Sequence[Cell]]]) -> Sheet:
    """All rows of all experiments in one table, for programs."""
    rows: list[list[str | Shown]] = []
    for experiment, cells in done:
        for cell in cells:
            found = {"experiment": experiment.name, **cell.record()}
            values = [found[name.removeprefix(">")] for name in _COLUMNS]
            rows.append([Shown(v, number(v)) if isinstance(v, float) else str("" if v is None else v) for v in values])
    return table("", _COLUMNS, rows)


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, a paper's name (osdi99) for all of its experiments, or a .toml file.",
            autocompletion=options.complete_experiment,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("-k", help="Only rows with this in EXPERIMENT/ROW/MACHINE, in any case; * and ? are wildcards."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only rows whose latest verdict is no figure or not reproduced.")
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=1, max=99, help="How many placements of code, frames, heaps and stacks to measure.")
    ] = 1,
    image: own_images.Images = None,
    image_config: own_images.Configurations = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep tables of your images for pages, in experiments/measured.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Run nothing: say how many runs there are, and how long they will take.")
    ] = False,
    plot: options.Plot = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    as_json: Json = False,
) -> None:
    """Reproduce a published table: the paper's figures beside ours, with a verdict for every row.

    Runs that are in the results are not simulated again. With --seeds, a verdict is one that all placements bear out;
    the figures are those of the median.

    Without a name, -k and --failed choose among all experiments. Rows that are measured again replace those of the
    latest table.

    Some experiments run the papers' own kernels, of which you must have images: they say which.

    Examples: `pagewalk run osdi99-table2`, `pagewalk run osdi99 --seeds 7`, `pagewalk run -k mmap`,
    `pagewalk run osdi99-table2 --plot table2.pdf`, `pagewalk run osdi99 --failed`, `pagewalk run mine.toml -j 1`,
    `pagewalk run osdi99 --seeds 7 --plan`, `pagewalk run lkml05-own --image v2.4=vmlinux-2.4 --image v2.6=vmlinux-2.6`
    """
    if not names and pattern is None and not failed:
        raise WrongOption("no experiment was named", hint="pagewalk run osdi99-table2, or -k PATTERN, or --failed")
    found = [experiment for name in names or experiments.names() for experiment in experiments.find(name)]
    named = own_images.chosen(found, image, image_config)
    done: list[tuple[Experiment, list[Cell]]] = []
    with laboratory(jobs, cluster, named) as lab:
        chosen = [
            (experiment, own_images.runnable(experiment, selected, named, asked=experiment.name in (names or [])))
            for experiment, selected in select(lab.store, found, pattern, failed=failed)
        ]
        chosen = [(experiment, rows) for experiment, rows in chosen if rows is None or rows]
        if plan:
            _print_costs(lab, chosen, seeds, as_json=as_json)
            return
        for number, (experiment, rows) in enumerate(chosen, 1):
            if len(chosen) > 1 and not as_json:
                say(err, f"experiment {number} of {len(chosen)}: {experiment.name}")
            with events(as_json=as_json) as listener:
                cells = lab.experiment(experiment, listener, seeds, rows)
            done.append((experiment, cells))
            if not as_json and form.form == "table":
                print_experiment(experiment, cells)
                if rows is not None and len(records.cells(lab.store, experiment.name)) < len(experiment.rows):
                    say(err, f"not kept as a table: the other rows of {experiment.name} were never measured")
            if record and experiment.images:
                say(err, f"wrote {measured.write(lab.store, experiment)}")
    if as_json:
        print_json([{"experiment": e.name, "cells": [cell.record() for cell in cells]} for e, cells in done])
    elif form.form != "table":
        out.print(_flat(done))
    else:
        _advise(done, seeds)
    if plot is not None:
        from pagewalk.report import plots  # noqa: PLC0415 - the plots are slow to import

        plots.of_cells(cell for _, cells in done for cell in cells).save(plot)
        say(err, f"wrote {plot}")
    if any(cell.verdict == "no figure" for _, cells in done for cell in cells):
        raise typer.Exit(int(ExitStatus.FATAL))


def _print_costs(
    lab: Lab, chosen: Sequence[tuple[Experiment, Sequence[Row] | None]], seeds: int, *, as_json: bool
) -> None:
    """What each experiment takes, from how long its runs took the last time."""
    took = lab.store.durations()
    costs = [
        lab.cost(experiment if rows is None else replace(experiment, rows=tuple(rows)), seeds, took)
        for experiment, rows in chosen
    ]
    if as_json:
        print_json(costs)
        return
    whole = Cost("all", *(sum(getattr(cost, field.name) for cost in costs) for field in fields(Cost)[1:]))
    columns = ["experiment", ">rows", ">cannot be run", ">runs", ">to simulate", ">of one core", ">of unknown length"]
    out.print(
        table(
            f"Runs with {seeds} placement{'s' if seeds > 1 else ''}",
            columns,
            (
                [
                    cost.experiment,
                    *(f"{count:,}" for count in (cost.rows, cost.refused, cost.runs, cost.missing)),
                    duration(cost.seconds) if cost.seconds else "",
                    f"{cost.unknown:,}",
                ]
                for cost in (*costs, whole)
            ),
        )
    )


def _advise(done: Sequence[tuple[Experiment, Sequence[Cell]]], seeds: int) -> None:
    if not done:
        say(err, "no row failed in the latest tables")
        next_step("pagewalk run osdi99-table2", "pagewalk report")
        return
    steps = []
    names = " ".join(experiment.name for experiment, _ in done) if len(done) < 4 else "..."
    verdicts = {cell.verdict for _, cells in done for cell in cells}
    if "no figure" in verdicts:
        steps.append(f"pagewalk run {names} --failed, after what the rows above ask for")
    if seeds == 1:
        steps.append(f"pagewalk run {names} --seeds 5 tells effects from chance")
    claim = next((id for experiment, _ in done for id in experiment.claims), None)
    if claim is not None:
        steps.append(f"pagewalk claims explain {claim}")
    next_step(*steps, "pagewalk report for a page with all results")


def compare_memories(
    names: Annotated[
        list[str], typer.Argument(help="Experiments, or a paper's name.", autocompletion=options.complete_experiment)
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The Markdown file to write.")] = None,
    extremes: Annotated[
        bool, typer.Option("--extremes", help="Only all fastest and all slowest values, no corner and no value alone.")
    ] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Measure nothing: what was tried last, of the experiments that were tried.")
    ] = False,
    image: own_images.Images = None,
    image_config: own_images.Configurations = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep what your images' rows were with the tables in experiments/measured.")
    ] = False,
    plot: options.Plot = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
) -> None:
    """Measure experiments with all that the machines' files leave open, and say which verdicts an input decides.

    The page goes to the file, or is printed. The experiments' own tables are not changed; the spread over the inputs
    is kept beside them, and the pages of the claims show it. Both ends are crossed with the keys that have no faster
    end, and each value is tried alone where an input decides; rows with long runs have the ends only. Experiments can
    be measured one after another; a page of all of them is made with `--kept`. Rows of the papers' own kernels are
    measured where `--image` names their images, as with `pagewalk run`.

    Example: `pagewalk memories osdi99-table2 osdi99-table3 -o docs/memories.md`
    """
    found = [experiment for name in names for experiment in experiments.find(name)]
    if output is not None:
        check_writable(output)
    if kept and (image or record):
        raise WrongOption("--kept measures nothing: --image and --record go without it")
    if record and not image:
        raise WrongOption("--record keeps what images gave: it needs --image")
    if kept:
        with results_file.opened(read_only=True, notify=partial(say, err)) as store, store.reading():
            varied = memories.tried(store, found)
            page = memories.page(store, varied)
        if not varied:
            raise BadInput(
                f"no row of {' '.join(names)} was tried with the inputs",
                hint=f"pagewalk memories {' '.join(names)} --extremes",
            )
    else:
        named = own_images.chosen(found, image, image_config)
        with laboratory(jobs, cluster, named) as lab, events(as_json=False) as listener:
            varied = memories.compare(lab, found, listener, extremes=extremes)
            page = memories.page(lab.store, varied)
            for experiment in found if record else ():
                if experiment.images:
                    say(err, f"wrote {measured.write(lab.store, experiment)}")
    if plot is not None:
        from pagewalk.report import plots  # noqa: PLC0415 - the plots are slow to import

        plots.of_memories(varied).save(plot)
        say(err, f"wrote {plot}")
    if output is None:
        print(page, end="")
        return
    writing.write(output, page)
    say(out, f"wrote {output}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("run")(run)
    app.command("memories")(compare_memories)
