"""Two choices side by side: what is run, what is said of it, and what is kept."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from scripted import BenchLab, ScriptedRunner
from test_hostile_command import Here

from pagewalk import ab, flame_difference, policies
from pagewalk.ab import Moved, Plan, Side
from pagewalk.api import Laboratory
from pagewalk.errors import BadInput, RunFailed
from pagewalk.guest import PROGRAM_REGION, Program
from pagewalk.paths import home
from pagewalk.runner import Job, RunResult, Stop
from pagewalk.simulate import Quiet
from pagewalk.store import Store
from pagewalk.stored_runs import StoredRun

HELLO = home().build / "user" / "hello"


def result(counters: Mapping[str, int], folded: str = "", status: int = 0) -> RunResult:
    return RunResult(Stop("power-off", status, ""), b"", counters, {PROGRAM_REGION: counters}, 0.0, profile=folded)


def side(label: str, *runs: RunResult) -> Side:
    return Side(label, [StoredRun(f"{label}{n}", "m", 100_000_000, "", run) for n, run in enumerate(runs)])


def by_name(found: list[Moved]) -> dict[str, Moved]:
    return {moved.name: moved for moved in found}


def test_what_moved_is_listed_and_what_did_not_is_left_out() -> None:
    first = side("a", result({"cycles": 200, "cycles.cause.flush": 90, "cycles.cause.user": 7, "hash.miss": 4}))
    second = side("b", result({"cycles": 100, "cycles.cause.flush": 10, "cycles.cause.user": 7}))
    found = by_name(ab.compare(first, second))
    assert found["flush"].medians == (90, 10)
    assert found["flush"].change == pytest.approx(-8 / 9)
    assert found["misses"].medians == (4, 0)
    assert found["microseconds"].medians == (2.0, 1.0)
    assert "user" not in found
    assert found["instructions"].difference == 0  # the totals are always there
    assert found["flush"].noise is None


def test_a_difference_within_its_spread_over_the_placements_is_noise() -> None:
    def runs(label: str, *values: int) -> Side:
        return side(label, *(result({"cycles": value, "hash.miss": 1000 - value}) for value in values))

    chance = by_name(ab.compare(runs("a", 100, 130, 90), runs("b", 104, 128, 95)))["cycles"]
    assert chance.noise is True
    effect = by_name(ab.compare(runs("a", 100, 130, 90), runs("b", 60, 92, 49)))["cycles"]
    assert (effect.noise, effect.difference) == (False, -40)
    # Each placement is compared with itself: no share is below -1, whatever the median of the first side.
    gone = by_name(ab.compare(runs("a", 10, 100, 1000), runs("b", 1, 1, 1)))["cycles"]
    assert gone.shares == pytest.approx([-0.999, -0.99, -0.9])
    assert gone.change == pytest.approx(-0.99)
    # The change is that of the medians, which stand beside it; the shares of the placements may have another median.
    crossed = by_name(ab.compare(runs("a", 100, 110, 120), runs("b", 112, 108, 118)))["cycles"]
    assert crossed.medians == (110, 112)
    assert crossed.change is not None
    assert crossed.change == pytest.approx(2 / 110)
    assert crossed.noise is True
    assert crossed.shares[0] < crossed.change < crossed.shares[-1]
    assert by_name(ab.compare(runs("a", 1000, 1000), runs("b", 1, 1)))["misses"].change is None
    half = by_name(ab.compare(runs("a", 1000, 0), runs("b", 500, 500)))["misses"]
    assert half.shares == []
    assert half.change == pytest.approx(0.0)
    with pytest.raises(BadInput, match="placements"):
        ab.compare(runs("a", 1, 2), runs("b", 1))


def test_functions_are_named_and_the_programs_own_have_its_name() -> None:
    (run,) = side("a", result({}, "/bin/x;main;switch_[k] 5\n/bin/y;switch_[k] 4\n/bin/x;_start;main 3\n")).runs
    assert ab.functions(run) == {"switch": 9, "main (/bin/x)": 3}


def test_a_profile_of_another_form_is_refused() -> None:
    for text in ('{"stacks": []}', "x;main 5.5", "12"):
        with pytest.raises(BadInput, match="stored profile"):
            list(ab.stacks(text))


def test_the_difference_of_profiles_is_written_in_both_formats() -> None:
    one, other = side("a", result({}, "x;f 5\nx;g 4\n")), side("b", result({}, "x;f 2\nx;h 1\n"))
    assert flame_difference.folded(one, other) == "x;f 5 2\nx;g 4 0\nx;h 0 1\n"
    made = json.loads(flame_difference.speedscope(one, other))
    names = [frame["name"] for frame in made["shared"]["frames"]]
    profiles = {profile["name"]: profile for profile in made["profiles"]}
    shrunk = profiles["fewer cycles, cycles"]
    assert [[names[at] for at in stack] for stack in shrunk["samples"]] == [["x", "f"], ["x", "g"]]
    assert (shrunk["weights"], shrunk["endValue"]) == ([3, 4], 7)
    assert profiles["more cycles, cycles"]["weights"] == [1]
    with pytest.raises(BadInput, match="suffix"):
        flame_difference.writer(Path("x.png"))


@pytest.mark.usefixtures("small_policies")
def test_each_combination_is_made_and_named_by_what_differs() -> None:
    made = ab.choices({"tlb.cutoff": ["off", "20"], "reload": ["asm"]}, {"tlb.data.entries": ["32", "64"]})
    assert [choice.label for choice in made] == [
        "tlb.data.entries=32, tlb.cutoff=off", "tlb.data.entries=32, tlb.cutoff=20",
        "tlb.data.entries=64, tlb.cutoff=off", "tlb.data.entries=64, tlb.cutoff=20",
    ]  # fmt: skip
    assert made[0].settings == {"tlb.cutoff": "off", "reload": "asm"}
    assert made[0].keys == {"tlb.data.entries": "32"}
    assert [choice.label for choice in ab.choices({}, {})] == ["as built"]
    named = ab.choices(ab.axes(["default,best"], {}), {})
    assert [(choice.label, choice.settings) for choice in named] == [
        ("default", {}), ("best", {policies.NAMED: "best"}),
    ]  # fmt: skip
    with pytest.raises(BadInput, match="combinations"):
        ab.choices({"a": [str(n) for n in range(2000)]}, {})


def answer(job: Job) -> RunResult:
    cycles = 70 if "tlb.cutoff=20" in job.command_line else 100
    return result({"cycles": cycles, "cycles.cause.flush": cycles // 2}, f"x;flush_[k] {cycles // 2}\n")


@pytest.mark.built
def test_runs_are_measured_once_and_their_profiles_kept(tmp_path: Path) -> None:
    runner = ScriptedRunner(answer)
    with Store(tmp_path / "r.duckdb") as store:
        lab = BenchLab(runner, store)
        plan = Plan("ppc604-133", Program(HELLO, ()), ab.choices({"tlb.cutoff": ["off", "20"]}, {}), seeds=3)
        for _ in range(2):
            sides = ab.measure(lab, plan, Quiet())
            found = by_name(ab.compare(*sides))
            assert found["cycles"].first == (100, 100, 100)
            assert found["cycles"].second == (70, 70, 70)
            assert [moved.group for moved in ab.compare(*sides) if moved.name == "flush"] == ["cause", "function"]
        assert len(runner.ran) == 6
        assert len({job.initrd for job in runner.ran}) == 3


@pytest.mark.built
def test_a_program_that_does_not_end_is_no_measurement(tmp_path: Path) -> None:
    runner = ScriptedRunner(lambda _: RunResult(Stop("limit", 0, "at 5"), b"", {}, {}, 0.0))
    with Store(tmp_path / "r.duckdb") as store:
        plan = Plan("ppc604-133", Program(HELLO, ()), ab.choices({}, {}))
        with pytest.raises(Exception, match="limit"):
            ab.measure(BenchLab(runner, store), plan, Quiet())
    with pytest.raises(RunFailed):
        ab.check(StoredRun("k", "m", 1, "", RunResult(Stop("fatal", 0, "x"), b"", {}, {}, 0.0)), "x")


def test_a_baseline_is_the_latest_of_its_name(tmp_path: Path) -> None:
    with Store(tmp_path / "r.duckdb") as store:
        store.add_baseline("before", [("a", "k1")])
        store.add_baseline("before", [("b", "k2"), ("b", "k3")])
        assert store.baseline("before") == [("b", "k2"), ("b", "k3")]
        with pytest.raises(BadInput, match="unknown baseline") as refused:
            store.baseline("befor")
        assert refused.value.hint == "did you mean 'before'?"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Here:
    monkeypatch.setenv("PAGEWALK_RESULTS", str(tmp_path / "results.duckdb"))
    return Here(monkeypatch, capfd)


AB = ("ab", "-m", "ppc604-133")


@pytest.mark.built
def test_the_command_from_the_first_run_to_a_baseline(here: Here, tmp_path: Path) -> None:
    program = ["--", str(HELLO)]
    flame = tmp_path / "f.json"
    both = [*AB, "-p", "tlb.cutoff=off,20", "--flame", str(flame), *program]
    status, printed, said = here.run(both)
    assert status == 0, said
    assert "flush" in printed
    assert "next: " in said
    assert "pagewalk compare" in said
    assert json.loads(flame.read_text())["profiles"][0]["weights"]
    status, printed, said = here.run([*both[:-2], "--csv", *program])
    rows = list(csv.reader(io.StringIO(printed)))
    assert rows[0] == ["group", "what moved", "tlb.cutoff=off", "tlb.cutoff=20", "change"]
    assert all(len(row) == len(rows[0]) for row in rows)
    assert "next" not in said
    placed = here.run([*AB, "-p", "tlb.cutoff=off,20", "--seeds", "2", "--csv", *program])[1]
    assert placed.splitlines()[0].endswith(",change,least change,greatest change,noise")
    found = json.loads(here.run([*both[:-2], "--json", *program])[1])
    assert {"total", "cause", "function"} <= {moved["group"] for moved in found[0]["moved"]}
    assert here.run([*AB, "--save-baseline", "now", *program])[0] == 0
    status, printed, _ = here.run([*AB, "--baseline", "now", "-p", "tlb.cutoff=20", *program])
    assert status == 0
    assert "now (" in printed
    status, _, said = here.run([*AB, "--baseline", "nov", *program])
    assert (status, "did you mean 'now'?" in said) == (2, True)
    assert here.run([*AB, "--baseline", "now", "--seeds", "2", *program])[0] == 2


WRONG = (
    (["-p", "tlb.cutof=off,20"], "--policy", "tlb.cutoff"),
    (["-p", "tlb.cutoff=of,20"], "--policy", "off"),
    (["-p", "tlb.cutoff="], "--policy", "empty"),
    (["-p", "tlb.cutoff"], "--policy", "tlb.cutoff=off,20"),
    (["-p", "tlb.cutoff=off"], "nothing to compare", "two values"),
    (["--set", "tlb.data.entrys=32,64"], "--set tlb.data.entrys", "nearest: `entries`"),
    (["--set", "tlb.data.entries=x,64"], "--set", "tlb.data.entries"),
    (["--set", "x"], "--set", "name=values"),
    (["-m", "ppc604-18", "-p", "tlb.cutoff=off,20"], "--machine", "ppc604-185"),
    (["-p", "tlb.cutoff=off,20", "--flame", "x.png"], "--flame", ".json"),
    (["-p", "tlb.cutoff=off,20", "--flame", "/nothere/x.json"], "--flame", "/nothere"),
    (["-p", "tlb.cutoff=off,20", "--file", "/nothere"], "--file", "/nothere"),
    (["-p", "tlb.cutoff=off,20", "--seeds", "0"], "--seeds", "1"),
    (["-p", "tlb.cutoff=off,20", "--seeds", "many"], "--seeds", "integer"),
    (["-p", "tlb.cutoff=off,20", "--top", "-1"], "--top", "0"),
    (["--save-baseline", "a b"], "--save-baseline", "letters"),
    (["--baseline", ""], "--baseline", "letters"),
    (["--baseline", "x"], "--baseline", "x"),
    (["--basline", "x"], "--basline", "--baseline"),
    (["-p", "tlb.cutoff=1..5000"], "combinations", "1,000"),
)


@pytest.mark.built
@pytest.mark.parametrize(("words", "names", "says"), WRONG, ids=str)
def test_wrong_options_are_named_with_what_is_right(words: list[str], names: str, says: str, here: Here) -> None:
    status, printed, said = here.run(["ab", *words, "--", str(HELLO)])
    assert status == 2, said
    assert printed == ""
    assert names in said
    assert says in said
    assert "Traceback" not in said


@pytest.mark.built
def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagewalk.native.NativeRunner", lambda: ScriptedRunner(answer))
    with Laboratory(tmp_path / "r.duckdb") as lab:
        frame = lab.ab(HELLO, policies={"tlb.cutoff": ["off", 20]}, seeds=2)
    (cycles,) = (row for row in frame if row["name"] == "cycles")
    assert (cycles["first"], cycles["second"]) == ("tlb.cutoff=off", "tlb.cutoff=20")
    assert (cycles["before"], cycles["after"], cycles["noise"]) == (100.0, 70.0, False)
    assert cycles["change"] == pytest.approx(-0.3)
