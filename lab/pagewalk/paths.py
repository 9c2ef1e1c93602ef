"""Where the parts of a checkout lie: machines, experiments, and what the build has made."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pagewalk.errors import BadInput, NotBuilt


@dataclass(frozen=True)
class Home:
    """A pagewalk checkout (or an installed copy of its data with the same layout)."""

    root: Path

    @property
    def machines(self) -> Path:
        """One TOML file per machine."""
        return self.root / "machines"

    @property
    def experiments(self) -> Path:
        """One TOML file per published table or section."""
        return self.root / "experiments"

    @property
    def build(self) -> Path:
        """What the Makefile has built."""
        return self.root / "build"

    @property
    def kernel(self) -> Path:
        """The kernel image."""
        return self.build / "kernel" / "vmlinux"

    @property
    def results(self) -> Path:
        """The results file; `PAGEWALK_RESULTS` names another."""
        named = os.environ.get("PAGEWALK_RESULTS")
        return Path(named) if named else self.root / "results" / "pagewalk.duckdb"

    def built(self, path: Path, what: str) -> Path:
        """`path`, which the build must have made; NotBuilt names the command that makes it."""
        if not path.exists():
            raise NotBuilt(f"{what} is not built ({path} does not exist)", hint="run `make` first")
        return path


FILE_MOST = 256 << 20
"""The size in bytes of the largest kernel, program or guest file that is read."""


def read_file(path: Path, most: int = FILE_MOST) -> bytes:
    """The content of a regular file of at most so many bytes; BadInput for anything else: a device may never end."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{path}: not a regular file")
        if status.st_size > most:
            raise BadInput(f"{path}: {status.st_size >> 20:,} MB are too much; at most {most >> 20:,} MB are read")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def _is_home(path: Path) -> bool:
    return (path / "machines").is_dir() and (path / "experiments").is_dir()


@cache
def home() -> Home:
    """The checkout in use: `PAGEWALK_HOME`, else around the working directory, else around this package."""
    named = os.environ.get("PAGEWALK_HOME")
    if named:
        root = Path(named).resolve()
        if not _is_home(root):
            raise BadInput(f"PAGEWALK_HOME={named} has no machines/ and experiments/ folders")
        return Home(root)
    here = Path.cwd().resolve()
    for start in (here, Path(__file__).resolve()):
        for folder in (start, *start.parents):
            if _is_home(folder):
                return Home(folder)
    raise BadInput(
        "no pagewalk checkout found around the working directory",
        hint="change into it, or set PAGEWALK_HOME",
    )
