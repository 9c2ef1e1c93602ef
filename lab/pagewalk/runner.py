"""A run, its result, and the interface of a runner.

`native.NativeRunner` runs on this computer; `sweep` hands the same jobs to a cluster.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from pagewalk.architectures import Architecture, of_core
from pagewalk.image_hash import image_hash
from pagewalk.machines import Machine

StopKind = Literal["power-off", "limit", "fatal"]
BootProtocol = Literal["device-tree", "board-information", "residual-data"]
"""The structure that describes the machine to a kernel when it starts (docs/interfaces.md, section 4)."""

# A guest that hangs must not hang the lab; the longest experiment needs about a tenth of this.
DEFAULT_INSTRUCTIONS = 20_000_000_000
BOOT_LIMIT = 4_000_000_000
"""Instructions that Linux may take between two lines on its console before init is ready. A small kernel takes a
fortieth of this for its boot. Debian's takes 2,500 million between two lines. A kernel that hangs must end."""
NO_LIMIT = 2**64 - 1
"""More cycles or instructions than any run takes."""


@dataclass(frozen=True)
class ResolvedMachine:
    """A machine with all its keys: `config` is the whole file with the overrides in place.

    `clock` is the core clock in Hz.
    """

    name: str
    config: str
    clock: int

    @cached_property
    def core(self) -> str:
        """The kind of its core."""
        return str(tomllib.loads(self.config)["core"]["kind"])

    @cached_property
    def processors(self) -> int:
        """How many processors it has."""
        return int(tomllib.loads(self.config).get("processors", 1))

    @property
    def architecture(self) -> Architecture:
        """Its architecture, which decides what kernel and programs it runs."""
        return of_core(self.core)


@dataclass(frozen=True)
class Job:
    """Everything that determines a run.

    `limit` is in instructions. Until Linux's init is ready, its console must show something new within `boot_limit`
    instructions. `sample` is the distance in cycles
    between two looks at TLBs and hash table, 0 for none; looking changes nothing that the guest could notice.
    `kernel_name` stands for the kernel in messages only. `causes` tells which functions of a foreign kernel belong to
    which cause. `profile` is the region whose cycles are charged to functions; None for no profile. `protocol` is the
    structure that the kernel is handed; with None the image decides. `firmware` starts the kernel of a RISC-V machine,
    and `disk` is the image of its disk.
    """

    machine: ResolvedMachine
    kernel: bytes = field(repr=False)
    initrd: bytes = field(repr=False)
    command_line: str
    limit: int = DEFAULT_INSTRUCTIONS
    boot_limit: int = NO_LIMIT
    sample: int = 0
    kernel_name: str = "kernel"
    causes: str = field(default="", repr=False)
    profile: int | None = None
    protocol: BootProtocol | None = None
    firmware: bytes = field(default=b"", repr=False)
    disk: bytes = field(default=b"", repr=False)

    @cached_property
    def kernel_hash(self) -> str:
        """SHA-256 of the kernel image, without what only a debugger reads."""
        return image_hash(self.kernel)

    @cached_property
    def initrd_hash(self) -> str:
        """SHA-256 of the initial RAM file system, and so of every program in it."""
        return hashlib.sha256(self.initrd).hexdigest()

    def key(self, version: str) -> str:
        """The name of the run's result: equal for equal runs of the same simulator `version`."""
        parts = [
            version,
            self.machine.config,
            self.kernel_hash,
            self.initrd_hash,
            self.command_line,
            self.limit,
            self.sample,
            *([self.causes] if self.causes else []),
            *([] if self.profile is None else [f"profile {self.profile}"]),
            *([] if self.boot_limit in (BOOT_LIMIT, NO_LIMIT) else [f"boot limit {self.boot_limit}"]),
            *([] if self.protocol is None else [f"protocol {self.protocol}"]),
            *([f"firmware {hashlib.sha256(self.firmware).hexdigest()}"] if self.firmware else []),
            *([f"disk {hashlib.sha256(self.disk).hexdigest()}"] if self.disk else []),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Stop:
    """Why a run ended: `status` is the guest's with `power-off`; `reason` says where and why else."""

    kind: StopKind
    status: int
    reason: str


@dataclass(frozen=True)
class Sample:
    """One look at TLBs and hash table: counts by name (`snapshot.counts` says which)."""

    cycle: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class RunResult:
    """What a run gave.

    `dumps` are state dumps as JSON: those that the guest asked for, and the sample with the fullest hash
    table, without caches. `host_seconds` is the time that the run took here, of no meaning to the guest. `profile`
    holds cycles by function as folded stacks (`outer;inner cycles`), empty if the job asked for none.
    """

    stop: Stop
    console: bytes
    counters: Mapping[str, int]
    regions: Mapping[int, Mapping[str, int]]
    host_seconds: float
    samples: tuple[Sample, ...] = ()
    dumps: tuple[str, ...] = ()
    profile: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    instructions: int
    cycles: int


Watch = Callable[[Progress], bool]
"""Told from time to time how far a run is; False asks it to end."""


class Runner(Protocol):
    """Something that can run jobs."""

    @property
    def version(self) -> str:
        """The simulator's version; results of different versions are never mixed."""

    def resolve(self, machine: Machine, overrides: Mapping[str, str]) -> ResolvedMachine:
        """The machine with the overrides in place; BadInput names file, line, key and what is allowed."""

    def run(self, job: Job, watch: Watch) -> RunResult:
        """Runs the job to its end; Interrupted when `watch` said to end it."""
