"""Live runs of lessons: scenarios, each simulated once and cached."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from attacks.inference import infer
from attacks.score import GradientScore, score_gradients
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.simulation import Run
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment, Subject
from scenarios.files.models import dump
from scenarios.lab.figures import Html, pictures
from scenarios.results.attacks import ReconstructionResult, RecordAttack
from scenarios.results.over_time import errors_of
from scenarios.results.tree import Results
from scenarios.schema import Adversary, AlgorithmSpec, Digits, Problem, Ring, Scenario
from scenarios.schema.load import parse
from scenarios.stages.reconstruction import Rebuilding
from scenarios.stages.runner import run_scenario

Words = Scenario | Mapping[str, object]
"""A scenario, or the fields of its file: `{"name": …, "topology": {"kind": "ring", "agents": 5}, …}`."""
AGENTS = 6
Pixels = tuple[float, ...]
REMEMBERED = 64
"""Runs that are kept: a slider that is moved back costs nothing."""


def digits(name: str, algorithm: AlgorithmSpec, **parts: Any) -> Scenario:
    """Six agents on a ring with digits 0 and 1, every image of ℓ2 norm 4 at most; all links are tapped."""
    problem = Problem(data=Digits(norm_bound=4.0))
    world = {"seed": 3, "topology": Ring(agents=AGENTS), "adversary": Adversary(links="all")}
    return Scenario(name=name, problem=problem, algorithms=[algorithm], **(world | parts))


@dataclass(frozen=True)
class Played:
    """One algorithm of a scenario, run; what follows from the run is computed on demand.

    `run` is for who owns the simulation; `view` is all that the eavesdropper has.
    """

    experiment: Experiment
    subject: Subject
    run: Run

    @property
    def view(self) -> AdversaryView:
        """The eavesdropper's recording and public knowledge."""
        return self.run.views[0]

    @cached_property
    def inferred(self) -> GradientScore | None:
        """How well the eavesdropper infers the private gradients; None where every inversion refuses."""
        assert self.run.truth is not None
        try:
            return score_gradients(infer(self.view), self.run.truth, self.view.inside)
        except AttackError:
            return None

    @property
    def worst(self) -> float:
        """The largest relative error of an inferred gradient; nan where there is none."""
        return self.inferred.worst if self.inferred is not None and self.inferred.estimated else float("nan")

    @property
    def queries(self) -> int:
        """How many gradients the agents computed."""
        return sum(self.run.queries)

    @cached_property
    def second(self) -> "Played":
        """The run whose records are rebuilt: every agent holds as many as the scenario's `attacks` say."""
        assert self.subject.attacked is not None
        return Played(self.experiment, self.subject, self.subject.attacked.run())

    @cached_property
    def reconstructions(self) -> ReconstructionResult:
        """Results of the scenario's attacks on that second run."""
        return Rebuilding(self.experiment, Silent(), lambda _: None).rebuild(self.subject, self.second.run)

    def attack(self, name: str) -> RecordAttack:
        """One of these attacks."""
        return next(one for one in self.reconstructions.attacks if one.attack == name)

    def skill(self, attack: str) -> float:
        """Median over agents and replicas: 1 the image itself, 0 a guess; nan where nothing was rebuilt."""
        skill = self.attack(attack).skill
        return float("nan") if skill is None else skill

    @property
    def originals(self) -> list[Pixels]:
        """All records, agent after agent."""
        return [record for own in self.reconstructions.originals for record in own.records]

    @property
    def final_error(self) -> float:
        """‖x − x*‖/‖x*‖ of the farthest agent at the end, median over replicas; 1 is where it began."""
        return float(np.median(self.errors[-1]))

    def pictures(self, attacks: Mapping[str, str], guess: str) -> Html:
        """Originals, the images of each attack by its name here, and what `guess` is measured against, by agent."""
        made = {name: self.pictured(attack) for name, attack in attacks.items()}
        rows = {"original": self.originals, **made, "guess": self.pictured(guess, "guess")}
        return pictures(rows, self.reconstructions.shape, self.reconstructions.range)

    def pictured(self, attack: str, what: Literal["rebuilt", "guess"] = "rebuilt") -> list[Pixels | None]:
        """An attack's records, or the blind guess, in the places of the originals; None where there is none."""
        known = {own.agent: getattr(own, what) for own in self.attack(attack).agents}
        agents, each = self.experiment.problem.agents, range(self.reconstructions.holding)
        return [rows[k] if (rows := known.get(agent)) else None for agent in range(agents) for k in each]

    @cached_property
    def errors(self) -> Array:
        """Relative error ‖x − x*‖/‖x*‖ by round (of the farthest agent) or activation: (count, replicas)."""
        return errors_of(self.run)[1]

    @property
    def epsilon_claimed(self) -> float | None:
        """ε that the algorithm's paper claims for this run; None where it claims nothing or its conditions fail."""
        simulation = self.subject.simulation
        claim = simulation.claim(self.experiment.adjacency, self.run.largest_activations, self.subject.delta)
        return None if claim is None else claim.epsilon


def planned(words: Words) -> Experiment:
    """The scenario with everything built. Raises `ScenarioError` for what does not fit."""
    return _planned(_yaml(words))


def play(words: Words, algorithm: int = 0) -> Played:
    """Run one of the scenario's algorithms. The same words give the same run, to the last bit."""
    return _played(_yaml(words), algorithm)


def results(words: Words) -> Results:
    """All that `netsim run` finds, audit and verdicts too; the folder it writes is temporary."""
    return _results(_yaml(words))


def _yaml(words: Words) -> str:
    """By which a run is remembered; JSON is a part of YAML."""
    return dump(words) if isinstance(words, Scenario) else json.dumps(words, sort_keys=True)


@lru_cache(REMEMBERED)
def _planned(text: str) -> Experiment:
    return Experiment.of(parse(text).scenario)


@lru_cache(REMEMBERED)
def _played(text: str, algorithm: int) -> Played:
    experiment = _planned(text)
    subject = experiment.subjects[algorithm]
    return Played(experiment, subject, subject.simulation.run())


@lru_cache(REMEMBERED)
def _results(text: str) -> Results:
    with tempfile.TemporaryDirectory(prefix="netsim-lab-") as folder:
        return run_scenario(parse(text).scenario, Path(folder) / "run", page=False)
