"""Prices against high precision and a maintained accountant; intervals of ε where ε is known."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.accounting.formulas import (
    SelfCheck,
    epsilon_from_losses,
    gaussian_delta,
    gaussian_epsilon,
)
from netsim.algorithms.composition import zcdp_epsilon
from netsim.errors import PrivacyError
from tests.attacks.audit.accounting.test_intervals import mean_interval
from tests.oracles.zcdp import zcdp_rho


def precise_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """The textbook formula in 80 digits."""
    with mpmath.workdps(80):
        m, e, root = mpmath.mpf(mu), mpmath.mpf(epsilon), mpmath.sqrt(2)
        upper = mpmath.erfc(-(m / 2 - e / m) / root) / 2
        return upper - mpmath.exp(e) * mpmath.erfc((m / 2 + e / m) / root) / 2


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 1e-2, 0.3, 0.69, 0.71, 1.0, 5.0, 40.0, 1000.0])
@pytest.mark.parametrize("z", [-6.0, -1.0, -0.2, 0.0, 0.1, 1.0, 5.0, 12.0, 25.0])
def test_gaussian_delta_agrees_with_high_precision(mu, z):
    epsilon = max(mu * mu / 2 + z * mu, 0.0)
    assert gaussian_delta(mu, epsilon) == pytest.approx(float(precise_delta(mu, epsilon)), rel=2e-11, abs=0)


@pytest.mark.parametrize("mu", [1e-4, 0.1, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("delta", [1e-200, 1e-12, 1e-5, 0.1])
def test_gaussian_epsilon_is_the_root(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    if epsilon == 0:
        assert precise_delta(mu, 0.0) <= delta
    else:
        assert precise_delta(mu, epsilon * (1 - 1e-10)) > delta > precise_delta(mu, epsilon * (1 + 1e-10))


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2])
def test_gaussian_agrees_with_dp_accounting(mu, delta):
    dp_accounting = pytest.importorskip("dp_accounting")
    ours = gaussian_epsilon(mu, delta)
    assert ours == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6, abs=1e-9)
    loss = dp_accounting.pld.privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu)
    assert gaussian_delta(mu, ours + 0.1) == pytest.approx(loss.get_delta_for_epsilon(ours + 0.1), rel=1e-6)


def test_gaussian_at_the_limits():
    assert gaussian_delta(0.0, 0.0) == 0
    assert gaussian_delta(math.inf, 5.0) == gaussian_delta(1e300, 5.0) == 1
    assert gaussian_delta(3.0, math.inf) == 0
    assert gaussian_epsilon(math.inf, 0.5) == math.inf
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(0.0, 0.0) == 0
    assert gaussian_epsilon(1e-6, 1e-5) == 0
    assert gaussian_epsilon(math.inf, 1.0) == 0


def test_gaussian_over_an_array_is_the_scalar_at_each_place():
    mu = np.array([[0.0, 0.2], [3.0, np.inf]])
    epsilon = gaussian_epsilon(mu, 1e-5)
    assert epsilon.shape == (2, 2)
    for place in np.ndindex(2, 2):
        assert epsilon[place] == gaussian_epsilon(float(mu[place]), 1e-5)
    deltas = gaussian_delta(np.array([0.5, 2.0])[:, None], np.array([0.1, 1.0, 7.0]))
    assert deltas.shape == (2, 3)
    assert deltas[1, 2] == gaussian_delta(2.0, 7.0)


@given(mu=st.floats(1e-6, 100), epsilon=st.floats(0, 200), more=st.floats(1.01, 3))
@example(mu=1.8390495868111998, epsilon=2.220446049250313e-16, more=2.0)
def test_gaussian_delta_rises_with_mu_and_falls_with_epsilon(mu, epsilon, more):
    delta = gaussian_delta(mu, epsilon)
    assert 0 <= delta <= 1
    slack = 1e-13 * delta  # rounding
    assert gaussian_delta(mu * more, epsilon) >= delta - slack
    assert gaussian_delta(mu, epsilon * more) <= delta + slack


@given(rho=st.floats(1e-12, 1e6), delta=st.floats(1e-15, 0.9))
@settings(max_examples=40, deadline=None)
def test_zcdp_goes_there_and_back_and_bounds_the_gaussian(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert zcdp_rho(epsilon, delta) == pytest.approx(rho, rel=1e-9)
    assert gaussian_epsilon(math.sqrt(2 * rho), delta) <= epsilon * (1 + 1e-12)


def test_zcdp_values():
    assert zcdp_epsilon(0.5, 1e-5) == pytest.approx(0.5 + 2 * math.sqrt(0.5 * 5 * math.log(10)))
    assert zcdp_epsilon(0.0, 1e-5) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_delta(-1.0, 1.0), lambda: gaussian_delta(1.0, -1.0), lambda: gaussian_delta(math.nan, 1.0),
        lambda: gaussian_epsilon(1.0, 1.5), lambda: epsilon_from_losses(np.array([1.0, np.nan]), 0.1, 0.95),
        lambda: epsilon_from_losses(np.array([]), 0.1, 0.95), lambda: epsilon_from_losses(np.ones(3), 0.1, 95.0),
        lambda: epsilon_from_losses(np.ones(3), 1.5, 0.95),
    ],
)  # fmt: skip
def test_nonsense_is_refused(call):
    with pytest.raises(PrivacyError):
        call()


def delta_from_losses(losses: np.ndarray, epsilon: float, confidence: float) -> tuple[float, float]:
    """The interval of δ(ε), of which `epsilon_from_losses` is the inverse.

    Its lower end is a bet's, or a count's at an eighth of the error rate: losses above ε + 4 are ≥ 1 − e⁻⁴ each.
    """
    bet = mean_interval(-np.expm1(np.minimum(epsilon - losses, 0.0)), confidence)
    far = int(np.count_nonzero(losses > epsilon + 4))
    share = stats.beta.ppf((1 - confidence) / 16, far, losses.size - far + 1) if far else 0.0
    return max(bet.lower, -math.expm1(-4) * share), bet.upper


def gaussian_losses(mu: float, n: int, seed: int) -> np.ndarray:
    """The losses of a Gaussian release: L ~ N(μ²/2, μ²)."""
    return np.random.default_rng(seed).normal(mu * mu / 2, mu, n)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "delta"), [(0.5, 0.05), (3.0, 0.02)])
def test_epsilon_interval_covers_on_each_side(mu, delta):
    """Each side misses at most 10 % of 100 seeds at 80 % confidence; false alarm of the test below 1e-4."""
    truth = gaussian_epsilon(mu, delta)
    found = [epsilon_from_losses(gaussian_losses(mu, 600, seed), delta, 0.8) for seed in range(100)]
    allowance = stats.binom.isf(5e-5, 100, 0.1)
    assert sum(interval.lower > truth for interval in found) <= allowance
    assert sum(interval.upper < truth for interval in found) <= allowance
    assert all(interval.lower <= interval.estimate <= interval.upper for interval in found)
    assert np.median([i.lower for i in found]) > 0.75 * truth
    assert np.median([i.upper for i in found]) < 1.35 * truth


def test_epsilon_interval_closes_on_the_truth():
    interval = epsilon_from_losses(gaussian_losses(1.0, 50_000, 3), 1e-3, 0.95)
    truth = gaussian_epsilon(1.0, 1e-3)
    assert truth in interval
    assert interval.upper - interval.lower < 0.1 * truth


def test_too_few_losses_for_delta_leave_the_upper_end_open():
    interval = epsilon_from_losses(gaussian_losses(1.0, 1000, 0), 1e-5, 0.95)
    assert interval.upper == math.inf
    assert interval.lower < gaussian_epsilon(1.0, 1e-5)


def test_identical_worlds_have_epsilon_zero():
    interval = epsilon_from_losses(np.zeros(1000), 0.01, 0.95)
    assert (interval.lower, interval.estimate, interval.upper) == (0, 0, 0)


def test_infinite_losses_are_mass_that_no_epsilon_buys_off():
    losses = np.concatenate([np.full(50, np.inf), np.full(950, 0.5)])
    above = epsilon_from_losses(losses, 0.01, 0.95)
    assert (above.lower, above.estimate, above.upper) == (math.inf, math.inf, math.inf)
    near = epsilon_from_losses(losses, 0.045, 0.95)
    assert near.lower < 0.5
    assert (near.estimate, near.upper) == (math.inf, math.inf)
    assert epsilon_from_losses(losses, 0.2, 0.95).upper <= 0.5
    assert epsilon_from_losses(np.full(100, np.inf), 0.1, 0.95).lower == math.inf


@pytest.mark.parametrize(("n", "delta"), [(2_000, 1e-5), (500, 0.01), (20_000, 1e-3)])
def test_counting_infinite_losses_errs_at_its_level(n, delta):
    """By the binomial law: at a true share of δ more than δ is proven with probability at most α/2, bets included."""
    first = int(stats.binom.isf(0.05, n, delta))
    samples = [np.concatenate([np.full(k, np.inf), np.zeros(n - k)]) for k in range(first, first + 40)]
    proven = [math.isinf(epsilon_from_losses(sample, delta, 0.9).lower) for sample in samples]
    assert not proven[0]  # that many are expected once in 20 times
    assert stats.binom.sf(first + proven.index(True) - 1, n, delta) <= 0.05
    assert stats.binom.sf(first + proven.index(True) - 2, n, delta) > 0.05 / 100


def test_pure_epsilon_is_witnessed_by_the_largest_loss():
    losses = np.array([-0.3, 0.2, 1.7, 0.9])
    interval = epsilon_from_losses(losses, 0.0, 0.95)
    assert interval.lower == pytest.approx(1.7, abs=1e-12)
    assert interval.lower < 1.7
    assert interval.upper == math.inf


finite_losses = st.lists(st.floats(-20, 20), min_size=1, max_size=50).map(np.array)


@given(losses=finite_losses, delta=st.floats(1e-3, 0.5), shift=st.floats(0, 5))
@example(losses=np.array([0.0] * 14 + [5.0] * 8), delta=0.125, shift=0.0)  # its lower end is a count's
@settings(max_examples=60, deadline=None)
def test_epsilon_interval_inverts_delta_and_rises_with_the_losses(losses, delta, shift):
    interval = epsilon_from_losses(losses, delta, 0.9)
    if 0 < interval.lower < math.inf:
        assert delta_from_losses(losses, interval.lower, 0.9)[0] >= delta * (1 - 1e-9)
    if interval.upper < math.inf:
        assert delta_from_losses(losses, interval.upper, 0.9)[1] <= delta * (1 + 1e-9)
    moved = epsilon_from_losses(losses + shift, delta, 0.9)
    assert moved.lower >= interval.lower - 1e-9
    assert moved.upper >= interval.upper - 1e-9


@pytest.mark.few("0.3")
@pytest.mark.parametrize("mu", [0.3, 3.0])
def test_correct_losses_pass_the_self_check(mu):
    """The mean of e^{−L} is exactly 1 here: at most 5 % of 150 seeds fail; false alarm of this below 1e-4."""
    checks = [SelfCheck.of(gaussian_losses(mu, 300, seed), 0.95) for seed in range(150)]
    assert sum(not check.passed for check in checks) <= stats.binom.isf(1e-4, 150, 0.05)
    assert all(check.passed == (check.lower <= 1) and check.lower <= check.mean for check in checks)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda losses: -losses, id="sign"),
        pytest.param(lambda losses: np.append(np.tile(losses, 10), -300.0), id="one absurd among many"),
        pytest.param(lambda losses: losses - 0.3, id="too small by a constant"),
        pytest.param(lambda losses: 2 * losses - 1.5, id="noise thought smaller"),
        pytest.param(lambda losses: np.where(np.arange(losses.size) == 5, -800.0, losses), id="one absurd"),
        pytest.param(lambda losses: np.where(np.arange(losses.size) == 5, -np.inf, losses), id="one impossible"),
    ],
)
def test_spoiled_losses_fail_the_self_check(spoil):
    check = SelfCheck.of(spoil(gaussian_losses(1.0, 2000, 1)), 0.999)
    assert not check.passed
    assert check.lower > 1


def test_losses_that_are_too_large_pass_the_self_check_as_documented():
    assert SelfCheck.of(gaussian_losses(1.0, 2000, 1) + 3, 0.95).passed
    assert SelfCheck.of(np.full(10, np.inf), 0.95).mean == 0
