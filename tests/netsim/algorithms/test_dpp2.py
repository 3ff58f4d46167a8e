"""DPP² against an independent stacked oracle, its laws, its optimum, its conditions and its claim."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from netsim import topology
from netsim.algorithms import Dpp2
from netsim.algorithms.dpp2 import Parameters
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.problems import LeastSquares, NonconvexLogistic, Problem
from netsim.randomness import Streams, coins_of
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import Recording
from netsim.simulation import Simulation, setting_of
from tests.netsim.algorithms.mixing import gradients, noises, sent
from tests.oracles.dpp2 import dpp2 as oracle
from tests.worlds import changed, refusal, simulated, synthetic_problem, tapped_ring

SIX = synthetic_problem(agents=6, dimension=4)
GRAPHS = [topology.ring(6), topology.complete(6), topology.random_geometric(6, 0.6, seed=2)]
DECAY = Geometric(1.0, 0.9)


def well_tuned(problem, graph, rounds, matrix="mixing", **changes):
    laplacian = matrix == "laplacian"
    alpha = 0.5 / problem.smoothness
    largest = graph.largest_laplacian_eigenvalue if laplacian else 1 - graph.least_eigenvalue
    algorithm = Dpp2(rounds, alpha, alpha / (2 * largest), 2 * problem.smoothness / largest, matrix=matrix)
    return replace(algorithm, **changes)


def errors(problem, graph, algorithm, **options):
    return simulated(problem, graph, algorithm, **options).run().metrics.worst_by_round(problem.agents)[:, 0]


def by_oracle(problem, graph, algorithm, w=None, e=None, start=None):
    W = graph.weights
    P = np.diag(graph.degrees) - graph.adjacency.toarray() if algorithm.matrix == "laplacian" else np.eye(len(W)) - W
    return oracle(
        gradients(problem), P, *(algorithm.step, algorithm.beta, algorithm.rho),
        [algorithm.eta(k) for k in range(algorithm.rounds)],
        np.zeros((problem.agents, problem.dimension)) if start is None else start, noise_w=w, noise_e=e,
    )  # fmt: skip


def tapped(problem, graph, algorithm, **options):
    ring = tapped_ring(problem, algorithm)
    return changed(ring, topology=graph, **options).run()


def check_sent(run, expected):
    """What is sent is what the oracle says."""
    for name in ("y", "z"):
        theirs = expected[f"sent_{name}"]
        np.testing.assert_allclose(sent(run, name)[:, :, 0], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("matrix", ["mixing", "laplacian"])
@pytest.mark.parametrize("graph", [GRAPHS[0], GRAPHS[2]], ids=["ring", "geometric"])
@pytest.mark.parametrize("noisy", [False, True])
def test_iterates_are_the_oracles(graph, matrix, noisy):
    algorithm = well_tuned(SIX, graph, 50, matrix, eta=Polynomial(0.9, 0.3))
    if noisy:
        algorithm = replace(algorithm, scale_w=Geometric(0.5, 0.95), scale_e=Geometric(0.3, 0.9))
    run = tapped(SIX, graph, algorithm, seed=5)
    check_sent(run, by_oracle(SIX, graph, algorithm, *(noises(run)[:, :, :, 0] if noisy else ())))


def test_each_agent_has_a_scale_and_a_ratio_of_its_own():
    """θ_{w,i}^k = r_i^k u_{w,i}, θ_{e,i}^k = r_i^k u_{e,i}: iterates are the oracle's with this noise."""
    w, e, r = (1.0, 2.0, 0.5, 1.0, 4.0, 0.25), (3.0, 1.0, 1.0, 0.5, 1.0, 2.0), (1.0, 0.9, 0.8, 1.0, 1.1, 0.5)
    each = {"agent_scale_w": w, "agent_scale_e": e, "agent_ratio": r}
    algorithm = well_tuned(SIX, GRAPHS[0], 20, scale_w=Geometric(0.5, 0.9), scale_e=Geometric(0.3, 0.9), **each)
    run = tapped(SIX, GRAPHS[0], algorithm, seed=5)
    factors = np.array([w, e])[:, None, :, None] * np.array(r)[:, None] ** np.arange(20)[:, None, None]
    check_sent(run, by_oracle(SIX, GRAPHS[0], algorithm, *(noises(run)[:, :, :, 0] * factors)))


