"""`pagewalk check`: which stale translations a kernel lets its processors use."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape, quoteattr

import typer

from pagewalk import _machine, native, writing
from pagewalk.cli import options
from pagewalk.cli.jobs import bare_job, job_of
from pagewalk.cli.output import Json, err, next_step, print_json, say
from pagewalk.cli.simulation import Watched, watch
from pagewalk.errors import BadInput, ExitStatus
from pagewalk.paths import check_writable, read_file
from pagewalk.runner import BOOT_LIMIT, DEFAULT_INSTRUCTIONS

OURS = "ours"
"""The name of our own kernel as a kernel to check."""

FOUND = 1
"""The exit status of a run with findings."""

_SANITIZER = "stale translation"


def summary(counts: dict[str, int]) -> str:
    """The counts of a run in one line."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


@dataclass(frozen=True)
class Checked:
    """A run that the sanitizer has watched."""

    name: str
    """Which kernel, on which machine."""
    watched: Watched
    counts: dict[str, int]
    findings: list[dict[str, Any]]
    left_out: str | None
    """What the sanitizer had no room for."""

    @classmethod
    def of(cls, name: str, watched: Watched) -> Checked:
        """What a machine has found that has run."""
        counts, texts, left_out = watched.machine.findings()
        return cls(name, watched, dict(counts), [json.loads(text) for text in texts], left_out)

    @property
    def ended(self) -> str | None:
        """Why the run ended, unless the guest or a finding ended it."""
        stop = self.watched.stop
        if stop.kind == "power-off" or (self.findings and _SANITIZER in stop.reason):
            return None
        return stop.reason

    @property
    def status(self) -> int:
        """The exit status of the command."""
        if self.findings:
            return FOUND
        return int(ExitStatus.OK) if self.ended is None else self.watched.status

    def junit(self) -> str:
        """A JUnit report with one test case.

        The case fails with each finding, and has an error if the run did not end by itself.
        """
        failures = "".join(
            f"<failure type={quoteattr(finding['kind'])} message={quoteattr(finding['text'].splitlines()[0])}>"
            f"{escape(finding['text'])}</failure>"
            for finding in self.findings
        )
        ended = self.ended
        error = "" if ended is None else f"<error message={quoteattr(ended.splitlines()[0])}>{escape(ended)}</error>"
        counts = f'failures="{int(bool(failures))}" errors="{int(bool(error))}"'
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f'<testsuite name="pagewalk check" tests="1" {counts}>'
            f'<testcase classname="translation" name={quoteattr(self.name)}>{failures}{error}</testcase></testsuite>\n'
        )

    def json(self) -> dict[str, Any]:
        """All of it, for a program."""
        return {
            "counts": self.counts,
            "findings": self.findings,
            "left_out": self.left_out,
            "stop": self.watched.stop,
            "status": self.watched.status,
            "output": self.watched.machine.printed(),
        }

    def print(self) -> None:
        """The findings on standard output, and the counts on standard error."""
        for finding in self.findings:
            sys.stdout.write(finding["text"] + "\n")
            if finding["times"] > 1:
                sys.stdout.write(f"  found {finding['times']:,} times\n")
        say(err, f"{self.name}: {summary(self.counts)}")
        if self.left_out is not None:
            say(err, self.left_out)
        if self.ended is not None:
            say(err, self.ended)
        if self.findings:
            next_step("pagewalk see --stale --kernel KERNEL -- PROG", "pagewalk gdb --kernel KERNEL -- PROG")


def begin(machine: _machine.Machine, *, goes_on: bool) -> None:
    """Watches a machine from now on; `goes_on`: findings do not end the run."""
    try:
        machine.sanitize("translation")
    except ValueError as error:
        raise BadInput(str(error)) from None
    machine.set_sanitizer_stops(not goes_on)


def check(
    kernel: Annotated[
        str,
        typer.Argument(
            help="`ours`, a subject (linux-6.1-i486), or a kernel image: a static ELF file.",
            autocompletion=options.complete_subject,
        ),
    ],
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    sets: options.Sets = None,
    policy: options.Policies = None,
    protocol: options.ProtocolName = None,
    file: options.Files = None,
    initrd: options.Initrd = None,
    firmware: options.Firmware = None,
    append: Annotated[str, typer.Option(help="The kernel's command line; with a program, further words of it.")] = "",
    image: Annotated[
        Path | None, typer.Option(help="With `ours`: an image of our kernel that you have built from changed sources.")
    ] = None,
    goes_on: Annotated[
        bool, typer.Option("--go-on", help="Run to the end, and report every finding, not the first alone.")
    ] = False,
    junit_file: Annotated[Path | None, typer.Option("--junit", help="Write a JUnit report there.")] = None,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    boot_limit: options.BootLimit = BOOT_LIMIT,
    as_json: Json = False,
) -> None:
    """Run a kernel, and report each stale translation that it lets a processor use.

    The exit status is 0 if there is none and the run ended by itself, 1 if there are findings, and otherwise that of
    `boot`. A program's own status does not count: it is in the JSON.

    Examples: `pagewalk check linux-6.1-i686-smp -m p6-200x2 -- ./stress`, `pagewalk check ours -- hello`,
    `pagewalk check vmlinux -m i486dx-50 --initrd root.cpio --junit check.xml`
    """
    if command and (initrd or firmware):
        raise BadInput("a program comes with an initial RAM file system", hint="leave out --initrd and --firmware")
    if kernel == OURS and not command:
        raise BadInput("our kernel needs a program", hint="write `-- PROG [ARG]...`")
    if command:
        named = None if kernel == OURS else kernel
        job = job_of(
            machine, command, file, sets, policy, limit, named, protocol=protocol, append=append, boot_limit=boot_limit
        )
    else:
        job = bare_job(machine, kernel, sets, initrd, append, limit, protocol, firmware)
    if image is not None:
        if kernel != OURS:
            raise BadInput("--image is for our kernel", hint="name the image instead of the kernel")
        job = replace(job, kernel=read_file(image))
    if junit_file is not None:
        check_writable(junit_file)
    loaded = native.load(job)
    begin(loaded, goes_on=goes_on)
    on_linux = bool(command) and kernel != OURS
    watched = watch(loaded, limit, quiet=as_json, on_linux=on_linux, boot_limit=job.boot_limit)
    checked = Checked.of(f"{kernel} on {machine}", watched)
    if as_json:
        print_json(checked.json())
    else:
        checked.print()
    if junit_file is not None:
        writing.write(junit_file, checked.junit())
    raise typer.Exit(checked.status)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("check")(check)
