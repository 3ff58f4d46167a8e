"""Products of Gaussian and Laplace releases: closed forms, the quadrature, and events, against their oracles."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.accounting.formulas import gaussian_delta, gaussian_epsilon
from attacks.audit.accounting.products import (
    Product,
    claimed_event,
    claimed_loss,
    product_delta,
    product_epsilon,
    product_event,
    saddle_for,
)
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError
from tests.attacks.audit.accounting.accountants import accountant, mixes

SHIFT = st.floats(0.01, 3.0)


def laplace_pair(shift, epsilon):
    """δ(ε) of one Laplace coordinate, from densities: ∫ (p − e^ε q)₊, in 40 digits; ε of either sign."""
    mpmath.mp.dps = 40
    s, e = mpmath.mpf(shift), mpmath.mpf(epsilon)
    excess = lambda y: max(mpmath.e ** (-abs(y)) / 2 - mpmath.e ** (e - abs(y - s)) / 2, mpmath.mpf(0))  # noqa: E731
    turn = min(max((s - e) / 2, mpmath.mpf(0)), s)
    return mpmath.quad(excess, sorted({-mpmath.inf, mpmath.mpf(0), turn, s, mpmath.inf}))


@pytest.mark.parametrize("shift", [0.01, 0.7, 5.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99, 1.0, 1.5])
def test_one_laplace_coordinate_is_the_integral_of_its_densities(shift, share):
    delta = Product.laplace(shift, 1.0).closed_delta(share * shift)
    assert delta == pytest.approx(float(laplace_pair(shift, share * shift)), rel=1e-12, abs=1e-15)


def two_factors(first, second, epsilon):
    """δ(ε) of two Laplace coordinates: over the noise of the first, of the second at what is left of ε."""
    mpmath.mp.dps = 25
    s, t, e = mpmath.mpf(first), mpmath.mpf(second), mpmath.mpf(epsilon)

    def left(u):  # δ of the second coordinate, ε of either sign
        if u >= t:
            return mpmath.mpf(0)
        return 1 - mpmath.e ** ((u - t) / 2) if u >= -t else 1 - mpmath.e**u

    ends = sorted({mpmath.mpf(0), s} | {min(max((s - (e - c)) / 2, mpmath.mpf(0)), s) for c in (t, -t)})
    middle = sum(
        mpmath.quad(lambda y: mpmath.e ** (-y) / 2 * left(e - (s - 2 * y)), [a, b]) for a, b in pairwise(ends)
    )
    return left(e - s) / 2 + mpmath.e ** (-s) / 2 * left(e + s) + middle


@pytest.mark.parametrize(("first", "second", "epsilon"), [(1, 1, 0.4), (1, 0.2, 0.0), (3, 2, 4.9), (0.1, 0.1, 0.15)])
def test_two_laplace_coordinates_agree_with_an_integral_over_one_of_them(first, second, epsilon):
    product = Product.laplace([first, second], 1.0)
    assert product_delta(product, epsilon) == pytest.approx(float(two_factors(first, second, epsilon)), rel=2e-4)


@pytest.mark.parametrize(("mu", "shift", "epsilon"), [(1.0, 1.0, 3.0), (0.1, 2.0, 1.9), (3.0, 0.1, 20.0)])
def test_a_gaussian_and_a_laplace_release_agree_with_an_integral_over_the_laplace_noise(mu, shift, epsilon):
    mpmath.mp.dps = 30

    def gauss(u):
        m = mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - u / m) - mpmath.e**u * mpmath.ncdf(-m / 2 - u / m)

    s = mpmath.mpf(shift)
    inner = mpmath.quad(lambda y: mpmath.e ** (-y) / 2 * gauss(epsilon - s + 2 * y), mpmath.linspace(0, s, 6))
    whole = gauss(epsilon - s) / 2 + mpmath.e ** (-s) / 2 * gauss(epsilon + s) + inner
    assert product_delta(Product(mu**2, (shift,)), epsilon) == pytest.approx(float(whole), rel=1e-9)


@pytest.mark.few("0.0")
@pytest.mark.parametrize("theta", [-3.0, -0.1, 0.0, 7.0])
def test_cumulants_are_those_of_the_density(theta):
    mpmath.mp.dps = 40
    product = Product(0.3, (0.2, 0.2, 1.5))

    def kappa(t):
        result = mpmath.mpf(0.3) * t * (1 + t) / 2
        for s in (mpmath.mpf(0.2), mpmath.mpf(0.2), mpmath.mpf(1.5)):
            inner = mpmath.quad(lambda y, s=s: mpmath.e ** (-y + t * (s - 2 * y)) / 2, [0, s])
            result += mpmath.log(mpmath.e ** (t * s) / 2 + mpmath.e ** (-s - t * s) / 2 + inner)
        return result

    value, slope, bend = product.cumulants(theta)
    assert value == pytest.approx(float(kappa(theta)), rel=1e-12, abs=1e-14)
    assert slope == pytest.approx(float(mpmath.diff(kappa, theta)), rel=1e-6, abs=1e-7)
    assert bend == pytest.approx(float(mpmath.diff(kappa, theta, 2)), rel=1e-6)


@pytest.mark.parametrize(("product", "epsilon"), [(Product(1.0), 0.1), (Product(0.3, (0.2, 0.2, 1.5)), 0.5)])
def test_the_saddle_point_s_guess_is_laplace_s_method(product, epsilon):
    """δ ≈ e^{κ(θ) − θε}/(θ(1 + θ)√(2π/θ'(ε))): the curvature there is how fast ε moves with θ."""
    at, step = saddle_for(product, epsilon), 1e-4
    slope = (saddle_for(product, epsilon + step).theta - saddle_for(product, epsilon - step).theta) / (2 * step)
    exponent = product.cumulants(at.theta)[0] - at.theta * epsilon
    expected = exponent - math.log(at.theta * (1 + at.theta)) - math.log(2 * math.pi / slope) / 2
    assert at.log_delta == pytest.approx(expected, abs=1e-6)
    assert at.log_delta == pytest.approx(math.log(product_delta(product, epsilon)), abs=0.1)


def test_the_characteristic_function_is_the_cumulant_continued():
    product, t = Product(0.5, (0.2, 0.2, 1.5)), np.array([0.0, 0.3, 2.0])
    found = product.characteristic(1.2, t, 0.7)
    for place, value in zip(t, found, strict=True):
        z, result = mpmath.mpc(1.2, place), mpmath.mpf(0)
        for w in (z, mpmath.mpc(1.2, 0)):
            term = mpmath.mpf(0.5) * w * (1 + w) / 2
            for s in product.shifts:
                inner = mpmath.quad(lambda y, s=s, w=w: mpmath.e ** (-y + w * (s - 2 * y)) / 2, [0, s])
                term += mpmath.log(mpmath.e ** (w * s) / 2 + mpmath.e ** (-s - w * s) / 2 + inner)
            result = term if w is z else result - term
        assert complex(mpmath.e ** (result - 1j * place * 0.7)) == pytest.approx(complex(value), abs=1e-12)
        if place == 0:
            assert value == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(st.lists(SHIFT, min_size=1, max_size=5), st.floats(0.01, 9.0), st.randoms())
def test_order_and_factors_that_tell_nothing_change_no_bit(shifts, cost, random):
    mixed = [*shifts, 0.0, 0.0]
    random.shuffle(mixed)
    one, two = Product(cost, tuple(shifts)), Product(cost, tuple(mixed))
    assert one == two
    assert hash(one) == hash(two)
    assert product_epsilon(one, 1e-5) == product_epsilon(two, 1e-5)


@settings(max_examples=25, deadline=None)
@given(st.lists(SHIFT, min_size=1, max_size=5), st.floats(0.1, 9.0), st.floats(0.0, 1.0))
def test_a_gaussian_release_may_be_split(shifts, cost, share):
    whole = Product(cost, tuple(shifts))
    split = Product(cost * share) * Product.laplace(shifts, 1.0) * Product(cost * (1 - share))
    assert product_epsilon(split, 1e-5) == pytest.approx(product_epsilon(whole, 1e-5), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(SHIFT, min_size=1, max_size=4), st.floats(0.01, 4.0), st.floats(1.01, 2.0))
def test_more_difference_loses_more(shifts, cost, factor):
    product = Product(cost, tuple(shifts))
    assert product_epsilon(product.scaled(factor), 1e-4) > product_epsilon(product, 1e-4)
    assert product_epsilon(product * product, 1e-4) > product_epsilon(product, 1e-4)
    assert product_epsilon(product, 1e-4) > product_epsilon(product, 1e-3)


@settings(max_examples=20, deadline=None)
@given(st.lists(SHIFT, min_size=2, max_size=6), st.floats(0.01, 4.0), st.floats(0.05, 1.0))
def test_delta_and_epsilon_are_inverse(shifts, cost, share):
    product = Product(cost, tuple(shifts))
    epsilon = share * sum(shifts)
    assert product_epsilon(product, product_delta(product, epsilon)) == pytest.approx(epsilon, rel=1e-7)


def test_vanishing_laplace_shifts_leave_the_gaussian_formula():
    for mu, delta in ((0.3, 1e-6), (2.0, 1e-3), (30.0, 1e-9)):
        almost = Product(mu**2, (1e-9, 1e-10))
        assert product_epsilon(almost, delta) == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-7)
        assert product_delta(almost, 0.1) == pytest.approx(gaussian_delta(mu, 0.1), rel=1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", mixes)
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_agrees_with_dp_accounting(name, delta):
    """Its pessimistic value errs upwards, by what connecting dots 1e-3 apart costs: below 1e-4 in 500 releases."""
    pytest.importorskip("dp_accounting")
    theirs = accountant(name).get_epsilon_for_delta(delta)
    ours = product_epsilon(mixes[name], delta)
    assert ours - 1e-9 * (1 + ours) <= theirs <= ours + 1e-4


def test_pure_budgets():
    assert (
        Product.laplace([1.0, -2.0], [2.0, 0.5]).closed_epsilon(0.0)
        == 4.5
        == product_epsilon(Product(0, (4, 0.5)), 0)
    )
    assert Product.laplace(1.0, 1.0).rounds(7).pure == 7
    assert product_epsilon(Product(1e-3, (1.0,)), 0.0) == math.inf
    assert product_epsilon(Product(), 0.0) == 0
    assert product_delta(Product(0.0, (1.0, 2.0)), 3.0) == 0
    assert product_epsilon(Product(1.0, (1.0,)), 1.0) == 0


def test_no_noise_over_a_difference_is_no_protection():
    for bare in (Product.laplace([1.0, 0.1], [1.0, 0.0]), Product.gaussian(1.0, 0.0)):
        assert product_epsilon(bare, 0.5) == math.inf
        assert product_delta(bare, 100.0) == 1
    assert Product.laplace([1.0, 0.0], [1.0, 0.0]) == Product.laplace(1.0, 1.0)
    assert Product.gaussian([3.0, 4.0], 5.0).mu == pytest.approx(1.0)


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-20])
@pytest.mark.parametrize("product", [Product(0.0, (700.0,) * 20), Product(0.0, (1e-9, 1e3)), Product(1e8, (1e4,))])
def test_extremes_have_a_value(product, delta):
    epsilon = product_epsilon(product, delta)
    assert 0 < epsilon <= product.pure
    assert product_delta(product, epsilon * (1 + 1e-9)) <= delta


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Product(-1.0), lambda: Product(math.nan), lambda: Product(0.0, (1.0, -1.0)),
        lambda: Product.laplace(1.0, -1.0), lambda: Product.gaussian(math.nan, 1.0), lambda: Product().rounds(-1),
        lambda: Product().scaled(-1.0), lambda: product_delta(Product(1.0), -0.1),
        lambda: product_epsilon(Product(1.0), 1.1),
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(PrivacyError):
        wrong()