@pytest.mark.parametrize("noisy", [False, True])
def test_agents_start_anywhere_and_eta_is_random(noisy):
    """ "arbitrary x_i⁰": drawn by each agent's own coins. η^k ∈ (0, 1), "predetermined as an input to the algorithm":
    the same at all agents, another in each round. Iterates are the oracle's with both."""
    scales = {"scale_w": DECAY, "scale_e": DECAY} if noisy else {}
    algorithm = well_tuned(SIX, GRAPHS[2], 30, start=2.0, **scales)
    etas = [algorithm.eta(k) for k in range(30)]
    assert all(0 < eta < 1 for eta in etas)
    assert len(set(etas)) == 30
    run = tapped(SIX, GRAPHS[2], algorithm, seed=6)
    start = np.array([2.0 * coins_of(Streams(6), i).random(4) for i in range(6)])
    np.testing.assert_array_equal([queries[0].point[0] for queries in run.truth.queries], start)
    check_sent(run, by_oracle(SIX, GRAPHS[2], algorithm, *(noises(run)[:, :, :, 0] if noisy else ()), start=start))


def test_on_the_papers_nonconvex_loss_it_reaches_a_stationary_point():
    """λ = .001, ω = 1, M̄ = 5.03 and the paper's α, β, ρ, on a smaller graph: ‖∇F/n‖ and disagreement below 1e-8."""
    rng = np.random.default_rng(0)
    graph, hidden = topology.random_geometric(12, 0.5, seed=2), 0.3 * rng.normal(size=4)

    def losses(scale):
        return tuple(NonconvexLogistic(scale * f, b, 0.001, 1.0) for f, b in data)

    features = rng.normal(size=(12, 100, 4))
    data = [(f, np.where(f @ hidden + rng.logistic(size=100) > 0, 1.0, -1.0)) for f in features]
    convex = max(f.smoothness for f in losses(1.0)) - 0.002
    problem = Problem(losses(math.sqrt((5.03 - 0.002) / convex)))
    assert problem.smoothness == pytest.approx(5.03)
    paper = Dpp2(500, 0.1, 0.05, 10.0, scale_w=DECAY, scale_e=DECAY)
    run = Simulation(problem, graph, paper, recording=Recording(measure=False)).run()
    x = np.array([queries[-1].point for queries in run.truth.queries])
    assert np.abs(x - x.mean(axis=0)).max() < 1e-8
    assert np.linalg.norm(problem.mean_gradient(x.mean(axis=0))) < 1e-8


def test_the_gap_at_round_500_is_that_of_rounding_at_ratio_0_9_and_larger_at_0_95():
    gaps = [
        errors(SIX, GRAPHS[0], well_tuned(SIX, GRAPHS[0], 501, scale_w=Geometric(1, r), scale_e=Geometric(1, r)))[500]
        for r in (0.9, 0.95)
    ]
    assert gaps[0] < 1e-12 < gaps[1] < 1e-5


@pytest.mark.parametrize("eta", [Constant(0.0), Constant(0.4), Polynomial(0.8, 0.5)])
def test_the_relayed_share_of_the_duals_leaves_x_unchanged(eta):
    plain = well_tuned(SIX, GRAPHS[2], 100, scale_w=Constant(0.1), scale_e=Constant(0.1))
    runs = [tapped(SIX, GRAPHS[2], replace(plain, eta=one), seed=2) for one in (Constant(1.0), eta)]
    first, second = (run.metrics.relative_errors() for run in runs)
    np.testing.assert_allclose(first, second, rtol=1e-9)
    assert np.abs(sent(runs[0], "y") - sent(runs[1], "y")).max() > 0.1  # what is sent does depend on η


