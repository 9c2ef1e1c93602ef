"""Makes faults on purpose (/proc/check), on the machines of the architecture that PAGEWALK_ARCH names. The invariant
checker must find each fault when an operation touches the page, if the fault is visible there, and also in a complete
check. Another order of locks must panic with the names of both locks, and with the registers of all processors.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from suite.places import ARCH

from kernel.runs import PANIC, boot, packed, side_by_side

ON_X86 = bool(ARCH.suffix)

# With each machine the words of its command line. Without BATs or pinned entries, the kernel's own pages would evict
# the faulty entry from the TLB before the check.
MACHINES = dict.fromkeys(("ppc603-133", "ppc604-133", "ppc750-400"), "kernel.map=bat+io kernel.buffers=mapped")
MACHINES["mpc855t-48"] = "pin=base kernel.buffers=mapped"
MACHINES["ppc405-200"] = "kernel.buffers=mapped"
MACHINES["ppc970-1600"] = "kernel.map=large kernel.buffers=mapped"
if ON_X86:
    MACHINES = {"i486dx-50": "kernel.buffers=mapped", "p6-200": "kernel.map=large+global kernel.buffers=mapped"}

# What these cannot show: they have no hash table, and no BATs that keep the faulty entry in the TLB for a later check.
WITHOUT_BATS = ("mpc855t-48", "ppc405-200")
NOT_WITHOUT_BATS = (("hpte", "here"), ("hpte", "later"), ("hpte-twice", "here"), ("tlb", "later"))

# Wrong orders of locks, with the lock asked for and the lock held. Each panic comes with a lock held, and with other
# processors that run programs, wait for the kernel lock, or wait for the lock "frames"; or, where the hash table's lock
# is held, that wait for it in the handler of a miss.
ORDERS = {
    "lock-two": ("two", "one"),
    "lock-twice": ("one", "one"),
    "lock-frames": ("one", "frames"),
    "lock-kernel-twice": ("kernel", "kernel"),
    "lock-kernel-last": ("kernel", "one"),
    "lock-kernel-outside": ("kernel", "outside"),
    "lock-close-last": ("outside", "one"),
    "lock-mutex": ("position", "inode"),
    "lock-mutex-twice": ("inode", "inode"),
    "lock-mutex-last": ("inode", "one"),
    "lock-hash": ("one", "hash"),
    "lock-hash-twice": ("hash", "hash"),
    "lock-hash-kernel": ("kernel", "hash"),
}
# The machines with several processors, by their number.
SEVERAL = {"ppc750-400x2": 2, "ppc604-200x4": 4}
SEVERAL_WORDS = "kernel.lock=fine kernel.map=bat+io kernel.buffers=mapped hash.size=least"
if ON_X86:
    SEVERAL = {"p6-200x2": 2, "p6-200x4": 4}
    SEVERAL_WORDS = "kernel.lock=fine kernel.map=large+global kernel.buffers=mapped"
    ORDERS = {name: locks for name, locks in ORDERS.items() if "hash" not in name}

# Panics of several processors at once: the first one that panics. Each one's message must be there.
PANICS = {"panic-together": 0, "panic-in-call": 1}

# A page is unmapped while another processor reads it. The machine's sanitizer must report a use after the frame is free
# where the other is not asked to flush, if tlbie does not reach it; and nothing where it is.
SHOOTDOWNS = (
    ("ppc750-400x2", "", "shootdown", True),
    ("ppc750-400x2", "", "none", False),
    ("ppc604-200x4", "tlb.broadcast=false", "shootdown", True),
    ("ppc604-200x4", "tlb.broadcast=false", "none", False),
    ("ppc604-200x4", "", "shootdown", False),
)

REGISTERS = re.compile(r'^(?:processor \d+: )?task \d+ "\w+".*\n[en]ip [0-9a-f]{8} ', re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A fault's name in /proc/check, and the checker's messages at a touch of the page and later. None: not found."""

    name: str
    here: str | None
    later: str | None


