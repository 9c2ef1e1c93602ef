"""The report's plots, each as a specification for Vega-Lite: `svg` draws it, and a page makes it live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pagewalk.verdict import MOST_EFFECT, PART, Kind

# Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), and greys.
CAUSES = {
    "user": "#56b4e9", "kernel": "#0072b2", "walk": "#e69f00", "reload": "#d55e00", "flush": "#cc79a7",
    "entry": "#009e73", "switch": "#f0e442", "copy": "#999999", "clear": "#666666", "fault": "#8c564b",
    "idle": "#dddddd", "reclaim": "#b2df8a", "coherence": "#fb9a99",
}  # fmt: skip


Spec = dict[str, Any]


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""What Vega-Lite knows its specifications by."""


def field(name: str, kind: Literal["Q", "N", "O"], **more: Any) -> Spec:
    """What a channel shows: a number, a name, or a name in an order."""
    return {"field": name, "type": {"Q": "quantitative", "N": "nominal", "O": "ordinal"}[kind], **more}


def layer(values: Sequence[Mapping[str, object]] | None, mark: str, look: Spec | None = None, **channels: Any) -> Spec:
    """Marks of one kind, of these rows or of those of the whole plot."""
    data = {} if values is None else {"data": {"values": list(values)}}
    return {**data, "mark": {"type": mark, **(look or {})}, "encoding": channels}


def _spec(parts: Spec) -> Spec:
    # A browser's font may be wider than the one used for the layout: leave room.
    return {
        "$schema": SCHEMA,
        "config": {"view": {"stroke": None}, "axis": {"labelFontSize": 11, "titleFontSize": 11}},
        "padding": {"left": 60, "right": 60, "top": 5, "bottom": 5},
        **parts,
    }


_LOOKS: dict[Kind, tuple[str, str]] = {
    "ratio reproduced": ("#009e73", "circle"),
    "figure reproduced": ("#004d38", "circle"),
    "direction reproduced": ("#56b4e9", "circle"),
    "no change, as published": ("#0072b2", "circle"),
    "overshoots": ("#e69f00", "circle"),
    "an input decides": ("#cc79a7", "circle"),
    "an input": ("#6a2c8a", "circle"),
    "recalled": ("#b8b8b8", "circle"),
    "not exercised": ("#707070", "circle"),
    "not reproduced": ("#d55e00", "circle"),
    "refuted by a pair": ("#000000", "circle"),
    "published only": ("#7a4a3a", "circle"),
    "answered": ("#f0e442", "circle"),
    "better": ("#009e73", "square"),
    "worse": ("#d55e00", "square"),
    "measured": ("#0072b2", "square"),
    "no difference": ("#b8b8b8", "square"),
    "no figure": ("#000000", "square"),
}
"""The colour of each verdict, and its mark, a square where nothing is published. No two verdicts have both alike."""


def _by_verdict(kinds: Sequence[str], part: Literal[0, 1], legend: Spec) -> Spec:
    """The channel that shows verdicts by their colours (0) or their marks (1)."""
    looks = {str(kind): look for kind, look in _LOOKS.items()}
    # Results that another version stored may have a verdict that this version does not know.
    shown = [looks.get(kind, ("#000000", "diamond"))[part] for kind in kinds]
    return field("verdict", "N", sort=list(kinds), scale={"domain": list(kinds), "range": shown}, legend=legend)


Measure = Literal["before / after, or after / before where higher is better", "measured / published"]
"""What a row's ratio is of. It is the title of the axis."""
CHANGE: Measure = "before / after, or after / before where higher is better"
FIGURE: Measure = "measured / published"


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
    measure: Measure = CHANGE


def effects(rows: Sequence[Effect]) -> Spec:
    """A line for each row: the published ratio as a ring, or a bar between its ends; ours as a dot in the verdict's
    colour, with the spread over the placements. Rows with a figure alone, over the published figure, have a panel and
    an axis to themselves.
    """
    of = {measure: [row for row in rows if row.measure == measure] for measure in (CHANGE, FIGURE)}
    panels = [_panel(found, measure) for measure, found in of.items() if found]
    if len(panels) == 1:
        return _spec(panels[0])
    apart = dict.fromkeys(("color", "shape"), "independent")
    return _spec({"vconcat": panels, "resolve": {"scale": apart, "legend": apart}})


