"""`pagewalk tune`: the best value of a policy that takes a number."""

from __future__ import annotations

from typing import Annotated

import typer

from pagewalk import sweep, tune
from pagewalk.cli import options
from pagewalk.cli.laboratory import laboratory
from pagewalk.cli.output import Json, err, number, out, print_json, table
from pagewalk.cli.progress import events
from pagewalk.errors import ExitStatus
from pagewalk.figures import Figure
from pagewalk.sweep import Sweep

tune_app = typer.Typer(help="Find the best value of a policy that takes a number.", no_args_is_help=True)

_PROGRAM = "tlb-stress"
# Forty processes with the same 400 pages each: nearly as many translations as a table of 16384 entries holds.
_ARGUMENTS = ["processes=40", "pages=400", "stride=1", "shared=1", "passes=1", "iterations=2"]


@tune_app.callback()
def _app() -> None:
    """Find the best value of a policy that takes a number."""


@tune_app.command("vsid")
def tune_vsid(
    program: Annotated[str, typer.Argument(help="A benchmark program (user/bench).")] = _PROGRAM,
    arguments: Annotated[list[str] | None, typer.Argument(help="Its parameters.")] = None,
    machine: options.Machine = "ppc604-133",
    multipliers: Annotated[str, typer.Option(help="Odd multipliers to try: a list, or ranges.")] = "3..1023..2",
    keep: Annotated[int, typer.Option(min=1, max=100, help="How many of the best to simulate.")] = 4,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="Other policies of the simulated runs.")
    ] = None,
    figure: Annotated[str, typer.Option(help="What to measure in these runs.")] = tune.FIGURE.text,
    row: Annotated[str | None, typer.Option(help="The printed row; the program's name by default.")] = None,
    jobs: options.Jobs = None,
    as_json: Json = False,
) -> None:
    """Find the multiplier that scatters a workload's VSIDs best over the hash table.

    A model of the hash table tries every multiplier on the pages of the workload. The best ones are simulated, and
    so is the plain process number.

    Examples: `pagewalk tune vsid`, `pagewalk tune vsid --multipliers 13,75,897 --keep 3 -p kernel.map=bat`
    """
    chosen = arguments if arguments is not None else _ARGUMENTS if program == _PROGRAM else []
    with options.option("--figure"):
        computed = Figure.parse(figure)
    plan = Sweep(
        machine=machine,
        program=program,
        arguments=tuple(chosen),
        row=row or program,
        figure=computed,
        sets={},
        policies={name: [value] for name, value in options.settings(policy, machine).items()},
    )
    with options.option("--multipliers"):
        tried = tune.odd(sweep.values(multipliers))
    with laboratory(jobs) as lab, events(as_json=as_json) as listener:
        tuned = tune.tune(lab, plan, tried, keep, listener)
    if as_json:
        print_json(tuned)
    else:
        out.print(
            table(
                f"vsid on {machine}, {' '.join([program, *chosen])}: the best of {len(tried)} multipliers",
                ["vsid", ">pages placed", ">slots in use", ">deviation", f">{figure}"],
                (
                    [
                        t.spread.policy,
                        f"{t.spread.placed:.1%}",
                        f"{t.spread.use:.1%}",
                        f"{t.spread.deviation:.2f}",
                        t.point.reason if t.point.value is None else number(t.point.value),
                    ]
                    for t in tuned
                ),
            )
        )
    if any(t.point.value is None for t in tuned):
        err.print("some runs gave no figure")
        raise typer.Exit(int(ExitStatus.FATAL))


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.add_typer(tune_app, name="tune")
