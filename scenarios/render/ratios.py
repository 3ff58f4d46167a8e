"""Ratios of two samples, with intervals that hold for every law, and why there is none."""

import math
import sys
from collections.abc import Sequence
from statistics import median
from typing import Literal, TypeAlias

from scipy.stats import binom

from scenarios.results.findings import Ratio
from scenarios.results.tree import Results

Missing: TypeAlias = Literal["no number", "base", "other", "both"]
"""Why there is no ratio: a number that is none, or which of the two is nothing."""
_STEPS = 100
"""Roundings that stay in the last estimate, of sums, mixing and last steps: 1 to 40 in converged runs."""


def rounding(results: Results) -> float:
    """The relative error of a run that is 0 but for rounding: of its arithmetic, or of what the optimum is known to,
    times the condition number L/μ, by which both move a solution."""
    facts, level = results.problem, _STEPS * sys.float_info.epsilon
    if facts is None:
        return level
    ends = facts.smoothness, facts.strong_convexity
    condition = ends[0] / ends[1] if all(math.isfinite(end) and end > 0 for end in ends) else 1.0
    return max(1.0, condition) * max(level, facts.optimum_residual)


def no_ratio(
    first: Sequence[float], second: Sequence[float], *, least: tuple[float, float], paired: bool
) -> Missing | None:
    """Why one is not to be divided by the other: a number that is none, or which of the two is nothing: a 0, or at
    most its `least`. None where it may be, and of numbers that are the same to the last bit."""
    if not all(0 <= v < math.inf for v in (*first, *second)):
        return "no number"
    if paired and all(first) and list(first) == list(second):
        return None
    base, other = (
        median(values) <= level or not all(values) for values, level in zip((first, second), least, strict=True)
    )
    return "both" if base and other else "base" if base else "other" if other else None


def _median_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Two order statistics with the median of the law between them, at that confidence, for every law: x₍ₖ₎ and
    x₍ₙ₊₁₋ₖ₎ with the largest k for which P(Bin(n, ½) < k) ≤ (1 − confidence)/2. nan, nan where there is none."""
    ordered, n = sorted(values), len(values)
    k = 0
    while 2 * (k + 1) <= n + 1 and float(binom.cdf(k, n, 0.5)) <= (1 - confidence) / 2:
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)


def replicas_needed(found: Ratio) -> int:
    """How many replicas of each sample an interval of such a ratio takes: n with 2·½ⁿ ≤ 1 − confidence."""
    confidence = found.confidence if found.paired else (1 + found.confidence) / 2
    return math.ceil(1 - math.log2(1 - confidence))


def ratio(
    first: Sequence[float],
    second: Sequence[float],
    *,
    paired: bool,
    confidence: float,
    certain: Sequence[bool] = (False, False),
) -> Ratio:
    """The second sample over the first one; both are finite and above 0, and `paired` ones equally long. `certain`:
    whether each is one number without any noise, which is its own interval.

    Without pairs the interval is made of one of each median, at (1 + confidence)/2 both: it holds whatever the laws
    are and however the samples depend on each other, and is wide.
    """
    counts = len(first), len(second)
    if paired and not any(certain):
        quotients = [b / a for a, b in zip(first, second, strict=True)]
        ends, same = _median_interval(quotients, confidence), list(first) == list(second)
        return Ratio(median(quotients), *ends, True, confidence, counts, same)
    (a_low, a_high), (b_low, b_high) = (
        (v[0], v[0]) if sure else _median_interval(v, (1 + confidence) / 2)
        for v, sure in zip((first, second), certain, strict=True)
    )
    ends, same = (b_low / a_high, b_high / a_low), paired and list(first) == list(second)
    return Ratio(median(second) / median(first), *ends, paired and all(certain), confidence, counts, same)
