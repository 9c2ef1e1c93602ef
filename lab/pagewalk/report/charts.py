"""The report's plots, each as a specification for Vega-Lite and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import polars as pl
import vl_convert

from pagewalk.verdict import MOST_EFFECT, PART, tone

# Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), and greys.
CAUSES = {
    "user": "#56b4e9", "kernel": "#0072b2", "walk": "#e69f00", "reload": "#d55e00", "flush": "#cc79a7",
    "entry": "#009e73", "switch": "#f0e442", "copy": "#999999", "clear": "#666666", "fault": "#8c564b",
    "idle": "#dddddd", "reclaim": "#b2df8a", "coherence": "#fb9a99",
}  # fmt: skip


Spec = dict[str, Any]


def _data(values: Sequence[Mapping[str, object]]) -> alt.InlineData:
    return alt.InlineData(values=list(values))


def _spec(chart: alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart) -> Spec:
    # A browser's font may be wider than the one used for the layout: leave room.
    padded = chart.properties(padding={"left": 60, "right": 60, "top": 5, "bottom": 5})
    configured = padded.configure_view(stroke=None).configure_axis(labelFontSize=11, titleFontSize=11)
    made: Spec = configured.to_dict()
    return made


def svg(spec: Spec) -> str:
    """The plot as SVG text without anything that a page would have to load."""
    return str(vl_convert.vegalite_to_svg(spec))


_TONES = {"good": "#009e73", "part": "#56b4e9", "open": "#999999", "bad": "#d55e00"}


@dataclass(frozen=True)
class Effect:
    """One row of a table: the ratio that is published, or its least and greatest, and the measured one with the spread
    over the placements. A ratio of 1 is no effect.
    """

    row: str
    machine: str
    verdict: str
    published: tuple[float, float] | None
    measured: float
    low: float
    high: float


def effects(rows: Sequence[Effect]) -> Spec:
    """A line for each row: the published ratio as a ring, or a bar between its ends; ours as a dot in the verdict's
    colour, with the spread over the placements.
    """
    machines = {row.machine for row in rows}
    labels = [row.row if len(machines) == 1 else f"{row.row}, {row.machine}" for row in rows]
    y = alt.Y("row:N", title=None, sort=list(dict.fromkeys(labels)), axis=alt.Axis(labelLimit=0, grid=True))
    x = alt.X("ratio:Q", title="before / after", scale=alt.Scale(type="log", nice=False, padding=12))
    published = [
        {"row": label, "ratio": (row.published[0] * row.published[1]) ** 0.5, "low": row.published[0],
         "high": row.published[1]}
        for label, row in zip(labels, rows, strict=True)
        if row.published is not None
    ]  # fmt: skip
    ours = [
        {"row": label, "ratio": row.measured, "low": row.low, "high": row.high, "verdict": row.verdict}
        for label, row in zip(labels, rows, strict=True)
    ]
    kinds = list(dict.fromkeys(row.verdict for row in rows))
    tip = ["row:N", alt.Tooltip("ratio:Q", format=".3~r")]
    # A row of which nothing is published has no ring; a chart without data has no scale.
    layers = [alt.Chart(_data([{"ratio": 1}])).mark_rule(strokeDash=[4, 3], color="#666666").encode(x=x)]
    if published:
        of_them = alt.Chart(_data(published))
        layers += [
            of_them.mark_rule(size=9, color="#dddddd").encode(x=alt.X("low:Q"), x2="high:Q", y=y),
            of_them.mark_point(size=90, color="black", strokeWidth=1.5).encode(x=x, y=y, tooltip=tip),
        ]
    of_ours = alt.Chart(_data(ours), width=420, height=alt.Step(20))
    colour = alt.Color(
        "verdict:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[_TONES[tone(kind)] for kind in kinds]),
        legend=alt.Legend(orient="top", title="ring: published; dot: measured", titleLimit=0, columns=2, labelLimit=0),
    )
    layers += [
        of_ours.mark_rule(size=2).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour),
        of_ours.mark_point(filled=True, size=55, opacity=1).encode(x=x, y=y, color=colour, tooltip=[*tip, "verdict:N"]),
    ]
    return _spec(alt.layer(*layers))


Kernel = Literal["our kernel", "the paper's own"]
_KERNELS: tuple[Kernel, ...] = ("our kernel", "the paper's own")


@dataclass(frozen=True)
class Share:
    """How much of a published change one row shows: 1 is all of it, 0 none, below 0 the opposite. Logarithms of ratios
    are divided; `low` and `high` are those of the placements. `kernel` is ours, or the paper's own.
    """

    row: str
    kernel: Kernel
    verdict: str
    measured: float
    low: float
    high: float


def shares(rows: Sequence[Share]) -> Spec:
    """A line for each figure: the measured effect over the published one, in the verdict's colour, a mark for each
    kernel. The dark band is what counts as the published ratio, the light one what counts as its direction.
    """
    labels = list(dict.fromkeys(row.row for row in rows))
    values = [
        {"row": row.row, "kernel": row.kernel, "share": row.measured, "low": row.low, "high": row.high,
         "verdict": row.verdict}
        for row in rows
    ]  # fmt: skip
    ends = [end for row in rows for end in (row.low, row.high)]
    scale = alt.Scale(type="symlog", constant=0.5, domain=[min(-0.5, *ends), max(2, *ends)], nice=False)
    axis = alt.Axis(values=[-10, -3, -1, 0, 0.5, 1, 2, 5, 10, 30], format="~r")
    x = alt.X("share:Q", title="measured effect / published effect", scale=scale, axis=axis)
    y = alt.Y("row:N", title=None, sort=labels, axis=alt.Axis(labelLimit=0, grid=True))
    kinds = list(dict.fromkeys(row.verdict for row in rows))
    colour = alt.Color(
        "verdict:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[_TONES[tone(kind)] for kind in kinds]),
        legend=alt.Legend(orient="top", title=None, columns=2, labelLimit=0),
    )
    shape = alt.Shape(
        "kernel:N",
        sort=list(_KERNELS),
        scale=alt.Scale(domain=list(_KERNELS), range=["circle", "diamond"]),
        legend=alt.Legend(orient="top", title=None),
    )
    direction = alt.Chart(_data([{"low": PART, "high": MOST_EFFECT}]))
    window = alt.Chart(_data([{"low": 1 - PART, "high": 1 + PART}]))
    marks = alt.Chart(_data([{"share": 0}, {"share": 1}]))
    of_them = alt.Chart(_data(values), width=420, height=alt.Step(14))
    tip = ["row:N", "kernel:N", "verdict:N", alt.Tooltip("share:Q", format=".3~r")]
    layers = [
        direction.mark_rect(color="#eef7f0").encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        window.mark_rect(color="#cfead6").encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        marks.mark_rule(strokeDash=[4, 3], color="#666666").encode(x=x),
        of_them.mark_rule(size=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y, color=colour),
        of_them.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tip),
    ]
    return _spec(alt.layer(*layers))


def _zoom() -> alt.Parameter:
    """Moves and zooms a plot's axes. The wheel alone scrolls the page."""
    return alt.selection_interval(bind="scales", zoom="wheel![event.ctrlKey]")


