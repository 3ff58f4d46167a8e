"""Without an option an audit looks for the worst pair within its claim: what is wrong is refuted."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attacks.audit.loss import comparison
from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.pair import FIRST_CHUNK, estimated
from netsim import topology
from netsim.algorithms.extra import Extra
from netsim.errors import ScenarioError, StalledError
from netsim.network.links import LinkLaw
from netsim.problems import LogisticLoss, Problem, Tilted
from netsim.simulation import Simulation
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.schema import Scenario
from scenarios.stages import worst_pair
from scenarios.stages.drawn_pairs import bounds_releases
from scenarios.stages.runner import run_scenario
from scenarios.stages.witness import completed, confirm
from scenarios.stages.witness_file import WitnessFile
from scenarios.stages.worlds import BRIEFLY, AuditOptions, agents_of, holding, worlds
from scenarios.stages.worlds import audited as audited_pair
from scenarios.stages.worst_pair import SATURATED, constant_change, holds_for_any_change, pair_for, share_left
from tests.scenarios.command import cli

MINE = """\
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
    \"\"\"Takes part in a round with probability one half.\"\"\"

    rounds: int = 2

    def released(self, node, gradient, before):
        return super().released(node, gradient, before) if node.coins.random() < 0.5 else node.zeros()


class Telescoping(Sound):
    \"\"\"The sum of all releases telescopes, so they cost what one costs, the author says.\"\"\"

    def sensitivity(self):
        return 2 * self.bound


