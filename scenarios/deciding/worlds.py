"""Who holds what in the games of attacks that decide: worlds that differ in one agent's records alone.

What nobody holds is split, class by class, in two halves: one is public, the other is what records are drawn from
that the attacker does not know.
"""

from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction import Prior
from attacks.reconstruction.membership import Records
from netsim.arrays import Mask
from netsim.problems import Dataset, Objective
from netsim.randomness import Streams
from netsim.simulation import Simulation
from scenarios.holding import Holding, counted, prior_of
from scenarios.problem import problem_of
from scenarios.schema import Scenario
from scenarios.schema.deciding import MembershipSpec, PropertySpec

FIRST = {"membership": 2**50, "property": 2**51}
"""The number of a game's first chunk: no audit has noise of so high a number."""

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Staging:
    """The records of a scenario's attacked run, and what can be dealt in their place."""

    scenario: Scenario
    holding: Holding

    @property
    def unheld(self) -> Dataset:
        """The records that nobody holds."""
        assert self.holding.unheld is not None
        return self.holding.unheld

    @property
    def public(self) -> Dataset:
        """The half of them that everybody knows."""
        return self.unheld.take(halves(self.unheld)[0])

    @property
    def unknown(self) -> Dataset:
        """The half that records are drawn from."""
        return self.unheld.take(halves(self.unheld)[1])

    @property
    def prior(self) -> Prior:
        """What is believed of a record, from the public half."""
        return prior_of(self.public, self.holding.problem)

    def told(self, records: Records) -> Records:
        """The same with labels as the model counts them."""
        features, labels = records
        return features, counted(labels, self.holding.parts[0], self.holding.problem)

    def objective(self, agent: int, part: Dataset) -> Objective:
        """What an agent minimizes that holds these records."""
        parts = [*self.holding.parts[:agent], part, *self.holding.parts[agent + 1 :]]
        return problem_of(self.scenario, parts).objectives[agent]

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────
    def fixed(self, spec: MembershipSpec) -> "Both":
        """The worlds of an informed attacker: the agent's own records."""
        part = self.holding.parts[spec.agent]
        others = np.arange(part.records) != spec.record
        instead = self.unheld.take([spec.instead]) if spec.adjacency == "replace" else None
        return self._both(spec, part.take([spec.record]), _rows(part, others), instead)

    def drawn(self, spec: MembershipSpec, trial: int) -> "Both":
        """The worlds of an attacker who knows no record of the agent: all are drawn."""
        rng = Streams(self.scenario.seed).generator("membership", "records", trial)
        pool = self.unknown
        rows = rng.choice(pool.records, self.holding.records + 1, replace=False)
        return self._both(spec, pool.take(rows[:1]), _rows(pool, rows[1:-1]), pool.take(rows[-1:]))

    def _both(self, spec: MembershipSpec, candidate: Dataset, others: Records, instead: Dataset | None) -> "Both":
        inside, known = _joined(candidate, others), None
        if spec.adjacency == "remove":
            out = replace(candidate, features=others[0], labels=others[1])
        elif spec.adjacency == "zero_out":
            out = _joined(replace(candidate, features=np.zeros_like(candidate.features)), others)
        else:
            assert instead is not None
            out, known = _joined(instead, others), self.told((instead.features, instead.labels))
        own = self.told((candidate.features, candidate.labels))
        return Both(inside, out, own, self.told(others), known)

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
class Both:
    """What the agent holds in both worlds; the `candidate`, the `others`, and who is there `instead` of it, as
    features and labels as the model counts them."""

    inside: Dataset
    out: Dataset
    candidate: Records
    others: Records
    instead: Records | None


def staged(simulation: Simulation, agent: int, objective: Objective, chunk: int, replicas: int) -> Simulation:
    """The attacked run in which the agent has this objective, with noise of its own; nothing of it is written."""
    problem = simulation.problem.replace(agent, objective)
    return replace(simulation, problem=problem, chunk=chunk, replicas=replicas, measure=False, spool=None)


def halves(records: Dataset) -> tuple[list[int], list[int]]:
    """Every second record of each class, and the others; in order."""
    classes = records.labels if records.classes else np.zeros(records.records)
    first: list[int] = []
    second: list[int] = []
    for label in np.unique(classes):
        rows = [int(k) for k in np.flatnonzero(classes == label)]
        first += rows[0::2]
        second += rows[1::2]
    return sorted(first), sorted(second)


def _rows(part: Dataset, rows: Mask | Indices) -> Records:
    """Some records, or none."""
    return part.features[rows], part.labels[rows]


def _joined(one: Dataset, others: Records) -> Dataset:
    return replace(
        one, features=np.concatenate([one.features, others[0]]), labels=np.concatenate([one.labels, others[1]])
    )
