"""EXTRA, PG-EXTRA, NIDS, gradient tracking, DiaDSP, CPGT and PPDC against independent oracles, optima and laws."""

import math

import numpy as np
import pytest

from netsim.algorithms import (
    ExactDiffusion,
    Extra,
    GradientTracking,
    Nids,
    PgExtra,
    Ppdc,
    adapted_step,
    ppdc_step,
    stable_step,
    tracking_step,
)
from netsim.algorithms.algorithm import Setting
from netsim.codecs import FixedPoint, Float64
from netsim.errors import ScenarioError
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation
from netsim.topology import random_geometric, ring
from tests.netsim.algorithms.mixing import (
    AGENTS,
    ALGORITHMS,
    GRAPHS,
    SCALE,
    SENT,
    by_oracle,
    last,
    noises,
    points,
    problem,
    sent,
    shifted,
    simulate,
)

WITH_R = ["pg_extra", "nids"]


def close(ours, theirs):
    """To 1e-12 of the largest value."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, np.abs(theirs).max()))


# ── iterates ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(14)
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("noisy", [True, False], ids=["noise", "quiet"])
@pytest.mark.parametrize("graph", ["ring", "geometric"])
def test_fifty_rounds_are_the_oracles(name, noisy, graph):
    """What is sent and where gradients are asked for, in the last of two replicas, with the very noise and dither."""
    algorithm = ALGORITHMS[name](50) if noisy else ALGORITHMS[name](50).scaled(0.0)
    l1 = 0.05 if name in WITH_R else 0.0
    run = simulate(problem("lasso" if l1 else "ridge", l1), graph, algorithm, replicas=2, seed=5)
    expected = by_oracle(name, run, replica=1)
    assert algorithm.noisy is noisy
    for field in SENT.get(name, ("x", "y")):
        key = f"sent_{field}" if f"sent_{field}" in expected else "sent"
        close(sent(run, field)[:, :, 1], expected[key])
    asked = points(run)[0][:, :, 1]
    close(asked, expected["x"][: len(asked)])


# ── limits ──────────────────────────────────────────────────────────────────────────────────────────────
def at_the_bound(name, here, graph, share):
    """At this share of what the check allows; PPDC with ω at its own bound."""
    smoothness = here.smoothness
    if name in ("nids", "exact_diffusion"):
        return {"nids": Nids, "exact_diffusion": ExactDiffusion}[name](1500, share * 2 / smoothness)
    if name == "ppdc":  # with ηω² = γ/2, λ_min(W̃) = 1 − ηγλ/2
        largest = np.linalg.eigvalsh(np.diag(graph.degrees) - graph.adjacency.toarray())[-1]
        step = share * 2 / (smoothness + 1.5 * largest)
        return Ppdc(1500, step, 1.5, math.sqrt(1.5 / (2 * step)))
    return {"extra": Extra, "pg_extra": PgExtra}[name](1500, share * stable_step(smoothness, graph))


@pytest.mark.few(1)
@pytest.mark.parametrize("graph", ["ring", "geometric"])
@pytest.mark.parametrize("name", ["extra", "pg_extra", "nids", "exact_diffusion", "ppdc"])
def test_just_inside_the_conditions_they_converge_and_outside_they_are_refused(name, graph):
    here, graph = problem("lasso" if name in WITH_R else "ridge", 0.05 * (name in WITH_R)), GRAPHS[graph]
    run = Simulation(here, graph, at_the_bound(name, here, graph, 0.99), recording=Recording(private="nothing")).run()
    errors = run.metrics.worst_by_round(AGENTS)[:, 0]
    assert errors[-1] < 1e-8
    with pytest.raises(ScenarioError, match="outside the convergence condition") as caught:
        Simulation(here, graph, at_the_bound(name, here, graph, 1.001))
    assert caught.value.field == "algorithm.step"


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize(("name", "factor"), [("diging", 1.0), ("atc", 1.0), ("ppdc", 0.9)])
def test_noise_on_the_tracked_gradient_or_on_the_dual_moves_the_limit(name, factor, kind):
    """To where Σ ∇f_i = −ΣΣ e, for PPDC −ω ΣΣ e: the sum of all noise that the second mechanism ever drew."""
    here, graph, dying = problem(kind), GRAPHS["ring"], (Geometric(1.0, 0.9), Geometric(0.3, 0.9))
    if name == "ppdc":
        algorithm = Ppdc(450, ppdc_step(here.smoothness, graph), 1.0, factor, *dying)
    else:
        bound = (tracking_step if name == "diging" else adapted_step)(here.smoothness, graph)
        algorithm = GradientTracking(450, bound / 2, *dying, name)
    run = simulate(here, "ring", algorithm, seed=4)
    point = shifted(here, -factor * noises(run)[1, :, :, 0].sum(axis=(0, 1)))
    assert np.abs(point - here.optimum().point).max() > 0.01
    np.testing.assert_allclose(last(run), np.tile(point, (AGENTS, 1)), rtol=0, atol=1e-8)


# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("codec", [Float64(), FixedPoint(8, 4.0)], ids=repr)
@pytest.mark.parametrize("name", ["extra", "nids", "exact_diffusion"])
def test_duals_sum_to_zero_under_noise_and_rounding(name, codec):
    """Σ_i x_i⁺ = Σ_i (x̃_i − α∇f_i(x_i)) for EXTRA, and with the exact x_i for NIDS: no dual is left in the sum.
    What was told is what the others decode, so a codec changes nothing."""
    run = simulate(problem(), "geometric", ALGORITHMS[name](40), codec=codec)
    (x, g), told = points(run), sent(run, SENT[name][0])
    base = told if name == "extra" else x
    rounds = len(x) - 1
    left = (base[:rounds] - run.simulation.algorithm.step * g[:rounds] - x[1:]).sum(axis=1)
    assert np.abs(left).max() < 1e-12
    apart = (base[:rounds] - x[1:]).sum(axis=1)
    assert np.abs(apart).max() > 0.1


@pytest.mark.parametrize("name", ["diging", "atc", "diadsp", "cpgt", "cpgt_top", "cpgt_bits_own"])
def test_the_tracked_gradients_sum_to_the_gradients_and_all_noise(name):
    """Σ y^a = Σ ∇f + Σ_{t≤k} Σ e^t, y^a being what the agent released; CPGT's beyond the copy that all know."""
    run = simulate(problem(), "geometric", ALGORITHMS[name](40))
    released = np.array([list(releases[1::2]) for releases in run.truth.releases]).swapaxes(0, 1)
    if name.startswith("cpgt"):
        told = {(row.sender, row.number): row.values["y"] for row in run.views[0].transcript.on_links()}
        messages = np.array([[told[i, k] for i in range(len(run.truth.releases))] for k in range(40)])
        released[1:] += np.cumsum(messages, axis=0)[:-1]
    g, e = points(run)[1], noises(run)[1]
    shift = 1 if name == "atc" else 0  # ATC sends y after the next gradient
    expected = g[shift : shift + 40].sum(axis=1) + np.cumsum(e.sum(axis=1), axis=0)
    np.testing.assert_allclose(released.sum(axis=1), expected, rtol=0, atol=1e-12)


