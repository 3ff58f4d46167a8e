"""The likeliest estimate under Laplace noise, where many releases bear on a gradient and where few do."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, stats

from attacks.closed_form.exchanges import Surroundings
from attacks.probe import probe
from attacks.probe.linear import most_likely, simulated, solve
from attacks.replay.recorded import Recording
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Dpp2, IcAdmm, PrivateGradientDescent
from netsim.algorithms.algorithm import Algorithm
from netsim.errors import AttackError
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import Constant
from netsim.simulation import Simulation
from tests.worlds import synthetic_problem

DOOR = Adversary("door", links=(), nodes=(1,))


@dataclass(frozen=True)
class Repeated(Algorithm):
    """Sends the same gradient with fresh noise so often: a retransmission that is privatized anew."""

    times: int = 9
    rounds: int = 3
    scale: float = 0.5

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            gradient = await node.gradient(x)
            for _ in range(self.times):
                heard = await node.exchange(x=x - 0.1 * node.privatize(gradient, Laplace(self.scale)))
            x = heard.mix("x")
            node.estimate(x)


def both(algorithm, replicas=60):
    problem = synthetic_problem()
    run = Simulation(problem, topology.ring(5), algorithm, adversaries=(DOOR,), replicas=replicas).run()
    view = run.views[0]
    recording = Recording(view.public, 1, Surroundings(view).rows(1), view.replicas, np.random.default_rng(0))
    truth = np.array([q.gradient for q in run.truth.queries[1]])
    return probe(recording), probe(recording, laplace="ml"), truth


def variance_of_median(n: int) -> float:
    """Of the median of n standard (b = 1) Laplace numbers, n odd, by quadrature."""
    k, law = (n - 1) // 2, stats.laplace()
    weight = np.exp(np.sum(np.log(np.arange(1, n + 1))) - 2 * np.sum(np.log(np.arange(1, k + 1))))

    def density(t):
        return weight * (law.cdf(t) * law.sf(t)) ** k * law.pdf(t) * t**2

    return 2 * integrate.quad(density, 0, 60)[0]


class TestManyReleases:
    @pytest.mark.slow
    def test_nine_releases_of_one_gradient_are_worth_their_median(self):
        """Efficiency over the mean: 2/9 over the variance of the median of nine."""
        blue, ml, truth = both(Repeated())
        assert blue.law == (None,) * 3
        assert ml.law == (None,) * 3
        n = truth[0].size
        measured = [np.mean((found.gradients - truth) ** 2, axis=(1, 2)) for found in (blue, ml)]
        assert np.mean(measured[0]) == pytest.approx(blue.covariance[0, 0, 0], rel=0.15)
        theory = variance_of_median(9) * 0.5**2
        assert np.diag(ml.covariance[..., 0]) == pytest.approx(theory, rel=5 * np.sqrt(5 / 400) / 2)
        assert np.mean(measured[1]) == pytest.approx(theory, rel=5 * np.sqrt(5 / (3 * n)))
        assert np.mean(measured[0]) / np.mean(measured[1]) > 1.15
        fisher = np.diag(blue.covariance[..., 0]) / 2
        assert np.all(np.diag(ml.covariance[..., 0]) > fisher)

    def test_it_is_the_median(self):
        rng = np.random.default_rng(0)
        design, noise = np.ones((7, 1)), np.diag(np.full(7, 2.0**0.5))
        observed = 3 + rng.laplace(size=(7, 20))
        found = solve(design, noise, observed)
        likeliest = found.estimate + most_likely(design, noise, observed - design @ found.estimate, found.spread)
        np.testing.assert_allclose(likeliest[0], np.median(observed, axis=0), atol=1e-9)

    def test_no_other_gradient_is_likelier(self):
        """The certificate of a convex program: no direction goes down from it."""
        rng = np.random.default_rng(1)
        design, sizes = rng.standard_normal((20, 4)), rng.uniform(0.5, 3.0, 20)
        observed = rng.laplace(size=(20, 5)) * sizes[:, None]
        found = solve(design, np.diag(sizes), observed)
        x = found.estimate + most_likely(design, np.diag(sizes), observed - design @ found.estimate, found.spread)

        def loss(x):
            return np.sum(np.abs(observed - design @ x) / sizes[:, None], axis=0)

        for _ in range(200):
            assert np.all(loss(x + 1e-3 * rng.standard_normal((4, 1))) >= loss(x) - 1e-12)
        zeros = np.sum(np.abs(observed - design @ x) < 1e-9, axis=0)
        assert np.all(zeros >= 4)  # a vertex

    @pytest.mark.slow
    def test_twice_as_good_in_the_limit(self):
        rng = np.random.default_rng(2)
        design, noise = np.ones((61, 1)), np.eye(61)
        gain = np.full((1, 61), 1 / 61)
        spread = np.array([[61**-0.5]])
        found = simulated(design, noise, gain, spread, 300, rng)[0, 0]
        assert found * 61 == pytest.approx(variance_of_median(61) * 61 / 2, rel=5 * np.sqrt(2 / 300))
        assert 0.5 < variance_of_median(61) * 61 / 2 < 0.65


class TestFewReleases:
    def test_one_release_each_leaves_nothing_to_gain(self):
        blue, ml, _ = both(PrivateGradientDescent(5, Constant(0.05), Constant(0.3)), 4)
        np.testing.assert_array_equal(ml.gradients[:-1], blue.gradients[:-1])
        np.testing.assert_allclose(ml.stddev[:-1], blue.stddev[:-1], rtol=5 * np.sqrt(5 / 400) / 2)

    @pytest.mark.slow
    def test_the_likeliest_of_two_is_the_less_noisy_alone_and_worse(self):
        """DPP² tells each gradient but the last twice: with e of scale 0.4, and with w/α."""
        blue, ml, truth = both(Dpp2(5, 0.1, 0.02, 0.5, scale_w=Constant(0.06), scale_e=Constant(0.4)), 20)
        assert blue.stddev[:4, 0] == pytest.approx((1 / 0.32 + 1 / 0.72) ** -0.5, rel=1e-6)
        assert ml.stddev[:4, 0] == pytest.approx(0.32**0.5, rel=5 * np.sqrt(5 / 400) / 2)
        assert np.mean((ml.gradients - truth) ** 2) > np.mean((blue.gradients - truth) ** 2)


def test_noise_of_another_law_is_refused():
    with pytest.raises(AttackError, match=r"agent 1 has noise that is not Laplace \(gaussian\)"):
        both(IcAdmm(3, penalty=1.0, proximal=2.0, noise="gaussian", scale=Constant(0.3)), 1)


@pytest.mark.slow
def test_estimates_do_not_depend_on_the_other_replicas():
    problem = synthetic_problem(dimension=2)
    run = Simulation(problem, topology.ring(5), Repeated(), adversaries=(DOOR,), replicas=3).run()
    view = run.views[0]

    def likeliest(transcript, replicas):
        rows = transcript.at_node(1)
        return probe(Recording(view.public, 1, rows, replicas, np.random.default_rng(0)), laplace="ml").gradients

    whole = likeliest(view.transcript, 3)
    for r in range(3):
        np.testing.assert_allclose(likeliest(view.transcript.replica(r), 1)[:, 0], whole[:, r], atol=1e-9)
