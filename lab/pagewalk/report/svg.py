"""Draws the plots of `charts` as SVG, by the part of Vega-Lite that they use.

A page hands the same specifications to Vega-Lite itself, which makes them live. Here they become still pictures, which
need no package. An unknown mark is not drawn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Row = Mapping[str, Any]
Point = tuple[float, float]
Spec = Mapping[str, Any]

_SIZE = 11
"""Pixels of a label's letters."""
_GRADIENT = 106
"""The height of the legend of shades."""
_GREY, _GRID, _DARK = "#888888", "#dddddd", "#1b1f24"
_BLUE = "#4c78a8"
_SCHEMES = {
    "oranges": ("#fdeedc", "#fdc48d", "#f79247", "#e06414", "#a53f05"),
    "viridis": ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"),
}
_NARROW, _WIDE = frozenset("iljtfr.,:;'|!()[] "), frozenset("mwMW%@")


def width_of(text: str, size: float = _SIZE) -> float:
    """About how many pixels wide a text is, rather too many than too few."""
    ems = (0.32 if c in _NARROW else 0.9 if c in _WIDE else 0.7 if c.isupper() else 0.58 for c in text)
    return sum(ems) * size


def number(value: float, form: str = "") -> str:
    """A number as d3 writes it, in the forms that plots have: `%`, `~s`, `.2~s`, `~r`, `.3~r`, with or without `,`."""
    if form.endswith("%"):
        return f"{value * 100:.10g}%"
    digits = int(found.group(1)) if (found := re.search(r"\.(\d+)", form)) else 6
    comma = "," if "," in form or not form else ""
    if form.endswith("s"):
        for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= power:
                return f"{_rounded(value / power, digits):{comma}.10g}{letter}"
    return f"{_rounded(value, digits):{comma}.10g}"


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


# Scales --------------------------------------------------------------------
@dataclass(frozen=True)
class Bands:
    """A place for each value."""

    values: list[Any]
    step: float

    @property
    def length(self) -> float:
        """Pixels of all places."""
        return self.step * max(len(self.values), 1)

    def __call__(self, value: Any) -> float:
        """The middle of a value's place, in pixels."""
        return (self.values.index(value) + 0.5) * self.step


@dataclass(frozen=True)
class Line:
    """Numbers on a line of `length` pixels, from `low` to `high`."""

    low: float
    high: float
    length: float
    kind: str = "linear"
    constant: float = 1.0

    def _even(self, value: float) -> float:
        if self.kind == "log":
            return math.log(value)
        if self.kind == "symlog":
            return math.copysign(math.log1p(abs(value) / self.constant), value)
        if self.kind == "sqrt":
            return math.sqrt(max(value, 0.0))
        return value

    def __call__(self, value: float) -> float:
        """Where a number is, in pixels."""
        first, last = self._even(self.low), self._even(self.high)
        return self.length * (0.5 if last == first else (self._even(value) - first) / (last - first))

    def ticks(self, count: int, least: float = 0.0) -> list[float]:
        """Round numbers within the ends."""
        if self.kind == "log":
            return self._log_ticks(count)
        step = max(_round_step((self.high - self.low) / max(count, 1)), least)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [_rounded(step * n, 12) for n in range(first, last + 1)]

    def _log_ticks(self, count: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1,), (1, 3), (1, 2, 5), range(1, 10)):
            found = [m * 10.0**n for n in decades for m in parts]
            found = [tick for tick in found if self.low <= tick <= self.high]
            if len(found) >= min(count, 4):
                return found
        even = Line(self.low, self.high, self.length)
        return even.ticks(count)


def _round_step(least: float) -> float:
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


