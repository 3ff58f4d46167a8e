"""Walking tokens: messages that one agent at a time sends and waits for, against the idiomatic SimPy twin.

50 tokens of ten floats walk on the network of `wire.py`: whoever gets one moves it a little and hands it to a
neighbor that a coin chooses, until all have made so many steps together. The twin (as in `simpy_twin.py`) has a
process for each message in flight, a `Store` for each agent, and `random.Random` for its coins. CPU time, pair by
pair; the medians are what to trust.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Generator
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import networkx as nx
import numpy as np
import simpy

from benchmarks import simpy_twin, wire
from netsim.algorithms import Algorithm, Stopping
from netsim.node import Node, choose
from netsim.problems import LeastSquares, Problem
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import Topology

AGENTS, EDGES, DIMENSION, STEPS = 50, 255, 10, 100_000


@dataclass(frozen=True)
class Walk(Algorithm):
    """Each agent starts a token; a token is moved a little wherever it comes."""

    steps: int

    async def run(self, node: Node) -> None:
        node.send(choose(node.coins, node.neighbors), x=node.zeros() + node.id)
        while True:
            x = (await node.receive()).values["x"]
            x = x + 1e-3
            node.send(choose(node.coins, node.neighbors), x=x)
            node.estimate(x)

    def stopping(self) -> Stopping:
        return Stopping(activations=self.steps)


def engine(steps: int = STEPS) -> int:
    """One run of netsim; returns the steps that were made."""
    edges, delays, _ = simpy_twin.workload(AGENTS, EDGES)
    problem = Problem((LeastSquares(np.eye(1, DIMENSION), np.zeros(1), 1.0),) * AGENTS)
    recording = Recording(measure=False, private="nothing")
    network = NetworkSettings(link_laws=wire.laws(edges, delays))
    run = Simulation(problem, Topology(nx.Graph(edges)), Walk(steps), network, recording=recording).run()
    return sum(run.activations)


def twin(steps: int = STEPS) -> int:
    """The same walk as a competent SimPy user writes it."""
    edges, delays, _ = simpy_twin.workload(AGENTS, EDGES)
    environment, made = simpy.Environment(), 0
    mailboxes = [simpy.Store(environment) for _ in range(AGENTS)]
    ways: list[dict[int, float]] = [{} for _ in range(AGENTS)]
    for (i, j), delay in zip(edges, delays, strict=True):
        ways[i][j] = ways[j][i] = delay
    done = environment.event()

    def carry(delay: float, receiver: int, x: simpy_twin.Array) -> Generator:
        yield environment.timeout(delay)
        mailboxes[receiver].put(x)

    def agent(name: int) -> Generator:
        nonlocal made
        coins, neighbors = random.Random(name), sorted(ways[name])
        receiver = coins.choice(neighbors)
        environment.process(carry(ways[name][receiver], receiver, np.zeros((1, DIMENSION)) + name))
        while True:
            x = yield mailboxes[name].get()
            x = x + 1e-3
            receiver = coins.choice(neighbors)
            environment.process(carry(ways[name][receiver], receiver, x))
            made += 1
            if made == steps:
                done.succeed()

    for name in range(AGENTS):
        environment.process(agent(name))
    environment.run(done)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    took: dict[str, list[float]] = {"netsim": [], "simpy": []}
    for _ in range(options.repeats):
        for name, side in (("netsim", engine), ("simpy", twin)):
            began = time.process_time()
            assert side() == STEPS
            took[name].append(time.process_time() - began)
    ratio = statistics.median(b / a for a, b in zip(took["netsim"], took["simpy"], strict=True))
    if options.json:
        print(json.dumps({"tokens_vs_simpy": ratio}))
        return
    for name, seconds in took.items():
        print(f"{name:16} {STEPS / statistics.median(seconds):>10,.0f} steps/s")
    print(f"{'tokens_vs_simpy':16} {ratio:10.2f}")


if __name__ == "__main__":
    main()
