"""`pagewalk compare | report | sweep | results`: the commands that read and extend the results file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pagewalk import experiments, records, results_file, sweep, writing
from pagewalk.cli import options
from pagewalk.cli.laboratory import laboratory
from pagewalk.cli.output import Json, digits, err, next_step, number, out, print_json, say, table
from pagewalk.cli.progress import events
from pagewalk.errors import BadInput, ExitStatus, WrongOption
from pagewalk.figures import Figure
from pagewalk.guest import PROGRAM_REGION
from pagewalk.paths import check_writable
from pagewalk.records import CellRecord
from pagewalk.store import Store
from pagewalk.sweep import Sweep

_NEWEST = 30
"""How many runs a table lists."""


@contextmanager
def _store() -> Iterator[Store]:
    with results_file.opened(read_only=True, notify=partial(say, err)) as opened, opened.reading():
        yield opened


def _table(store: Store, text: str) -> list[CellRecord]:
    """A kept table from `experiment` (the latest) or `experiment~n` (the n-th before it)."""
    name, _, back = text.partition("~")
    experiments.find(name)
    kept = records.tables(store, name)
    number_back = int(back) if back.isdecimal() and len(back) < 10 else 0 if not back else -1
    if number_back < 0 or number_back >= len(kept):
        raise BadInput(
            f"{text}: {len(kept)} tables of {name} are kept",
            hint=f"make one: pagewalk run {name}; count back by {name}~1",
        )
    return records.cells(store, name, kept[number_back])


def _compare_tables(first: list[CellRecord], second: list[CellRecord]) -> list[dict[str, Any]]:
    by_row = {(cell.row_name, cell.machine): cell for cell in first}
    compared = []
    for cell in second:
        other = by_row.get((cell.row_name, cell.machine))
        compared.append(
            {
                "row": cell.row_name,
                "machine": cell.machine,
                "unit": cell.unit,
                "first": None if other is None else other.after,
                "second": cell.after,
                "first_ratio": None if other is None else other.ratio,
                "second_ratio": cell.ratio,
                "change": cell.after / other.after - 1 if other and other.after and cell.after is not None else None,
            }
        )
    return compared


def _compare_runs(store: Store, first: str, second: str) -> tuple[str, list[dict[str, Any]]]:
    """What was compared, in words, and the counters that differ.

    It is the program alone where both runs have come to its end, else the whole runs.
    """
    runs = [store.find(key).result for key in (first, second)]
    region = PROGRAM_REGION if all(PROGRAM_REGION in run.regions for run in runs) else 0
    one, other = (run.regions[region] if region else run.counters for run in runs)
    compared = [
        {
            "counter": name,
            "region": region,
            "first": one.get(name, 0),
            "second": other.get(name, 0),
            "change": other.get(name, 0) / one[name] - 1 if one.get(name) else None,
        }
        for name in sorted({*one, *other})
        if one.get(name, 0) != other.get(name, 0)
    ]
    return "the program, without boot" if region else "the whole runs, boot included", compared


def _percent(change: float | None) -> str:
    return "" if change is None else f"{change:+.1%}"


def compare(
    first: Annotated[str, typer.Argument(help="An experiment (osdi99-table2, or osdi99-table2~1), or a run's key.")],
    second: Annotated[str, typer.Argument(help="The same for the other result.")],
    as_json: Json = False,
) -> None:
    """Set two results side by side: tables row by row, or runs counter by counter.

    Of two runs that have come to the end of their program, only the program is compared; else boot, too.

    Examples: `pagewalk compare osdi99-table2~1 osdi99-table2`, `pagewalk compare 3fa9 81cc`
    """
    title = f"{first} and {second}"
    with _store() as store:
        if first.partition("~")[0] in experiments.names():
            compared = _compare_tables(_table(store, first), _table(store, second))
            columns = ["row", "machine", "unit", ">first", ">second", ">first ratio", ">second ratio", ">change"]
            shown = [
                [
                    entry["row"],
                    entry["machine"],
                    entry["unit"],
                    *(number(entry[key]) for key in ("first", "second", "first_ratio", "second_ratio")),
                    _percent(entry["change"]),
                ]
                for entry in compared
            ]
        else:
            what, compared = _compare_runs(store, first, second)
            title = f"{first[:12]} and {second[:12]}: {what}"
            columns = ["counter", ">first", ">second", ">change"]
            shown = [
                [entry["counter"], f"{entry['first']:,}", f"{entry['second']:,}", _percent(entry["change"])]
                for entry in compared
            ]
    if as_json:
        print_json(compared)
    else:
        out.print(table(title, columns, shown))


def make_report(
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    picture: Annotated[
        Path | None, typer.Option(help="Also write the page's beginning as PNG (needs Chromium).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page of all results: tables, published figures, plots.

    Examples: `pagewalk report -o report.html`, `pagewalk report --picture report.png`
    """
    for file in (output, picture):
        if file is not None:
            check_writable(file)
    from pagewalk import report  # noqa: PLC0415 - the plots are slow to import
    from pagewalk.report import browser  # noqa: PLC0415

    page = report.build(results_file.opened(read_only=True, notify=partial(say, err)))
    writing.write(output, page)
    if picture is not None:
        browser.photograph(output, picture)
    if as_json:
        print_json({"output": output, "bytes": len(page.encode())})
    else:
        say(out, f"wrote {output}")


