"""Measures of runs: accuracy and cost, leakage by round and agent, and analysis of times and sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from attacks.score import GradientScore, TrafficScore, computing_times, score_traffic
from attacks.traffic import Amount, Sealed, analysed
from attacks.traffic.results import Edge
from netsim.adversary import Adversary, AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.metrics.measures import Measures
from netsim.simulation import Run
from netsim.topology import Topology
from netsim.transcript.packet_log import PacketLog
from scenarios.results.entries import thinned as entries_thinned
from scenarios.schema.checks import MeasureSpec

Results = dict[str, Any]
POINTS = 200
"""Of a curve, at most."""


def measures(found: Measures, spec: MeasureSpec) -> Results:
    """Curves of all measures but the relative error, which is `convergence`; costs so far, and to accuracies."""
    length = len(found.counts("relative_error"))
    return {
        "unit": found.unit,
        "stride": found.stride,
        "curves": {name: _curve(found, name) for name in found.names if name != "relative_error"},
        "costs": _costs(found, length),
        "measure": spec.measure,
        "to_accuracy": [{"accuracy": one, "reached": _reached(found, one, spec)} for one in spec.accuracies],
    }


def _curve(found: Measures, name: str) -> Results:
    curve = found.curve(name)
    chosen = _thinned(len(curve.count))
    return {part: values[chosen].tolist() for part, values in vars(curve).items()}


def _costs(found: Measures, length: int) -> Results:
    chosen = _thinned(length)
    spent = {name: values[chosen].tolist() for name, values in vars(found.costs).items()}
    return {"count": [k + 1 for k in chosen]} | spent


def _reached(found: Measures, accuracy: float, spec: MeasureSpec) -> Results | None:
    reached = found.to_accuracy(accuracy, spec.measure)
    return None if reached is None else asdict(reached)


def _thinned(length: int) -> list[int]:
    return [int(k) for k in thinned(length, POINTS)]


def thinned(length: int, most: int) -> NDArray[np.intp]:
    """At most so many indices from first to last: evenly spaced, and some of them as on a logarithmic axis."""
    if length <= most:
        return np.arange(length)
    even = np.linspace(0, length - 1, most - most // 4)
    return np.unique(np.concatenate([even, np.geomspace(1, length, most // 4) - 1]).astype(np.intp))


Row = tuple[str, float | None, list[float | None]]
NONE = "none of them"
"""In place of an accuracy, where none was reached."""


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────
COLUMNS = (
    ("plf", "Θ (PLF, LCI)", "the largest number of activations, or rounds, of one agent"),
    ("count", "Rounds or activations", "of the whole run"),
    ("messages", "Messages", "that agents sent, one for each receiver"),
    ("packets", "Packets", "on the air: acknowledgements and repeats too; on radio, transmissions"),
    ("bytes", "Bytes", "on the air"),
    ("queries", "Queries", "gradients and proximal steps of all agents"),
    ("time", "Seconds", "of virtual time"),
)
"""What is shown of the costs to an accuracy: the key, its heading, and what it counts."""


def rows(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Algorithm × accuracy → a value for each of `COLUMNS`; None all along the row where it was never reached.

    An algorithm that reached none of several accuracies has one row, and None for the accuracy.
    """
    found: list[Row] = []
    for entry in entries:
        measured: Results = entry.get("measures") or {}
        asked: list[Results] = measured.get("to_accuracy") or []
        if len(asked) > 1 and not any(one["reached"] for one in asked):
            asked = [{"accuracy": None, "reached": None}]
        for one in asked:
            spent: Results = one["reached"] or {}
            found.append((str(entry["name"]), one["accuracy"], [spent.get(key) for key, _, _ in COLUMNS]))
    return found


BAND = (0.05, 0.5, 0.95)


def leakage(score: GradientScore, topology: Topology, near: Sequence[int]) -> Results:
    """`by_query`: over the agents, how many of those that made their k-th query have an estimate of it
    (`identifiable`, a share) and the error of these (`median`, `low`, `high`: quantiles over agents and replicas).

    `by_agent`: degree, `hops` to the nearest of the agents `near` the adversary (None where there is no way), queries
    `asked`, share `identifiable`, median `error`; None where nothing is estimated. Insiders are left out.
    """
    return {"by_query": _by_query(score), "by_agent": _by_agent(score, topology, near)}


