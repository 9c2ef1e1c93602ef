"""The command's entry: every subcommand is registered here, and every error ends here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pagewalk import __version__
from pagewalk.cli import ab, debugging, guest, listings, observe, results, run, subjects, tune, watch
from pagewalk.cli.next_steps import NEXT
from pagewalk.cli.output import complain, err, next_step, say
from pagewalk.cli.sheet import add_forms, chosen
from pagewalk.errors import BadInput, ExitStatus, PagewalkError, WrongOption

app = typer.Typer(
    name="pagewalk",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
A laboratory for address translation: boots a small kernel on a simulated PowerPC or i386 that accounts for
every cycle, TLB entry, hash-table slot and cache line.

- `pagewalk run osdi99-table2` reproduces a published table and prints both side by side
- `pagewalk exec -m ppc604-185 -- ./hello` runs a static PowerPC program and says what it cost
- `pagewalk ab -p tlb.cutoff=off,20 -- ./hello` runs it under two choices and shows what moved
- `pagewalk claims explain osdi99.table2.604-185` explains a published figure and where it is printed
""",
)
for part in (run, ab, guest, debugging, observe, results, listings, subjects, tune, watch):
    part.register(app)
add_forms(app)


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


def _name(words: list[str]) -> str:
    """The command that the words name, with its subcommand if it has one; nothing where help was asked for."""
    if {"--help", "-h"} & set(words[: words.index("--")] if "--" in words else words):
        return ""
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in NEXT), "")


def _usage(error: typer.TyperException) -> WrongOption:
    """The error of the library for options as ours."""
    sentence = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "pagewalk"
    return WrongOption(f"{sentence[:1].lower()}{sentence[1:]}", hint=f"`{path} --help` lists what there is")


def command() -> int:
    """Runs the command line; returns the exit status. Every error of ours ends here, but not a broken pipe."""
    chosen.reset()
    try:
        ended = app(standalone_mode=False)
        if not ended and not _wants_json(sys.argv[1:]):
            next_step(*NEXT.get(_name(sys.argv[1:]), ()))
    except typer.TyperException as error:
        # Without a word: the command was called without arguments, and its help has been printed.
        if error.format_message():
            complain(_usage(error), as_json=_wants_json(sys.argv[1:]))
        return int(ExitStatus.USAGE)
    except PagewalkError as error:
        complain(error, as_json=_wants_json(sys.argv[1:]))
        return int(error.status)
    except OSError as error:
        # A file that the system refuses to look at: its name is too long. Other errors are of the output.
        if error.filename is None:
            raise
        complain(BadInput(f"{error.filename}: {error.strerror}"), as_json=_wants_json(sys.argv[1:]))
        ended = ExitStatus.BAD_INPUT
    except KeyboardInterrupt:
        say(err, "interrupted; finished runs are kept")
        return int(ExitStatus.INTERRUPTED)
    except SystemExit as left:
        # The libraries for options and for tables end the process when a pipe breaks, with a status of their own.
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return ended if isinstance(ended, int) else 0
