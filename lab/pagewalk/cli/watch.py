"""`pagewalk watch`: a live view of a program in the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pagewalk import guest, native
from pagewalk.cli import options
from pagewalk.cli.output import next_step
from pagewalk.errors import BadInput, NotBuilt
from pagewalk.guest import Program
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.watching import Watching
from pagewalk.workshop import Workshop


def watch(
    command: options.Command,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    boot: Annotated[bool, typer.Option("--boot", help="Begin at reset, not at the program.")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Begin paused, to go step by step.")] = False,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
) -> None:
    """Watch TLBs, hash table, cost categories and functions while a program runs.

    Keys: space runs and pauses, m goes to the next TLB miss, e to the next exception, s to the next switch of address
    spaces, q ends. Watching changes no count and no cycle.

    Examples: `pagewalk watch -- hello`, `pagewalk watch --paused -m ppc603-133 -p tlb.cutoff=20 -- ./prog`
    """
    workshop = Workshop(native.NativeRunner())
    overrides = options.overrides(sets)
    options.check_machine(workshop, machine, [overrides])
    settings = options.settings(policy, machine)
    with options.option("--file"):
        files = tuple(guest.guest_file(text) for text in file or [])
    program = Program(command[0], tuple(command[1:]), files)
    job = guest.job(workshop, machine, program, overrides=overrides, settings=settings, limit=limit, kernel=kernel)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "watch needs a terminal", hint="pagewalk profile and pagewalk trace write what happened to files"
        )
    try:
        from pagewalk.cli.watch_app import WatchApp  # noqa: PLC0415 - slow to import
    except ImportError:
        raise NotBuilt("textual is not installed", hint="pip install textual") from None
    watching = Watching(native.load(job), job, boot)
    if not boot:
        watching.skip_boot(f"/bin/{program.title}")
    title = f"{program.title} on {job.machine.name}"
    if status := WatchApp(watching, title, paused=paused).run():
        raise typer.Exit(status)
    next_step("pagewalk profile -- PROG for the cycles of each function", "pagewalk exec -- PROG for what it cost")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("watch")(watch)
