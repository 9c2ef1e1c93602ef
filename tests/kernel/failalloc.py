"""Makes every allocation of the kernel fail once: while a program runs (tests/failalloc), and while init starts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from kernel.runs import boot, packed, side_by_side

MACHINES = ("ppc603-133", "ppc604-133")
# Words of the kernel's command line, and the program's arguments: by default all allocations fail one by one. The
# checker looks at everything at each fork, so that it sees only the first ones, a fork of several areas among them.
WORDS = (
    ("", ""),
    ("reload=asm kernel.map=bat+io entry=lean tlb.flush=lazy tlb.cutoff=20 ipc.copy=window kernel.buffers=mapped", ""),
    ("check=on fork.tables=share kernel.buffers=mapped", " 1 70 areas"),
)

# How many allocations fail, one by one, while init starts. The program tests later ones.
AT_START = 60
# Expected exit statuses: 0 and 1 from init; 63: init's program was killed; 65: init could not be started; 66: the
# kernel ran out of memory before init.
DEFINED = {0, 1, 63, 65, 66}


# Choices that have no meaning on other processors: BATs, and a window by segments.
SEGMENTED = ("kernel.map=bat+io", "ipc.copy=window")


def words_on(machine: str) -> Iterable[tuple[str, str]]:
    """The words and arguments of the machine's runs."""
    for words, arguments in WORDS:
        kept = [word for word in words.split() if machine in MACHINES or word not in SEGMENTED]
        yield " ".join(kept), arguments


def check(*, whole: bool, machines: Iterable[str] = ()) -> int:
    """Returns the number of failed runs. `whole`: also makes allocations fail while init starts."""
    failed = 0
    machines = tuple(machines) or MACHINES
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/failalloc": "failalloc", "bin/hello": "hello-bare"}))
        file.flush()
        initramfs = Path(file.name)
        rows = [(machine, *words) for machine in machines for words in words_on(machine)]
        for row, done in zip(
            rows,
            side_by_side(lambda row: boot(row[0], initramfs, f"quiet {row[1]} -- /bin/failalloc{row[2]}"), rows),
            strict=True,
        ):
            lines = done.console.splitlines()
            good = done.status == 0 and any(line.startswith("allocations 1 to ") for line in lines)
            failed += not good
            ended = lines[-1] if good else f"exit status {done.status}; the console ends with\n{done.console[-3000:]}"
            print(f"failalloc {' '.join(row)}: {ended}")
        if whole:
            starts = [(machine, n) for machine in machines for n in range(1, AT_START + 1)]
            for (machine, n), done in zip(
                starts,
                side_by_side(lambda one: boot(one[0], initramfs, f"quiet failalloc={one[1]} -- /bin/hello"), starts),
                strict=True,
            ):
                if done.status not in DEFINED:
                    failed += 1
                    print(f"failalloc={n} on {machine}: exit status {done.status}\n{done.console[-1500:]}")
            print(f"failalloc while init starts: {len(starts)} boots")
    return failed
