"""`pagewalk profile | trace | see`: where a run's cycles go, what happened, and how it translated."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pagewalk import (
    _machine,
    access_trace,
    architectures,
    guest,
    native,
    profiles,
    recording,
    snapshot,
    watching,
    writing,
)
from pagewalk.cli import check, options
from pagewalk.cli.jobs import job_of, loaded_machine
from pagewalk.cli.output import Json, err, out, print_json, say, table
from pagewalk.cli.simulation import Watched, watch
from pagewalk.errors import Interrupted, RunFailed, WrongOption, unknown
from pagewalk.runner import DEFAULT_INSTRUCTIONS

_Shape = tuple[str, dict[str, dict[str, int]]]
_FOLDED = (".folded", ".txt")
"""The suffixes of files with folded stacks."""
_POINTS = 48
"""How often the state of TLBs and hash table is recorded, evenly over a run."""


def _profile_table(rows: list[tuple[str, str, str, str, int, int]], top: int, *, boot: bool) -> None:
    whole = sum(row[4] for row in rows) or 1
    out.print(
        table(
            "Cycles by function, boot included" if boot else "Cycles by function, without boot",
            ["function", "program", "mode", "cause", ">cycles", ">share", ">instructions"],
            (
                [function, program, mode, cause, f"{cycles:,}", f"{cycles / whole:.1%}", f"{instructions:,}"]
                for program, mode, cause, function, cycles, instructions in rows[:top]
            ),
        )
    )


def _stack_table(rows: list[profiles.StackRow], top: int) -> None:
    stacks: dict[tuple[str, ...], int] = {}
    for row in rows:
        stack = (row.program, *row.frames)
        stacks[stack] = stacks.get(stack, 0) + row.cycles
    whole = sum(stacks.values()) or 1
    longest = sorted(stacks.items(), key=lambda item: (-item[1], item[0]))[:top]
    out.print(
        table(
            "Cycles by call stack; functions of the kernel end in _[k]",
            [">cycles", ">share", "stack"],
            ([f"{cycles:,}", f"{cycles / whole:.1%}", " > ".join(stack)] for stack, cycles in longest),
        )
    )


def _difference(files: tuple[Path, Path], top: int, *, as_json: bool) -> None:
    before, after = (profiles.read_speedscope(path) for path in files)
    changes = profiles.difference(before, after)
    whole = sum(before.values()), sum(after.values())
    if as_json:
        print_json({"before": whole[0], "after": whole[1], "changes": changes})
        return
    out.print(
        table(
            f"Cycles by function: {whole[0]:,} before, {whole[1]:,} after ({whole[1] - whole[0]:+,})",
            ["function", "program", ">before", ">after", ">change"],
            (
                [change.function, change.program, f"{change.before:,}", f"{change.after:,}", f"{change.cycles:+,}"]
                for change in changes[:top]
            ),
        )
    )


def _complete_format(start: str) -> list[str]:
    return [name for name in access_trace.FORMATS if name.startswith(start)]


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in access_trace.FORMATS:
        with options.option("--format"):
            raise unknown("format", name, access_trace.FORMATS)
    return name


def profile(
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    snapshot_file: options.From = None,
    top: Annotated[int, typer.Option(min=1, help="Functions to list.")] = 25,
    stacks: Annotated[bool, typer.Option("--stacks", help="List call stacks instead of functions.")] = False,
    flame: Annotated[
        Path | None,
        typer.Option(
            help="Write a flame graph: FILE.json (speedscope, and for --diff) or FILE.folded (folded stacks)."
        ),
    ] = None,
    diff: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Compare two files FILE.json of --flame; nothing is run.", metavar="BEFORE AFTER"),
    ] = None,
    boot: Annotated[bool, typer.Option("--boot", help="Count boot and power-off, too.")] = False,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Show which functions and call stacks of kernel and program take the cycles. Exact, not sampled.

    Only the program's own time is shown, from its start to its end; `--boot` shows the whole run.

    Examples: `pagewalk profile -- ./hello`, `pagewalk profile --stacks -- ./hello`,
    `pagewalk profile --flame new.json -- ./hello`, `pagewalk profile --diff old.json new.json`
    """
    if diff is not None:
        if command or snapshot_file:
            raise WrongOption("--diff compares two files and runs nothing", hint="leave out the program and --from")
        with options.option("--diff"):
            _difference(diff, top, as_json=as_json)
        return
    if flame is not None and flame.suffix not in {".json", *_FOLDED}:
        raise WrongOption(
            f"--flame: {flame}: the suffix names no format",
            hint="write FILE.json for speedscope, FILE.folded for folded stacks",
        )
    loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)
    loaded.record_profile(None if boot else guest.PROGRAM_REGION)
    watched = watch(loaded, limit, quiet=as_json)
    rows = profiles.stack_rows(watched.machine.profile_stacks())
    name = " ".join(command or [str(snapshot_file)])
    if flame is not None:
        text = watched.machine.profile_folded() if flame.suffix in _FOLDED else profiles.write_speedscope(rows, name)
        writing.write(flame, text)
    if as_json and stacks:
        print_json(rows)
    elif as_json:
        names = ("program", "mode", "cause", "function", "cycles", "instructions")
        print_json([dict(zip(names, row, strict=True)) for row in watched.machine.profile()])
    elif stacks:
        _stack_table(rows, top)
    else:
        _profile_table(watched.machine.profile(), top, boot=boot)
    watched.check()


