"""Evidence against (ε, δ) as money: a bettor who wins at odds that the claim calls unfair, and many bettors at once.

A fair coin picks a world, a rule guesses it or says nothing. Under the claim E[1_right − e^ε 1_wrong] ≤ δ, so a stake
on that difference has no positive expected gain, and the wealth of a bettor who begins with 1 is an *e-value*: its
mean is at most 1. Of K e-values, dependent in whatever way, e-BH rejects the k largest, for the largest k with
e_(k) ≥ K/(αk); the expected share of wrong ones among the rejected is at most α.
Source: Wang, Ramdas 2022, "False discovery rate control with e-values", Theorem 2.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from attacks.audit.statistics.intervals import log_wealth
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError

Indices: TypeAlias = npt.NDArray[np.int64]
STAKES = (15 / 16, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""What a rule is chosen for; `log_wealth` mixes these and smaller ones."""
CAUTION = 2.0
"""Standard deviations: rules are chosen by rates that are that much worse than those seen."""


class Rule(NamedTuple):
    """Says 1 at score ≥ `high`, 0 at score < `low`, and nothing between. low ≤ high.

    `promise` is the growth of log wealth per coin that it was chosen for; at most 0: it promises nothing.
    """

    low: float
    high: float
    promise: float


class Tally(NamedTuple):
    """How a rule did: guesses right, guesses wrong, and `coins` in all, at which it was silent else.

    `trials` is how many coins there would have been at most, which is fixed before the first is tossed.
    """

    right: int
    wrong: int
    coins: int
    trials: int


@dataclass(frozen=True)
class Coins:
    """Fair coins, each with a trial of its own: coin k took trial `trial[k]` of world `world[k]`.

    They are tossed until a world has no trial left. When to stop depends on the coins before alone, so that every
    coin tossed is fair, whatever the scores. `trials`, those of both worlds, is the most that there might be.
    """

    world: Indices
    trial: Indices
    trials: int

    @property
    def count(self) -> int:
        """How many were tossed."""
        return self.world.size

    @classmethod
    def toss(cls, trials_0: int, trials_1: int, rng: np.random.Generator) -> "Coins":
        """As many as these trials of each world allow."""
        world = rng.integers(0, 2, trials_0 + trials_1)
        ones = np.cumsum(world)
        zeros = np.arange(1, world.size + 1) - ones
        spent = (ones == trials_1) | (zeros == trials_0)
        kept = int(np.argmax(spent)) + 1 if min(trials_0, trials_1) > 0 else 0
        return cls(world[:kept], np.where(world == 1, ones, zeros)[:kept] - 1, world.size)

    def right_and_wrong(self, rule: Rule, scores_0: Array, scores_1: Array) -> tuple[Mask, Mask]:
        """(coins,) each: guessed right, guessed wrong. Scores are those of the trials played, by world."""
        is_one = self.world == 1
        score = np.where(is_one, _at(scores_1, self.trial, is_one), _at(scores_0, self.trial, ~is_one))
        one, zero = score >= rule.high, score < rule.low
        return np.where(is_one, one, zero), np.where(is_one, zero, one)

    def tally(self, rule: Rule, scores_0: Array, scores_1: Array) -> Tally:
        """How a rule does on these coins."""
        right, wrong = self.right_and_wrong(rule, scores_0, scores_1)
        return Tally(int(right.sum()), int(wrong.sum()), self.count, self.trials)


def _at(scores: Array, places: Indices, wanted: Mask) -> Array:
    return scores[np.where(wanted, places, 0)] if scores.size else np.zeros(places.shape)


def log_e_value(tally: Tally, epsilon: float, delta: float) -> float:
    """ln of the e-value against (ε, δ). Gains are in units of the largest loss e^ε + δ; their order plays no part.

    A coin that was not tossed gains 0: so the stakes, which depend on the number of gains, are fixed beforehand.
    """
    unit = math.exp(epsilon) + delta
    silent, untossed = tally.coins - tally.right - tally.wrong, tally.trials - tally.coins
    gains = [(1 - delta) / unit, -1.0, -delta / unit, 0.0]
    return log_wealth(np.repeat(gains, [tally.right, tally.wrong, silent, untossed]))


