"""Laws that every oracle of whole rounds must obey: the optimum of linear algebra, and duals that sum to zero."""

import numpy as np
import pytest

from tests.oracles.quadratics import GRAPHS, Quadratics, SparseDiagonal, adjacency
from tests.oracles.runs import CASES, STAR_ONLY, WITH_DUALS, WITH_L1


def silent(shape):
    return None


def decaying(seed, ratio=0.9, scale=0.5):
    rng = np.random.default_rng(seed)

    def draw(shape):
        fading = scale * ratio ** np.arange(shape[0])
        return rng.laplace(size=shape) * fading.reshape(-1, *[1] * (len(shape) - 1))

    return draw


def loud(seed):
    rng = np.random.default_rng(seed)
    return lambda shape: rng.laplace(size=shape)


def on_graphs(names):
    return [(name, graph) for name in names for graph in (GRAPHS[:1] if name in STAR_ONLY else GRAPHS)]


@pytest.mark.parametrize(("name", "graph"), on_graphs(CASES))
def test_without_noise_every_exact_method_reaches_the_optimum_of_linear_algebra(name, graph):
    problem = Quadratics(seed=1)
    rounds, run = CASES[name]
    estimates, _ = run(problem, adjacency(graph), rounds, silent)
    assert problem.gap(estimates) < 1e-9


@pytest.mark.parametrize("name", WITH_L1)
def test_with_l1_the_methods_that_take_r_reach_the_closed_form(name):
    problem = SparseDiagonal(seed=2, weight=0.2)
    assert 0 < np.count_nonzero(problem.optimum) < len(problem.optimum)
    rounds, run = CASES[name]
    estimates, _ = run(problem, adjacency("geometric"), rounds, silent)
    assert problem.gap(estimates) < 1e-9


@pytest.mark.parametrize(("name", "graph"), on_graphs(WITH_DUALS))
def test_duals_sum_to_zero_however_loud_the_noise(name, graph):
    """Each difference uses what was sent at both ends, so noise cancels in the sum over agents."""
    _, duals = CASES[name].run(Quadratics(seed=1), adjacency(graph), 40, loud(seed=7))
    assert np.abs(duals[-1]).max() > 0.1
    assert np.abs(duals.sum(axis=1)).max() < 1e-12 * np.abs(duals).sum(axis=1).max() + 1e-13


@pytest.mark.parametrize("name", WITH_DUALS)
def test_noise_that_dies_out_is_forgotten_because_no_dual_keeps_it(name):
    """Exact in spite of the noise; r_admm's odd rounds included, where the noise is in the objective."""
    problem = Quadratics(seed=1)
    rounds, run = CASES[name]
    estimates, _ = run(problem, adjacency("geometric"), rounds + 300, decaying(seed=3))
    assert problem.gap(estimates) < 1e-8


@pytest.mark.parametrize("name", ["walkman_prox", "walkman_gradient"])
def test_the_noise_of_a_token_is_never_forgotten(name):
    problem = Quadratics(seed=1)
    rounds, run = CASES[name]
    estimates, _ = run(problem, adjacency("geometric"), rounds, decaying(seed=3))
    assert problem.gap(estimates) > 1e-3
