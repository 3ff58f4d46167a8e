"""Intervals of medians: they hold at their confidence for every law, and do not depend on units."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from scenarios.render.ratios import ratio


def median_interval(values, confidence):
    """The interval of the median of ratios to 1."""
    found = ratio([1.0] * len(values), values, paired=True, confidence=confidence)
    return found.low, found.high


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 8, 12, 13, 20, 51])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_covers_the_median_at_its_confidence_and_hardly_more(n, confidence):
    """By count: of n draws of a continuous law, the number below its median is binomial."""
    low, high = median_interval([float(v) for v in range(1, n + 1)], confidence)
    if math.isnan(low):
        assert 0.5 ** (n - 1) > 1 - confidence  # even the extremes cover less
        return
    k = int(low)
    assert high == n + 1 - k

    def coverage(k: int) -> float:
        return float(binom.cdf(n - k, n, 0.5) - binom.cdf(k - 1, n, 0.5))

    assert coverage(k) >= confidence
    assert coverage(k + 1) < confidence or 2 * (k + 1) > n + 1


def test_it_covers_by_enumeration_of_signs():
    """The same without a formula: all 2⁸ ways in which eight draws can lie around the median."""
    low, high = median_interval([1.0, 2, 3, 4, 5, 6, 7, 8], 0.9)
    k = int(low)
    covered = sum(k <= sum(below) <= 8 - k for below in product((0, 1), repeat=8))
    assert covered / 2**8 >= 0.9
    assert high == 9 - k


positive = st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(positive, positive), min_size=6, max_size=20), st.floats(0.01, 100))
def test_pairs_may_come_in_any_order_and_units_do_not_matter(pairs, unit):
    first, second = zip(*pairs, strict=True)
    found = ratio(first, second, paired=True, confidence=0.9)
    turned = ratio(first[::-1], second[::-1], paired=True, confidence=0.9)
    scaled = ratio([unit * v for v in first], [unit * v for v in second], paired=True, confidence=0.9)
    assert turned == found
    assert (scaled.low, scaled.high) == pytest.approx((found.low, found.high), rel=1e-9)
    back = ratio(second, first, paired=True, confidence=0.9)
    assert (back.low, back.high) == pytest.approx((1 / found.high, 1 / found.low), rel=1e-9)
    assert found.low <= found.estimate <= found.high


def test_pairs_tell_apart_what_the_samples_alone_do_not():
    """Replicas that differ a thousandfold, each a tenth larger than its partner."""
    first = [10.0**k for k in np.linspace(-2, 1, 12)]
    second = [1.1 * v for v in first]
    together = ratio(first, second, paired=True, confidence=0.95)
    apart = ratio(first, second, paired=False, confidence=0.95)
    assert together.told_apart
    assert together.estimate == pytest.approx(1.1)
    assert not apart.told_apart
    assert apart.low < 1.1 < apart.high


def test_without_pairs_it_covers_for_skewed_laws():
    """At a seed: 300 pairs of lognormal samples whose medians have the ratio 2; fewer than 5 % + 3 σ are missed."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(300):
        first, second = np.exp(rng.normal(0, 2, 15)), 2 * np.exp(rng.normal(0, 0.5, 20))
        found = ratio(first.tolist(), second.tolist(), paired=False, confidence=0.95)
        missed += not found.low <= 2 <= found.high
    assert missed <= 15 + 3 * math.sqrt(300 * 0.05 * 0.95)


def test_too_few_replicas_have_no_interval_and_tell_nothing_apart():
    found = ratio([1.0] * 5, [9.0] * 5, paired=True, confidence=0.95)
    assert found.estimate == 9
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert not found.told_apart
