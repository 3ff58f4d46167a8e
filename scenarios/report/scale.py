"""A logarithmic axis with a place for 0 at one end and for ∞ at the other."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scenarios.report.formats import show, ten_to

HIGHEST = 290.0
"""The last decade that ends of an axis reach: with its margins it stays among the numbers there are."""


@dataclass(frozen=True)
class Scale:
    """Where a value ≥ 0 goes: log₁₀ between `low` and `high`, 0 at `zero`, ∞ at `infinity`."""

    low: float
    high: float
    has_zero: bool
    has_infinity: bool

    @classmethod
    def over(cls, values: Iterable[float], share: float = 0.05) -> "Scale":
        """A scale that shows all the values; nan is not shown."""
        given = [v for v in values if not math.isnan(v)]
        logs = [math.log10(v) for v in given if 0 < v < math.inf] or [-1.0, 1.0]
        low, high = min(logs), max(logs)
        middle, half = (low + high) / 2, max(high - low, 0.6) / 2
        pad = 2 * half * share
        return cls(middle - half - pad, middle + half + pad, 0.0 in given, math.inf in given)

    @classmethod
    def around(cls, middle: float, half: float) -> "Scale":
        """A scale of errors, `half` decades to both sides of the middle, where there are such numbers."""
        high = min(middle + half, HIGHEST)
        return cls(min(middle - half, high - 1), high, False, False)

    @property
    def gap(self) -> float:
        """The width of the places for 0 and for ∞."""
        return 0.13 * (self.high - self.low)

    @property
    def zero(self) -> float:
        return self.low - self.gap

    @property
    def infinity(self) -> float:
        return self.high + self.gap

    @property
    def limits(self) -> tuple[float, float]:
        """From end to end."""
        return self.zero if self.has_zero else self.low, self.infinity if self.has_infinity else self.high

    def at(self, value: float) -> float:
        """The place of a value; nan stays nan."""
        if value == 0:
            return self.zero
        return self.infinity if math.isinf(value) else math.log10(value)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels: decades, or 1, 2, 5 of each where there are few."""
        span = self.high - self.low
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        if span < 2.3:
            marks = [(d + math.log10(m), show(m * 10.0**d)) for d in decades for m in (1, 2, 5)]
        else:
            stride = max(1, round(span / 6))
            plain = span < 5 and self.low > -3
            marks = [(float(d), show(10.0**d) if plain else ten_to(d)) for d in decades if d % stride == 0]
        ends = [(self.zero, "0")] * self.has_zero + [(self.infinity, "∞")] * self.has_infinity
        return [(place, label) for place, label in marks if self.low <= place <= self.high] + ends

    def dress(self, axis: Any) -> None:
        """Put the ticks on a matplotlib axis."""
        ticks = self.ticks()
        axis.set_ticks([place for place, _ in ticks], [label for _, label in ticks])
