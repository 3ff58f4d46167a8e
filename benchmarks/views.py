"""Exact prices of all pairs of agents: gossip after noise among 100 agents for 50 rounds, every agent a listener.

Each agent adds Gaussian noise once to a private number and then mixes, with momentum: without it the messages of late
rounds differ by less than the digits that a float has, and prices are not decided. One probe serves all listeners;
each costs one factorization. The ratio is to one dense singular value decomposition for each listener.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.audit.view_price import GaussianView
from attacks.probe import message_map
from netsim.adversary import Adversary
from netsim.algorithms import Muffliato
from netsim.arrays import Array
from netsim.problems import LeastSquares, Problem
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.topology import Topology, random_regular

STDDEV = 2.0


def listeners(graph: Topology) -> tuple[Adversary, ...]:
    """Every agent by itself, honest but curious."""
    return tuple(Adversary(f"agent {i}", insiders=(i,)) for i in range(graph.agents))


def run_of(graph: Topology, gossip: Muffliato, adversaries: Sequence[Adversary]) -> Run:
    """A run whose last view, after those of the `adversaries`, has every message."""
    problem = Problem(tuple(LeastSquares(np.eye(1), np.array([float(i)])) for i in range(graph.agents)))
    everything = Adversary("everything", links=(), nodes=tuple(range(graph.agents)))
    quiet = Recording(measure=False, private="nothing")
    return Simulation(problem, graph, gossip, adversaries=(*adversaries, everything), recording=quiet).run()


def dense(graph: Topology, gossip: Muffliato, listener: int) -> Array:
    """μ of a unit change of each agent, (agents,), from powers of W and an SVD: an oracle without a probe."""
    W, n = graph.weights, graph.agents
    heard, rows = [listener, *graph.neighbors(listener)], list[Array]()
    before = now = np.eye(n)
    for k in range(gossip.rounds):
        rows.append(now[heard])
        m = gossip.momentum if k else 0.0
        before, now = now, (1 + m) * (W @ now) - m * before
    seen = np.delete(np.concatenate(rows), listener, axis=1)
    seen /= np.maximum(np.linalg.norm(seen, axis=1, keepdims=True), 1e-300)
    _, sizes, right = np.linalg.svd(seen)
    kept = right[: np.count_nonzero(sizes > 1e-12)]
    return np.insert(np.linalg.norm(kept, axis=0) / STDDEV, listener, np.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    graph, gossip = random_regular(given.agents, 4, seed=1), Muffliato(given.rounds, stddev=STDDEV, momentum=0.5)
    start = time.process_time()
    run = run_of(graph, gossip, listeners(graph))
    messages = message_map(run.views[-1])
    views = [messages.seen_by(view) for view in run.views[:-1]]
    probed = time.process_time()
    prices = [GaussianView.of(noise, scale).prices(design) for design, noise, scale in views]
    priced = time.process_time()
    for _, noise, _ in views:
        np.linalg.svd(noise)
    decomposed = time.process_time()
    errors, decided = list[float](), 0
    for listener, one in enumerate(prices):
        others = np.arange(graph.agents) != listener
        decided += int(np.count_nonzero(one.decided & others))
        expected = dense(graph, gossip, listener)[others]
        errors.append(float(np.max(np.abs(one.most[others] - expected) / expected)))
    found = {
        f"pairs_{given.agents}_agents_seconds_over_svd": (priced - probed) / (decomposed - priced),
        "largest_relative_error": max(errors),
        "decided_share": decided / (graph.agents * (graph.agents - 1)),
    }
    if given.json:
        print(json.dumps(found))
        return
    print(f"run and probe {probed - start:.2f} s, prices {priced - probed:.2f} s, SVD {decomposed - priced:.2f} s")
    for name, value in found.items():
        print(f"{name:40} {value:.3g}")


if __name__ == "__main__":
    main()
