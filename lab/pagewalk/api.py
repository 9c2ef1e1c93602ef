"""The laboratory as a Python object: machines, runs and counters as data frames, for notebooks and scripts."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pagewalk import claims, experiments, guest, machines, native, policies, summary, sweep
from pagewalk.errors import RunFailed
from pagewalk.execute import Events, Lab, Quiet, Work, command_line
from pagewalk.figures import Figure, Measured
from pagewalk.guest import Program
from pagewalk.paths import home
from pagewalk.runner import Job
from pagewalk.store import Store, StoredRun
from pagewalk.sweep import Sweep, Value

Axis = Value | Sequence[Value]
"""The values of one axis of a sweep: a word such as `off,5..40..5`, one value, or a list."""

DEFAULT_MACHINE = "ppc604-185"


@dataclass(frozen=True, repr=False)
class Result:
    """One run: how it ended, what was printed, and every counter."""

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
        """The run's key in the results file."""
        return self.run.key

    @property
    def output(self) -> str:
        """What the guest printed on its console."""
        return self.run.result.console.decode("utf-8", "replace")

    @property
    def status(self) -> int:
        """The program's exit status; RunFailed when the machine stopped otherwise."""
        stop = self.run.result.stop
        if stop.kind != "power-off":
            raise RunFailed(stop.reason)
        return guest.exit_status(stop.status, self.run.result.console)

    @property
    def _program(self) -> Mapping[str, int]:
        return guest.program_counters(self.run.result.regions, self.run.result.counters)

    @property
    def seconds(self) -> float:
        """Simulated time of the program, without boot and power-off."""
        return self._program.get("cycles", 0) / self.run.clock

    @property
    def counters(self) -> pl.DataFrame:
        """The program's counters, those that are not 0: `name`, `value`."""
        return _counters(self._program)

    def region(self, number: int) -> pl.DataFrame:
        """The counters of a region of interest: `name`, `value`."""
        return _counters(self.run.result.regions[number])

    @property
    def causes(self) -> pl.DataFrame:
        """Cycles and misses by cause: `cause`, `cycles`, `tlb_misses`, `icache_misses`, `dcache_misses`."""
        columns = ("cause", "cycles", "tlb_misses", "icache_misses", "dcache_misses")
        rows = summary.by_cause(self._program)
        return pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])


@dataclass(frozen=True, repr=False)
class Benchmark(Result):
    """A run of a benchmark program, and what its row measured."""

    measured: Measured

    def figure(self, text: str) -> float | None:
        """A figure of the row, as experiments write it (`us`, `mb_s`, `each("tlb.*.miss")`; docs/experiments.md)."""
        return self.measured.compute(Figure.parse(text))


def _texts(settings: Mapping[str, Value] | None) -> dict[str, str]:
    return {name: sweep.text_of(value) for name, value in (settings or {}).items()}


def _typed(column: pl.Series) -> pl.Series:
    """The column as numbers, where every entry is one."""
    for kind in (pl.Int64, pl.Float64):
        try:
            return column.cast(kind)
        except pl.exceptions.InvalidOperationError:
            continue
    return column


def _counters(counters: Mapping[str, int]) -> pl.DataFrame:
    schema = {"name": pl.String, "value": pl.UInt64}
    return pl.DataFrame({"name": list(counters), "value": list(counters.values())}, schema=schema)


class Laboratory:
    """Machines, kernel, programs and the results file; use as a context manager.

    `results` is the results file (the checkout's by default), `jobs` the number of runs at a time (the
    computer's cores by default), `cluster` the address of a Dask scheduler.
    """

    def __init__(self, results: Path | None = None, *, jobs: int | None = None, cluster: str | None = None) -> None:
        self._store = Store(results or home().results)
        self._lab = Lab(native.NativeRunner(), self._store, workers=jobs, cluster=cluster)
        self.events: Events = Quiet()

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the results file."""
        self._store.close()

    def machines(self) -> pl.DataFrame:
        """The machines: `name`, `core`, `clock` in Hz, `description`."""
        return pl.DataFrame(
            [
                {"name": m.name, "core": m.core, "clock": m.clock, "description": m.description}
                for m in machines.all_machines()
            ]
        )

    def policies(self) -> pl.DataFrame:
        """The kernel's policies: `name`, `choices`, `summary`."""
        return pl.DataFrame(
            [
                {"name": p.name, "choices": list(p.choices), "summary": p.about.summary}
                for p in policies.all_policies().values()
            ]
        )

    def claims(self, document: str | None = None) -> pl.DataFrame:
        """The published figures, of one document or of all."""
        listed = claims.of_document(document) if document else list(claims.all_claims().values())
        columns = ("id", "section", "machine", "metric", "unit", "kind")
        return pl.DataFrame(
            [
                {name: getattr(claim, name) for name in columns}
                | {"baseline": list(claim.baseline), "value": list(claim.value), "ratio": claim.ratio}
                for claim in listed
            ],
            infer_schema_length=None,
        )

    def run(self, name: str) -> pl.DataFrame:
        """An experiment's table (all tables of a document, one below the other), measured now or before."""
        cells = []
        for experiment in experiments.find(name):
            for cell in self._lab.experiment(experiment, self.events):
                cells.append({"experiment": experiment.name, **cell.record()})
        return pl.DataFrame(cells, infer_schema_length=None)

    def execute(
        self,
        program: str | Path,
        *arguments: str,
        machine: str = DEFAULT_MACHINE,
        policies: Mapping[str, Value] | None = None,
        sets: Mapping[str, Value] | None = None,
        files: Sequence[str] = (),
    ) -> Result:
        """Runs a static PowerPC program on the kernel; a run that is in the results is not simulated again.

        `sets` are machine keys (`{"tlb.data.entries": "32"}`), `files` further files (`HOST:GUEST`).
        """
        what = Program(Path(program), arguments, tuple(guest.guest_file(text) for text in files))
        job = guest.job(self._lab, machine, what, overrides=_texts(sets), settings=_texts(policies))
        return Result(self._run(str(program), job))

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
        """Runs a benchmark program of `user/bench`; `row` is the printed row, by default the program's name."""
        job = Job(
            machine=self._lab.machine(machine, _texts(sets)),
            kernel=self._lab.kernel,
            initrd=self._lab.bench_image(program, files),
            command_line=command_line(_texts(policies), [f"/bin/{program}", *arguments]),
        )
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
    ) -> pl.DataFrame:
        """A benchmark over every combination of axes.

        An axis is written `{"tlb.cutoff": "off,5..40..5"}` or `{"tlb.data.entries": [32, 64]}`. One
        column an axis, of numbers where every value is one, and `value`.
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
        frame = pl.DataFrame([{**point.settings, "value": point.value} for point in points], infer_schema_length=None)
        return frame.with_columns(_typed(frame[name]) for name in frame.columns if name != "value")

    def sql(self, query: str) -> pl.DataFrame:
        """The answer of the results file to a query (docs/results.md describes the tables)."""
        columns, rows = self._store.ask(query)
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def _run(self, label: str, job: Job) -> StoredRun:
        return self._lab.run([Work(label, job)], self.events)[job.key(self._lab.runner.version)]


__all__ = ["Benchmark", "Laboratory", "Result"]
