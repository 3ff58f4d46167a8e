"""The worst pair of one algorithm within the adjacency of its scenario: found on transcripts that no audit uses."""

from typing import Any, Protocol

from attacks.audit.audit import Pair
from attacks.audit.pairs.search import FIRST_CHUNK, Searched, observed, search
from netsim.arrays import Array
from netsim.problems import Problem
from netsim.randomness import Streams
from scenarios.auditing import worlds
from scenarios.experiment import Experiment, Subject
from scenarios.pairs import curvature_of
from scenarios.problem import AnyLogistic
from scenarios.schema.scenario import GradientChange
from scenarios.spaces import Data, Moved, Records, Spaces


class Progress(Protocol):
    """Who is told how far the search is."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self, steps: int) -> None: ...


def pair_for(
    experiment: Experiment, subject: Subject, delta: float, progress: Progress
) -> tuple[Pair, dict[str, Any]]:
    """The pair that is to be audited, and what is to be added to the audit's results: {"search": …}.

    Without `audit.search` it is the experiment's, and nothing is added. `delta` is the claim's. Errors as
    `attacks.audit.pairs.search.search`'s.
    """
    spec = experiment.scenario.audit
    assert spec is not None
    assert experiment.pair is not None
    if spec.search is None:
        return experiment.pair, {}
    progress.begin(f"{subject.spec.name}: searching the worst pair", spec.search.candidates)
    found = searched(experiment, subject, delta, progress)
    own = experiment.pair.hypotheses[0]
    candidate = found.winner.candidate
    description = f"{candidate.description} (the worst of {found.tried:,} searched)"
    return Pair(spec.agent, (own, candidate.hypothesis), description), {
        "search": described(found) | {"seed": experiment.scenario.seed}
    }


def searched(experiment: Experiment, subject: Subject, delta: float, progress: Progress) -> Searched:
    """Simulate some transcripts of the true world, and rank candidates on them."""
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    problem, agent = subject.simulation.problem, spec.agent
    own = problem.objectives[agent]
    sample = worlds(subject.simulation, agent, own, spec.search.transcripts)(0, FIRST_CHUNK)
    space = space_of(experiment, subject.spec.name, problem, observed(sample, agent, own))
    budget = spec.search.candidates
    return search(sample, agent, own, space, delta=delta, budget=budget, progress=progress.advance)


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
