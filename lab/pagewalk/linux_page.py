"""The page about Linux: its benchmark rows beside ours, with misses by cause. It is generated from the results file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagewalk import experiments, records
from pagewalk.experiments import Row
from pagewalk.figures import Measured
from pagewalk.paths import home
from pagewalk.records import CellRecord
from pagewalk.store import Store

BARE, DEFAULT = "linux-bare", "linux-default"
"""The experiments whose tables stand side by side."""
_TEXT = "subjects/linux-6.1/about.md"
_CAUSES_MOST = 4
"""So many causes are named for a row; the others have less."""
_AIM = 1.5
"""How many times as fast as the bare Linux our kernel should be."""

_PROGRAMS = ("mapped file reread", "context switch, 8 processes of 16 KB", "pages beyond the TLB")
"""The rows in which a program reads its memory, and the kernel does little."""

_COUNTS = {
    "instructions": "instructions",
    "TLB misses": "tlb.*.miss",
    "I-cache misses": "cache.instruction.miss",
    "D-cache misses": "cache.data.miss",
}
_PATTERNS = {"TLB misses": "tlb.*.miss.cause.", "I-cache misses": "cache.instruction.miss.cause.",
             "D-cache misses": "cache.data.miss.cause."}  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """A row on one machine: Linux bare, Linux as hardened by default, and ours."""

    name: str
    bare: Measured | None
    default: Measured | None
    ours: Measured | None
    cells: tuple[CellRecord | None, CellRecord | None]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _each(measured: Measured | None, pattern: str) -> float | None:
    if measured is None:
        return None
    if "*" not in pattern:
        return measured.counters.get(pattern, 0) / measured.iterations
    first, last = pattern.split("*")
    whole = sum(
        count
        for name, count in measured.counters.items()
        if name.startswith(first) and name.endswith(last) and "." not in name[len(first) : -len(last)]
    )
    return whole / measured.iterations


def _by_cause(measured: Measured | None, pattern: str) -> str:
    """The causes with most of these events, as in `copy 12, entry 3`."""
    if measured is None:
        return "-"
    found: dict[str, float] = {}
    first, last = pattern.split("*") if "*" in pattern else (pattern, "")
    for name, count in measured.counters.items():
        if not name.startswith(first) or last not in name:
            continue
        cause = name.rpartition(".")[2]
        if name.endswith(f"cause.{cause}"):
            found[cause] = found.get(cause, 0) + count / measured.iterations
    whole = sum(found.values())
    most = sorted(found.items(), key=lambda item: -item[1])[:_CAUSES_MOST]
    return ", ".join(f"{cause} {_number(count)}" for cause, count in most if count >= 0.05 and count >= whole / 100)


def _lines(store: Store) -> dict[str, list[_Line]]:
    """The rows of every machine."""
    tables: list[Mapping[tuple[str, str], CellRecord]] = [
        {(cell.machine, cell.row_name): cell for cell in records.cells(store, name)} for name in (BARE, DEFAULT)
    ]
    found: dict[str, list[_Line]] = {}
    for row in experiments.find(BARE)[0].rows:
        bare, default = (table.get((row.after.machine, row.name)) for table in tables)
        if bare is None and default is None:
            continue
        line = _Line(
            row.name,
            _measured(store, row, bare.before_run if bare else None),
            _measured(store, row, default.before_run if default else None),
            _measured(store, row, bare.after_run if bare else default.after_run if default else None),
            (bare, default),
        )
        found.setdefault(row.after.machine, []).append(line)
    return found


def _measured(store: Store, row: Row, key: str | None) -> Measured | None:
    run = store.get(key) if key else None
    return records.measured(run, row.row) if run else None


def _is_measured(cell: CellRecord | None) -> bool:
    return cell is not None and cell.before is not None


def _ratio(cell: CellRecord | None) -> str:
    return "-" if cell is None or cell.ratio is None else f"{cell.ratio:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"| {' | '.join('---' for _ in head)} |",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def _cycles_of(measured: Measured, *causes: str) -> float:
    return sum(measured.counters.get(f"cycles.cause.{cause}", 0) for cause in causes) / measured.iterations


def _below(lines: Sequence[_Line]) -> list[list[str]]:
    """The rows that do not reach the aim, with and without the cycles that neither kernel can save."""
    found = []
    for line in lines:
        cell = line.cells[0]
        if cell is None or cell.ratio is None or cell.ratio >= _AIM or line.bare is None or line.ours is None:
            continue
        bare, ours = line.bare, line.ours
        whole = [_each(side, "cycles") or 0 for side in (bare, ours)]
        entries = [
            line.name,
            _ratio(cell),
            f"{_number(_each(bare, 'instructions'))} / {_number(_each(ours, 'instructions'))}",
        ]
        for causes in (("user",), ("user", "copy")):
            rest = [cycles - _cycles_of(side, *causes) for cycles, side in zip(whole, (bare, ours), strict=True)]
            entries += [f"{100 * (1 - rest[1] / whole[1]):.0f} %", f"{rest[0] / rest[1]:.2f}" if rest[1] > 0 else "-"]
        found.append([*entries, _by_cause(ours, "cycles.cause.")])
    return found


def _short(lines: Sequence[_Line]) -> list[str]:
    found = _below(lines)
    head = ["row", "bare / ours", "instructions, bare / ours", "`user`, of our cycles", "bare / ours without it",
            "`user` and `copy`, of our cycles", "bare / ours without them", "our cycles by cause"]  # fmt: skip
    kernel = [row for row in found if row[0] not in _PROGRAMS]
    program = [row for row in found if row[0] in _PROGRAMS]
    text = []
    if kernel:
        text += [
            f"In these rows our kernel does not reach the aim of {_AIM} times the bare Linux's speed. `user` is the "
            "program itself, which executes the same code on both kernels; `copy` moves the data that the row asks "
            "for. The rest is the kernel's own work:",
            "",
            *_table(head, kernel),
        ]
    if program:
        text += [
            f"These rows are below {_AIM}, too, but are no measure of a kernel: the program reads its memory, and the "
            "caches and the TLB decide how long that takes:",
            "",
            *_table(head, program),
        ]
    return text


def _machine(name: str, lines: Sequence[_Line]) -> list[str]:
    won = [line for line in lines if (cell := line.cells[0]) is not None and cell.ratio is not None and cell.ratio < 1]
    known = [line for line in lines if (cell := line.cells[0]) is not None and cell.ratio is not None]
    measured = [n for n in (0, 1) if any(_is_measured(line.cells[n]) for line in lines)]
    kernels = [("bare", "default")[n] for n in measured]
    cycles = []
    for line in lines:
        cells = [line.cells[n] for n in measured]
        before = [cell.before if cell else None for cell in cells]
        after = next((cell.after for cell in cells if cell), None)
        cycles.append([line.name, *map(_number, before), _number(after), *map(_ratio, cells)])
    counts = [
        [line.name, *(" / ".join(_number(_each(side, pattern)) for side in (line.bare, line.ours))
                      for pattern in _COUNTS.values())]
        for line in lines
    ]  # fmt: skip
    causes = [
        [line.name, *(f"{_by_cause(line.bare, pattern)} / {_by_cause(line.ours, pattern)}"
                      for pattern in ("cycles.cause.", *_PATTERNS.values()))]
        for line in lines
    ]  # fmt: skip
    return [
        f"### {name}",
        "",
        f"Our kernel is faster than the bare Linux in {len(known) - len(won)} of {len(known)} rows.",
        "",
        *_table(
            ["row, cycles of one iteration", *kernels, "ours", *(f"{kernel} / ours" for kernel in kernels)], cycles
        ),
        *_short(lines),
        "Counts of one iteration, Linux bare / ours:",
        "",
        *_table(["row", *_COUNTS], counts),
        "By cause, of one iteration, Linux bare / ours:",
        "",
        *_table(["row", "cycles", *_PATTERNS], causes),
    ]


def rows(store: Store) -> list[str]:
    """The text of the page that leads to the tables, and the tables of every machine."""
    lines = (home().root / _TEXT).read_text(encoding="utf-8").splitlines()
    lines += ["", "## The benchmark rows", ""]
    found = _lines(store)
    if not found:
        return [*lines, "Nothing is measured yet: `pagewalk run linux`", ""]
    if not any(_is_measured(line.cells[1]) for entries in found.values() for line in entries):
        lines += [f"The kernel `default` is not measured on this build: `pagewalk run {DEFAULT}`.", ""]
    for machine, entries in found.items():
        lines += _machine(machine, entries)
    return lines
