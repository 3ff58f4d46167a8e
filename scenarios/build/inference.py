"""Membership and property games before time 0: worlds that differ in one agent's records, and checks of attacks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction import Prior
from attacks.reconstruction.attack import Needs
from attacks.reconstruction.membership import ROUNDED, Records
from netsim.errors import ScenarioError
from netsim.models.model import Model
from netsim.problems import Dataset, Objective
from netsim.randomness import Streams
from netsim.simulation import Simulation
from scenarios.build.problem import Ownership, counted, prior_of, problem_of
from scenarios.schema import Scenario
from scenarios.schema.attacks import DecidingModel, MembershipSpec, PropertySpec, RebuildModel

FIRST = {"membership": 2**50, "property": 2**51}
"""The number of a game's first chunk: no audit has noise of so high a number."""
OWN = 2**40
"""Further on: the first chunk of the runs that an attacker makes itself."""


@dataclass(frozen=True)
class Staging:
    """The records of a scenario's attacked run, and what can be dealt in their place."""

    scenario: Scenario
    holding: Ownership

    @property
    def unheld(self) -> Dataset:
        """The records that nobody holds."""
        assert self.holding.unheld is not None
        return self.holding.unheld

    @property
    def public(self) -> Dataset:
        """The half of them that is public."""
        return self.unheld.take(_halves(self.unheld)[0])

    @property
    def unknown(self) -> Dataset:
        """The half that records are drawn from."""
        return self.unheld.take(_halves(self.unheld)[1])

    @property
    def prior(self) -> Prior:
        """Prior of a record, from the public half."""
        return prior_of(self.public, self.holding.problem)

    def in_model(self, records: Records) -> Records:
        """The same with labels as the model counts them."""
        features, labels = records
        return features, counted(labels, self.holding.parts[0], self.holding.problem)

    def objective(self, agent: int, part: Dataset) -> Objective:
        """The objective of an agent that holds these records."""
        parts = [*self.holding.parts[:agent], part, *self.holding.parts[agent + 1 :]]
        return problem_of(self.scenario, parts).objectives[agent]

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────
    def fixed(self, spec: MembershipSpec) -> "_Both":
        """The worlds of an informed attacker: the agent's own records."""
        part = self.holding.parts[spec.agent]
        others = np.arange(part.records) != spec.record
        instead = self.unheld.take([spec.instead]) if spec.adjacency == "replace" else None
        return self._both(spec, part.take([spec.record]), (part.features[others], part.labels[others]), instead)

    def drawn(self, spec: MembershipSpec, trial: int) -> "_Both":
        """The worlds of an attacker who knows no record of the agent: all are drawn."""
        rng = Streams(self.scenario.seed).generator("membership", "records", trial)
        pool = self.unknown
        rows = rng.choice(pool.records, self.holding.records + 1, replace=False)
        others = pool.features[rows[1:-1]], pool.labels[rows[1:-1]]
        return self._both(spec, pool.take(rows[:1]), others, pool.take(rows[-1:]))

    def _both(self, spec: MembershipSpec, candidate: Dataset, others: Records, instead: Dataset | None) -> "_Both":
        inside, known = _joined(candidate, others), None
        if spec.adjacency == "remove":
            out = replace(candidate, features=others[0], labels=others[1])
        elif spec.adjacency == "zero_out":
            out = _joined(replace(candidate, features=np.zeros_like(candidate.features)), others)
        else:
            assert instead is not None
            out, known = _joined(instead, others), self.in_model((instead.features, instead.labels))
        own = self.in_model((candidate.features, candidate.labels))
        return _Both(inside, out, own, self.in_model(others), known)

    @staticmethod
    def staged(simulation: Simulation, agent: int, objective: Objective, chunk: int, replicas: int) -> Simulation:
        """The attacked run in which the agent has this objective, with noise of its own; nothing of it is written."""
        problem = simulation.problem.replace(agent, objective)
        recording = replace(simulation.recording, measure=False, spool=None)
        return replace(simulation, problem=problem, chunk=chunk, replicas=replicas, recording=recording)

    def own_run(
        self, simulation: Simulation, agent: int, records: Records, number: int, rng: np.random.Generator
    ) -> Simulation:
        """A run of the attacker's own: the agent holds these public records, labels as the model counts them, and
        every other agent some of the public ones."""
        public, m = self.public, self.holding.records
        classes = np.unique(self.in_model((public.features, public.labels))[1])
        labels = np.unique(public.labels)[np.searchsorted(classes, records[1])]
        parts = [public.take(rng.choice(public.records, m, replace=False)) for _ in self.holding.parts]
        parts[agent] = replace(public, features=records[0], labels=labels)
        problem = replace(simulation.problem, objectives=problem_of(self.scenario, parts).objectives)
        recording = replace(simulation.recording, measure=False, spool=None)
        chunk = FIRST["membership"] + OWN + number
        return replace(simulation, problem=problem, chunk=chunk, replicas=1, recording=recording)

    # ── properties ──────────────────────────────────────────────────────────────────────────────────────
    def like(self, spec: PropertySpec, hypothesis: int, trial: int) -> Dataset:
        """The agent's records of one trial: each has a class by the hypothesis's shares, and is any of that class."""
        rng, pool = Streams(self.scenario.seed).generator("property", "records", trial), self.unknown
        labels = np.unique(self.unheld.labels)
        shares = np.array(spec.hypotheses[hypothesis].shares)
        wanted = rng.choice(len(labels), self.holding.records, p=shares / np.sum(shares))
        rows = [int(rng.choice(np.flatnonzero(pool.labels == labels[k]))) for k in wanted]
        return pool.take(rows)

    def hypotheses(self, spec: PropertySpec) -> dict[str, Prior]:
        """Each as the public half with the classes in its shares."""
        prior = self.prior
        labels = sorted(prior.share)
        return {one.name: replace(prior, share=dict(zip(labels, one.shares, strict=True))) for one in spec.hypotheses}


