"""Equalities between oracles that were written from different forms of the same equations, noise included."""

import numpy as np
import pytest

from tests.oracles import cpgt as compressed
from tests.oracles.dpp2 import dpp2
from tests.oracles.extra import pg_extra
from tests.oracles.nids import exact_diffusion, nids
from tests.oracles.quadratics import Quadratics, SparseDiagonal, adjacency, metropolis
from tests.oracles.shapes import by_row, stacked

N, D, ROUNDS = 6, 3, 30
A = adjacency()
W = metropolis(A)
W_TILDE = (np.eye(N) + W) / 2
PROBLEM = Quadratics(seed=1)
SPARSE = SparseDiagonal(seed=2, weight=0.2)


def noise(seed, shape=(ROUNDS, N, D)):
    return np.random.default_rng(seed).laplace(size=shape)


START = noise(99, (N, D))


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_extra_without_noise_is_the_printed_two_step_recursion():
    step = 0.3
    x = [START, W @ START - step * stacked(PROBLEM.gradients, START)]
    for _ in range(ROUNDS - 1):
        change = stacked(PROBLEM.gradients, x[-1]) - stacked(PROBLEM.gradients, x[-2])
        x.append((np.eye(N) + W) @ x[-1] - W_TILDE @ x[-2] - step * change)
    close(pg_extra(PROBLEM.gradients, None, W, step, START, ROUNDS)["x"], x)


def test_pg_extra_is_its_dual_form():
    step, added = 0.3, noise(1)
    x, dual = START, np.zeros((N, D))
    history = pg_extra(SPARSE.gradients, SPARSE.prox, W, step, START, ROUNDS, added)
    for k in range(ROUNDS):
        released = x + added[k]
        close(history["dual"][k], dual)
        z = W @ released - step * stacked(SPARSE.gradients, x) - dual
        dual = dual + (W_TILDE - W) @ released
        x = by_row(SPARSE.prox, z, step)
        close(history["x"][k + 1], x)


def test_nids_is_its_dual_form():
    step, added = 0.9, noise(3)
    x, dual = START, np.zeros((N, D))
    history = nids(SPARSE.gradients, SPARSE.prox, W, step, START, ROUNDS, added)
    for k in range(ROUNDS):
        close(history["dual"][k], dual)
        gradient = stacked(SPARSE.gradients, x)
        ahead = by_row(SPARSE.prox, x - step * gradient - dual, step)
        released = 2 * ahead - x - step * (stacked(SPARSE.gradients, ahead) - gradient) + added[k]
        close(history["sent"][k], released)
        dual = dual + (np.eye(N) - W_TILDE) @ released
        x = ahead
        close(history["x"][k + 1], x)


def test_nids_without_noise_is_the_printed_recursion():
    step = 0.9
    z = START - step * stacked(PROBLEM.gradients, START)
    x = [START, z]
    for _ in range(ROUNDS - 1):
        change = stacked(PROBLEM.gradients, x[-1]) - stacked(PROBLEM.gradients, x[-2])
        z = z - x[-1] + W_TILDE @ (2 * x[-1] - x[-2] - step * change)
        x.append(z)
    close(nids(PROBLEM.gradients, None, W, step, START, ROUNDS)["x"], x)


def test_exact_diffusion_adapts_corrects_and_combines():
    """The released code's three lines, ψ⁰ = x⁰."""
    x = adapted = START
    history = exact_diffusion(PROBLEM.gradients, W, 0.9, START, ROUNDS)["x"]
    for k in range(ROUNDS):
        before, adapted = adapted, x - 0.9 * stacked(PROBLEM.gradients, x)
        x = W_TILDE @ (adapted + x - before)
        close(history[k + 1], x)


def test_exact_diffusion_is_nids_without_r_whose_dual_starts_at_the_spread_of_the_first_step():
    """With noise too: NIDS's D⁰ = (I − W̃)(x⁰ − α∇f(x⁰) + noise⁰) in place of 0; then both take the same steps."""
    step, added = 0.9, noise(13)
    history = exact_diffusion(PROBLEM.gradients, W, step, START, ROUNDS, added)
    x, dual = START, (np.eye(N) - W_TILDE) @ (START - step * stacked(PROBLEM.gradients, START) + added[0])
    for k in range(ROUNDS - 1):
        ahead = x - step * stacked(PROBLEM.gradients, x) - dual
        close(history["x"][k + 1], ahead)
        gradients = [stacked(PROBLEM.gradients, point) for point in (x, ahead)]
        released = 2 * ahead - x - step * (gradients[1] - gradients[0]) + added[k + 1]
        close(history["sent"][k + 1], released)
        dual, x = dual + (np.eye(N) - W_TILDE) @ released, ahead
    plain = nids(PROBLEM.gradients, None, W, step, START, ROUNDS)["x"]
    assert np.abs(exact_diffusion(PROBLEM.gradients, W, step, START, ROUNDS)["x"][1] - plain[1]).max() > 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize("compress", [compressed.identity, compressed.top(1), compressed.b_bit(2)])
def test_no_compressor_moves_the_point_at_which_gradient_tracking_stops(compress):
    """Σ∇f_i(x^∞) = −ΣΣη_y, which noise, not γ, α or C, decides."""
    rounds = 1500
    fading = 0.5 * 0.8 ** np.arange(rounds)[:, None, None]
    eta_x, eta_y = (fading * noise(seed, (rounds, N, D)) for seed in (6, 7))
    dither = np.random.default_rng(8).uniform(size=(2, rounds, N, D))
    x = compressed.cpgt(PROBLEM.gradients, W, 0.05, 0.2, compress, START, rounds, eta_x, eta_y, *dither)["x"][-1]
    stop = np.linalg.solve(PROBLEM.H.sum(axis=0), PROBLEM.b.sum(axis=0) - eta_y.sum(axis=(0, 1)))
    assert np.abs(stop - PROBLEM.optimum).max() > 0.01
    np.testing.assert_allclose(x, np.tile(stop, (N, 1)), atol=1e-9)


def test_dpp2_without_its_auxiliary_variables():
    """With s = Σ_{t≤k}(x^t + w^t): x⁺ = x + w − α(∇f(x) + ρPs) + βP(∇f(x) + ρPs + e)."""
    P, rho, alpha, beta = np.eye(N) - W, 4.0, 0.3, 0.15
    w, e = noise(9), noise(10)
    x = dpp2(PROBLEM.gradients, P, alpha, beta, rho, [0.5] * ROUNDS, START, w, e)["x"]
    for k in range(ROUNDS):
        clean = stacked(PROBLEM.gradients, x[k]) + rho * P @ (x[: k + 1] + w[: k + 1]).sum(axis=0)
        close(x[k + 1], x[k] + w[k] - alpha * clean + beta * P @ (clean + e[k]))
