"""PyTorch's gradients against NumPy's, in whole runs of networks: an MLP and a LeNet, by number of agents.

Gradient descent on a random 4-regular graph with constant delays, untapped; 16 records an agent, drawn at random.
Wall time of whole runs (what PyTorch needs to begin with included, but for its first run in the process): of the
stacked reader with either backend, and of the live reader with at most `--live` agents, one after the other; the best
of two where they are at most so many. `…_vs_numpy` is NumPy's time over PyTorch's, both stacked, `…_vs_live` the live
reader's over it; `…_difference` is the largest |a − b| of what agents sent last, in its largest |value|. Times and
counts are equal, or it is an error. PyTorch has the GPU where it sees one. Either backend has one core, or as many as
OPENBLAS_NUM_THREADS and OMP_NUM_THREADS say.
"""

import argparse
import json
import os
import time
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent, stable_step
from netsim.models import MLP, LeNet, Penalty
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems import Modelled, Problem
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Run, Simulation
from netsim.topology import random_regular

ROUNDS, RECORDS, DEGREE, DISTINCT = 5, 16, 4, 4
MODELS = {"mlp": MLP((196, 64, 10), "tanh", 0), "lenet": LeNet((28, 28), 10, 0)}
"""Of 13,258 and 13,426 parameters."""
QUIET = Recording(measure=False, private="nothing")


def simulation(name: str, agents: int) -> Simulation:
    """`agents` with the records of `DISTINCT` kinds of them: before a run, L is measured of every objective."""
    model, rng = MODELS[name], np.random.default_rng(1)
    kinds = [
        Modelled(
            rng.uniform(size=(RECORDS, model.width)),
            rng.integers(0, model.outputs, RECORDS).astype(np.float64),
            model,
            Penalty(0.01),
        )
        for _ in range(DISTINCT)
    ]
    problem = Problem(tuple(kinds[i % DISTINCT] for i in range(agents)))
    topology = random_regular(agents, DEGREE, seed=1)
    step = stable_step(problem.smoothness, topology) / 2
    links = NetworkSettings(LinkLaw(ConstantDelay(1.0)))
    algorithm = PrivateGradientDescent(ROUNDS, Constant(step))
    return Simulation(problem, topology, algorithm, links, recording=QUIET)


def timed(made: Simulation, repeats: int) -> float:
    """Wall seconds of a run, the best."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        made.run()
        best = min(best, time.perf_counter() - began)
    return best


def last_sent(run: Run) -> np.ndarray:
    """What agents sent in the last round, (agents, dimension)."""
    rows = list(run.views[0].transcript)
    last = {row.sender: row.values["x"][0] for row in rows}
    return np.stack([last[i] for i in sorted(last)])


def difference(made: Simulation) -> float:
    """The largest of the last values, relative, of few agents' links at most; equal times and counts, or an error."""
    some = tuple((i, made.topology.neighbors(i)[0]) for i in range(min(made.topology.agents, 50)))
    heard = replace(made, adversaries=(Adversary("ears", some),))
    runs = [replace(heard, backend="torch").run(), replace(heard, reader="stacked").run()]
    facts = [(run.time, dict(run.traffic), run.activations, len(run.views[0].transcript)) for run in runs]
    assert facts[0] == facts[1], facts
    one, other = map(last_sent, runs)
    return float(np.abs(one - other).max() / np.abs(other).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--live", type=int, default=100, help="the live reader runs with so many agents at most")
    options = parser.parse_args()
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    found: dict[str, float | str] = {"device": device, "torch": torch.__version__}
    for name in MODELS:
        replace(simulation(name, 10), backend="torch").run()
        for agents in options.agents:
            made = simulation(name, agents)
            repeats, label = 2 if agents <= options.live else 1, f"{name}_{agents}"
            torch_seconds = timed(replace(made, backend="torch"), repeats)
            found[f"{label}_torch_seconds"] = torch_seconds
            found[f"{label}_vs_numpy"] = timed(replace(made, reader="stacked"), repeats) / torch_seconds
            if agents <= options.live:
                found[f"{label}_vs_live"] = timed(replace(made, reader="live"), repeats) / torch_seconds
                found[f"{label}_difference"] = difference(made)
    texts = {name: value if isinstance(value, str) else f"{value:12.4g}" for name, value in found.items()}
    print(json.dumps(found) if options.json else "\n".join(f"{name:30} {text}" for name, text in texts.items()))


if __name__ == "__main__":
    main()
