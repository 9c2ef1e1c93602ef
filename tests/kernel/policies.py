"""Runs the user-level tests under rows of policy choices. Every pair of choices of two policies occurs in some row, and
every choice occurs on every kind of processor. The tests' output must be the same in every row.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pagewalk import kernel_image
from pagewalk.initramfs import Initramfs
from suite.catalog import all_groups
from suite.groups import user_tests
from suite.model import Case, Group, Outcome, read_transcript
from suite.places import BUILD, kernel_for, machine_file, processors_of

from kernel.covering import MACHINE, Choices, covering
from kernel.runs import REFUSED_WORD, RUNNER, SANITIZED, Boot, boot, side_by_side

# The value used for a choice with a number, such as "scatter:<multiplier>".
NUMBERS = {"frames": "32", "microseconds": "100", "pages": "20", "window": "16", "multiplier": "897", "neighbours": "8"}

QUICK_MACHINES = ("ppc603-133", "ppc604-133", "mpc855t-48")
MACHINES = (*QUICK_MACHINES, "ppc750-400", "ppc405-200", "ppc970-1600")

# Tests that depend most on translation and take little time.
QUICK_CASES = ("cow", "exec", "ipc", "ipc_memory", "mmap", "pipe", "pipe_pages", "process")

# Machines with several processors: each form of shootdown, and in turn the choices of what else flushes or locks. The
# first row is that of one processor.
ONE_PROCESSOR = "ppc604-133"
SEVERAL_MACHINES = ("ppc604-185x2", "ppc750-400x2", "ppc604-200x4")
SEVERAL_CASES = ("cow", "mmap", "pipe_pages", "process", "thread", "thread_memory")
FLUSHING = ("switch.flush", "tlb.flush", "pte.update", "kernel.map", "fork.tables", "kernel.lock", "kernel.buffers")

# The groups of the whole suite that take less than an hour with the invariant checker and the sanitizers.
WHOLE_GROUPS = ("user", "waits", "dynamic", "lua-glibc", "sqlite-glibc", "busybox-glibc")
CHECKED = "check=on "

# Machines without a floating-point unit, and the groups whose programs run without one.
WITHOUT_FPU = frozenset({"mpc855t-48", "ppc405-200"})
INTEGER_GROUPS = frozenset({"user", "waits"})

# The instruction limit of a boot with cases, and the memory that it needs, in MB.
CASES_LIMIT = 100_000_000_000
MEMORY = 64

# Passed runs of `--whole` are kept here, so that it can be interrupted and continued.
KEPT = BUILD / "policies"


@dataclass(frozen=True)
class Row:
    """A machine and a choice for each policy. `number` counts from 1; row 1 has the defaults on the first machine."""

    number: int
    machine: str
    choices: dict[str, str]

    @property
    def words(self) -> str:
        """The choices in the form of the kernel's command line."""
        return " ".join(f"{name}={value}" for name, value in self.choices.items())


def declared() -> Choices:
    """Every policy of the built kernel with its choices, the default first."""
    image = kernel_for(1).read_bytes()
    return {
        policy.name: [_number(choice) for choice in sorted(policy.choices, key=lambda choice: choice != policy.default)]
        for policy in kernel_image.policies(image)
    }


def _number(choice: str) -> str:
    return re.sub(r"<(\w+)>", lambda found: NUMBERS[found[1]], choice)


def meant(machine: str, choices: Choices, initramfs: Path) -> Choices:
    """The choices that the kernel accepts on this machine's processor."""
    singles = [(name, value) for name, values in choices.items() for value in values[1:]]
    # An MPC8xx refuses a word within two million instructions, others earlier. If one came later, its rows would fail.
    boots = side_by_side(
        lambda one: boot(machine, initramfs, f"quiet {one[0]}={one[1]} -- /bin/hello", (), instructions=2_000_000),
        singles,
    )
    refused = {
        one for one, done in zip(singles, boots, strict=True)
        if done.status == REFUSED_WORD and "has no meaning on this processor" in done.console
    }  # fmt: skip
    return {name: [value for value in values if (name, value) not in refused] for name, values in choices.items()}


