"""Distinguishing game: thresholds chosen on unplayed trials, and wins that bound ε from below.

For a fair coin and any rule that names world 0, world 1 or neither, an (ε, δ) mechanism allows
P(right) ≤ e^ε P(wrong) + δ: each half of it is the definition, for one direction. When the rule always speaks this is
P(right) ≤ (e^ε + δ)/(1 + e^ε). The bound holds for any score, a bad one only proves less.

The choice of thresholds need not be valid, for it proves nothing; it only has to promise little in vain. There are
two ways to foresee how often a rule would be right. *At face value* a score s is the loss ln p₁/p₀, so that for a
fair coin P(world 1 | s) = 1/(1 + e^{−s}): a few hundred scores of either world give the rates of all rules at once,
so 4 % of 10,000 trials are enough. *As counted*, which takes any score, but many more trials.
"""

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy import special, stats

from attacks.audit.accounting.intervals import clopper_pearson, error_rate, wilson_lower
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError

_LUCK = 0.05  # the chance that the best of all pairs of thresholds is better on these trials than it promises
_HABIT = 1.28  # standard deviations: nine games in ten prove what was promised at face value
_TRUST = 3.5  # standard deviations by which losses may miss their own odds before they are mere scores
_CUTS = (0.02, *np.arange(1, 10) / 10, 0.98)  # quantiles between which losses must keep their odds
_SAME = 1e-9  # relative: scores so close are one score, with its rounding
_FAR = 1e300


@dataclass(frozen=True)
class _Thresholds:
    """Rule of a game: 1 at score ≥ `high`, 0 at score < `low`, nothing between; −∞ and ∞ leave a world unnamed."""

    low: float
    high: float

    def says_0(self, scores: Array) -> Mask:
        """Mask of the scores at which the rule names world 0."""
        return scores < self.low

    def says_1(self, scores: Array) -> Mask:
        """Mask of the scores at which the rule names world 1."""
        return scores >= self.high if self.high < math.inf else np.zeros(scores.shape, dtype=np.bool_)

    @property
    def abstains(self) -> bool:
        """Whether there are scores at which the rule is silent."""
        return self.low < self.high or self.low == math.inf

    @property
    def sides(self) -> int:
        """Number of worlds that the rule ever names: each costs δ/2, for the coin shows it with probability ½."""
        return (self.low > -math.inf) + (self.high < math.inf)


def _choose(
    scores_0: Array,
    scores_1: Array,
    *,
    delta: float,
    confidence: float,
    holdout: float | None,
    chosen_on: tuple[Array, Array] | None = None,
) -> tuple[int, "_Table"]:
    """(number of trials of each world that choose, table of these); the others are left to be played.

    Without a `holdout`, a first look takes 2 % and 200 trials more. Where the scores keep their own odds there, it
    is enough; else a second look takes 10 % and 800 more. Neither takes above 30 %. Scores of other
    trials to be `chosen_on` leave all.
    """
    pool = min(scores_0.size, scores_1.size)
    if chosen_on is not None:
        table = _Table.at_face_value(*chosen_on, delta, pool, confidence)
        return 0, table if _keeps_its_odds(*chosen_on, table.band()) else _Table.as_counted(*chosen_on, delta)
    cuts = looks(pool) if holdout is None else [max(round((1 - holdout) * pool), 1)]
    if pool <= cuts[-1]:
        raise PrivacyError(
            f"{scores_0.size} and {scores_1.size} scores of the two worlds: need some to choose and to play"
        )
    for cut in cuts:
        first_0, first_1 = scores_0[:cut], scores_1[:cut]
        table = _Table.at_face_value(first_0, first_1, delta, pool - cut, confidence)
        if _keeps_its_odds(first_0, first_1, table.band()):
            return cut, table
    return cuts[-1], _Table.as_counted(scores_0[: cuts[-1]], scores_1[: cuts[-1]], delta)


