"""Runs the Linux Test Project's system-call tests from a folder of built programs, and counts their outcomes.

python -m suite.ltp FOLDER [--qemu CPU | --machine NAME] [--only PATTERN ...] [--save FOLDER]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

from pagewalk.initramfs import Initramfs

from suite import built, targets
from suite.groups import stripped, with_busybox
from suite.model import Case, Group, Outcome
from suite.places import BUILD, Missing, wanted

# The memory in MB, and the size limit of an archive. The memory must also hold the kernel and the unpacked root.
_MEMORY = 128
_ARCHIVE_MOST = 20 << 20

# The RAM disk's size in KB. Only blocks that are written take memory; the tests ask for 300 MB.
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

# How many faults a message lists.
_NAMES_MOST = 12

# The bits of a test's exit status (LTP, include/tst_res_flags.h), the worst first.
_BITS = ((1, "FAIL"), (2, "BROK"), (4, "WARN"), (32, "CONF"))


def verdict(outcome: Outcome | None) -> str:
    """LTP's name for the outcome of a test."""
    if outcome is None:
        return "not started"
    status = re.fullmatch(r"status=(\d+)", outcome.end)
    if status is None:
        return outcome.end.partition("=")[0]
    return next((name for bit, name in _BITS if int(status[1]) & bit), "PASS" if status[1] == "0" else "BROK")


def _root() -> Initramfs:
    image = with_busybox("glibc")
    for folder in ("root", "var", "ltp", "ltp/bin"):
        image.directory(folder)
    image.directory("var/tmp", 0o1777)
    for path, contents in (("etc/passwd", _USERS), ("etc/group", _GROUPS)):
        image.entries.pop(path)
        image.file(path, contents)
    image.file("run", _RUN, 0o755)
    return image


def _stem(name: str) -> str:
    """The beginning that a test and its programs have in common: the letters before the first digit or _."""
    return re.split(r"[\d_]", name, maxsplit=1)[0]


class Built:
    """A folder of LTP's built programs: its required contents, and what is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        needed = (
            f"name a folder that holds LTP's list runtest/syscalls and the programs that it names, each {built.KIND}"
        )
        wanted(folder, needed)
        self.list = wanted(folder / "runtest" / "syscalls", needed)
        self.programs: dict[str, Path] = {}
        self.unfit: dict[str, str] = {}
        self.used: set[Path] = set()
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.stat().st_mode & 0o111:
                why = built.fault(path)
                if why:
                    self.unfit[path.name] = why
                else:
                    self.programs[path.name] = path

    def neighbours(self, program: Path) -> dict[str, Path]:
        """A test and the programs that it may run."""
        stem = _stem(program.name)
        return {name: path for name, path in self.programs.items() if _stem(name) == stem}

    def groups(self, only: list[str]) -> tuple[list[Group], dict[str, str]]:
        """The list's entries whose programs exist, split into boots; and why the others cannot run."""
        made: list[Group] = []
        missing: dict[str, str] = {}
        held: set[str] = set()
        room = 0
        for line in self.list.read_text(errors="replace").splitlines():
            name, _, command = line.partition("#")[0].strip().partition(" ")
            if not name or (only and not any(re.fullmatch(pattern, name) for pattern in only)):
                continue
            wants = (command.split() or [name])[0]
            program = self.programs.get(wants)
            if program is None:
                missing[name] = f"{wants}: {self.unfit.get(wants, 'missing')}"
                continue
            new = {other: path for other, path in self.neighbours(program).items() if other not in held}
            files = {other: stripped(path) for other, path in new.items()}
            size = sum(map(len, files.values()))
            if size > room or not made:
                files = {other: stripped(path) for other, path in self.neighbours(program).items()}
                size = sum(map(len, files.values()))
                made.append(Group(f"ltp-{len(made)}", "LTP", _root(), []))
                held.clear()
                room = _ARCHIVE_MOST
            room -= size
            for other, contents in files.items():
                held.add(other)
                self.used.add(self.programs[other])
                made[-1].image.file(f"ltp/bin/{other}", contents, 0o755)
            made[-1].cases.append(Case(name, ("/bin/sh", "/run", command.strip() or name), seconds=100))
        if not made:
            faults = ", ".join(sorted(set(missing.values()))[:_NAMES_MOST])
            raise Missing(
                f"{self.folder} holds no program that runtest/syscalls names and --only allows"
                f"{': ' + faults if faults else ''}; each has to be {built.KIND}"
            )
        return made, missing


def main() -> int:
    """Exit status 0 if all tests were run, whatever their outcomes; 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m suite.ltp", description=__doc__)
    parser.add_argument(
        "folder",
        type=Path,
        help=f"holds runtest/syscalls and, in any folder below, the programs that it names, each {built.KIND}; "
        "its file VERSION names their release",
    )
    parser.add_argument("--machine", help="a file of machines/ with room for 128 MB, in place of QEMU's 40p")
    parser.add_argument("--qemu", default="604", metavar="CPU", help="QEMU's 40p: 603e, 604 or 750 (default: 604)")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN", help="only tests whose whole name matches")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FOLDER",
        help="gets a file with each test's output, and results.json: verdicts, versions, hashes",
    )
    chosen = parser.parse_args()
    target: targets.Target = (
        targets.MachineTarget(chosen.machine, _OPTIONS, memory=_MEMORY)
        if chosen.machine
        else targets.QemuTarget(chosen.qemu, _OPTIONS, memory=_MEMORY)
    )
    verdicts: dict[str, str] = {}
    try:
        kernel = wanted(BUILD / "kernel" / "vmlinux", "run make kernel")
        tests = Built(chosen.folder)
        groups, missing = tests.groups(chosen.only)
        for name, why in missing.items():
            print(f"{name}: not run: {why}", file=sys.stderr)
        for group in groups:
            outcomes = targets.run(target, group).outcomes
            for case in group.cases:
                outcome = outcomes.get(case.name)
                verdicts[case.name] = verdict(outcome)
                if chosen.save and outcome is not None:
                    chosen.save.mkdir(parents=True, exist_ok=True)
                    (chosen.save / case.name).write_text(f"{outcome.output}{outcome.end}\n")
            print(f"{len(verdicts)} tests run", file=sys.stderr)
        ran = built.record(chosen.folder, tests.used, kernel)
        if chosen.save:
            result = {"target": target.name, "ltp": ran, "verdicts": verdicts, "not run": missing}
            (chosen.save / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    except Missing as error:
        print(f"suite.ltp: {error}", file=sys.stderr)
        return 2
    for name, given in verdicts.items():
        if given not in ("PASS", "CONF"):
            print(f"{name}: {given}")
    print(f"LTP's version: {ran['version']}; {len(missing)} entries of the list have no program")
    print(f"{len(verdicts)} tests:", ", ".join(f"{n} {given}" for given, n in Counter(verdicts.values()).most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
