"""A system: a kernel on a machine, and how a program is started on it. The kernel is ours, or a Linux."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pagewalk import disk, images, policies, subjects
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import BadInput
from pagewalk.image_hash import SECTION
from pagewalk.placement import AS_BUILT, Placement
from pagewalk.programs import CONSOLE, GuestFile, Root, disk_image, image
from pagewalk.runner import BOOT_LIMIT, DEFAULT_INSTRUCTIONS, NO_LIMIT, BootProtocol, Job, ResolvedMachine

if TYPE_CHECKING:
    from pagewalk.images import Image
    from pagewalk.workshop import Workshop

OWN = "vmlinux"
"""The name of the kernel that the build has made for one processor; the next, of that for several."""
OWN_OF_SEVERAL = "vmlinux-smp"

_LINE_MOST = 2047
"""Bytes of a command line, of our kernel (kernel/command_line.c) and of Linux (asm/setup.h)."""
_WORDS_MOST, _LINUX_WORDS_MOST = 64, 31
"""How many words our kernel and Linux (init/main.c) hand to init."""
_PROGRAM = "program="
"""How the program's word begins on Linux, which hands words that it does not know to init too (user/init/init.c)."""

_LINUX_BOARDS = "mpc83xx (603, 604, 750), mpc86xx (604, 750), mpc8xx (8xx) or ppc405gp (405)"
_OLD_LINE_MOST = 255
"""Bytes of the command line that every Linux from 2.1 on takes."""
_OLD_COMMAND_WORDS, _OLD_COMMAND_BYTES = 64, 8192
"""What init reads of /etc/command (user/init/old.c)."""
_OLD_WORDS = ("root=/dev/ram0", "rw", "ramdisk_size=65536", "init=/sbin/init", "panic=1")
_CONSOLES = {"prep": ("console=ttyS0",), "fads": ("console=ttyCPM0", "console=ttyS0")}
"""The serial console of boards that have no device tree. On an MPC8xx 2.6 has another name for it than 2.4."""
_BOARD = "board.kind"
_SYSTEM_CONSOLE = (2, 1, 79)
"""A version that has the device 5,1 for the console; 2.1.53 has not, and takes the serial line's."""
_SERIAL = (4, 64)
_EMPTY_BUS = "board.empty-bus"
_CONTROLLER, _PLAIN = "interrupt-controller", "i8259"

PROGRAM_REGION = 65536
"""init's region: all of the program, without boot and power-off (docs/interfaces.md, section 8)."""

_PANIC = re.compile(rb"^ *(?:\[[ .\d]+\] )?(?:<\d>)?Kernel panic(?: - not syncing)?: (.*?)\r?$", re.MULTILINE)


_PLAIN_WORD = re.compile(r"[!#-\[\]-~]+")
"""A word that a command line can hold: of ASCII, without spaces, quotes and backslashes."""


def _bytes(word: str) -> bytes:
    """An argument as the program gets it; BadInput if no program can."""
    if "\0" in word:
        raise BadInput(f"argument {word!r}: no argument of a program can hold a zero byte")
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        raise BadInput(f"argument {word!r}: not UTF-8") from None


def _encoded(word: str) -> str:
    """The word as init decodes it (user/init/init.c). Linux ends its words for init at a second `--`."""
    content = _bytes(word)
    if word == "--":
        return "\\055-"
    if _PLAIN_WORD.fullmatch(word):
        return word
    letters = (chr(byte) for byte in content)
    return "".join(letter if _PLAIN_WORD.fullmatch(letter) else f"\\{ord(letter):03o}" for letter in letters) or "\\"


def command_line(
    architecture: Architecture,
    settings: Mapping[str, str],
    command: Sequence[str],
    boot: Mapping[str, str] | None = None,
) -> str:
    """The kernel command line that sets the policies and has init run the command; both are checked.

    `boot`: words that are no policies, which the kernel checks; one without a value stands alone.
    """
    others = [f"{name}={value}" if value else name for name, value in (boot or {}).items()]
    for word in others:
        if not _PLAIN_WORD.fullmatch(word) or word == "--":
            raise BadInput(
                f"word {word!r}: the kernel's command line holds words of ASCII without quotes and backslashes, and -- "
                "stands before the program",
                hint="write --append 'name=value name=value'",
            )
    words = [f"{name}={value}" for name, value in policies.checked(settings, architecture).items()]
    return " ".join([*others, *words, "--", *map(_encoded, command)])


