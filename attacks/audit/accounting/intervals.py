"""Confidence intervals valid at every sample size: Clopper–Pearson for a probability, betting for a mean.

Clopper–Pearson: Clopper, Pearson 1934. Betting: Waudby-Smith, Ramdas 2023, section 4, with a fixed mixture
of stakes in place of their predictable ones, so that a bound depends neither on the order of the values
nor on how the bettor is tuned.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.errors import PrivacyError

Side = Literal["two-sided", "lower", "upper"]


@dataclass(frozen=True)
class Interval:
    """Confidence interval, lower ≤ estimate ≤ upper: contains the truth with probability at least `confidence`."""

    lower: float
    """Lower end."""
    estimate: float
    """Estimate."""
    upper: float
    """Upper end."""
    confidence: float
    """Probability, at least, that it contains the truth."""

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper


def error_rate(confidence: float) -> float:
    """α = 1 − confidence, after a check that confidence lies in (0, 1)."""
    if not 0 < confidence < 1:
        raise PrivacyError(f"confidence = {confidence!r}: must lie strictly between 0 and 1, such as 0.95")
    return 1 - confidence


def check_delta(delta: float) -> None:
    """Raise a `PrivacyError` for a δ outside [0, 1], or NaN."""
    if not 0 <= delta <= 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1]")


def wilson_lower(successes: Array, trials: Array, deviations: float) -> Array:
    """Wilson's lower bound of a rate, so many standard deviations down: quick, and only roughly valid."""
    z = deviations
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(trials > 0, successes / trials, 0.0)
    spread = z * np.sqrt(np.maximum(trials * p * (1 - p), 0.0) + z * z / 4)
    return (trials * p + z * z / 2 - spread) / (trials + z * z)


def clopper_pearson(successes: int, trials: int, confidence: float, side: Side = "two-sided") -> Interval:
    """Exact interval of a success probability after `trials` independent trials.

    A one-sided interval spends all of α on its side and is 0 or 1 on the other. Only for independent trials
    of one probability: for the mean of values in [0, 1] see `exceeds` and `falls_short`.
    """
    from scipy import stats  # takes its time to load

    alpha = error_rate(confidence)
    if not 0 <= successes <= trials or trials < 1:
        raise PrivacyError(f"{successes} successes in {trials} trials: need 0 ≤ successes ≤ trials, trials ≥ 1")
    tail = alpha / 2 if side == "two-sided" else alpha
    failures = trials - successes
    lower, upper = 0.0, 1.0
    if side != "upper" and successes > 0:
        lower = float(stats.beta.ppf(tail, successes, failures + 1))
    if side != "lower" and failures > 0:
        upper = float(stats.beta.isf(tail, successes + 1, failures))
    return Interval(lower, successes / trials, upper, confidence)


def normal_mean(values: Array, confidence: float) -> Interval:
    """Interval of the mean of independent values of any size, in the normal approximation: for large samples only."""
    from scipy import stats  # takes its time to load

    mean = float(np.mean(values))
    if not math.isfinite(mean):
        return Interval(mean, mean, mean, confidence)
    room = float(stats.norm.isf(error_rate(confidence) / 2) * np.std(values, ddof=1) / math.sqrt(values.size))
    return Interval(mean - room, mean, mean + room, confidence)


def log_wealth(gains: Array) -> float:
    """ln of the wealth of a bettor who began with 1: mean over stakes c of Π_i (1 + c·gain_i).

    `gains` are independent, at least −1, and have no positive mean under the hypothesis; then the expected
    wealth is at most 1, and by Markov P(wealth ≥ 1/α) ≤ α. The stakes are fixed by the number of gains alone:
    15/16, 1/2, 1/4, … down to about 1/√n. Wealth never exceeds 1 when the gains sum to at most 0.
    """
    halvings = math.ceil(math.log2(max(gains.size, 2)) / 2) + 1
    stakes = [15 / 16, *(0.5**k for k in range(1, halvings + 1))]
    logs = np.array([np.log1p(stake * gains).sum() for stake in stakes])
    return _log_sum(logs) - math.log(len(stakes))


def _log_sum(logs: Array) -> float:
    """ln Σ e^x of few numbers, bit for bit `scipy.special.logsumexp`, whose checks take longer than all bets."""
    top = float(np.max(logs))
    if not math.isfinite(top):
        return top
    largest = logs == top
    count = np.count_nonzero(largest)
    others = np.sum(np.exp(np.where(largest, -np.inf, logs) - top)) / count
    return float(np.log1p(others) + np.log(count) + top)


STAKES = 15 / 16, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64


def running_log_wealth(gains: Array) -> Array:
    """ln of the wealth after each gain, as in `log_wealth`, at `STAKES` that do not depend on how many there are.

    With such the wealth is a martingale, at best: that it is ever 1/α has probability at most α (Ville), so that one
    may look after every gain, and stop when it is.
    """
    logs = np.cumsum([np.log1p(stake * gains) for stake in STAKES], axis=1)
    return np.asarray(special.logsumexp(logs, axis=0)) - math.log(len(STAKES))


def exceeds(values: Array, mean: float, alpha: float, *others: Array) -> bool:
    """Test of E[values] > mean: whether it is proven at level α; values are independent, ≥ 0, maybe unbounded.

    With `others`, samples of other laws and the same mean, the money is put on each sample in equal parts.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        wealths = [log_wealth(np.where(v > 0, v / mean, 0.0) - 1) for v in (values, *others)]
    return _log_sum(np.array(wealths)) - math.log(len(wealths)) >= -math.log(alpha)


def falls_short(values: Array, mean: float, alpha: float) -> bool:
    """Test of E[values] < mean: whether it is proven at level α; values are independent and lie in [0, 1]."""
    if mean >= 1:
        return bool(np.any(values < 1))
    return log_wealth((mean - values) / (1 - mean)) >= -math.log(alpha)


def boundary(proven: Callable[[float], bool], true_at: float, false_at: float) -> float:
    """Bisection for where a monotone `proven` turns from true to false, rounded to the end where it is true."""
    for _ in range(45):
        middle = (true_at + false_at) / 2
        if proven(middle):
            true_at = middle
        else:
            false_at = middle
    return true_at


def mean_lower_bound(values: Array, confidence: float, *, at_least: float = 0.0) -> float:
    """Lower confidence bound of E[values] for independent nonnegative values, bounded or not.

    `at_least` is a mean already proven (`exceeds`); above it the search goes by factors, for outliers.
    """
    alpha, mean = error_rate(confidence), float(values.mean())
    if not math.isfinite(mean):
        return math.inf
    if at_least > 0:
        low, high = math.log(at_least), math.log(max(mean, at_least))
        return math.exp(boundary(lambda log_m: exceeds(values, math.exp(log_m), alpha), low, high))
    return boundary(lambda m: exceeds(values, m, alpha), 0.0, mean)
