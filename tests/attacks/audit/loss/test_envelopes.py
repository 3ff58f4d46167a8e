"""Envelopes of adaptive releases: between products, against mechanisms whose δ(ε) is computed exactly."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import integrate, optimize

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.accounting.products import Product, product_delta, product_epsilon
from attacks.audit.archive import Archive
from attacks.audit.loss import exact as exact_loss
from attacks.audit.loss.aimed import TILTED
from attacks.audit.loss.envelopes import SLACK, Measured, enclosed
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.loss.release_cost import cost_and_shifts
from attacks.audit.pair import Pair
from attacks.replay import Release
from netsim.algorithms import Algorithm, PrivateGradientDescent
from netsim.codecs import Float16
from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteLaplace, Gaussian, Laplace
from netsim.problems import LogisticLoss, load, logistic
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.audit.accounting.accountants import distribution
from tests.attacks.auditing import Releases, claim_of, explained, judged, quadratic_world
from tests.worlds import changed

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


@pytest.mark.few(1)
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


@pytest.mark.few("1e-05")
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


def test_factors_of_transcripts_enclose_an_adaptive_mechanism():
    """Shifts of 20,000 transcripts, δ = 1e-2, at 1 − 1e-4."""
    noise = rng().laplace(size=20_000)
    second = np.where(noise > 0.3, SECOND[1], SECOND[0])
    seen = np.stack([np.full(20_000, FIRST), second], axis=1)
    pairs = [(release(Laplace(1.0), [[0.0, 0.0]]), None)]
    found = Measured.of(pairs, [(np.sum(seen, axis=1), seen)], None).enclosed(1e-2, 1 - 1e-4)
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


SHIFT = 1 / 8
"""Between the gradients of the two worlds at 0 in each of four coordinates, as in the tests of prices."""
SCALES = (0.8, 0.5, 1.5, 2.5, 0.7)


class Chance(Algorithm):
    """Sends noise, and then its gradient: twice as large where the noise was negative."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        told = node.privatize(0 * gradient, Laplace(1.0))
        node.broadcast(x=told)
        factor = np.where(np.sum(told, axis=-1, keepdims=True) < 0, 2.0, 1.0)
        node.broadcast(x=node.privatize(factor * gradient, Laplace(0.5)))
        node.estimate(gradient)


def audited(simulation, pair, delta, trials=600, chunk=200, **options):
    return judged(simulation, pair, claim_of(2.0, delta), trials, None, 3, chunk=chunk, **options)


def found(algorithm, delta, **options):
    return audited(*quadratic_world(algorithm), delta, **options)


def product_of(mechanisms):
    """Releases that each move four coordinates by `SHIFT`."""
    product = Product()
    for mechanism in mechanisms:
        gaussian = isinstance(mechanism, Gaussian)
        product *= (
            Product.gaussian(np.full(4, SHIFT), mechanism.stddev)
            if gaussian
            else Product.laplace(np.full(4, SHIFT), mechanism.scale)
        )
    return product


@cache
def accountant(mechanisms, delta):
    """ε of these releases by a privacy loss distribution, pessimistic."""
    return distribution(product_of(mechanisms), 1e-4).get_epsilon_for_delta(delta)


LAPLACE = tuple(map(Laplace, SCALES))
MIXED = (Laplace(0.5), Gaussian(0.6), Laplace(1.5), Gaussian(0.9))


