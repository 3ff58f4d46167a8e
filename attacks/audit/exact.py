"""The exact privacy loss of an adjacent pair: ε(δ) of one direction from every sample of it."""

import math
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.accounting import SelfCheck, epsilon_from_losses, gaussian_epsilon, loss_self_check
from attacks.audit.explain import Explained, Uncovered
from attacks.audit.intervals import Interval, clopper_pearson, error_rate
from attacks.audit.noise import ALPHA, NoiseCheck, check_noise
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace


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

    `epsilon` encloses ε(δ) of this pair for an adversary who sees the agent's door. `by_formula`: the losses'
    law is known and the cost was the same in all transcripts (Gaussian releases whose differences do not depend
    on the noise), so there is no sampling error. At δ = 0 the lower end is the largest loss seen: one transcript
    refutes.

    The upper end for Gaussian releases whose differences do depend on the noise: let M be the largest cost
    Σ‖Δ_t‖²/σ_t² of N transcripts. At the stated confidence a transcript costs more than M with probability at
    most p (Clopper–Pearson for 0 of N), and the same mechanism stopped before its cost exceeds M is √M-GDP
    (a privacy filter). So δ(ε) ≤ δ_√M(ε) + p, and ε is at most the Gaussian ε at δ − p.

    `leaks` is the share of transcripts with an infinite loss and `uncovered` the first message that made one.
    A release that is not on the wire verbatim had to be granted (`granted_from` that activation, else ∞): the
    upper end is that of an adversary who knows it; `losses`, the lower end and what was just named look at
    earlier activations only. Where in some transcript the noise drowned in rounding (`unreliable_from`), what
    came after was not looked at: the upper end is ∞.
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

    @property
    def unprotected(self) -> bool:
        """Whether more than δ of the transcripts are proven to have an infinite loss: ε = ∞."""
        return math.isinf(self.epsilon.lower)

    @property
    def passed(self) -> bool:
        """Whether both self-checks hold: E[e^{−L}] ≤ 1, and the noise follows its declared law."""
        return self.self_check.passed and self.noise.passed


def combine(parts: list[Explained], delta: float, confidence: float) -> ExactLoss:
    """Pool the samples of one direction; all come from the same scenario, so releases match one to one.

    Everything that is said of the direction holds at `confidence` together.
    """
    granted_from = min(part.granted_from for part in parts)
    unreliable = min((p.unreliable_from for p in parts if p.unreliable_from is not None), default=None)
    everything = _Pool.of(parts, delta, confidence)
    wire = everything.before(granted_from)
    epsilon, by_formula = everything.enclosed()
    lower = wire.enclosed()[0].lower
    upper = max(epsilon.upper if unreliable is None else math.inf, lower)
    witnesses = [p.uncovered for p in parts if p.uncovered is not None and p.uncovered.activation < granted_from]
    return ExactLoss(
        epsilon=Interval(lower, min(max(epsilon.estimate, lower), upper), upper, confidence),
        by_formula=by_formula and wire is everything and unreliable is None,
        losses=wire.losses,
        leaks=float(np.mean(np.isinf(wire.losses))),
        uncovered=min(witnesses, key=lambda u: u.activation, default=None),
        faint=next((part.faint for part in parts if part.faint is not None), None),
        granted_from=granted_from,
        self_check=loss_self_check(everything.losses, 1 - ALPHA),
        noise=check_noise([part.noise for part in parts]),
        growth=wire.growth(),
        unreliable_from=unreliable,
    )


@dataclass(frozen=True)
class _Pool:
    """All transcripts of a direction side by side: steps and cost (releases, transcripts)."""

    steps: Array
    cost: Array
    leaked: Array
    activations: tuple[int, ...]
    laws: frozenset[type]
    delta: float
    confidence: float

    @classmethod
    def of(cls, parts: list[Explained], delta: float, confidence: float) -> "_Pool":
        shortest = min((part.activations for part in parts), key=len)
        length = len(shortest)  # all the same, unless messages differ, and then the losses are infinite
        return cls(
            np.concatenate([part.steps[:length] for part in parts], axis=1),
            np.concatenate([part.cost[:length] for part in parts], axis=1),
            np.concatenate([part.leaked for part in parts]),
            shortest,
            frozenset[type]().union(*(part.laws for part in parts)),
            delta,
            confidence,
        )

    def before(self, activation: float) -> "_Pool":
        """What had been sent before an activation."""
        if math.isinf(activation):
            return self
        length = sum(a < activation for a in self.activations)
        return replace(
            self,
            steps=self.steps[:length],
            cost=self.cost[:length],
            leaked=np.where(self.leaked < activation, self.leaked, math.inf),
            activations=self.activations[:length],
        )

    @property
    def losses(self) -> Array:
        return self.losses_until(len(self.activations), math.inf)

    def losses_until(self, releases: int, activation: float) -> Array:
        """Of the first `releases`, infinite where an uncovered message told by `activation`."""
        told = np.isfinite(self.leaked) & (self.leaked <= activation)
        return np.where(told, math.inf, self.steps[:releases].sum(axis=0))

    def enclosed(self) -> tuple[Interval, bool]:
        """ε(δ), and whether by formula."""
        return self._enclosed(self.losses, self.cost.sum(axis=0))

    def growth(self) -> tuple[Level, ...]:
        """The level after each release; the estimates do not fall, for ε of more is at least ε of less."""
        levels: list[Level] = []
        running = np.cumsum(self.cost, axis=0)
        reached = 0.0
        for t, activation in enumerate(self.activations):
            level, _ = self._enclosed(self.losses_until(t + 1, activation), running[t])
            reached = max(reached, level.estimate)
            levels.append(Level(activation, level.lower, reached))
        return tuple(levels)

    def _enclosed(self, losses: Array, cost: Array) -> tuple[Interval, bool]:
        covered = not np.any(np.isinf(losses))
        largest = float(np.max(cost))
        constant = math.isfinite(largest) and largest - float(np.min(cost)) <= 1e-6 * largest
        if covered and constant and (formula := self._formula(largest)) is not None:
            return Interval(formula, formula, formula, self.confidence), True
        if self.delta == 0:
            seen = max(0.0, float(np.max(losses)))
            return Interval(seen, seen, math.inf, self.confidence), False
        sampled = epsilon_from_losses(losses, self.delta, self.confidence)
        if not covered or not self.laws <= {Gaussian}:
            return sampled, False
        return self._filtered(sampled, cost), False

    def _formula(self, cost: float) -> float | None:
        """ε(δ) where every transcript has this cost; None where there is no formula for it."""
        if cost == 0:
            return 0.0
        if self.delta > 0 and self.laws <= {Gaussian}:
            return gaussian_epsilon(math.sqrt(cost), self.delta)
        return cost if self.delta == 0 and self.laws <= {Laplace} else None

    def _filtered(self, sampled: Interval, cost: Array) -> Interval:
        one_sided = 1 - error_rate(self.confidence) / 2
        dearer = clopper_pearson(0, cost.size, one_sided, "upper").upper
        largest = float(np.max(cost))
        if dearer >= self.delta or not math.isfinite(largest):
            return sampled
        upper = max(gaussian_epsilon(math.sqrt(largest), self.delta - dearer), sampled.lower)
        return Interval(sampled.lower, min(sampled.estimate, upper), upper, self.confidence)
