"""The tables of a 970's state dump."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pagewalk.cli.output import out, table


def _flags(row: Mapping[str, Any], names: Iterable[tuple[str, str]]) -> str:
    """The letters of the names that are true in the row."""
    return "".join(letter for name, letter in names if row[name])


def print_wide(wide: Mapping[str, Any]) -> None:
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