@dataclass(frozen=True)
class Bar:
    """One stacked bar: a row of a table on one side, with its parts by name."""

    row: str
    side: str
    parts: Mapping[str, float]


_MISSES = {
    "instruction, user": "#56b4e9",
    "instruction, kernel": "#0072b2",
    "data, user": "#e69f00",
    "data, kernel": "#d55e00",
}


def _stacked(bars: Sequence[Bar], colours: Mapping[str, str], part: str) -> Spec:
    """Stacked bars. The longer bar of a row is 100 %; the sum of each bar stands at its end."""
    # A benchmark that subtracts an empty loop may leave a part below 0; it is drawn with no length.
    sums = [sum(max(part, 0.0) for part in bar.parts.values()) for bar in bars]
    most: dict[str, float] = {}
    for bar, whole in zip(bars, sums, strict=True):
        most[bar.row] = max(most.get(bar.row, 0.0), whole)
    shown = [(bar, whole) for bar, whole in zip(bars, sums, strict=True) if most[bar.row] > 0]
    present = [name for name in colours if any(bar.parts.get(name, 0.0) > 0 for bar, _ in shown)]
    labels = [f"{bar.row}: {bar.side}" for bar, _ in shown]
    pieces = pl.DataFrame(
        [
            {
                "bar": label,
                part: name,
                "share": bar.parts[name] / most[bar.row],
                "order": number,
                "count": bar.parts[name],
            }
            for label, (bar, _) in zip(labels, shown, strict=True)
            for number, name in enumerate(present)
            if bar.parts.get(name, 0.0) > 0
        ]
    )
    ends = pl.DataFrame(
        [
            {"bar": label, "share": whole / most[bar.row], "sum": f"{whole:,.0f}" if whole >= 100 else f"{whole:.3g}"}
            for label, (bar, whole) in zip(labels, shown, strict=True)
        ]
    )
    y = alt.Y("bar:N", title=None, sort=labels, axis=alt.Axis(labelLimit=0))
    stacked = (
        alt.Chart(pieces, width=480, height=alt.Step(15))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            y=y,
            color=alt.Color(
                f"{part}:N",
                sort=present,
                scale=alt.Scale(domain=present, range=[colours[name] for name in present]),
                legend=alt.Legend(orient="top", title=None),
            ),
            order="order:Q",
            tooltip=["bar:N", f"{part}:N", alt.Tooltip("count:Q", format=",.4~r")],
        )
    )
    text = alt.Chart(ends).mark_text(align="left", dx=3, fontSize=10).encode(x="share:Q", y=y, text="sum:N")
    return _spec(stacked + text)


