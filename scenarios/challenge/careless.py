"""Private gradient descent in which some agents do not follow the published code."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from netsim.algorithms import PrivateGradientDescent
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node


@dataclass(frozen=True)
class Habit:
    """How one agent draws its noise: `factor` times the published scale, times `fading` to the power of the round.

    `bare`: rounds without noise. `scalar`: one number for all coordinates. `reused`: rounds that share one draw.
    `generator`: a seed of the agent's own in place of its private stream. `gaussian`: Gaussian noise of the same
    standard deviation.
    """

    factor: float = 1.0
    fading: float = 1.0
    bare: tuple[int, ...] = ()
    scalar: bool = False
    reused: tuple[int, ...] = ()
    generator: int | None = None
    gaussian: bool = False


@dataclass(frozen=True)
class Careless(PrivateGradientDescent):
    """`PrivateGradientDescent`, but for the habits of some agents."""

    habits: Mapping[int, Habit] = field(default_factory=dict[int, Habit])

    stackable = False  # agents are unlike

    async def run(self, node: Node) -> None:
        x, kept = node.zeros(), node.zeros()
        habit = self.habits.get(node.id, Habit())
        for k in range(self.rounds):
            noise = self._drawn(node, habit, k)
            if k in habit.reused:
                kept = noise = noise if k == min(habit.reused) else kept
            received = await node.exchange(x=x + noise)
            x = received.mix("x") - self.step(k) * await node.gradient(x)
            node.estimate(x)

    def _drawn(self, node: Node, habit: Habit, k: int) -> Array:
        scale, nothing = self.scale(k) * habit.factor * habit.fading**k, node.zeros()
        if k in habit.bare:
            return nothing
        if habit.generator is not None:
            return np.random.default_rng((habit.generator, k)).laplace(0.0, scale, nothing.shape)
        law = Gaussian(scale * math.sqrt(2)) if habit.gaussian else Laplace(scale)
        noise = node.privatize(nothing, law)
        return nothing + noise[:, :1] if habit.scalar else noise
