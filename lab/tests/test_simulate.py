"""Runs at a place that is lost while it has them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import cast

import pytest

from pagewalk.errors import PagewalkError, RunFailed
from pagewalk.runner import Job, Progress, RunResult
from pagewalk.simulate import Quiet, Simulation, Work


class Silent:
    """A place that takes runs, ends, and says nothing of them any more."""

    takes = 2

    def __init__(self) -> None:
        self.ended = False

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        self.ended = True
        return Future()

    def stop(self) -> None:
        pass

    def lost(self, error: BaseException) -> PagewalkError | None:
        return RunFailed(f"lost: {type(error).__name__}")

    def waits(self) -> str:
        return ""


def test_runs_that_a_lost_place_forgets_end_with_an_error() -> None:
    with pytest.raises(RunFailed, match="lost: ConnectionError"):
        Simulation({"a": Work("a", cast("Job", None))}, Silent(), lambda done: None, Quiet()).run()


class Answering(Silent):
    """A place that gives the results of the runs that it has, and ends then."""

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        self.ended = True
        future: Future[RunResult] = Future()
        future.set_result(cast("RunResult", None))
        return future


def test_runs_that_a_lost_place_was_never_given_end_with_an_error() -> None:
    kept: list[str] = []
    works = {name: Work(name, cast("Job", None)) for name in "abc"}
    with pytest.raises(RunFailed, match="lost: ConnectionError"):
        Simulation(works, Answering(), lambda done: kept.extend(key for key, *_ in done), Quiet()).run()
    assert kept == ["a"]