# A view --------------------------------------------------------------------
@dataclass(frozen=True)
class Layer:
    """One kind of mark, its rows, and what its parts mean."""

    mark: Mapping[str, Any]
    rows: Sequence[Row]
    encoding: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of mark."""
        return str(self.mark["type"])

    def field(self, channel: str) -> str | None:
        """The field that a channel shows, if it shows one."""
        found = self.encoding.get(channel)
        return found.get("field") if isinstance(found, Mapping) else None


def _layers(view: Spec, data: Sequence[Row], encoding: Mapping[str, Any]) -> list[Layer]:
    data = view.get("data", {}).get("values", data)
    encoding = {**encoding, **view.get("encoding", {})}
    if "layer" in view:
        return [layer for part in view["layer"] for layer in _layers(part, data, encoding)]
    mark = view.get("mark", {})
    return [Layer({"type": mark} if isinstance(mark, str) else mark, data, encoding)]


class View:
    """One plot with its axes and legends."""

    def __init__(self, spec: Spec, data: Sequence[Row] = ()) -> None:
        self._spec = spec
        self._layers = _layers(spec, data, {})
        self._stacked = {id(layer): _stacked(layer) for layer in self._layers if layer.kind == "bar"}
        self.x = self._scale("x", spec.get("width", 300))
        self.y = self._scale("y", spec.get("height", 300))
        self._parts: list[str] = []

    def _definitions(self, channel: str) -> list[tuple[Layer, Mapping[str, Any]]]:
        return [(layer, layer.encoding[channel]) for layer in self._layers if layer.field(channel) is not None]

    def _option(self, channel: str, name: str) -> Any:
        """What the first definition of a channel that says it says; `...` if none does."""
        return next((part[name] for _, part in self._definitions(channel) if name in part), ...)

    def _scale(self, channel: str, length: float | Mapping[str, float]) -> Bands | Line:
        found = self._definitions(channel)
        if any(part.get("type") in ("nominal", "ordinal") for _, part in found):
            present = dict.fromkeys(row[part["field"]] for layer, part in found for row in layer.rows)
            order = self._option(channel, "sort")
            values = [value for value in order if value in present] if order is not ... else sorted(present)
            step = length["step"] if isinstance(length, Mapping) else length / max(len(values), 1)
            return Bands(values, step)
        pixels = 300.0 if isinstance(length, Mapping) else float(length)
        return self._line(channel, found, pixels)

    def _line(self, channel: str, found: Sequence[tuple[Layer, Mapping[str, Any]]], pixels: float) -> Line:
        options: dict[str, Any] = {}
        for _, part in found:
            options |= part.get("scale", {})
        kind = options.get("type", "linear")
        if "domain" in options:
            low, high = options["domain"]
            return Line(low, high, pixels, kind, options.get("constant", 1.0))
        values = [
            float(row[name])
            for layer, _ in found
            for name in (layer.field(channel), layer.field(f"{channel}2"))
            if name is not None
            for row in layer.rows
            if row.get(name) is not None
        ]
        values += [end for layer, _ in found for _, _, end in self._stacked.get(id(layer), ())]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if kind != "log" and (options.get("zero") or self._stacked):
            low, high = min(low, 0.0), max(high, 0.0)
        if kind == "log":
            low, high = (low, high) if low < high else (low / 2, high * 2)
            # Room for marks at the ends.
            room = (high / low) ** (options.get("padding", 0) / pixels)
            return Line(low / room, high * room, pixels, kind)
        if low == high:
            high = low + 1.0
        if options.get("nice", True):
            step = _round_step((high - low) / 8)
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return Line(low, high, pixels, kind)

    # Axes
    def _axis(self, channel: str) -> Mapping[str, Any] | None:
        """How the axis looks; None if there is none."""
        if not self._definitions(channel):
            return None
        options: dict[str, Any] = {}
        for _, part in self._definitions(channel):
            if "axis" in part:
                if part["axis"] is None:
                    return None
                options |= part["axis"]
        title = self._option(channel, "title")
        return {"title": None if title is ... else title, **options}

    def _labels(self, channel: str, axis: Mapping[str, Any]) -> list[tuple[float, str]]:
        scale = self.x if channel == "x" else self.y
        if isinstance(scale, Bands):
            return [(scale(value), str(value)) for value in scale.values]
        ticks = axis.get("values") or scale.ticks(max(2, int(scale.length / 50)), axis.get("tickMinStep", 0.0))
        ticks = [tick for tick in ticks if scale.low <= tick <= scale.high]
        form = axis.get("format", "")
        return [(scale(tick), number(tick, form)) for tick in ticks]

    def draw(self) -> tuple[str, float, float]:
        """The elements, and how much room they take."""
        width, height = self.x.length, self.y.length
        left, above, below, right = 12.0, 8.0, 8.0, 12.0
        legends = self._legends()
        top = sum(rows for _, rows in legends) + (20 if self._spec.get("title") else 0)
        across, down = self._axis("x"), self._axis("y")
        over = bool(across and across.get("orient") == "top")
        if across is not None:
            labels = _SIZE + 10 + (_SIZE + 8 if across["title"] else 0)
            above, below = (above + labels, below) if over else (above, below + labels)
        if down is not None:
            longest = max((width_of(text) for _, text in self._labels("y", down)), default=0)
            left += longest + 8 + (_SIZE + 10 if down["title"] else 0)
        gradient = self._gradient()
        right += 90 if gradient else max(self._overhang(), 30)
        room = max(_GRADIENT if gradient else 0, width_of(down["title"]) if down and down["title"] else 0)
        # What is longer than the plot is high stands out at both of its ends, or below it.
        over_and_under = max(0.0, room - height)
        above, below = above + over_and_under / 2, below + over_and_under
        parts: list[str] = []
        at = 4.0
        if self._spec.get("title"):
            parts.append(_text(left + width / 2, at + 13, self._spec["title"], "middle", size=12, weight="bold"))
            at += 20
        for draw, rows in legends:
            parts.append(f'<g transform="translate({left:.1f},{at:.1f})">{draw}</g>')
            at += rows
        self._parts = []
        if across is not None:
            self._draw_across(across, over)
        if down is not None:
            self._draw_down(down, left)
        for layer in self._layers:
            self._draw_layer(layer)
        if gradient:
            self._parts.append(f'<g transform="translate({width + 16:.1f},0)">{gradient}</g>')
        body = "".join(self._parts)
        parts.append(f'<g transform="translate({left:.1f},{top + above:.1f})">{body}</g>')
        return "".join(parts), left + width + right, top + above + height + below

    def _overhang(self) -> float:
        """How far texts stand out on the right."""
        most = 0.0
        for layer in self._layers:
            if layer.kind != "text" or layer.mark.get("align") != "left" or layer.field("x") is None:
                continue
            for row in layer.rows:
                end = self.x(row[layer.field("x") or ""]) + width_of(str(row[layer.field("text") or ""])) + 6
                most = max(most, end - self.x.length)
        return most

    def _draw_across(self, axis: Mapping[str, Any], over: bool) -> None:
        width, height = self.x.length, self.y.length
        base, sign = (0.0, -1) if over else (height, 1)
        for at, text in self._labels("x", axis):
            if isinstance(self.x, Line):
                self._parts.append(_line((at, 0), (at, height), _GRID))
            self._parts.append(_text(at, base + sign * (_SIZE + 4) + (_SIZE - 2 if over else 0), text, "middle"))
        self._parts.append(_line((0, base), (width, base), _GREY))
        if axis["title"]:
            self._parts.append(_text(width / 2, base + sign * (2 * _SIZE + 12), axis["title"], "middle", weight="bold"))

    def _draw_down(self, axis: Mapping[str, Any], left: float) -> None:
        width, height = self.x.length, self.y.length
        for at, text in self._labels("y", axis):
            place = at if isinstance(self.y, Bands) else height - at
            if isinstance(self.y, Line) or axis.get("grid"):
                self._parts.append(_line((0, place), (width, place), _GRID))
            self._parts.append(_text(-6, place + _SIZE / 3, text, "end"))
        self._parts.append(_line((0, 0), (0, height), _GREY))
        if axis["title"]:
            turned = f'<g transform="translate({-left + _SIZE + 4:.1f},{height / 2:.1f}) rotate(-90)">'
            self._parts.append(f"{turned}{_text(0, 0, axis['title'], 'middle', weight='bold')}</g>")

    # Marks
    def _across(self, value: Any) -> float:
        return self.x(value)

    def _down(self, value: Any) -> float:
        return self.y(value) if isinstance(self.y, Bands) else self.y.length - self.y(value)

    def _place(self, layer: Layer, channel: str, row: Row) -> float | None:
        part = layer.encoding.get(channel)
        if not part:
            return None
        if "value" in part:
            return float(part["value"])
        value = row[part["field"]]
        if value is None:
            return None
        return self._across(value) if channel.startswith("x") else self._down(value)

    def _colour(self, layer: Layer, row: Row) -> str:
        part = layer.encoding.get("color", {})
        if "condition" in part:
            return str(part["condition"]["value"] if _holds(part["condition"]["test"], row) else part["value"])
        if "field" not in part:
            return str(part.get("value", layer.mark.get("color", _DARK if layer.kind in ("text", "rule") else _BLUE)))
        if part.get("type") == "quantitative":
            return _shade(part["scale"], self._shades(layer), row[part["field"]])
        scale = part["scale"]
        return str(scale["range"][scale["domain"].index(row[part["field"]])])

    def _shades(self, layer: Layer) -> Line:
        part = layer.encoding["color"]
        scale = part.get("scale", {})
        values = [float(row[part["field"]]) for row in layer.rows]
        low, high = scale.get("domain") or (min(values), max(values))
        if scale.get("type") == "sqrt":
            low = min(low, 0)
        return Line(low, high, 1.0, scale.get("type", "linear"))

    def _draw_layer(self, layer: Layer) -> None:
        draw: Callable[[Layer], None] | None = {
            "rule": self._rules,
            "point": self._points,
            "text": self._texts,
            "rect": self._rects,
            "bar": self._bars,
            "line": self._lines,
        }.get(layer.kind)
        if draw is not None and layer.rows and ("x" in layer.encoding or "y" in layer.encoding):
            draw(layer)

    def _rules(self, layer: Layer) -> None:
        dash = layer.mark.get("strokeDash")
        for row in layer.rows:
            x, y = self._place(layer, "x", row), self._place(layer, "y", row)
            x2 = self._place(layer, "x2", row)
            if x is not None and y is not None:
                ends = ((x, y), (x if x2 is None else x2, y))
            elif x is not None:
                ends = ((x, 0.0), (x, self.y.length))
            elif y is not None:
                ends = ((0.0, y), (self.x.length, y))
            else:
                continue
            self._parts.append(_line(*ends, self._colour(layer, row), layer.mark.get("size", 1), dash))

    def _points(self, layer: Layer) -> None:
        for row in layer.rows:
            x, y = self._place(layer, "x", row), self._place(layer, "y", row)
            if x is None or y is None:
                continue
            part = layer.encoding.get("shape", {})
            shape = str(_chosen(part, row)) if "field" in part else "circle"
            filled = bool(layer.mark.get("filled"))
            size, colour = layer.mark.get("size", 30), self._colour(layer, row)
            self._parts.append(_point((x, y), size, colour, filled=filled, shape=shape))

    def _texts(self, layer: Layer) -> None:
        anchor = {"left": "start", "right": "end"}.get(layer.mark.get("align", ""), "middle")
        size = layer.mark.get("fontSize", _SIZE)
        drop = -2 if layer.mark.get("baseline") == "bottom" else size / 3
        for row in layer.rows:
            x, y = self._place(layer, "x", row), self._place(layer, "y", row)
            if x is None or y is None:
                continue
            part = layer.encoding["text"]
            value = row[part["field"]]
            text = value if isinstance(value, str) else number(value, part.get("format", ""))
            self._parts.append(
                _text(x + layer.mark.get("dx", 0), y + drop, text, anchor, size=size, fill=self._colour(layer, row))
            )

    def _rects(self, layer: Layer) -> None:
        for row in layer.rows:
            x, y = self._place(layer, "x", row), self._place(layer, "y", row)
            x2 = self._place(layer, "x2", row)
            if x is None:
                continue
            if isinstance(self.x, Bands):
                x, wide = x - self.x.step / 2, self.x.step
            else:
                wide = (x2 if x2 is not None else x) - x
            if y is None or not isinstance(self.y, Bands):
                y, high = 0.0, self.y.length
            else:
                y, high = y - self.y.step / 2, self.y.step
            self._parts.append(_box(x, y, wide, high, self._colour(layer, row)))

    def _bars(self, layer: Layer) -> None:
        assert isinstance(self.y, Bands)
        high = self.y.step * 0.9
        for row, begin, end in self._stacked[id(layer)]:
            x, y = self._across(begin), self._place(layer, "y", row)
            if y is not None:
                self._parts.append(_box(x, y - high / 2, self._across(end) - x, high, self._colour(layer, row)))

    def _lines(self, layer: Layer) -> None:
        name = layer.field("color")
        groups: dict[Any, list[Row]] = {}
        for row in layer.rows:
            groups.setdefault(row[name] if name else None, []).append(row)
        for rows in groups.values():
            places = [(self._place(layer, "x", row) or 0.0, self._place(layer, "y", row) or 0.0) for row in rows]
            colour = self._colour(layer, rows[0])
            path = f"M{places[0][0]:.2f},{places[0][1]:.2f}"
            for (_, before), (x, y) in pairwise(places):
                step = f"L{x:.2f},{before:.2f}" if layer.mark.get("interpolate") == "step-after" else ""
                path += f"{step}L{x:.2f},{y:.2f}"
            self._parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            if layer.mark.get("point"):
                self._parts += [_point(place, 40, colour) for place in places]

    # Legends
    def _legends(self) -> list[tuple[str, float]]:
        """The legends above the plot: elements, and the height of each."""
        found: dict[str, tuple[str, float]] = {}
        # Where colours and shapes show the same field, one legend has both.
        shapes = {layer.field("shape"): layer.encoding["shape"] for layer in self._layers if layer.field("shape")}
        for layer in self._layers:
            for channel in ("color", "shape"):
                part = layer.encoding.get(channel, {})
                legend = part.get("legend", {})
                if "field" in part and part.get("type") == "nominal" and legend is not None:
                    found.setdefault(part["field"], self._legend(part, channel, shapes.get(part["field"])))
        return list(found.values())

    def _legend(self, part: Mapping[str, Any], channel: str, marks: Mapping[str, Any] | None) -> tuple[str, float]:
        names = part["scale"]["domain"]
        legend = part.get("legend", {})
        columns = legend.get("columns") or max(1, len(names))
        cell = max((width_of(name) + 26 for name in names), default=0)
        columns = max(1, min(columns, int(max(self.x.length, 420) // cell) if cell else 1))
        parts, at = [], 0.0
        if legend.get("title"):
            parts.append(_text(0, 11, legend["title"], "start", weight="bold"))
            at = 17.0
        for number_, name in enumerate(names):
            x, y = number_ % columns * cell, at + number_ // columns * 16
            colour = part["scale"]["range"][number_] if channel == "color" else _DARK
            shape = marks["scale"]["range"][number_] if marks else "circle"
            parts.append(_point((x + 5, y + 8), 70, colour, shape=shape))
            parts.append(_text(x + 15, y + 8 + _SIZE / 3, name, "start"))
        return "".join(parts), at + -(-len(names) // columns) * 16 + 4

    def _gradient(self) -> str:
        """The legend of shades, on the right; nothing if there are none, or if the plot leaves it out."""
        for layer in self._layers:
            part = layer.encoding.get("color", {})
            if part.get("type") != "quantitative" or part.get("legend", {}) is None or not layer.rows:
                continue
            shades = self._shades(layer)
            boxes = [
                _box(
                    0,
                    90 - 9 * n,
                    14,
                    9.5,
                    _shade(part["scale"], shades, shades.low + (shades.high - shades.low) * n / 9),
                )
                for n in range(10)
            ]
            title = _text(0, -1, part.get("title") or part["field"], "start", weight="bold")
            ends = [(99, shades.low), (16, shades.high)]
            return title + "".join(boxes) + "".join(_text(19, at, number(value), "start") for at, value in ends)
        return ""


def _stacked(layer: Layer) -> list[tuple[Row, float, float]]:
    """The rows of bars, each from the end of the one before it."""
    order = layer.field("order")
    rows = sorted(layer.rows, key=lambda row: row[order]) if order else layer.rows
    ends: dict[Any, float] = {}
    found = []
    for row in rows:
        bar, begin = row[layer.field("y") or ""], ends.get(row[layer.field("y") or ""], 0.0)
        ends[bar] = begin + float(row[layer.field("x") or ""])
        found.append((row, begin, ends[bar]))
    return found


def _chosen(part: Mapping[str, Any], row: Row) -> Any:
    scale = part["scale"]
    return scale["range"][scale["domain"].index(row[part["field"]])]


def _holds(test: str, row: Row) -> bool:
    """A comparison of a field with a number: `datum.misses > 3`."""
    found = re.fullmatch(r"\(?datum\.(\w+) > ([-+.\deE]+)\)?", test)
    return found is not None and float(row[found.group(1)]) > float(found.group(2))


def _shade(scale: Mapping[str, Any], line: Line, value: float) -> str:
    colours = _SCHEMES[scale["scheme"]]
    at = min(max(line(value), 0.0), 1.0) * (len(colours) - 1)
    low = min(int(at), len(colours) - 2)
    pairs = zip(_channels(colours[low]), _channels(colours[low + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (at - low)):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[n : n + 2], 16) for n in (1, 3, 5)]


# Elements ------------------------------------------------------------------
def _line(begin: Point, end: Point, colour: str, width: float = 1, dash: Sequence[float] | None = None) -> str:
    (x, y), (x2, y2) = begin, end
    dashed = f' stroke-dasharray="{",".join(map(str, dash))}"' if dash else ""
    ends = f'x1="{x:.2f}" y1="{y:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    x, width = (x, width) if width >= 0 else (x + width, -width)
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colour}"/>'


def _point(at: Point, area: float, colour: str, *, filled: bool = True, shape: str = "circle") -> str:
    x, y = at
    radius = math.sqrt(area / math.pi)
    paint = f'fill="{colour}"' if filled else f'fill="none" stroke="{colour}" stroke-width="1.5"'
    if shape == "square":
        side = math.sqrt(area)
        return f'<path d="M{x - side / 2:.2f},{y - side / 2:.2f}h{side:.2f}v{side:.2f}h{-side:.2f}z" {paint}/>'
    if shape == "diamond":
        r = radius * 1.25
        return f'<path d="M{x:.2f},{y - r:.2f}l{r:.2f},{r:.2f}l{-r:.2f},{r:.2f}l{-r:.2f},{-r:.2f}z" {paint}/>'
    return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius:.2f}" {paint}/>'


def _text(
    x: float, y: float, text: str, anchor: str, *, size: float = _SIZE, fill: str = _DARK, weight: str = "normal"
) -> str:
    heavy = ' font-weight="bold"' if weight == "bold" else ""
    place = f'x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"{heavy}'
    return f"<text {place}>{escape(str(text))}</text>"


def draw(spec: Spec) -> str:
    """The plot as SVG text, which loads nothing."""
    data = spec.get("data", {}).get("values", ())
    parts, width, height = [], 0.0, 0.0
    below = "vconcat" in spec
    for view in spec.get("vconcat") or spec.get("hconcat", [spec]):
        body, wide, high = View(view, data).draw()
        x, y = (0.0, height) if below else (width, 0.0)
        parts.append(f'<g transform="translate({x:.1f},{y:.1f})">{body}</g>')
        width, height = max(width, x + wide), max(height, y + high)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    name = f" aria-label={quoteattr(str(spec['description']))}" if spec.get("description") else ""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"{name}>'
    return f'{head}<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
