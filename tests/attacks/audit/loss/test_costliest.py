"""What a pair costs for who does not know the coins, where noise seldom opens what these decide; truths by hand."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.loss.secret_coins import price_of_secret
from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
from netsim.node import choose
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds

CHUNK = 200


async def clipped(node, batch=None):
    return np.clip(await node.gradient(node.zeros(), batch), -1.0, 1.0)


@dataclass(frozen=True)
class Gated(Algorithm):
    """Public noise, and what it opens between two numbers."""

    low: float
    high: float = np.inf

    async def run(self, node):
        public = node.privatize(node.zeros(), Laplace(1.0))
        received = await node.exchange(p=public)
        await self.send(node, lambda p=public: (p > self.low) & (p < self.high), received)
        node.estimate(node.zeros())

    async def send(self, node, opens, received):
        raise NotImplementedError


class Told(Gated):
    """The gradient or nothing, and where it opens which of them: 2, and 1 where it never does."""

    async def send(self, node, opens, received):
        coin = choose(node.coins, (0, 1))
        node.broadcast(x=node.privatize(coin * await clipped(node), Laplace(1.0)))
        node.broadcast(coin=np.where(opens(), 1.0 * coin, 0.0))


class ToldByOthers(Told):
    """The same where what neighbors sent opens it."""

    async def send(self, node, opens, received):
        await super().send(node, lambda: opens(received.sum("p")), received)


class Picked(Gated):
    """Where it opens one of four secret records, else a quarter of their mean: with noise of scale 1/4 that costs
    what it does where a record of one side lies among others of the other one."""

    async def send(self, node, opens, received):
        one, each = choose(node.coins, range(4)), [await clipped(node, [k]) for k in range(4)]
        node.broadcast(y=node.privatize(np.where(opens(), each[one], sum(each) / 16), Laplace(0.25)))


class TwoScales(Gated):
    """Noise of scale 1 or 4 by a toss, and the gradient where it opens: most is lost where that is what is seen."""

    async def send(self, node, opens, received):
        scale = choose(node.coins, (1.0, 4.0))
        value = np.where(opens(), await clipped(node), 0.0)
        node.broadcast(y=node.privatize(value, Laplace(scale)))


def found(algorithm, seed, records=4):
    """Of a record, or all of them, that goes from −1 to 1, among others at −1."""
    own, other = (
        LeastSquares(np.ones((records, 1)), np.array([b, *[9.0] * (records - 1)]), 0.0) for b in (9.0, -9.0)
    )
    simulation = Simulation(Problem((own, own, own)), ring(3), algorithm, seed=seed)
    simulate = worlds(simulation, 1, other, CHUNK)
    return price_of_secret(simulate, 1, (own, other), 0.0, 0.95).epsilon.lower


TWO_SCALES = math.log((1 + 1 / 4) / (math.exp(-2) + math.exp(-1 / 2) / 4))
PICKED = math.log((math.exp(0.0) + 3 * math.exp(-8.0)) / (4 * math.exp(-8.0)))
ROWS = {
    "seldom": (Told(4.5), 1, 2.0),
    "a band": (Told(3.0, 3.3), 1, 2.0),
    "never": (Told(np.inf), 1, 1.0),
    "others": (ToldByOthers(7.0), 1, 2.0),
    "one in twenty": (Picked(2.3), 4, PICKED),
    "one in 200": (Picked(4.6), 4, PICKED),
    "scales": (TwoScales(2.3), 1, TWO_SCALES),
}


@pytest.mark.few("seldom-1", "others-0", "one in 200-0", "scales-0")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ROWS)
def test_a_gate_that_noise_seldom_opens_is_priced(name, seed):
    algorithm, records, truth = ROWS[name]
    np.testing.assert_allclose(found(algorithm, seed, records), truth, rtol=1e-5)
