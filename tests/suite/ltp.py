"""The Linux Test Project's system-call tests, from a tree in which they were built: how many end how.

python -m suite.ltp TREE [--qemu CPU | --machine NAME] [--only PATTERN ...] [--save FOLDER]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from pagewalk.initramfs import Initramfs

from suite import targets
from suite.groups import add_libraries, stripped, with_busybox
from suite.model import Case, Group, Outcome
from suite.places import Missing, wanted

# In MB, and what an archive may take of it beside the kernel and the unpacked root.
_MEMORY = 128
_ARCHIVE_MOST = 20 << 20

# A disk of this many KB, of which only what is written takes memory: the tests ask for 300 MB.
_OPTIONS = "ramdisk_size=524288"

_RUN = b"""#!/bin/sh
export PATH=/ltp/bin:/bin TMPDIR=/tmp KCONFIG_SKIP_CHECK=1 LTP_COLORIZE_OUTPUT=n
export LTP_SINGLE_FS_TYPE=tmpfs LTP_DEV=/dev/ram0 LTP_DEV_FS_TYPE=tmpfs
cd /tmp
rm -rf /tmp/*
exec sh -c "exec $*" 2>&1
"""
_USERS = b"root:x:0:0:root:/root:/bin/sh\nbin:x:2:2:bin:/bin:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
_GROUPS = b"root:x:0:\nbin:x:2:\nusers:x:100:\nnogroup:x:65534:\n"

# The bits of a test's exit status (LTP, include/tst_res_flags.h), the worst first.
_BITS = ((1, "FAIL"), (2, "BROK"), (4, "WARN"), (32, "CONF"))


def verdict(outcome: Outcome | None) -> str:
    """What LTP calls the outcome of a test."""
    if outcome is None:
        return "not started"
    status = re.fullmatch(r"status=(\d+)", outcome.end)
    if status is None:
        return outcome.end.partition("=")[0]
    return next((name for bit, name in _BITS if int(status[1]) & bit), "PASS" if status[1] == "0" else "BROK")


def _root() -> Initramfs:
    image = with_busybox("glibc")
    add_libraries(image, "librt.so.1", "libpthread.so.0", "libgcc_s.so.1")
    for folder in ("root", "var", "ltp", "ltp/bin"):
        image.directory(folder)
    image.directory("var/tmp", 0o1777)
    for path, contents in (("etc/passwd", _USERS), ("etc/group", _GROUPS)):
        image.entries.pop(path)
        image.file(path, contents)
    image.file("run", _RUN, 0o755)
    return image


def _is_elf(path: Path) -> bool:
    """Whether a file is for 32-bit big-endian PowerPC (machine 20), linked in whatever way."""
    with path.open("rb") as file:
        header = file.read(20)
    return header[:7] == b"\x7fELF\x01\x02\x01" and header[18:] == b"\x00\x14"


def groups(tree: Path, only: list[str]) -> list[Group]:
    """The entries of runtest/syscalls whose programs were built, as many to a boot as memory has room for."""
    built = wanted(tree / "testcases" / "kernel" / "syscalls", "name a tree of LTP")
    programs = {
        path.name: path
        for path in sorted(built.rglob("*"))
        if path.is_file() and path.stat().st_mode & 0o111 and _is_elf(path)
    }
    made: list[Group] = []
    held: set[Path] = set()
    room = 0
    for line in (tree / "runtest" / "syscalls").read_text().splitlines():
        name, _, command = line.partition("#")[0].strip().partition(" ")
        program = programs.get((command.split() or [name])[0])
        if program is None or (only and not any(re.fullmatch(pattern, name) for pattern in only)):
            continue
        if program.parent not in held:
            # A test may run its neighbours.
            files = {path.name: stripped(path) for path in programs.values() if path.parent == program.parent}
            size = sum(len(contents) for contents in files.values())
            if size > room:
                made.append(Group(f"ltp-{len(made)}", "LTP", _root(), []))
                held.clear()
                room = _ARCHIVE_MOST
            room -= size
            held.add(program.parent)
            for other, contents in files.items():
                made[-1].image.file(f"ltp/bin/{other}", contents, 0o755)
        made[-1].cases.append(Case(name, ("/bin/sh", "/run", command.strip() or name), seconds=100))
    if not made:
        raise Missing(f"{tree} holds no PPC32 program that runtest/syscalls names")
    return made


def main() -> int:
    """Exit status 0 when all was run, whatever came of it; 2 when something is missing."""
    parser = argparse.ArgumentParser(prog="python -m suite.ltp", description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--machine", help="a file of machines/ with room for 128 MB, in place of QEMU's 40p")
    parser.add_argument("--qemu", default="604", metavar="CPU", help="QEMU's 40p: 603e, 604 or 750 (default: 604)")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN", help="only tests whose whole name matches")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="what each test wrote, as a file")
    chosen = parser.parse_args()
    target: targets.Target = (
        targets.MachineTarget(chosen.machine, _OPTIONS, memory=_MEMORY)
        if chosen.machine
        else targets.QemuTarget(chosen.qemu, _OPTIONS, memory=_MEMORY)
    )
    verdicts: dict[str, str] = {}
    try:
        for group in groups(chosen.tree, chosen.only):
            outcomes = targets.run(target, group).outcomes
            for case in group.cases:
                outcome = outcomes.get(case.name)
                verdicts[case.name] = verdict(outcome)
                if chosen.save and outcome is not None:
                    chosen.save.mkdir(parents=True, exist_ok=True)
                    (chosen.save / case.name).write_text(f"{outcome.output}{outcome.end}\n")
            print(f"{len(verdicts)} tests run", file=sys.stderr)
    except Missing as error:
        print(f"suite.ltp: {error}", file=sys.stderr)
        return 2
    for name, given in verdicts.items():
        if given not in ("PASS", "CONF"):
            print(f"{name}: {given}")
    print(f"{len(verdicts)} tests:", ", ".join(f"{n} {given}" for given, n in Counter(verdicts.values()).most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
