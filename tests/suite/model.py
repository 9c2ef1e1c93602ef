"""Cases, groups, and the transcripts of their runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pagewalk.initramfs import Initramfs

GUEST_LIST = "etc/suite"


@dataclass(frozen=True)
class Case:
    """One command. `seconds` is its time limit, in the time of the system that runs it.

    `alone` marks a case that runs on our kernel only; it must end as `ends` says. `quiet` marks a case whose output is
    not compared, because it differs from run to run; only its end is compared.
    """

    name: str
    command: tuple[str, ...]
    seconds: int = 60
    alone: bool = False
    quiet: bool = False
    ends: str = "status=0"

    def line(self) -> str:
        """The case as a line of the guest's list."""
        return "\t".join((self.name, str(self.seconds), *self.command)) + "\n"


@dataclass
class Group:
    """A root directory and the cases that run in it. `program` names what they test. `memory`, in MB, is the least that
    they need. If `to_a_boot` is not 0, the system starts again after that many cases. `programs` is a folder, or empty:
    a boot's root has only those files of the folder that its cases run."""

    name: str
    program: str
    image: Initramfs
    cases: list[Case]
    memory: int = 64
    to_a_boot: int = 0
    programs: str = ""

    def packed(self, cases: Iterable[Case], init: bytes | None = None) -> bytes:
        """The group's root as an initramfs, with these cases in the guest's list, and another init if one is given."""
        cases = list(cases)
        image = Initramfs(dict(self.image.entries))
        if self.programs:
            run = {case.command[0].lstrip("/") for case in cases}
            for name in [name for name in image.entries if name.startswith(f"{self.programs}/") and name not in run]:
                del image.entries[name]
        if init is not None:
            image.entries["init"] = replace(image.entries["init"], data=init)
        image.file(GUEST_LIST, "".join(case.line() for case in cases).encode())
        return image.pack()


@dataclass(frozen=True)
class Outcome:
    """A case's output and its end: `status=n`, `signal=n`, `timeout`, or `no end` if the system stopped."""

    output: str
    end: str


@dataclass(frozen=True)
class Transcript:
    """The outcomes by name, and the system's own messages."""

    outcomes: dict[str, Outcome]
    rest: str


@dataclass
class Verdict:
    """The result of a group on a target."""

    group: Group
    target: str
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """The number of cases that passed."""
        return len(self.group.cases) - len(self.failures)


def read_transcript(text: str) -> Transcript:
    """Splits a console's text by case. Lines outside of all cases are the system's own."""
    outcomes: dict[str, Outcome] = {}
    rest: list[str] = []
    name = ""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").splitlines(keepends=True):
        if not name and line.startswith("@begin "):
            name, lines = line.split()[1], []
        elif name and line.startswith(f"@end {name} "):
            outcomes[name] = Outcome("".join(lines), line.split()[2])
            name = ""
        elif name:
            lines.append(line)
        else:
            rest.append(line)
    if name:
        outcomes[name] = Outcome("".join(lines), "no end")
    return Transcript(outcomes, "".join(rest))


def judge(group: Group, target: str, got: Transcript, reference: Transcript) -> Verdict:
    """Compares a target's transcript with the reference's."""
    verdict = Verdict(group, target)
    for case in group.cases:
        mine = got.outcomes.get(case.name, Outcome("", "did not start"))
        if case.alone:
            if mine.end != case.ends:
                verdict.failures[case.name] = f"{mine.end}\n{mine.output}"
            continue
        theirs = reference.outcomes.get(case.name, Outcome("", "did not start"))
        if theirs.end in ("did not start", "no end", "timeout"):
            verdict.failures[case.name] = f"the reference itself failed: {theirs.end}\n{theirs.output}"
        elif case.quiet and mine.end == theirs.end:
            continue
        elif mine != theirs:
            verdict.failures[case.name] = _difference(theirs, mine)
    return verdict


def _difference(theirs: Outcome, mine: Outcome) -> str:
    lines = difflib.unified_diff(
        [*theirs.output.splitlines(), theirs.end],
        [*mine.output.splitlines(), mine.end],
        "linux",
        "here",
        lineterm="",
        n=2,
    )
    return "\n".join(list(lines)[:60])
