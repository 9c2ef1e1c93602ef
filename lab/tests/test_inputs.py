"""What machine files leave open: the variants, and whether a comparison's answer survives them."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from scripted import BenchLab, ScriptedRunner
from test_ab import HELLO, here, result, side  # noqa: F401
from test_hostile_command import Here

from pagewalk import ab, inputs, machines, native, robustness
from pagewalk.ab import Plan
from pagewalk.api import Laboratory
from pagewalk.errors import BadInput
from pagewalk.guest import Program
from pagewalk.inputs import Variant
from pagewalk.machines import Machine
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store
from pagewalk.workshop import Workshop

PLAIN = Machine("m", Path("m.toml"), "", "604", 1, {"bus.read-first": "6", "walk.cached": "true", "bus.read-next": "3"})


def with_inputs(**values: tuple[str, ...]) -> Machine:
    keys = {"read_first": "bus.read-first", "cached": "walk.cached", "read_next": "bus.read-next"}
    return Machine("m", Path("m.toml"), "", "604", 1, PLAIN.values, {keys[name]: held for name, held in values.items()})


def test_variants_are_both_extremes_and_each_value_alone() -> None:
    machine = with_inputs(read_first=("5", "6", "12"), cached=("true", "false"))
    assert inputs.variants(machine) == [
        Variant("as in the file", {}),
        Variant("all fastest", {"bus.read-first": "5", "walk.cached": "true"}),
        Variant("all slowest", {"bus.read-first": "12", "walk.cached": "false"}),
        Variant("bus.read-first=5", {"bus.read-first": "5"}),
        Variant("bus.read-first=12", {"bus.read-first": "12"}),
        Variant("walk.cached=false", {"walk.cached": "false"}),
    ]
    assert inputs.variants(PLAIN) == [Variant("as in the file", {})]


def test_what_a_person_sets_is_not_varied() -> None:
    machine = with_inputs(read_first=("5", "12"), read_next=("2", "6"))
    names = [variant.name for variant in inputs.variants(machine, ["bus.read-first"])]
    assert names == ["as in the file", "all fastest", "all slowest", "bus.read-next=2", "bus.read-next=6"]
    assert [variant.name for variant in inputs.variants(machine, ["bus"])] == ["as in the file"]
    assert len(inputs.variants(machine, ["bus.read-first.x"])) == 5


def test_keys_without_a_faster_end_are_crossed_with_both_ends() -> None:
    values = {"memory.page-mode": "closed", "memory.write-buffer": "1", "bus.read-first": "6"}
    held = {"memory.page-mode": ("open", "closed"), "memory.write-buffer": ("1", "0"), "bus.read-first": ("5", "12")}
    machine = Machine("m", Path("m.toml"), "", "604", 1, values, held)
    assert [variant.keys for variant in inputs.ends(machine)] == [
        {}, {"bus.read-first": "5"}, {"bus.read-first": "12"},
    ]  # fmt: skip
    found = inputs.corners(machine)
    assert [variant.name for variant in found[:3]] == [
        "all fastest with memory.page-mode=open",
        "all fastest with memory.page-mode=open and memory.write-buffer=0",
        "all fastest with memory.write-buffer=0",
    ]
    assert found[4].keys == {"bus.read-first": "12", "memory.page-mode": "open", "memory.write-buffer": "0"}
    names = [variant.name for variant in inputs.variants(machine)]
    assert names[-4:] == ["memory.page-mode=open", "memory.write-buffer=0", "bus.read-first=5", "bus.read-first=12"]
    assert inputs.corners(machine, ["memory"]) == []
    slowest = [name for name in names if inputs.end_of(name) == "all slowest"]
    assert inputs.told(slowest, names) == ["all slowest at all 4 corners"]
    assert inputs.told([slowest[1], names[-1]], names) == [
        "all slowest with memory.page-mode=open",
        "bus.read-first=12",
    ]
    assert inputs.told(names[-4:], names) == ["memory.page-mode=open and 3 more"]


UNBOUNDED = {
    "processors": "it says which computer is simulated",
    "core.signature": "an identity: no time depends on it",
    "core.mvendorid": "an identity: no time depends on it",
    "core.marchid": "an identity: no time depends on it",
    "core.mimpid": "an identity: no time depends on it",
    "board.apic-clock": "the kernel measures it: no access becomes faster or slower by it",
    "memory.size": "no time depends on it",
    "memory.kind": "it only says which controllers go with the parts, whose times are other keys",
    "memory.controller": "it only says what other keys may be; docs/boards.md says why it was taken",
    "memory.overlap": "of the i486: its controller has no other value",
    "cache.data.replacement": "of the P6: with two ways pseudo-LRU is LRU",
    "cache.l2.replacement": "of the i486: with two ways pseudo-LRU is LRU",
    "cache.l2.place": "of the U74 with four harts: a shared one is not modelled",
    "bus.return-path": "of the 750: it is set so that two documented walk times come out",
    "exception.leave": "of the 603: with exception.tlb-miss-entry it makes a documented sum",
    "exception.tlb-miss-entry": "of the 603: with exception.leave it makes a documented sum",
}
"""Keys that may be inputs, or recalled of an x86 core, without a range, and why."""


def test_every_input_has_a_range_or_a_reason() -> None:
    needed = set()
    for name in machines.names():
        machine, table = machines.find(name), ""
        for text in machine.path.read_text().split("\n[inputs]")[0].splitlines():
            if found := re.match(r"\[([\w.-]+)\]", text):
                table = found[1] + "."
            elif found := re.match(r"([\w-]+) = .*?  # (.*)", text):
                key = table + found[1]
                open_key = "an input" in found[2] or (name[0] in "ip" and name[1] != "p" and "recalled" in found[2][:8])
                if open_key and key not in machine.inputs:
                    assert key in UNBOUNDED, f"{name}: {key} is an input without a range in [inputs]"
                    needed.add(key)
    assert needed == set(UNBOUNDED)


def test_a_file_is_read_with_its_inputs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[core]\nkind = "604"\nclock = 5\n[bus]\nread-first = 6\n[walk]\ncached = true\n'
        '[inputs]\nbus.read-first = [5, 12]\n"walk.cached" = [true, false]\nlatency.load = [{ latency = 2, '
        "interval = 1 }, 3]\n"
    )
    machine = machines.load(path)
    assert machine.values == {
        "core.kind": "604", "core.clock": "5", "bus.read-first": "6", "walk.cached": "true",
    }  # fmt: skip
    assert machine.inputs == {
        "bus.read-first": ("5", "12"),
        "walk.cached": ("true", "false"),
        "latency.load": ("{ latency = 2, interval = 1 }", "3"),
    }


@pytest.mark.built
@pytest.mark.parametrize("name", machines.names())
def test_every_machine_of_the_checkout_takes_its_inputs(name: str) -> None:
    machine = machines.find(name)
    runner = native.NativeRunner()
    assert machine.inputs, "every machine has keys without a source"
    assert not any(key.startswith("inputs") for key in machines.keys(name))
    for variant in inputs.variants(machine):
        assert runner.resolve(machine, variant.keys).clock == machine.clock


def compared(*changes: tuple[tuple[int, ...], tuple[int, ...]]) -> robustness.Robustness:
    """Of two combinations, whose cycles on each variant are given, with each placement."""
    variants = [Variant("as in the file", {}), *(Variant(f"n={n}", {"n": str(n)}) for n in range(1, len(changes)))]
    sides = [
        side(label, *(result({"cycles": cycles}) for cycles in runs))
        for pair in changes
        for label, runs in zip("ab", pair, strict=True)
    ]
    (found,) = robustness.across(sides, 2, variants)
    return found


def test_an_answer_survives_if_it_is_the_same_on_every_variant() -> None:
    found = compared(((100,), (90,)), ((200,), (150,)), ((50,), (49,)))
    assert (found.answer, found.survives, found.against) == ("faster", True, [])
    assert found.change == pytest.approx((-0.25, -0.02))


def test_an_answer_that_an_input_decides_does_not() -> None:
    found = compared(((100,), (90,)), ((200,), (199,)), ((50,), (60,)), ((100,), (95,)))
    assert not found.survives
    assert [(tried.variant.name, tried.answer) for tried in found.against] == [
        ("n=1", "no difference"), ("n=2", "slower"),
    ]  # fmt: skip


def test_chance_is_no_answer() -> None:
    found = compared(((100, 130), (90, 131)), ((100, 130), (80, 110)))
    assert [tried.answer for tried in found.tried] == ["noise", "faster"]
    assert not found.survives


def test_one_combination_is_compared_with_itself() -> None:
    sides = [side("as built", result({"cycles": cycles})) for cycles in (100, 80, 130)]
    (found,) = robustness.across(sides, 1, [Variant("f", {}), Variant("a", {"x": "1"}), Variant("b", {"x": "2"})])
    assert [tried.first for tried in found.tried] == [(100,)] * 3
    assert found.change == pytest.approx((-0.2, 0.3))


def answer(job: Job) -> RunResult:
    """A policy that helps where memory is slow, and only there."""
    slow = "read-first = 12" in job.machine.config
    return result({"cycles": (70 if slow else 110) if "tlb.cutoff=20" in job.command_line else 100})


@pytest.mark.built
def test_every_combination_is_run_on_every_variant(tmp_path: Path) -> None:
    machine = tmp_path / "mine.toml"
    text = machines.find("ppc750-400").path.read_text().split("\n[inputs]")[0]
    machine.write_text(f"{text}\n[inputs]\nbus.read-first = [5, 12]\n")
    variants = inputs.variants(machines.load(machine))
    runner = ScriptedRunner(answer)
    with Store(tmp_path / "r.duckdb") as store:
        choices = ab.choices({"tlb.cutoff": ["off", "20"]}, {})
        plan = ab.varied(Plan(str(machine), Program(HELLO, ()), choices, seeds=2), variants)
        sides = ab.measure(BenchLab(runner, store), plan, Quiet())
    assert [found.label for found in sides[:4]] == [
        "tlb.cutoff=off", "tlb.cutoff=20", "tlb.cutoff=off, all fastest", "tlb.cutoff=20, all fastest",
    ]  # fmt: skip
    # The extremes of one key are what it has alone.
    assert len(runner.ran) == 2 * 2 * 3
    (found,) = robustness.across(sides, 2, variants)
    assert (found.answer, found.survives) == ("slower", False)
    assert {tried.variant.name for tried in found.against} == {"all slowest", "bus.read-first=12"}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A person's own machine, with one input."""
    path = tmp_path / "mine.toml"
    text = machines.find("ppc604-185").path.read_text().split("\n[inputs]")[0]
    path.write_text(f"{text}\n[inputs]\nexception.entry = [6, 20]\n")
    return path


