"""The oracles against linear algebra and against identities of their own equations."""

import numpy as np
import pytest

from tests.oracles.dgd import dgd
from tests.oracles.recal import READINGS, recal

N, D = 5, 3
BETA = 1 / (2 * (N + 1))


class Quadratics:
    """f_i(x) = ½ xᵀH_i x − b_iᵀx with eigenvalues of H_i in [½, 2]."""

    def __init__(self, seed, n=N, d=D):
        rng = np.random.default_rng(seed)
        bases = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n)]
        self.H = np.array([q @ np.diag(rng.uniform(0.5, 2, d)) @ q.T for q in bases])
        self.b = rng.normal(size=(n, d))
        self.gradients = [lambda x, H=H, b=b: H @ x - b for H, b in zip(self.H, self.b, strict=True)]
        self.optimum = np.linalg.solve(self.H.sum(axis=0), self.b.sum(axis=0))
        self.steps = [1.8 / (np.linalg.eigvalsh(H)[-1] + 1) for H in self.H]  # inside (0, 2/(L_i + 1))


def identity(v, step):
    return v


def soft_threshold(weight):
    return lambda v, step: np.sign(v) * np.maximum(np.abs(v) - step * weight, 0)


def random_walk(graph, activations, seed=0, n=N):
    rng = np.random.default_rng(seed)
    moves = [-1, 1] if graph == "ring" else list(range(1, n))
    return list(np.cumsum(rng.choice(moves, activations)) % n)


def ring_weights(n=N):
    return np.eye(n) / 3 + (np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)) / 3


def draws(activations, scale, seed):
    return np.random.default_rng(seed).normal(scale=scale, size=(activations, D))


# RECAL


@pytest.mark.parametrize(
    ("reading", "x", "y", "lam", "u"),
    [
        ("as_analysed", 3 / 8, 5 / 8, -3 / 16, -3 / 16),
        ("as_deployable", 3 / 8, 5 / 8, -3 / 16, -5 / 16),
        ("told", 1 / 2, 3 / 4, -5 / 16, -5 / 16),
    ],
)
def test_two_activations_worked_by_hand(reading, x, y, lam, u):
    """f(x) = ½(x − 1)², n = 1, β = ¼, α = ½, r = 0, ε = (⅛, 0); every number is an exact binary fraction.

    Activation 0: λ½ = 0, x⁺ = 0, y⁺ = ½, λ⁺ = u⁺ = −⅛, ũ⁺ = −¼; told keeps λ = −¼ and y = 1.
    Activation 1: λ½ = −¼ and x⁺ = −(−¼ − ⅛) = ⅜, y⁺ = ½ − ½(−½ + ¼) = ⅝, λ⁺ = −¼ + ¼(⅜ − ⅛) = −3/16;
    told: λ½ = −½, x⁺ = −(−¼ − ¼) = ½, y⁺ = 1 − ½(0 + ½) = ¾, λ⁺ = −½ + ¼(½ + ¼) = −5/16.
    """
    run = recal([lambda v: v - 1], identity, [0, 0], [0.5], 1, [[1 / 8], [0.0]], reading=reading)
    assert [run[key][1, 0] for key in ("x", "y", "lam", "u")] == [x, y, lam, u]


@pytest.mark.parametrize("graph", ["ring", "complete"])
@pytest.mark.parametrize("seed", [0, 1])
def test_recal_reaches_the_minimizer_that_linear_algebra_gives(graph, seed):
    problem = Quadratics(seed)
    run = recal(problem.gradients, identity, random_walk(graph, 12_000, seed), problem.steps, D)
    np.testing.assert_allclose(run["x"][-1], problem.optimum, atol=1e-9)
    np.testing.assert_allclose(run["u"][-1], 0, atol=1e-9)
    assert np.abs(run["x"][20] - problem.optimum).max() > 1e-3  # so the tolerance above is earned


