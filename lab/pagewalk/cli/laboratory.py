"""The local machine, the results file and progress: what the commands that run things share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from pagewalk import native
from pagewalk import runner as runs
from pagewalk.cli.output import err, say
from pagewalk.errors import Interrupted
from pagewalk.execute import Events, Lab, Quiet
from pagewalk.paths import home
from pagewalk.store import Store


class Bars:
    """Progress on standard error: runs done, and how far the running ones are."""

    def __init__(self) -> None:
        self._progress = Progress(
            MofNCompleteColumn(), BarColumn(bar_width=16), TimeElapsedColumn(), TimeRemainingColumn(),
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
                       markup=False),
            console=err, transient=True, expand=True,
        )  # fmt: skip
        self._total: TaskID | None = None
        self._jobs = 0
        self._done = 0

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def planned(self, jobs: int, known: int) -> None:
        """Shows how many runs are needed."""
        self._jobs, self._done = jobs, known
        self._total = self._progress.add_task("runs", total=jobs, completed=known)
        if known:
            say(err, f"{known} of {jobs} runs are in the results already")

    def progress(self, label: str, progress: runs.Progress) -> None:
        """Shows what runs."""
        if self._total is not None:
            self._progress.update(
                self._total, description=f"{label}: {progress.instructions / 1e6:,.0f} million instructions"
            )

    def finished(self, label: str) -> None:
        """Counts a run; where there is no terminal for a bar, a line says so."""
        self._done += 1
        if not err.is_terminal:
            say(err, f"{self._done} of {self._jobs}: {label}: done")
        if self._total is not None:
            self._progress.update(self._total, advance=1, description=label)


class Ticker:
    """How far one run is, on standard error: a line that is written over, or in a pipe a line now and then.

    The guest's own output must not be mixed with it: `clear` comes before that.
    """

    _EVERY = 10.0
    """Seconds between two lines in a pipe."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._next = self._begin + (1.0 if err.is_terminal else self._EVERY)
        self._shown = False

    def show(self, progress: runs.Progress) -> None:
        """Says how many instructions have run, and how fast."""
        now = time.monotonic()
        if now < self._next:
            return
        seconds = now - self._begin
        millions = progress.instructions / 1e6
        line = f"{millions:,.0f} million instructions in {seconds:,.0f} s ({millions / seconds:,.0f} a second)"
        if err.is_terminal:
            self._next = now + 0.5
            err.file.write(f"\r\x1b[2K{line[: err.width - 1]}")
            err.file.flush()
            self._shown = True
        else:
            self._next = now + self._EVERY
            say(err, line)

    def clear(self) -> None:
        """Takes the line off the terminal."""
        if self._shown:
            err.file.write("\r\x1b[2K")
            err.file.flush()
            self._shown = False


@contextmanager
def laboratory(jobs: int | None = None, cluster: str | None = None) -> Iterator[Lab]:
    """The local machine and the results file."""
    with Store(home().results, told=partial(say, err)) as store:
        try:
            yield Lab(native.NativeRunner(), store, workers=jobs, cluster=cluster)
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted; finished runs are kept", hint="the same command goes on from there"
            ) from None


@contextmanager
def events(*, as_json: bool) -> Iterator[Events]:
    """Progress for people, silence for programs."""
    if as_json:
        yield Quiet()
    else:
        with Bars() as bars:
            yield bars
