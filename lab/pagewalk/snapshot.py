"""Counts from a state dump of the machine: how many entries of TLB and hash table are the kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The kernel's addresses are the last four segments (kernel/arch/ppc/include/arch/layout.h).
_KERNEL_SEGMENTS = range(12, 16)


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


def counts(state: Mapping[str, Any]) -> dict[str, int]:
    """Valid entries of TLBs and hash table, and how many of them are the kernel's.

    `hash.groups` is the number of PTEGs, `hash.full` that of PTEGs with eight valid PTEs.
    """
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