class TestConditions:
    def test_the_papers_parameters_with_the_plain_laplacian_are_refused(self):
        graph = topology.random_geometric(20, 0.4, seed=1)
        problem = synthetic_problem(agents=20)
        printed = Dpp2(10, step=0.1, beta=0.05, rho=10.0, matrix="laplacian")
        with pytest.raises(ScenarioError, match=r"αI − βP is not positive: λ_max\(P\)") as caught:
            Simulation(problem, graph, printed)
        largest = np.linalg.eigvalsh(np.diag(graph.degrees) - graph.adjacency.toarray())[-1]
        assert caught.value.field == "algorithm.beta"
        assert f"{0.1 / largest:.6g}" in str(caught.value)
        Simulation(problem, graph, replace(printed, matrix="mixing"))  # the same with I − W is fine
        # The refused recursion, run by the oracle: it overflows; just below the bound on ρ it does not.
        with np.errstate(all="ignore"):
            x = by_oracle(problem, graph, Dpp2(200, 0.1, 0.05, 10.0, matrix="laplacian"))["x"]
        assert not np.abs(x[-1]).max() < 1e50

    def test_the_bound_on_rho_is_sharp_where_all_objectives_are_alike(self):
        problem = Problem((LeastSquares(np.eye(3), np.ones(3), 0.0),) * 6)
        alpha = 0.5 / problem.smoothness
        bound = float(refusal(Simulation, problem, GRAPHS[0], Dpp2(5, alpha, 0.0, 1e6)).allowed.split("<")[-1])
        rng = np.random.default_rng(0)

        def growth(rho):
            algorithm = Dpp2(400, alpha, 0.0, rho)
            w = np.zeros((400, 6, 3))
            w[0] = rng.normal(size=(6, 3))
            x = by_oracle(problem, GRAPHS[0], algorithm, w)["x"]
            return np.ptp(x[-1], axis=0).max()

        assert growth(0.98 * bound) < 1e-2 < 1e2 < growth(1.02 * bound)