@pytest.mark.built
def test_the_command_says_whether_the_answer_survives(here: Here, mine: Path) -> None:  # noqa: F811
    command = ["ab", "-m", str(mine), "-p", "tlb.cutoff=off,20", "--inputs"]
    status, printed, said = here.run([*command, "--", str(HELLO)])
    assert status == 0, said
    assert "exception.entry=6" in printed
    assert "survive" in printed + said
    found = json.loads(here.run([*command, "--json", "--", str(HELLO)])[1])
    assert {"survives", "answer", "change", "tried"} <= set(found[0]["inputs"])
    assert [tried["name"] for tried in found[0]["inputs"]["tried"]] == [
        "as in the file", "all fastest", "all slowest", "exception.entry=6",
    ]  # fmt: skip
    assert found[0]["moved"]
    rows = list(csv.reader(io.StringIO(here.run([*command, "--csv", "--", str(HELLO)])[1])))
    assert ["inputs of the machine", "first", "second", "change", "answer"] in rows


@pytest.mark.built
def test_values_that_a_given_key_excludes_are_left_out_and_named(here: Here) -> None:  # noqa: F811
    """A look-up of three clocks does not go with a first beat of two, which the person has set."""
    words = ["ab", "-m", "ppc604-185", "--set", "cache.l2.first-beat=2", "--inputs", "--", str(HELLO)]
    status, printed, said = here.run(words)
    assert status == 0, said
    assert "left out: all slowest, as " in said
    assert "all fastest" in printed
    assert "all slowest" not in printed


