"""Errors in Linux's flushes, put in one at a time: the translation sanitizer must find each, and name the place of the
change. `planted.toml` says for each error which call of which function of Debian's source is changed.

    python -m linux.planted [NAME]...           those errors; without a name all
    python -m linux.planted --page              also writes the table docs/planted.md

Each error is built in a copy of the kernel's folders (hard links of the source), so that the kernels that all checkouts
share stay as they are. The same program runs on the good kernel first, which must be silent, and not blind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagewalk import build_steps, subject_build, subjects
from pagewalk.initramfs import Initramfs
from pagewalk.subjects import Kernel
from pydantic import BaseModel, ConfigDict
from suite.places import BUILD, ROOT, Missing, refuse_unknown

HERE = Path(__file__).parent
TABLE = HERE / "planted.toml"
WORK = BUILD / "planted-linux"
SECONDS = 3600
_JOBS = "2"


class Error(BaseModel):
    """An error of a kernel, and what finds it.

    In the body of `function` in `file`, the text `call`, which must be there once, becomes `instead`. `case` is a case
    of tests/planted/stale.c. `named`: functions of which one must be named as the place of the change or as its caller.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    about: str
    kernel: str
    machine: str
    file: str
    function: str
    call: str
    instead: str
    case: str
    named: tuple[str, ...]
    kinds: tuple[str, ...] = ("late",)
    set: tuple[str, ...] = ()
    also: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def edits(self) -> list[tuple[str, str, str, str]]:
        """File, function, text and what becomes of it."""
        return [(self.file, self.function, self.call, self.instead), *self.also]


