"""Progress of many runs on standard error."""

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
from pagewalk.cli.ticker import EVERY, duration
from pagewalk.simulate import Events, Quiet


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
        self._next = time.monotonic() + EVERY
        self._total = self._progress.add_task("", total=jobs, completed=known, rate="")
        if known:
            say(err, f"{known} of {jobs} runs are in the results already")

    def _line(self, text: str, *, always: bool = False) -> None:
        """A line where there is no bar."""
        now = time.monotonic()
        if not err.is_terminal and (always or now >= self._next):
            self._next = now + EVERY
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


@contextmanager
def events(*, as_json: bool) -> Iterator[Events]:
    """Progress for people, silence for programs."""
    if as_json:
        yield Quiet()
    else:
        with Bars() as bars:
            yield bars
