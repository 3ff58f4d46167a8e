"""Plain picture of the network for lessons and papers, and the key of its marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.patches import Circle

from scenarios.render.page.drawing import INK, PAPER, VERMILLION, Drawing, Entry, Style, canvas
from scenarios.results.tree import Disc, NetworkResult

WIDTH, HEIGHT = 470, 330
_TAP: Style = {"color": VERMILLION, "linewidth": 2.6, "marker": "v", "markersize": 9, "markeredgewidth": 1.6}
_WIRE: Style = {"color": VERMILLION, "linewidth": 2.6}
_FREE: Style = {"color": INK, "alpha": 0.45, "linewidth": 1.4, "linestyle": (0, (4, 2))}
_CROSS: Style = {"color": INK, "linestyle": "none", "marker": "x", "markersize": 10, "markeredgewidth": 2.8}
_HELD: Style = {
    "linestyle": "none", "marker": "o", "markersize": 9, "markerfacecolor": PAPER, "markeredgecolor": VERMILLION,
    "markeredgewidth": 3,
}  # fmt: skip
_RING: Style = _HELD | {"markersize": 12, "markeredgewidth": 1.3}
_REACH: tuple[Style, ...] = (
    {"linestyle": "none", "marker": "o", "markersize": 16, "color": VERMILLION, "alpha": 0.12, "markeredgewidth": 0},
    {"linestyle": "none", "marker": "v", "markersize": 7, "color": VERMILLION},
)


@dataclass(frozen=True)
class Marks:
    """What the adversary records where: sets of undirected links, and of agents."""

    links: frozenset[frozenset[int]]
    tapped: frozenset[frozenset[int]]
    sealed: frozenset[frozenset[int]]
    intercepted: frozenset[frozenset[int]]
    insiders: frozenset[int]
    doors: frozenset[int]
    transmitters: frozenset[int]
    """On radio: agents whose transmissions are recorded."""
    on_radio: bool
    reach: bool

    @classmethod
    def of(cls, net: NetworkResult) -> "Marks":
        links, tapped, sealed, intercepted = (
            frozenset(map(frozenset[int], edges)) for edges in (net.edges, net.tapped, net.sealed, net.intercepted)
        )
        return cls(
            links | tapped, tapped, sealed, intercepted, frozenset(net.insiders), frozenset(net.tapped_nodes),
            frozenset(net.tapped_transmitters), net.medium == "radio", net.disc is not None,
        )  # fmt: skip

    @property
    def at_ends(self) -> frozenset[frozenset[int]]:
        """Links without a tap whose packets are recorded at one end: by an insider, or at a door."""
        held = self.insiders | self.doors
        return frozenset(link for link in self.links - self.tapped if link & held)

    def held(self, agent: int) -> bool:
        """Whether the adversary records what the agent sends."""
        return agent in self.insiders | self.doors or (self.on_radio and agent in self.transmitters)

    @property
    def key(self) -> tuple[Entry, ...]:
        """Every mark that occurs."""
        quiet = self.links - self.tapped - self.at_ends
        ends = "recorded at one of its ends" if self.doors else "recorded by an agent at its end"
        entries: tuple[tuple[object, str, tuple[Style, ...]], ...] = (
            (self.tapped - self.sealed, "tapped link", (_TAP,)),
            (
                self.tapped & self.sealed,
                "tapped, but encrypted: the tap gets sizes and times",
                (_TAP | {"markerfacecolor": PAPER},),
            ),
            (self.at_ends, ends, (_WIRE,)),
            (quiet, "neighbors" if self.on_radio else "link without a tap", (_FREE,)),
            (self.intercepted, "active adversary in the middle", (_CROSS,)),
            (self.insiders, "insider: honest but curious agent", (_HELD | {"marker": "s"},)),
            (self.transmitters, "agent whose transmissions are recorded", (_HELD,)),
            (
                self.doors,
                "agent tapped at its door",
                (_RING, _HELD | {"markersize": 6}) if self.on_radio else (_HELD,),
            ),
            (self.reach, "the eavesdropper, and its range", _REACH),
        )
        return tuple(Entry(words, lines) for occurs, words, lines in entries if occurs)

    def sentence(self, agents: int) -> str:
        """The network for who cannot see it."""
        if self.on_radio:
            words = f"Network of {agents} agents with radios, {len(self.transmitters)} of them recorded."
        else:
            words = f"Network of {agents} agents and {len(self.links)} links, {len(self.tapped)} of them tapped."
            if self.at_ends:
                words += f" {len(self.at_ends)} are recorded by an agent or at a door at their ends."
        return words + (
            f" An active adversary is in the middle of {len(self.intercepted)}." if self.intercepted else ""
        )


def network(net: NetworkResult, name: str) -> Drawing:
    """Agents and links, and what is recorded or intercepted where, with the marks of the key."""
    marks, few = Marks.of(net), len(net.positions) <= 40
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        prepared(plot)
        for link in sorted(marks.links, key=sorted):
            _link(plot, [net.positions[i] for i in sorted(link)], link, marks, few)
        for agent, place in enumerate(net.positions):
            edge: Style = {"markeredgecolor": VERMILLION, "markeredgewidth": 3} if marks.held(agent) else {}
            if marks.on_radio and agent in marks.doors:
                ring(plot, place, few)
            disc(plot, agent, place, few, {"marker": "s" if agent in marks.insiders else "o"} | edge)
        if net.disc is not None:
            _reach(plot, net.disc)
        return Drawing(name, marks.sentence(len(net.positions)), figure)


def prepared(plot: Any) -> None:
    """Set up a plot without axes, equal in both directions."""
    plot.set_axis_off()
    plot.set_aspect("equal")
    plot.margins(0.1)


def disc(plot: Any, agent: int, place: tuple[float, float], few: bool, style: Style) -> None:
    """Draw an agent, with its number where there are few."""
    look: Style = {"markeredgecolor": INK, "markeredgewidth": 1.3, "markerfacecolor": PAPER, "zorder": 2}
    plot.plot([place[0]], [place[1]], markersize=24 if few else 7, **(look | style))
    if few:
        plot.text(*place, str(agent), ha="center", va="center_baseline", zorder=3, fontsize=11.5)


def ring(plot: Any, place: tuple[float, float], few: bool, colour: str = VERMILLION) -> None:
    """Draw a ring around an agent."""
    look: Style = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.3, "zorder": 2}
    plot.plot([place[0]], [place[1]], "o", markersize=1.45 * (24 if few else 7), **look)


def _link(plot: Any, ends: Sequence[tuple[float, float]], link: frozenset[int], marks: Marks, few: bool) -> None:
    (x0, y0), (x1, y1) = ends
    recorded = link in marks.tapped or link in marks.at_ends
    plot.plot([x0, x1], [y0, y1], zorder=1, **(_WIRE if recorded else _FREE))
    if link in marks.tapped:
        face = PAPER if link in marks.sealed else VERMILLION
        look: Style = {"markeredgecolor": VERMILLION, "markeredgewidth": 1.6, "markerfacecolor": face}
        plot.plot([(x0 + x1) / 2], [(y0 + y1) / 2], "v", markersize=9 if few else 4, zorder=1.5, **look)
    if link in marks.intercepted:
        beside = [x0 + 0.32 * (x1 - x0)], [y0 + 0.32 * (y1 - y0)]  # the tap is in the middle
        plot.plot(*beside, "x", color=INK, markersize=12 if few else 6, markeredgewidth=2.8, zorder=1.6)


def _reach(plot: Any, reach: Disc) -> None:
    """The eavesdropper and its range, which may go over the picture's edge."""
    (left, right), (bottom, top) = plot.get_xlim(), plot.get_ylim()
    x, y = reach.at
    plot.add_patch(Circle((x, y), reach.range, facecolor=VERMILLION, alpha=0.12, linewidth=0, zorder=0))
    plot.plot([x], [y], "v", color=VERMILLION, markersize=9, zorder=1)
    plot.set_xlim(min(left, x - 0.09), max(right, x + 0.09))
    plot.set_ylim(min(bottom, y - 0.09), max(top, y + 0.09))
