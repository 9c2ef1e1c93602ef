"""Checks that each of the two images says so where it does not fit, and names the policies of the other image."""

from __future__ import annotations

import tempfile
from pathlib import Path

from suite.places import ARCH, KERNELS, wanted

from kernel.runs import PANIC, REFUSED_WORD, boot, packed

ONE, SEVERAL = "vmlinux", "vmlinux-smp"

# The image, the machine, words of the command line, the exit status, and what the console must show.
POWERPC = (
    (ONE, "ppc604-185x2", "", 0, "is the image for one processor, and uses one of 2; vmlinux-smp uses all"),
    (SEVERAL, "ppc604-133", "", PANIC, "is the image for several processors, and the machine has one: boot vmlinux"),
    (SEVERAL, "ppc603-133", "", PANIC, "is the image for several processors, and the machine has one: boot vmlinux"),
    (ONE, "ppc604-133", "shootdown=short", REFUSED_WORD, '"shootdown=short": has no meaning on this processor alone'),
    (ONE, "ppc604-133", "kernel.lock=fine", REFUSED_WORD, "it is for several processors"),
    (SEVERAL, "ppc604-185x2", "hpte.slot=noted", REFUSED_WORD, "it is for one processor"),
    (SEVERAL, "ppc604-185x2", "ipc.copy=window", REFUSED_WORD, "it is for one processor"),
    (SEVERAL, "ppc750-400x2", "cache.broadcast=on", REFUSED_WORD, "it is for one processor"),
    (SEVERAL, "ppc604-185x2", "cache.broadcast=on", REFUSED_WORD, '=on": has no meaning on this processor\n'),
    (ONE, "mpc855t-48", "ipc.copy=window", REFUSED_WORD, '=window": has no meaning on this processor\n'),
    (SEVERAL, "ppc604-185x2", "", 0, "pagewalk: 2 processors"),
)
X86 = (
    (ONE, "p6-200x2", "", 0, "is the image for one processor, and uses one of 2; vmlinux-smp uses all"),
    (SEVERAL, "p6-200", "", PANIC, "and the machine has one: boot vmlinux"),
    (SEVERAL, "i486dx-50", "", PANIC, "and the machine has one: boot vmlinux"),
    (ONE, "p6-200", "shootdown=short", REFUSED_WORD, "it is for several processors"),
    (ONE, "p6-200", "interrupt.level=apic", REFUSED_WORD, "it is for several processors"),
    (SEVERAL, "p6-200x2", "ipc.copy=window", REFUSED_WORD, "it is for one processor"),
)
CASES = X86 if ARCH.suffix else POWERPC


def _fault(case: tuple[str, str, str, int, str], initramfs: Path) -> str | None:
    """What is wrong with a case; None: nothing."""
    image, machine, words, status, said = case
    kernel = wanted(KERNELS / image, "run make kernel")
    done = boot(machine, initramfs, f"{words} -- /bin/hello", (), kernel=kernel)
    if done.status == status and said in done.console:
        return None
    return f"{image} {machine} {words}: status {done.status}, wanted {status} and {said!r}: {done.console}"


def check() -> int:
    """Returns the number of cases that end otherwise."""
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/hello": "hello"}))
        file.flush()
        faults = [fault for case in CASES if (fault := _fault(case, Path(file.name)))]
    for fault in faults:
        print(f"images: {fault}")
    print(f"images: {len(CASES) - len(faults)} of {len(CASES)} cases end as they must")
    return len(faults)
