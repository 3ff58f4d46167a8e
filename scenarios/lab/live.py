"""Live runs of lessons: scenarios in the words of a file, each simulated once and cached."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from attacks import inference as gradients
from attacks.reconstruction import Case, Evidence, Known
from attacks.reconstruction.one_record import OneRecord
from attacks.score import GradientScore, ImageScore, score_gradients, score_image
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.progress import Silent
from scenarios.results.entries import errors_of
from scenarios.results.files import RESULTS
from scenarios.schema import Scenario
from scenarios.stages.reconstruction import Rebuilding
from scenarios.stages.runner import run_scenario

Words = Mapping[str, Any]
"""A scenario as a file says it: `{"name": …, "topology": {"kind": "ring", "agents": 5}, …}`."""
REMEMBERED = 64
"""Runs that are kept: a slider that is moved back costs nothing."""


@dataclass(frozen=True)
class Played:
    """One algorithm of a scenario, run; what is asked of it is computed when it is asked for.

    `run` is for who owns the simulation; `view` is all that the eavesdropper has.
    """

    experiment: Experiment
    subject: Subject
    run: Run

    @property
    def view(self) -> AdversaryView:
        """What the eavesdropper recorded and knows."""
        return self.run.views[0]

    @cached_property
    def inferred(self) -> GradientScore | None:
        """How well the eavesdropper infers the private gradients; None where every inversion refuses."""
        assert self.run.truth is not None
        try:
            return score_gradients(gradients.infer(self.view), self.run.truth, self.view.inside)
        except AttackError:
            return None

    @cached_property
    def second(self) -> "Played":
        """The run whose records are rebuilt: every agent holds as many as the scenario's `attacks` say."""
        assert self.subject.attacked is not None
        return Played(self.experiment, self.subject, self.subject.attacked.run())

    @cached_property
    def reconstructions(self) -> dict[str, Any]:
        """What the scenario's attacks make of that second run: `reconstructions` of results.json."""
        entry: dict[str, Any] = {}
        Rebuilding(self.experiment, Silent(), _saved).rebuild(entry, self.subject, self.second.run)
        return entry["reconstructions"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a rebuilt image, in pixels."""
        return tuple(self.reconstructions["shape"])

    @property
    def value_range(self) -> tuple[float, float]:
        """Of its pixels."""
        low, high = self.reconstructions["range"]
        return low, high

    @cached_property
    def errors(self) -> Array:
        """Relative error ‖x − x*‖/‖x*‖ by round (of the farthest agent) or activation: (count, replicas)."""
        return errors_of(self.run)[1]

    @property
    def epsilon_claimed(self) -> float | None:
        """What the algorithm's paper claims for this run; None where it claims nothing or its conditions fail."""
        simulation = self.subject.simulation
        claim = simulation.claim(self.experiment.adjacency, self.run.largest_activations, self.subject.delta)
        return None if claim is None else claim.epsilon

    @cached_property
    def pictures(self) -> tuple[ImageScore, ...]:
        """A second run in which every agent holds one image, and what is rebuilt of each; the scenario asks for it
        with `attacks: {images: true}`. Empty where no gradient can be inferred."""
        assert self.experiment.holding is not None
        view, truth, prior = self.second.view, self.second.run.truth, self.experiment.holding.prior
        assert truth is not None
        try:
            told = gradients.infer(view)
        except AttackError:
            return ()
        inferred = sorted({one.agent for one in told})
        assert prior is not None
        cases = [
            Case(Evidence.of([one for one in told if one.agent == i]), Known.of(view.public, i, prior))
            for i in inferred
        ]
        rng = np.random.default_rng(self.experiment.scenario.seed)
        rebuilt = OneRecord().reconstruct(cases, rng) if cases else []
        return tuple(score_image(one, truth, prior) for one in rebuilt)


def planned(words: Words) -> Experiment:
    """The scenario with everything built. You get a `ScenarioError` for what does not fit."""
    return _planned(_key(words))


def play(words: Words, algorithm: int = 0) -> Played:
    """Run one of the scenario's algorithms. The same words give the same run, to the last bit."""
    return _played(_key(words), algorithm)


def results(words: Words) -> dict[str, Any]:
    """All that `netsim run` finds (results.json), audit and verdicts too; the folder it writes is temporary."""
    return json.loads(_results(_key(words)))


def _saved() -> None:
    """What an attack found is kept in memory."""


def _key(words: Words) -> str:
    return json.dumps(words, sort_keys=True)


@lru_cache(REMEMBERED)
def _planned(key: str) -> Experiment:
    return Experiment.of(Scenario.model_validate(json.loads(key)))


@lru_cache(REMEMBERED)
def _played(key: str, algorithm: int) -> Played:
    experiment = _planned(key)
    subject = experiment.subjects[algorithm]
    return Played(experiment, subject, subject.simulation.run())


@lru_cache(REMEMBERED)
def _results(key: str) -> str:
    with tempfile.TemporaryDirectory(prefix="netsim-lab-") as folder:
        run_scenario(Scenario.model_validate(json.loads(key)), Path(folder) / "run", page=False)
        return (Path(folder) / "run" / RESULTS).read_text(encoding="utf-8")