class TestClaim:
    adjacency = Adjacency(0.3, "one record")
    setting = setting_of(SIX, None, 0)

    def algorithm(self, rounds=11, r=0.9):
        return Dpp2(rounds, 0.4, 0.1, 1.0, scale_w=Geometric(2.0, r), scale_e=Geometric(5.0, r))

    def test_theorem_3_by_hand(self):
        contraction = 1 - 0.4 * SIX.smoothness
        expected = sum(2.0 * (1 / (0.4 * 5.0) + 1 / 2.0) * 0.4 * 0.3 / (0.9**k * contraction) for k in range(1, 11))
        claim = self.algorithm().claim(self.adjacency, self.setting, 1e-3)
        assert claim.epsilon == pytest.approx(expected, rel=1e-12)  # √d = 2
        assert (claim.delta, claim.norm, claim.failed_conditions) == (0.0, "ℓ2", ())

    def test_the_papers_experiment_has_no_finite_budget(self):
        """α = .1, M̄ = 5.03, d = 10, u_w = u_e = δ = 1, r = .9, K = 500: ε = 5.3e24."""
        setting = replace(self.setting, dimension=10, smoothness=(5.03,))
        algorithm = Dpp2(501, 0.1, 0.05, 10.0, scale_w=Geometric(1, 0.9), scale_e=Geometric(1, 0.9))
        epsilon = algorithm.claim(Adjacency(1.0, "one record"), setting, 0.0).epsilon
        series = (0.9**-500 - 1) / (1 - 0.9)  # Σ_{k=1}^{500} 0.9^{−k}
        assert epsilon == pytest.approx(math.sqrt(10) * 11 * 0.1 * series / (1 - 0.503), rel=1e-9)
        assert 1e24 < epsilon < 1e25

    @pytest.mark.parametrize("r", [0.9, 0.95, 0.99])
    @pytest.mark.parametrize(
        ("step", "last", "holds"),
        [(0.1, 1, False), (0.1, 3, True), (0.1, 200, True), (9e-4, 1, False), (9e-4, 30, False), (9e-4, 200, False)],
    )
    def test_what_the_sum_omits_counts_at_steps_that_meet_27(self, step, last, holds, r):
        """Of an objective of curvature −M̄, whose gradient changes by δ evenly in all coordinates, (61) is an
        equation, ‖Δx^{k+1}‖ = α(δ + M̄‖Δx^k‖): the loss of rounds 0 … K is above the claim, or is not."""
        smooth, d, moved, loss = 5.03, 10, 0.0, 0.0
        for k in range(last + 1):
            change = 0.3 + smooth * moved  # ‖Δe^k‖, and ‖Δw^k‖ is `moved`
            loss += math.sqrt(d) * (change + moved) / r**k
            moved = step * change
        setting = replace(self.setting, dimension=d, smoothness=(smooth,))
        algorithm = Dpp2(last + 1, step, 0.05, 10.0, scale_w=Geometric(1, r), scale_e=Geometric(1, r))
        epsilon = algorithm.claim(self.adjacency, setting, 0.0).epsilon
        assert (loss <= epsilon) is holds

    @pytest.mark.parametrize("r", [0.5, 0.9, 1.0])
    @pytest.mark.parametrize("step", [0.1, 0.01, 9e-4])
    @pytest.mark.parametrize("iterations", [1, 2, 5, 200])
    def test_it_holds_where_k_counts_iterations(self, iterations, step, r):
        """K rounds k = 0 … K − 1 of the same objective lose no more than Σ_{k=1}^K, the claim of K + 1 rounds."""
        smooth, moved, loss = 5.03, 0.0, 0.0
        for k in range(iterations):
            change = 0.3 + smooth * moved
            spent = math.sqrt(10) * (change + moved) / r**k
            assert spent <= math.sqrt(10) * 0.3 * (1 + step) / ((1 - step * smooth) * r**k) * (1 + 1e-12)
            loss, moved = loss + spent, step * change
        setting = replace(self.setting, dimension=10, smoothness=(smooth,))
        algorithm = Dpp2(iterations + 1, step, 0.05, 10.0, scale_w=Geometric(1, r), scale_e=Geometric(1, r))
        assert loss <= algorithm.claim(self.adjacency, setting, 0.0).epsilon
        if (iterations, step) == (1, 0.01):
            assert loss == pytest.approx(0.9487, abs=1e-4)

    def test_63_and_64_are_one_round_behind_61(self):
        """‖Δx^{k+1}‖ = α(δ + M̄‖Δx^k‖) from Δx⁰ = 0 is αδ(1 − (αM̄)^{k+1})/(1 − αM̄), and Δw^k = −Δx^k = αΔe^{k−1}."""
        step, smooth, change, moved = 0.1, 5.03, 0.3, [0.0]
        for _ in range(8):
            moved.append(step * (change + smooth * moved[-1]))

        def bound(power):
            return step * change * (1 - (step * smooth) ** power) / (1 - step * smooth)

        np.testing.assert_allclose(moved, [bound(k) for k in range(9)], rtol=1e-12)
        for k in range(1, 8):
            assert moved[k] > bound(k - 1)  # (63)
            assert moved[k + 1] / step > bound(k) / step  # (64)
        assert bound(0) == 0 < moved[1]

    def test_the_first_release_costs_nothing_in_the_sum(self):
        assert self.algorithm(rounds=1).claim(self.adjacency, self.setting, 0.0).epsilon == 0

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"step": 1.7}, "αM̄ < 1"),
            ({"scale_w": Constant(0.0)}, "w_1 has scale 0"),
            ({"scale_e": Constant(0.0)}, "e_1 has scale 0"),
        ],
    )
    def test_outside_its_conditions_it_has_no_value(self, change, why):
        claim = replace(self.algorithm(), **change).claim(self.adjacency, self.setting, 0.0)
        assert claim.epsilon is None
        assert why in claim.failed_conditions[0]

    @pytest.mark.parametrize("scales", [(1.0, 3.0), (3.0, 1.0)])
    def test_it_is_of_the_agent_with_the_largest(self, scales):
        """Theorem 3 is about each node's own u and r: of all of them the claim is the largest ε_i."""
        several, ratios = replace(self.setting, agents=2), (1.0, 0.9)
        algorithm = replace(self.algorithm(), agent_ratio=ratios, agent_scale_w=scales, agent_scale_e=scales)
        alone = [Dpp2(11, 0.4, 0.1, 1.0, scale_w=Geometric(2 * u, 0.9 * r), scale_e=Geometric(5 * u, 0.9 * r))
                 for u, r in zip(scales, ratios, strict=True)]  # fmt: skip
        each = [one.claim(self.adjacency, several, 0.0).epsilon for one in alone]
        assert (each[0] > each[1]) == (scales[0] < scales[1])
        assert algorithm.claim(self.adjacency, several, 0.0).epsilon == pytest.approx(max(each), rel=1e-12)


