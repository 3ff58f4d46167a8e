"""Uniform plus Laplace noise: density and distribution against integrals and 60 digits, worst and average loss."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from netsim.errors import PrivacyError
from netsim.mechanisms import (
    DiscreteMechanism,
    Gaussian,
    Laplace,
    UniformLaplace,
    average_ratio,
    average_supremum_ratio,
)
from tests.oracles.random_aggregators import small_shift_ratio

FALSE_ALARM = 1e-9
ARRAYS = hnp.arrays(np.float64, (3, 2), elements=st.floats(-50, 50))


def supremum_formula(shift: float, width: float, scale: float) -> float:
    """(2.6) of Xiao 2019, Theorem 2.2.2, which states it as a bound on γ; it needs width > shift.

    It is none, for Appendix D takes a smaller loss for the largest: at most ω and β of Fig. 2-1 it lies below, by up
    to 0.003 at its shift of 0.001, and by 0.03 at ω = 1, β = 2 and a shift of 0.3. With F the distribution function
    of the release, its two ∫∫Φ are F((ω − a)/2) − F(0) and F((ω + a)/2) − F(a).
    """
    s, r = shift / scale, width / scale
    ends = np.array([[(r - s) / 2], [0.0], [(r + s) / 2], [s]])
    up, zero, over, low = UniformLaplace(r, 1.0).quantiles(ends, np.zeros_like(ends))[:, 0].tolist()
    return float(np.logaddexp(s + math.log(1 - 2 * (up - zero)), math.log(2 * (over - low)))) / s


def exact(t: float, width: float, scale: float) -> tuple[float, float]:
    """log density and distribution of width·U + Laplace(scale) at t, with 60 digits: the definition, integrated."""
    with mpmath.workdps(60):
        t, w, b = mpmath.mpf(t), mpmath.mpf(width), mpmath.mpf(scale)
        if w < 0:
            t, w = t - w, -w

        def cdf(x):
            return mpmath.exp(x / b) / 2 if x < 0 else 1 - mpmath.exp(-x / b) / 2

        def above(x):  # its integral from −∞, max(x, 0) + b e^{−|x|/b}/2
            return max(x, mpmath.mpf(0)) + b * mpmath.exp(-abs(x) / b) / 2

        upper = cdf(w - t) * (1 - mpmath.exp(-w / b))  # the same by symmetry, where differences would cancel
        mass = upper if t > w else cdf(t) - cdf(t - w)
        return float(mpmath.log(mass / w)), float((above(t) - above(t - w)) / w)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    t=st.floats(-1e3, 1e3),
    width=st.tuples(st.floats(-18, 4), st.sampled_from([-1, 1])).map(lambda w: w[1] * 10.0 ** w[0]),
    scale=st.floats(-3, 3).map(lambda power: 10.0**power),
)
def test_density_and_distribution_against_sixty_digits(t, width, scale):
    """Widths from 1e-21 to 1e7 scales; the error is that of t's own rounding, relative to the scale."""
    mechanism = UniformLaplace(width, scale)
    observed, value = np.array([[t]]), np.zeros((1, 1))
    assume(abs(t - width) > 0 or abs(width) > 1e-9)
    density, distribution = exact(t, width, scale)
    rounding = 4e-16 * (abs(t) + abs(width)) / scale
    assert mechanism.log_density(observed, value)[0] == pytest.approx(density, abs=1e-13 + rounding, rel=1e-14)
    found = mechanism.quantiles(observed, value)[0, 0]
    assert found == pytest.approx(distribution, abs=1e-15, rel=1e-13 + rounding)


