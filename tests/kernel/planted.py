"""Errors in our kernel's flushes, put in one at a time: the translation sanitizer must find each, and name the place of
the change. Each is a substitution of one or two lines in a copy of the kernel's source.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from linux.planted import program as stale
from suite.places import ROOT, Missing, refuse_unknown

BUILD = ROOT / "build" / "planted"
RESULTS = BUILD / "results.json"
"""What was found, for docs/planted.md."""
_MADE: set[Path] = set()
"""The images that this run has built."""
SECONDS = 600


@dataclass(frozen=True)
class Planted:
    """A substitution, and what finds it."""

    name: str
    file: str
    line: str
    instead: str
    program: str
    """A test of the kernel's, or `uses` and a word for it."""
    changed: tuple[str, ...]
    """Functions of which one must be named as the place of the change, or be among its callers."""
    machine: str = "p6-200"
    keys: tuple[str, ...] = ()
    """Keys of the machine file that make the error visible: without them the run is silent."""
    append: str = ""
    """Further words of the kernel's command line."""
    kind: str = ""
    """Of the finding, if not any will do."""

    @property
    def is_x86(self) -> bool:
        """On an x86, not on a PowerPC."""
        return self.machine.startswith(("p6", "i486"))


ERRORS: tuple[Planted, ...] = (
    Planted("mprotect", "mm/map.c", "\t\tif (!flushed)", "\t\tif (flushed)", "uses protect", ("mm_protect",)),
    Planted(
        "short-range",
        "genarch/flush.c",
        "\tfor (; start < stop; start += PAGE_SIZE) {",
        "\tfor (; start + PAGE_SIZE < stop; start += PAGE_SIZE) {",
        "uses last",
        ("mm_protect", "mm_fork"),
    ),
    Planted(
        "wrong-page",
        "genarch/flush.c",
        "\t\tinterrupt_window_at(page_number(start));\n\t\tmmu->page_flush(mm, start);",
        "\t\tmmu->page_flush(mm, start + PAGE_SIZE);",
        "uses protect",
        ("mm_protect",),
    ),
    Planted(
        "no-request",
        "several/shootdown.c",
        "\tusing = shootdown_form->asked_of_pages(using, &request);",
        "\tusing = 0;",
        "thread_memory",
        ("zap", "mm_", "pagetable", "pte_"),
        machine="p6-200x2",
    ),
    Planted("fork", "mm/space.c", "\t\tflush->whole(parent);", "\t\t(void)parent;", "stale fork", ("mm_fork",)),
    Planted(
        "mremap",
        "mm/remap.c",
        "\tflush->range(mm, from, from + size);",
        "\t(void)from;",
        "stale move",
        ("move_entries", "mm_remap"),
    ),
    Planted(
        "truncate", "mm/zap.c", "\t\t\tflush->range(vma->mm, start, end);", "\t\t\t(void)vma;", "stale shrink", ("zap",)
    ),
    Planted(
        "copy",
        "mm/fault.c",
        "\tflush->page(mm, ALIGN_DOWN(address, PAGE_SIZE));",
        "\t(void)mm;",
        "stale other-copy",
        ("pte_replace", "fault"),
        machine="p6-200x2",
    ),
)
_WHOLE = Planted(
    "whole",
    "genarch/flush.c",
    "\tflush_cutoffs++;\n\tcontext_renew(mm);",
    "\tflush_cutoffs++;",
    "stale protect",
    ("mm_protect", "mm_fork"),
    append="tlb.cutoff=2",
)
_BUFFER = Planted(
    "kernel-buffer",
    "mm/policy/kernel_buffers.c",
    "\t\tmmu->kernel_page_flush(address);",
    "",
    "stale piped",
    ("place_unmap",),
    append="kernel.buffers=mapped",
)
_QUEUE = Planted(
    "queue-full",
    "several/policy/shootdown_queue.c",
    "\tif (cpu->flushes.all)\n\t\tarch_tlb_flush_all();",
    "",
    "stale other-many",
    ("zap", "mm_", "pagetable", "pte_", "range_hide"),
    machine="p6-200x2",
)
_NUMBER = Planted(
    "number-again",
    "arch/ppc/context.c",
    "\tmm->context.number = next_number++;",
    "\tmm->context.number = CONTEXT_KERNEL + 1 + next_number++ % 3;",
    "fork",
    ("segments_load", "segments_activate", "soft8xx_activate", "soft405_activate"),
    kind="context",
)
"""A number of an address space that is given out again while the last one with it lives."""
_ROLL_OVER = Planted(
    "roll-over",
    "arch/ppc/context.c",
    "\tmmu->flush_all();",
    "\tcontexts_retired++;",
    "fork",
    ("",),
    append="contexts=16",
    kind="context",
)
"""All numbers have been given out, and begin anew without a flush."""
POWERPC = ("ppc603-133", "mpc855t-48", "ppc405-200", "ppc604-133", "ppc970-1600")
"""PowerPCs whose TLBs software loads, and with hash tables."""
ERRORS = (
    *ERRORS,
    *(replace(ERRORS[n], machine=machine) for machine in POWERPC for n in range(3)),
    *(replace(_NUMBER, machine=machine) for machine in ("ppc603-133", "mpc855t-48", "ppc405-200", "ppc604-133")),
    replace(_ROLL_OVER, machine="ppc603-133"),
    replace(_ROLL_OVER, machine="ppc604-133", append="contexts=8"),
    replace(
        _ROLL_OVER, machine="ppc405-200", append="contexts=17", program="stale roll-over", changed=("soft405_activate",)
    ),
    replace(_ROLL_OVER, machine="mpc855t-48", append="", program="stale roll-over-15"),
    replace(ERRORS[0], program="uses crowd", keys=("tlb.extreme.keep=until-flushed",)),
    _WHOLE,
    *(replace(_WHOLE, machine=machine) for machine in POWERPC),
    _BUFFER,
    *(replace(_BUFFER, machine=machine) for machine in ("ppc604-133", "ppc970-1600")),
    _QUEUE,
)


