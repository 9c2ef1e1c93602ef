"""Gathers the parts of a job: the kernel, machines with overrides, programs packed for the guest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pagewalk import machines, programs
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import unknown
from pagewalk.placement import AS_BUILT, Placement, linked
from pagewalk.programs import GuestFile
from pagewalk.runner import ResolvedMachine, Runner


class Workshop:
    """A runner, and what the build has made for it to run."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._images: dict[tuple[str | Architecture | Placement | bool | None, ...], bytes] = {}
        self._linked: dict[tuple[Architecture, str, Placement], bytes] = {}
        self._old: dict[tuple[str, Placement], GuestFile] = {}
        self._machines: dict[tuple[str, tuple[tuple[str, str], ...]], ResolvedMachine] = {}

    def kernel_named(self, architecture: Architecture, name: str, placement: Placement = AS_BUILT) -> bytes:
        """The kernel image of that name for an architecture, linked as the placement says."""
        wanted = (architecture, name, placement)
        if wanted not in self._linked:
            folder = architecture.built(architecture.kernel, "the kernel").parent
            known = sorted(path.name for path in folder.glob("vmlinux*"))
            if name not in known:
                raise unknown("kernel image", name, known)
            self._linked[wanted] = linked(folder, name, placement, architecture).read_bytes()
        return self._linked[wanted]

    def old_program(self, name: str, placement: Placement = AS_BUILT) -> GuestFile:
        """The program of that name for Linux from 2.1 on, linked as the placement says."""
        if (name, placement) not in self._old:
            self._old[name, placement] = programs.old_program(name, placement)
        return self._old[name, placement]

    def machine(self, name: str, overrides: Mapping[str, str] | None = None) -> ResolvedMachine:
        """The machine of that name or file, with overrides of its keys."""
        wanted = (name, tuple((overrides or {}).items()))
        if wanted not in self._machines:
            self._machines[wanted] = self.runner.resolve(machines.find(name), overrides or {})
        return self._machines[wanted]

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
        """The initial RAM file system for a benchmark program, other programs that it starts, and a list's files.

        `old`: with the programs that Linux from 2.1 on can run.
        """
        wanted = (architecture, program, *files, listed, placement, init, old)
        if wanted not in self._images:
            found = (
                [self.old_program(name, placement) for name in (program, *files)]
                if old
                else [
                    programs.bench_program(program, architecture),
                    *(programs.user_program(name, architecture) for name in files),
                ]
            )
            self._images[wanted] = programs.image(found, listed, placement, init, architecture)
        return self._images[wanted]
