"""Sections on attacks: reconstructed records side by side, membership with its ROC, and properties."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

import numpy as np

from attacks.score.robustness import approximate_bound
from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import INK, Chart, Drawing, Series, Style, canvas, series
from scenarios.render.sentences import Finding
from scenarios.results import attack_words as words
from scenarios.results.attacks import GradientScores, MembershipResult, ReconstructionResult, RecordAttack
from scenarios.results.numbers import MISSING, NARROW_SPACE, count, fixed, plural, show

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
