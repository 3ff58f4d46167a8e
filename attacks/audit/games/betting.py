"""Betting against (ε, δ)-DP: stakes for all ε of a grid at once, and e-values of many claims at once.

With x = e^{−ε} a stake c ∈ [0, 1) multiplies the wealth by 1 + c·x when right, by 1 − c when wrong, and
every trial,
spoken or not, divides it by 1 + Σ c·x·δ/2 over the worlds that the rule may name. The mean is at most 1
under H_ε
if rule and stake were fixed before the trial: `attacks.audit.games.sequential_test` argues why.

A fair coin picks a world, a rule guesses it or says nothing. Under the claim E[1_right − e^ε 1_wrong] ≤ δ,
so a stake
on that difference has no positive expected gain, and the wealth of a bettor who begins with 1 is an
*e-value*: its
mean is at most 1. Of K e-values, dependent in whatever way, e-BH rejects the k largest, for the largest k with
e_(k) ≥ K/(αk); the expected share of wrong ones among the rejected is at most α.
Source: Wang, Ramdas 2022, "False discovery rate control with e-values", Theorem 2.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy import special

from attacks.audit.accounting.intervals import log_wealth
from attacks.audit.games.game import candidates
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError

CoinRows: TypeAlias = NDArray[np.int64]

_LEFT = 1e-6  # a stake leaves at least so much of the wealth: one wrong guess ruins nobody
_LARGE = (0.5, 0.75, 0.9, 0.97)  # quantiles of the losses' sizes, tried as the one from which stakes grow no more
_DOUBT = 3.0  # trials at exactly ε, added to those counted before a stake is learned from them


class _Bets(NamedTuple):
    """What a block of trials did to a bettor, for each ε: ln of the factor, guesses, right ones."""

    gain: Array
    spoken: Array
    right: Array


@dataclass(frozen=True)
class Block:
    """Trials that are settled together: the scores of those whose coin showed 0, and 1; each array is sorted."""

    zeros: Array
    ones: Array

    @classmethod
    def of(cls, coins: CoinRows, scores: Array) -> Self:
        """The block of `coins` (0 or 1) and their trials' scores."""
        return cls(np.sort(scores[coins == 0]), np.sort(scores[coins == 1]))

    @property
    def size(self) -> int:
        """How many trials."""
        return self.zeros.size + self.ones.size

    @cached_property
    def at_face_value(self) -> tuple[Array, Array]:
        """(sizes of the losses whose sign is right, of those whose sign is wrong), sorted; 0 has no sign."""
        right = np.sort(np.concatenate([-self.zeros[self.zeros < 0], self.ones[self.ones > 0]]))
        wrong = np.sort(np.concatenate([self.zeros[self.zeros > 0], -self.ones[self.ones < 0]]))
        return right, wrong

    def counts(self, thresholds: Array) -> tuple[Array, Array, Array, Array]:
        """(zeros below, ones below, zeros from it on, ones from it on) at each threshold; at ∞ the last two are 0"""
        below = [np.searchsorted(own, thresholds).astype(np.float64) for own in (self.zeros, self.ones)]
        sizes = self.zeros.size, self.ones.size
        above = [np.where(thresholds < np.inf, n - b, 0.0) for n, b in zip(sizes, below, strict=True)]
        return below[0], below[1], above[0], above[1]


@dataclass(frozen=True)
class AtFaceValue:
    """Takes a score s for the loss ln p₁/p₀, whose sign is wrong with probability σ(−|s|), σ(s) = 1/(1 + e^{−s}).

    Kelly's stake where |s| > ε: 1 − c = σ(−|s|)/σ(−ε), hence 1 + c·x = σ(|s|)/σ(ε). It grows with |s|, so that it
    is a mixture of rules, and δ is paid for the largest stake, that at |s| = `most`, one for each ε.
    """

    epsilons: Array
    delta: float
    most: Array

    @classmethod
    def bold(cls, epsilons: Array, delta: float) -> Self:
        """Who stakes on any loss whatever he would on one so large."""
        return cls(epsilons, delta, np.full(epsilons.size, np.inf))

    def taught(self, past: Block) -> Self:
        """Where δ > 0: with the `most` that would have grown the wealth most, and silent where none would."""
        sizes = np.concatenate(past.at_face_value)
        sizes = sizes[np.isfinite(sizes)]
        if self.delta == 0 or sizes.size == 0:
            return self
        most = np.append(np.quantile(sizes, _LARGE), np.inf)
        tries = [type(self)(self.epsilons, self.delta, np.full(self.epsilons.size, m)) for m in most]
        grown = np.stack([one.settle(past).gain for one in tries])
        return type(self)(self.epsilons, self.delta, np.where(grown.max(axis=0) > 0, most[grown.argmax(axis=0)], 0.0))

    def settle(self, block: Block) -> _Bets:
        """What the block did, for each ε."""
        cap = np.minimum(self._ruin, np.maximum(self.most, self.epsilons))
        right, wrong = block.at_face_value
        won, spoken_right = self._sum(right, cap, 1)
        lost, spoken_wrong = self._sum(wrong, cap, -1)
        stake = 1 - np.exp(_log_share(-cap) - _log_share(-self.epsilons))
        cost = block.size * np.log1p(stake * np.exp(-self.epsilons) * self.delta)
        return _Bets(won + lost - cost, spoken_right + spoken_wrong, spoken_right)

    @cached_property
    def _ruin(self) -> Array:
        """The size of loss at which the stake would leave `_LEFT` only: σ(−s) = `_LEFT`·σ(−ε)."""
        return -special.logit(_LEFT * special.expit(-self.epsilons))

    def _sum(self, sizes: Array, cap: Array, sign: int) -> tuple[Array, Array]:
        """(Σ ln σ(±min(|s|, cap))/σ(±ε), number) over the sizes above ε."""
        logs = _log_share(sign * np.minimum(sizes, float(cap.max())))
        sums = np.concatenate([[0.0], np.cumsum(logs)])
        start = np.searchsorted(sizes, self.epsilons, side="right")
        end = np.maximum(np.searchsorted(sizes, cap, side="right"), start)
        spoken = sizes.size - start
        capped = (sizes.size - end) * _log_share(sign * cap)
        return sums[end] - sums[start] + capped - spoken * _log_share(sign * self.epsilons), spoken.astype(np.float64)


