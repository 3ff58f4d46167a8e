"""Algorithms of somebody's own, sound and unsound, of which an audit looks for the worst pair.

They are copied to where a command finds them as `mine.py:NAME`. `Sound` is what it claims; of the others a docstring
says how they differ from it, where the name does not.
"""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from netsim.algorithms import Algorithm
from netsim.claims import Claim, Clip
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import choose, subset


@dataclass(frozen=True)
class Sound(Algorithm):
    rounds: int = 4
    step: float = 0.2
    scale: float = 2.0
    bound: float = 1.0
    clipped: bool = True

    def noise(self, node):
        return Laplace(self.scale)

    def released(self, node, gradient, before):
        return node.privatize(gradient, self.noise(node))

    async def run(self, node):
        x, before = node.zeros(), node.zeros()
        self.begin(node)
        for _ in range(self.rounds):
            g = await node.gradient(x)
            g = Clip(self.bound, "l1")(g) if self.clipped else g
            received = await node.exchange(g=self.released(node, g, before))
            x, before = x - self.step * received.mix("g"), g
            node.estimate(x)

    def begin(self, node):
        pass

    def sensitivity(self):
        return 2 * self.bound * self.rounds

    def claim(self, adjacency, setting, delta):
        return Claim(self.sensitivity() / self.scale, 0.0, "a theorem", adjacency, "l1")


@dataclass(frozen=True)
class Skips(Sound):
    """Takes part in a round with probability one half."""

    rounds: int = 2

    def released(self, node, gradient, before):
        return super().released(node, gradient, before) if node.coins.random() < 0.5 else node.zeros()


class Telescoping(Sound):
    """The sum of all releases telescopes, so they cost what one costs, the author says."""

    def sensitivity(self):
        return 2 * self.bound


class SoundApart(Sound):
    """The noise is a release of zeros, which no message carries."""

    def released(self, node, gradient, before):
        return gradient + node.privatize(node.zeros(), self.noise(node))


class Apart(SoundApart):
    def sensitivity(self):
        return self.bound * self.rounds


class HalfSensitivity(Sound):
    def sensitivity(self):
        return self.bound * self.rounds


class LessNoise(Sound):
    def noise(self, node):
        return Laplace(0.9 * self.scale)


class OneAgent(Sound):
    """Only agent 3 has less noise."""

    def noise(self, node):
        return Laplace(self.scale * (0.5 if node.id == 3 else 1.0))


class Reused(Sound):
    async def run(self, node):
        x, noise = node.zeros(), node.privatize(node.zeros(), Laplace(self.scale))
        for _ in range(self.rounds):
            g = Clip(self.bound, "l1")(await node.gradient(x))
            received = await node.exchange(g=g + noise)
            x = x - self.step * received.mix("g")
            node.estimate(x)


class Twice(Sound):
    """A step with the clipped gradient, and the gradient itself, clipped too or not."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = await node.gradient(x)
            bounded = Clip(self.bound, "l1")(g)
            moved = node.privatize(x - self.step * bounded, Laplace(self.step * self.scale))
            first = await node.exchange(x=moved)
            second = await node.exchange(g=self.released(node, bounded if self.clipped else g, g))
            x = first.mix("x") - self.step * second.mix("g")
            node.estimate(x)

    def sensitivity(self):
        return 4 * self.bound * self.rounds


class Asserts(Sound):
    async def run(self, node):
        first = await node.gradient(node.zeros())
        assert np.all(np.abs(first) < 1e5)
        await super().run(node)


class LeavesOneOut(Sound):
    """The last coordinate is not clipped."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = (await node.gradient(x)).copy()
            g[:, :-1] = Clip(self.bound, "l1")(g[:, :-1])
            received = await node.exchange(g=node.privatize(g, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)


class OneForgets(Twice):
    """Agent 3 alone forgets the second clip."""

    def released(self, node, gradient, before):
        return super().released(node, before if node.id == 3 else gradient, before)


class Stretches(Sound):
    """Clipped in ℓ1 at public points, with Gaussian noise: a change by h in ℓ2 becomes one by up to √d·h."""

    norm: str = "l1"

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, Gaussian(self.scale / 4)))
            g = Clip(10 * self.bound, self.norm)(await node.gradient(received.sent("x")))
            x = received.mix("x") - self.step * g
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        moved = adjacency.gradient_change * self.step * (self.rounds - 1) ** 0.5 / (self.scale / 4)
        return Claim(gaussian_epsilon(moved, 1e-3), 1e-3, "a theorem", adjacency, "l2")