def _panel(rows: Sequence[Effect], measure: Measure) -> Spec:
    machines = {row.machine for row in rows}
    labels = [row.row if len(machines) == 1 else f"{row.row}, {row.machine}" for row in rows]
    y = field("row", "N", title=None, sort=list(dict.fromkeys(labels)), axis={"labelLimit": 0, "grid": True})
    scale = {"type": "log", "nice": False, "padding": 12}
    x = field("ratio", "Q", title=measure, scale=scale)
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
    tip = [field("row", "N"), field("ratio", "Q", format=".3~r")]
    # A row of which nothing is published has no ring; a chart without data has no scale.
    layers = [layer([{"ratio": 1}], "rule", {"strokeDash": [4, 3], "color": "#666666"}, x=x)]
    low, high = field("low", "Q"), {"field": "high"}
    if published:
        layers += [
            layer(published, "rule", {"size": 9, "color": "#dddddd"}, x=low, x2=high, y=y),
            layer(published, "point", {"size": 90, "color": "black", "strokeWidth": 1.5}, x=x, y=y, tooltip=tip),
        ]
    title = {"title": "ring: published; filled mark: measured", "titleLimit": 0}
    legend = {"orient": "top", **title, "columns": 2, "labelLimit": 0}
    colour, shape = _by_verdict(kinds, 0, legend), _by_verdict(kinds, 1, legend)
    dot = {"filled": True, "size": 55, "opacity": 1}
    layers += [
        layer(ours, "rule", {"size": 2}, x=low, x2=high, y=y, color=colour),
        layer(ours, "point", dot, x=x, y=y, color=colour, shape=shape, tooltip=[*tip, field("verdict", "N")]),
    ]
    return {"width": 420, "height": {"step": 20}, "layer": layers}


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


_ROOM = 1.15
"""How far the axis of shares goes beyond the furthest mark, so that the end of its spread is seen."""


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
    domain = [_ROOM * min(-0.5, *ends), _ROOM * max(2, *ends)]
    scale = {"type": "symlog", "constant": 0.5, "domain": domain, "nice": False}
    axis = {"values": [-30, -10, -3, -1, 0, 0.5, 1, 2, 5, 10, 20, 50], "format": "~r"}
    x = field("share", "Q", title="measured effect / published effect", scale=scale, axis=axis)
    y = field("row", "N", title=None, sort=labels, axis={"labelLimit": 0, "grid": True})
    kinds = list(dict.fromkeys(row.verdict for row in rows))
    colour = _by_verdict(kinds, 0, {"orient": "top", "title": None, "columns": 2, "labelLimit": 0})
    shape = field(
        "kernel",
        "N",
        sort=list(_KERNELS),
        scale={"domain": list(_KERNELS), "range": ["circle", "diamond"]},
        legend={"orient": "top", "title": None},
    )
    low, high = field("low", "Q", scale=scale), {"field": "high"}
    tip = [field("row", "N"), field("kernel", "N"), field("verdict", "N"), field("share", "Q", format=".3~r")]
    dot = {"filled": True, "size": 45, "opacity": 1}
    layers = [
        layer([{"low": PART, "high": MOST_EFFECT}], "rect", {"color": "#eef7f0"}, x=low, x2=high),
        layer([{"low": 1 - PART, "high": 1 + PART}], "rect", {"color": "#cfead6"}, x=low, x2=high),
        layer([{"share": 0}, {"share": 1}], "rule", {"strokeDash": [4, 3], "color": "#666666"}, x=x),
        layer(values, "rule", {"size": 2}, x=low, x2=high, y=y, color=colour),
        layer(values, "point", dot, x=x, y=y, color=colour, shape=shape, tooltip=tip),
    ]
    return _spec({"width": 420, "height": {"step": 14}, "layer": layers})


_ZOOM = {"name": "zoom", "select": {"type": "interval", "zoom": "wheel![event.ctrlKey]"}, "bind": "scales"}
"""Moves and zooms a plot's axes. The wheel alone scrolls the page."""


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


