import re
from pathlib import Path
from typing import Any

import pytest
from scripted import benchmark

from pagewalk import (
    claims,
    claims_overview,
    claims_page,
    experiments,
    linux_page,
    markdown,
    measured,
    reasons,
    records,
    verdict,
)
from pagewalk.errors import BadInput
from pagewalk.figures import Measured
from pagewalk.paths import home
from pagewalk.runner import Job, ResolvedMachine
from pagewalk.store import Store

MACHINE = ResolvedMachine("ppc604-133", "config", 133_000_000)


def cell(name: str, after: float, verdict: str) -> dict[str, Any]:
    """A row of an experiment that reproduces no paper, as the store keeps it."""
    return {
        "row_name": name,
        "machine": "ppc604-200x4",
        "unit": "us",
        "claims": [],
        "before_run": "b",
        "after_run": "a",
        "before": 12.0,
        "after": after,
        "ratio": 12.0 / after,
        "low": None,
        "high": None,
        "placements": 1,
        "published_before": None,
        "published_after": None,
        "published_ratio": None,
        "verdict": verdict,
        "reason": f"interrupts of {name}",
    }


def test_what_is_compared_with_one_before_has_a_column_each(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells(
            "smp-munmap",
            [
                cell("pages=1, 4 processors: short", 8.0, "better"),
                cell("pages=1, 4 processors: lazy", 12.0, "no difference"),
                cell("pages=8, 4 processors: short", 6.0, "better"),
            ],
        )
        page = claims_page.build(store, "smp")
    assert page.startswith("# Several processors\n")
    assert "| row | machine | unit | queue | short | lazy | what the counters say of short |" in page
    assert (
        "| pages=1, 4 processors | ppc604-200x4 | us | 12 | 8 (1.5, better) | 12 (1, no difference) "
        "| interrupts of pages=1, 4 processors: short |" in page
    )
    assert "| pages=8, 4 processors | ppc604-200x4 | us | 12 | 6 (2, better) |  |" in page


def test_a_figure_stands_beside_the_one_that_it_was_compared_with(tmp_path: Path) -> None:
    """Each column has a placement of its own in the middle, so that what they are compared with may differ."""
    short = cell("pages=1: short", 8.0, "better") | {"placements": 3, "low": 1.4, "high": 1.6}
    lazy = cell("pages=1: lazy", 15.0, "better") | {
        "before": 18.0,
        "ratio": 1.2,
        "placements": 3,
        "low": 1.1,
        "high": 1.3,
    }
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("smp-munmap", [short, lazy])
        page = claims_page.build(store, "smp")
    columns = "12 | 8 (1.5, 1.4 to 1.6, better) | 18 → 15 (1.2, 1.1 to 1.3, better)"
    assert f"| pages=1 | ppc604-200x4 | us | {columns} |" in page


def test_the_page_of_a_paper_names_what_was_not_run(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        page = claims_page.build(store, "undeadly07")
    assert "## All 5 claims" in page
    assert "| not run: `pagewalk run undeadly07-build` |" in page
    assert "| not measured: a constant," in page


def test_claims_and_figures_are_counted(tmp_path: Path) -> None:
    claim = {"claims": ["osdi99.table2.604-185"], "published_before": "4", "published_after": "4"}
    with Store(tmp_path / "results.duckdb") as store:
        rows = [
            cell("mmap latency", 8.0, "ratio reproduced") | claim,
            cell("context switch, 2p/0k", 12.0, "no change, as published") | claim | {"published_ratio": "1"},
            cell("context switch, 8p/0k", 6.0, "not reproduced") | claim | {"published_ratio": "1"},
        ]
        store.add_cells("osdi99-table2", rows)
        counts = claims_page.count(store, "osdi99")
        page = claims_page.build(store, "osdi99")
    others = [("recalled", 4), ("published only", 2), ("not run", 42)]
    assert counts.claims == [("in part", 1), *others]
    assert counts.figures == [("reproduced", 1), ("not reproduced", 1), *others]
    for name, whole, figures in (("in part", 1, 0), ("not reproduced", 0, 1)):
        shown = dict(counts.shown).get(name, 0)
        assert f"| {name} | {whole} | {shown} | {figures} |" in page


def test_the_ends_of_a_range_are_no_two_figures(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        page = claims_page.build(store, "lmbench96")
    lines = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| `lmbench96.powerpc")}
    assert " | 223-337 | " in lines["| `lmbench96.powerpc.copy-less-write`"]
    assert " | 21, 63, 26 | " in lines["| `lmbench96.powerpc.bandwidth`"]


def test_claims_that_one_comparison_measures_count_once(tmp_path: Path) -> None:
    pair = {"claims": ["osdi99.table1.603-180-htab", "osdi99.table1.603-180-nohtab"]}
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("osdi99-table1", [cell("process start", 8.0, "direction reproduced") | pair])
        assert dict(claims_page.count(store, "osdi99").claims)["direction"] == 1


def test_rows_of_machines_can_be_left_out_of_the_counts(tmp_path: Path) -> None:
    here, there = {"claims": ["osdi99.table2.604-185"]}, {"claims": ["osdi99.pace.604-185"]}
    with Store(tmp_path / "results.duckdb") as store:
        rows = [
            cell("mmap latency", 8.0, "ratio reproduced") | here | {"machine": "ppc604-185"},
            cell("pipe latency", 8.0, "not reproduced") | here | {"machine": "ppc603-180"},
            cell("file reread", 8.0, "not reproduced") | there | {"machine": "ppc603-180"},
        ]
        store.add_cells("osdi99-table2", rows)
        whole = dict(claims_page.count(store, "osdi99").claims)
        counts = dict(claims_page.count(store, "osdi99", ["ppc603-*"]).claims)
    assert (whole["in part"], whole["not reproduced"]) == (1, 1)
    assert counts["reproduced"] == 1
    assert counts["not run"] < whole["not run"], "a claim that has rows on the other machine alone is not counted"
    assert "in part" not in counts
    assert "not reproduced" not in counts


def test_the_page_says_with_how_many_placements_each_row_was_measured(tmp_path: Path) -> None:
    spread = {"low": 1.25, "high": 1.75}
    rows = [
        cell("mmap latency", 8.0, "better") | spread | {"placements": 7},
        cell("pipe latency", 8.0, "better") | spread | {"placements": 3},
        cell("compile", 8.0, "better"),
        cell("hash-table search, worst case", 172.0, "better") | {"after_run": ""},
    ]
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("osdi99-table2", rows[:1])
        page = claims_page.build(store, "osdi99")
        assert "Each row of our kernel was measured with 7 placements of code, frames, heaps and stacks. " in page
        own = r" Rows of the paper.s own kernels: \d[\w ]* placements in osdi99-own; \d[\w ]* in osdi99-pair\.\n"
        assert re.search(own, page)
        assert "\n`pagewalk run osdi99-table2` (measured with 7 placements)\n" in page
        store.add_cells("osdi99-table2", rows)
        store.add_cells("osdi99-vsid", [cell("null call", 8.0, "better") | spread | {"placements": 3}])
        page = claims_page.build(store, "osdi99")
    where = "several placements of code, frames, heaps and stacks: 1 to 7 placements in osdi99-table2; 3 placements in "
    assert f"The rows of our kernel were measured with {where}osdi99-vsid. Figures" in page
    assert "\n`pagewalk run osdi99-table2` (measured with 1 to 7 placements)\n" in page
    spreads = [line.split(" | ")[7] for line in page.splitlines() if "| ppc604-200x4 |" in line]
    assert spreads[:4] == ["1.25 to 1.75", "1.25 to 1.75, 3 placements", "1 placement", ""]


def test_what_got_worse_beside_other_columns_has_its_reason(tmp_path: Path) -> None:
    rows = [
        cell("pages=1, 4 processors: short", 8.0, "better"),
        cell("pages=1, 4 processors: lazy", 16.0, "worse"),
    ]
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("smp-munmap", rows)
        page = claims_page.build(store, "smp")
    reason = "interrupts of pages=1, 4 processors: lazy"
    assert f"\n- pages=1, 4 processors, ppc604-200x4, lazy (0.75): {reason}.\n" in page


def test_the_page_names_rows_of_another_build_of_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_page, "_built", lambda: {Job(MACHINE, b"kernel", b"", "").kernel_hash})
    row = cell("null call", 8.0, "better") | {"machine": "ppc604-133"}
    with Store(tmp_path / "results.duckdb") as store:
        for experiment, kernel in (("osdi99-table3", b"kernel"), ("osdi99-idlecache", b"older")):
            store.add(experiment, "v", Job(MACHINE, kernel, b"", ""), benchmark("row", {"flush": 7}))
            name = "null call" if experiment == "osdi99-table3" else "null call, preloads"
            store.add_cells(experiment, [row | {"row_name": name, "after_run": experiment}])
        page = claims_page.build(store, "osdi99")
    assert "\nMeasured on another build of the kernel than the one here: osdi99-idlecache.\n" in page
    assert "more than one build of the machine" not in page


def test_the_page_names_tables_of_several_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_page, "_built", lambda: {Job(MACHINE, b"kernel", b"", "").kernel_hash})
    row = cell("null call", 8.0, "better") | {"machine": "ppc604-133"}
    with Store(tmp_path / "results.duckdb") as store:
        for run, kernel in (("one", b"kernel"), ("two", b"older")):
            store.add(run, run, Job(MACHINE, kernel, b"", ""), benchmark("row", {"flush": 7}))
        names = {"one": "null call", "two": "pipe latency"}
        store.add_cells("osdi99-table3", [row | {"row_name": name, "after_run": run} for run, name in names.items()])
        page = claims_page.build(store, "osdi99")
    assert "than the one here: osdi99-table3 (1 of 2 rows).\n" in page
    assert (
        "\nMeasured by more than one build of the machine: osdi99-table3 (1 and 1 rows). Both sides of each row "
        in page
    )
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("osdi99-table3", [row | {"before_run": "two", "after_run": "one"}])
        page = claims_page.build(store, "osdi99")
    assert "osdi99-table3 (1 row with a build for each side).\n" in page


def test_a_document_has_a_page_under_its_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_page, "_built", set)
    known = claims_page.documents()
    assert {"osdi99", "lmbench96", "pagewalk", "smp", "workloads", "linux"} <= set(known)
    with Store(tmp_path / "results.duckdb") as store:
        for name in ("lmbench96", "smp", "workloads", "linux"):
            assert claims_page.build(store, name).startswith(f"# {known[name]}\n")
        with pytest.raises(BadInput, match="unknown document 'nothing'"):
            claims_page.build(store, "nothing")


def test_recalled_figures_are_marked_on_both_kernels(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        page = claims_page.build(store, "osdi99")
    rows = [line for line in page.splitlines() if line.startswith("| Table 3: null call |")]
    assert rows
    assert all("18 → 2 (recalled)" in line for line in rows)


def test_counts_are_of_our_kernel_as_on_the_page(tmp_path: Path) -> None:
    claim = {"claims": ["lkml05.pin"], "published_ratio": "1.23"}
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("lkml05-own", [cell("dd to a file", 8.0, "ratio reproduced") | claim])
        counts = claims_page.count(store, "lkml05")
        page = claims_page.build(store, "lkml05")
    whole = len(claims.of_document("lkml05")) - 7 - 1  # the misses of v2.4 and v2.6 are one comparison
    alone = ("published only", 7)
    assert counts.claims == counts.figures == [alone, ("not run", whole)], "seven claims are of v2.4 itself"
    shown = dict(counts.shown).get("not run", 0)
    assert f"| not run | {whole} | {shown} | {whole} |" in page
    assert page.count("| not of our kernel: lkml05-own |") == 7


def test_a_claim_that_the_papers_own_kernel_shows_is_counted_beside_ours(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        counts = claims_page.count(store, "lkml05")
    table = measured.read(experiments.find("lkml05-own")[0])
    assert table is not None
    (timed,) = (row.verdict for row in table.rows if "lkml05.time.system" in row.claims)
    assert verdict.class_of(timed) in ("reproduced", "direction")
    assert dict(counts.claims).get(verdict.class_of(timed), 0) == 0
    assert dict(counts.shown)[verdict.class_of(timed)] >= 1
    assert sum(dict(counts.shown).values()) == len(claims.of_document("lkml05")) - 1


def test_a_figure_that_rounds_to_a_thousand_has_no_exponent() -> None:
    assert [markdown.number(value) for value in (998.6, 999.7, 1000.4)] == ["999", "1,000", "1,000"]


def test_rows_that_measure_a_program_are_listed_apart_from_those_of_the_kernel(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("linux-bare", [cell(name, 10.0, "") for name in ("read of a byte", "mapped file reread")])
        found = records.cells(store, "linux-bare")
    counts = {"cycles": 100, "instructions": 80, "cycles.cause.user": 20, "cycles.cause.kernel": 80}
    side = Measured(1, 1, 0, counts, counts)
    lines = [linux_page._Line(record.row_name, side, None, side, (record, None)) for record in found]
    page = "\n".join(linux_page._machine("ppc604-133", lines))
    kernel, _, program = page.partition("no measure of a kernel")
    assert "| read of a byte | 1.20 | 80 / 80 | 20 % | 1.00 | 20 % | 1.00 | kernel 80, user 20 |" in kernel
    assert "| mapped file reread | 1.20 |" not in kernel
    assert "| mapped file reread | 1.20 |" in program


def test_the_page_of_linux_begins_with_the_text_that_it_is_made_of() -> None:
    text = (home().root / "subjects" / "linux-6.1" / "about.md").read_text(encoding="utf-8")
    assert (home().root / "docs" / "linux.md").read_text(encoding="utf-8").startswith(text)


def test_the_page_of_all_documents_has_a_line_for_each_measurement(tmp_path: Path) -> None:
    claim = {"claims": ["osdi99.table2.604-185"], "published_ratio": "79", "low": 40.0, "high": 52.0, "placements": 7}
    missed = cell("pipe latency", 12.0, "not reproduced") | {"claims": ["osdi99.table2.604-185"]}
    saved = {"claims": ["sosp93.technique.register-messages"], "published_ratio": "saves 120"}
    own = measured.read(experiments.find("lkml05-own")[0])
    with Store(tmp_path / "results.duckdb") as store:
        store.add_cells("osdi99-table2", [cell("mmap latency", 0.25, "ratio reproduced") | claim, missed])
        store.add_cells("sosp93-i486", [cell("one way, in registers", 1.6, "direction reproduced") | saved])
        store.add_cells("lkml05-pin", [cell("dd to a file", 1.0, "not reproduced") | {"claims": ["lkml05.pin"]}])
        page = claims_overview.build(store)
        whole = sum(len(claims_page.measurements_of(store, paper)) for paper in claims_overview.papers())
        shown = dict(claims_page.count(store, "osdi99").shown)
    lines = [line for line in page.splitlines() if line.startswith("| [")]
    assert len(lines) == whole
    counted = re.search(r"^\| in part \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert counted is not None
    documents = claims_overview.papers()
    assert int(counted[1 + documents.index("osdi99")]) == shown["in part"]
    (partly,) = (line for line in lines if " in 2 rows: " in line)
    assert f"| 1 in 2 rows: {missed['row_name']} |" in partly, "the row that keeps the claim from being whole"
    assert f"interrupts of {missed['row_name']}" in partly
    assert all(line.count(" | ") == lines[0].count(" | ") for line in lines)
    assert any("| saves 120 | saves 10.4, ratio 7.5 |" in line for line in lines)
    (pinned,) = (line for line in lines if "pinned at the kernel's base](lkml05.md#linux-24-and-26-themselves)" in line)
    assert own is not None
    row = next(row for row in own.rows if row.claims == ("lkml05.pin",))
    told = f"| {verdict.class_of(row.verdict)} | {claims_overview.short(row.reason)} |"
    assert told in pinned, "the reason of the kernel that has the class"


@pytest.mark.parametrize(
    ("title", "fragment"),
    [("Linux 2.4 and 2.6 themselves", "linux-24-and-26-themselves"), ("Lazy flush: pipes", "lazy-flush-pipes")],
)
def test_a_claim_leads_to_the_heading_of_its_experiment(title: str, fragment: str) -> None:
    assert claims_overview.anchor(title) == fragment


def test_a_long_part_of_a_reason_hides_no_part_behind_it() -> None:
    counters = "cycles each: switch 2 -> 1"
    assert claims_overview.short(f"direction; {'x' * 300}; {counters}") == f"direction; {counters}"
    assert claims_overview.short(f"{'two words ' * 30}") == f"{('two words ' * 16)[:-1]} …"


def test_a_row_says_why_the_published_effect_is_not_there() -> None:
    (experiment,) = experiments.find("osdi99-pair")
    table = measured.read(experiment)
    assert table is not None
    told = {(row.row_name, row.machine): reasons.told(experiment, row) for row in table.rows}
    cause = experiment.causes["Table 2: pipe latency", "ppc604-185"]
    assert told["Table 2: pipe latency", "ppc604-185"].startswith(f"{cause}; no counter differs")
    shown = next(row for row in table.rows if row.verdict == "ratio reproduced")
    assert told[shown.row_name, shown.machine] == shown.reason
