"""Shares modulo p: exact arithmetic against Python's integers, and releases that tell nothing."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteMechanism, UniformModulo
from netsim.mechanisms.discrete import LARGEST

FALSE_ALARM = 1e-9
MODULI = st.one_of(st.integers(2, 50), st.integers(LARGEST - 5, LARGEST), st.integers(2, LARGEST))
WHOLE = st.integers(-LARGEST, LARGEST)


@settings(max_examples=300, deadline=None)
@given(MODULI, WHOLE, st.integers(0, 99))
def test_a_release_is_exact_in_whole_numbers_and_gives_its_share_back(modulus, number, seed):
    mechanism, value = UniformModulo(modulus), np.array([[float(number)]])
    share = int(np.random.default_rng(seed).integers(modulus, size=(1, 1))[0, 0])
    released = mechanism.release(value, np.random.default_rng(seed))
    assert int(released[0, 0]) == (number + share) % modulus
    assert not np.signbit(released).any()
    assert mechanism.quantiles_below(released, value)[0, 0] == share / modulus


@pytest.mark.parametrize("modulus", [2, 7, 2**40, LARGEST])
def test_releases_are_uniform_whatever_the_value(modulus):
    mechanism = UniformModulo(modulus)
    for value in (-3.0, 0.0, float(modulus - 1), float(LARGEST)):
        values = np.full((5_000, 4), value)
        released = mechanism.release(values, np.random.default_rng(1))
        assert ((released >= 0) & (released < modulus) & (released == np.floor(released))).all()
        if modulus < 10:
            counts = np.bincount(released.astype(int).ravel(), minlength=modulus)
            assert stats.chisquare(counts).pvalue > FALSE_ALARM
        else:
            assert stats.kstest(released.ravel() / modulus, "uniform").pvalue > FALSE_ALARM
        low, high = mechanism.quantiles_below(released, values), mechanism.quantiles(released, values)
        drawn = low + np.random.default_rng(2).random(low.shape) * (high - low)
        assert stats.kstest(drawn.ravel(), "uniform").pvalue > FALSE_ALARM


def test_the_density_is_constant_and_sums_to_one():
    mechanism = UniformModulo(5)
    every = np.array(list(itertools.product(range(5), repeat=2)), dtype=np.float64)
    for value in (np.array([0.0, 3.0]), np.array([-17.0, 4.0])):
        logs = mechanism.log_density(every, np.broadcast_to(value, every.shape))
        np.testing.assert_allclose(logs, -2 * math.log(5), rtol=1e-15)
    outside = np.array([[5.0, 0.0], [-1.0, 0.0], [0.5, 0.0], [0.0, 0.0]])
    assert np.isneginf(mechanism.log_density(outside, np.zeros((4, 2)))).tolist() == [True, True, True, False]


def test_variance_is_that_of_a_uniform_draw():
    for modulus in (2, 9, 1000):
        assert UniformModulo(modulus).variance() == pytest.approx(stats.randint(0, modulus).var(), rel=1e-14)
    assert not UniformModulo(2).noiseless
    assert isinstance(UniformModulo(2), DiscreteMechanism)


@pytest.mark.parametrize("modulus", [1, 0, -5, LARGEST + 1, 7.0, True])
def test_a_modulus_that_cannot_be_is_a_privacy_error(modulus):
    with pytest.raises(PrivacyError, match=r"modulus = .*whole number from 2 to 2\*\*53"):
        UniformModulo(modulus)


@pytest.mark.parametrize("value", [0.5, math.nan, math.inf, 2.0**53 + 2])
def test_numbers_that_are_not_whole_are_refused(value):
    values = np.array([[1.0, value]])
    rng = np.random.default_rng(0)
    for use in (
        lambda: UniformModulo(7).release(values, rng),
        lambda: UniformModulo(7).log_density(np.zeros((1, 2)), values),
        lambda: UniformModulo(7).quantiles(values, np.zeros((1, 2))),
    ):
        with pytest.raises(PrivacyError, match="round to fixed point first"):
            use()
