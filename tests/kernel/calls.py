"""Checks by symbols that calls and uses of data between the kernel's folders run one way.

An #include says what a file may know. A symbol says what it calls: the linker finds `file_put` for a file that never
included fs.h's folder. Each folder may use what it defines itself and what folders before it in ORDER define. A folder
that must act on a later one does it through a table of operations or a function pointer that the later one sets.
Not looked at: entry and vectors, tests, and what starts the kernel (`_FREE`): these use every folder.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from suite.places import KERNELS, ROOT, wanted

KERNEL = ROOT / "kernel"
IMAGES = ("one", "several")

ORDER = ("base", "task", "mm", "fs", "ipc", "dev", "proc", "stat")
_FREE = frozenset({"arch", "genarch", "one", "several", "policy", "test", "syscall", "main"})
"""Folders that may use every folder, and that every folder may use."""
BASE = frozenset({
    "dev/irq", "mm/frame", "mm/kmalloc", "mm/cleared", "mm/uaccess", "mm/policy/idle_clear", "mm/policy/kernel_buffers"
})  # fmt: skip
"""Files on which tasks are built: interrupts, and memory for the kernel itself."""

# Where a use runs against the order: the folder and the symbol, and why.
ALLOWED = {
    ("base", "cpus"): "frames that the idle task clears are counted for each processor",
    ("base", "idle_hook_add"): "the idle task clears frames",
    ("base", "idle_hook_remove"): "the same",
    ("base", "interrupt_window"): "long copies, and texts of many pieces, let interrupts in",
    ("base", "preemption_point"): "a long text lets other tasks run",
    ("base", "oom_ended"): "who waits for frames tells whether the killer's victim has ended",
    ("task", "mm_peek"): "a tick looks at the instruction before the one that it interrupted",
    ("mm", "area_kinds"): "the operations of areas that map files and devices: a table, which fs fills in",
    ("mm", "mm_files"): "the same for new areas, and for the program that runs",
    ("mm", "files_pages_held"): "the out-of-memory killer weighs what files hold",
    ("proc", "proc_directory_process"): "pidfd_send_signal takes a directory of /proc",
}


def folder_of(path: str) -> str:
    """The place in ORDER or _FREE of an object, by its path below the image's folder."""
    name = path.removesuffix(".o")
    first = name.partition("/")[0] if "/" in name else "main"
    return "base" if first == "lib" or name in BASE else first


def against(defined: Mapping[str, str], used: Mapping[str, set[str]]) -> dict[tuple[str, str], set[str]]:
    """The uses that run against the order: folder and symbol, with the files. `defined`: the file of each symbol."""
    wrong: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path, symbols in used.items():
        user = folder_of(path)
        if user in _FREE:
            continue
        for symbol in symbols & defined.keys():
            definer = folder_of(defined[symbol])
            if definer not in _FREE and ORDER.index(definer) > ORDER.index(user):
                wrong[user, symbol].add(path)
    return wrong


def _symbols(objects: Path) -> tuple[dict[str, str], dict[str, set[str]]]:
    """What each object that has a source defines and uses."""
    paths = [
        path
        for path in sorted(objects.rglob("*.o"))
        if any((KERNEL / path.relative_to(objects)).with_suffix(suffix).exists() for suffix in (".c", ".S"))
    ]
    listed = subprocess.run(["nm", "-A", *map(str, paths)], capture_output=True, text=True, check=True).stdout
    defined: dict[str, str] = {}
    used: dict[str, set[str]] = defaultdict(set)
    for line in listed.splitlines():
        file, _, rest = line.rpartition(".o:")
        path = str(Path(f"{file}.o").relative_to(objects))
        kind, symbol = rest.split()[-2:]
        if kind in "Uw":
            used[path].add(symbol)
        elif kind.isupper():
            defined[symbol] = path
    return defined, used


def check() -> int:
    """Returns the number of uses against the order that ALLOWED has not, and of those that it has in vain."""
    problems = []
    seen: set[tuple[str, str]] = set()
    for image in IMAGES:
        wrong = against(*_symbols(wanted(KERNELS / image, "run make kernel")))
        seen |= wrong.keys()
        problems += [
            f"{', '.join(sorted(files))} ({user}) uses {symbol}, against the order (image {image})"
            for (user, symbol), files in sorted(wrong.items())
            if (user, symbol) not in ALLOWED
        ]
    problems += [f"{user} no longer uses {symbol}: remove it from ALLOWED" for user, symbol in ALLOWED.keys() - seen]
    if not against({"fd_get": "fs/fdtable.o"}, {"mm/map.o": {"fd_get"}}):
        problems.append("the check misses a use that runs against the order")
    for problem in problems:
        print(f"calls: {problem}")
    print(f"calls: {len(seen)} uses against the order of folders, {len(problems)} problems")
    return len(problems)
