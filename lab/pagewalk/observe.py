"""Observers: a Python function that is called with the TLB misses, evictions, exceptions, context switches and
interrupts between processors of a run.

Filters choose among the events in the machine, before Python sees them. docs/observers.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pagewalk._machine import Event, Machine
from pagewalk.errors import BadInput

Kind = Literal["miss", "eviction", "exception", "switch", "interrupt"]

Callback = Callable[[list[Event], Machine], object]
"""Called with events in order, and with the machine, which stands still: its counters and `dump` can be read."""

_LAST_ADDRESS = 2**32 - 1


@dataclass(frozen=True)
class Observer:
    """A function to call, and which events to call it with: those that satisfy every condition.

    `events` are kinds of event and `causes` cost categories, by name; none means all. `addresses` is the first and the
    last address. A miss passes by the address of the access, an eviction by this or the page that lost its entry, and
    an exception by the address that it interrupted. `context` is the number of an address space (a process id), `user`
    whether the code ran in user mode. A switch has neither address, cause nor mode, and passes these conditions.
    `every` is n to take only each n-th of these events.

    `callback` is called when `batch` events have come, 1 to 65536, about ten times a second if there are fewer, and at
    the end. The run stops for it between two blocks of instructions, so that a block may add a few events. No more
    than these are held in memory. If the callback raises an exception, the run ends with this exception.
    """

    callback: Callback
    events: Sequence[Kind] = ()
    addresses: tuple[int, int] = (0, _LAST_ADDRESS)
    context: int | None = None
    causes: Sequence[str] = ()
    user: bool | None = None
    every: int = 1
    batch: int = 4096

    def begin(self, machine: Machine) -> None:
        """Lets the machine collect events from now on; BadInput if a condition is not valid."""
        for name in ("events", "causes"):
            if isinstance(getattr(self, name), str):
                raise BadInput(f"observer: {name} is one word", hint=f'write a list, such as {name}=["miss"]')
        try:
            machine.listen(
                list(self.events),
                self.addresses,
                self.context,
                list(self.causes),
                self.user,
                self.every,
                self.batch,
            )
        except (ValueError, OverflowError, TypeError) as error:
            raise BadInput(f"observer: {error}") from None

    def hear(self, machine: Machine) -> None:
        """Calls the function with what has been collected, if anything was."""
        if events := machine.heard():
            self.callback(events, machine)


__all__ = ["Callback", "Event", "Kind", "Observer"]
