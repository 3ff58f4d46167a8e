"""Numbers from some points of a curve never contradict those from all of them, and are exact where they are given."""

import math

import numpy as np
import pytest

from scenarios.results import curves as points
from scenarios.results.curves import NotMeasuredError


def jagged(seed, length):
    """A curve that falls over all, and rises again and again on its way."""
    rng = np.random.default_rng(seed)
    return np.exp(-np.arange(length) / (length / 6) + rng.normal(0, 1, length))


def some(rng, length):
    """Counts of some points, the first few in a row and the last among them."""
    return np.unique([*range(1, 4), *rng.integers(1, length + 1, length // 4), length])


@pytest.mark.parametrize("seed", range(20))
def test_the_true_cost_lies_between_the_ends_of_every_subset(seed):
    length, rng = 60 + seed, np.random.default_rng(seed)
    errors = jagged(seed, length)
    everywhere = np.arange(1, length + 1)
    for accuracy in (3.0, 0.3, 0.05, 0.01):
        stays = [k for k in everywhere if np.all(errors[k - 1 :] <= accuracy)]
        low, high = points.ends(everywhere, errors, accuracy, length)
        assert (low, high) == ((stays[0], stays[0]) if stays else (length, None))
        counts = some(rng, length)
        low, high = points.ends(counts, errors[counts - 1], accuracy, length)
        assert (high is None) == (not stays)
        if stays:
            assert low <= stays[0] <= high


def test_a_curve_that_rises_between_its_points_is_not_enclosed_too_tightly():
    errors = [1.0, 0.5, 0.01, 0.9, 0.01]
    assert points.ends([1, 2, 3, 5], [errors[k - 1] for k in (1, 2, 3, 5)], 0.1, 5) == (3, 5)
    assert points.ends([1, 2, 3], errors[:3], 0.1, 5) == (2, None)  # the end is not known
    assert points.ends([4, 5], [0.01, 0.01], 0.1, 5) == (1, 4)


def test_an_error_is_known_at_its_points_alone():
    assert points.value([1, 11, 21], [0.5, 0.1, math.nan], 11) == 0.1
    assert points.value([1, 11, 21], [0.5, 0.1, math.nan], 21) == math.inf
    with pytest.raises(NotMeasuredError, match=r"not known at 9 .*every: 1"):
        points.value([1, 11, 21], [0.5, 0.1, 0.01], 9)


@pytest.mark.parametrize("seed", range(5))
def test_the_slope_is_the_least_squares_line_of_all_points_down_to_the_floor(seed):
    errors, counts = jagged(seed, 80), np.arange(1, 81)
    for start, end, floor in ((0, None, 1e-12), (5, 40, 1e-12), (0, None, 0.02), (3, 70, 0.05)):
        below = np.flatnonzero(errors < floor)
        until = min(below[0] if below.size else 80, end or 80)
        chosen = slice(max(start - 1, 0), until)
        fitted = np.polyfit(counts[chosen], np.log10(errors[chosen]), 1)[0]
        assert points.slope(counts, errors, start, end, floor) == pytest.approx(fitted, rel=1e-9)


def test_a_slope_needs_every_point_before_its_end_and_none_after():
    counts, errors = np.array([1, 2, 3, 4, 5, 10, 15]), 0.5 ** np.array([1, 2, 3, 4, 5, 10, 15])
    assert points.slope(counts, errors, 0, 5, 1e-12) == pytest.approx(math.log10(0.5))
    assert points.slope(counts, errors, 0, None, 0.06) == pytest.approx(math.log10(0.5))  # below it at 5
    for end in (6, None):
        with pytest.raises(NotMeasuredError, match="not known at 6"):
            points.slope(counts, errors, 0, end, 1e-12)
    with pytest.raises(NotMeasuredError, match="fewer than three points"):
        points.slope(counts, errors, 0, 2, 1e-12)
