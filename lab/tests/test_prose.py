"""No result is typed into prose: only pages made from results name measured figures.

A line with a quantity, in a page that a person writes or in the words of an experiment, must be known here, with the
reason why its number is no result.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagewalk.paths import home

# Made by `make docs` and `make bench`.
GENERATED = {
    "claims",
    "riscv-costs",
    "riscv-linux",
    "linux",
    "osdi99",
    "ols03",
    "lkml05",
    "sosp93",
    "undeadly07",
    "smp",
    "beyond",
    "workloads",
    "memories",
    "validation",
    "manuals",
    "bench",
}

# Made once, of two builds that the page names: it says itself that it is a record, and no command renews it.
RECORDS = {"moved"}

# What looks like a measured quantity: a share, a factor, a time, a bandwidth, a count of cycles, a fraction of a speed.
QUANTITY = re.compile(
    r"\d[\d,.]*\s?(?:%|percent\b|times (?:as|that|a|more|fewer|faster|slower|better|worse|PSIM)\b|us\b|ms\b|ns\b|µs\b"
    r"|[KMG]B/s|MIPS\b|seconds?\b|minutes?\b|hours?\b|(?:million |thousand )?(?:cycles?|instructions?|misses|faults"
    r"|evictions|ticks|flushes|walks|insertions|exceptions)\b)|\d\s(?:million|billion)\b|\b1/\d+\.\d"
    r"|\b(?:a|one|two|three) (?:third|quarter|fifth|tenth|hundredth)s? (?:of|to|less|more|faster|slower)\b"
    r"|\b(?:half the time|(?:twice|two times|three times|four times|five times|ten times) (?:as|the|faster|slower))\b"
)

# Beginnings and parts of lines that may hold one, by reason.
RULES = (
    "by more than twice the effect and more than 5 %",
    'in steps, as in "over 60 %"',
    "`nearly none` leaves 5 %",
    "if our figures were 1 % higher or lower",
    # docs/experiments.md: how a verdict is made.
    "widened by a quarter of the effect",
    "0.93 is not 0.98, because 7 % is not 2 %",
    "a saving or a figure, must move by 1 % at least",
    "Where the paper gives no size: by 1 % at least",
    "prints figures less than 1 % apart and names no change. Ours differ",
    "The 1 % below which nothing changes",
    "by a quarter of the effect or of the saving at least",
    "changes the row by 1 % at least",
    # docs/experiments.md: what makers' sheets say of disks.
    "The disk is IBM's 0663-L, a SCSI disk",
    # README.md: the line that `make bench` writes.
    "A second of one core simulates",
    # docs/lmbench.md, docs/speed.md: aims and settings.
    "The aim is twice PSIM's speed",
    "The aims are, of qemu-ppc's speed,",
    "1/2.6 for the geometric mean; 1/1.2 of qemu-system-ppc's;",
    # experiments/osdi99-constants.toml: an aim.
    "The aim for this search is between",
    # docs/kernel-interrupts.md: the test's settings.
    "the decrementer every 20 us",
    # docs/files.md: Linux's delayed acknowledgement, which its documentation gives.
    "by edges gets one event |",
    # docs/programs.md: how long each stressor runs.
    "for 20 operations or a second",
    # docs/extend.md, docs/interfaces.md, docs/running.md: a size that the reader chooses, how costs and limits count.
    "is four times as large:",
    "the first 25 instructions of a page fault",
    "the last 64 instructions are issued one by one",
    # experiments/paths.toml: floors, estimates that are counted out there.
    "Null call: 20 instructions (two registers saved",
    "looks at sixteen slots, 48 instructions",
    # user/bench/README.md: what a benchmark does.
    "then nothing runs for 2 ms",
)
PUBLISHED = (
    # Figures of manuals and papers, with their source beside them.
    "gives four walk times: 7, 13, 62 and 77 cycles",
    "average of 23 cycles lies between",
    "takes the 32 cycles that Dougan, Mackerras and Yodaiken measured",
    "604 takes 91 cycles if a search finds no PTE",
    "prints both, with the kind of each figure. The 603's 32 cycles",
    "from the history buffer in 2 to 10 cycles",
    "in 5 cycles if the I-cache holds",
    # LmBench's summaries of 1996 (docs/experiments.md).
    "1.0 printed 13 us for two processes",
    "1.1 printed 14 us for two without data",
    # The papers' figures that the experiments name.
    "The thread's copy misses 48 times a block under v2.4",
    "Linux is 10 to 120 times faster than MkLinux",
    "60 % more Unix-domain bandwidth",
    "the compile cannot take twice as long",
)
HARDWARE = (
    # What the machine charges: a latency of a machine file, or a sum of them that a test holds.
    "4 cycles and a miss of 2",
    "Eight dependent adds that fill a line take 8 cycles",
    "Divides take 6 cycles, the mean, whatever their operands",
    "An exception's entry and return take 32 cycles",
    # docs/boards.md: clocks, sizes and parts of the boards, each with its source in a machine file.
    "Power Macintosh 9500/132 |",
    "IBM RS/6000 43P, 7248-133 |",
    "LmBench's Linux/i686 |",
    "an i486's board with a 485Turbocache;",
    "a Motorola PReP board of 1995",
    "Motorola PReP boards of 1996",
    "a Motorola PReP board of 1996",
    "a Pentium Pro (recalled) |",
    "four of them: the 440FX has two at most",
    "The PowerPC boards have four clocks for a read",
    "prints of another board at 66 MHz",
    "the paper names an i486 of 50 MHz",
)
KNOWN = (*RULES, *PUBLISHED, *HARDWARE)


def pages() -> Iterator[Path]:
    """Every page of the documentation that a person writes, every experiment, and what is said about policies."""
    root = home().root
    yield from (root / "README.md", root / "user" / "bench" / "README.md")
    yield from (page for page in sorted((root / "docs").rglob("*.md")) if page.stem not in GENERATED | RECORDS)
    yield from sorted((root / "subjects").rglob("*.md"))
    yield from sorted((root / "experiments").glob("*.toml"))
    yield from (root / "lab" / "pagewalk" / name for name in ("policies.toml", "policy_sets.toml"))


def quantities(text: str) -> list[str]:
    """The lines with a quantity, without examples of commands and their output."""
    prose = re.sub(r"^```.*?^```|^    .*?$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in prose.splitlines() if QUANTITY.search(line)]


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: page.name)
def test_no_result_is_typed_into_prose(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    typed = [line for line in quantities(text) if not any(part in line for part in KNOWN)]
    assert not typed, "generate these numbers, leave them out, or say in this test why they are no results"


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_says_that_it_is_one(name: str) -> None:
    text = (home().root / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert "This page is a record of one comparison of two builds" in text
    assert "No command makes it." in text


def test_no_exception_is_left_over() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    assert [part for part in KNOWN if part not in text] == []


def test_a_typed_result_is_found() -> None:
    found = quantities("It takes 40 % less.\n`100 cycles`\n```\n7 cycles\n```\nThe speed is 1/6.5.\n")
    assert found == ["It takes 40 % less.", "The speed is 1/6.5."]
