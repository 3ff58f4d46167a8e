"""How the game's thresholds are chosen: by a rough criterion, on trials that are not played.

Nothing here has to be valid, for nothing here proves anything; it only has to promise little in vain. Two ways to
foresee how often a rule would be right. *At face value* a score s is the loss ln p₁/p₀, so that for a fair coin
P(world 1 | s) = 1/(1 + e^{−s}): a few hundred scores of either world tell the rates of all rules at once. *As
counted*, which takes any score, but many more trials.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special, stats

from attacks.audit.statistics.intervals import error_rate
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError

_LUCK = 0.05  # the chance that the best of all pairs of thresholds is better on these trials than it promises
_HABIT = 1.28  # standard deviations: nine games in ten prove what was promised at face value
_TRUST = 3.5  # standard deviations by which losses may miss their own odds before they are mere scores
_CUTS = (
    0.02,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.98,
)  # quantiles between which losses must keep their odds
_SAME = 1e-9  # relative: scores so close are one score, with its rounding
_FAR = 1e300


@dataclass(frozen=True)
class Thresholds:
    """A rule: 1 at score ≥ `high`, 0 at score < `low`, nothing between; −∞ and ∞ leave a world unnamed."""

    low: float
    high: float

    def says_0(self, scores: Array) -> Mask:
        """Where the rule names world 0."""
        return scores < self.low

    def says_1(self, scores: Array) -> Mask:
        """Where the rule names world 1."""
        return scores >= self.high if self.high < math.inf else np.zeros(scores.shape, dtype=np.bool_)

    @property
    def abstains(self) -> bool:
        """Whether there are scores at which the rule says nothing."""
        return self.low < self.high or self.low == math.inf

    @property
    def sides(self) -> int:
        """How many worlds the rule ever names: each costs δ/2."""
        return (self.low > -math.inf) + (self.high < math.inf)


def choose(
    scores_0: Array, scores_1: Array, *, delta: float, confidence: float, holdout: float | None
) -> tuple[int, "Table"]:
    """(how many trials of each world choose, what they say); the others are left to be played.

    Without a `holdout`, a first look takes 2 % and 200 trials more. Where the scores keep their own odds there, it
    is enough; else a second look takes 10 % and 800 more. Neither takes above 30 %.
    """
    pool = min(scores_0.size, scores_1.size)
    cuts = looks(pool) if holdout is None else [max(round((1 - holdout) * pool), 1)]
    if pool <= cuts[-1]:
        raise PrivacyError(
            f"{scores_0.size} and {scores_1.size} scores of the two worlds: need some to choose and to play"
        )
    for cut in cuts:
        first_0, first_1 = scores_0[:cut], scores_1[:cut]
        table = Table.at_face_value(first_0, first_1, delta, pool - cut, confidence)
        if keeps_its_odds(first_0, first_1, table.band()):
            return cut, table
    return cuts[-1], Table.as_counted(scores_0[: cuts[-1]], scores_1[: cuts[-1]], delta)


def looks(pool: int) -> list[int]:
    """How many of `pool` trials of each world choose: at the first look, and at the second if that was not enough."""
    most = max(round(0.3 * pool), 1)
    return [min(200 + pool // 50, most), min(800 + pool // 10, most)]


def keeps_its_odds(scores_0: Array, scores_1: Array, band: Thresholds) -> bool:
    """Whether as many scores of each world say truly how often they belong to world 1.

    In each of some 14 parts, cut at quantiles, at 0 and at the band's ends, the scores of world 1 are about as many
    as the sum of 1/(1 + e^{−s}): within `_TRUST` deviations and one score.
    """
    scores = np.concatenate([scores_0, scores_1])
    p = special.expit(scores)
    quantiles = np.quantile(np.clip(scores, -_FAR, _FAR), _CUTS, method="inverted_cdf")
    cuts = np.unique(np.append(quantiles - _SAME * np.maximum(np.abs(quantiles), 1), [0.0, band.low, band.high]))
    part = np.searchsorted(cuts, scores, side="right")
    belongs = np.bincount(part[scores_0.size :], minlength=16)
    expected = np.bincount(part, weights=p, minlength=16)
    spread = np.sqrt(np.bincount(part, weights=p * (1 - p), minlength=16))
    return bool(np.all(np.abs(belongs - expected) <= _TRUST * spread + 1))


@dataclass(frozen=True)
class Table:
    """At each candidate threshold, the share of each world's scores below it and from it on, and how far to trust it.

    The shares are promised to hold as if `size` trials of each world had shown them, but for `caution` standard
    deviations.
    """

    candidates: Array
    below: tuple[Array, Array]
    above: tuple[Array, Array]
    size: int
    caution: float
    delta: float

    @classmethod
    def as_counted(cls, scores_0: Array, scores_1: Array, delta: float) -> Self:
        """What as many scores of each world show."""
        at = candidates(scores_0, scores_1)
        below_0, below_1 = (np.searchsorted(np.sort(s), at) / s.size for s in (scores_0, scores_1))
        above_0, above_1 = (np.where(at < np.inf, 1 - below, 0.0) for below in (below_0, below_1))
        caution = float(stats.norm.isf(_LUCK / at.size**2))
        return cls(at, (below_0, below_1), (above_0, above_1), scores_0.size, caution, delta)

    @classmethod
    def at_face_value(cls, scores_0: Array, scores_1: Array, delta: float, to_play: int, confidence: float) -> Self:
        """What the scores of both worlds together say, each of its own odds, for `to_play` trials of each world."""
        at = candidates(scores_0, scores_1)
        scores = np.sort(np.concatenate([scores_0, scores_1]))
        rank = np.searchsorted(scores, at)
        sums = [np.concatenate([[0.0], np.cumsum(special.expit(s))]) / (scores.size / 2) for s in (-scores, scores)]
        below_0, below_1 = (one[rank] for one in sums)
        above_0, above_1 = (np.where(at < np.inf, one[-1] - one[rank], 0.0) for one in sums)
        caution = max(float(stats.norm.isf(error_rate(confidence))), 0.0) + _HABIT
        return cls(at, (below_0, below_1), (above_0, above_1), to_play, caution, delta)

    def band(self) -> Thresholds:
        """The rule with the most promising odds; where all scores are equal, never speak."""
        if self.candidates.size == 2:
            return Thresholds(-math.inf, math.inf)
        trials = 2 * self.size
        right = np.minimum(self.below[0][:, None] + self.above[1][None, :], 2) / 2
        wrong = np.minimum(self.below[1][:, None] + self.above[0][None, :], 2 - 2 * right) / 2
        p = self._wilson(right * trials, (right + wrong) * trials)
        q = self._wilson((right + wrong) * trials, np.full_like(right, trials))
        low, high = self.candidates[:, None], self.candidates[None, :]
        delta = self.delta / 2 * ((low > -np.inf) + np.where(high < np.inf, 1.0, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = (p - np.where(((low < high) | (low == np.inf)) & (self.delta > 0), delta / q, delta)) / (1 - p)
        best = int(np.argmax(np.where((low <= high) & np.isfinite(odds), odds, -np.inf)))
        at = divmod(best, self.candidates.size)
        return Thresholds(float(self.candidates[at[0]]), float(self.candidates[at[1]]))

    def event_1(self) -> float:
        """The threshold of the event score ≥ t that promises most for world 1."""
        return self._best(self.above[1], self.above[0])

    def event_0(self) -> float:
        """The threshold of the event score < t that promises most for world 0."""
        return self._best(self.below[0], self.below[1])

    def _best(self, hits: Array, alarms: Array) -> float:
        size = np.full_like(hits, self.size)
        hit = self._wilson(np.minimum(hits, 1) * size, size)
        alarm = 1 - self._wilson((1 - np.minimum(alarms, 1)) * size, size)
        return float(self.candidates[int(np.argmax((hit - self.delta) / alarm))])

    def _wilson(self, successes: Array, trials: Array) -> Array:
        """Wilson's lower bound of a rate: quick, and only roughly valid."""
        z = self.caution
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(trials > 0, successes / trials, 0.0)
        spread = z * np.sqrt(np.maximum(trials * p * (1 - p), 0.0) + z * z / 4)
        return (trials * p + z * z / 2 - spread) / (trials + z * z)


def candidates(scores_0: Array, scores_1: Array) -> Array:
    """Thresholds halfway between each world's quantiles, denser in the tails, and the next scores; and ±∞."""
    distinct = np.unique(np.clip(np.concatenate([scores_0, scores_1]), -_FAR, _FAR))
    gaps = np.diff(distinct) > _SAME * np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1]))
    halfway = np.concatenate([[-np.inf], (distinct[:-1] / 2 + distinct[1:] / 2)[gaps], [np.inf]])
    quantiles = np.concatenate([_quantiles(scores_0), _quantiles(scores_1)])
    at = np.searchsorted(halfway, np.clip(quantiles, -_FAR, _FAR))
    return np.unique(np.concatenate([halfway[at - 1], halfway[at], [-np.inf, np.inf]]))


def _quantiles(scores: Array) -> Array:
    """Some 25 of the scores, the extremes among them; their ranks are even on the logit scale."""
    places = np.rint(special.expit(np.linspace(-8, 8, 25)) * (scores.size - 1)).astype(np.intp)
    return np.sort(scores)[np.unique(np.concatenate([places, [0, scores.size - 1]]))]