def _check_size(line: str, command: Sequence[str], words_most: int, who: str) -> None:
    """Raises if a kernel does not take so much, which it would cut off, or find out when it boots."""
    if len(command) > words_most or len(line.encode()) > _LINE_MOST:
        raise BadInput(
            f"{who} takes at most {words_most} words for a program and its arguments, and a command line of "
            f"{_LINE_MOST} bytes, in which a byte that is no letter, digit or common sign takes four; these are "
            f"{len(command)} words and {len(line.encode()):,} bytes",
            hint="put the arguments into a file of the guest: --file HOST:GUEST",
        )


def marked(command: Sequence[str]) -> list[str]:
    """The words for init on Linux: the first that is no word of init's own (`name=value`) is the program."""
    at = next((n for n, word in enumerate(command) if not word.startswith("stack=")), len(command))
    return [*command[:at], *(f"{_PROGRAM}{word}" for word in command[at : at + 1]), *command[at + 1 :]]


@dataclass(frozen=True)
class System:
    """A kernel on a machine. `init` is the program of `build/user` that the kernel starts first.

    `causes` tells which functions of a foreign kernel belong to which cause. `words` begin its command line, and
    `quiet` keeps its messages off the console. `protocol` is the structure that it is handed; with None the image
    decides. `root` is the kind of its root file system. For a RAM disk, `room` is how many bytes are free, `console`
    has the numbers of the console's device, and `sysctl` is what init writes to files of /proc/sys. `firmware` starts
    the kernel of a RISC-V machine.
    """

    machine: ResolvedMachine
    kernel: bytes = field(repr=False)
    name: str
    init: str = "init"
    words: tuple[str, ...] = ()
    quiet: str = "quiet"
    causes: str = field(default="", repr=False)
    protocol: BootProtocol | None = None
    root: Root = "cpio"
    room: int = disk.ROOM
    console: tuple[int, int] = CONSOLE
    sysctl: Mapping[str, str] = field(default_factory=dict[str, str])
    firmware: bytes = field(default=b"", repr=False)

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
        if self.root == "ext2":
            return self._old_command_line(settings, command, others)
        architecture = self.machine.architecture
        if not self.is_linux:
            line = command_line(architecture, policies.expanded(settings, self.machine.core), command, others)
            _check_size(line, command, _WORDS_MOST, "our kernel")
            return line
        if settings:
            raise BadInput(f"{self.name} has no policies", hint="leave out --policy: policies are our kernel's")
        line = command_line(architecture, {}, marked(command), others)
        _check_size(line, command, _LINUX_WORDS_MOST, self.name)
        return line

    def _old_command_line(self, settings: Mapping[str, str], command: Sequence[str], others: Mapping[str, str]) -> str:
        """The command line of a kernel with a RAM disk, which holds the command itself."""
        if settings:
            raise BadInput(f"{self.name} has no policies", hint="leave out --policy: policies are our kernel's")
        bytes_in_all = sum(len(_bytes(word)) + 1 for word in command)
        if len(command) > _OLD_COMMAND_WORDS or bytes_in_all > _OLD_COMMAND_BYTES:
            raise BadInput(
                f"a RAM disk's init takes at most {_OLD_COMMAND_WORDS} words and {_OLD_COMMAND_BYTES} bytes for a "
                "program and its arguments"
            )
        line = command_line(self.machine.architecture, {}, (), others).removesuffix(" --")
        if len(line.encode()) > _OLD_LINE_MOST:
            raise BadInput(f"{self.name}: the command line has more than {_OLD_LINE_MOST} bytes: {line}")
        return line

    def files(
        self,
        files: Sequence[GuestFile],
        command: Sequence[str],
        *,
        listed: str | None = None,
        placement: Placement = AS_BUILT,
    ) -> bytes:
        """The root file system with these files, as the kernel takes it. A RAM disk holds the command too."""
        if self.root == "cpio":
            return image(files, listed, placement, self.init, self.machine.architecture)
        if listed is not None:
            raise BadInput(f"{self.name} has a RAM disk as root: the list {listed!r} is for an initial RAM file system")
        return disk_image(files, command, self.room, placement, self.console, sysctl=self.sysctl)

    def job(
        self,
        initrd: bytes,
        command_line: str,
        *,
        limit: int = DEFAULT_INSTRUCTIONS,
        boot_limit: int = BOOT_LIMIT,
        sample: int = 0,
    ) -> Job:
        """A run of this system. `boot_limit` is for Linux: see Job."""
        return Job(
            machine=self.machine,
            kernel=self.kernel,
            initrd=initrd,
            command_line=command_line,
            limit=limit,
            boot_limit=boot_limit if self.is_linux else NO_LIMIT,
            sample=sample,
            kernel_name=self.name,
            causes=self.causes,
            protocol=self.protocol,
            firmware=self.firmware,
        )


