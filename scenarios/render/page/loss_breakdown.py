"""Loss breakdown and ε over time of each audited algorithm: figures and table rows."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import (
    BLUE,
    INK,
    ORANGE,
    PAPER,
    VERMILLION,
    Chart,
    Drawing,
    Entry,
    Scale,
    Style,
    canvas,
    write_ticks,
)
from scenarios.render.sentences import Finding, moment
from scenarios.results.audit import AuditResult, LossBreakdown, LossPart, OverTime
from scenarios.results.numbers import MISSING, all_known, count, show

P = TypeVar("P", bound=LossPart)
ROWS = 12
"""Releases and links in a table, the costliest."""
_BARS = 120
"""Activations with a bar each, at most."""
_CLAIMED: Style = {"color": INK, "linestyle": (0, (7, 3))}
_EXACT: Style = {"color": BLUE, "marker": "o", "markersize": 4.5}
_AUDITED: Style = {
    "color": ORANGE, "linestyle": "none", "marker": "s", "markersize": 5.5, "markerfacecolor": PAPER
}  # fmt: skip
_EXCEEDED: Style = {"color": VERMILLION, "linestyle": "none", "marker": "X", "markersize": 9}
_KEY = (
    Entry("claimed", (_CLAIMED,)),
    Entry("exact, of this pair; band: down to what is proven", (_EXACT,)),
    Entry("audited: at least", (_AUDITED,)),
    Entry("the claim is first exceeded", (_EXCEEDED,)),
)


def charts(one: Finding, name: str) -> list[Chart]:
    """ε over time and the cost by activation of an algorithm, if it was audited; ids begin with `name`."""
    if not isinstance(one.entry.audit, AuditResult):
        return []
    drawn = (
        over_time(one.entry.over_time, f"{name}-time") if one.entry.over_time else None,
        _bars(one.entry.audit, f"{name}-bars"),
    )
    return [chart for chart in drawn if chart is not None]


# ── ε over time ─────────────────────────────────────────────────────────────────────────────────────────
def over_time(time: OverTime, name: str) -> Chart | None:
    """Claimed, exact and audited ε by activation, the region where ε means nothing, and the first violation.

    None where no curve has more than a point.
    """
    if max(len(time.claimed.count), len(time.exact.count)) < 2:
        return None
    claimed, at = all_known(time.claimed.epsilon), time.exact.count
    lines = claimed, time.exact.estimate, time.audited.epsilon
    scale = Scale.over([v for values in (*lines, time.exact.lower) for v in values])
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        scale.set_up(plot)
        bottom, top = plot.get_ylim()
        level = scale.at(time.vacuous_above)
        level = max(bottom, min(level, scale.high) if scale.has_infinity else level)
        if level < top:
            plot.axhspan(level, top, color=INK, alpha=0.09, linewidth=0)
            style: Style = {"ha": "right", "va": "bottom", "fontsize": 10, "style": "italic"}
            words = f"ε > {show(time.vacuous_above)}: vacuous"
            plot.text(0.99, level, words, transform=plot.get_yaxis_transform(), **style)
        low, high = ([scale.at(v) for v in row] for row in (time.exact.lower, time.exact.estimate))
        plot.fill_between(at, low, high, color=BLUE, alpha=0.2, linewidth=0)
        plot.plot(time.claimed.count, [scale.at(v) for v in claimed], **_CLAIMED)
        plot.plot(at, high, markevery=max(1, len(at) // 12), **_EXACT)
        plot.plot(time.audited.count, [scale.at(v) for v in time.audited.epsilon], **_AUDITED)
        if time.exceeds_from is not None and time.exceeds is not None:
            plot.axvline(time.exceeds_from, color=VERMILLION, linewidth=1, alpha=0.7)
            plot.plot([time.exceeds_from], [scale.at(time.exceeds.exact)], markeredgewidth=0, **_EXCEEDED)
        if time.undefined_from is not None:
            plot.axvline(time.undefined_from, color=INK, linewidth=1, alpha=0.5, linestyle=(0, (2, 2)))
        _whole(plot)
        plot.set_xlabel("rounds" if time.unit == "rounds" else "activations of one agent (PLF)")
        plot.set_ylabel("ε by then")
        last = "; ".join(
            f"{what} {show(values[-1]) if values else MISSING}"
            for what, values in zip(("claimed", "exact", "audited at least"), lines, strict=True)
        )
        drawing = Drawing(name, f"The three epsilons by {time.unit}. At the end: {last}.", figure)
    caption = (
        *_notes(time),
        "The claim by then is the formula of a run that ends there. Each point holds by itself at the audit's "
        "confidence, not all of them together.",
    )
    return Chart("The three epsilons over time", drawing, _KEY, caption)


def _whole(plot: Any) -> None:
    """Ticks of a horizontal axis that counts: at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    plot.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def _notes(time: OverTime) -> list[str]:
    level = show(time.vacuous_above)
    exceeds = time.exceeds and f"{show(time.exceeds.exact)}, not {show(time.exceeds.claimed)}"
    notes = (
        (time.exceeds_from, f"the exact ε is first proven to be above the claim: {exceeds}"),
        (time.claimed_vacuous_from, f"the claim is above {level} from there on: it promises nothing"),
        (time.exact_vacuous_from, f"the exact ε of the pair, as estimated, is above {level} from there on"),
        (time.proven_vacuous_from, f"its proven lower end is above {level} from there on"),
        (time.undefined_from, f"the claim is undefined from there on: {time.condition}"),
    )
    found = [(moment(time, k), words) for k, words in notes if k is not None]
    return [f"{when[0].upper()}{when[1:]}: {words}." for when, words in found]


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def _bars(audit: AuditResult, name: str) -> Chart | None:
    """Cost of each activation: mean over transcripts, and a line from the least to the most; ∞ where a field that no
    noise protects is first sent."""
    rows = [one for one in audit.loss_breakdown.activations if math.isfinite(one.cost[1])][:_BARS]
    last = rows[-1].activation if rows else _BARS
    bare = sorted({one.activation for one in audit.unprotected_fields if one.activation <= last})
    if not rows and not bare:
        return None
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        covered = [one for one in rows if one.activation not in bare]
        mean = [one.cost[1] for one in covered]
        plot.bar([one.activation for one in covered], mean, width=0.8, color=BLUE, alpha=0.75, linewidth=0)
        up = plot.get_xaxis_transform()
        for at in bare:
            plot.bar([at], [0.9], width=0.8, color=VERMILLION, alpha=0.75, linewidth=0, transform=up)
            look: Style = {"ha": "center", "va": "bottom", "color": VERMILLION, "fontsize": 16, "weight": "bold"}
            plot.text(at, 0.9, "∞", transform=up, **look)
        for one in covered:
            least, _, most = one.cost
            if most > least and math.isfinite(most):
                plot.plot([one.activation] * 2, [least, most], color=INK, linewidth=1.4)
        _whole(plot)
        plot.set_xlabel("activations of the audited agent")
        plot.set_ylabel("cost of its releases")
        if covered:
            write_ticks(plot.yaxis)
            plot.grid(axis="y")
        else:
            plot.set_yticks([])
        words = f"It is ∞ at activation {', '.join(map(count, bare))}, which nothing protects."
        if not bare:
            most = max(rows, key=lambda one: one.cost[1])
            words = f"The costliest is activation {count(most.activation)}, at {show(most.cost[1])} on average."
        drawing = Drawing(name, f"Cost by activation. {words}", figure)
    caption = "Cost of all releases of an activation: mean over transcripts, and a line from the least to the most."
    fields = "Where a field that no noise protects is first sent it is ∞; what follows costs no more."
    return Chart("Where it is spent", drawing, (), (caption, fields) if bare else (caption,))


def costliest(parts: Sequence[P], most: int = ROWS) -> list[P]:
    """The parts with the highest mean cost."""
    return sorted(parts, key=lambda one: -1.0 if math.isnan(one.cost[1]) else one.cost[1], reverse=True)[:most]


def released(one: LossBreakdown.ReleaseLoss) -> str:
    """Where a release was made, and what carries it."""
    where = one.where
    if where is None:
        return f"Release {one.release} (not the same in all transcripts)"
    if where.carriers:
        first = where.carriers[0]
        return f"Activation {where.activation}: “{first.name}” to {', '.join(map(str, first.receivers))}"
    inside = where.inside
    out = f"inside “{inside.name}” of {inside.kind} {inside.number}" if inside else "not on the wire"
    return f"Activation {where.activation}: release {one.release}, {out}"