class TestConvergenceTheorems:
    """(23)–(27), Lemma 2 and Theorem 1: constants by hand, the paper's experiment, and the bound on a run."""

    def test_the_papers_step_is_outside_27_on_every_graph(self):
        """ξ₆/ξ₇ = (1/4)/(M̄ + 10.5 M̄²) at M̄ = 5.03: 9.2e-4, and α = 0.1."""
        limit = 0.25 / (5.03 + 10.5 * 5.03**2)
        assert limit == pytest.approx(9.236e-4, rel=1e-3)
        for graph in (topology.complete(50), topology.random_geometric(50, 0.3, seed=69)):
            setting = replace(setting_of(SIX, graph), agents=50, smoothness=(5.03,) * 50)
            failed = Dpp2(5, 0.1, 0.05, 10.0).unproven(setting)
            assert f"(27): α = 0.1 is not below ξ₆/ξ₇ = {limit:.6g}" in failed
            assert any(one.startswith("(25): ρ = 10 ") for one in failed)

    @pytest.mark.slow
    def test_25_asks_for_the_least_maximum_of_both(self):
        """ξ₈ is least as c̄_θ → 0, where ξ₉ is infinite: what (25) asks for is above both of their least values."""
        graph = topology.random_geometric(50, 0.3, seed=69)
        at = Dpp2(5, 0.1, 0.05, 10.0).parameters(graph, 5.03)
        grid = [max(at.xi(share / at.spread, 1e-9)[7:]) for share in np.linspace(0.001, 0.999, 4000)]
        assert min(grid) == pytest.approx(143.0, abs=0.05)
        assert at.xi(1e-9, 1e-12)[7] < 131
        assert not any(one.startswith("(25)") for one in replace(at, rho=143.2).unmet())
        assert any(one.startswith("(25): ρ = 142.9 is not above 142.999") for one in replace(at, rho=142.9).unmet())

    def test_some_parameters_meet_all_conditions(self):
        graph = topology.random_geometric(50, 0.3, seed=69)
        setting = replace(setting_of(SIX, graph), agents=50, smoothness=(5.03,) * 50)
        assert Dpp2(5, 1e-5, 5e-6, 400.0).unproven(setting) == ()
        assert Dpp2(5, 1e-4, 5e-5, 400.0).unproven(setting)[0].startswith("(26)")
        assert Dpp2(5, 1e-5, 0.0, 400.0).unproven(setting)[0].startswith("(24)")

    def test_the_constants_of_23_by_hand(self):
        """α = .5, β = .1, ρ = 3, M̄ = 2, λ_L = 1, λ̄_L = 2; c̄_θ = .5, γ = .05."""
        found = Parameters(0.5, 0.1, 3.0, 2.0, 1.0, 2.0)
        kappa, c_alpha = 0.4 / 0.3, 0.5 / 0.4
        assert found.upper == pytest.approx(0.4)
        assert found.spread == pytest.approx(kappa)
        expected = (
            3 * (1 / kappa - 0.5) - (1 + 3 + 2 * c_alpha),
            0.5 * 21 * 9 * 2 + 0.125 + 0.5 * 0.5 * 6 + 2.75 + 4 * (40 + 0.25 * 0.5 * 6 + 0.125), 0.25 - 0.125 - 1 / 9,
            0.0625, 1.75 * 0.25, 0.25, 2 + 42, (4 + 12 + 8 * c_alpha) / (4 * (1 / kappa - 0.5)), 1 / math.sqrt(0.125),
        )  # fmt: skip
        np.testing.assert_allclose(found.xi(0.5, 0.05), expected, rtol=1e-12)

    def test_lemma_2_is_too_small_by_the_dimension(self):
        """(30): E Σ_k (D₁‖w^k‖² + D₂‖e^k‖²) ≤ (D₁ + D₂)·2Nū²/(1 − r̄²). Laplace noise of scale b has E w² = 2b² in
        each coordinate: ten of them have ten times as much as is printed, one has this much."""
        algorithm = Dpp2(60, 0.1, 0.05, 10.0, scale_w=Geometric(2.0, 0.7), scale_e=Geometric(2.0, 0.7))
        for dimension in (1, 10):
            problem = Problem((LeastSquares(np.eye(dimension), np.ones(dimension), 0.0),) * 3)
            run = tapped(
                problem, topology.complete(3), replace(algorithm, step=0.05, beta=0.01, rho=1.0), replicas=300
            )
            squares = (noises(run) ** 2).sum(axis=(1, 2, 4)).mean(axis=1)  # E Σ_k ‖w^k‖², and of e
            printed = 2 * 3 * 2.0**2 / (1 - 0.7**2)
            np.testing.assert_allclose(squares / printed, dimension, rtol=0.15)

    def test_theorems_1_and_2_bound_by_zero_what_leaves_the_optimum(self):
        """All x_i⁰ = x* = 0 where Σ∇f_i(0) = 0: V̂⁰ as printed is 0. The bounds are then those of the noise alone,
        which vanish with ū², while x¹ − x̄¹ = −G∇f̃(0): by Jensen no noise makes E‖x¹ − x̄¹‖² less."""
        graph, algorithm = topology.complete(4), Dpp2(3, 1e-4, 1e-6, 40.0)
        targets = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
        problem = Problem(tuple(LeastSquares(np.eye(2), target, 0.0) for target in targets))
        setting = setting_of(problem, graph)
        assert algorithm.unproven(setting) == ()
        assert np.abs(problem.optimum().point).max() < 1e-12
        x = by_oracle(problem, graph, algorithm)["x"]
        run = tapped(problem, graph, algorithm)
        np.testing.assert_allclose([queries[1].point[0] for queries in run.truth.queries], x[1], atol=1e-16)
        gap = (x[1] ** 2).sum() + (sum(slopes(problem, x[1])) ** 2).sum() / 4
        assert x[1].sum() == pytest.approx(0, abs=1e-16)
        zeta = Zetas.of(
            algorithm.parameters(graph, problem.smoothness), nu=4 * problem.smoothness, agents=4, ratio=0.5
        )
        first = 0.0  # ‖x⁰ − x̄⁰‖² + (1/N)‖Σ∇f_i(x_i⁰)‖² + f(x̄⁰) − f*
        noise = 2 * zeta.noises * 4 * 1e-12**2  # 2(D₁ + D₂)Nū², ū = 1e-12, as small as one likes
        assert gap / 2 > 10 * (zeta.four * first + noise / (1 - 0.5**2)) / (zeta.five * 2)
        assert gap > 10 * (zeta.four * first + noise / (1 - zeta.rate - 0.5**2)) / zeta.three

    def test_lemma_1_fails_at_that_start(self):
        """(29) says V¹ < V⁰; on a complete graph V¹ − V⁰ = ½λ̄_G²(1 − c̄_θ)‖∇f̃(x*)‖² > 0, whatever c̄_θ < 1/κ_G is."""
        graph, algorithm = topology.complete(4), Dpp2(3, 1e-4, 1e-6, 40.0)
        problem = Problem(tuple(LeastSquares(np.eye(1), np.array([b]), 0.0) for b in (3.0, -1.0, -2.0, 0.0)))
        assert algorithm.unproven(setting_of(problem, graph)) == ()
        constants = algorithm.parameters(graph, problem.smoothness)
        history = by_oracle(problem, graph, algorithm)
        upper, P = constants.upper, np.eye(4) - graph.weights
        K, G = np.eye(4) - np.ones((4, 4)) / 4, algorithm.step * np.eye(4) - algorithm.beta * P
        for share in (0.01, 0.5, 0.99):
            theta = share / constants.spread * upper  # θ = c̄_θ λ̄_G
            inner = theta * G @ K + G @ np.linalg.pinv(P) @ K / algorithm.rho

            def energy(k, inner=inner, theta=theta):
                x, mean = history["x"][k], np.full((4, 1), history["x"][k].mean())
                s = history["q"][k] + np.array(slopes(problem, mean))
                loss = float(problem.value(mean[:1])[0])
                return (x.T @ K @ x / 2 + s.T @ inner @ s / 2 + theta / 2 * x.T @ K @ s).item() + loss

            rise = energy(1) - energy(0)
            assert rise == pytest.approx(upper**2 * (1 - theta / upper) * 14 / 2, rel=1e-2)
            assert rise > 0

    def test_theorem_2_counts_the_gradient_n_squared_times(self):
        """N alike f_i = (m/2)‖x − b‖² from one start: f(x̄^k) − f* falls as (1 − αm)^{2k}, exactly, and ν = Nm. The
        theorem's (1 − ζ)^k with ζ = ανN/(4ζ₄) falls faster from N = 3 on; with αν/(4N) it does not."""
        n, m, graph = 20, 1e-8, topology.complete(20)
        algorithm = Dpp2(200, 2.8e-3, 1e-9, 7.3)
        problem = Problem((LeastSquares(np.sqrt(m) * np.eye(1), np.sqrt(m) * np.ones(1), 0.0),) * n)
        assert problem.smoothness == pytest.approx(m)
        assert algorithm.unproven(setting_of(problem, graph)) == ()
        x = by_oracle(problem, graph, algorithm)["x"]
        np.testing.assert_allclose(1 - x[200], (1 - 2.8e-3 * m) ** 200, rtol=1e-12)
        zeta = Zetas.of(algorithm.parameters(graph, m), nu=n * m, agents=n, ratio=0.1)
        assert 2.8e-3 * n * m / (4 * n) < 2 * 2.8e-3 * m < zeta.rate
        first = n * m**2 + n * m / 2  # V̂⁰ of x⁰ = 0, b = 1
        noise = 2 * zeta.noises * n * 1e-12**2 / (1 - zeta.rate - 0.1**2)
        k = 1e10
        bound = k * math.log1p(-zeta.rate) + math.log((zeta.four * first + noise) / zeta.three)
        truth = 2 * k * math.log1p(-2.8e-3 * m) + math.log(n * m / 2)
        assert truth > bound

    def test_no_logistic_loss_meets_the_p_l_condition(self):
        """(32) asks ‖∇f(x)‖² ≥ 2ν(f(x) − f*) everywhere: away from the optimum f grows like ‖x‖, ∇f does not."""
        rng = np.random.default_rng(0)
        parts = [(rng.normal(size=(30, 3)), np.sign(rng.normal(size=30))) for _ in range(3)]
        problem = Problem(tuple(NonconvexLogistic(z, y, 0.001, 1.0) for z, y in parts))
        least = problem.optimum().value
        away = rng.normal(size=(1, 3)) * np.array([1e2, 1e4, 1e6])[:, None]
        square = ((3 * problem.mean_gradient(away)) ** 2).sum(axis=1)
        nu = square / (2 * (problem.value(away) - least))
        assert np.all(nu[1:] < nu[:-1] / 50)