def cycles_by_cause(bars: Sequence[Bar]) -> Spec:
    """Cycles of one iteration by cost category."""
    return _stacked(bars, CAUSES, "cause")


def misses(bars: Sequence[Bar]) -> Spec:
    """TLB misses of one iteration: instruction or data, user or kernel."""
    return _stacked(bars, _MISSES, "miss")


def pollution(counts: Mapping[tuple[str, str], int], title: str) -> Spec:
    """Misses by who evicted the entry (rows) and who missed it later (columns)."""
    data = pl.DataFrame(
        [{"evictor": evictor, "victim": victim, "misses": count} for (evictor, victim), count in counts.items()]
    )
    present = [cause for cause in CAUSES if any(cause in pair for pair in counts)]
    base = alt.Chart(data, title=title, width=alt.Step(52), height=alt.Step(24)).encode(
        x=alt.X("victim:N", sort=present, title="missed by", axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("evictor:N", sort=present, title="evicted by"),
        tooltip=[
            alt.Tooltip("evictor:N", title="evicted by"),
            alt.Tooltip("victim:N", title="missed by"),
            alt.Tooltip("misses:Q", format=","),
        ],
    )
    most = max(counts.values())
    squares = base.mark_rect().encode(
        color=alt.Color("misses:Q", scale=alt.Scale(scheme="oranges", type="sqrt"), legend=None)
    )
    text = base.mark_text(fontSize=9).encode(
        text=alt.Text("misses:Q", format=".2~s"),
        color=alt.condition(alt.datum.misses > most / 2, alt.value("white"), alt.value("black")),
    )
    return _spec(squares + text)


def curve(points: Sequence[tuple[float, float]], axis: str, unit: str, words: Sequence[tuple[str, float]] = ()) -> Spec:
    """A figure over one numeric axis, both from 0; a value that is a word (`off`) is a dashed line with its name."""
    data = pl.DataFrame([{"x": x, "y": y} for x, y in sorted(points)])
    line = (
        alt.Chart(data, width=560, height=260)
        .mark_line(point=True, clip=True, color="#0072b2", interpolate="step-after")
        .encode(
            x=alt.X(
                "x:Q",
                title=axis,
                scale=alt.Scale(zero=True),
                # No half pages and entries between whole ones.
                axis=alt.Axis(tickMinStep=1) if all(x == round(x) for x, _ in points) else alt.Axis(),
            ),
            y=alt.Y("y:Q", title=unit, scale=alt.Scale(zero=True)),
            tooltip=[alt.Tooltip("x:Q", title=axis), alt.Tooltip("y:Q", title=unit, format=",.6~r")],
        )
        .add_params(_zoom())
    )
    if not words:
        return _spec(line)
    named = pl.DataFrame([{"y": y, "name": word} for word, y in words])
    rules = alt.Chart(named).mark_rule(strokeDash=[4, 3]).encode(y="y:Q")
    names = (
        alt.Chart(named).mark_text(align="left", baseline="bottom", dx=3).encode(y="y:Q", text="name:N", x=alt.value(0))
    )
    return _spec(line + rules + names)


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], axis: str, unit: str) -> Spec:
    """A figure over one numeric axis, which is logarithmic, with a line for each name."""
    data = pl.DataFrame([{"line": name, "x": x, "y": y} for name, points in lines.items() for x, y in sorted(points)])
    return _spec(
        alt.Chart(data, width=560, height=260)
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("x:Q", title=axis, scale=alt.Scale(type="log", base=2, nice=False)),
            y=alt.Y("y:Q", title=unit, scale=alt.Scale(zero=True)),
            color=alt.Color(
                "line:N",
                sort=list(lines),
                scale=alt.Scale(domain=list(lines), range=["#d55e00", "#0072b2"]),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=["line:N", alt.Tooltip("x:Q", title=axis), alt.Tooltip("y:Q", title=unit, format=",.6~r")],
        )
        .add_params(_zoom())
    )