ABOUT = {
    "mprotect": "no flush after mprotect",
    "short-range": "a range short by one page",
    "wrong-page": "the page behind is flushed",
    "no-request": "no other processor is asked to flush",
    "fork": "fork takes the right to write away and does not flush",
    "mremap": "mremap moves pages and flushes nothing",
    "truncate": "truncate unmaps pages of a file and does not flush",
    "copy": "copy on write does not flush",
    "number-again": "a number is given out again while the last space with it lives",
    "roll-over": "all numbers have been given out, and begin anew without a flush",
    "whole": "a range above the cutoff is not flushed at all",
    "kernel-buffer": "a pipe's buffer in the kernel's part of the addresses is unmapped and not flushed",
    "queue-full": "another processor whose queue of requests is full flushes nothing",
}


def on(error: Planted, machine: str) -> Planted:
    """The same error on another machine."""
    return replace(error, machine=machine)


def built(error: Planted) -> Path:
    """The kernel with the error in it. One image runs on all machines of an architecture."""
    processors = "several" if "x" in error.machine.split("-")[-1] else "one"
    arch = "x86" if error.is_x86 else "ppc"
    folder = BUILD / f"{error.name}-{arch}"
    image = folder / "built" / ("vmlinux-smp" if processors == "several" else "vmlinux")
    if image in _MADE:
        return image
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "kernel", folder / "kernel")
    source = folder / "kernel" / error.file
    text = source.read_text()
    if text.count(error.line + "\n") != 1:
        raise ValueError(f"planted: {error.name}: {error.file} must have exactly once: {error.line!r}")
    source.write_text(text.replace(error.line + "\n", error.instead + "\n"))
    words = ["make", "-s", "-C", str(folder / "kernel"), f"ARCH={arch}", f"PROCESSORS={processors}", "BUILD=../built"]
    subprocess.run([*words, "-j2"], check=True, capture_output=True, timeout=SECONDS)
    _MADE.add(image)
    return image


