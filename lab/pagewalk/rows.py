"""Reads guests' output: `@row` lines of benchmarks and `@value` lines (docs/interfaces.md, section 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pagewalk.errors import RunFailed
from pagewalk.figures import Measured
from pagewalk.runner import RunResult


@dataclass(frozen=True)
class BenchRow:
    """One `@row` line. `minus` is the region whose time for one iteration is to be subtracted, or 0."""

    name: str
    region: int
    iterations: int
    bytes: int
    unit: str
    minus: int = 0


def _fields(line: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in line.split()[1:])
    return {name: value for name, equals, value in pairs if equals}


def parse_rows(console: bytes) -> list[BenchRow]:
    """The `@row` lines of a console, in order; RunFailed quotes one that is malformed."""
    rows = []
    for line in console.decode("utf-8", "replace").splitlines():
        if not line.startswith("@row "):
            continue
        fields = _fields(line)
        try:
            rows.append(
                BenchRow(
                    name=fields["name"],
                    region=int(fields["region"]),
                    iterations=int(fields["iterations"]),
                    bytes=int(fields["bytes"]),
                    unit=fields["unit"],
                    minus=int(fields.get("minus", "0")),
                )
            )
        except (KeyError, ValueError):
            raise RunFailed(f"the guest printed a malformed line: {line!r}") from None
    return rows


def parse_values(console: bytes) -> dict[str, float]:
    """The `@value name=... value=...` lines of a console."""
    values = {}
    for line in console.decode("utf-8", "replace").splitlines():
        if line.startswith("@value "):
            fields = _fields(line)
            try:
                values[fields["name"]] = float(fields["value"])
            except (KeyError, ValueError):
                raise RunFailed(f"the guest printed a malformed line: {line!r}") from None
    return values


def measured(row: BenchRow, clock: int, result: RunResult) -> Measured:
    """The row's region as something to compute a figure from; what it asks to subtract is subtracted.

    `clock` is the machine's in Hz.
    """
    if row.region not in result.regions:
        raise RunFailed(f"row {row.name}: its region {row.region} was not measured: the guest has no /dev/pagewalk")
    counters: Mapping[str, int] = result.regions[row.region]
    if row.minus:
        overhead = result.regions.get(row.minus, {})
        iterations = {entry.region: entry.iterations for entry in parse_rows(result.console)}
        if row.minus not in iterations:
            raise RunFailed(f"row {row.name} subtracts region {row.minus}, of which no row was printed")
        times = row.iterations / iterations[row.minus]
        counters = {name: round(count - overhead.get(name, 0) * times) for name, count in counters.items()}
    return Measured(
        clock=clock,
        iterations=row.iterations,
        bytes=row.bytes,
        counters=counters,
        run_counters=result.counters,
        values=parse_values(result.console),
        samples=result.samples,
    )
