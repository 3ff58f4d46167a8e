"""Traffic stage of a run: conclusions from times and sizes of packets, scored where the truth is known."""

from collections.abc import Mapping

from attacks.score import computing_times, score_traffic
from attacks.score.traffic import Covered
from attacks.traffic import Amount, analysed
from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.simulation import Run
from netsim.transcript.packet_log import LinkCount, PacketLog
from scenarios.results.attacks import Amount as Ends
from scenarios.results.attacks import IntervalScore, Traffic, TrafficResult
from scenarios.results.base import Edge, Refused, taken

EVENTS = 2000
"""Events that results list; the others are counted."""


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
