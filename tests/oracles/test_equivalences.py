"""Equalities between oracles that were written from different forms of the same equations, noise included."""

import numpy as np
import pytest

from tests.oracles import cpgt as compressed
from tests.oracles.d_admm import d_admm
from tests.oracles.dgd import dgd
from tests.oracles.diadsp import diadsp
from tests.oracles.dp_admm import dp_admm
from tests.oracles.dpp2 import dpp2
from tests.oracles.extra import extra, pg_extra
from tests.oracles.gradient_tracking import diging
from tests.oracles.ic_admm import ic_admm
from tests.oracles.nids import exact_diffusion, nids
from tests.oracles.noisy_descent import laplace_descent
from tests.oracles.quadratics import GRAPHS, Quadratics, SparseDiagonal, adjacency, metropolis, walk
from tests.oracles.r_admm import mr_admm, r_admm
from tests.oracles.rw_admm import rw_admm
from tests.oracles.secret_sharing import shared_descent
from tests.oracles.shapes import by_row, stacked
from tests.oracles.walkman import walkman_gradient, walkman_prox

N, D, ROUNDS = 6, 3, 30
A = adjacency("geometric")
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
    close(extra(PROBLEM.gradients, W, step, START, ROUNDS)["x"], x)


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


def test_pg_extra_without_r_is_extra():
    added = noise(2)
    plain = extra(PROBLEM.gradients, W, 0.3, START, ROUNDS, added)
    close(pg_extra(PROBLEM.gradients, None, W, 0.3, START, ROUNDS, added)["x"], plain["x"])


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


def test_diadsp_is_gradient_tracking_with_noise_and_cpgt_without_compression():
    noises = noise(4) / 10, noise(5) / 10
    released = diadsp(PROBLEM.gradients, W, 0.1, START, ROUNDS, *noises)
    tracked = diging(PROBLEM.gradients, W, 0.1, START, ROUNDS, *noises)
    whole = compressed.cpgt(PROBLEM.gradients, W, 0.1, 1.0, compressed.identity, START, ROUNDS, *noises)
    for key in ("x", "y"):
        close(tracked[key], released[key])
        close(whole[key], released[key])
    close(whole["copy_x"], released["sent_x"])


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


def test_eta_leaves_x_unchanged_in_dpp2_and_d_and_q_are_sums():
    P, rho = np.eye(N) - W, 4.0
    added = noise(9), noise(10)
    etas = np.random.default_rng(11).uniform(size=ROUNDS)
    varied = dpp2(PROBLEM.gradients, P, 0.3, 0.15, rho, etas, START, *added)
    constant = dpp2(PROBLEM.gradients, P, 0.3, 0.15, rho, np.zeros(ROUNDS), START, *added)
    close(varied["x"], constant["x"])
    assert np.abs(varied["sent_y"] - constant["sent_y"]).max() > 1
    for k in range(ROUNDS + 1):
        close(varied["d"][k], (varied["x"][:k] + added[0][:k]).sum(axis=0))
        close(varied["q"][k], rho * P @ varied["d"][k])


def test_dpp2_without_its_auxiliary_variables():
    """With s = Σ_{t≤k}(x^t + w^t): x⁺ = x + w − α(∇f(x) + ρPs) + βP(∇f(x) + ρPs + e)."""
    P, rho, alpha, beta = np.eye(N) - W, 4.0, 0.3, 0.15
    w, e = noise(9), noise(10)
    x = dpp2(PROBLEM.gradients, P, alpha, beta, rho, [0.5] * ROUNDS, START, w, e)["x"]
    for k in range(ROUNDS):
        clean = stacked(PROBLEM.gradients, x[k]) + rho * P @ (x[: k + 1] + w[: k + 1]).sum(axis=0)
        close(x[k + 1], x[k] + w[k] - alpha * clean + beta * P @ (clean + e[k]))


