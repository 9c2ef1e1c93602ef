"""Where Table 2's mapping stands: its row must not be decided by what else the benchmark has mapped."""

from __future__ import annotations

import pytest

from pagewalk import native, rows, systems
from pagewalk.workshop import Workshop

PAGES = 1024
TIMES = 20


def absent(behind: str, **chosen: str) -> int:
    """How many pages without a page table a run of mmap-latency has flushed."""
    workshop = Workshop(native.NativeRunner())
    system = systems.own(workshop, "ppc604-133", {})
    words = ["/bin/mmap-latency", f"iterations={TIMES}", "counts=/proc/policy", f"behind={behind}"]
    line = system.command_line({name.replace("_", "."): value for name, value in chosen.items()}, words)
    done = workshop.runner.run(system.job(workshop.bench_image("mmap-latency"), line), lambda _: True)
    assert (done.stop.kind, done.stop.status) == ("power-off", 0)
    return int(rows.parse_values(done.console)["range.flush.pages_absent"])


@pytest.mark.parametrize(("behind", "pages"), [("0", PAGES), ("4k", 1), ("1m", 256), ("3m", 768), ("4m", PAGES)])
def test_of_the_mapping_only_what_it_stands_behind_shares_its_page_table(behind: str, pages: int) -> None:
    """The control page is elsewhere. Linux/PPC 2.1.130 flushes as many pages of each unmapping, twice (its tlbie)."""
    assert absent(behind, tlb_cutoff="off", range_flush="every") == TIMES * pages
    if behind == "0":
        assert absent(behind, tlb_cutoff="off", range_flush="every", unmap_flush="twice") == 2 * TIMES * pages


def test_pages_without_a_page_table_are_skipped_by_default_and_by_the_cutoff() -> None:
    assert absent("0", tlb_cutoff="off") == 0
    assert absent("0", tlb_cutoff="20", range_flush="every") == 0
