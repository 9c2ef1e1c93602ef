"""stress-ng's stressors, one case each, from a program built elsewhere.

Each runs once, verifies its work, and ends after some operations or seconds. The table `stress-ng.toml` says what a
stressor needs in addition, why one is left out, and why one ends in another way than on Linux.
"""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from suite import built
from suite.groups import stripped, with_busybox
from suite.model import Case, Group
from suite.places import PROGRAMS, Missing, wanted

TABLE = Path(__file__).with_name("stress-ng.toml")

# How long a stressor runs, and when it is killed, in the system's time.
_SECONDS = 1
_SECONDS_MOST = 120
_OPERATIONS = 20
_MEMORY = 128
# Few stressors run in one boot, so that processes or files that one leaves behind affect few others.
_TO_A_BOOT = 25


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


def stressors(program: Path) -> list[str]:
    """The stressors that the program itself lists."""
    qemu = wanted(PROGRAMS / "qemu-ppc-static", "run tests/programs/qemu.sh")
    done = subprocess.run([str(qemu), str(program), "--stressors"], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.split():
        raise Missing(f"{program} lists no stressors: {done.stderr.strip()[:200]}")
    return done.stdout.split()


def case(name: str, entry: Entry) -> Case:
    """One stressor's command."""
    command = (
        "/bin/stress-ng", f"--{name}", "1", f"--{name}-ops", str(entry.operations), "--timeout", f"{_SECONDS}s",
        "--verify", "--no-rand-seed", "--temp-path", "/tmp", *entry.options,
    )  # fmt: skip
    return Case(name, command, _SECONDS_MOST, alone=bool(entry.here), quiet=True, ends=entry.here or "status=0")


def group(folder: Path | None) -> Group:
    """Every stressor, except those that the table leaves out."""
    if folder is None:
        raise Missing("stress-ng is not part of the checkout: name a folder that holds the built program with --built")
    program = built.wanted_programs(folder, ["stress-ng"])["stress-ng"]
    known = table()
    image = with_busybox("glibc")
    image.file("bin/stress-ng", stripped(program), 0o755)
    entries = {name: known.get(name, Entry()) for name in stressors(program)}
    cases = [case(name, entry) for name, entry in entries.items() if not entry.left_out]
    title = f"stress-ng, version {built.version(folder) or 'not stated'}, SHA-256 {built.digest(program)}"
    return Group("stress-ng", title, image, cases, memory=_MEMORY, to_a_boot=_TO_A_BOOT)
