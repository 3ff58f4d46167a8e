"""Plain picture of the network for lessons and papers, and the legend of its marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.patches import Circle

from scenarios.render.page.drawing import INK, PAPER, VERMILLION, canvas, inline
from scenarios.results.numbers import items, number

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


WIDTH, HEIGHT = 470, 330


def network(net: Result, prefix: str) -> Markup:
    """Agents and links, and who hears and meddles where, with the marks of `legend`; and an eavesdropper's reach."""
    places = [(number(x), number(y)) for x, y in net["positions"]]
    marks = Marks.of(net)
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        plot.set_axis_off()
        plot.set_aspect("equal")
        plot.margins(0.09)
        for link in sorted(marks.links, key=sorted):
            _link(plot, [places[i] for i in sorted(link)], link, marks, len(places) <= 40)
        for agent, place in enumerate(places):
            _agent(plot, agent, place, marks, len(places) <= 40)
        if net.get("disc"):
            _disc(plot, net["disc"])
        tapped, links = len(marks.tapped), len(marks.links)
        label = f"Network of {len(places)} agents and {links} links, {tapped} of them tapped."
        if marks.on_radio:
            label = f"Network of {len(places)} agents with radios, {len(marks.heard)} of them heard."
        if marks.at_ends and not marks.on_radio:
            label += f" {len(marks.at_ends)} are heard by an agent or at a door at their ends."
        if marks.meddled:
            label += f" Somebody is in the middle of {len(marks.meddled)}."
        return inline(figure, prefix, label)


def _link(plot: Any, ends: Sequence[tuple[float, float]], link: frozenset[int], marks: Marks, small: bool) -> None:
    (x0, y0), (x1, y1) = ends
    middle = [(x0 + x1) / 2], [(y0 + y1) / 2]
    if link in marks.tapped or link in marks.at_ends:
        plot.plot([x0, x1], [y0, y1], color=VERMILLION, linewidth=2.6, zorder=1)
    else:
        plot.plot([x0, x1], [y0, y1], color=INK, alpha=0.45, linewidth=1.4, linestyle=(0, (4, 2)), zorder=1)
    if link in marks.tapped:
        face = PAPER if link in marks.sealed else VERMILLION
        look: Any = {"markeredgecolor": VERMILLION, "markeredgewidth": 1.6, "markerfacecolor": face}
        plot.plot(*middle, "v", markersize=(9 if small else 4), zorder=1.5, **look)
    if link in marks.meddled:
        beside = [x0 + 0.32 * (x1 - x0)], [y0 + 0.32 * (y1 - y0)]  # the tap is in the middle
        plot.plot(*beside, "x", color=INK, markersize=(12 if small else 6), markeredgewidth=2.8, zorder=1.6)


def _agent(plot: Any, agent: int, place: tuple[float, float], marks: Marks, small: bool) -> None:
    x, y = place
    held = agent in marks.insiders or agent in (marks.heard if marks.on_radio else marks.doors)
    edge: Any = {"markeredgecolor": VERMILLION if held else INK, "markeredgewidth": 3 if held else 1.3}
    shape = "s" if agent in marks.insiders else "o"
    size = 24 if small else 7
    if marks.on_radio and agent in marks.doors:
        around: Any = {"markerfacecolor": "none", "markeredgecolor": VERMILLION, "markeredgewidth": 1.3}
        plot.plot([x], [y], "o", markersize=1.45 * size, zorder=2, **around)
    plot.plot([x], [y], shape, markersize=size, markerfacecolor=PAPER, zorder=2, **edge)
    if small:
        plot.text(x, y, str(agent), ha="center", va="center_baseline", zorder=3, fontsize=11.5)


def _disc(plot: Any, disc: Result) -> None:
    """What the eavesdropper reaches; it may go over the picture's edge."""
    limits = plot.get_xlim(), plot.get_ylim()
    x, y = (number(v) for v in disc["at"])
    plot.add_patch(Circle((x, y), number(disc["range"]), facecolor=VERMILLION, alpha=0.12, linewidth=0, zorder=0))
    plot.plot([x], [y], "v", color=VERMILLION, markersize=9, zorder=1)
    low_x, low_y = min(limits[0][0], x - 0.09), min(limits[1][0], y - 0.09)
    plot.set_xlim(low_x, max(limits[0][1], x + 0.09))
    plot.set_ylim(low_y, max(limits[1][1], y + 0.09))
