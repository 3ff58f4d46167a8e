"""The exact privacy loss of an adjacent pair, release by release, from two replays of each transcript.

Transcripts are simulated under the true hypothesis D and explained under D and D':

    L = Σ_t [ln p(observed_t | D) − ln p(observed_t | D')].

A value that no noise covers and that D' would have sent differently is an *uncovered message*: L = ∞.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from attacks.audit.accounting import SelfCheck, epsilon_from_losses, gaussian_epsilon, loss_self_check
from attacks.audit.intervals import Interval, clopper_pearson
from attacks.replay import Comparison, Hypothesis, Release, Replayed, replay
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace

VISIBLE = 1e-9
"""A relative difference on the wire below this is rounding, not information."""
NOISE_LAW_ALPHA = 1e-4
"""Probability that the check of the noise law fails on noise that follows it."""
NOISE_SAMPLE = 20_000


@dataclass(frozen=True)
class Sample:
    """Transcripts of one world: the view of a tap at the agent, and what the audit's adversary knows besides.

    `coins()` gives the agent's private coins from their start; `releases` its noisy values, granted for those
    that are not on the wire verbatim.
    """

    view: AdversaryView
    coins: Callable[[], np.random.Generator]
    releases: list[Array]


@dataclass(frozen=True)
class Uncovered:
    """The first value on the wire that tells the two worlds apart and that no noise covers."""

    agent: int
    name: str
    activation: int
    receiver: int
    difference: float

    def __str__(self) -> str:
        to = "its neighbors" if self.receiver < 0 else f"agent {self.receiver}"
        return (
            f"agent {self.agent} sends {self.name!r} to {to} at its activation {self.activation}, a deterministic "
            f"function of its private gradients (the two worlds differ by {self.difference:.1e} relative)"
        )


@dataclass(frozen=True)
class Explained:
    """One sample under both hypotheses: `losses` (replicas,) with ∞ where an uncovered message tells.

    `cost[t]` is what release t adds, per replica: ‖Δ‖₂²/σ² for Gaussian noise, ‖Δ‖₁/b for Laplace;
    `activations[t]` is when. `off_wire` is whether some release is not on the wire verbatim (the loss is then
    an upper bound).
    """

    losses: Array
    cost: Array
    activations: tuple[int, ...]
    laws: frozenset[type]
    uncovered: Uncovered | None
    off_wire: bool
    noise: Array
    unreliable_from: int | None


def explain(sample: Sample, agent: int, true: Hypothesis, other: Hypothesis) -> Explained:
    """Replay one agent of one sample under the hypothesis that was simulated and under the other one.

    You get a `PrivacyError` if the true hypothesis does not reproduce what no noise covers.
    """
    told = replay(sample.view, agent, true, sample.coins(), sample.releases)
    foil = replay(sample.view, agent, other, sample.coins(), sample.releases)
    _check_reproduced(agent, told)
    releases = list(zip(told.releases, foil.releases, strict=True))
    losses = sum((a.log_density() - b.log_density() for a, b in releases), start=np.zeros(sample.view.replicas))
    for comparison in foil.comparisons:
        losses = np.where(comparison.difference > VISIBLE, math.inf, losses)
    return Explained(
        losses=losses,
        cost=np.array([_cost(a, b) for a, b in releases]).reshape(len(releases), sample.view.replicas),
        activations=tuple(a.activation for a, _ in releases),
        laws=frozenset(type(a.mechanism) for a, _ in releases),
        uncovered=_first_uncovered(agent, foil.comparisons),
        off_wire=any(not a.on_wire for a, _ in releases),
        noise=_noise_quantiles(told.releases),
        unreliable_from=told.unreliable_from,
    )


def _check_reproduced(agent: int, told: Replayed) -> None:
    for comparison in told.comparisons:
        if np.max(comparison.difference) > VISIBLE:
            raise PrivacyError(
                f"agent {agent}'s {comparison.name!r} of activation {comparison.activation} is not what the "
                "hypothesis that was simulated gives: the replay is not of this run"
            )


def _first_uncovered(agent: int, comparisons: list[Comparison]) -> Uncovered | None:
    for c in comparisons:
        if (difference := float(np.max(c.difference))) > VISIBLE:
            return Uncovered(agent, c.name, c.activation, c.receiver, difference)
    return None


def _cost(a: Release, b: Release) -> Array:
    difference = a.value - b.value
    if isinstance(a.mechanism, Laplace):
        return np.sum(np.abs(difference) / a.mechanism.scale, axis=-1)
    if isinstance(a.mechanism, Gaussian):
        return np.sum((difference / a.mechanism.stddev) ** 2, axis=-1)
    return np.full(len(difference), math.nan)


def _noise_quantiles(releases: list[Release]) -> Array:
    if not releases:
        return np.empty(0)
    share = max(1, NOISE_SAMPLE // len(releases))
    return np.concatenate([r.mechanism.quantiles(r.observed, r.value).ravel()[:share] for r in releases])


# ── many samples ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ExactLoss:
    """What all samples of one direction (transcripts under D, compared with D') say.

    `epsilon` encloses ε(δ) of this pair for an adversary who sees the agent's door (and the releases, if
    `off_wire`). `by_formula`: the losses' law is known and constant (Gaussian releases whose differences do not
    depend on the noise), so there is no sampling error. At δ = 0 the lower end is the largest loss seen: one
    transcript refutes. `growth` is the budget over time: (activation, ε up to it).

    The upper end for Gaussian releases whose differences do depend on the noise: let M be the largest cost
    Σ‖Δ_t‖²/σ_t² of N transcripts. At the stated confidence a transcript costs more than M with probability at
    most p (Clopper–Pearson for 0 of N), and the same mechanism stopped before its cost exceeds M is √M-GDP
    (a privacy filter). So δ(ε) ≤ δ_√M(ε) + p, and ε is at most the Gaussian ε at δ − p.
    """

    epsilon: Interval
    by_formula: bool
    losses: Array
    uncovered: Uncovered | None
    off_wire: bool
    self_check: SelfCheck
    noise_law_p: float
    growth: tuple[tuple[int, float], ...]
    unreliable_from: int | None

    @property
    def passed(self) -> bool:
        """Whether both self-checks hold: E[e^{−L}] ≤ 1, and the noise follows its declared law."""
        return self.self_check.passed and self.noise_law_p >= NOISE_LAW_ALPHA


def combine(parts: list[Explained], delta: float, confidence: float) -> ExactLoss:
    """Pool the samples of one direction; all come from the same scenario, so releases match one to one."""
    losses = np.concatenate([part.losses for part in parts])
    cost = np.concatenate([part.cost for part in parts], axis=1)
    laws = frozenset[type]().union(*(part.laws for part in parts))
    noise = np.concatenate([part.noise for part in parts])
    epsilon, by_formula = _epsilon(losses, cost, laws, delta, confidence)
    return ExactLoss(
        epsilon=epsilon,
        by_formula=by_formula,
        losses=losses,
        uncovered=next((part.uncovered for part in parts if part.uncovered is not None), None),
        off_wire=any(part.off_wire for part in parts),
        self_check=loss_self_check(losses, 1 - NOISE_LAW_ALPHA),
        noise_law_p=float(stats.kstest(noise, "uniform").pvalue) if noise.size else 1.0,
        growth=_growth(parts[0].activations, cost, laws, delta),
        unreliable_from=min((p.unreliable_from for p in parts if p.unreliable_from is not None), default=None),
    )


def _epsilon(
    losses: Array, cost: Array, laws: frozenset[type], delta: float, confidence: float
) -> tuple[Interval, bool]:
    infinite = float(np.mean(np.isinf(losses)))
    if infinite > delta:
        return Interval(math.inf, math.inf, math.inf, confidence), False
    total = cost.sum(axis=0)
    constant = bool(np.ptp(total) <= 1e-6 * np.max(total, initial=0.0)) and infinite == 0
    if constant and delta > 0 and laws <= {Gaussian}:
        value = gaussian_epsilon(math.sqrt(float(total.mean())), delta)
        return Interval(value, value, value, confidence), True
    if delta == 0:
        seen = max(0.0, float(np.max(losses)))
        largest = float(np.max(total)) if laws <= {Laplace} else math.inf
        return Interval(seen, seen, largest if constant else math.inf, confidence), constant
    sampled = epsilon_from_losses(losses, delta, confidence)
    if infinite or not laws <= {Gaussian}:
        return sampled, False
    one_sided = 1 - (1 - confidence) / 2
    dearer = clopper_pearson(0, len(total), one_sided, "upper").upper
    if dearer >= delta:
        return sampled, False
    upper = gaussian_epsilon(math.sqrt(float(np.max(total))), delta - dearer)
    return Interval(sampled.lower, min(sampled.estimate, upper), max(upper, sampled.lower), confidence), False


def _growth(
    activations: tuple[int, ...], cost: Array, laws: frozenset[type], delta: float
) -> tuple[tuple[int, float], ...]:
    if not activations or len(laws) != 1:
        return ()
    running = np.cumsum(cost, axis=0)
    if laws <= {Laplace}:
        levels = running.max(axis=1)
    elif delta > 0:
        levels = np.array([gaussian_epsilon(math.sqrt(m), delta) for m in running.mean(axis=1)])
    else:
        levels = np.full(len(running), math.inf)
    return tuple((k, float(level)) for k, level in zip(activations, levels, strict=True))
