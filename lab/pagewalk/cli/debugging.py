"""`pagewalk dump | gdb`: a machine's state at an instant, and a debugger's way to it."""

from __future__ import annotations

import json
import signal
import sys
from typing import Annotated, Any

import typer

from pagewalk import architectures, tlb_registers
from pagewalk.cli import next_steps, options
from pagewalk.cli.jobs import job_of, loaded_machine
from pagewalk.cli.output import Json, err, print_json, say
from pagewalk.cli.simulation import Watched, watch
from pagewalk.cli.state import print_state
from pagewalk.errors import BadInput
from pagewalk.runner import DEFAULT_INSTRUCTIONS, NO_LIMIT


def _states(watched: Watched, region: int | None, processor: int | None) -> list[dict[str, Any]]:
    """The state of each processor, or of one; with a region those in which it last began, then those of its end."""
    machine = watched.machine
    if region is None:
        shown = range(machine.processors) if processor is None else [processor]
        return [json.loads(machine.dump(0, number)) for number in shown]
    watched.check()
    states = [json.loads(state) for state in machine.region_states()]
    if not states:
        known = ", ".join(map(str, sorted(machine.regions()))) or "none"
        raise BadInput(f"this run has no whole pass of region {region}", hint=f"its regions: {known}")
    return [state for state in states if processor in {None, state.get("processor", processor)}]


def _print_registers(states: list[dict[str, Any]], functions: tlb_registers.Functions) -> None:
    """The instruction TLB of the state; or what is new in the second of two."""
    if states[0].get("casid") is None:
        raise BadInput("only an MPC8xx has registers that show its TLBs", hint="leave out --registers")
    last = states[-1]["instruction_entries"]
    shown = last if len(states) == 1 else tlb_registers.new(states[0]["instruction_entries"], last)
    for entry in shown:
        sys.stdout.write(tlb_registers.line(entry, functions, "+" if len(states) > 1 else "") + "\n")
    say(err, f"{len(shown)} of {len(last)} entries" + (" are new" if len(states) > 1 else ""))


def dump(
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    snapshot_file: options.From = None,
    at: Annotated[
        int, typer.Option(min=1, max=NO_LIMIT, help="The cycle at which to look; the end of the run by default.")
    ] = NO_LIMIT,
    region: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="Look at where the last whole pass of this region of interest begins and ends, without the caches.",
        ),
    ] = None,
    processor: options.Processor = None,
    registers: Annotated[
        bool,
        typer.Option(
            "--registers",
            help="Print an MPC8xx's instruction TLB as a debugger does (MI_CAM); with --region, what is new in it.",
        ),
    ] = False,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Show TLBs, hash table, BATs, segments and caches at an instant, of each processor.

    Examples: `pagewalk dump --at 5000000 --json -- ./hello`,
    `pagewalk dump -m mpc855t-48 --region 2 --registers -- tlb-footprint`
    """
    loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)
    options.check_processor(processor, loaded.processors)
    if region is not None:
        loaded.dump_at_region(region)
    if registers:
        loaded.record_profile(region)
    watched = watch(loaded, limit, quiet=True, until=at)
    states = _states(watched, region, processor)
    if registers:
        elf = b"" if snapshot_file else job_of(machine, command or [], file, sets, policy, limit, kernel).kernel
        _print_registers(states, tlb_registers.functions_of(elf, {row[3] for row in watched.machine.profile()}))
        return
    if as_json:
        print_json(states[0] if len(states) == 1 else states)
        return
    for state in states[-1:] if processor is not None else states[-loaded.processors :]:
        print_state(state)


def gdb(
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    snapshot_file: options.From = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The TCP port that GDB connects to; 0: any free one.")
    ] = 1234,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Debug the kernel or a program with GDB; waits for GDB on a local port.

    Example: `pagewalk gdb -- ./hello`, and beside it
    `gdb-multiarch build/kernel/vmlinux -ex 'target remote :1234'`
    """
    loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)

    kernel_file = next_steps.quoted([str(architectures.named(loaded.architecture).image(loaded.processors))])

    def announce(found: int) -> None:
        say(err, f"waiting for GDB: gdb-multiarch {kernel_file} -ex 'target remote :{found}'")

    # The stub waits outside of Python, where only the system's own handling of Ctrl-C ends it.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        kind, status, words = loaded.serve_gdb(port, limit, announce)
    except OSError as error:
        raise BadInput(f"port {port}: {error}") from None
    finally:
        signal.signal(signal.SIGINT, handler)
    if as_json:
        print_json({"stop": kind, "status": status, "reason": words, "output": loaded.printed()})
    else:
        sys.stdout.buffer.write(loaded.printed())
        say(err, words)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("dump")(dump)
    app.command("gdb")(gdb)
