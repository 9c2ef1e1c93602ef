"""Targets that run the kernel: the pagewalk machine, and QEMU's 40p or PC."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from pagewalk.architectures import RISCV
from pagewalk.subjects import IMAGE, Kernel, choose, needs

from suite.model import Case, Group, Outcome, Transcript, read_transcript
from suite.places import ARCH, ROOT, USER, Missing, kernel_for, machine_file, processors_of, wanted

# How often a system that stops half-way through a group is booted again for the remaining cases.
_STOPS_MOST = 6
# A bound for a process of the host that hangs, on a slow and loaded host too: a guest that hangs is ended by its limit.
_SECONDS_MOST = 6 * 3600


@dataclass(frozen=True)
class MachineTarget:
    """The pagewalk machine, as a file of machines/ describes it. `limit` is in instructions of each processor: those
    that wait for a lock execute some, too. `flags` are the runner's arguments, such as --sanitize. `memory` is a
    minimum in MB; a group may need more."""

    machine: str
    options: str = ""
    flags: tuple[str, ...] = ()
    limit: int = 40_000_000_000
    memory: int = 32

    @property
    def name(self) -> str:
        return " ".join((self.machine, *self.flags, *self.options.split()))

    init: bytes | None = field(default=None, repr=False)

    @property
    def kernel(self) -> Path:
        """The kernel image."""
        return kernel_for(processors_of(self.machine))

    def boot(self, initramfs: Path, arguments: str) -> str:
        runner = wanted(ROOT / "target" / "release" / "pagewalk-machine", "run cargo build --release")
        append = f"{self.options} {arguments}".strip()
        return _console(
            [
                str(runner), "run", "--machine", str(machine_file(self.machine)),
                "--set", f"memory.size={self.memory << 20}",
                "--kernel", str(self.kernel), "--initrd", str(initramfs), f"--append={append}",
                "--max-instructions", str(self.limit * processors_of(self.machine)), *self.flags,
            ],
            _SECONDS_MOST,
        )  # fmt: skip


# In MB. Linux unpacks the archive into a tmpfs, which holds half of the memory.
_LINUX_MEMORY = 256
# In instructions: a test that waits for what only our kernel does must not take an hour.
_LINUX_LIMIT = 10_000_000_000


@dataclass(frozen=True)
class LinuxTarget(MachineTarget):
    """The pagewalk machine with Linux: the kernel `subject` that fits it."""

    subject: Kernel | None = None

    @property
    def name(self) -> str:
        assert self.subject is not None
        return f"{self.machine} with {self.subject.name}"

    @property
    def kernel(self) -> Path:
        assert self.subject is not None
        folder = self.subject.built()
        if folder is None:
            raise Missing(f"{self.subject.name} is not built: run pagewalk subjects build {self.subject.name}")
        return folder / IMAGE

    def boot(self, initramfs: Path, arguments: str) -> str:
        # Linux hands words that it does not know to init too, which knows its program by this.
        return super().boot(initramfs, arguments.replace("-- ", "-- program=", 1))


def linux(name: str, machine: str, options: str, flags: tuple[str, ...]) -> LinuxTarget:
    """A machine with the kernel of that name, on the kernel's board."""
    text = wanted(ROOT / "machines" / f"{machine}.toml", "name a file of machines/").read_text(encoding="utf-8")
    subject = choose(name, needs(machine, text, None))
    words = " ".join([*subject.boot.words, "loglevel=1", options]).strip()
    board: tuple[str, ...] = ("--set", f"board.kind={subject.platform.board}")
    if subject.platform.architecture == "riscv" and RISCV.firmware is not None:
        board += ("--firmware", str(wanted(RISCV.firmware, "./bootstrap test installs Debian's package opensbi")))
    init = wanted(USER / "init-linux", "run make -C user").read_bytes()
    limits = {"memory": _LINUX_MEMORY, "limit": _LINUX_LIMIT}
    return LinuxTarget(machine, words, (*flags, *board), init=init, subject=subject, **limits)


BOARDS = {"40p": "ppc/boot/qemu-40p", "pc": "x86/boot/qemu-pc"}
"""The scripts that boot the kernel on QEMU's boards, below kernel/arch."""


@dataclass(frozen=True)
class QemuTarget:
    """QEMU's 40p with the processor `cpu` (603e, 604, 750), or its PC (486, pentium, ...); `seconds` is the host's.

    A PC may have several processors: pentium2x4 has four."""

    cpu: str
    options: str = ""
    memory: int = 32
    seconds: int = 3600

    @property
    def name(self) -> str:
        return " ".join((f"{self.board}-{self.cpu}", *self.options.split()))

    @property
    def board(self) -> str:
        """QEMU's board for the architecture."""
        return "pc" if ARCH.suffix else "40p"

    def boot(self, initramfs: Path, arguments: str) -> str:
        script = ROOT / "kernel" / "arch" / BOARDS[self.board]
        append = f"{self.options} {arguments}".strip()
        several = re.fullmatch(r"(.+)x(\d+)", self.cpu)
        cpu, count = several.groups() if several else (self.cpu, "")
        kernel = kernel_for(int(count or 1))
        return _console(
            [
                str(script),
                "-c",
                cpu,
                *(("-n", count) if count else ()),
                "-m",
                str(self.memory),
                "-k",
                str(kernel),
                "-i",
                str(initramfs),
                "-t",
                str(self.seconds),
                "--",
                append,
            ],
            self.seconds + 60,
        )


def _console(command: list[str], seconds: int) -> str:
    """Returns the system's output until its end, or until `seconds` of the host's time have passed."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace")
    return done.stdout.decode(errors="replace")


Target = MachineTarget | QemuTarget


def run(target: Target, group: Group) -> Transcript:
    """Runs a group's cases. If the system stops in a case, that case has "no end", and the others run in a new boot."""
    target = replace(target, memory=max(target.memory, group.memory))
    outcomes: dict[str, Outcome] = {}
    said: list[str] = []
    left: list[Case] = list(group.cases)
    stops = 0
    while left and stops < _STOPS_MOST:
        batch = left[: group.to_a_boot or len(left)]
        with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
            file.write(group.packed(batch, getattr(target, "init", None)))
            file.flush()
            transcript = read_transcript(target.boot(Path(file.name), "-- /bin/suite /etc/suite"))
        outcomes.update(transcript.outcomes)
        said.append(transcript.rest)
        started = len([case for case in batch if case.name in transcript.outcomes])
        left = left[started:]
        if not started:
            break
        stops += started < len(batch)
    return Transcript(outcomes, "".join(said))
