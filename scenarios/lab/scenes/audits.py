"""Lesson on confidence: the audit game coin by coin, what trials prove, and the effect of peeking."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import special, stats

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.audit import AuditResult
from attacks.audit.games.game import GameResult, ceiling, play
from attacks.audit.games.power import Plan, power
from attacks.audit.games.sequential_test import SequentialTestResult
from netsim.algorithms.planted_faults import L1L2MixUp
from netsim.arrays import Array, Mask
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Gaussian, Laplace
from netsim.problems.objective import direction
from netsim.randomness import Streams
from scenarios.certificate.certificate import certify
from scenarios.certificate.false_alarms import Row, SoundCase
from scenarios.certificate.worlds import (
    AGENT,
    BOUND,
    DIMENSION,
    ROUNDS,
    STEEP,
    STEP,
    OneRelease,
    gaussian_mu,
    laplace,
    turned,
)
from scenarios.stages.worlds import worlds

CONFIDENCE = 0.95
LARGE, TINY = 6.0, 1e-6
"""A claim (ε, δ) that a few hundred transcripts cannot test."""


@dataclass(frozen=True)
class _Seen:
    """Releases of agent 1 in so many trials of each world, (trials,) each, under Laplace noise of scale 1/ε."""

    epsilon: float
    zero: Array
    one: Array


@lru_cache(8)
def seen(epsilon: float, trials: int, seed: int = 0) -> _Seen:
    """Both worlds simulated, the number 0 or 1 released once in each trial."""
    released = OneRelease(Laplace(1 / epsilon))
    claim = Claim(epsilon, 0.0, "the mechanism's own", Adjacency(1.0, "one number moved by 1"), "ℓ1 = ℓ2")
    world = turned(released, (np.zeros(1), np.ones(1)), claim, epsilon)
    other = world.pair.hypotheses[1]
    simulate = worlds(replace(world.simulation, seed=seed), AGENT, other, trials)  # pyright: ignore[reportArgumentType]
    zero, one = (simulate(which, 0).releases[0][:, 0] for which in (0, 1))
    return _Seen(epsilon, zero, one)


@dataclass(frozen=True)
class _Shares:
    """Histograms: shares of each world's trials in equal parts, by the part's middle."""

    middles: Array
    zero: Array
    one: Array


def shares(both: _Seen, low: float = -3.0, high: float = 4.0, parts: int = 35) -> _Shares:
    """Of what was released in both worlds."""
    edges = np.linspace(low, high, parts + 1)
    zero, one = (np.histogram(values, edges)[0] / values.size for values in (both.zero, both.one))
    return _Shares((edges[1:] + edges[:-1]) / 2, zero, one)


def _losses(values: Array, epsilon: float) -> Array:
    """ln p₁/p₀ = ε(|y| − |y − 1|) of what was released: the best score there is."""
    return epsilon * (np.abs(values) - np.abs(values - 1))


# ── the game ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Tally:
    """A game: `right` of `guesses` guesses, in `trials` coins, and what they prove at 95 %.

    `truth` is what P(right | guessed) really is.
    """

    trials: int
    guesses: int
    right: int
    accuracy: float
    epsilon_audited: float
    truth: float

    @property
    def lower(self) -> float:
        """Clopper and Pearson's lower bound of P(right | guessed)."""
        return 1 / (1 + math.exp(-self.epsilon_audited)) if self.epsilon_audited > 0 else 0.5


def tally(both: _Seen, threshold: float, trials: int, seed: int = 0) -> _Tally:
    """Play `trials` coins: say world 1 at y ≥ ½ + `threshold`, world 0 at y ≤ ½ − `threshold`, else nothing.

    The threshold is fixed before the game, as a valid bound needs. With p the lower bound of P(right | guessed),
    ε ≥ ln(p/(1 − p)).
    """
    coins = np.random.default_rng(seed).integers(0, 2, trials)
    values = np.where(coins == 1, both.one[:trials], both.zero[:trials])
    says = np.where(values >= 0.5 + threshold, 1, np.where(values <= 0.5 - threshold, 0, -1))
    guesses, right = int((says >= 0).sum()), int((says == coins).sum())
    proven, odds = _proven(right, guesses), true_accuracy(both.epsilon, threshold)
    return _Tally(trials, guesses, right, right / guesses if guesses else math.nan, proven, odds)