def test_what_a_key_excludes_is_told(mine: Path) -> None:
    workshop = Workshop(native.NativeRunner())
    program = Program("hello", ())
    plan = ab.Plan(str(mine), program, [ab.Choice("a", {}, {"core.clock": "1"})], 1)
    with pytest.raises(BadInput, match=r"core\.clock"):
        ab.fitting(workshop, plan, [Variant("as in the file", {})])
    plan = ab.Plan(str(mine), program, [ab.Choice("a", {}, {})], 1)
    bad = Variant("all slowest", {"exception.entry": "-1"})
    with pytest.raises(BadInput, match="no other value"):
        ab.fitting(workshop, plan, [Variant("as in the file", {}), bad])


@pytest.mark.built
def test_one_combination_shows_how_far_the_inputs_move_it(here: Here, mine: Path) -> None:  # noqa: F811
    status, printed, said = here.run(["ab", "-m", str(mine), "--inputs", "--", str(HELLO)])
    assert status == 0, said
    assert "other choices of the inputs: the cycles change by" in printed + said
    found = json.loads(here.run(["ab", "-m", str(mine), "--inputs", "--json", "--", str(HELLO)])[1])
    assert found[0]["inputs"]["tried"][0]["change"] == 0


@pytest.mark.built
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--inputs", "--baseline", "x"], "exclude each other"),
        (["--inputs", "--save-baseline", "x"], "exclude each other"),
        (["--inputs", "--set", "exception.entry=10"], "--set gives every key"),
        (["--inputs", "-m", "NONE"], "has no table [inputs]"),
        (["--inputs", "-m", "WRONG"], "unknown key `entri`"),
    ],
    ids=str,
)
def test_wrong_uses_of_inputs_are_named(words: list[str], says: str, here: Here, mine: Path) -> None:  # noqa: F811
    none, wrong = mine.with_name("none.toml"), mine.with_name("wrong.toml")
    none.write_text(mine.read_text().split("\n[inputs]")[0])
    wrong.write_text(mine.read_text().replace("exception.entry = [", "exception.entri = ["))
    files = {"NONE": str(none), "WRONG": str(wrong)}
    machine = [] if "-m" in words else ["-m", str(mine)]
    status, printed, said = here.run(["ab", *machine, *(files.get(word, word) for word in words), "--", str(HELLO)])
    assert (status, printed) == (2, ""), said
    assert says in said
    assert "Traceback" not in said


@pytest.mark.built
def test_the_same_from_python(tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagewalk.native.NativeRunner", lambda: ScriptedRunner(answer))
    with Laboratory(tmp_path / "r.duckdb") as lab:
        frame = lab.ab(HELLO, machine=str(mine), policies={"tlb.cutoff": ["off", 20]}, inputs=True)
    cycles = [row for row in frame if row["name"] == "cycles"]
    inputs = [row["inputs"] for row in cycles]
    assert inputs == ["as in the file", "all fastest", "all slowest", "exception.entry=6"]
    assert {round(row["change"], 3) for row in cycles} == {0.1}