@pytest.mark.parametrize("mechanisms", [LAPLACE, MIXED], ids=["Laplace", "Laplace and Gaussian"])
class TestDifferencesThatAreTheSame:
    @pytest.mark.slow
    def test_by_formula_as_the_accountant_says(self, mechanisms):
        """After each release, and at the end; few transcripts are enough."""
        delta = 0.02
        for exact in found(Releases(mechanisms), delta, trials=60, chunk=20).exact:
            assert exact.by_formula
            levels = [level.estimate for level in exact.growth]
            expected = [accountant(mechanisms[: t + 1], delta) for t in range(len(mechanisms))]
            np.testing.assert_allclose(levels, expected, atol=1e-4 * len(mechanisms) * 4)
            assert exact.epsilon.estimate == levels[-1]

    @pytest.mark.slow
    def test_the_interval_holds_it_and_is_tighter_than_the_losses_alone(self, mechanisms, monkeypatch, tmp_path):
        delta = 0.02
        truth = accountant(mechanisms, delta)
        options = {"trials": 800, "chunk": 400, "archive": Archive.at(tmp_path / "chunks", "both")}
        here = found(Releases(mechanisms), delta, **options).exact
        monkeypatch.setattr(Measured, "pooled", lambda _: None)
        by_losses = found(Releases(mechanisms), delta, **options).exact
        for exact, sampled in zip(here, by_losses, strict=True):
            assert exact.epsilon.lower < truth < exact.epsilon.upper
            assert not sampled.by_formula
            assert sampled.epsilon.lower <= exact.epsilon.lower
            assert exact.epsilon.upper < sampled.epsilon.upper
            np.testing.assert_array_equal(exact.losses, sampled.losses)

    @pytest.mark.few("Laplace")
    def test_ends_are_those_of_the_product_and_the_unseen_share(self, mechanisms):
        """As many transcripts as wanted, of which only the number is said here: a quarter of α for each end to have
        been seen in none of them."""
        delta, product = 1e-3, product_of(mechanisms)
        part = replace(explained(Releases(mechanisms), 40).measured, transcripts=10_000)
        interval = part.enclosed(delta, 0.95)
        unseen = 1 - (0.05 / 4) ** (1 / 10_000)
        assert interval.lower == pytest.approx(product_epsilon(product, delta + unseen), rel=2e-3)
        assert interval.upper == pytest.approx(product_epsilon(product, delta - unseen), rel=2e-3)
        assert product_epsilon(product, delta) in interval

    def test_what_was_never_seen_may_cost_more(self, mechanisms):
        part = explained(Releases(mechanisms), 40).measured
        assert part.transcripts == 30
        assert math.isinf(part.enclosed(1e-3, 0.95).upper)


@pytest.mark.slow
def test_private_gradient_descent_with_a_schedule():
    """δ is 1e-2, and 3,000 transcripts of each world are enough for an upper end."""
    algorithm = PrivateGradientDescent(4, Constant(0.2), Geometric(0.5, 0.9))
    audit_ = found(algorithm, 1e-2, trials=3_000, chunk=1_500)
    for exact in audit_.exact:
        assert exact.by_formula
        assert exact.epsilon.estimate in exact.epsilon
        assert exact.epsilon.upper < 1.25 * exact.epsilon.estimate
    assert audit_.exact[0].epsilon.estimate == audit_.exact[1].epsilon.estimate


class TestDifferencesThatDependOnNoise:
    @pytest.mark.slow
    def test_a_truth_that_is_known(self):
        """By a fair coin that everyone sees, Δ is one or two eighths: δ(ε) is the mean of both."""
        delta = 0.05
        one, two = (Product.laplace(np.full(4, k * SHIFT), 0.5) for k in (1, 2))

        def excess(epsilon):
            return (product_delta(one, epsilon) + product_delta(two, epsilon)) / 2 - delta

        truth = optimize.brentq(excess, 1e-6, 2.0)
        for exact in found(Chance(), delta, trials=2000, chunk=1000).exact:
            assert not exact.by_formula
            assert truth in exact.epsilon
        part = explained(Chance(), 1000).measured
        assert (part.least, part.greatest) == (pytest.approx(0.5), pytest.approx(1.0))
        interval = replace(part, transcripts=10**6).enclosed(delta, 0.95)
        assert interval.lower == pytest.approx(product_epsilon(one, delta), rel=1e-2)
        assert interval.upper == pytest.approx(product_epsilon(two, delta), rel=1e-2)

    @pytest.mark.slow
    def test_clipped_logistic_gradients(self):
        problem = logistic(load("synthetic", records=20, dimension=4, seed=3, norm_bound=1.0).split(5), ridge=0.5)
        simulation = Simulation(problem, ring(5), PrivateGradientDescent(4, Constant(0.3), Constant(0.3)))
        own = problem.objectives[1]
        pair = Pair(1, (own, LogisticLoss(own.features, -own.labels, own.ridge)), "all labels flipped")
        for exact in audited(simulation, pair, 0.05).exact:
            assert not exact.by_formula
            sampled = exact_loss.epsilon_estimate(exact.losses, 0.05)
            assert exact.epsilon.lower < sampled < exact.epsilon.upper < math.inf

    @pytest.mark.slow
    def test_rounding_bounds_from_above_only(self):
        simulation, pair = quadratic_world(Releases(LAPLACE))
        exact = audited(changed(simulation, codec=Float16()), pair, 0.05).exact[0]
        assert not exact.by_formula
        assert exact.epsilon.lower < exact.epsilon.upper < math.inf