def _log_share(loss: Array) -> Array:
    """ln σ(loss) = −ln(1 + e^{−loss}): of how sure a guess of this loss is."""
    return -np.logaddexp(0.0, -loss)


@dataclass(frozen=True)
class Learner:
    """One threshold and one stake for each world and each ε: score < `low` names world 0, score ≥ `high` world 1."""

    epsilons: Array
    delta: float
    low: Array
    high: Array
    stake_0: Array
    stake_1: Array

    @classmethod
    def silent(cls, epsilons: Array, delta: float) -> Self:
        """Who has seen nothing stakes nothing."""
        nothing = np.zeros(epsilons.size)
        return cls(epsilons, delta, nothing - np.inf, nothing + np.inf, nothing, nothing)

    @classmethod
    def taught(cls, epsilons: Array, delta: float, past: Block) -> Self:
        """The thresholds and stakes that would have grown the wealth most in the past, with some doubt."""
        if past.zeros.size == 0 or past.ones.size == 0:
            return cls.silent(epsilons, delta)
        at = candidates(past.zeros, past.ones)
        below_0, below_1, above_0, above_1 = past.counts(at)
        stakes_0, grown_0 = _stakes(below_0, below_1, past.size, epsilons, delta)
        stakes_1, grown_1 = _stakes(above_1, above_0, past.size, epsilons, delta)
        rows = np.arange(epsilons.size)
        best_0, best_1 = grown_0.argmax(axis=1), grown_1.argmax(axis=1)
        gain_0, gain_1 = grown_0[rows, best_0], grown_1[rows, best_1]
        clash = at[best_0] > at[best_1]
        speaks_0 = (gain_0 > 0) & ~(clash & (gain_0 < gain_1))
        speaks_1 = (gain_1 > 0) & ~(clash & (gain_0 >= gain_1))
        return cls(
            epsilons,
            delta,
            np.where(speaks_0, at[best_0], -np.inf),
            np.where(speaks_1, at[best_1], np.inf),
            np.where(speaks_0, stakes_0[rows, best_0], 0.0),
            np.where(speaks_1, stakes_1[rows, best_1], 0.0),
        )

    def settle(self, block: Block) -> _Bets:
        """What the block did, for each ε."""
        x = np.exp(-self.epsilons)
        right_0, wrong_0, _, _ = block.counts(self.low)
        _, _, wrong_1, right_1 = block.counts(self.high)
        cost = block.size * np.log1p((self.stake_0 + self.stake_1) * x * self.delta / 2)
        gain = right_0 * np.log1p(self.stake_0 * x) + wrong_0 * np.log1p(-self.stake_0)
        gain = gain + right_1 * np.log1p(self.stake_1 * x) + wrong_1 * np.log1p(-self.stake_1)
        right = right_0 + right_1
        return _Bets(gain - cost, right + wrong_0 + wrong_1, right)


def _stakes(right: Array, wrong: Array, trials: int, epsilons: Array, delta: float) -> tuple[Array, Array]:
    """(stakes, ln of what they would have earned): ε × threshold, from guesses that would have been right and wrong.

    The stake c maximizes R ln(1 + cx) + W ln(1 − c) − n ln(1 + cxd), d = δ/2, with `_DOUBT` trials at exactly ε added
    to R, W and n; the derivative vanishes where A c² + B c + C = 0, with C = Rx − W − ndx, A = dx²(n − R − W) ≥ 0.
    Where C ≤ 0 nothing is to be earned.
    """
    x, d = np.exp(-epsilons)[:, None], delta / 2
    R = right + _DOUBT * special.expit(epsilons)[:, None]
    W = wrong + _DOUBT * special.expit(-epsilons)[:, None]
    n = trials + _DOUBT
    C = R * x - W - n * d * x
    B = R * x * (d * x - 1) - W * x * (1 + d) - n * d * x * (x - 1)
    A = d * x * x * (n - R - W)
    root = np.sqrt(np.maximum(B * B - 4 * A * C, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        stake = np.where(C > 0, np.clip(2 * C / (root - B), 0.0, 1 - _LEFT), 0.0)
    earned = right * np.log1p(stake * x) + wrong * np.log1p(-stake) - trials * np.log1p(stake * x * d)
    return stake, np.where(np.isfinite(earned), earned, -np.inf)


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
