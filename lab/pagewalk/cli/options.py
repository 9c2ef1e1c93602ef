"""Options that several commands share, with completion of names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from pagewalk import architectures, claims, experiments, machines, policies, programs, subjects, sweep
from pagewalk.errors import BadInput, PagewalkError, WrongOption, unknown
from pagewalk.paths import check_writable, home
from pagewalk.runner import BootProtocol

if TYPE_CHECKING:
    from pagewalk.workshop import Workshop


def complete_machine(start: str) -> list[str]:
    """Machine names for the shell."""
    return [name for name in machines.names() if name.startswith(start)]


def complete_experiment(start: str) -> list[str]:
    """Experiment names for the shell."""
    return [name for name in experiments.names() if name.startswith(start)]


def complete_claim(start: str) -> list[str]:
    """Ids of published figures for the shell."""
    return [name for name in claims.all_claims() if name.startswith(start)]


def complete_program(start: str) -> list[str]:
    """Benchmark programs for the shell."""
    folder = home().build / "user" / "bench"
    return sorted(path.name for path in folder.glob(f"{start}*") if path.is_file())


def complete_command(start: str) -> list[str]:
    """Programs that are built already, and files, for the shell."""
    found = []
    for architecture in architectures.ALL:
        with suppress(PagewalkError):
            found += [name for name in programs.names(architecture) if name.startswith(start)]
    folder, _, last = start.rpartition("/")
    place = Path(f"{folder}/" if "/" in start else ".")
    with suppress(OSError):
        files = [path for path in place.iterdir() if last and path.name.startswith(last)]
        head = start.removesuffix(last)
        found += [f"{head}{path.name}{'/' if path.is_dir() else ''}" for path in files if "/" in start]
    return sorted(dict.fromkeys(found))


def complete_key(start: str) -> list[str]:
    """Keys of the machine files for the shell."""
    keys = {key for name in machines.names() for key in machines.keys(name)}
    return sorted(f"{key}=" for key in keys if key.startswith(start))


def complete_policy(start: str) -> list[str]:
    """Policies for the shell: names, then the choices of the one that is written, of every kernel that is built."""
    known: dict[str, policies.Policy] = {}
    for architecture in reversed(architectures.ALL):
        with suppress(PagewalkError):
            known |= policies.all_policies(architecture)
    name, equals, _ = start.partition("=")
    if equals and name in known:
        # A choice such as <pages> stands for a number, and a shell would take its bracket for a redirection.
        choices = [f"{name}={choice.partition('<')[0]}" for choice in known[name].choices]
        return [word for word in choices if word.startswith(start) and word != f"{name}="]
    return [f"{name}=" for name in known if name.startswith(start)]


def complete_subject(start: str) -> list[str]:
    """Kernels of other people for the shell."""
    return [name for name in subjects.names() if name.startswith(start)]


@contextmanager
def option(name: str) -> Iterator[None]:
    """Inside the block bad input is the fault of that option: the message names it, and the status is that of usage."""
    try:
        yield
    except WrongOption:
        raise
    except BadInput as error:
        message = error.message if error.message.startswith(f"{name} ") else f"{name}: {error.message}"
        raise WrongOption(message, hint=error.hint) from None


def _drawable(path: Path | None) -> Path | None:
    if path is not None:
        from pagewalk.report import plots  # noqa: PLC0415 - the plots are slow to import

        with option("--plot"):
            plots.check(path)
    return path


Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Also draw it: FILE.svg, FILE.pdf or FILE.png.", callback=_drawable, metavar="FILE"),
]


def _known_machine(name: str) -> str:
    # A file that cannot be used is bad input, not a wrong name.
    if not name.endswith(".toml"):
        with option("--machine"):
            machines.find(name)
    return name


_ADDRESS = re.compile(r"[a-z]+://[^\s/]+:\d{1,5}")


def _address(text: str | None) -> str | None:
    if text is not None and not _ADDRESS.fullmatch(text):
        raise WrongOption(f"--cluster: {text!r} is no address", hint="write it as in tcp://10.0.0.1:8786")
    return text


DEFAULT_MACHINE = "ppc604-185"

Command = Annotated[
    list[str],
    typer.Argument(
        help="The program, a static executable for the machine's architecture (a path with a slash in it, or the name "
        "of a built program or of a file here), and its arguments, of any bytes.",
        metavar="PROG [ARG]...",
        autocompletion=complete_command,
    ),
]
MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        help="The program and its arguments; none with --from.",
        metavar="[PROG [ARG]...]",
        autocompletion=complete_command,
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
Machine = Annotated[
    str,
    typer.Option(
        "--machine", "-m", help="A machine's name or .toml file.", autocompletion=complete_machine,
        callback=_known_machine,
    ),
]  # fmt: skip
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A machine key, as in tlb.data.entries=32; may be given again.", autocompletion=complete_key
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="Instead of our kernel: a subject (linux-6.1-bare), or a kernel image's file.",
        autocompletion=complete_subject,
    ),
]


PROTOCOLS = get_args(BootProtocol)


def complete_protocol(start: str) -> list[str]:
    """Boot protocols for the shell."""
    return [name for name in PROTOCOLS if name.startswith(start)]


def _known_protocol(name: str | None) -> str | None:
    if name is not None and name not in PROTOCOLS:
        with option("--protocol"):
            raise unknown("boot protocol", name, PROTOCOLS)
    return name


ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="The structure that describes the machine to a kernel image: device-tree (Linux of today), "
        "board-information (old Linux, MPC8xx) or residual-data (old Linux, PReP). By default the image decides.",
        autocompletion=complete_protocol,
        callback=_known_protocol,
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", "-p", help="A kernel policy, as in tlb.cutoff=20, or a named set: best; may be given again.",
        autocompletion=complete_policy,
    ),
]  # fmt: skip
Initrd = Annotated[
    Path | None,
    typer.Option(help="An initial RAM file system, or a RAM disk's image, of your own, without a program."),
]
Firmware = Annotated[
    Path | None,
    typer.Option(help="Firmware of a RISC-V machine, which starts the kernel: fw_dynamic.bin of OpenSBI."),
]
Disk = Annotated[
    Path | None,
    typer.Option(help="The image of a RISC-V machine's disk, at most 256 MB. The guest writes to a copy of it."),
]
Files = Annotated[
    list[str] | None,
    typer.Option("--file", help="A further file for the guest, HOST or HOST:GUEST; may be given again."),
]
Typed = Annotated[
    Path | None,
    typer.Option("--input", help="A file whose first 16 MB are typed on the guest's console; - is standard input."),
]
Save = Annotated[
    Path | None, typer.Option("--save", help="Write the machine's state to this file at --at, and go on; see resume.")
]
SaveAt = Annotated[int | None, typer.Option("--at", min=1, max=2**64 - 1, help="The cycle at which --save writes.")]
From = Annotated[
    Path | None, typer.Option("--from", help="Go on from this snapshot instead of running a program from its start.")
]
Sanitize = Annotated[
    str | None,
    typer.Option(help="Stop at what a correct kernel never does: translation, reuse, fetch, or all; comma-separated."),
]


def _written(path: Path | None) -> Path | None:
    if path is not None:
        with option("--stats"):
            check_writable(path)
    return path


Stats = Annotated[
    Path | None,
    typer.Option(
        "--stats", help="Also write the counters as gem5 does: stats.txt, or a tree in FILE.json.", callback=_written,
        metavar="FILE",
    ),
]  # fmt: skip
Cluster = Annotated[
    str | None, typer.Option(help="A Dask scheduler's address, as in tcp://10.0.0.1:8786.", callback=_address)
]
Processor = Annotated[
    int | None,
    typer.Option(
        "--processor", min=0, max=2**32 - 1, help="Only this processor of a machine with several.", metavar="N"
    ),
]
# The machine counts cycles and instructions in 64 bits.
MOST = 2**64 - 1
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST, help="The most instructions to simulate.")]
BootLimit = Annotated[
    int,
    typer.Option(
        "--boot-limit", min=1, max=MOST,
        help="Instructions that a Linux may take between two lines on its console until its init is ready.",
    ),
]  # fmt: skip
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; by default one for each core.")]


def policy_axes(words: Sequence[str], machine: str) -> dict[str, list[str]]:
    """The values of policies of the machine's kernel from `name=value,value` words, each checked."""
    architecture = machines.find(machine).architecture
    with option("--policy"):
        axes = sweep.axes(words)
        return {
            name: [policies.policy(name, architecture).check(value) for value in values]
            for name, values in axes.items()
        }