def table() -> list[Error]:
    """The errors of planted.toml."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["error"]
    return [Error.model_validate(row) for row in rows]


# The kernel -------------------------------------------------------------------


def body(text: str, function: str) -> tuple[int, int]:
    """Where the body of the function begins and ends: a function of C, or of assembler behind _GLOBAL."""
    opening = rf"^(?:[^\s#/*][^\n;{{}}]*\b{function}\((?:[^;{{}}]*?)\)\s*\n\{{|_GLOBAL\({function}\))"
    found = list(re.finditer(opening, text, re.MULTILINE))
    if not found:
        raise Missing(f"there is no function {function}")
    begin = found[0].end()
    end = re.compile(r"^\}|^\s+blr$", re.MULTILINE).search(text, begin)
    assert end is not None, "a function ends"
    return begin, end.start()


def changed(text: str, function: str, call: str, instead: str) -> str:
    """The text with another call in that function."""
    begin, end = body(text, function)
    inside = text[begin:end]
    if inside.count(call) != 1:
        raise Missing(f"{function} has {inside.count(call)} times {call!r}, not once")
    return text[:begin] + inside.replace(call, instead) + text[end:]


def _put(path: Path, text: str) -> None:
    """Writes a file that may be a hard link, without a change of the other names."""
    fresh = path.with_name(path.name + ".planted")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def kernel_of(name: str) -> Kernel:
    """The one kernel of that name, built."""
    (kernel,) = subjects.find(name)
    if kernel.built() is None:
        raise Missing(f"{name} is not built: run pagewalk subjects build {name}")
    return kernel


def _cached(kernel: Kernel) -> Path:
    folder = kernel.built()
    assert folder is not None, "it is built"
    return folder.parents[1]


def _copied(kernel: Kernel) -> tuple[Path, Path]:
    """Copies of the source and of the objects of this kernel, all objects as old as the source wants them."""
    cached, source, objects = _cached(kernel), WORK / "source", WORK / "objects" / kernel.name
    if not source.is_dir():
        WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-al", str(cached / "source"), str(source) + ".part"], check=True)
        Path(f"{source}.part").rename(source)
    if not objects.is_dir():
        part = objects.with_name(objects.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", str(cached / "objects" / kernel.platform.objects), str(part)], check=True)
        old, new = str(cached / "source"), str(source)
        for path in (*part.rglob(".*.cmd"), part / "Makefile"):
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            if old in text:
                times = path.stat()
                path.write_text(text.replace(old, new), encoding="utf-8", errors="surrogateescape")
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        (part / "source").unlink(missing_ok=True)
        (part / "source").symlink_to(source)
        part.rename(objects)
    return source, objects


def _make(kernel: Kernel, source: Path, objects: Path, target: str) -> None:
    done = subprocess.run(
        [*subject_build.make_command(kernel, source, objects, f"-j{_JOBS}"), target],
        check=False, capture_output=True, text=True, timeout=SECONDS, env=build_steps.environment(),
    )  # fmt: skip
    if done.returncode:
        raise Missing(f"{kernel.name}: make {target}: {(done.stdout + done.stderr)[-2000:]}")


def built(error: Error, *, anew: bool = False) -> Path:
    """The kernel with the error in it, of an earlier build if it is the same one and `anew` is not wanted."""
    kernel = kernel_of(error.kernel)
    image = WORK / "kernels" / f"{error.name}.elf"
    known = image.with_suffix(".json")
    made_of = json.dumps([str(kernel.built()), error.edits])
    if not anew and image.is_file() and known.is_file() and known.read_text(encoding="utf-8") == made_of:
        return image
    source, objects = _copied(kernel)
    subject_build.configure(kernel, source, objects)
    names = {name for one in table() for name, *_ in one.edits}
    texts = {name: (_cached(kernel) / "source" / name).read_text(encoding="utf-8") for name in names}
    for name, function, call, instead in error.edits:
        texts[name] = changed(texts[name], function, call, instead)
    for name, text in texts.items():  # and takes an earlier error out
        if (source / name).read_text(encoding="utf-8") != text:
            _put(source / name, text)
    _make(kernel, source, objects, subjects.IMAGE)
    image.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(objects / subjects.IMAGE, image)
    known.write_text(made_of, encoding="utf-8")
    return image


# The program ------------------------------------------------------------------

COMPILERS = {
    "i386": str(BUILD / "programs-x86" / "musl-sysroot" / "bin" / "musl-gcc"),
    "powerpc": "powerpc-linux-gnu-gcc",
    "riscv": "riscv64-linux-gnu-gcc",
}


SOURCES = {"stale": ("stale.c", "several.c", "stale.h", "returns.h"), "storm": ("storm.c", "returns.h")}
MACHINE = {"i386": ("-march=i486", "-fcf-protection=none")}


def program(architecture: str, name: str = "stale") -> Path:
    """A program of tests/planted for that architecture."""
    made = WORK / f"{name}-{architecture}"
    sources = [ROOT / "tests" / "planted" / source for source in SOURCES[name]]
    if not made.is_file() or made.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        made.parent.mkdir(parents=True, exist_ok=True)
        words = [
            COMPILERS[architecture],
            "-O1",
            "-static",
            "-D_FILE_OFFSET_BITS=64",
            *MACHINE.get(architecture, ()),
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
        ]
        files = [str(source) for source in sources if source.suffix == ".c"]
        subprocess.run([*words, "-o", str(made), *files], check=True, timeout=SECONDS)
    return made


# The runs ---------------------------------------------------------------------

LARGE = {
    "i486": ("tlb.unified.entries=1024",),
    "p6": ("tlb.instruction.entries=1024", "tlb.data.entries=1024"),
    "604": ("tlb.instruction.entries=1024", "tlb.data.entries=1024"),
}
"""By core: what keeps entries until they are flushed, as far as a run of this length goes. A kernel for a 603 or an 8xx
flushes as many entries as its processor has."""


@dataclass(frozen=True)
class Told:
    """What a run of `pagewalk check` told."""

    counts: dict[str, int]
    findings: list[dict[str, Any]]
    output: str

    @property
    def own(self) -> str:
        """What the program itself has seen: good, stale, or neither, because it has crashed."""
        found = re.search(r"[a-z]: (good|stale)\b", self.output)
        return found[1] if found else "crashes"


def _larger(machine: str) -> tuple[str, ...]:
    core = tomllib.loads((ROOT / "machines" / f"{machine}.toml").read_text(encoding="utf-8"))["core"]["kind"]
    return LARGE.get(core, ())


def told(words: Sequence[str]) -> Told:
    """Runs `pagewalk check` with these words to the end of the program; Missing if it cannot."""
    command = [str(ROOT / ".venv" / "bin" / "pagewalk"), "check", "--json", "--go-on", *words]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Missing(f"{' '.join(words)}: did not end in {SECONDS} seconds") from None
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise Missing(f"{' '.join(words)}: no JSON: {done.stderr[-800:]}") from None
    if "counts" not in found:
        raise Missing(f"{' '.join(words)}: {found['error']}")
    return Told(found["counts"], found["findings"], found["output"])


def checked(kernel: Kernel, image: Path, error: Error, sets: Sequence[str]) -> Told:
    """Runs the case on a kernel under the sanitizer, to the end."""
    words = [str(image), "-m", error.machine]
    for pair in (f"board.kind={kernel.platform.board}", *error.set, *sets):
        words += ["--set", pair]
    words += ["--append", " ".join(kernel.boot.words)]
    return told([*words, "--", str(program(kernel.platform.architecture)), error.case])


def finding_of(error: Error, told: Told) -> dict[str, Any] | None:
    """The finding that tells the error, with a place that the table names; None if there is none."""
    for finding in told.findings:
        change = finding["change"] or {"function": "", "calls": []}
        places = " ".join([change["function"], *change["calls"]])
        if finding["kind"] in error.kinds and any(name in places for name in error.named):
            return finding
    return None


def good(error: Error, sets: Sequence[str]) -> str | None:
    """What is wrong with the run on the good kernel; None if it is silent.

    That the run can see is shown by the same run with the error. A kernel that flushes at once leaves no suspects.
    """
    kernel = kernel_of(error.kernel)
    folder = kernel.built()
    assert folder is not None, "it is built"
    told = checked(kernel, folder / subjects.IMAGE, error, sets)
    if told.findings:
        return f"the good kernel is not silent: {told.findings[0]['text']}"
    if told.own != "good":
        return f"the program saw {told.own} on the good kernel: {told.output[-300:]!r}"
    if not told.counts["fills"]:
        return f"the run on the good kernel was blind: {told.counts}"
    return None


def result(error: Error, *, qemu: bool) -> dict[str, Any]:
    """What finds the error: the sanitizer with the machine's own TLBs and with large ones, and the program alone."""
    kernel, larger = kernel_of(error.kernel), _larger(error.machine)
    image = built(error, anew=qemu)
    real = checked(kernel, image, error, ())
    large = checked(kernel, image, error, larger) if larger else real
    found = finding_of(error, large) or finding_of(error, real)
    problem = good(error, larger) if found else None
    if found is None:
        some = [*large.findings, *real.findings]
        problem = f"another kind or place: {some[0]['text']}" if some else f"nothing was found: {large.counts}"
    change = (found or {}).get("change") or {"function": "", "calls": []}
    return {
        "problem": problem,
        "kind": (found or {}).get("kind", ""),
        "function": change["function"],
        "text": (found or {}).get("text", ""),
        "real": finding_of(error, real) is not None,
        "program": real.own,
        "large program": large.own,
        "qemu": on_qemu(error) if qemu else _kept().get(error.name, {}).get("qemu", "not run"),
    }


