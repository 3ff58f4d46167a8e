"""Agents whose gradients follow a script, whatever they ask: any history that a test wants, through the simulator."""

from collections.abc import Mapping

import numpy as np

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.problems import Problem
from netsim.simulation import Run
from tests.worlds import simulated


class Scripted:
    """Its k-th gradient is the k-th of (queries, replicas, dimension)."""

    smoothness, strong_convexity, records = 1.0, 0.0, 1

    def __init__(self, script: Array) -> None:
        self.script, self.asked = script, 0

    @property
    def dimension(self) -> int:
        return self.script.shape[-1]

    def gradient(self, x: Array) -> Array:
        self.asked += 1
        return np.broadcast_to(self.script[self.asked - 1], x.shape).copy()

    def _not_asked(self, *_: object) -> Array:
        raise AssertionError("a script has gradients alone")

    value = hessian = proximal = batch = _not_asked


def drawn(agents: int, queries: int, dimension: int = 2, seed: int = 0, *, constant: bool = False) -> list[Array]:
    """A script for each agent, standard normal, new at every query or the same at all; the same in all replicas."""
    rng = np.random.default_rng(seed)
    shape = (agents, 1 if constant else queries, 1, dimension)
    return list(np.repeat(rng.standard_normal(shape), queries if constant else 1, axis=1))


def run_script(
    scripts: list[Array], graph: topology.Topology, algorithm: Algorithm, adversary: Adversary, **options
) -> Run:
    """One run of the simulator."""
    problem = Problem(tuple(Scripted(script) for script in scripts))
    return simulated(problem, graph, algorithm, adversaries=(adversary,), measure=False, **options).run()


def given(run: Run) -> dict[int, Array]:
    """What every agent was answered, (queries, replicas, dimension)."""
    return {i: np.array([q.gradient for q in asked]) for i, asked in enumerate(run.truth.queries)}


def worst(found, run: Run) -> float:
    """The largest error of what is called identifiable, relative to the largest gradient."""
    truth = given(run)
    errors = [np.abs(found.agents[i].gradients[list(q)] - truth[i][list(q)]).max() for i, q in found.seen.items()]
    return max(errors, default=0.0) / max(np.abs(g).max() for g in truth.values())


def within_bounds(found, run: Run) -> bool:
    """Whether every error of what is called identifiable is within the bound that rounding is given."""
    truth: Mapping[int, Array] = given(run)
    return all(
        bool(np.all(np.abs(found.agents[i].gradients[t] - truth[i][t]) <= found.agents[i].rounding[t]))
        for i, queries in found.seen.items()
        for t in queries
    )


def observed(run: Run) -> list[tuple[object, ...]]:
    """Every row of the first adversary's transcript, without its values; and its values, one array."""
    return [(r.sender, r.receiver, r.event, r.kind, r.number, sorted(r.values)) for r in run.views[0].transcript]


def values(run: Run) -> Array:
    """All values of the first adversary's transcript, in order."""
    return np.array([r.values[name] for r in run.views[0].transcript for name in sorted(r.values)])
