"""What an audit costs, and how many transcripts it needs.

`total_vs_noise_draws`: transcripts of DPP² (20 agents on a geometric graph, 60 rounds, ten coordinates, least squares
with 30 records each), simulated with every tap of an audit and replayed under both hypotheses, in CPU time of drawing
their Laplace noise and nothing else, on the same core; and the peak of resident memory, in a process of its own.

`transcripts_to_refute`, `game_trials_to_refute`: Laplace noise half as large as declared, one release: ε = 1 is
claimed, 2 is true. How many transcripts show a loss above the claim; and how many coins the anytime game tosses
before its wealth reaches 20. The median over many repetitions, and a large quantile.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.audit.audit import audit
from attacks.audit.games.sequential_test import SequentialTestResult
from attacks.audit.loss.comparison import ALONE, compare_worlds
from attacks.audit.pair import Pair
from netsim import topology
from netsim.algorithms import Dpp2
from netsim.algorithms.planted_faults import HalfNoise
from netsim.claims import Adjacency, Claim
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.schedules import Geometric
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

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
        true, other = pair.hypotheses[world], pair.hypotheses[1 - world]
        compare_worlds(simulate(world, index // 2), pair.agent, true, other, alone=ALONE if index < 2 else 1)


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


def half_noise(repetitions: int, each: int) -> tuple[list[int], list[int]]:
    """Per repetition: transcripts until one's loss is above the claim of 1, and coins until the game is decided."""
    part = LeastSquares(np.eye(1), np.zeros(1), 0.5)
    one, two = Tilted(part, np.array([1e3])), Tilted(part, np.array([-1e3]))
    algorithm = HalfNoise(rounds=2, step=0.25, scale=0.5, bound=1.0)
    simulation = Simulation(Problem((part, one, part)), topology.ring(3), algorithm)
    pair = Pair(1, (one, two), "its gradient turned round")
    simulate = worlds(simulation, pair.agent, two, each)
    claim = simulation.claim(Adjacency(np.inf, "all data of one agent replaced"), 2, 0.0)
    assert claim is not None
    assert claim.epsilon == 1.0
    transcripts, coins = list[int](), list[int]()
    for index in range(repetitions):
        zero, one_ = (
            compare_worlds(simulate(world, index), 1, pair.hypotheses[world], pair.hypotheses[1 - world]).steps.sum(
                axis=0
            )
            for world in (0, 1)
        )
        above = np.flatnonzero(zero > claim.epsilon * (1 + 1e-9))
        transcripts.append(int(above[0]) + 1 if above.size else each + 1)
        rng = np.random.default_rng(index)
        game = SequentialTestResult.play(-zero, one_, claim.epsilon, 0.0, 0.05, rng)
        coins.append(each if game.refuted_at is None else game.refuted_at)
    return transcripts, coins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    parser.add_argument("--trials", type=int, default=10_000, help="transcripts of DPP² in all")
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args()
    replayed(CHUNK)
    drawn = seconds(noise_of, options.trials)
    looked, audited = (seconds(work, options.trials) / drawn for work in (replayed, whole_audit))
    transcripts, coins = half_noise(options.repetitions, 1000)
    numbers = {
        "total_vs_noise_draws": looked,
        "whole_audit_vs_noise_draws": audited,
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "transcripts_to_refute": float(np.median(transcripts)),
        "transcripts_to_refute_95": float(np.quantile(transcripts, 0.95)),
        "game_trials_to_refute": float(np.median(coins)),
        "game_trials_to_refute_95": float(np.quantile(coins, 0.95)),
    }
    if options.json:
        print(json.dumps(numbers))
        return
    for name, value in numbers.items():
        print(f"{name:30} {value:8.2f}")


if __name__ == "__main__":
    main()
