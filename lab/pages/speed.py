"""Measures how many guest instructions this computer simulates in a second, and writes the README's line about it."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path

from pagewalk import guest, native
from pagewalk.guest import Program
from pagewalk.paths import home
from pagewalk.workshop import Workshop

LINE = re.compile(r"(<!-- speed: made by `make bench` -->\n).*?(\n<!-- end of speed -->)", re.DOTALL)
PROGRAMS = (("null-call",), ("mmap-latency", "size=64k"), ("context-switch", "processes=8", "size=16k"))
MACHINES = ("ppc604-185", "p6-200")


def rate(machine: str, words: tuple[str, ...]) -> float:
    """Instructions in a second of one core, boot included. The kernel, TLBs, caches and cycles are simulated."""
    job = guest.job(Workshop(native.NativeRunner()), machine, Program(words[0], words[1:]), overrides={}, settings={})
    loaded = native.load(job)
    begin = time.process_time()
    native.go(loaded, job.limit, lambda _: True)
    return loaded.instructions / (time.process_time() - begin)


def line() -> str:
    """The README's line."""
    found = [
        f"{min(rates) / 1e6:,.0f} to {max(rates) / 1e6:,.0f} million instructions of {machine}"
        for machine in MACHINES
        for rates in [[rate(machine, words) for words in PROGRAMS]]
    ]
    day, load = datetime.now(UTC).date().isoformat(), os.getloadavg()[0]
    return (
        f"A second of one core simulates {' and '.join(found)}, of kernel and program, with every TLB, cache and "
        f"cycle (measured on {day}, on a computer with {os.cpu_count()} processors whose load was {load:.0f})."
    )


def main(readme: Path) -> None:
    """Writes the line into the README."""
    text = readme.read_text(encoding="utf-8")
    readme.write_text(LINE.sub(lambda part: part[1] + line() + part[2], text), encoding="utf-8")


if __name__ == "__main__":
    main(home().root / "README.md")
