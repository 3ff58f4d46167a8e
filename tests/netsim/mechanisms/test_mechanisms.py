"""Noise against its textbook law: densities, quantiles, moments, and scales that cannot be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, UniformLaplace

FALSE_ALARM = 1e-8
"""Of each statistical test here, over reseeding."""
LAWS = [(Laplace, stats.laplace), (Gaussian, stats.norm)]
moderate = st.floats(-50, 50)
arrays = hnp.arrays(np.float64, (4, 3), elements=moderate)


@pytest.mark.few(1)
@pytest.mark.parametrize(("mechanism", "law"), LAWS)
@given(arrays, arrays, st.floats(0.5, 1e3))
def test_log_density_is_the_sum_of_the_coordinates_log_densities(mechanism, law, observed, value, scale):
    expected = law.logpdf(observed, loc=value, scale=scale).sum(axis=-1)
    assert mechanism(scale).log_density(observed, value) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_log_density_is_finite_far_out_in_the_tail():
    far = np.full((1, 2), 1e6)
    assert Laplace(1.0).log_density(far, 0 * far) == pytest.approx([-2 * (1e6 + math.log(2))])
    assert Gaussian(1.0).log_density(far, 0 * far) == pytest.approx([-1e12 - math.log(2 * math.pi)])


@pytest.mark.few(1)
@pytest.mark.parametrize(("mechanism", "law"), LAWS)
@given(arrays, arrays, st.floats(0.5, 1e3))
def test_quantiles_are_those_of_the_law(mechanism, law, observed, value, scale):
    expected = law.cdf(observed, loc=value, scale=scale)
    assert mechanism(scale).quantiles(observed, value) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("mechanism", "law"), LAWS)
@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (4, 3)])
def test_a_scale_per_replica_or_coordinate_is_many_mechanisms_in_one(mechanism, law, shape):
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.1, 5, shape)
    value, observed = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    expected = law.logpdf(observed, loc=value, scale=scales).sum(axis=-1)
    assert mechanism(scales).log_density(observed, value) == pytest.approx(expected)
    assert mechanism(scales).quantiles(observed, value) == pytest.approx(law.cdf(observed, loc=value, scale=scales))
    assert mechanism(scales).variance() == pytest.approx(law.var(scale=scales))


@pytest.mark.parametrize(("mechanism", "law"), LAWS)
@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_releases_follow_the_law(mechanism, law, scale):
    """Kolmogorov–Smirnov on 40,000 releases of a value that is not 0."""
    value = np.full((10_000, 4), 7.0)
    released = mechanism(scale).release(value, np.random.default_rng(1))
    assert (value == 7.0).all()
    assert released.shape == value.shape
    assert stats.kstest(released.ravel(), law(loc=7.0, scale=scale).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("mechanism", "law"), LAWS)
def test_coordinates_and_replicas_are_independent(mechanism, law):
    """28 correlations over 20,000 draws, each beyond 6.5 standard errors with probability 8.1e-11."""
    noise = mechanism(1.0).release(np.zeros((20_000, 8)), np.random.default_rng(4))
    assert (abs(np.corrcoef(noise.T)[np.triu_indices(8, 1)]) * math.sqrt(20_000) < 6.5).all()


@pytest.mark.parametrize("mechanism", [Laplace, Gaussian])
def test_a_scale_of_zero_is_noiseless_and_releases_the_value_itself(mechanism):
    value = np.random.default_rng(6).normal(size=(3, 2))
    assert mechanism(0.0).noiseless
    assert mechanism(np.zeros((3, 1))).noiseless
    assert (mechanism(0.0).release(value, np.random.default_rng(7)) == value).all()
    assert not mechanism(1e-300).noiseless
    assert not mechanism(np.array([[0.0], [0.0], [1.0]])).noiseless


@pytest.mark.parametrize("mechanism", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, UniformLaplace])
@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf, np.array([[1.0], [-1e-9]]), np.array([math.nan])])
def test_a_scale_that_cannot_be_is_a_privacy_error(mechanism, scale):
    with pytest.raises(PrivacyError, match=rf"(?s){mechanism.__name__} \w+ = .*at least 0"):
        mechanism(1.0, scale) if mechanism is UniformLaplace else mechanism(scale)
