"""What a pair costs where other numbers were received: all that a sender can send counts, and nothing else."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import scenarios
from attacks.audit.accounting.formulas import gaussian_epsilon
from netsim.algorithms import Algorithm, Clip
from netsim.claims import Claim
from netsim.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from netsim.node import choose
from scenarios.stages.other_noise import COPIES, Anywhere, Times, Typical

ELSEWHERE = "receives other numbers than in this run, a pair costs"


@dataclass(frozen=True)
class Gated(Algorithm):
    """Releases g up to a bound that is far where the mean of what was received is: as far as 4 costs 1 at δ = 0."""

    rounds: int = 1
    epsilon: float = 0.6
    delta: float = 0.0
    coins: str = "secret"

    async def run(self, node):
        x = node.zeros()
        t = await self.bound(node)
        g = Clip(1.0, "l1")(await node.gradient(x))
        await self.sent(node, node.privatize(0.5 * (np.abs(4 * g + t) - np.abs(4 * g - t)), Laplace(8.0)))
        node.estimate(x)

    async def received(self, node, value):
        return (await node.exchange(x=value)).mix("x")

    async def bound(self, node):
        s = await self.received(node, node.privatize(node.zeros(), Laplace(1.0)))
        return 0.5 + np.maximum(s - 6.0, 0.0)

    async def sent(self, node, value):
        node.broadcast(x=value)

    def claim(self, adjacency, setting, delta):
        return Claim(self.epsilon, self.delta, "Theorem 1", adjacency, "l1", coins=self.coins)


class GatedByWholeNumbers(Gated):
    """By discrete noise, beside discrete noise."""

    async def run(self, node):
        s = await self.received(node, node.privatize(node.zeros(), self.first))
        t = 0.5 + np.maximum(s - 12.0, 0.0)
        g = Clip(1.0, "l1")(await node.gradient(node.zeros()))
        r = node.privatize(0.5 * (np.abs(4 * g + t) - np.abs(4 * g - t)), self.last)
        await self.sent(node, r)
        node.estimate(r)

    first: ClassVar = DiscreteLaplace(1.0, 1.0)
    last: ClassVar = DiscreteLaplace(8.0, 0.25)


class GatedByDiscreteGaussian(GatedByWholeNumbers):
    """By a grid of halves."""

    first: ClassVar = DiscreteGaussian(1.0, 0.5)


class ByItsOwn(GatedByWholeNumbers):
    """By what it released itself."""

    async def received(self, node, value):
        node.broadcast(x=value)
        return value


@dataclass(frozen=True)
class Mine:
    """Laplace noise by somebody else's code."""

    scale: float
    noiseless: ClassVar = False

    def release(self, value, rng):
        return value + self.scale * (rng.exponential(size=value.shape) - rng.exponential(size=value.shape))

    def log_density(self, observed, value):
        return Laplace(self.scale).log_density(observed, value)

    def quantiles(self, observed, value):
        return Laplace(self.scale).quantiles(observed, value)

    def variance(self):
        return Laplace(self.scale).variance()


class MineOnGrid(DiscreteLaplace):
    """A law of somebody's own, on a grid that nobody knows of."""

    def rounded(self, value):
        return value


class GatedByMine(GatedByWholeNumbers):
    """By noise that may take a number anywhere."""

    first: ClassVar = Mine(1.0)


class GatedByMineOnGrid(GatedByWholeNumbers):
    """By noise that may not."""

    first: ClassVar = MineOnGrid(1.0, 1.0)


class GatedBesideMine(GatedByWholeNumbers):
    """Beside noise of which no cost is known."""

    last: ClassVar = Mine(8.0)


class AlwaysBesideMine(GatedBesideMine):
    """Whatever was received."""

    async def received(self, node, value):
        return 0.0 * await super().received(node, value)


class OneOfAll(GatedByWholeNumbers):
    """A record that is drawn in secret, and which is as far as 4 costs ln(1 + (e − 1)/8) = 0.1946."""

    first: ClassVar = Laplace(1.0)

    async def run(self, node):
        t = 1.5 + np.maximum(await self.received(node, node.privatize(node.zeros(), self.first)) - 6.0, 0.0)
        g = np.clip(await node.gradient(node.zeros(), [choose(node.coins, range(8))]), -1, 1)
        await self.sent(node, node.privatize(0.5 * (np.abs(4 * g + t) - np.abs(4 * g - t)), Laplace(8.0)))
        node.estimate(node.zeros())