def true_accuracy(epsilon: float, threshold: float) -> float:
    """P(right | guessed) of that rule: e^ε/(1 + e^ε) from threshold ½ on, where every guess has the full odds."""
    if threshold >= 0.5:
        return float(special.expit(epsilon))
    far, near = 0.5 * math.exp(-epsilon * (threshold + 0.5)), 1 - 0.5 * math.exp(-epsilon * (0.5 - threshold))
    return near / (near + far)


def _proven(right: int, guesses: int) -> float:
    """ε_audited = ln(p/(1 − p)), 0 where that is negative."""
    if guesses == 0:
        return 0.0
    p = clopper_pearson(right, guesses, CONFIDENCE, "lower").lower
    return max(math.log(p / (1 - p)), 0.0) if 0 < p < 1 else 0.0


@dataclass(frozen=True)
class _ByTrials:
    """ε_audited of games of so many coins: (counts,) each. `above`: the share of all games above the truth."""

    trials: Array
    low: Array
    median: Array
    high: Array
    ceiling: Array
    above: float


@lru_cache(8)
def by_trials(epsilon: float, counts: tuple[int, ...], *, games: int = 100, seed: int = 0) -> _ByTrials:
    """Many games of each size, netsim's own (`attacks.audit.games.game.play`), their thresholds from other trials."""
    both = seen(epsilon, games * max(counts), seed)
    rng = np.random.default_rng(seed + 1)
    found: list[list[GameResult]] = []
    for count in counts:
        parts = (slice(k * count, (k + 1) * count) for k in range(games))
        found.append([_played(both, part, rng) for part in parts])
    proven = np.array([[game.epsilon_audited for game in row] for row in found])
    coins = np.array([row[0].trials for row in found])
    low, median, high = np.quantile(proven, (0.1, 0.5, 0.9), axis=1)
    most = np.array([ceiling(int(n), 0.0, CONFIDENCE) for n in coins])
    return _ByTrials(coins, low, median, high, most, float((proven > epsilon).mean()))


def _played(both: _Seen, part: slice, rng: np.random.Generator) -> GameResult:
    zero, one = (_losses(values[part], both.epsilon) for values in (both.zero, both.one))
    return play(zero, one, delta=0.0, confidence=CONFIDENCE, rng=rng)


def fewest_coins(epsilon: float) -> int:
    """The fewest coins that, all guessed right, prove more than ε at 95 %: α^{1/N} > e^ε/(1 + e^ε)."""
    return int(Plan.of(10, epsilon, 0.0, CONFIDENCE).trials_to_reach)


def ceiling_of(coins: int) -> float:
    """ε that so many coins prove, all guessed right."""
    return ceiling(coins, 0.0, CONFIDENCE)


@lru_cache(64)
def chances(claim: float, factor: float, counts: tuple[int, ...], releases: int = 1) -> list[float]:
    """The power: P(refuted) of a claim whose truth is `factor` times as much, spent in so many Laplace releases."""
    return [power(count, factor * claim, claim, releases=releases, confidence=CONFIDENCE) for count in counts]


# ── what "consistent" says ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Told:
    """One audit, and what makes it different from the others."""

    what: str
    found: AuditResult


@lru_cache(1)
def three_verdicts(trials: int = 400) -> tuple[_Told, ...]:
    """Laplace noise for a change in ℓ2, audited on two pairs; and a claim that so few trials cannot test."""
    algorithm = L1L2MixUp(rounds=ROUNDS, step=STEP, scale=0.8, bound=BOUND)
    said: list[_Told] = []
    for name, words in (("coordinate", "the change lies in one coordinate"), ("even", "it is spread over all nine")):
        slope = STEEP * direction(name, DIMENSION)
        world = turned(algorithm, (slope, -slope), None, math.nan)
        said.append(_Told(f"noise for the wrong norm; {words}", world.audited(trials, Streams(0))))
    claim = Claim(LARGE, TINY, "one release", Adjacency(1.0, "one number moved by 1"), "ℓ2")
    gaussian = OneRelease(Gaussian(1 / gaussian_mu(LARGE, TINY)))
    far = turned(gaussian, (np.zeros(1), np.ones(1)), claim, LARGE)
    said.append(_Told(f"Gaussian noise, ε = {LARGE:g} at δ = 10⁻⁶", far.audited(trials, Streams(0))))
    return tuple(said)


