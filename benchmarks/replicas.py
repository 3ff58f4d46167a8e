"""What 1,000 draws of the noise cost when one simulated network carries them all, against one draw.

Private gradient descent (Laplace noise, clipping) of 50 agents over 255 links in rounds, and DP-RECAL's baton on
a ring of 8 with digits. CPU times; the ratio of medians.
"""

import argparse
import json
import os
import statistics
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks import simpy_twin
from netsim import topology
from netsim.algorithms import Clip, DPRecal, PrivateGradientDescent
from netsim.problems import load, logistic
from netsim.schedules import Constant
from netsim.settings import Recording
from netsim.simulation import Simulation


def descent(replicas: int) -> Simulation:
    """50 agents, 20 rounds, 10 coordinates, 8 records each."""
    edges, _, _ = simpy_twin.workload(50, 255)
    data = load("synthetic", records=400, dimension=10, seed=1, norm_bound=1.0)
    algorithm = PrivateGradientDescent(20, Constant(0.3), Constant(0.1), Clip(0.2))
    graph = topology.from_edges(50, edges)
    return Simulation(
        logistic(data.split(50), ridge=0.5),
        graph,
        algorithm,
        replicas=replicas,
        recording=Recording(measure=False, private="nothing"),
        reader="live",
    )


def baton(replicas: int) -> Simulation:
    """8 agents, 200 activations, 64 coordinates, 45 records each."""
    data = load("digits", norm_bound=4.0)
    algorithm = DPRecal(step=0.2, activations=200, stddev=0.1)
    return Simulation(
        logistic(data.split(8), ridge=1.0),
        topology.ring(8),
        algorithm,
        replicas=replicas,
        recording=Recording(measure=False, private="nothing"),
    )


def seconds(simulation: Simulation, repeats: int) -> float:
    """Median CPU time of a run."""
    simulation.run()
    took: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        simulation.run()
        took.append(time.process_time() - began)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    ratios: dict[str, float] = {}
    for name, build in (("", descent), ("_baton", baton)):
        one, many = seconds(build(1), options.repeats), seconds(build(1000), options.repeats)
        ratios[f"replicas_1000_vs_1{name}"] = many / one
        if not options.json:
            label = build.__doc__
            print(f"{label:60} 1: {one * 1e3:8.1f} ms   1,000: {many * 1e3:8.1f} ms   ratio {many / one:5.1f}")
    if options.json:
        print(json.dumps(ratios))


if __name__ == "__main__":
    main()
