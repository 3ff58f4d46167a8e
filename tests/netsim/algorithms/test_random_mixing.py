"""Random penalties, random aggregates: against independent oracles, their laws, optima, conditions and claims."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import GroupedDescent, NeighborRange, RandomPenaltyAdmm
from netsim.claims import Adjacency
from netsim.mechanisms import average_ratio
from netsim.problems import Problem, build
from netsim.problems import load as load_data
from netsim.randomness import Streams
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation, setting_of
from tests.attacks.auditing import replayed
from tests.netsim.algorithms.mixing import gradients, sent
from tests.oracles import random_aggregators as oracles
from tests.oracles.random_aggregators import random_weights, small_shift_ratio, spread
from tests.worlds import ROUGH, simulated, synthetic_problem

SIX = synthetic_problem(agents=6, dimension=4)
GRAPHS = [topology.ring(6), topology.complete(6), topology.random_geometric(6, 0.6, seed=2)]
NAMES = ["ring", "complete", "geometric"]
EARS = Adversary("ears", "all", nodes=(1,))
RECORD = Adjacency(0.25, "one record")


def ridge():
    data = load_data("synthetic", kind="regression", records=36, dimension=4, seed=1)
    return build("ridge", data.split(6), ridge=0.5)


def tapped(algorithm, graph=GRAPHS[0], problem=SIX, **options):
    return simulated(problem, graph, algorithm, adversaries=(EARS,), **options).run()


def final_error(problem, graph, algorithm):
    run = Simulation(problem, graph, algorithm, recording=Recording(private="nothing")).run()
    return run.metrics.worst_by_round(problem.agents)[-1, 0]


def draws(rounds, scale, seed, n=6, d=4):
    """The engine's own θ and Laplace noise, redrawn from its named streams: each (rounds, n, d)."""
    theta, noise = np.empty((2, rounds, n, d))
    for i in range(n):
        stream = Streams(seed).generator("agent", i, "noise", 0)
        for k in range(rounds):
            theta[k, i] = stream.random(size=(1, d))[0]
            noise[k, i] = stream.laplace(size=(1, d))[0] * scale(k)
    return theta, noise


