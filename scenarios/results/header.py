"""Results of a scenario before anything has run: header, manifest, problem, algorithms not yet reached, and the
network: who listens and interferes where, and the settings that differ from their defaults."""

import platform
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from typing import TypeAlias, cast

import networkx as nx
import numpy as np

from netsim.adversary import Adversary, Within
from netsim.arrays import Array
from netsim.errors import ScenarioError, meant
from netsim.problems import Problem
from netsim.topology import Topology
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.base import Counts, Setting, taken
from scenarios.results.tree import Manifest, NetworkResult, ProblemResult, Results
from scenarios.schema import Scenario, own_code
from scenarios.schema.spec import Model, tag_of, unit

SLUG = 80
"""Letters of an algorithm's name in file names: file systems take 255 bytes."""
NOTES = (
    "A gradient of many records does not determine them: for the pictures each agent holds one image; for "
    "convergence and the audit all records are split among the agents.",
    "The prior's guess is the mean of the images that no agent holds, of the right class: the rebuilt image has "
    "to beat a guesser who is given the label.",
    "NumPy's Laplace and Gaussian samplers are models for experiments, not deployable mechanisms.",
)
REBUILT_NOTE = (
    "Reconstructions are of a second run, in which each agent holds as many records as the scenario says. The prior, "
    "and the guess that skill is measured against, come from the records that nobody holds."
)


