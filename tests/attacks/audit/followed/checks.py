"""Code that nothing catches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.mechanisms import Gaussian
from netsim.node import Node


@dataclass(frozen=True)
class Does(Algorithm):
    """Sends its gradient with enough noise, and what `code` makes of it."""

    code: Callable[[Array, Array, Node], Any]

    async def run(self, node: Node) -> None:
        for _ in range(2):
            gradient = await node.gradient(node.zeros())
            received = await node.exchange(x=node.privatize(gradient, Gaussian(1.0)))
            node.broadcast(y=node.zeros() + self.code(gradient, received.mix("x"), node))
            node.estimate(gradient)


def checked(g, x, node):
    del node
    assert np.all(np.isfinite(g)), "a gradient that is no number"
    if np.max(np.abs(x)) > 1e30:
        print("far off")
        raise OverflowError("it diverges")
    return 0 * g


def largest(g, x, node):
    """The largest noisy number, and zeros."""
    del g
    at, kept = np.argmax(np.abs(x), axis=-1, keepdims=True), node.zeros()
    np.put_along_axis(kept, at, 1.0, axis=-1)
    return kept * np.take_along_axis(x, at, axis=-1)
