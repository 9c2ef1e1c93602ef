"""What a machine file leaves open: its table `[inputs]`, and the machines that lie within it.

A key without a source is an input. Where sources or parts bound it, the table names the values that it may have, the
fastest first. An answer that is the same with all of them does not rest on a value that somebody chose.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pagewalk.machines import Machine

AS_IN_FILE = "as in the file"
FASTEST = "all fastest"
SLOWEST = "all slowest"


@dataclass(frozen=True)
class Variant:
    """A machine within the inputs: its name, and the keys that differ from the machine's file."""

    name: str
    keys: Mapping[str, str]


def named(key: str, value: str) -> str:
    """The name of the variant in which one key alone has another value."""
    return f"{key}={value}"


def variants(machine: Machine, fixed: Collection[str] = ()) -> list[Variant]:
    """The machine as its file has it, with all fastest and all slowest values, and with each value alone.

    Only the first, if the machine has no inputs. Keys that are `fixed`, or lie in a table that is, keep their values.
    """
    open_keys = {key: values for key, values in machine.inputs.items() if not any(_touch(key, one) for one in fixed)}
    found = [Variant(AS_IN_FILE, {})]
    if not open_keys:
        return found
    found += [
        Variant(FASTEST, {key: values[0] for key, values in open_keys.items()}),
        Variant(SLOWEST, {key: values[-1] for key, values in open_keys.items()}),
    ]
    found += [
        Variant(named(key, value), {key: value})
        for key, values in open_keys.items()
        for value in values
        if value != machine.values.get(key)
    ]
    return found


def _touch(key: str, other: str) -> bool:
    """Whether one of the two is the other, or a table that holds it."""
    return key == other or key.startswith(f"{other}.") or other.startswith(f"{key}.")
