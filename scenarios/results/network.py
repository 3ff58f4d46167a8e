"""Network of a run as results: who listens and interferes where, and the settings that differ from their defaults."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

import networkx as nx
import numpy as np

from netsim.adversary import Adversary, Within
from netsim.arrays import Array
from netsim.topology import Topology
from scenarios.build.experiment import Experiment
from scenarios.results.tree import NetworkResult
from scenarios.schema import Scenario
from scenarios.schema.base import Model
from scenarios.schema.spec import tag_of, unit

Place: TypeAlias = tuple[float, float]


def _drawn(
    topology: Topology, adversary: Adversary, on_radio: bool, seed: int
) -> tuple[tuple[Place, ...], NetworkResult.Disc | None]:
    """Positions of the agents in the unit square, and the eavesdropper's disc among them."""
    places, rule = topology.positions, adversary.links
    if places is None or not (on_radio or isinstance(rule, Within)):
        # A circle, or for many agents what springs make of the graph; each axis fills the unit square.
        circle = topology.agents <= 40
        place: Mapping[int, Array] = (
            nx.circular_layout(topology.graph) if circle else nx.spring_layout(topology.graph, seed=seed)
        )
        points = np.array([place[i] for i in range(topology.agents)])
        return _points((points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9)), None
    corner, side = places.min(axis=0), float(np.max(np.ptp(places, axis=0))) or 1.0
    disc = None
    if isinstance(rule, Within):
        disc = NetworkResult.Disc(at=_points((np.array([rule.at]) - corner) / side)[0], range=rule.range / side)
    return _points((places - corner) / side), disc


def _points(places: Array) -> tuple[Place, ...]:
    return tuple((x, y) for x, y in places.tolist())


SETTINGS = (
    "medium", "links", "link_overrides", "access", "messages", "exchange", "activation", "compute", "stragglers",
    "downtimes", "adversary", "active_adversaries",
)  # fmt: skip
"""The fields of a scenario that make its network what it is, besides the topology."""
SHORT = {"seconds": " s", "bytes per second": " bytes/s", "bytes": " bytes"}
MOST = 12
"""Entries of a list that are shown; the others are counted."""


def network(experiment: Experiment) -> NetworkResult:
    """The graph, where its agents are drawn, what is tapped, sealed and intercepted, and its settings in words."""
    topology, scenario = experiment.topology, experiment.scenario
    adversary, on_radio = scenario.adversary.build(), scenario.medium != "links"
    positions, disc = _drawn(topology, adversary, on_radio, scenario.seed)
    rule, usual = adversary.links, scenario.links.encrypted
    laws = {
        edge: o.law.encrypted for o in scenario.link_overrides for i, j in o.between for edge in o.directions(i, j)
    }
    met = {edge for spec in scenario.active_adversaries for edge in spec.build().tampered(topology)}
    return NetworkResult(
        name=topology.name,
        medium="radio" if on_radio else "links",
        edges=topology.edges,
        positions=positions,
        disc=disc,
        eavesdropper=NetworkResult.Disc(at=(rule.at[0], rule.at[1]), range=rule.range)
        if isinstance(rule, Within)
        else None,
        tapped=() if on_radio else tuple(sorted((i, j) for i, j in adversary.tapped(topology) if i < j)),
        tapped_transmitters=tuple(sorted(adversary.transmitters(topology))) if on_radio else (),
        tapped_nodes=tuple(adversary.nodes),
        insiders=tuple(adversary.insiders),
        sealed=tuple((i, j) for i, j in topology.edges if laws.get((i, j), usual) and laws.get((j, i), usual)),
        intercepted=tuple(sorted({(min(edge), max(edge)) for edge in met})),
        spectral_gap=topology.spectral_gap,
        settings=tuple(settings(scenario)),
        names=topology.labels if topology.named else (),
    )


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def settings(scenario: Scenario) -> list[tuple[str, str]]:
    """Field and text, one for each of `SETTINGS` that is not at its default, and one for each entry of a list."""
    rows: list[tuple[str, str]] = []
    for name in SETTINGS:
        value: object = getattr(scenario, name)
        default: object = Scenario.model_fields[name].get_default(call_default_factory=True)
        if value != default:
            many: list[object] = cast("list[object]", value) if isinstance(value, list) else [value]
            for one in many:
                text = "; ".join([*_kind(one), *_parts(one, inside=False)]) if isinstance(one, Model) else _plain(one)
                rows.append((name.replace("_", " "), text))
    return rows


def _parts(model: Model, *, inside: bool) -> Iterator[str]:
    """Each field that is not at its default, and each flag that is on; `inside` another one of those, in brackets."""
    tag = tag_of(type(model))
    for name, field in type(model).model_fields.items():
        value: object = getattr(model, name)
        shown = value is True or value != field.get_default(call_default_factory=True)
        if shown and value is not None and not (tag and name == tag[0]):
            yield _field(model, name, value, inside)


def _field(model: Model, name: str, value: object, inside: bool) -> str:
    word = name.replace("_", " ")
    if isinstance(value, bool):
        return word if value else f"not {word}"
    if isinstance(value, Model):
        text = ", ".join([*_kind(value), *_parts(value, inside=True)])
        return f"{word} ({text})" if inside else f"{word}: {text}"
    entries: list[object] = cast("list[object]", value) if isinstance(value, list) else []
    if models := [one for one in entries if isinstance(one, Model)]:
        each = [(*_kind(one), ", ".join(_parts(one, inside=True))) for one in models]
        return f"{word}: " + ", ".join(" ".join([*kind, f"({rest})" if rest else ""]).strip() for *kind, rest in each)
    text = _plain(cast("object", value), SHORT.get(unit(type(model), name), ""))
    if entries and all(isinstance(one, float) for one in entries):
        text = f"({text})"  # a place
    return text if name == "seconds" else f"{word} {text}"


def _kind(model: Model) -> list[str]:
    tag = tag_of(type(model))
    return [tag[1].replace("_", " ")] if tag else []


def _plain(value: object, counted_in: str = "") -> str:
    """A number, a word, or a list of those, and its unit; a pair in a list is a link or an interval, from – to."""
    if isinstance(value, list):
        entries = cast("list[object]", value)
        pairs = [cast("list[object]", one) if isinstance(one, list) else [one] for one in entries[:MOST]]
        shown = ["–".join(map(_plain, pair)) for pair in pairs]
        return ", ".join(shown) + counted_in + (f" and {len(entries) - MOST} more" if len(entries) > MOST else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e12):
        return f"{int(value):,}{counted_in}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value).replace("_", " ")
    return text + counted_in