class StretchesNot(Stretches):
    norm: str = "l2"


class Increments(Sound):
    """What is released is what is new in the gradient: of a change that never turns that costs once."""

    def released(self, node, gradient, before):
        return node.privatize(gradient - before, self.noise(node))

    def sensitivity(self):
        return 2 * self.bound


class SoundIncrements(Increments):
    """The first release moves by 2C at most, each later one by 4C."""

    def sensitivity(self):
        return 2 * self.bound + 4 * self.bound * (self.rounds - 1)


class Frozen(HalfSensitivity):
    """Coordinate 0 is not sent."""

    def released(self, node, gradient, before):
        return node.privatize(gradient * (np.arange(node.dimension) > 0), self.noise(node))


class Guarded(HalfSensitivity):
    """Refuses data that are out of all reason."""

    async def run(self, node):
        if np.any(np.abs(await node.gradient(node.zeros())) > 1e5):
            raise ValueError("gradient out of range")
        await super().run(node)


class Gentle(Sound):
    """Lets gradients of one size through ten times as large: near 0, or so far out that it looks unbounded."""

    peak: float = 0.01

    async def run(self, node):
        g = await node.gradient(node.zeros())
        size = np.sum((g / self.peak) ** 2, axis=-1, keepdims=True)
        g = Clip(self.bound, "l1")(g) + 10 * g / self.peak * np.exp(-size)
        await node.exchange(g=node.privatize(g, self.noise(node)))
        node.estimate(g)

    def sensitivity(self):
        return 2 * self.bound


class GentleFarOut(Gentle):
    peak: float = 3e6


class FallsAgain(Sound):
    """What it releases is longest for a gradient of length C, and 0 far out."""

    share: float = 1.9

    def bounded(self, g):
        size = np.sum(np.abs(g), axis=-1, keepdims=True) + 1e-12
        return g * np.minimum(1.0, (self.bound / size) ** 2)

    async def run(self, node):
        g = self.bounded(await node.gradient(node.zeros()))
        await node.exchange(g=node.privatize(g, self.noise(node)))
        node.estimate(g)

    def sensitivity(self):
        return self.share * self.bound


class ClipsOutliers(FallsAgain):
    share: float = 5.4

    def bounded(self, g):
        size = np.sum(np.abs(g), axis=-1, keepdims=True) + 1e-12
        return np.where(size > 3 * self.bound, g * self.bound / size, g)


class SilentFarOut(Sound):
    """Releases nothing where gradients are large."""

    async def run(self, node):
        g = await node.gradient(node.zeros())
        if np.abs(g).max() < 10:
            await node.exchange(g=node.privatize(Clip(self.bound, "l1")(g), self.noise(node)))
        node.estimate(g)


class NearItsClip(Sound):
    """A small clip in ℓ1: from (C, 0) to (C, h) it goes to (C, h)·C/(C + h)."""

    async def run(self, node):
        g = Clip(0.05, "l1")(await node.gradient(node.zeros()))
        await node.exchange(g=node.privatize(g, self.noise(node)))
        node.estimate(g)

    def sensitivity(self):
        return 0.02


class Part(Sound):
    """Three coordinates are released, with zeros beside them; in `Silent` all, three 0 without noise."""

    async def run(self, node):
        g = Clip(self.bound, "l1")((await node.gradient(node.zeros()))[:, :3])
        z = np.concatenate([node.privatize(g, self.noise(node)), node.zeros()[:, 3:]], axis=-1)
        await node.exchange(g=z)
        node.estimate(z)

    def sensitivity(self):
        return 2 * self.bound


class Silent(Part):
    async def run(self, node):
        on = np.arange(node.dimension) < 3
        g = Clip(self.bound, "l1")(on * await node.gradient(node.zeros()))
        await node.exchange(g=node.privatize(g, Laplace(self.scale * on)))
        node.estimate(g)


class Converged(Part):
    async def run(self, node):
        g = await node.gradient(node.zeros())
        if np.abs(g).max() < 1e-6:
            raise RuntimeError("converged")
        await node.exchange(g=node.privatize(Clip(self.bound, "l1")(g), self.noise(node)))
        node.estimate(g)


