"""The command's entry: every subcommand is registered here, and every error ends here."""

from __future__ import annotations

import sys

import typer

from pagewalk.cli import guest, listings, results, run, tune
from pagewalk.cli.output import complain, err
from pagewalk.errors import ExitStatus, PagewalkError

app = typer.Typer(
    name="pagewalk",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""
A laboratory for address translation: boots a small kernel on a simulated PowerPC that accounts for
every cycle, TLB entry, hash-table slot and cache line.

- `pagewalk run osdi99-table2` reproduces a published table: theirs and ours side by side
- `pagewalk exec -m ppc604-185 -- ./hello` runs a static PowerPC program and says what it cost
- `pagewalk claims explain osdi99.table2.604-185` says what a figure means and where it stands
""",
)
for part in (run, guest, results, listings, tune):
    part.register(app)


def main() -> None:
    """Runs the command line; ends the process with its exit status."""
    as_json = "--json" in sys.argv
    try:
        app()
    except PagewalkError as error:
        complain(error, as_json=as_json)
        sys.exit(int(error.status))
    except KeyboardInterrupt:
        err.print("interrupted; finished runs are kept")
        sys.exit(int(ExitStatus.INTERRUPTED))