# QEMU -------------------------------------------------------------------------

_QEMU_SECONDS = 120


def on_qemu(error: Error) -> str:
    """What the program sees on QEMU's PC, with the kernel that was built last; QEMU has no board for the PowerPCs."""
    kernel = kernel_of(error.kernel)
    if kernel.platform.architecture != "i386" or shutil.which("qemu-system-i386") is None:
        return "not run"
    source, objects = _copied(kernel)
    _make(kernel, source, objects, "bzImage")
    root = Initramfs()
    for folder in ("dev", "proc", "tmp"):
        root.directory(folder)
    root.file("init", program("i386").read_bytes(), 0o755)
    root.node("dev/console", "c", 5, 1)
    initrd = WORK / "initrd"
    initrd.write_bytes(root.pack())
    processors = error.machine.rpartition("x")[2] if "x" in error.machine else "1"
    command = [
        "qemu-system-i386", "-cpu", "pentium2", "-m", "64", "-display", "none", "-no-reboot",
        "-smp", f"{processors},sockets={processors}",
        "-serial", "stdio", "-monitor", "none", "-kernel", str(objects / "arch/x86/boot/bzImage"),
        "-initrd", str(initrd),
        "-append", f"console=ttyS0 {' '.join(kernel.boot.words)} -- {error.case}",
    ]  # fmt: skip
    try:
        said = subprocess.run(command, check=False, capture_output=True, timeout=_QEMU_SECONDS).stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    # The program is init, and its status is in the panic at its end; of what it prints the console may lose the end.
    ended = re.search(rb"Attempted to kill init! exitcode=0x0000(\w\w)00", said)
    return {b"00": "good", b"01": "stale"}.get(ended[1], "crashes") if ended else "nothing"


# The page ---------------------------------------------------------------------

RESULTS = WORK / "results.json"
PAGE = ROOT / "docs" / "planted.md"
_HEAD = """# Errors put into kernels on purpose

Each row is an error in a flush, put into the source of a kernel as a change of one call or line, one error at a time.
[`pagewalk check`](check.md) must find it, and name the function that changed the page table.

## Linux

`tests/linux/planted.toml` has the changes of Debian's source of Linux 6.1, and `tests/planted/stale.c` the program of
each row; on the good kernel it finds nothing, and neither does the check.

- *found as*, *the change is in*: what the report says.
- *real TLB*: whether the check finds it with the machine's own TLBs too. A TLB of real size may drop the entry before
  the program uses it, and then there is no error in that run.
- *the program sees*: whether the program itself sees the old translation without any sanitizer, with the machine's own
  TLBs, with TLBs of 1,024 entries (those of a 603, an 8xx, a 405 and a U74 stay as they are), and on QEMU's PC: *stale*
  if it does, *good* if not, *crashes* if it ends by a signal. Two runs on QEMU may differ, and QEMU has no board for
  these PowerPC kernels. *good* stands, too, where the program cannot see the error: a lost write of a page that nobody
  wants back, another page of the same file, other cache attributes.

`python -m linux.planted --page` in `tests` builds the kernels, runs all rows and writes this page.

| error | kernel, machine | call, function | found as | the change is in | real TLB | the program sees: real TLB \
| large TLB | QEMU |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
_OURS = """
## Our kernel

