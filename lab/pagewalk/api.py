"""The laboratory as a Python object: machines, runs and counters as tables, for notebooks and scripts.

Every method raises `pagewalk.errors.PagewalkError`, or a subclass, whose message names what is wrong: BadInput for
a name, file or value, NotBuilt for a part that has not been built, RunFailed and RunLimit for a guest that did not
end with status 0, StoreError for the results file.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pagewalk import (
    ab,
    claims,
    experiments,
    guest,
    machines,
    native,
    policies,
    results_file,
    summary,
    sweep,
    systems,
)
from pagewalk.errors import BadInput, RunFailed
from pagewalk.execute import Cell, Lab
from pagewalk.figures import Figure, Measured
from pagewalk.guest import Program
from pagewalk.inputs import AS_IN_FILE, Variant, variants
from pagewalk.observe import Event, Observer
from pagewalk.replay import Replayed, replay
from pagewalk.runner import Job
from pagewalk.simulate import Events, Quiet, Work
from pagewalk.store import Store
from pagewalk.stored_runs import StoredRun
from pagewalk.sweep import Sweep, Value
from pagewalk.table import Table, typed
from pagewalk.tally import Tally

if TYPE_CHECKING:
    from pagewalk.report.plots import Drawing, Drawn

Axis = Value | Sequence[Value]
"""The values of one axis of a sweep: a word such as `off,5..40..5`, one number, or a list."""

DEFAULT_MACHINE = "ppc604-185"


@dataclass(frozen=True, repr=False)
class Result:
    """One run: how it ended, what it printed, and its counters. Cycles are core cycles, of all processors."""

    run: StoredRun

    def __repr__(self) -> str:
        """One line: how it ended and what it cost; the output and the counters are properties."""
        cycles = self._program.get("cycles", 0)
        stop = self.run.result.stop
        ended = f"status {self.status}" if stop.kind == "power-off" else f"{stop.kind}: {stop.reason}"
        name = type(self).__name__
        return f"<{name} {self.key[:12]} on {self.run.machine}: {ended}, {cycles:,} cycles, {self.seconds:.6f} s>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the line of `repr`, and the table of causes."""
        return f"<p>{html.escape(repr(self))}</p>{self.causes._repr_html_()}"

    @property
    def key(self) -> str:
        """The run's key in the results file: 64 hexadecimal digits."""
        return self.run.key

    @property
    def output(self) -> str:
        """What the guest printed on its console; bytes that are not UTF-8 are replaced."""
        return self.run.result.console.decode("utf-8", "replace")

    @property
    def status(self) -> int:
        """The program's exit status, or 128 and the number of the signal that killed it.

        RunFailed if the machine stopped in another way, for instance at its limit.
        """
        stop = self.run.result.stop
        if stop.kind != "power-off":
            raise RunFailed(stop.reason)
        return guest.exit_status(stop.status, self.run.result.console)

    @property
    def _program(self) -> Mapping[str, int]:
        return guest.program_counters(self.run.result.regions, self.run.result.counters)

    @property
    def seconds(self) -> float:
        """Simulated time of the program in seconds, without boot and power-off; of the whole run if it did not end."""
        return self._program.get("elapsed", self._program.get("cycles", 0)) / self.run.clock

    @property
    def counters(self) -> Table:
        """The program's counters that are not 0, one row each: `name`, `value`."""
        return _counters(self._program)

    def region(self, number: int) -> Table:
        """As `counters`, of a region of interest; KeyError if the run never left the region."""
        return _counters(self.run.result.regions[number])

    @property
    def causes(self) -> Table:
        """One row for each cost category: `cause`, `cycles`, `tlb_misses`, `icache_misses`, `dcache_misses`."""
        columns = ("cause", "cycles", "tlb_misses", "icache_misses", "dcache_misses")
        types = {name: "VARCHAR" if name == "cause" else "UBIGINT" for name in columns}
        return Table(types, [tuple(row) for row in summary.by_cause(self._program)])


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """A run of a benchmark program, and what its row measured."""

    measured: Measured

    def figure(self, text: str) -> float | None:
        """A figure of the row in its own unit: `us`, `mb_s`, `each("tlb.*.miss")` (docs/experiments.md).

        None if it divides by 0; BadInput if the expression is wrong.
        """
        figure = Figure.parse(text)
        figure.check(machines.find(self.run.machine).architecture)
        return self.measured.compute(figure)


TABLE: dict[str, str] = {
    **dict.fromkeys(("experiment", "row_name", "machine", "unit"), "VARCHAR"),
    "claims": "VARCHAR[]",
    **dict.fromkeys(("before", "after", "ratio", "low", "high"), "DOUBLE"),
    "placements": "UINTEGER",
    **{f"published_{name}{end}": "DOUBLE" for name in ("before", "after", "ratio") for end in ("", "_low", "_high")},
    "verdict": "VARCHAR",
    "reason": "VARCHAR",
    "before_run": "VARCHAR",
    "after_run": "VARCHAR",
    "pairs": "DOUBLE[][]",
}
"""The columns of `Laboratory.run` and their types in DuckDB's words, the same for every experiment."""


