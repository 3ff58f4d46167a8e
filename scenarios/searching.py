"""The worst pair of one algorithm within the adjacency of its scenario: found on transcripts that no audit uses."""

from collections.abc import Callable
from typing import Any

from attacks.audit.audit import Pair, Simulate
from attacks.audit.search import FIRST_CHUNK, Searched, observed, search
from netsim.arrays import Array
from netsim.problems import Problem
from netsim.randomness import Streams
from scenarios.experiment import Experiment, Subject
from scenarios.pairs import curvature_of
from scenarios.problem import AnyLogistic
from scenarios.schema.scenario import GradientChange
from scenarios.spaces import Data, Moved, Records, Spaces


def worst_pair(
    experiment: Experiment,
    subject: Subject,
    delta: float,
    simulate: Simulate,
    progress: Callable[[int], None] | None = None,
) -> tuple[Pair, Searched]:
    """What `audit.search` asks for: the pair to be audited, and what was searched.

    `delta` is the claim's; `simulate(0, FIRST_CHUNK)` gives as many transcripts of the true world as the search asks
    for (`scenarios.runner.worlds` with them for its chunk). `progress` is told of every candidate. Errors as
    `attacks.audit.search.search`'s.
    """
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    problem = subject.simulation.problem
    own = problem.objectives[spec.agent]
    sample = simulate(0, FIRST_CHUNK)
    points = observed(sample, spec.agent, own)
    space = space_of(experiment, subject.spec.name, problem, points)
    found = search(sample, spec.agent, own, space, delta=delta, budget=spec.search.candidates, progress=progress)
    candidate = found.winner.candidate
    description = f"{candidate.description} (the worst of {found.tried:,} searched)"
    return Pair(spec.agent, (own, candidate.hypothesis), description), found


def space_of(experiment: Experiment, name: str, problem: Problem, points: Array) -> Spaces:
    """All that the scenario's adjacency allows of the audited agent, as far as it is searched."""
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    own = problem.objectives[spec.agent]
    rng = Streams(experiment.scenario.seed).generator("search", name)
    moved = spec.adjacency
    if isinstance(moved, GradientChange):
        return Moved(spec.agent, own, moved.change, moved.norm, curvature_of(moved, problem), points, rng)
    assert isinstance(own, AnyLogistic)
    kind = Records if moved == "record" else Data
    return kind(spec.agent, own, problem, points, rng, spec.search.candidates)


def described(found: Searched) -> dict[str, Any]:
    """For results.json: `audit.search` of an algorithm."""
    return {
        "sentence": found.sentence,
        "candidates": found.tried,
        "budget": found.budget,
        "transcripts": found.transcripts,
        "chunk": found.chunk,
        "delta": found.delta,
        "winner": {
            "family": found.winner.candidate.family,
            "description": found.winner.candidate.description,
            "epsilon": found.winner.epsilon,
        },
        "families": [
            {"name": one.name, "candidates": one.tried, "best": one.best, "epsilon": one.epsilon}
            for one in found.families
        ],
    }