@pytest.mark.parametrize(("width", "scale"), [(3.0, 0.2), (-3.0, 1.0), (0.5, 5.0), (-2.0, 0.0), (1e-12, 1.0)])
def test_releases_follow_the_law_and_have_its_variance(width, scale):
    value = np.full((10_000, 4), 7.0)
    mechanism = UniformLaplace(np.full((10_000, 1), width), scale)
    released = mechanism.release(value, np.random.default_rng(1))
    assert stats.kstest(mechanism.quantiles(released, value).ravel(), "uniform").pvalue > FALSE_ALARM
    off = mechanism.quantiles(released, value + 0.3 * np.sqrt(mechanism.variance()))
    assert stats.kstest(off.ravel(), "uniform").pvalue < FALSE_ALARM
    plain = UniformLaplace(width, scale)
    expected = stats.uniform(scale=abs(width)).var() + (stats.laplace(scale=scale).var() if scale else 0.0)
    assert plain.variance() == pytest.approx(expected, rel=1e-14)
    assert plain.mean() == width / 2
    squares = (released - 7.0 - width / 2) ** 2
    assert abs(squares.mean() - expected) < stats.norm.isf(FALSE_ALARM / 2) * squares.std() / 200
    assert np.isfinite(mechanism.log_density(released, value)).all()


def test_width_zero_is_laplace_noise_and_no_scale_is_uniform():
    rng = np.random.default_rng(0)
    observed, value = rng.normal(size=(6, 3)) * 30, rng.normal(size=(6, 3))
    for tiny in (0.0, 1e-300, -1e-300, np.zeros((6, 3)), np.full((6, 3), 5e-324)):
        near, plain = UniformLaplace(tiny, 0.4), Laplace(0.4)
        np.testing.assert_allclose(near.log_density(observed, value), plain.log_density(observed, value), rtol=1e-14)
        np.testing.assert_allclose(near.quantiles(observed, value), plain.quantiles(observed, value), rtol=1e-13)
    flat = UniformLaplace(-4.0, 0.0)
    assert flat.log_density(np.array([[-3.9, -0.1]]), np.zeros((1, 2)))[0] == pytest.approx(-2 * math.log(4))
    assert flat.log_density(np.array([[-3.9, 0.1]]), np.zeros((1, 2)))[0] == -np.inf
    np.testing.assert_allclose(flat.quantiles(np.array([[-5.0, -3.0, 1.0]]), np.zeros((1, 3))), [[0.0, 0.25, 1.0]])


def test_a_uniform_release_is_possible_however_coarse_the_value():
    """A width of a few units in the last place of the value: rounding may put the release at, or past, an end."""
    value = np.full((2_000, 1), 1e6)
    for width in (1e-9, -1e-9, 3e-10):
        mechanism = UniformLaplace(width, 0.0)
        released = mechanism.release(value, np.random.default_rng(3))
        assert np.isfinite(mechanism.log_density(released, value)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e150])
@pytest.mark.parametrize("width", [0.0, 1e-300, -1e-20, 1.0, -1e20])
def test_nothing_overflows(width, scale):
    t = np.array([-1e10, -1.0, -1e-200, 0.0, 1e-200, 0.5, 1.0, 1e10])[:, None]
    mechanism = UniformLaplace(width, scale)
    with np.errstate(all="raise", under="ignore"):
        logs, quantiles = mechanism.log_density(t, np.zeros_like(t)), mechanism.quantiles(t, np.zeros_like(t))
    assert not np.isnan(logs).any()
    assert ((quantiles >= 0) & (quantiles <= 1)).all()
    assert (np.diff(quantiles, axis=0) >= -1e-15).all()


@given(observed=ARRAYS, value=ARRAYS, other=ARRAYS, width=ARRAYS, wide=ARRAYS, scale=st.floats(0.01, 100))
def test_the_loss_is_at_most_the_larger_shift_of_an_end_over_the_scale(observed, value, other, width, wide, scale):
    """With equal widths that is ‖Δ‖₁/b."""
    one, two = UniformLaplace(width, scale), UniformLaplace(wide, scale)
    loss = np.abs(one.log_density(observed, value) - two.log_density(observed, other))
    ends = np.maximum(np.abs(value - other), np.abs(value + width - other - wide)).sum(axis=-1) / scale
    assert (loss <= ends * (1 + 1e-9) + 1e-9).all()
    same = np.abs(one.log_density(observed, value) - one.log_density(observed, other))
    assert (same <= np.abs(value - other).sum(axis=-1) / scale * (1 + 1e-9) + 1e-9).all()


