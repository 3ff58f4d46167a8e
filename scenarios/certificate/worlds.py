"""Adjacent worlds whose ε is known in closed form, and the one-release mechanisms that they audit."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from scipy import optimize, stats

from attacks.audit.audit import audit
from attacks.audit.pair import Pair, Simulate
from attacks.audit.result import AuditResult
from netsim import topology
from netsim.algorithms import Algorithm
from netsim.algorithms.planted_faults import FAULTS, Fault, WrongClip
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    UniformLaplace,
    UniformModulo,
)
from netsim.node import Node
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.randomness import Streams
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

FARTHEST = 200.0
"""No ε looked for is larger."""


def laplace_shift(epsilon: float, delta: float) -> float:
    """Laplace noise, shift = Δ/b: δ(ε) = 1 − e^{(ε − Δ/b)/2}, so Δ/b = ε − 2 ln(1 − δ)."""
    return epsilon - 2 * math.log1p(-delta)


@cache
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Gaussian noise, μ = Δ/σ: the root of δ(ε) = P(N > ε/μ − μ/2) − e^ε P(N > ε/μ + μ/2)."""

    def excess(epsilon: float) -> float:
        far = math.exp(epsilon + float(stats.norm.logsf(epsilon / mu + mu / 2)))
        return float(stats.norm.sf(epsilon / mu - mu / 2)) - far - delta

    return _root(excess)


@cache
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The μ of `gaussian_epsilon`."""
    return float(optimize.brentq(lambda mu: gaussian_epsilon(mu, delta) - epsilon, 0.05, 10.0, xtol=1e-12))


@cache
def discrete_gaussian_epsilon(shift: int, steps: float, delta: float) -> float:
    """Discrete Gaussian noise of σ = so many `steps`, and a difference of `shift` steps: by summing over the grid."""
    reach = math.ceil(40 * steps) + shift
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = np.exp(-0.5 * (k / steps) ** 2)
    here, there = mass / mass.sum(), np.exp(-0.5 * ((k - shift) / steps) ** 2) / mass.sum()

    def excess(epsilon: float) -> float:
        return float(np.sum(np.maximum(here - math.exp(epsilon) * there, 0.0))) - delta

    return _root(excess)


def _root(excess: Callable[[float], float]) -> float:
    """Where a falling function is 0; 0 if it is not positive there."""
    return float(optimize.brentq(excess, 0.0, FARTHEST, xtol=1e-12)) if excess(0.0) > 0 else 0.0


MODULUS = 2**16
"""Of the shares that cost nothing."""


@dataclass(frozen=True)
class OneRelease(Algorithm):
    """Every agent releases its gradient at 0 once, under one mechanism."""

    mechanism: Mechanism = field(default_factory=lambda: Laplace(1.0))

    @property
    def noisy(self) -> bool:
        return True

    async def run(self, node: Node) -> None:
        released = node.privatize(await node.gradient(node.zeros()), self.mechanism)
        received = await node.exchange(x=released)
        node.estimate(received.mix("x"))


@dataclass(frozen=True)
class _ShareAndRelease(Algorithm):
    """A share of the gradient modulo p, which tells nothing, and the gradient under Laplace noise of a `scale`."""

    scale: float = 1.0

    @property
    def noisy(self) -> bool:
        return True

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        share = node.privatize(np.rint(gradient), UniformModulo(MODULUS))
        received = await node.exchange(share=share, x=node.privatize(gradient, Laplace(self.scale)))
        node.estimate(received.mix("x"))


AGENTS, AGENT, DIMENSION, ROUNDS = 2, 1, 9, 4
STEP, BOUND = 0.2, 0.5
DELTA = 0.05
"""Of claims with δ > 0: a δ that 400 transcripts can resolve, so that a wrong interval would show."""
GRID = 0.25
"""Step of discrete mechanisms; the worlds differ by 1, a whole number of steps."""
WIDTH = 1.5
"""Of the uniform part of the mixture."""
STEEP = 1e9
"""A gradient so large is clipped whatever the point: the clipped one is its direction, to 1e-9."""
CONFIDENCE = 0.95
"""Of the audits."""
ANYTHING = Adjacency(math.inf, "all data of one agent replaced")

Auditor = Callable[..., AuditResult]
"""`attacks.audit.audit.audit`, or something with its arguments."""


@dataclass(frozen=True)
class World:
    """Two worlds, what is claimed of them, and `truth`: the ε at the claim's δ of exactly this pair."""

    simulation: Simulation
    pair: Pair
    claim: Claim
    truth: float

    def audited(self, trials: int, streams: Streams, auditor: Auditor = audit) -> AuditResult:
        """Audited with so many transcripts of each world; a `PrivacyError` if there is no verdict."""
        return auditor(
            self.simulated(trials, streams),
            self.pair,
            self.claim,
            trials=trials,
            chunk=trials,
            confidence=CONFIDENCE,
            rng=streams.generator("game"),
        )

    def simulated(self, trials: int, streams: Streams) -> Simulate:
        """Simulations of so many transcripts of either world at a time."""
        seed = streams.child("simulation").seed
        other = self.pair.hypotheses[1]
        assert isinstance(other, Tilted)
        return worlds(replace(self.simulation, seed=seed), AGENT, other, trials, delta=self.claim.delta)


