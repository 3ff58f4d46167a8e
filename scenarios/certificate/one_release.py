"""Algorithms that release a gradient once: the mechanisms themselves, as an audit sees them."""

from dataclasses import dataclass, field

import numpy as np

from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace, Mechanism, UniformModulo
from netsim.node import Node

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
        told = node.privatize(await node.gradient(node.zeros()), self.mechanism)
        heard = await node.exchange(x=told)
        node.estimate(heard.mix("x"))


@dataclass(frozen=True)
class ShareAndRelease(Algorithm):
    """A share of the gradient modulo p, which tells nothing, and the gradient under Laplace noise of a `scale`."""

    scale: float = 1.0

    @property
    def noisy(self) -> bool:
        return True

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        share = node.privatize(np.rint(gradient), UniformModulo(MODULUS))
        heard = await node.exchange(share=share, x=node.privatize(gradient, Laplace(self.scale)))
        node.estimate(heard.mix("x"))
