from pathlib import Path
from typing import Any

from pagewalk import claims_page
from pagewalk.store import Store


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


def test_the_page_of_a_paper_names_what_was_not_run(tmp_path: Path) -> None:
    with Store(tmp_path / "results.duckdb") as store:
        page = claims_page.build(store, "undeadly07")
    assert "## All 5 claims" in page
    assert "| not run: `pagewalk run undeadly07-build` |" in page
    assert "| not measured: a constant," in page
