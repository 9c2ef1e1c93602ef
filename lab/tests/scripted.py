"""A runner whose guests follow a script: for tests of what stands above the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pagewalk import _machine
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import BadInput, Interrupted
from pagewalk.execute import Lab
from pagewalk.machines import Machine
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.runner import Job, Progress, ResolvedMachine, RunResult, Stop, Watch

Script = Callable[[Job], RunResult]

EXPERIMENT = """
title = "t"
document = "osdi99"
section = "7"
about = "a"
[settings.before]
label = "off"
policies = { "tlb.cutoff" = "off" }
[settings.after]
label = "on"
policies = { "tlb.cutoff" = "20" }
[[machine]]
name = "ppc604-185"
claim = "osdi99.table2.604-185"
[[row]]
name = "mmap latency"
program = "mmap-latency"
figure = "us"
unit = "us"
better = "lower"
item = 0
"""
"""An experiment file with one row."""


def benchmark(name: str, cycles: Mapping[str, int], iterations: int = 1, moved: int = 0) -> RunResult:
    """The result of a benchmark that printed one row and took these cycles by cause in its region."""
    line = f"@row name={name} region=1 iterations={iterations} bytes={moved} unit=us\n"
    counters = {"cycles": sum(cycles.values()), **{f"cycles.cause.{cause}": n for cause, n in cycles.items()}}
    return RunResult(Stop("power-off", 0, ""), line.encode(), counters, {1: counters}, 0.0)


def nothing(job: Job) -> None:
    """What a scripted runner does before a run, unless told otherwise."""
    del job


@dataclass
class ScriptedRunner:
    """Runs jobs by a script, and keeps them."""

    script: Script
    version: str = "scripted"
    ran: list[Job] = field(default_factory=list)
    before_run: Callable[[Job], None] = nothing

    def resolve(self, machine: Machine, overrides: Mapping[str, str]) -> ResolvedMachine:
        settings = [f"{key}={value}" for key, value in overrides.items()]
        try:
            config, clock = _machine.resolve(machine.path.read_text(), machine.path.name, settings)
        except _machine.ConfigurationError as error:
            raise BadInput(str(error)) from None
        return ResolvedMachine(machine.name, config, clock)

    def run(self, job: Job, watch: Watch) -> RunResult:
        self.before_run(job)
        if not watch(Progress(1, 1)):
            raise Interrupted("ended")
        self.ran.append(job)
        return self.script(job)


class BenchLab(Lab):
    """A lab that needs nothing built: kernel and programs are a few bytes."""

    def bench_image(
        self,
        program: str,
        files: Sequence[str] = (),
        listed: str | None = None,
        placement: Placement = AS_BUILT,
        init: str = "init",
        *,
        architecture: Architecture = POWERPC,
        old: bool = False,
    ) -> bytes:
        del files, listed, init, architecture, old
        return f"{program} {placement.seed}".encode()

    def kernel_named(self, architecture: Architecture, name: str, placement: Placement = AS_BUILT) -> bytes:
        del architecture
        return f"{name} {placement.seed}".encode()