class Solves(Part):
    """A local problem, to a tolerance that rounding does not reach where data are far away."""

    async def run(self, node):
        y, going, steps = node.zeros(), np.ones((node.replicas, 1), dtype=bool), 0
        while np.any(going):
            step = await node.gradient(y) + y
            going = going & (np.max(np.abs(step), axis=-1, keepdims=True) > 1e-9)
            y, steps = np.where(going, y - 0.5 * step, y), steps + 1
            if steps > 4000:
                raise KeyboardInterrupt
        await node.exchange(y=node.privatize(Clip(self.bound, "l1")(y), self.noise(node)))
        node.estimate(y)


class OneCoordinate(Sound):
    """Less noise in coordinate 3, more in the others."""

    def noise(self, node):
        return Laplace(self.scale * np.where(np.arange(node.dimension) == 3, 0.8, 1.5))


class PerRecord(Sound):
    """Every record's gradient is clipped: one record moves the mean by 2C/m."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            parts = [Clip(self.bound, "l1")(await node.gradient(x, [k])) for k in range(node.records)]
            received = await node.exchange(g=node.privatize(sum(parts) / node.records, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        sensitivity = 2 * self.bound * self.rounds / min(setting.records)
        return Claim(sensitivity / self.scale, 0.0, "a theorem", adjacency, "l1")


class OneRecord(PerRecord):
    """Record 5 counts twice."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            parts = [Clip(self.bound, "l1")(await node.gradient(x, [k])) for k in range(node.records)]
            received = await node.exchange(g=node.privatize((sum(parts) + parts[5]) / node.records, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)


class LastBatch(PerRecord):
    """The mean of three records at a time, of which the last batch has two."""

    async def run(self, node):
        x = node.zeros()
        for first in range(0, node.records, 3):
            batch = range(first, min(first + 3, node.records))
            parts = [Clip(self.bound, "l1")(await node.gradient(x, [k])) for k in batch]
            received = await node.exchange(g=node.privatize(sum(parts) / len(parts), self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        return Claim(2 * self.bound / 3 / self.scale, 0.0, "a theorem", adjacency, "l1")


class BareRecord(PerRecord):
    """Record 5 is sent as well."""

    async def run(self, node):
        await node.exchange(g=Clip(self.bound, "l1")(await node.gradient(node.zeros(), [5])))
        await super().run(node)


class LocalEpoch(PerRecord):
    """A local pass over the records, at a step each, as if one record moved none of the other answers."""

    fresh: bool = False

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            moved = node.zeros()
            for k in range(node.records):
                moved = moved - Clip(self.bound, "l1")(await node.gradient(x if self.fresh else x + moved, [k]))
            x = x + (await node.exchange(d=node.privatize(moved / node.records, self.noise(node)))).mix("d")
            node.estimate(x)


class SoundEpoch(LocalEpoch):
    fresh: bool = True


class OfAMean(PerRecord):
    """One release, and the claim of a mean of clipped gradients."""

    def sensitivity(self):
        return 2 * self.bound

    def claim(self, adjacency, setting, delta):
        return Claim(self.sensitivity() / self.scale / min(setting.records), 0.0, "a theorem", adjacency, "l1")


class LaterEpoch(OfAMean):
    """Three records at one point, a local pass over the others, and a function that is no affine one."""

    async def run(self, node):
        moved = total = node.zeros()
        for k in range(node.records):
            part = Clip(self.bound, "l1")(await node.gradient(moved, [k]))
            moved, total = (moved, total + part) if k < 3 else (moved - part, total)
        node.broadcast(d=node.privatize(10 * np.tanh((total + moved) / 10 / node.records), self.noise(node)))
        node.estimate(moved)


class CoordinateOfOne(LaterEpoch):
    """Record 5 counts twice in one coordinate, and not at all in another."""

    async def run(self, node):
        x = total = node.zeros()
        for k in range(node.records):
            weights = np.array([1.0, 1, 1, 2, 0, 1] if k == 5 else [1.0] * 6)
            total = total + weights * Clip(self.bound, "l1")(await node.gradient(x, [k]))
        node.broadcast(g=node.privatize(total / node.records, self.noise(node)))
        node.estimate(x)


class OneAtOnce(PerRecord):
    """The last record is in the first of eight releases, the others in all of them, an eighth as much."""

    async def run(self, node):
        x = node.zeros()
        for t in range(8):
            parts = [Clip(self.bound, "l1")(await node.gradient(x, [k])) for k in range(node.records)]
            total = sum(parts[:-1], (8.0 if t == 0 else 0.0) * parts[-1]) / 2
            x = x - self.step * (await node.exchange(g=node.privatize(total, self.noise(node)))).mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        return Claim(3.3, 0.01, "the composition of eight", adjacency, "l1")


class Once(Sound):
    """One release, times a secret number of no weight."""

    async def run(self, node):
        weight = choose(node.coins, [1.0, 1.001])
        released = self.released(node, weight * await self.value(node), None)
        node.broadcast(g=released)
        node.estimate(released)

    async def value(self, node):
        return Clip(self.bound, "l1")(await node.gradient(node.zeros()))

    def falls(self, node):
        fallen = [choose(node.coins, range(8)) for _ in range(2)]
        return node.id == 3 and fallen[0] == 0 and fallen[1] == 0

    def sensitivity(self):
        return 2.01 * self.bound


class SecondDifference(Once):
    """g(0) − 2 g(1) + g(2), each clipped: 8C / scale, where answers turn twice."""

    async def value(self, node):
        a, b, c = [Clip(self.bound, "l1")(await node.gradient(node.zeros() + t)) for t in range(3)]
        return a - 2 * b + c

    def sensitivity(self):
        return 5.2 * self.bound


class OtherLeavesItOut(Once):
    """Agent 3 leaves the noise out where two of its coins fall."""

    def released(self, node, gradient, before):
        return gradient if self.falls(node) else super().released(node, gradient, before)


class OtherIsQuieter(Once):
    def noise(self, node):
        return Laplace(self.scale / (100 if self.falls(node) else 1))


class Middle(OfAMean):
    """The median of all records' clipped gradients, as if one record moved it by no more than a mean."""

    rounds: int = 1

    def of(self, parts):
        return np.median(parts, axis=0)

    async def run(self, node):
        x = node.zeros()
        parts = [np.clip(await node.gradient(x, [k]), -1, 1) for k in range(node.records)]
        node.broadcast(g=node.privatize(self.of(np.stack(parts)), self.noise(node)))
        node.estimate(x)


class LastButOne(Middle):
    def of(self, parts):
        return np.partition(parts, 1, axis=0)[1]


class Batches(Sound):
    """One record a round: eight of them, so that each is in one batch of eight."""

    amplified: bool = False

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = await node.gradient(x, subset(node.coins, node.records, 1))
            g = Clip(self.bound, "l1")(g) if self.clipped else g
            received = await node.exchange(g=node.privatize(g, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        one = 2 * self.bound / self.scale
        amplified = np.log1p(np.expm1(one) / 8) if self.amplified else one / 8
        return Claim(self.rounds * float(amplified), 0.0, "a theorem", adjacency, "l1")


class Amplified(Batches):
    amplified: bool = True


class Halved(Batches):
    """Batches of three that nobody looks at, at weights that coins choose: 12,544 histories together."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(2):
            weight = choose(node.coins, [1.0, 0.5])
            g = Clip(self.bound, "l1")(await node.gradient(x, subset(node.coins, node.records, 3)))
            received = await node.exchange(g=node.privatize(weight * g, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        return Claim(4 * self.bound / self.scale, 0.0, "a theorem", adjacency, "l1", coins="known")


class OtherNorm(Sound):
    """Laplace noise hides what is moved in ℓ1; the author takes the ℓ2 norm for it."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, Laplace(self.scale / 20)))
            x = received.mix("x") - self.step * await node.gradient(received.sent("x"))
            node.estimate(x)

    def moved(self, adjacency, dimension):
        return adjacency.gradient_change

    def claim(self, adjacency, setting, delta):
        epsilon = self.step * self.moved(adjacency, setting.dimension) * (self.rounds - 1) / (self.scale / 20)
        return Claim(epsilon, 0.0, "a theorem", adjacency, "l1")


class RightNorm(OtherNorm):
    def moved(self, adjacency, dimension):
        return adjacency.in_norm("l1", dimension)


class EachRecord(OtherNorm):
    """A step along one record's gradient after the other, or along two: no claim counts a record twice."""

    overlap: bool = False

    async def run(self, node):
        x = node.zeros()
        for t in range(self.rounds):
            batch = [t, t + 1] if self.overlap else [t]
            received = await node.exchange(x=node.privatize(x, Laplace(self.scale / 20)))
            x = received.mix("x") - self.step * await node.gradient(received.sent("x"), batch)
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        moved = adjacency.in_norm("l1", setting.dimension) * min(setting.records) / (1 + self.overlap)
        return Claim(self.step * moved / (self.scale / 20), 0.0, "a theorem", adjacency, "l1")


class Overlapping(EachRecord):
    overlap: bool = True


class Total(OtherNorm):
    """The sum of the gradients of all its records, however many it has, hidden by the same noise."""

    share: float = 1.0

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            total = node.privatize(node.records * await node.gradient(x), Laplace(self.scale))
            x = x - self.step * (await node.exchange(x=total)).mix("x") / 9
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        moved = adjacency.in_norm("l1", setting.dimension) * min(setting.records)
        return Claim(self.share * self.rounds * moved / self.scale, 0.0, "a theorem", adjacency, "l1")


class TotalTooLow(Total):
    share: float = 0.95


class Squared(OtherNorm):
    """‖g² − g'²‖₁ ≤ ‖g − g'‖₂ ‖g + g'‖₂ ≤ 2δ where no record's gradient is longer than 1."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = await node.gradient(x)
            x = (await node.exchange(g=node.privatize(g**2, Laplace(self.scale / 20)))).sent("g")
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        epsilon = 2 * adjacency.gradient_change * self.rounds / (self.scale / 20)
        return Claim(epsilon, 0.0, "a theorem", adjacency, "l1")


class OfRecords(RightNorm):
    """Says more of a constant change than of a record."""

    def moved(self, adjacency, dimension):
        return super().moved(adjacency, dimension) * (2.0 if adjacency.constant else 1.0)


class Differences(Sound):
    """What is released is by how much a gradient differs between two public points: ‖h‖₂ times by how much a
    curvature changes, and twice what a gradient does. Of a constant change that is nothing."""

    async def run(self, node):
        g = await node.gradient(node.zeros()) - await node.gradient(node.zeros() + 0.1)
        await node.exchange(g=node.privatize(Clip(self.bound, "l2")(g), self.noise(node)))
        node.estimate(g)

    def moved(self, adjacency, dimension):
        return 0.1 * dimension**0.5 * adjacency.curvature_change

    def claim(self, adjacency, setting, delta):
        moved = setting.dimension**0.5 * self.moved(adjacency, setting.dimension)
        return Claim(moved / self.scale, 0.0, "a theorem", adjacency, "l1")


class TwoGradients(Differences):
    def moved(self, adjacency, dimension):
        return 0.0 if adjacency.constant else 2 * adjacency.gradient_change


@dataclass(frozen=True)
class Swapped(Algorithm):
    """The second of two records counts most, but where a public number is above a threshold."""

    above: float

    async def run(self, node):
        public = node.privatize(node.zeros(), Laplace(1.0))
        node.broadcast(public=public)
        one, two = [np.clip(await node.gradient(node.zeros(), [k]), -1.0, 1.0) for k in range(2)]
        value = np.where(public > self.above, 4 * one + two, one + 2 * two)
        node.broadcast(x=node.privatize(value, Laplace(1.0)))
        node.estimate(public)


class WhereOpen(Sound):
    """One release, which is another one where a public number is above a threshold: in one transcript of ten."""

    above: float = math.log(5.0)

    async def run(self, node):
        public = node.privatize(node.zeros(), Laplace(1.0))
        received = await node.exchange(public=public)
        seen = self.asked(public, received, node)
        each = np.array([np.clip(await node.gradient(node.zeros(), [k]), -1.0, 1.0) for k in range(node.records)])
        value = np.where(seen > self.above, *(np.asarray(one) for one in self.values(each)))
        await node.exchange(x=node.privatize(value, Laplace(1.0)))
        node.estimate(public)

    def asked(self, public, received, node):
        return public


class MedianWhereOpen(WhereOpen):
    def values(self, each):
        return 4 * np.median(each[:3], axis=0), each[:3].sum(axis=0)


class OneOfSeenWhereOpen(WhereOpen):
    """And the number is one that was received, in one of a thousand."""

    above: float = math.log(500.0)

    def asked(self, public, received, node):
        return received["public"][node.neighbors[0]]

    def values(self, each):
        return 4 * each[0], each[1]


class NothingUnlessOpen(WhereOpen):
    above: float = math.log(50.0)

    def values(self, each):
        return each[0], 0 * each[0]


class PointWhereOpen(Sound):
    """It asks at another point where a public number is above a threshold, in one transcript of a hundred."""

    async def run(self, node):
        public = node.privatize(node.zeros(), Laplace(1.0))
        node.broadcast(public=public)
        there = np.where(public > math.log(50.0), 5.0, 0.0)
        one, two = [np.clip(await node.gradient(x), -1.0, 1.0) for x in (there, node.zeros())]
        node.broadcast(x=node.privatize(one - two, Laplace(1.0)))
        node.estimate(public)
