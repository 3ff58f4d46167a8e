"""EXTRA, PG-EXTRA, NIDS, gradient tracking, DiaDSP, CPGT and PPDC against independent oracles, optima and laws."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim.algorithms import (
    DiaDSP,
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
from netsim.schedules import Constant, Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation
from netsim.topology import Topology, random_geometric, ring
from tests.netsim.algorithms.mixing import (
    AGENTS,
    ALGORITHMS,
    GRAPHS,
    SCALE,
    SENT,
    by_oracle,
    gradients,
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


@pytest.mark.few(13)
@pytest.mark.parametrize("graph", ["ring", "geometric"])
@pytest.mark.parametrize("noisy", [True, False], ids=["noise", "quiet"])
@pytest.mark.parametrize("name", ALGORITHMS)
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

ROUNDS = {
    "extra": 200, "pg_extra": 350, "nids": 250, "exact_diffusion": 250, "diging": 400, "atc": 650, "diadsp": 400,
    "ppdc": 500,
}  # fmt: skip
"""In which each reaches 1e-8 on all graphs and losses here; there is no noise, or it decays."""


def at_auto(name, here, graph, rounds):
    """Without noise, at the step that a scenario's "auto" gives (EXTRA: 0.9 of its bound)."""
    smoothness, graph = here.smoothness, GRAPHS[graph]
    return {
        "extra": lambda: Extra(rounds, 0.9 * stable_step(smoothness, graph)),
        "pg_extra": lambda: PgExtra(rounds, stable_step(smoothness, graph) / 2),
        "nids": lambda: Nids(rounds, 1 / smoothness),
        "exact_diffusion": lambda: ExactDiffusion(rounds, 1 / smoothness),
        "diging": lambda: GradientTracking(rounds, tracking_step(smoothness, graph) / 2),
        "atc": lambda: GradientTracking(rounds, adapted_step(smoothness, graph) / 2, variant="atc"),
        "diadsp": lambda: DiaDSP(rounds, tracking_step(smoothness, graph) / 2, 0.0, 0.0, 0.9),
        "ppdc": lambda: Ppdc(rounds, ppdc_step(smoothness, graph)),
    }[name]()


@pytest.mark.few(4)
@pytest.mark.parametrize(("graph", "kind"), [*zip(GRAPHS, ["ridge", "logistic", "ridge"], strict=True)])
@pytest.mark.parametrize("name", ROUNDS)
def test_without_noise_they_reach_the_optimum(name, kind, graph):
    here = problem(kind)
    run = Simulation(
        here, GRAPHS[graph], at_auto(name, here, graph, ROUNDS[name]), recording=Recording(private="nothing")
    ).run()
    assert run.metrics.worst_by_round(AGENTS)[-1, 0] < 1e-8


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


@pytest.mark.few(5)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["lasso", "logistic"])
@pytest.mark.parametrize("name", WITH_R)
def test_with_a_proximal_step_they_reach_the_sparse_optimum(name, kind, graph):
    here = problem(kind, l1=0.05)
    assert not here.optimum().is_zero
    run = Simulation(
        here, GRAPHS[graph], at_auto(name, here, graph, ROUNDS[name]), recording=Recording(private="nothing")
    ).run()
    assert run.metrics.worst_by_round(AGENTS)[-1, 0] < 1e-8


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ["extra", "pg_extra", "nids", "exact_diffusion", "diging", "atc", "ppdc"])
def test_noise_that_dies_out_on_what_is_mixed_leaves_the_limit_where_it_was(name):
    here, dying = problem(), Geometric(1.0, 0.9)
    algorithm = at_auto(name, here, "ring", 400)
    algorithm = replace(algorithm, **{"scale" if hasattr(algorithm, "scale") else "scale_x": dying})
    run = Simulation(here, GRAPHS["ring"], algorithm, seed=2, recording=Recording(private="nothing")).run()
    errors = run.metrics.worst_by_round(AGENTS)[:, 0]
    assert errors[3] > 0.1
    assert errors[-1] < 1e-8


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize(("name", "factor"), [("diging", 1.0), ("atc", 1.0), ("ppdc", 0.9)])
def test_noise_on_the_tracked_gradient_or_on_the_dual_moves_the_limit(name, factor, kind):
    """To where Σ ∇f_i = −ΣΣ e, for PPDC −ω ΣΣ e: the sum of all noise that the second mechanism ever drew."""
    dying = {"scale_x": Geometric(1.0, 0.9), "scale_v" if name == "ppdc" else "scale_y": Geometric(0.3, 0.9)}
    here = problem(kind)
    algorithm = replace(at_auto(name, here, "ring", 450), **dying)
    if name == "ppdc":
        algorithm = replace(algorithm, omega=factor)
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


def test_ppdc_duals_sum_to_their_own_noise():
    run = simulate(problem(), "geometric", ALGORITHMS["ppdc"](40))
    released = np.array([list(releases[1::2]) for releases in run.truth.releases]).swapaxes(0, 1)
    expected = np.cumsum(noises(run)[1].sum(axis=1), axis=0)
    np.testing.assert_allclose(released.sum(axis=1), expected, rtol=0, atol=1e-12)


# ── the family ──────────────────────────────────────────────────────────────────────────────────────────


