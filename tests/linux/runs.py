"""A run of one program on Linux or on our kernel, which must end well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pagewalk import _machine, guest, native
from pagewalk.guest import Program
from pagewalk.runner import DEFAULT_INSTRUCTIONS
from pagewalk.workshop import Workshop
from suite.places import Missing

# Bytes of the console that an error shows.
_SHOWN = 2000


def ran(
    kernel: str | None,
    machine: str,
    program: Program,
    said: bytes,
    boot: Mapping[str, str] | None = None,
    *,
    keys: Mapping[str, str] | None = None,
    disk: bytes = b"",
    oracle: bool = False,
    queries: Sequence[str] = (),
) -> _machine.Machine:
    """The machine on which a subject, or (None) our kernel, has run that program.

    Missing if it did not end well, or has not said so. `boot`: further words of a subject's command line. `keys`: of
    the machine. `disk`: the image of a RISC-V machine's disk. `oracle`: without the machine's shortcuts. `queries`:
    events that the machine counts.
    """
    job = guest.job(
        Workshop(native.NativeRunner()), machine, program, overrides=keys or {}, settings={}, kernel=kernel, boot=boot
    )
    loaded = native.load(replace(job, disk=disk))
    loaded.set_oracle(oracle)
    if queries:
        loaded.tally(list(queries), None)
    stop = native.go(loaded, DEFAULT_INSTRUCTIONS, lambda _: True)
    if stop.kind != "power-off" or stop.status or said not in loaded.printed():
        name = kernel or "our kernel"
        raise Missing(
            f"{name} on {machine}: {stop.kind}, status {stop.status}: {stop.reason}\n{loaded.printed()[-_SHOWN:]!r}"
        )
    return loaded
