"""Noise aimed at the largest loss for who does not know the coins: found by all values, and in an audit."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

import scenarios
from attacks.audit.loss.aimed_mixture import Mixture, Worlds
from netsim.algorithms import Algorithm, Clip
from netsim.claims import Claim
from netsim.mechanisms import Laplace
from netsim.node import choose


def mixture(rng, values):
    return Mixture.of(list(zip(np.log(rng.dirichlet(np.ones(len(values)))), values, strict=True)))


@pytest.mark.parametrize("seed", range(12))
def test_no_values_lose_more(seed):
    rng = np.random.default_rng(seed)
    worlds = Worlds(*(mixture(rng, rng.integers(-2, 3, (4, 3)).astype(float)) for _ in range(2)))
    both = np.concatenate([one.values for one in worlds])
    every = max(worlds.loss(np.array(x)) for x in itertools.product(*(np.unique(column) for column in both.T)))
    anywhere = max(worlds.loss(x) for x in rng.normal(0.0, 4.0, (500, 3)))
    assert anywhere <= every + 1e-9
    assert worlds.loss(worlds.largest()) == pytest.approx(every)


def test_numbers_that_one_history_leaves_as_they_are_go_far_out_too():
    rolled = [np.roll(np.array([value, *[-1.0] * 7]), k) for value in (1.0, -1.0) for k in range(8)]
    chance = [math.log(1 / 8)] * 8
    worlds = Worlds.of(list(zip(chance, rolled[:8], strict=True)), list(zip(chance, rolled[8:], strict=True)))
    assert worlds.loss(worlds.largest()) == pytest.approx(2.0)
    at_one_toss = np.array([1.0, *[-1.0] * 7])
    assert worlds.loss(at_one_toss) < 1.0


def test_mixtures_of_other_releases_are_none():
    one, two = [(0.0, np.zeros(2))], [(0.0, np.zeros(3))]
    assert Worlds.of(one, two) is None
    assert Worlds.of(one, [*one, *two]) is None
    assert Worlds.of(one, [(0.0, None)]) is None


@dataclass(frozen=True)
class Hidden(Algorithm):
    """Eight records in an order that is turned by a secret number."""

    share: float
    rounds: int = 1

    async def run(self, node):
        for value in await self.values(node, node.zeros()):
            node.broadcast(x=node.privatize(value, Laplace(2.0)))
        node.estimate(node.zeros())

    async def clipped(self, node, x, record):
        return Clip(1.0, "l1")(await node.gradient(x, [record]))

    async def values(self, node, x):
        first = choose(node.coins, range(8))
        return [await self.clipped(node, x, (k + first) % 8) for k in range(8)]

    @property
    def cost(self):
        return 1.0

    def claim(self, adjacency, setting, delta):
        return Claim(self.share * self.cost, 0.0, "Theorem 1", adjacency, "l1")


class OfTwo(Hidden):
    """The difference of two records: largest between what it is where a record is the first, and the second."""

    async def values(self, node, x):
        first, second = choose(node.coins, [(i, j) for i in range(5) for j in range(5) if i != j])
        return [await self.clipped(node, x, first) - await self.clipped(node, x, second)]

    @property
    def cost(self):
        return 0.291487  # by all releases and all sides of the others


class SometimesLess(Hidden):
    """All of them at one toss in four, else the first one alone."""

    async def values(self, node, x):
        found = await super().values(node, x)
        return found[: choose(node.coins, (1, 1, 1, 8))]


class OrZeros(Hidden):
    """One of them, or zeros in the clear in its place."""

    async def run(self, node):
        value = await self.clipped(node, node.zeros(), choose(node.coins, range(4)))
        node.broadcast(x=node.privatize(value, Laplace(1.0)) if choose(node.coins, (0, 1)) else node.zeros())
        node.estimate(node.zeros())

    @property
    def cost(self):
        return math.log(3 / 4 + math.exp(2) / 4)


class Descends(OrZeros):
    """One of them, and a step of descent is sent."""

    async def run(self, node):
        value = await self.clipped(node, node.zeros(), choose(node.coins, range(4)))
        node.broadcast(x=node.zeros() - 0.5 * node.privatize(value, Laplace(1.0)))
        node.estimate(node.zeros())


@pytest.mark.parametrize("hidden", [Hidden, OfTwo, SometimesLess, OrZeros, Descends])
def test_a_claim_of_what_all_numbers_together_lose_is_reached(hidden):
    options = "data.dimension=1", "audit.agent=0", "audit.search={candidates: 8, transcripts: 4}"
    found = scenarios.audit(hidden(1.001), None, *options, trials=50)
    assert found.verdict not in ("refuted", "unprotected")
    assert found.audit.epsilon_exact.lower == pytest.approx(hidden(1.0).cost, rel=1e-5)
