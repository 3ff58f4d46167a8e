"""What times and sizes alone give away, as results."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from attacks.score import TrafficScore, computing_times, score_traffic
from attacks.traffic import Amount, Sealed, analysed
from attacks.traffic.found import Edge
from netsim.adversary import AdversaryView
from netsim.diary import Diary
from netsim.errors import AttackError
from netsim.run import Run
from scenarios import unscored
from scenarios.unscored import amount, total

Results = dict[str, Any]
EVENTS = 2000
"""So many events are kept in results; the others are counted."""


def analysis(run: Run, diary: Diary) -> Results:
    """The analysis of the run's first view, scored; or why it was refused."""
    return analysis_of(run.views[0], run, diary)


def analysis_of(view: AdversaryView, run: Run | None, diary: Diary) -> Results:
    """The same of a kept transcript's view. Without a run there is no truth, and what needs it is null."""
    try:
        found = analysed(view)
    except AttackError as error:
        return {"refused": str(error)}
    if run is None:
        return unscored.described(found, EVENTS)
    return _described(found, score_traffic(found, run, diary), run, diary)


def _described(found: Sealed, score: TrafficScore, run: Run, diary: Diary) -> Results:
    activity, work, links, size = found.activity, found.computing, found.links, found.dimension
    return {
        "refused": None,
        "packets": found.packets,
        "activity": {
            "refused": activity.refused,
            "complete": activity.complete,
            "events": [[event.time, event.agent] for event in activity.events[:EVENTS]],
            "asked": score.events,
            "found": score.events_found,
            "wrong": score.events_wrong,
            "guessed": score.guessed,
            "counts": [amount(one) for one in activity.counts],
            "truth": list(run.activations),
            "score": asdict(score.activations),
        },
        "computing": {
            "refused": work.refused,
            "kind": work.kind,
            "means": [None if one is None else amount(one) for one in work.means],
            "samples": list(work.samples),
            "truth": computing_times(run),
            "slower": sorted(map(list, work.slower)),
            "slowest": work.slowest,
            "slowest_truth": score.slowest,
            "pairs": score.pairs,
            "ranked": score.ranked,
            "rightly": score.rightly,
            "score": asdict(score.computing),
        },
        "repeated": _links(
            links.repeated, links.repeats_refused, {edge: one.repeated for edge, one in diary.links.items()}
        )
        | {"score": asdict(score.repeated)},
        "lost": _links(links.lost, links.losses_refused, {edge: one.lost for edge, one in diary.links.items()})
        | {"score": asdict(score.lost)},
        "dimension": {
            "refused": size.refused,
            "low": None if size.refused else size.low,
            "high": None if size.refused else size.high,
            "truth": score.dimension,
        },
    }


def _links(found: Mapping[Edge, Amount], refused: str | None, truth: Mapping[Edge, int]) -> Results:
    edges = sorted(found)
    return {
        "refused": refused,
        "links": [list(edge) for edge in edges],
        "packets": [amount(found[edge]) for edge in edges],
        "truth": [truth[edge] for edge in edges],
        "total": total([found[edge] for edge in edges]),
        "total_truth": sum(truth[edge] for edge in edges),
    }
