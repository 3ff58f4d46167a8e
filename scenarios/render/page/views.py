"""Views from which a claim breaks: the network with its views, their order, and a table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from scenarios.render.page.drawing import INK, PAPER, VERMILLION, canvas, inline
from scenarios.results import former_findings as findings
from scenarios.results import views as views_described
from scenarios.results.numbers import MISSING, count, items, number, part, percent, show

Result = Mapping[str, Any]
WIDTH, HEIGHT = 470, 330
MOST_LABELS = 14
"""Views of one height in the order that have their names beside them."""


def views(algorithms: Sequence[Result], net: Result) -> list[dict[str, Any]]:
    """A part of the page for each algorithm whose claim was looked at from many views."""
    shown = [(k, a, part(a, "views")) for k, a in enumerate(algorithms)]
    return [_shown(a, found, net, f"views-{k}") for k, a, found in shown if found.get("views")]


def _shown(algorithm: Result, found: Result, net: Result, prefix: str) -> dict[str, Any]:
    return {
        "name": algorithm.get("name", ""),
        "sentence": _sentence(found),
        "strength": views_described.strength(findings.exact_loss_refutes(algorithm)),
        "network": network(found, net, f"{prefix}-network") if net.get("positions") else None,
        "order": order(found, f"{prefix}-order"),
        "rows": rows(found),
        "inconsistent": items(found, "inconsistent"),
        "played": count(found.get("played")),
        "confidence": percent(found.get("confidence")),
    }


def _sentence(found: Result) -> str:
    all_views, refuted = items(found, "views"), items(found, "refuted")
    claimed = f"ε = {show(found.get('epsilon_claimed'))} at δ = {show(found.get('delta'))}"
    if not refuted:
        weak = "" if found.get("powered") else "; so few trials could not have refuted it for a single one"
        return f"The claim, {claimed}, is refuted for none of {len(all_views)} views{weak}."
    rate = percent(found.get("false_discovery_rate"))
    return (
        f"The claim, {claimed}, is refuted for {len(refuted)} of {len(all_views)} views; of those that are named so, "
        f"a share of at most {rate} is wrong on average."
    )


def rows(found: Result) -> list[dict[str, Any]]:
    """The table: refuted views first, by their evidence."""
    ordered = sorted(items(found, "views"), key=lambda one: (not one.get("refuted"), -number(one.get("log_e"))))
    smallest = set(items(found, "smallest"))
    return [
        {
            "name": one.get("name", ""),
            "taps": one.get("taps", ""),
            "refuted": bool(one.get("refuted")),
            "smallest": one.get("name") in smallest,
            "evidence": _power(number(one.get("log_e"))),
            "audited": f"≥ {show(one.get('epsilon_audited'))}",
            "ceiling": show(one.get("ceiling")),
            "score": one.get("score", ""),
        }
        for one in ordered
    ]


def _power(log_e: float) -> str:
    """e^log_e, as people read it; ∞ has no digits."""
    if math.isnan(log_e):
        return MISSING
    if log_e < 10:
        return show(math.exp(log_e))
    decades = log_e / math.log(10)
    return f"{show(10 ** (decades % 1), 2)} × 10{_raised(int(decades))}" if math.isfinite(log_e) else "∞"


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────


def network(found: Result, net: Result, prefix: str) -> Markup:
    """Links and agents as views: which of them break the claim, which do not, and from where nobody looked."""
    places = [(number(x), number(y)) for x, y in net["positions"]]
    all_views = items(found, "views")
    links = {(one["links"][0][0], one["links"][0][1]): bool(one["refuted"]) for one in all_views if _is_link(one)}
    single = ("node", "door", "transmitter")
    agents = [(one["agents"][0], one) for one in all_views if one.get("kind") in single]
    small = len(places) <= 40
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        plot.set_axis_off()
        plot.set_aspect("equal")
        plot.margins(0.11)
        for edge in items(net, "edges"):
            i, j = int(min(edge)), int(max(edge))
            _link(plot, places[i], places[j], links.get((i, j)))
        for agent, place in enumerate(places):
            broken = [bool(one["refuted"]) for i, one in agents if i == agent]
            _agent(plot, agent, place, any(broken) if broken else None, agent == found.get("agent"), small)
        broken = sum(links.values())
        label = f"{broken} of {len(links)} links break the claim by themselves, and {_count(agents)} agents."
        return inline(figure, prefix, label)


def _is_link(view: Result) -> bool:
    return view.get("kind") == "link"


def _count(agents: Sequence[tuple[int, Result]]) -> str:
    return f"{sum(bool(one['refuted']) for _, one in agents)} of {len(agents)}"


def _link(plot: Any, start: tuple[float, float], end: tuple[float, float], broken: bool | None) -> None:
    looks: dict[bool | None, dict[str, Any]] = {
        True: {"color": VERMILLION, "linewidth": 3.6},
        False: {"color": INK, "linewidth": 1.6, "alpha": 0.7},
        None: {"color": INK, "linewidth": 1.2, "alpha": 0.4, "linestyle": (0, (2, 3))},
    }
    plot.plot([start[0], end[0]], [start[1], end[1]], zorder=1, **looks[broken])


def _agent(
    plot: Any, agent: int, place: tuple[float, float], broken: bool | None, audited: bool, small: bool
) -> None:
    x, y = place
    size = 24 if small else 7
    edge: dict[str, Any] = {"markeredgecolor": VERMILLION if broken else INK, "markeredgewidth": 3 if broken else 1.3}
    if audited:
        around = {"markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 1.3}
        plot.plot([x], [y], "o", markersize=1.45 * size, zorder=2, **around)
    plot.plot([x], [y], "o", markersize=size, markerfacecolor=PAPER, zorder=2, **edge)
    if small:
        plot.text(x, y, str(agent), ha="center", va="center_baseline", zorder=3, fontsize=11.5)


def order(found: Result, prefix: str) -> Markup | None:
    """The order of inclusion: from small views below to large ones above; None where nothing contains anything."""
    edges = [(str(a), str(b)) for a, b in items(found, "order")]
    if not edges:
        return None
    all_views = {str(one["name"]): one for one in items(found, "views")}
    places = _layered(list(all_views), edges)
    crowd = [sum(y == level for _, y in places.values()) for level in range(max(y for _, y in places.values()) + 1)]
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        plot.set_axis_off()
        plot.margins(0.07, 0.12)
        for smaller, larger in edges:
            (x0, y0), (x1, y1) = places[smaller], places[larger]
            broken = all_views[smaller]["refuted"] and all_views[larger]["refuted"]
            look: dict[str, Any] = {"color": VERMILLION, "alpha": 0.8} if broken else {"color": INK, "alpha": 0.25}
            plot.plot([x0, x1], [y0, y1], linewidth=1.2, zorder=1, **look)
        for name, (x, y) in places.items():
            broken = bool(all_views[name]["refuted"])
            face = VERMILLION if broken else PAPER
            plot.plot([x], [y], "o", markersize=9, markerfacecolor=face, markeredgecolor=INK, markeredgewidth=1.1)
            if crowd[y] <= MOST_LABELS:
                style: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 9.5, "zorder": 3}
                plot.annotate(_short(all_views[name]), (x, y), (0, -7), textcoords="offset points", **style)
        label = f"Order of inclusion of {len(places)} views; {len(items(found, 'refuted'))} break the claim."
        return inline(figure, prefix, label)


def _layered(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, tuple[float, int]]:
    """Each view at the height of the longest chain below it, spread evenly at each height, in their order."""
    below: dict[str, list[str]] = {name: [a for a, b in edges if b == name] for name in names}
    height: dict[str, int] = {}

    def high(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((high(one) for one in below[name]), default=-1)
        return height[name]

    layers: dict[int, list[str]] = {}
    for name in names:
        layers.setdefault(high(name), []).append(name)
    return {name: ((k + 0.5) / len(layer), level) for level, layer in layers.items() for k, name in enumerate(layer)}


def _short(view: Result) -> str:
    name = str(view.get("name", ""))
    return "all" if view.get("kind") == "outside" else name if view.get("kind") == "door" else name.split(" ", 1)[-1]
