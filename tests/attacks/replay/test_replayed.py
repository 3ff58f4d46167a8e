"""What a replay finds: the law of a release's noise, and how two values differ."""

import math

import numpy as np
import pytest

from attacks.replay.recorded import gap
from attacks.replay.replayed import Comparison, Perturbed, Release, deviation
from netsim.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, UniformLaplace

ONES = np.ones((2, 3))
JUDGED = np.ones(2, dtype=bool)
LAWS = [
    Laplace(0.5), Gaussian(0.3), UniformLaplace(2.0, 0.1), UniformLaplace(0.1, 2.0), DiscreteLaplace(0.8, 0.5),
    DiscreteGaussian(0.8, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_deviation_is_the_root_of_the_variance(law):
    assert deviation(law) == pytest.approx(np.sqrt(law.variance()), rel=1e-12)
    release = Release(0, law, ONES, ONES, JUDGED)
    assert release.stddev.shape == ONES.shape
    np.testing.assert_allclose(release.stddev, np.sqrt(law.variance()), rtol=1e-12)


def test_the_deviation_of_noise_whose_square_is_no_float_is_still_told():
    assert deviation(Laplace(1e-170)) == pytest.approx(math.sqrt(2) * 1e-170)
    assert deviation(DiscreteGaussian(1e-170, 1e-171)) == pytest.approx(1e-170, rel=1e-3)


def test_the_deviation_of_any_other_law_is_read_off_its_variance():
    assert deviation(Perturbed(Gaussian(0.3), ONES, np.zeros(2))) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("law", "scale"), [(Laplace(0.5), 0.5), (Gaussian(np.array([0.3, 0.2, 0.1])), [0.3, 0.2, 0.1])]
)
def test_the_scale_is_the_parameter_of_the_law_as_it_is(law, scale):
    np.testing.assert_array_equal(Release(0, law, ONES, ONES, JUDGED).scale, scale)


@pytest.mark.parametrize("law", [Laplace(0.5), Gaussian(0.3)], ids=repr)
def test_a_minimizers_density_is_that_of_the_noise_that_explains_it_times_the_jacobian(law):
    """b = pull − ∇f(x): the value is ∇f(x), and what was observed, x, counts in the Jacobian alone."""
    rng = np.random.default_rng(0)
    pull, gradient, minimizer = rng.normal(size=(3, 2, 3))
    jacobian = np.array([0.7, -0.2])
    perturbed = Perturbed(law, pull, jacobian)
    release = Release(0, perturbed, minimizer, gradient, JUDGED)
    noise = Release(0, law, pull - gradient, np.zeros_like(pull), JUDGED)
    np.testing.assert_allclose(release.log_density(), noise.log_density() + jacobian, rtol=1e-12)
    np.testing.assert_allclose(release.quantiles(rng), noise.quantiles(rng), rtol=1e-9)
    np.testing.assert_allclose(release.stddev, noise.stddev)


def test_values_differ_in_a_replica_where_any_coordinate_does():
    observed = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    predicted = np.array([[1.0, 2.0, 3.0], [1.0, np.nextafter(2.0, 3.0), 3.0]])
    possible = observed != predicted
    exact = Comparison(0, "x", 1, observed, predicted, None, JUDGED)
    rounded = Comparison(0, "x", 1, observed, predicted, possible, JUDGED)
    visible = Comparison(0, "x", 1, observed, predicted, np.zeros_like(possible), JUDGED)
    assert exact.differs.tolist() == rounded.differs.tolist() == [False, True]
    assert [c.visible.tolist() for c in (exact, rounded, visible)] == [[False, False], [False, False], [False, True]]
    assert rounded.difference == np.nextafter(2.0, 3.0) - 2.0


def test_a_gap_has_the_fields_that_were_not_received_and_no_values_in_them():
    row = gap("received", 0, 1, "exchange", 3, ("x", "u"))
    assert list(row.values) == ["x", "u"]
    assert all(value.size == 0 for value in row.values.values())
    assert (row.event, row.sender, row.receiver, row.number) == ("received", 0, 1, 3)
