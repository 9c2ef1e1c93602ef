"""Progress in words: count, rate and time left, on a terminal of 80 columns and in a pipe."""

import io
import re

import pytest
from rich.console import Console

from pagewalk.cli import progress
from pagewalk.cli.app import whole
from pagewalk.cli.next_steps import NEXT
from pagewalk.cli.progress import Bars, Pace
from pagewalk.cli.sheet import commands
from pagewalk.cli.ticker import duration, ticked
from pagewalk.runner import Progress


def test_a_pace_says_rate_and_time_left() -> None:
    clock = iter([0.0, 30.0, 30.0, 60.0])
    pace = Pace(10, 4, now=lambda: next(clock))
    assert pace.words == ""  # at 30 s, nothing done yet
    pace.done = 5
    assert pace.words == "2.0 a minute, 150 s left".replace("150 s", duration(150))
    pace.done = 10
    assert pace.words.endswith("0 s left")


@pytest.mark.parametrize("expected", [None, 2 * 10**10, 5])
@pytest.mark.parametrize("instructions", [0, 10**6, 10**10])
def test_how_far_a_run_is_fits_80_columns(instructions: int, expected: int | None) -> None:
    assert len(ticked(instructions, 100_000.0, expected)) < 80


def test_a_run_that_was_made_before_has_a_time_left() -> None:
    assert ticked(10_000_000, 2.0, 40_000_000) == "10 of about 40 million instructions, 5 a second, 6 s left"


def test_in_a_pipe_few_runs_have_a_line_each_and_many_do_not(capfd: pytest.CaptureFixture[str]) -> None:
    for runs, lines in ((3, 3), (5000, 1)):
        with Bars() as bars:
            bars.planned(runs, 0)
            for number in range(runs):
                bars.progress(f"r{number}", Progress(1, 1))
                bars.finished(f"r{number}")
        said = capfd.readouterr().err.splitlines()
        assert len(said) == lines
        assert said[-1].startswith(f"{runs} of {runs}")
    assert "a second" in said[-1] or "left" not in said[-1]


def test_a_bar_of_80_columns_has_the_rate_and_the_whole_label(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(progress, "err", terminal)
    label = "osdi99-table3 context-switch-8p-32k, ppc604-185, vsid=pid,897 and tlb.cutoff=20, placement 17"
    with Bars() as bars:
        bars.planned(12000, 0)
        bars.finished("first")
        bars.progress(label, Progress(1, 1))
        drawn = Console(width=80, record=True, file=io.StringIO())
        drawn.print(bars._progress.get_renderable())
    lines = drawn.export_text().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "1/12000" in lines[0]
    assert re.search(r"\d a (second|minute)", lines[0])
    assert [word for word in label.split() if not any(word in line for line in lines)] == []


OWN = {"run", "exec", "ab", "watch", "sweep"}
"""Commands whose next step depends on what they found."""


def test_no_command_is_a_dead_end() -> None:
    listed = dict(commands(whole()))
    assert set(NEXT) | OWN >= set(listed)
    assert set(NEXT) <= set(listed)
