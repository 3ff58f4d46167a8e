"""Sections of the page on one algorithm: loss breakdown and ε over time of its audit; reconstructed records side by
side, membership with its ROC, and hidden gradients of the attacks on it."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, TypeVar

import numpy as np

from attacks.score.robustness import approximate_bound
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
    Series,
    Style,
    canvas,
    series,
    write_ticks,
)
from scenarios.render.sentences import Finding, moment
from scenarios.results import attacked as words
from scenarios.results.attacks import GradientScores, MembershipResult, ReconstructionResult, RecordAttack
from scenarios.results.audit import AuditResult, LossBreakdown, LossPart, OverTime
from scenarios.results.numbers import MISSING, NARROW_SPACE, all_known, count, fixed, plural, show

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


# ── loss breakdown ───────────────────────────────────────────────────────────────────────────────────────────────
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


VERDICTS = {
    words.RECOVERED: (
        "bad", "✕", "The record that is rebuilt is the agent's: within the distance of success, and with a skill of "
        "at least 0.9 against the best guess without the transcript.",
    ),
    words.PARTLY: (
        "bad", "◐", "It is nearer to the agent's than a guess, with a skill above 0.1, and not recovered.",
    ),
    words.DEFENDED: (
        "good", "✓", "It explains the gradients as well as the true record does, is no nearer to it than a guess, "
        "and the gradients have noise: that hides the record from this attack.",
    ),
    words.OPEN: (
        "open", "?", "The gradients do not determine the record, or the attack does not: another one explains them "
        "too, and no noise has to hide anything. This is no defence.",
    ),
    words.FAILED: (
        "open", "?", "It does not explain the gradients as the true record does, or did not arrive: another attack "
        "may do better. This protects nobody.",
    ),
}  # fmt: skip
"""Severity class, sign and meaning of an attack's verdict: a recovered record is the finding."""
_LARGE = 6.0
"""The border of what an ε from here on allows hugs the figure's frame."""
BEFORE = "at the start", "half way"


# ── reconstructed records ───────────────────────────────────────────────────────────────────────────────
Strip = tuple[str, list[tuple[str, Sequence[float], str]]]
"""An agent's record, and what attacks make of it: label, values and a note of each."""


def mark(one: RecordAttack) -> tuple[str, str]:
    """Severity class and sign of an attack's verdict."""
    if one.verdict is None:
        return "none", "–"
    half = one.verdict == words.DEFENDED and not words.clearly(one, words.DEFENDED)
    return VERDICTS[words.OPEN if half else one.verdict][:2]  # half of the time is no defence


def strips(found: ReconstructionResult) -> list[Strip]:
    """For each agent and record the original, what each attack makes of it, and the prior's guess; an attacker who is
    given the other records rebuilds the first alone. None where records are no images."""
    strips: list[Strip] = []
    for original in found.originals if found.image else ():
        attempts = [
            (one.attack, own, own.rebuilt) for one in found.attacks for own in one.agents
            if own.agent == original.agent and own.rebuilt
        ]  # fmt: skip
        for index, record in enumerate(original.records):
            shown = [(name, own, values[index]) for name, own, values in attempts if index < len(values)]
            if attempts and not shown:
                continue
            tiles: list[tuple[str, Sequence[float], str]] = [("original", record, "")]
            for name, own, values in shown:
                tiles += [
                    (f"{name}, {when}", rows[index], "") for when, rows in zip(BEFORE, own.before, strict=False)
                ]
                note = f"skill {fixed(own.skill)}" if own.psnr is None else f"{fixed(own.psnr, 1)} dB"
                tiles.append((name, values, note))
            if shown and (guess := shown[-1][1].guess) is not None:
                tiles.append(("the prior's guess", guess[index], ""))
            which = f", record {index + 1}" if len(original.records) > 1 else ""
            strips.append((f"Agent {original.agent}{which}", tiles))
    return strips


# ── membership ──────────────────────────────────────────────────────────────────────────────────────────
Played = Sequence[tuple[str, MembershipResult, Series]]


