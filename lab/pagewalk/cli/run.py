"""`pagewalk run`: an experiment, published and measured side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from pagewalk import experiments, memories, records
from pagewalk.cli import options
from pagewalk.cli.laboratory import events, laboratory
from pagewalk.cli.output import Json, number, out, print_json, say
from pagewalk.errors import BadInput, ExitStatus
from pagewalk.execute import Cell
from pagewalk.experiments import Experiment
from pagewalk.verdict import Tone, by_class, tone

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
        [*((cell.figure, cell.verdict) for cell in cells), *((None, "published only") for _ in experiment.elsewhere)]
    )
    out.print(", ".join(f"{count} {name}" for name, count in counts), highlight=False)


def run(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Experiments, a paper's name (osdi99) for all of its experiments, or a .toml file.",
            autocompletion=options.complete_experiment,
        ),
    ],
    seeds: Annotated[
        int, typer.Option(min=1, max=99, help="How many placements of code, frames, heaps and stacks to measure.")
    ] = 1,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    as_json: Json = False,
) -> None:
    """Reproduce a published table: the paper's figures beside ours, with a verdict for every row.

    Runs that are in the results are not simulated again. With --seeds, a verdict is one that all placements bear out;
    the figures are those of the median.

    Examples: `pagewalk run osdi99-table2`, `pagewalk run osdi99 --seeds 7`, `pagewalk run mine.toml -j 1`
    """
    found = [experiment for name in names for experiment in experiments.find(name)]
    failed = False
    records = []
    with laboratory(jobs, cluster) as lab:
        for experiment in found:
            with events(as_json=as_json) as listener:
                cells = lab.experiment(experiment, listener, seeds)
            failed = failed or any(cell.verdict == "no figure" for cell in cells)
            if as_json:
                records.append({"experiment": experiment.name, "cells": [cell.record() for cell in cells]})
            else:
                print_experiment(experiment, cells)
    if as_json:
        print_json(records)
    if failed:
        raise typer.Exit(int(ExitStatus.FATAL))


def compare_memories(
    names: Annotated[
        list[str], typer.Argument(help="Experiments, or a paper's name.", autocompletion=options.complete_experiment)
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The Markdown file to write.")] = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
) -> None:
    """Measure experiments with several memories, and say which verdicts depend on the memory.

    The page goes to the file, or is printed. The experiments' own tables are not changed.

    Example: `pagewalk memories osdi99-table2 osdi99-table3 -o docs/memories.md`
    """
    found = [experiment for name in names for experiment in experiments.find(name)]
    with laboratory(jobs, cluster) as lab, events(as_json=False) as listener:
        page = memories.page(memories.compare(lab, found, listener))
    if output is None:
        print(page, end="")
        return
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{output}: {error.strerror}") from None
    say(out, f"wrote {output}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("run")(run)
    app.command("memories")(compare_memories)
