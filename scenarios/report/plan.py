"""The network as a plain picture, for lessons and papers: agents, links, who hears and who meddles."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.patches import Circle

from scenarios.report.formats import number
from scenarios.report.legend import Marks
from scenarios.report.svg import INK, PAPER, VERMILLION, canvas, inline

WIDTH, HEIGHT = 470, 330
Result = Mapping[str, Any]


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
