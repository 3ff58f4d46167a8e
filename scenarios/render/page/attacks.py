"""Sections on attacks: reconstructed records side by side, membership with its ROC, and properties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacks.score.inference import allowed_power
from scenarios.render.page.charts import HEIGHT, WIDTH
from scenarios.render.page.drawing import INK, Chart, Drawing, Series, Style, canvas, series
from scenarios.render.sentences import Finding
from scenarios.results import attack_words as defences
from scenarios.results.attack_words import ABSENT, VACUOUS, interval, percent, rate
from scenarios.results.attacks import (
    AtLevel,
    MembershipRefused,
    MembershipResult,
    MembershipSetting,
    PropertyRefused,
    PropertyResult,
    PropertySetting,
    ReconstructionResult,
    RecordAttack,
    RecordsOfAgent,
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
_PICTURED = 4
"""Agents whose records are pictured at once; the others are behind a summary."""
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


# ── reconstructed records ───────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Attack:
    """One attack in the table."""

    attack: str
    source: str
    given: str
    verdict: str
    mark: str
    symbol: str
    cells: tuple[str, ...]
    above: bool
    refused: str | None


@dataclass(frozen=True)
class _Strip:
    """A record beside what attacks make of it: label, values and a note of each."""

    agent: str
    tiles: tuple[tuple[str, Sequence[float], str], ...]


@dataclass(frozen=True)
class Rebuilt:
    """What was rebuilt of one algorithm's agents."""

    name: str
    found: ReconstructionResult
    weak: bool
    rows: tuple[_Attack, ...]
    bounded: bool
    strips: tuple[_Strip, ...]

    @property
    def pictures(self) -> tuple[_Strip, ...]:
        """Strips that are shown at once."""
        return self.strips[:_PICTURED]

    @property
    def more(self) -> tuple[_Strip, ...]:
        """The other strips."""
        return self.strips[_PICTURED:]


@dataclass(frozen=True)
class _Reconstructions:
    """All algorithms whose records were attacked; what the verdicts mean, and whose the attacks are."""

    sections: tuple[Rebuilt, ...]
    words: tuple[tuple[str, str, str], ...]
    sources: tuple[tuple[str, str], ...]


def reconstructed(subjects: Sequence[Finding]) -> _Reconstructions:
    """The attacks on records, in the order of the page."""
    found = [one for a in subjects if (one := rebuilt(a.entry.name, a.entry.reconstructions)) is not None]
    attacks = [one for section in found for one in section.found.attacks]
    used = {word for one in attacks for word in one.verdicts or ()}
    return _Reconstructions(
        tuple(found),
        tuple((word, _MARKS[word][0], text) for word, text in _MEANINGS.items() if word in used),
        tuple(dict.fromkeys((one.attack, one.source) for one in attacks)),
    )


def rebuilt(name: str, found: ReconstructionResult | None) -> Rebuilt | None:
    """The section of one algorithm; None where no record was attacked."""
    if found is None or not found.attacks:
        return None
    bounded = any(one.success and one.success.bound for one in found.attacks)
    rows = tuple(_row(one, bounded) for one in found.attacks)
    strips = tuple(_strips(found)) if found.image else ()
    return Rebuilt(name, found, defences.only_against_weak(found.attacks), rows, bounded, strips)


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
    said = verdict if one.refused else defences.shares(one)
    above = bound is not None and bound.above
    return _Attack(one.attack, one.source, "; ".join(given), said, mark, symbol, cells, above, one.refused)


def _strips(found: ReconstructionResult) -> list[_Strip]:
    """For each agent and record the original, what each attack makes of it, and the prior's guess; an attacker who is
    given the other records rebuilds the first alone."""
    strips: list[_Strip] = []
    for original in found.originals:
        attempts = [
            (one.attack, own, own.rebuilt) for one in found.attacks for own in one.agents
            if own.agent == original.agent and own.rebuilt
        ]  # fmt: skip
        for index, record in enumerate(original.records):
            shown = [(name, own, values[index]) for name, own, values in attempts if index < len(values)]
            if attempts and not shown:
                continue
            tiles = [("original", record, ""), *((name, values, _caption(own)) for name, own, values in shown)]
            if shown and (guess := shown[-1][1].guess) is not None:
                tiles.append(("the prior's guess", guess[index], ""))
            which = f", record {index + 1}" if len(original.records) > 1 else ""
            strips.append(_Strip(f"Agent {original.agent}{which}", tuple(tiles)))
    return strips


def _caption(own: RecordsOfAgent) -> str:
    return f"skill {fixed(own.skill)}" if own.psnr is None else f"{fixed(own.psnr, 1)} dB"


# ── membership ──────────────────────────────────────────────────────────────────────────────────────────
Played = Sequence[tuple[str, MembershipResult, Series]]


@dataclass(frozen=True)
class _Level:
    """A row of the table of membership; `whole` is of all levels of an algorithm, in its first row."""

    name: str
    of: int
    cells: tuple[str, ...]
    whole: tuple[str, ...]
    broken: bool


@dataclass(frozen=True)
class _MembershipSection:
    """Membership of one record, by algorithm."""

    about: str
    chart: Chart | None
    rows: tuple[_Level, ...]
    refused: tuple[tuple[str, str], ...]
    unlimited: tuple[tuple[str, str], ...]
    """Algorithms without a limit by a claim, and why."""
    broken: tuple[str, ...]
    allowed: bool
    single: bool


