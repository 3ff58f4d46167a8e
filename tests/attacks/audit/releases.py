"""One agent that releases one number under noise whose pure ε is known: the smallest world to simulate and audit."""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.audit import AuditResult, audit
from attacks.audit.pair import Pair
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import DiscreteLaplace, Laplace
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation
from netsim.topology import path
from scenarios.stages.worlds import worlds


@dataclass(frozen=True)
class RandomizedResponse:
    """A bit, told with probability e^ε/(1 + e^ε) and turned otherwise: losses of ±ε. A value of 0 or 1."""

    epsilon: float

    noiseless = False

    @property
    def truth(self):
        return 1 / (1 + math.exp(-self.epsilon))

    def release(self, value, rng):
        return np.where(rng.random(value.shape) < self.truth, value, 1 - value)

    def log_density(self, observed, value):
        return np.sum(np.log(np.where(observed == value, self.truth, 1 - self.truth)), axis=-1)

    def quantiles(self, observed, value):
        """P(release ≤ observed | value)."""
        return np.where(observed == 1, 1.0, np.where(value == 0, self.truth, 1 - self.truth))

    def quantiles_below(self, observed, value):
        return np.where(observed == 0, 0.0, np.where(value == 0, self.truth, 1 - self.truth))

    def mean(self):
        return 0.0

    def variance(self):
        return self.truth * (1 - self.truth)


MECHANISMS = {
    "Laplace": lambda epsilon: Laplace(1 / epsilon),
    "discrete Laplace": lambda epsilon: DiscreteLaplace(1 / epsilon),
    "randomized response": RandomizedResponse,
}
"""Each with this pure ε for values 0 and 1."""
COMPOSED = {
    "two Laplace": lambda epsilon: [Laplace(2 / epsilon)] * 2,
    "Laplace and a response": lambda epsilon: [Laplace(2 / epsilon), RandomizedResponse(epsilon / 2)],
    "unequal responses": lambda epsilon: [RandomizedResponse(0.7 * epsilon), RandomizedResponse(0.3 * epsilon)],
}
"""Two releases, with this pure ε together."""


@dataclass(frozen=True)
class Told(Algorithm):
    """Every agent tells its gradient at 0 by each of the mechanisms, one after the other."""

    mechanisms: tuple

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        for mechanism in self.mechanisms:
            await node.exchange(x=node.privatize(gradient, mechanism))


def audited(mechanisms, claimed, trials, seed, delta=0.0, **more) -> AuditResult:
    """Agent 0 of two has gradient 0 in one world and 1 in the other; the whole audit, at 95 %, no attack brought."""
    zero, one = (LeastSquares(np.eye(1), np.array([-float(bit)]), 0.0) for bit in (0, 1))
    simulation = Simulation(Problem((zero, zero)), path(2), Told(tuple(mechanisms)), seed=seed)
    claim = Claim(claimed, delta, "by construction", Adjacency(1.0, "the bit turned"), "ℓ1")
    chunk = min(trials, 5000)
    return audit(
        worlds(simulation, 0, one, chunk),
        Pair(0, (zero, one), "the bit turned"),
        claim,
        trials=trials,
        chunk=chunk,
        confidence=0.95,
        rng=np.random.default_rng([seed, 1]),
        **more,
    )