def nearest(adversary: Adversary, topology: Topology, on_radio: bool) -> list[int]:
    """The agents where the adversary sits: insiders, tapped doors, the ends of tapped links, heard transmitters."""
    heard = adversary.transmitters(topology) if on_radio else {i for e in adversary.tapped(topology) for i in e}
    return sorted({*adversary.doors, *heard})


def _by_query(score: GradientScore) -> Results:
    asked = _queries(score)
    kept = entries_thinned(int(np.max(asked, initial=0))) if np.any(asked) else []
    queries, found = np.array(score.queries, dtype=np.int64), Results()
    rows = [np.flatnonzero(queries == k) for k in kept]
    found["query"] = [k + 1 for k in kept]
    found["identifiable"] = [len(row) / int(np.sum(asked > k)) for k, row in zip(kept, rows, strict=True)]
    bands = [_quantiles(score.errors[row]) if len(row) else (None, None, None) for row in rows]
    for place, name in enumerate(("low", "median", "high")):
        found[name] = [band[place] for band in bands]
    return found


def _by_agent(score: GradientScore, topology: Topology, near: Sequence[int]) -> list[Results]:
    far = _distances(topology, near)
    agents, rows = np.array(score.agents, dtype=np.int64), list[Results]()
    for agent, asked in enumerate(_queries(score).tolist()):
        if not asked:
            continue
        own = np.flatnonzero(agents == agent)
        rows.append(
            {
                "agent": agent,
                "degree": len(topology.neighbors(agent)),
                "hops": int(far[agent]) if np.isfinite(far[agent]) else None,
                "asked": asked,
                "identifiable": len(own) / asked,
                "error": float(np.median(score.errors[own])) if len(own) else None,
            }
        )
    return rows


def _queries(score: GradientScore) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Queries of each agent."""
    found = np.bincount(np.array(score.agents, dtype=np.int64), minlength=len(score.hidden))
    return found + np.array(score.hidden, dtype=np.int64)


def _quantiles(errors: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in np.quantile(errors, BAND))


def _distances(topology: Topology, near: Sequence[int]) -> Array:
    """Hops from each agent to the nearest of these."""
    graph: Any = networkx.Graph(topology.edges)
    graph.add_nodes_from(range(topology.agents))
    search: Any = networkx.multi_source_dijkstra_path_length
    found: dict[int, int] = search(graph, set(near), weight=None) if near else {}
    return np.array([found.get(agent, np.inf) for agent in range(topology.agents)], dtype=np.float64)


def traffic_results(found: Sealed, events: int) -> Results:
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


EVENTS = 2000
"""So many events are kept in results; the others are counted."""


def analysis(run: Run, diary: PacketLog) -> Results:
    """The analysis of the run's first view, scored; or why it was refused."""
    return analysis_of(run.views[0], run, diary)


def analysis_of(view: AdversaryView, run: Run | None, diary: PacketLog) -> Results:
    """The same of a kept transcript's view. Without a run there is no truth, and what needs it is null."""
    try:
        found = analysed(view)
    except AttackError as error:
        return {"refused": str(error)}
    if run is None:
        return traffic_results(found, EVENTS)
    return _described(found, score_traffic(found, run, diary), run, diary)


def _described(found: Sealed, score: TrafficScore, run: Run, diary: PacketLog) -> Results:
    """What is told without a truth, and the truth and the scores beside it."""
    told = traffic_results(found, EVENTS)
    told["activity"] |= {
        "asked": score.events,
        "found": score.events_found,
        "wrong": score.events_wrong,
        "guessed": score.guessed,
        "truth": list(run.activations),
        "score": asdict(score.activations),
    }
    told["computing"] |= {
        "truth": computing_times(run),
        "slowest_truth": score.slowest,
        "pairs": score.pairs,
        "ranked": score.ranked,
        "rightly": score.rightly,
        "score": asdict(score.computing),
    }
    for name, scored in (("repeated", score.repeated), ("lost", score.lost)):
        truth = [getattr(diary.links[i, j], name) for i, j in told[name]["links"]]
        told[name] |= {"truth": truth, "total_truth": sum(truth), "score": asdict(scored)}
    told["dimension"] |= {"truth": score.dimension}
    return told
