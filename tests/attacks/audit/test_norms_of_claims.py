"""A claim knows the norm of its adjacency: extreme points of that ball attain it where it is sharp."""

import numpy as np
import pytest

from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.pair import estimated
from netsim import topology
from netsim.algorithms import DAdmm, Dmsp, PrivateGradientDescent, RAdmm, RandomPenaltyAdmm
from netsim.claims import ORDERS, Adjacency
from netsim.models.model import Ball
from netsim.problems import Bent, LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.schedules import Constant
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

DIMENSION, CHANGE, AGENT = 5, 0.3, 1
WORST = {"l1": "coordinate", "l2": "even", "linf": "even"}


def descent():
    return PrivateGradientDescent(rounds=4, step=Constant(0.2), scale=Constant(1.0), state="released")


def costs(algorithm, norm, name, curvature=None):
    """The claim, and what the largest change in this direction costs in the dearest of some transcripts."""
    rng = np.random.default_rng(0)
    parts = [LeastSquares(rng.standard_normal((6, DIMENSION)), rng.standard_normal(6), 0.2) for _ in range(3)]
    simulation = Simulation(Problem(tuple(parts)), topology.ring(3), algorithm)
    adjacency = Adjacency.within(CHANGE, norm, DIMENSION, "moved", curvature=curvature)
    claim = simulation.claim(adjacency, algorithm.rounds, 1e-3)
    own = parts[AGENT]
    slope = CHANGE * direction(name, DIMENSION, 1, norm)
    other = Tilted(own, slope) if curvature is None else Bent(own, slope, curvature, 1.0)
    sample = worlds(simulation, AGENT, other, 6)(0, 0)
    return claim, estimated(compare_worlds(sample, AGENT, own, other), claim.delta)[0]


@pytest.mark.parametrize("norm", ORDERS)
def test_of_gradients_at_public_points_the_claim_is_attained(norm):
    claim, cost = costs(descent(), norm, WORST[norm])
    assert cost == pytest.approx(claim.epsilon, rel=1e-9)


@pytest.mark.few(9)
@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("name", ["even", "coordinate", "random"])
@pytest.mark.parametrize(
    "algorithm",
    [
        descent(),
        Dmsp(rounds=4, step=Constant(0.2), scale=Constant(1.0), domain=Ball(3.0)),
        RAdmm(rounds=4, penalty=1.0, linearization=9.0, scale=Constant(1.0)),
        RandomPenaltyAdmm(rounds=4, scale=Constant(1.0)),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_no_direction_costs_more_than_is_claimed(algorithm, norm, name):
    claim, cost = costs(algorithm, norm, name)
    assert claim.epsilon is not None
    assert 0 < cost <= claim.epsilon * (1 + 1e-9)


@pytest.mark.parametrize(
    "algorithm",
    [
        descent(),
        DAdmm(rounds=3, penalty=1.0, scale=Constant(1.0)),
        DAdmm(rounds=3, penalty=1.0, perturbation="dual", scale=Constant(1.0)),
        RAdmm(rounds=4, penalty=1.0, linearization=9.0, scale=Constant(1.0)),
    ],
    ids=lambda algorithm: algorithm.summary,
)
@pytest.mark.parametrize("norm", ORDERS)
def test_a_change_that_varies_costs_no_more_than_is_claimed(algorithm, norm):
    claim, cost = costs(algorithm, norm, WORST[norm], 0.5)
    assert claim.epsilon is not None
    assert 0 < cost <= claim.epsilon
