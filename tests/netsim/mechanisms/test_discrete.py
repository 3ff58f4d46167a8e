"""Laplace and Gaussian noise on a grid against SciPy, sums with 40 digits, and their own releases."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteGaussian, DiscreteLaplace, DiscreteMechanism, Gaussian, Laplace
from netsim.mechanisms.discrete import SMOOTH

FALSE_ALARM = 1e-9
BOTH = [DiscreteLaplace, DiscreteGaussian]
CASES = [(DiscreteLaplace, s) for s in (0.05, 0.5, 1.0, 3.3, 200.0)] + [
    (DiscreteGaussian, s) for s in (0.2, 0.5, 1.0, 3.3, 31.9, 32.0, 200.0)
]


def gaussian_masses(s: float, reach: int) -> list[mpmath.mpf]:
    """P(K = k), k = −reach … reach, by summing with 40 digits."""
    with mpmath.workdps(40):
        weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(s) ** 2)) for k in range(-reach, reach + 1)]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


def on_steps(mechanism, k):
    """Log-probability and both quantiles of k steps of noise, one coordinate."""
    observed, zero = mechanism.step * np.asarray(k, dtype=np.float64)[:, None], np.zeros((len(k), 1))
    return (
        mechanism.log_density(observed, zero),
        mechanism.quantiles_below(observed, zero)[:, 0],
        mechanism.quantiles(observed, zero)[:, 0],
    )


@pytest.mark.parametrize("scale", [0.05, 0.4, 1.0, 3.0, 1e4])
@pytest.mark.parametrize("step", [1.0, 0.1, 2.0**-20])
def test_discrete_laplace_is_scipys(scale, step):
    law = stats.dlaplace(1 / scale)
    k = np.unique(np.round(np.linspace(-20, 20, 41) * scale))
    mechanism = DiscreteLaplace(scale * step, step)
    logs, below, up_to = on_steps(mechanism, k)
    np.testing.assert_allclose(logs, law.logpmf(k), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(up_to, law.cdf(k), rtol=1e-9)
    np.testing.assert_allclose(below, law.cdf(k - 1), rtol=1e-9)
    assert mechanism.variance() == pytest.approx(law.var() * step**2, rel=1e-9)


@pytest.mark.parametrize("s", [0.2, 0.99, 1.0, 1.01, 3.3, SMOOTH - 0.1, SMOOTH, 100.0])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_discrete_gaussian_is_its_definition_with_forty_digits(s, step):
    """Also 8 σ out, where the tail is 1e-15: relative, not absolute, errors."""
    reach = int(14 * s) + 20
    masses = gaussian_masses(s, reach)
    k = np.unique(np.r_[np.round(np.linspace(-8, 8, 9) * s), -1, 0, 1])
    with mpmath.workdps(40):
        tails = [mpmath.fsum(masses[: reach + int(j) + 1]) for j in k]
        logs = [float(mpmath.log(masses[reach + int(j)])) for j in k]
        variance = float(mpmath.fsum(m * j * j for j, m in zip(range(-reach, reach + 1), masses, strict=True)))
    mechanism = DiscreteGaussian(s * step, step)
    found, below, up_to = on_steps(mechanism, k)
    np.testing.assert_allclose(found, logs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(up_to, np.array(tails, dtype=np.float64), rtol=1e-8)
    np.testing.assert_allclose(up_to - below, np.exp(logs), rtol=1e-8, atol=2e-16)
    assert mechanism.variance() == pytest.approx(variance * step**2, rel=1e-12)


@pytest.mark.parametrize(("law", "scale"), CASES)
def test_releases_follow_the_law(law, scale):
    """χ² over cells of at least 200 expected releases, and quantiles drawn within the atoms by Kolmogorov–Smirnov."""
    step = 0.1
    mechanism = law(scale * step, step)
    value = np.full((20_000, 4), 7.03)
    released = mechanism.release(value, np.random.default_rng(1))
    k = np.rint(released / step) - 70
    np.testing.assert_array_equal(released, step * (70 + k))
    ends = np.unique(np.round(np.linspace(-3, 3, 13) * scale))
    edges = np.r_[0.0, on_steps(law(scale), ends)[2], 1.0]
    counts = np.histogram(k, bins=np.r_[-np.inf, ends + 0.5, np.inf])[0]
    enough = np.diff(edges) * k.size > 200
    expected = np.r_[np.diff(edges)[enough], np.diff(edges)[~enough].sum()] * k.size
    observed = np.r_[counts[enough], counts[~enough].sum()]
    if expected[-1] < 5:
        assert stats.poisson.sf(observed[-1] - 1, max(expected[-1], 1e-12)) > FALSE_ALARM or observed[-1] == 0
        expected, observed = expected[:-1] * observed[:-1].sum() / expected[:-1].sum(), observed[:-1]
    assert len(expected) == 1 or stats.chisquare(observed, expected).pvalue > FALSE_ALARM
    low, high = mechanism.quantiles_below(released, value), mechanism.quantiles(released, value)
    drawn = low + np.random.default_rng(2).random(low.shape) * (high - low)
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > FALSE_ALARM
    variance = mechanism.variance()
    squares = (released - 7.0) ** 2
    if np.count_nonzero(k) > 1_000:  # else no central limit; the counts have been looked at
        assert abs(squares.mean() - variance) < stats.norm.isf(FALSE_ALARM / 2) * squares.std() / math.sqrt(k.size)


@pytest.mark.parametrize(("law", "smooth"), [(DiscreteLaplace, Laplace), (DiscreteGaussian, Gaussian)])
def test_on_a_fine_grid_it_is_the_continuous_law(law, smooth):
    """The probability of an atom over the step is the density, up to the step's share of the scale."""
    fine, plain = law(1.0, 2.0**-30), smooth(1.0)
    observed, value = np.array([[1.5, -0.25], [7.0, -3.0]]), np.array([[0.5, 0.25], [0.0, 0.0]])
    logs = fine.log_density(observed, value) - 2 * math.log(2.0**-30)
    np.testing.assert_allclose(logs, plain.log_density(observed, value), atol=1e-8)
    np.testing.assert_allclose(fine.quantiles(observed, value), plain.quantiles(observed, value), rtol=1e-6)
    assert fine.variance() == pytest.approx(plain.variance(), rel=1e-12)


