"""`pagewalk replay`: a trace of another tool through a machine's TLBs, walkers and caches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pagewalk import replay as traces
from pagewalk import stats, summary
from pagewalk.cli import options
from pagewalk.cli.output import Json, err, out, print_json, say, table
from pagewalk.errors import WrongOption, unknown
from pagewalk.native import NativeRunner
from pagewalk.workshop import Workshop


def _complete_format(start: str) -> list[str]:
    return [name for name in traces.FORMATS if name.startswith(start)]


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in traces.FORMATS:
        with options.option("--format"):
            raise unknown("format", name, traces.FORMATS)
    return name


def _address(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        found = int(text, 0)
    except ValueError:
        found = -1
    if not 0 <= found <= options.MOST:
        raise WrongOption(f"--shared-from: {text!r} is no address", hint="write it as in 0xc0000000")
    return found


def _print(replayed: traces.Replayed, name: str, machine: str) -> None:
    totals, counters = replayed.totals, replayed.counters
    lines = [line for line in summary.overview(counters, replayed.clock) if line.name != "exceptions"]
    lines += [
        summary.Line("loads", totals["loads"]),
        summary.Line("stores", totals["stores"]),
        summary.Line("pages of 4 KB mapped", totals["pages"], f"{totals['pages'] / 256:,.1f} MB"),
    ]
    if totals["reloads"]:
        lines.append(summary.Line("TLB reloads by software", totals["reloads"]))
    if totals["switches"]:
        lines.append(summary.Line("switches of the address space", totals["switches"]))
    title = f"{name} on {machine}: time of the memory system, and one cycle for each instruction"
    rows = ([line.name, f"{line.count:,}", line.share] for line in lines)
    out.print(table(title, ["", ">count", ""], rows))
    if moved := totals["areas_moved"]:
        say(err, f"{moved} areas of 4 MB lie at other addresses than in the trace: the machine has 32 bits")


def replay(
    trace: Annotated[
        Path, typer.Argument(help="The trace's file, packed (.xz, .gz, .bz2, .zip) or not; - is standard input.")
    ],
    machine: options.Machine = options.DEFAULT_MACHINE,
    sets: options.Sets = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help=f"{', '.join(traces.FORMATS)}; by default what the file tells.",
            autocompletion=_complete_format, callback=_known_format,
        ),
    ] = None,
    pages: Annotated[
        list[str] | None,
        typer.Option(
            "--pages",
            help="The size of pages, as in 4M, or of those between two addresses, as in 0x400000-0x800000=4M; may be "
            "given again.",
        ),
    ] = None,
    shared_from: Annotated[
        str | None, typer.Option(help="Addresses from here on are the same in all address spaces.", metavar="ADDRESS")
    ] = None,
    side: Annotated[
        Path | None,
        typer.Option(help="The side file that `trace --format` wrote: switches and invalidations.", metavar="FILE"),
    ] = None,
    skip: Annotated[int, typer.Option(min=0, max=options.MOST, help="Leave out so many instructions.")] = 0,
    warmup: Annotated[
        int, typer.Option(min=0, max=options.MOST, help="Then replay so many without counting them.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=1, max=options.MOST, help="Count so many at most.")] = options.MOST,
    stats_file: options.Stats = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Replay a memory trace of ChampSim, DynamoRIO or Valgrind through a machine's TLBs, walkers and caches.

    No kernel and no instruction runs: each access of the trace is translated by the machine's TLBs and goes through its
    caches. Pages are mapped when they are touched first.

    Examples: `pagewalk replay 600.perlbench_s-210B.champsimtrace.xz -m p6-200 --warmup 1000000 --limit 10000000`,
    `valgrind --tool=lackey --trace-mem=yes --log-file=ls.lackey ls`, then `pagewalk replay ls.lackey -m ppc604-185`
    """
    workshop = Workshop(NativeRunner())
    keys = options.overrides(sets)
    options.check_machine(workshop, machine, [keys])
    replayed = traces.replay(
        trace,
        workshop.machine(machine, keys),
        format=format,
        pages=pages or [],
        shared_from=_address(shared_from),
        skip=skip,
        warmup=warmup,
        count=limit,
        side=side,
    )
    if stats_file is not None:
        stats.write(stats_file, replayed.counters, replayed.clock)
    if as_json:
        print_json(
            {
                "format": replayed.format,
                "clock": replayed.clock,
                "totals": replayed.totals,
                "counters": replayed.counters,
            }
        )
        return
    _print(replayed, "the trace" if str(trace) == "-" else trace.name, machine)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("replay")(replay)
