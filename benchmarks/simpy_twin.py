"""The same synchronous gossip in idiomatic SimPy: what an engine's speed is compared with.

One process per message in flight, one `Store` per agent as its mailbox, one process per agent, and with a
bandwidth one `Resource` per link and direction. In every exchange an agent sends its vector to all its
neighbors, waits for all of theirs, and mixes. Run as a script to print messages per second.
"""

import random
import statistics
import time
from collections.abc import Generator, Sequence

import networkx as nx
import numpy as np
import simpy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Edge = tuple[int, int]

BYTES_PER_FLOAT = 8


class Link:
    """One direction of an edge: a delay, a loss probability and, where bandwidth is finite, a queue."""

    def __init__(self, env: simpy.Environment, delay: float, loss: float, bandwidth: float | None, seed: int):
        self.env = env
        self.delay = delay
        self.loss = loss
        self.bandwidth = bandwidth
        self.transmitter = None if bandwidth is None else simpy.Resource(env, capacity=1)
        self.rng = random.Random(seed) if loss > 0 else None

    def deliver(self, mailbox: simpy.Store, sender: int, number: int, vector: Array) -> Generator:
        """Carry one message; a lost one takes as long and arrives as None, so that nobody waits forever."""
        if self.transmitter is not None:
            with self.transmitter.request() as turn:
                yield turn
                yield self.env.timeout(vector.size * BYTES_PER_FLOAT / self.bandwidth)
        yield self.env.timeout(self.delay)
        lost = self.loss > 0 and self.rng.random() < self.loss
        mailbox.put((sender, number, None if lost else vector))


class Agent:
    """Sends, waits for all neighbors, mixes; keeps aside what arrives from neighbors an exchange ahead."""

    def __init__(self, env: simpy.Environment, name: int, neighbors: list[int], row: Array, start: Array):
        self.env = env
        self.name = name
        self.neighbors = neighbors
        self.row = row
        self.x = start
        self.mailbox = simpy.Store(env)
        self.ahead: dict[int, dict[int, Array | None]] = {}
        self.delivered = 0

    def run(self, peers: list["Agent"], links: dict[Edge, Link], exchanges: int) -> Generator:
        for number in range(exchanges):
            for j in self.neighbors:
                link = links[self.name, j]
                self.env.process(link.deliver(peers[j].mailbox, self.name, number, self.x))
            heard = self.ahead.pop(number, {})
            while len(heard) < len(self.neighbors):
                sender, stamp, vector = yield self.mailbox.get()
                self.delivered += vector is not None
                if stamp == number:
                    heard[sender] = vector
                else:
                    self.ahead.setdefault(stamp, {})[sender] = vector
            self.mix(heard)

    def mix(self, heard: dict[int, Array | None]) -> None:
        """x ← w_ii x + Σ_j w_ij x_j, neighbors in ascending order; its own x stands in for a lost one."""
        told = [heard[j] for j in self.neighbors]
        self.x = self.row @ np.stack([self.x, *(self.x if v is None else v for v in told)])


def run(
    edges: Sequence[Edge],
    delays: Sequence[float],
    weights: Array | Sequence[Array],
    rounds: int,
    dimension: int,
    exchanges: int = 2,
    loss: float = 0.0,
    bandwidth: float | None = None,
    start: Array | None = None,
) -> tuple[int, Array]:
    """Simulate `rounds` rounds of `exchanges` exchanges; return messages delivered and the final states.

    `delays[e]` is the delay of `edges[e]` in both directions, in virtual seconds; `weights` is W, (n, n), or
    a list of its rows, where row i is w_ij for j = i first and then for i's neighbors in ascending order; `loss`
    is the probability that a message is lost, drawn from each direction's own generator; `bandwidth` is in bytes
    per virtual second and direction, None: unlimited. `start` has shape (n, dimension), by default 0, 1, 2, …
    row by row. The states have shape (n, dimension).
    """
    agents = len(weights)
    if start is None:
        start = np.arange(agents * dimension, dtype=np.float64).reshape(agents, dimension)
    env = simpy.Environment()
    neighbors: list[list[int]] = [[] for _ in range(agents)]
    links: dict[Edge, Link] = {}
    for (i, j), delay in zip(edges, delays, strict=True):
        neighbors[i].append(j)
        neighbors[j].append(i)
        links[i, j] = Link(env, delay, loss, bandwidth, seed=len(links))
        links[j, i] = Link(env, delay, loss, bandwidth, seed=len(links))
    peers: list[Agent] = []
    for i in range(agents):
        near = sorted(neighbors[i])
        row = weights[i, [i, *near]] if isinstance(weights, np.ndarray) else weights[i]
        peers.append(Agent(env, i, near, row, start[i]))
    for agent in peers:
        env.process(agent.run(peers, links, rounds * exchanges))
    env.run()
    return sum(agent.delivered for agent in peers), np.stack([agent.x for agent in peers])


def workload(agents: int = 50, edges: int = 255, seed: int = 1) -> tuple[list[Edge], list[float], Array]:
    """A connected random graph of exactly `edges` edges; delays in (0.5, 1.5) and Metropolis weights."""
    if not agents - 1 <= edges <= agents * (agents - 1) // 2:
        raise ValueError(f"no connected simple graph has {agents} agents and {edges} edges")
    rng = random.Random(seed)
    graph = nx.gnm_random_graph(agents, edges, seed=rng)
    while not nx.is_connected(graph):
        graph = nx.gnm_random_graph(agents, edges, seed=rng)
    links = sorted((min(edge), max(edge)) for edge in graph.edges)
    delays = [rng.uniform(0.5, 1.5) for _ in links]
    weights = np.zeros((agents, agents))
    for i, j in links:
        weights[i, j] = weights[j, i] = 1 / (1 + max(graph.degree[i], graph.degree[j]))
    np.fill_diagonal(weights, 1 - weights.sum(axis=1))
    return links, delays, weights


def rate(repeats: int = 3, rounds: int = 200, dimension: int = 10, bandwidth: float | None = None) -> float:
    """Messages per second of CPU time, the median of `repeats` runs of 253 edges (202,400 messages)."""
    edges, delays, weights = workload(edges=253)
    rates: list[float] = []
    for _ in range(repeats):
        before = time.process_time()
        messages, _ = run(edges, delays, weights, rounds, dimension, bandwidth=bandwidth)
        rates.append(messages / (time.process_time() - before))
    return statistics.median(rates)


if __name__ == "__main__":
    print(f"delays only:    {rate():>9,.0f} messages/s")
    print(f"with bandwidth: {rate(bandwidth=800.0):>9,.0f} messages/s")
