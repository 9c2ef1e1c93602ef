"""The run that a command's options describe: a program on a kernel, a kernel by itself, or a snapshot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from pagewalk import _machine, guest, images, mach, native, subjects, systems
from pagewalk.cli import options
from pagewalk.errors import BadInput, WrongOption
from pagewalk.guest import Program
from pagewalk.paths import read_file
from pagewalk.runner import BOOT_LIMIT, NO_LIMIT, BootProtocol, Job
from pagewalk.workshop import Workshop


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


def given(path: Path | None) -> bytes:
    """The content of a file that the person names; nothing without one, so that BadInput refuses an empty file."""
    if path is None:
        return b""
    if not (content := read_file(path)):
        raise BadInput(f"{path}: is empty")
    return content


def bare_job(
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
    files, below = given(initrd), given(firmware)
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
    # The nearest name of a kernel for this machine is told, if there is none of this name.
    config = workshop.machine(machine, {key: value for key, value in overrides.items() if key != "board.kind"}).config
    subjects.choose(kernel, subjects.needs(machine, config, overrides.get("board.kind")))
    if initrd is None:
        raise BadInput(
            f"{kernel} needs a program or an initial RAM file system", hint="write `-- PROG [ARG]...`, or --initrd"
        )
    if mach.is_mach(kernel):
        return mach.job(workshop, machine, overrides, kernel, files, words=append.split(), limit=limit)
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
