"""Counts from a state dump of the machine: how many entries of TLB and hash table are the kernel's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# The kernel's addresses are the last four segments (kernel/arch/ppc/include/arch/layout.h), on an x86 as on a PowerPC.
_KERNEL_SEGMENTS = range(12, 16)
_SHOWN = (1 << 48) - 1
"""Of a 64-bit address: the upper bits repeat the highest one of these, and a page's script counts to 53 bits."""


def tlb_name(side: str, processor: int | None) -> str:
    """What a TLB is called; None: there is one processor."""
    return side if processor is None else f"processor {processor}, {side}"


def is_kernel(address: int) -> bool:
    """True of an address of the kernel."""
    return address >> 28 in _KERNEL_SEGMENTS


def _segments(state: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Number and VSID of each segment; a 970 has them in its SLB, beside those above 4 GB."""
    wide = state.get("wide")
    if wide is None:
        return [(row["number"], row["vsid"]) for row in state["segments"]]
    return [(row["effective"] >> 28, row["vsid"]) for row in wide["slb"]]


def kernel_vsids(state: Mapping[str, Any]) -> set[int]:
    """The VSIDs of the kernel's segments."""
    return {vsid for number, vsid in _segments(state) if number in _KERNEL_SEGMENTS}


def user_vsids(state: Mapping[str, Any]) -> set[int]:
    """The VSIDs of the address space that runs."""
    return {vsid for number, vsid in _segments(state) if number not in _KERNEL_SEGMENTS}


def wide_tlb(state: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The entries of a 970's TLB."""
    wide = state.get("wide")
    return [] if wide is None else list(wide["tlb"])


def unified_tlb(state: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The entries of a 405's TLB."""
    unified = state.get("unified_tlb")
    return [] if unified is None else list(unified["entries"])


class Entry(NamedTuple):
    """A valid TLB entry, on any architecture.

    `space` is the VSID, ASID or PID that tags it; None on an x86, whose entries have no tag. `page` is an address, of
    RISC-V its lower 48 bits; of an entry with a VSID it is the number of the page in its segment. `whose` is `kernel`,
    `running` or `other`.
    """

    set: int
    way: int
    space: int | None
    page: int
    physical: int
    whose: str


def is_x86(state: Mapping[str, Any]) -> bool:
    """True of the state of an x86 machine."""
    return "cr3" in state


def is_riscv(state: Mapping[str, Any]) -> bool:
    """True of the state of a RISC-V machine."""
    return "satp" in state


def _of_riscv(row: Mapping[str, Any], running: int) -> Entry:
    """An entry of a RISC-V TLB; the kernel's addresses have their highest bit set."""
    page = int(row["page"], 16)
    owner = "kernel" if page >> 63 else "running" if row["asid"] == running else "other"
    return Entry(row["set"], row["way"], row["asid"], page & _SHOWN, int(row["frame"], 16), owner)


def whose(space: int, kernel: set[int], user: set[int]) -> str:
    """Whose a VSID is: the kernel's, the running process's, or another's."""
    return "kernel" if space in kernel else "running" if space in user else "other"


def tlbs(state: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """The valid entries of each TLB, by the TLB's name as in the machine file.

    Of the TLBs of a 405 and a 970 only the unified one is given, not the small ones that are filled from it.
    """
    if is_x86(state):
        # A load of CR3 removes the entries of the address space before: what is left is the running process's.
        return {
            side + "-large" * bool(size): [
                Entry(row["set"], row["way"], None, row["page"], row["frame"], _side(row["page"], running=True))
                for row in rows
            ]
            for (side, _, size), rows in ((name.partition(", "), rows) for name, rows in state["tlb"].items())
        }
    if is_riscv(state):
        running = int(state["satp"], 16) >> 44 & 0xFFFF
        return {name: [_of_riscv(row, running) for row in rows] for name, rows in state["tlb"].items()}
    kernel, user = kernel_vsids(state), user_vsids(state)

    def by_vsid(rows: Iterable[Mapping[str, Any]]) -> list[Entry]:
        return [
            Entry(
                row["set"],
                row["way"],
                row["vsid"],
                row["page_index"],
                row["physical"],
                whose(row["vsid"], kernel, user),
            )
            for row in rows
        ]

    def by_address(rows: Iterable[Mapping[str, Any]], tag: str, running: int) -> list[Entry]:
        return [
            Entry(
                0,
                row["number"],
                row[tag],
                row["effective"],
                row["physical"],
                _side(row["effective"], running=row[tag] == running),
            )
            for row in rows
            if row.get("valid", True)
        ]

    if unified := state.get("unified_tlb"):
        return {"unified": by_address(unified["entries"], "tid", unified["pid"])}
    if state.get("wide"):
        return {"unified": by_vsid(wide_tlb(state))}
    return {
        side: by_vsid(state[f"{side}_tlb"]) + by_address(state[f"{side}_entries"], "asid", state["casid"])
        for side in ("instruction", "data")
    }


def places(shape: Mapping[str, Any]) -> tuple[int, int]:
    """Ways and sets of a TLB of the machine file; one without ways is fully associative."""
    ways = int(shape.get("ways", shape["entries"]))
    return ways, int(shape["entries"]) // ways


def _side(address: int, *, running: bool) -> str:
    return "kernel" if is_kernel(address) else "running" if running else "other"


def counts(state: Mapping[str, Any]) -> dict[str, int]:
    """Valid entries of TLBs and hash table, and how many of them are the kernel's.

    `hash.groups` is the number of PTEGs, `hash.full` that of PTEGs with eight valid PTEs.
    """
    if is_x86(state) or is_riscv(state):
        held = [entry for entries in tlbs(state).values() for entry in entries]
        return {"tlb.used": len(held), "tlb.kernel": sum(entry.whose == "kernel" for entry in held)}
    kernel = kernel_vsids(state)
    tlb = [*state["instruction_tlb"], *state["data_tlb"], *wide_tlb(state)]
    entries = [*state["instruction_entries"], *state["data_entries"], *unified_tlb(state)]
    found = {
        "tlb.used": len(tlb) + len(entries),
        "tlb.kernel": sum(row["vsid"] in kernel for row in tlb) + sum(is_kernel(row["effective"]) for row in entries),
    }
    table = state["hash_table"]
    if table is not None:
        found["hash.groups"] = table["groups"]
        found["hash.used"] = table["used"]
        found["hash.full"] = table["histogram"][8]
        found["hash.kernel"] = sum(row["vsid"] in kernel for row in table["entries"])
    return found


def counts_of_all(states: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The same of several processors: the sum of their TLBs, and the hash table that they share."""
    found = counts(states[0])
    for state in states[1:]:
        for name, count in counts(state).items():
            if name.startswith("tlb."):
                found[name] += count
    return found