@given(
    st.lists(st.integers(-400, 400), min_size=3, max_size=3),
    st.lists(st.integers(-40, 40), min_size=3, max_size=3),
    st.floats(0.01, 100),
)
def test_the_loss_is_at_most_the_grid_distance_over_the_scale_and_attains_it(observed, shift, scale):
    mechanism, zero = DiscreteLaplace(scale, 0.5), np.zeros((1, 3))
    other = 0.5 * np.array([shift], dtype=np.float64)
    price = np.abs(other).sum() / scale

    def loss(seen: np.ndarray) -> float:
        return float((mechanism.log_density(seen, zero) - mechanism.log_density(seen, other))[0])

    assert abs(loss(0.5 * np.array([observed], dtype=np.float64))) <= price * (1 + 1e-9) + 1e-9
    assert loss(zero - 0.5 * np.sign(other)) == pytest.approx(price, rel=1e-9, abs=1e-9)


def test_the_discrete_gaussian_has_its_zcdp_at_whole_orders():
    """The Rényi divergence of order α at distance Δ is α·Δ²/(2σ²) for whole α (Canonne et al., Proposition 5)."""
    mechanism, k = DiscreteGaussian(1.7), np.arange(-80.0, 81.0)[:, None]
    here, there = (mechanism.log_density(k, np.full_like(k, shift)) for shift in (0.0, 3.0))
    for order in (2, 3, 5):
        divergence = np.log(np.sum(np.exp(order * here - (order - 1) * there))) / (order - 1)
        assert divergence == pytest.approx(order * 9 / (2 * 1.7**2), rel=1e-12)


