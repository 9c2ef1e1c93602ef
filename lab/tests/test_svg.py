"""Plots as SVG without a package: nothing cut off, and marks where the numbers are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pagewalk.report import charts, svg
from pagewalk.report.charts import Bar, Effect, Share, Spec

LONG = "a row with a name that goes on & on " * 3
PLOTS: dict[str, Spec] = {
    "effects": charts.effects(
        [
            Effect(LONG, "m", "not reproduced", (1.2, 1.3), 1.1, 1.0, 1.2),
            Effect("b", "n", "figure reproduced", None, 0.9, 0.8, 1),
        ]
    ),
    "one effect": charts.effects([Effect("b", "n", "figure reproduced", None, 1.0, 1.0, 1.0)]),
    "shares": charts.shares(
        [Share("a", "our kernel", "not reproduced", -4, -5, 3), Share("b", "the paper's own", "in part", 40, 30, 50)]
    ),
    "stacked": charts.cycles_by_cause([Bar("r", "before", {"user": 10, "kernel": 5}), Bar("r", "x", {"user": 12})]),
    "nothing stacked": charts.cycles_by_cause([Bar("r", "before", {"user": 0})]),
    "pollution": charts.pollution({("user", "kernel"): 12345, ("kernel", "user"): 300}, "misses <of> all"),
    "curve": charts.curve([(2, 10.0), (5, 20.0)], "tlb.cutoff", "us", [("off", 12.0)]),
    "flat curve": charts.curve([(2, 0.0), (2, 0.0)], "tlb.cutoff", "us"),
    "curves": charts.curves({"words": [(64, 1.0), (128, 2.0)], "six": [(64, 2.0)]}, "size", "MB/s"),
    "grid": charts.grid([("1", "2", 3.0), ("2", "2", 4.0)], ("an axis", "one with a very long name"), "us"),
    "occupancy": charts.occupancy([("before", [1, 2, 8] * 64), ("after", [0] * 192)]),
    "nothing": {"mark": "point", "data": {"values": []}},
}


def texts(drawn: str) -> list[tuple[float, float, float]]:
    """Left end, right end and height of each text, as a browser's letters are about."""
    found: list[tuple[float, float, float]] = []

    def visit(element: ElementTree.Element, x: float, y: float, turned: bool) -> None:
        moved = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        turned = turned or "rotate" in element.get("transform", "")
        if element.tag.endswith("text"):
            wide = 0.9 * svg.width_of(element.text or "", float(element.get("font-size", 11)))
            begin = {"start": 0.0, "middle": -wide / 2, "end": -wide}[element.get("text-anchor", "start")]
            at, down = float(element.get("x", 0)), float(element.get("y", 0))
            found.append((x - 8, x, y + wide / 2) if turned else (x + at + begin, x + at + begin + wide, y + down))
        for child in element:
            visit(child, x, y, turned)

    visit(ElementTree.fromstring(drawn), 0, 0, False)
    return found


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_whole(name: str) -> None:
    drawn = svg.draw(PLOTS[name])
    root = ElementTree.fromstring(drawn)
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    for left, right, bottom in texts(drawn):
        assert left >= 0
        assert right <= wide + 1
        assert 5 < bottom <= high
    assert "nan" not in drawn
    assert "href" not in drawn


def test_marks_are_where_the_numbers_are() -> None:
    drawn = svg.draw(charts.curve([(0, 0.0), (10, 50.0)], "x", "y"))
    points = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    assert points == [(0.0, 260.0), (560.0, 0.0)]
    assert 'd="M0.00,260.00L560.00,260.00L560.00,0.00"' in drawn


def test_bars_are_stacked() -> None:
    drawn = svg.draw(PLOTS["stacked"])
    bars = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="13.50"', drawn)
    assert [(float(x), float(wide)) for x, _, wide in bars] == [(0.0, 320.0), (0.0, 384.0), (320.0, 160.0)]


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(0.25, "%", "25%"), (12345, ".2~s", "12k"), (1.5e6, "~s", "1.5M"), (0.5, "~r", "0.5"), (1234567, "", "1,234,570")],
)
def test_numbers_are_written_as_a_page_writes_them(value: float, form: str, text: str) -> None:
    assert svg.number(value, form) == text
