"""Rounds and messages per second of first-order algorithms in lock step, with one draw of the noise and with 1,000.

Of the live reader; `benchmarks.stacked` sets the stacked one beside it.

A circulant graph of degree 4 with 10, 100 or 1,000 agents, ten floats a message, least squares with 20 records an
agent; every edge has a constant delay of its own, every link a tap, and an exchange waits for all neighbors. CPU time
of a run from the built simulation on, setting up network and agents included; the best of `--repeats` runs.

The algorithms are gradient descent (DGD, that is private gradient descent with scale 0) and, where this version has
them, EXTRA and NIDS. `replicas_1000_vs_1_…` is what a round with 1,000 replicas costs in units of one with one;
`replicas_1000_vs_1` is the median of those.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import networkx as nx
import numpy as np

from netsim import algorithms
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, PrivateGradientDescent, stable_step
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import Topology, from_edges

DIMENSION, RECORDS = 10, 20
ROUNDS = {10: (400, 100), 100: (100, 20), 1000: (20, 4)}
"""By the number of agents: with one replica, and with 1,000. All that the taps hear is held in memory."""
COMPARATORS = {"extra": "Extra", "nids": "Nids"}
"""By name in `netsim.algorithms`."""


@dataclass(frozen=True)
class Speed:
    """Of one run: rounds and messages between agents, and the CPU seconds they took."""

    rounds: int
    messages: int
    seconds: float


def network(agents: int) -> tuple[Topology, dict[tuple[int, int], LinkLaw]]:
    """Every agent linked with the two next on each side; delays of 0.5 to 1.5 virtual seconds."""
    topology = from_edges(agents, nx.circulant_graph(agents, [1, 2]).edges)
    rng = random.Random(1)
    laws = {edge: LinkLaw(ConstantDelay(rng.uniform(0.5, 1.5))) for edge in topology.edges}
    return topology, laws | {(j, i): law for (i, j), law in laws.items()}


def problem(agents: int) -> Problem:
    rng = np.random.default_rng(1)
    return Problem(
        tuple(
            LeastSquares(rng.normal(size=(RECORDS, DIMENSION)), rng.normal(size=RECORDS), 0.1) for _ in range(agents)
        )
    )


def algorithm(name: str, rounds: int, step: float) -> Algorithm | None:
    """None where this version of netsim does not have it."""
    if name == "dgd":
        return PrivateGradientDescent(rounds, Constant(step))
    kind = getattr(algorithms, COMPARATORS[name], None)
    if kind is None:
        return None
    scheduled = any(field.name == "step" and "Schedule" in str(field.type) for field in fields(kind))
    return kind(rounds=rounds, step=Constant(step) if scheduled else step)


def measured(name: str, agents: int, replicas: int, rounds: int, repeats: int) -> Speed | None:
    """The fastest of several runs."""
    topology, laws = network(agents)
    built = problem(agents)
    chosen = algorithm(name, rounds, stable_step(built.smoothness, topology) / 2)
    if chosen is None:
        return None
    simulation = Simulation(
        built,
        topology,
        chosen,
        NetworkSettings(link_laws=laws),
        adversaries=(Adversary(),),
        replicas=replicas,
        recording=Recording(measure=False, private="nothing"),
        reader="live",
    )
    best: Speed | None = None
    for _ in range(repeats):
        began = time.process_time()
        run = simulation.run()
        seconds = time.process_time() - began
        if best is None or seconds < best.seconds:
            best = Speed(rounds, run.traffic["packets_delivered"], seconds)
        del run
    return best


def table(sizes: list[int], repeats: int, quick: bool) -> Iterator[tuple[str, int, Speed, Speed]]:
    """Name, agents, and the speed with one replica and with 1,000."""
    for name in ("dgd", *COMPARATORS):
        for agents in sizes:
            rounds = [max(1, k // 10) if quick else k for k in ROUNDS[agents]]
            one, many = (
                measured(name, agents, replicas, k, repeats) for replicas, k in zip((1, 1000), rounds, strict=True)
            )
            if one is not None and many is not None:
                yield name, agents, one, many


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--agents", type=int, nargs="+", choices=sorted(ROUNDS), default=sorted(ROUNDS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds: set-up weighs more")
    options = parser.parse_args()
    numbers: dict[str, float] = {}
    ratios: list[float] = []
    if not options.json:
        print(f"{'':8}{'agents':>8}{'replicas':>10}{'rounds/s':>14}{'messages/s':>14}{'1,000 vs 1':>12}")
    for name, agents, one, many in table(options.agents, options.repeats, options.quick):
        ratio = (many.seconds / many.rounds) / (one.seconds / one.rounds)
        ratios.append(ratio)
        for replicas, speed in ((1, one), (1000, many)):
            per_second = speed.rounds / speed.seconds, speed.messages / speed.seconds
            for what, value in zip(("rounds", "messages"), per_second, strict=True):
                numbers[f"{name}_{agents}_replicas_{replicas}_{what}_per_second"] = value
            if not options.json:
                last = f"{ratio:>12.1f}" if replicas > 1 else ""
                print(f"{name:8}{agents:>8,}{replicas:>10,}{per_second[0]:>14,.1f}{per_second[1]:>14,.0f}{last}")
        numbers[f"replicas_1000_vs_1_{name}_{agents}"] = ratio
    numbers["replicas_1000_vs_1"] = statistics.median(ratios)
    print(json.dumps(numbers) if options.json else f"replicas_1000_vs_1 {numbers['replicas_1000_vs_1']:.1f}")


if __name__ == "__main__":
    main()
