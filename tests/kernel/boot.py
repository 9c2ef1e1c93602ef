"""The cost of a boot on each machine: guest cycles until init runs its program, and from its end to power-off.

The machines are those of the architecture that PAGEWALK_ARCH names. boot.toml, or boot-x86.toml, records the expected
cycles. A kernel that boots 2 % slower fails; for one that boots 2 % faster, the test asks for a new record (--update).
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from suite.places import ARCH, ROOT

from kernel.runs import boot, packed, side_by_side

RECORD = Path(__file__).with_name(f"boot{ARCH.suffix}.toml")
TOLERANCE = 0.02


def _machines() -> list[str]:
    files = sorted((ROOT / "machines").glob("*.toml"))
    cores = {file.stem: tomllib.loads(file.read_text())["core"]["kind"] for file in files}
    # The kernel does not run on RISC-V.
    ours = {name: core in ("i486", "p6") for name, core in cores.items() if core != "rv64gc"}
    return [name for name, is_x86 in ours.items() if is_x86 == bool(ARCH.suffix)]


def _cycles(machine: str, initramfs: Path) -> int:
    done = boot(machine, initramfs, "quiet -- /bin/hello", (), counted=True)
    if done.status != 0:
        raise RuntimeError(f"boot on {machine}: exit status {done.status}: {done.console}")
    program = next(iter(done.counters["regions"]))["counters"]["cycles"]
    return int(done.counters["counters"]["cycles"]) - int(program)


def check(*, update: bool) -> int:
    """The number of machines whose boot differs from the record by more than the tolerance."""
    machines = _machines()
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/hello": "hello-bare"}))
        file.flush()
        found = dict(
            zip(machines, side_by_side(lambda machine: _cycles(machine, Path(file.name)), machines), strict=True)
        )
    if update:
        lines = ["# Guest cycles of a boot without the program; written by `python -m kernel boot --update`.\n"]
        RECORD.write_text("".join(lines + [f"{machine} = {cycles}\n" for machine, cycles in found.items()]))
        return 0
    recorded = tomllib.loads(RECORD.read_text())
    failed = 0
    for machine, cycles in found.items():
        before = recorded.get(machine, 0)
        near = before and abs(cycles / before - 1) <= TOLERANCE
        failed += not near
        print(f"boot {machine}: {cycles} cycles, recorded {before}{'' if near else ': FAILED'}")
    return failed