`tests/kernel/planted.py` has the changes, and `python -m kernel planted` in `tests` puts them in. A key behind a
machine makes its TLBs show the error; without the key the run is silent.

| error | machine | file of `kernel/` | found as | the change is in |
| --- | --- | --- | --- | --- |
"""
_REST = """
## Errors without a row

- **A missing wait for the answers of other processors.** A processor of this machine takes an interrupt before its
  next instruction, if interrupts are on. Linux touches a program's pages with interrupts on, and our kernel answers
  requests before it gets its lock. So the other processor has flushed before the sender is back in its program. Both
  errors were tried, and no access uses an old entry then.
- **A missing wait on a PowerPC with a hash table.** `tlbie` reaches the other processors at once in this machine, so
  that a missing `tlbsync` changes nothing.
- **Other WIMG bits.** Linux maps no page of RAM anew with other WIMG bits on a PowerPC. The row with other cache
  attributes is of an i386.
- **A table freed too early.** Only a walk cache leads to a freed table, and none of these PowerPCs and i386s has a walk
  cache. On a RISC-V machine it was tried: the program sees the freed table's words, but the check counts the use as
  undetermined. It knows the words that entries came from, and no entry of the table was left when the kernel freed the
  table. `machine/tests/x86/sanitizer.rs` gives a P6 a walk cache, and has an entry left: that is reported.
"""


def _kept() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}


def page(errors: Sequence[Error], results: Mapping[str, Any]) -> str:
    """The table of all errors."""
    lines = []
    for error in errors:
        got = results[error.name]
        kernel = error.kernel.removeprefix("linux-6.1-")
        call = error.call.split("\n")[0].rstrip("(")
        cells = (
            error.about,
            f"{kernel}, {error.machine}",
            f"`{call}` in `{error.function}`",
            got["kind"],
            f"`{got['function']}`",
            "found" if got["real"] else "not found",
            got["program"],
            got["large program"],
            got["qemu"],
        )
        lines.append(f"| {' | '.join(cells)} |\n")
    return _HEAD + "".join(lines) + _of_ours() + _REST


def _of_ours() -> str:
    """The table of our kernel's errors, of the last `python -m kernel planted`; empty if there was none."""
    known = BUILD / "planted" / "results.json"
    if not known.is_file():
        return ""
    rows = json.loads(known.read_text(encoding="utf-8"))
    names = ("about", "machine", "file", "kind", "function")
    return _OURS + "".join(
        f"| {' | '.join(f'`{row[n]}`' if n == 'function' else row[n] for n in names)} |\n" for row in rows
    )


def check(names: Sequence[str], *, qemu: bool) -> int:
    """The number of errors that were not found, or not named."""
    refuse_unknown("error", names, (error.name for error in table()))
    wanted = [error for error in table() if not names or error.name in names]
    failed = 0
    for error in wanted:
        try:
            got = result(error, qemu=qemu)
        except Missing as missing:
            got = {"problem": str(missing)}
        if got["problem"] is not None:
            failed += 1
            print(f"planted: {error.name} on {error.machine}: {got['problem']}", flush=True)
            continue
        RESULTS.write_text(json.dumps({**_kept(), error.name: got}, indent=1), encoding="utf-8")
        seen = f"real TLB {got['real']}, program {got['program']}, {got['large program']}, QEMU {got['qemu']}"
        print(f"planted: {error.name} on {error.machine}: {seen}\n{got['text']}", flush=True)
    print(f"planted: {len(wanted) - failed} of {len(wanted)} errors found")
    return failed


def main() -> int:
    """Exit status 0 if all errors were found, 1 if not, 2 if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m linux.planted", description=__doc__)
    parser.add_argument("name", nargs="*", help="errors of planted.toml (default: all)")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}; runs QEMU too")
    parser.add_argument("--kept", action="store_true", help="with --page: of the results of earlier runs")
    chosen = parser.parse_args()
    try:
        failed = 0 if chosen.kept else check(chosen.name, qemu=chosen.page)
    except Missing as problem:
        print(f"planted: {problem}", file=sys.stderr)
        return 2
    if chosen.page:
        results = _kept()
        PAGE.write_text(page([error for error in table() if error.name in results], results), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
