"""Conditions of convergence: second moments, computed exactly, die out within them, and runs outside them blow up."""

import numpy as np
import pytest

from netsim import topology
from netsim.algorithms import Cpgt, DpAdmm, RandomPenaltyAdmm
from netsim.algorithms.cpgt import largest_share
from netsim.codecs import FLOAT64, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import ScenarioError
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Constant, UniformDraws
from netsim.simulation import Simulation

D = 10.0
GRAPHS = {
    "complete": topology.complete(16), "ring": topology.ring(9), "even ring": topology.ring(6),
    "star": topology.star(12), "path": topology.path(10), "grid": topology.grid(3, 4),
}  # fmt: skip


def squares(agents, curvature=1.0):
    """f_i = h/2 ‖x − c_i‖², two coordinates."""
    centers = np.random.default_rng(0).standard_normal((agents, 2)) / np.sqrt(curvature)
    rows = np.sqrt(2 * curvature) * np.eye(2)  # the mean over two records
    return Problem(tuple(LeastSquares(rows, rows @ c, 0.0) for c in centers))


def allowed(graph, ratio):
    """The largest ζλ_max/D, and λ_max."""
    q, largest = graph.largest_walk_eigenvalue, graph.largest_laplacian_eigenvalue
    w = q + 2 * ratio
    return 4 - w - q**2 / (3 * w), largest


def growth(graph, curvatures, dual_step):
    """The factor by which E‖(x, λ)‖² of random-penalty ADMM changes in a round, in the long run; θ by its moments."""
    A = graph.adjacency.toarray()
    n, degrees = len(A), A.sum(axis=1)
    apart = np.eye(n) - A / degrees[:, None]
    laplacian = np.diag(degrees) - A
    x = np.hstack([np.eye(n) - apart / 2 - np.diag(curvatures) / D, np.eye(n) / D])
    mean = np.vstack([x, np.hstack([np.zeros((n, n)), np.eye(n)]) - dual_step * laplacian @ x])
    noise = np.vstack([np.eye(n), -dual_step * laplacian])
    balanced = np.eye(2 * n)
    balanced[n:, n:] -= 1 / n  # Σ λ_i = 0
    second, grown = balanced, 0.0
    for k in range(400):
        spread = np.einsum("ij,jk,ik->i", apart, second[:n, :n], apart) / 12
        new = balanced @ (mean @ second @ mean.T + (noise * spread) @ noise.T) @ balanced
        size = np.trace(new) / np.trace(second)
        grown += np.log(size) / 200 if k >= 200 else 0.0
        second = new / np.trace(new)
    return float(np.exp(grown))


class TestRandomPenalties:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize("curvature", [1.0, 5.0])
    def test_second_moments_die_out_within_the_condition(self, name, curvature):
        graph = GRAPHS[name]
        room, largest = allowed(graph, curvature / D)
        dual_step = 0.99 * room * D / largest
        n = graph.agents
        unequal = np.where(np.arange(n) % 2, curvature, curvature / 20)
        drawn = curvature * np.random.default_rng(0).uniform(0.05, 1.0, n)
        for curvatures in (np.full(n, curvature), unequal, drawn):
            assert growth(graph, curvatures, dual_step) < 0.9999

    def test_on_complete_graphs_it_is_sharp(self):
        graph = GRAPHS["complete"]
        room, largest = allowed(graph, 0.1)
        assert growth(graph, np.ones(16), 1.02 * room * D / largest) > 1.001

    def test_runs_within_it_converge_and_the_check_stops_where_it_ends(self):
        """D = 10, ζ = ½ and n = 60, which blows up, is refused; what is the most of n = 20 converges."""
        with pytest.raises(ScenarioError, match=r"dual_step = 0\.5: unstable"):
            Simulation(squares(60), topology.complete(60), RandomPenaltyAdmm(5, D, 0.5, Constant(0.0)))
        room, largest = allowed(topology.complete(20), 0.1)
        most = room * D / largest
        silent = RandomPenaltyAdmm(300, D, 0.9 * most, Constant(0.0))
        run = Simulation(squares(20), topology.complete(20), silent, seed=1).run()
        assert float(run.metrics.errors[-1][0]) < 1e-10
        with pytest.raises(ScenarioError, match="dual_step"):
            Simulation(squares(20), topology.complete(20), RandomPenaltyAdmm(5, D, 1.01 * most, Constant(0.0)))

    def test_on_bipartite_graphs_a_penalty_can_be_too_small_for_any_dual_step(self):
        """There D = 0.95 L, which is above L/2, is unstable without a dual step."""
        graph = GRAPHS["even ring"]
        assert growth(graph, np.full(6, D / 0.95), 0.0) > 1.1
        with pytest.raises(ScenarioError, match=r"penalty = 0\.95: unstable"):
            Simulation(squares(6), graph, RandomPenaltyAdmm(5, 0.95, 0.0, Constant(0.0)))


def test_dp_admm_checks_its_step_in_every_round():
    """Steps that are drawn may be too long in the middle only."""
    problem = squares(5)
    drawn = (UniformDraws(0.1, 8.0, seed) for seed in range(99))
    step = next(s for s in drawn if s(0) < 2 and s(99) < 2 and max(s(k) for k in range(100)) > 4)
    with pytest.raises(ScenarioError, match="outside the convergence condition") as caught:
        Simulation(problem, topology.star(5), DpAdmm(100, penalty=0.05, step=step))
    assert caught.value.field == "algorithm.step"


