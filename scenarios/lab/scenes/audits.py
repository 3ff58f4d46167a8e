"""Lesson on confidence: the audit game coin by coin, what trials prove, and the effect of peeking."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.games.game import GameResult, ceiling, play
from attacks.audit.games.power import Plan, power
from attacks.audit.games.sequential_test import SequentialTestResult
from attacks.audit.result import AuditResult
from netsim.algorithms.planted_faults import L1L2MixUp
from netsim.arrays import Array, Mask
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Gaussian, Laplace
from netsim.problems.objective import direction
from netsim.randomness import Streams
from scenarios.certificate.certificate import certify
from scenarios.certificate.rows import Row, SoundCase
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


class _Tally(NamedTuple):
    """A game: `right` of `guesses` guesses, in `trials` coins, and what they prove at 95 %.

    `lower` is Clopper and Pearson's bound of P(right | guessed), ½ at least; `truth` is what that really is.
    """

    trials: int
    guesses: int
    right: int
    accuracy: float
    lower: float
    epsilon_audited: float
    truth: float


class _Seen(NamedTuple):
    """Releases of agent 1 in so many trials of each world, (trials,) each, under Laplace noise of scale 1/ε."""

    epsilon: float
    zero: Array
    one: Array

    def shares(self) -> tuple[Array, Array, Array]:
        """Histograms from −3 to 4: the middles of 35 equal parts, and the shares of each world's trials in them."""
        edges = np.linspace(-3.0, 4.0, 36)
        zero, one = (np.histogram(values, edges)[0] / values.size for values in (self.zero, self.one))
        return (edges[1:] + edges[:-1]) / 2, zero, one

    def losses(self, values: Array) -> Array:
        """ln p₁/p₀ = ε(|y| − |y − 1|) of what was released: the best score there is."""
        return self.epsilon * (np.abs(values) - np.abs(values - 1))

    def tally(self, threshold: float, trials: int) -> _Tally:
        """Play `trials` coins: say world 1 at y ≥ ½ + `threshold`, world 0 at y ≤ ½ − `threshold`, else nothing.

        The threshold is fixed before the game, as a valid bound needs. With p the lower bound of P(right | guessed),
        ε ≥ ln(p/(1 − p)).
        """
        coins = np.random.default_rng(0).integers(0, 2, trials)
        values = np.where(coins == 1, self.one[:trials], self.zero[:trials])
        says = np.where(values >= 0.5 + threshold, 1, np.where(values <= 0.5 - threshold, 0, -1))
        guesses, right = int((says >= 0).sum()), int((says == coins).sum())
        p = clopper_pearson(right, guesses, CONFIDENCE, "lower").lower if guesses else 0.5
        proven = max(math.log(p / (1 - p)), 0.0) if 0 < p < 1 else 0.0
        accuracy = right / guesses if guesses else math.nan
        return _Tally(trials, guesses, right, accuracy, max(p, 0.5), proven, self.true_accuracy(threshold))

    def true_accuracy(self, threshold: float) -> float:
        """P(right | guessed) of that rule: e^ε/(1 + e^ε) from threshold ½ on, where every guess has the full odds."""
        if threshold >= 0.5:
            return float(special.expit(self.epsilon))
        far, near = (
            0.5 * math.exp(-self.epsilon * (threshold + 0.5)),
            1 - 0.5 * math.exp(-self.epsilon * (0.5 - threshold)),
        )
        return near / (near + far)


@lru_cache(8)
def seen(epsilon: float, trials: int) -> _Seen:
    """Both worlds simulated, the number 0 or 1 released once in each trial."""
    claim = Claim(epsilon, 0.0, "the mechanism's own", Adjacency(1.0, "one number moved by 1"), "ℓ1 = ℓ2")
    world = turned(OneRelease(Laplace(1 / epsilon)), (np.zeros(1), np.ones(1)), claim, epsilon)
    other = world.pair.hypotheses[1]
    simulate = worlds(replace(world.simulation, seed=0), AGENT, other, trials)  # pyright: ignore[reportArgumentType]
    zero, one = (simulate(which, 0).releases[0][:, 0] for which in (0, 1))
    return _Seen(epsilon, zero, one)


class _ByTrials(NamedTuple):
    """ε_audited of games of so many coins: (counts,) each. `above`: the share of all games above the truth."""

    trials: Array
    low: Array
    median: Array
    high: Array
    ceiling: Array
    above: float


@lru_cache(8)
def by_trials(epsilon: float, counts: tuple[int, ...], *, games: int = 100) -> _ByTrials:
    """Many games of each size, netsim's own (`attacks.audit.games.game.play`), their thresholds from other trials."""
    both, rng = seen(epsilon, games * max(counts)), np.random.default_rng(1)

    def game(part: slice) -> GameResult:
        zero, one = (both.losses(values[part]) for values in (both.zero, both.one))
        return play(zero, one, delta=0.0, confidence=CONFIDENCE, rng=rng)

    found = [[game(slice(k * count, (k + 1) * count)) for k in range(games)] for count in counts]
    proven = np.array([[one.epsilon_audited for one in row] for row in found])
    coins = np.array([row[0].trials for row in found])
    low, median, high = np.quantile(proven, (0.1, 0.5, 0.9), axis=1)
    most = np.array([ceiling(int(n), 0.0, CONFIDENCE) for n in coins])
    return _ByTrials(coins, low, median, high, most, float((proven > epsilon).mean()))