@dataclass(frozen=True)
class _Both:
    """The agent's records in both worlds; the `candidate`, the `others`, and who is there `instead` of it, as
    features and labels as the model counts them."""

    inside: Dataset
    out: Dataset
    candidate: Records
    others: Records
    instead: Records | None


def _halves(records: Dataset) -> tuple[list[int], list[int]]:
    """Every second record of each class, and the others; in order."""
    classes = records.labels if records.classes else np.zeros(records.records)
    rows = [np.flatnonzero(classes == label).tolist() for label in np.unique(classes)]
    return sorted(k for one in rows for k in one[0::2]), sorted(k for one in rows for k in one[1::2])


def _joined(one: Dataset, others: Records) -> Dataset:
    features, labels = np.concatenate([one.features, others[0]]), np.concatenate([one.labels, others[1]])
    return replace(one, features=features, labels=labels)


PUBLISHED = ("recal", "dp_recal")
"""Kinds of algorithms whose papers say how gradients are inferred."""
ENOUGH = 8
"""Records of a class that nobody holds, at least: two for each use of each half."""


def check_worlds(scenario: Scenario, holding: Ownership | None, attacked: Sequence[Simulation | None]) -> None:
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
            staging.staged(simulation, spec.agent, other, 0, 1)
        except ScenarioError as error:
            name = scenario.algorithms[index].name
            why = f"{name} cannot be run in the world without the record: {error.problem} ({error.field})"
            raise ScenarioError("attacks.membership.adjacency", spec.adjacency, why, "another adjacency") from None


def _check_inversion(scenario: Scenario, spec: DecidingModel | RebuildModel, where: str) -> None:
    if spec.inversion == "published" and not any(one.kind in PUBLISHED for one in scenario.algorithms):
        why = "no paper of these algorithms infers gradients"
        raise ScenarioError(f"{where}.inversion", "published", why, f"strongest, or one of {', '.join(PUBLISHED)}")


def _check_game(scenario: Scenario, holding: Ownership, spec: DecidingModel, where: str) -> None:
    agents = len(holding.parts)
    if spec.agent >= agents:
        raise ScenarioError(f"{where}.agent", spec.agent, "no such agent", f"0 … {agents - 1}")
    if spec.agent in scenario.adversary.insiders:
        why = "it is the adversary itself, who knows its own records"
        raise ScenarioError(f"{where}.agent", spec.agent, why, "an agent that is not in adversary.insiders")
    if holding.problem.model is None:
        kind = scenario.problem.kind
        why = f"{kind} losses are no mean of one public loss over records: no record has a gradient of its own"
        raise ScenarioError(where, kind, why, "another problem.kind")
    _check_inversion(scenario, spec, where)


