"""Private gradient descent against an independent stacked oracle, its optimum, and its claim."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim.algorithms import Clip, PrivateGradientDescent, stable_step
from netsim.algorithms.private_gradient_descent import stable_bound
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.simulation import Simulation, setting_of
from netsim.topology import Topology, grid, ring
from tests.netsim.algorithms.mixing import gradients, noises, sent
from tests.oracles.noisy_descent import dgd, laplace_descent
from tests.worlds import coins, synthetic_problem, tapped_ring

ANY = Adjacency(math.inf, "any change of one agent's objective")
SETTING = setting_of(synthetic_problem(), None, 10)


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
def test_iterates_are_the_oracles(norm):
    problem = synthetic_problem()
    step, scale = Polynomial(0.5, 0.6), Geometric(0.2, 0.95)
    clip = None if norm is None else Clip(0.15, norm)
    algorithm = PrivateGradientDescent(50, step, scale, clip)
    run = tapped_ring(problem, algorithm, seed=9).run()

    def clipped(g):
        if norm is None:
            return g
        length = np.abs(g).sum() if norm == "l1" else math.sqrt((g**2).sum())
        return g * min(1.0, 0.15 / length)

    expected = dgd(
        gradients(problem), run.simulation.topology.weights, [step(k) for k in range(50)],
        np.zeros((problem.agents, problem.dimension)), noise=noises(run)[0, :, :, 0], clip=clipped,
    )  # fmt: skip
    np.testing.assert_allclose(sent(run, "x")[:, :, 0], expected["sent"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", [None, 3])
def test_released_states_are_the_oracles(batch):
    """The noise is part of the state: the agent mixes its own noisy x̃ and takes its gradient there."""
    problem = synthetic_problem()
    step, scale = Polynomial(0.5, 0.6), Geometric(0.2, 0.95)
    algorithm = PrivateGradientDescent(50, step, scale, batch=batch, state="released")
    run = tapped_ring(problem, algorithm, seed=9).run()
    noise = noises(run)[0, :, :, 0]
    drawn = [coins(run, i) for i in range(5)]
    batches = None if batch is None else [
        [np.sort(drawn[i].choice(8, batch, replace=False)) for i in range(5)] for _ in range(50)
    ]  # fmt: skip

    def gradient_of(f):
        if batch is None:
            return lambda x: f.gradient(x[None])[0]
        return lambda x, chosen: f.batch([int(c) for c in chosen]).gradient(x[None])[0]

    expected = laplace_descent(
        [gradient_of(f) for f in problem.objectives],
        run.simulation.topology.weights,
        [step(k) for k in range(49)],
        noise[0],  # the public start, 0, with the noise of round 0
        noise[1:],
        None if batches is None else batches[:49],
    )
    np.testing.assert_allclose(sent(run, "x")[:, :, 0], expected["x"], rtol=1e-12, atol=1e-12)


def test_released_states_need_no_clipping_for_their_claim():
    """Both worlds ask at the same public point: ε = Σ_{k=0}^{K−2} √d Bη_k/b_{k+1} for a change of at most B in ℓ2."""
    algorithm = PrivateGradientDescent(10, Constant(0.3), Geometric(2.0, 0.9), state="released")
    expected = sum(math.sqrt(6) * 0.7 * 0.3 / (2.0 * 0.9 ** (k + 1)) for k in range(9))
    record = Adjacency(0.7, "one record")
    assert algorithm.claim(record, SETTING, 0.0).epsilon == pytest.approx(expected, rel=1e-12)
    assert algorithm.claim(ANY, SETTING, 0.0).epsilon is None
    assert replace(algorithm, batch=2).claim(record, SETTING, 0.0).epsilon is None  # B speaks of all records


def test_gaussian_noise_is_composed_in_zcdp():
    """ρ = Σ_{k=0}^{K−2} (cη_k/b_{k+1})²/2 with a change c in ℓ2: B of the adjacency, or 2C of the clip."""
    algorithm = PrivateGradientDescent(10, Constant(0.3), Geometric(2.0, 0.9), state="released", noise="gaussian")
    record = Adjacency(0.7, "one record")
    for one, change in ((algorithm, 0.7), (replace(algorithm, clip=Clip(0.2, "l2")), 0.4)):
        rho = sum((change * 0.3 / (2.0 * 0.9 ** (k + 1))) ** 2 / 2 for k in range(9))
        claim = one.claim(record, SETTING, 1e-5)
        assert claim.epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-12)
        assert (claim.delta, claim.norm) == (1e-5, "ℓ2")
    assert algorithm.claim(record, SETTING, 0.0).epsilon is None


@pytest.mark.parametrize(("norm", "factor"), [("l1", 1.0), ("l2", math.sqrt(6)), ("linf", 6.0)])
def test_claim_by_hand(norm, factor):
    """ε = Σ_{k=0}^{K−2} 2C'η_k/b_{k+1}: K − 1 gradients are released in K rounds."""
    algorithm = PrivateGradientDescent(10, Constant(0.3), Geometric(2.0, 0.9), Clip(0.5, norm))
    expected = sum(2 * 0.5 * factor * 0.3 / (2.0 * 0.9 ** (k + 1)) for k in range(9))
    assert algorithm.claim(ANY, SETTING, 0.0).epsilon == pytest.approx(expected, rel=1e-12)


def test_claim_is_undefined_without_clipping_or_noise():
    unclipped = PrivateGradientDescent(10, Constant(0.3), Constant(1.0)).claim(ANY, SETTING, 0.0)
    silent = PrivateGradientDescent(10, Constant(0.3), clip=Clip(1.0)).claim(ANY, SETTING, 0.0)
    assert unclipped.epsilon is None
    assert "no clipping" in unclipped.failed_conditions[0]
    assert silent.epsilon is None
    assert "b_1 = 0" in silent.failed_conditions[0]


@pytest.mark.parametrize("weights", ["metropolis", "lazy_metropolis"])
@pytest.mark.parametrize("graph", [ring(12), grid(3, 4)], ids=["ring", "grid"])
def test_steps_below_the_bound_descend_and_steps_above_it_may_not(graph, weights):
    """On quadratics whose curvature is L in every direction the bound is sharp."""
    topology = Topology(graph.graph, weights=weights)
    identity = LeastSquares(np.eye(3), np.ones(3), 0.0)
    problem = Problem((identity,) * 12)
    smoothness = max(f.smoothness for f in problem.objectives)
    bound = stable_step(smoothness, topology)
    assert bound == pytest.approx((1 + np.linalg.eigvalsh(topology.weights)[0]) / smoothness)
    setting = setting_of(problem, topology)
    enough = 2 * np.diag(topology.weights).min() / smoothness
    assert stable_bound((0.99 * enough, 0.5 * enough).__getitem__, 2, setting) == pytest.approx(enough)
    for steps in ((0.5 * enough, 1.01 * enough), (1.01 * bound,), (-1.0,), (0.0, 0.5 * enough)):
        assert stable_bound(steps.__getitem__, len(steps), setting) == bound

    def growth(step: float) -> float:
        mixing = topology.weights - step * smoothness * np.eye(12)
        return max(abs(np.linalg.eigvalsh(mixing)))

    assert growth(0.99 * bound) < 1 < growth(1.01 * bound)
    Simulation(problem, topology, PrivateGradientDescent(5, Constant(0.99 * bound)))
    with pytest.raises(ScenarioError, match=r"outside the stability condition.*λ_min"):
        Simulation(problem, topology, PrivateGradientDescent(5, Constant(1.01 * bound)))
