"""The interval of a count behind a lossy tap, against the binomial law."""

import math

import pytest
from scipy.stats import binom

from attacks.traffic.packets import sent_in_all


@pytest.mark.parametrize("missed", [0.001, 0.02, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("least", [0, 1, 20, 100])
@pytest.mark.parametrize("more", [0, 1, 3, 30])
def test_it_holds_the_true_number_in_95_of_100_runs(missed, least, more):
    true = least + more
    held = 0.0
    for heard in range(true + 1):
        low, _, high = sent_in_all(heard, missed, least)
        if low <= true <= high:
            held += float(binom.pmf(heard, true, 1 - missed))
    assert held >= 0.95 - 1e-12


@pytest.mark.parametrize("heard", [0, 1, 5, 40, 60])
@pytest.mark.parametrize("missed", [1e-6, 0.02, 0.5])
def test_it_is_an_interval_around_its_guess_and_no_point(heard, missed):
    for least in (0, 5, 50):
        low, value, high = sent_in_all(heard, missed, least)
        assert max(heard, least) <= low <= value <= high
        assert low < high


def test_more_missed_is_less_known():
    widths = [high - low for low, _, high in (sent_in_all(50, missed, 0) for missed in (0.01, 0.1, 0.3, 0.6))]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize("missed", [1 - 1e-9, 1 - 1e-12])
def test_the_interval_is_around_its_guess_where_nearly_everything_is_missed(missed):
    low, value, high = sent_in_all(100_000, missed, 0)
    assert value == 100_000 / (1 - missed)
    assert 0.99 * value < low < value < high < 1.01 * value


def test_no_number_is_excluded_where_the_tail_of_the_least_is_zero_in_float64():
    assert sent_in_all(0, 0.1, 1000) == (1000, 1000, math.inf)
    assert sent_in_all(0, 0.1, 10)[2] < 20