FAULTS = (
    Fault("tree", *2 * ("a writable entry in an area that is not",)),
    Fault("hpte", *2 * ("hash table and tree differ",)),
    # The checker searches for a second entry only when the page is touched.
    Fault("hpte-twice", "the hash table has a page twice", None),
    Fault("tlb", *2 * ("TLB and tree differ",)),
    # The frame's next owner counts only its own mapping: the old one is one too many.
    Fault("freed", "an entry for a frame that is free", "a frame's mappings miscounted"),
    Fault("mapped", None, "a frame's mappings miscounted"),
    Fault("resident", None, "resident pages miscounted"),
    Fault("areas", None, "areas miscounted"),
    Fault("room", None, "room between areas misjudged"),
    Fault("stack", "kernel stack overflow at", None),
    # A page of the kernel's own: in the hash table, if there is one, and in the TLB.
    Fault("buffer", "maps a page that the tree does not", None),
)
# Those that the checker finds in a hash table or a TLB: the kernel cannot read an x86's.
IN_CACHES = ("hpte", "hpte-twice", "tlb", "buffer")


def _verb(name: str) -> str:
    return "closed" if name == "lock-close-last" else "taken"


def _others(name: str) -> str:
    """What the other processors do: the checker's word."""
    return "reload" if name.startswith("lock-hash") else "busy"


def _all_shown(console: str, processors: int) -> bool:
    """Whether a panic shows the task and the registers of each processor."""
    return len(REGISTERS.findall(console)) == processors and "does not answer" not in console


def _all_named(console: str, report: str, numbers: range) -> bool:
    """Whether each of these processors has reported its own panic."""
    return all(f"kernel panic: {report.format(number)}\n" in console for number in numbers)


def _shootdowns(image: Path) -> int:
    """The number of rows of SHOOTDOWNS that ended otherwise."""
    boots = side_by_side(
        lambda row: boot(
            row[0],
            image,
            f"quiet check=on -- /bin/checker {row[2]} threads",
            ("--sanitize", "translation", *(("--set", row[1]) if row[1] else ())),
        ),
        SHOOTDOWNS,
    )
    failed = 0
    for (machine, setting, fault, wanted), done in zip(SHOOTDOWNS, boots, strict=True):
        reported = "stale translation (" in done.console
        if reported != wanted or (not wanted and f"checker: {fault}: not found threads" not in done.console):
            failed += 1
            print(f"checker: {machine} {setting}: {fault}: exit status {done.status}\n{done.console[-1500:]}")
    print(f"checker: {len(SHOOTDOWNS) - failed} of {len(SHOOTDOWNS)} shootdowns judged right")
    return failed


def check() -> int:
    """The number of faults that the checker did not find or named wrongly."""
    rows = [
        (machine, fault.name, when, report)
        for machine in MACHINES
        for fault in FAULTS
        for when, report in (("here", fault.here), ("later", fault.later))
        if report and not (machine in WITHOUT_BATS and (fault.name, when) in NOT_WITHOUT_BATS)
        if not (ON_X86 and fault.name in IN_CACHES)
    ]
    rows += [
        (machine, name, _others(name), f'lock order: "{asked}" is {_verb(name)} while "{held}" is held')
        for machine in SEVERAL
        for name, (asked, held) in ORDERS.items()
    ]
    # Only where the flush by one processor leaves the TLBs of others alone.
    if not ON_X86:
        rows.append(("ppc750-400x2", "buffer-elsewhere", "busy", "the TLB maps a page that the tree does not"))
    rows += [(machine, name, "busy", "check: processor {} panics") for machine in SEVERAL for name in PANICS]
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/checker": "checker"}))
        file.flush()
        boots = side_by_side(
            lambda row: boot(
                row[0],
                Path(file.name),
                f"quiet check=on {MACHINES.get(row[0], SEVERAL_WORDS)} -- /bin/checker {row[1]} {row[2]}",
                (),
            ),
            rows,
        )
        failed = 0 if ON_X86 else _shootdowns(Path(file.name))
    for (machine, fault, when, report), done in zip(rows, boots, strict=True):
        processors = SEVERAL.get(machine, 1)
        if fault in PANICS:
            reported = _all_named(done.console, report, range(PANICS[fault], processors))
        else:
            reported = report in done.console
        if done.status != PANIC or not reported or not _all_shown(done.console, processors):
            failed += 1
            print(f"checker: {machine}: {fault} {when}: exit status {done.status}\n{done.console[-1500:]}")
    print(f"checker: {len(rows) - failed} of {len(rows)} faults found")
    return failed
