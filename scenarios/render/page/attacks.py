"""Sections on attacks: reconstructed records side by side, membership with its ROC, and properties."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attacks.score.robustness import approximate_bound
from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import INK, Chart, Drawing, Series, Style, canvas, series
from scenarios.render.sentences import Finding
from scenarios.results import attack_words as defences
from scenarios.results.attack_words import ABSENT, VACUOUS, interval, percent, rate
from scenarios.results.attacks import (
    MembershipRefused,
    MembershipResult,
    PropertyRefused,
    PropertyResult,
    ReconstructionResult,
    RecordAttack,
)
from scenarios.results.numbers import MISSING, NARROW_SPACE, fixed, plural, show

_MARKS = {
    defences.RECOVERED: ("bad", "✕"),
    defences.PARTLY: ("bad", "◐"),
    defences.DEFENDED: ("good", "✓"),
    defences.OPEN: ("open", "?"),
    defences.FAILED: ("open", "?"),
}
"""How a verdict is marked: a recovered record is the finding."""
_INVERSIONS = {"strongest": "as inferred here", "published": "as the paper infers"}
_ROUNDS = {
    "all": "all gradients", "first": "the first one", "last": "the last one",
    "clearest": "the one with the least noise",
}  # fmt: skip
_MEANINGS = {
    "recovered": "The record that is rebuilt is the agent's: within the distance of success, and with a skill of at "
    "least 0.9 against the best guess without the transcript.",
    "recovered in part": "It is nearer to the agent's than a guess, with a skill above 0.1, and not recovered.",
    "defended": "It explains the gradients as well as the true record does, is no nearer to it than a guess, and the "
    "gradients have noise: that hides the record from this attack.",
    "not identifiable": "The gradients do not determine the record, or the attack does not: another one explains "
    "them too, and no noise has to hide anything. This is no defence.",
    "failed to optimize": "It does not explain the gradients as the true record does, or did not arrive: another "
    "attack may do better. This protects nobody.",
}
_LARGE = 6.0
"""The border of what an ε from here on allows hugs the figure's frame."""


BEFORE = "at the start", "half way"


# ── reconstructed records ───────────────────────────────────────────────────────────────────────────────
Strip = tuple[str, list[tuple[str, Sequence[float], str]]]
"""An agent's record, and what attacks make of it: label, values and a note of each."""


class _Attack(NamedTuple):
    """One attack in the table; `above`: it succeeds more often than the claim allows."""

    found: RecordAttack
    given: str
    verdict: str
    mark: str
    symbol: str
    cells: tuple[str, ...]
    above: bool


class _Rebuilt(NamedTuple):
    """What was rebuilt of one algorithm's agents."""

    name: str
    found: ReconstructionResult
    weak: bool
    rows: list[_Attack]
    bounded: bool
    strips: list[Strip]


class _Sections(NamedTuple):
    """The attacks on records of all algorithms, meanings of the verdicts among them, and whose the attacks are."""

    sections: list[_Rebuilt]
    words: list[tuple[str, str, str]]
    sources: list[tuple[str, str]]


def reconstructed(subjects: Sequence[Finding]) -> _Sections:
    """The attacks on records, in the order of the page; what the verdicts mean, and whose the attacks are."""
    sections = [one for a in subjects if (one := rebuilt(a.entry.name, a.entry.reconstructions)) is not None]
    attacks = [one for section in sections for one in section.found.attacks]
    used = {word for one in attacks for word in one.verdicts or ()}
    return _Sections(
        sections=sections,
        words=[(word, _MARKS[word][0], text) for word, text in _MEANINGS.items() if word in used],
        sources=list(dict.fromkeys((one.attack, one.source) for one in attacks)),
    )


def rebuilt(name: str, found: ReconstructionResult | None) -> _Rebuilt | None:
    """The section of one algorithm; None where no record was attacked."""
    if found is None or not found.attacks:
        return None
    bounded = any(one.success and one.success.bound for one in found.attacks)
    rows = [_row(one, bounded) for one in found.attacks]
    weak = defences.only_against_weak(found.attacks)
    return _Rebuilt(name, found, weak, rows, bounded, _strips(found) if found.image else [])


def _row(one: RecordAttack, bounded: bool) -> _Attack:
    success, verdict = one.success, one.verdict or "refused"
    bound = success.bound if success else None
    mark, symbol = _MARKS.get(verdict, ("none", "–"))
    if verdict == defences.DEFENDED and not defences.clearly(one, verdict):
        mark, symbol = _MARKS[defences.OPEN]  # half of the time is no defence
    given = [f"{_INVERSIONS[one.inversion or 'strongest']}; {_ROUNDS[one.rounds or 'all']}"]
    given += ["labels known"] if one.labels == "public" else []
    given += [defences.missing(one)] if defences.missing(one) else []
    rates = MISSING if success is None else f"{fixed(success.rate)} [{fixed(success.low)}, {fixed(success.high)}]"
    cells = (
        fixed(one.psnr, 1), fixed(one.ssim), fixed(one.skill), rates, fixed(success and success.guess),
        *([show(bound and bound.bound)] if bounded else []), fixed(one.label_accuracy, 2),
    )  # fmt: skip
    shown = verdict if one.refused else defences.shares(one)
    return _Attack(one, "; ".join(given), shown, mark, symbol, cells, bound is not None and bound.above)


