"""Plots as files, of what the commands measure and of frames."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from pagewalk import verdict
from pagewalk.errors import BadInput
from pagewalk.report import charts, plots, svg
from pagewalk.report.plots import Drawn

PIPE = Drawn("pipe", "m", "not reproduced", 2.0, 1.01, 1.0, 1.02, (1.5, 1.5), (1.2, 1.3))
LATENCY = Drawn("latency", "m", "figure reproduced", 3.0, None, None, None, (2.0, 8.0), None)
STARTS = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}


@pytest.mark.parametrize("end", STARTS)
def test_a_plot_is_written_in_the_form_that_the_name_says(tmp_path: Path, end: str) -> None:
    plots.of_rows([PIPE, LATENCY]).save(tmp_path / f"p{end}")
    assert (tmp_path / f"p{end}").read_bytes().startswith(STARTS[end])


def test_a_row_is_drawn_by_its_ratio_or_by_its_figure_over_the_published_one() -> None:
    pipe, latency = PIPE.effect, LATENCY.effect
    assert pipe is not None
    assert latency is not None
    assert (pipe.measured, pipe.published) == (1.01, (1.2, 1.3))
    assert (latency.measured, latency.published) == (0.75, (0.5, 2.0))


def test_a_figure_over_the_published_one_has_an_axis_that_says_so() -> None:
    drawn = plots.of_rows([PIPE, LATENCY])._repr_svg_()
    assert drawn.count(f">{charts.CHANGE}<") == 1
    assert drawn.count(">measured / published<") == 1
    assert "before / after" not in plots.of_rows([LATENCY])._repr_svg_()
    assert ">measured / published<" not in plots.of_rows([PIPE])._repr_svg_()


def _seen(drawn: str) -> list[str]:
    """The mark and the colour in front of each verdict of a legend."""
    found = re.findall(r"<(circle|path)[^>]*fill=\"(#[0-9a-f]{6})\"[^>]*/><text[^>]*>([^<]*)<", drawn)
    return [f"{mark} {colour}" for mark, colour, words in found if words in get_args(verdict.Kind)]


def test_each_verdict_has_a_colour_or_a_mark_of_its_own() -> None:
    kinds = get_args(verdict.Kind)
    seen = _seen(plots.of_rows([replace(PIPE, row=kind, verdict=kind) for kind in kinds])._repr_svg_())
    assert len(seen) == len(set(seen)) == len(kinds)
    # Beside the paper's own kernel marks tell the kernels apart, so each verdict on a claim has a colour.
    claimed = [kind for kind in kinds if kind not in ("better", "worse", "measured", "no difference", "no figure")]
    seen = _seen(svg.draw(charts.shares([charts.Share(kind, "our kernel", kind, 1, 1, 1) for kind in claimed])))
    assert len(seen) == len(set(seen)) == len(claimed)


def test_a_spread_ends_within_the_axis() -> None:
    drawn = svg.draw(charts.shares([charts.Share("a", "our kernel", "overshoots", 10, -4, 14)]))
    spread = re.search(r'<line x1="([\d.]+)" [^>]*x2="([\d.]+)" [^>]*stroke="#[^>]*stroke-width="2"', drawn)
    assert spread is not None
    low, high = map(float, spread.groups())
    assert 5 < low < high < 415


def test_stacked_bars_have_a_unit_and_their_axis_a_title() -> None:
    drawn = svg.draw(charts.cycles_by_cause([charts.Bar("r", "before", {"user": 1234}), charts.Bar("r", "after", {})]))
    assert ">1,234 cycles<" in drawn
    assert ">cycles, as a share of the longest bar<" in drawn


def test_names_of_rows_are_never_cut() -> None:
    long = Drawn("a row with a name " * 8, "m", "better", 1.0, 1.5, None, None, None, None)
    assert long.row.strip() in plots.of_rows([long])._repr_svg_()


def test_rows_without_figures_are_no_plot() -> None:
    with pytest.raises(BadInput, match="no row has a figure"):
        plots.of_rows([Drawn("x", "m", "no figure", None, None, None, None, None, None)])


@pytest.mark.parametrize(("name", "words"), [("x.gif", "svg"), ("no/x.svg", "no folder"), ("d.svg", "is a folder")])
def test_a_file_that_cannot_hold_a_plot_is_refused_at_once(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "d.svg").mkdir()
    with pytest.raises(BadInput, match=words):
        plots.check(tmp_path / name)


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write to any folder, so the system's answer is made up.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(BadInput, match="cannot be written"):
        plots.check(tmp_path / "x.svg")


def test_a_sweep_is_a_curve_over_one_axis_and_a_map_over_two() -> None:
    curve = plots.of_sweep([({"a": "1"}, 2.0), ({"a": "5"}, 3.0), ({"a": "off"}, 4.0)], "us")
    assert curve is not None
    assert "step-after" in str(curve())
    assert plots.of_sweep([({"a": x, "b": y}, 1.0) for x in "12" for y in "34"], "us") is not None
    assert plots.of_sweep([({"a": "1"}, 1.0)], "us") is None
    assert plots.of_sweep([({"a": x, "b": y, "c": z}, 1.0) for x in "12" for y in "34" for z in "56"], "us") is None