def image_name(name: str, processors: int) -> str:
    """The image of our kernel for so many processors, by the name of that for one."""
    return name.replace(OWN, OWN_OF_SEVERAL, 1) if processors > 1 else name


def own(
    workshop: Workshop, machine: str, overrides: Mapping[str, str], name: str = OWN, placement: Placement = AS_BUILT
) -> System:
    """Our kernel for the machine and its number of processors, as the build has made it under that name; BadInput on a
    board without drivers."""
    resolved = workshop.machine(machine, overrides)
    if not resolved.architecture.board:
        raise BadInput(
            f"{machine} is a RISC-V machine, and our kernel does not run on it",
            hint="--kernel linux-6.1-riscv runs the program on Linux; docs/riscv.md",
        )
    board, ours = tomllib.loads(resolved.config)["board"]["kind"], resolved.architecture.board
    if board != ours:
        raise BadInput(
            f"{machine}: {_BOARD} is {board!r}, and our kernel has drivers for {ours!r} alone",
            hint="leave the board as it is, or run a Linux built for it with --kernel",
        )
    chosen = image_name(name, resolved.processors)
    return System(resolved, workshop.kernel_named(resolved.architecture, chosen, placement), "kernel")


def named(
    workshop: Workshop, machine: str, overrides: Mapping[str, str], kernel: str, protocol: BootProtocol | None = None
) -> System:
    """A subject on a machine, which gets the subject's board; or the kernel image in a file."""
    if not subjects.is_subject(kernel):
        return from_image(workshop, machine, overrides, images.read(Path(kernel)), protocol=protocol)
    if protocol is not None:
        raise BadInput(f"{kernel} is started by a device tree", hint="leave out --protocol")
    others = {key: value for key, value in overrides.items() if key != _BOARD}
    resolved = workshop.machine(machine, others)
    found = subjects.choose(kernel, subjects.needs(resolved.name, resolved.config, overrides.get(_BOARD)))
    if found.system == "mach":
        raise BadInput(
            f"{kernel} has no file system, and runs no program of ours but those of user/mach",
            hint=f"`pagewalk boot {kernel} -m {machine} --initrd build/user-x86/mach/ipc` boots it; `pagewalk run "
            "sosp93-mach` measures it",
        )
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
        firmware=resolved.architecture.firmware_bytes(),
    )


def on_board(workshop: Workshop, machine: str, overrides: Mapping[str, str], kernel: Image) -> ResolvedMachine:
    """The machine with the board that a Linux of arch/ppc wants, unless the overrides name another.

    On a PReP board such a Linux probes for devices that may not be there.
    """
    resolved = workshop.machine(machine, overrides)
    file = tomllib.loads(resolved.config)
    if kernel.wants_fads and file["core"]["kind"] == "8xx":
        return workshop.machine(machine, {_BOARD: "fads", **overrides})
    if kernel.is_old and file["board"]["kind"] == "prep":
        return workshop.machine(machine, {_EMPTY_BUS: "ones", **overrides})
    return resolved


