"""Two bettors against "the mechanism is (ε, δ)-DP", each for all ε of a grid at once.

With x = e^{−ε} a stake c ∈ [0, 1) multiplies the wealth by 1 + c·x when right, by 1 − c when wrong, and every trial,
spoken or not, divides it by 1 + Σ c·x·δ/2 over the worlds that the rule may name. The mean is at most 1 under H_ε
if rule and stake were fixed before the trial: `attacks.audit.games.anytime` argues why.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacks.audit.games.thresholds import candidates
from netsim.arrays import Array

Coins: TypeAlias = NDArray[np.int64]

_LEFT = 1e-6  # a stake leaves at least so much of the wealth: one wrong guess ruins nobody
_LARGE = (0.5, 0.75, 0.9, 0.97)  # quantiles of the losses' sizes, tried as the one from which stakes grow no more
_DOUBT = 3.0  # trials at exactly ε, added to those counted before a stake is learned from them


class Bets(NamedTuple):
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
    def of(cls, coins: Coins, scores: Array) -> Self:
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

    def settle(self, block: Block) -> Bets:
        """What the block did, for each ε."""
        cap = np.minimum(self._ruin, np.maximum(self.most, self.epsilons))
        right, wrong = block.at_face_value
        won, spoken_right = self._sum(right, cap, 1)
        lost, spoken_wrong = self._sum(wrong, cap, -1)
        stake = 1 - np.exp(_log_share(-cap) - _log_share(-self.epsilons))
        cost = block.size * np.log1p(stake * np.exp(-self.epsilons) * self.delta)
        return Bets(won + lost - cost, spoken_right + spoken_wrong, spoken_right)

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

    def settle(self, block: Block) -> Bets:
        """What the block did, for each ε."""
        x = np.exp(-self.epsilons)
        right_0, wrong_0, _, _ = block.counts(self.low)
        _, _, wrong_1, right_1 = block.counts(self.high)
        cost = block.size * np.log1p((self.stake_0 + self.stake_1) * x * self.delta / 2)
        gain = right_0 * np.log1p(self.stake_0 * x) + wrong_0 * np.log1p(-self.stake_0)
        gain = gain + right_1 * np.log1p(self.stake_1 * x) + wrong_1 * np.log1p(-self.stake_1)
        right = right_0 + right_1
        return Bets(gain - cost, right + wrong_0 + wrong_1, right)


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
