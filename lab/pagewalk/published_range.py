"""Published figures as ranges: a document rounds what it prints, or prints a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pagewalk.errors import BadInput


class Printed(float):
    """A published figure with the digits in which it is printed: 3.440 is known more exactly than 3.44."""

    text: str

    def __new__(cls, text: str) -> Printed:
        """The figure that this text writes; ValueError if it is no number."""
        figure = super().__new__(cls, text)
        figure.text = text.replace("_", "").removeprefix("+")
        return figure

    @property
    def decimals(self) -> int:
        """How many digits it has behind the point."""
        exponent = Decimal(self.text).as_tuple().exponent
        return max(-exponent, 0) if isinstance(exponent, int) else 0


def _rounding(number: float) -> float:
    """Half a unit of the last digit that a figure was printed with."""
    if number == 0:
        return 0.005
    if isinstance(number, Printed) and number.decimals:
        return float(0.5 * 10.0**-number.decimals)
    if number == int(number):
        return 0.5 if abs(number) < 1000 else 0.0005 * abs(number)
    digits = len(repr(number).partition(".")[2])
    return float(0.5 * 10.0**-digits)


def digits(number: float) -> str:
    """The figure in the digits of its document, where these are known."""
    return f"{Decimal(number.text):f}" if isinstance(number, Printed) and number.decimals and number else f"{number:g}"


@dataclass(frozen=True)
class Range:
    """From `low` to `high`; `shown` is what a table prints, in the document's own digits."""

    low: float
    high: float
    shown: str

    @classmethod
    def exactly(cls, number: float) -> Range:
        """A figure printed as one number."""
        return cls(number, number, digits(number))

    @classmethod
    def of(cls, figures: tuple[float, ...], item: int | None) -> Range | None:
        """A claim's figure: column `item`, or all its numbers as a range; None where it has none.

        A single number stands for every column.
        """
        if not figures:
            return None
        if item is not None:
            if len(figures) > 1 and not 0 <= item < len(figures):
                raise BadInput(f"item {item}: the claim has {len(figures)} figures, the first of which is item 0")
            return cls.exactly(figures[item] if len(figures) > 1 else figures[0])
        low, high = min(figures), max(figures)
        return cls(low, high, digits(low) if low == high else f"{digits(low)}-{digits(high)}")

    @property
    def middle(self) -> float:
        """The geometric middle of the range: figures are compared by their quotients."""
        return math.sqrt(self.low * self.high)

    @property
    def complement(self) -> Range:
        """The share of misses where this is a share of hits; no more digits than the document printed."""
        low, high = round(1 - self.high, 6), round(1 - self.low, 6)
        return Range(low, high, f"{high:g}" if low == high else f"{high:g}-{low:g}")

    @property
    def saved_as_ratio(self) -> Range:
        """The ratio of before and after where this is the part of before that is saved."""
        low, high = 1 / (1 - self.low), 1 / (1 - self.high)
        return Range(low, high, f"{math.sqrt(low * high):.3g}")

    def rounded_out(self) -> Range:
        """The range of true figures that print as these."""
        return Range(max(self.low - _rounding(self.low), 0.0), self.high + _rounding(self.high), self.shown)


def ratio_range(
    before: Range | None, after: Range | None, better: Literal["lower", "higher", "neither"]
) -> Range | None:
    """The improvement that the two figures stand for, rounding included; above 1 is better.

    before / after where lower is better or neither is, after / before where higher is. None where a
    figure is missing or the ratio has no bound.
    """
    if before is None or after is None:
        return None
    worse, good = (before, after) if better != "higher" else (after, before)
    if good.low <= 0 or worse.low <= 0:
        return None
    printed = worse.middle / good.middle
    worse, good = worse.rounded_out(), good.rounded_out()
    if good.low <= 0:
        return None
    return Range(worse.low / good.high, worse.high / good.low, f"{printed:.3g}")
