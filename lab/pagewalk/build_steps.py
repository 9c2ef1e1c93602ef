"""What the builds of subjects share: commands and their failures, room on the disk, where a finished kernel goes."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pagewalk.errors import BadInput, NotBuilt
from pagewalk.subjects import IMAGE, RECORD, Architecture, Kernel, Record

SAME = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "pagewalk",
    "KBUILD_BUILD_HOST": "pagewalk",
    "KBUILD_BUILD_VERSION": "1",
    "LC_ALL": "C",
}
"""What makes two builds of the same source the same, byte for byte."""


class Listener(Protocol):
    """Told how a build goes on."""

    def said(self, line: str) -> None:
        """Something that a person wants to know once."""

    def progress(self, name: str, done: int, total: int, seconds_left: float) -> None:
        """So many of about so many objects are compiled."""


@dataclass(frozen=True)
class Choice:
    """What a person chose: the archive's version of the source instead of the pinned one, how many jobs to run, or a
    folder that has the source."""

    newest: bool = False
    jobs: int = 2
    source: Path | None = None


def cross(architecture: Architecture) -> str:
    """What the names of the compiler and its tools begin with: a PC's own compiler also compiles for the i386."""
    if architecture == "powerpc":
        return "powerpc-linux-gnu-"
    if architecture == "riscv":
        return "riscv64-linux-gnu-"
    return "" if platform.machine() in ("x86_64", "i686") else "i686-linux-gnu-"


def room(folder: Path, wanted: int) -> None:
    """Raises if the folder's disk has fewer bytes free."""
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise BadInput(
            f"{folder}: {free >> 20:,} MB are free on this disk, and the build needs about {wanted >> 20:,} MB",
            hint="XDG_CACHE_HOME names another place for kernels",
        )


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def environment() -> dict[str, str]:
    """The variables that a build's commands see: those of a make around the lab are left out."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "KBUILD", "KCONFIG"))
    }
    return {**kept, **SAME}


def run(command: Sequence[str], folder: Path, failed: str) -> None:
    """Runs a command in the folder; NotBuilt says what failed, and the end of what the command said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        raise failure(failed, done.stderr or done.stdout)


def failure(what: str, said: str) -> NotBuilt:
    """The error of a step, with the end of what its command said."""
    if "No space left on device" in said:
        return NotBuilt(f"{what}: the disk is full", hint="XDG_CACHE_HOME names another place for kernels")
    return NotBuilt(what, hint=last(said))


def last(said: str) -> str | None:
    """The last lines of what a command said."""
    lines = [line for line in said.splitlines() if line.strip()]
    return "\n  ".join(lines[-6:]) or None


def publish(kernel: Kernel, version: str, image: Path, config: Path, place: Path) -> None:
    """Puts the finished kernel where the lab finds it, with its configuration and a record of what it was made of."""
    fresh = place.with_name(place.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    shutil.copyfile(image, fresh / IMAGE)
    shutil.copyfile(config, fresh / "config")
    command = [f"{cross(kernel.platform.architecture)}gcc", "-dumpfullversion"]
    compiler = subprocess.run(command, capture_output=True, text=True, check=False)
    record = Record(
        kernel=kernel.name,
        package=kernel.source.package,
        version=version,
        compiler=compiler.stdout.strip(),
        sha256=sha256(fresh / IMAGE),
    )
    (fresh / RECORD).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)
