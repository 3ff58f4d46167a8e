"""The exact loss of every transcript against what a formula claims, one record of one agent replaced.

A pure claim that is sound bounds the loss of every single transcript; one transcript above it refutes it.
"""

import math

import numpy as np
import pytest

from attacks.replay import replay
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import (
    Dmsp,
    Dpp2,
    GroupedDescent,
    NeighborRange,
    PrivateGradientDescent,
    RandomPenaltyAdmm,
    SecretSharing,
)
from netsim.claims import Adjacency
from netsim.models.model import Ball
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation, setting_of
from tests.worlds import coins, synthetic_problem

PROBLEM = synthetic_problem(agents=6, dimension=4)
RING, COMPLETE = topology.ring(6), topology.complete(6)
OWN = PROBLEM.objectives[1]
OTHER = OWN.with_record(1, -OWN.features[1], float(OWN.labels[1]))
POINTS = np.random.default_rng(0).normal(size=(5000, 4)) * 3
CHANGE = 1.01 * float(np.linalg.norm(OWN.gradient(POINTS) - OTHER.gradient(POINTS), axis=1).max())
RECORD = Adjacency(CHANGE, "one record of one agent replaced")


def dpp2(rounds, ratio=0.9):
    decay = Geometric(1.0, ratio)
    return Dpp2(rounds, step=0.8, beta=0.3, rho=0.9, eta=Constant(0.3), scale_w=decay, scale_e=decay)


def both_worlds(algorithm, graph, replicas=400):
    """The releases of agent 1 under the truth and under the other objective, and the claim."""
    ears = Adversary("ears", "all", nodes=(1,))
    run = Simulation(PROBLEM, graph, algorithm, adversaries=(ears,), replicas=replicas).run()
    granted = run.truth.releases[1]
    true, other = (replay(run.views[0], 1, f, coins(run, 1), granted) for f in (OWN, OTHER))
    assert true.identical
    assert other.departure is None
    assert not any(c.visible.any() for c in other.comparisons)
    claim = algorithm.claim(RECORD, setting_of(PROBLEM, graph, algorithm.rounds), 1e-3)
    return true.releases, other.releases, claim.epsilon


def largest_loss(algorithm, graph):
    true, other, epsilon = both_worlds(algorithm, graph)
    losses = sum(a.log_density() - b.log_density() for a, b in zip(true, other, strict=True))
    return float(np.abs(losses).max()), epsilon


@pytest.mark.parametrize(
    ("algorithm", "graph"),
    [
        (Dmsp(15, Geometric(1.0, 0.9), Ball(2.0), Geometric(0.1, 0.95)), RING),
        (PrivateGradientDescent(15, Constant(0.5), Constant(0.1), state="released"), RING),
        (RandomPenaltyAdmm(15, scale=Geometric(0.02, 1 / 1.02)), RING),
        (NeighborRange(15, Constant(0.5), Constant(0.1)), RING),
        (NeighborRange(15, Constant(0.5), Constant(0.1), pairs=2), RING),
        (GroupedDescent(3, Constant(0.5), Constant(0.01), high=0.02), COMPLETE),
        (dpp2(15), RING),
    ],
    ids=lambda one: type(one).__name__,
)
def test_no_transcript_loses_more_than_is_claimed(algorithm, graph):
    """And some lose a fifth of it: the claim is not met by being far away."""
    largest, epsilon = largest_loss(algorithm, graph)
    assert largest <= epsilon
    assert largest > epsilon / (20 if isinstance(algorithm, Dpp2) else 8)


def test_a_sum_that_skips_the_first_release_is_refuted():
    """DPP² of one round releases ∇f(x⁰) + e⁰, and the sum of Theorem 3 is 0 for K = 0, which the
    theorem leaves out ("K > 0"): a sum must have this release."""
    largest, epsilon = largest_loss(dpp2(1), RING)
    assert epsilon == 0
    assert largest > 0.1


def test_the_noise_of_all_agents_covers_a_shared_sum_and_one_agents_own_does_not():
    """What an outsider sees of agent 1's data: Σ_k ‖x_k − x'_k‖²/(2nσ_k²) in every replica, at most the claim's ρ.

    At the agent's door, with its v_i known, it is n times as much, and more than that ρ.
    """
    algorithm = SecretSharing(15, Constant(0.5), Constant(0.3))
    true, other, epsilon = both_worlds(algorithm, COMPLETE)
    apart = [a.value - b.value for a, b in zip(true, other, strict=True)][::6]  # v_i; the five others are shares
    local = sum(np.sum(one**2, axis=1) for one in apart) / (2 * 0.3**2)
    log = math.log(1e3)
    rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    assert local.max() / 6 <= rho
    assert local.min() > rho
