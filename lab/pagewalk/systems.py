"""A system: a kernel on a machine, and how a program is started on it. The kernel is ours, or a Linux."""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from pagewalk import policies, subjects
from pagewalk.errors import BadInput
from pagewalk.kernel_image import SECTION
from pagewalk.paths import read_file
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.runner import DEFAULT_INSTRUCTIONS, NO_LIMIT, Job, ResolvedMachine

if TYPE_CHECKING:
    from pagewalk.workshop import Workshop

OWN = "vmlinux"
"""The name of the kernel that the build has made."""

_LINUX_WORDS_MOST = 31
_LINUX_LINE_MOST = 2047
"""How many words Linux hands to init, and how many bytes its command line has (init/main.c, asm/setup.h)."""

_LINUX_BOARDS = "mpc83xx (603, 604, 750), mpc86xx (604, 750) or mpc8xx (8xx)"
_LINUX_BOOT_MOST = 1_000_000_000
"""Instructions until init is ready: a boot takes a tenth of this at most, and a kernel that hangs must end."""
_BOARD = "board.kind"
_CONTROLLER, _PLAIN = "interrupt-controller", "i8259"

_PANIC = re.compile(rb"^(?:\[[ .\d]+\] )?Kernel panic - not syncing: (.*?)\r?$", re.MULTILINE)


def _is_word(text: str) -> bool:
    """Whether the kernel's command line can hold it. What is not UTF-8 is decoded to surrogates."""
    return text != "" and not any(
        character.isspace() or character == '"' or "\ud800" <= character <= "\udfff" for character in text
    )


def command_line(settings: Mapping[str, str], command: Sequence[str], boot: Mapping[str, str] | None = None) -> str:
    """The kernel command line that sets the policies and has init run the command; both are checked.

    `boot`: words that are no policies, which the kernel checks; one without a value stands alone.
    """
    others = [f"{name}={value}" if value else name for name, value in (boot or {}).items()]
    for word in [*others, *command]:
        if not _is_word(word):
            raise BadInput(
                f"argument {word!r}: the kernel's command line holds words of UTF-8 without spaces and quotes",
                hint="put such arguments into a script or a file of the guest",
            )
    words = [f"{name}={value}" for name, value in policies.checked(settings).items()]
    return " ".join([*others, *words, "--", *command])


@dataclass(frozen=True)
class System:
    """A kernel on a machine. `init` is the program of `build/user` that the kernel starts first.

    `causes` tells which functions of a foreign kernel belong to which cause. `words` begin its command line, and
    `quiet` are those that keep its messages off the console.
    """

    machine: ResolvedMachine
    kernel: bytes = field(repr=False)
    name: str
    init: str = "init"
    words: tuple[str, ...] = ()
    quiet: str = "quiet"
    causes: str = field(default="", repr=False)

    @property
    def is_linux(self) -> bool:
        """Whether it has no policies, and an init of its own."""
        return self.init != "init"

    def command_line(
        self,
        settings: Mapping[str, str],
        command: Sequence[str],
        boot: Mapping[str, str] | None = None,
        *,
        quiet: bool = False,
    ) -> str:
        """The kernel command line that sets the policies and has init run the command; all are checked.

        `boot`: words that are no policies, which the kernel checks. `quiet`: the program's output alone is printed.
        """
        others = {**dict.fromkeys(self.words, ""), **({self.quiet: ""} if quiet else {}), **(boot or {})}
        if not self.is_linux:
            core = tomllib.loads(self.machine.config)["core"]["kind"] if policies.NAMED in settings else ""
            return command_line(policies.expanded(settings, core), command, others)
        if settings:
            raise BadInput(f"{self.name} has no policies", hint="leave out --policy: policies are our kernel's")
        line = command_line({}, command, others)
        if len(command) > _LINUX_WORDS_MOST or len(line.encode()) > _LINUX_LINE_MOST:
            raise BadInput(
                f"{self.name} takes at most {_LINUX_WORDS_MOST} words for a program and its arguments, and a command "
                f"line of {_LINUX_LINE_MOST} bytes",
                hint="put the arguments into a script or a file of the guest",
            )
        return line

    def job(self, initrd: bytes, command_line: str, *, limit: int = DEFAULT_INSTRUCTIONS, sample: int = 0) -> Job:
        """A run of this system."""
        return Job(
            machine=self.machine,
            kernel=self.kernel,
            initrd=initrd,
            command_line=command_line,
            limit=limit,
            boot_limit=_LINUX_BOOT_MOST if self.is_linux else NO_LIMIT,
            sample=sample,
            kernel_name=self.name,
            causes=self.causes,
        )


def own(
    workshop: Workshop, machine: str, overrides: Mapping[str, str], name: str = OWN, placement: Placement = AS_BUILT
) -> System:
    """Our kernel, as the build has made it under that name."""
    return System(workshop.machine(machine, overrides), workshop.kernel_named(name, placement), "kernel")


def named(workshop: Workshop, machine: str, overrides: Mapping[str, str], kernel: str) -> System:
    """A subject on a machine, which gets the subject's board; or the kernel image in a file."""
    if not subjects.is_subject(kernel):
        return _from_file(workshop, machine, overrides, Path(kernel))
    others = {key: value for key, value in overrides.items() if key != _BOARD}
    resolved = workshop.machine(machine, others)
    found = subjects.choose(kernel, subjects.needs(resolved.name, resolved.config, overrides.get(_BOARD)))
    board = {_BOARD: found.platform.board}
    # Only the board `prep` has a choice of controllers, which its file may have made.
    if tomllib.loads(resolved.config)["board"].get(_CONTROLLER, _PLAIN) != _PLAIN:
        board[f"board.{_CONTROLLER}"] = _PLAIN
    return System(
        machine=workshop.machine(machine, {**others, **board}),
        kernel=found.image(),
        name=found.name,
        init="init-linux",
        words=tuple(found.boot.words),
        quiet="loglevel=1",
        causes=found.causes,
    )


def _from_file(workshop: Workshop, machine: str, overrides: Mapping[str, str], path: Path) -> System:
    image = read_file(path)
    try:
        sections = {section.name for section in ELFFile(io.BytesIO(image)).iter_sections()}
    except (ELFError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not an ELF file: {error}") from None
    resolved = workshop.machine(machine, overrides)
    if SECTION in sections:
        return System(resolved, image, str(path))
    if tomllib.loads(resolved.config)["board"]["kind"] == "prep":
        raise BadInput(
            f"{path} is no kernel of pagewalk, and no Linux is for {resolved.name}'s board (prep)",
            hint=f"--set {_BOARD}= names the board that it was built for: {_LINUX_BOARDS}",
        )
    return System(
        machine=resolved,
        kernel=image,
        name=str(path),
        init="init-linux",
        words=("norandmaps", "panic=-1"),
        quiet="loglevel=1",
    )


_READY = re.compile(rb"^init: ready\r?\n", re.MULTILINE)


def is_ready(console: bytes) -> bool:
    """Whether Linux has started its init, which is ready to run programs."""
    return _READY.search(console) is not None


def output(console: bytes) -> bytes:
    """What programs printed: on Linux, what comes after init's word that it is ready; all of it without this word."""
    found = _READY.search(console)
    return console[found.end() :] if found else console


def panic(console: bytes) -> str | None:
    """Why Linux panicked, if it did. The board's restart then ends the run, which looks like a power-off."""
    found = _PANIC.findall(console)
    return found[-1].decode("utf-8", "replace") if found else None
