"""Progress on standard error: of many runs, and of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from pagewalk import runner as runs
from pagewalk.cli.output import err, say
from pagewalk.simulate import Events, Quiet

_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal for a bar."""


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Pace:
    """How fast something goes that has a known end: counts done, and says rate and time left."""

    def __init__(self, total: int, done: int = 0, now: Callable[[], float] = time.monotonic) -> None:
        self.total, self.done = total, done
        self._first = done
        self._now = now
        self._begin = now()

    def _measured(self) -> tuple[str, str]:
        fresh, seconds = self.done - self._first, self._now() - self._begin
        if not fresh or seconds <= 0:
            return "", ""
        left = duration((self.total - self.done) * seconds / fresh)
        rate = f"{fresh / seconds:.1f} a second" if fresh > seconds else f"{fresh * 60 / seconds:.1f} a minute"
        return rate, left

    @property
    def rate(self) -> str:
        """How many in a second or a minute; nothing before the first one is done."""
        return self._measured()[0]

    @property
    def words(self) -> str:
        """Rate and time left; nothing before the first one is done."""
        rate, left = self._measured()
        return f"{rate}, {left} left" if rate else ""


class Bars:
    """Progress on standard error: runs done, how fast, the time left, and how far the running ones are.

    On a terminal it is a bar; elsewhere lines, not more than one in ten seconds for many runs.
    """

    _FEW = 20
    """Up to how many runs each one has a line."""

    def __init__(self) -> None:
        self._progress = Progress(
            MofNCompleteColumn(), BarColumn(bar_width=10), TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(compact=True),
            # A long label takes several lines: nothing of it is lost.
            TextColumn("{task.description}", table_column=Column(ratio=1, overflow="fold"), markup=False),
            console=err, transient=True, expand=True, disable=not err.is_terminal,
        )  # fmt: skip
        self._total: TaskID | None = None
        self._pace = Pace(0)
        self._next = 0.0

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def planned(self, jobs: int, known: int) -> None:
        """Shows how many runs are needed."""
        self._pace = Pace(jobs, known)
        self._next = time.monotonic() + _EVERY
        self._total = self._progress.add_task("", total=jobs, completed=known, rate="")
        if known:
            say(err, f"{known} of {jobs} runs are in the results already")

    def _line(self, text: str, *, always: bool = False) -> None:
        """A line where there is no bar."""
        now = time.monotonic()
        if not err.is_terminal and (always or now >= self._next):
            self._next = now + _EVERY
            say(err, text)

    def progress(self, label: str, progress: runs.Progress) -> None:
        """Shows what runs."""
        text = f"{label}: {progress.instructions / 1e6:,.0f} million instructions"
        if self._total is not None:
            self._progress.update(self._total, description=text, rate=self._pace.rate)
        self._line(f"{self._pace.done} of {self._pace.total} runs; {text}")

    def finished(self, label: str) -> None:
        """Counts a run."""
        pace = self._pace
        pace.done += 1
        last = pace.done == pace.total
        words = f" ({pace.words})" if not last and pace.words else ""
        self._line(f"{pace.done} of {pace.total}{words}: {label}: done", always=last or pace.total <= self._FEW)
        if self._total is not None:
            self._progress.update(self._total, advance=1, description=label, rate=pace.rate)

    def waiting(self, words: str) -> None:
        """Says what is waited for."""
        say(err, f"waiting: {words}")


class Ticker:
    """How far one run is, on standard error: a line that is written over, or in a pipe a line now and then.

    `expected` is about how many instructions it takes, where that is known. The guest's own output must not be mixed
    with it: `clear` comes before that.
    """

    def __init__(self, expected: int | None = None) -> None:
        self._expected = expected
        self._begin = time.monotonic()
        self._next = self._begin + (1.0 if err.is_terminal else _EVERY)
        self._shown = False

    def show(self, progress: runs.Progress) -> None:
        """Says how many instructions have run, how fast, and how much time is left."""
        now = time.monotonic()
        if now < self._next:
            return
        line = ticked(progress.instructions, now - self._begin, self._expected)
        if err.is_terminal:
            self._next = now + 0.5
            err.file.write(f"\r\x1b[2K{line[: err.width - 1]}")
            err.file.flush()
            self._shown = True
        else:
            self._next = now + _EVERY
            say(err, line)

    def clear(self) -> None:
        """Takes the line off the terminal."""
        if self._shown:
            err.file.write("\r\x1b[2K")
            err.file.flush()
            self._shown = False


def ticked(instructions: int, seconds: float, expected: int | None) -> str:
    """How far a run is, in words: at most 79 characters."""
    millions, rate = instructions / 1e6, instructions / 1e6 / seconds
    if expected is None or instructions > expected:
        return f"{millions:,.0f} million instructions in {duration(seconds)}, {rate:,.0f} million a second"
    left = duration((expected - instructions) / 1e6 / rate) if rate else "?"
    return f"{millions:,.0f} of about {expected / 1e6:,.0f} million instructions, {rate:,.0f} a second, {left} left"


@contextmanager
def events(*, as_json: bool) -> Iterator[Events]:
    """Progress for people, silence for programs."""
    if as_json:
        yield Quiet()
    else:
        with Bars() as bars:
            yield bars
