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
