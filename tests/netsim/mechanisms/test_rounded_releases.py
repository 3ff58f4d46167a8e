"""The probability of an interval: what a rounded release costs."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.mechanisms import Gaussian, IntervalMechanism, Laplace

LAWS = [Laplace(0.7), Gaussian(0.7)]


def exact(mechanism, low, high, value) -> float:
    """With 60 digits, in the lower tail."""
    with mpmath.workdps(60):
        scale = mpmath.mpf(0.7)
        a, b = ((mpmath.mpf(end) - mpmath.mpf(value)) / scale for end in (low, high))
        if a > 0:
            a, b = -b, -a
        if isinstance(mechanism, Laplace):
            return float(mpmath.log(_laplace(b) - _laplace(a)))
        root = mpmath.sqrt(2)
        return float(mpmath.log((mpmath.erfc(-b / root) - mpmath.erfc(-a / root)) / 2))


def _laplace(t):
    return mpmath.exp(t) / 2 if t < 0 else 1 - mpmath.exp(-t) / 2


@pytest.mark.parametrize("mechanism", LAWS, ids=repr)
@settings(max_examples=300, deadline=None)
@given(
    value=st.floats(-3, 3),
    low=st.floats(-20, 20),
    width=st.floats(-12, 2).map(lambda power: 10.0**power),
)
def test_log_mass_against_sixty_digits(mechanism, value, low, width):
    """Thin slices far out too: the error is that of the ends' own rounding, relative to the width."""
    high = low + width
    found = mechanism.log_mass(*(np.array([[v]]) for v in (low, high, value)))
    rounding = 1e-15 * (1 + abs(low - value)) ** 2
    assert found.shape == (1,)
    assert found[0] == pytest.approx(exact(mechanism, low, high, value), abs=1e-10 + rounding, rel=1e-10)


@pytest.mark.parametrize("mechanism", LAWS, ids=repr)
def test_tails_and_parts_of_the_line_make_one(mechanism):
    ends = np.array([-np.inf, -30.0, -1.0, -1.0 + 1e-9, 0.2, 0.3, 2.0, 40.0, np.inf])
    low, high = (part[:, None] for part in (ends[:-1], ends[1:]))
    masses = np.exp(mechanism.log_mass(low, high, np.full_like(low, 0.25)))
    assert np.sum(masses) == pytest.approx(1.0, abs=1e-12)
    law = mechanism.quantiles(high, np.full_like(high, 0.25)) - mechanism.quantiles(low, np.full_like(low, 0.25))
    np.testing.assert_allclose(masses, law.ravel(), atol=1e-12)


@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_coordinates_add_up_and_one_without_noise_is_sure(law):
    mechanism = law(np.array([0.5, 0.0, 2.0]))
    low, value, high = np.array([[0.0, 1.0, -3.0]]), np.array([[0.1, 1.5, 0.0]]), np.array([[1.0, 2.0, -1.0]])
    parts: list[np.ndarray] = []
    for k, s in ((0, 0.5), (2, 2.0)):
        one = slice(k, k + 1)
        parts.append(law(s).log_mass(low[:, one], high[:, one], value[:, one]))
    np.testing.assert_allclose(mechanism.log_mass(low, high, value), sum(parts))
    assert mechanism.log_mass(low, high, value + 1.0)[0] == -np.inf


def test_both_laws_price_intervals():
    assert all(isinstance(mechanism, IntervalMechanism) for mechanism in LAWS)