class SoundApart(Sound):
    \"\"\"The noise is a release of zeros, which no message carries.\"\"\"

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
    \"\"\"Only agent 3 has less noise.\"\"\"

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
    \"\"\"A step with the clipped gradient, and the gradient itself, clipped too or not.\"\"\"

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
    \"\"\"The last coordinate is not clipped.\"\"\"

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            g = (await node.gradient(x)).copy()
            g[:, :-1] = Clip(self.bound, "l1")(g[:, :-1])
            received = await node.exchange(g=node.privatize(g, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)


class OneForgets(Twice):
    \"\"\"Agent 3 alone forgets the second clip.\"\"\"

    def released(self, node, gradient, before):
        return super().released(node, before if node.id == 3 else gradient, before)


class Stretches(Sound):
    \"\"\"Clipped in ℓ1 at public points, with Gaussian noise: a change by h in ℓ2 becomes one by up to √d·h.\"\"\"

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
    \"\"\"What is released is what is new in the gradient: of a change that never turns that costs once.\"\"\"

    def released(self, node, gradient, before):
        return node.privatize(gradient - before, self.noise(node))

    def sensitivity(self):
        return 2 * self.bound


class SoundIncrements(Increments):
    \"\"\"The first release moves by 2C at most, each later one by 4C.\"\"\"

    def sensitivity(self):
        return 2 * self.bound + 4 * self.bound * (self.rounds - 1)


class Frozen(HalfSensitivity):
    \"\"\"Coordinate 0 is not sent.\"\"\"

    def released(self, node, gradient, before):
        return node.privatize(gradient * (np.arange(node.dimension) > 0), self.noise(node))


class Guarded(HalfSensitivity):
    \"\"\"Refuses data that are out of all reason.\"\"\"

    async def run(self, node):
        if np.any(np.abs(await node.gradient(node.zeros())) > 1e5):
            raise ValueError("gradient out of range")
        await super().run(node)


class Gentle(Sound):
    \"\"\"Lets gradients of one size through ten times as large: near 0, or so far out that it looks unbounded.\"\"\"

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
    \"\"\"What it releases is longest for a gradient of length C, and 0 far out.\"\"\"

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
    \"\"\"Releases nothing where gradients are large.\"\"\"

    async def run(self, node):
        g = await node.gradient(node.zeros())
        if np.abs(g).max() < 10:
            await node.exchange(g=node.privatize(Clip(self.bound, "l1")(g), self.noise(node)))
        node.estimate(g)


class NearItsClip(Sound):
    \"\"\"A small clip in ℓ1: from (C, 0) to (C, h) it goes to (C, h)·C/(C + h).\"\"\"

    async def run(self, node):
        g = Clip(0.05, "l1")(await node.gradient(node.zeros()))
        await node.exchange(g=node.privatize(g, self.noise(node)))
        node.estimate(g)

    def sensitivity(self):
        return 0.02


class Part(Sound):
    \"\"\"Three coordinates are released, with zeros beside them; in `Silent` all, three 0 without noise.\"\"\"

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
    \"\"\"A local problem, to a tolerance that rounding does not reach where data are far away.\"\"\"

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
    \"\"\"Less noise in coordinate 3, more in the others.\"\"\"

    def noise(self, node):
        return Laplace(self.scale * np.where(np.arange(node.dimension) == 3, 0.8, 1.5))


class PerRecord(Sound):
    \"\"\"Every record's gradient is clipped: one record moves the mean by 2C/m.\"\"\"

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
    \"\"\"Record 5 counts twice.\"\"\"

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            parts = [Clip(self.bound, "l1")(await node.gradient(x, [k])) for k in range(node.records)]
            received = await node.exchange(g=node.privatize((sum(parts) + parts[5]) / node.records, self.noise(node)))
            x = x - self.step * received.mix("g")
            node.estimate(x)


class LastBatch(PerRecord):
    \"\"\"The mean of three records at a time, of which the last batch has two.\"\"\"

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
    \"\"\"Record 5 is sent as well.\"\"\"

    async def run(self, node):
        await node.exchange(g=Clip(self.bound, "l1")(await node.gradient(node.zeros(), [5])))
        await super().run(node)


class LocalEpoch(PerRecord):
    \"\"\"A local pass over the records, at a step each, as if one record moved none of the other answers.\"\"\"

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


class LaterEpoch(PerRecord):
    \"\"\"Three records at one point, a local pass over the others, and a function that is no affine one.\"\"\"

    async def run(self, node):
        moved = total = node.zeros()
        for k in range(node.records):
            part = Clip(self.bound, "l1")(await node.gradient(moved, [k]))
            moved, total = (moved, total + part) if k < 3 else (moved - part, total)
        node.broadcast(d=node.privatize(10 * np.tanh((total + moved) / 10 / node.records), self.noise(node)))
        node.estimate(moved)

    def sensitivity(self):
        return 2 * self.bound

    def claim(self, adjacency, setting, delta):
        return Claim(self.sensitivity() / self.scale / min(setting.records), 0.0, "a theorem", adjacency, "l1")


class CoordinateOfOne(LaterEpoch):
    \"\"\"Record 5 counts twice in one coordinate, and not at all in another.\"\"\"

    async def run(self, node):
        x = total = node.zeros()
        for k in range(node.records):
            weights = np.array([1.0, 1, 1, 2, 0, 1] if k == 5 else [1.0] * 6)
            total = total + weights * Clip(self.bound, "l1")(await node.gradient(x, [k]))
        node.broadcast(g=node.privatize(total / node.records, self.noise(node)))
        node.estimate(x)


class OneAtOnce(PerRecord):
    \"\"\"The last record is in the first of eight releases, the others in all of them, an eighth as much.\"\"\"

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
    \"\"\"One release, times a secret number of no weight.\"\"\"

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
    \"\"\"g(0) − 2 g(1) + g(2), each clipped: 8C / scale, where answers turn twice.\"\"\"

    async def value(self, node):
        a, b, c = [Clip(self.bound, "l1")(await node.gradient(node.zeros() + t)) for t in range(3)]
        return a - 2 * b + c

    def sensitivity(self):
        return 5.2 * self.bound


class OtherLeavesItOut(Once):
    \"\"\"Agent 3 leaves the noise out where two of its coins fall.\"\"\"

    def released(self, node, gradient, before):
        return gradient if self.falls(node) else super().released(node, gradient, before)


class OtherIsQuieter(Once):
    def noise(self, node):
        return Laplace(self.scale / (100 if self.falls(node) else 1))


class Middle(PerRecord):
    \"\"\"The median of all records' clipped gradients, as if one record moved it by no more than a mean.\"\"\"

    rounds: int = 1

    def of(self, parts):
        return np.median(parts, axis=0)

    async def run(self, node):
        x = node.zeros()
        parts = [np.clip(await node.gradient(x, [k]), -1, 1) for k in range(node.records)]
        node.broadcast(g=node.privatize(self.of(np.stack(parts)), self.noise(node)))
        node.estimate(x)

    def sensitivity(self):
        return 2 * self.bound

    def claim(self, adjacency, setting, delta):
        return Claim(self.sensitivity() / self.scale / min(setting.records), 0.0, "a theorem", adjacency, "l1")


class LastButOne(Middle):
    def of(self, parts):
        return np.partition(parts, 1, axis=0)[1]


class Batches(Sound):
    \"\"\"One record a round: eight of them, so that each is in one batch of eight.\"\"\"

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
    \"\"\"Batches of three that nobody looks at, at weights that coins choose: 12,544 histories together.\"\"\"

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
    \"\"\"Laplace noise hides what is moved in ℓ1; the author takes the ℓ2 norm for it.\"\"\"

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
    \"\"\"A step along one record's gradient after the other, or along two: no claim counts a record twice.\"\"\"

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
    \"\"\"The sum of the gradients of all its records, however many it has, hidden by the same noise.\"\"\"

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
    \"\"\"‖g² − g'²‖₁ ≤ ‖g − g'‖₂ ‖g + g'‖₂ ≤ 2δ where no record's gradient is longer than 1.\"\"\"

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
    \"\"\"Says more of a constant change than of a record.\"\"\"

    def moved(self, adjacency, dimension):
        return super().moved(adjacency, dimension) * (2.0 if adjacency.constant else 1.0)


class Differences(Sound):
    \"\"\"What is released is by how much a gradient differs between two public points: ‖h‖₂ times by how much a
    curvature changes, and twice what a gradient does. Of a constant change that is nothing.\"\"\"

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
"""
pytestmark = pytest.mark.usefixtures("undrawn")
ROUNDS = 4
TRUE = 4.0
"""ε of `Sound`: four releases of what is clipped to 1 in ℓ1, Laplace noise of scale 2."""
WRONG = {
    "Telescoping": 1.0, "Apart": 2.0, "HalfSensitivity": 2.0, "LessNoise": TRUE, "OneAgent": TRUE, "Reused": TRUE,
    "Increments": 1.0, "Frozen": 2.0, "Guarded": 2.0, "OneCoordinate": TRUE, "OtherNorm": None,
    "OneRecord": None, "LastBatch": None, "BareRecord": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)


def audited(name, *words):
    """Exit status and the row of `netsim audit mine.py:NAME`."""
    command = ["audit", f"mine.py:{name}", "--trials", "50", "--jobs", "1", "--out", f"out/{name}", "--json", *words]
    done = cli(*command)
    return done.exit_code, json.loads(done.stdout)["algorithms"][0]


@pytest.mark.few("Reused-False")
@pytest.mark.parametrize(
    ("name", "by_hand"), [*((name, False) for name in WRONG), ("Telescoping", True), ("LessNoise", True)]
)
def test_a_wrong_theorem_is_refuted_without_an_option(name, by_hand):
    status, found = audited(name, *(["--epsilon", str(WRONG[name])] if by_hand else []))
    assert status == 1
    assert found["verdict"] == ("unprotected" if name in ("Reused", "BareRecord") else "refuted")
    assert confirm(WitnessFile.read(Path(found["witness"]))).verdict == found["verdict"]


@pytest.mark.few("Sound-False")
@pytest.mark.parametrize(
    ("name", "by_hand", "verdict"),
    [
        pytest.param("Sound", False, "proven", id="Sound-False"),
        pytest.param("Sound", True, "proven", id="Sound-True"),
        pytest.param("SoundIncrements", False, "proven", id="SoundIncrements"),
        pytest.param("PerRecord", False, "proven", id="PerRecord"),
        pytest.param("RightNorm", False, "proven", id="RightNorm"),
        pytest.param("SoundApart", False, "proven", id="SoundApart"),
    ],
)
def test_its_sound_twin_is_not(name, by_hand, verdict):
    status, found = audited(name, *(["--epsilon", str(TRUE)] if by_hand else []))
    assert (status, found["verdict"]) == (0, verdict)
    assert found["change_used"] > 0.99
    assert found["proven_share"] > (0.3 if name == "SoundIncrements" else 0.99)


@pytest.mark.parametrize(("name", "true"), [("Middle", 3.0), ("LastButOne", 6.0)])
def test_what_one_record_costs_is_tried_among_other_records_too(name, true):
    """Six coordinates at noise of 2: as far as a median of an even number of records, all of them in [−1, 1], or the
    second one of them, can be moved by a record, which no record does among this agent's own."""
    status, found = audited(name)
    assert (status, found["verdict"]) == (1, "refuted")
    assert found["epsilon_exact"]["lower"] == pytest.approx(true, rel=1e-6)
    assert "among other records" in found["pair"]
    path = Path(found["witness"])
    assert confirm(WitnessFile.read(path)).verdict == "refuted"
    for field, value in (("record", 1), ("others", [[0.0] * 6] * 8)):  # of one world alone
        tree = json.loads(path.read_text())
        assert len(tree["pair"]["change"]["worlds"][0]["others"]) == 8
        tree["pair"]["change"]["worlds"][0][field] = value
        altered = WitnessFile.model_validate(tree).sealed()
        with pytest.raises(ScenarioError, match="adjacent"):
            confirm(altered)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["agent", "{change: 2}"])