def rows_on(machines: Iterable[str], folder: Path) -> list[Row]:
    """Rows on these machines in which every pair of choices occurs."""
    probe = folder / "probe.cpio"
    probe.write_bytes(only(user_tests(), ()).packed([]))
    choices = declared()
    rows = covering({machine: meant(machine, choices, probe) for machine in machines})
    return [
        Row(number, row[MACHINE], {name: value for name, value in row.items() if name != MACHINE})
        for number, row in enumerate(rows, 1)
    ]


def rows_of_several(machines: Iterable[str], *, whole: bool) -> list[Row]:
    """Rows on machines with several processors. Quick: each form of shootdown on one machine of two processors, and
    the forms of the second machine on the others too. From the third machine on, each form meets other choices."""
    choices = declared()
    # These machines have BATs, and so no large pages.
    choices["kernel.map"].remove("large")
    rows = [Row(1, ONE_PROCESSOR, {})]
    for index, machine in enumerate(machines):
        for turn, form in enumerate(choices["shootdown"]):
            if (form == "broadcast" and machine.startswith("ppc750")) or (not whole and turn % 2 != (index > 0)):
                continue
            others = {name: choices[name][(turn + 1 + index // 2) % len(choices[name])] for name in FLUSHING}
            # Enters pages, too, whose flush nobody has waited for.
            around = {"fault.around": choices["fault.around"][-1]}
            rows.append(Row(len(rows) + 1, machine, {"shootdown": form, **around, **others}))
    return rows


def only(group: Group, names: tuple[str, ...]) -> Group:
    """The group with these cases only, and without the programs of other cases."""
    cases = [case for case in group.cases if case.name in names]
    kept = {case.command[0].lstrip("/") for case in cases}
    entries = {path: e for path, e in group.image.entries.items() if not path.startswith("test/") or path in kept}
    return Group(group.name, group.program, Initramfs(entries), cases)


class Matrix:
    """One group's runs, compared with the output of its cases under the defaults. `prefix`: words for every row;
    `kept`: the folder where passed runs are kept, or None."""

    def __init__(self, group: Group, folder: Path, prefix: str = "", kept: Path | None = None) -> None:
        self.group, self.folder, self.prefix, self.kept = group, folder, prefix, kept
        self.expected: dict[str, Outcome] = {}
        self.remembered = 0

    def run(self, rows: list[Row], chosen: list[Row]) -> int:
        """Runs the first row, then the chosen ones, and prints each result; returns the number of failed rows."""
        names = ", ".join(case.name for case in self.group.cases)
        print(f"policies: {self.group.name}: {names}; {len(chosen)} of {len(rows)} rows", flush=True)
        if not self._judged(rows[0]):
            return 1
        rest = [row for row in chosen if row is not rows[0]]
        failed = len(rest) - sum(side_by_side(self._judged, rest))
        print(
            f"policies: {self.group.name}: {len(chosen) - failed} of {len(chosen)} rows pass"
            + (f", {self.remembered} of them in earlier runs" if self.remembered else ""),
            flush=True,
        )
        return failed

    def _judged(self, row: Row) -> bool:
        """Whether a row's cases pass with the same output as under the defaults, which are the first row."""
        initramfs = self._packed(self.group.cases)
        words = self._line(row)
        kept = self.kept / _digest(row.machine, initramfs, words) if self.kept else None
        if kept and kept.exists():
            self.remembered += 1
            done = Boot(**json.loads(kept.read_text()))
        else:
            done = _boot(row.machine, initramfs, words)
        wrong = self._wrong(done, self.group.cases)
        said = [f"{self.group.name}: row {row.number}: {row.machine} {row.words}: {'FAILED' if wrong else 'same'}"]
        for name, what in wrong.items():
            said.append(f"{name}: {what}")
        if wrong:
            said.append(f"exit status {done.status}; the console ends with\n{done.console[-1500:]}")
            said.append(
                self._narrowed(row, [case for case in self.group.cases if case.name in wrong] or self.group.cases)
            )
            if self.kept:
                said.append(f"again: python -m kernel policies --whole --rows {row.number}")
        elif kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(asdict(done)))
        print("\n  ".join(said), flush=True)
        return not wrong

    def _wrong(self, done: Boot, cases: list[Case]) -> dict[str, str]:
        """The errors of a run, by case. A case that ended normally fills `expected` if it has no entry yet."""
        outcomes = read_transcript(done.console).outcomes
        wrong = {}
        for case in cases:
            outcome = outcomes.get(case.name, Outcome("", "did not start"))
            if case.alone:
                if outcome.end != "status=0":
                    wrong[case.name] = outcome.end
            elif not outcome.end.startswith("status="):
                wrong[case.name] = outcome.end
            elif outcome != self.expected.setdefault(case.name, outcome):
                wrong[case.name] = f"its output differs from that under the defaults, {outcome.end}"
        if done.status != 0:
            wrong["the kernel"] = f"ended with status {done.status}"
        return wrong

    def _narrowed(self, row: Row, cases: list[Case]) -> str:
        """A message with the choices of a row that make these cases fail when they run alone."""
        initramfs = self._packed(cases)

        def fails(row: Row) -> bool:
            return bool(self._wrong(_boot(row.machine, initramfs, self._line(row)), cases))

        if not fails(row):
            return "run alone, these cases pass"
        for name in row.choices:
            without = replace(row, choices={other: value for other, value in row.choices.items() if other != name})
            if fails(without):
                row = without
        return f"run alone, these cases fail with: {row.words or 'the defaults'}"

    def _line(self, row: Row) -> str:
        return f"quiet {self.prefix}{row.words} -- /bin/suite /etc/suite"

    def _packed(self, cases: list[Case]) -> Path:
        """Writes an initramfs of the group with these cases, unless it exists already."""
        packed = self.group.packed(cases)
        initramfs = self.folder / f"{hashlib.sha256(packed).hexdigest()}.cpio"
        if not initramfs.exists():
            initramfs.write_bytes(packed)
        return initramfs


def _flags(words: str) -> tuple[str, ...]:
    """The sanitizers for these words. A form of shootdown that does not wait lets others use a page for some time: only
    reuse of its frame is an error. That check takes ten times as long, and goes with the invariant checker alone."""
    if "shootdown=generation" not in words:
        return SANITIZED
    return ("--sanitize", "reuse") if CHECKED in words else ()


def _boot(machine: str, initramfs: Path, words: str) -> Boot:
    return boot(machine, initramfs, words, _flags(words), instructions=CASES_LIMIT, memory=MEMORY)


def _digest(machine: str, initramfs: Path, words: str) -> str:
    """A name for a run, made from everything that determines it."""
    files = (RUNNER, kernel_for(processors_of(machine)), machine_file(machine), initramfs)
    parts = [*(file.read_bytes() for file in files), *(part.encode() for part in (*_flags(words), words))]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def check(*, whole: bool, machines: list[str], chosen: set[int]) -> int:
    """Runs the matrix on these machines, quick or whole; with row numbers, only those rows. Returns the number of
    failed runs."""
    with tempfile.TemporaryDirectory(prefix="pagewalk-policies-") as name:
        folder = Path(name)
        rows = rows_on(machines or (MACHINES if whole else QUICK_MACHINES), folder)
        print(f"policies: {len(rows[0].choices)}, rows that contain all pairs of choices: {len(rows)}", flush=True)
        here = [row for row in rows if not chosen or row.number in chosen]
        if not whole:
            several = bool(machines) and set(machines) <= set(SEVERAL_MACHINES)
            cases = (*QUICK_CASES, "thread_memory") if several else QUICK_CASES
            failed = Matrix(only(user_tests(), cases), folder).run(rows, here)
            return failed + (0 if machines or chosen else check_several(whole=False))
        failed = 0 if machines or chosen else check_several(whole=True)
        for group in WHOLE_GROUPS:
            fit = [row for row in rows if group in INTEGER_GROUPS or row.machine not in WITHOUT_FPU]
            if fit:
                matrix = Matrix(all_groups()[group](), folder, CHECKED, KEPT)
                failed += matrix.run(fit, [row for row in fit if row in here])
        return failed


def check_several(*, whole: bool) -> int:
    """Runs the rows of several processors: quick some cases, whole the user tests with the invariant checker. Returns
    the number of failed rows."""
    with tempfile.TemporaryDirectory(prefix="pagewalk-policies-") as name:
        rows = rows_of_several(SEVERAL_MACHINES, whole=whole)
        if whole:
            return Matrix(user_tests(), Path(name), CHECKED, KEPT).run(rows, rows)
        return Matrix(only(user_tests(), SEVERAL_CASES), Path(name)).run(rows, rows)
