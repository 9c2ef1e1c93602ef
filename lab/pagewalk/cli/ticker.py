"""Progress of one run on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable

from pagewalk import runner as runs
from pagewalk.cli.output import err, say

EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal for a bar."""

Expected = Callable[[], int | None]
"""Finds out about how many instructions a run takes; None if that is not known."""


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Ticker:
    """How far one run is, on standard error: a line that is written over, or in a pipe a line now and then.

    The guest's own output must not be mixed with it: `clear` comes before that. `expected` is asked once, and not of a
    run that ends before it has a line.
    """

    def __init__(self, expected: Expected | None = None) -> None:
        self._ask = expected
        self._expected: int | None = None
        self._begin = time.monotonic()
        self._next = self._begin + (1.0 if err.is_terminal else EVERY)
        self._shown = False

    def show(self, progress: runs.Progress) -> None:
        """Says how many instructions have run, how fast, and how much time is left."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._ask is not None:
            self._expected, self._ask = self._ask(), None
        line = ticked(progress.instructions, now - self._begin, self._expected)
        if err.is_terminal:
            self._next = now + 0.5
            err.file.write(f"\r\x1b[2K{line[: err.width - 1]}")
            err.file.flush()
            self._shown = True
        else:
            self._next = now + EVERY
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