def test_half_the_sensitivity_is_refuted_whatever_the_adjacency(adjacency):
    assert (
        audited("HalfSensitivity", "--epsilon", "2", "-o", f"audit.adjacency={adjacency}")[1]["verdict"] == "refuted"
    )


def test_the_witness_states_the_adjacency_that_was_audited():
    """A change beyond that of a record is of any data of it: the checker reads no other adjacency than the file's."""
    _, found = audited("HalfSensitivity")
    assert "a claim of 4 would hold" in found["reason"]
    file = completed(WitnessFile.read(Path(found["witness"])))
    assert file.claim["adjacency"]["relation"].startswith("any data in place of one record of one agent")
    code = ModuleType("mine")
    exec(MINE, code.__dict__)
    checker = pytest.importorskip("attacks.audit.check_witness", reason="needs python-flint or mpmath")
    assert checker.prove(json.loads(file.text()), code).startswith("refuted")


@pytest.mark.slow
def test_the_one_pair_that_was_stated_comforts_nobody():
    """One record of data whose gradients are far below the clip: what an audit without a search would have said. A
    bound is of all pairs, whichever was stated."""
    for name, verdict in (("LessNoise", "underpowered"), ("Sound", "proven")):
        status, found = audited(name, "-o", "audit.search=null", "-o", "rounds=10", "-o", "scale=5")
        assert (status, found["verdict"]) == (0, verdict)
        assert 0.3 < found["change_used"] <= 1
        assert found["proven_share"] < 0.1
        assert ("With a tenth of the noise" in found["reason"]) is (verdict == "underpowered")


