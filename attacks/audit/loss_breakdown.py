"""Breakdown of an exact loss: by release, activation and link, average against worst case, audited ε on the way.

A release adds a step to the loss, and its cost is the worst case for the difference that the two worlds make in that
transcript (`attacks.audit.loss.release_cost`). Both are summed in the order of the releases, transcript by
transcript, before anything is averaged: so the sums of activations come to that of all. A release that is broadcast
to three neighbors is on three links, with all of its cost on each: a tap on one of them sees all of it.

Unprotected messages are not in it: theirs is no finite loss (`attacks.audit.loss.wire_fields`). Where releases are
not on the wire verbatim, parts are those of an adversary who is granted them.

Samples are read one after the other and none is kept, so memory does not grow with the transcripts.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from attacks.audit.accounting.intervals import Interval, error_rate
from attacks.audit.games.game import play
from attacks.audit.loss.comparison import WorldComparison
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.loss.release_cost import Ratio
from attacks.audit.loss.wire_fields import Link, Released, UnprotectedField
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteLaplace, Laplace, UniformLaplace

_BOUNDED = frozenset({Laplace, DiscreteLaplace, UniformLaplace})
"""Laws whose loss is never above its cost."""


@dataclass(frozen=True)
class _SpentPrivacy:
    """Privacy spent by some releases, over all transcripts: their cost at least, on average and at most, and their
    step (part of the loss, of either sign, in nats) on average, at least and at most, with the mean of |step| and its
    standard error. Under Laplace noise the cost is in nats too, and no step is above it (`bounded`); that of Gaussian
    noise is ‖Δ‖²/σ², 2ρ. `infinite` is the share of transcripts in which no cost is known, which the mean leaves
    out."""

    least: float
    mean: float
    most: float
    step_mean: float
    step_size: float
    step_least: float
    step_most: float
    infinite: float
    step_error: float
    bounded: bool

    def share(self, confidence: float) -> Interval | None:
        """E|loss| over the worst case on average, of all these releases together: signs of coordinates and releases
        cancel, so it is below the shares of `attacks.audit.loss.release_cost`. Normal in |loss|, by itself; None
        without a worst case above 0."""
        if not self.bounded or self.infinite or not self.mean > 0:
            return None
        room = float(norm.isf(error_rate(confidence) / 2)) * self.step_error
        middle, room = self.step_size / self.mean, room / self.mean
        return Interval(middle - room, middle, middle + room, confidence)


@dataclass(frozen=True)
class Part:
    """Part of the loss (a release, an activation, a link, all), and its number of releases."""

    releases: int
    spent: _SpentPrivacy


@dataclass(frozen=True)
class Breakdown:
    """Loss of an agent's releases in parts, over `transcripts` of both worlds.

    `releases[t]` goes with `where[t]`, which is None where samples do not agree on where release t goes. `hidden` is
    the sum of the releases that are on no link as they were made, if there are any.
    """

    agent: int
    transcripts: int
    where: tuple[Released | None, ...]
    releases: tuple[Part, ...]
    activations: dict[int, Part]
    links: dict[Link, Part]
    hidden: Part | None
    total: Part

    @classmethod
    def of(cls, agent: int, parts: Iterable[WorldComparison]) -> "Breakdown":
        """Breakdown of all samples of an audit, of both worlds."""
        sums: dict[str, dict[Any, _Sum]] = {kind: {} for kind in ("release", "activation", "link", "hidden", "all")}
        where = dict[int, Released | None]()
        transcripts = 0
        for part in parts:
            transcripts += part.replicas
            placed = part.details.released
            bounded = [law in _BOUNDED for law in part.laws]
            for t, (step, cost) in enumerate(zip(part.steps, part.cost, strict=True)):
                here = placed[t] if t < len(placed) else None
                where[t] = here if where.get(t, here) == here else None
                sums["release"].setdefault(t, _Sum()).add(1, step, cost, bounded[t])
            for (kind, key), members in _groups(placed, len(part.steps)).items():
                # summed in the order of the releases, as the loss is: so the bits agree
                step, cost = (
                    np.cumsum(rows[members], axis=0)[-1] if members else np.zeros(part.replicas)
                    for rows in (part.steps, part.cost)
                )
                every = all(bounded[t] for t in members)
                sums[kind].setdefault(key, _Sum()).add(len(members), step, cost, every)
        each = {kind: {key: one.part(transcripts) for key, one in by.items()} for kind, by in sums.items()}
        nothing = Part(0, _SpentPrivacy(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, False))
        return cls(
            agent,
            transcripts,
            tuple(where[t] for t in sorted(where)),
            tuple(each["release"][t] for t in sorted(each["release"])),
            dict(sorted(each["activation"].items())),
            dict(sorted(each["link"].items())),
            each["hidden"].get(None),
            each["all"].get(None, nothing),
        )


@dataclass
class _Sum:
    """Moments of one part, sample after sample."""

    releases: int = 0
    seen: int = 0
    known: int = 0
    cost: float = 0.0
    least: float = np.inf
    most: float = -np.inf
    step: float = 0.0
    size: float = 0.0
    step_least: float = np.inf
    step_most: float = -np.inf
    squares: float = 0.0
    bounded: bool = True

    def add(self, releases: int, step: Array, cost: Array, bounded: bool) -> None:
        known = cost[np.isfinite(cost)]
        self.releases = max(self.releases, releases)
        self.seen += step.size
        self.known += known.size
        self.cost += float(np.sum(known))
        self.least, self.most = min(self.least, float(np.min(cost))), max(self.most, float(np.max(cost)))
        self.step += float(np.sum(step))
        self.size += float(np.sum(np.abs(step)))
        self.squares += float(np.sum(step * step))
        self.bounded = self.bounded and bounded
        self.step_least = min(self.step_least, float(np.min(step)))
        self.step_most = max(self.step_most, float(np.max(step)))

    def part(self, transcripts: int) -> Part:
        """Part over all transcripts: those that lack it spent nothing there."""
        absent = transcripts > self.seen
        known = self.known + transcripts - self.seen
        spent = _SpentPrivacy(
            min(self.least, 0.0) if absent else self.least,
            self.cost / known if known else np.inf,
            max(self.most, 0.0) if absent else self.most,
            self.step / transcripts,
            self.size / transcripts,
            min(self.step_least, 0.0) if absent else self.step_least,
            max(self.step_most, 0.0) if absent else self.step_most,
            1 - known / transcripts,
            math.sqrt(max(self.squares / transcripts - (self.size / transcripts) ** 2, 0.0) / transcripts),
            self.bounded,
        )
        return Part(self.releases, spent)


def _groups(placed: tuple[Released, ...], length: int) -> dict[tuple[str, Any], list[int]]:
    """Releases of a sample that make up each part."""
    groups: dict[tuple[str, Any], list[int]] = {("all", None): list(range(length))}
    for t, one in enumerate(placed[:length]):
        groups.setdefault(("activation", one.activation), []).append(t)
        for link in one.links:
            groups.setdefault(("link", link), []).append(t)
        if not one.links:
            groups.setdefault(("hidden", None), []).append(t)
    return groups


MOST_LEVELS = 24
"""Activations at which games are played, at most, spread over the run."""


@dataclass(frozen=True)
class _AuditedLevel:
    """Game on all that the agent had released by the end of `activation`.

    `epsilon` is a lower bound of ε(δ) by then, for this activation by itself at the confidence of the game: not for
    all of them together. `ceiling` is the most that so many `trials` could prove.
    """

    activation: int
    epsilon: float
    ceiling: float
    trials: int


def _audited_levels(
    exact: tuple[ExactLoss, ExactLoss], delta: float, confidence: float, rng: np.random.Generator
) -> tuple[_AuditedLevel, ...]:
    """White-box games at up to `MOST_LEVELS` activations; none where transcripts differ in when releases are sent.

    Before the last one it looks at the first transcripts only (`attacks.audit.loss.exact.COURSE`). A transcript's
    score is its exact loss up to there, as it is for the whole run.
    """
    first, second = exact
    levels = min(first.growth, second.growth, key=len)
    if not levels:
        return ()
    rows = min(len(first.course), len(second.course))
    releases = [(level.activation, level.release) for level in levels]
    last_of = {k: t for k, t in releases if t is not None and t < rows}  # of each activation its last release
    last = max(level.activation for e in exact for level in e.growth)
    before = [k for k in sorted(last_of) if k < last]
    places = np.linspace(0, len(before) - 1, min(MOST_LEVELS - 1, len(before)))
    picked = [before[p] for p in sorted({int(place) for place in places})]
    chosen = [(k, (first.course[last_of[k]], second.course[last_of[k]])) for k in picked]
    found: list[_AuditedLevel] = []
    for k, (zero, one) in [*chosen, (last, (first.losses, second.losses))]:
        try:
            game = play(-zero, one, delta=delta, confidence=confidence, rng=rng)
            found.append(_AuditedLevel(k, game.epsilon_audited, game.ceiling, game.trials))
        except PrivacyError:  # too few transcripts to toss coins: nothing is proven
            found.append(_AuditedLevel(k, 0.0, math.nan, 0))
    return tuple(found)


AVERAGED = 4_000_000
"""Numbers of `attacks.audit.loss.release_cost.Ratio.averages` that are kept of the first samples, about."""


@dataclass(frozen=True)
class LossBreakdown:
    """Breakdown over the transcripts of both worlds together.

    `uncovered` are all unprotected fields, in order. `average` is that of all releases and
    `averages[t]` of release t: None where a law has no value (`attacks.audit.loss.release_cost`). `audited` is the
    game at some activations, each by itself at the confidence of the audit.
    """

    breakdown: Breakdown
    uncovered: tuple[UnprotectedField, ...]
    average: Ratio | None
    averages: tuple[Ratio | None, ...]
    audited: tuple[_AuditedLevel, ...]

    @classmethod
    def of(
        cls,
        agent: int,
        parts: Iterable[WorldComparison],
        exact: tuple[ExactLoss, ExactLoss],
        delta: float,
        confidence: float,
        rng: np.random.Generator,
    ) -> "LossBreakdown":
        """Breakdown in one pass over all samples; memory does not grow with the transcripts."""
        fields, averages = tuple[UnprotectedField, ...](), list[Array]()

        def noted() -> Iterator[WorldComparison]:
            nonlocal fields
            room, seen = AVERAGED, 0
            for part in parts:
                fields = UnprotectedField.pooled([(fields, seen), (part.details.uncovered, part.replicas)])
                seen += part.replicas
                if room > 0:
                    averages.append(part.details.averages)
                    room -= part.details.averages.size
                yield part

        breakdown = Breakdown.of(agent, noted())
        return cls(
            breakdown,
            fields,
            Ratio.of(averages, None, confidence),
            tuple(Ratio.of(averages, t, confidence) for t in range(len(breakdown.releases))),
            _audited_levels(exact, delta, confidence, rng),
        )
