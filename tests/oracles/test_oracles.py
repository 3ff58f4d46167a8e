"""Oracles in cases small enough to work by hand, and against linear algebra."""

import numpy as np
import pytest

from tests.oracles.cpgt import b_bit, top
from tests.oracles.noisy_descent import box, dgd, dmsp
from tests.oracles.ppdc import ppdc
from tests.oracles.quadratics import Quadratics, adjacency, metropolis
from tests.oracles.random_aggregators import random_penalty_admm
from tests.oracles.recal import recal
from tests.oracles.secret_sharing import decoded, encoded, shared_descent

N, D = 6, 3


def identity(v, step):
    return v


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


def test_a_shield_moves_only_the_prox_argument():
    problem, shield = Quadratics(8), np.random.default_rng(8).normal(scale=0.5, size=(1, D))
    plain = recal(problem.gradients, identity, [1], [0.6] * N, D)
    run = recal(problem.gradients, identity, [1], [0.6] * N, D, shield=shield, reading="shielded")
    np.testing.assert_allclose(run["x"] - plain["x"], shield, atol=1e-14)
    np.testing.assert_array_equal(run["y"], plain["y"])
    np.testing.assert_allclose(run["lam"] - plain["lam"], shield / (2 * (N + 1)), atol=1e-14)


# DGD


def test_dgd_with_a_constant_step_stops_at_the_fixed_point_of_its_equation():
    problem, step, W = Quadratics(11), 0.1, metropolis(adjacency())
    run = dgd(problem.gradients, W, [step] * 2_000, np.ones((N, D)))
    system = np.kron(np.eye(N) - W, np.eye(D))
    for i in range(N):
        system[i * D : (i + 1) * D, i * D : (i + 1) * D] += step * problem.H[i]
    fixed = np.linalg.solve(system, step * problem.b.ravel()).reshape(N, D)
    np.testing.assert_allclose(run["x"][-1], fixed, atol=1e-12)
    assert np.abs(fixed - problem.optimum).max() > 1e-2


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


# Sums that keep noise


def test_ppdc_two_agents_worked_by_hand():
    """One edge, f = 0: x^a = (2, ½), apart ±3/2, v^a = (1, 0); η = ½, γ = 1, ω = 2; then v⁺ = (5/2, −3/2)."""
    flat, pair = [lambda x: np.zeros(1)] * 2, np.array([[0, 1], [1, 0]])
    w, v = np.array([[[1.0], [0.5]]]), np.array([[[1.0], [0.0]]])
    history = ppdc(flat, pair, 0.5, 1.0, 2.0, np.array([[1.0], [0.0]]), 1, w, v)
    np.testing.assert_array_equal(history["x"][1], [[2 - 0.5 * (1.5 + 2)], [0.5 + 0.75]])
    np.testing.assert_array_equal(history["v"][1], [[2.5], [-1.5]])


# Noisy descent


def test_dmsp_two_agents_worked_by_hand():
    """f = ½x² for both, W = ½: z = ½(1 + ½ + 0 − ¼) = ⅝, x⁺ = ⅝ − ½·⅝ = 5/16, clipped to ¼ by the box."""
    half, noise = np.full((2, 2), 0.5), np.array([[[0.5], [-0.25]]])
    start = np.array([[1.0], [0.0]])
    history = dmsp([lambda x: x] * 2, half, 0.5, 0.5, box(-1, 0.25), start, 1, noise)
    np.testing.assert_array_equal(history["mixed"][0], [[0.625], [0.625]])
    np.testing.assert_array_equal(history["x"][1], [[0.25], [0.25]])


# Random aggregators


def test_algorithm_1_takes_its_own_release_and_the_mean_of_its_neighbors():
    """θ = 1 keeps the agent's own value, θ = 0 the mean of the others; the agent is not in the mean."""
    flat = [lambda x: np.zeros(1)] * 3
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    noise = np.array([[[1.0], [2.0], [4.0]], [[0.0], [0.0], [0.0]]])
    thetas = np.array([np.zeros((3, 1)), [[1.0], [0.0], [0.5]]])
    history = random_penalty_admm(flat, path, thetas, 10.0, 0.5, np.zeros(1), noise)
    np.testing.assert_allclose(history["dual"][1, :, 0], [0.5, 0.5, -1.0])
    np.testing.assert_allclose(history["x"][2, :, 0], [1 + 0.05, 2.5 + 0.05, 3 - 0.1])


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
