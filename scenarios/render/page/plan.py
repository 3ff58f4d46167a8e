"""Plain pictures of the network: what is recorded where; from which views a claim breaks, and what each costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Circle

from scenarios.render.page.drawing import (
    BLUE,
    HIGHEST,
    INK,
    PAPER,
    VERMILLION,
    Chart,
    Drawing,
    Entry,
    Scale,
    Style,
    canvas,
)
from scenarios.render.sentences import Finding, at_hops, by_hops
from scenarios.results.numbers import between, show, show_epsilon
from scenarios.results.tree import NetworkResult
from scenarios.results.views import ViewPrices, ViewsResult

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
MOST_NUMBERS = 14
"""Agents up to which a heat map has its numbers."""
_CLAIMED: Style = {"color": INK, "markersize": 16, "markeredgewidth": 2}


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
def view_charts(one: Finding, net: NetworkResult | None, name: str) -> list[Chart]:
    """The network and the order of inclusion of an algorithm's views, if it has any; ids begin with `name`."""
    if not isinstance(found := one.entry.views, ViewsResult):
        return []
    charts = [_network(found, net, f"{name}-network")] if net is not None else []
    return charts + ([_order(found, f"{name}-order")] if found.order else [])


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


# ── prices ──────────────────────────────────────────────────────────────────────────────────────────────
def price_charts(one: Finding, net: NetworkResult | None, name: str) -> list[Chart]:
    """Pairs of agents, by place and by distance, and who learns of the audited one; ids begin with `name`."""
    if not isinstance(found := one.entry.prices, ViewPrices) or found.pairs is None:
        return []
    charts = [heat_map(found.pairs, f"{name}-pairs"), by_distance(found.pairs, f"{name}-hops")]
    if net is not None and net.positions:
        row = found.pairs.upper[found.agent]
        charts.append(exposure(net, row, found.agent, f"{name}-network", listens=False))
    return charts


def _shades(values: Sequence[float]) -> tuple[Scale, Callable[[float], float]]:
    """A scale of these values, and the opacity of each: 0 of nothing, 1 of ∞."""
    scale = Scale.over(values, share=0.0)

    def shade(value: float) -> float:
        if math.isnan(value) or value == 0:
            return 0.0
        share = (scale.at(value) - scale.low) / (scale.high - scale.low)
        return 1.0 if math.isinf(value) else 0.08 + 0.84 * min(max(share, 0.0), 1.0)

    return scale, shade


