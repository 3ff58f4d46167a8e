"""A traffic analysis without a truth: the keys of results, null where only the truth could say."""

from collections.abc import Mapping
from typing import Any

from attacks.traffic import Amount, Sealed
from attacks.traffic.found import Edge

Results = dict[str, Any]


def described(found: Sealed, events: int) -> Results:
    """`traffic_analysis` of a transcript; so many `events` are listed."""
    activity, work, links, size = found.activity, found.computing, found.links, found.dimension
    agents = range(len(work.means))
    return {
        "refused": None,
        "packets": found.packets,
        "activity": {
            "refused": activity.refused,
            "complete": activity.complete,
            "events": [[event.time, event.agent] for event in activity.events[:events]],
            **dict.fromkeys(("asked", "wrong", "guessed", "truth", "score")),
            "found": len(activity.events),
            "counts": [amount(one) for one in activity.counts],
        },
        "computing": {
            "refused": work.refused,
            "kind": work.kind,
            "means": [None if one is None else amount(one) for one in work.means],
            "samples": list(work.samples),
            "slower": sorted(map(list, work.slower)),
            "slowest": work.slowest,
            "ranked": len(work.slower),
            "pairs": len(agents) * (len(agents) - 1) // 2,
            **dict.fromkeys(("truth", "slowest_truth", "rightly", "score")),
        },
        "repeated": _links(links.repeated, links.repeats_refused),
        "lost": _links(links.lost, links.losses_refused),
        "dimension": {
            "refused": size.refused,
            "low": None if size.refused else size.low,
            "high": None if size.refused else size.high,
            "truth": None,
        },
    }


def amount(one: Amount) -> list[float | None]:
    """Low, guess and high."""
    return [one.low, one.value, one.high]


def total(amounts: list[Amount]) -> list[float | None] | None:
    """Of all links together; None where there are none."""
    if not amounts:
        return None
    values = [one.value for one in amounts]
    known = [value for value in values if value is not None]
    value = sum(known) if len(known) == len(values) else None
    return [sum(one.low for one in amounts), value, sum(one.high for one in amounts)]


def _links(found: Mapping[Edge, Amount], refused: str | None) -> Results:
    edges = sorted(found)
    return {
        "refused": refused,
        "links": [list(edge) for edge in edges],
        "packets": [amount(found[edge]) for edge in edges],
        "total": total([found[edge] for edge in edges]),
        **dict.fromkeys(("truth", "total_truth", "score")),
    }
