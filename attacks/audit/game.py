"""The distinguishing game: a fair coin picks a world, a score guesses it, and the wins bound ε from below.

For a fair coin and any rule that says 0, 1 or nothing, an (ε, δ) mechanism allows
P(right) ≤ e^ε P(wrong) + δ: each half of it is the definition, for one direction. When the rule always
speaks this is P(right) ≤ (e^ε + δ)/(1 + e^ε). The bound holds for any score, a bad one only proves less.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from attacks.audit.intervals import clopper_pearson, error_rate
from netsim.arrays import Array
from netsim.errors import PrivacyError

_BAND_SHARE = 0.1  # of α, spent on how often the rule speaks, where that is needed
_CAUTION = 4.5  # standard deviations: the best of some 5,000 pairs of thresholds looks better than it is


@dataclass(frozen=True)
class RateBound:
    """ε ≥ ln((hits_lo − δ)/alarms_hi) for the event score ≥ threshold (world 1) or < threshold (world 0).

    `hit_rate_lower` bounds the event's probability in `world`, `alarm_rate_upper` in the other one.
    """

    epsilon: float
    world: Literal[0, 1]
    threshold: float
    hit_rate_lower: float
    alarm_rate_upper: float


@dataclass(frozen=True)
class GameResult:
    """What one game proves. `epsilon_audited` ≥ 0 is a lower bound of ε at `delta`, with `confidence`.

    The rule said 1 at score ≥ `threshold_1`, 0 at score < `threshold_0`, and nothing between. `trials` coins
    were tossed, `guesses` of them guessed, `correct` of these right; `accuracy_lower` bounds
    P(right | guessed). `ceiling` is the ε that as many trials prove when all are guessed right. `rates` is a
    second statistic on the same trials: valid at the same confidence alone, but not together with
    `epsilon_audited`, which is the one to decide by.
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
    rates: RateBound


def ceiling(trials: int, delta: float, confidence: float) -> float:
    """The largest ε that `trials` coins can prove: all guessed right, ln((α^{1/N} − δ)/(1 − α^{1/N}))."""
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
    holdout: float = 0.7,
) -> GameResult:
    """Play the game with recorded scores of independent trials in world 0 and in world 1.

    Scores are larger the more the trial looks like world 1; ±∞ is allowed. The first (1 − holdout) of each
    world's trials choose the thresholds, by a rough criterion that need not be valid; the others are played.
    A fixed number from each world is not a coin: the coins are tossed here, with `rng`, and each consumes the
    next trial of its world, so the bits are fair and independent of every score. That leaves a few trials
    unused (six standard deviations); should a world run out all the same, the game proves 0.
    The rates (`GameResult.rates`) condition on the world and use every trial held out.
    """
    _check(delta, confidence)
    if not 0 < holdout < 1:
        raise PrivacyError(f"holdout = {holdout!r}: must lie strictly between 0 and 1")
    first_0, rest_0 = _split(scores_0, holdout, 0)
    first_1, rest_1 = _split(scores_1, holdout, 1)
    trials = _coins_for(min(rest_0.size, rest_1.size))
    if trials < 1:
        raise PrivacyError(
            f"{rest_0.size} and {rest_1.size} trials held out: too few to toss coins, hold out at least 8"
        )
    table = _Table.of(first_0, first_1, delta)
    low, high = table.band()
    ones = int(rng.integers(0, 2, trials).sum())
    dry = ones > rest_1.size or trials - ones > rest_0.size
    seen_0, seen_1 = rest_0[: trials - ones], rest_1[:ones]
    correct = 0 if dry else int((seen_1 >= high).sum() + (seen_0 < low).sum())
    guesses = trials if dry else correct + int((seen_0 >= high).sum() + (seen_1 < low).sum())
    accuracy, epsilon = _prove(correct, guesses, trials, delta, confidence, abstains=low < high)
    return GameResult(
        epsilon_audited=epsilon,
        delta=delta,
        confidence=confidence,
        trials=trials,
        guesses=guesses,
        correct=correct,
        accuracy_lower=accuracy,
        threshold_0=low,
        threshold_1=high,
        direction="world 1" if low == -math.inf else "world 0" if high == math.inf else "both worlds",
        ceiling=ceiling(trials, delta, confidence),
        rates=_rates(table, rest_0, rest_1, delta, confidence),
    )


def _prove(
    correct: int, guesses: int, trials: int, delta: float, confidence: float, *, abstains: bool
) -> tuple[float, float]:
    """(lower bound of P(right | guessed), ε). Given the guesses, the right ones are binomial with that rate.

    From P(right) ≤ e^ε P(wrong) + δ: e^ε ≥ (p − δ/q)/(1 − p) with q = P(guessed). Where the rule abstains and
    δ > 0, q is bounded too, and α is split between the two bounds; else p has all of it.
    """
    if guesses == 0:
        return 0.0, 0.0
    alpha = error_rate(confidence)
    if not abstains or delta == 0:
        p = clopper_pearson(correct, guesses, confidence, "lower").lower
        return p, _epsilon(p, delta)
    q = clopper_pearson(guesses, trials, 1 - _BAND_SHARE * alpha, "lower").lower
    p = clopper_pearson(correct, guesses, 1 - (1 - _BAND_SHARE) * alpha, "lower").lower
    return p, _epsilon(p, delta / q)


def _epsilon(p: float, delta: float) -> float:
    """ln((p − δ)/(1 − p)), or 0 where that proves nothing."""
    return max(math.log((p - delta) / (1 - p)), 0.0) if p > delta else 0.0


