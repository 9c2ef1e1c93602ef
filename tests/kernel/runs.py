"""Boots of the kernel on the machine, several at a time."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pagewalk.initramfs import Initramfs
from suite.places import ROOT, USER, kernel_for, machine_file, processors_of, wanted

Given = TypeVar("Given")
Found = TypeVar("Found")

RUNNER = ROOT / "target" / "release" / "pagewalk-machine"
SANITIZED = ("--sanitize", "fetch")

# The kernel's and the runner's exit statuses that tests tell apart (docs/interfaces.md, sections 5 and 9).
REFUSED_WORD = 64
PANIC = 67
LIMIT = 124


@dataclass(frozen=True)
class Boot:
    """How a boot ended: exit status, console output and, with `counted`, the counters."""

    status: int
    console: str
    counters: dict[str, Any]


def packed(programs: dict[str, str], user: Path = USER) -> bytes:
    """An initramfs with init and these programs of `user`. `programs` maps paths to programs' names."""
    image = Initramfs()
    for folder in ("bin", "dev", "proc"):
        image.directory(folder)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    for path, name in {"init": "init", **programs}.items():
        image.copy(path, wanted(user / name, "run make -C user"))
    return image.pack()


def boot(
    machine: str,
    initramfs: Path,
    words: str,
    flags: tuple[str, ...] = SANITIZED,
    *,
    counted: bool = False,
    instructions: int = 4_000_000_000,
    memory: int | None = None,
    kernel: Path | None = None,
) -> Boot:
    """Boots once with these words on the kernel's command line. `instructions` is a limit; `memory` is in MB (None: as
    in the machine file). `kernel`: another image than the machine's."""
    runner = wanted(RUNNER, "run cargo build --release")
    kernel = kernel or kernel_for(processors_of(machine))
    with tempfile.NamedTemporaryFile(suffix=".json") as counters:
        done = subprocess.run(
            [
                str(runner), "run", "--machine", str(machine_file(machine)), "--kernel", str(kernel),
                "--initrd", str(initramfs), f"--append={words}", "--max-instructions", str(instructions), *flags,
                *(("--set", f"memory.size={memory << 20}") if memory else ()),
                *(("--counters", counters.name) if counted else ()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
        figures = json.loads(Path(counters.name).read_bytes()) if counted and done.returncode == 0 else {}
    return Boot(done.returncode, done.stdout.decode(errors="replace"), figures)


def side_by_side(work: Callable[[Given], Found], on: Iterable[Given]) -> list[Found]:
    """Calls `work` for each, as many at a time as this process has processors; returns the results in order."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(work, on))