def _strips(found: ReconstructionResult) -> list[Strip]:
    """For each agent and record the original, what each attack makes of it, and the prior's guess; an attacker who is
    given the other records rebuilds the first alone."""
    strips: list[Strip] = []
    for original in found.originals:
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


class _Games(NamedTuple):
    """The membership games: what they are about, the ROC, rows of a table, and what has none, with the reason."""

    about: str
    chart: Chart | None
    rows: list[dict[str, object]]
    refused: list[tuple[str, str]]
    unlimited: list[tuple[str, str]]
    broken: list[str]
    allowed: bool
    single: bool


def membership(shown: Sequence[tuple[Finding, Series]]) -> _Games | None:
    """The membership games, each level of each a row; None where none was requested."""
    games = [(one.entry.name, game, look) for one, look in shown if (game := one.entry.membership) is not None]
    if not games:
        return None
    played = [(name, game, look) for name, game, look in games if isinstance(game, MembershipResult)]
    allowed = any(_limits(one.allowed) for _, game, _ in played for one in game.levels)
    about = games[0][1]
    others = "knows all other records of the agent" if about.informed else "knows no record of the agent"
    if about.informed and about.holding == 1:
        others = "knows which record that may be"
    rows: list[dict[str, object]] = []
    for name, game, _ in played:
        ends = game.advantage, game.auc
        whole = [fixed(one.estimate) if game.trials == 1 else interval(one) for one in ends]
        for k, one in enumerate(game.levels):
            cells = [percent(one.level), rate(one.found), percent(one.power), rate(one.alarms)]
            cells += [_limit(one.allowed)] if allowed else []
            first: dict[str, object] = {"name": name, "of": len(game.levels), "whole": whole} if k == 0 else {}
            rows.append(first | {"cells": cells, "broken": game.claim.broken})
    return _Games(
        about=f"Agent {about.agent} holds {plural(about.holding, 'record')}. In one world a certain record is "
        f"there, in the other {ABSENT[about.adjacency]}; the attacker {others}.",
        chart=_roc(played) if played else None,
        rows=rows,
        refused=[(name, game.refused) for name, game, _ in games if isinstance(game, MembershipRefused)],
        unlimited=[(name, game.claim.why_not) for name, game, _ in played if game.claim.why_not],
        broken=[name for name, game, _ in played if game.claim.broken],
        allowed=allowed,
        single=any(game.trials == 1 for _, game, _ in played),
    )


def _limits(allowed: float | None) -> bool:
    return allowed is not None and allowed < VACUOUS


def _limit(allowed: float | None) -> str:
    return percent(allowed) if allowed is not None and _limits(allowed) else MISSING


def _roc(played: Played) -> Chart:
    """Found against false alarms, each level with its intervals, and the border of what the claim allows."""

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
        words = f"Membership: found against false alarms. Area under the curve, {areas}."
        drawing = Drawing("roc", words, figure)
    level = percent(played[0][1].confidence).replace(" ", NARROW_SPACE)
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


# ── properties ──────────────────────────────────────────────────────────────────────────────────────────
def properties(shown: Sequence[tuple[Finding, Series]]) -> dict[str, object] | None:
    """What one agent's records are like, by algorithm; None where no property game was requested."""
    games = [(one.entry.name, game) for one, _ in shown if (game := one.entry.property) is not None]
    if not games:
        return None
    played = [(name, game) for name, game in games if isinstance(game, PropertyResult)]
    allowed = any(_limits(game.right.allowed) for _, game in played)
    rows: list[dict[str, object]] = []
    for name, game in played:
        cells = [rate(game.right), percent(game.guess), percent(game.mean_posterior), fixed(game.bits, 2)]
        cells += [_limit(game.right.allowed)] if allowed else []
        counts = zip(game.hypotheses, game.confusion, strict=True)
        rows.append({"name": name, "cells": cells, "confusion": [(one.name, *row) for one, row in counts]})
    return {
        "about": games[0][1],
        "heads": [f"named: {one.name}" for one in games[0][1].hypotheses],
        "rows": rows,
        "refused": [(name, game.refused) for name, game in games if isinstance(game, PropertyRefused)],
        "allowed": allowed,
    }
