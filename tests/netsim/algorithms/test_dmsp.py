"""DMSP against an independent stacked oracle, its optimum, its conditions and its claim."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim import topology
from netsim.algorithms import Dmsp
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.models.model import Ball, Box
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import Recording
from netsim.simulation import Simulation, setting_of
from tests.netsim.algorithms.mixing import gradients, noises, sent
from tests.oracles import noisy_descent as oracles
from tests.worlds import changed, synthetic_problem, tapped_ring

SIX = synthetic_problem(agents=6, dimension=4)
GRAPHS = [topology.ring(6), topology.random_geometric(6, 0.6, seed=2)]
ANY = Adjacency(0.8, "any objective with gradients up to 0.4")


def tapped(algorithm, graph=GRAPHS[0], problem=SIX, **options):
    return changed(tapped_ring(problem, algorithm), topology=graph, **options).run()


@pytest.mark.parametrize("domain", [Ball(0.3), Box(-0.2, 0.15), Ball(1e3)], ids=["ball", "box", "large"])
@pytest.mark.parametrize("graph", GRAPHS, ids=["ring", "geometric"])
@pytest.mark.parametrize("b", [0.0, 0.1])
def test_iterates_are_the_oracles(graph, domain, b):
    algorithm = Dmsp(50, Geometric(0.9, 0.93), domain, Geometric(b, 0.97))
    run = tapped(algorithm, graph, seed=8)
    project = oracles.ball(domain.radius) if isinstance(domain, Ball) else oracles.box(domain.low, domain.high)
    expected = oracles.dmsp(
        gradients(SIX), *(graph.weights, 0.9, 0.93, project, np.zeros((6, 4)), 50), noise=noises(run)[0, :, :, 0],
    )  # fmt: skip
    np.testing.assert_allclose(sent(run, "y")[:, :, 0], expected["sent"], rtol=0, atol=1e-12)
    farther = 1.001 * expected["x"].reshape(-1, 4)
    assert (domain.project(farther) != farther).any() == (domain != Ball(1e3))  # some iterate lies on the boundary


@pytest.mark.slow
def test_steps_that_sum_to_infinity_approach_the_optimum_and_geometric_ones_stop_short():
    domain = Ball(10.0)

    def final(step, rounds):
        run = Simulation(SIX, GRAPHS[1], Dmsp(rounds, step, domain), recording=Recording(private="nothing")).run()
        return run.metrics.worst_by_round(6)[[rounds // 10, -1], 0]

    early, late = final(Polynomial(1.5, 0.9), 2000)
    assert late < 0.01
    assert late < early / 3
    early, late = final(Geometric(0.5, 0.8), 300)
    assert late == pytest.approx(early, rel=0.05)
    assert late > 0.2


def test_a_start_outside_the_set_is_moved_into_it():
    run = tapped(Dmsp(3, Constant(0.1), Box(1.0, 2.0)))
    np.testing.assert_array_equal(sent(run, "y")[:, :, 0][0], np.ones((6, 4)))


class TestClaim:
    setting = setting_of(SIX, None, 0)
    paper = Dmsp(9, Geometric(0.3, 0.8), Ball(1.0), Geometric(2.0, 0.9))

    def test_the_sum_by_hand(self):
        """Round k + 1 releases x^{k+1}, which moved by 2C₂√n c q^k in ℓ1: eight gradients in nine rounds, √n = 2."""
        expected = sum(0.8 * 2 * 0.3 * 0.8**k / (2.0 * 0.9 ** (k + 1)) for k in range(8))
        assert self.paper.claim(ANY, self.setting, 0.0).epsilon == pytest.approx(expected, rel=1e-13)

    def test_the_sum_tends_to_its_limit(self):
        limit = 0.8 * 2 * 0.3 / (2.0 * (0.9 - 0.8))
        assert self.paper.limit(ANY, self.setting) == pytest.approx(limit, rel=1e-12)
        long = replace(self.paper, rounds=400).claim(ANY, self.setting, 0.0).epsilon
        assert long == pytest.approx(limit, rel=1e-12)
        assert self.paper.claim(ANY, self.setting, 0.0).epsilon < limit
        assert replace(self.paper, scale=Geometric(2.0, 0.8)).limit(ANY, self.setting) == math.inf

    def test_no_projection_lengthens_the_distance_between_two_worlds(self):
        """What the sensitivity rests on, for points anywhere."""
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(2, 1000, 4)) * 3
        for domain in (Ball(1.5), Box(-1.0, 0.5)):
            gap = np.linalg.norm(domain.project(a) - domain.project(b), axis=1)
            assert np.all(gap <= np.linalg.norm(a - b, axis=1) * (1 + 1e-15))


@pytest.mark.parametrize("domain", [lambda: Ball(0.0), lambda: Ball(math.inf), lambda: Box(1.0, 1.0)])
def test_a_set_has_an_inside_and_is_bounded(domain):
    with pytest.raises(ScenarioError):
        domain()