@pytest.mark.parametrize("law", BOTH)
def test_values_are_rounded_to_the_grid_first(law):
    mechanism, value = law(1.0, 0.25), np.array([[0.3, -0.124, 1.126, 0.125]])
    np.testing.assert_array_equal(mechanism.rounded(value), [[0.25, 0.0, 1.25, 0.0]])
    near = mechanism.release(value, np.random.default_rng(3))
    np.testing.assert_array_equal(near, mechanism.release(mechanism.rounded(value), np.random.default_rng(3)))
    np.testing.assert_array_equal(
        mechanism.log_density(near, value), mechanism.log_density(near, mechanism.rounded(value))
    )
    assert mechanism.log_density(near + 0.1, value)[0] == -np.inf


@pytest.mark.parametrize("law", BOTH)
def test_without_a_scale_nothing_is_added_nor_rounded(law):
    value = np.random.default_rng(6).normal(size=(3, 2))
    assert law(0.0).noiseless
    assert law(np.zeros((3, 1))).noiseless
    assert not law(1e-9).noiseless
    np.testing.assert_array_equal(law(0.0).release(value, np.random.default_rng(7)), value)
    mixed = law(np.array([[0.0], [2.0], [0.0]]), 0.5)
    released = mixed.release(value, np.random.default_rng(7))
    np.testing.assert_array_equal(released[[0, 2]], value[[0, 2]])
    np.testing.assert_array_equal(released[1], 0.5 * np.rint(released[1] / 0.5))
    logs = mixed.log_density(released, value)
    assert logs[[0, 2]].tolist() == [0.0, 0.0]
    assert logs[1] == law(2.0, 0.5).log_density(released[1:2], value[1:2])[0]
    assert mixed.log_density(released + 0.5, value)[0] == -np.inf
    assert mixed.variance()[1, 0] == pytest.approx(law(2.0, 0.5).variance(), rel=1e-14)


@pytest.mark.parametrize("law", BOTH)
def test_a_replica_is_priced_by_itself_whatever_the_others(law):
    """A scale per replica, on both sides of where the sums change their method."""
    scales = np.array([[0.3], [5.0], [31.0], [33.0], [1e6]])
    value = np.random.default_rng(1).normal(size=(5, 4)) * 10
    together = law(scales, 1.0)
    released = together.release(value, np.random.default_rng(2))
    for use in ("log_density", "quantiles", "quantiles_below"):
        alone: list[np.ndarray] = []
        for r, scale in enumerate(scales[:, 0]):
            row = slice(r, r + 1)
            alone.append(getattr(law(float(scale), 1.0), use)(released[row], value[row]))
        np.testing.assert_array_equal(getattr(together, use)(released, value), np.concatenate(alone))


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e10, 2.0**46])
def test_nothing_overflows(law, scale):
    mechanism = law(scale)
    value = np.array([[0.0, 3.0, -1e12, 2.0**52]])
    released = mechanism.release(value, np.random.default_rng(0))
    assert np.isfinite(mechanism.log_density(released, value)).all()
    far = np.array([[0.0, 1e9, -1e15, -(2.0**52)]])
    with np.errstate(all="raise", under="ignore"):
        logs = mechanism.log_density(far, value)
        quantiles, below = mechanism.quantiles(far, value), mechanism.quantiles_below(far, value)
        mechanism.variance()
    assert not np.isnan(logs).any()
    assert ((quantiles >= below) & (below >= 0) & (quantiles <= 1)).all()
    assert np.isnan(mechanism.log_density(np.full((1, 2), np.nan), np.zeros((1, 2)))).all()
    assert np.isnan(mechanism.quantiles(np.full((1, 2), np.nan), np.zeros((1, 2)))).all()


@pytest.mark.parametrize("law", BOTH)
def test_what_cannot_be_is_a_privacy_error(law):
    for step in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(PrivacyError, match=rf"{law.__name__} step = .*positive and finite"):
            law(1.0, step)
    with pytest.raises(PrivacyError, match="too fine"):
        law(1.0, 2.0**-47)
    assert isinstance(law(1.0), DiscreteMechanism)
