"""Plain pictures of the network: what is recorded where, with a key; and the views from which a claim breaks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.patches import Circle

from scenarios.render.page.drawing import INK, PAPER, VERMILLION, Chart, Drawing, Entry, Style, canvas
from scenarios.render.sentences import Finding, view_strength
from scenarios.results import findings
from scenarios.results.audit import ViewsResult
from scenarios.results.numbers import count, percent, show
from scenarios.results.tree import NetworkResult

WIDTH, HEIGHT = 470, 330
FEW = 40
"""Up to so many agents are drawn large, with their numbers."""
_EDGE: Style = {"markeredgecolor": VERMILLION}
_TAP: Style = {"color": VERMILLION, "linewidth": 2.6, "marker": "v", "markersize": 9, "markeredgewidth": 1.6}
_WIRE: Style = {"color": VERMILLION, "linewidth": 2.6}
_FREE: Style = {"color": INK, "alpha": 0.45, "linewidth": 1.4, "linestyle": (0, (4, 2))}
_CROSS: Style = {"color": INK, "linestyle": "none", "marker": "x", "markersize": 10, "markeredgewidth": 2.8}
_HELD: Style = {
    "linestyle": "none", "marker": "o", "markersize": 9, "markerfacecolor": PAPER, "markeredgecolor": VERMILLION,
    "markeredgewidth": 3,
}  # fmt: skip
_RINGED: tuple[Style, ...] = (_HELD | {"markersize": 12, "markeredgewidth": 1.3}, _HELD | {"markersize": 6})
_SEALED: Style = _TAP | {"markerfacecolor": PAPER}
_REACH: tuple[Style, ...] = (
    {"linestyle": "none", "marker": "o", "markersize": 16, "color": VERMILLION, "alpha": 0.12, "markeredgewidth": 0},
    {"linestyle": "none", "marker": "v", "markersize": 7, "color": VERMILLION},
)
_MOST_LABELS = 14
"""Views of one height in the order that have their names beside them."""
_LINKS: dict[bool | None, Style] = {
    True: {"color": VERMILLION, "linewidth": 3.6},
    False: {"color": INK, "linewidth": 1.6, "alpha": 0.7},
    None: {"color": INK, "linewidth": 1.2, "alpha": 0.4, "linestyle": (0, (2, 3))},
}
"""A link that breaks the claim by itself, one that does not, and one without a view."""


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
            (self.tapped & self.sealed, "tapped, but encrypted: the tap gets sizes and times", (_SEALED,)),
            (self.at_ends, ends, (_WIRE,)),
            (quiet, "neighbors" if self.on_radio else "link without a tap", (_FREE,)),
            (self.intercepted, "active adversary in the middle", (_CROSS,)),
            (self.insiders, "insider: honest but curious agent", (_HELD | {"marker": "s"},)),
            (self.transmitters, "agent whose transmissions are recorded", (_HELD,)),
            (self.doors, "agent tapped at its door", _RINGED if self.on_radio else (_HELD,)),
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
    marks, few = Marks.of(net), len(net.positions) <= FEW
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        _prepare(plot)
        for link in sorted(marks.links, key=sorted):
            (x0, y0), (x1, y1) = (net.positions[i] for i in sorted(link))
            recorded = link in marks.tapped or link in marks.at_ends
            plot.plot([x0, x1], [y0, y1], zorder=1, **(_WIRE if recorded else _FREE))
            if link in marks.tapped:
                look = _EDGE | {"markerfacecolor": PAPER if link in marks.sealed else VERMILLION}
                place = [(x0 + x1) / 2], [(y0 + y1) / 2]
                plot.plot(*place, "v", markersize=9 if few else 4, markeredgewidth=1.6, zorder=1.5, **look)
            if link in marks.intercepted:
                beside = [x0 + 0.32 * (x1 - x0)], [y0 + 0.32 * (y1 - y0)]  # the tap is in the middle
                plot.plot(*beside, "x", color=INK, markersize=12 if few else 6, markeredgewidth=2.8, zorder=1.6)
        for agent, place in enumerate(net.positions):
            edge: Style = _EDGE | {"markeredgewidth": 3} if marks.held(agent) else {}
            ring = VERMILLION if marks.on_radio and agent in marks.doors else None
            _disc(plot, agent, place, few, {"marker": "s" if agent in marks.insiders else "o"} | edge, ring)
        if net.disc is not None:  # the eavesdropper and its range, which may go over the picture's edge
            (left, right), (bottom, top), (x, y) = plot.get_xlim(), plot.get_ylim(), net.disc.at
            plot.add_patch(Circle((x, y), net.disc.range, facecolor=VERMILLION, alpha=0.12, linewidth=0, zorder=0))
            plot.plot([x], [y], "v", color=VERMILLION, markersize=9, zorder=1)
            plot.set_xlim(min(left, x - 0.09), max(right, x + 0.09))
            plot.set_ylim(min(bottom, y - 0.09), max(top, y + 0.09))
        return Drawing(name, marks.sentence(len(net.positions)), figure)


def _prepare(plot: Any) -> None:
    """Set up a plot without axes, equal in both directions."""
    plot.set_axis_off()
    plot.set_aspect("equal")
    plot.margins(0.1)


def _disc(
    plot: Any, agent: int, place: tuple[float, float], few: bool, style: Style, ring: str | None = None
) -> None:
    """Draw an agent, with its number where there are few, and around it a ring of that colour."""
    look: Style = {"markeredgecolor": INK, "markeredgewidth": 1.3, "markerfacecolor": PAPER, "zorder": 2}
    x, y, size = [place[0]], [place[1]], 24 if few else 7
    if ring is not None:
        around = look | {"markerfacecolor": "none", "markeredgecolor": ring}
        plot.plot(x, y, "o", markersize=1.45 * size, **around)
    plot.plot(x, y, markersize=size, **(look | style))
    if few:
        plot.text(*place, str(agent), ha="center", va="center_baseline", zorder=3, fontsize=11.5)


# ── views ───────────────────────────────────────────────────────────────────────────────────────────────
class _Seen(NamedTuple):
    """The points of view on one algorithm: in words, in figures, and each, those that break the claim first."""

    name: str
    sentence: str
    strength: str
    charts: list[Chart]
    found: list[ViewsResult.ViewResult]
    smallest: tuple[str, ...]
    inconsistent: tuple[str, ...]
    played: str
    confidence: str


def views(algorithms: Sequence[Finding], net: NetworkResult | None) -> list[_Seen]:
    """The points of view on each algorithm whose claim was examined from many views."""
    sections: list[_Seen] = []
    for k, one in enumerate(algorithms):
        if isinstance(found := one.entry.views, ViewsResult):
            charts = [_network(found, net, f"views-{k}-network")] if net is not None else []
            sections.append(
                _Seen(
                    name=one.entry.name,
                    sentence=_sentence(found),
                    strength=view_strength(findings.exact_loss_refutes(one.entry)),
                    charts=charts + ([_order(found, f"views-{k}-order")] if found.order else []),
                    found=sorted(found.views, key=lambda one: (not one.refuted, -one.log_e)),
                    smallest=found.smallest,
                    inconsistent=found.inconsistent,
                    played=count(found.played),
                    confidence=percent(found.confidence),
                )
            )
    return sections


def _sentence(found: ViewsResult) -> str:
    claimed = f"ε = {show(found.epsilon_claimed)} at δ = {show(found.delta)}"
    if not found.refuted:
        weak = "" if found.powered else "; so few trials could not have refuted it for a single one"
        return f"The claim, {claimed}, is refuted for none of {len(found.views)} views{weak}."
    return (
        f"The claim, {claimed}, is refuted for {len(found.refuted)} of {len(found.views)} views; of those that are "
        f"named so, a share of at most {percent(found.false_discovery_rate)} is wrong on average."
    )


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────
def _network(found: ViewsResult, net: NetworkResult, name: str) -> Chart:
    """Links and agents as views: which of them break the claim, which do not, and from where nobody looked."""
    links = {one.links[0]: one.refuted for one in found.views if one.kind == "link"}
    agents: dict[int, bool] = {}
    for one in found.views:
        if one.kind in ("node", "door", "transmitter"):
            agents[one.agents[0]] = agents.get(one.agents[0], False) or one.refuted
    few = len(net.positions) <= FEW
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        _prepare(plot)
        for edge in net.edges:
            ends = [net.positions[i] for i in edge]
            look = _LINKS[links.get((min(edge), max(edge)))]
            plot.plot([x for x, _ in ends], [y for _, y in ends], zorder=1, **look)
        for agent, place in enumerate(net.positions):
            style: Style = {"markeredgecolor": VERMILLION, "markeredgewidth": 3} if agents.get(agent) else {}
            _disc(plot, agent, place, few, {"marker": "o"} | style, INK if agent == found.agent else None)
        broken = f"{sum(links.values())} of {len(links)} links"
        words = f"{broken} break the claim by themselves, and {sum(agents.values())} of {len(agents)} agents."
        drawing = Drawing(name, words, figure)
    caption = (
        "In colour and thick: links, and honest but curious agents, that break the claim by themselves. Thin: those "
        "that do not. Dotted: no view was taken there. The agent with two rings is the audited one; its own mark is "
        "the view at its door."
    )
    return Chart("Where", drawing, (), (caption,))


def _order(found: ViewsResult, name: str) -> Chart:
    """The order of inclusion: from small views below to large ones above."""
    by_name = {one.name: one for one in found.views}
    places = _layered(list(by_name), found.order)
    levels = [y for _, y in places.values()]
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        plot.set_axis_off()
        plot.margins(0.07, 0.12)
        for smaller, larger in found.order:
            broken = by_name[smaller].refuted and by_name[larger].refuted
            look: Style = {"color": VERMILLION, "alpha": 0.8} if broken else {"color": INK, "alpha": 0.25}
            ends = zip(places[smaller], places[larger], strict=True)
            plot.plot(*ends, linewidth=1.2, zorder=1, **look)
        for view, (x, y) in places.items():
            one = by_name[view]
            face = VERMILLION if one.refuted else PAPER
            plot.plot([x], [y], "o", markersize=9, markerfacecolor=face, markeredgecolor=INK, markeredgewidth=1.1)
            if levels.count(y) <= _MOST_LABELS:
                label = "all" if one.kind == "outside" else view if one.kind == "door" else view.split(" ", 1)[-1]
                style: Style = {"ha": "center", "va": "top", "fontsize": 9.5, "zorder": 3}
                plot.annotate(label, (x, y), (0, -7), textcoords="offset points", **style)
        words = f"Order of inclusion of {len(places)} views; {len(found.refuted)} break the claim."
        drawing = Drawing(name, words, figure)
    caption = (
        "Views by what they contain: from a view every line upwards leads to one that contains all of it, and more. "
        "Filled: the claim is refuted. Above a filled view all should be filled."
    )
    return Chart("Which contains which", drawing, (), (caption,))


def _layered(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Mapping[str, tuple[float, int]]:
    """Each view at the height of the longest chain below it, spread evenly at each height, in their order."""
    height: dict[str, int] = {}

    def high(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((high(below) for below, above in edges if above == name), default=-1)
        return height[name]

    layers: dict[int, list[str]] = {}
    for name in names:
        layers.setdefault(high(name), []).append(name)
    return {name: ((k + 0.5) / len(layer), level) for level, layer in layers.items() for k, name in enumerate(layer)}