@dataclass(frozen=True)
class Fails(Gated):
    """It raises an error, where it gets more."""

    most: float = 500.0

    async def bound(self, node):
        s = await self.received(node, node.privatize(node.zeros(), Laplace(1.0)))
        if np.any(np.abs(s) > self.most):
            raise ValueError("too large")
        return 0.5 + np.maximum(s - 6.0, 0.0)


class ToOneNeighbor(Gated):
    """Who gets it is drawn by a coin, which changes no release."""

    async def sent(self, node, value):
        node.send(choose(node.coins, node.neighbors), x=value)


class BesideABatch(Gated):
    """Beside a record that is drawn in secret."""

    async def sent(self, node, value):
        drawn = await node.gradient(node.zeros(), [choose(node.coins, range(8))])
        node.broadcast(x=value, y=node.privatize(Clip(1.0, "l1")(drawn), Laplace(20.0)))


class Fifth(Gated):
    """Beside the fifth power of what was received, which is far above its noise where that is far."""

    async def run(self, node):
        s = await self.received(node, node.privatize(node.zeros(), Laplace(1.0)))
        node.broadcast(x=node.privatize(np.tanh(await node.gradient(node.zeros())) + s**5, Laplace(2.0)))
        node.estimate(node.zeros())


class SentTwice(Gated):
    """By the difference of the same number, sent twice."""

    async def bound(self, node):
        v = node.privatize(node.zeros(), Laplace(1.0))
        return 0.5 + np.abs(await self.received(node, v) - await self.received(node, v))


class SentClipped(Gated):
    """By what its sender has clipped."""

    async def bound(self, node):
        s = node.privatize(node.zeros(), Laplace(1.0))
        return 0.5 + np.abs(await self.received(node, np.clip(s, -1.0, 1.0)))


@dataclass(frozen=True)
class Rarely(Gated):
    """By Gaussian numbers, and beside Gaussian noise."""

    delta: float = 0.01
    epsilon: float = 2.0691  # as far as 3.09 deviations, and beyond with a probability of 0.002
    deviation: float = 4.0

    async def run(self, node):
        s = await self.received(node, node.privatize(node.zeros(), Gaussian(1.0)))
        g, t = await node.gradient(node.zeros()), self.far(s)
        node.broadcast(x=node.privatize(0.5 * (np.abs(10 * g + t) - np.abs(10 * g - t)), Gaussian(self.deviation)))
        node.estimate(node.zeros())

    def far(self, s):
        return s


@dataclass(frozen=True)
class RarelyFar(Rarely):
    """Far with a probability of 0.001."""

    delta: float = 1e-5
    epsilon: float = gaussian_epsilon(0.15, 1e-5)
    deviation: float = 8.0

    def far(self, s):
        return 0.5 + np.clip(100 * (np.abs(s) - 1.9), 0.0, 4.0)


FALSE = {
    "far and of one sign": (Gated(), ()),
    "discrete Laplace": (GatedByWholeNumbers(), ()),
    "discrete Gaussian": (GatedByDiscreteGaussian(), ()),
    "its own discrete release": (ByItsOwn(), ()),
    "its own law": (GatedByMine(), ()),
    "one record of all": (OneOfAll(epsilon=0.17), ()),
    "its code fails at larger ones": (Fails(), ()),
    "a coin draws the receiver": (ToOneNeighbor(), ()),
    "a coin draws a batch beside": (BesideABatch(), ()),
    "who knows the coins, by an option": (BesideABatch(), ("audit.coins=known",)),
    "more likely than δ": (RarelyFar(), ()),
    "who knows the coins, by the claim": (BesideABatch(coins="known"), ()),
}
REFUTED = "one record of all", "a coin draws a batch beside"
"""Of these, those whose secret coins are priced where such numbers are received."""
SOUND = {
    "its noise drowns there": (Fifth(epsilon=1.0001), ()),
    "as far as discrete noise is claimed to move it": (GatedByWholeNumbers(epsilon=1.001), ()),
    "beside its own law, alike": (AlwaysBesideMine(), ()),
    "one record of all": (OneOfAll(epsilon=0.1947618), ()),
    "sent twice": (SentTwice(epsilon=0.126), ()),
    "clipped by its sender": (SentClipped(epsilon=0.376), ()),
    "what δ leaves": (Rarely(), ()),
}


