"""`pagewalk observe`: observers in one line, evaluated by the machine."""

from __future__ import annotations

from typing import Annotated

import typer

from pagewalk import guest
from pagewalk.cli import options
from pagewalk.cli.jobs import loaded_machine
from pagewalk.cli.output import Json, err, out, print_json, say, table
from pagewalk.cli.simulation import watch
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.tally import Counted, Group, Tally

_BAR = 40
"""Letters of a histogram's longest bar."""


def _print_histogram(counted: Counted, group: Group) -> None:
    name = ", ".join(group.key)
    known = sum(part.count for part in group.histogram)
    mean = f", {group.sum / known:,.1f} on average" if known else ""
    title = f"{counted.query}{f': {name}' if name else ''}: {group.count:,} events{mean}"
    most = max((part.count for part in group.histogram), default=1)
    rows = (
        [f"{part.low:,} to {part.high:,}" if part.low != part.high else f"{part.low:,}", f"{part.count:,}",
         "#" * -(-part.count * _BAR // most)]
        for part in group.histogram
    )  # fmt: skip
    out.print(table(title, [f">{counted.measured}", ">events", ""], rows))
    if known < group.count:
        say(err, f"{group.count - known:,} of the events have no {counted.measured}, because software loads the entry")


def _print(counted: Counted, top: int) -> None:
    whole = sum(group.count for group in counted.groups) + counted.others
    if not whole:
        say(err, f"{counted.query}: no event")
        return
    if counted.measured is not None:
        for group in counted.groups[:top]:
            _print_histogram(counted, group)
    else:
        rows = ([*group.key, f"{group.count:,}", f"{group.count / whole:.1%}"] for group in counted.groups[:top])
        out.print(table(f"{counted.query}: {whole:,} events", [*counted.keys, ">events", ">share"], rows))
    if len(counted.groups) > top:
        say(err, f"{len(counted.groups) - top:,} further groups: --top N shows more")
    if counted.others:
        say(err, f"{counted.others:,} events belong to groups beyond the limit and are counted in none")


def observe(
    queries: Annotated[
        list[str],
        typer.Option(
            "-e", "--query",
            help="What to count, as in 'miss(data) by function where cause == kernel'; may be given again.",
            metavar="QUERY",
        ),
    ],
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    snapshot_file: options.From = None,
    top: Annotated[int, typer.Option(min=1, help="Groups to list.")] = 25,
    boot: Annotated[bool, typer.Option("--boot", help="Count boot and power-off, too.")] = False,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Count TLB misses, evictions, exceptions, switches, interrupts or calls in groups, by a query.

    A query is `EVENT [by FIELD, ...] [where FIELD == VALUE and ...] [histogram FIELD]`. Counters stay the same. Only
    the program's own time counts, from its start to its end; `--boot` counts the whole run.

    Examples: `pagewalk observe -e 'miss(data) by function where cause == kernel' -- ./hello`,
    `pagewalk observe -e 'miss histogram cycles' -e 'eviction by stack' -- ./hello`
    """
    loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)
    with options.option("--query"):
        tally = Tally(loaded, queries, None if boot or snapshot_file else guest.PROGRAM_REGION)
    watched = watch(loaded, limit, quiet=as_json)
    with options.option("--query"):
        counted = tally.counted()
    if as_json:
        print_json(
            [
                {
                    "query": found.query,
                    "measured": found.measured,
                    "groups": [
                        {
                            **dict(zip(found.keys, group.key, strict=True)),
                            "events": group.count,
                            **({"sum": group.sum, "histogram": group.histogram} if found.measured else {}),
                        }
                        for group in found.groups
                    ],
                    "events_of_other_groups": found.others,
                }
                for found in counted
            ]
        )
    else:
        for found in counted:
            _print(found, top)
    watched.check()


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("observe")(observe)
