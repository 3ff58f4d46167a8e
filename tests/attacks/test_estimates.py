"""Estimates of one agent, and what choosing some of them costs."""

import numpy as np

from attacks.estimates import Evidence, GradientEstimate


def estimates(rounds: int, dimension: int) -> list[GradientEstimate]:
    rng = np.random.default_rng(0)
    return [
        GradientEstimate(3, t, rng.normal(size=(2, dimension)), rng.normal(size=(2, dimension)), 0.1 * t)
        for t in range(rounds)
    ]


def test_a_covariance_given_once_for_all_coordinates_is_kept_once_whatever_is_chosen():
    whole = Evidence.of(estimates(60, 5))
    chosen = whole.only([4, 9, 50])
    assert whole.alike
    assert chosen.alike
    np.testing.assert_array_equal(np.diagonal(chosen.covariance[..., 2]), (0.1 * np.array([4, 9, 50])) ** 2)
    assert chosen.covariance.shape == (3, 3, 5)
    assert chosen.queries == (4, 9, 50)


def test_and_one_for_each_coordinate_is_chosen_from_as_it_is():
    whole = Evidence.of(estimates(6, 2))
    covariance = np.random.default_rng(1).normal(size=(6, 6, 2))
    apart = Evidence(3, whole.queries, whole.points, whole.gradients, covariance)
    np.testing.assert_array_equal(apart.only([5, 1]).covariance, covariance[[5, 1]][:, [5, 1]])
    assert not apart.only([5, 1]).alike
