"""What an audit costs, and how many transcripts it needs.

`total_vs_noise_draws`: transcripts of DPP² (20 agents on a geometric graph, 60 rounds, ten coordinates, least squares
with 30 records each), simulated with every tap of an audit and replayed under both hypotheses, in CPU time of drawing
their Laplace noise and nothing else, on the same core; and the peak of resident memory, in a process of its own.

`transcripts_to_refute`, `game_trials_to_refute`: Laplace noise half as large as declared, one release: ε = 1 is
claimed, 2 is true. How many transcripts show a loss above the claim; and how many coins the anytime game tosses
before its wealth reaches 20. The median over many repetitions, and a large quantile.
"""

import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.audit.audit import Pair, audit
from attacks.audit.explain import explain
from netsim import topology
from netsim.algorithms import Dpp2
from netsim.claims import Adjacency, Claim
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.tilted import direction
from netsim.schedules import Geometric
from netsim.simulation import Simulation
from scenarios.auditing import worlds

AGENTS, ROUNDS, DIMENSION, RECORDS = 20, 60, 10, 30
CHUNK = 500
CLAIM = Claim(20.0, 0.0, "by hand", Adjacency(1.0, "the gradient of an agent moved"), "ℓ1")


def dpp2() -> tuple[Simulation, Pair]:
    """The agents' least squares, and agent 1's gradient moved by a vector of norm 1."""
    rng = np.random.default_rng(0)
    parts = tuple(
        LeastSquares(rng.standard_normal((RECORDS, DIMENSION)), rng.standard_normal(RECORDS), 1 / (2 * RECORDS))
        for _ in range(AGENTS)
    )
    noise = Geometric(1.0, 0.98)
    algorithm = Dpp2(rounds=ROUNDS, step=0.1, beta=0.02, rho=1.0, scale_w=noise, scale_e=noise)
    graph = topology.random_geometric(AGENTS, 0.35, 1)
    other = Tilted(parts[1], direction("even", DIMENSION))
    return Simulation(Problem(parts), graph, algorithm), Pair(1, (parts[1], other), "its gradient moved")


def noise_of(transcripts: int) -> None:
    """All Laplace numbers of so many runs, an array per release as a run draws them."""
    rng = np.random.default_rng(1)
    for _ in range(transcripts // CHUNK):
        for _ in range(2 * ROUNDS * AGENTS):
            rng.laplace(size=(CHUNK, DIMENSION))


def replayed(transcripts: int) -> None:
    """So many transcripts of both worlds together, each explained under both hypotheses."""
    simulation, pair = dpp2()
    simulate = worlds(simulation, pair.agent, pair.hypotheses[1], CHUNK)
    for index in range(transcripts // CHUNK):
        world = index % 2
        explain(simulate(world, index // 2), pair.agent, pair.hypotheses[world], pair.hypotheses[1 - world])


def whole_audit(transcripts: int) -> None:
    """The audit: the same, kept on disk, pooled, played and judged."""
    simulation, pair = dpp2()
    simulate = worlds(simulation, pair.agent, pair.hypotheses[1], CHUNK)
    audit(
        simulate,
        pair,
        CLAIM,
        trials=transcripts // 2,
        chunk=CHUNK,
        confidence=0.95,
        rng=np.random.default_rng(0),
    )


def seconds(work: Callable[[int], None], transcripts: int) -> float:
    """CPU time."""
    began = time.process_time()
    work(transcripts)
    return time.process_time() - began
