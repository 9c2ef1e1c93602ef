"""stress-ng's stressors, one case each.

Each runs once, verifies its work, and ends after some operations or seconds. The table `stress-ng.toml` says what a
stressor needs in addition, why one is left out, and why one ends in another way than on Linux. A second group runs
several instances at a time of those whose processes or threads share memory, files or semaphores.
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from suite import built
from suite.groups import stripped, with_busybox
from suite.model import Case, Group
from suite.places import ARCH, BUILDS, PROGRAMS, Missing, wanted

TABLE = Path(__file__).with_name("stress-ng.toml")

# How long a stressor runs, and when it is killed, in the system's time.
_SECONDS = 1
_SECONDS_MOST = 120
_OPERATIONS = 20
_MEMORY = 128
# Few stressors run in one boot, so that processes or files that one leaves behind affect few others.
_TO_A_BOOT = 25

# What runs on several processors at a time, how many instances of each, and sizes so that these fit into memory.
_SEVERAL = (
    "tlb-shootdown", "mmap", "mmapmany", "munmap", "mprotect", "mremap", "madvise", "vm", "vm-rw", "fault", "shm-sysv",
    "fork", "vforkmany", "pthread", "exit-group", "futex", "mutex", "membarrier", "sem", "sem-sysv", "mq",
    "pipe", "switch", "affinity", "schedpolicy", "sockpair", "epoll", "sigq", "kill", "wait", "zombie", "pidfd",
    "ptrace", "timer", "procfs", "lockf", "rename", "mcontend",
)  # fmt: skip
_INSTANCES = 4
_SMALL = (
    "--mmap-bytes", "2m", "--mremap-bytes", "1m", "--vm-bytes", "2m", "--vm-rw-bytes", "1m", "--shm-sysv-bytes", "1m",
    "--shm-sysv-segs", "4", "--pthread-max", "16", "--zombie-max", "20",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """The table's entry for a stressor. `left_out`: the reason to leave it out. `needs`: a missing requirement; the
    stressor skips itself. `here`: how it must end on our kernel, whatever it does on Linux, and `why`."""

    options: tuple[str, ...] = ()
    operations: int = _OPERATIONS
    left_out: str = ""
    needs: str = ""
    here: str = ""
    why: str = ""


def table() -> dict[str, Entry]:
    """The table by stressor."""
    entries = tomllib.loads(TABLE.read_text())
    return {name: Entry(**{**entry, "options": tuple(entry.get("options", ()))}) for name, entry in entries.items()}


def _said(program: Path, option: str) -> list[str]:
    """The words that the program prints for an option."""
    qemu = wanted(PROGRAMS / ARCH.emulator, f"run {BUILDS}tests/programs/qemu.sh")
    done = subprocess.run([str(qemu), str(program), option], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.split():
        raise Missing(f"{program} says nothing for {option}: {done.stderr.strip()[:200]}")
    return done.stdout.split()


def stressors(program: Path) -> list[str]:
    """The stressors that the program itself lists."""
    return _said(program, "--stressors")


def _version(program: Path) -> str:
    """The release: "stress-ng, version 0.15.06 (gcc ...)"."""
    words = _said(program, "--version")
    return words[2] if len(words) > 2 else "not stated"


def case(name: str, entry: Entry, instances: int = 1) -> Case:
    """One stressor's command."""
    command = (
        "/bin/stress-ng", f"--{name}", str(instances), f"--{name}-ops", str(entry.operations),
        "--timeout", f"{_SECONDS}s", "--verify", "--no-rand-seed", "--temp-path", "/tmp", *entry.options,
    )  # fmt: skip
    return Case(name, command, _SECONDS_MOST, alone=bool(entry.here), quiet=True, ends=entry.here or "status=0")


def _built(folder: Path | None) -> Path:
    """The program: that of tests/programs/stress-ng.sh, or that of a folder."""
    if folder is not None:
        return built.wanted_programs(folder, ["stress-ng"])["stress-ng"]
    how = f"run {BUILDS}tests/programs/stress-ng.sh, or name a folder that holds a built one with --built"
    return wanted(PROGRAMS / "bin" / "glibc" / "stress-ng", how)


def _group(name: str, folder: Path | None, cases: Callable[[Path], list[Case]]) -> Group:
    program = _built(folder)
    image = with_busybox("glibc")
    image.file("bin/stress-ng", stripped(program), 0o755)
    title = f"{name}, version {_version(program)}, SHA-256 {built.digest(program)}"
    return Group(name, title, image, cases(program), memory=_MEMORY, to_a_boot=_TO_A_BOOT)


def group(folder: Path | None) -> Group:
    """Every stressor, except those that the table leaves out."""
    known = table()

    def cases(program: Path) -> list[Case]:
        entries = {name: known.get(name, Entry()) for name in stressors(program)}
        return [case(name, entry) for name, entry in entries.items() if not entry.left_out]

    return _group("stress-ng", folder, cases)


def several(folder: Path | None) -> Group:
    """Several instances at a time of stressors that share something; on our kernel only, where all must end well."""
    known = table()

    def cases(_program: Path) -> list[Case]:
        entries = {name: replace(known.get(name, Entry()), here="status=0") for name in _SEVERAL}
        return [
            case(name, replace(entry, options=(*_SMALL, *entry.options)), _INSTANCES) for name, entry in entries.items()
        ]

    return _group("stress-ng-several", folder, cases)