def combinations(axes: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of the axes' values."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def check_processor(number: int | None, count: int) -> None:
    """Raises unless a machine with `count` processors has this one, or all are meant."""
    if number is not None and number >= count:
        has = "one processor, number 0" if count == 1 else f"processors 0 to {count - 1}"
        raise WrongOption(f"--processor: there is no processor {number}", hint=f"the machine has {has}")


def check_machine(workshop: Workshop, name: str, keys: Sequence[Mapping[str, str]] = ()) -> None:
    """Raises unless there is a machine of that name or file, which takes each of these sets of keys."""
    with option("--machine"):
        workshop.machine(name)
    with option("--set"):
        for chosen in keys:
            workshop.machine(name, chosen)


def overrides(words: list[str] | None) -> dict[str, str]:
    """Machine keys from `key=value` words; the machine checks them."""
    found = {}
    for word in words or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise WrongOption(f"--set: {word!r} sets no machine key", hint="write key=value, as in tlb.data.entries=32")
        found[key] = value
    return found


def settings(words: list[str] | None, machine: str) -> dict[str, str]:
    """Policies of the machine's kernel from `name=value` words, checked."""
    architecture = machines.find(machine).architecture
    if words and not architecture.board:
        raise WrongOption(
            f"--policy: policies are our kernel's, which does not run on {machine}", hint="leave out --policy"
        )
    with option("--policy"):
        return policies.parse_words(words or [], architecture)
