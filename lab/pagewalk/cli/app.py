"""The command's entry: every subcommand is registered here, and every error ends here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pagewalk import __version__
from pagewalk.cli import guest, listings, results, run, subjects, tune
from pagewalk.cli.output import complain, err, say
from pagewalk.errors import ExitStatus, PagewalkError

app = typer.Typer(
    name="pagewalk",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
A laboratory for address translation: boots a small kernel on a simulated PowerPC that accounts for
every cycle, TLB entry, hash-table slot and cache line.

- `pagewalk run osdi99-table2` reproduces a published table and prints both side by side
- `pagewalk exec -m ppc604-185 -- ./hello` runs a static PowerPC program and says what it cost
- `pagewalk claims explain osdi99.table2.604-185` explains a published figure and where it is printed
""",
)
for part in (run, guest, results, listings, subjects, tune):
    part.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pagewalk {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Options before the subcommand."""
    del version


def _wants_json(words: list[str]) -> bool:
    """Whether `--json` is an option of ours: what follows `--` belongs to the guest's program."""
    ours = words[: words.index("--")] if "--" in words else words
    return "--json" in ours


def command() -> int:
    """Runs the command line; returns the exit status. Every error of ours ends here, but not a broken pipe."""
    try:
        app()
    except PagewalkError as error:
        complain(error, as_json=_wants_json(sys.argv[1:]))
        return int(error.status)
    except KeyboardInterrupt:
        say(err, "interrupted; finished runs are kept")
        return int(ExitStatus.INTERRUPTED)
    except SystemExit as ended:
        # The libraries for options and for tables end the process when a pipe breaks, with a status of their own.
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0