def slopes(problem, points):
    return [f.gradient(x[None])[0] for f, x in zip(problem.objectives, points, strict=True)]


class Zetas(NamedTuple):
    """ζ₃, ζ₄, ζ₅ and ζ of Theorems 1 and 2, and D₁ + D₂ of Lemma 1."""

    three: float
    four: float
    five: float
    rate: float
    noises: float

    @staticmethod
    def of(at: Parameters, nu: float, agents: int, ratio: float) -> "Zetas":
        share, gamma = at.free()
        xi1, xi2, xi3, xi4, xi5, xi6, xi7, *_ = at.xi(share, gamma)
        g, kappa, theta = at.upper, at.spread, share * at.upper
        one, two = (1 - c + math.hypot(c - 1, theta) for c in (
            g / kappa * (theta + 1 / (at.rho * at.largest)), g * (theta + 1 / (at.rho * at.least))))  # fmt: skip
        four, descent = max(0.5 + two / 4, 1.0), g * (xi1 - xi2 * g)
        six = min(descent, g**2 * (xi3 - xi4 * g - xi5 * g**2), at.step * nu * agents / 4, four * (1 - ratio**2))
        coupled, root = at.rho * at.largest, 2 + kappa / g + 2 * kappa**2 / g**2
        d1 = root + (3 + theta * g) * coupled**2 + (1 + theta**2 * g / 4) * coupled * g + 2 / at.step + xi7
        return Zetas(
            0.5 - one / 4, four, min(descent, at.step * (xi6 - xi7 * at.step)), six / four, d1 + at.beta**2 * root
        )