def sends(run, expected, k=slice(None)):
    """What the agents sent, in round k or in all."""
    np.testing.assert_allclose(sent(run, "x")[k, :, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("graph", [GRAPHS[0], GRAPHS[2]], ids=["ring", "geometric"])
@pytest.mark.parametrize("scale", [Constant(0.0), Geometric(0.7, 1 / 1.02)], ids=["silent", "noisy"])
class TestOracles:
    def test_random_penalties(self, graph, scale):
        algorithm = RandomPenaltyAdmm(50, penalty=8.0, dual_step=0.4, scale=scale)
        run = tapped(algorithm, graph, seed=6)
        theta, noise = draws(50, scale, 6)
        A = graph.adjacency.toarray()
        expected = oracles.random_penalty_admm(gradients(SIX), A, theta, 8.0, 0.4, np.zeros(4), noise)
        sends(run, expected["x"][1:])
        asked = np.array([[query.point[0] for query in queries] for queries in run.truth.queries])
        np.testing.assert_allclose(asked.swapaxes(0, 1), expected["x"][:-1], rtol=0, atol=1e-12)

    def test_penalties_of_each_agent(self, graph, scale):
        """And the random penalties of (2.2) add up to D_i: Γ = θD_i, (N − 1)ρ̄ = (1 − θ)D_i."""
        factors = (1.0, 2.0, 0.5, 1.5, 3.0, 1.0)
        algorithm = RandomPenaltyAdmm(50, penalty=8.0, dual_step=0.3, scale=scale, factors=factors)
        run = tapped(algorithm, graph, seed=6)
        theta, noise = draws(50, scale, 6)
        A, D = graph.adjacency.toarray(), 8.0 * np.array(factors)
        expected = oracles.random_penalty_admm(gradients(SIX), A, theta, D, 0.3, np.zeros(4), noise)
        sends(run, expected["x"][1:])
        gamma, rho = theta[7, 2] * D[2], (1 - theta[7, 2]) * D[2] / A[2].sum()
        gradient = gradients(SIX)[2](expected["x"][7, 2])
        printed = gamma * expected["x"][7, 2] + rho * (A[2] @ expected["x"][7]) - gradient + expected["dual"][7, 2]
        np.testing.assert_allclose(sent(run, "x")[7, 2, 0], printed / D[2] + noise[7, 2], rtol=0, atol=1e-12)

    def test_neighbor_range(self, graph, scale):
        step = Polynomial(0.5, 0.6)
        run = tapped(NeighborRange(50, step, scale), graph, seed=6)
        theta, noise = draws(50, scale, 6)
        steps = [step(k) for k in range(50)]
        A = graph.adjacency.toarray()
        expected = oracles.extreme_descent(gradients(SIX), A, steps, np.zeros(4), theta, noise)
        sends(run, expected["x"][1:])

    def test_pairs_of_neighbors(self, graph, scale):
        """The two are public draws; in the first round all values agree, and any pair does."""
        run = tapped(NeighborRange(50, Constant(0.2), scale, pairs=8), graph, seed=6)
        theta, noise = draws(50, scale, 6)
        near = [(i, *graph.neighbors(i)) for i in range(6)]
        pairs = np.zeros((50, 6, 2), dtype=int)
        for k in range(1, 50):
            for i in range(6):
                order = Streams(8).generator("pair", i, k - 1).permutation(len(near[i]))
                pairs[k, i] = np.array(near[i])[order[:2]]
        A = graph.adjacency.toarray()
        expected = oracles.extreme_descent(gradients(SIX), A, [0.2] * 50, np.zeros(4), theta, noise, pairs)
        sends(run, expected["x"][1:])

    def test_the_middle_is_descent_with_fixed_weights(self, graph, scale):
        run = tapped(NeighborRange(50, Constant(0.2), scale, pairs=8, middle=True), graph, seed=6)
        _, noise = draws(50, scale, 6)
        A = graph.adjacency.toarray()
        near = (A + np.eye(6)) / (1 + A.sum(axis=1))[:, None]
        x = np.zeros((6, 4))
        for k in range(50):
            m = near @ x
            x = m - 0.2 * np.array([f.gradient(m[i][None])[0] for i, f in enumerate(SIX.objectives)]) + noise[k]
        sends(run, x, -1)

    def test_groups(self, graph, scale):
        del graph
        problem = synthetic_problem(agents=13, dimension=4)
        algorithm = GroupedDescent(4, Polynomial(0.8, 0.5), scale, low=-0.5, high=1.0, shuffle=3)
        run = tapped(algorithm, topology.complete(13), problem, seed=6)
        groups = algorithm.groups(13)
        order = [groups[m % 8][m // 8] for m in range(13)]
        turn = {i: g // 2 for g, group in enumerate(groups) for i in group}
        theta, noise = (one[0] for one in draws(1, Constant(1.0), 6, 13))
        noise = noise * np.array([scale(turn[i]) for i in range(13)])[:, None]
        start = np.array([np.full(4, -0.5), np.full(4, 1.0)])
        steps = [algorithm.step(k) for k in range(4)]
        expected = oracles.grouped_descent(gradients(problem), order, steps, start, theta, noise)
        sends(run, expected["released"], 0)
        output = expected["output"]
        reached = run.metrics.worst_by_round(13)[-1, 0]
        optimum = problem.optimum().point
        assert reached == pytest.approx(np.linalg.norm(output - optimum) / np.linalg.norm(optimum), rel=1e-9)
        assert len({len(queries) for queries in run.truth.queries}) == 1  # everybody is asked once


@pytest.mark.few("complete")
@pytest.mark.parametrize("graph", GRAPHS, ids=NAMES)
def test_random_penalties_alone_leave_admm_exact(graph):
    """Without Laplace noise the optimum is reached to 1e-9, at unequal degrees too; θ is random throughout."""
    assert final_error(SIX, graph, RandomPenaltyAdmm(700, penalty=3.0, dual_step=0.3, scale=Constant(0.0))) < 1e-9
    problem = ridge()
    penalty = 2.5 * problem.smoothness
    algorithm = RandomPenaltyAdmm(900, penalty=penalty, dual_step=0.05 * penalty, scale=Constant(0.0))
    assert final_error(problem, graph, algorithm) < 1e-9


@pytest.mark.slow
def test_the_papers_parameters_converge_under_their_decaying_noise():
    errors = [final_error(SIX, GRAPHS[2], RandomPenaltyAdmm(rounds)) for rounds in (200, 1200)]
    assert errors[1] < 1e-3 < errors[0]


def test_the_printed_sign_of_the_dual_diverges():
    A = GRAPHS[0].adjacency.toarray()
    theta, _ = draws(400, Constant(0.0), 1)
    x = oracles.random_penalty_admm(gradients(SIX), A, theta, 10.0, -0.5, np.zeros(4))["x"]
    assert np.abs(x[-1]).max() > 1e3


def test_released_values_follow_the_mixture():
    """Kolmogorov-Smirnov at 1e-6: quantiles of 5 rounds under the true law are uniform; under plain Laplace not."""
    run = tapped(RandomPenaltyAdmm(6, scale=Constant(0.05)), replicas=400)
    found = replayed(run)
    assert found.identical
    rng = np.random.default_rng(0)
    true = np.concatenate([r.quantiles(rng).ravel() for r in found.releases])
    assert stats.kstest(true, "uniform").pvalue > 1e-6
    wrong = np.concatenate(
        [replace(r.mechanism, width=0.0).quantiles(r.observed, r.value).ravel() for r in found.releases[1:]]
    )
    assert stats.kstest(wrong, "uniform").pvalue < 1e-6


def test_all_agents_of_a_group_run_see_the_same_references():
    problem = synthetic_problem(agents=9, dimension=4)
    algorithm = GroupedDescent(4, Constant(0.5), Constant(0.1))
    run = Simulation(problem, topology.complete(9), algorithm, NetworkSettings(links=ROUGH)).run()
    errors = run.metrics.worst_by_round(9)[-1, 0]
    np.testing.assert_array_equal(run.metrics.relative_errors()[-1:, 0], [errors])
    groups = algorithm.groups(9)
    assert sorted(i for group in groups for i in group) == list(range(9))
    assert sorted(map(len, groups)) == [1] * 7 + [2]
    assert groups != replace(algorithm, shuffle=1).groups(9)


class TestClaims:
    setting = setting_of(SIX, None, 0)

    def test_random_penalties_by_hand(self):
        """Σ_{k<K} d β_k B/D with d = 4, B = 0.25, D = 10, β_k = 1.02^k."""
        claim = RandomPenaltyAdmm(30).claim(RECORD, self.setting, 0.0)
        assert claim.epsilon == pytest.approx(4 * 0.25 / 10 * (1.02**30 - 1) / 0.02, rel=1e-12)
        assert claim.norm == "ℓ∞"

    def test_the_agent_with_the_least_penalty_loses_most(self):
        """Theorem 2.2.1 has B/D_i of each agent."""
        factors = (1.0, 2.0, 0.5, 1.5, 3.0, 1.0)
        own, least = (
            RandomPenaltyAdmm(9, penalty=penalty, factors=one).claim(RECORD, self.setting, 0.0).epsilon
            for penalty, one in ((10.0, factors), (5.0, ()))
        )
        assert own == pytest.approx(least, rel=1e-12)

    def test_advanced_composition_is_footnote_2_without_its_last_factor(self):
        """Where many small losses are composed it is less than their sum; of few large ones it is no more."""
        losses = 4 * [0.25 / 10 * 1.02**k for k in range(30)]
        printed = sum((math.exp(e) - 1) * e / (math.exp(e) + 1) for e in losses)
        printed += math.sqrt(-2 * sum(e**2 for e in losses) * math.log(1e-5))
        algorithm = RandomPenaltyAdmm(30, composed_delta=1e-5)
        claim = algorithm.claim(RECORD, self.setting, 0.0)
        assert claim.epsilon == pytest.approx(printed, rel=1e-12)
        assert claim.delta == 1e-5
        assert printed < sum(losses)
        assert printed * math.log(1e-5) < 0  # the factor that is printed after the sum
        few = replace(algorithm, rounds=1)
        assert (
            few.claim(RECORD, self.setting, 0.0).epsilon
            == replace(few, composed_delta=0.0).claim(RECORD, self.setting, 0.0).epsilon
        )

    def test_steps_by_hand(self):
        """The sum over rounds for 2*, the largest one for groups that act once."""
        step, scale = Polynomial(0.5, 1.0), Geometric(0.2, 0.9)
        losses = [4 * 0.25 * 0.5 / (k + 1) / (0.2 * 0.9**k) for k in range(7)]
        ranged = NeighborRange(7, step, scale).claim(RECORD, self.setting, 0.0)
        grouped = GroupedDescent(7, step, scale).claim(RECORD, self.setting, 0.0)
        assert ranged.epsilon == pytest.approx(sum(losses), rel=1e-12)
        assert grouped.epsilon == pytest.approx(max(losses), rel=1e-12)

    def test_the_average_loss_is_below_the_worst_case_where_agents_differ(self):
        assert average_ratio(0.1, 3.0, 1.0) < 0.6 < average_ratio(0.1, 0.0, 1.0)


# ── Section 3.3 of the thesis: products of random stochastic matrices ──────────────────────────────────────────────
SPARSE, DENSE = topology.erdos_renyi(10, seed=1, links=20), topology.erdos_renyi(10, seed=1, links=40)


def decay(graph, between, repeats=200):
    """φ of products of 1 … 10 matrices, averaged over columns and draws; and of powers of the expectation."""
    rng, mean = np.random.default_rng(2), random_weights(graph, between)
    drawn, fixed = np.zeros(10), np.zeros(10)
    for repeat in range(repeats):
        product = power = np.eye(graph.agents)
        for k in range(10):
            product, power = random_weights(graph, between, rng) @ product, mean @ power
            drawn[k] += spread(product) / repeats
            fixed[k] = spread(power) if repeat == 0 else fixed[k]
    return drawn, fixed


@pytest.mark.few(1)
@pytest.mark.parametrize("between", ["own", "pair"])
def test_random_weights_are_stochastic_and_right_on_average(between):
    graph, rng = GRAPHS[2], np.random.default_rng(3)
    drawn = np.array([random_weights(graph, between, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1, atol=1e-14)
    np.testing.assert_allclose(drawn.mean(axis=0), random_weights(graph, between), atol=0.02)


@pytest.mark.slow
def test_random_rows_forget_as_fast_as_fixed_ones_on_sparse_graphs_and_slower_on_dense_ones():
    """Figs. 3-1 and 3-2: an exponential decay in all of them. The six graphs are in the pictures alone."""
    for between, rate in (("own", 0.78), ("pair", 0.70)):
        drawn, fixed = decay(SPARSE, between)
        np.testing.assert_allclose(drawn[1:], fixed[1:], rtol=0.15)
        assert (drawn[-1] / drawn[4]) ** (1 / 5) == pytest.approx(rate, abs=0.08)
    drawn, fixed = decay(DENSE, "own")
    assert drawn[-1] > 1.4 * fixed[-1]
    drawn, fixed = decay(DENSE, "pair")
    assert drawn[1] > 1.4 * fixed[1]


def test_the_expectation_has_equal_rows_on_a_complete_graph_in_fig_3_2_alone():
    full = topology.complete(10)
    assert spread(random_weights(full, "pair")) < 1e-15
    assert spread(random_weights(full, "own")) == pytest.approx(0.5 - 0.5 / 9)


def test_the_weights_that_fig_3_2_prints_do_not_sum_to_one():
    """r/(d + 1) and (1 − r)/(d + 1) of two agents and 1/(d + 1) of the other d − 1: d/(d + 1) in all."""
    W = random_weights(DENSE, "pair", np.random.default_rng(1))
    near = DENSE.adjacency.toarray() + np.eye(10)
    changed = np.isclose(W, near / near.sum(axis=1)[:, None])
    sums = np.where(changed, W, W / 2).sum(axis=1)
    np.testing.assert_allclose(sums, 1 - 1 / near.sum(axis=1))


def test_lemma_3_3_1_holds_with_a_third_for_uniform_weights():
    """|W̃(i₁, j) − W̃(i₂, j)| = |r₁ − r₂| · |difference of the halves' means| <= |r₁ − r₂| φ, and E|r₁ − r₂| = 1/3: the
    lemma's ½ is for the worst law on (0, 1). Its proof has 3/4 and 1/4 for the expectations of the greater and the
    lesser of two uniform weights, which are 2/3 and 1/3."""
    rng, n = np.random.default_rng(5), 8
    half = np.arange(n) < n // 2
    first, second = rng.random((2, 20_000, n))
    ours, inner = (np.where(half, r[..., None], 1 - r[..., None]) * 2 / n for r in (first[:, :2], second))
    apart = np.abs(np.diff(np.einsum("til,tlj->tij", ours, inner), axis=1))[:, 0]
    phi = inner.max(axis=1) - inner.min(axis=1)
    assert apart.mean() < phi.mean() / 3 < phi.mean() / 2
    extreme = np.where(half, 1.0, 0.0)[:, None] * np.ones(n)  # a column that is 1 on one half, 0 on the other
    sharp = np.abs(np.diff(ours @ extreme, axis=1)).mean()
    assert sharp == pytest.approx(1 / 3, rel=0.02)
    greater = first[:, :2].max(axis=1).mean()
    assert greater == pytest.approx(2 / 3, rel=0.01)


# ── Theorems 3.1.1 to 3.2.1 and J.0.1 at the parameters of the thesis' own experiments ─────────────────────────────
TOTAL, ZETA = 10.0, 0.5


@pytest.mark.parametrize(("agents", "degree"), [(10, 4), (100, 4), (10, 9)])
def test_conditions_of_theorems_3_1_1_and_3_1_3_fail_in_appendix_e(agents, degree):
    """A_iᵀA_i = d_i I for consensus over links, ρ = D(1 − θ)/d_i uniform from 0. No other ρ helps at this D, ζ."""
    sigma, smooth = math.sqrt(degree), 1.25
    for M in (0.0, smooth):
        uniform = oracles.room(agents, TOTAL, ZETA, 0.0, TOTAL / degree, sigma, M)
        assert max(uniform) < 0
        least = [oracles.room(agents, TOTAL, ZETA, rho, rho, sigma, M)[0] for rho in np.linspace(1e-3, 5, 5000)]
        assert max(least) < 0
    needed = 2 * ZETA * agents**2 * degree  # (ρ − ζ/2)/ρ² is greatest at ρ = ζ, where it is 1/(2ζ)
    assert oracles.room(agents, needed, ZETA, ZETA, ZETA, sigma)[0] == pytest.approx(0, abs=1e-12)
    assert needed >= 40 * TOTAL


def test_the_remainder_of_theorems_3_1_1_and_3_1_3_is_negative_under_their_own_conditions():
    """Two agents, x_1 = x_2: f_1 = mx²/2 + gx, f_2 = mx²/2 − gx, x* = 0, λ* = g. (3.2) asks for h ≤ −.0042."""
    low, high, total, g = 1.25, 1.45, 9.0, 0.3
    x, rho, sign = np.array([1.0, 0.95]), np.array([low, high]), np.array([1.0, -1.0])
    m = (high - low) * (x[0] - x[1]) / x.sum()
    assert min(oracles.room(2, total, ZETA, low, high, 1.0, m**2)) > 0  # (3.3) and (3.6)
    dual = m * x[0] + g + low * (x[0] - x[1])

    def step(at, dual, rho):
        """(3.1) and (3.5): both have the same fixed points, and gradients at either end where x stays."""
        pull = sign * (dual - rho * (sign @ at)) - g * sign
        return (total * at + pull) / (m + total), at + (pull - m * at) / total

    for after in step(x, dual, rho):
        np.testing.assert_allclose(after, x, rtol=0, atol=1e-12)
    gap = x[0] - x[1]
    for free in (-3.0, 0.0, 3.0):
        value = m / 2 * x @ x + g * gap - free * gap
        fall = ((dual - free) ** 2 - (dual - ZETA * gap - free) ** 2) / ZETA
        assert fall - 2 * value == pytest.approx(-0.0042436, abs=1e-6)
    # Theorem 3.1.2 without noise, from (1, .95) and λ⁰ = 0: (3.4) holds here
    at, dual, total_x = x, 0.0, np.zeros(2)
    for k in range(1, 301):
        at = step(at, dual, rho if k % 2 else rho[::-1])[0]
        dual, total_x = dual - ZETA * (at[0] - at[1]), total_x + at
        mean = total_x / k
        assert m / 2 * mean @ mean + g * (mean[0] - mean[1]) <= (total * x @ x + 4 / ZETA * g**2) / (2 * k)


def test_lemma_j_0_1_converges_slower_than_its_own_p():
    """Ring of 10, f = mx²/2, ρ = ρ⁰: by (J.15) ‖u − u*‖² falls to .9910 a round; its slowest mode, to .9984."""
    n, m, rho, alpha, zeta, total = 10, 0.21108, 5.1708e-4, 33201.0, 4.293e-4, 7.536e-3
    A = np.eye(n) - np.roll(np.eye(n), 1, axis=1)  # one row a link; ‖A_i‖² = 2, its least singular value is the same
    assert alpha < 2 * m / (n * rho**2 * 2)
    assert rho > n / (2 * alpha)
    assert total > max(rho * 2, n * 2 / alpha)
    assert zeta < 2 * rho - n / alpha
    p = min(
        (2 * m - alpha * n * rho**2 * 2) / (5 * m**2 / (zeta * n * 2) + total),
        (total - n * 2 / alpha) / (5 * total**2 / (zeta * n * 2) + 5 * 2 / zeta * n * rho**2),
        (2 * rho / zeta - n / (alpha * zeta) - 1) / (5 * n * (rho**2 / zeta**2 + 1 / n)),
    )
    assert p == pytest.approx(0.00912, abs=1e-5)
    x = np.hstack([total * np.eye(n) - rho * A.T @ A, A.T]) / (m + total)
    step = np.vstack([x, np.hstack([np.zeros((n, n)), np.eye(n)]) - zeta * A @ x])
    u = np.concatenate([np.random.default_rng(0).normal(size=n), np.zeros(n)])  # λ⁰ = 0, u* = 0
    weight = np.repeat([total, 1 / zeta], n)
    sizes = []
    for _ in range(3000):
        u = step @ u
        sizes.append(weight @ u**2)
    assert sizes[-1] / sizes[-2] == pytest.approx(0.99845, abs=1e-5)
    assert sizes[-1] / sizes[-2] > 1 / (1 + p)


def test_lemma_j_0_2_diverges_where_m_is_below_1():
    """(J.17) for two agents, f_i = mx²/2, M = m² as in Appendix J: (J.22) holds, and x_1 = x_2 grows."""
    m, rho, zeta, alpha, total = 0.01, 1e-5, 1e-5, 1e7, 2e-4
    assert alpha < m / (2 * rho**2 + rho**2)
    assert total > max(rho, 2 / alpha + m**2)
    assert rho > 2 / (2 * alpha)
    assert zeta < 2 * rho - 2 / alpha
    A = np.array([1.0, -1.0])
    x, dual = np.ones(2), 0.0
    for k in range(1, 6):
        x = (A * (dual - rho * (A @ x)) + total * x - m * x) / total
        dual -= zeta * (A @ x)
        np.testing.assert_allclose(x, (-49.0) ** k, rtol=1e-9)


def test_conditions_of_theorem_j_0_1_fail_in_appendix_e():
    """m = 1 from the ridge, M = 1.25² in the thesis' convention, |N_i| = 4: D would have to exceed 10,000."""
    assert oracles.least_total(10, 1.0, 1.25**2, TOTAL / 4, 2.0) == pytest.approx(10_000, rel=1e-3)


def test_algorithm_1_converges_linearly_all_the_same():
    run = Simulation(SIX, GRAPHS[2], RandomPenaltyAdmm(120, 3.0, 0.3, Constant(0.0)), seed=3).run()
    errors = run.metrics.worst_by_round(6)[:, 0]
    rounds = np.arange(20, 120)
    line = np.polyfit(rounds, np.log10(errors[rounds]), 1)
    assert line[0] < -0.05
    assert np.abs(np.log10(errors[rounds]) - np.polyval(line, rounds)).max() < 1


@pytest.mark.slow
def test_algorithm_1_keeps_a_residual_under_constant_noise_and_none_under_noise_that_dies_out():
    """(J.23) and its footnote."""
    ends = [final_error(SIX, GRAPHS[2], RandomPenaltyAdmm(900, 3.0, 0.3, law)) for law in (Constant(0.1), FADES)]
    assert ends[0] > 0.1
    assert ends[1] < 1e-3


FADES = Geometric(0.1, 0.98)


@pytest.mark.slow
def test_theorem_3_2_1_bounds_algorithm_2_and_its_rate_is_met():
    """η_k = 1/(c√k): the gap of the averaged references, 40 deals, is below (3.7) and falls as K^−½ or faster."""
    rng, c, stddev = np.random.default_rng(7), 0.5, 0.5
    gaps = []
    for K in (8, 32, 128):
        data = load_data("synthetic", records=8 * K, dimension=3, seed=3, noise=2.0, norm_bound=1.0)
        plain = build("logistic", data.split(4 * K))
        best, squares = plain.optimum(), max(float((f.features**2).sum(axis=1).max()) for f in plain.objectives)
        steps, total = [1 / (c * math.sqrt(k + 1)) for k in range(K)], 0.0
        for _ in range(40):
            order, theta = rng.permutation(4 * K), rng.random((4 * K, 3))
            step_of = np.array([steps[m % (2 * K) // 2] for m in np.argsort(order)])
            noise = stddev * rng.laplace(size=(4 * K, 3)) / math.sqrt(2) * step_of[:, None]
            found = oracles.grouped_descent(gradients(plain), order, steps, np.zeros((2, 3)), theta, noise)
            middle = found["references"][:-1].mean(axis=(0, 1))
            total += float((plain.value(middle[None])[0] - best.value) / (4 * K)) / 40
        assert total <= oracles.bound(K, c, 2 * float(best.point @ best.point), squares, 3 * stddev**2 / 2)
        gaps.append(total)
    assert math.log(gaps[2] / gaps[0]) / math.log(16) < -0.4


@pytest.mark.parametrize(("start", "share"), [(0.0, 0.39), (1.0, 0.33), (2.0, 0.285)])
def test_the_average_loss_of_algorithm_2_star_depends_on_its_start(start, share):
    """Appendix E (c): B∞ = .01, β_k = 1.02^k, .93^k against .9^k. Printed: “only 30%”. Its worst case is larger."""
    rng, k = np.random.default_rng(9), np.arange(1, 101)
    weak = synthetic_problem(agents=10, dimension=14, records=20)
    problem = Problem(tuple(replace(f, ridge=1.0) for f in weak.objectives))
    beta, steps = 1.02**k, 0.93**k
    noise = rng.laplace(size=(100, 10, 14)) / beta[:, None, None]
    A, first = DENSE.adjacency.toarray(), start * rng.normal(size=(10, 14))
    run = oracles.extreme_descent(gradients(problem), A, list(steps), first, rng.random(noise.shape), noise)
    shares = small_shift_ratio(run["high"] - run["low"], 1 / beta[:, None, None]).mean(axis=(1, 2))
    worst, descent = 14 * 0.01 * float(beta @ steps), 14 * 0.01 * float(beta @ 0.9**k)
    assert worst / descent == pytest.approx(1.64, rel=0.01)
    assert float(shares * beta @ steps) * 14 * 0.01 / descent == pytest.approx(share, abs=0.03)
