"""Errors for the person at the keyboard, each with its exit status.

The statuses 124 to 126 are those of the plain machine runner (docs/interfaces.md, section 9).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of the ``pagewalk`` command; ``exec`` also returns the program's own."""

    OK = 0
    USAGE = 2
    STORE = 123
    LIMIT = 124
    FATAL = 125
    BAD_INPUT = 126
    INTERRUPTED = 130


class PagewalkError(Exception):
    """An error with a message for the person at the keyboard; never shown with a traceback."""

    status: ExitStatus = ExitStatus.BAD_INPUT

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def explained(self) -> str:
        """The message with its hint, in one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class BadInput(PagewalkError):
    """A name, file or value that cannot be used as it is."""


class WrongOption(BadInput):
    """A word of the command line that cannot be used; the message names the option."""

    status = ExitStatus.USAGE


class NotBuilt(PagewalkError):
    """A part that a run needs has not been built."""


class RunFailed(PagewalkError):
    """The machine stopped otherwise than by the guest's own power-off with status 0."""

    status = ExitStatus.FATAL


class RunLimit(PagewalkError):
    """The run reached its limit of cycles or instructions."""

    status = ExitStatus.LIMIT


class StoreError(PagewalkError):
    """The results file cannot be read or written."""

    status = ExitStatus.STORE


class Interrupted(PagewalkError):
    """The person pressed Ctrl-C; finished runs are kept."""

    status = ExitStatus.INTERRUPTED


_CLOSE = 0.5
"""How alike a known name is, from 0 to 1, that is suggested for an unknown one."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that begins with `name`, else the closest, of equals the first; None when nothing is close."""
    names = sorted(known)
    longer = [candidate for candidate in names if name and candidate.lower().startswith(name.lower())]
    if longer:
        return longer[0]
    matcher = SequenceMatcher()
    matcher.set_seq2(name.lower())

    def likeness(candidate: str) -> float:
        matcher.set_seq1(candidate)
        return matcher.ratio()

    best = max(names, key=likeness, default=None)
    return best if best is not None and likeness(best) >= _CLOSE else None


def unknown(kind: str, name: str, known: Iterable[str], *, listing: str | None = None) -> BadInput:
    """The error for a name that does not exist: suggests the nearest, and says how to list all."""
    names = sorted(known)
    close = nearest(name, names)
    if close is not None:
        hint = f"did you mean {close!r}?"
    elif not names:
        hint = f"there is no {kind} at all"
    elif len(names) <= 12:
        hint = "known: " + ", ".join(names)
    else:
        hint = None
    if listing is not None and close is None and len(names) > 12:
        hint = f"`{listing}` lists them"
    return BadInput(f"unknown {kind} {name!r}", hint=hint)