def _check_membership(spec: MembershipSpec, dataset: Dataset, holding: Ownership) -> None:
    where, m = "attacks.membership", holding.records
    if spec.adjacency == "remove" and m == 1:
        why = "an agent that holds one record would be left with none"
        raise ScenarioError(f"{where}.adjacency", "remove", why, "replace, zero_out, or attacks.holding of 2 or more")
    if spec.adjacency == "zero_out":
        model, part = holding.problem.model, holding.parts[0]
        assert model is not None
        points = np.linspace(-1, 1, model.dimension)[None, None]
        targets = model.targets(np.array(model.classes[:1] or part.labels[:1]))
        if np.any(model.gradient(points, np.zeros_like(part.features[:1]), targets)):
            why = f"a record of zeros has a gradient where the loss is {model.name}: it is no missing one"
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
    if spec.informed:
        return
    if not dataset.classes:
        why = "the population of unknown records is known by classes, and labels are numbers here"
        raise ScenarioError(f"{where}.informed", False, why, "true, or data of classes")
    assert holding.unheld is not None
    public, pool = (len(half) for half in _halves(holding.unheld))
    if pool <= m:
        why = f"{m + 1} records are drawn for each transcript, of {pool} that nobody holds or knows"
        raise ScenarioError(f"{where}.informed", False, why, "true, or a smaller attacks.holding")
    if public // 4 <= m:
        why = f"the attacker learns from a quarter of {public} public records with batches of {m} of another quarter"
        raise ScenarioError(f"{where}.informed", False, why, "true, or a smaller attacks.holding")
    if min(spec.levels) * (least := public // 2 - m + 1) < 1 - ROUNDED:
        why = f"{public // 2} public records judge, {m} of them a batch: they cannot tell so small a level"
        raise ScenarioError(f"{where}.levels", min(spec.levels), why, f">= {1 / least:.3g}")


def _check_property(spec: PropertySpec, dataset: Dataset, holding: Ownership) -> None:
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
        where = f"attacks.property.hypotheses[{index}].shares"
        if len(one.shares) != len(labels):
            named = ", ".join(f"{label:g}" for label in labels)
            why = f"{len(one.shares)} shares, and the data have {len(labels)} classes"
            raise ScenarioError(where, one.shares, why, f"a share for each of {named}")
        if not math.isclose(sum(one.shares), 1, abs_tol=1e-6):
            why = f"shares come to {sum(one.shares):g}, and not to 1"
            raise ScenarioError(where, one.shares, why, "a share of each class: 1 together")


def check_attacks(scenario: Scenario, dataset: Dataset, holding: Ownership | None) -> None:
    """You get a `ScenarioError` for a parameter that an attack refuses, and for what it needs and cannot get here.

    What only the run can tell (whether gradients can be inferred, whether the law of their errors is known) is a
    refusal in the results.
    """
    options = scenario.attacks
    if holding is None:
        if options.holding != 1:
            why, remedy = "no record is rebuilt", "reconstruct: [{kind: …}]"
            raise ScenarioError("attacks.holding", options.holding, why, remedy)
        return
    for where, game in (("attacks.membership", options.membership), ("attacks.property", options.property)):
        if game is not None:
            _check_game(scenario, holding, game, where)
    if options.membership is not None:
        _check_membership(options.membership, dataset, holding)
    if options.property is not None:
        _check_property(options.property, dataset, holding)
    for index, spec in enumerate(options.reconstruct):
        where = f"attacks.reconstruct[{index}]"
        try:
            needs = spec.build().needs
        except ScenarioError as error:
            raise error.under(where) from None
        _check_needs(scenario, dataset, holding.problem.model, needs, spec, where)


def _check_needs(
    scenario: Scenario, dataset: Dataset, model: Model | None, needs: Needs, spec: RebuildModel, where: str
) -> None:
    """The first thing that is missing."""
    options, kind = scenario.attacks, scenario.problem.kind
    if model is None:
        why = f"{kind} losses are no mean of one public loss over records: there is nothing to rebuild from"
        raise ScenarioError(where, spec.label, why, "another problem.kind")
    if needs.models and model.name not in needs.models:
        why = f"it is for {' or '.join(needs.models)} models, and the loss of a record is {model.name} here"
        raise ScenarioError(where, spec.label, why, "another attack, or another problem.kind")
    if needs.one_record and options.holding != 1:
        why = f"it rebuilds one record, and agents hold {options.holding}"
        raise ScenarioError(where, spec.label, why, "holding: 1")
    if needs.labels and (spec.labels or options.labels) == "private":
        raise ScenarioError(where, spec.label, "it needs the labels, and they are private", "labels: public")
    if needs.image and dataset.image_shape is None:
        raise ScenarioError(where, spec.label, f"it rebuilds images, and {dataset.name} has none", "digits, mnist, …")
    _check_inversion(scenario, spec, where)
    rounds = spec.rounds or options.rounds
    if needs.rounds > 1 and rounds != "all":
        raise ScenarioError(f"{where}.rounds", rounds, f"it needs {needs.rounds} gradients of an agent", "all")