def looks(pool: int) -> list[int]:
    """Numbers of `pool` trials of each world that choose: at the first look, and at the second if it is needed."""
    most = max(round(0.3 * pool), 1)
    return [min(200 + pool // 50, most), min(800 + pool // 10, most)]


def _keeps_its_odds(scores_0: Array, scores_1: Array, band: _Thresholds) -> bool:
    """Test whether scores are losses: whether world 1 has as many of them as they say themselves.

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
class _Table:
    """Shares of each world's scores below and from each candidate threshold on, and how far to trust them.

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
        """Table of the shares seen; both worlds have equally many scores."""
        at = candidates(scores_0, scores_1)
        below_0, below_1 = (np.searchsorted(np.sort(s), at) / s.size for s in (scores_0, scores_1))
        above_0, above_1 = (np.where(at < np.inf, 1 - below, 0.0) for below in (below_0, below_1))
        caution = float(stats.norm.isf(_LUCK / at.size**2))
        return cls(at, (below_0, below_1), (above_0, above_1), scores_0.size, caution, delta)

    @classmethod
    def at_face_value(cls, scores_0: Array, scores_1: Array, delta: float, to_play: int, confidence: float) -> Self:
        """Table of the shares that all scores imply by their own odds, for `to_play` trials of each world."""
        at = candidates(scores_0, scores_1)
        scores = np.sort(np.concatenate([scores_0, scores_1]))
        rank = np.searchsorted(scores, at)
        sums = [np.concatenate([[0.0], np.cumsum(special.expit(s))]) / (scores.size / 2) for s in (-scores, scores)]
        below_0, below_1 = (one[rank] for one in sums)
        above_0, above_1 = (np.where(at < np.inf, one[-1] - one[rank], 0.0) for one in sums)
        caution = max(float(stats.norm.isf(error_rate(confidence))), 0.0) + _HABIT
        return cls(at, (below_0, below_1), (above_0, above_1), to_play, caution, delta)

    def band(self) -> _Thresholds:
        """Rule with the most promising odds; where all scores are equal, one that is always silent."""
        if self.candidates.size == 2:
            return _Thresholds(-math.inf, math.inf)
        trials = 2 * self.size
        right = np.minimum(self.below[0][:, None] + self.above[1][None, :], 2) / 2
        wrong = np.minimum(self.below[1][:, None] + self.above[0][None, :], 2 - 2 * right) / 2
        p = wilson_lower(right * trials, (right + wrong) * trials, self.caution)
        q = wilson_lower((right + wrong) * trials, np.full_like(right, trials), self.caution)
        low, high = self.candidates[:, None], self.candidates[None, :]
        delta = self.delta / 2 * ((low > -np.inf) + np.where(high < np.inf, 1.0, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = (p - np.where(((low < high) | (low == np.inf)) & (self.delta > 0), delta / q, delta)) / (1 - p)
        best = int(np.argmax(np.where((low <= high) & np.isfinite(odds), odds, -np.inf)))
        at = divmod(best, self.candidates.size)
        return _Thresholds(float(self.candidates[at[0]]), float(self.candidates[at[1]]))

    def event(self, hits: Array, alarms: Array) -> float:
        """Threshold of the event that promises most, by the shares of its own world and of the other."""
        size = np.full_like(hits, self.size)
        hit = wilson_lower(np.minimum(hits, 1) * size, size, self.caution)
        alarm = 1 - wilson_lower((1 - np.minimum(alarms, 1)) * size, size, self.caution)
        return float(self.candidates[int(np.argmax((hit - self.delta) / alarm))])


def candidates(scores_0: Array, scores_1: Array) -> Array:
    """Thresholds halfway between each world's quantiles, denser in the tails, and the next scores; and ±∞."""
    distinct = np.unique(np.clip(np.concatenate([scores_0, scores_1]), -_FAR, _FAR))
    gaps = np.diff(distinct) > _SAME * np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1]))
    halfway = np.concatenate([[-np.inf], (distinct[:-1] / 2 + distinct[1:] / 2)[gaps], [np.inf]])
    quantiles = np.concatenate([_quantiles(scores_0), _quantiles(scores_1)])
    at = np.searchsorted(halfway, np.clip(quantiles, -_FAR, _FAR))
    return np.unique(np.concatenate([halfway[at - 1], halfway[at], [-np.inf, np.inf]]))


def _quantiles(scores: Array) -> Array:
    """Quantiles, some 25 with the extremes among them; their ranks are even on the logit scale."""
    places = np.rint(special.expit(np.linspace(-8, 8, 25)) * (scores.size - 1)).astype(np.intp)
    return np.sort(scores)[np.unique(np.concatenate([places, [0, scores.size - 1]]))]


BAND_SHARE = 0.1  # of α, spent on how often the rule speaks, where that is needed
_SPARE = 3.0  # standard deviations of the coins that a world holds in reserve


@dataclass(frozen=True)
class _RateBound:
    """Bound ε ≥ ln((hits_lo − δ)/alarms_hi) for the event score ≥ threshold (world 1) or < threshold (world 0).

    `hit_rate_lower` bounds the event's probability in `world`, `alarm_rate_upper` in the other one.
    """

    epsilon: float
    world: Literal[0, 1]
    threshold: float
    hit_rate_lower: float
    alarm_rate_upper: float


@dataclass(frozen=True)
class GameResult:
    """Result of one game. `epsilon_audited` ≥ 0 is a lower bound of ε at `delta`, with `confidence`.

    The rule said 1 at score ≥ `threshold_1`, 0 at score < `threshold_0`, and nothing between. `trials` coins
    were tossed, `guesses` of them guessed, `correct` of these right; `accuracy_lower` bounds P(right | guessed).
    `ceiling` is the ε that as many trials prove when all are guessed right. `choosing` trials of each world chose the
    thresholds and were not played. `rates` is a second statistic on the same trials: valid at the same confidence by
    itself, not together with `epsilon_audited`, which is the one to decide by.
    """

    epsilon_audited: float
    delta: float
    confidence: float
    trials: int
    guesses: int
    correct: int
    accuracy_lower: float
    threshold_0: float
    threshold_1: float
    direction: Literal["both worlds", "world 0", "world 1"]
    ceiling: float
    choosing: int
    rates: _RateBound


def ceiling(trials: int, delta: float, confidence: float) -> float:
    """Largest ε that `trials` coins can prove: all guessed right, ln((α^{1/N} − δ)/(1 − α^{1/N}))."""
    _check(delta, confidence)
    if trials < 1:
        raise PrivacyError(f"trials = {trials}: a game needs at least one")
    return _epsilon(clopper_pearson(trials, trials, confidence, "lower").lower, delta)


def play(
    scores_0: Array,
    scores_1: Array,
    *,
    delta: float,
    confidence: float,
    rng: np.random.Generator,
    holdout: float | None = None,
    chosen_on: tuple[Array, Array] | None = None,
) -> GameResult:
    """Play the game with recorded scores of independent trials in world 0 and in world 1.

    Scores are larger the more the trial looks like world 1; ±∞ is allowed. The first trials of each world choose
    the thresholds; the others are played. Where the scores are losses ln p₁/p₀, some 4 % of 10,000 trials choose; of
    other scores at most 30 % do. How many choose is decided by these trials alone, so that the others are as fresh as
    ever; `holdout` sets the share that is played instead. With scores of other trials to be `chosen_on`, as many of
    each world, all are played. Raises `PrivacyError` for NaN and for too few trials.
    """
    # A fixed number from each world is not a coin: the coins are tossed here, and each consumes the next trial of its
    # world, so the bits are fair and independent of every score. So many are tossed that a world runs out in one game
    # of 400; each coin that finds its world empty counts as a wrong guess, the worst that its trial could have been.
    _check(delta, confidence)
    if holdout is not None and not 0 < holdout < 1:
        raise PrivacyError(f"holdout = {holdout!r}: must lie strictly between 0 and 1")
    flat_0, flat_1 = checked(scores_0, "world 0"), checked(scores_1, "world 1")
    cut, table = _choose(flat_0, flat_1, delta=delta, confidence=confidence, holdout=holdout, chosen_on=chosen_on)
    rest_0, rest_1 = flat_0[cut:], flat_1[cut:]
    trials = coins_for(min(rest_0.size, rest_1.size))
    if trials < 1:
        raise PrivacyError(f"{rest_0.size} and {rest_1.size} trials to play: too few to toss coins, bring at least 8")
    rule = table.band()
    ones = int(rng.integers(0, 2, trials).sum())
    seen_0, seen_1 = rest_0[: trials - ones], rest_1[:ones]
    correct = int(rule.says_1(seen_1).sum() + rule.says_0(seen_0).sum())
    spoken = correct + int(rule.says_1(seen_0).sum() + rule.says_0(seen_1).sum())
    missing = trials - seen_0.size - seen_1.size
    allowed = delta * rule.sides / 2
    accuracy, epsilon = _prove(correct, spoken, missing, trials, allowed, confidence, abstains=rule.abstains)
    return GameResult(
        epsilon_audited=epsilon,
        delta=delta,
        confidence=confidence,
        trials=trials,
        guesses=spoken + missing,
        correct=correct,
        accuracy_lower=accuracy,
        threshold_0=rule.low,
        threshold_1=rule.high,
        direction="world 1" if rule.low == -math.inf else "world 0" if rule.high == math.inf else "both worlds",
        ceiling=ceiling(trials, delta, confidence),
        choosing=cut,
        rates=_rates(table, rest_0, rest_1, delta, confidence),
    )


def _prove(
    correct: int, spoken: int, missing: int, trials: int, delta: float, confidence: float, *, abstains: bool
) -> tuple[float, float]:
    """(lower bound of P(right | guessed), ε). Given the guesses, the right ones are binomial with that rate.

    From P(right) ≤ e^ε P(wrong) + δ, with δ/2 for a rule that names one world only:
    e^ε ≥ (p − δ/q)/(1 − p) with q = P(guessed). Where the rule abstains and δ > 0, q is bounded too, and α is split
    between the two bounds; else p has all of it. `missing` trials count as wrong in p and as silent in q: whatever
    they would have been, neither bound gains by that. Bounds are Clopper–Pearson's, which hold for every sample size:
    a Bayesian interval in their place gives false alarms in 10 to 25 % of games at 5 %.
    """
    guesses = spoken + missing
    if guesses == 0:
        return 0.0, 0.0
    alpha = error_rate(confidence)
    if not abstains or delta == 0:
        p = clopper_pearson(correct, guesses, confidence, "lower").lower
        return p, _epsilon(p, delta)
    q = clopper_pearson(spoken, trials, 1 - BAND_SHARE * alpha, "lower").lower
    p = clopper_pearson(correct, guesses, 1 - (1 - BAND_SHARE) * alpha, "lower").lower
    return p, _epsilon(p, delta / q) if q > 0 else 0.0


def _epsilon(p: float, delta: float) -> float:
    """Proven ε, ln((p − δ)/(1 − p)), or 0."""
    return max(math.log((p - delta) / (1 - p)), 0.0) if p > delta else 0.0


def _rates(table: _Table, rest_0: Array, rest_1: Array, delta: float, confidence: float) -> _RateBound:
    """Better of both directions, each with two Clopper–Pearson bounds at α/4: four bounds share α."""
    quarter = 1 - error_rate(confidence) / 4
    high = table.event(table.above[1], table.above[0])  # score ≥ high for world 1, score < low for world 0
    low = table.event(table.below[0], table.below[1])
    hits_1, alarms_1 = int((rest_1 >= high).sum()), int((rest_0 >= high).sum())
    hits_0, alarms_0 = int((rest_0 < low).sum()), int((rest_1 < low).sum())

    def bound(world: Literal[0, 1], threshold: float, hits: int, alarms: int) -> _RateBound:
        own, other = (rest_1.size, rest_0.size) if world else (rest_0.size, rest_1.size)
        hit = clopper_pearson(hits, own, quarter, "lower").lower
        alarm = clopper_pearson(alarms, other, quarter, "upper").upper
        epsilon = max(math.log((hit - delta) / alarm), 0.0) if hit > delta else 0.0
        return _RateBound(epsilon, world, threshold, hit, alarm)

    bounds = bound(1, high, hits_1, alarms_1), bound(0, low, hits_0, alarms_0)
    return max(bounds, key=lambda b: b.epsilon)


def checked(scores: Array, whose: str) -> Array:
    """Flat float array of scores; raises `PrivacyError` for NaN."""
    flat = np.asarray(scores, dtype=np.float64).ravel()
    if np.isnan(flat).any():
        raise PrivacyError(f"{int(np.isnan(flat).sum())} scores of {whose} are NaN: score every trial")
    return flat


def coins_for(pool: int) -> int:
    """Largest number N of coins with N/2 + 3·√N/2 ≤ pool: one side needs more in one game of 400."""
    room = _SPARE / 2
    return max(math.floor((math.sqrt(room**2 + 2 * pool) - room) ** 2), 0)


def _check(delta: float, confidence: float) -> None:
    error_rate(confidence)
    if not 0 <= delta < 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1)")