# ── what is allowed ─────────────────────────────────────────────────────────────────────────────────────
def made(name, claim=None, records=40, ridge=0.5, **audit):
    algorithm = {"kind": "python", "path": f"mine.py:{name}", "name": name, "parameters": {}}
    if name.startswith("Unclipped"):
        path = f"mine.py:{name.removeprefix('Unclipped') or 'Sound'}"
        algorithm |= {"path": path, "parameters": {"clipped": False}}
    tree = {
        "name": "own",
        "problem": {"kind": "logistic", "ridge": ridge}
        | {"data": {"name": "synthetic", "records": records, "dimension": 6, "seed": 3, "norm_bound": 1.0}},
        "topology": {"kind": "ring", "agents": 5},
        "algorithms": [algorithm | ({} if claim is None else {"claim": {"epsilon": claim}})],
        "attacks": {"gradients": False},
        "audit": {"trials": 50} | audit,
    }
    experiment = Experiment.of(Scenario.model_validate(tree))
    subject = experiment.subjects[0]
    return experiment, subject, subject.simulation.claim(experiment.adjacency, ROUNDS, 0.0)


def judged(name, **fields):
    experiment, subject, claim = made(name, search={"candidates": 8}, **fields)
    pair, _ = pair_for(experiment, subject, claim, ROUNDS, Silent())
    return audited_pair(AuditOptions(experiment.scenario, subject, pair, claim), None, None, 1)


