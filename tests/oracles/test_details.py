"""Cases small enough to work by hand, and what is true of one oracle alone."""

import numpy as np
import pytest

from tests.oracles.cpgt import b_bit, top
from tests.oracles.gradient_tracking import adapt_then_combine, diging
from tests.oracles.noisy_descent import ball, box, dmsp, laplace_descent
from tests.oracles.ppdc import ppdc
from tests.oracles.quadratics import Quadratics, adjacency, metropolis
from tests.oracles.random_aggregators import extreme_descent, grouped_descent, random_penalty_admm
from tests.oracles.secret_sharing import decoded, encoded, shared_descent
from tests.oracles.shapes import stacked

N, D = 6, 3
A = adjacency("geometric")
W = metropolis(A)
PROBLEM = Quadratics(seed=1)
ZEROS = np.zeros((N, D))


def laplace(seed, shape):
    return np.random.default_rng(seed).laplace(size=shape)


# Compressors


def test_top_keeps_the_largest_and_the_lower_index_of_equals():
    v = np.array([1.0, -3.0, 3.0, 0.5])
    np.testing.assert_array_equal(top(1)(v, v), [0, -3, 0, 0])
    np.testing.assert_array_equal(top(3)(v, v), [1, -3, 3, 0])


def test_two_bits_worked_by_hand():
    """‖v‖ = 5, s = 2, ξ = 1 + min(2/4, √2/2) = 3/2; ⌊2·3/5 + 0⌋ = 1 and ⌊2·4/5 + ½⌋ = 2."""
    v, u = np.array([3.0, -4.0]), np.array([0.0, 0.5])
    np.testing.assert_allclose(b_bit(2)(v, u), [5 / 1.5 * 1 / 2, -5 / 1.5], rtol=1e-15)
    np.testing.assert_array_equal(b_bit(2)(np.zeros(2), u), [0, 0])


def test_the_mean_of_a_dithered_compressor_is_its_argument_over_xi():
    v = np.array([0.3, -1.1, 0.7])
    grid = (np.arange(4096) + 0.5) / 4096
    mean = np.mean([b_bit(3)(v, np.full(3, u)) for u in grid], axis=0)
    xi = 1 + min(3 / 16, np.sqrt(3) / 4)
    np.testing.assert_allclose(mean, v / xi, atol=1e-3)


# Sums that keep noise


@pytest.mark.parametrize("track", [diging, adapt_then_combine])
def test_noise_on_the_tracker_stays_in_its_sum(track):
    e = laplace(1, (20, N, D))
    history = track(PROBLEM.gradients, W, 0.1, ZEROS, 20, laplace(2, (20, N, D)), e)
    kept = np.concatenate([np.zeros((1, D)), np.cumsum(e.sum(axis=1), axis=0)])
    np.testing.assert_allclose(history["y"].sum(axis=1), history["gradient"].sum(axis=1) + kept, atol=1e-11)


def test_ppdc_stops_where_the_gradients_balance_the_noise_of_its_dual():
    rounds, omega = 1000, 1.3
    e = 0.5 * 0.8 ** np.arange(rounds)[:, None, None] * laplace(3, (rounds, N, D))
    history = ppdc(PROBLEM.gradients, A, 0.1, 1.0, omega, ZEROS, rounds, noise_v=e)
    total = e.sum(axis=(0, 1))
    np.testing.assert_allclose(history["v"][-1].sum(axis=0), total, atol=1e-12)
    stop = np.linalg.solve(PROBLEM.H.sum(axis=0), PROBLEM.b.sum(axis=0) - omega * total)
    np.testing.assert_allclose(history["x"][-1], np.tile(stop, (N, 1)), atol=1e-9)


def test_ppdc_two_agents_worked_by_hand():
    """One edge, f = 0: x^a = (2, ½), apart ±3/2, v^a = (1, 0); η = ½, γ = 1, ω = 2; then v⁺ = (5/2, −3/2)."""
    flat, pair = [lambda x: np.zeros(1)] * 2, np.array([[0, 1], [1, 0]])
    w, v = np.array([[[1.0], [0.5]]]), np.array([[[1.0], [0.0]]])
    history = ppdc(flat, pair, 0.5, 1.0, 2.0, np.array([[1.0], [0.0]]), 1, w, v)
    np.testing.assert_array_equal(history["x"][1], [[2 - 0.5 * (1.5 + 2)], [0.5 + 0.75]])
    np.testing.assert_array_equal(history["v"][1], [[2.5], [-1.5]])