def program(error: Planted) -> list[str]:
    """The command in the guest: a test of the kernel's, or the program of this folder that uses pages after a call."""
    name, *words = error.program.split()
    if name == "stale":
        return [str(stale("i386" if error.is_x86 else "powerpc")), *words]
    if not words:
        return [str(ROOT / "build" / ("user-x86" if error.is_x86 else "user") / "test" / name)]
    source, program = ROOT / "tests/planted/uses.c", BUILD / name
    options = "-O1 -static -nostdlib -fno-pic -no-pie -fno-stack-protector -fno-asynchronous-unwind-tables -I "
    options += str(ROOT / "user/arch" / ("x86" if error.is_x86 else "ppc"))
    compiler = ["gcc", "-m32"] if error.is_x86 else ["powerpc-linux-gnu-gcc"]
    command = [*compiler, *options.split(), "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)]
    subprocess.run(command, check=True, timeout=SECONDS)
    return [str(program), *words]


def _told(error: Planted, kernel: Path, keys: Sequence[str]) -> dict[str, Any] | str:
    """What `check` tells as JSON, or what it prints instead."""
    words = [str(ROOT / ".venv/bin/pagewalk"), "check", "ours", "--image", str(kernel), "-m", error.machine, "--json"]
    words += [word for key in keys for word in ("--set", key)]
    done = subprocess.run(
        [*words, f"--append={error.append}", "--", *program(error)],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=dict(os.environ, COLUMNS="200"),
    )
    try:
        return cast("dict[str, Any]", json.loads(done.stdout))
    except ValueError:
        return f"no JSON: {done.stderr[-500:]}"


def _found(error: Planted, kernel: Path) -> str | dict[str, str]:
    """What is wrong with the report; what a reader wants to know of it if nothing is."""
    told = _told(error, kernel, error.keys)
    if isinstance(told, str):
        return told
    if not told["findings"]:
        return f"nothing was found: {told['counts']}"
    finding = told["findings"][0]
    if error.kind not in ("", finding["kind"]):
        return f"it was called {finding['kind']}, not {error.kind}\n{finding['text']}"
    if error.keys:
        real = _told(error, kernel, ())
        if isinstance(real, str) or real["findings"]:
            return f"it is seen without {', '.join(error.keys)}, too"
    change = finding["change"] or {"function": "", "calls": []}
    places = " ".join([change["function"], *change["calls"]])
    if not any(function in places for function in error.changed):
        return f"another place was named: {places}\n{finding['text']}"
    print(f"planted: {error.name} on {error.machine}: {finding['text'].splitlines()[0]}", flush=True)
    return {
        "about": ABOUT[error.name],
        "machine": " ".join((error.machine, *error.keys)),
        "file": error.file,
        "kind": finding["kind"],
        "function": change["function"],
    }


def chosen(names: Sequence[str], machines: Sequence[str]) -> list[Planted]:
    """The errors of these names on these machines; without a name, or without a machine, all."""
    refuse_unknown("error", names, (error.name for error in ERRORS))
    refuse_unknown("machine", machines, (error.machine for error in ERRORS))
    errors = [
        error for error in ERRORS if (not names or error.name in names) and (not machines or error.machine in machines)
    ]
    if not errors:
        raise Missing(f"{', '.join(names)} has no row on {', '.join(machines)}")
    return errors


def check(names: Sequence[str] = (), machines: Sequence[str] = ()) -> int:
    """The number of errors that were not found, or not named. Only a run of all errors leaves results for the page."""
    results, errors = [], chosen(names, machines)
    for error in errors:
        found = _found(error, built(error))
        if isinstance(found, str):
            print(f"planted: {error.name} on {error.machine}: {found}", flush=True)
        else:
            results.append(found)
    if not names and not machines:
        RESULTS.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"planted: {len(results)} of {len(errors)} errors found")
    return len(errors) - len(results)