@pytest.mark.slow
def test_of_what_nothing_bounds_the_pair_stays_within_the_adjacency():
    """A claim that ignores the change, of code that forgets to clip: a change of a million would be a false alarm
    where the author has a bound on the data in mind."""
    for claim in (None, 4.0):
        experiment, subject, claimed = made("Unclipped", claim)
        assert share_left(subject.simulation, 0, np.full(6, 1e6)) > 1
        pair, search = pair_for(experiment, subject, claimed, ROUNDS, Silent())
        own = experiment.problem.objectives[pair.agent]
        assert own.gradient_difference_bound(pair.hypotheses[1]) <= claimed.adjacency.gradient_change
        assert ("no clip or other bound was seen" in pair.description) is search.unbounded is (claim is None)
        assert 0.3 < pair.change_used <= 1


@pytest.mark.parametrize(
    ("name", "adjacency", "verdict"),
    [
        pytest.param("UnclippedTwice", "record", "underpowered", id="a clip forgotten"),
        pytest.param("OneForgets", "record", "underpowered", id="forgotten by one agent"),
        pytest.param("LeavesOneOut", "record", "underpowered", id="one coordinate left out"),
        pytest.param("Twice", "record", "proven", id="its sound twin"),
        pytest.param("Skips", "record", "proven", id="agents whose coins left them out"),
        pytest.param("Halved", "record", "proven", id="batches that nobody looks at, beside other coins"),
        pytest.param("UnclippedTwice", {"change": 0.25}, "consistent", id="a change that is stated"),
        pytest.param("Unclipped", "record", "underpowered", id="a clip forgotten before the noise"),
        pytest.param("Unclipped", {"change": 0.25}, "proven", id="a change that is stated, before the noise"),
        pytest.param("HalfSensitivity", {"change": 0.1}, "proven", id="half the sensitivity of less than the clip"),
        pytest.param("HalfSensitivity", {"change": 2.0}, "refuted", id="half the sensitivity"),
    ],
)
def test_a_claim_of_any_change_is_not_consistent_where_no_bound_was_seen(name, adjacency, verdict):
    found = judged(name, adjacency=adjacency)
    assert found.judgement.verdict.value == verdict
    assert ("no clip or other bound was seen" in found.judgement.reason) is (verdict == "underpowered")


def test_of_a_batch_the_pair_is_of_a_record_that_is_in_one():
    """Whether the gradient of a batch is clipped shows where a record of it is moved; and no other adjacency is
    advised of a claim about one record."""
    for name, bounded in (("Batches", True), ("UnclippedBatches", False)):
        experiment, subject, claim = made(name, search={"candidates": 8})
        pair, search = pair_for(experiment, subject, claim, ROUNDS, Silent())
        assert search.winner.any_change is bounded
        assert search.unbounded is not bounded
        assert (pair.doubt is None) is bounded
    assert "audit.adjacency" not in pair.doubt


@pytest.mark.slow
@pytest.mark.parametrize(("name", "verdict"), [("Batches", "refuted"), ("Amplified", "consistent")])
def test_amplification_by_sampling_is_no_product_of_rates(name, verdict):
    assert audited(name, "-o", "rounds=2", "-o", "scale=1")[1]["verdict"] == verdict