def versions() -> dict[str, str]:
    """Of Python and of the packages that the numbers depend on."""
    names = ("netsim-lab", "numpy", "scipy", "simpy", "networkx", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def blank(scenario: Scenario, command: str) -> Results:
    """Results of a scenario of which nothing is built."""
    return Results(
        name=scenario.name,
        title=scenario.title or scenario.name,
        description=scenario.description,
        command=command,
        versions=versions(),
        seed=scenario.seed,
        scenario=scenario,
    )


def header(experiment: Experiment, command: str) -> Results:
    """Everything but the algorithms' results."""
    data, attacks, optimum = experiment.dataset, experiment.scenario.attacks, experiment.problem.optimum()
    rebuilt = (REBUILT_NOTE,) if attacks.reconstruct else ()
    return replace(
        blank(experiment.scenario, command),
        notes=(NOTES[:2] if attacks.images else ()) + rebuilt + NOTES[2:],
        problem=taken(
            ProblemResult,
            data,
            kind=experiment.scenario.problem.kind,
            data=data.name,
            held_out=None if experiment.held_out is None else experiment.held_out.records,
            optimum_residual=optimum.residual,
            optimum_is_zero=bool(np.all(optimum.point == 0)),
            optimum_is_stationary_only=optimum.stationary_only,
            **problem_facts(experiment.problem),
        ),
        network=network(experiment),
    )


def manifest(results: Results, experiment: Experiment | None = None) -> Manifest:
    """The scenario with every default written out, versions and seed, and the parameters computed from it."""
    return Manifest(
        name=results.name,
        command=results.command,
        versions=results.versions,
        seed=results.seed,
        scenario=results.scenario,
        problem=results.problem,
        names=() if results.network is None else results.network.names,
        resolved=() if experiment is None else tuple(map(_resolved, experiment.subjects)),
    )


def _resolved(subject: Subject) -> dict[str, Setting]:
    algorithm = subject.simulation.algorithm
    named: dict[str, Setting] = {"name": subject.spec.name, "algorithm": type(algorithm).__name__}
    found = named | {name: _plain(value) for name, value in vars(algorithm).items()}
    code = own_code.code_of(algorithm)
    if code is not None:  # which code, of an algorithm that does not come with netsim
        found |= {"file": str(own_code.load(getattr(subject.spec, "path", "")).file), "sha256": code}
    return found


def _plain(value: object) -> Setting:
    """Numbers, texts and lists as they are; a schedule or a clip as its kind and its fields."""
    if isinstance(value, np.ndarray | np.generic):
        return cast("Setting", value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("list[object]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
    return {"kind": kind} | {name: _plain(one) for name, one in vars(value).items()}


def problem_facts(problem: Problem) -> dict[str, float | Counts]:
    """Facts that are known without solving a problem, under the names of `ProblemResult`: other data give others."""
    return {
        "agents": problem.agents,
        "dimension": problem.dimension,
        "records_per_agent": tuple(int(getattr(f, "records", 0)) for f in problem.objectives),
        "smoothness": problem.smoothness,
        "strong_convexity": problem.strong_convexity,
    }


def slug(name: str, taken: Container[str]) -> str:
    """An algorithm's name as a part of file names, cut to `SLUG` letters: one that is not taken."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG].rstrip("-") or "algorithm"
    return next(one for k in count(1) if (one := plain if k == 1 else f"{plain}-{k}") not in taken)


def slugs(names: Iterable[str]) -> dict[str, str]:
    """The names of a scenario's algorithms by slug, in their order."""
    found = dict[str, str]()
    for name in names:
        found[slug(name, found)] = name
    return found


def chosen(algorithm: str | None, names: Mapping[str, str], why: str = "not in the scenario") -> str:
    """The slug of the algorithm that `--algorithm` names, by slug or by name.

    You get a `ScenarioError` for one that is not there, which lists slugs: no comma is in them.
    """
    for one, name in names.items():
        if algorithm in (one, name):
            return one
    hint = "" if algorithm is None else meant(slug(algorithm, ()), names)
    raise ScenarioError("--algorithm", algorithm, why + hint, ", ".join(names) or "none: no algorithm was begun")


# ── the network ─────────────────────────────────────────────────────────────────────────────────────────
_Place: TypeAlias = tuple[float, float]


def _drawn(
    topology: Topology, adversary: Adversary, on_radio: bool, seed: int
) -> tuple[tuple[_Place, ...], NetworkResult.Disc | None]:
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


def _points(places: Array) -> tuple[_Place, ...]:
    return tuple((x, y) for x, y in places.tolist())


SETTINGS = (
    "medium", "links", "link_overrides", "access", "messages", "exchange", "activation", "compute", "stragglers",
    "downtimes", "adversary", "active_adversaries",
)  # fmt: skip
"""The fields of a scenario that make its network what it is, besides the topology."""
_SHORT = {"seconds": " s", "bytes per second": " bytes/s", "bytes": " bytes"}
_MOST = 12
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
        settings=tuple(settings_in_words(scenario)),
        names=topology.labels if topology.named else (),
    )


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def settings_in_words(scenario: Scenario) -> list[tuple[str, str]]:
    """Field and text, one for each of `SETTINGS` that is not at its default, and one for each entry of a list."""
    rows: list[tuple[str, str]] = []
    for name in SETTINGS:
        value: object = getattr(scenario, name)
        default: object = Scenario.model_fields[name].get_default(call_default_factory=True)
        if value != default:
            many: list[object] = cast("list[object]", value) if isinstance(value, list) else [value]
            for one in many:
                text = (
                    "; ".join([*_kind(one), *_parts(one, inside=False)]) if isinstance(one, Model) else _in_words(one)
                )
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
    text = _in_words(cast("object", value), _SHORT.get(unit(type(model), name), ""))
    if entries and all(isinstance(one, float) for one in entries):
        text = f"({text})"  # a place
    return text if name == "seconds" else f"{word} {text}"


def _kind(model: Model) -> list[str]:
    tag = tag_of(type(model))
    return [tag[1].replace("_", " ")] if tag else []


def _in_words(value: object, counted_in: str = "") -> str:
    """A number, a word, or a list of those, and its unit; a pair in a list is a link or an interval, from – to."""
    if isinstance(value, list):
        entries = cast("list[object]", value)
        pairs = [cast("list[object]", one) if isinstance(one, list) else [one] for one in entries[:_MOST]]
        shown = ["–".join(map(_in_words, pair)) for pair in pairs]
        return ", ".join(shown) + counted_in + (f" and {len(entries) - _MOST} more" if len(entries) > _MOST else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e12):
        return f"{int(value):,}{counted_in}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value).replace("_", " ")
    return text + counted_in
