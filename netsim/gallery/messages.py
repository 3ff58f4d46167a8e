"""Faults of what is sent besides."""

from dataclasses import dataclass

from netsim.gallery.fault import Fault
from netsim.mechanisms import Laplace
from netsim.node import Node

COPIES = 3
"""How often a value is transmitted."""


@dataclass(frozen=True)
class SentBefore(Fault):
    """Noise that is added after the value was sent elsewhere.

    A first exchange, for monitoring, carries the exact x; only then comes the noise.
    """

    lesson = "Everything that leaves the agent counts, also what was meant for a log."

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            told = node.privatize(x, Laplace(self.scale)) if self.sound else x
            await node.exchange(monitored=told)
            told = told if self.sound else node.privatize(x, Laplace(self.scale))
            heard = await node.exchange(x=told)
            x = await self.moved(node, heard.mix("x"), x)
            node.estimate(x)


@dataclass(frozen=True)
class SecondMessage(Fault):
    """A second message a round that no noise covers.

    The mixed point after the agent's own step looks like an average of noisy values, and has its exact gradient in
    it.
    """

    lesson = "An average of noisy values plus one exact gradient is that gradient, for who knows the noisy values."

    @property
    def releases(self) -> int:
        """The step of every round is told in it, the last too."""
        return self.rounds

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            heard = await node.exchange(x=x if self.sound else node.privatize(x, Laplace(self.scale)))
            z = await self.moved(node, heard.mix("x"), x)
            last = node.privatize(z, Laplace(self.scale)) if self.sound else z
            x = (await node.exchange(z=last)).mix("z")
            node.estimate(x)


@dataclass(frozen=True)
class Averaged(Fault):
    """A value that is transmitted again with fresh noise each time.

    Three copies with independent noise average to one with a third of the variance: three releases, claimed as one.
    """

    lesson = "A retransmission must repeat the noisy value: fresh noise is a further release."

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            told = node.privatize(x, Laplace(self.scale))
            mixed = (await node.exchange(x=told)).mix("x") / COPIES
            for _ in range(COPIES - 1):
                again = told if self.sound else node.privatize(x, Laplace(self.scale))
                mixed = mixed + (await node.exchange(x=again)).mix("x") / COPIES
            x = await self.moved(node, mixed, x)
            node.estimate(x)