def results(
    sql: Annotated[str | None, typer.Argument(help="A query; without one, the stored runs are listed.")] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="List so many of the newest runs: 30, or all with --json."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            help="Write the latest table of each experiment, and its runs, as Parquet files to this folder.",
            metavar="FOLDER",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the stored runs, or query the results file in SQL.

    Tables: runs, counters, samples, dumps, cells, points (docs/results.md). What `--keep experiments/measured` writes
    comes with the checkout and the wheel: a new results file begins with it.

    Examples: `pagewalk results`, `pagewalk results --limit 5`,
    `pagewalk results "SELECT name, sum(value) FROM counters WHERE name LIKE 'tlb.%' GROUP BY name"`
    """
    listing = (
        "SELECT substr(key, 1, 12) AS run, strftime(kept.made, '%Y-%m-%d %H:%M') AS made, machine, "
        "regexp_extract(command_line, '(?:^|.* )-- (?:/bin/)?(.*)$', 1) AS program, "
        "regexp_replace(command_line, '(^| )-- .*$', '') AS settings, stop, status, "
        "(SELECT value FROM counters WHERE run = key AND region = 0 AND name = 'cycles') AS cycles "
        f"FROM (SELECT * FROM runs ORDER BY made DESC, key LIMIT {_listed(limit, as_json)}) AS kept "
        "ORDER BY kept.made, key"
    )
    if keep is not None:
        if sql is not None or limit is not None:
            raise WrongOption("--keep writes tables, and answers no query", hint="give it alone")
        if not keep.is_dir():
            raise BadInput(f"{keep} is no folder", hint="make it first")
        with results_file.opened(read_only=True, notify=partial(say, err)) as store:
            for path in store.keep(keep, experiments.names()):
                say(err, f"wrote {path}")
        return
    if sql is not None and limit is not None:
        raise WrongOption("--limit is for the list of runs", hint="write LIMIT in the query")
    with results_file.opened(read_only=True, notify=partial(say, err)) as store:
        described, found = store.ask(sql or listing)
        columns = [name for name, _ in described]
        stored = 0 if sql else store.ask("SELECT count(*) FROM runs")[1][0][0]
    if as_json:
        print_json([dict(zip(columns, map(_plain, row), strict=True)) for row in found])
    else:
        out.print(table("", columns, ([str(value) for value in row] for row in found)))
        if len(found) < stored:
            say(err, f"{stored - len(found):,} older runs are not listed: --limit N lists more")


def _listed(limit: int | None, as_json: bool) -> int:
    """How many runs are listed."""
    return limit or (options.MOST // 2 if as_json else _NEWEST)


def _plain(value: object) -> object:
    """A cell as JSON has it: a float that is no number becomes null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def do_sweep(
    program: Annotated[
        str,
        typer.Argument(
            help="A benchmark program (user/bench), as in mmap-latency.", autocompletion=options.complete_program
        ),
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its parameters, as in size=1m.")] = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A machine key and its values: tlb.data.entries=32,64,128.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy and its values: tlb.cutoff=off,5..40..5.")
    ] = None,
    row: Annotated[str | None, typer.Option(help="The printed row; the program's name by default.")] = None,
    figure: Annotated[str, typer.Option(help='What to compute: us, mb_s, each("tlb.*.miss") ...')] = "us",
    file: Annotated[
        list[str] | None, typer.Option("--with", help="A built program that the benchmark starts, as in hello.")
    ] = None,
    plot: options.Plot = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    as_json: Json = False,
) -> None:
    """Measure one benchmark over every combination of machine keys and policies.

    Values are lists (32,64,128), ranges (10..40), or ranges with a step (10..40..5, 1..64..*2). Points that
    are in the results already are not simulated again.

    Examples: `pagewalk sweep mmap-latency -p tlb.cutoff=off,1,5..60..5`,
    `pagewalk sweep mmap-latency size=128k -p tlb.cutoff=5..40..5 --plot cutoff.pdf`,
    `pagewalk sweep context-switch processes=8 size=16k --row context-switch-8p-16k --set tlb.data.entries=32..256..*2`
    """
    with options.option("--figure"):
        computed = Figure.parse(figure)
    with options.option("--set"):
        keys = sweep.axes(sets or [])
    plan = Sweep(
        machine=machine,
        program=program,
        arguments=tuple(arguments or []),
        row=row or program,
        figure=computed,
        sets=keys,
        policies=options.policy_axes(policy or [], machine),
        files=tuple(file or []),
    )
    with options.option("--set and --policy"):
        plan.points()
    with laboratory(jobs, cluster) as lab:
        options.check_machine(lab, machine, options.combinations(keys))
        with events(as_json=as_json) as listener:
            points = sweep.measure(lab, plan, listener)
        over = f" over {', '.join(points[0].settings)}" if points[0].settings else ""
        name = f"{' '.join([plan.row, *plan.arguments])} on {machine}: {figure}{over}"
        lab.store.add_points(name, figure, [(json.dumps(dict(p.settings)), p.value, p.run, p.reason) for p in points])
    if as_json:
        print_json(points)
    else:
        names = list(points[0].settings)
        say(out, name)
        out.print(
            table(
                "",
                [*names, f">{figure}"],
                (
                    [*p.settings.values(), p.reason if p.value is None else shown]
                    for p, shown in zip(points, digits(p.value for p in points), strict=True)
                ),
            )
        )
    if plot is not None:
        _draw(points, figure, plot)
    elif len(points) == 1:
        next_step(f"-p tlb.cutoff=off,5..60..5, or --set KEY=A,B: one of {program}'s points for each value")
    else:
        next_step("--plot FILE.svg draws it", "--csv for a spreadsheet")
    if any(point.value is None for point in points):
        err.print("some points gave no figure")
        raise typer.Exit(int(ExitStatus.FATAL))


def _draw(points: Sequence[sweep.Point], figure: str, path: Path) -> None:
    from pagewalk.report import plots  # noqa: PLC0415 - the plots are slow to import

    draw = plots.of_sweep([(p.settings, p.value) for p in points if p.value is not None], figure)
    if draw is None:
        raise BadInput("--plot: a plot has one axis that varies, or two", hint="give a key or policy several values")
    plots.Drawing(draw()).save(path)
    say(err, f"wrote {path}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("compare")(compare)
    app.command("report")(make_report)
    app.command("results")(results)
    app.command("sweep")(do_sweep)
