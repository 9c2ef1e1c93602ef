"""`pagewalk subjects`: the kernels of other people, listed and built."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pagewalk import machines, native, subject_build, subjects
from pagewalk.build_steps import Choice
from pagewalk.cli import options
from pagewalk.cli.output import Json, err, out, print_json, say, table
from pagewalk.errors import BadInput
from pagewalk.subjects import Kernel
from pagewalk.workshop import Workshop

app = typer.Typer(help="Kernels of other people, such as Linux: list them, build them.", invoke_without_command=True)

_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal for a bar."""


class _Told:
    """Progress of a build on standard error: a bar, or a line now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._next = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), TimeElapsedColumn(),
            console=err, transient=True, disable=quiet or not err.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None, visible=False)

    def __enter__(self) -> _Told:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def said(self, line: str) -> None:
        if not self._quiet:
            say(err, line)

    def progress(self, name: str, done: int, total: int, seconds_left: float) -> None:
        left = f"{seconds_left:.0f} s" if seconds_left < 100 else f"{seconds_left / 60:.0f} min"
        line = f"{name}: {done} of about {total} objects, about {left} left"
        self._bar.update(self._task, description=line, completed=done, total=total, visible=True)
        now = time.monotonic()
        if not err.is_terminal and now >= self._next:
            self._next = now + _EVERY
            self.said(line)


def _machines(kernel: Kernel, known: list[subjects.Needs]) -> list[str]:
    return [machine.machine for machine in known if kernel.platform.fits(machine)]


@app.callback()
def show(context: typer.Context, as_json: Json = False) -> None:
    """List the kernels that can be built: board, whether built, version, and the machines that they run on.

    Examples: `pagewalk subjects`, `pagewalk subjects build linux-6.1-bare`
    """
    if context.invoked_subcommand is not None:
        return
    workshop = Workshop(native.NativeRunner())
    known = [subjects.needs(name, workshop.machine(name).config, None) for name in machines.names()]
    listed = [(kernel, kernel.record(), _machines(kernel, known)) for kernel in subjects.all_kernels()]
    if as_json:
        print_json(
            [
                {
                    "name": kernel.subject,
                    "kernel": kernel.name,
                    "board": kernel.platform.board,
                    "about": kernel.variant.about,
                    "patched": bool(kernel.variant.edits),
                    "built": record and record.model_dump(),
                    "machines": fits,
                }
                for kernel, record, fits in listed
            ]
        )
        return
    out.print(
        table(
            "Subjects",
            ["name", "board", "built", "SHA-256", "machines", "what it is"],
            (
                [
                    kernel.name,
                    kernel.platform.board,
                    f"{record.version}, gcc {record.compiler}" if record else "no",
                    record.sha256[:12] if record else "",
                    ", ".join(fits),
                    kernel.variant.about,
                ]
                for kernel, record, fits in listed
            ),
        )
    )
    say(out, "A name without its board stands for the kernel that fits the machine, as in `-m ppc604-133`.")


@app.command("build")
def build(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Subjects (linux-6.1-bare: for every board) or single kernels (linux-6.1-bare-mpc83xx).",
            autocompletion=options.complete_subject,
        ),
    ],
    newest: Annotated[
        bool, typer.Option("--newest", help="Take the version that Debian's archive has now, not the pinned one.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Of a Mach: take the source in this folder, not Debian's source package."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Compilers at a time.")] = None,
    as_json: Json = False,
) -> None:
    """Build kernels from Debian's packages, once: a finished one is kept for all checkouts.

    An interrupted build goes on where it stopped. The package is fetched by apt-get, and checked.

    Example: `pagewalk subjects build linux-6.1-bare`
    """
    wanted = list({kernel.name: kernel for name in names for kernel in subjects.find(name)}.values())
    choice = Choice(newest, jobs or len(os.sched_getaffinity(0)), source)
    with _Told(quiet=as_json) as told:
        subject_build.build(wanted, choice, told)
    records = {kernel.name: kernel.record() for kernel in wanted}
    if missing := [name for name, record in records.items() if record is None]:
        raise BadInput(f"not built: {', '.join(missing)}")
    if as_json:
        print_json({name: record.model_dump() for name, record in records.items() if record})
        return
    for name, record in records.items():
        if record is not None:
            say(out, f"{name}: {record.version}, {record.sha256[:12]}")


def register(parent: typer.Typer) -> None:
    """Adds the commands."""
    parent.add_typer(app, name="subjects")