def test_recal_with_l1_satisfies_the_optimality_conditions_of_the_lasso():
    problem, weight = Quadratics(2), 0.3
    run = recal(problem.gradients, soft_threshold(weight), random_walk("ring", 15_000), problem.steps, D)
    x = run["x"][-1]
    slope = -sum(g(x) for g in problem.gradients) / (N * weight)  # must lie in ∂‖x‖₁
    assert 0 < np.count_nonzero(x) < D
    np.testing.assert_allclose(slope[x != 0], np.sign(x[x != 0]), atol=1e-8)
    assert (np.abs(slope[x == 0]) <= 1).all()


@pytest.mark.parametrize("reading", READINGS)
def test_without_noise_every_reading_is_plain_recal(reading):
    problem, route = Quadratics(3), random_walk("complete", 300)
    plain = recal(problem.gradients, soft_threshold(0.02), route, problem.steps, D)
    zero = np.zeros((len(route), D))
    shield = zero if reading == "shielded" else None
    run = recal(problem.gradients, soft_threshold(0.02), route, problem.steps, D, zero, shield, reading)
    for key, values in plain.items():
        np.testing.assert_allclose(run[key], values, rtol=0, atol=1e-12, err_msg=key)


def test_the_multiplier_simplifies_to_beta_times_x_minus_y():
    problem, route = Quadratics(4), random_walk("ring", 200)
    run = recal(problem.gradients, identity, route, problem.steps, D, draws(200, 0.1, 4))
    held = np.zeros((N, D))
    for k, i in enumerate(route):
        held[i] += BETA * (run["x"][k] - run["y"][k])
        np.testing.assert_allclose(run["lam"][k], held[i], atol=1e-13)


@pytest.mark.parametrize("reading", READINGS)
def test_what_u_sums_to_tells_the_readings_apart(reading):
    problem, route = Quadratics(5), random_walk("complete", 120)
    noise = draws(120, 0.1, 5)
    run = recal(problem.gradients, identity, route, problem.steps, D, noise, reading=reading)
    held, erased = np.zeros((N, D)), np.zeros(D)
    for k, i in enumerate(route):
        held[i] = run["lam"][k]
        erased = noise[k] if reading == "as_analysed" else erased + noise[k]
        # told: the holder absorbs the noise, so that ũ is exactly the sum of the λ kept
        expected = held.sum(axis=0) - (0 if reading == "told" else erased)
        np.testing.assert_allclose(run["u_noisy"][k], expected, atol=1e-12)
        np.testing.assert_allclose(run["u_noisy"][k], run["u"][k] - noise[k], atol=1e-13)


def test_told_keeps_the_pair_that_its_message_told():
    problem, noise = Quadratics(6), draws(1, 0.5, 6)
    own = recal(problem.gradients, identity, [2], problem.steps, D, noise)
    told = recal(problem.gradients, identity, [2], problem.steps, D, noise, reading="told")
    np.testing.assert_allclose(told["lam"], own["lam"] - noise, atol=1e-13)
    np.testing.assert_allclose(told["y"], own["y"] + noise / BETA, atol=1e-12)
    for key in ("u", "u_noisy", "x", "gradient", "point"):
        np.testing.assert_array_equal(told[key], own[key])


def test_the_noise_first_separates_the_two_published_readings_at_the_third_point():
    problem, route, noise = Quadratics(7), [0, 1, 2, 3], draws(4, 0.1, 7)
    analysed, deployable = (
        recal(problem.gradients, identity, route, problem.steps, D, noise, reading=reading)
        for reading in ("as_analysed", "as_deployable")
    )
    np.testing.assert_array_equal(analysed["x"][:2], deployable["x"][:2])
    # at activation 2 the deployable ũ still carries ε_0; x moves by it with the opposite sign
    np.testing.assert_allclose(deployable["x"][2] - analysed["x"][2], noise[0], atol=1e-13)


def test_a_shield_moves_only_the_prox_argument():
    problem, shield = Quadratics(8), draws(1, 0.5, 8)
    plain = recal(problem.gradients, identity, [1], problem.steps, D)
    run = recal(problem.gradients, identity, [1], problem.steps, D, shield=shield, reading="shielded")
    np.testing.assert_allclose(run["x"] - plain["x"], shield, atol=1e-14)
    np.testing.assert_array_equal(run["y"], plain["y"])
    np.testing.assert_allclose(run["lam"] - plain["lam"], BETA * shield, atol=1e-14)


