"""What Linux on a RISC-V machine has beside programs: extensions of the architecture, a disk, counters of events, and
requests to other processors."""

from __future__ import annotations

import re

from pagewalk import disk
from pagewalk.guest import Program
from pagewalk.initramfs import Initramfs
from suite.places import USER, Missing, wanted

from linux.runs import ran

EXTENSIONS = "ssaia_zba_zbb_sstc_svadu_svinval_svnapot_svpbmt_svvptc"
_SEVERAL = "u74-1500x4"
EVENTS = {
    "102": ("cache.instruction.miss",),
    "202": ("cache.data.miss", "cache.data.inhibited"),
    "402": ("cache.data.writeback",),
    "1002": ("tlb.data.miss",),
    "2002": ("tlb.l2.miss",),
    "1802": ("tlb.instruction.miss", "tlb.data.miss"),
    "6001": ("branch.mispredict",),
}
"""perf's numbers of a U74's events, and the machine's counters of the same."""
_SLACK = 400
"""The region of interest is around the calls that switch a counter: it has at most so many events more."""
_ASKS, _WAITS = (
    f"call by processor where function == {name} histogram cycles" for name in ("firmware+0xe32", "firmware+0x2e7a")
)
"""How often a processor asks another one in Debian's OpenSBI, and how often and how long it waits for an answer."""
_BUILD = "run make -C user ARCH=riscv"


def check(subject: str, machine: str) -> None:
    """Runs all of this; Missing says what is wrong."""
    _run_with_extensions(subject, machine)
    _run_with_disk(subject, machine)
    _count_events(subject, machine)
    _run_storms(subject)


def _run_with_extensions(subject: str, machine: str) -> None:
    """Runs hello with every extension that the device tree can show."""
    program = Program(wanted(USER / "hello", _BUILD), ())
    ran(subject, machine, program, b"hello", keys={"core.extensions": EXTENSIONS})


def _run_with_disk(subject: str, machine: str) -> None:
    """Reads a file of an ext2 disk and writes one, which is there after the disk was mounted anew."""
    tree = Initramfs()
    tree.file("/greeting", b"good morning")
    image = disk.ext2(tree)
    program = Program(wanted(USER / "linux" / "disk", _BUILD), ())
    ran(subject, machine, program, b"disk: good morning\r\ndisk: kept\r\n", disk=image)


def _count_events(subject: str, machine: str) -> None:
    """Counts events by perf_event_open; Missing if one is not what the machine has counted."""
    # Timers that the firmware was asked to set.
    words = (*EVENTS, "f5")
    program = Program(wanted(USER / "linux" / "events", _BUILD), words)
    loaded = ran(subject, machine, program, b"f5 ")
    if b"f5 0\r" in loaded.printed():
        raise Missing(f"{subject} on {machine}: the firmware has counted no timer that it set")
    found = {code: int(count) for code, count in re.findall(rb"^(\w+) (\d+)\r?$", loaded.printed(), re.MULTILINE)}
    regions = loaded.regions()
    for number, (code, names) in enumerate(EVENTS.items(), start=1):
        counted, whole = (
            found[code.encode()],
            sum(regions[number][name] for name in names),
        )
        if not whole - _SLACK <= counted <= whole:
            raise Missing(f"{subject} on {machine}: event {code}: {counted:,}, and {' + '.join(names)} is {whole:,}")


def _run_storms(subject: str) -> None:
    """Four processors ask each other to flush, all at once: by the firmware's queues, and by interrupt files.

    In the queues each waits for the others, with interrupt files nobody does.
    """
    program = Program(wanted(USER / "linux" / "storm", _BUILD), ())
    for extensions in ("", "ssaia"):
        keys = {"core.extensions": f'"{extensions}"'}
        said = b"storm: 4 threads have ended\r\n"
        loaded = ran(subject, _SEVERAL, program, said, keys=keys, queries=(_ASKS, _WAITS))
        (asked, _), (waits, _) = loaded.tallied()
        waiting = sorted(processor for (processor,), _, cycles, _ in waits if cycles > 0)
        if waiting != ([] if extensions else ["0", "1", "2", "3"]):
            raise Missing(f"{subject}: these processors have waited in the firmware's queues: {', '.join(waiting)}")
        count = [sum(count for _, count, _, _ in rows) for rows in (asked, waits)]
        if count[1] > count[0]:
            raise Missing(f"{subject}: {count[0]:,} requests in the firmware, and {count[1]:,} waits for an answer")