def turned(algorithm: Algorithm, slopes: tuple[np.ndarray, np.ndarray], claim: Claim | None, truth: float) -> World:
    """Agent 1's gradient is moved by one slope, or by the other; with None the claim is the algorithm's own."""
    parts = [LeastSquares(np.eye(len(slopes[0])), np.zeros(len(slopes[0])), 0.5) for _ in range(AGENTS)]
    one, two = (Tilted(parts[AGENT], slope) for slope in slopes)
    parts_ = tuple(one if agent == AGENT else part for agent, part in enumerate(parts))
    simulation = Simulation(Problem(parts_), topology.path(AGENTS), algorithm)
    own = simulation.claim(ANYTHING, ROUNDS, 1e-3) if claim is None else claim
    assert own is not None
    return World(simulation, Pair(AGENT, (one, two), "the gradient of agent 1 turned round"), own, truth)


def of_gallery(fault: type[Fault], scale: float, *, sound: bool) -> World:
    """A fault of the gallery, or its twin, with its own claim and the pair in which it shows most.

    `truth` is the sound twin's: all that it claims where releases have Laplace noise, and the exact ε of its
    Gaussian releases in place of the formula's.
    """
    algorithm = fault(rounds=ROUNDS, step=STEP, scale=scale, bound=BOUND, sound=sound)
    slope = STEEP * direction(fault.shows, DIMENSION)
    world = turned(algorithm, (slope, -slope), None, 0.0)
    delta, claimed = world.claim.delta, world.claim.epsilon
    assert claimed is not None
    truth = claimed if delta == 0 else gaussian_epsilon(_moved(algorithm) / scale, delta)
    return replace(world, truth=truth)


def _sound_twin(fault: type[Fault], epsilon: float) -> World:
    """The sound twin that claims so much, and spends all of it."""
    one = fault(rounds=ROUNDS, step=STEP, bound=BOUND)
    if fault is not WrongClip:
        return of_gallery(fault, one.releases * 2 * BOUND * STEP / epsilon, sound=True)
    mu = gaussian_mu(epsilon, DELTA)
    world = of_gallery(fault, _moved(one) / mu, sound=True)
    tight = replace(world.claim, epsilon=epsilon, delta=DELTA, source="the exact ε of Gaussian releases")
    return replace(world, claim=tight, truth=epsilon)


def _moved(algorithm: Fault) -> float:
    """√T·2Cη: what all releases together are moved in ℓ2."""
    return math.sqrt(algorithm.releases) * 2 * BOUND * STEP


def _released(algorithm: Algorithm, epsilon: float, delta: float = 0.0) -> World:
    """A gradient of 0, or of 1 in the first of two coordinates; ε is true, and claimed."""
    claim = Claim(epsilon, delta, "the mechanism's own ε", Adjacency(1.0, "one coordinate moved by 1"), "ℓ1 = ℓ2")
    return turned(algorithm, (np.zeros(2), np.array([1.0, 0.0])), claim, epsilon)


def _releasing(mechanism: Callable[[float], Mechanism], delta: float, epsilon: float) -> World:
    return _released(OneRelease(mechanism(epsilon)), epsilon, delta)


def laplace(epsilon: float) -> World:
    return _released(OneRelease(Laplace(1 / epsilon)), epsilon)


def _discrete_gaussian(epsilon: float) -> World:
    """σ is the continuous law's, ε the discrete one's: about so much."""
    stddev = 1 / gaussian_mu(epsilon, DELTA)
    exact = discrete_gaussian_epsilon(round(1 / GRID), stddev / GRID, DELTA)
    return _released(OneRelease(DiscreteGaussian(stddev, GRID)), exact, DELTA)


SOUND: dict[str, Callable[[float], World]] = {
    **{f"{fault.__name__}, sound": partial(_sound_twin, fault) for fault in FAULTS},
    "Laplace": laplace,
    "Laplace at δ": partial(_releasing, lambda epsilon: Laplace(1 / laplace_shift(epsilon, DELTA)), DELTA),
    "Gaussian": partial(_releasing, lambda epsilon: Gaussian(1 / gaussian_mu(epsilon, DELTA)), DELTA),
    "discrete Laplace": partial(_releasing, lambda epsilon: DiscreteLaplace(1 / epsilon, GRID), 0.0),
    "discrete Gaussian": _discrete_gaussian,
    # outside the uniform part's interval the loss is all of Δ/b
    "uniform plus Laplace": partial(_releasing, lambda epsilon: UniformLaplace(WIDTH, 1 / epsilon), 0.0),
    "share modulo p, and Laplace": lambda epsilon: _released(_ShareAndRelease(scale=1 / epsilon), epsilon),
}
"""By name: ε ↦ a sound mechanism for which just that is true, and claimed."""
