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
GENERATED = {"osdi99", "ols03", "lkml05", "sosp93", "beyond", "bench"}

# What looks like a measured quantity: a share, a factor, a time, a bandwidth, a count of cycles, a fraction of a speed.
QUANTITY = re.compile(
    r"\d[\d,.]*\s?(?:%|times (?:as|that|PSIM)|cycles?\b|us\b|ms\b|µs\b|MB/s|MIPS\b|seconds?\b|hours?\b)"
    r"|\b1/\d+\.\d|\b(?:a|one|two) (?:third|quarter|fifth|tenth)s? (?:of|to)\b|\bhalf the time\b|\btwice (?:as|the)\b"
)

# Beginnings and parts of lines that may hold one, by reason.
RULES = (
    # docs/experiments.md: how a verdict is made.
    "widened by a quarter of the effect",
    "within 10 % of the published range",
    "Where the paper gives no size: by 5 % at least",
    "prints figures less than 1 % apart; ours differ by 5 % at most",
    "changes the row by 1 % at least",
    # docs/lmbench.md, docs/speed.md: aims and settings.
    "The aim is twice PSIM's speed",
    # docs/kernel.md: the test's settings.
    "the decrementer every 20 us",
    # docs/programs.md: how long each stressor runs.
    "for 20 operations or a second",
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
    # The papers' figures that the experiments name.
    "60 % more Unix-domain bandwidth",
    "the compile cannot take twice as long",
)
HARDWARE = (
    # What the machine charges: a latency of a machine file, or a sum of them that a test holds.
    "Eight dependent adds that fill a line take 8 cycles",
    "Divides take 6 cycles, the mean, whatever their operands",
    "An exception's entry and return take 32 cycles",
)
KNOWN = (*RULES, *PUBLISHED, *HARDWARE)


def pages() -> Iterator[Path]:
    """Every page of the documentation, and every experiment, that a person writes."""
    root = home().root
    yield from (root / "README.md", root / "user" / "bench" / "README.md")
    yield from (page for page in sorted((root / "docs").glob("*.md")) if page.stem not in GENERATED)
    yield from sorted((root / "experiments").glob("*.toml"))


def quantities(text: str) -> list[str]:
    """The lines with a quantity, without examples of commands and their output."""
    prose = re.sub(r"^```.*?^```|^    .*?$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in prose.splitlines() if QUANTITY.search(line)]


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: page.name)
def test_no_result_is_typed_into_prose(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    typed = [line for line in quantities(text) if not any(part in line for part in KNOWN)]
    assert not typed, "generate these numbers, leave them out, or say in this test why they are no results"


def test_no_exception_is_left_over() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    assert [part for part in KNOWN if part not in text] == []


def test_a_typed_result_is_found() -> None:
    found = quantities("It takes 40 % less.\n`100 cycles`\n```\n7 cycles\n```\nThe speed is 1/6.5.\n")
    assert found == ["It takes 40 % less.", "The speed is 1/6.5."]