def _stacked(bars: Sequence[Bar], colours: Mapping[str, str], part: str, unit: str) -> Spec:
    """Stacked bars. The longest bar of a row is 100 %; the sum of each bar stands at its end, with its unit."""
    # A benchmark that subtracts an empty loop may leave a part below 0; it is drawn with no length.
    sums = [sum(max(part, 0.0) for part in bar.parts.values()) for bar in bars]
    most: dict[str, float] = {}
    for bar, whole in zip(bars, sums, strict=True):
        most[bar.row] = max(most.get(bar.row, 0.0), whole)
    shown = [(bar, whole) for bar, whole in zip(bars, sums, strict=True) if most[bar.row] > 0]
    present = [name for name in colours if any(bar.parts.get(name, 0.0) > 0 for bar, _ in shown)]
    labels = [f"{bar.row}: {bar.side}" for bar, _ in shown]
    pieces = [
        {"bar": label, part: name, "share": bar.parts[name] / most[bar.row], "order": order, "count": bar.parts[name]}
        for label, (bar, _) in zip(labels, shown, strict=True)
        for order, name in enumerate(present)
        if bar.parts.get(name, 0.0) > 0
    ]
    ends = [
        {
            "bar": label,
            "share": whole / most[bar.row],
            "sum": f"{whole:,.0f} {unit}" if whole >= 100 else f"{whole:.3g} {unit}",
        }
        for label, (bar, whole) in zip(labels, shown, strict=True)
    ]
    title = f"{unit}, as a share of the longest bar" + (" of the same row" if len(most) > 1 else "")
    x = field("share", "Q", title=title, axis={"format": "%"}, scale={"domain": [0, 1]})
    y = field("bar", "N", title=None, sort=labels, axis={"labelLimit": 0})
    colour = field(
        part,
        "N",
        sort=present,
        scale={"domain": present, "range": [colours[name] for name in present]},
        legend={"orient": "top", "title": None},
    )
    tip = [field("bar", "N"), field(part, "N"), field("count", "Q", title=unit, format=",.4~r")]
    text = {"align": "left", "dx": 3, "fontSize": 10}
    layers = [
        layer(pieces, "bar", x=x, y=y, color=colour, order=field("order", "Q"), tooltip=tip),
        layer(ends, "text", text, x=field("share", "Q"), y=y, text=field("sum", "N")),
    ]
    return _spec({"width": 480, "height": {"step": 15}, "layer": layers})


def cycles_by_cause(bars: Sequence[Bar]) -> Spec:
    """Cycles of one iteration by cost category."""
    return _stacked(bars, CAUSES, "cause", "cycles")


def misses(bars: Sequence[Bar]) -> Spec:
    """TLB misses of one iteration: instruction or data, user or kernel."""
    return _stacked(bars, _MISSES, "miss", "misses")


def pollution(counts: Mapping[tuple[str, str], int], title: str) -> Spec:
    """Misses by who evicted the entry (rows) and who missed it later (columns)."""
    data = [{"evictor": evictor, "victim": victim, "misses": count} for (evictor, victim), count in counts.items()]
    present = [cause for cause in CAUSES if any(cause in pair for pair in counts)]
    where: Spec = {
        "x": field("victim", "N", sort=present, title="missed by", axis={"labelAngle": 0, "orient": "top"}),
        "y": field("evictor", "N", sort=present, title="evicted by"),
        "tooltip": [
            field("evictor", "N", title="evicted by"),
            field("victim", "N", title="missed by"),
            field("misses", "Q", format=","),
        ],
    }
    shade = field("misses", "Q", scale={"scheme": "oranges", "type": "sqrt"}, legend=None)
    text = field("misses", "Q", format=".2~s")
    layers = [
        layer(None, "rect", color=shade, **where),
        layer(None, "text", {"fontSize": 9}, text=text, color=_readable("misses", max(counts.values()) / 2), **where),
    ]
    size = {"width": {"step": 52}, "height": {"step": 24}}
    return _spec({"title": title, **size, "data": {"values": data}, "layer": layers})


def _readable(name: str, most: float) -> Spec:
    """The colour of a text on a shade."""
    return {"condition": {"test": f"datum.{name} > {most}", "value": "white"}, "value": "black"}


