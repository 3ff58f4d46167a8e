"""The least that the engine's approach costs: the same gossip on a bare heap of callbacks, with asyncio's futures.

Coroutines on asyncio's own tasks, tuples on one heap, one wake per agent and exchange, and a product with vectors put
together by their bytes, as in `netsim.node`.
Nothing is copied, checked, counted in bytes, tapped or lost, and there are no links, laws or wires. Run as a script
to print messages per second.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from benchmarks import simpy_twin
from benchmarks.simpy_twin import Array, Edge

Packet = tuple[int, int, Array]
"""The sender, the number of the exchange, and the vector."""


class Loop(asyncio.BaseEventLoop):
    """Runs what is ready; when nothing is, takes the next call from the heap."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.heap: list[Any] = []
        self.numbers = itertools.count()

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        ready, heap = self._ready, self.heap
        while not ready:
            self.now, _, deliver, packet = heappop(heap)
            deliver(packet)
        for _ in range(len(ready)):
            ready.popleft()._run()


class Agent:
    """Sends, waits for all neighbors, mixes."""

    def __init__(self, loop: Loop, name: int, neighbors: list[int], row: Array, start: Array) -> None:
        self.loop, self.name, self.neighbors, self.row, self.x = loop, name, neighbors, row, start
        self.ways: list[tuple[float, Callable[[Packet], None]]] = []
        self.exchanges: dict[int, dict[int, Array]] = {}
        self.wanted = -1
        self.future = loop.create_future()
        self.delivered = 0
        self.deliver = self.entrance()

    def entrance(self) -> Callable[[Packet], None]:
        exchanges, degree = self.exchanges, len(self.neighbors)

        def deliver(packet: Packet) -> None:
            sender, number, vector = packet
            self.delivered += 1
            slot = exchanges.get(number)
            if slot is None:
                slot = exchanges[number] = {}
            slot[sender] = vector
            if len(slot) == degree and number == self.wanted:
                self.future.set_result(None)

        return deliver

    async def run(self, exchanges: int) -> None:
        loop, heap, numbers, degree = self.loop, self.loop.heap, self.loop.numbers, len(self.neighbors)
        for number in range(exchanges):
            packet = (self.name, number, self.x)
            now = loop.now
            for delay, deliver in self.ways:
                heappush(heap, (now + delay, next(numbers), deliver, packet))
            if len(self.exchanges.get(number, ())) < degree:
                self.wanted, self.future = number, loop.create_future()
                await self.future
            heard = self.exchanges.pop(number)
            told = np.frombuffer(bytearray().join([self.x, *[heard[j] for j in self.neighbors]]))
            self.x = self.row @ told.reshape(1, degree + 1, -1)


def run(
    edges: Sequence[Edge], delays: Sequence[float], weights: Array, rounds: int, dimension: int, exchanges: int = 2
) -> tuple[int, Array]:
    """As `simpy_twin.run`, without loss and with no limit on bandwidth."""
    loop, agents = Loop(), len(weights)
    start = np.arange(agents * dimension, dtype=np.float64).reshape(agents, dimension)
    ways: list[dict[int, float]] = [{} for _ in range(agents)]
    for (i, j), delay in zip(edges, delays, strict=True):
        ways[i][j] = ways[j][i] = delay
    peers = [
        Agent(loop, i, sorted(ways[i]), weights[i, [i, *sorted(ways[i])]], start[i : i + 1]) for i in range(agents)
    ]
    for agent in peers:
        agent.ways = [(ways[agent.name][j], peers[j].deliver) for j in agent.neighbors]

    async def everybody() -> None:
        await asyncio.gather(*(agent.run(rounds * exchanges) for agent in peers))

    loop.run_until_complete(everybody())
    loop.close()
    return sum(agent.delivered for agent in peers), np.concatenate([agent.x for agent in peers])


if __name__ == "__main__":
    workload = simpy_twin.workload()
    began = time.process_time()
    messages, _ = run(*workload, rounds=200, dimension=10)
    print(f"{messages / (time.process_time() - began):>9,.0f} messages/s")