def test_the_recorded_gradient_is_the_one_at_the_recorded_point():
    problem, route = Quadratics(9), random_walk("ring", 100)
    run = recal(problem.gradients, identity, route, problem.steps, D, draws(100, 0.1, 9), reading="told")
    kept = np.zeros((N, D))
    for k, i in enumerate(route):
        np.testing.assert_array_equal(run["point"][k], kept[i])
        np.testing.assert_array_equal(run["gradient"][k], problem.gradients[i](kept[i]))
        kept[i] = run["y"][k]


def test_recal_refuses_what_it_would_ignore():
    problem = Quadratics(0)
    with pytest.raises(ValueError, match="reading"):
        recal(problem.gradients, identity, [0], problem.steps, D, reading="deployable")
    with pytest.raises(ValueError, match="shield"):
        recal(problem.gradients, identity, [0], problem.steps, D, shield=np.zeros((1, D)))
    with pytest.raises(ValueError, match="shape"):
        recal(problem.gradients, identity, [0, 1], problem.steps, D, noise=np.zeros((1, D)))


# DGD


def test_dgd_with_a_decaying_step_approaches_the_optimum():
    problem = Quadratics(10)
    steps = [0.5 / (k + 1) ** 0.75 for k in range(20_000)]
    run = dgd(problem.gradients, ring_weights(), steps, np.zeros((N, D)))
    gap = np.abs(run["x"] - problem.optimum).max(axis=(1, 2))
    assert gap[200] > 5 * gap[2_000] > 20 * gap[-1]
    assert gap[-1] < 5e-3


def test_dgd_with_a_constant_step_stops_at_the_fixed_point_of_its_equation():
    problem, step, W = Quadratics(11), 0.1, ring_weights()
    run = dgd(problem.gradients, W, [step] * 2_000, np.ones((N, D)))
    system = np.kron(np.eye(N) - W, np.eye(D))
    for i in range(N):
        system[i * D : (i + 1) * D, i * D : (i + 1) * D] += step * problem.H[i]
    fixed = np.linalg.solve(system, step * problem.b.ravel()).reshape(N, D)
    np.testing.assert_allclose(run["x"][-1], fixed, atol=1e-12)
    assert np.abs(fixed - problem.optimum).max() > 1e-2


def test_an_agent_mixes_its_own_noisy_state_and_differentiates_the_exact_one():
    problem, rounds = Quadratics(12), 30
    noise = np.random.default_rng(12).laplace(size=(rounds, N, D))
    alone = dgd(problem.gradients, np.eye(N), [0.0] * rounds, np.zeros((N, D)), noise)
    np.testing.assert_allclose(alone["x"][-1], noise.sum(axis=0), atol=1e-12)
    run = dgd(problem.gradients, ring_weights(), [0.1] * rounds, np.zeros((N, D)), noise)
    np.testing.assert_array_equal(run["sent"], run["x"][:-1] + noise)
    exact = np.einsum("nij,knj->kni", problem.H, run["x"][:-1]) - problem.b
    np.testing.assert_allclose(run["gradient"], exact, atol=1e-12)


def test_row_i_of_the_weights_is_what_agent_i_hears():
    W = np.array([[0.5, 0.5, 0.0], [0.0, 0.75, 0.25], [1.0, 0.0, 0.0]])
    run = dgd([np.zeros_like] * 3, W, [0.0], np.array([[1.0], [2.0], [4.0]]))
    np.testing.assert_array_equal(run["x"][1], [[1.5], [2.5], [1.0]])


def test_clipping_happens_before_the_step():
    problem = Quadratics(13)
    run = dgd(problem.gradients, np.eye(N), [0.5], np.full((N, D), 10.0), clip=lambda g: np.clip(g, -0.2, 0.2))
    free = np.array([g(np.full(D, 10.0)) for g in problem.gradients])
    assert np.abs(free).max() > 0.2
    np.testing.assert_allclose(run["x"][1], 10 - 0.5 * np.clip(free, -0.2, 0.2), atol=1e-14)
