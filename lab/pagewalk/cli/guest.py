"""`pagewalk exec | boot | resume`: one run, watched."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from pagewalk import _machine, guest, images, native, stats, subjects, summary, systems
from pagewalk.cli import options
from pagewalk.cli.laboratory import Ticker
from pagewalk.cli.output import Json, complain, err, next_step, print_json, say, table
from pagewalk.cli.sheet import chosen as form_chosen
from pagewalk.errors import BadInput, ExitStatus, Interrupted, PagewalkError, RunFailed, RunLimit, WrongOption
from pagewalk.guest import Program
from pagewalk.paths import home, read_file
from pagewalk.runner import BOOT_LIMIT, DEFAULT_INSTRUCTIONS, NO_LIMIT, BootProtocol, Job, Progress, RunResult, Stop
from pagewalk.store import Store
from pagewalk.workshop import Workshop

Command = Annotated[
    list[str],
    typer.Argument(
        help="The program, a static executable for the machine's architecture (a path with a slash in it, or the name "
        "of a built program or of a file here), and its arguments, of any bytes.",
        metavar="PROG [ARG]...",
        autocompletion=options.complete_command,
    ),
]
MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        help="The program and its arguments; none with --from.",
        metavar="[PROG [ARG]...]",
        autocompletion=options.complete_command,
    ),
]
_TYPED_MOST = 16 << 20
"""How many bytes are typed on a guest's console."""
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]


@dataclass
class Watched:
    """A machine that has run to its end, and how it ended."""

    machine: _machine.Machine
    stop: Stop
    rooted: bool = True
    """Whether the kernel was given an initial RAM file system."""

    @property
    def _panic(self) -> str | None:
        """Why Linux panicked, if it did."""
        return systems.panic(self.machine.printed(), rooted=self.rooted) if self.stop.kind == "power-off" else None

    @property
    def status(self) -> int:
        """The exit status that the command ends with."""
        if self.stop.kind == "power-off" and self._panic is None:
            return guest.exit_status(self.stop.status, self.machine.printed())
        return int(ExitStatus.LIMIT if self.stop.kind == "limit" else ExitStatus.FATAL)

    @property
    def refused(self) -> bool:
        """Our kernel did not begin with the program, and has said why."""
        return self.stop.kind == "power-off" and self.stop.status in guest.NOT_BEGUN

    def check(self) -> None:
        """Raises unless the guest powered off by itself."""
        if self.stop.kind == "limit":
            raise RunLimit(self.stop.reason)
        if self.stop.kind == "fatal":
            raise RunFailed(self.stop.reason)
        if (panic := self._panic) is not None:
            raise RunFailed(f"Linux panicked: {panic}")


