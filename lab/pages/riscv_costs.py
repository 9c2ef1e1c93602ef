"""Writes docs/riscv-costs.md: what loads and fences cost on the RISC-V machines, by a program without a kernel.

`make riscv-costs` builds the program (machine/guest/riscv.c) and runs this. The published figures are sbc-bench's of a
VisionFive 2, result 4xOY in github.com/ThomasKaiser/sbc-bench: dependent loads, at 1.498 GHz.
"""

from __future__ import annotations

import subprocess

from pagewalk import writing
from pagewalk.markdown import head, line
from pagewalk.paths import home

_CLOCK = 1.498
"""GHz."""
_PUBLISHED = {
    32: 2.0,
    64: 13.35,
    256: 13.35,
    512: 18.7,
    1024: 20.8,
    2048: 65.5,
    4096: 132.8,
    16384: 166.8,
    131072: 175.2,
}
"""Nanoseconds of a load, by the buffer's KB."""
_INPUTS = (64, 131072)
"""The points that have set inputs of the machine file."""
_BOUND = 25
"""Per cent by which a point may be off."""
_TRIED = {
    "as it is": (),
    "a second TLB that takes 8 cycles (`tlb.l2.hit`)": ("tlb.l2.hit=8",),
    "an L2 cache replaced by pseudo-LRU (`cache.l2.replacement`)": ("cache.l2.replacement=pseudo-lru",),
    "half of the L2 cache in use by others (`cache.l2.size`, `cache.l2.ways`)": (
        "cache.l2.size=1048576",
        "cache.l2.ways=8",
    ),
}
"""Machines with another value of an input, or with less of the L2 cache."""
_SHOWN = (256, 512, 1024, 2048)
"""The points that they are compared in."""
_FENCED = (1, 4, 16, 64, 256, 512)
_U74, _U74_4, _C906, _C910 = "u74-1500", "u74-1500x4", "c906-1000", "c910-1850x4"

Costs = dict[tuple[str, ...], int]


def _measured(machine: str, keys: tuple[str, ...] = ()) -> Costs:
    """The numbers at the ends of the program's lines, by the words before them."""
    command = ["target/release/pagewalk-machine", "run", "--machine", f"machines/{machine}.toml"]
    command += [word for key in keys for word in ("--set", key)] + ["--kernel", "build/riscv.elf"]
    done = subprocess.run(command, cwd=home().root, capture_output=True, text=True, check=True)
    words = [text.split() for text in done.stdout.splitlines()]
    return {tuple(entry[:-1]): int(entry[-1]) for entry in words if entry and entry[-1].isdigit()}


def _size(kilobytes: int) -> str:
    return f"{kilobytes} KB" if kilobytes < 1024 else f"{kilobytes >> 10} MB"


def _off(ours: float, published: float) -> str:
    return f"{100 * (ours / published - 1):+.0f} %"


def _curve(costs: Costs) -> list[str]:
    lines = head(["buffer", "published, cycles", "pages of 4 KB", "off by", "pages of 2 MB", "off by"])
    within = {"4k": 0, "2m": 0}
    judged = [size for size in _PUBLISHED if size not in _INPUTS]
    for size, nanoseconds in _PUBLISHED.items():
        published = nanoseconds * _CLOCK
        fields = [_size(size), f"{published:.1f}"]
        for page in ("4k", "2m"):
            ours = costs["latency", str(size), page] / 10
            within[page] += size in judged and abs(ours / published - 1) <= _BOUND / 100
            fields += [
                f"{ours:.1f}",
                f"an input: {_off(ours, published)}" if size in _INPUTS else _off(ours, published),
            ]
        lines.append(line(fields))
    return [
        *lines,
        "",
        f"Of the {len(judged)} points that set no input, {within['4k']} are within {_BOUND} % with pages of 4 KB, and "
        f"{within['2m']} with pages of 2 MB. The buffer of 2 MB fills the L2 cache exactly, which on the board also "
        f"holds "
        "what Linux and the other cores use. Between 64 KB and the size of the L2 the board slows down a little, "
        "and the model with pages of 2 MB does not. No document at hand gives the time of a look-up in the second TLB, "
        "or says that some banks of the L2 are farther; no key was set to these points.",
        "",
    ]


