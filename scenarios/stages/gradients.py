"""Gradient stage of a run: inferred gradients, leakage by query and agent, and one image of each agent."""

from collections import Counter
from typing import Any

import networkx
import numpy as np

from attacks import inference
from attacks.reconstruction import Case, Evidence, Known
from attacks.reconstruction.one_record import OneRecord
from attacks.score import GradientScore, score_gradients, score_image
from netsim.adversary import Adversary
from netsim.errors import AttackError
from netsim.simulation import Run
from netsim.topology import Topology
from scenarios.build.experiment import Experiment
from scenarios.results.attacks import GradientResult, Gradients, GradientScores, ImageResult, Images, Leakage
from scenarios.results.base import Refused, taken
from scenarios.results.curves import FIRST_REPLICAS, evenly

BAND = (0.05, 0.5, 0.95)


def infer_gradients(experiment: Experiment, run: Run) -> tuple[Gradients, Leakage | None]:
    """Gradients inferred from a run's first view, scored, and where they leak; no leakage where there is none."""
    assert run.truth is not None
    attacks = experiment.scenario.attacks
    try:
        inversion, estimates = inference.inferred(
            run.views[0], jointly=attacks.victims == "jointly", fitted=attacks.coins == "fitted"
        )
        known = [one for one in estimates if run.truth.queries[one.agent]]  # not those of an outside program
        score = score_gradients(known, run.truth, run.views[0].inside)
    except AttackError as error:
        return Refused(refused=str(error)), None
    adversary, on_radio = experiment.scenario.adversary.build(), experiment.scenario.medium != "links"
    name = f"{inversion.__module__}.{inversion.__name__}"
    where = leakage(score, experiment.topology, adversary, on_radio)
    return taken(GradientResult, gradient_scores(score), attack=name), where


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


def leakage(score: GradientScore, topology: Topology, adversary: Adversary, on_radio: bool = False) -> Leakage:
    """Inferred gradients by query and by agent; quantiles by query are over agents and replicas.

    Hops are to the nearest agent where the adversary sits: insiders, tapped doors, ends of tapped links, tapped
    transmitters.
    """
    ends = adversary.transmitters(topology) if on_radio else {i for e in adversary.tapped(topology) for i in e}
    near = {*adversary.doors, *ends}
    made = np.bincount(np.array(score.agents, dtype=np.int64), minlength=len(score.hidden))
    made += np.array(score.hidden, dtype=np.int64)  # queries of each agent
    kept = evenly(int(np.max(made, initial=0))) if np.any(made) else []
    agents, queries = np.array(score.agents, dtype=np.int64), np.array(score.queries, dtype=np.int64)
    rows = [np.flatnonzero(queries == k) for k in kept]
    bands: list[list[float | None]] = [
        np.quantile(score.errors[row], BAND).tolist() if len(row) else [None] * 3 for row in rows
    ]
    by_query = Leakage.LeakageByQuery(
        query=tuple(k + 1 for k in kept),
        identifiable=tuple(len(row) / int(np.sum(made > k)) for k, row in zip(kept, rows, strict=True)),
        low=tuple(band[0] for band in bands),
        median=tuple(band[1] for band in bands),
        high=tuple(band[2] for band in bands),
    )
    graph: Any = networkx.Graph(topology.edges)
    graph.add_nodes_from(range(topology.agents))
    search: Any = networkx.multi_source_dijkstra_path_length
    hops: dict[int, int] = search(graph, near, weight=None) if near else {}
    by_agent: list[Leakage.LeakageOfAgent] = []
    for agent, count in enumerate(made.tolist()):
        own = np.flatnonzero(agents == agent)
        if count:
            by_agent.append(
                Leakage.LeakageOfAgent(
                    agent=agent,
                    degree=len(topology.neighbors(agent)),
                    hops=hops.get(agent),
                    queries=count,
                    identifiable=len(own) / count,
                    error=float(np.median(score.errors[own])) if len(own) else None,
                )
            )
    return Leakage(by_query=by_query, by_agent=tuple(by_agent))


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
    dataset, scores = experiment.dataset, [score_image(one, run.truth, prior) for one in rebuilt]
    return ImageResult(
        shape=dataset.image_shape or (1, dataset.dimension),
        range=dataset.value_range or (0.0, 1.0),
        exact=all(e.stddev == 0 for e in estimates),
        note="each agent holds one image",
        agents=tuple(
            taken(
                ImageResult.ImageOfAgent,
                one,
                original=tuple(one.truth.tolist()),
                rebuilt=tuple(one.rebuilt.tolist()),
                guess=tuple(one.guess.tolist()),
            )
            for one in scores
        ),
    )