def fewest_coins(epsilon: float) -> tuple[int, float, float]:
    """The fewest coins that, all guessed right, prove more than ε at 95 %: α^{1/N} > e^ε/(1 + e^ε); and what they
    and what one less prove."""
    fewest = int(Plan.of(10, epsilon, 0.0, CONFIDENCE).trials_to_reach)
    return fewest, ceiling(fewest, 0.0, CONFIDENCE), ceiling(fewest - 1, 0.0, CONFIDENCE)


@lru_cache(64)
def chances(claim: float, factor: float, counts: tuple[int, ...], releases: int = 1) -> list[float]:
    """The power: P(refuted) of a claim whose truth is `factor` times as much, spent in so many Laplace releases."""
    return [power(count, factor * claim, claim, releases=releases, confidence=CONFIDENCE) for count in counts]


# ── what "consistent" says ──────────────────────────────────────────────────────────────────────────────
@lru_cache(1)
def three_verdicts() -> dict[str, AuditResult]:
    """Laplace noise for a change in ℓ2, audited on two pairs; and a true claim that no such game can test."""
    algorithm = L1L2MixUp(rounds=ROUNDS, step=STEP, scale=0.8, bound=BOUND)
    trials, found = 400, dict[str, AuditResult]()
    for name, words in (("coordinate", "the change lies in one coordinate"), ("even", "it is spread over all nine")):
        slope = STEEP * direction(name, DIMENSION)
        world = turned(algorithm, (slope, -slope), None, math.nan)
        found[f"noise for the wrong norm; {words}"] = world.audited(trials, Streams(0))
    claim = Claim(LARGE, TINY, "one release", Adjacency(1.0, "one number moved by 1"), "ℓ2")
    gaussian = OneRelease(Gaussian(1 / gaussian_mu(LARGE, TINY)))
    far = turned(gaussian, (np.zeros(1), np.ones(1)), claim, LARGE)
    return found | {f"Gaussian noise, ε = {LARGE:g} at δ = 10⁻⁶": far.audited(trials, Streams(0))}


# ── peeking, and many tries ─────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Alarms:
    """False alarms of audits of a claim that is *true* (and tight): shares of all of them.

    `coins` are where one looks, (looks,); `peeking` the share that has refuted at one of the looks up to there,
    `fixed` at that look alone, both (looks,). `anytime`: of the game that may be stopped, in
    `anytime_runs`. `refuted` (runs,) is what the last look alone says.
    """

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
def alarms(epsilon: float, looks: int) -> _Alarms:
    """1,000 audits of a true claim, each of 1,000 coins, looked at after every 1000/looks of them.

    The rule says world 1 at y ≥ 1 and world 0 at y ≤ 0, where the odds are e^ε exactly; a look refutes if the right
    guesses so far would have probability 5 % or less under the claim (Clopper–Pearson).
    """
    coins = runs = 1000
    both = seen(epsilon, coins * runs)
    tossed = np.random.default_rng(0).integers(0, 2, (runs, coins))
    values = np.where(tossed == 1, both.one.reshape(runs, coins), both.zero.reshape(runs, coins))
    says = np.where(values >= 1, 1, np.where(values <= 0, 0, -1))
    at = np.unique(np.linspace(0, coins, looks + 1).astype(int)[1:]) - 1
    guesses, right = np.cumsum(says >= 0, axis=1)[:, at], np.cumsum(says == tossed, axis=1)[:, at]
    luck = np.asarray(stats.binom.sf(right - 1, guesses, special.expit(epsilon)))
    refuted = luck <= 1 - CONFIDENCE

    def anytime(run: int) -> bool:
        scores, rng = both.losses(values[run]), np.random.default_rng(0)
        zero, one = scores[tossed[run] == 0], scores[tossed[run] == 1]
        return SequentialTestResult.play(zero, one, epsilon, 0.0, 1 - CONFIDENCE, rng).refuted

    stopped = [anytime(run) for run in range(60)]
    ever = np.maximum.accumulate(refuted, axis=1)
    return _Alarms(
        at + 1, ever.mean(axis=0), refuted.mean(axis=0), float(np.mean(stopped)), len(stopped), refuted[:, -1]
    )


@lru_cache(4)
def small_certificate(repetitions: int) -> tuple[Row, int, float]:
    """So many whole audits of a Laplace mechanism whose claim is true and tight; how often the auditor accuses it,
    and the largest rate at which so few alarms are no surprise (Clopper and Pearson's upper bound, 95 %)."""
    row = certify(repetitions, chosen=[SoundCase("Laplace", laplace)]).rows[0]
    accused = row.counts.get("false alarm", 0)
    return row, accused, clopper_pearson(accused, row.repetitions, CONFIDENCE, "upper").upper
