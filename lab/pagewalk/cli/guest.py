"""`pagewalk exec | boot | resume`: one run, watched."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pagewalk import _machine, guest, native, results_file, stats, systems
from pagewalk.cli import next_steps, options
from pagewalk.cli.jobs import bare_job, given, job_of
from pagewalk.cli.output import Json, complain, err, next_step, print_json, say
from pagewalk.cli.simulation import Save, Watched, print_summary, watch
from pagewalk.errors import BadInput, PagewalkError, StoreError, WrongOption
from pagewalk.runner import BOOT_LIMIT, DEFAULT_INSTRUCTIONS, Job, RunResult

if TYPE_CHECKING:
    from pagewalk.store import Store


def _sanitize(machine: _machine.Machine, names: str | None) -> None:
    if names:
        try:
            machine.sanitize(names)
        except ValueError as error:
            raise WrongOption(f"--sanitize: {error}") from None


def _save(path: Path | None, cycle: int | None) -> Save | None:
    if path is None and cycle is None:
        return None
    if path is None or cycle is None:
        raise WrongOption("--save FILE and --at CYCLE belong together", hint="give both, or neither")
    return Save(path, cycle)


def _say_why_illegal(job: Job, status: int) -> None:
    """Says why a program has met an illegal instruction, where the kernel is why."""
    if status == guest.SIGNALLED + signal.SIGILL and systems.lacks_floats(job):
        say(
            err,
            f"{job.kernel_name} does not emulate floating-point instructions, which this core lacks: "
            "it needs CONFIG_MATH_EMULATION",
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
    store.add_all(runner.version, [(key, job, result)])
    return key


def _expected(store: Store, job: Job) -> int | None:
    """How many instructions the run took the last time. A results file that fails now must not end the run."""
    with suppress(StoreError):
        return store.expected_instructions(job.machine.name, job.command_line)
    return None


def _loaded(job: Job) -> _machine.Machine:
    """The machine before its first instruction. Prints the loader's notes."""
    machine = native.load(job)
    for note in machine.notes:
        say(err, note)
    return machine


def say_who_never_ran(machine: _machine.Machine) -> None:
    """Names each processor that the kernel has not started: a quiet Linux does not."""
    if machine.processors > 1:
        for number, counters in enumerate(machine.counters_of_each()):
            if not counters["instructions"]:
                say(err, f"processor {number} was never started: the kernel went on without it")


def _of_each(machine: _machine.Machine) -> dict[str, list[dict[str, int]]]:
    """The counters of each processor, in order, of the whole run; nothing where there is one."""
    return {"processors": machine.counters_of_each()} if machine.processors > 1 else {}


def execute(
    command: options.Command,
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
    """Run a static Linux program on a kernel, and say what it cost.

    The program is for the machine: PPC32, an i386, or RV64GC. A RISC-V machine has --kernel linux-6.1-riscv.

    The exit status is the program's own; 128 and the signal's number where a signal killed it. The run is kept
    in the results under the key that is printed, for `pagewalk compare`; a run with typed input is not.

    Examples: `pagewalk exec -m ppc604-185 -- ./hello`,
    `pagewalk exec -p tlb.cutoff=off --set tlb.data.entries=32 -- ./a.out 10`,
    `pagewalk exec --save hello.snap --at 5000000 -- ./hello`, `pagewalk exec -m i486dx-50 -- hello`,
    `pagewalk exec --kernel linux-6.1-bare -- ./hello`,
    `pagewalk exec --kernel linux-6.12-riscv -m u74-1500 -- hello`
    """
    begin = time.monotonic()
    to_save = _save(save, at)
    job = job_of(machine, command, file, sets, policy, limit, kernel, protocol=protocol, boot_limit=boot_limit)
    loaded = _loaded(job)
    _sanitize(loaded, sanitize)
    loaded.set_oracle(oracle)
    # Typed input is not part of a run's key, nor is how it was watched. A results file that cannot be used is told
    # before the run.
    store = None if typed or sanitize or oracle else results_file.opened(notify=partial(say, err))
    watched = watch(
        loaded,
        limit,
        quiet=as_json,
        on_linux=kernel is not None,
        typed=typed,
        save=to_save,
        expected=None if store is None else partial(_expected, store, job),
        boot_limit=job.boot_limit,
    )
    key = None if store is None or watched.refused else _keep(store, watched, job, time.monotonic() - begin)
    status = watched.status
    _say_why_illegal(job, status)
    if kernel is not None:
        say_who_never_ran(watched.machine)
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
            words = next_steps.quoted(command)
            next_step(
                f"pagewalk compare {key[:12]} RUN",
                # A kernel of other people has no policies.
                *([f"pagewalk ab -p POLICY=A,B -- {words}"] if kernel is None else []),
                f"pagewalk profile {'' if kernel is None else f'--kernel {kernel} -m {machine} '}-- {words}",
            )
    raise typer.Exit(status)


def boot(
    kernel: Annotated[
        str,
        typer.Argument(
            help="A subject (linux-6.1-bare), or a kernel image: a static ELF file for PowerPC, x86 or RISC-V, "
            "or a RISC-V Linux's Image.",
            autocompletion=options.complete_subject,
        ),
    ],
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    sets: options.Sets = None,
    protocol: options.ProtocolName = None,
    file: options.Files = None,
    initrd: options.Initrd = None,
    firmware: options.Firmware = None,
    disk: options.Disk = None,
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
        raise BadInput(
            "with a program, Linux and its firmware are chosen together",
            hint="leave out --firmware; or leave out the program, and give --initrd with an init of your own",
        )
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
        job = bare_job(machine, kernel, sets, initrd, append, limit, protocol, firmware)
    if disk is not None:
        job = replace(job, disk=given(disk))
    watched = watch(_loaded(job), limit, quiet=as_json, typed=typed, save=to_save, boot_limit=job.boot_limit)
    watched.rooted = job.initrd != b""
    _say_why_illegal(job, watched.status)
    say_who_never_ran(watched.machine)
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


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("exec")(execute)
    app.command("boot")(boot)
    app.command("resume")(resume)