def curve(points: Sequence[tuple[float, float]], axis: str, unit: str, words: Sequence[tuple[str, float]] = ()) -> Spec:
    """A figure over one numeric axis, both from 0; a value that is a word (`off`) is a dashed line with its name."""
    # No half pages and entries between whole ones.
    whole = {"axis": {"tickMinStep": 1}} if all(x == round(x) for x, _ in points) else {}
    y = field("y", "Q", title=unit, scale={"zero": True})
    line = layer(
        [{"x": x, "y": y} for x, y in sorted(points)],
        "line",
        {"point": True, "clip": True, "color": "#0072b2", "interpolate": "step-after"},
        x=field("x", "Q", title=axis, scale={"zero": True}, **whole),
        y=y,
        tooltip=[field("x", "Q", title=axis), field("y", "Q", title=unit, format=",.6~r")],
    )
    named = [{"y": y, "name": word} for word, y in words]
    text = {"align": "left", "baseline": "bottom", "dx": 3}
    layers = [{**line, "params": [_ZOOM]}]
    if named:
        layers += [
            layer(named, "rule", {"strokeDash": [4, 3]}, y=field("y", "Q")),
            layer(named, "text", text, y=field("y", "Q"), x={"value": 0}, text=field("name", "N")),
        ]
    return _spec({"width": 560, "height": 260, "layer": layers})


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], axis: str, unit: str) -> Spec:
    """A figure over one numeric axis, which is logarithmic, with a line for each name."""
    data = [{"line": name, "x": x, "y": y} for name, points in lines.items() for x, y in sorted(points)]
    colour = field(
        "line",
        "N",
        sort=list(lines),
        scale={"domain": list(lines), "range": ["#d55e00", "#0072b2"]},
        legend={"orient": "top", "title": None},
    )
    drawn = layer(
        data,
        "line",
        {"point": True, "clip": True},
        x=field("x", "Q", title=axis, scale={"type": "log", "base": 2, "nice": False}),
        y=field("y", "Q", title=unit, scale={"zero": True}),
        color=colour,
        tooltip=[field("line", "N"), field("x", "Q", title=axis), field("y", "Q", title=unit, format=",.6~r")],
    )
    return _spec({"width": 560, "height": 260, **drawn, "params": [_ZOOM]})


def grid(points: Sequence[tuple[str, str, float]], axes: tuple[str, str], unit: str) -> Spec:
    """A figure over two axes, as a heat map with the figures written into it."""
    data = [{"x": x, "y": y, "value": value, "text": f"{value:.4g}"} for x, y, value in points]
    across = list(dict.fromkeys(point[0] for point in points))
    down = list(dict.fromkeys(point[1] for point in points))
    # The name of the vertical axis, which stands upright, needs some 7 pixels for each letter.
    height = max(26, -(-7 * len(axes[1]) // len(down)))
    where: Spec = {
        "x": field("x", "O", sort=across, title=axes[0], axis={"labelAngle": 0}),
        "y": field("y", "O", sort=down, title=axes[1]),
        "tooltip": [
            field("x", "O", title=axes[0]),
            field("y", "O", title=axes[1]),
            field("value", "Q", title=unit, format=",.6~r"),
        ],
    }
    middle = (min(point[2] for point in points) + max(point[2] for point in points)) / 2
    shade = field("value", "Q", title=unit, scale={"scheme": "oranges"})
    text = {"text": field("text", "N"), "color": _readable("value", middle)}
    layers = [
        layer(None, "rect", color=shade, **where),
        layer(None, "text", {"fontSize": 10}, **text, **where),
    ]
    return _spec({"width": {"step": 64}, "height": {"step": height}, "data": {"values": data}, "layer": layers})


_HEAT_COLUMNS = 64


def occupancy(sides: Sequence[tuple[str, Sequence[int]]]) -> Spec:
    """A heat map of the valid PTEs in each PTEG, one map for each side; groups run line by line."""
    views = []
    for label, groups in sides:
        data = [
            {"column": n % _HEAT_COLUMNS, "line": n // _HEAT_COLUMNS, "group": n, "used": used}
            for n, used in enumerate(groups)
        ]
        share = sum(groups) / (8 * len(groups)) if groups else 0.0
        squares = layer(
            data,
            "rect",
            x=field("column", "O", axis=None),
            y=field("line", "O", axis=None),
            color=field("used", "Q", title="PTEs of 8", scale={"domain": [0, 8], "scheme": "viridis"}),
            tooltip=[field("group", "Q", title="PTEG"), field("used", "Q", title="PTEs of 8")],
        )
        size = {"width": 330, "height": {"step": 5.2}}
        views.append({"title": f"{label}: {share:.0%} of the slots in use", **size, **squares})
    return _spec({"hconcat": views})
