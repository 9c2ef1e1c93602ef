"""Flame graphs: the exact cycles of every function, as one SVG file."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from html import escape

_WIDTH = 1200.0
_LINE = 18
_LEAST = 0.6
"""Frames narrower than this many pixels are left out."""
_LETTER = 6.6


@dataclass
class Frame:
    """A function (or program, mode, cost category) with the frames below it."""

    name: str
    cycles: int = 0
    below: dict[str, Frame] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Lines needed for this frame and the frames below it."""
        return 1 + max((frame.depth for frame in self.below.values()), default=0)


def read(folded: str) -> Frame:
    """The tree of folded stacks (`outer;inner;innermost count`)."""
    root = Frame("all")
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        cycles = int(count)
        at = root
        at.cycles += cycles
        for name in stack.split(";"):
            at = at.below.setdefault(name, Frame(name))
            at.cycles += cycles
    return root


def _colour(name: str) -> str:
    """A warm colour, always the same for a name."""
    shade = zlib.crc32(name.encode())
    return f"rgb({205 + shade % 50},{90 + shade // 50 % 110},{40 + shade // 5500 % 50})"


def _boxes(frame: Frame, left: float, line: int, scale: float) -> list[str]:
    width = frame.cycles * scale
    if width < _LEAST:
        return []
    share = width / _WIDTH
    letters = int(width / _LETTER) - 1
    label = frame.name if len(frame.name) <= letters else frame.name[: max(letters - 1, 0)] + "…" if letters > 3 else ""
    top = line * _LINE
    boxes = [
        f"<g><title>{escape(frame.name)}: {frame.cycles:,} cycles, {share:.2%}</title>"
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_LINE - 1}" fill="{_colour(frame.name)}"/>'
        f'<text x="{left + 3:.1f}" y="{top + 13}">{escape(label)}</text></g>'
    ]
    at = left
    for below in sorted(frame.below.values(), key=lambda entry: (-entry.cycles, entry.name)):
        boxes += _boxes(below, at, line + 1, scale)
        at += below.cycles * scale
    return boxes


def draw(folded: str) -> str:
    """The flame graph of folded stacks, callers above; every frame's title has its cycles."""
    root = read(folded)
    height = root.depth * _LINE
    boxes = _boxes(root, 0.0, 0, _WIDTH / max(root.cycles, 1))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" '
        f'font-family="monospace" font-size="11">\n' + "\n".join(boxes) + "\n</svg>\n"
    )