def roc(shown: Sequence[tuple[Finding, Series]]) -> Chart | None:
    """Found against false alarms, each level with its intervals, and the border of what the claim allows; None where
    no membership game was played."""
    games = ((one.entry.name, one.entry.membership, look) for one, look in shown)
    played = [(name, game, look) for name, game, look in games if isinstance(game, MembershipResult)]
    if not played:
        return None
    edges = borders(played)
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        plot.plot([0, 1], [0, 1], color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 2)))
        for _, game, look in played:
            plot.plot(game.roc.alarms, game.roc.found, **look.line, **series(look.index))
            style: Style = {"color": look.colour, "linewidth": 1, **series(look.index)}
            for x, y in ((one.alarms, one.found) for one in game.levels):
                plot.plot([x.low, x.high], [y.rate] * 2, **style)
                plot.plot([x.rate] * 2, [y.low, y.high], **style)
                plot.plot([x.rate], [y.rate], **(look.point | {"markeredgewidth": 1}), linestyle="none", **style)

        at = np.linspace(0, 1, 201)
        for epsilon, delta, colour in edges:
            y = [approximate_bound(float(x), epsilon, delta) for x in at]
            plot.plot(at, y, color=colour, linewidth=1.2, linestyle=(0, (7, 3)), alpha=0.8)
        plot.set_xlim(-0.01, 1.01)
        plot.set_ylim(-0.01, 1.01)
        plot.grid()
        plot.set_xlabel("false alarms")
        plot.set_ylabel("found")
        areas = "; ".join(f"{label}: {show(game.auc.estimate)}" for label, game, _ in played)
        text = f"Membership: found against false alarms. Area under the curve, {areas}."
        drawing = Drawing("roc", text, figure)
    level = words.percent(played[0][1].confidence).replace(" ", NARROW_SPACE)
    whose = ", in the colour of the algorithm that claims it" if edges and edges[0][2] != INK else ""
    caption = (
        "How often the record is found where it is there, against how often it is where it is not, for every "
        f"threshold. Marks: the thresholds of the levels below, with {level} intervals both ways. Dotted: chance."
        + (f" Dashed: the most that the claimed ε allows{whose}." if edges else "")
    )
    key = tuple(look.entry(label) for label, _, look in played)
    return Chart("How well is it recognized?", drawing, key, (caption,))


def borders(played: Played) -> list[tuple[float, float, str]]:
    """ε, δ and colour of each border: in ink where all algorithms claim the same, else in that of its own, so that
    nobody is measured by what another one claims. One that is no more than the figure's frame is left out."""
    claims = [(game.claim, look) for _, game, look in played]
    found = {(c.epsilon, c.delta or 0.0): look for c, look in claims if c.epsilon is not None}
    several = len({(c.epsilon, c.delta) for c, _ in claims}) > 1
    return [
        (epsilon, delta, look.colour if several else INK)
        for (epsilon, delta), look in found.items()
        if epsilon < _LARGE
    ]


# ── hidden gradients ────────────────────────────────────────────────────────────────────────────────────
_MOST_AGENTS, _MOST_GROUPS = 8, 4
"""Agents whose hidden gradients are listed one by one, and kinds of agents that are distinguished beyond."""


def hidden(gradients: GradientScores) -> tuple[str, str]:
    """How many gradients of each agent are not identifiable, shortly where all agree or there are many agents; and
    agent by agent where that is a summary, else "". An agent that computes none, an insider, has a dash."""
    pairs = list(zip(gradients.hidden, gradients.inferred, strict=True))
    each = [count(h) if h + f else MISSING for h, f in pairs]
    full = ", ".join(f"agent {i}: {one}" for i, one in enumerate(each)) if len(each) > _MOST_AGENTS else ""
    given = [h for h, f in pairs if h + f]
    if len(given) > 1 and len(set(given)) == 1:
        return f"{count(given[0])} each" + (f" ({plural(len(given), 'agent')})" * (len(given) < len(each))), full
    if not full:
        return ", ".join(each) or MISSING, full
    groups = Counter("all" if not f else "none" if not h else count(h) for h, f in pairs if h + f)
    if len(groups) <= _MOST_GROUPS:
        return "; ".join(f"{word}: {plural(n, 'agent')}" for word, n in groups.items()), full
    return f"{count(min(given))} to {count(max(given))}, median {show(median(given))}", full
