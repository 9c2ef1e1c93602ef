"""MicroPython's own tests, one case each: those of its Unix port that need no network, threads or native code.

The table `micropython.toml` says which are left out, which are not compared, and why.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from suite.groups import with_busybox
from suite.model import Case, Group
from suite.places import PROGRAMS, program, wanted

TABLE = Path(__file__).with_name("micropython.toml")

_FOLDERS = ("basics", "extmod", "float", "import", "io", "micropython", "misc", "stress", "unicode")
# The release writes machine code for other processors only.
_NATIVE = ("native_", "viper_", "asm")

_SECONDS_MOST = 300
_MEMORY = 128
# This many tests fit into the instruction limit of a boot.
_TO_A_BOOT = 200


@dataclass(frozen=True)
class Entry:
    """The table's entry for a test. `left_out`: the reason to leave it out. `quiet`: only its end is compared, not its
    output. `here`: how it must end on our kernel, whatever it does under qemu-ppc, and `why`."""

    left_out: str = ""
    quiet: bool = False
    here: str = ""
    why: str = ""


def table() -> dict[str, Entry]:
    """The table by test."""
    return {name: Entry(**entry) for name, entry in tomllib.loads(TABLE.read_text()).items()}


def case(name: str, entry: Entry) -> Case:
    """One test. It starts in its own folder, because it imports files from there."""
    folder, script = name.split("/")
    command = ("/bin/sh", "-c", f"cd /micropython/{folder} && exec /bin/micropython {script}.py")
    ends = entry.here or "status=0"
    return Case(name, command, _SECONDS_MOST, alone=bool(entry.here), quiet=entry.quiet, ends=ends)


def group() -> Group:
    """Every test of the folders, except those that the table leaves out."""
    image = with_busybox("glibc")
    image.copy("bin/micropython", program("musl", "micropython", "micropython"))
    source = wanted(PROGRAMS / "src" / "micropython", "run tests/programs/micropython.sh")
    image.tree("usr/lib/micropython/asyncio", source / "extmod" / "asyncio")
    known = table()
    cases = []
    for folder in _FOLDERS:
        image.tree(f"micropython/{folder}", source / "tests" / folder)
        for path in sorted((source / "tests" / folder).glob("*.py")):
            entry = known.get(f"{folder}/{path.stem}", Entry())
            if not entry.left_out and not path.stem.startswith(_NATIVE):
                cases.append(case(f"{folder}/{path.stem}", entry))
    title = "MicroPython 1.25.0's own tests"
    return Group("micropython", title, image, cases, memory=_MEMORY, to_a_boot=_TO_A_BOOT)
