"""What a machine file leaves open: its table `[inputs]`, and the machines that lie within it.

A key without a source is an input. Where sources or parts bound it, the table names the values that it may have, the
fastest first. An answer that is the same with all of them does not rest on a value that somebody chose.

Some of these keys have no faster end (CROSSED): a value helps one kind of access and hinders another. A machine with
all inputs at one end has each combination of their values, too; these machines are the corners.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pagewalk.machines import Machine

AS_IN_FILE = "as in the file"
FASTEST = "all fastest"
SLOWEST = "all slowest"

CROSSED = ("memory.page-mode", "memory.write-buffer", "cache.l2.policy", "cache.l2.allocate")
"""Keys without a faster end.

An open row serves the next access to it sooner and another one later. A write that is posted frees the bus, and lets
reads and writes alternate between rows. A cache that is written through has no modified line to cast out, but sends
each write to memory. A written line that gets a place takes that of another.
"""
_NAMED = 3
"""So many variants of a kind are named; of more, the first and how many there are."""


@dataclass(frozen=True)
class Variant:
    """A machine within the inputs: its name, and the keys that differ from the machine's file."""

    name: str
    keys: Mapping[str, str]


def named(key: str, value: str) -> str:
    """The name of the variant in which one key alone has another value."""
    return f"{key}={value}"


def variants(machine: Machine, fixed: Collection[str] = ()) -> list[Variant]:
    """The machine as its file has it, at both ends and all corners, and with each value alone.

    Only the first, if the machine has no inputs. Keys that are `fixed`, or lie in a table that is, keep their values.
    """
    return [*ends(machine, fixed), *corners(machine, fixed), *alone(machine, fixed)]


def ends(machine: Machine, fixed: Collection[str] = ()) -> list[Variant]:
    """The machine as its file has it, with all fastest, and with all slowest values; CROSSED keys stay as they are."""
    found = [Variant(AS_IN_FILE, {})]
    ordered, crossed = _open(machine, fixed)
    if ordered or crossed:
        found += [Variant(name, {key: values[place] for key, values in ordered.items()}) for name, place in _ENDS]
    return found


def corners(machine: Machine, fixed: Collection[str] = ()) -> list[Variant]:
    """Both ends with each other combination of the CROSSED keys' values."""
    ordered, crossed = _open(machine, fixed)
    found = []
    for (name, place), chosen in itertools.product(_ENDS, itertools.product(*crossed.values())):
        changed = {key: value for key, value in zip(crossed, chosen, strict=True) if value != machine.values.get(key)}
        if changed:
            words = " and ".join(named(key, value) for key, value in changed.items())
            keys = {key: values[place] for key, values in ordered.items()} | changed
            found.append(Variant(f"{name}{_WITH}{words}", keys))
    return found


def alone(machine: Machine, fixed: Collection[str] = ()) -> list[Variant]:
    """The machine with each value of one input, and all others as in its file."""
    ordered, crossed = _open(machine, fixed)
    return [
        Variant(named(key, value), {key: value})
        for key, values in machine.inputs.items()
        if key in ordered or key in crossed
        for value in values
        if value != machine.values.get(key)
    ]


_ENDS = ((FASTEST, 0), (SLOWEST, -1))
_WITH = " with "


def end_of(name: str) -> str | None:
    """Which end a variant lies at: FASTEST, SLOWEST, or None."""
    end = name.split(_WITH, maxsplit=1)[0]
    return end if end in (FASTEST, SLOWEST) else None


def told(names: Sequence[str], tried: Collection[str]) -> list[str]:
    """Variants in few words: an end whose corners are all among them is one, and of many the first is named."""
    words: list[str] = []
    for end in (FASTEST, SLOWEST, None):
        here = [name for name in names if end_of(name) == end]
        whole = [name for name in tried if end_of(name) == end]
        if end and len(whole) > 1 and len(here) == len(whole):
            words.append(f"{end} at all {len(whole)} corners")
        elif len(here) > _NAMED:
            words.append(f"{here[0]} and {len(here) - 1} more")
        else:
            words += here
    return words


def _open(machine: Machine, fixed: Collection[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The inputs that are not fixed: those with a faster end, and the CROSSED ones."""
    open_keys = {key: values for key, values in machine.inputs.items() if not any(_touch(key, one) for one in fixed)}
    return (
        {key: values for key, values in open_keys.items() if key not in CROSSED},
        {key: values for key, values in open_keys.items() if key in CROSSED},
    )


def _touch(key: str, other: str) -> bool:
    """Whether one of the two is the other, or a table that holds it."""
    return key == other or key.startswith(f"{other}.") or other.startswith(f"{key}.")
