"""The distinguishing game: a fair coin picks a world, a score guesses it, and the wins bound ε from below.

For a fair coin and any rule that says 0, 1 or nothing, an (ε, δ) mechanism allows
P(right) ≤ e^ε P(wrong) + δ: each half of it is the definition, for one direction. When the rule always
speaks this is P(right) ≤ (e^ε + δ)/(1 + e^ε). The bound holds for any score, a bad one only proves less.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attacks.audit.games.thresholds import Table, choose
from attacks.audit.statistics.intervals import clopper_pearson, error_rate
from netsim.arrays import Array
from netsim.errors import PrivacyError

BAND_SHARE = 0.1  # of α, spent on how often the rule speaks, where that is needed
_SPARE = 3.0  # standard deviations of the coins that a world holds in reserve


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
    P(right | guessed). `ceiling` is the ε that as many trials prove when all are guessed right. `choosing` trials
    of each world chose the thresholds and were not played. `rates` is a second statistic on the same trials: valid
    at the same confidence alone, but not together with `epsilon_audited`, which is the one to decide by.
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
    holdout: float | None = None,
) -> GameResult:
    """Play the game with recorded scores of independent trials in world 0 and in world 1.

    Scores are larger the more the trial looks like world 1; ±∞ is allowed. The first trials of each world choose
    the thresholds, by a rough criterion that need not be valid; the others are played. Where the scores are
    losses, ln p₁/p₀ of what was seen, they say themselves how often a guess is right, and some 4 % of 10,000
    trials are enough; other scores are learned from at most 30 %. How many choose is decided by these trials
    alone, so that the others are as fresh as ever; `holdout` sets the share that is played by hand.

    A fixed number from each world is not a coin: the coins are tossed here, with `rng`, and each consumes the
    next trial of its world, so the bits are fair and independent of every score. So many coins are tossed that a
    world runs out in one game of 400; each coin that finds its world empty counts as a wrong guess, which is the
    worst that its trial could have been. The rates (`GameResult.rates`) condition on the world and use every
    trial that is played.
    """
    _check(delta, confidence)
    if holdout is not None and not 0 < holdout < 1:
        raise PrivacyError(f"holdout = {holdout!r}: must lie strictly between 0 and 1")
    flat_0, flat_1 = checked(scores_0, "world 0"), checked(scores_1, "world 1")
    cut, table = choose(flat_0, flat_1, delta=delta, confidence=confidence, holdout=holdout)
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
    between the two bounds; else p has all of it. `missing` trials are taken for wrong in p and for silent in q:
    whatever they would have been, neither bound gains by that.
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
    """ln((p − δ)/(1 − p)), or 0 where that proves nothing."""
    return max(math.log((p - delta) / (1 - p)), 0.0) if p > delta else 0.0


def _rates(table: Table, rest_0: Array, rest_1: Array, delta: float, confidence: float) -> RateBound:
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


def checked(scores: Array, whose: str) -> Array:
    """The scores as a flat float array without NaN."""
    flat = np.asarray(scores, dtype=np.float64).ravel()
    if np.isnan(flat).any():
        raise PrivacyError(f"{int(np.isnan(flat).sum())} scores of {whose} are NaN: score every trial")
    return flat


def coins_for(pool: int) -> int:
    """The most coins N with N/2 + 3·√N/2 ≤ pool: one side needs more in one game of 400."""
    room = _SPARE / 2
    return max(math.floor((math.sqrt(room**2 + 2 * pool) - room) ** 2), 0)


def _check(delta: float, confidence: float) -> None:
    error_rate(confidence)
    if not 0 <= delta < 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1)")
