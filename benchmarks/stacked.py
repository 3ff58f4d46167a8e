"""The stacked reader against the live one: the same runs, by one coroutine for all agents and agent by agent.

The network of `benchmarks.rounds`: 1,000 agents of degree 4, ten floats a message, a constant delay of its own on
every edge. CPU time of whole runs, set-up included, the best of `--repeats`; both readers in one process, one after
the other. Runs with taps end when all is recorded; rows are made when they are first read, by either. `--million`
adds ten rounds of a million agents with eight neighbors each, in a process of its own, and its peak memory; then the
same with taps on 100 links and at a door.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks import replicas, rounds
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent, stable_step
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems import LeastSquares, LogisticLoss, Problem
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import random_regular

AGENTS, ROUNDS = 1_000, 50
MILLION, NEIGHBORS, FEW = 1_000_000, 8, 10
QUIET = Recording(measure=False, private="nothing")


def logistic(agents: int) -> Problem:
    """45 records of ten coordinates each."""
    rng = np.random.default_rng(1)
    labels = rng.choice((-1.0, 1.0), size=(agents, 45))
    return Problem(tuple(LogisticLoss(rng.normal(size=(45, rounds.DIMENSION)), own, 0.1) for own in labels))


def simulation(name: str, problem: Problem, *, tapped: bool) -> Simulation:
    """One of the three algorithms on the network of `benchmarks.rounds`."""
    topology, laws = rounds.network(AGENTS)
    algorithm = rounds.algorithm(name, ROUNDS, stable_step(problem.smoothness, topology) / 2)
    assert algorithm is not None
    ears = (Adversary(),) if tapped else ()
    return Simulation(problem, topology, algorithm, NetworkSettings(link_laws=laws), ears, recording=QUIET)


def compared(made: Simulation, repeats: int) -> tuple[float, float]:
    """CPU seconds of the live and of the stacked reader; equal traffic and times, or an error."""
    seconds: list[float] = []
    facts: list[object] = []
    for reader in ("live", "stacked"):
        chosen, took = replace(made, reader=reader), float("inf")
        for _ in range(repeats):
            began = time.process_time()
            run = chosen.run()
            took = min(took, time.process_time() - began)
        seconds.append(took)
        facts.append((run.time, dict(run.traffic), [len(view.transcript) for view in run.views]))
        del run
    assert facts[0] == facts[1], facts
    return seconds[0], seconds[1]


def peak_gigabytes() -> float:
    """Resident memory of this process at its peak so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def million() -> dict[str, float]:
    """Gossip with a gradient step of a million agents; what it took, and the peak memory with the graph."""
    topology = random_regular(MILLION, NEIGHBORS, seed=1)
    problem = Problem((LeastSquares(np.eye(1, rounds.DIMENSION), np.zeros(1), 1.0),) * MILLION)
    links = NetworkSettings(LinkLaw(ConstantDelay(1.0)))
    algorithm = PrivateGradientDescent(FEW, Constant(0.1))
    untapped = Simulation(problem, topology, algorithm, links, recording=QUIET, reader="stacked")
    some = tuple((i, topology.neighbors(i)[0]) for i in range(0, MILLION, MILLION // 100))
    ears = Adversary("links", some), Adversary("door", (), nodes=(5,))
    found: dict[str, float] = {}
    for name, made in (("", untapped), ("_tapped", replace(untapped, adversaries=ears))):
        began = time.process_time()
        run = made.run()
        seconds = time.process_time() - began
        rows = [len(view.transcript) for view in run.views]
        assert rows == ([] if not name else [2 * FEW * len(some), FEW * (NEIGHBORS + 1)]), rows
        found[f"agents_{MILLION}{name}_gigabytes"] = peak_gigabytes()
        found[f"agents_{MILLION}{name}_messages_per_second"] = run.traffic["packets_delivered"] / seconds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--million", action="store_true", help="a million agents too")
    parser.add_argument("--only-million", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_million:
        print(json.dumps(million()))
        return
    squares = rounds.problem(AGENTS)
    cases = [(name, name, squares, tapped) for tapped in (False, True) for name in ("dgd", "extra", "nids")]
    cases.append(("logistic_45", "dgd", logistic(AGENTS), False))
    found: dict[str, float] = {}
    for label, name, problem, tapped in cases:
        made = simulation(name, problem, tapped=tapped)
        live, stacked = compared(made, options.repeats)
        kind = "tapped" if tapped else "untapped"
        found[f"stacked_vs_live_{label}_{kind}"] = live / stacked
        if label == "dgd" and not tapped:
            found["stacked_messages_per_second"] = ROUNDS * 4 * AGENTS / stacked
    live, stacked = compared(replicas.descent(1000), options.repeats)
    found["stacked_vs_live_replicas"] = live / stacked
    if options.million:
        command = [sys.executable, "-m", "benchmarks.stacked", "--only-million"]
        found |= json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        json.dumps(found) if options.json else "\n".join(f"{name:45} {value:12,.1f}" for name, value in found.items())
    )


if __name__ == "__main__":
    main()