def _published(cell: Cell) -> dict[str, float | None]:
    """The published figures as numbers: the ends of their ranges, and the geometric middle."""
    found: dict[str, float | None] = {}
    of = cell.row.published
    for name, printed in (("before", of.before), ("after", of.after), ("ratio", of.ratio)):
        ends = (None, None, None) if printed is None else (printed.middle, printed.low, printed.high)
        found |= {f"published_{name}{end}": value for end, value in zip(("", "_low", "_high"), ends, strict=True)}
    return found


def _drawn(row: Mapping[str, Any]) -> Drawn:
    """A row of a table as a plot needs it."""
    from pagewalk.report.plots import Drawn  # noqa: PLC0415 - slow to import

    ends = [
        None if row[f"published_{name}"] is None else (row[f"published_{name}_low"], row[f"published_{name}_high"])
        for name in ("after", "ratio")
    ]
    measured = [row[name] for name in ("after", "ratio", "low", "high")]
    return Drawn(row["row_name"], row["machine"], row["verdict"], *measured, *ends)


def _texts(settings: Mapping[str, Value] | None) -> dict[str, str]:
    return {name: sweep.text_of(value) for name, value in (settings or {}).items()}


def _counters(counters: Mapping[str, int]) -> Table:
    return Table({"name": "VARCHAR", "value": "UBIGINT"}, [(name, value) for name, value in counters.items() if value])