@pytest.mark.parametrize("name", ["Differences", "TwoGradients"])
@pytest.mark.parametrize("adjacency", ["record", "agent"])
def test_a_claim_of_no_constant_change_is_not_of_any(name, adjacency):
    """Where a claim of records says less of constant changes, however large, the pair stays within the adjacency."""
    experiment, subject, claim = made(name, search={"candidates": 8}, adjacency=adjacency)
    pair, search = pair_for(experiment, subject, claim, ROUNDS, Silent())
    assert not search.unbounded
    assert not search.winner.any_change
    points = np.random.default_rng(0).standard_normal((100, 6))
    zero, other = (one.gradient(points) for one in pair.hypotheses)
    assert np.max(np.linalg.norm(zero - other, axis=1)) <= claim.adjacency.gradient_change * (1 + 1e-9)
    judgement = judged(name, adjacency=adjacency).judgement
    assert judgement.verdict.value in ("consistent", "underpowered")
    assert "any change" not in judgement.reason


@pytest.mark.parametrize(("name", "verdict"), [("LocalEpoch", "underpowered"), ("SoundEpoch", "proven")])
def test_records_that_turn_by_anothers_answer_are_not_tried(name, verdict):
    found = judged(name)
    assert found.judgement.verdict.value == verdict
    assert ("moves points at which others are asked" in found.judgement.reason) is (verdict == "underpowered")


@pytest.mark.parametrize(
    ("name", "records", "verdict", "reason"),
    [
        pytest.param("CoordinateOfOne", 200, "refuted", "ε is at least 0.05", id="one record in a coordinate"),
        pytest.param("OneAtOnce", 40, "refuted", "at least 3.9", id="one release in place of eight"),
        pytest.param("LaterEpoch", 40, "underpowered", "moves points at which others are asked", id="a later record"),
        pytest.param("SecondDifference", 40, "underpowered", "at most 4.004", id="answers that turn twice"),
        pytest.param("OtherLeavesItOut", 40, "underpowered", "private coins of agent 3", id="noise of another agent"),
        pytest.param("OtherIsQuieter", 40, "underpowered", "at most 100", id="less noise of another agent"),
    ],
)
def test_a_false_claim_is_not_consistent_where_the_dearest_pair_is_seldom_met(name, records, verdict, reason):
    found = judged(name, records=records, trials=400 if name == "OneAtOnce" else 50)
    assert found.judgement.verdict.value == verdict
    assert reason in found.judgement.reason, found.judgement.reason


def test_code_may_fail_in_any_way_at_answers_that_no_objective_gives():
    found = judged("Asserts", adjacency={"change": 2.0})
    assert found.judgement.verdict.value in ("consistent", "underpowered")
    assert "AssertionError" in found.unbounded


@pytest.mark.parametrize(("name", "verdict"), [("Stretches", "refuted"), ("StretchesNot", "proven")])
def test_a_change_is_looked_for_where_a_clip_stretches_it(name, verdict):
    assert judged(name, adjacency={"change": 2.0}, trials=400).judgement.verdict.value == verdict


def test_it_is_looked_for_near_a_small_clip_too():
    assert judged("NearItsClip", adjacency={"change": 0.02}, trials=50).judgement.verdict.value == "refuted"


@pytest.mark.parametrize("name", ["Gentle", "GentleFarOut", "FallsAgain", "ClipsOutliers"])
def test_sizes_of_gradients_at_which_code_does_more_are_found(name):
    assert judged(name, trials=50).judgement.verdict.value == "refuted"


@pytest.mark.parametrize(
    ("name", "verdict"), [("Part", "underpowered"), ("Silent", "consistent"), ("Converged", "consistent")]
)
def test_parts_of_vectors_numbers_without_noise_and_guards_end_no_audit(name, verdict):
    assert judged(name, trials=400).judgement.verdict.value == verdict