def _tell_limits(machine: _machine.Machine) -> None:
    for words in machine.trace_limits():
        say(err, f"{words}; --window chooses another part of the run")


def _write_trace(path: Path, machine: _machine.Machine, name: str) -> None:
    from pagewalk import perfetto_trace  # noqa: PLC0415 - only here, and slow to import

    try:
        if path.suffix == ".json":
            writing.write(path, machine.trace())
            return
        if path.suffix == ".parquet":
            from pagewalk import walk_table  # noqa: PLC0415 - only here, and slow to import

            walk_table.write(machine, path)
            return
        with writing.replacing(path) as fresh, fresh.open("wb") as stream:
            perfetto_trace.write(machine, stream, name)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while {path} was written: it is left as it was") from None


def trace(
    output: options.Output,
    command: options.MaybeCommand = None,
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    snapshot_file: options.From = None,
    window: Annotated[str | None, typer.Option(help="Cycles since reset to record: a..b, a.. or ..b.")] = None,
    boot: Annotated[bool, typer.Option("--boot", help="Record boot, too.")] = False,
    translation: Annotated[
        bool, typer.Option("--translation", help="Only TLB misses, flushes, switches and regions.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Write every instruction and its accesses for other tools instead: champsim or drmemtrace.",
            autocompletion=_complete_format,
            callback=_known_format,
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, max=options.MOST, help="With --format: write so many instructions at most.")
    ] = 10_000_000,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Record a run for the Perfetto viewer: functions, exceptions, misses, switches.

    The record begins with the program; `--boot` records boot, too, and `--window` any part of the run.
    A TLB miss has its address, set, way, victim and its owner, duration, and the steps of its walk. The file is in
    Perfetto's binary format; if its name ends in .json, in the JSON format that scripts can read; if it ends in
    .parquet, it is a table of the TLB misses with the steps of their walks.

    With `--format`, the file has every instruction of program and kernel and its accesses, as ChampSim or DynamoRIO
    read them, packed if its name ends in .xz, .gz or .bz2. What the format has no place for goes to OUTPUT.side.jsonl.
    ChampSim reads a file for each processor: of several, each file's name has .cpu0, .cpu1 before its suffixes.

    Examples: `pagewalk trace --window 2000000..2500000 -o hello.pftrace -- ./hello`,
    `pagewalk trace --translation -o misses.json -- ./hello`, `pagewalk trace -o walks.parquet -- ./hello`,
    `pagewalk trace --format champsim -o hello.champsimtrace.xz -- ./hello`
    """
    _writable(output)
    if format is not None:
        if translation:
            raise WrongOption("--translation and --format do not go together", hint="leave out one of them")
        loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)
        about = {"machine": machine, "program": " ".join(command or [str(snapshot_file)])}
        start = 0 if boot or not command else None
        _write_accesses(
            loaded, output, format, about, _part(loaded, window, start, command, limit), count, limit, as_json
        )
        return
    if boot and window is not None:
        raise WrongOption("--boot and --window both say where the record begins", hint="leave out one of them")
    loaded = loaded_machine(snapshot_file, machine, command, file, sets, policy, limit, kernel)
    if window is None:
        window = ".." if boot or not command else _from_program(loaded, Path(command[0]), limit)
    try:
        if translation or output.suffix == ".parquet":
            loaded.record_translation(window)
        else:
            loaded.record_trace(window)
    except ValueError as error:
        raise WrongOption(f"--window: {error}") from None
    watched = watch(loaded, limit, quiet=as_json)
    _write_trace(output, watched.machine, " ".join(command or [str(snapshot_file)]))
    events = watched.machine.trace_len()
    if as_json:
        limits = watched.machine.trace_limits()
        print_json({"output": output, "events": events, "limits": limits, "stop": watched.stop})
    else:
        _tell_limits(watched.machine)
        reader = (
            "it is for scripts; ui.perfetto.dev opens it, too"
            if output.suffix == ".json"
            else "the misses among them are its rows"
            if output.suffix == ".parquet"
            else "open it in ui.perfetto.dev"
        )
        say(err, f"{events:,} events in {output}: {reader}")
    watched.check()


def _part(
    loaded: _machine.Machine, window: str | None, start: int | None, command: list[str] | None, limit: int
) -> int:
    """Runs the machine to where accesses are recorded from; gives the cycle at which that ends."""
    if window is None:
        if start is None and command:
            _from_program(loaded, Path(command[0]), limit)
        return options.MOST
    first, dots, last = window.partition("..")
    if not dots or not all(word == "" or word.isdecimal() for word in (first, last)):
        raise WrongOption(f"--window: {window!r} is no window", hint="write a..b, a.. or ..b")
    if first:
        loaded.run(int(first), limit)
    return int(last) if last else options.MOST


def _write_accesses(
    loaded: _machine.Machine,
    output: Path,
    format: str,
    about: dict[str, str],
    until: int,
    count: int,
    limit: int,
    as_json: bool,
) -> None:
    kind, _, words = access_trace.write(loaded, output, format, count=count, until=until, limit=limit, about=about)
    written, files = loaded.recorded(), access_trace.files_of(output, format, loaded.processors)
    sides = [access_trace.side_of(file) for file in files]
    if as_json:
        print_json({"outputs": files, "sides": sides, "instructions": written, "stop": kind})
    else:
        names, beside = (", ".join(map(str, paths)) for paths in (files, sides))
        say(err, f"{written:,} instructions in {names}; what its format has no place for is in {beside}")
        if written >= count:
            say(err, "--count N writes more of them")
    if kind == "fatal":
        raise RunFailed(words)


def _from_program(loaded: _machine.Machine, program: Path, limit: int) -> str:
    """Runs the machine to the program's start; the window from there."""
    if (ended := watching.to_program(loaded, f"/bin/{program.name}", limit)) is not None:
        words = ended[2] or f"the machine powered off with status {ended[1]}"
        raise RunFailed(f"{program.name} did not begin: {words}", hint="--boot records the run from reset")
    return f"{loaded.cycles}.."


_SEEN = {"instruction", "data", "instruction-large", "data-large"}
"""The TLBs that the page shows of a machine without a unified one."""


def _shape(loaded: _machine.Machine, config: dict[str, Any], numbers: Sequence[int | None]) -> _Shape:
    """How the machine's TLBs are reloaded, and the shapes of those that the page shows: of these processors, or of the
    only one, which has no number."""
    shown = {"unified"} & set(config["tlb"]) or _SEEN
    tlb = {}
    for number in numbers:
        for side, shape in config["tlb"].items():
            if side in shown:
                ways, sets = snapshot.places(shape)
                tlb[snapshot.tlb_name(side, number)] = {"sets": sets, "ways": ways}
    if architectures.named(loaded.architecture) is not architectures.POWERPC:
        return "radix", tlb
    in_software = config["core"]["kind"] in {"8xx", "405"}
    return "tree" if in_software else "hash" if "walk" in config else "soft6xx", tlb


def _record(
    loaded: _machine.Machine, limit: int, most: int, processor: int | None, *, quiet: bool
) -> tuple[recording.Recording, Watched]:
    loaded.record_translation("..")
    loaded.record_profile(guest.PROGRAM_REGION)
    watched = watch(loaded, limit, quiet=quiet)
    return recording.read(loaded, most, processor), watched


def see(
    command: options.Command,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("see.html"),
    machine: options.Machine = options.DEFAULT_MACHINE,
    kernel: options.Kernel = None,
    policy: options.Policies = None,
    sets: options.Sets = None,
    file: options.Files = None,
    misses: Annotated[int, typer.Option(min=1, max=5000, help="The most TLB misses on the page.")] = 300,
    processor: options.Processor = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Show in time each stale translation that the run uses: docs/check.md.")
    ] = False,
    limit: options.Limit = DEFAULT_INSTRUCTIONS,
    as_json: Json = False,
) -> None:
    """Write a page that shows how a run translated addresses.

    Step through its TLB misses; see TLB and hash table over time, before and after flushes; who evicted whom, cycles
    by cost category, and a flame graph. On a machine with several processors each miss says whose it is, and the
    TLBs of all are shown; `--processor N` follows one.

    It is one HTML file that needs no network. The program runs twice, with the same result: only the first run tells
    at which moments the second one must stop.

    Examples: `pagewalk see -- ./hello`, `pagewalk see -m ppc603-133 -o 603.html -- ./hello`
    """
    from pagewalk.report import see as page  # noqa: PLC0415 - only here, and the plots are slow to import
    from pagewalk.report.stale import finding  # noqa: PLC0415 - as above

    job = job_of(machine, command, file, sets, policy, limit, kernel)
    _writable(output)
    loaded = native.load(job)
    options.check_processor(processor, loaded.processors)
    if stale:
        check.begin(loaded, goes_on=True)
    recorded, watched = _record(loaded, limit, misses, processor, quiet=as_json)
    found = [finding(json.loads(text)) for text in loaded.findings()[1]] if stale else None
    again = native.load(job)

    def go(cycle: int) -> bool:
        return watch(again, limit, quiet=True, until=cycle).stop.kind == "limit"

    recording.look(recorded, again, go, _POINTS, processor)
    several = range(loaded.processors) if processor is None else [processor]
    kind, tlb = _shape(loaded, tomllib.loads(job.machine.config), [None] if loaded.processors == 1 else several)
    title = " ".join([Path(command[0]).name, *command[1:]])
    followed = None if loaded.processors == 1 else processor
    subject = page.Subject(title, Path(command[0]).name, job.machine.name, kind, job.machine.clock, tlb, followed)
    if followed is None:
        counters = guest.program_counters(watched.machine.regions(), watched.machine.counters())
    else:
        counters = recorded.counted()
    writing.write(output, page.render(page.page_data(subject, recorded, counters, _POINTS), found))
    if as_json:
        told = {"output": output, "misses": recorded.missed, "shown": len(recorded.misses), "stop": watched.stop}
        print_json(told if found is None else {**told, "stale": len(found)})
    else:
        for words in recorded.limits:
            say(err, words)
        if found is not None:
            say(err, f"{len(found):,} stale translations: pagewalk check tells of each")
        say(err, f"{recorded.missed:,} TLB misses, {len(recorded.misses):,} of them in {output}: open it in a browser")
    watched.check()


def _writable(path: Path) -> None:
    """Raises unless a file can be written there: known before the program runs."""
    if path.is_dir() or not path.parent.is_dir():
        raise WrongOption(f"--output: {path} cannot be a file", hint="name a file in a folder that exists")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise WrongOption(f"--output: {path}: {error.strerror}") from None


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("profile")(profile)
    app.command("trace")(trace)
    app.command("see")(see)
