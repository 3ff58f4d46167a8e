"""What the marks in the picture of the network mean: only those that occur."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from scenarios.report.formats import items
from scenarios.report.svg import INK, PAPER, VERMILLION

Result = Mapping[str, Any]
_LINE = '<path d="M0 6h34" stroke="currentColor" stroke-width="2.6"/>'
_TRIANGLE = '<path d="M17 11l5-8.6h-10z" {}/>'
_FILLED, _OPEN = 'fill="currentColor"', 'fill="var(--panel)" stroke="currentColor" stroke-width="1.6"'
_RING = '<circle cx="17" cy="6" r="{}" fill="none" stroke="currentColor" stroke-width="{}"/>'
_NOBODY = '<path d="M0 6h34" stroke="var(--ink)" stroke-width="1.4" stroke-dasharray="5 3" opacity=".5"/>'
_SQUARE = '<rect x="12.6" y="1.6" width="8.8" height="8.8" fill="none" stroke="currentColor" stroke-width="2.6"/>'
_CROSS = '<path d="M12.6 1.6l8.8 8.8M21.4 1.6l-8.8 8.8" stroke="var(--ink)" stroke-width="2.6"/>'
_TAP: dict[str, Any] = {
    "color": VERMILLION, "linewidth": 2.6, "marker": "v", "markersize": 9, "markeredgewidth": 1.6
}  # fmt: skip
_HELD: dict[str, Any] = {
    "linestyle": "none", "markersize": 11, "markerfacecolor": PAPER, "markeredgecolor": VERMILLION,
    "markeredgewidth": 3,
}  # fmt: skip
_THIN = _HELD | {"markersize": 15, "markeredgewidth": 1.3}
LINES: dict[str, tuple[dict[str, Any], ...]] = {
    _LINE + _TRIANGLE.format(_FILLED): (_TAP,),
    _LINE + _TRIANGLE.format(_OPEN): (_TAP | {"markerfacecolor": PAPER},),
    _LINE: ({"color": VERMILLION, "linewidth": 2.6},),
    _NOBODY: ({"color": INK, "alpha": 0.45, "linewidth": 1.4, "linestyle": (0, (4, 2))},),
    _CROSS: ({"color": INK, "linestyle": "none", "marker": "x", "markersize": 10, "markeredgewidth": 2.8},),
    _SQUARE: (_HELD | {"marker": "s"},),
    _RING.format(4.5, 2.6): (_HELD | {"marker": "o"},),
    _RING.format(5.4, 1.1) + _RING.format(3, 1.3): (_THIN | {"marker": "o"}, _HELD | {"marker": "o"}),
}
"""Of a swatch, how matplotlib draws it in the key of a figure for papers: lines, one over the other."""
_REACH = (
    '<circle cx="17" cy="6" r="6" fill="currentColor" opacity=".2"/><path d="M17 9l3.4-6h-6.8z" fill="currentColor"/>'
)


LINES[_REACH] = (
    {"linestyle": "none", "marker": "o", "markersize": 16, "color": VERMILLION, "alpha": 0.12},
    {"linestyle": "none", "marker": "v", "markersize": 7, "color": VERMILLION},
)


@dataclass(frozen=True)
class Marks:
    """Who hears what, in the picture's terms: sets of undirected links, and of agents."""

    links: frozenset[frozenset[int]]
    tapped: frozenset[frozenset[int]]
    sealed: frozenset[frozenset[int]]
    meddled: frozenset[frozenset[int]]
    insiders: frozenset[int]
    doors: frozenset[int]
    heard: frozenset[int]
    on_radio: bool
    reach: bool

    @classmethod
    def of(cls, net: Result) -> "Marks":
        edges = {name: frozenset(map(frozenset, items(net, name))) for name in ("tapped", "sealed", "meddled")}
        links: frozenset[frozenset[int]] = frozenset(map(frozenset, items(net, "edges")))
        agents = {name: frozenset(items(net, name)) for name in ("insiders", "tapped_nodes", "heard")}
        return cls(
            links | edges["tapped"],
            **edges,
            insiders=agents["insiders"],
            doors=agents["tapped_nodes"],
            heard=agents["heard"],
            on_radio=net.get("medium") == "radio",
            reach=bool(net.get("disc")),
        )

    @property
    def at_ends(self) -> frozenset[frozenset[int]]:
        """Links without a tap that are heard all the same: by an insider, or at the door, at one end."""
        held = self.insiders | self.doors
        return frozenset(link for link in self.links - self.tapped if link & held)

    @property
    def legend(self) -> list[tuple[Markup, str]]:
        """Swatches and words."""
        return [(swatch(drawing), words) for drawing, words in self.drawn]

    @property
    def drawn(self) -> list[tuple[str, str]]:
        """What is in a swatch, which `LINES` has too, and words."""
        quiet = self.links - self.tapped - self.at_ends
        entries = (
            (self.tapped - self.sealed, _LINE + _TRIANGLE.format(_FILLED), "tapped link"),
            (
                self.tapped & self.sealed,
                _LINE + _TRIANGLE.format(_OPEN),
                "tapped, but encrypted: the tap gets sizes and times",
            ),
            (self.at_ends, _LINE, "heard by an agent at its end" if not self.doors else "heard at one of its ends"),
            (quiet, _NOBODY, "neighbors" if self.on_radio else "link nobody hears"),
            (self.meddled, _CROSS, "man in the middle"),
            (self.insiders, _SQUARE, "insider: honest but curious agent"),
            (self.heard, _RING.format(4.5, 2.6), "agent whose transmissions are heard"),
            (self.doors, self._door, "agent listened to at its door"),
            (self.reach, _REACH, "the eavesdropper, and how far it hears"),
        )
        return [(drawing, words) for occurs, drawing, words in entries if occurs]

    @property
    def _door(self) -> str:
        """On radio a thick circle is an agent that is heard; a door has a second one around it."""
        return _RING.format(5.4, 1.1) + _RING.format(3, 1.3) if self.on_radio else _RING.format(4.5, 2.6)


def swatch(drawing: str) -> Markup:
    return Markup(
        '<svg class="swatch" viewBox="0 0 34 12" width="34" height="12" aria-hidden="true" '
        f'style="color: var(--vermillion)">{drawing}</svg>'
    )
