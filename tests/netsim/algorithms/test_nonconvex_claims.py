"""Claims about objectives that are not convex: what the formulas for convex ones say there is exceeded."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.audit import audit
from attacks.audit.pair import Pair
from netsim.algorithms import DAdmm, IcAdmm, MrAdmm, RAdmm, RwAdmm, Walkman
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.problems import NonconvexLogistic, Problem
from netsim.schedules import Constant
from netsim.simulation import Simulation, setting_of
from netsim.topology import ring
from scenarios.stages.worlds import worlds

RHO = 0.5
NOISE = {"noise": "laplace", "scale": Constant(1.0)}
SMALL, TURNED = (0.02, -0.02), (1.0, 1e-6)
"""The one feature of agent 0's one record in the two worlds: gradients turned, or curvature taken away."""


def objective(feature):
    """One record, one coordinate; its curvature is as low as −½ at x = ±1."""
    return NonconvexLogistic(np.array([[feature]]), np.array([1.0]), 1.0, 1.0)


def world(algorithm, feature):
    return Simulation(Problem((objective(feature), objective(1.0), objective(1.0))), ring(3), algorithm)


CASES = {
    "D-ADMM, primal": (DAdmm(30, 0.13, **NOISE), SMALL, 30, 400),
    "D-ADMM, dual": (DAdmm(1, 0.13, "dual", **NOISE), TURNED, 1, 2000),
    "R-ADMM": (RAdmm(1, 1.2, 0.13, noise="laplace", scale=Constant(2.0)), TURNED, 1, 2000),
    "RW-ADMM": (RwAdmm(0.13, "everybody", per_agent=30, **NOISE), SMALL, 30, 400),
    "IC-ADMM": (IcAdmm(30, 0.02, 1.13, **NOISE), SMALL, 30, 400),
}


@pytest.mark.few("R-ADMM")
@pytest.mark.parametrize("name", CASES)
def test_the_formula_of_convex_objectives_is_exceeded_and_the_claim_is_not(name):
    algorithm, features, releases, trials = CASES[name]
    simulation = world(algorithm, features[0])
    f, g = (objective(feature) for feature in features)
    adjacency = Adjacency(f.gradient_difference_bound(g), "this pair", 0.25)
    claim = simulation.claim(adjacency, releases, 0.0)
    assert claim.epsilon is not None
    pair = Pair(0, (f, g), "x")
    found = audit(
        worlds(simulation, 0, g, trials // 2), pair, claim, trials=trials, chunk=trials // 2,
        confidence=0.95, rng=np.random.default_rng(0),
    )  # fmt: skip
    largest = max(exact.epsilon.lower for exact in found.exact)
    as_if_convex = replace(simulation.setting(releases), weak_convexity=())
    assert algorithm.claim(adjacency, as_if_convex, 0.0).epsilon < largest <= claim.epsilon
    assert found.judgement.verdict.value != "refuted"


def proximal_moves(beta, activations):
    """How far y − z/β is apart after each activation of two worlds that see the same x and differ where they may.

    f = −ρ/2 x² wherever it goes, so y = (βx + z)/(β − ρ) and z = −ρy; the other world's gradient is larger by 1.
    """
    y, z, before = np.zeros(2), np.zeros(2), np.zeros(2)
    moves = []
    for _ in range(activations):
        v, tilt = z / beta, np.array([0.0, 1.0])
        y = (beta * v - tilt) / (beta - RHO)
        z = beta * (v - y)
        value = y - z / beta
        moves.append(abs(float(np.diff(value - before)[0])))
        before = value
    return moves


def test_walkmans_bound_holds_on_the_most_concave_objective():
    """There the reflection expands and what is kept of z grows: with ρ = 0 in its place the formula is exceeded."""
    algorithm = Walkman(0.6, "prox", activations=9)
    setting = setting_of(world(algorithm, 1.0).problem, ring(3), 4)
    bound = np.array(algorithm.moves(1.0, setting, 0)) * 3
    convex = np.array(algorithm.moves(1.0, replace(setting, weak_convexity=()), 0)) * 3
    moved = np.array(proximal_moves(0.6, 4))
    assert (moved <= bound * (1 + 1e-12)).all()
    assert (moved > convex).any()
    assert moved[0] == pytest.approx(bound[0], rel=1e-12)  # the first attains it


@pytest.mark.parametrize(
    "algorithm",
    [
        DAdmm(3, 0.12), DAdmm(3, 0.12, "dual"), RAdmm(3, 2.0, 0.12), MrAdmm(3, 2.0, Constant(0.12), 0.1),
        RwAdmm(0.12, activations=5), Walkman(0.48, "prox", activations=5),
    ],
)  # fmt: skip
def test_an_inner_problem_without_a_single_minimizer_is_refused(algorithm):
    """2ηd_i = 4η = 0.48, or β, is below ρ = ½; claims of it are not made either."""
    with pytest.raises(ScenarioError, match=r"penalty.*f_0 is not convex.*needs κ = 0.48 > ρ = 0.5"):
        world(algorithm, 1.0)
    problem = world(IcAdmm(1, 0.1, 3.0), 1.0).problem
    noisy = replace(algorithm, noise="laplace", scale=Constant(1.0))
    claim = noisy.claim(Adjacency(0.1, "any", 0.1), setting_of(problem, ring(3), 3), 0.0)
    assert claim.epsilon is None
    assert any("not convex" in why for why in claim.failed_conditions)


def test_settings_tell_how_far_from_convex_each_objective_is():
    simulation = world(IcAdmm(1, 0.1, 3.0), 1.0)
    assert simulation.setting(0).weak_convexity == (RHO, RHO, RHO)
    assert math.isclose(objective(1.0).hessian(np.array([1.0]))[0, 0], -RHO + 0.25 / math.cosh(0.5) ** 2)
