"""How many instructions of this computer a simulated one takes: a bound, which no other work on the host moves."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from pagewalk.paths import home

pytestmark = [pytest.mark.built]

COUNT = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--smc-check=all"]
MOST = {("interpreter", 1): 25, ("misses", 0): 405}
"""Program of `make bench` and rounds: the most host instructions for each of the guest in the round after them."""


def _built(name: str, folder: Path) -> Path:
    source = home().root / "machine/benches/programs" / f"{name}.c"
    compiler = ["powerpc-linux-gnu-gcc", "-O2", "-static", "-mcpu=powerpc", "-fno-inline"]
    program = folder / name
    subprocess.run([*compiler, "-Wl,-z,max-page-size=4096", "-o", str(program), str(source)], check=True)
    return program


def _counted(program: Path, rounds: int) -> tuple[int, int]:
    """Instructions of this computer and of the guest."""
    counters = program.with_suffix(".json")
    run = [
        str(home().root / "target/release/pagewalk-machine"), "program",
        "--machine", str(home().root / "machine/benches/machines/ppc604-133.toml"), "--counters", str(counters),
        "--", str(program), str(rounds),
    ]  # fmt: skip
    done = subprocess.run([*COUNT, *run], capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found is not None, done.stderr
    told = json.loads(counters.read_text(encoding="utf-8"))
    return int(found[1].replace(",", "")), told.get("counters", told)["instructions"]


@pytest.mark.parametrize(("name", "rounds"), MOST)
def test_a_guest_instruction_takes_few_of_the_host(name: str, rounds: int, tmp_path: Path) -> None:
    program = _built(name, tmp_path)
    (host_before, guest_before), (host, guest) = _counted(program, rounds), _counted(program, rounds + 1)
    assert (host - host_before) / (guest - guest_before) <= MOST[name, rounds]