def test_hardly_any_transcripts_of_a_search_are_simulated_twice(monkeypatch):
    held = list[bytes]()

    def noting(simulation, agent, *rest):
        mine, simulate = simulation.problem.objectives[agent], worlds(simulation, agent, *rest)

        def noted(world, index):
            if isinstance(mine, Tilted) and index == FIRST_CHUNK and np.any(mine.slope):
                held.append(mine.slope.tobytes() + bytes([agent]))
            return simulate(world, index)

        return noted

    monkeypatch.setattr(worst_pair, "worlds", noting)
    experiment, subject, claim = made("Sound", search={"candidates": 8})
    pair_for(experiment, subject, claim, ROUNDS, Silent())
    assert held
    assert len(held) - len(set(held)) <= 5  # one of each agent that is drawn again


def test_code_that_has_no_end_on_other_data_is_not_held_to_them(monkeypatch):
    monkeypatch.setattr(comparison, "SOLVED", 0)
    experiment, subject, claim = made("Solves", search={"candidates": 8})
    pair, search = pair_for(experiment, subject, claim, ROUNDS, Silent())
    assert search.candidates > 8
    limited = replace(subject.simulation, most_queries=2, reader="live")
    with pytest.raises(StalledError, match=r"queried its objective 2 times"):
        limited.run()
    ideal = replace(limited.network, links=LinkLaw())
    stacked = replace(limited, algorithm=Extra(rounds=3, step=0.1), network=ideal, reader="stacked")
    with pytest.raises(ScenarioError, match=r"StalledError.* queried its objective 2 times"):
        stacked.run()
    sample = worlds(subject.simulation, 0, pair.hypotheses[1], 2)(0, 0)
    with pytest.raises(StalledError, match=f"agent 0 queried its objective {comparison.PATIENCE} times"):
        replace(sample, queries=1).replayed(0, Tilted(pair.hypotheses[0], np.full(6, 1e12)), "others")


def test_a_clip_is_seen_in_what_is_sent():
    _, subject, _ = made("Sound")
    slope = 1e6 * np.eye(6)[0]
    assert share_left(subject.simulation, 0, slope) < 1e-3 < SATURATED
    # within the clip a change ten times as large counts: no bound is seen there
    assert share_left(subject.simulation, 0, 1e-3 * slope / 1e6) > 1


def test_whether_a_claim_is_of_any_change_is_asked_of_its_formula():
    experiment, subject, claim = made("Sound")
    assert holds_for_any_change(subject, claim, ROUNDS)

    class Growing(type(subject.simulation.algorithm)):
        def claim(self, adjacency, setting, delta):
            found = super().claim(adjacency, setting, delta)
            return replace(found, epsilon=found.epsilon * adjacency.gradient_change)

    simulation = replace(subject.simulation, algorithm=Growing(**vars(subject.simulation.algorithm)))
    grown = simulation.claim(experiment.adjacency, ROUNDS, 0.0)
    assert not holds_for_any_change(replace(subject, simulation=simulation), grown, ROUNDS)

    class Refusing(type(subject.simulation.algorithm)):
        def claim(self, adjacency, setting, delta):
            if adjacency.gradient_change > 10:
                raise ValueError("no such change")
            return super().claim(adjacency, setting, delta)

    simulation = replace(subject.simulation, algorithm=Refusing(**vars(subject.simulation.algorithm)))
    assert not holds_for_any_change(replace(subject, simulation=simulation), claim, ROUNDS)
    # a number that was claimed by hand is of all data, unless the scenario says by how much a gradient changes
    assert holds_for_any_change(*made("Sound", 4.0)[1:], ROUNDS)
    assert not holds_for_any_change(*made("Sound", 4.0, adjacency={"change": 2.0})[1:], ROUNDS)


def test_a_claim_of_a_record_is_of_each_constant_change_of_which_it_says_the_same():
    """One record moves the gradient by at most δ in ℓ2; a formula that knows δ alone is of all that move it so."""
    for name, stated, tried in (
        ("OtherNorm", "record", True),
        ("OfRecords", "record", False),  # says more of them
        ("Sound", "record", False),  # is of any change
        ("OtherNorm", {"change": 0.1}, False),  # the search is within these anyway
    ):
        _, subject, claim = made(name, adjacency=stated)
        size = constant_change(subject, claim, ROUNDS)
        assert size == (claim.adjacency.gradient_change if tried else None)
    for name in ("OtherNorm", "OfRecords"):
        found = judged(name)
        assert found.judgement.verdict.value == ("refuted" if name == "OtherNorm" else "proven")
        assert ("or its gradient moved" in found.claim.adjacency.relation) is (name == "OtherNorm")
        # a proof has to be of the records as well, whose gradients need not differ by the same everywhere
        assert not found.claim.adjacency.constant