def from_image(
    workshop: Workshop,
    machine: str,
    overrides: Mapping[str, str],
    kernel: Image,
    *,
    protocol: BootProtocol | None = None,
    root: Root | None = None,
    name: str | None = None,
) -> System:
    """The kernel image of a person on a machine. A Linux before 3.2 gets a RAM disk as root, if `root` says nothing.

    `name` stands for it in messages, by default its path.
    """
    resolved = on_board(workshop, machine, overrides, kernel)
    images.check(kernel, resolved.architecture)
    if kernel.has_section(SECTION):
        return System(resolved, kernel.data, name or kernel.path, protocol=protocol)
    board = tomllib.loads(resolved.config)["board"]["kind"]
    if board == "prep" and not kernel.is_old:
        raise BadInput(
            f"{kernel.path} is no kernel of pagewalk, and no Linux {kernel.version or 'of today'} is for "
            f"{resolved.name}'s board (prep)",
            hint=f"--set {_BOARD}= names the board that it was built for: {_LINUX_BOARDS}",
        )
    if kernel.is_old and kernel.architecture != POWERPC:
        raise BadInput(f"{kernel.path} is a Linux {kernel.version}: programs for it are built for PowerPC only")
    system = System(
        machine=resolved,
        kernel=kernel.data,
        name=name or kernel.path,
        init="init-linux",
        words=("norandmaps", "panic=-1"),
        quiet="loglevel=1",
        causes=kernel.causes() if kernel.is_old else "",
        protocol=protocol,
        firmware=resolved.architecture.firmware_bytes(),
    )
    if (root or ("ext2" if kernel.is_old else "cpio")) == "cpio":
        return system
    console = _SERIAL if kernel.is_older_than(_SYSTEM_CONSOLE) else CONSOLE
    words = (*_OLD_WORDS, *_CONSOLES.get(board, ()))
    return replace(system, root="ext2", words=words, quiet="quiet", console=console)


_READY = re.compile(rb"^\r?init: ready\r?\n", re.MULTILINE)
"""Consoles of Linux 2.1 and 2.2 end a line of the kernel by LF and CR, in this order."""


def lacks_floats(job: Job) -> bool:
    """Whether the job's kernel is a Linux without CONFIG_MATH_EMULATION, on a core without floating-point unit."""
    return job.machine.core == "8xx" and job.boot_limit != NO_LIMIT and b"\0do_mathemu\0" not in job.kernel


def is_ready(console: bytes) -> bool:
    """Whether Linux has started its init, which is ready to run programs."""
    return _READY.search(console) is not None


def output(console: bytes) -> bytes:
    """What programs printed: on Linux, what comes after init's word that it is ready; all of it without this word."""
    found = _READY.search(console)
    return console[found.end() :] if found else console


_NO_ROOT = ("Unable to mount root fs", "No working init", "Requested init /init failed")
"""What Linux says in a panic if it has not unpacked the initial RAM file system, or cannot run its init."""
_RAM_DISK = re.compile(r"01:00|\(1,0\)")
"""How it names the device if its root is a RAM disk."""


def bare_line(kernel: Image, line: str) -> str:
    """The command line of a kernel that a person boots without a program.

    A Linux that panics restarts its board, which ends the run, unless the line says what it does. An old one takes
    no -1, which means at once.
    """
    if not kernel.version or kernel.has_section(SECTION) or any(word.startswith("panic=") for word in line.split()):
        return line
    return f"{'panic=1' if kernel.is_old else 'panic=-1'} {line}".rstrip()


def panic(console: bytes, *, rooted: bool = True) -> str | None:
    """Why Linux panicked, if it did. The board's restart then ends the run, which looks like a power-off.

    `rooted`: it was given an initial RAM file system.
    """
    found = _PANIC.findall(console)
    if not found:
        return None
    why: str = found[-1].decode("utf-8", "replace")
    if not any(words in why for words in _NO_ROOT):
        return why
    if not rooted:
        needs = "it was given no program and no initial RAM file system; write `-- PROG [ARG]...`, or --initrd"
    elif _RAM_DISK.search(why):
        needs = "to mount a RAM disk, it needs CONFIG_BLK_DEV_INITRD, CONFIG_BLK_DEV_RAM and CONFIG_EXT2_FS"
    else:
        needs = "to start init, it needs CONFIG_BLK_DEV_INITRD and CONFIG_BINFMT_ELF"
    return f"{why.rstrip('.')}: {needs}"