def log_e_ceiling(coins: Coins, epsilon: float, delta: float) -> float:
    """ln of the largest e-value that these coins can give: all guessed right."""
    return log_e_value(Tally(coins.count, 0, coins.count, coins.trials), epsilon, delta)


def e_bh(log_e: Array, alpha: float) -> Mask:
    """Which hypotheses e-BH rejects at level α, given ln of their e-values, (K,)."""
    if not 0 < alpha < 1:
        raise PrivacyError(f"alpha = {alpha!r}: must lie strictly between 0 and 1")
    order = np.argsort(-log_e, kind="stable")
    count = log_e.size
    needed = math.log(count / alpha) - np.log(np.arange(1, count + 1)) if count else np.empty(0)
    passed = np.flatnonzero(log_e[order] >= needed)
    rejected = np.zeros(count, dtype=bool)
    if passed.size:
        rejected[order[: passed[-1] + 1]] = True
    return rejected


# ── choosing a rule ─────────────────────────────────────────────────────────────────────────────────────


def choose_rule(scores_0: Array, scores_1: Array, epsilon: float, delta: float) -> Rule:
    """The rule that promises most against (ε, δ), from scores of trials that are not played.

    Scores are larger the more a trial looks like world 1; ±∞ is allowed, NaN is not. The promise is the growth of log
    wealth at the best of `STAKES`, at a rate of right guesses so much smaller and of wrong ones so much larger than
    those seen that it is seldom too good.
    """
    if np.isnan(scores_0).any() or np.isnan(scores_1).any():
        raise PrivacyError("some scores are NaN: score every trial")
    grid = _candidates(scores_0, scores_1)
    below_0 = np.searchsorted(np.sort(scores_0), grid) / scores_0.size
    below_1 = np.searchsorted(np.sort(scores_1), grid) / scores_1.size
    right = (below_0[:, None] + 1 - below_1[None, :]) / 2
    wrong = (below_1[:, None] + 1 - below_0[None, :]) / 2
    size = scores_0.size + scores_1.size
    growth = _growth(_cautious(right, size, -CAUTION), _cautious(wrong, size, CAUTION), epsilon, delta)
    ordered = grid[:, None] <= grid[None, :]
    low, high = divmod(int(np.argmax(np.where(ordered, growth, -np.inf))), grid.size)
    return Rule(float(grid[low]), float(grid[high]), float(growth[low, high]))


def _growth(right: Array, wrong: Array, epsilon: float, delta: float) -> Array:
    unit = math.exp(epsilon) + delta
    stakes = np.array(STAKES)[:, None, None]
    silent = np.maximum(1 - right - wrong, 0.0)
    gains = (
        right * np.log1p(stakes * (1 - delta) / unit)
        + wrong * np.log1p(-stakes)
        + silent * np.log1p(-stakes * delta / unit)
    )
    return np.max(gains, axis=0)


def _cautious(rate: Array, size: int, z: float) -> Array:
    """Wilson's bound: from below for z < 0, from above for z > 0; a rate of 0 seen is 0 from below."""
    spread = z * np.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size))
    return np.clip((rate + z * z / (2 * size) + spread) / (1 + z * z / size), 0.0, 1.0)


def _candidates(scores_0: Array, scores_1: Array) -> Array:
    """−∞, ∞, and places halfway between neighboring scores, at some 60 ranks of both worlds, dense at the ends."""
    both = np.sort(np.clip(np.concatenate([scores_0, scores_1]), -1e300, 1e300))
    distinct = np.unique(both)
    halfway = np.array([(a + b) / 2 for a, b in pairwise(distinct.tolist())])
    if halfway.size > 60:
        ranks = np.rint(special.expit(np.linspace(-7, 7, 60)) * (halfway.size - 1)).astype(int)
        halfway = halfway[np.unique(ranks)]
    return np.concatenate([[-np.inf], halfway, [np.inf]])