def _rates(table: "_Table", rest_0: Array, rest_1: Array, delta: float, confidence: float) -> RateBound:
    """The better of both directions, each with two Clopper–Pearson bounds at α/4."""
    quarter = 1 - error_rate(confidence) / 4
    high, low = table.event_1(), table.event_0()
    hits_1, alarms_1 = int((rest_1 >= high).sum()), int((rest_0 >= high).sum())
    hits_0, alarms_0 = int((rest_0 < low).sum()), int((rest_1 < low).sum())

    def bound(world: Literal[0, 1], threshold: float, hits: int, alarms: int) -> RateBound:
        own, other = (rest_1.size, rest_0.size) if world else (rest_0.size, rest_1.size)
        hit = clopper_pearson(hits, own, quarter, "lower").lower
        alarm = clopper_pearson(alarms, other, quarter, "upper").upper
        epsilon = max(math.log((hit - delta) / alarm), 0.0) if hit > delta else 0.0
        return RateBound(epsilon, world, threshold, hit, alarm)

    bounds = bound(1, high, hits_1, alarms_1), bound(0, low, hits_0, alarms_0)
    return max(bounds, key=lambda b: b.epsilon)


@dataclass(frozen=True)
class _Table:
    """The trials that choose: at each candidate threshold, the share of each world's scores below it."""

    thresholds: Array
    below_0: Array
    below_1: Array
    size_0: int
    size_1: int
    delta: float

    @classmethod
    def of(cls, scores_0: Array, scores_1: Array, delta: float) -> "_Table":
        """Candidates lie halfway between each world's quantiles, denser in the tails, and the next scores."""
        distinct = np.unique(np.clip(np.concatenate([scores_0, scores_1]), -1e300, 1e300))
        halfway = np.concatenate([[-np.inf], (distinct[:-1] + distinct[1:]) / 2, [np.inf]])
        quantiles = np.concatenate([_quantiles(scores_0), _quantiles(scores_1)])
        at = np.searchsorted(distinct, np.clip(quantiles, -1e300, 1e300))
        grid = np.unique(np.concatenate([halfway[at], halfway[at + 1], [-np.inf, np.inf]]))
        below_0 = np.searchsorted(np.sort(scores_0), grid) / scores_0.size
        below_1 = np.searchsorted(np.sort(scores_1), grid) / scores_1.size
        return cls(grid, below_0, below_1, scores_0.size, scores_1.size, delta)

    def band(self) -> tuple[float, float]:
        """(threshold_0, threshold_1) with the most promising odds; where all scores are equal, never speak."""
        if self.thresholds.size == 2:
            return -math.inf, math.inf
        trials = self.size_0 + self.size_1
        right = (self.below_0[:, None] + 1 - self.below_1[None, :]) / 2
        wrong = (self.below_1[:, None] + 1 - self.below_0[None, :]) / 2
        p = _wilson(right * trials, (right + wrong) * trials)
        q = _wilson((right + wrong) * trials, np.full_like(right, trials))
        ordered = self.thresholds[:, None] <= self.thresholds[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            spent = np.where(ordered & (right + wrong < 1), self.delta / q, self.delta)
            odds = (p - spent) / (1 - p)
        best = int(np.argmax(np.where(ordered & np.isfinite(odds), odds, -np.inf)))
        low, high = divmod(best, self.thresholds.size)
        return float(self.thresholds[low]), float(self.thresholds[high])

    def event_1(self) -> float:
        """The threshold of the event score ≥ t that promises most for world 1."""
        return self._best(1 - self.below_1, self.size_1, 1 - self.below_0, self.size_0)

    def event_0(self) -> float:
        """The threshold of the event score < t that promises most for world 0."""
        return self._best(self.below_0, self.size_0, self.below_1, self.size_1)

    def _best(self, hits: Array, own: int, alarms: Array, other: int) -> float:
        hit = _wilson(hits * own, np.full_like(hits, own))
        alarm = 1 - _wilson((1 - alarms) * other, np.full_like(alarms, other))
        return float(self.thresholds[int(np.argmax((hit - self.delta) / alarm))])


def _quantiles(scores: Array) -> Array:
    """Some 25 of the scores, the extremes among them; their ranks are even on the logit scale."""
    places = np.rint(special.expit(np.linspace(-8, 8, 25)) * (scores.size - 1)).astype(np.intp)
    return np.sort(scores)[np.unique(np.concatenate([places, [0, scores.size - 1]]))]


def _wilson(successes: Array, trials: Array, z: float = _CAUTION) -> Array:
    """Wilson's lower bound: quick, and only roughly valid, so it chooses thresholds and proves nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(trials > 0, successes / trials, 0.0)
    spread = z * np.sqrt(np.maximum(trials * p * (1 - p), 0.0) + z * z / 4)
    return (trials * p + z * z / 2 - spread) / (trials + z * z)


def _split(scores: Array, holdout: float, world: int) -> tuple[Array, Array]:
    flat = np.asarray(scores, dtype=np.float64).ravel()
    if np.isnan(flat).any():
        raise PrivacyError(f"{int(np.isnan(flat).sum())} scores of world {world} are NaN: score every trial")
    cut = max(round((1 - holdout) * flat.size), 1)
    if cut >= flat.size:
        raise PrivacyError(f"{flat.size} scores of world {world}, holdout {holdout}: need some to choose and to play")
    return flat[:cut], flat[cut:]


def _coins_for(pool: int) -> int:
    """The most coins N with N/2 + 6·√N/2 ≤ pool: one side needs more with probability below 4e-8."""
    return math.floor((math.sqrt(9 + 2 * pool) - 3) ** 2)


def _check(delta: float, confidence: float) -> None:
    error_rate(confidence)
    if not 0 <= delta < 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1)")
