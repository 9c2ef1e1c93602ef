"""`pagewalk watch`: the machine goes to the next event, the screen shows it, and the guest notices nothing."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from test_hostile_command import pagewalk
from textual.pilot import Pilot
from textual.widgets import Static

from pagewalk import guest, machines, native, recording, snapshot, watching
from pagewalk._machine import Machine
from pagewalk.architectures import ALL
from pagewalk.cli.watch_app import WatchApp
from pagewalk.guest import Program
from pagewalk.runner import NO_LIMIT, Job, Progress
from pagewalk.watching import Watching
from pagewalk.workshop import Workshop

pytestmark = pytest.mark.built


def job(machine: str = "ppc604-133") -> Job:
    program = Program("hello", ())
    return guest.job(Workshop(native.NativeRunner()), machine, program, overrides={}, settings={})


def begun(machine: str = "ppc604-133") -> Watching:
    made = job(machine)
    watched = Watching(native.load(made), made)
    watched.skip_boot("/bin/hello")
    return watched


def test_watching_changes_no_count() -> None:
    made = job()
    plain = native.load(made)
    native.go(plain, made.limit, lambda _: True)
    watched = begun()
    assert watched.event == "the program begins"
    for kind in ("miss", "exception", "switch", "miss"):
        watched.step(kind)
        watched.view()
    while watched.ended is None:
        watched.run()
    assert watched.machine.counters() == plain.counters()
    assert watched.ended == "powered off with status 0"
    watched.step("miss")
    watched.run()
    assert watched.view().ended == watched.ended


@pytest.mark.parametrize("machine", ["ppc603-133", "ppc604-133", "ppc750-400", "mpc855t-48", "i486dx-50", "p6-200x2"])
def test_a_look_at_a_run_changes_no_count(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_SLICE", 10_000)
    made = job(machine)
    looks: list[int] = []

    def look(so_far: Progress) -> bool:
        looks.append(so_far.cycles)
        return True

    whole, looked_at = native.load(made), native.load(made)
    whole.run(NO_LIMIT, made.limit)
    native.go(looked_at, made.limit, look)
    assert len(looks) > 10
    assert looked_at.counters() == whole.counters()


@pytest.mark.parametrize(("kind", "counter"), [("miss", "tlb."), ("exception", "exception.")])
def test_a_step_goes_to_the_next_event_of_its_kind(kind: watching.Step, counter: str) -> None:
    watched = begun()

    def count() -> int:
        counters = watched.machine.counters()
        wanted = [n for n in counters if n.startswith(counter) and (kind == "exception" or n.endswith(".miss"))]
        return sum(counters[name] for name in wanted)

    for _ in range(20):
        before = count()
        watched.step(kind)
        # A run stops between two blocks of instructions, and a block may hold a few events.
        assert before < count() <= before + 4
        assert kind in watched.event


def test_a_switch_names_both_address_spaces() -> None:
    watched = begun()
    watched.step("switch")
    assert "switch from address space" in watched.event or watched.ended is not None


def sides_of(machine: str) -> set[str]:
    if machine.startswith(("ppc970", "ppc405", "i486")):
        return {"unified"}
    large = {"instruction-large", "data-large"} if machine.startswith("p6") else set[str]()
    return {"instruction", "data"} | large


@pytest.mark.parametrize("machine", [name for name in machines.names() if machines.find(name).architecture in ALL])
def test_every_machine_has_lines_for_its_tlbs(machine: str) -> None:
    made = job(machine)
    watched = Watching(native.load(made), made)
    view = watched.view()
    sides = sides_of(machine)
    whose = "processor 0, " if watched.machine.processors > 1 else ""
    assert set(view.tlbs) == {whose + side for side in sides}
    assert all(0 < len(line) <= 64 for lines in view.tlbs.values() for line in lines)
    assert set("".join("".join(lines) for lines in view.tlbs.values())) == {"·"}


def test_entries_are_shown_with_their_owner_and_the_table_with_its_fill() -> None:
    watched = begun()
    watched.run(400_000)
    state = json.loads(watched.machine.dump(0))
    view = watched.view()
    shown = "".join("".join(lines) for lines in view.tlbs.values())
    assert len(shown) - shown.count("·") == len(state["instruction_tlb"]) + len(state["data_tlb"])
    assert "k" in shown
    assert view.hash_table[0].startswith(f"{state['hash_table']['used']:,} of")
    assert len(view.hash_table[1]) == 64
    assert sum(fresh for _, _, fresh in view.causes) > 0
    assert view.functions
    # Causes and functions are of the same cycles: the program's.
    assert sum(cycles for _, cycles, _ in view.causes) == sum(row[4] for row in watched.machine.profile())
    named = [(name, cause) for name, cause, _ in view.functions]
    assert len(named) == len(set(named))


def test_boot_is_counted_if_it_is_wanted() -> None:
    made = job()
    watched = Watching(native.load(made), made, boot=True)
    watched.run(400_000)
    assert sum(cycles for _, cycles, _ in watched.view().causes) >= 400_000


def drive(play: Callable[[WatchApp, Pilot[Any]], Awaitable[None]], *, paused: bool, size: tuple[int, int]) -> WatchApp:
    app = WatchApp(begun(), "hello on ppc604-133", paused=paused)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await play(app, pilot)

    asyncio.run(run())
    return app


def text(app: WatchApp, name: str) -> str:
    return str(app.query_one(f"#{name}", Static).content)


def shows(app: WatchApp, word: str) -> bool:
    return word in text(app, "event") or "status" in text(app, "state")


async def settled(app: WatchApp, pilot: Pilot[Any], wanted: Callable[[], bool]) -> None:
    for _ in range(600):
        await pilot.pause(0.05)
        if wanted():
            return
    raise AssertionError(text(app, "state"))


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 12)])
def test_the_screen_steps_by_miss_exception_and_switch(size: tuple[int, int]) -> None:
    async def play(app: WatchApp, pilot: Pilot[Any]) -> None:
        await settled(app, pilot, lambda: "paused" in text(app, "state"))
        for key, word in (("m", "TLB miss at"), ("e", "exception "), ("s", "switch")):
            await pilot.press(key)
            await settled(app, pilot, partial(shows, app, word))
        assert "hash table" in text(app, "hash")
        await pilot.press("q")

    assert drive(play, paused=True, size=size).return_value == 0


def test_the_screen_runs_to_the_end_and_pauses() -> None:
    async def play(app: WatchApp, pilot: Pilot[Any]) -> None:
        await pilot.press("space", "space")
        await settled(app, pilot, lambda: "powered off with status 0" in text(app, "state"))
        await pilot.press("m", "space", "x")
        assert "hello" in text(app, "console")
        await pilot.press("ctrl+c")

    assert drive(play, paused=False, size=(80, 24)).return_value == 130


def test_a_pipe_is_told_that_a_terminal_is_needed() -> None:
    done = pagewalk("watch", "--", "hello")
    assert done.returncode == 126
    assert b"needs a terminal" in done.stderr
    for words, says in ((["-p", "tlb.cutof=1"], b"tlb.cutoff"), (["-m", "ppc604-18"], b"ppc604-185"), ([], b"PROG")):
        refused = pagewalk("watch", *words, *(["--", "hello"] if words else []))
        assert refused.returncode == 2
        assert says in refused.stderr


def test_an_8xx_shows_the_kernels_entries_and_those_of_other_spaces() -> None:
    def entry(number: int, address: int, asid: int, *, valid: bool = True) -> dict[str, Any]:
        return {"number": number, "valid": valid, "effective": address, "physical": 0, "asid": asid}

    data = [entry(0, 0xC0000000, 0), entry(2, 0x1000, 3), entry(3, 0x1000, 4), entry(4, 0x2000, 4, valid=False)]
    view_state = {
        "casid": 3, "segments": [], "instruction_tlb": [], "data_tlb": [],
        "instruction_entries": [], "data_entries": data,
    }  # fmt: skip
    config = "[tlb.instruction]\nentries = 2\nways = 2\n[tlb.data]\nentries = 5\nways = 5\n"
    assert watching.tlb_lines(view_state, config) == {"instruction": ["··"], "data": ["k·uo·"]}


def test_an_x86_shows_the_tlbs_of_both_page_sizes() -> None:
    def entry(set_: int, way: int, page: int) -> dict[str, int]:
        return {"set": set_, "way": way, "page": page, "frame": 0x1000}

    state = {
        "cr3": 0x1000,
        "tlb": {"data": [entry(1, 0, 0x0804_9000), entry(0, 1, 0xC000_0000)], "data, 4 MB pages": []},
    }
    config = "[tlb.data]\nentries = 4\nways = 2\n[tlb.data-large]\nentries = 2\nways = 2\n"
    assert watching.tlb_lines(state, config) == {"data": ["·u", "k·"], "data-large": ["··"]}
    assert watching.hash_lines(state) == []
    assert snapshot.counts(state) == {"tlb.used": 2, "tlb.kernel": 1}
    assert recording.slim({"cycle": 3, **state}) == {
        "cycle": 3,
        "tlb": {
            "data": [[1, 0, None, 0x0804_9000, 0x1000, "running"], [0, 1, None, 0xC000_0000, 0x1000, "kernel"]],
            "data-large": [],
        },
    }


def test_a_970_shows_the_tlb_behind_its_erats() -> None:
    def entry(way: int, number: int, vsid: int) -> dict[str, int]:
        return {"set": number, "way": way, "vsid": vsid, "page_index": 0, "physical": 0}

    slb = [{"effective": segment << 28, "vsid": vsid} for segment, vsid in [(0, 0x10), (12, 0x1000040), (15, 0xF)]]
    tlb = [entry(0, 1, 0x10), entry(1, 0, 0x1000040), entry(1, 1, 0xF), entry(0, 0, 0x20)]
    table = {"groups": 4, "used": 2, "histogram": [2, 2, *[0] * 7], "entries": [{"vsid": 0xF}, {"vsid": 0x20}]}
    state: dict[str, Any] = {
        "casid": None, "segments": [], "wide": {"slb": slb, "tlb": tlb}, "hash_table": table,
        "instruction_tlb": [], "data_tlb": [], "instruction_entries": [], "data_entries": [],
    }  # fmt: skip
    config = "[tlb.instruction]\nentries = 8\nways = 8\n[tlb.unified]\nentries = 4\nways = 2\n"
    assert watching.tlb_lines(state, config) == {"unified": ["ou", "kk"]}
    counts = snapshot.counts(state)
    assert (counts["tlb.used"], counts["tlb.kernel"]) == (4, 2)
    assert (counts["hash.used"], counts["hash.kernel"]) == (2, 1)


def test_on_linux_a_program_begins_when_init_is_ready() -> None:
    class Linux:
        """It boots, init misses twice, is ready, and its program misses."""

        instructions = cycles = 0
        console = (b"Linux", b"Linux\ninit: ready\n", b"Linux\ninit: ready\n")
        at = -1

        def listen(self, *words: object) -> None:
            """Takes anything."""

        def most_cycles(self, instructions: int) -> int:
            """No limit of its own."""
            return instructions

        def run(self, _cycles: int, _limit: int) -> tuple[str, int, str]:
            self.at += 1
            return ("batch", 0, "") if self.at < len(self.console) else ("power-off", 0, "power-off 0")

        def heard(self) -> list[SimpleNamespace]:
            return [SimpleNamespace(program="context 14352")] if self.at in {0, 2} else []

        def printed(self) -> bytes:
            return self.console[self.at]

    machine = Linux()
    assert watching.to_program(cast("Machine", machine), "/bin/hello", 10**9) is None
    assert machine.at == 2
