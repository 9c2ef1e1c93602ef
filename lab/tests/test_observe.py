"""Observers: docs/observers.md executed, filters, exceptions, Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from pagewalk import native
from pagewalk.api import Event, Laboratory, Observer, Result
from pagewalk.errors import BadInput
from pagewalk.guest import Program, job
from pagewalk.paths import home
from pagewalk.runner import NO_LIMIT, Job
from pagewalk.workshop import Workshop

pytestmark = [pytest.mark.built]

_STRESS = ("processes=2", "pages=100", "iterations=1", "warmup=0")


def _built(program: str) -> Path:
    return home().root / "build/user" / program


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    return Laboratory(tmp_path / "results.duckdb")


def _observed(lab: Laboratory, observer: Observer, *, machine: str = "ppc604-133") -> Result:
    return lab.observe(observer, _built("bench/tlb-stress"), *_STRESS, machine=machine)


@pytest.mark.parametrize("machine", ["ppc604-133", "ppc603-133", "mpc855t-48"])
def test_every_event_comes_once_and_the_run_is_the_same(lab: Laboratory, machine: str) -> None:
    seen: Counter[str] = Counter()

    def note(events: list[Event], _: object) -> None:
        for event in events:
            seen[event.kind] += 1
            seen[event.vector or ""] += 1

    observed = _observed(lab, Observer(note), machine=machine)
    plain = lab.execute(_built("bench/tlb-stress"), *_STRESS, machine=machine)
    assert observed.key == plain.key
    assert observed.counters == plain.counters
    counters = observed.run.result.counters
    assert seen["miss"] == counters["tlb.data.miss"] + counters["tlb.instruction.miss"]
    assert seen["eviction"] == counters["tlb.data.evicted"] + counters["tlb.instruction.evicted"]
    assert seen["system-call"] == counters["exception.system-call"]
    assert seen["switch"] > 2


def test_conditions_choose_events(lab: Laboratory) -> None:
    found: list[Event] = []
    observer = Observer(
        lambda events, _: found.extend(events),
        events=["miss"],
        addresses=(0x2000_0000, 0x5FFF_FFFF),
        user=True,
        causes=["user"],
        every=3,
        batch=1,
    )
    _observed(lab, observer)
    assert found
    for event in found:
        assert event.kind == "miss"
        assert event.user
        assert event.cause == "user"
        assert event.address is not None
        assert 0x2000_0000 <= event.address <= 0x5FFF_FFFF
        assert event.set == (event.address >> 12) % 64
        assert event.cycles
        assert event.program == "/bin/tlb-stress"
        assert event.victim is None
        assert "miss at cycle" in repr(event)


def test_the_machine_can_be_looked_at_between_events(lab: Laboratory) -> None:
    counts: list[int] = []
    observer = Observer(
        lambda _, machine: counts.append(machine.counters()["exception.system-call"]),
        events=["exception"],
        user=True,
        batch=1,
    )
    result = _observed(lab, observer)
    assert counts == sorted(counts)
    assert counts[-1] <= result.run.result.counters["exception.system-call"]


class _OwnError(Exception):
    pass


def test_an_exception_ends_the_run(lab: Laboratory) -> None:
    calls = []

    def fail(events: list[Event], _: object) -> None:
        calls.append(len(events))
        raise _OwnError("enough")

    with pytest.raises(_OwnError, match="enough"):
        _observed(lab, Observer(fail, batch=5))
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("observer", "words"),
    [
        (Observer(print, events=["hit"]), "`hit` is no kind of event: allowed are miss, eviction, exception, switch"),  # type: ignore[list-item]
        (Observer(print, events="miss"), "observer: events is one word"),  # type: ignore[arg-type]
        (Observer(print, causes=["users"]), "`users` is no cause"),
        (Observer(print, addresses=(2, 1)), "0x2 to 0x1 is empty"),
        (Observer(print, addresses=(0, 2**40)), "observer: "),
        (Observer(print, every=0), "every is 0"),
        (Observer(print, batch=0), "a batch of 0 events: allowed are 1 to 65536"),
        (Observer(print, batch=10**6), "a batch of 1000000 events"),
        (Observer(print, every=-1), "observer: "),
        (Observer(print, context="me"), "observer: "),  # type: ignore[arg-type]
    ],
)
def test_wrong_conditions_are_refused(lab: Laboratory, observer: Observer, words: str) -> None:
    with pytest.raises(BadInput, match=re.escape(words)):
        _observed(lab, observer)


def _endless() -> Job:
    """A run that takes longer than anyone waits."""
    program = Program(_built("bench/tlb-stress"), ("iterations=100000000",))
    return job(Workshop(native.NativeRunner()), "ppc604-133", program, overrides={}, settings={})


def test_ctrl_c_ends_a_run() -> None:
    machine = native.load(_endless())
    ended = threading.Event()

    def press() -> None:
        """Until it is heard: Python drops an interrupt that comes while a finalizer runs."""
        while not ended.wait(0.5):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            native.go(machine, NO_LIMIT, lambda _: True, observer=Observer(lambda *_: None))
    finally:
        ended.set()
        pressing.join()


def test_the_page_works(tmp_path: Path) -> None:
    text = (home().root / "docs" / "observers.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    environment = {**os.environ, "PAGEWALK_HOME": str(home().root), "PAGEWALK_RESULTS": str(tmp_path / "r.duckdb")}
    printed = [
        subprocess.run(
            [sys.executable, "-c", block],
            cwd=home().root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for block in blocks
    ]
    for done in printed:
        assert done.returncode == 0, done.stdout + done.stderr
    assert "function" in printed[1].stdout
    assert re.search(r"process \d+ missed 0x[0-9a-f]{8} in set \d+", printed[0].stdout)
    found = re.search(r"set \d+: (\d+) evictions among (\d+) pages", printed[2].stdout)
    assert found, printed[2].stdout
    worst, pages = map(int, found.groups())
    assert pages > 2
    assert worst > 100
    close, wide, apart, enough = (int(count) for count in re.findall(r": (\d+)", printed[2].stdout)[-4:])
    assert wide * 10 < close
    assert apart * 2 > close
    assert enough * 10 < close
