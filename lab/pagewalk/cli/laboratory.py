"""The local machine, the results file and progress: what the commands that run things share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pagewalk import native
from pagewalk import runner as runs
from pagewalk.cli.output import err
from pagewalk.errors import Interrupted
from pagewalk.execute import Events, Lab, Quiet
from pagewalk.paths import home
from pagewalk.store import Store


class Bars:
    """Progress on standard error: runs done, and how far the running ones are."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=err, transient=True,
        )  # fmt: skip
        self._total: TaskID | None = None

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def planned(self, jobs: int, known: int) -> None:
        """Shows how many runs are needed."""
        self._total = self._progress.add_task("runs", total=jobs, completed=known)
        if known:
            err.print(f"{known} of {jobs} runs are in the results already", highlight=False)

    def progress(self, label: str, progress: runs.Progress) -> None:
        """Shows what runs."""
        if self._total is not None:
            self._progress.update(
                self._total, description=f"{label}: {progress.instructions / 1e6:,.0f} million instructions"
            )

    def finished(self, label: str) -> None:
        """Counts a run; where there is no terminal for a bar, a line says so."""
        if not err.is_terminal:
            err.print(f"{label}: done", highlight=False, soft_wrap=True)
        if self._total is not None:
            self._progress.update(self._total, advance=1, description=label)


@contextmanager
def laboratory(jobs: int | None = None, cluster: str | None = None) -> Iterator[Lab]:
    """The local machine and the results file."""
    with Store(home().results) as store:
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
