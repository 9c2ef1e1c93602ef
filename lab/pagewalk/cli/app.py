"""The command's entry: it imports the parts that a command line needs, and every error ends here."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Annotated

import typer

import pagewalk
from pagewalk.cli import output, sheet
from pagewalk.cli.next_steps import NEXT
from pagewalk.errors import BadInput, ExitStatus, PagewalkError, WrongOption

PARTS: dict[str, dict[str, str]] = {
    "run": {
        "run": "Reproduce a published table: the paper's figures beside ours, with a verdict for every row.",
        "memories": "Measure experiments with all that the machines' files leave open, and say which verdicts an "
        "input decides.",
    },
    "ab": {"ab": "Run one program under several policies or machine keys, and show what moved."},
    "guest": {
        "exec": "Run a static Linux program on a kernel, and say what it cost.",
        "boot": "Boot any kernel on a machine, with its console on standard output. With a program, init runs it, "
        "and the exit status is the program's.",
        "resume": "Go on from a snapshot to the end of its run: the same cycles and counters as without the stop.",
    },
    "check": {
        "check": "Run a kernel, and report each stale translation that it lets a processor use.",
    },
    "debugging": {
        "dump": "Show TLBs, hash table, BATs, segments and caches at an instant, of each processor.",
        "gdb": "Debug the kernel or a program with GDB; waits for GDB on a local port.",
    },
    "observe": {
        "profile": "Show which functions and call stacks of kernel and program take the cycles. Exact, not sampled.",
        "trace": "Record a run for the Perfetto viewer: functions, exceptions, misses, switches.",
        "see": "Write a page that shows how a run translated addresses.",
    },
    "replay": {
        "replay": "Replay a memory trace of ChampSim, DynamoRIO or Valgrind through a machine's TLBs, walkers and "
        "caches.",
    },
    "tally": {
        "observe": "Count TLB misses, evictions, exceptions, switches, interrupts or calls in groups, by a query.",
    },
    "results": {
        "compare": "Set two results side by side: tables row by row, or runs counter by counter.",
        "report": "Write one self-contained HTML page of all results: tables, published figures, plots.",
        "results": "List the stored runs, or query the results file in SQL.",
        "sweep": "Measure one benchmark over every combination of machine keys and policies.",
    },
    "listings": {
        "machines": "List the simulated machines.",
        "policies": "List the policies of a machine's kernel, their choices and what each does.",
        "programs": "List the programs that are built already for a machine: `exec`, `profile` and `sweep` take them "
        "by name.",
        "experiments": "List the experiments: each reproduces a published table or section.",
        "claims": "The published figures: list them, explain one, count what is reproduced.",
    },
    "subjects": {"subjects": "Kernels of other people, such as Linux: list them, build them."},
    "tune": {"tune": "Find the best value of a policy that takes a number."},
    "watch": {"watch": "Watch TLBs, hash table, cost categories and functions while a program runs."},
}
"""What each module registers: its commands, with the sentence that `pagewalk --help` shows. So the help and the
completion of a command's name import none of them."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pagewalk {pagewalk.__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Options before the subcommand."""
    del version


def _empty() -> typer.Typer:
    app = typer.Typer(
        name="pagewalk",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="""
A laboratory for address translation: boots a small kernel, or a Linux, on a simulated PowerPC, x86 or RISC-V that
accounts for every cycle, TLB entry, hash-table slot and cache line.

- `pagewalk run osdi99-table2` reproduces a published table and prints both side by side
- `pagewalk exec -m ppc604-185 -- ./hello` runs a static PowerPC program and says what it cost
- `pagewalk ab -p tlb.cutoff=off,20 -- ./hello` runs it under two choices and shows what moved
- `pagewalk claims explain osdi99.table2.604-185` explains a published figure and where it is printed
""",
    )
    app.callback()(_common)
    return app


def whole(*modules: str) -> typer.Typer:
    """The command with the subcommands of these modules; of all, if none is named."""
    app = _empty()
    for module in modules or PARTS:
        import_module(f"pagewalk.cli.{module}").register(app)
    sheet.add_forms(app)
    return app


def _names() -> typer.Typer:
    """The command with the names of all subcommands, and none that does anything."""
    app = _empty()
    for commands in PARTS.values():
        for name, sentence in commands.items():
            app.command(name, help=sentence)(lambda: None)
    return app


def _words() -> list[str]:
    """The words after `pagewalk`, on the command line or, if a shell asks how to go on, on the line so far."""
    if "_PAGEWALK_COMPLETE" not in os.environ:
        return sys.argv[1:]
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    # The last word is being typed.
    return (line + "|").split()[1:-1]


def _wanted() -> typer.Typer:
    """The command as far as the command line needs it."""
    first = next(iter(_words()), "")
    module = next((module for module, commands in PARTS.items() if first in commands), None)
    if module is None:
        return _names()
    sheet.chosen.reset()
    return whole(module)


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
    sentence = error.format_message().rstrip(".").replace("a valid int range", "a valid integer")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "pagewalk"
    return WrongOption(f"{sentence[:1].lower()}{sentence[1:]}", hint=f"`{path} --help` lists what there is")


def command() -> int:
    """Runs the command line; returns the exit status. Every error of ours ends here, but not a broken pipe."""
    try:
        wanted = _wanted()
        # An import that an exception interrupts is half done, and some libraries then say so at length.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ended = wanted(standalone_mode=False)
        steps = NEXT.get(_name(sys.argv[1:]), ())
        if steps and not ended and not _wants_json(sys.argv[1:]):
            output.next_step(*steps)
    except typer.TyperException as error:
        # Without a word: the command was called without arguments, and its help has been printed.
        if error.format_message():
            output.complain(_usage(error), as_json=_wants_json(sys.argv[1:]))
        return int(ExitStatus.USAGE)
    except PagewalkError as error:
        output.complain(error, as_json=_wants_json(sys.argv[1:]))
        return int(error.status)
    except OSError as error:
        # A file that the system refuses to look at: its name is too long. Other errors are of the output.
        if error.filename is None:
            raise
        output.complain(BadInput(f"{error.filename}: {error.strerror}"), as_json=_wants_json(sys.argv[1:]))
        ended = ExitStatus.BAD_INPUT
    except KeyboardInterrupt:
        output.say(output.err, "interrupted; finished runs are kept")
        return int(ExitStatus.INTERRUPTED)
    except SystemExit as left:
        # The libraries for options and for tables end the process when a pipe breaks, with a status of their own.
        if isinstance(left.__context__, BrokenPipeError):
            raise left.__context__ from None
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return ended if isinstance(ended, int) else 0
