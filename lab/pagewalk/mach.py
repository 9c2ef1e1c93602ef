"""Runs of GNU Mach: the kernel, and one program of `user/mach` as its only boot module.

Mach takes the command line as its boot script: the program's words, then what Mach does with the task that it makes of
them. There is no file system, and so none of our kernel's programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pagewalk import architectures, subjects
from pagewalk.errors import BadInput, unknown
from pagewalk.paths import read_file
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.runner import DEFAULT_INSTRUCTIONS, Job
from pagewalk.subjects import Kernel
from pagewalk.workshop import Workshop

_START = ("$(task-create)", "$(task-resume)")
_PAGE = 4096


def is_mach(subject: str) -> bool:
    """Whether a subject's name is that of a Mach."""
    return subjects.is_subject(subject) and any(
        kernel.system == "mach" for kernel in subjects.all_kernels() if subject in (kernel.subject, kernel.name)
    )


def program(name: str) -> bytes:
    """The program of that name that the build has made for Mach."""
    folder = architectures.X86.built(architectures.X86.user / "mach", "the programs for Mach")
    known = sorted(path.name for path in folder.iterdir())
    if name not in known:
        raise unknown("program for Mach", name, known)
    return read_file(folder / name)


def command_line(kernel: Kernel, words: Sequence[str]) -> str:
    """Mach's boot script for its only module with these words."""
    for word in words:
        if any(letter in word for letter in " \t\n\0$()"):
            raise BadInput(f"argument {word!r}: a word of Mach's boot script holds no space, $ or parenthesis")
    return " ".join([*kernel.boot.words, *words, *_START])


def job(
    workshop: Workshop,
    machine: str,
    overrides: Mapping[str, str],
    subject: str,
    module: bytes,
    *,
    words: Sequence[str] = (),
    placement: Placement = AS_BUILT,
    limit: int = DEFAULT_INSTRUCTIONS,
    sample: int = 0,
) -> Job:
    """A run of a Mach with that module.

    A placement moves the module's frames, because zeros behind the module take so many pages more, and its stack.
    """
    resolved = workshop.machine(machine, overrides)
    kernel = subjects.choose(subject, subjects.needs(resolved.name, resolved.config, overrides.get("board.kind")))
    return Job(
        machine=resolved,
        kernel=kernel.image(),
        initrd=module + bytes(_PAGE * placement.frames),
        command_line=command_line(kernel, [*placement.init_options, *words]),
        limit=limit,
        sample=sample,
        kernel_name=kernel.name,
        causes=kernel.causes,
    )
