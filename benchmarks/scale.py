"""Gossip among very many agents: the engine against the idiomatic SimPy twin, in one run.

Ten floats on a random 4-regular graph, each link with one of 1,000 constant delays, the same in both directions;
one exchange a round, and both sides do the same NumPy mixing. CPU time from what is ready (graph, weights, delays)
to the last state: setting up network and agents counts on both sides, building the graph on neither. Each run has
a process of its own; the memory is the peak of one that only runs netsim, graph and libraries included.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from netsim.settings import NetworkSettings, Recording
from netsim.topology import Topology, random_regular

DEGREE, DIMENSION, DELAYS = 4, 10, 1000
ROUNDS = {10_000: 20, 100_000: 5}
QUICK = {10_000: 5, 100_000: 2}


@dataclass(frozen=True)
class Measured:
    """Messages delivered, CPU seconds, and the peak of resident memory in gigabytes."""

    messages: int
    seconds: float
    gigabytes: float

    @property
    def rate(self) -> float:
        """Messages per CPU second."""
        return self.messages / self.seconds


def network(agents: int) -> tuple[Topology, list[float]]:
    """The graph, and for each edge a delay of 0.5, 0.501, … 1.499 virtual seconds."""
    topology = random_regular(agents, DEGREE, seed=1)
    rng, delays = random.Random(1), [(500 + k) / 1000 for k in range(DELAYS)]
    return topology, [rng.choice(delays) for _ in topology.edges]


def engine(agents: int, rounds: int) -> tuple[int, float]:
    """One run of netsim: messages and CPU seconds."""
    import numpy as np

    from benchmarks import wire
    from netsim.network.laws import ConstantDelay
    from netsim.network.links import LinkLaw
    from netsim.problems import LeastSquares, Problem
    from netsim.simulation import Simulation

    topology, delays = network(agents)
    kinds = {delay: LinkLaw(ConstantDelay(delay)) for delay in set(delays)}
    laws = {}
    for edge, delay in zip(topology.edges, delays, strict=True):
        laws[edge] = laws[edge[::-1]] = kinds[delay]
    problem = Problem((LeastSquares(np.eye(1, DIMENSION), np.zeros(1), 1.0),) * agents)
    began = time.process_time()
    run = Simulation(
        problem,
        topology,
        wire.Gossip(rounds, exchanges=1),
        NetworkSettings(link_laws=laws),
        recording=Recording(measure=False, private="nothing"),
    ).run()
    return run.traffic["packets_delivered"], time.process_time() - began


def twin(agents: int, rounds: int) -> tuple[int, float]:
    """One run of the SimPy twin: messages and CPU seconds."""
    from benchmarks import simpy_twin

    topology, delays = network(agents)
    edges, rows = topology.edges, [topology.row(i) for i in range(agents)]
    began = time.process_time()
    messages, _ = simpy_twin.run(edges, delays, rows, rounds, DIMENSION, exchanges=1)
    return messages, time.process_time() - began


SIDES = {"netsim": engine, "simpy": twin}


def here(side: str, agents: int, rounds: int) -> Measured:
    """Measured in this process."""
    messages, seconds = SIDES[side](agents, rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Measured(messages, seconds, peak * (1 if sys.platform == "darwin" else 1024) / 1e9)


def apart(side: str, agents: int, rounds: int) -> Measured:
    """Measured in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale",
        "--only",
        side,
        "--agents",
        str(agents),
        "--rounds",
        str(rounds),
    ]
    return Measured(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", choices=SIDES, help="one run of one side, in this process")
    parser.add_argument("--agents", type=int, choices=ROUNDS, action="append")
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    rounds = QUICK if options.quick else ROUNDS
    sizes = options.agents or list(rounds)
    if options.only:
        print(json.dumps(asdict(here(options.only, sizes[0], options.rounds or rounds[sizes[0]]))))
        return
    ratios: dict[str, float] = {}
    for agents in sizes:
        measured = [
            {side: apart(side, agents, options.rounds or rounds[agents]) for side in SIDES}
            for _ in range(options.repeats)
        ]
        ratios[f"agents_{agents}_vs_simpy"] = statistics.median(m["netsim"].rate / m["simpy"].rate for m in measured)
        ratios[f"agents_{agents}_gigabytes"] = statistics.median(m["netsim"].gigabytes for m in measured)
        if options.json:
            continue
        for side in SIDES:
            rate = statistics.median(m[side].rate for m in measured)
            memory = statistics.median(m[side].gigabytes for m in measured)
            print(f"{agents:>8,} agents  {side:8} {rate:>10,.0f} messages/s {memory:6.2f} GB")
    if options.json:
        print(json.dumps(ratios))
        return
    for name, value in ratios.items():
        print(f"{name:28} {value:6.2f}")


if __name__ == "__main__":
    main()