def compressed_gossip(graph, compressor, gamma, dimension=12, rounds=900, start="random"):
    """ln of the growth a round of (x, x^c) under CPGT's lines 2 to 4 with no gradients: x⁺ = x − γ(I − W)x^c⁺.

    From random points, of heavy tails ("cauchy") too, or with all coordinates "alike", 1 and −1 in turn.
    """
    rng = np.random.default_rng(0)
    W = graph.mixing.toarray()
    x = rng.standard_normal((graph.agents, dimension))
    if start == "alike":
        x = np.outer((-1.0) ** np.arange(graph.agents), np.ones(dimension))
    elif start == "cauchy":
        x = rng.standard_cauchy(x.shape)
    copy, grown = np.zeros_like(x), 0.0
    for k in range(rounds):
        copy = copy + compressor.encode(x - copy, rng.random(x.shape))
        x = x + gamma * (W @ copy - copy)
        x -= x.mean(axis=0)
        size = max(np.abs(x).max(), np.abs(copy).max(), 1e-300)
        x, copy = x / size, copy / size
        grown += np.log(size) / (rounds - 300) if k >= 300 else 0.0
    return grown


STARTS = ("random", "alike", "cauchy")


class TestCompressors:
    GRAPHS = (topology.ring(6), topology.complete(6), topology.star(7))

    @pytest.mark.few(1)
    @pytest.mark.parametrize(("k", "dimension"), [(1, 12), (3, 12), (4, 12), (3, 10), (4, 10), (3, 7), (3, 5)])
    def test_top_k_bears_its_bound_from_every_start(self, k, dimension):
        for graph in self.GRAPHS:
            most = largest_share(TopK(k), dimension, 1 - graph.least_eigenvalue)
            grown = [compressed_gossip(graph, TopK(k), 0.98 * most, dimension, 500, start) for start in STARTS]
            assert max(grown) < 1e-3

    @pytest.mark.parametrize("k", [1, 4])
    def test_top_k_may_turn_over_beyond_its_bound(self, k):
        graph = topology.ring(6)
        most = largest_share(TopK(k), 12, 1 - graph.least_eigenvalue)
        assert most == pytest.approx(2 * k / 12 * 3 / 4, rel=1e-12)
        assert compressed_gossip(graph, TopK(k), 1.1 * most, start="alike") > 1e-4

    @pytest.mark.few(1)
    @pytest.mark.parametrize("compressor", [RandomK(2, unbiased=False), RandomK(6, unbiased=False), RandomK(9)])
    def test_random_k_dies_out_within_its_bound(self, compressor):
        for graph in self.GRAPHS:
            most = largest_share(compressor, 12, 1 - graph.least_eigenvalue)
            assert 0 < most < 1
            assert compressed_gossip(graph, compressor, most) < 0

    @pytest.mark.parametrize("spread", [0.8, 1.3, 1.9])
    @pytest.mark.parametrize("compressor", [RandomK(2, unbiased=False), RandomK(6, unbiased=False), RandomK(9)])
    def test_at_the_bound_a_unit_of_noise_comes_to_one_over_the_variance(self, compressor, spread):
        """By running the mode itself: the noise enters where the residual does."""
        kept, g = compressor.kept(12) / 12, spread * largest_share(compressor, 12, spread)
        mean, variance = (0.0, 1 / kept - 1) if compressor.unbiased else (1 - kept, kept * (1 - kept))
        x, e, total = g, 1 + g, 0.0
        for _ in range(4000):
            total += e**2
            r = mean * e
            x, e = (1 - g) * x + g * r, (1 + g) * r - g * x
        assert total * variance == pytest.approx(1, rel=1e-9)

    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        ("compressor", "gamma", "allowed"),
        [
            (FLOAT64, 1.0, True), (TopK(1), 1.0, False), (TopK(1), 0.1, True), (TopK(3), 1.0, False),
            (TopK(3), 0.5, True), (Quantizer(2), 1.0, True), (Quantizer(4), 1.0, True),
            (Quantizer(1, unbiased=True), 0.02, False), (Quantizer(3, unbiased=True), 0.8, True),
            (ScaledSign(), 1.0, True), (RandomK(6), 1.0, False), (RandomK(6), 0.1, True),
            (RandomK(1, unbiased=False), 0.3, False),
        ],
    )  # fmt: skip
    def test_what_is_checked_before_time_0(self, compressor, gamma, allowed):
        """Ten coordinates, a ring of six. What is refused blows up, what passes comes to a mean gradient of 0."""
        rng = np.random.default_rng(0)
        problem = Problem(
            tuple(LeastSquares(rng.standard_normal((12, 10)), rng.standard_normal(12), 0.2) for _ in range(6))
        )
        algorithm = Cpgt(300, 0.01 / problem.smoothness, 1e-12, 1e-12, 0.95, gamma, compressor)
        if not allowed:
            with pytest.raises(ScenarioError, match=r"gamma|contract"):
                Simulation(problem, topology.ring(6), algorithm)
            assert compressed_gossip(topology.ring(6), compressor, gamma, dimension=10) > 0.01
            return
        run = Simulation(problem, topology.ring(6), algorithm).run()
        assert float(run.metrics.errors[-1][0]) < 1.0
        assert compressed_gossip(topology.ring(6), compressor, gamma, dimension=10) < 1e-3
