"""Tests the check that no function is inlined into another cost category's code: it must find planted leaks.

The check itself, kernel/test/causes.py, runs in the kernel's build.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from suite.places import BUILD, ROOT

_CHECK = ROOT / "kernel" / "test" / "causes.py"
_TOOLS = "powerpc-linux-gnu-"

# Functions of `copy`, one for each way to write CAUSE. Each is inlined into an ordinary function (a leak) and into one
# of `copy`.
_PLANTED = """
#define NOINLINE __attribute__((noinline))
#define CAUSE(name) __attribute__((section(".text.cause." #name)))
volatile int cell;
struct regs { int number; };
/* CAUSE(copy) void in_a_comment(void) */
CAUSE(copy) static inline __attribute__((always_inline)) struct regs *attributed(struct regs *regs)
{
	cell = 1;
	return regs;
}
static inline CAUSE(copy) __attribute__((always_inline, optimize("O2"))) int late(int number)
{
	cell = 2;
	return number;
}
CAUSE(copy) static inline
void plain(void)
{
	cell = 3;
	if (cell)
		cell = 4;
}
CAUSE(copy) NOINLINE static void cause_first(struct regs *regs) { plain(); late(attributed(regs)->number); }
NOINLINE CAUSE(copy) static void cause_last(struct regs *regs) { plain(); late(attributed(regs)->number); }
CAUSE(fault) NOINLINE static void of_another(void) { plain(); }
NOINLINE static void ordinary(struct regs *regs) { plain(); late(attributed(regs)->number); }
void _start(struct regs *regs) { cause_first(regs); cause_last(regs); of_another(); ordinary(regs); }
"""
_SCRIPT = """
SECTIONS {
	. = 0xc0000000;
	.text : {
		__cause_copy_start = .; *(.text.cause.copy) __cause_copy_end = .;
		__cause_fault_start = .; *(.text.cause.fault) __cause_fault_end = .;
		*(.text .text.*)
	}
}
"""
_FOUND = {
    ("attributed", "copy", "ordinary", "kernel"),
    ("late", "copy", "ordinary", "kernel"),
    ("plain", "copy", "ordinary", "kernel"),
    ("plain", "copy", "of_another", "fault"),
}
_LEAK = re.compile(r"causes: (\w+) \((\w+)\) is inlined into (\w+) at 0x[0-9a-f]{8}, which is charged to (\w+)")


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, _CHECK, f"{_TOOLS}objdump", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _planted() -> list[str]:
    """The errors of the check: planted leaks that it misses, and others that it reports."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, script, image = folder / "planted.c", folder / "planted.lds", folder / "planted"
        source.write_text(_PLANTED)
        script.write_text(_SCRIPT)
        options = ["-O2", "-g", "-ffreestanding", "-ffunction-sections", "-mno-sdata", "-nostdlib", "-static"]
        subprocess.run(
            [f"{_TOOLS}gcc", *options, f"-Wl,-T,{script},--no-warn-rwx-segments", "-o", image, source], check=True
        )
        done = _run(image, folder)
        found = {match.groups() for match in _LEAK.finditer(done.stderr)}
        wrong = [f"the planted leak {leak} not found" for leak in sorted(_FOUND - found)]
        wrong += [f"{leak} is no leak" for leak in sorted(found - _FOUND)]
        if done.returncode != 1:
            wrong.append(f"its status is {done.returncode} with planted leaks: {done.stderr}")
        # The check must report a use of CAUSE that it cannot parse.
        source.write_text(f"{_PLANTED}CAUSE(copy) int number;\n")
        if _run(image, folder).returncode != 1 or "no function follows" not in _run(image, folder).stderr:
            wrong.append("a CAUSE without a function is ignored")
    return wrong


def check() -> int:
    """Prints what is wrong with the check or the built kernel; the exit status is 1 if anything is."""
    wrong = _planted()
    for sentence in wrong:
        print(f"causes: {sentence}", file=sys.stderr)
    built = _run(BUILD / "kernel" / "vmlinux")
    print(built.stdout + built.stderr, end="")
    return 1 if wrong or built.returncode else 0
