"""Where jobs run: on the cores of this computer, or on a Dask cluster that has been started already."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from pagewalk.errors import BadInput, NotBuilt, PagewalkError, RunFailed
from pagewalk.runner import Job, Progress, Runner, RunResult

CONNECT_SECONDS = 15
"""How long to wait for a Dask scheduler, in seconds."""
_QUEUED = 4
"""How many jobs a cluster has for each of its processors: one that runs, and some that wait."""
_QUEUED_HERE = 64
"""The same for this computer, where jobs share the images that they run."""
_GONE = (CancelledError, OSError, RuntimeError, TimeoutError)
"""What Dask raises, sooner or later, after its scheduler has ended."""


class Place(Protocol):
    """A place where jobs run. Its methods are called from one thread."""

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        """Starts a job, or queues it. The future has the result, or the error that ended the run.

        `progress` may be called from any thread, or never.
        """

    def stop(self) -> None:
        """Drops the queued jobs, ends the running ones, and waits for their end."""

    def lost(self, error: BaseException) -> PagewalkError | None:
        """The message for a person if `error` says that the place lost the run; None for any other error."""

    @property
    def takes(self) -> int:
        """How many jobs it should have at a time, so that none of its processors waits for one."""

    @property
    def ended(self) -> bool:
        """Whether the place is gone: what is submitted is lost."""

    def waits(self) -> str:
        """What it waits for, in words, if no job can run now; else nothing."""


class Local:
    """This computer, with `workers` threads, by default one for each core. A run does not hold Python's global lock."""

    def __init__(self, runner: Runner, workers: int | None = None) -> None:
        self._runner = runner
        self._workers = workers or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers)
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

    @property
    def takes(self) -> int:
        """See Place."""
        return _QUEUED_HERE * self._workers

    @property
    def ended(self) -> bool:
        """See Place."""
        return False

    def waits(self) -> str:
        """See Place."""
        return ""


def run_on_worker(runner: Runner, version: str, job: Job) -> RunResult:
    """Runs a job on a cluster's worker; BadInput if the worker has another version of the simulator."""
    if runner.version != version:
        raise BadInput(
            f"a worker of the cluster has simulator {runner.version}, this computer {version}",
            hint="install the same pagewalk on the workers",
        )
    return runner.run(job, lambda _: True)


class Cluster:
    """The Dask cluster whose scheduler is at `address`. The scheduler gives the job of a lost worker to another worker.

    NotBuilt if Dask is not installed, BadInput if no scheduler answers.
    """

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
        self._ended = False
        self._left = 0.0

    def submit(self, job: Job, progress: Callable[[Progress], None]) -> Future[RunResult]:
        """See Place; `progress` is never called. A run that ended the processes of three workers is lost."""
        del progress
        try:
            return self._pool.submit(run_on_worker, self._runner, self._runner.version, job)
        except Exception as error:
            if self.lost(error) is None:
                raise
            failed: Future[RunResult] = Future()
            failed.set_exception(error)
            return failed

    def stop(self) -> None:
        """See Place; whatever is raised because the scheduler has ended is ignored."""
        with suppress(Exception):
            self._pool.shutdown(wait=False)  # which cancels what is queued or runs
        with suppress(Exception):
            self._client.close(timeout=CONNECT_SECONDS)

    def lost(self, error: BaseException) -> PagewalkError | None:
        """See Place."""
        kind = type(error).__name__
        if (
            not isinstance(error, (*_GONE, asyncio.CancelledError))
            and type(error).__module__.partition(".")[0] != "distributed"
        ):
            return None
        if kind == "KilledWorker":
            return RunFailed(
                f"the workers of the Dask cluster at {self._address} ended while they had this run",
                hint="look at their memory and logs, then run the same command: finished runs are kept",
            )
        self._ended = True
        return RunFailed(
            f"the Dask cluster at {self._address} lost this run ({kind})",
            hint="start the scheduler and its workers again, then the same command: finished runs are kept",
        )

    def _workers(self) -> list[int]:
        """The processors of each worker, as the scheduler last told."""
        return [worker["nthreads"] for worker in self._client.scheduler_info(n_workers=-1).get("workers", {}).values()]

    @property
    def takes(self) -> int:
        """See Place."""
        return max(_QUEUED * sum(self._workers()), _QUEUED)

    @property
    def ended(self) -> bool:
        """See Place. Dask forgets some runs when its scheduler ends, so a client without one counts too."""
        if self._client.status == "running":
            self._left = 0.0
        elif not self._left:
            self._left = time.monotonic()
        elif time.monotonic() > self._left + CONNECT_SECONDS:
            self._ended = True
        return self._ended

    def waits(self) -> str:
        """See Place."""
        return "" if self._ended or self._workers() else f"the Dask cluster at {self._address} has no worker: start one"
