"""Programs in the guest as a person runs them: what they printed, and how they ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagewalk import systems
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import BadInput
from pagewalk.paths import read_file
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.programs import GuestFile, check_executable, find
from pagewalk.runner import BOOT_LIMIT, DEFAULT_INSTRUCTIONS, BootProtocol, Job
from pagewalk.workshop import Workshop

# init can hand 0 to 62 to the kernel and says on the console what did not fit (user/init/init.c).
_STATUS_OTHER = 63
NOT_BEGUN = range(64, 67)
"""Our kernel's own statuses: it refuses its command line, finds no init, or has too little memory."""
_ENDED = re.compile(rb"^init: (?s:.*?): (exit status|killed by signal) (\d+)\r?$", re.MULTILINE)
"""The program's name may hold any byte. init says this last."""
_RESET = re.compile(rb"^init: this kernel has no /dev/mem: counts are of the whole run; status (\d+)\r?$", re.MULTILINE)
SIGNALLED = 128
"""An exit status above this names the signal that killed the program: this plus its number."""
PROGRAM_REGION = systems.PROGRAM_REGION


def program_counters(regions: Mapping[int, Mapping[str, int]], counters: Mapping[str, int]) -> Mapping[str, int]:
    """The counters of the program alone, or of the whole run where its end was not reached."""
    return regions.get(PROGRAM_REGION, counters)


@dataclass(frozen=True)
class Program:
    """A host program with its arguments, and further files to lie beside it.

    `name` is the word that a person wrote for it: `./prog` is a path and nothing else, `prog` may be a built program. A
    `Path` names a file.
    """

    name: str | Path
    arguments: tuple[str, ...]
    files: tuple[GuestFile, ...] = ()

    @property
    def title(self) -> str:
        """Its name without folders."""
        return Path(self.name).name


def guest_file(text: str) -> GuestFile:
    """A further file from `HOST` or `HOST:GUEST`; without a guest path it lies in the root under its own name."""
    host, _, guest = text.partition(":")
    source = Path(host)
    if not source.is_file():
        raise BadInput(f"{host} is no file", hint="write host-path or host-path:guest-path")
    return GuestFile(source, guest or f"/{source.name}")


def read_program(path: Path, architecture: Architecture = POWERPC) -> bytes:
    """The bytes of a program that the guest can run; BadInput says why it cannot."""
    data = read_file(path)
    check_executable(path, data, architecture)
    return data


def job(
    workshop: Workshop,
    machine: str,
    program: Program,
    *,
    overrides: Mapping[str, str],
    settings: Mapping[str, str],
    limit: int = DEFAULT_INSTRUCTIONS,
    boot_limit: int = BOOT_LIMIT,
    kernel: str | None = None,
    protocol: BootProtocol | None = None,
    boot: Mapping[str, str] | None = None,
    quiet: bool = True,
    placement: Placement = AS_BUILT,
    profile: int | None = None,
) -> Job:
    """The run of one program by init on the kernel that the build has made, or on a subject or kernel image.

    The program is a file, or the name of a built program. `quiet`: the program's output alone is printed. Only our
    kernel has placements other than that of the build. `profile`: the region whose cycles are charged to functions.
    `protocol` and `boot`, further words of the command line, are for a kernel image.
    """
    system = (
        systems.own(workshop, machine, overrides, placement=placement)
        if kernel is None
        else systems.named(workshop, machine, overrides, kernel, protocol)
    )
    architecture = system.machine.architecture
    path = find(program.name, system.root, architecture)
    read_program(path, architecture)
    inside = f"/bin/{program.title}"
    words: Sequence[str] = [*placement.init_options, inside, *program.arguments]
    line = system.command_line(settings, words, boot, quiet=quiet)
    files = system.files([GuestFile(path, inside), *program.files], words, placement=placement)
    return replace(system.job(files, line, limit=limit, boot_limit=boot_limit), profile=profile)


def exit_status(status: int, console: bytes) -> int:
    """The program's own exit status, 128 and the signal's number where one killed it."""
    # A Linux without /dev/mem resets the board, which has no status.
    if resets := _RESET.findall(console):
        status = int(resets[-1])
    if status != _STATUS_OTHER:
        return status
    if ended := _ENDED.findall(console):
        how, number = ended[-1]
        return int(number) + (SIGNALLED if how.startswith(b"killed") else 0)
    return status