@pytest.mark.parametrize("graph", GRAPHS)
def test_dpp2_is_exact_to_rounding_after_five_hundred_rounds_of_fading_noise(graph):
    problem, rounds = Quadratics(seed=1), 500
    P = np.eye(N) - metropolis(adjacency(graph))
    fading = 0.5 * 0.9 ** np.arange(rounds)[:, None, None]
    added = (fading * noise(seed, (rounds, N, D)) for seed in (12, 13))
    x = dpp2(problem.gradients, P, 0.4, 0.2, 4.0, [0.5] * rounds, np.zeros((N, D)), *added)["x"]
    assert problem.gap(x[-1]) < 1e-11


def test_all_agents_active_in_every_step_make_rw_admm_d_admm():
    added, everyone = noise(14), [range(N)] * ROUNDS
    sampled = rw_admm(SPARSE.exacts, A, 0.5, everyone, START[0], added)
    together = d_admm(SPARSE.exacts, A, 0.5, START[0], ROUNDS, noise_primal=added)
    close(sampled["x"], together["x"])
    close(sampled["dual"], together["dual"])


def test_one_active_agent_moves_its_own_x_and_the_duals_next_to_it_only():
    route = walk(A, ROUNDS, seed=5)
    history = rw_admm(PROBLEM.exacts, A, 0.5, route, START[0], noise(15))
    for k, i in enumerate(route):
        moved = np.abs(np.diff(history["x"][k : k + 2], axis=0)[0]).max(axis=1) > 0
        touched = np.abs(np.diff(history["dual"][k : k + 2], axis=0)[0]).max(axis=1) > 0
        assert list(np.flatnonzero(moved)) == [i]
        assert list(np.flatnonzero(touched)) == sorted([i, *np.flatnonzero(A[i])])


def test_d_admm_solves_its_inner_problem_by_stationarity():
    """∇f_i(x⁺) + 2μ_i + 2ηΣ_j(x⁺ − (x̃_i + x̃_j)/2) = 0 for a smooth problem, in PVP and DVP at once."""
    eta = 0.7
    history = d_admm(PROBLEM.exacts, A, eta, START[0], ROUNDS, noise(16), noise(17))
    released = [np.tile(START[0], (N, 1)), *history["sent"]]
    for k in range(ROUNDS):
        for i in range(N):
            x = history["x"][k + 1, i]
            pull = sum(x - (released[k][i] + released[k][j]) / 2 for j in np.flatnonzero(A[i]))
            close(PROBLEM.gradients[i](x) + 2 * history["used_dual"][k, i] + 2 * eta * pull, 0)
    close(history["used_dual"] - history["dual"][:-1], noise(17))


def test_ic_admm_solves_its_linearized_problem_by_stationarity():
    c, b = 0.3, 2.0
    history = ic_admm(PROBLEM.gradients, None, A, c, b, START[0], ROUNDS, noise(25))
    released = [np.tile(START[0], (N, 1)), *history["sent"]]
    for k in range(ROUNDS):
        for i in range(N):
            old, x = history["x"][k : k + 2, i]
            pull = sum(x - (released[k][i] + released[k][j]) / 2 for j in np.flatnonzero(A[i]))
            close(PROBLEM.gradients[i](old) + b * (x - old) + history["dual"][k, i] + 2 * c * pull, 0)


def test_dp_admm_solves_its_approximate_lagrangian_by_stationarity():
    rho, steps = 1.3, 0.4 / np.sqrt(1 + np.arange(ROUNDS))
    history = dp_admm(PROBLEM.gradients, None, rho, steps, START[0], noise(26))
    held = [np.tile(START[0], (N, 1)), *history["sent"]]
    for k in range(ROUNDS):
        x, center, dual = history["exact"][k], history["center"][k], history["dual"][k]
        proximal = (x - held[k]) / steps[k]
        close(stacked(PROBLEM.gradients, held[k]) - dual + rho * (x - center) + proximal, 0)


