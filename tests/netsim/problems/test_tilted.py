"""A tilt is a constant change of the gradient, in everything an agent may ask."""

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import L1, Tilted
from netsim.problems.objective import direction
from tests.worlds import synthetic_problem

RNG = np.random.default_rng(5)


@pytest.fixture
def pair():
    own = synthetic_problem().objectives[0]
    return own, Tilted(own, RNG.standard_normal(own.dimension))


def test_its_gradient_is_that_of_its_value_and_moves_by_the_slope(pair):
    own, tilted = pair
    x = RNG.standard_normal((3, own.dimension))
    np.testing.assert_array_equal(tilted.gradient(x), own.gradient(x) + tilted.slope)
    step = 1e-6
    for c in range(own.dimension):
        e = np.eye(own.dimension)[c] * step
        slope = (tilted.value(x + e) - tilted.value(x - e)) / (2 * step)
        np.testing.assert_allclose(slope, tilted.gradient(x)[:, c], atol=1e-8)


@pytest.mark.parametrize("regularizer", [None, L1(0.1)])
def test_its_proximal_map_meets_its_own_optimality_condition(pair, regularizer):
    _, tilted = pair
    v = RNG.standard_normal((4, tilted.dimension))
    x = tilted.proximal(v, 0.7, regularizer)
    ahead = v - 0.7 * tilted.gradient(x)
    np.testing.assert_allclose(x, ahead if regularizer is None else regularizer.proximal(ahead, 0.7), atol=1e-11)


def test_batches_are_tilted_too(pair):
    own, tilted = pair
    x = RNG.standard_normal((2, own.dimension))
    batch = [0, 2]
    np.testing.assert_array_equal(tilted.batch(batch).gradient(x), own.batch(batch).gradient(x) + tilted.slope)


def test_directions_have_norm_one_and_the_l1_norms_they_say():
    for name in ("even", "coordinate", "random"):
        assert np.linalg.norm(direction(name, 9)) == pytest.approx(1.0)
    assert np.abs(direction("even", 9)).sum() == pytest.approx(3.0)
    assert np.abs(direction("coordinate", 9)).sum() == 1.0


def test_a_slope_of_another_dimension_is_refused(pair):
    with pytest.raises(ScenarioError, match="slope"):
        Tilted(pair[0], np.ones(pair[0].dimension + 1))