class TestCorollary1:
    """r ∈ ((c̃/ε)^{1/(K−1)}, 1) is said to give Σ_{k=1}^K r^{−k} ≤ ε/c̃, which is Theorem 3."""

    @pytest.mark.parametrize(("rounds", "ratio"), [(20, 5.0), (20, 1.5), (500, 20.0), (5, 30.0)])
    def test_it_fails_just_above_its_least_r(self, rounds, ratio):
        least = ratio ** (-1 / (rounds - 1))
        r = least + 1e-6 * (1 - least)
        assert r**-rounds > ratio  # the last term alone
        assert sum(r**-k for k in range(1, rounds + 1)) > ratio

    def test_near_1_it_needs_as_much_as_k(self):
        """K terms, each above 1: no r in the interval will do where ε/c̃ ≤ K."""
        for r in np.linspace(5.0 ** (-1 / 19), 1, 50)[1:-1]:
            assert sum(r**-k for k in range(1, 21)) > 20 > 5.0

    def test_its_condition_on_the_step_is_not_c_below_epsilon(self):
        """c̃ < ε is α < (ε − √dδ/u_e)/(√dδ/u_w + εM̄); the first δ is printed as M̄, and M̄ as δ. Here α is below the
        printed bound and not below this one, c̃ is above ε, and no r is left."""
        d, smooth, delta, u, epsilon = 10, 0.1, 5.0, 1.0, 2.0
        bound = (epsilon - math.sqrt(d) * smooth / u) / (delta * (math.sqrt(d) / u + epsilon))
        alpha = 0.9 * min(1 / smooth, bound)
        assert not alpha < (epsilon - math.sqrt(d) * delta / u) / (math.sqrt(d) * delta / u + epsilon * smooth)
        assert u > math.sqrt(d) * smooth / epsilon
        assert math.sqrt(d) * (1 / (alpha * u) + 1 / u) * alpha * delta / (1 - alpha * smooth) > epsilon

    def test_the_selected_step_need_not_meet_27(self):
        """min{λ̄_G, α̲} < α < min{ᾱ, ξ₆/ξ₇}: from α = λ̄_G down the β of (27) is not positive. With the maximum no α is
        left where ᾱ < λ̄_G, though α̲ < ᾱ and λ̄_G < ξ₆/ξ₇."""
        at = Dpp2(5, 1e-5, 5e-6, 400.0).parameters(topology.random_geometric(50, 0.3, seed=69), 5.03)
        limit, upper, low, high = 0.25 / (5.03 + 10.5 * 5.03**2), 5e-4, 1e-5, 4e-4
        alpha = 1e-4
        assert min(upper, low) < alpha < min(high, limit)
        beta = (alpha - upper) / at.least
        assert replace(at, step=alpha, beta=beta).upper == pytest.approx(upper)
        assert replace(at, step=alpha, beta=beta).unmet()[0].startswith("(24)")
        assert low < high
        assert upper < limit
        assert not max(upper, low) < min(high, limit)
