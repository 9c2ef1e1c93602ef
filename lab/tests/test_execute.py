import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from scripted import EXPERIMENT, BenchLab, Script, ScriptedRunner, benchmark

from pagewalk import experiments, native, records
from pagewalk.architectures import POWERPC
from pagewalk.cli.run import matches, select
from pagewalk.errors import BadInput, Interrupted, RunFailed
from pagewalk.experiments import Experiment
from pagewalk.runner import Job, RunResult, Stop
from pagewalk.simulate import Quiet, Work
from pagewalk.store import Store
from pagewalk.systems import command_line

pytestmark = pytest.mark.usefixtures("small_policies")

TABLE = f"""{EXPERIMENT}
[[row]]
name = "pipe latency"
program = "pipe-latency"
figure = "us"
unit = "us"
better = "lower"
item = 2
"""


def program(job: Job) -> str:
    return job.command_line.partition("/bin/")[2]


def script(job: Job) -> RunResult:
    if program(job) == "pipe-latency":
        return benchmark("pipe-latency", {"kernel": 4000})
    flush = 500_000 if "tlb.cutoff=off" in job.command_line else 2000
    return benchmark("mmap-latency", {"flush": flush, "kernel": 4000})


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "table.toml"
    path.write_text(TABLE)
    return experiments.load(path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.duckdb") as opened:
        yield opened


def make(script: Script, store: Store) -> tuple[BenchLab, ScriptedRunner]:
    runner = ScriptedRunner(script)
    return BenchLab(runner, store, workers=2), runner


def test_a_table_is_measured_and_judged(experiment: Experiment, store: Store) -> None:
    lab, _ = make(script, store)
    mmap, pipe = lab.experiment(experiment, Quiet())
    assert mmap.before == pytest.approx(504_000 / 185)
    assert mmap.after == pytest.approx(6000 / 185)
    assert mmap.verdict == "ratio reproduced"
    assert mmap.reason.startswith("cycles each: flush 500,000 -> 2,000")
    assert pipe.ratio == 1.0
    assert pipe.verdict == "refuted by a pair", "22 to 21 is a small change, but ours does not change at all"


def test_a_figure_of_the_whole_run_is_explained_by_the_counters_of_the_run(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "table.toml"
    path.write_text(EXPERIMENT.replace('figure = "us"', "figure = 'run(\"cycles\")'"))

    def booted(job: Job) -> RunResult:
        boot = {"cycles": 10_000 if "tlb.cutoff=off" in job.command_line else 9500}
        whole = boot | {"cycles.cause.kernel": boot["cycles"]}
        return replace(benchmark("mmap-latency", {"kernel": 4000}), counters=whole)

    lab, _ = make(booted, store)
    (cell,) = lab.experiment(experiments.load(path), Quiet())
    assert cell.verdict == "not reproduced", "the region is the same on both sides, and the run is not"
    assert cell.reason.startswith("cycles each: kernel 10,000 -> 9,500")


def test_seeds_measure_a_row_with_several_placements(experiment: Experiment, store: Store) -> None:
    def placed(job: Job) -> RunResult:
        seed = int(job.kernel.split()[-1])
        flush = 500_000 + 50_000 * seed if "tlb.cutoff=off" in job.command_line else 2000
        return benchmark(program(job), {"flush": flush, "kernel": 4000})

    lab, runner = make(placed, store)
    mmap, _ = lab.experiment(experiment, Quiet(), seeds=3)
    assert len(runner.ran) == 12
    assert (mmap.placements, mmap.verdict) == (3, "ratio reproduced")
    assert mmap.ratio == pytest.approx(554_000 / 6000)
    assert mmap.low == pytest.approx(504_000 / 6000)
    assert mmap.high == pytest.approx(604_000 / 6000)
    assert "flush 550,000 -> 2,000" in mmap.reason
    assert {job.command_line.split(" -- ")[1].startswith("stack=") for job in runner.ran} == {True, False}


def test_nothing_is_simulated_twice(experiment: Experiment, store: Store) -> None:
    lab, runner = make(script, store)
    first = lab.experiment(experiment, Quiet())
    assert len(runner.ran) == 4
    again, repeated = make(script, store)
    assert again.experiment(experiment, Quiet()) == first
    assert repeated.ran == []


def test_another_version_of_the_simulator_runs_again(experiment: Experiment, store: Store) -> None:
    lab, _ = make(script, store)
    lab.experiment(experiment, Quiet())
    newer, runner = make(script, store)
    runner.version = "newer"
    newer.experiment(experiment, Quiet())
    assert len(runner.ran) == 4


def test_a_failed_run_costs_only_its_own_row(experiment: Experiment, store: Store) -> None:
    def failing(job: Job) -> RunResult:
        result = script(job)
        if program(job) == "pipe-latency":
            return replace(result, stop=Stop("fatal", 0, "jump to nowhere at 0x00000000"))
        return result

    lab, _ = make(failing, store)
    mmap, pipe = lab.experiment(experiment, Quiet())
    assert mmap.verdict == "ratio reproduced"
    assert pipe.verdict == "no figure"
    assert "jump to nowhere" in pipe.reason


def test_an_interrupted_experiment_keeps_what_was_finished(experiment: Experiment, store: Store) -> None:
    lab, runner = make(script, store)
    lab.workers = 1

    def third(job: Job) -> None:
        if len(runner.ran) == 2:
            signal.raise_signal(signal.SIGINT)
            # Long enough for the lab to see it and to drop the fourth run.
            time.sleep(0.5)
            raise Interrupted("the runner was told to end")

    runner.before_run = third
    with pytest.raises(Interrupted, match="2 of 4 runs finished and kept"):
        lab.experiment(experiment, Quiet())
    again, repeated = make(script, store)
    again.experiment(experiment, Quiet())
    assert len(repeated.ran) == 2


def test_an_error_of_one_run_is_raised_when_the_others_are_kept(store: Store) -> None:
    def breaking(job: Job) -> RunResult:
        if "bad" in job.command_line:
            raise RunFailed("bad")
        return benchmark("row", {"kernel": 1})

    lab, _ = make(breaking, store)
    machine = lab.machine("ppc604-185")
    jobs = [Job(machine, b"", b"", name) for name in ("bad", "good", "better")]
    with pytest.raises(RunFailed):
        lab.run([Work(job.command_line, job) for job in jobs], Quiet())
    assert len(store.query("SELECT key FROM runs")) == 2


def test_a_row_that_was_not_printed_is_no_figure(experiment: Experiment, store: Store) -> None:
    lab, _ = make(lambda _: benchmark("other", {"kernel": 1}), store)
    cells = lab.experiment(experiment, Quiet())
    assert {cell.verdict for cell in cells} == {"no figure"}
    assert "no row 'mmap-latency' was printed, only other" in cells[0].reason


def test_a_row_that_cannot_be_run_costs_only_itself(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "table.toml"
    wrong = TABLE.replace("item = 2\n", 'item = 2\nafter = "other"\n')
    path.write_text(wrong + '[settings.other]\nlabel = "other"\npolicies = { "tlb.cutof" = "20" }\n')
    lab, _ = make(script, store)
    mmap, pipe = lab.experiment(experiments.load(path), Quiet())
    assert mmap.verdict == "ratio reproduced"
    assert (pipe.verdict, pipe.reason) == ("no figure", "unknown policy 'tlb.cutof'; did you mean 'tlb.cutoff'?")


def test_overrides_make_another_run(store: Store) -> None:
    lab, _ = make(script, store)
    usual = Job(lab.machine("ppc604-185"), b"", b"", "")
    smaller = Job(lab.machine("ppc604-185", {"tlb.data.entries": "32"}), b"", b"", "")
    assert usual.key("v") != smaller.key("v")
    assert usual.key("v") == Job(lab.machine("ppc604-185", {"tlb.data.entries": "128"}), b"", b"", "").key("v")


SHOOTDOWN = """
title = "t"
document = "smp"
section = ""
about = "a"
[settings.before]
label = "queue"
policies = { "shootdown" = "queue" }
[settings.after]
label = "short"
policies = { "shootdown" = "short" }
[[machine]]
name = "ppc604-200x4"
[[row]]
name = "munmap"
program = "shootdown"
keys = { processors = "2" }
figure = "us"
unit = "us"
better = "lower"
"""


def test_keys_and_printed_values_reach_the_table(tmp_path: Path, store: Store) -> None:
    def shot(job: Job) -> RunResult:
        assert "processors = 2" in job.machine.config
        queue = "shootdown=queue" in job.command_line
        kernel = 3000 if queue else 2000
        result = benchmark("shootdown", {"kernel": kernel, "idle": kernel}, iterations=2)
        values = f"@value name=page.times value=2\n@value name=page.waited_ns value={800 if queue else 600}\n"
        regions = {1: {**result.regions[1], "elapsed": kernel}}
        return replace(result, console=result.console + values.encode(), regions=regions)

    path = tmp_path / "smp-mine.toml"
    path.write_text(SHOOTDOWN)
    lab, _ = make(shot, store)
    (cell,) = lab.experiment(experiments.load(path), Quiet())
    assert (cell.ratio, cell.verdict) == (1.5, "better"), cell.reason
    assert cell.reason == (
        "cycles each: kernel 1,500 -> 1,000; each: shootdowns 1 -> 1, ns waited for answers 400 -> 300"
    ), "idle cycles of the other processor are no cost of the row"


def test_the_command_line_has_policies_that_exist() -> None:
    assert command_line(POWERPC, {"tlb.cutoff": "20"}, ["/bin/x", "a=1"]) == "tlb.cutoff=20 -- /bin/x a=1"
    with pytest.raises(BadInput, match=r"unknown policy 'tlb\.cutof'"):
        command_line(POWERPC, {"tlb.cutof": "20"}, ["/bin/x"])


def test_rows_that_are_measured_again_replace_those_of_the_latest_table(experiment: Experiment, store: Store) -> None:
    lab, runner = make(script, store)
    second = experiment.rows[1:]
    lab.experiment(experiment, Quiet(), rows=second)
    assert records.tables(store, experiment.name) == []  # a table of one row is not the experiment's
    lab.experiment(experiment, Quiet())
    runner.version = "another"
    runner.ran.clear()
    assert [cell.row.name for cell in lab.experiment(experiment, Quiet(), rows=second)] == [second[0].name]
    assert all("pipe-latency" in job.command_line for job in runner.ran)
    before, after = (records.cells(store, experiment.name, made) for made in records.tables(store, experiment.name))
    assert [cell.row_name for cell in before] == [cell.row_name for cell in after]
    assert before[0].after_run == after[0].after_run
    assert before[1].after_run != after[1].after_run


def test_rows_are_chosen_by_a_part_of_their_name(experiment: Experiment) -> None:
    def chosen(pattern: str) -> list[str]:
        return [row.name for row in experiment.rows if matches(pattern, experiment, row)]

    assert chosen("MMAP") == ["mmap latency"]
    assert chosen("p*lat") == ["mmap latency", "pipe latency"]
    assert chosen("604-185") == ["mmap latency", "pipe latency"]
    assert chosen("[m]map") == []


def test_only_rows_that_failed_are_measured_again(experiment: Experiment, store: Store) -> None:
    def broken(job: Job) -> RunResult:
        return RunResult(Stop("fatal", 0, "x"), b"", {}, {}, 0.0) if program(job) == "pipe-latency" else script(job)

    assert select(store, [experiment], None, failed=True) == []  # nothing was measured yet
    lab, _ = make(broken, store)
    cells = lab.experiment(experiment, Quiet())
    assert [cell.verdict == "no figure" for cell in cells] == [False, True]
    ((_, rows),) = select(store, [experiment], None, failed=True)
    assert rows is not None
    assert [row.name for row in rows] == ["pipe latency"]
    with pytest.raises(BadInput, match="no failed row matches 'mmap'"):
        select(store, [experiment], "mmap", failed=True)


def test_a_run_of_the_same_command_line_tells_how_long_the_next_takes(experiment: Experiment, store: Store) -> None:
    lab, runner = make(script, store)
    lab.experiment(experiment, Quiet())
    job = runner.ran[0]
    assert store.expected_instructions(job.machine.name, job.command_line) is None  # it counted none
    counted = replace(script(job), counters={"instructions": 7})
    runner.version = "another"
    store.add(job.key("another"), "another", job, counted)
    assert store.expected_instructions(job.machine.name, job.command_line) == 7
    assert store.expected_instructions(job.machine.name, "other") is None


def test_a_count_that_the_hash_table_fixes_is_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = "hash-table search, last of 16 PTEs, table in memory"
    found = {
        search: native.Constant(172.0, "result: walk.*"),
        "the same, table in the D-cache": native.Constant(60.0, "result: walk.*"),
        "memory accesses of that search": native.Constant(16.0, "structure"),
        "cache lines that this fills": native.Constant(6.0, "structure: lines of 32 bytes"),
        "further cycles to invoke the handler when no PTE matches": native.Constant(91.0, "input: set to 91"),
    }
    monkeypatch.setattr(native, "constants", lambda machine: found)
    whole = experiments.find("osdi99-constants")[0]
    rows = tuple(row for row in whole.rows if row.after.machine == "ppc604-133" and row.constant in found)
    with Store(tmp_path / "results.duckdb") as store:
        cells = BenchLab(ScriptedRunner(lambda job: benchmark("none", {})), store).measure(
            replace(whole, rows=rows), Quiet()
        )
    told = {cell.row.constant: (cell.verdict, cell.reason) for cell in cells}
    assert told[search] == ("not reproduced", "result: walk.*; the same, table in the D-cache: 60 cycles")
    verdict, reason = told["memory accesses of that search"]
    assert verdict == "an input"
    assert "structure: two groups of eight entries" in reason
    verdict, reason = told["cache lines that this fills"]
    assert verdict == "an input", "no machine could give the paper's count, so that there is nothing to reproduce"
    assert reason.endswith("; the paper counts otherwise")
    assert told["further cycles to invoke the handler when no PTE matches"][0] == "an input"