def test_what_r_admm_recycles_is_the_perturbed_gradient_and_its_second_round_is_stationary():
    eta, gamma, b = 0.5, 2.0, noise(18)
    history = r_admm(PROBLEM.exacts, A, eta, gamma, START[0], ROUNDS, b)
    x, dual = history["x"], history["dual"]
    for t in range(ROUNDS):
        once, twice = x[2 * t + 1], x[2 * t + 2]
        close(history["recycled"][t], stacked(PROBLEM.gradients, once) + b[t])
        midpoints = np.array([((once[i] + once) / 2)[A[i] == 1].sum(axis=0) for i in range(N)])
        pull = A.sum(axis=1)[:, None] * twice - midpoints
        close(history["recycled"][t] + gamma * (twice - once) + 2 * dual[2 * t + 1] + 2 * eta * pull, 0)


def test_each_agent_of_mr_admm_uses_its_own_penalty():
    penalties = np.linspace(0.5, 1.5, ROUNDS)[:, None] * np.linspace(1, 2, N)
    history = mr_admm(PROBLEM.exacts, A, penalties, 0.4, 2.0, START[0], noise(19))
    x, dual = history["x"], history["dual"]
    for k in range(2 * ROUNDS):
        gained = [sum(x[k + 1, i] - x[k + 1, j] for j in np.flatnonzero(A[i])) for i in range(N)]
        close(dual[k + 1] - dual[k], 0.2 * np.array(gained))
    for t in range(ROUNDS):
        close(history["recycled"][t], stacked(PROBLEM.gradients, x[2 * t + 1]) + noise(19)[t])


def test_the_hub_of_dp_admm_needs_only_the_mean_of_what_it_hears():
    history = dp_admm(SPARSE.gradients, SPARSE.prox, 1.3, 0.4 / np.sqrt(1 + np.arange(ROUNDS)), START[0], noise(20))
    close(history["center"][1:], history["sent"].mean(axis=1))
    close(history["sent"] - history["exact"], noise(20))


def test_a_walkmans_token_is_the_mean_of_what_agents_hold_plus_the_noise_so_far():
    beta, added = 4.0, noise(21, (ROUNDS, D))
    route = walk(A, ROUNDS, seed=6)
    before = np.vstack([np.zeros(D), np.cumsum(added, axis=0)])[:-1]
    for history in (
        walkman_prox(SPARSE.bare_exacts, SPARSE.prox, route, beta, D, added),
        walkman_gradient(SPARSE.gradients, SPARSE.prox, route, beta, D, added),
    ):
        held = (history["y"] - history["z"] / beta).mean(axis=1)
        close(history["u"], held[1:] + before)
    for k, i in enumerate(route):
        close(history["z"][k + 1, i], SPARSE.gradients[i](history["y"][k, i]))


def test_descent_with_noise_in_its_state_is_dgd_of_shifted_states():
    """x⁺ = Wx − αg + ξ mixes and differentiates the noisy state; DGD with silent messages from there agrees."""
    steps, added = [0.1] * ROUNDS, noise(22)
    history = laplace_descent(PROBLEM.gradients, W, steps, START, added)
    for k in range(ROUNDS):
        one = dgd(PROBLEM.gradients, W, steps[:1], history["x"][k])["x"][-1]
        close(history["x"][k + 1], one + added[k])


def test_secret_shares_change_nothing_but_the_rounding_of_dgd_on_the_complete_graph():
    rng = np.random.default_rng(23)
    modulus, scale, steps = 2**61 - 1, 2.0**30, [0.2] * ROUNDS
    added = noise(24)
    draws = rng.integers(0, modulus, (2, ROUNDS, N, N, D))
    one, other = (shared_descent(PROBLEM.gradients, steps, START, d, scale, modulus, added) for d in draws)
    np.testing.assert_array_equal(one["x"], other["x"])
    assert one["broadcasts"] != other["broadcasts"]
    plain = dgd(PROBLEM.gradients, np.full((N, N), 1 / N), steps, START, added)
    np.testing.assert_allclose(one["x"], plain["x"], rtol=0, atol=ROUNDS / scale)
