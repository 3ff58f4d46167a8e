"""How sure it is that a median is larger than another: intervals from order statistics, valid for every law.

The replicas of a run are independent draws of the noise over one and the same draw of the network (its routes,
delays and losses). What is said here is about the noise, given that network.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scipy.stats import binom


@dataclass(frozen=True)
class Ratio:
    """How many times as large a second sample is as a first one.

    Where they are `paired` (number r of both belongs together) `estimate` is the median of the ratios, and the
    interval is one of that median; else it is the ratio of the medians, and so is the interval. `low` and `high` are
    nan where there are too few replicas for the `confidence`. `counts`: of the first and of the second sample.
    """

    estimate: float
    low: float
    high: float
    paired: bool
    confidence: float
    counts: tuple[int, int]

    @property
    def told_apart(self) -> bool:
        """Whether the interval is there and has not 1 in it."""
        return self.low > 1 or self.high < 1


def median_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Two order statistics with the median of the law between them, at that confidence, for every law: x₍ₖ₎ and
    x₍ₙ₊₁₋ₖ₎ with the largest k for which P(Bin(n, ½) < k) ≤ (1 − confidence)/2. nan, nan where there is none."""
    ordered, n = sorted(values), len(values)
    k = 0
    while 2 * (k + 1) <= n + 1 and float(binom.cdf(k, n, 0.5)) <= (1 - confidence) / 2:
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)


def ratio(first: Sequence[float], second: Sequence[float], *, paired: bool, confidence: float) -> Ratio:
    """The second sample over the first one; both are finite and above 0, and `paired` ones equally long.

    Without pairs the interval is made of one of each median, at (1 + confidence)/2 both: it holds whatever the laws
    are and however the samples depend on each other, and is wide.
    """
    counts = len(first), len(second)
    if paired:
        quotients = [b / a for a, b in zip(first, second, strict=True)]
        return Ratio(median(quotients), *median_interval(quotients, confidence), True, confidence, counts)
    (a_low, a_high), (b_low, b_high) = (median_interval(v, (1 + confidence) / 2) for v in (first, second))
    return Ratio(median(second) / median(first), b_low / a_high, b_high / a_low, False, confidence, counts)
