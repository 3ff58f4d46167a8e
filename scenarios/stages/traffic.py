"""Traffic stage of a run: conclusions from times and sizes of packets, scored where the truth is known."""

from collections.abc import Mapping
from dataclasses import replace

from attacks.score import TrafficScore, computing_times, score_traffic
from attacks.score.traffic import Covered
from attacks.traffic import Amount, Sealed, analysed
from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.simulation import Run
from netsim.transcript.packet_log import PacketLog
from scenarios.results.attacks import (
    ActivityResult,
    ComputingResult,
    DimensionResult,
    IntervalScore,
    LinkPackets,
    Traffic,
    TrafficResult,
)
from scenarios.results.attacks import Amount as Ends
from scenarios.results.base import Edge, Refused, taken

EVENTS = 2000
"""Events that results list; the others are counted."""


def analyse_traffic(view: AdversaryView, run: Run | None, log: PacketLog) -> Traffic:
    """Analysis of a view; without its run there is no truth, and scores are null."""
    try:
        found = analysed(view)
    except AttackError as error:
        return Refused(refused=str(error))
    result = _unscored(found)
    return result if run is None else _scored(result, score_traffic(found, run, log), run, log)


def _unscored(found: Sealed) -> TrafficResult:
    activity, work, links, size = found.activity, found.computing, found.links, found.dimension
    agents = len(work.means)
    return TrafficResult(
        packets=found.packets,
        activity=ActivityResult(
            refused=activity.refused,
            complete=activity.complete,
            events=tuple((event.time, event.agent) for event in activity.events[:EVENTS]),
            activations=None,
            found=len(activity.events),
            wrong=None,
            guessed=None,
            counts=tuple(map(_ends, activity.counts)),
            truth=None,
            score=None,
        ),
        computing=ComputingResult(
            refused=work.refused,
            kind=work.kind,
            means=tuple(None if one is None else _ends(one) for one in work.means),
            samples=work.samples,
            slower=tuple(sorted(work.slower)),
            slowest=work.slowest,
            ranked=len(work.slower),
            pairs=agents * (agents - 1) // 2,
            truth=None,
            slowest_truth=None,
            rightly=None,
            score=None,
        ),
        repeated=_links(links.repeated, links.repeats_refused),
        lost=_links(links.lost, links.losses_refused),
        dimension=DimensionResult(
            refused=size.refused,
            low=None if size.refused else size.low,
            high=None if size.refused else size.high,
            truth=None,
        ),
    )


def _ends(one: Amount) -> Ends:
    return one.low, one.value, one.high


def _links(found: Mapping[Edge, Amount], refused: str | None) -> LinkPackets:
    edges, amounts = tuple(sorted(found)), list(found.values())
    known = [one.value for one in amounts if one.value is not None]
    total: Ends | None = None
    if amounts:
        value = sum(known) if len(known) == len(amounts) else None
        total = sum(one.low for one in amounts), value, sum(one.high for one in amounts)
    return LinkPackets(
        refused=refused,
        links=edges,
        packets=tuple(_ends(found[edge]) for edge in edges),
        total=total,
        truth=None,
        total_truth=None,
        score=None,
    )


def _scored(found: TrafficResult, score: TrafficScore, run: Run, log: PacketLog) -> TrafficResult:
    """The same with the truth and the scores beside it."""
    repeated = [log.links[link].repeated for link in found.repeated.links]
    lost = [log.links[link].lost for link in found.lost.links]
    return replace(
        found,
        activity=replace(
            found.activity,
            activations=score.events,
            found=score.events_found,
            wrong=score.events_wrong,
            guessed=score.guessed,
            truth=run.activations,
            score=_score(score.activations),
        ),
        computing=replace(
            found.computing,
            truth=tuple(computing_times(run)),
            slowest_truth=score.slowest,
            pairs=score.pairs,
            ranked=score.ranked,
            rightly=score.rightly,
            score=_score(score.computing),
        ),
        repeated=replace(
            found.repeated, truth=tuple(repeated), total_truth=sum(repeated), score=_score(score.repeated)
        ),
        lost=replace(found.lost, truth=tuple(lost), total_truth=sum(lost), score=_score(score.lost)),
        dimension=replace(found.dimension, truth=score.dimension),
    )


def _score(found: Covered) -> IntervalScore:
    return taken(IntervalScore, found, numbers=found.asked)