def _shade_key(values: Sequence[float]) -> tuple[Entry, ...]:
    """The shades of the least, the middle and the largest value."""
    _, shade = _shades(values)
    there = sorted(v for v in values if v > 0)
    if not there:
        return ()
    shown = {show_epsilon(v): shade(v) for v in (there[0], there[len(there) // 2], there[-1])}
    square: Style = {"color": VERMILLION, "linestyle": "none", "marker": "s", "markersize": 12}
    return tuple(Entry(f"ε = {words}", (square | {"alpha": round(dark, 3)},)) for words, dark in shown.items())


def heat_map(found: ViewPrices.PairPrices, name: str) -> Chart:
    """ε of every ordered pair: a row for each victim, a column for each listener."""
    n = len(found.upper)
    values = [e for row in found.upper for e in row if not math.isnan(e)]
    _, shade = _shades(values)
    red, green, blue = (int(VERMILLION[k : k + 2], 16) for k in (1, 3, 5))
    pixels = [[(red, green, blue, int(255 * shade(one))) for one in row] for row in found.upper]
    with canvas(HEIGHT + 40, HEIGHT + 40) as (figure, plot):
        plot.imshow(
            np.array(pixels, np.uint8), interpolation="none", origin="upper", extent=(-0.5, n - 0.5, n - 0.5, -0.5)
        )
        plot.set_xlabel("listener")
        plot.set_ylabel("victim")
        step = max(1, round(n / 10))
        for axis in (plot.xaxis, plot.yaxis):
            axis.set_ticks(range(0, n, step), [str(i) for i in range(0, n, step)])
        if n <= MOST_NUMBERS:
            for u, row in enumerate(found.upper):
                for v, epsilon in enumerate(row):
                    text = "" if u == v else show(epsilon, 2)
                    plot.text(v, u, text, ha="center", va="center_baseline", fontsize=8.5)
        for u, v in found.refuted:
            plot.plot([v], [u], "x", color=INK, markersize=6, markeredgewidth=1.6)
        largest = max(values, default=0.0)
        drawing = Drawing(name, f"ε of {n * (n - 1)} ordered pairs, the largest {show_epsilon(largest)}.", figure)
    caption = (
        "What each listener, honest but curious, learns of each victim: exact ε, over all pairs of the adjacency."
    )
    crossed = (f"Crossed: above what is claimed of the pair ({len(found.refuted)}).",) if found.refuted else ()
    return Chart("All ordered pairs", drawing, _shade_key(values), (caption, *crossed))


def by_distance(found: ViewPrices.PairPrices, name: str) -> Chart:
    """ε of every ordered pair by the hops between them."""
    groups = by_hops(found)
    points = [(hop, e) for hop, some in groups for _, e in some]
    claims = {hop: min(e, 10**HIGHEST) for hop, e in _claims_by_hops(found).items()}
    scale = Scale.over([*(e for _, e in points), *claims.values()])
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        style: Style = {"color": BLUE, "linestyle": "none", "marker": "o", "markersize": 5, "markeredgewidth": 0}
        plot.plot([h for h, _ in points], [scale.at(e) for _, e in points], alpha=0.45, **style)
        if claims:
            plot.plot(list(claims), [scale.at(e) for e in claims.values()], "_", **_CLAIMED)
        scale.set_up(plot)
        plot.set_xlabel("hops between victim and listener")
        plot.set_ylabel(f"ε ({scale.kind})")
        plot.set_xticks([h for h, _ in groups])
        ends = [(h, " to ".join(dict.fromkeys(map(between, (some[0], some[-1]))))) for h, some in groups]
        words = "; ".join(at_hops(ends))
        drawing = Drawing(name, f"ε by distance: {words}.", figure)
    key = (Entry("exact, one pair", (style,)),)
    key += (
        (Entry("least claim at this distance", (_CLAIMED | {"marker": "_", "linestyle": "none"},)),) if claims else ()
    )
    return Chart("ε by distance", drawing, key)


def _claims_by_hops(found: ViewPrices.PairPrices) -> dict[int, float]:
    """The least claim of pairs at each distance; empty where pairs have no claim of their own."""
    claims: dict[int, float] = {}
    for hops, row in zip(found.hops, found.claimed or (), strict=False):
        for hop, claim in zip(hops, row, strict=True):
            if not math.isnan(claim):
                claims[hop] = min(claim, claims.get(hop, math.inf))
    return dict(sorted(claims.items()))


def exposure(net: NetworkResult, epsilons: Sequence[float], chosen: int, name: str, *, listens: bool) -> Chart:
    """The network, every agent shaded by ε: of it at the listener `chosen`, or of the victim `chosen` at it."""
    values = [e for e in epsilons if not math.isnan(e)]
    _, shade = _shades(values)
    few = len(net.positions) <= FEW
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        _prepare(plot)
        for edge in net.edges:
            ends = [net.positions[i] for i in edge]
            plot.plot([x for x, _ in ends], [y for _, y in ends], zorder=1, **_LINKS[False])
        for agent, place in enumerate(net.positions):
            mark: Style = {"marker": "s"} if agent == chosen else {"marker": "o"}
            _disc(plot, agent, place, few, mark)
            opacity = shade(epsilons[agent])
            if agent != chosen and opacity:
                size, over = 24 if few else 7, {"markerfacecolor": VERMILLION, "markeredgewidth": 0, "zorder": 2.5}
                plot.plot([place[0]], [place[1]], "o", markersize=size, alpha=opacity, **over)
        who = f"of each agent at listener {chosen}" if listens else f"of agent {chosen} at each listener"
        drawing = Drawing(
            name,
            f"ε {who}, from {show_epsilon(min(values, default=0.0))} to {show_epsilon(max(values, default=0.0))}.",
            figure,
        )
    square = "the listener" if listens else "the victim"
    title = f"What agent {chosen} learns" if listens else f"Who learns of agent {chosen}"
    return Chart(title, drawing, _shade_key(values), (f"Shaded by ε {who}. Square: {square}.",))
