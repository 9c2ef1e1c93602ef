"""Checks every #include line of the kernel against the layers of docs/kernel-checks.md, and that make follows them."""

from __future__ import annotations

import re
import subprocess

from suite.places import ROOT

KERNEL = ROOT / "kernel"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)

# The parts, lowest first: each may include its own headers and those of the parts before it. A header of include/
# belongs to the part whose line names it. A header that no line names is an error.
HEADERS = {
    "abi": "types",
    "base": "lib list rbtree err errno text fdt log random panic",
    "machine": "arch board irq mmu context aperture control register_set uaccess check frame kmalloc account pagetable "
    "flush shootdown smp outside kernel_buffer two_levels pte_word message_gate",
    "task": "task process sched deferred window wait time cpu signal latency stat_tick",
    "call": "syscall syscall_prototypes policy",
    "fs": "fs filesystem file file_lock inotify async poll timeout anon procfs",
    "mm": "mm",
    "arch": "message_pairs",
    "ipc": "ipc pipe rendezvous",
    "proc": "uname",
    "image": "",
    "dev": "tty",
    "stat": "",
    "test": "",
    "main": "command_line",
}
ORDER = list(HEADERS)
OWNER = {f"{name}.h": part for part, names in HEADERS.items() for name in names.split()}
# The part of a folder's files, or of a file, if it has another name than the folder.
FOLDERS = {
    "one": "image",
    "several": "image",
    "lib": "base",
    "genarch": "arch",
    "policy": "arch",
    "syscall": "call",
    "task": "proc",
    "lib/boot.c": "machine",
    "lib/log.c": "machine",
    "lib/text.c": "call",
}

# The folders that may include the inner headers of others: the images have forms of mm and task, proc builds on task.
INNER = {"one": ("mm", "task"), "several": ("mm", "task"), "proc": ("task",)}

# Allowed includes that break the order or name another folder's inner header, with the reason for each.
ALLOWED = {
    ("include/types.h", "arch/types.h"): "addresses are as wide as the architecture says",
    ("include/task.h", "rendezvous.h"): "a task embeds its part in synchronous messages",
    ("include/context.h", "mm.h"): "an address space carries its context",
    ("arch/ppc/include/arch/vsid.h", "cpu.h"): "shared by the files of arch/ppc, and read by the checker's faults",
    ("arch/ppc/include/arch/vsid.h", "mm.h"): "the same",
    ("arch/ppc/several/include/arch/hash_table_lock.h", "task.h"): "the lock's word names the task that holds it",
    ("fs/mmap.c", "mm.h"): "mmap takes a descriptor",
    ("fs/area.c", "mm.h"): "areas that map a file have its operations",
    ("fs/page.c", "mm.h"): "the same",
    ("fs/memfd.c", "mm.h"): "a seal forbids mappings",
    ("stat/proc_sys.c", "../dev/pty.h"): "/proc/sys shows the limits of every part",
    ("stat/proc_sys.c", "../ipc/ring.h"): "the same",
    ("stat/proc_sys.c", "../ipc/socket.h"): "the same",
    ("stat/proc_sys.c", "../ipc/sysv.h"): "the same",
    ("proc/exit.c", "tty.h"): "the end of a session's leader hangs up its terminal",
}


def part_of(file: str) -> str | None:
    """The part of a file, by its path below kernel/; None: a header that no part owns."""
    first, _, rest = file.partition("/")
    if not rest:
        return "main"
    if first == "include":
        return "abi" if rest.startswith("abi/") else OWNER.get(rest)
    if "/include/arch/" in file:
        return "machine"
    if first in ("one", "several") and rest.startswith("include/"):
        return OWNER.get(rest.removeprefix("include/"))
    return FOLDERS.get(file, FOLDERS.get(first, first))


def target_of(file: str, mark: str, header: str) -> tuple[str, bool] | None:
    """The part of an included header, and whether it is another folder's inner one; None: this folder's own."""
    if mark == "<":
        if header.startswith(("abi/", "arch/")):
            return ("abi" if header.startswith("abi/") else "machine"), False
        return (OWNER[header], False) if header in OWNER else None
    path = (KERNEL / file).parent.joinpath(header).resolve()
    if not path.is_relative_to(KERNEL) or not path.exists():
        return None
    folder = str(path.relative_to(KERNEL)).partition("/")[0]
    if folder in INNER.get(file.partition("/")[0], ()):
        return FOLDERS.get(folder, folder), False
    return None if folder == file.partition("/")[0] else (FOLDERS.get(folder, folder), True)


def against(sources: dict[str, str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The includes that break the order, and the headers that belong to no part."""
    wrong: list[tuple[str, str]] = []
    unowned: list[str] = []
    for file, text in sorted(sources.items()):
        part = part_of(file)
        if part is None:
            unowned.append(file)
            continue
        for mark, header in INCLUDE.findall(text):
            target = target_of(file, mark, header)
            if target and (target[1] or ORDER.index(target[0]) > ORDER.index(part)):
                wrong.append((file, header))
    return wrong, unowned


# A folder of make, a header, and an object of those that must be compiled again when the header changes.
FOLLOWED = (
    ("kernel", "include/task.h", "task/task.c"),
    ("user", "../tests/user/common/rights.h", "tests/user/preempt_file.c"),
)


def unfollowed() -> list[str]:
    """The changed headers that make does not follow, by either path of the folder of a build that is there."""
    missed = []
    for folder, header, source in FOLLOWED:
        built = ROOT / "build" / folder
        # Make splits a path at a space.
        paths = [path for path in (f"../build/{folder}", str(built)) if built.is_dir() and " " not in path]
        for path in paths:
            plan = ["make", "-n", "-C", str(ROOT / folder), f"BUILD={path}", "-W", header]
            if f"CC {source}" not in subprocess.run(plan, capture_output=True, text=True, check=True).stdout:
                missed.append(f"make -C {folder} BUILD={path} compiles {source} not again after a change of {header}")
    return missed


def check() -> int:
    """Prints the forbidden includes and returns their number."""
    files = [f for f in KERNEL.rglob("*") if f.suffix in (".c", ".h", ".S")]
    wrong, unowned = against({str(f.relative_to(KERNEL)): f.read_text() for f in files})
    problems = [f"{file} belongs to no part: name it in tests/kernel/includes.py" for file in unowned]
    problems += [
        f"{file} includes {header}, which breaks the order" for file, header in wrong if (file, header) not in ALLOWED
    ]
    problems += [
        f"{file} no longer includes {header}: remove it from ALLOWED" for file, header in ALLOWED.keys() - set(wrong)
    ]
    page = (ROOT / "docs" / "kernel-checks.md").read_text(encoding="utf-8")
    problems += [
        f"docs/kernel-checks.md does not name {file}" for file in {f for f, _ in ALLOWED} if f"`{file}`" not in page
    ]
    if against({"lib/example.c": "#include <mm.h>\n"})[0] != [("lib/example.c", "mm.h")]:
        problems.append("the check misses an include that breaks the order")
    problems += unfollowed()
    for problem in problems:
        print(f"includes: {problem}")
    print(f"includes: {len(files)} files, {len(wrong)} includes that break the order, {len(problems)} problems")
    return len(problems)
