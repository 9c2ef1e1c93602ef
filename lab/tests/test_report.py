"""The report as a browser shows it."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from framed import framed
from scripted import BenchLab, ScriptedRunner, benchmark

from pagewalk import experiments, report
from pagewalk.errors import BadInput
from pagewalk.experiments import Side
from pagewalk.report import browser, charts, svg
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store

pytestmark = pytest.mark.usefixtures("small_policies")

GROUPS = 1024


def dump(used: int) -> str:
    occupancy = [used // GROUPS + (n < used % GROUPS) for n in range(GROUPS)]
    return json.dumps({"label": 0, "hash_table": {"used": used, "occupancy": occupancy}})


def script(job: Job) -> RunResult:
    name = job.command_line.partition(" -- /bin/")[2].split()[0]
    row = "context-switch-2p-0k" if name == "context-switch" else name
    flush = 500_000 if "tlb.cutoff=off" in job.command_line else 2000
    result = benchmark(row, {"flush": flush, "kernel": 4000, "walk": 700}, moved=1000)
    more: Mapping[str, int] = {
        "tlb.data.miss.user": 40,
        "tlb.data.miss.kernel": 7,
        "pollution.cache.data.idle.user": 900,
        "pollution.cache.data.user.idle": 12,
    }
    counters = {**result.counters, **more}
    dumps = (dump(3000 if flush > 2000 else 5000),)
    return replace(result, counters=counters, regions={1: counters}, dumps=dumps)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    with Store(tmp_path / "r.duckdb") as store:
        BenchLab(ScriptedRunner(script), store).experiment(experiments.find("osdi99-table2")[0], Quiet())
        store.add_points(
            "mmap-latency over tlb.cutoff",
            "us",
            [(json.dumps({"tlb.cutoff": str(n)}), 10.0 + n, "run", "") for n in range(1, 40, 3)],
        )
        path = tmp_path / "report.html"
        path.write_text(report.build(store), encoding="utf-8")
    return path


def test_a_curve_begins_at_0_and_marks_whole_numbers() -> None:
    drawn = svg.draw(charts.curve([(2, 10.0), (5, 20.0)], "tlb.cutoff", "us"))
    marks = re.findall(r">([0-9.]+)</text>", drawn)
    assert marks[:6] == ["0", "1", "2", "3", "4", "5"], marks


def test_rows_of_a_curve_are_drawn_over_their_argument(tmp_path: Path) -> None:
    def unix(job: Job) -> RunResult:
        size = int(job.command_line.partition("size=")[2].split()[0]) if "size=" in job.command_line else 65536
        return benchmark(job.command_line.partition(" -- /bin/")[2].split()[0], {"copy": 1000 + size}, moved=size)

    def known(side: Side | None, choice: str) -> Side:
        assert side is not None
        return replace(side, setting=side.setting.model_copy(update={"policies": {"reload": choice}}))

    experiment = experiments.find("ols03-copy")[0]
    rows = tuple(
        replace(row, before=known(row.before, "c"), after=known(row.after, "asm"))
        for row in experiment.rows
        if row.curve
    )
    with Store(tmp_path / "r.duckdb") as store:
        BenchLab(ScriptedRunner(unix), store).experiment(replace(experiment, rows=rows), Quiet())
        page = report.build(store)
    assert "unix-bandwidth over size on ppc970-1600" in page
    assert len(rows) == len({row.at for row in rows}) > 8
    drawn = svg.draw(charts.curves({"words": [(64, 1.0), (128, 2.0)], "six": [(64, 2.0), (128, 4.0)]}, "size", "MB/s"))
    assert ">words</text>" in drawn
    assert ">six</text>" in drawn


def test_plots_are_drawn_after_the_results_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.duckdb"
    with Store(path) as store:
        store.add_points("a", "us", [(json.dumps({"tlb.cutoff": str(n)}), 10.0 + n, "run", "") for n in (1, 2)])
    added: list[bool] = []

    def curve(*_: object) -> charts.Spec:
        with Store(path) as other:
            other.add_points("b", "us", [(json.dumps({"tlb.cutoff": "3"}), 1.0, "run", "")])
        added.append(True)
        return {"mark": "point", "data": {"values": []}}

    monkeypatch.setattr(charts, "curve", curve)
    report.build(Store(path, read_only=True))
    assert added


class Elements(HTMLParser):
    """Counts elements and keeps every attribute that names something to load."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]


def test_the_page_stands_alone(page: Path) -> None:
    elements = Elements()
    text = page.read_text(encoding="utf-8")
    elements.feed(text)
    assert all(load.startswith("#") for load in elements.loads), elements.loads
    ours = text.partition("(function(){")[0]
    assert not re.search(r"url\((?!#)|@import", ours)
    assert elements.count["svg"] >= 5, "without scripts, too"


def test_a_browser_shows_tables_and_plots(page: Path) -> None:
    elements = Elements()
    elements.feed(browser.run(page, "--dump-dom"))
    assert elements.count["table"] == 2, "one for each machine"
    assert elements.count["svg"] >= 5, "occupancy, cycles, misses, pollution and the sweep"


@pytest.mark.parametrize("width", [400, 1400])
def test_plots_are_live_and_fit_the_window(page: Path, width: int) -> None:
    live = "[...d.querySelectorAll('.plot')].map((plot) => plot.matches('.vega-embed:has(svg)'))"
    told = f"((live) => [d.documentElement.scrollWidth, live.length, live.every(Boolean)])({live}).join(' ')"
    frame = framed(page, page.name, (width, 9000), told)
    dom = browser.run(
        frame, "--allow-file-access-from-files", "--window-size=1500,9100", "--virtual-time-budget=9000", "--dump-dom"
    )
    assert re.search(rf"<title>{width} [5-9] true</title>", dom), dom[:300]


def test_a_screenshot_has_content(page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "report.png"
    browser.photograph(page, picture)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 30_000, "an empty page compresses to less"


def test_a_missing_browser_is_said(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="Chromium is not installed"):
        browser.photograph(page, tmp_path / "report.png")


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "r.duckdb") as store, pytest.raises(BadInput, match="no result to report"):
        report.build(store)
