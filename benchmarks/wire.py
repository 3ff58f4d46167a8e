"""Messages per second of the engine against the idiomatic SimPy twin, in one run.

50 agents, 255 links with delays of their own, rounds of two exchanges of ten floats; the twin mixes by `np.stack` and
a product, the engine by `Exchange.mix`. Ratios of CPU times, pair by pair; the medians are what to trust.

`floor_share` compares with `floor.py`: a bare heap of callbacks that does the same and knows nothing of links.

With 10 % loss and a bandwidth of 800 bytes a second and direction, the engine's links are reliable: every message is
acknowledged, sent again until it is, and delivered once and in order. The twin's links are not: a lost message comes
as None, nobody acknowledges or repeats. `lossy_vs_simpy` compares what the links carry to the end, packets (messages,
repetitions and acknowledgements) against the twin's messages; `lossy_messages_vs_simpy` compares what the agents
sent each other, so that the engine's acknowledgements and repetitions count for nothing. `lossy_datagrams_vs_simpy`
has the engine do what the twin does: nobody acknowledges, and an exchange goes on without what was lost, at a
deadline of three seconds (every delay is below one and a half).
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import networkx as nx
import numpy as np

from benchmarks import floor, simpy_twin
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.network.laws import ConstantDelay
from netsim.network.links import WAIT_FOR_ALL, ExchangePolicy, LinkLaw
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import Topology

AGENTS, EDGES, ROUNDS, DIMENSION = 50, 255, 200, 10
LOSS, BANDWIDTH, DEADLINE = 0.1, 800.0, 3.0


@dataclass(frozen=True)
class Gossip(Algorithm):
    """x ← W x, `exchanges` times a round: the wire and nothing else."""

    rounds: int
    exchanges: int = 2

    async def run(self, node: Node) -> None:
        x = node.zeros() + node.id
        for _ in range(self.rounds * self.exchanges):
            heard = await node.exchange(x=x)
            x = heard.mix("x")


def laws(edges: list[tuple[int, int]], delays: list[float], **others: Any) -> dict[tuple[int, int], LinkLaw]:
    """A constant delay of its own on every link, the same both ways, and what `others` say of all."""
    return {
        directed: LinkLaw(ConstantDelay(delay), **others)
        for (i, j), delay in zip(edges, delays, strict=True)
        for directed in ((i, j), (j, i))
    }


def engine(
    edges: list[tuple[int, int]],
    delays: list[float],
    taps: bool,
    loss: float = 0.0,
    bandwidth: float | None = None,
    policy: ExchangePolicy = WAIT_FOR_ALL,
) -> int:
    """One run of the engine; returns the messages it carried."""
    graph = nx.Graph(edges)
    law = laws(edges, delays, loss=loss, bandwidth=bandwidth, reliable=loss > 0 and policy.endless)
    objective = LeastSquares(np.eye(1, DIMENSION), np.zeros(1), 1.0)
    run = Simulation(
        Problem((objective,) * AGENTS),
        Topology(graph),
        Gossip(ROUNDS),
        NetworkSettings(link_laws=law, exchange_policy=policy),
        adversaries=(Adversary(),) if taps else (),
        recording=Recording(measure=False, private="nothing"),
    ).run()
    ended = run.traffic["packets_delivered"]
    return ended if policy.endless else ended + run.traffic["packets_lost"]  # the twin counts those too


def timed(work: Callable[[], int]) -> tuple[int, float]:
    """Messages, and messages per CPU second."""
    began = time.process_time()
    messages = work()
    return messages, messages / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    edges, delays, weights = simpy_twin.workload(AGENTS, EDGES)

    def twin(loss: float = 0.0, bandwidth: float | None = None) -> int:
        return simpy_twin.run(edges, delays, weights, ROUNDS, DIMENSION, loss=loss, bandwidth=bandwidth)[0]

    sides: dict[str, Callable[[], int]] = {
        "simpy": twin,
        "floor": lambda: floor.run(edges, delays, weights, ROUNDS, DIMENSION)[0],
        "taps off": lambda: engine(edges, delays, taps=False),
        "taps on": lambda: engine(edges, delays, taps=True),
        "simpy, lossy": lambda: twin(LOSS, BANDWIDTH),
        "lossy": lambda: engine(edges, delays, taps=False, loss=LOSS, bandwidth=BANDWIDTH),
        "datagrams": lambda: engine(
            edges, delays, taps=False, loss=LOSS, bandwidth=BANDWIDTH, policy=ExchangePolicy(DEADLINE, "own_value")
        ),
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    carried: dict[str, int] = {}
    for _ in range(options.repeats):
        for name, work in sides.items():
            carried[name], rate = timed(work)
            rates[name].append(rate)

    def ratio(name: str, other: str = "simpy") -> float:
        return statistics.median(a / b for a, b in zip(rates[name], rates[other], strict=True))

    lossy = ratio("lossy", "simpy, lossy")
    ratios = {
        "taps_off_vs_simpy": ratio("taps off"),
        "taps_on_vs_simpy": ratio("taps on"),
        "floor_share": ratio("taps off", "floor"),
        "lossy_vs_simpy": lossy,
        "lossy_messages_vs_simpy": lossy * carried["simpy, lossy"] / carried["lossy"],
        "lossy_datagrams_vs_simpy": ratio("datagrams", "simpy, lossy"),
    }
    if options.json:
        print(json.dumps(ratios))
        return
    for name, values in rates.items():
        print(f"{name:12} {statistics.median(values):>12,.0f} messages/s")
    for name, value in ratios.items():
        print(f"{name:24} {value:6.2f}")


if __name__ == "__main__":
    main()