def audited(algorithm, options):
    return scenarios.audit(algorithm, None, "data.dimension=1", "audit.agent=0", *options, trials=50)


@pytest.mark.parametrize("case", FALSE)
def test_what_costs_more_where_possible_numbers_are_received_is_not_consistent(case):
    found = audited(*FALSE[case])
    assert found.verdict == ("refuted" if case in REFUTED else "underpowered")
    assert case in REFUTED or ELSEWHERE in found.audit.reason


@pytest.mark.parametrize("case", SOUND)
def test_what_nobody_can_receive_is_no_doubt(case):
    found = audited(*SOUND[case])
    assert ELSEWHERE not in found.audit.reason
    assert found.verdict in ("consistent", "underpowered")


UNKNOWN = {
    "beside its own law": (GatedBesideMine(), "its data move what it releases farther, and of Mine it is not known"),
    "by its own law on a grid": (GatedByMineOnGrid(), "its data move what it releases farther, and of MineOnGrid it"),
    "its code fails": (Fails(most=10.0), "its code fails (ValueError: too large)"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_where_nobody_knows_what_other_numbers_cost_it_says_so(case):
    algorithm, words = UNKNOWN[case]
    found = audited(algorithm, ())
    assert found.verdict == "underpowered"
    assert f"Where agent 0 receives other numbers than in this run, {words}" in found.audit.reason


VALUE = 3.0 + np.arange(6.0) * np.ones((COPIES, 1))
SCALE = np.array([0.0, 1.0, 2.0, 1.0, 1.0, 1.0])


LAWS = [Laplace, Gaussian, partial(DiscreteLaplace, step=0.125), partial(DiscreteGaussian, step=0.125)]


@pytest.mark.parametrize("law", LAWS)
def test_noise_puts_a_release_anywhere_and_leaves_what_has_none(law):
    def made(noise, value=VALUE):
        rng = noise.of(0)(np.random.default_rng(1))
        return np.stack([rng.released(law(SCALE), value) for _ in range(2)])

    plainly, small = made(Times(1.0), VALUE[:1]), made(Times(1e-6), VALUE[:1])
    expected = 1e-6 * plainly[..., 1:]
    if (step := getattr(law(SCALE), "step", None)) is not None:
        expected = step * np.rint(expected / step)
    np.testing.assert_allclose(small[..., 1:], expected)
    every = made(Anywhere())
    np.testing.assert_array_equal(every[..., 0], VALUE[:, 0] * np.ones((2, 1)))
    np.testing.assert_array_equal(every[:, 0], made(Times(1.0))[:, 0])
    one = every[0, :, 1:]
    for sign in (-1, 1):
        assert np.any(np.all(sign * one > 1e3, axis=-1))
        assert np.any(np.all(np.abs(one) < 1e-3, axis=-1))


@pytest.mark.parametrize("law", LAWS)
def test_noise_is_no_longer_than_what_is_left_to_delta(law):
    order, delta, most = (1, 0.05, 8.0) if hasattr(law(1.0), "scale") else (2, 0.05, 3.3)
    streams = [Typical(delta, {0: (3, 3), 1: (3,)}).of(agent)(np.random.default_rng(agent)) for agent in (0, 0, 1)]
    streams[1] = streams[0]
    drawn = np.stack([rng.released(law(1.0), np.zeros((COPIES, 3))) for rng in streams])
    lengths = np.linalg.norm(drawn, ord=order, axis=-1)
    assert np.all(lengths[:, 2::2] <= most)
    shortest, longest = Typical(delta, {})._lengths(order, 9, 9)[[0, -1]]
    total = np.sum(lengths[:, 2::2] ** order, axis=0) ** (1 / order)
    rounded = 9 ** (1 / order) * getattr(law(1.0), "step", 0.0)
    assert shortest - rounded <= total.min() < total.max() <= longest