class TestBytes:
    """The first chunk of a world measures all others, whenever they are made."""

    ALGORITHM = PrivateGradientDescent(4, Constant(0.2), Geometric(0.5, 0.9))

    @pytest.mark.slow
    def test_the_same_after_an_interruption(self, tmp_path):
        def run(name, **options):
            archive = Archive.at(tmp_path / name, "it")
            return found(self.ALGORITHM, 0.02, trials=120, chunk=40, archive=archive, **options)

        one, two = run("one"), run("two")
        for lost in ("world-0-chunk-000000.npz", "world-1-chunk-000001.npz", f"world-0-chunk-{TILTED}.npz"):
            (tmp_path / "two" / lost).unlink()
        again = run("two")
        for other in (two, again):
            for a, b in zip(one.exact, other.exact, strict=True):
                assert (a.epsilon, a.by_formula, a.growth) == (b.epsilon, b.by_formula, b.growth)
        files = [sorted((tmp_path / name).iterdir()) for name in ("one", "two")]
        assert len(files[0]) == 11  # two aimed chunks, and two of single transcripts
        for a, b in zip(*files, strict=True):
            assert (a.name, a.read_bytes()) == (b.name, b.read_bytes())
        for world in (0, 1):
            first, last = (Archive(tmp_path / "one").get(world, chunk).explained.measured for chunk in (0, 2))
            assert (first.transcripts, last.transcripts) == (30, 40)
            np.testing.assert_array_equal(first.shifts, last.shifts)


class TestNothingElseChanges:
    @pytest.mark.parametrize(("mechanisms", "delta"), [((Gaussian(0.5), Gaussian(0.7)), 0.02), (LAPLACE, 0.0)])
    def test_without_a_product(self, mechanisms, delta, monkeypatch):
        parts = [explained(Releases(mechanisms), 50)]
        here = ExactLoss.of(parts, delta, 0.95)
        monkeypatch.setattr(Measured, "pooled", lambda _: None)
        there = ExactLoss.of(parts, delta, 0.95)
        assert (here.epsilon, here.by_formula, here.growth) == (there.epsilon, there.by_formula, there.growth)

    def test_gaussian_releases_are_not_measured(self):
        assert explained(Releases((Gaussian(0.5),))).measured is None


class TestReference:
    def test_first_transcripts_make_it_and_are_not_counted(self):
        part = explained(Chance(), 40)
        sample = part.cost[1]
        assert part.measured.transcripts == 30
        np.testing.assert_allclose(part.measured.shifts[4:], np.max(sample[:10]) / 4)
        later = explained(Chance(), 40, reference=part.measured, chunk=1)
        assert later.measured.transcripts == 40
        both = Measured.pooled([part.measured, later.measured])
        assert both.transcripts == 70
        assert Measured.pooled([part.measured, explained(Releases((Laplace(1.0),)), 40).measured]) is None
        assert Measured.pooled([part.measured, None]) is None

    def test_what_the_reference_does_not_have(self):
        """A release more is bounded by nothing; a release less tells nothing, and the least factor is 0."""
        short, long = Releases((Laplace(1.0),)), Releases((Laplace(1.0), Laplace(1.0)))
        more = explained(long, 40, reference=explained(short, 40).measured).measured
        assert math.isinf(more.greatest)
        assert not more.known
        less = explained(short, 40, reference=explained(long, 40).measured).measured
        assert (less.least, less.greatest) == (0.0, pytest.approx(1.0))
        assert less.known

    def test_what_rounding_makes_is_no_measure(self):
        """A difference in the last bits of a coordinate that the reference does not tell apart."""
        shifts = np.full((8, 3), 0.25)
        shifts[:, 2] = 0.0
        shifts[5, 2] = 1e-12
        part = measured_of(shifts)
        assert (part.least, part.greatest) == (1.0, 1.0)
        shifts[5, 2] = 3 * SLACK
        assert measured_of(shifts).greatest == pytest.approx(3.0)

    def test_transcripts_that_make_no_difference_make_the_same_one(self):
        shifts = np.zeros((8, 3))
        shifts[:2] = 0.25  # the reference's
        part = measured_of(shifts)
        assert (part.least, part.greatest) == (0.0, 0.0)
        assert part.constant
        assert part.until(1) == Product()


def measured_of(shifts):
    """Of one Laplace release."""
    pairs = [(type("Release", (), {"mechanism": Laplace(1.0)})(), None)]
    return Measured.of(pairs, [(np.sum(shifts, axis=1), shifts)], None)
