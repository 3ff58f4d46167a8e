"""How an algorithm looks in every chart: colour, dashes and marker, told apart without colour too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from scenarios.report.svg import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILLION, in_page

_COLOURS = (BLUE, ORANGE, PURPLE, GREEN, INK, SKY, VERMILLION)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6))
_MARKERS = ("o", "s", "^", "D", "v")
_SHAPES = {
    "o": '<circle cx="17" cy="6" r="3.4"/>',
    "s": '<path d="M13.8 2.8h6.4v6.4h-6.4z"/>',
    "^": '<path d="M17 2l4 7.4h-8z"/>',
    "D": '<path d="M17 1.8l4.2 4.2-4.2 4.2-4.2-4.2z"/>',
    "v": '<path d="M17 10l4-7.4h-8z"/>',
}


@dataclass(frozen=True)
class Series:
    """The look of algorithm number `index`."""

    index: int

    @property
    def colour(self) -> str:
        return _COLOURS[self.index % len(_COLOURS)]

    @property
    def dashes(self) -> tuple[float, ...]:
        """On and off lengths in line widths; empty is a solid line."""
        return _DASHES[self.index % len(_DASHES)]

    @property
    def marker(self) -> str:
        return _MARKERS[self.index % len(_MARKERS)]

    @property
    def line(self) -> dict[str, Any]:
        """Keywords of a matplotlib line."""
        return {"color": self.colour, "linestyle": (0, self.dashes) if self.dashes else "solid"}

    @property
    def marked(self) -> dict[str, Any]:
        """Keywords of a line with about five markers, out of step with other series."""
        return self.line | {
            "marker": self.marker,
            "markersize": 5.5,
            "markevery": (0.04 * (self.index % 5), 0.21),
            "markeredgewidth": 0,
        }

    @property
    def swatch(self) -> Markup:
        """The line and its marker, for a legend in the page."""
        dashes = " ".join(f"{1.8 * length:g}" for length in self.dashes)
        return Markup(
            '<svg class="swatch" viewBox="0 0 34 12" width="34" height="12" aria-hidden="true" '
            f'style="color: {in_page(self.colour)}"><path d="M0 6h34" stroke="currentColor" stroke-width="2" '
            f'stroke-dasharray="{dashes}" fill="none"/><g fill="currentColor">{_SHAPES[self.marker]}</g></svg>'
        )


def looks(algorithms: Sequence[object]) -> list[Series]:
    """One look for each algorithm, in the order given."""
    return [Series(index) for index in range(len(algorithms))]