def test_extra_is_pg_extra_where_there_is_no_regularizer():
    runs = [simulate(problem(), "ring", kind(30, 0.4, scale=SCALE)) for kind in (Extra, PgExtra)]
    np.testing.assert_array_equal(*(points(run)[0] for run in runs))


def test_ppdc_is_extra_with_laplacian_weights():
    """ω = √(γ/2η), W = I − ηγL, noise on x alone: EXTRA at α = η, with noise in the same place."""
    eta, gamma, graph = 0.08, 1.5, GRAPHS["geometric"]
    laplacian = np.diag(graph.degrees) - graph.adjacency.toarray()
    weighted = Topology(graph.graph, weights=np.eye(AGENTS) - eta * gamma * laplacian)
    here = problem()
    first = Simulation(here, graph, Ppdc(60, eta, gamma, math.sqrt(gamma / (2 * eta)), SCALE)).run()
    second = Simulation(here, weighted, Extra(60, eta, scale=SCALE)).run()
    close(points(first)[0], points(second)[0])


@pytest.mark.parametrize("graph", ["ring", "geometric"])
def test_ppdc_on_i_minus_w_is_the_oracles(graph):
    """L = I − W in place of the Laplacian, at the γ, ω and η that the DPP² paper prints."""
    algorithm = Ppdc(60, 0.01, 65.0, 5.0, Geometric(1.0, 0.9), Geometric(1.0, 0.9), matrix="mixing")
    run = simulate(problem(), graph, algorithm)
    W, noise = run.simulation.topology.weights, noises(run)[:, :, :, 0]
    slopes = gradients(run.simulation.problem)
    x = v = np.zeros((AGENTS, run.simulation.problem.dimension))
    for k in range(60):
        np.testing.assert_allclose(points(run)[0][k, :, 0], x, rtol=0, atol=1e-10)
        released, dual = x + noise[0, k], v + noise[1, k]
        apart = released - W @ released
        slope = np.array([slope(row) for slope, row in zip(slopes, x, strict=True)])
        x = released - 0.01 * (65 * apart + 5 * dual + slope)
        v = dual + 0.01 * 5 * apart


def test_the_papers_ppdc_is_refused_on_the_laplacian_of_its_graph():
    graph = random_geometric(50, 0.3, seed=69)
    setting = Setting(agents=50, dimension=10, smoothness=(5.03,) * 50, topology=graph)
    Ppdc(5, 0.01, 65.0, 5.0, matrix="mixing").check(setting)
    with pytest.raises(ScenarioError, match="outside the convergence condition"):
        Ppdc(5, 0.01, 65.0, 5.0).check(setting)
    safe = ppdc_step(5.03, graph, 65.0, 5.0, "mixing")
    assert ppdc_step(5.03, graph, 65.0, 5.0) < safe < 0.01


def test_diadsp_is_diging_with_geometric_noise_to_the_last_bit():
    runs = [
        simulate(problem(), "ring", algorithm)
        for algorithm in (
            DiaDSP(30, 0.1, 0.3, 0.2, 0.95),
            GradientTracking(30, 0.1, Geometric(0.3, 0.95), Geometric(0.2, 0.95)),
        )
    ]
    np.testing.assert_array_equal(*(points(run)[0] for run in runs))


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


@pytest.mark.parametrize(
    ("algorithm", "field"),
    [
        (Extra(0, 0.1), "algorithm.rounds"),
        (Extra(5, 9.0), "algorithm.step"),
        (PgExtra(5, -0.1), "algorithm.step"),
        (PgExtra(5, 0.1, scale=Constant(-1.0)), "algorithm.scale"),
        (Nids(5, 9.0), "algorithm.step"),
        (GradientTracking(5, 0.1, Constant(-1.0)), "algorithm.scale_x"),
        (GradientTracking(5, 0.1, scale_y=Constant(math.inf)), "algorithm.scale_y"),
        (GradientTracking(5, 0.1, variant="other"), "algorithm.variant"),
        (DiaDSP(5, -0.1, 1.0, 1.0, 0.9), "algorithm.step"),
        (DiaDSP(5, 0.1, -1.0, 1.0, 0.9), "algorithm.scale_x"),
        (DiaDSP(5, 0.1, 1.0, math.nan, 0.9), "algorithm.scale_y"),
        (DiaDSP(5, 0.1, 1.0, 1.0, 1.0), "algorithm.ratio"),
        (Ppdc(5, 0.3), "algorithm.step"),
        (Ppdc(5, 0.1, 1.0, 3.0), "algorithm.omega"),
        (Ppdc(5, 0.1, -1.0), "algorithm.gamma"),
        (Ppdc(5, 0.1, scale_v=Constant(-1.0)), "algorithm.scale_v"),
    ],
)
def test_conditions_are_checked_before_time_0(algorithm, field):
    with pytest.raises(ScenarioError) as caught:
        Simulation(problem(), GRAPHS["ring"], algorithm)
    assert caught.value.field == field


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in WITH_R])
def test_those_without_a_proximal_step_refuse_a_regularizer(name):
    with pytest.raises(ScenarioError, match="no proximal step"):
        Simulation(problem("lasso", 0.05), GRAPHS["ring"], ALGORITHMS[name](5))