def _typed(path: Path) -> bytes:
    """What is typed on the guest's console: the beginning of a file, which may be a device without an end."""
    try:
        if str(path) == "-":
            found = sys.stdin.buffer.read(_TYPED_MOST + 1)
        else:
            with path.open("rb") as stream:
                found = stream.read(_TYPED_MOST + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    if len(found) > _TYPED_MOST:
        say(err, f"{path}: only the first {_TYPED_MOST >> 20} MB are typed")
    return found[:_TYPED_MOST]


def _write_console(machine: _machine.Machine, shown: int) -> int:
    fresh = machine.printed(shown)
    sys.stdout.buffer.write(fresh)
    sys.stdout.buffer.flush()
    return shown + len(fresh)


@dataclass(frozen=True)
class Save:
    """A snapshot to write: the file, and the cycle at which to write it."""

    path: Path
    cycle: int

    def write(self, machine: _machine.Machine) -> None:
        """Writes it, if the machine has come to that cycle."""
        if machine.cycles < self.cycle:
            raise BadInput(
                f"{self.path}: not written: the run ended after {machine.cycles:,} cycles, before cycle {self.cycle:,}"
            )
        try:
            self.path.write_bytes(machine.save())
        except OSError as error:
            raise BadInput(f"{self.path}: {error.strerror}") from None


def _save(path: Path | None, cycle: int | None) -> Save | None:
    if path is None and cycle is None:
        return None
    if path is None or cycle is None:
        raise WrongOption("--save FILE and --at CYCLE belong together", hint="give both, or neither")
    return Save(path, cycle)


def watch(
    machine: _machine.Machine,
    limit: int,
    *,
    quiet: bool = False,
    on_linux: bool = False,
    typed: Path | None = None,
    save: Save | None = None,
    until: int = NO_LIMIT,
    boot_limit: int = NO_LIMIT,
    expected: int | None = None,
) -> Watched:
    """Runs a machine to its end, to `limit` instructions or to the cycle `until`, both counted from reset.

    Linux's init must be ready within `boot_limit` instructions.

    What the guest prints appears as it does, unless `quiet`; `on_linux`, only what comes after init is ready, or all of
    it at the end if init never was. `typed` is a file with what is typed on the guest's console, `-` for standard
    input. `expected`: about how many instructions the run takes, where that is known.
    """
    quiet = quiet or form_chosen.form != "table"
    shown = len(machine.printed())
    waiting = on_linux
    if typed is not None:
        machine.type_in(_typed(typed))
    ticker = Ticker(expected)

    def show(*, ended: bool = False) -> None:
        nonlocal shown, waiting
        if quiet:
            return
        if waiting:
            printed = machine.printed()
            before = len(printed) - len(systems.output(printed))
            waiting = before == 0 and not ended
            shown = max(shown, before)
        if not waiting:
            shown = _write_console(machine, shown)

    def look(progress: Progress) -> bool:
        ticker.clear()
        show()
        if not quiet:
            ticker.show(progress)
        return True

    try:
        stop = native.go(
            machine, limit, look, until=until if save is None else min(save.cycle, until), boot_limit=boot_limit
        )
        if save is not None:
            show(ended=True)
            save.write(machine)
            stop = native.go(machine, limit, look, until=until, boot_limit=boot_limit)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted after {machine.instructions:,} instructions") from None
    finally:
        ticker.clear()
    show(ended=True)
    return Watched(machine, stop)


def _sanitize(machine: _machine.Machine, names: str | None) -> None:
    if names:
        try:
            machine.sanitize(names)
        except ValueError as error:
            raise WrongOption(f"--sanitize: {error}") from None


def _program(command: list[str], files: list[str] | None) -> Program:
    with options.option("--file"):
        further = tuple(guest.guest_file(text) for text in files or [])
    return Program(command[0], tuple(command[1:]), further)


def job_of(
    machine: str,
    command: list[str],
    files: list[str] | None,
    sets: list[str] | None,
    chosen: list[str] | None,
    limit: int,
    kernel: str | None,
    *,
    protocol: str | None = None,
    append: str = "",
    quiet: bool = True,
    boot_limit: int = BOOT_LIMIT,
) -> Job:
    """The run of a program, from the command's options."""
    if protocol is not None and kernel is None:
        raise WrongOption("--protocol: our kernel is started by a device tree", hint="it is for --kernel IMAGE")
    workshop = Workshop(native.NativeRunner())
    overrides = options.overrides(sets)
    if kernel is None:
        options.check_machine(workshop, machine, [overrides])
    return guest.job(
        workshop,
        machine,
        _program(command, files),
        overrides=overrides,
        settings=options.settings(chosen, machine),
        limit=limit,
        boot_limit=boot_limit,
        kernel=kernel,
        protocol=cast("BootProtocol | None", protocol),
        boot={name: value for name, _, value in (word.partition("=") for word in append.split())},
        quiet=quiet,
    )


def _bare_job(
    machine: str,
    kernel: str,
    sets: list[str] | None,
    initrd: Path | None,
    append: str,
    limit: int,
    protocol: str | None,
    firmware: Path | None = None,
) -> Job:
    """The run of a kernel with an initial RAM file system and a command line of the person's own."""
    workshop = Workshop(native.NativeRunner())
    overrides = options.overrides(sets)
    files = read_file(initrd) if initrd else b""
    below = read_file(firmware) if firmware else b""
    if not subjects.is_subject(kernel):
        image = images.read(Path(kernel))
        resolved = systems.on_board(workshop, machine, overrides, image)
        images.check(image, resolved.architecture)
        return Job(
            resolved,
            image.data,
            files,
            systems.bare_line(image, append),
            limit=limit,
            kernel_name=kernel,
            protocol=cast("BootProtocol | None", protocol),
            firmware=below,
        )
    if protocol is not None:
        raise WrongOption(f"--protocol: {kernel} is started by a device tree", hint="it is for a kernel image")
    if initrd is None:
        raise BadInput(
            f"{kernel} needs a program or an initial RAM file system", hint="write `-- PROG [ARG]...`, or --initrd"
        )
    system = systems.named(workshop, machine, overrides, kernel)
    # The initial RAM file system may hold another init than ours.
    job = system.job(files, " ".join([*system.words, append]).strip(), limit=limit)
    return replace(job, boot_limit=NO_LIMIT, firmware=below)


def loaded_machine(
    snapshot_file: Path | None,
    machine: str,
    command: list[str] | None,
    files: list[str] | None,
    sets: list[str] | None,
    chosen: list[str] | None,
    limit: int,
    kernel: str | None,
) -> _machine.Machine:
    """A machine with a program before its first instruction, or one that goes on from a snapshot."""
    if snapshot_file is None:
        if not command:
            raise BadInput("no program was given", hint="write `-- PROG [ARG]...`, or --from SNAPSHOT")
        return native.load(job_of(machine, command, files, sets, chosen, limit, kernel))
    if command or files or sets or chosen or kernel or machine != options.DEFAULT_MACHINE:
        raise BadInput(
            "--from goes on with the snapshot's own machine and program",
            hint="leave out the program, --machine, --kernel, --set, --policy and --file",
        )
    return native.restore(snapshot_file)


def _say_why_illegal(job: Job, status: int) -> None:
    """Says why a program has met an illegal instruction, where the kernel is why."""
    if status == guest.SIGNALLED + signal.SIGILL and systems.lacks_floats(job):
        say(
            err,
            f"{job.kernel_name} does not emulate floating-point instructions, which this core lacks: "
            "it needs CONFIG_MATH_EMULATION",
        )


def print_summary(watched: Watched, title: str) -> None:
    """What the run cost, on standard error, so that a pipe gets the program's output alone."""
    if watched.refused:
        say(err, "the kernel did not begin with the program, so there are no costs of it")
        return
    counters = guest.program_counters(watched.machine.regions(), watched.machine.counters())
    err.print(
        table(
            title,
            ["what", ">count", "detail"],
            ([line.name, f"{line.count:,}", line.share] for line in summary.overview(counters, watched.machine.clock)),
        )
    )
    causes = summary.by_cause(counters)
    err.print(
        table(
            "by cause",
            ["cause", ">cycles", ">share", ">TLB misses", ">I-cache misses", ">D-cache misses"],
            (
                # The cycles of walks and write-backs are charged to the category that caused them.
                [row[0], *([f"{row[1]:,}", share] if row[1] else ["", ""]), *(f"{count:,}" for count in row[2:])]
                for row, share in zip(causes, summary.shares(causes), strict=True)
            ),
        )
    )


def _keep(store: Store, watched: Watched, job: Job, seconds: float) -> str:
    """Keeps the run in the results, for `pagewalk compare`; returns its key."""
    runner = native.NativeRunner()
    key = job.key(runner.version)
    result = RunResult(
        stop=watched.stop,
        console=watched.machine.printed(),
        counters=watched.machine.counters(),
        regions=watched.machine.regions(),
        host_seconds=seconds,
        dumps=tuple(watched.machine.dumps()),
    )
    store.add(key, runner.version, job, result)
    return key


def _loaded(job: Job) -> _machine.Machine:
    """The machine before its first instruction. Prints the loader's notes."""
    machine = native.load(job)
    for note in machine.notes:
        say(err, note)
    return machine


def _of_each(machine: _machine.Machine) -> dict[str, list[dict[str, int]]]:
    """The counters of each processor, in order, of the whole run; nothing where there is one."""
    return {"processors": machine.counters_of_each()} if machine.processors > 1 else {}


def execute(
    command: Command,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    protocol: options.ProtocolName = None,
    file: options.Files = None,
    typed: options.Typed = None,
    sanitize: options.Sanitize = None,
    oracle: Annotated[
        bool,
        typer.Option("--oracle", help="Without the machine's shortcuts: the same cycles and counters, only slower."),
    ] = False,
    save: options.Save = None,
    at: options.SaveAt = None,
    stats_file: options.Stats = None,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    boot_limit: options.BootLimit = BOOT_LIMIT,
    as_json: Json = False,
) -> None:
    """Run a static Linux program for PPC32 or an i386 on our kernel, and say what it cost.

    The exit status is the program's own; 128 and the signal's number where a signal killed it. The run is kept
    in the results under the key that is printed, for `pagewalk compare`; a run with typed input is not.

    Examples: `pagewalk exec -m ppc604-185 -- ./hello`,
    `pagewalk exec -p tlb.cutoff=off --set tlb.data.entries=32 -- ./a.out 10`,
    `pagewalk exec --save hello.snap --at 5000000 -- ./hello`, `pagewalk exec -m i486dx-50 -- hello`,
    `pagewalk exec --kernel linux-6.1-bare -- ./hello`
    """
    begin = time.monotonic()
    to_save = _save(save, at)
    job = job_of(machine, command, file, sets, policy, limit, kernel, protocol=protocol, boot_limit=boot_limit)
    loaded = _loaded(job)
    _sanitize(loaded, sanitize)
    loaded.set_oracle(oracle)
    # Typed input is not part of a run's key, nor is how it was watched. A results file that cannot be used is told
    # before the run.
    store = None if typed or sanitize or oracle else Store(home().results, notify=partial(say, err))
    watched = watch(
        loaded,
        limit,
        quiet=as_json,
        on_linux=kernel is not None,
        typed=typed,
        save=to_save,
        expected=None if store is None else store.expected_instructions(job.machine.name, job.command_line),
        boot_limit=job.boot_limit,
    )
    key = None if store is None or watched.refused else _keep(store, watched, job, time.monotonic() - begin)
    status = watched.status
    _say_why_illegal(job, status)
    if stats_file is not None:
        counters = guest.program_counters(watched.machine.regions(), watched.machine.counters())
        stats.write(stats_file, counters, watched.machine.clock)
    if as_json:
        print_json(
            {
                "run": key,
                "output": systems.output(watched.machine.printed()),
                "stop": watched.stop,
                "status": watched.status,
                "clock": watched.machine.clock,
                "counters": guest.program_counters(watched.machine.regions(), watched.machine.counters()),
                "run_counters": watched.machine.counters(),
                **_of_each(watched.machine),
            }
        )
    else:
        print_summary(watched, job.machine.name)
        if key is not None:
            say(err, f"kept as run {key[:12]}")
        try:
            watched.check()
        except PagewalkError as error:
            complain(error, as_json=False)
            status = int(error.status)
        if key is not None:
            next_step(
                f"pagewalk compare {key[:12]} RUN",
                # A kernel of other people has no policies.
                *([f"pagewalk ab -p POLICY=A,B -- {command[0]}"] if kernel is None else []),
                f"pagewalk profile {'' if kernel is None else f'--kernel {kernel} -m {machine} '}-- {command[0]}",
            )
    raise typer.Exit(status)


def boot(
    kernel: Annotated[
        str,
        typer.Argument(
            help="A subject (linux-6.1-bare), or a kernel image: a static ELF file for PowerPC, x86 or RISC-V.",
            autocompletion=options.complete_subject,
        ),
    ],
    command: MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    sets: options.Sets = None,
    protocol: options.ProtocolName = None,
    file: options.Files = None,
    initrd: Annotated[
        Path | None,
        typer.Option(help="An initial RAM file system, or a RAM disk's image, of your own, without a program."),
    ] = None,
    firmware: Annotated[
        Path | None,
        typer.Option(help="Firmware of a RISC-V machine, which starts the kernel: fw_dynamic.bin of OpenSBI."),
    ] = None,
    append: Annotated[str, typer.Option(help="The kernel's command line; with a program, further words of it.")] = "",
    typed: options.Typed = None,
    save: options.Save = None,
    at: options.SaveAt = None,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    boot_limit: options.BootLimit = BOOT_LIMIT,
    as_json: Json = False,
) -> None:
    """Boot any kernel on a machine, with its console on standard output. With a program, init runs it, and the exit
    status is the program's.

    Examples: `pagewalk boot linux-6.1-bare -m ppc603-133 -- ./hello`,
    `pagewalk boot build/kernel/vmlinux -m ppc603-133 --append "check=on"`,
    `pagewalk boot vmlinux-2.4 -m mpc855t-48 --set board.kind=fads --protocol board-information -- dd`
    """
    to_save = _save(save, at)
    if command and initrd:
        raise BadInput("a program comes with an initial RAM file system", hint="leave out --initrd")
    if command and firmware:
        raise BadInput("init is not built for RISC-V", hint="give --initrd with an init of your own, without a program")
    if command:
        job = job_of(
            machine,
            command,
            file,
            sets,
            None,
            limit,
            kernel,
            protocol=protocol,
            append=append,
            quiet=False,
            boot_limit=boot_limit,
        )
    else:
        job = _bare_job(machine, kernel, sets, initrd, append, limit, protocol, firmware)
    watched = watch(_loaded(job), limit, quiet=as_json, typed=typed, save=to_save, boot_limit=job.boot_limit)
    watched.rooted = job.initrd != b""
    _say_why_illegal(job, watched.status)
    if as_json:
        print_json(
            {
                "output": watched.machine.printed(),
                "stop": watched.stop,
                "status": watched.status,
                "counters": watched.machine.counters(),
                **_of_each(watched.machine),
            }
        )
    else:
        watched.check()
    raise typer.Exit(watched.status)


def resume(
    file: Annotated[
        Path, typer.Argument(help="A snapshot that `exec --save` or `boot --save` wrote.", metavar="SNAPSHOT")
    ],
    typed: options.Typed = None,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Go on from a snapshot to the end of its run: the same cycles and counters as without the stop.

    The machine, its settings and the program are the snapshot's. What the guest had printed before is not printed
    again. The limit counts from reset. The run is not kept in the results.

    Example: `pagewalk resume hello.snap`; `profile`, `trace`, `dump` and `gdb` take `--from hello.snap`
    """
    watched = watch(native.restore(file), limit, quiet=as_json, typed=typed)
    if as_json:
        print_json(
            {
                "output": watched.machine.printed(),
                "stop": watched.stop,
                "status": watched.status,
                "clock": watched.machine.clock,
                "counters": guest.program_counters(watched.machine.regions(), watched.machine.counters()),
                "run_counters": watched.machine.counters(),
                **_of_each(watched.machine),
            }
        )
    else:
        print_summary(watched, str(file))
        watched.check()
    raise typer.Exit(watched.status)


def write_text(path: Path, text: str) -> None:
    """Writes a file; BadInput says why it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("exec")(execute)
    app.command("boot")(boot)
    app.command("resume")(resume)