@pytest.mark.parametrize(
    ("name", "fields", "verdict"),
    [
        pytest.param("EachRecord", {}, "proven", id="each record once"),
        # an agent of 9 records moves its gradient by 8/9 of what one of 8 does, and so says its bound
        pytest.param("EachRecord", {"records": 42}, "proven", id="agents of more and fewer records"),
        pytest.param("Total", {"records": 42}, "proven", id="and the sums over them"),
        pytest.param("TotalTooLow", {"records": 42}, "refuted", id="and 5 % too little claimed of these"),
        pytest.param("Overlapping", {}, "refuted", id="a record in two batches, where the first one is in one"),
        pytest.param("Squared", {"ridge": 1e-6}, "consistent", id="true of bounded data alone"),
    ],
)
def test_a_constant_change_is_one_of_allowed_data(name, fields, verdict):
    found = judged(name, **fields)
    assert found.judgement.verdict.value == verdict
    if "records" in fields:
        assert found.pair.change_used == pytest.approx(1.0)


def test_code_that_releases_nothing_far_out_bounds_nothing():
    _, subject, _ = made("SilentFarOut")
    assert not bounds_releases(subject.simulation, 0, None)


def test_of_many_agents_those_with_the_fewest_and_the_most_records_are_looked_at():
    parts = [3] * 30
    parts[16], parts[22] = 1, 7
    problem = Problem([LogisticLoss(np.eye(m, 7), np.ones(m), 0.5) for m in parts])
    chosen = agents_of(Simulation(problem, topology.ring(30), Extra(1, 0.1)), None)
    assert chosen[0] == 16
    assert 22 in chosen
    assert len(set(chosen)) == len(chosen) <= BRIEFLY


@pytest.mark.slow
def test_both_worlds_move_so_that_all_of_the_clip_is_used():
    experiment, subject, claim = made("Sound", agent=2)
    pair, _ = pair_for(experiment, subject, claim, ROUNDS, Silent())
    zero, one = pair.hypotheses
    assert pair.agent == 2
    assert "no bound" not in pair.description
    assert isinstance(zero, Tilted)
    assert isinstance(one, Tilted)
    np.testing.assert_array_equal(zero.slope, -one.slope)
    simulation = holding(subject.simulation, 2, zero)
    sample = worlds(simulation, 2, one, 4)(0, FIRST_CHUNK)
    assert estimated(compare_worlds(sample, 2, zero, one), 0.0)[0] == pytest.approx(TRUE, rel=1e-4)


# ── a law: true and tight claims are not refuted ────────────────────────────────────────────────────────
def refuted(seeds, folder):
    """How many of these audits of one release, whose claim is true and tight, refute it."""
    experiment, *_ = made("Sound", trials=50, agent=0)
    fields = experiment.scenario.algorithms[0].model_copy(update={"parameters": {"rounds": 1, "scale": 2.0}})
    base = experiment.scenario.model_copy(update={"algorithms": [fields]})
    count = 0
    for seed in seeds:
        results = run_scenario(base.model_copy(update={"seed": seed}), folder / str(seed), page=False)
        found = results.algorithms[0].audit
        assert found.epsilon_claimed == 1.0
        assert found.proven_share == pytest.approx(1.0, abs=1e-4) or found.verdict == "refuted"
        count += found.verdict == "refuted"
    return count


@pytest.mark.slow
def test_true_and_tight_claims_are_not_refuted(tmp_path):
    """At δ = 0 no loss can be above a true ε; the games may err, with probability 5 % together: of 20 audits more
    than 6 with probability 3e-5 at most."""
    assert refuted(range(20), tmp_path) <= 6
