"""What a game of an attack that decides cannot be: a `ScenarioError` before time 0."""

import math
from collections.abc import Sequence

import numpy as np

from netsim.errors import ScenarioError
from netsim.problems import Dataset
from netsim.simulation import Simulation
from scenarios.deciding.worlds import Staging, halves, staged
from scenarios.holding import Holding
from scenarios.schema import Scenario
from scenarios.schema.deciding import DecidingModel, HypothesisSpec, MembershipSpec, PropertySpec

WHERE = ("attacks.membership", "attacks.property")
PUBLISHED = ("recal", "dp_recal")
"""Kinds of algorithms whose papers say how gradients are inferred."""
ENOUGH = 8
"""Records of a class that nobody holds, at least: two for each use of each half."""


def check_deciding(scenario: Scenario, dataset: Dataset, holding: Holding) -> None:
    """You get a `ScenarioError` for what an attack that decides needs and cannot get in this scenario."""
    asked = scenario.attacks
    for where, spec in zip(WHERE, (asked.membership, asked.property), strict=True):
        if spec is not None:
            _check_agent(scenario, holding, spec, where)
            _check_model(scenario, holding, spec, where)
    if asked.membership is not None:
        _check_membership(asked.membership, dataset, holding)
    if asked.property is not None:
        _check_property(asked.property, dataset, holding)


def check_worlds(scenario: Scenario, holding: Holding | None, attacked: Sequence[Simulation | None]) -> None:
    """Every algorithm can be run in the world without the record, too."""
    spec = scenario.attacks.membership
    if holding is None or spec is None or not spec.informed:
        return
    staging = Staging(scenario, holding)
    other = staging.objective(spec.agent, staging.fixed(spec).out)
    for index, simulation in enumerate(attacked):
        if simulation is None:
            continue
        try:
            staged(simulation, spec.agent, other, 0, 1)
        except ScenarioError as error:
            name = scenario.algorithms[index].name
            why = f"{name} cannot be run in the world without the record: {error.problem} ({error.field})"
            raise ScenarioError("attacks.membership.adjacency", spec.adjacency, why, "another adjacency") from None


def _check_agent(scenario: Scenario, holding: Holding, spec: DecidingModel, where: str) -> None:
    agents = len(holding.parts)
    if spec.agent >= agents:
        raise ScenarioError(f"{where}.agent", spec.agent, "no such agent", f"0 … {agents - 1}")
    if spec.agent in scenario.adversary.insiders:
        why = "it is the adversary itself, who knows its own records"
        raise ScenarioError(f"{where}.agent", spec.agent, why, "an agent that is not in adversary.insiders")


def _check_model(scenario: Scenario, holding: Holding, spec: DecidingModel, where: str) -> None:
    if holding.problem.model is None:
        kind = scenario.problem.kind
        why = f"{kind} losses are no mean of one public loss over records: no record has a gradient of its own"
        raise ScenarioError(where, kind, why, "another problem.kind")
    if spec.inversion == "published" and not any(one.kind in PUBLISHED for one in scenario.algorithms):
        why = "no paper of these algorithms infers gradients"
        raise ScenarioError(f"{where}.inversion", "published", why, f"strongest, or one of {', '.join(PUBLISHED)}")


def _check_membership(spec: MembershipSpec, dataset: Dataset, holding: Holding) -> None:
    where, m = "attacks.membership", holding.records
    if spec.adjacency == "remove" and m == 1:
        why = "an agent that holds one record would be left with none"
        raise ScenarioError(f"{where}.adjacency", "remove", why, "replace, zero_out, or attacks.holding of 2 or more")
    if spec.adjacency == "zero_out" and not _silent(holding):
        assert holding.problem.model is not None
        why = f"a record of zeros has a gradient where the loss is {holding.problem.model.name}: it is no missing one"
        raise ScenarioError(f"{where}.adjacency", "zero_out", why, "remove or replace")
    if spec.record >= m:
        why = f"attacks.holding is {m}: no such record"
        raise ScenarioError(f"{where}.record", spec.record, why, f"0 … {m - 1}")
    unheld = 0 if holding.unheld is None else holding.unheld.records
    if "instead" in spec.model_fields_set and spec.adjacency != "replace":
        why = f"nothing is there instead of a record where adjacency is {spec.adjacency!r}"
        raise ScenarioError(f"{where}.instead", spec.instead, why, "adjacency: replace, or no instead")
    if spec.instead >= unheld:
        raise ScenarioError(f"{where}.instead", spec.instead, "no such record", f"0 … {unheld - 1}")
    if not spec.informed:
        _check_uninformed(spec, dataset, holding)


def _silent(holding: Holding) -> bool:
    """Whether a record of zeros adds nothing to the gradient, wherever it is asked for."""
    model, part = holding.problem.model, holding.parts[0]
    assert model is not None
    points = np.linspace(-1, 1, model.dimension)[None, None]
    targets = model.targets(np.array(model.classes[:1] or part.labels[:1]))
    found = model.gradient(points, np.zeros_like(part.features[:1]), targets)
    return not np.any(found)


def _check_uninformed(spec: MembershipSpec, dataset: Dataset, holding: Holding) -> None:
    where = "attacks.membership"
    if not dataset.classes:
        why = "the population of unknown records is known by classes, and labels are numbers here"
        raise ScenarioError(f"{where}.informed", False, why, "true, or data of classes")
    assert holding.unheld is not None
    pool = len(halves(holding.unheld)[1])
    if pool <= holding.records:
        why = f"{holding.records + 1} records are drawn for each transcript, of {pool} that nobody holds or knows"
        raise ScenarioError(f"{where}.informed", False, why, "true, or a smaller attacks.holding")
    if spec.draws < spec.draws_needed:
        why = f"so few simulated transcripts cannot tell a level of {min(spec.levels):g}"
        raise ScenarioError(f"{where}.draws", spec.draws, why, f">= {spec.draws_needed}")


def _check_property(spec: PropertySpec, dataset: Dataset, holding: Holding) -> None:
    where = "attacks.property.hypotheses"
    if not dataset.classes:
        why = "a hypothesis is a share of each class, and labels are numbers here"
        raise ScenarioError(where, dataset.name, why, "data of classes")
    unheld = holding.unheld
    assert unheld is not None
    check_shares_of(spec, unheld)
    labels, counts = np.unique(unheld.labels, return_counts=True)
    if np.min(counts) < ENOUGH:
        label = labels[int(np.argmin(counts))]
        why = f"nobody holds {np.min(counts)} records of class {label:g}: too few to learn from and to draw"
        raise ScenarioError("attacks.property", dataset.name, why, f">= {ENOUGH} of each class")


def check_shares_of(spec: PropertySpec, unheld: Dataset) -> None:
    """Every hypothesis has a share of each class there is."""
    labels = [float(label) for label in np.unique(unheld.labels)]
    for index, one in enumerate(spec.hypotheses):
        _check_shares(one, labels, f"attacks.property.hypotheses[{index}].shares")


def _check_shares(one: HypothesisSpec, labels: list[float], where: str) -> None:
    if len(one.shares) != len(labels):
        said = ", ".join(f"{label:g}" for label in labels)
        why = f"{len(one.shares)} shares, and the data have {len(labels)} classes"
        raise ScenarioError(where, one.shares, why, f"a share for each of {said}")
    if not math.isclose(sum(one.shares), 1, abs_tol=1e-6):
        why = f"shares come to {sum(one.shares):g}, and not to 1"
        raise ScenarioError(where, one.shares, why, "a share of each class: 1 together")