class Laboratory:
    """Machines, kernel, programs and the results file; use as a context manager.

    `results` is the results file (the checkout's by default), `jobs` the number of runs at a time (by default
    the number of the computer's cores), `cluster` the address of a Dask scheduler. Set `events` to follow the
    progress.
    """

    def __init__(self, results: Path | None = None, *, jobs: int | None = None, cluster: str | None = None) -> None:
        self._store = Store(results) if results else results_file.opened()
        self._lab = Lab(native.NativeRunner(), self._store, workers=jobs, cluster=cluster)
        self.events: Events = Quiet()

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the results file; every finished run is in it."""
        self._store.close()

    def machines(self) -> Table:
        """One row for each machine: `name`, `core`, `clock` (Hz), `description`."""
        types = {"name": "VARCHAR", "core": "VARCHAR", "clock": "UBIGINT", "description": "VARCHAR"}
        return Table(types, [(m.name, m.core, m.clock, m.description) for m in machines.all_machines()])

    def policies(self, machine: str = DEFAULT_MACHINE) -> Table:
        """One row for each policy of the machine's kernel: `name`, `choices` (a list; the original form first),
        `summary`.
        """
        known = policies.all_policies(machines.find(machine).architecture).values()
        types = {"name": "VARCHAR", "choices": "VARCHAR[]", "summary": "VARCHAR"}
        return Table(types, [(p.name, list(p.choices), p.about.summary) for p in known])

    def claims(self, document: str | None = None) -> Table:
        """One row for each published figure, of one paper (`"osdi99"`) or of all.

        Columns: `id`, `section`, `machine`, `metric`, `unit`, `kind`; `baseline` and `value`, the figures before and
        after (lists, in `unit`); `ratio`, if the paper prints one.
        """
        listed = claims.of_document(document) if document else list(claims.all_claims().values())
        names = ("id", "section", "machine", "metric", "unit", "kind")
        types = {**dict.fromkeys(names, "VARCHAR"), "baseline": "DOUBLE[]", "value": "DOUBLE[]", "ratio": "DOUBLE"}
        return Table(
            types,
            [
                (*(getattr(claim, name) for name in names), list(claim.baseline), list(claim.value), claim.ratio)
                for claim in listed
            ],
        )

    def run(self, name: str, *, seeds: int = 1) -> Table:
        """An experiment's table; for a paper's name all of its tables, one below the other.

        One row for each row of the table, with the columns of `TABLE`: those of `cells` in docs/results.md, and the
        published figures as numbers, with the ends of their ranges. Figures are in `unit`, ratios have none. Runs that
        are in the results are not simulated again. `seeds` is the number of placements that each row is measured with.
        """
        cells = [
            {"experiment": experiment.name, **cell.record(), **_published(cell)}
            for experiment in experiments.find(name)
            for cell in self._lab.experiment(experiment, self.events, seeds)
        ]
        return Table.of(TABLE, cells)

    def plot(self, table: Table) -> Drawing:
        """Draws a table of `run` or of `sweep`; a notebook shows the plot, and its `save` writes SVG, PDF or PNG.

        BadInput if the table has no figure, or is a sweep of which neither one nor two axes vary.
        """
        from pagewalk.report import plots  # noqa: PLC0415 - slow to import

        if set(TABLE) <= set(table.columns):
            return plots.of_rows(_drawn(row) for row in table)
        if "value" not in table.columns:
            raise BadInput("this is neither a table of an experiment nor a sweep", hint="draw what run or sweep gives")
        axes = [name for name in table.columns if name != "value"]
        points = [({name: str(row[name]) for name in axes}, row["value"]) for row in table if row["value"] is not None]
        draw = plots.of_sweep(points, "value")
        if draw is None:
            raise BadInput("a plot has one axis that varies, or two", hint="choose rows of the table")
        return plots.Drawing(draw())

    def execute(
        self,
        program: str | Path,
        *arguments: str,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Value] | None = None,
        sets: Mapping[str, Value] | None = None,
        files: Sequence[str] = (),
        kernel: str | None = None,
    ) -> Result:
        """Runs a static PowerPC program on the kernel; a run that is in the results is not simulated again.

        `policies` are choices of the kernel (`{"tlb.cutoff": 20}`), `sets` machine keys (`{"tlb.data.entries": 32}`),
        `files` further files for the guest (`HOST` or `HOST:GUEST`). `kernel` is a subject (`linux-6.1-bare`) or a
        kernel image to run it on instead of ours.
        """
        what = Program(program, arguments, tuple(guest.guest_file(text) for text in files))
        job = guest.job(self._lab, machine, what, overrides=_texts(sets), settings=_texts(policies), kernel=kernel)
        return Result(self._run(str(program), job))

    def observe(
        self,
        observer: Observer,
        program: str | Path,
        *arguments: str,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Value] | None = None,
        sets: Mapping[str, Value] | None = None,
        files: Sequence[str] = (),
        kernel: str | None = None,
    ) -> Result:
        """Runs a program as `execute` does, and calls the observer's function with the events of the run.

        It is always simulated, boot included, and not kept in the results. The counters are those of a run without an
        observer. An exception in the function, or Ctrl-C, ends the run.
        """
        what = Program(program, arguments, tuple(guest.guest_file(text) for text in files))
        job = guest.job(self._lab, machine, what, overrides=_texts(sets), settings=_texts(policies), kernel=kernel)
        runner = native.NativeRunner()
        result = runner.run(job, lambda _: True, observer)
        return Result(StoredRun(job.key(runner.version), machine, job.machine.clock, job.command_line, result))

    def count(
        self,
        query: str,
        program: str | Path,
        *arguments: str,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Value] | None = None,
        sets: Mapping[str, Value] | None = None,
        files: Sequence[str] = (),
        kernel: str | None = None,
        boot: bool = False,
    ) -> Table:
        """Runs a program as `execute` does, and counts its events by a query (docs/observers.md).

        One row for each group, the largest first: what the query groups by, `events`, and of a query
        with a histogram `sum` and `histogram`, a list of parts: `low`, `high`, `count`. With `boot` the whole
        run counts. The machine evaluates the query; it is always simulated, and not kept in the results. BadInput says
        what is wrong with the query.
        """
        what = Program(program, arguments, tuple(guest.guest_file(text) for text in files))
        job = guest.job(self._lab, machine, what, overrides=_texts(sets), settings=_texts(policies), kernel=kernel)
        loaded = native.load(job)
        tally = Tally(loaded, [query], None if boot else guest.PROGRAM_REGION)
        native.go(loaded, job.limit, lambda _: True, boot_limit=job.boot_limit)
        (counted,) = tally.counted()
        parts = "STRUCT(low UBIGINT, high UBIGINT, count UBIGINT)[]"
        measured = {"sum": "UBIGINT", "histogram": parts} if counted.measured else {}
        rows = [
            {
                **dict(zip(counted.keys, group.key, strict=True)),
                "events": group.count,
                "sum": group.sum,
                "histogram": [vars(part) for part in group.histogram],
            }
            for group in counted.groups
        ]
        return Table.of({**dict.fromkeys(counted.keys, "VARCHAR"), "events": "UBIGINT", **measured}, rows)

    def replay(
        self,
        trace: str | Path,
        *,
        machine: str = DEFAULT_MACHINE,
        sets: Mapping[str, Value] | None = None,
        **options: Any,
    ) -> Replayed:
        """Replays a trace of another tool on a machine (docs/replay.md); `options` are those of `replay.replay`.

        BadInput says what is wrong with the trace, or what the machine has no place for.
        """
        return replay(Path(trace), self._lab.machine(machine, _texts(sets)), **options)

    def bench(
        self,
        program: str,
        *arguments: str,
        row: str | None = None,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Value] | None = None,
        sets: Mapping[str, Value] | None = None,
        files: Sequence[str] = (),
    ) -> Benchmark:
        """Runs a benchmark program of `user/bench`; a run that is in the results is not simulated again.

        `row` is the row that it prints, by default the program's name. `files` are built programs that it starts.
        """
        system = systems.own(self._lab, machine, _texts(sets))
        initrd = self._lab.bench_image(program, files, architecture=system.machine.architecture)
        job = system.job(initrd, system.command_line(_texts(policies), [f"/bin/{program}", *arguments]))
        run = self._run(program, job)
        return Benchmark(run, self._lab.measured(row or program, run, program))

    def sweep(
        self,
        program: str,
        *arguments: str,
        figure: str = "us",
        row: str | None = None,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Axis] | None = None,
        sets: Mapping[str, Axis] | None = None,
    ) -> Table:
        """Runs a benchmark for every combination of the axes' values.

        An axis is written `{"tlb.cutoff": "off,5..40..5"}` or `{"tlb.data.entries": [32, 64]}`. The table
        has one row for each combination, one column for each axis (numbers, if every value is one), and `value`: the
        figure in its unit, or null if a run gave none.
        """
        plan = Sweep(
            machine=machine,
            program=program,
            arguments=arguments,
            row=row or program,
            figure=Figure.parse(figure),
            sets={name: sweep.axis(given) for name, given in (sets or {}).items()},
            policies={name: sweep.axis(given) for name, given in (policies or {}).items()},
        )
        points = sweep.measure(self._lab, plan, self.events)
        axes = typed(list(points[0].settings), [dict(point.settings) for point in points])
        rows = [(*row, point.value) for row, point in zip(axes.rows, points, strict=True)]
        return Table({**axes.types, "value": "DOUBLE"}, rows)

    def ab(
        self,
        program: str | Path,
        *arguments: str,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Axis] | None = None,
        sets: Mapping[str, Axis] | None = None,
        files: Sequence[str] = (),
        seeds: int = 1,
        inputs: bool = False,
    ) -> Table:
        """Runs a program under every combination of the axes' values, and compares each with the first.

        One row for each quantity that moved: `first` and `second` (the combinations), `group`, `name`, `before` and
        `after` (medians over `seeds` placements), `change` (from `before` to `after`, as a share of `before`), and
        `noise`: whether the difference is no larger than its spread over the placements, null with one placement. With
        `inputs` everything is also run with the values of the machine's table [inputs], and the column `inputs` says
        which: an answer that is the same in all of its rows does not rest on a value that no source gives. Values that
        the given keys exclude are left out.
        """
        what = Program(program, arguments, tuple(guest.guest_file(text) for text in files))
        chosen = ab.choices(
            {name: sweep.axis(given) for name, given in (policies or {}).items()},
            {name: sweep.axis(given) for name, given in (sets or {}).items()},
        )
        tried = [Variant(AS_IN_FILE, {})]
        if inputs:
            tried = variants(machines.find(machine), {key for choice in chosen for key in choice.keys})
        plan = ab.Plan(machine, what, chosen, seeds)
        tried, _ = ab.fitting(self._lab, plan, tried)
        sides = ab.measure(self._lab, ab.varied(plan, tried), self.events)
        groups = [sides[at : at + len(chosen)] for at in range(0, len(sides), len(chosen))]
        rows = [
            {
                "first": groups[0][0].label,
                "second": groups[0][number].label,
                "group": moved.group,
                "name": moved.name,
                "before": float(moved.medians[0]),
                "after": float(moved.medians[1]),
                "change": moved.change,
                "noise": moved.noise,
                **({"inputs": variant.name} if inputs else {}),
            }
            for variant, found in zip(tried, groups, strict=True)
            for number in range(1, len(chosen))
            for moved in ab.compare(found[0], found[number])
        ]
        types = {
            **dict.fromkeys(("first", "second", "group", "name"), "VARCHAR"),
            **dict.fromkeys(("before", "after", "change"), "DOUBLE"),
            "noise": "BOOLEAN",
            **({"inputs": "VARCHAR"} if inputs else {}),
        }
        return Table.of(types, rows)

    def sql(self, query: str) -> Table:
        """The rows that a query gives; it cannot change the file, whose tables docs/results.md describes."""
        columns, rows = self._store.ask(query)
        names = [name for name, _ in columns]
        if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
            raise BadInput(f"the query: two columns are named {twice}", hint="name one of them with AS")
        return Table(dict(columns), rows)

    def _run(self, label: str, job: Job) -> StoredRun:
        return self._lab.run([Work(label, job)], self.events)[job.key(self._lab.runner.version)]


__all__ = ["Benchmark", "Event", "Laboratory", "Observer", "Replayed", "Result"]