def _tries(costs: Costs) -> list[str]:
    """What other values of keys make of the points that are off."""
    heads = [f"{_size(size)}, pages of {page}" for size in _SHOWN for page in ("4 KB", "2 MB")]
    lines = head(["the machine", *heads])
    for what, keys in _TRIED.items():
        found = _measured(_U74, keys) if keys else costs
        fields = [what]
        for size in _SHOWN:
            for page in ("4k", "2m"):
                ours = found["latency", str(size), page] / 10
                fields.append(f"{ours:.1f} ({_off(ours, _PUBLISHED[size] * _CLOCK)})")
        lines.append(line(fields))
    return [
        "What could explain the points that are off? The table tries what the sources leave open.",
        "",
        *lines,
        "",
        "The L2 of a JH7110 is one for all cores (jh7110.dtsi): what Linux and other cores keep in it is missing to "
        "the program. How much of it was in use during the measurement is not published, so the file keeps the whole "
        "one.",
        "",
    ]


def _fences(costs: dict[str, Costs]) -> list[str]:
    shown = [(_U74, ("pages", "all")), (_C906, ("pages", "all")), (_C910, ("pages", "all", "space"))]
    names = {"pages": "by address", "all": "all", "space": "one address space"}
    lines = head(["pages", *(f"{machine}: {names[form]}" for machine, forms in shown for form in forms)])
    for pages in _FENCED:
        found = [costs[machine][form, str(pages)] for machine, forms in shown for form in forms]
        lines.append(line([str(pages), *map(str, found)]))
    return lines


def _remote(costs: dict[str, Costs]) -> list[str]:
    shown = [(_U74_4, "interrupt"), (_C910, "interrupt"), (_C910, "fence")]
    lines = head(["others", *(f"{machine}: {form}" for machine, form in shown)])
    for others in ("1", "2", "3"):
        lines.append(line([others, *(str(costs[machine]["remote", others, form]) for machine, form in shown)]))
    return lines


def page() -> str:
    """The page's text."""
    costs = {machine: _measured(machine) for machine in (_U74, _U74_4, _C906, _C910)}
    return "\n".join([
        "# RISC-V: what loads and fences cost",
        "",
        "Measured by a program without a kernel, `machine/guest/riscv.c`. Generated by `make riscv-costs`.",
        "",
        "## Loads that depend on each other",
        "",
        "The program visits the lines of a buffer in the order of sbc-bench's `ramlat`: each is half of the buffer "
        "away from "
        "the one before. Frames of the pages of 4 KB are in random order, as in a system that has run for a while. The "
        "machine is `u74-1500`. The published figures are sbc-bench's of a VisionFive 2 (result 4xOY). They do not "
        "tell "
        "which pages were used. Two points have set inputs of the machine file. One choice was made after a first "
        "curve had "
        "been seen: the L2 cache replaces at random, as SiFive's open cache does, and no longer by pseudo-LRU. It "
        "moves the "
        "points of 2 MB and 4 MB, which so validate less than the others do.",
        "",
        *_curve(costs[_U74]),
        *_tries(costs[_U74]),
        "A curve says nothing of `u74-1500x4` and `c910-1850x4`, in which each processor has a part of the L2 cache.",
        "",
        "## Fences",
        "",
        "The table has cycles: of a fence of so many pages by address, and of a fence of everything or of one "
        "address space "
        "together with the misses that follow when the program uses so many pages again. The first row also has the "
        "misses "
        "of the program's own code and tables in the caches. It is an atlas of the flush threshold. Fences by "
        "address are cheaper "
        "as long as their row is below that of the other form at the pages of the working set.",
        "",
        *_fences(costs),
        "",
        "Linux 6.1 and OpenSBI fence everything from two pages on, Linux 6.12 from 65 on, x86's Linux from 34 on. "
        "On a C910 "
        "a fence of one address space reads all entries of the joint TLB, which costs more than a fence of everything. "
        "Linux uses numbers of address spaces on such a core, and so the dear form.",
        "",
        "## A page that others have",
        "",
        "The table has the cycles until a page is gone from the TLBs of so many other processors. `interrupt` is "
        "the least "
        "that firmware could do: a store to the CLINT, a handler that fences and answers, and a wait. `fence` is one "
        "sfence.vma that hardware broadcasts (`tlb.broadcast`); the time that it takes in the other cores is not "
        "modelled. No published figure of either is at hand.",
        "",
        *_remote(costs),
        "",
    ])  # fmt: skip


if __name__ == "__main__":
    writing.write(home().root / "docs" / "riscv-costs.md", page())
