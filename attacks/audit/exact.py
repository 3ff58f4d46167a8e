"""The exact privacy loss of an adjacent pair: ε(δ) of one direction from every sample of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.accounting import (
    SelfCheck,
    epsilon_estimate,
    epsilon_from_losses,
    gaussian_epsilon,
    loss_self_check,
)
from attacks.audit.explain import Explained, Uncovered
from attacks.audit.intervals import Interval, clopper_pearson, error_rate
from attacks.audit.noise import ALPHA, NoiseCheck, check_noise
from attacks.audit.prices import PURE, UNBOUNDED, priced
from netsim.arrays import Array
from netsim.mechanisms import Gaussian

CONSTANT = 1e-6
"""Relative: costs that differ by less are called the same."""
SLACK = 1e-5
"""What rounding may do to √cost: noise is judged down to 1e-10 of the values it covers."""


@dataclass(frozen=True)
class Level:
    """The budget spent up to an agent's `activation`: ε(δ) of what it had sent by then.

    `lower` is proven at the confidence of the whole, for each activation by itself; `estimate` is the sample's.
    """

    activation: int
    lower: float
    estimate: float


@dataclass(frozen=True)
class ExactLoss:
    """What all samples of one direction (transcripts under D, compared with D') say.

    `epsilon` encloses ε(δ) of this pair for an adversary who sees the agent's door. Its estimate is `by_formula`
    where releases are Gaussian (δ > 0) or Laplace (δ = 0) and cost the same in all transcripts, or cost nothing; else
    the sample's, also where the codec rounded the releases: their cost before that bounds from above only. Its ends,
    at δ > 0, come from the sampled losses and, for Gaussian releases, from their cost: let m and M be the smallest
    and largest cost Σ‖Δ_t‖²/σ_t² of N transcripts. At the stated confidence another one costs less than m, or more
    than M, with probability at most p each (Clopper–Pearson for 0 of N). The same
    mechanism stopped before it costs more than M is √M-GDP (a privacy filter), so δ(ε) ≤ δ_√M(ε) + p; continued
    until it costs m it tells at least what √m-GDP does, so δ(ε) ≥ δ_√m(ε) − p. At δ = 0 the lower end is the
    largest loss seen, or ∞ if a Gaussian release depends on the data, and there is no upper end: what was never
    seen may cost more.

    `leaks` is the share of transcripts with an infinite loss and `uncovered` the first message that made one.
    From activation `granted_from` on (∞: never) some release is not on the wire verbatim, and had to be granted:
    the upper end is that of an adversary who knows it; `losses`, the lower end and what was just named look at
    earlier messages only. Where in some transcript the noise drowned in rounding (`unreliable_from`), what came
    after was not looked at: the upper end is ∞. `silent`: the agent sent nothing.
    """

    epsilon: Interval
    by_formula: bool
    losses: Array
    leaks: float
    uncovered: Uncovered | None
    faint: Uncovered | None
    granted_from: float
    self_check: SelfCheck
    noise: NoiseCheck
    growth: tuple[Level, ...]
    unreliable_from: int | None
    silent: bool

    @property
    def unprotected(self) -> bool:
        """Whether more than δ of the transcripts are proven to hold an uncovered message: ε = ∞."""
        return self.uncovered is not None and math.isinf(self.epsilon.lower)

    @property
    def passed(self) -> bool:
        """Whether both self-checks hold: E[e^{−L}] ≤ 1, and the noise follows its declared law."""
        return self.self_check.passed and self.noise.passed


def granted_from(parts: Iterable[Explained]) -> float:
    """The first message, of any sample, from which on something had to be granted."""
    return min(part.granted_from for part in parts)


def combine(parts: list[Explained], delta: float, confidence: float, granted: float | None = None) -> ExactLoss:
    """Pool the samples of one direction.

    `granted` is the first message that is not looked at from below, the same for both directions (None: these
    samples' own). Everything that is said of the direction holds at `confidence` together.
    """
    cut = granted_from(parts) if granted is None else granted
    everything = _Pool.of(parts, delta, confidence)
    wire = _Pool.of([_on_wire(part, cut) for part in parts], delta, confidence)
    unreliable = min((p.unreliable_from for p in parts if p.unreliable_from is not None), default=None)
    epsilon, by_formula = everything.enclosed()
    lower = wire.enclosed()[0].lower
    closed = unreliable is None and all(part.complete and part.faint is None for part in parts)
    upper = max(epsilon.upper if closed else math.inf, lower)
    witnesses = [p.uncovered for p in parts if p.uncovered is not None and p.uncovered.message < cut]
    witnesses += [p.inexplicable for p in parts if p.inexplicable is not None]
    return ExactLoss(
        epsilon=Interval(lower, min(max(epsilon.estimate, lower), upper), upper, confidence),
        by_formula=by_formula and math.isinf(cut) and closed,
        losses=wire.losses,
        leaks=float(np.mean(np.isinf(wire.losses))),
        uncovered=min(witnesses, key=lambda u: u.message, default=None),
        faint=next((part.faint for part in parts if part.faint is not None), None),
        granted_from=everything.date(cut),
        self_check=loss_self_check(everything.losses, 1 - ALPHA),
        noise=check_noise([part.noise for part in parts]),
        growth=wire.growth(lower),
        unreliable_from=unreliable,
        silent=not everything.dates,
    )


@dataclass(frozen=True)
class _Pool:
    """All transcripts of a direction side by side: steps and cost (releases, transcripts).

    A transcript with fewer releases than another has steps and costs of 0 for the rest.
    """

    steps: Array
    cost: Array
    leaked: Array
    laws: tuple[type, ...]
    sent_in: tuple[float, ...]
    dates: tuple[int, ...]
    in_step: bool
    rounded: bool
    delta: float
    confidence: float

    @classmethod
    def of(cls, parts: list[Explained], delta: float, confidence: float) -> "_Pool":
        longest = max(parts, key=lambda part: len(part.laws))
        length = len(longest.laws)
        alike = all(part.laws == longest.laws[: len(part.laws)] for part in parts)
        in_step = all(part.sent_in == longest.sent_in[: len(part.sent_in)] for part in parts)
        return cls(
            np.concatenate([_padded(part.steps, length) for part in parts], axis=1),
            np.concatenate([_padded(part.cost, length) for part in parts], axis=1),
            np.concatenate([part.leaked for part in parts]),
            longest.laws if alike else (object,) * length,
            longest.sent_in,
            max((part.dates for part in parts), key=len),
            in_step,
            any(part.rounded for part in parts),
            delta,
            confidence,
        )

    def date(self, message: float) -> float:
        """The activation of a message; ∞ for a message that is none."""
        if math.isinf(message):
            return math.inf
        return self.dates[min(int(message), len(self.dates) - 1)] if self.dates else 1

    def _part(self, releases: int, message: float) -> "_Pool":
        """The first `releases`, and what uncovered messages told up to `message`."""
        return replace(
            self,
            steps=self.steps[:releases],
            cost=self.cost[:releases],
            leaked=np.where(self.leaked <= message, self.leaked, math.inf),
            laws=self.laws[:releases],
            sent_in=self.sent_in[:releases],
        )

    @property
    def losses(self) -> Array:
        """L of each transcript, ∞ where an uncovered message told."""
        return np.where(np.isfinite(self.leaked), math.inf, self.steps.sum(axis=0))

    @property
    def total(self) -> Array:
        """The cost of each transcript, ∞ where an uncovered message told."""
        return np.where(np.isfinite(self.leaked), math.inf, self.cost.sum(axis=0))

    def enclosed(self) -> tuple[Interval, bool]:
        """ε(δ), and whether its estimate is by formula."""
        estimate, by_formula = self._estimate()
        if self.delta == 0:
            return Interval(self._witnessed(), estimate, math.inf, self.confidence), by_formula
        sampled = epsilon_from_losses(self.losses, self.delta, 1 - self._side)
        lower, upper = sampled.lower, sampled.upper
        if self._gaussian:
            lower = lower if self.rounded else max(lower, self._cheapest())
            if self._unseen < self.delta:
                dearest = math.sqrt(float(np.max(self.total))) + SLACK
                upper = max(min(upper, gaussian_epsilon(dearest, self.delta - self._unseen)), lower)
        return Interval(lower, min(max(estimate, lower), upper), upper, self.confidence), by_formula

    def growth(self, final: float) -> tuple[Level, ...]:
        """The level after each release, and at an uncovered message after the last; the last lower end is `final`.

        The estimates do not fall, for ε of more is at least ε of less. Only the last level, where the transcripts
        carry their releases in different messages.
        """
        levels: list[Level] = []
        reached, message = 0.0, 0.0
        for t, sent in enumerate(self.sent_in if self.in_step else ()):
            message = max(message, sent)
            if math.isinf(message):
                break
            part = self._part(t + 1, message)
            estimate, _ = part._estimate()
            reached = max(reached, estimate)
            levels.append(Level(int(self.date(message)), part._proven(), reached))
        leak = float(np.min(self.leaked))
        if math.isfinite(leak) and leak > message:
            levels.append(Level(int(self.date(leak)), final, self._estimate()[0]))
        elif levels:
            levels[-1] = replace(levels[-1], lower=final)
        return tuple(levels)

    def _estimate(self) -> tuple[float, bool]:
        """The formula's ε where every transcript costs the same; else the sample's."""
        largest = float(np.max(self.total))
        if math.isfinite(largest) and largest - float(np.min(self.total)) <= CONSTANT * largest:
            if largest <= SLACK**2:
                return 0.0, True
            if priced(self.laws) == {Gaussian} and not self.rounded:
                return gaussian_epsilon(math.sqrt(largest), self.delta), True
            if priced(self.laws) <= PURE and self.delta == 0 and not self.rounded:
                return largest, True
        return (epsilon_estimate(self.losses, self.delta) if self.delta > 0 else self._witnessed()), False

    def _proven(self) -> float:
        """A quick lower end."""
        if self.delta == 0:
            return self._witnessed()
        if self._gaussian and not self.rounded:
            return self._cheapest()
        return math.inf if bool(np.all(np.isinf(self.losses))) else 0.0

    @property
    def _gaussian(self) -> bool:
        return priced(self.laws) <= {Gaussian} and bool(np.all(np.isfinite(self.total)))

    @property
    def _side(self) -> float:
        """The error rate of each end, half of it for the sampled losses and half for the cost."""
        return error_rate(self.confidence) / 2

    @property
    def _unseen(self) -> float:
        """The share of transcripts, at most, that cost more than all that were seen; or less."""
        return clopper_pearson(0, self.leaked.size, 1 - self._side / 2, "upper").upper

    def _cheapest(self) -> float:
        root = max(math.sqrt(float(np.min(self.total))) - SLACK, 0.0)
        return gaussian_epsilon(root, self.delta + self._unseen) if self.delta + self._unseen < 1 else 0.0

    def _witnessed(self) -> float:
        """Pure ε: the largest loss seen, and ∞ if Gaussian noise, not rounded, was seen to cover a difference."""
        covers = not self.rounded and any(
            law in UNBOUNDED and float(np.max(cost, where=np.isfinite(cost), initial=0.0)) > SLACK**2
            for law, cost in zip(self.laws, self.cost, strict=True)
        )
        return math.inf if covers else max(0.0, float(np.max(self.losses)))


def _on_wire(part: Explained, cut: float) -> Explained:
    """What holds for who is granted nothing: what had been sent before the cut, and what no noise explains at all."""
    kept = _before(part, cut)
    return replace(kept, leaked=np.minimum(kept.leaked, part.bare))


def _before(part: Explained, message: float) -> Explained:
    """What had been sent before a message; a release counts when it and all earlier ones are on the wire."""
    if math.isinf(message):
        return part
    length = next((t for t, sent in enumerate(part.sent_in) if sent >= message), len(part.sent_in))
    return replace(
        part,
        steps=part.steps[:length],
        cost=part.cost[:length],
        laws=part.laws[:length],
        sent_in=part.sent_in[:length],
        leaked=np.where(part.leaked < message, part.leaked, math.inf),
    )


def _padded(rows: Array, length: int) -> Array:
    return np.pad(rows, ((0, length - len(rows)), (0, 0)))