def test_what_is_refused_and_what_is_noiseless():
    for width in (math.nan, math.inf):
        with pytest.raises(PrivacyError, match="UniformLaplace width"):
            UniformLaplace(width, 1.0)
    assert UniformLaplace(0.0, 0.0).noiseless
    assert not UniformLaplace(0.0, 1.0).noiseless
    assert not UniformLaplace(2.0, 0.0).noiseless
    assert not UniformLaplace(np.zeros((2, 2)), 0.0).noiseless, "an array is data: no branch depends on it"
    assert not isinstance(UniformLaplace(1.0, 1.0), DiscreteMechanism)
    assert np.isnan(UniformLaplace(np.full((1, 2), np.nan), 1.0).log_density(np.ones((1, 2)), np.zeros((1, 2)))).all()


class TestAverageLoss:
    @pytest.mark.parametrize("width", [1e-6, 0.1, 1.0, -1.0, 7.0, 200.0])
    @pytest.mark.parametrize("scale", [0.25, 1.0])
    def test_the_formula_is_its_limit_for_small_shifts(self, width, scale):
        """The corner of the density at its ends makes the approach linear in shift/width where ω is small."""
        shift = 1e-4 * scale * min(1.0, abs(width))
        assert small_shift_ratio(width, scale) == pytest.approx(average_ratio(shift, width, scale), rel=2e-4)

    def test_the_signed_average_vanishes_against_the_worst_case(self):
        """Why γ is of the absolute loss: a divergence is of second order in the shift."""
        law = UniformLaplace(2.0, 1.0)
        t = np.linspace(-40, 42, 200_001)[:, None]
        for shift in (1e-1, 1e-2):
            here, there = (law.log_density(t, np.full_like(t, s)) for s in (0.0, shift))
            divergence = integrate.simpson(np.exp(here) * (here - there), x=t[:, 0])
            assert 0 < divergence / shift < shift

    def test_it_is_at_most_the_worst_case_and_attained_by_laplace_noise_at_small_shifts(self):
        assert small_shift_ratio(0.0, 1.0) == 1.0
        assert small_shift_ratio(np.array([0.0, 1e-300, 1e300]), 1.0) == pytest.approx([1.0, 1.0, 0.0])
        for shift in (0.01, 1.0, 30.0):
            assert 0 < average_ratio(shift, 0.5, 1.0) <= 1


def printed(shift: float, width: float, beta: float) -> tuple[float, float]:
    """γ by (2.5) and Definition 2, the maximum over t = ±a taken as it is, and the right side of (2.6), its integrals
    as they stand; 25 digits."""
    with mpmath.workdps(25):
        a, w, b = mpmath.mpf(shift), mpmath.mpf(width), mpmath.mpf(beta)

        def density(x):
            return (
                (2 - mpmath.exp(-b * x) - mpmath.exp(-b * (w - x))) / (2 * w)
                if 0 <= x <= w
                else mpmath.exp(-b * max(-x, x - w)) * (1 - mpmath.exp(-b * w)) / (2 * w)
            )

        def expected(x):
            return density(x) * max(abs(mpmath.log(density(x) / density(x - t))) for t in (a, -a))

        cuts = sorted({mpmath.mpf(0), a, w / 2, w - a, w})
        gamma = mpmath.quad(expected, cuts) / (a * b) + (1 - mpmath.exp(-b * w)) / (b * w)
        corner = [mpmath.mpf(0), *([(w - a) / 2] if w > a else [])]
        still = 2 * mpmath.quad(density, corner)
        moved = 2 * mpmath.quad(lambda x: density(x + a), corner)
        bound = mpmath.log(mpmath.exp(a * b) * (1 - still) + moved) / (a * b)
        return float(gamma), float(bound)


GRID = [(0.001, w, b) for w in (0.1, 0.4, 1.0) for b in (2.0, 5.0, 10.0)]
"""B∞/D, ω and β of Fig. 2-1 (1)."""
LARGER = [(0.05, 0.1, 10.0), (0.05, 1.0, 50.0), (0.3, 1.0, 2.0), (0.3, 3.0, 10.0)]


