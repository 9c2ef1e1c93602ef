"""The tables of a state dump."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pagewalk import snapshot
from pagewalk.cli.output import out, table


def _flags(row: Mapping[str, Any], names: Iterable[tuple[str, str]]) -> str:
    """The letters of the names that are true in the row."""
    return "".join(letter for name, letter in names if row[name])


def _print_wide(wide: Mapping[str, Any]) -> None:
    """SLB, ERATs and TLB of a 970."""
    segment = (("supervisor_key", "s"), ("user_key", "p"), ("no_execute", "N"), ("large", "L"))
    out.print(
        table(
            "segment lookaside buffer",
            [">slot", "segment", "VSID", "flags"],
            (
                [str(row["number"]), f"{row['effective']:x}", f"{row['vsid']:x}", _flags(row, segment)]
                for row in wide["slb"]
            ),
        )
    )
    for name in ("instruction_erat", "data_erat"):
        out.print(
            table(
                name.replace("_erat", " ERAT"),
                [">entry", "page", "physical", "flags", "WIMG", "PP"],
                (
                    [
                        str(row["number"]),
                        f"{row['effective']:x}",
                        f"{row['physical']:08x}",
                        _flags(row, (("large", "L"), ("changed", "C"))),
                        f"{row['wimg']:04b}",
                        str(row["pp"]),
                    ]
                    for row in wide[name]
                ),
            )
        )
    page = (("large", "L"), ("no_execute", "N"), ("changed", "C"))
    out.print(
        table(
            "TLB",
            [">set", "way", "VSID", "page", "physical", "flags", "WIMG", "PP"],
            (
                [
                    str(row["set"]),
                    str(row["way"]),
                    f"{row['vsid']:x}",
                    f"{row['page_index']:04x}",
                    f"{row['physical']:08x}",
                    _flags(row, page),
                    f"{row['wimg']:04b}",
                    str(row["pp"]),
                ]
                for row in wide["tlb"]
            ),
        )
    )


def _print_x86(state: Mapping[str, Any], whose: str) -> None:
    """Control registers and TLBs of an x86."""
    registers = [[name.upper(), f"{state[name]:08x}"] for name in ("cr0", "cr3", "cr4")]
    registers += [[f"PDPTE {n}", f"{entry:09x}"] for n, entry in enumerate(state.get("directories", ()))]
    out.print(table(f"control registers{whose}", ["", ">value"], registers))
    for name, rows in state["tlb"].items():
        if rows:
            out.print(
                table(
                    f"TLB: {name}{whose}",
                    [">set", "way", "page", "physical", "rights"],
                    (
                        [str(row["set"]), str(row["way"]), f"{row['page']:08x}", f"{row['frame']:08x}", row["rights"]]
                        for row in rows
                    ),
                )
            )


def _print_riscv(state: Mapping[str, Any], whose: str) -> None:
    """The root of the page table, and the TLBs, of a RISC-V machine."""
    out.print(f"satp{whose}: {state['satp']}")
    for name, rows in state["tlb"].items():
        if rows:
            out.print(
                table(
                    f"TLB: {name}{whose}",
                    [">set", "way", "page", "physical", ">KB", "ASID", "bits"],
                    (
                        [
                            *(str(row[key]) for key in ("set", "way", "page", "frame")),
                            str(row["bytes"] >> 10),
                            f"{row['asid']:x}",
                            row["bits"],
                        ]
                        for row in rows
                    ),
                )
            )


def print_state(state: Mapping[str, Any]) -> None:
    """Counts, TLBs and what goes with them. Of several processors each table says whose it is."""
    number = state.get("processor")
    whose = "" if number is None else f" of processor {number}"
    counts = snapshot.counts(state)
    cycle = state["cycle"]
    if number is None:
        title = f"At cycle {cycle:,}"
    elif number and not cycle:  # one that has been started has the time of its start
        title = f"Processor {number}, held in reset"
    else:
        title = f"Processor {number} at cycle {cycle:,}"
    out.print(table(title, ["", ">count"], ([name, f"{n:,}"] for name, n in counts.items())))
    if snapshot.is_x86(state):
        _print_x86(state, whose)
        return
    if snapshot.is_riscv(state):
        _print_riscv(state, whose)
        return
    for name in ("instruction_tlb", "data_tlb", "l2_tlb"):
        rows = state[name]
        if rows:
            out.print(
                table(
                    name.replace("_", " ") + whose,
                    ["set", "way", "VSID", "page", "physical", "C", "WIMG", "PP"],
                    (
                        [
                            str(row["set"]),
                            str(row["way"]),
                            f"{row['vsid']:06x}",
                            f"{row['page_index']:04x}",
                            f"{row['physical']:08x}",
                            "C" if row["changed"] else "",
                            f"{row['wimg']:04b}",
                            str(row["pp"]),
                        ]
                        for row in rows
                    ),
                )
            )
    if (wide := state.get("wide")) is not None:
        _print_wide(wide)
    for name in ("instruction_entries", "data_entries"):
        rows = state[name]
        if rows:
            out.print(
                table(
                    name.replace("_", " "),
                    [">entry", "page", "physical", ">size", "ASID", "V", "C", "WIMG", "group"],
                    (
                        [
                            f"{row['number']}{'*' if row['reserved'] else ''}",
                            f"{row['effective']:08x}",
                            f"{row['physical']:08x}",
                            row["size"],
                            "shared" if row["shared"] else f"{row['asid']:x}",
                            "V" if row["valid"] else "",
                            "C" if row["changed"] else "",
                            f"{row['wimg']:04b}",
                            f"{row['group']:x}",
                        ]
                        for row in rows
                    ),
                )
            )