# ── peeking, and many tries ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Alarms:
    """False alarms of audits of a claim that is *true* (and tight): shares of `runs` of them.

    `coins` are where one looks, (looks,); `peeking` the share that has refuted at one of the looks up to there,
    `fixed` at that look alone, both (looks,). `anytime`: of the game that may be stopped, in
    `anytime_runs`. `refuted` (runs,) is what the last look alone says.
    """

    epsilon: float
    runs: int
    coins: Array
    peeking: Array
    fixed: Array
    anytime: float
    anytime_runs: int
    refuted: Mask

    def any_of(self, tries: int) -> float:
        """The share of groups of so many audits in which at least one refutes."""
        groups = self.refuted[: len(self.refuted) // tries * tries].reshape(-1, tries)
        return float(groups.any(axis=1).mean())


@lru_cache(4)
def alarms(epsilon: float, looks: int, *, coins: int = 1000, runs: int = 1000, seed: int = 0) -> _Alarms:
    """`runs` audits of a true claim, each of `coins` coins, looked at after every coins/looks of them.

    The rule says world 1 at y ≥ 1 and world 0 at y ≤ 0, where the odds are e^ε exactly; a look refutes if the right
    guesses so far would have probability 5 % or less under the claim (Clopper–Pearson).
    """
    both = seen(epsilon, coins * runs, seed)
    rng = np.random.default_rng(seed)
    tossed = rng.integers(0, 2, (runs, coins))
    values = np.where(tossed == 1, both.one.reshape(runs, coins), both.zero.reshape(runs, coins))
    says = np.where(values >= 1, 1, np.where(values <= 0, 0, -1))
    at = np.unique(np.linspace(0, coins, looks + 1).astype(int)[1:]) - 1
    guesses, right = np.cumsum(says >= 0, axis=1)[:, at], np.cumsum(says == tossed, axis=1)[:, at]
    luck = np.asarray(stats.binom.sf(right - 1, guesses, special.expit(epsilon)))
    refuted = luck <= 1 - CONFIDENCE
    some = min(runs, 60)
    stopped = [_anytime(values[k], tossed[k], epsilon) for k in range(some)]
    ever = np.maximum.accumulate(refuted, axis=1)
    return _Alarms(
        epsilon, runs, at + 1, ever.mean(axis=0), refuted.mean(axis=0), float(np.mean(stopped)), some, refuted[:, -1]
    )


def _anytime(values: Array, tossed: Array, epsilon: float) -> bool:
    scores = _losses(values, epsilon)
    rng = np.random.default_rng(0)
    zero, one = scores[tossed == 0], scores[tossed == 1]
    return SequentialTestResult.play(zero, one, epsilon, 0.0, 1 - CONFIDENCE, rng).refuted


def any_alarm(tries: int, alpha: float = 1 - CONFIDENCE) -> float:
    """1 − (1 − α)^K: the probability that one of K independent audits errs, if each errs with probability α."""
    return -math.expm1(tries * math.log1p(-alpha))


def rate_above(alarms: int, trials: int) -> float:
    """The largest rate at which so few alarms are no surprise (Clopper and Pearson's upper bound, 95 %)."""
    return clopper_pearson(alarms, trials, CONFIDENCE, "upper").upper


@lru_cache(4)
def small_certificate(repetitions: int = 40) -> Row:
    """So many whole audits of a Laplace mechanism whose claim is true and tight: how often the auditor accuses it."""
    return certify(repetitions, chosen=[SoundCase("Laplace", laplace)]).rows[0]