def membership(shown: Sequence[tuple[Finding, Series]]) -> _MembershipSection | None:
    """The membership games; None where none was requested."""
    games = [(one.entry.name, game, look) for one, look in shown if (game := one.entry.membership) is not None]
    if not games:
        return None
    played = [(name, game, look) for name, game, look in games if isinstance(game, MembershipResult)]
    allowed = any(_limits(one.allowed) for _, game, _ in played for one in game.levels)
    return _MembershipSection(
        _about(games[0][1]),
        _roc(played, "roc") if played else None,
        tuple(row for name, game, _ in played for row in _levels(name, game, allowed)),
        tuple((name, game.refused) for name, game, _ in games if isinstance(game, MembershipRefused)),
        tuple((name, game.claim.why_not) for name, game, _ in played if game.claim.why_not),
        tuple(name for name, game, _ in played if game.claim.broken),
        allowed,
        any(game.trials == 1 for _, game, _ in played),
    )


def _limits(allowed: float | None) -> bool:
    return allowed is not None and allowed < VACUOUS


def _about(found: MembershipSetting) -> str:
    others = "knows all other records of the agent" if found.informed else "knows no record of the agent"
    if found.informed and found.holding == 1:
        others = "knows which record that may be"
    return (
        f"Agent {found.agent} holds {plural(found.holding, 'record')}. In one world a certain record is there, in "
        f"the other {ABSENT[found.adjacency]}; the attacker {others}."
    )


def _levels(name: str, found: MembershipResult, allowed: bool) -> list[_Level]:
    single = found.trials == 1
    whole = tuple(fixed(one.estimate) if single else interval(one) for one in (found.advantage, found.auc))
    return [
        _Level(name if k == 0 else "", len(found.levels), _cells(one, allowed), whole if k == 0 else (),
              bool(found.claim.broken))
        for k, one in enumerate(found.levels)
    ]  # fmt: skip


def _cells(one: AtLevel, allowed: bool) -> tuple[str, ...]:
    limit = percent(one.allowed) if one.allowed is not None and _limits(one.allowed) else MISSING
    cells = percent(one.level), rate(one.found), percent(one.power), rate(one.alarms)
    return (*cells, limit) if allowed else cells


def _roc(played: Played, name: str) -> Chart:
    """Found against false alarms, each level with its intervals, and the border of what the claim allows."""
    edges = borders(played)
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        plot.plot([0, 1], [0, 1], color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 2)))
        for _, game, look in played:
            plot.plot(game.roc.alarms, game.roc.found, **look.line, **series(look.index))
            for one in game.levels:
                _cross(plot, one, look)
        at = np.linspace(0, 1, 201)
        for epsilon, delta, colour in edges:
            y = [allowed_power(float(x), epsilon, delta) for x in at]
            plot.plot(at, y, color=colour, linewidth=1.2, linestyle=(0, (7, 3)), alpha=0.8)
        plot.set_xlim(-0.01, 1.01)
        plot.set_ylim(-0.01, 1.01)
        plot.grid()
        plot.set_xlabel("false alarms")
        plot.set_ylabel("found")
        areas = "; ".join(f"{label}: {show(game.auc.estimate)}" for label, game, _ in played)
        words = f"Membership: found against false alarms. Area under the curve, {areas}."
        drawing = Drawing(name, words, figure)
    level = percent(played[0][1].confidence).replace(" ", NARROW_SPACE)
    whose = ", in the colour of the algorithm that claims it" if edges and edges[0][2] != INK else ""
    caption = (
        "How often the record is found where it is there, against how often it is where it is not, for every "
        f"threshold. Marks: the thresholds of the levels below, with {level} intervals both ways. Dotted: chance."
        + (f" Dashed: the most that the claimed ε allows{whose}." if edges else "")
    )
    key = tuple(look.entry(label) for label, _, look in played)
    return Chart("How well is it recognized?", drawing, key, (caption,))


def _cross(plot: Any, one: AtLevel, look: Series) -> None:
    x, y = one.alarms, one.found
    style: Style = {"color": look.colour, "linewidth": 1, **series(look.index)}
    plot.plot([x.low, x.high], [y.rate] * 2, **style)
    plot.plot([x.rate] * 2, [y.low, y.high], **style)
    plot.plot([x.rate], [y.rate], **(look.point | {"markeredgewidth": 1}), linestyle="none", **style)


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
@dataclass(frozen=True)
class _Named:
    """One algorithm in the tables of properties."""

    name: str
    cells: tuple[str, ...]
    confusion: tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True)
class _PropertySection:
    """What one agent's records are like, by algorithm."""

    about: PropertySetting
    rows: tuple[_Named, ...]
    refused: tuple[tuple[str, str], ...]
    allowed: bool

    @property
    def heads(self) -> list[str]:
        """Heads of the table of named hypotheses."""
        return [f"named: {one.name}" for one in self.about.hypotheses]


def properties(shown: Sequence[tuple[Finding, Series]]) -> _PropertySection | None:
    """The property games; None where none was requested."""
    games = [(one.entry.name, game) for one, _ in shown if (game := one.entry.property) is not None]
    if not games:
        return None
    played = [(name, game) for name, game in games if isinstance(game, PropertyResult)]
    allowed = any(_limits(game.right.allowed) for _, game in played)
    refused = tuple((name, game.refused) for name, game in games if isinstance(game, PropertyRefused))
    return _PropertySection(
        games[0][1], tuple(_named(name, game, allowed) for name, game in played), refused, allowed
    )


def _named(name: str, found: PropertyResult, allowed: bool) -> _Named:
    right = found.right
    cells = rate(right), percent(found.guess), percent(found.mean_posterior), fixed(found.bits, 2)
    limit = percent(right.allowed) if right.allowed is not None and _limits(right.allowed) else MISSING
    rows = zip((one.name for one in found.hypotheses), found.confusion, strict=True)
    return _Named(name, (*cells, limit) if allowed else cells, tuple((label, *counts) for label, counts in rows))
