"""Where machines, experiments and built images are: in a checkout, or in an installed wheel."""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pagewalk.errors import BadInput, NotBuilt


@dataclass(frozen=True)
class Home:
    """A pagewalk checkout, or the data of an installed wheel (`packaged`), which has the same layout."""

    root: Path
    packaged: bool = False

    @property
    def machines(self) -> Path:
        """One TOML file per machine."""
        return self.root / "machines"

    @property
    def experiments(self) -> Path:
        """One TOML file per published table or section."""
        return self.root / "experiments"

    @property
    def measured(self) -> Path:
        """Results that come with the checkout or the wheel."""
        return self.experiments / "measured"

    @property
    def build(self) -> Path:
        """What the Makefile has built; nothing may be written here if this is a wheel's data."""
        return self.root / "build"

    @property
    def results(self) -> Path:
        """The results file: in the checkout, or in the user's data folder. `PAGEWALK_RESULTS` names another."""
        named = os.environ.get("PAGEWALK_RESULTS")
        if named:
            return Path(named)
        folder = user_folder("XDG_DATA_HOME", ".local/share") if self.packaged else self.root / "results"
        return folder / "pagewalk.duckdb"

    def built(self, path: Path, what: str, command: str = "make") -> Path:
        """`path`, which the build must have made; NotBuilt names the command that makes it."""
        if not path.exists():
            raise NotBuilt(f"{what} is not built ({path} does not exist)", hint=self.how_to_build(command))
        return path

    def how_to_build(self, command: str) -> str:
        """What a person does to get something that `command` makes in a checkout."""
        if self.packaged:
            return f"the wheel does not hold it: get a checkout, run `{command}` there, and pagewalk in its folder"
        return f"run `{command}` first"


PACKAGED = Path(__file__).parent / "data"
"""Where a wheel has its data: `make wheel` puts it there, packed, since kernels and programs are much alike."""


def user_folder(variable: str, default: str) -> Path:
    """pagewalk's folder below a base folder of the XDG specification, whose relative names are to be ignored."""
    base = os.environ.get(variable, "")
    try:
        return (Path(base) if Path(base).is_absolute() else Path.home() / default) / "pagewalk"
    except RuntimeError:
        raise BadInput("this user has no home folder", hint=f"set HOME or {variable}") from None


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


def _unpacked() -> Path:
    """The wheel's data, which are unpacked into the person's cache once. Two commands may do so at the same time."""
    key = (PACKAGED / "key").read_text(encoding="ascii").strip()
    folder = user_folder("XDG_CACHE_HOME", ".cache") / "wheel" / key
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=folder.parent) as new,
            tarfile.open(PACKAGED / "data.tar.xz") as archive,
        ):
            # Pythons before 3.11.4 have no filter, and later ones ask for one.
            if hasattr(tarfile, "data_filter"):
                archive.extraction_filter = staticmethod(tarfile.data_filter)
            archive.extractall(Path(new) / "data")
            with suppress(OSError):
                (Path(new) / "data").rename(folder)
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise BadInput(
            f"{folder}: what the wheel holds cannot be unpacked there: {error}",
            hint="XDG_CACHE_HOME=FOLDER names another folder, with 60 MB of room",
        ) from None
    if not folder.is_dir():
        raise BadInput(f"{folder} cannot be made", hint="XDG_CACHE_HOME=FOLDER names another folder")
    return folder


def _is_home(path: Path) -> bool:
    return (path / "machines").is_dir() and (path / "experiments").is_dir()


@cache
def home() -> Home:
    """The checkout in use: `PAGEWALK_HOME`, else around the working directory, else around this package.

    An installed wheel outside of a checkout uses its own data.
    """
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
    if (PACKAGED / "data.tar.xz").is_file():
        return Home(_unpacked(), packaged=True)
    raise BadInput(
        "no pagewalk checkout found around the working directory, and this package holds no data",
        hint="change into a checkout, set PAGEWALK_HOME, or install the wheel that `make wheel` builds",
    )


def check_writable(file: Path) -> None:
    """Refuses a file that cannot be written, before what it is to hold is made; BadInput says why."""
    if file.is_dir():
        raise BadInput(f"{file} is a folder", hint="name a file in it")
    if not file.parent.is_dir():
        raise BadInput(f"{file.parent} is no folder", hint="make it, or name another file")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise BadInput(f"{file} cannot be written", hint="name another file")