# ── the family ──────────────────────────────────────────────────────────────────────────────────────────
def test_extra_is_pg_extra_where_there_is_no_regularizer():
    runs = [simulate(problem(), "ring", kind(30, 0.4, scale=SCALE)) for kind in (Extra, PgExtra)]
    np.testing.assert_array_equal(*(points(run)[0] for run in runs))


def test_the_papers_ppdc_is_refused_on_the_laplacian_of_its_graph():
    graph = random_geometric(50, 0.3, seed=69)
    setting = Setting(agents=50, dimension=10, smoothness=(5.03,) * 50, topology=graph)
    Ppdc(5, 0.01, 65.0, 5.0, matrix="mixing").check(setting)
    with pytest.raises(ScenarioError, match="outside the convergence condition"):
        Ppdc(5, 0.01, 65.0, 5.0).check(setting)
    safe = ppdc_step(5.03, graph, 65.0, 5.0, "mixing")
    assert ppdc_step(5.03, graph, 65.0, 5.0) < safe < 0.01


# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────
def equal_curvature(graph):
    """f_i = ½ L ‖x − b_i‖² at all agents."""
    objectives = tuple(LeastSquares(np.eye(2), np.array([i, -i]), 0.5) for i in range(graph.agents))
    return Problem(objectives)


@pytest.mark.parametrize("variant", ["diging", "atc"])
@pytest.mark.parametrize("weights", ["metropolis", "best_constant"])
def test_the_bound_on_tracking_steps_is_sharp_for_equal_curvatures(variant, weights):
    """Spectral radius, but for the conserved mean, by numpy: below 1 under the bound, above it past the bound."""
    graph = ring(6, weights=weights)
    here, W, eye = equal_curvature(graph), graph.weights, np.eye(6)
    bound = (tracking_step if variant == "diging" else adapted_step)(here.smoothness, graph)

    def radius(step):
        h = here.smoothness
        x_row = np.hstack([W, -step * (eye if variant == "diging" else W)])
        mixed = np.eye(6) if variant == "diging" else W
        y_row = np.hstack([np.zeros((6, 6)), W]) + h * mixed @ (x_row - np.hstack([eye, np.zeros((6, 6))]))
        return np.sort(np.abs(np.linalg.eigvals(np.vstack([x_row, y_row]))))[::-1]

    assert radius(0.99 * bound)[0] < 1 + 1e-9
    assert radius(1.01 * bound)[0] > 1 + 1e-4
    Simulation(here, graph, GradientTracking(5, 0.99 * bound, variant=variant))
    with pytest.raises(ScenarioError, match="outside the convergence condition"):
        Simulation(here, graph, GradientTracking(5, 1.01 * bound, variant=variant))
