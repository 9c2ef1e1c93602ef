"""Runs jobs and experiments. Runs that are in the store are not simulated again; new ones are stored at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pagewalk import explain, images, mach, native, records, rows, systems
from pagewalk import placement as placement_of
from pagewalk.errors import BadInput, NotBuilt, PagewalkError, RunFailed, RunLimit
from pagewalk.experiments import Experiment, Row, Side
from pagewalk.figures import Measured
from pagewalk.place import Cluster, Local, Place
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.published_range import Range
from pagewalk.runner import Job, Runner, RunResult
from pagewalk.simulate import Events, Finished, Simulation, Work
from pagewalk.store import Store
from pagewalk.stored_runs import StoredRun
from pagewalk.verdict import Kind, at_edge, controlled, judge, judge_spread
from pagewalk.workshop import Workshop

if TYPE_CHECKING:
    from pagewalk.images import Image

_CONSOLE_TAIL = 12
_FIXED = (
    "two groups of eight entries each, as the architecture lays out the hash table, and in a reload two words of the "
    "tree; no timing of a machine could give another count, so that it proves nothing"
)
_PARTS = {
    "hash-table search, last of 16 PTEs, table in memory": (
        "the same, table in the D-cache",
        "of the search in memory, waiting for its lines",
    )
}
"""What a hardware cost is made of, which is measured by itself."""


@dataclass(frozen=True)
class Cell:
    """One row of an experiment's table, measured: `before` and `after` are in the row's unit.

    Measured with several placements, figures and runs are those of the placement whose ratio is the median; `low` and
    `high` are the least and the greatest ratio, or figure where there is no ratio.
    """

    row: Row
    before: float | None
    after: float | None
    ratio: float | None
    verdict: Kind
    reason: str
    before_run: str | None
    after_run: str
    low: float | None = None
    high: float | None = None
    placements: int = 1
    pairs: records.Pairs = ()

    @property
    def figure(self) -> tuple[str | None, ...] | None:
        """The published figure that the row is on; None where nothing is published."""
        return records.figure(self.record())

    @property
    def place(self) -> tuple[str, str]:
        """The row's name and machine, which tell it from the table's others."""
        return self.row.place

    @property
    def published(self) -> tuple[Range | None, Range | None]:
        """The published figure after, and the published ratio."""
        return self.row.published.after, self.row.published.ratio

    def record(self) -> dict[str, Any]:
        """The cell as the store's table `cells` keeps it."""
        published = self.row.published
        return {
            "row_name": self.row.name,
            "machine": self.row.after.machine,
            "unit": self.row.unit,
            "claims": [claim.id for claim in published.claims],
            "before_run": self.before_run,
            "after_run": self.after_run,
            "before": self.before,
            "after": self.after,
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "placements": self.placements,
            "pairs": [list(pair) for pair in self.pairs],
            "published_before": published.before.shown if published.before else None,
            "published_after": published.after.shown if published.after else None,
            "published_ratio": published.effect,
            "verdict": self.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Cost:
    """What measuring an experiment takes: its runs, and of those not in the results yet the seconds of one core.

    `unknown` of the missing runs have no earlier run of their command line, and no part in `seconds`. `refused` rows
    cannot be run.
    """

    experiment: str
    rows: int
    refused: int
    runs: int
    missing: int
    seconds: float
    unknown: int


def succeeded(run: StoredRun, what: str) -> RunResult:
    """The run's result if the guest ended with status 0; else the error that says what it did."""
    stop = run.result.stop
    panic = systems.panic(run.result.console) if stop.kind == "power-off" and stop.status == 0 else None
    if stop.kind == "power-off" and stop.status == 0 and panic is None:
        return run.result
    tail = run.result.console.decode("utf-8", "replace").splitlines()[-_CONSOLE_TAIL:]
    hint = "the end of its console:\n    " + "\n    ".join(tail) if tail else None
    if stop.kind == "limit":
        raise RunLimit(f"{what}: the run reached its limit; {stop.reason}", hint=hint)
    if stop.kind == "fatal":
        raise RunFailed(f"{what}: the machine stopped: {stop.reason}", hint=hint)
    if panic is not None:
        raise RunFailed(f"{what}: Linux panicked: {panic}", hint=hint)
    raise RunFailed(f"{what}: the guest ended with status {stop.status}", hint=hint)


def _no_figure(row: Row, reason: str, keys: Sequence[str] = (), placements: int = 1) -> Cell:
    """The cell of a row that gave no figure, with the runs that were made."""
    before = keys[0] if len(keys) > 1 else None
    after = keys[-1] if keys else ""
    return Cell(row, None, None, None, "no figure", reason, before, after, placements=placements)


class Lab(Workshop):
    """A workshop with a store: runs jobs and experiments. `images` are a person's own kernels by their roles."""

    def __init__(
        self,
        runner: Runner,
        store: Store,
        *,
        workers: int | None = None,
        cluster: str | None = None,
        images: Mapping[str, Image] | None = None,
    ) -> None:
        super().__init__(runner)
        self.images = images or {}
        self.store = store
        self.workers = workers
        self.cluster = cluster

    def make_place(self) -> Place:
        """Where runs are simulated: the cluster, if an address was given, else this computer."""
        return Cluster(self.runner, self.cluster) if self.cluster else Local(self.runner, self.workers)

    def work(self, row: Row, side: Side, placement: Placement = AS_BUILT) -> Work:
        """The run that measures one side of a row."""
        setting = side.setting
        row.figure.check(self.machine(side.machine).architecture)
        program = [f"/bin/{row.program}", *row.arguments, *setting.arguments]
        if setting.image is not None:
            job = self._image_job(row, side, setting.image, program, placement)
        elif setting.subject is not None and mach.is_mach(setting.subject):
            module, words = mach.program(row.program), [*row.arguments, *setting.arguments]
            job = mach.job(
                self,
                side.machine,
                side.keys,
                setting.subject,
                module,
                words=words,
                placement=placement,
                sample=row.sample,
            )
        else:
            system = (
                systems.own(self, side.machine, side.keys, setting.kernel, placement)
                if setting.subject is None
                else systems.named(self, side.machine, side.keys, setting.subject)
            )
            if setting.symbols:
                system = replace(system, kernel=images.with_symbols(system.name, system.kernel, setting.symbols))
            line = system.command_line(setting.chosen, [*placement.init_options, *program], setting.boot)
            # Both sides of a row run the same programs, so beside an old kernel ours runs the old ones.
            old = bool(row.images)
            initrd = self.bench_image(
                row.program,
                row.files,
                row.initramfs,
                placement,
                system.init,
                architecture=system.machine.architecture,
                old=old,
            )
            job = system.job(initrd, line, sample=row.sample)
        seed = f", seed {placement.seed}" if placement.seed else ""
        return Work(f"{row.name}, {side.machine}, {side.setting.label}{seed}", job)

    def _image_job(self, row: Row, side: Side, role: str, program: Sequence[str], placement: Placement) -> Job:
        """The run of an image that a person named. A placement moves nothing of the kernel itself."""
        wanted, image = side.wanted, self.images.get(role)
        assert wanted is not None, "a setting with an image is checked when its file is read"
        if image is None:
            raise BadInput(f"no image has the role {role}", hint=f"add --image {role}=PATH: {wanted.kernel}")
        setting = side.setting
        system = systems.from_image(
            self, side.machine, side.keys, image, protocol=wanted.protocol, root=wanted.root, name=role
        )
        system = replace(
            system,
            words=(*system.words, *wanted.words),
            room=wanted.room << 20,
            sysctl={**wanted.sysctl, **setting.sysctl},
        )
        line = system.command_line(setting.chosen, program, setting.boot)
        files = system.files(
            [self.old_program(name, placement) for name in (row.program, *row.files)],
            program,
            listed=row.initramfs,
            placement=placement,
        )
        return system.job(files, line, sample=row.sample)

    def run(self, work: Iterable[Work], events: Events) -> dict[str, StoredRun]:
        """Every job's run by its key: from the store, or simulated now and kept as soon as it is done."""
        wanted = {entry.job.key(self.runner.version): entry for entry in work}
        self.ensure(wanted, events)
        return {run.key: run for run in self.store.runs(wanted)}

    def ensure(self, wanted: Mapping[str, Work], events: Events) -> None:
        """Simulates those runs, given by their keys, that are not in the store, and keeps each as it ends."""
        known = self.store.known(wanted)
        missing = {key: entry for key, entry in wanted.items() if key not in known}
        events.planned(len(wanted), len(known))

        def keep(done: Sequence[Finished]) -> None:
            self.store.add_all(self.runner.version, done)

        if missing:
            Simulation(missing, self.make_place(), keep, events).run()

    def measured(self, row: str, run: StoredRun, what: str) -> Measured:
        """What the row of that name is computed from; the error says what the guest did instead."""
        result = succeeded(run, what)
        by_name = {entry.name: entry for entry in rows.parse_rows(result.console)}
        if row not in by_name:
            raise RunFailed(f"{what}: no row {row!r} was printed, only {', '.join(by_name) or 'none'}")
        return rows.measured(by_name[row], run.clock, result)

    def experiment(
        self, experiment: Experiment, events: Events, seeds: int = 1, rows: Sequence[Row] | None = None
    ) -> list[Cell]:
        """The experiment's table, which is kept.

        With `rows`, some of its own, only these are measured. They take the place of the same rows in the latest table
        that was kept. If that has not all of the others, none is kept: a table of the results is whole. Rows of images
        that were never named are in it without figures.
        """
        for role, wanted in experiment.images.items():
            if role in self.images:
                image = self.images[role]
                self.store.add_image(image.sha256, image.banner, image.facts(wanted.recorded))
        if rows is None:
            cells = self.measure(experiment, events, seeds)
            self.store.add_cells(experiment.name, [cell.record() for cell in cells])
            return cells
        cells = self.measure(replace(experiment, rows=tuple(rows)), events, seeds)
        known = {(cell.row_name, cell.machine): cell.kept for cell in records.cells(self.store, experiment.name)}
        known |= {cell.place: cell.record() for cell in cells}
        for row in experiment.rows:
            if missing := [role for role in row.images if role not in self.images]:
                words = f"no image had the role {' or '.join(missing)}"
                known.setdefault(row.place, _no_figure(row, words).record())
        whole = [row.place for row in experiment.rows]
        if all(place in known for place in whole):
            self.store.add_cells(experiment.name, [known[place] for place in whole])
        return cells

    def cost(self, experiment: Experiment, seeds: int, took: Mapping[tuple[str, str], float]) -> Cost:
        """What measuring it takes; nothing is run. `took`: seconds of earlier runs (`Store.durations`)."""
        placements = [Placement.of_seed(seed) for seed in range(seeds)]
        planned = [self._plan(row, placements) for row in experiment.rows]
        works = [entry for found in planned if isinstance(found, list) for pair in found for entry in pair]
        jobs = {entry.job.key(self.runner.version): entry.job for entry in works}
        known = self.store.known(jobs)
        missing = [job for key, job in jobs.items() if key not in known]
        seconds = [took.get((job.machine.name, placement_of.without(job.command_line))) for job in missing]
        return Cost(
            experiment.name,
            len(planned),
            sum(not isinstance(found, list) for found in planned),
            len(jobs),
            len(missing),
            sum(filter(None, seconds)),
            sum(found is None for found in seconds),
        )

    def measure(self, experiment: Experiment, events: Events, seeds: int = 1) -> list[Cell]:
        """The experiment's table: every run that it needs, and a verdict for every row.

        Each row is measured with the first `seeds` placements. A row that cannot be run, or whose guest fails, costs no
        other row: its cell says why.
        """
        placements = [Placement.of_seed(seed) for seed in range(seeds)]
        planned = [self._plan(row, placements) for row in experiment.rows]
        runs = self.run(
            (entry for works in planned if isinstance(works, list) for pair in works for entry in pair), events
        )
        return [
            self._cell(row, works, runs) if isinstance(works, list) else _no_figure(row, works.explained)
            for row, works in zip(experiment.rows, planned, strict=True)
        ]

    def _plan(self, row: Row, placements: Sequence[Placement]) -> list[list[Work]] | PagewalkError:
        """The runs of a row, of each placement those of its sides; or why it cannot be run."""
        if row.constant:
            return []
        try:
            return [[self.work(row, side, placement) for side in row.sides] for placement in placements]
        except (BadInput, NotBuilt) as error:
            return error

    def _constant(self, row: Row, name: str) -> Cell:
        """The cell of a hardware cost, which a program without a kernel measures in no time."""
        try:
            found = native.constants(self.machine(row.after.machine, row.after.keys))
        except (BadInput, NotBuilt) as error:
            return _no_figure(row, error.explained)
        if name not in found:
            return _no_figure(row, f"no hardware cost {name!r} is measured on {row.after.machine}")
        kind, words = judge(row, None, found[name].figure).kind, found[name].words
        # A figure taken from the paper into the machine file is an input: measuring it again proves nothing. Nor does a
        # count that the hash table's layout fixes, whether the paper counted likewise or not.
        if words.startswith("input"):
            kind = "an input"
        elif words.startswith("structure"):
            otherwise = "" if kind == "figure reproduced" else "; the paper counts otherwise"
            kind, words = "an input", f"{words}: {_FIXED}{otherwise}"
        elif kind == "not reproduced":
            parts = [f"{part}: {found[part].figure:g} {row.unit}" for part in _PARTS.get(name, ()) if part in found]
            words = "; ".join([words, *parts])
        return Cell(row, None, found[name].figure, None, kind, words, None, "")

    def _cell(self, row: Row, works: Sequence[Sequence[Work]], runs: Mapping[str, StoredRun]) -> Cell:
        if row.constant:
            return self._constant(row, row.constant)
        keys = [[entry.job.key(self.runner.version) for entry in sides] for sides in works]
        measured = []
        for sides, of_sides in zip(works, keys, strict=True):
            try:
                measured.append(
                    [self.measured(row.row, runs[key], work.label) for key, work in zip(of_sides, sides, strict=True)]
                )
            except (RunFailed, RunLimit) as error:
                return _no_figure(row, error.message, of_sides, len(works))
        figures = [[side.compute(row.figure) for side in sides] for sides in measured]
        measured = [[side.explaining(row.figure) for side in sides] for sides in measured]
        pairs = tuple((pair[0] if len(pair) > 1 else None, pair[-1]) for pair in figures)
        spread = judge_spread(row, pairs)
        chosen, pair, of_sides = measured[spread.middle], figures[spread.middle], keys[spread.middle]
        kind = spread.kind
        if len(chosen) > 1:
            kind = controlled(kind, acted=[sides[0].counters != sides[-1].counters for sides in measured])
        return Cell(
            row=row,
            before=pair[0] if len(pair) > 1 else None,
            after=pair[-1],
            ratio=spread.ratio,
            verdict=kind,
            reason=explain.reason(
                row, kind, chosen[0] if len(chosen) > 1 else None, chosen[-1], edge=at_edge(row, pairs)
            ),
            before_run=of_sides[0] if len(of_sides) > 1 else None,
            after_run=of_sides[-1],
            low=spread.low,
            high=spread.high,
            placements=len(works),
            pairs=pairs,
        )
