"""Clopper–Pearson against exact binomial sums, and the betting bounds' laws and coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.accounting.intervals import (
    STAKES,
    Interval,
    boundary,
    clopper_pearson,
    exceeds,
    falls_short,
    log_wealth,
    mean_lower_bound,
    normal_mean,
    running_log_wealth,
    wilson_lower,
)
from netsim.errors import PrivacyError

shares = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=60).map(np.array)


@pytest.mark.parametrize("deviations", [0.5, 1.96, 4.0])
def test_wilsons_lower_bound_is_scipys(deviations):
    successes, trials = np.array([0.0, 3.0, 10.0, 400.0]), np.array([10.0, 10.0, 10.0, 1000.0])
    expected = [
        stats.binomtest(int(k), int(n)).proportion_ci(1 - 2 * stats.norm.sf(deviations), "wilson").low
        for k, n in zip(successes, trials, strict=True)
    ]
    np.testing.assert_allclose(wilson_lower(successes, trials, deviations), expected, atol=1e-12)


def test_clopper_pearson_reproduces_a_printed_value():
    interval = clopper_pearson(10, 20, 0.95)  # Newcombe-style tables: 0.2720 to 0.7280
    assert (interval.lower, interval.upper) == pytest.approx((0.27196, 0.72804), abs=5e-6)


@given(trials=st.integers(1, 400), data=st.data(), confidence=st.floats(0.5, 0.999))
@settings(max_examples=60, deadline=None)
def test_clopper_pearson_ends_are_where_the_binomial_tail_is_alpha(trials, data, confidence):
    k = data.draw(st.integers(0, trials))
    low = clopper_pearson(k, trials, confidence, "lower")
    high = clopper_pearson(k, trials, confidence, "upper")
    if k > 0:
        assert stats.binom.sf(k - 1, trials, low.lower) == pytest.approx(1 - confidence, rel=1e-6)
    if k < trials:
        assert stats.binom.cdf(k, trials, high.upper) == pytest.approx(1 - confidence, rel=1e-6)
    both = clopper_pearson(k, trials, confidence)
    assert both.lower <= low.lower <= k / trials <= high.upper <= both.upper
    assert (low.upper, high.lower) == (1.0, 0.0)


def test_clopper_pearson_at_the_ends():
    assert clopper_pearson(0, 100, 0.95, "lower").lower == 0
    assert clopper_pearson(0, 100, 0.95, "upper").upper == pytest.approx(1 - 0.05**0.01)
    assert clopper_pearson(100, 100, 0.95, "lower").lower == pytest.approx(0.05**0.01)


@pytest.mark.parametrize(("k", "n", "confidence"), [(-1, 5, 0.9), (6, 5, 0.9), (0, 0, 0.9), (1, 5, 1.0), (1, 5, 0)])
def test_clopper_pearson_refuses_what_is_not_a_count_or_a_confidence(k, n, confidence):
    with pytest.raises(PrivacyError):
        clopper_pearson(k, n, confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_normal_interval_of_a_mean_is_the_textbook_s(confidence):
    values = np.random.default_rng(0).exponential(3.0, 400)
    found = normal_mean(values, confidence)
    ends = stats.norm.interval(confidence, np.mean(values), stats.sem(values))
    assert (found.lower, found.upper) == pytest.approx(ends, rel=1e-12)
    assert found.estimate == np.mean(values)
    assert normal_mean(np.array([1.0, np.inf]), confidence).upper == math.inf


def test_an_interval_contains_its_ends_and_nothing_outside():
    interval = Interval(1.0, 2.0, 3.0, 0.95)
    assert 1.0 in interval
    assert 3.0 in interval
    assert 3.1 not in interval
    assert 0.9 not in interval


@pytest.mark.parametrize("mean", [0.003, 0.2, 0.9])
def test_expected_wealth_is_one_for_a_fair_game(mean):
    """Exactly: the wealth of n Bernoulli gains, weighted by their binomial law, sums to 1."""
    n = 40
    law = stats.binom.pmf(np.arange(n + 1), n, mean)
    wealth = [
        math.exp(log_wealth(np.repeat([1 / mean - 1, -1.0], [k, n - k]))) if weight > 1e-250 else 0.0
        for k, weight in enumerate(law)
    ]
    assert law @ wealth == pytest.approx(1.0, rel=1e-9)


@given(values=shares, m=st.floats(0.01, 0.98), alpha=st.floats(0.001, 0.3))
@settings(max_examples=80, deadline=None)
def test_proofs_are_monotone_in_the_mean_and_mirror_each_other(values, m, alpha):
    if exceeds(values, m, alpha):
        assert exceeds(values, m / 2, alpha)
        assert not falls_short(values, m, alpha)
        assert falls_short(1 - values, 1 - m * 0.999, alpha)


def mean_interval(values, confidence):
    """The means that neither test rejects, α/2 on each side."""
    alpha, mean = 1 - confidence, float(values.mean())
    upper = boundary(lambda m: falls_short(values, m, alpha / 2), 1.0, mean)
    return Interval(mean_lower_bound(values, 1 - alpha / 2), mean, upper, confidence)


@pytest.mark.slow
@given(values=shares)
@settings(max_examples=60, deadline=None)
def test_mean_interval_is_ordered_and_grows_with_confidence(values):
    narrow, wide = mean_interval(values, 0.8), mean_interval(values, 0.99)
    assert 0 <= wide.lower <= narrow.lower <= narrow.estimate <= narrow.upper <= wide.upper <= 1


def test_mean_interval_without_a_single_success_is_a_few_over_n():
    interval = mean_interval(np.zeros(10_000), 0.95)
    assert interval.lower == 0
    assert 3.7e-4 < interval.upper < 8e-4  # Clopper–Pearson gives 3.7e-4


def test_mean_interval_of_values_that_are_all_one():
    interval = mean_interval(np.ones(1000), 0.95)
    assert interval.upper == 1
    assert interval.lower > 0.99


@pytest.mark.slow
def test_mean_interval_covers():
    """At most 5 % misses; 200 repetitions exceed the allowance with probability below 1e-4 if that holds."""
    misses = 0
    for seed in range(200):
        values = np.random.default_rng(seed).beta(0.05, 0.95, 400)
        misses += 0.05 not in mean_interval(values, 0.95)
    assert misses <= stats.binom.isf(1e-4, 200, 0.05)


def test_mean_interval_shrinks_like_one_over_root_n():
    widths: list[float] = []
    for n in (1000, 16_000):
        interval = mean_interval(np.random.default_rng(7).random(n), 0.95)
        widths.append(interval.upper - interval.lower)
        assert widths[-1] < 2 * 2 * 1.96 * math.sqrt(1 / 12 / n)  # at most twice the normal interval
    assert 3 < widths[0] / widths[1] < 5


def test_lower_bound_of_an_unbounded_mean_holds_and_is_not_idle():
    """Pareto values with infinite variance, mean 1: at most 5 % of 100 seeds miss, allowance as above."""
    misses, bounds = 0, []
    for seed in range(100):
        values = (np.random.default_rng(seed).pareto(1.5, 400) + 1) / 3
        bound = mean_lower_bound(values, 0.95)
        misses += bound > 1
        bounds.append(bound)
    assert misses <= stats.binom.isf(1e-4, 100, 0.05)
    assert np.median(bounds) > 0.7


def test_lower_bound_of_values_with_an_infinite_one_is_infinite():
    assert mean_lower_bound(np.array([0.5, np.inf]), 0.95) == math.inf


@pytest.mark.slow
def test_who_looks_after_every_gain_is_ever_rich_with_probability_alpha_at_most():
    """Fair bets of many sizes: rare and large, common and small. 0.1 + 4 standard errors of 2,000 games."""
    rng = np.random.default_rng(5)
    for share in (0.001, 0.05, 0.5):
        gains = (rng.random((2_000, 150)) < share) / share - 1.0
        ever = [float(np.max(running_log_wealth(one))) >= math.log(10) for one in gains]
        assert np.mean(ever) < 0.1 + 4 * math.sqrt(0.09 / 2_000)


def test_a_running_wealth_does_not_know_what_comes():
    gains = np.random.default_rng(1).exponential(1, 40) - 1
    found = running_log_wealth(gains)
    assert running_log_wealth(gains[:7]) == pytest.approx(found[:7])
    assert found[0] == pytest.approx(math.log(np.mean([1 + c * gains[0] for c in STAKES])))
