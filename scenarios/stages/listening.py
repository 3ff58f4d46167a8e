"""Attacks on what was recorded: inferred gradients, their leakage by query and agent, one image of each agent, and
conclusions from times and sizes of packets; scored where the truth is known."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import networkx
import numpy as np

from attacks import inference
from attacks.reconstruction import Case, Evidence, Known
from attacks.reconstruction.one_record import OneRecord
from attacks.score import GradientScore, computing_times, score_gradients, score_image, score_traffic
from attacks.score.inference import Covered
from attacks.traffic import Amount, analysed
from netsim.adversary import Adversary, AdversaryView
from netsim.arrays import evenly
from netsim.errors import AttackError
from netsim.simulation import Run
from netsim.topology import Topology
from netsim.transcript.packet_log import LinkCount, PacketLog
from scenarios.build.experiment import Experiment
from scenarios.results.attacks import GradientResult, Gradients, GradientScores, ImageResult, Images, Leakage
from scenarios.results.base import Edge, Refused, taken
from scenarios.results.curves import CURVE_POINTS, FIRST_REPLICAS
from scenarios.results.traffic import Amount as Ends
from scenarios.results.traffic import IntervalScore, Traffic, TrafficResult

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
    where = leakage_of(score, experiment.topology, adversary, on_radio)
    return taken(GradientResult, gradient_scores(score), attack=name), where


def gradient_scores(score: GradientScore) -> GradientScores:
    """Errors of inferred gradients, with the median over replicas in order of time."""
    found, known = Counter(score.agents), bool(score.errors.size)
    made = set(zip(score.agents, score.queries, strict=True))
    last = ((i, found[i] + hidden - 1) for i, hidden in enumerate(score.hidden) if found[i] + hidden)
    each_last = known and all(score.hidden[i] == 1 and (i, query) not in made for i, query in last)
    order = np.lexsort((np.array(score.queries), score.times))
    curve = np.median(score.errors, axis=1)[order] if known else np.empty(0)
    scores = GradientScores(
        estimated=score.estimated,
        queries=score.asked,
        inferred=tuple(found[i] for i in range(len(score.hidden))),
        hidden=score.hidden,
        worst=score.worst if known else None,
        median=score.median if known else None,
        baseline=score.baseline if known else None,
        curve=tuple(curve[evenly(len(curve), CURVE_POINTS)].tolist()) if curve.size else (),
        by_replica=tuple(np.median(score.errors, axis=0)[:FIRST_REPLICAS].tolist()) if known else (),
        but_each_last=each_last,
    )
    return replace(scores, learned=int(np.count_nonzero(curve < scores.guess)))


def leakage_of(score: GradientScore, topology: Topology, adversary: Adversary, on_radio: bool = False) -> Leakage:
    """Inferred gradients by query and by agent; quantiles by query are over agents and replicas.

    Hops are to the nearest agent where the adversary sits: insiders, tapped doors, ends of tapped links, tapped
    transmitters.
    """
    ends = adversary.transmitters(topology) if on_radio else {i for e in adversary.tapped(topology) for i in e}
    near = {*adversary.doors, *ends}
    made = np.bincount(np.array(score.agents, dtype=np.int64), minlength=len(score.hidden))
    made += np.array(score.hidden, dtype=np.int64)  # queries of each agent
    kept = evenly(int(np.max(made, initial=0)), CURVE_POINTS) if np.any(made) else []
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
        transcripts=view.replicas,
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


EVENTS = 2000
"""Events that results list; the others are counted."""


# ── traffic ─────────────────────────────────────────────────────────────────────────────────────────────
def analyse_traffic(view: AdversaryView, run: Run | None, log: PacketLog) -> Traffic:
    """Analysis of a view; without its run there is no truth, and scores are null."""
    try:
        found = analysed(view)
    except AttackError as error:
        return Refused(refused=str(error))
    activity, work, links, size = found.activity, found.computing, found.links, found.dimension
    agents, score = len(work.means), None if run is None else score_traffic(found, run, log)
    sent = None if run is None else log.links
    return TrafficResult(
        packets=found.packets,
        activity=taken(
            TrafficResult.ActivityResult,
            activity,
            events=tuple((event.time, event.agent) for event in activity.events[:EVENTS]),
            activations=score and score.events,
            found=len(activity.events) if score is None else score.events_found,
            wrong=score and score.events_wrong,
            guessed=score and score.guessed,
            counts=tuple(map(_ends, activity.counts)),
            truth=run and run.activations,
            score=_score(score and score.activations),
        ),
        computing=taken(
            TrafficResult.ComputingResult,
            work,
            means=tuple(None if one is None else _ends(one) for one in work.means),
            slower=tuple(sorted(work.slower)),
            ranked=len(work.slower) if score is None else score.ranked,
            pairs=agents * (agents - 1) // 2 if score is None else score.pairs,
            truth=None if run is None else tuple(computing_times(run)),
            slowest_truth=score and score.slowest,
            rightly=score and score.rightly,
            score=_score(score and score.computing),
        ),
        repeated=_links("repeated", links.repeated, links.repeats_refused, sent, score and score.repeated),
        lost=_links("lost", links.lost, links.losses_refused, sent, score and score.lost),
        dimension=TrafficResult.DimensionResult(
            refused=size.refused,
            low=None if size.refused else size.low,
            high=None if size.refused else size.high,
            truth=score and score.dimension,
        ),
    )


def _ends(one: Amount) -> Ends:
    return float(one.low), None if one.value is None else float(one.value), float(one.high)


def _links(
    what: str,
    found: Mapping[Edge, Amount],
    refused: str | None,
    sent: Mapping[Edge, LinkCount] | None,
    score: Covered | None,
) -> TrafficResult.LinkPackets:
    edges = tuple(sorted(found))
    amounts = [found[edge] for edge in edges]
    known = [one.value for one in amounts if one.value is not None]
    total: Ends | None = None
    if amounts:
        value = sum(known) if len(known) == len(amounts) else None
        total = _ends(Amount(sum(one.low for one in amounts), value, sum(one.high for one in amounts)))
    truth = None if sent is None else tuple(getattr(sent[edge], what) for edge in edges)
    return TrafficResult.LinkPackets(
        refused=refused,
        links=edges,
        packets=tuple(map(_ends, amounts)),
        total=total,
        truth=truth,
        total_truth=None if truth is None else sum(truth),
        score=_score(score),
    )


def _score(found: Covered | None) -> IntervalScore | None:
    return None if found is None else taken(IntervalScore, found, numbers=found.asked)