# Noisy descent


def test_the_batch_of_a_round_reaches_the_gradient():
    seen = []

    def gradient(point, batch):
        seen.append(tuple(batch))
        return np.full(1, float(batch.sum()))

    batches = [[np.array([0, 2])], [np.array([1])]]
    x = laplace_descent([gradient], np.ones((1, 1)), [0.5, 1.0], np.zeros((1, 1)), batches=batches)["x"]
    assert seen == [(0, 2), (1,)]
    np.testing.assert_array_equal(x[:, 0, 0], [0, -1, -2])


def test_dmsp_two_agents_worked_by_hand():
    """f = ½x² for both, W = ½: z = ½(1 + ½ + 0 − ¼) = ⅝, x⁺ = ⅝ − ½·⅝ = 5/16, clipped to ¼ by the box."""
    half, noise = np.full((2, 2), 0.5), np.array([[[0.5], [-0.25]]])
    start = np.array([[1.0], [0.0]])
    history = dmsp([lambda x: x] * 2, half, 0.5, 0.5, box(-1, 0.25), start, 1, noise)
    np.testing.assert_array_equal(history["mixed"][0], [[0.625], [0.625]])
    np.testing.assert_array_equal(history["x"][1], [[0.25], [0.25]])


def test_the_step_of_dmsp_is_c_in_the_first_round_and_shrinks_by_q():
    """f' = 1: one agent moves by c, cq, cq²."""
    ones = [lambda x: np.ones(1)]
    x = dmsp(ones, np.ones((1, 1)), 0.5, 0.25, box(-9, 9), np.zeros((1, 1)), 3)["x"][:, 0, 0]
    np.testing.assert_array_equal(-np.diff(x), [0.5, 0.125, 0.03125])


def test_dmsp_stays_in_the_ball_and_stops_short_of_the_optimum_when_its_steps_are_summable():
    start = np.ones((N, D))
    inside = dmsp(PROBLEM.gradients, W, 0.3, 0.99, ball(0.1), start, 300, laplace(4, (300, N, D)))["x"][1:]
    assert np.sqrt((inside**2).sum(axis=2)).max() <= 0.1 * (1 + 1e-12)
    slow = dmsp(PROBLEM.gradients, W, 0.3, 0.99, ball(10), start, 3000)["x"][-1]
    short = dmsp(PROBLEM.gradients, W, 0.3, 0.5, ball(10), start, 3000)["x"][-1]
    assert 1e-5 < PROBLEM.gap(slow) < 0.05 < PROBLEM.gap(short)


# Random aggregators


def test_the_printed_sign_of_algorithm_1_diverges():
    thetas = np.random.default_rng(5).uniform(size=(300, N, D))
    wrong = random_penalty_admm(PROBLEM.gradients, A, thetas, 10.0, -0.5, np.zeros(D))["x"][-1]
    assert PROBLEM.gap(wrong) > 1e6


def test_algorithm_1_takes_its_own_release_and_the_mean_of_its_neighbors():
    """θ = 1 keeps the agent's own value, θ = 0 the mean of the others; the agent is not in the mean."""
    flat = [lambda x: np.zeros(1)] * 3
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    noise = np.array([[[1.0], [2.0], [4.0]], [[0.0], [0.0], [0.0]]])
    thetas = np.array([np.zeros((3, 1)), [[1.0], [0.0], [0.5]]])
    history = random_penalty_admm(flat, path, thetas, 10.0, 0.5, np.zeros(1), noise)
    np.testing.assert_allclose(history["dual"][1, :, 0], [0.5, 0.5, -1.0])
    np.testing.assert_allclose(history["x"][2, :, 0], [1 + 0.05, 2.5 + 0.05, 3 - 0.1])


