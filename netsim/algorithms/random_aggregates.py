"""Gradient descent around random points of a box: by groups that act once, or between neighbors' extremes.

`GroupedDescent` is Algorithm 2, `NeighborRange` Algorithm 2* of H. Xiao, Local Differential Privacy in Decentralized
Optimization, MIT 2019. Of the first, that 2K groups of agents act once each, which takes N ≥ 2K agents, is read
there; of the second, that each coordinate is uniform between the least and the greatest neighbor value. All the rest
is inferred: the gradient is taken at a public point, so a release is exactly a uniform point of a known box, shifted
by the gradient, plus Laplace noise (`netsim.mechanisms.UniformLaplace`).

Claim of both (Theorem 2.2.1, worst case): a release loses at most dB·α_k/b_k, where B bounds the change of the
gradient in ℓ∞, as a bound in ℓ2 does. In `GroupedDescent` an agent releases once: ε is the largest of these losses,
not their sum. In `NeighborRange` it releases in every round: ε is the sum.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Self

import numpy as np

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.mixing import check_scale, check_smooth, check_steps
from netsim.algorithms.random_penalty_admm import SOURCE, worst_case
from netsim.arrays import Array, whole
from netsim.bounds import Auto, Index
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import UniformLaplace
from netsim.node import Node
from netsim.randomness import Streams
from netsim.schedules import Constant, Schedule, scaled


@dataclass(frozen=True)
class RandomAggregates(InRounds):
    """What both share: steps α_k, Laplace scales b_k per coordinate (0: only the aggregate is random), by round."""

    step: Schedule
    """α_k, the step size by round."""
    scale: Schedule = field(default_factory=lambda: Constant(0.0))
    """b_k, the Laplace scale per coordinate, by round; 0: only the aggregate is random."""

    @property
    def noisy(self) -> bool:
        return True  # the aggregates are random even where the scale is 0

    def scaled(self, factor: float) -> Self:
        return replace(self, scale=scaled(self.scale, factor))

    def check(self, setting: Setting) -> None:
        """Steps in (0, 2/L), scales that are not negative."""
        super().check(setting)
        check_steps(self.step, self.rounds, setting)
        check_scale("scale", self.scale, self.rounds)
        check_smooth(setting, type(self).__name__)

    def losses(self, adjacency: Adjacency, setting: Setting) -> tuple[list[float], tuple[str, ...]]:
        """The worst case of the release of each round, and the conditions that fail."""
        steps, scales = ([schedule(k) for k in range(self.rounds)] for schedule in (self.step, self.scale))
        return worst_case(steps, scales, adjacency, setting.dimension)


@dataclass(frozen=True)
class GroupedDescent(RandomAggregates):
    """Descent in which each agent acts once, in one of two groups a round, and everybody hears everybody.

    A public permutation, drawn from `shuffle`, deals the agents round-robin into 2K groups. The public references a,
    b start with `low` and `high` in all coordinates. In round k = 0 … K − 1 each agent i of the groups 2k and 2k + 1
    broadcasts

        x_i = θ∘a + (1 − θ)∘b − α_k ∇f_i(m) + Lap(b_k),   m = (a + b)/2,  θ ~ U(0, 1) per coordinate,

    then a is the mean of group 2k, b that of group 2k + 1, and m is everybody's estimate. One pass over the agents: a
    round's gradient is that of two groups, so the result is no exact minimizer of the whole.
    """

    step: Annotated[Schedule, Auto("1/L", lambda at: Constant(1.0 / at.smoothness))]

    low: float = 0.0
    """The coordinates of the first public reference at the start."""
    high: float = 0.0
    """The coordinates of the second public reference at the start."""
    shuffle: Index = 0
    """The seed of the public deal into groups."""

    def groups(self, agents: int) -> list[list[int]]:
        """The agents of each of the 2K groups; public."""
        order = Streams(self.shuffle).generator("groups").permutation(agents)
        return [[int(i) for i in order[g :: 2 * self.rounds]] for g in range(2 * self.rounds)]

    async def run(self, node: Node) -> None:
        groups = self.groups(node.agents)
        received: dict[int, Array] = {}
        references = node.zeros() + self.low, node.zeros() + self.high
        for k in range(self.rounds):
            active = groups[2 * k], groups[2 * k + 1]
            speakers = {*active[0], *active[1]}
            a, b = references
            if node.id in speakers:
                center = b - self.step(k) * await node.gradient((a + b) / 2)
                received[node.id] = node.privatize(center, UniformLaplace(a - b, self.scale(k)))
                node.broadcast(x=received[node.id])
            while (
                not speakers <= received.keys()
            ):  # each agent speaks once in its life, so its number says in which round
                message = await node.receive()
                received[message.sender] = message.values["x"]
            a, b = (sum((received[i] for i in group), node.zeros()) / len(group) for group in active)
            references = a, b
            node.estimate((a + b) / 2)

    @property
    def summary(self) -> str:
        return "Descent by groups of agents that act once each, around random points between two group means."

    def check(self, setting: Setting) -> None:
        """N ≥ 2K, a complete graph, finite references."""
        super().check(setting)
        if setting.agents < 2 * self.rounds:
            most = setting.agents // 2
            raise ScenarioError(
                "rounds", self.rounds, f"2K groups need N >= 2K agents, N = {setting.agents}", f"<= {most}"
            )
        check_complete(setting, "everybody hears everybody")
        for name, value in (("low", self.low), ("high", self.high)):
            if not math.isfinite(value):
                raise ScenarioError(name, value, "no coordinate", "finite numbers")
        whole(self.shuffle, "shuffle", 0)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        losses, failed = self.losses(adjacency, setting)
        source = "Xiao 2019, Theorem 2.2.1 (worst case); one release of each agent"
        return Claim(None if failed else max(losses), 0.0, source, adjacency, "ℓ∞", failed)


@dataclass(frozen=True)
class NeighborRange(RandomAggregates):
    """Descent from a uniform point, per coordinate, between the least and the greatest value nearby.

    From the public x⁰ = 0, in round k every agent sends and goes on with

        x_i⁺ = lo + θ∘(hi − lo) − α_k ∇f_i(x_i) + Lap(b_k),   θ ~ U(0, 1) per coordinate,

    lo and hi the least and greatest x_j over the neighbors and itself. The weights of such a mean are not doubly
    stochastic, so it is exact only where all objectives are alike.
    """

    step: Annotated[Schedule, Auto("1/(2L)", lambda at: Constant(0.5 / at.smoothness))]

    async def run(self, node: Node) -> None:
        x = low = high = node.zeros()
        for k in range(self.rounds):
            center = low - self.step(k) * await node.gradient(x)
            received = await node.exchange(x=node.privatize(center, UniformLaplace(high - low, self.scale(k))))
            x = received.sent("x")
            near = [x, *received.values("x")]
            low, high = np.minimum.reduce(near), np.maximum.reduce(near)
            node.estimate(x)

    @property
    def summary(self) -> str:
        return "Descent from a random point between the least and the greatest value nearby."

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        losses, failed = self.losses(adjacency, setting)
        return Claim(None if failed else math.fsum(losses), 0.0, SOURCE, adjacency, "ℓ∞", failed)


def check_complete(setting: Setting, why: str) -> None:
    """A `ScenarioError` unless every agent has a link to every other."""
    if setting.topology is not None and min(setting.topology.degrees) < setting.agents - 1:
        raise ScenarioError("", setting.topology.name, f"the graph is not complete: {why}", "a complete graph")