def grid(points: Sequence[tuple[str, str, float]], axes: tuple[str, str], unit: str) -> Spec:
    """A figure over two axes, as a heat map with the figures written into it."""
    data = pl.DataFrame([{"x": x, "y": y, "value": value, "text": f"{value:.4g}"} for x, y, value in points])
    across = list(dict.fromkeys(point[0] for point in points))
    down = list(dict.fromkeys(point[1] for point in points))
    # The name of the vertical axis, which stands upright, needs some 7 pixels for each letter.
    height = max(26, -(-7 * len(axes[1]) // len(down)))
    base = alt.Chart(data, width=alt.Step(64), height=alt.Step(height)).encode(
        x=alt.X("x:O", sort=across, title=axes[0], axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:O", sort=down, title=axes[1]),
        tooltip=[
            alt.Tooltip("x:O", title=axes[0]),
            alt.Tooltip("y:O", title=axes[1]),
            alt.Tooltip("value:Q", title=unit, format=",.6~r"),
        ],
    )
    middle = (min(point[2] for point in points) + max(point[2] for point in points)) / 2
    squares = base.mark_rect().encode(color=alt.Color("value:Q", title=unit, scale=alt.Scale(scheme="oranges")))
    text = base.mark_text(fontSize=10).encode(
        text="text:N", color=alt.condition(alt.datum.value > middle, alt.value("white"), alt.value("black"))
    )
    return _spec(squares + text)


_HEAT_COLUMNS = 64


def occupancy(sides: Sequence[tuple[str, Sequence[int]]]) -> Spec:
    """A heat map of the valid PTEs in each PTEG, one map for each side; groups run line by line."""
    charts: list[alt.Chart] = []
    for label, groups in sides:
        data = pl.DataFrame(
            [
                {"column": n % _HEAT_COLUMNS, "line": n // _HEAT_COLUMNS, "group": n, "used": used}
                for n, used in enumerate(groups)
            ]
        )
        share = sum(groups) / (8 * len(groups)) if groups else 0.0
        charts.append(
            alt.Chart(data, title=f"{label}: {share:.0%} of the slots in use", width=330, height=alt.Step(5.2))
            .mark_rect()
            .encode(
                x=alt.X("column:O", axis=None),
                y=alt.Y("line:O", axis=None),
                color=alt.Color(
                    "used:Q", title="PTEs of 8", scale=alt.Scale(domain=[0, 8], scheme="viridis"), legend=alt.Legend()
                ),
                tooltip=[alt.Tooltip("group:Q", title="PTEG"), alt.Tooltip("used:Q", title="PTEs of 8")],
            )
        )
    return _spec(alt.hconcat(*charts))
