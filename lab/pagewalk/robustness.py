"""Whether the answer of a comparison is the same with everything that the machine's file leaves open (`inputs`).

The answer is whether the second combination takes fewer cycles than the first, more, or neither by 1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pagewalk.ab import Moved, Side, quantities
from pagewalk.inputs import Variant
from pagewalk.verdict import NO_CHANGE

Answer = Literal["faster", "slower", "no difference", "noise"]

_CYCLES = ("total", "cycles")


def cycles(side: Side) -> tuple[float, ...]:
    """The program's cycles with each placement."""
    return tuple(quantities(run)[_CYCLES] for run in side.runs)


@dataclass(frozen=True)
class Tried:
    """Two combinations on one variant of the machine: the cycles of each, with each placement."""

    variant: Variant
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def _moved(self) -> Moved:
        return Moved(*_CYCLES, self.first, self.second)

    @property
    def change(self) -> float:
        """How far the median of the cycles moved, as a share of the first median."""
        return self._moved.change or 0.0

    @property
    def answer(self) -> Answer:
        """What a person would say of the two."""
        if self._moved.noise:
            return "noise"
        factor = 1 + self.change
        if 1 / NO_CHANGE < factor < NO_CHANGE:
            return "no difference"
        return "faster" if factor < 1 else "slower"


@dataclass(frozen=True)
class Robustness:
    """Two combinations on every variant of the machine, the file's own values first."""

    first: str
    second: str
    tried: Sequence[Tried]

    @property
    def answer(self) -> Answer:
        """The answer with the file's values."""
        return self.tried[0].answer

    @property
    def against(self) -> list[Tried]:
        """The variants with another answer."""
        return [tried for tried in self.tried if tried.answer != self.answer]

    @property
    def survives(self) -> bool:
        """Whether the answer is the same with all of them."""
        return not self.against

    @property
    def change(self) -> tuple[float, float]:
        """The least and the greatest change."""
        changes = [tried.change for tried in self.tried]
        return min(changes), max(changes)


def across(sides: Sequence[Side], combinations: int, variants: Sequence[Variant]) -> list[Robustness]:
    """Each combination against the first on every variant, from the sides of `ab.varied`.

    With one combination, its cycles on each variant against those with the file's values.
    """
    of_variant = [sides[at : at + combinations] for at in range(0, len(sides), combinations)]
    if combinations == 1:
        own = sides[0]
        tried = [
            Tried(variant, cycles(own), cycles(side)) for variant, (side,) in zip(variants, of_variant, strict=True)
        ]
        return [Robustness(own.label, own.label, tried)]
    return [
        Robustness(
            sides[0].label,
            sides[number].label,
            [
                Tried(variant, cycles(found[0]), cycles(found[number]))
                for variant, found in zip(variants, of_variant, strict=True)
            ],
        )
        for number in range(1, combinations)
    ]
