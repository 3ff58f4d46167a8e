"""Noise for the wrong norm: one vector released once, its change bounded in ℓ2, its noise Laplace.

Agent 1 of two releases its gradient at 0; in the other world it is moved by a vector of ℓ2 norm 1. All ε are of real
audits of that, or of the published algorithm in which the mix-up was made.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from attacks.audit.audit import Audit
from attacks.audit.statistics.inversion import product_epsilon
from attacks.audit.statistics.products import Product
from netsim import topology
from netsim.algorithms import DiaDSP
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.norms import length
from netsim.problems import Problem, Tilted
from netsim.problems.tilted import direction
from netsim.randomness import Streams
from netsim.simulation import Simulation
from scenarios.certificate.laws import gaussian_mu
from scenarios.certificate.one_release import OneRelease
from scenarios.certificate.worlds import World, turned
from scenarios.lab.scenes.composition import AGENT, AGENTS, REMEMBERED, audited, pulling

Way = Literal["even", "coordinate", "random"]
"""Where the change points: all coordinates alike, one alone, or anywhere."""
DELTA = 1e-2
"""Of audits with δ > 0: one that a few thousand transcripts can resolve."""


@dataclass(frozen=True)
class Found:
    """One audit: the change's ℓ1 and ℓ2 norms, the noise's claim, and the audit of it."""

    dimension: int
    l1: float
    l2: float
    claimed: float
    found: Audit

    @property
    def exact(self) -> float:
        return self.found.epsilon_exact

    @property
    def ratio(self) -> float:
        """ε exact over ε claimed."""
        return self.exact / self.claimed


@lru_cache(REMEMBERED)
def laplace(
    dimension: int, epsilon: float, way: Way, *, calibrated: Literal["l1", "l2"], trials: int = 1000, seed: int = 0
) -> Found:
    """Laplace noise for a claim of ε, its scale from the largest change in ℓ2 (1: wrong) or in ℓ1 (√d: right).

    The exact ε of the pair is ‖Δ‖₁/b, the claim is ε for every change of ℓ2 norm 1.
    """
    sensitivity = math.sqrt(dimension) if calibrated == "l1" else 1.0
    return _released(Laplace(sensitivity / epsilon), dimension, epsilon, 0.0, way, trials, seed)


@lru_cache(REMEMBERED)
def gaussian(dimension: int, epsilon: float, way: Way, *, trials: int = 1000, seed: int = 0) -> Found:
    """Gaussian noise for a claim of (ε, `DELTA`), its deviation from the change in ℓ2: right in every direction."""
    return _released(Gaussian(deviation(epsilon, DELTA)), dimension, epsilon, DELTA, way, trials, seed)


def deviation(epsilon: float, delta: float) -> float:
    """The least σ at which one Gaussian release of a change of ℓ2 norm 1 is (ε, δ)-private (Balle, Wang 2018)."""
    return 1 / gaussian_mu(epsilon, delta)


def _released(
    mechanism: Mechanism, dimension: int, epsilon: float, delta: float, way: Way, trials: int, seed: int
) -> Found:
    change = direction(way, dimension, seed)
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    claim = Claim(epsilon, delta, "one release", adjacency, "ℓ2")
    world: World = turned(OneRelease(mechanism), (0 * change, change), claim, math.nan)
    found = world.audited(trials, Streams(seed))
    return Found(dimension, float(length(change, "l1")), float(length(change, "l2")), epsilon, found)


@lru_cache(REMEMBERED)
def published(dimension: int, way: Way, *, epsilon: float = 1.0, rounds: int = 10) -> Found:
    """DiaDSP with the noise for which CPGT's eq. 23 claims ε, for a change of a gradient of ℓ2 norm 1 at most."""
    change = direction(way, dimension)
    mine = pulling(10.0, dimension)
    problem = Problem(tuple(mine if i == AGENT else pulling(float(i), dimension) for i in range(AGENTS)))
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    plain = Simulation(problem, topology.ring(AGENTS), DiaDSP(rounds, 0.02, 1.0, 1.0, 0.9))
    setting = plain.setting(rounds)
    algorithm = plain.algorithm.calibrated(epsilon, 0.0, adjacency, setting)
    simulation = Simulation(problem, topology.ring(AGENTS), algorithm)
    claim = simulation.claim(adjacency, rounds, 0.0)
    assert claim is not None
    assert claim.epsilon is not None
    words = f"the gradient of agent {AGENT} moved ({way})"
    found = audited(simulation, Tilted(mine, change), claim, words)
    return Found(dimension, float(length(change, "l1")), float(length(change, "l2")), claim.epsilon, found)


# ── formulas ────────────────────────────────────────────────────────────────────────────────────────────


def true_epsilon(dimension: int, epsilon: float) -> float:
    """√d·ε: what Laplace noise of scale 1/ε gives where the change has ℓ2 norm 1 and the largest ℓ1 norm, √d."""
    return math.sqrt(dimension) * epsilon


def epsilon_at(dimension: int, epsilon: float, delta: float) -> float:
    """ε(δ) of that noise and change: d Laplace numbers, each shifted by ε/√d of its scale."""
    return product_epsilon(Product(0.0, (epsilon / math.sqrt(dimension),) * dimension), delta)


def noise_sizes(dimension: int, epsilon: float, delta: float) -> dict[str, float]:
    """√E‖noise‖₂² that protects a change of ℓ2 norm 1: of Laplace noise for ℓ1 at ε, of Gaussian noise at (ε, δ).

    Laplace noise of scale b has the variance 2b² per coordinate, and needs b = √d/ε.
    """
    return {
        "Laplace for ℓ1": math.sqrt(2 * dimension) * math.sqrt(dimension) / epsilon,
        "Gaussian for ℓ2": math.sqrt(dimension) * deviation(epsilon, delta),
    }


def crossover(epsilon: float, delta: float, most: int = 10_000) -> int | None:
    """The least dimension from which on the Gaussian noise is smaller; None if not up to `most`."""
    for dimension in range(1, most + 1):
        sizes = noise_sizes(dimension, epsilon, delta)
        if sizes["Gaussian for ℓ2"] < sizes["Laplace for ℓ1"]:
            return dimension
    return None
