"""Envelopes of differences that depend on earlier noise, against mechanisms whose δ(ε) is computed exactly."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.accounting.products import Product
from attacks.audit.accounting.quadrature import product_epsilon
from attacks.audit.loss.envelopes import enclosed, measured
from attacks.audit.loss.release_cost import cost_and_shifts
from attacks.replay import Release
from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteLaplace, Gaussian, Laplace

FIRST = 0.8
SECOND = (0.5, 1.1)


def rng(seed=0):
    return np.random.default_rng(seed)


def laplace_left(u, s):
    """δ of a Laplace coordinate at ε = u, of either sign."""
    return 0.0 if u >= s else -math.expm1((u - s) / 2) if u >= -s else -math.expm1(u)


def gauss_left(u, mu):
    return gaussian_delta(mu, u) if u >= 0 else -math.expm1(u) + math.exp(u) * gaussian_delta(mu, -u)


def adaptive(epsilon, left):
    """δ(ε) where a first Laplace release of shift 0.8 decides, by the sign of what is seen less 0.3, what follows.

    `left(u, branch)` is δ of what follows, at ε = u: an integral over the first noise.
    """

    def part(a, b):
        def density(y):
            return math.exp(-abs(y)) / 2 * left(epsilon - abs(y - FIRST) + abs(y), int(y > 0.3))

        return integrate.quad(density, a, b, epsabs=1e-13, limit=200)[0]

    return sum(part(a, b) for a, b in ((-40, 0), (0, 0.3), (0.3, FIRST), (FIRST, 40)))


def root(curve, delta):
    return optimize.brentq(lambda e: curve(e) - delta, 0.0, 30.0, xtol=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-2, 0.1])
def test_an_adaptive_laplace_shift_lies_between_its_extremes(delta):
    truth = root(lambda e: adaptive(e, lambda u, branch: laplace_left(u, SECOND[branch])), delta)
    least, most = (Product(0.0, (FIRST, s)) for s in SECOND)
    found = enclosed(least, most, delta, 0.0, 1 - 1e-4, 4000, rng())
    assert truth in found
    assert found.lower == pytest.approx(product_epsilon(least, delta), abs=0.01)
    assert found.upper == pytest.approx(product_epsilon(most, delta), abs=0.01)


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_gaussian_releases_share_a_total_that_is_spent_as_it_comes(delta):
    """A Gaussian release of μ² = 0.3, then one of 0.2 or 0.05, by the sign of the noise: 0.5 or 0.35 in total."""

    def curve(epsilon):
        def density(z):
            left = gauss_left(epsilon - 0.15 - math.sqrt(0.3) * z, math.sqrt(0.2 if z > 0 else 0.05))
            return math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * left

        return sum(integrate.quad(density, *ends, epsabs=1e-14, limit=200)[0] for ends in ((-12, 0), (0, 12)))

    truth = root(curve, delta)
    found = enclosed(Product(0.35), Product(0.5), delta, 0.0, 0.95, 10, rng())
    assert found.lower + 1e-3 < truth <= found.upper


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_an_adaptive_gaussian_cost_lies_between_its_extremes(delta):
    truth = root(lambda e: adaptive(e, lambda u, branch: gauss_left(u, SECOND[branch])), delta)
    least, most = (Product(mu**2, (FIRST,)) for mu in SECOND)
    assert truth in enclosed(least, most, delta, 0.0, 1 - 1e-4, 4000, rng())


def test_a_laplace_total_is_not_shared():
    """Shifts (1.6, 0) and (0.8, 0.8) have one sum and not one δ: what a bound of the sum would have to mean."""
    assert product_epsilon(Product(0.0, (1.6,)), 0.1) > product_epsilon(Product(0.0, (0.8, 0.8)), 0.1) + 0.05


def test_what_may_be_unseen_widens_both_ends():
    product = Product(0.2, (0.5, 0.3))
    found = enclosed(product, product, 1e-2, 4e-3, 1 - 1e-4, 4000, rng())
    assert found.lower == pytest.approx(product_epsilon(product, 1.4e-2), abs=1e-3)
    assert found.upper == pytest.approx(product_epsilon(product, 6e-3), abs=1e-3)
    assert found.estimate == pytest.approx(product_epsilon(product, 1e-2), abs=1e-6)
    assert enclosed(product, product, 1e-2, 1e-2, 0.95, 100, rng()).upper == math.inf
    assert enclosed(product, product, 1e-2, 1.0, 0.95, 100, rng()).lower == 0


def test_a_branch_of_small_probability_may_cost_anything():
    """A first release that lands beyond 6, with probability p, is followed by one without noise: δ grows by ≤ p."""
    p = math.exp(-6) / 2
    usual = Product(0.0, (FIRST, 0.5))

    def curve(e):
        cut = integrate.quad(
            lambda y: math.exp(-y) / 2 * (1.0 - laplace_left(e - abs(y - FIRST) + abs(y), 0.5)), 6, 60
        )[0]
        return adaptive(e, lambda u, branch: laplace_left(u, 0.5)) + cut

    truth = root(curve, 1e-2)
    assert truth > product_epsilon(usual, 1e-2) + 1e-3
    assert truth in enclosed(usual, usual, 1e-2, p, 1 - 1e-4, 4000, rng())


def test_a_new_transcript_leaves_the_factors_as_seldom_as_promised():
    """N = 100 at 95%: in 2,000 repetitions at most 0.05 + 5 standard errors have a leaving probability above p."""
    p = clopper_pearson(0, 100, 0.95, "upper").upper
    leaving = 1 - rng().random((2000, 100)).max(axis=1)  # of uniform factors
    assert np.mean(leaving > p) <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / 2000)


def test_an_envelope_of_many_ends_is_left_far_more_often():
    """Why the factors: of 100 uniform coordinates nearly every new transcript leaves one's extremes in 100 others."""
    p = clopper_pearson(0, 100, 0.95, "upper").upper
    drawn = rng().random((100, 100))
    inside = np.prod(drawn.max(axis=0) - drawn.min(axis=0))
    assert 1 - inside > 20 * p


