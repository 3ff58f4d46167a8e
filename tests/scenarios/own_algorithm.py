"""An algorithm of somebody's own as a file, for tests: noise on x, none on z; `careful` has noise on both."""

MINE = '''
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import Constant, Schedule


@dataclass(frozen=True)
class TwoExchanges(Algorithm):
    """Two exchanges a round."""

    rounds: int
    step: float = 0.3
    scale: Schedule = Constant(0.5)
    careful: bool = False

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            heard = await node.exchange(x=node.privatize(x, Laplace(self.scale(k))))
            z = heard.mix("x") - self.step * await node.gradient(x)
            if self.careful:
                z = node.privatize(z, Laplace(self.scale(k)))
            x = (await node.exchange(z=z)).mix("z")
            node.estimate(x)
'''