class TestAverageSupremum:
    """Xiao 2019, Definition 2 and Theorem 2.2.2."""

    def test_laplace_noise_alone_has_one(self):
        """Where one pair loses 0.98 and 0.55 of the worst case: another number."""
        for shift, one_pair in ((0.05, 0.988), (5.0, 0.831)):
            assert average_supremum_ratio(shift, 0.0, 1.0) == 1.0
            assert average_ratio(shift, 0.0, 1.0) == pytest.approx(one_pair, abs=1e-3)

    def test_gaussian_noise_alone_has_none(self):
        """Its max over |t| ≤ a at δ = 0 is (a² + 2a|x|)/2 for N(0, 1): without bound, a²/2 + a√(2/π) on average."""
        law, shift, x = Gaussian(1.0), 0.4, np.random.default_rng(0).normal(size=(100_000, 1))
        x[0] = 1e6
        moved = np.array([law.log_density(x - s, np.zeros_like(x)) for s in np.linspace(-shift, shift, 5)])
        largest = np.abs(moved - law.log_density(x, np.zeros_like(x))).max(axis=0)
        assert largest[0] > 1e5
        assert largest[1:].mean() == pytest.approx(shift**2 / 2 + shift * math.sqrt(2 / math.pi), rel=0.01)

    @pytest.mark.few(6)
    @pytest.mark.parametrize(("shift", "width", "beta"), GRID + LARGER)
    def test_both_numbers_are_those_of_the_definitions(self, shift, width, beta):
        gamma, bound = printed(shift, width, beta)
        assert average_supremum_ratio(shift, width, 1 / beta) == pytest.approx(gamma, rel=1e-8)
        assert supremum_formula(shift, width, 1 / beta) == pytest.approx(bound, rel=1e-8)

    def test_2_6_is_below_gamma_at_most_points_of_its_own_figure(self):
        """At 80 of 90, by 0.0027 at the most, over ω ∈ [.1, 1] and β ∈ [2, 10]; it is above where βω is large."""
        short = [
            average_supremum_ratio(0.001, w, 1 / b) - supremum_formula(0.001, w, 1 / b)
            for w in np.linspace(0.1, 1, 10)
            for b in np.linspace(2, 10, 9)
        ]
        assert sum(x > 0 for x in short) == 80
        assert max(short) == pytest.approx(0.00274, abs=1e-5)
        assert min(short) < -1e-4
        assert average_supremum_ratio(0.3, 1.0, 0.5) > supremum_formula(0.3, 1.0, 0.5) + 0.03

    @settings(deadline=None, max_examples=60)
    @given(shift=st.floats(1e-3, 20), width=st.floats(0, 60), scale=st.floats(0.05, 20))
    def test_it_is_at_most_one_and_above_that_of_one_pair(self, shift, width, scale):
        found = average_supremum_ratio(shift, width, scale)
        assert average_ratio(shift, width, scale) * (1 - 1e-7) <= found <= 1 + 1e-9

    @pytest.mark.parametrize("width", [0.3, 2.0, 20.0])
    def test_inside_its_interval_a_release_loses_less_than_the_worst_case(self, width):
        """Theorem 2.2.1: never more than β B∞/D, and less where the release lies in its interval."""
        law, shift = UniformLaplace(width, 1.0), 0.4
        t = np.concatenate([np.linspace(-9, 0, 50)[:-1], np.linspace(0, width, 200)[1:-1]])[:, None]
        moved = np.array([law.log_density(t - s, np.zeros_like(t)) for s in np.linspace(-shift, shift, 41)])
        largest = np.abs(moved - law.log_density(t, np.zeros_like(t))).max(axis=0)
        assert (largest <= shift + 1e-12).all()
        assert (largest[t[:, 0] > 0] < shift).all()
        np.testing.assert_allclose(largest[t[:, 0] < 0], shift, rtol=1e-12)

    def test_conditions(self):
        for one in (average_ratio, average_supremum_ratio):
            with pytest.raises(PrivacyError, match="scale 0"):
                one(1.0, 2.0, 0.0)
