"""Runs many jobs at a place. Each result is kept as soon as it is there: a killed command loses no finished run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pagewalk import interrupts
from pagewalk.errors import Interrupted, PagewalkError
from pagewalk.place import Place
from pagewalk.runner import Job, Progress, RunResult

_TICK = 0.1
"""Seconds between two looks at how far runs have come."""
_KEEP_EVERY = 0.5
"""Seconds between two commits at least: a commit costs as much for one short run as for many."""


class Events(Protocol):
    """Told how the work goes on; called from the thread that started it."""

    def planned(self, jobs: int, known: int) -> None:
        """That many runs are needed, of which `known` are in the store."""

    def progress(self, label: str, progress: Progress) -> None:
        """A run has come this far."""

    def finished(self, label: str) -> None:
        """A run is done and kept."""

    def waiting(self, words: str) -> None:
        """Nothing runs, and the words say what is waited for. Said once for each reason."""


class Quiet:
    """Ignores all progress events."""

    def planned(self, jobs: int, known: int) -> None:
        """Nothing."""

    def progress(self, label: str, progress: Progress) -> None:
        """Nothing."""

    def finished(self, label: str) -> None:
        """Nothing."""

    def waiting(self, words: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Work:
    """A job with the words that progress and errors name it by."""

    label: str
    job: Job


Finished = tuple[str, Job, RunResult]
"""A result with its key and its job."""
Keep = Callable[[Sequence[Finished]], None]
"""Keeps results, all of them or none."""


class Simulation:
    """The runs of `missing`, by key, at a place. No more of them are handed over than the place can use soon."""

    def __init__(self, missing: Mapping[str, Work], place: Place, keep: Keep, events: Events) -> None:
        self._missing = missing
        self._place = place
        self._keep = keep
        self._events = events
        self._latest: dict[str, Progress] = {}
        self._futures: dict[Future[RunResult], str] = {}
        self._errors: list[PagewalkError] = []
        self._kept = 0

    def run(self) -> None:
        """Runs them all. A run that fails does not keep the others from running; the first error comes at the end.

        Interrupted by Ctrl-C, runs in progress are dropped. If the place is lost, no further run is handed over.
        """
        # A run that has ended is kept before Ctrl-C is obeyed.
        with interrupts.noted() as interrupted:
            queued = iter(self._missing)
            pending = self._more(queued, set())
            said = ""
            ready: set[Future[RunResult]] = set()
            kept = time.monotonic()
            try:
                while pending and not interrupted.is_set():
                    fresh, pending = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
                    ready |= fresh
                    if self._place.ended and not fresh:
                        # What still runs there gives no result any more.
                        self._errors += filter(None, [self._place.lost(ConnectionError())])
                        pending = set()
                    for key, progress in list(self._latest.items()):
                        self._events.progress(self._missing[key].label, progress)
                    if ready and (not pending or time.monotonic() >= kept + _KEEP_EVERY):
                        self._take(ready)
                        ready, kept = set(), time.monotonic()
                    pending = self._more(queued, pending)
                    if (words := self._place.waits()) != said:
                        said = words
                        if words:
                            self._events.waiting(words)
                if not interrupted.is_set() and next(queued, None) is not None:
                    # A place that was lost takes no further run.
                    self._errors += filter(None, [self._place.lost(ConnectionError())])
            finally:
                self._place.stop()
            if interrupted.is_set():
                self._take(ready | {f for f in pending if f.done() and not f.cancelled() and f.exception() is None})
                raise Interrupted(
                    f"interrupted: {self._kept} of {len(self._missing)} runs finished and kept",
                    hint="the same command goes on from there",
                )
        if self._errors:
            raise self._errors[0]

    def _more(self, queued: Iterator[str], pending: set[Future[RunResult]]) -> set[Future[RunResult]]:
        """Hands over further runs, until the place has as many as it takes."""
        while len(pending) < self._place.takes and not self._place.ended:
            key = next(queued, None)
            if key is None:
                break
            future = self._place.submit(self._missing[key].job, partial(self._latest.__setitem__, key))
            self._futures[future] = key
            pending.add(future)
        return pending

    def _take(self, ready: set[Future[RunResult]]) -> None:
        """Keeps the results that are ready, in one commit."""
        done: list[Finished] = []
        unexpected: list[BaseException] = []
        for future in ready:
            key = self._futures.pop(future)
            self._latest.pop(key, None)
            try:
                done.append((key, self._missing[key].job, future.result()))
            except PagewalkError as error:
                self._errors.append(error)
            except BaseException as error:
                lost = self._place.lost(error)
                if lost is None:
                    unexpected.append(error)
                else:
                    self._errors.append(lost)
        if done:
            self._keep(done)
            self._kept += len(done)
        for key, _, _ in done:
            self._events.finished(self._missing[key].label)
        if unexpected:
            raise unexpected[0]