def test_in_algorithm_2_every_agent_acts_once_on_what_the_pair_before_it_released():
    order, steps = [3, 0, 5, 1, 4, 2, 6], [0.5, 0.25]
    problem = Quadratics(seed=3, n=7, d=2)
    thetas, noise = np.random.default_rng(6).uniform(size=(7, 2)), laplace(7, (7, 2))
    history = grouped_descent(problem.gradients, order, steps, np.array([[1.0, 0.0], [0.0, 2.0]]), thetas, noise)
    a, b = history["references"][0]
    for i in (3, 4, 0, 2):  # groups 0 and 1: places 0, 4 and 1, 5 of the order
        released = thetas[i] * a + (1 - thetas[i]) * b - 0.5 * problem.gradients[i]((a + b) / 2) + noise[i]
        np.testing.assert_allclose(history["released"][i], released)
    released = history["released"]
    np.testing.assert_allclose(
        history["references"][1], [released[[3, 4]].mean(axis=0), released[[0, 2]].mean(axis=0)]
    )
    np.testing.assert_allclose(history["references"][2], [released[[5, 6]].mean(axis=0), released[1]])
    np.testing.assert_allclose(history["output"], (released[[5, 6]].mean(axis=0) + released[1]) / 2)


def test_algorithm_2_needs_two_agents_a_round():
    with pytest.raises(ValueError, match="cannot fill 6 groups"):
        grouped_descent(PROBLEM.gradients[:5], range(5), [0.1] * 3, np.zeros((2, D)), np.zeros((5, D)))


def test_algorithm_2_from_one_point_with_equal_objectives_is_gradient_descent():
    gradients = [PROBLEM.gradients[0]] * 40
    thetas = np.random.default_rng(8).uniform(size=(40, D))
    output = grouped_descent(gradients, range(40), [0.3] * 20, np.zeros((2, D)), thetas)["output"]
    x = np.zeros(D)
    for _ in range(20):
        x = x - 0.3 * PROBLEM.gradients[0](x)
    np.testing.assert_allclose(output, x, atol=1e-12)


def test_algorithm_2_star_stays_between_its_neighbors_and_is_exact_for_equal_objectives():
    thetas = np.random.default_rng(9).uniform(size=(400, N, D))
    noise = laplace(10, (400, N, D)) * 0.9 ** np.arange(400)[:, None, None]
    gradients = [PROBLEM.gradients[0]] * N
    history = extreme_descent(gradients, A, [0.2] * 400, np.ones(D), thetas, noise)
    optimum = np.linalg.solve(PROBLEM.H[0], PROBLEM.b[0])
    np.testing.assert_allclose(history["x"][-1], np.tile(optimum, (N, 1)), atol=1e-9)
    x, low, high = history["x"][:-1], history["low"], history["high"]
    moved = history["x"][1:] - noise + 0.2 * np.array([stacked(gradients, row) for row in x])
    assert ((moved >= low - 1e-12) & (moved <= high + 1e-12)).all()
    assert ((x >= low) & (x <= high)).all()


# Secret sharing


def test_fixed_point_wraps_signed_values_and_rounds_half_to_even():
    assert encoded(np.array([-1.0, 0.25, 0.75]), 2.0, 101) == [99, 0, 2]
    np.testing.assert_array_equal(decoded([0, 50, 51, 100], 1.0, 101), [0, 50, -50, -1])


def test_the_shared_sum_is_exact_just_inside_the_modulus_and_wraps_just_outside():
    """Two agents, one coordinate, p = 101, one step a unit: sums up to ±50 survive."""
    draws = np.random.default_rng(11).integers(0, 101, (1, 2, 2, 1))
    flat = [lambda x: np.zeros(1)] * 2
    for values, total in (((30.0, 20.0), 50), ((-30.0, -20.0), -50), ((30.0, 21.0), -50)):
        history = shared_descent(flat, [1.0], np.array(values)[:, None], draws, 1.0, 101)
        assert history["mean"][0, 0] == total / 2
    with pytest.raises(ValueError, match="outside"):
        shared_descent(flat, [1.0], np.zeros((2, 1)), draws + 101, 1.0, 101)


def test_the_shares_of_a_secret_sum_to_it_and_one_short_of_all_do_not_depend_on_it():
    modulus = 2**61 - 1
    draws = np.random.default_rng(12).integers(0, modulus, (1, N, N, D))
    one, other = (shared_descent(PROBLEM.gradients, [0.1], start, draws) for start in (ZEROS, np.full((N, D), 7.25)))
    for i in range(N):
        for c in range(D):
            assert sum(one["shares"][0][i][j][c] for j in range(N)) % modulus == 0
        others = [j for j in range(N) if j != i]
        assert [one["shares"][0][i][j] for j in others] == [other["shares"][0][i][j] for j in others]