def test_factors_of_transcripts_enclose_an_adaptive_mechanism():
    """Shifts of 20,000 transcripts, δ = 1e-2, at 1 − 1e-4."""
    noise = rng().laplace(size=20_000)
    second = np.where(noise > 0.3, SECOND[1], SECOND[0])
    seen = np.stack([np.full(20_000, FIRST), second], axis=1)
    pairs = [(release(Laplace(1.0), [[0.0, 0.0]]), None)]
    found = measured(pairs, [(np.sum(seen, axis=1), seen)], None).enclosed(1e-2, 1 - 1e-4)
    truth = root(lambda e: adaptive(e, lambda u, branch: laplace_left(u, SECOND[branch])), 1e-2)
    assert truth in found
    assert found.upper < FIRST + SECOND[1]
    assert found.lower > 0.4


def release(mechanism, value, judged=(True, True)):
    value = np.asarray(value, dtype=np.float64)
    return Release(0, mechanism, value, value, np.asarray(judged))


def shifts(a, b):
    return cost_and_shifts(a, b)[1]


def test_shifts_of_releases():
    law = Laplace(np.array([0.5, 2.0, 0.0]))
    a, b = release(law, [[0, 0, 0], [0, 0, 0]], (True, False)), release(law, [[1, -1, 0], [9, 9, 9]])
    assert shifts(a, b).tolist() == [[2.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    assert Product(0.0, tuple(shifts(a, b)[0])) == Product.laplace([1.0, -1.0, 0.0], law.scale)
    assert shifts(a, release(Laplace(1.0), [[0, 0, 0], [0, 0, 0]])) is None
    gauss, grid = release(Gaussian(1.0), [[0.0], [0.0]]), release(DiscreteLaplace(1.0, 0.5), [[0.0], [0.0]])
    assert shifts(gauss, gauss) is None
    assert shifts(grid, grid) is None


@pytest.mark.parametrize(("delta", "unseen"), [(1.1, 0.0), (0.1, -0.1), (0.1, 1.1)])
def test_nonsense_is_refused(delta, unseen):
    with pytest.raises(PrivacyError):
        enclosed(Product(), Product(), delta, unseen, 0.95, 10, rng())
