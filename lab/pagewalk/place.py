"""Where jobs run: on this computer's cores, or on a Dask cluster that is there already."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from pagewalk.errors import BadInput, NotBuilt, PagewalkError, RunFailed
from pagewalk.runner import Job, Progress, Runner, RunResult

CONNECT_SECONDS = 15
_GONE = (CancelledError, asyncio.CancelledError, OSError, RuntimeError, TimeoutError)
"""What Dask raises, sooner or later, where its scheduler has ended."""


class Place(Protocol):
    """Somewhere jobs run. Used from one thread."""

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        """Starts a job, or queues it; `progress` may be called from any thread, or never."""

    def stop(self) -> None:
        """Drops what is queued, ends what runs, and waits until nothing runs any more."""

    def lost(self, error: BaseException) -> PagewalkError | None:
        """What to tell the person of a job that ended by `error`; None where that is a defect of ours."""


class Local:
    """This computer: one thread a core; the machine runs without the interpreter's lock."""

    def __init__(self, runner: Runner, workers: int | None = None) -> None:
        self._runner = runner
        self._pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
        self._stopped = threading.Event()

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        """See Place."""

        def watch(now: Progress) -> bool:
            progress(now)
            return not self._stopped.is_set()

        return self._pool.submit(self._runner.run, job, watch)

    def stop(self) -> None:
        """See Place."""
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)

    def lost(self, error: BaseException) -> PagewalkError | None:
        """See Place."""
        del error
        return None


def run_on_worker(runner: Runner, version: str, job: Job) -> RunResult:
    """What a cluster's worker does: runs the job, if it has the same simulator."""
    if runner.version != version:
        raise BadInput(
            f"a worker of the cluster has simulator {runner.version}, this computer {version}",
            hint="install the same pagewalk on the workers",
        )
    return runner.run(job, lambda _: True)


class Cluster:
    """A Dask cluster: what a lost worker was running, the scheduler gives to another."""

    def __init__(self, runner: Runner, address: str) -> None:
        try:
            from distributed import Client  # noqa: PLC0415 - Dask is optional, and slow to import
        except ImportError:
            raise NotBuilt("Dask is not installed", hint="pip install 'pagewalk[dask]'") from None
        try:
            client: Any = Client
            self._client = client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BadInput(f"no Dask scheduler answers at {address}: {error}") from None
        self._address = address
        self._runner = runner
        self._pool: Executor = self._client.get_executor(pure=False)

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        """See Place; a cluster does not tell how far a run has come."""
        del progress
        try:
            return self._pool.submit(run_on_worker, self._runner, self._runner.version, job)
        except _GONE as error:
            failed: Future[RunResult] = Future()
            failed.set_exception(error)
            return failed

    def stop(self) -> None:
        """See Place; a scheduler that has gone needs no goodbye."""
        with suppress(*_GONE):
            self._pool.shutdown(wait=False)  # which cancels what is queued or runs
        with suppress(*_GONE):
            self._client.close(timeout=CONNECT_SECONDS)

    def lost(self, error: BaseException) -> PagewalkError | None:
        """See Place."""
        if not isinstance(error, _GONE) and type(error).__module__.partition(".")[0] != "distributed":
            return None
        return RunFailed(
            f"the Dask cluster at {self._address} lost this run ({type(error).__name__})",
            hint="start the scheduler and its workers again, then the same command: finished runs are kept",
        )
