"""Gradient stage of a run: inferred gradients, leakage by query and agent, and one image of each agent."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from attacks import inference
from attacks.reconstruction import Case, Evidence, Known
from attacks.reconstruction.one_record import OneRecord
from attacks.score import GradientScore, ImageScore, score_gradients, score_image
from netsim.adversary import Adversary
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.problems import Dataset
from netsim.simulation import Run
from netsim.topology import Topology
from scenarios.build.experiment import Experiment
from scenarios.results.attacks import (
    GradientResult,
    Gradients,
    GradientScores,
    ImageOfAgent,
    ImageResult,
    Images,
    Leakage,
    LeakageByQuery,
    LeakageOfAgent,
)
from scenarios.results.base import Refused, taken
from scenarios.results.measures import evenly
from scenarios.stages.measured import FIRST_REPLICAS

BAND = (0.05, 0.5, 0.95)


def infer_gradients(experiment: Experiment, run: Run) -> tuple[Gradients, Leakage | None]:
    """Gradients inferred from a run's first view, scored, and where they leak; no leakage where there is none."""
    assert run.truth is not None
    jointly = experiment.scenario.attacks.victims == "jointly"
    try:
        inversion, estimates = inference.inferred(run.views[0], jointly=jointly)
        score = score_gradients(estimates, run.truth, run.views[0].inside)
    except AttackError as error:
        return Refused(refused=str(error)), None
    adversary, on_radio = experiment.scenario.adversary.build(), experiment.scenario.medium != "links"
    near = nearest(adversary, experiment.topology, on_radio)
    name = f"{inversion.__module__}.{inversion.__name__}"
    return taken(GradientResult, gradient_scores(score), attack=name), leakage(score, experiment.topology, near)


def gradient_scores(score: GradientScore) -> GradientScores:
    """Errors of inferred gradients, with the median over replicas in order of time."""
    found, known = Counter(score.agents), bool(score.errors.size)
    order = np.lexsort((np.array(score.queries), score.times))
    curve = np.median(score.errors, axis=1)[order] if known else np.empty(0)
    return GradientScores(
        estimated=score.estimated,
        queries=score.asked,
        inferred=tuple(found[i] for i in range(len(score.hidden))),
        hidden=score.hidden,
        worst=score.worst if known else None,
        median=score.median if known else None,
        baseline=score.baseline if known else None,
        curve=tuple(curve[evenly(len(curve))].tolist()) if curve.size else (),
        by_replica=tuple(np.median(score.errors, axis=0)[:FIRST_REPLICAS].tolist()) if known else (),
    )


def leakage(score: GradientScore, topology: Topology, near: Sequence[int]) -> Leakage:
    """Inferred gradients by query and by agent, whose hops are to the nearest of the agents `near` the adversary.

    Quantiles by query are over agents and replicas.
    """
    return Leakage(by_query=_by_query(score), by_agent=tuple(_by_agent(score, topology, near)))


def nearest(adversary: Adversary, topology: Topology, on_radio: bool) -> list[int]:
    """The agents where the adversary sits: insiders, tapped doors, ends of tapped links, tapped transmitters."""
    ends = adversary.transmitters(topology) if on_radio else {i for e in adversary.tapped(topology) for i in e}
    return sorted({*adversary.doors, *ends})


def _by_query(score: GradientScore) -> LeakageByQuery:
    made = _queries(score)
    kept = evenly(int(np.max(made, initial=0))) if np.any(made) else []
    queries = np.array(score.queries, dtype=np.int64)
    rows = [np.flatnonzero(queries == k) for k in kept]
    bands = [_quantiles(score.errors[row]) if len(row) else (None, None, None) for row in rows]
    return LeakageByQuery(
        query=tuple(k + 1 for k in kept),
        identifiable=tuple(len(row) / int(np.sum(made > k)) for k, row in zip(kept, rows, strict=True)),
        low=tuple(band[0] for band in bands),
        median=tuple(band[1] for band in bands),
        high=tuple(band[2] for band in bands),
    )


def _by_agent(score: GradientScore, topology: Topology, near: Sequence[int]) -> list[LeakageOfAgent]:
    far = _distances(topology, near)
    agents, rows = np.array(score.agents, dtype=np.int64), list[LeakageOfAgent]()
    for agent, made in enumerate(_queries(score).tolist()):
        if not made:
            continue
        own = np.flatnonzero(agents == agent)
        rows.append(
            LeakageOfAgent(
                agent=agent,
                degree=len(topology.neighbors(agent)),
                hops=int(far[agent]) if np.isfinite(far[agent]) else None,
                queries=made,
                identifiable=len(own) / made,
                error=float(np.median(score.errors[own])) if len(own) else None,
            )
        )
    return rows


def _queries(score: GradientScore) -> NDArray[np.int64]:
    """Queries of each agent."""
    found = np.bincount(np.array(score.agents, dtype=np.int64), minlength=len(score.hidden))
    return found + np.array(score.hidden, dtype=np.int64)


def _quantiles(errors: Array) -> tuple[float, float, float]:
    low, middle, high = np.quantile(errors, BAND).tolist()
    return low, middle, high


def _distances(topology: Topology, near: Sequence[int]) -> Array:
    """Hops from each agent to the nearest of these."""
    graph: Any = networkx.Graph(topology.edges)
    graph.add_nodes_from(range(topology.agents))
    search: Any = networkx.multi_source_dijkstra_path_length
    found: dict[int, int] = search(graph, set(near), weight=None) if near else {}
    return np.array([found.get(agent, np.inf) for agent in range(topology.agents)], dtype=np.float64)


def rebuild_images(experiment: Experiment, run: Run) -> Images:
    """Images rebuilt from the second run, in which each agent holds one."""
    assert experiment.holding is not None
    assert run.truth is not None
    prior, view = experiment.holding.prior, run.views[0]
    assert prior is not None
    try:
        estimates = inference.infer(view)
        inferred = sorted({e.agent for e in estimates})
        if not inferred:
            raise AttackError("no gradient could be inferred: nothing to rebuild an image from")
        cases = [
            Case(Evidence.of([e for e in estimates if e.agent == i]), Known.of(view.public, i, prior))
            for i in inferred
        ]
        rebuilt = OneRecord().reconstruct(cases, np.random.default_rng(experiment.scenario.seed))
    except AttackError as error:
        return Refused(refused=str(error))
    scores = [score_image(one, run.truth, prior) for one in rebuilt]
    return _images(scores, experiment.dataset, all(e.stddev == 0 for e in estimates))


def _images(scores: Sequence[ImageScore], dataset: Dataset, exact: bool) -> ImageResult:
    """Originals, reconstructions and guesses."""
    return ImageResult(
        shape=dataset.image_shape or (1, dataset.dimension),
        range=dataset.value_range or (0.0, 1.0),
        exact=exact,
        note="each agent holds one image",
        agents=tuple(
            taken(
                ImageOfAgent,
                one,
                original=tuple(one.truth.tolist()),
                rebuilt=tuple(one.rebuilt.tolist()),
                guess=tuple(one.guess.tolist()),
            )
            for one in scores
        ),
    )
