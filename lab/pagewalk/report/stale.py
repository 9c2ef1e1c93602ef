"""Stale translations in time: when the entry was loaded, what changed the table, what was flushed, and the use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from markupsafe import Markup

COLOURS = {"fill": "#0072b2", "change": "#d55e00", "flush": "#009e73", "use": "#cc79a7"}
"""The kinds of lines, from the top."""

_WIDTH, _LEFT, _LANE = 720, 70, 22


@dataclass(frozen=True)
class Event:
    """Something that happened to a page."""

    kind: str
    """One of `COLOURS`."""
    cycle: int
    words: str


@dataclass(frozen=True)
class Finding:
    """One use of a stale translation."""

    title: str
    page: str
    events: Sequence[Event]

    @property
    def svg(self) -> Markup:
        """A line for each kind of event, on an axis of cycles."""
        cycles = [event.cycle for event in self.events]
        first, last = min(cycles), max(cycles)
        scale = (_WIDTH - _LEFT - 20) / max(last - first, 1)
        parts = []
        for number, (kind, colour) in enumerate(COLOURS.items()):
            y = _LANE * number + _LANE // 2
            parts.append(f'<text x="0" y="{y + 4}" fill="currentColor">{kind}</text>')
            parts.append(f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH}" y2="{y}" stroke="{colour}" stroke-opacity=".4"/>')
            for event in self.events:
                if event.kind == kind:
                    x = _LEFT + 10 + (event.cycle - first) * scale
                    title = f"<title>cycle {event.cycle:,}: {escape(event.words)}</title>"
                    parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="6" fill="{colour}">{title}</circle>')
        label = f"{escape(self.page)} from cycle {first:,} to {last:,}"
        head = f'<svg viewBox="0 0 {_WIDTH} {_LANE * len(COLOURS)}" role="img" aria-label="{label}" font-size="13">'
        return Markup(f"{head}{''.join(parts)}</svg>")


def _event(kind: str, place: Mapping[str, Any], words: str) -> Event:
    mode = "user" if place["user"] else "kernel"
    where = (
        f"{place['function'] or place['pc']}, {mode} mode, processor {place['processor']}, program {place['program']}"
    )
    return Event(kind, place["cycle"], f"{words} in {where}")


def finding(told: Mapping[str, Any]) -> Finding:
    """The finding that the machine tells as JSON."""
    entry, access, change = told["entry"], told["access"], told["change"]
    events = [_event("fill", entry, f"the entry was loaded, for the frame at {entry['frame']},")]
    if change is not None:
        words = f"the word at {change['address']} was changed from {change['old']} to {change['new']}"
        events.append(_event("change", change, words))
    events += [_event("flush", flush, flush["what"]) for flush in told["flushes"]]
    events.append(_event("use", access, f"{access['what']} {access['address']}"))
    title = told["text"].splitlines()[0]
    return Finding(title, f"page {entry['page']}", sorted(events, key=lambda event: event.cycle))
