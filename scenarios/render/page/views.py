"""Views from which a claim breaks: the network with its views, their order, and a table."""

from collections.abc import Mapping, Sequence

from scenarios.render.page import plan
from scenarios.render.page.drawing import INK, PAPER, VERMILLION, Chart, Drawing, Style, canvas
from scenarios.render.sentences import Finding, view_strength
from scenarios.results import findings
from scenarios.results.audit import ViewsResult
from scenarios.results.numbers import count, percent, show
from scenarios.results.tree import NetworkResult

_MOST_LABELS = 14
"""Views of one height in the order that have their names beside them."""
_LINKS: dict[bool | None, Style] = {
    True: {"color": VERMILLION, "linewidth": 3.6},
    False: {"color": INK, "linewidth": 1.6, "alpha": 0.7},
    None: {"color": INK, "linewidth": 1.2, "alpha": 0.4, "linestyle": (0, (2, 3))},
}
"""A link that breaks the claim by itself, one that does not, and one without a view."""


def views(algorithms: Sequence[Finding], net: NetworkResult | None) -> list[dict[str, object]]:
    """The points of view on each algorithm whose claim was examined from many views."""
    sections: list[dict[str, object]] = []
    for k, one in enumerate(algorithms):
        if isinstance(found := one.entry.views, ViewsResult):
            charts = [_network(found, net, f"views-{k}-network")] if net is not None else []
            sections.append(
                {
                    "name": one.entry.name,
                    "sentence": _sentence(found),
                    "strength": view_strength(findings.exact_loss_refutes(one.entry)),
                    "charts": charts + ([_order(found, f"views-{k}-order")] if found.order else []),
                    "found": sorted(found.views, key=lambda one: (not one.refuted, -one.log_e)),
                    "smallest": found.smallest,
                    "inconsistent": found.inconsistent,
                    "played": count(found.played),
                    "confidence": percent(found.confidence),
                }
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
    few = len(net.positions) <= plan.FEW
    with canvas(plan.WIDTH, plan.HEIGHT) as (figure, plot):
        plan.prepare(plot)
        for edge in net.edges:
            ends = [net.positions[i] for i in edge]
            look = _LINKS[links.get((min(edge), max(edge)))]
            plot.plot([x for x, _ in ends], [y for _, y in ends], zorder=1, **look)
        for agent, place in enumerate(net.positions):
            style: Style = {"markeredgecolor": VERMILLION, "markeredgewidth": 3} if agents.get(agent) else {}
            plan.disc(plot, agent, place, few, {"marker": "o"} | style, INK if agent == found.agent else None)
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
    with canvas(plan.WIDTH, plan.HEIGHT) as (figure, plot):
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
