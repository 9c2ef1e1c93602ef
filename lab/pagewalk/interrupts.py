"""Ctrl-C while something runs that must not be cut in the middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_notes: list[threading.Event] = []


def asked() -> bool:
    """Whether Ctrl-C came inside the block of `noted` that runs now."""
    return any(note.is_set() for note in _notes)


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Inside the block Ctrl-C sets the event instead of raising KeyboardInterrupt.

    Outside the main thread, which alone gets signals, the event is never set.
    """
    note = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield note
        return
    previous = signal.signal(signal.SIGINT, lambda *_: note.set())
    _notes.append(note)
    try:
        yield note
    finally:
        _notes.remove(note)
        signal.signal(signal.SIGINT, previous)