def claim(epsilon, delta=0.0):
    failed = ("a condition",) if epsilon is None else ()
    return Claim(epsilon, delta, "Theorem 0", Adjacency(1.0, "one record"), "l1", failed)


@pytest.fixture
def accounting():
    return pytest.importorskip("dp_accounting")


def priced(event, delta, count=1):
    accountant = pytest.importorskip("dp_accounting").pld.PLDAccountant(value_discretization_interval=1e-4)
    return accountant.compose(event, count).get_epsilon(delta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_pure_claim_costs_what_it_says_and_composes_as_randomized_response(epsilon):
    event = claimed_event(claim(epsilon))
    assert priced(event, 0.0) == pytest.approx(epsilon, abs=2e-4)
    assert priced(event, 0.0, 3) == pytest.approx(3 * epsilon, abs=4e-4)
    # of two of them, Kairouz, Oh, Viswanath: δ(ε) = (e^{2ε} − e^{ε'})/(1 + e^ε)² for ε' in [0, 2ε]
    delta = 0.3 * (math.exp(2 * epsilon) - 1) / (1 + math.exp(epsilon)) ** 2
    expected = math.log(math.exp(2 * epsilon) - delta * (1 + math.exp(epsilon)) ** 2)
    assert priced(event, delta, 2) == pytest.approx(expected, abs=1e-3)


def test_claims_without_a_number_protect_nothing(accounting):
    assert claimed_event(claim(None)) == accounting.NonPrivateDpEvent()
    assert claimed_event(claim(math.inf)) == accounting.NonPrivateDpEvent()
    assert claimed_event(claim(0.0)) == accounting.NoOpDpEvent()
    with pytest.raises(PrivacyError, match="epsilon"):
        claimed_loss(claim(None))


def test_an_approximate_claim_has_a_loss_and_no_event(accounting):
    with pytest.raises(PrivacyError, match="claimed_loss"):
        claimed_event(claim(1.0, 1e-5))
    loss = claimed_loss(claim(1.0, 1e-5))
    assert loss.get_epsilon_for_delta(1e-5) == pytest.approx(1.0, abs=1e-3)
    assert loss.get_epsilon_for_delta(0.0) == math.inf
    assert loss.self_compose(2).get_epsilon_for_delta(2e-5) == pytest.approx(2.0, abs=2e-3)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "product",
    [
        Product(1.3), Product(0.0, (0.4,)), Product(0.0, (0.4, 0.4, 0.4, 1.1)), Product(0.5, (0.7, 0.7, 0.2)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_releases_are_priced_as_here(product, delta):
    assert priced(product_event(product), delta) == pytest.approx(product_epsilon(product, delta), abs=2e-3)


def test_a_claim_and_releases_compose_in_one_accountant(accounting):
    both = accounting.ComposedDpEvent([claimed_event(claim(0.5)), product_event(Product(0.0, (0.4,)))])

    def of_laplace(epsilon):
        return 0.0 if epsilon > 0.4 else 1 - math.exp((epsilon - 0.4) / 2)

    for epsilon in (0.2, 0.6, 0.8):  # ±0.5 by the claim, then what Laplace noise of shift 0.4 adds to it
        true = math.exp(0.5) / (1 + math.exp(0.5))
        delta = true * of_laplace(epsilon - 0.5) + (1 - true) * of_laplace(epsilon + 0.5)
        assert priced(both, delta) == pytest.approx(epsilon, abs=1e-3)


def test_nothing_told_and_nothing_covered(accounting):
    assert product_event(Product()) == accounting.NoOpDpEvent()
    assert product_event(Product(0.0, (math.inf,))) == accounting.NonPrivateDpEvent()
    assert product_event(Product(math.inf)) == accounting.NonPrivateDpEvent()
