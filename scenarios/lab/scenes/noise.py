"""Lesson 3: what an amount of Laplace noise does to the inferred gradients, the rebuilt images, ε and convergence."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attacks import gradients
from netsim.arrays import Array
from scenarios.experiment import adjacency_of
from scenarios.lab.live import Played, Words, play

AGENTS, ROUNDS, STEP, REPLICAS = 6, 16, 0.1, 2
NORM = 4.0
"""The public bound on the norm of an image."""
SCALES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Laplace scales b of the slider."""
BEATEN = 0.1
"""A skill above this is better than a guess."""


def words(scale: float) -> Words:
    """The scenario: descent whose state carries Laplace noise of this scale, attacked with one image an agent."""
    attacks = [
        {"kind": "logistic_record", "name": "naive", "rounds": "all"},
        {"kind": "one_record", "name": "MAP", "rounds": "all"},
    ]
    descent: dict[str, Any] = {
        "kind": "private_gradient_descent",
        "rounds": ROUNDS,
        "step": STEP,
        "scale": scale,
        "state": "released",
    }
    return {
        "name": "what-noise-buys",
        "seed": 3,
        "replicas": REPLICAS,
        "problem": {
            "kind": "logistic",
            "data": {"name": "digits", "classes": [0, 1], "norm_bound": NORM},
            "ridge": 1.0,
        },
        "topology": {"kind": "ring", "agents": AGENTS},
        "adversary": {"links": "all"},
        "algorithms": [descent],
        "attacks": {"gradients": True, "holding": 1, "success": 0.1, "reconstruct": attacks},
    }


@dataclass(frozen=True)
class Noisy:
    """The algorithm at one amount of noise. `played` has all records split among the agents; in its second run every
    agent holds one image."""

    scale: float
    played: Played

    @property
    def gradient_error(self) -> float:
        """Median relative error of an inferred gradient."""
        assert self.played.inferred is not None
        return self.played.inferred.median

    @property
    def baseline(self) -> float:
        """The same of who infers nothing and says ρx, the public part."""
        assert self.played.inferred is not None
        return self.played.inferred.baseline

    @cached_property
    def distances(self) -> Array:
        """‖ĝ − g‖₂ of every inferred gradient and replica."""
        assert self.played.run.truth is not None
        asked = self.played.run.truth.queries
        told = gradients.infer(self.played.view)
        return np.array(
            [np.linalg.norm(one.gradient - asked[one.agent][one.query].gradient, axis=-1) for one in told]
        )

    @property
    def distance(self) -> float:
        """Their root mean square."""
        return float(np.sqrt(np.mean(self.distances**2)))

    @property
    def final_error(self) -> float:
        """‖x − x*‖/‖x*‖ of the farthest agent at the end, median over replicas; 1 is where it began."""
        return float(np.median(self.played.errors[-1]))

    @property
    def epsilon(self) -> float:
        """ε claimed for one record of one agent; ∞ without noise."""
        claimed = self.played.epsilon_claimed
        return float("inf") if claimed is None else claimed

    @property
    def epsilon_alone(self) -> float:
        """ε claimed where an agent holds one image and no more; ∞ without noise."""
        experiment, attacked = self.played.experiment, self.played.subject.attacked
        assert experiment.holding is not None
        assert attacked is not None
        adjacency = adjacency_of(experiment.scenario, experiment.dataset, experiment.holding.problem)
        claim = attacked.claim(adjacency, ROUNDS, 0.0)
        return float("inf") if claim is None or claim.epsilon is None else claim.epsilon

    @property
    def change(self) -> float:
        """B: by how much one record changes a gradient, in ℓ1."""
        experiment = self.played.experiment
        return experiment.adjacency.in_norm("l1", experiment.problem.dimension)

    def skill(self, attack: str) -> float:
        """Median over agents and replicas: 1 the image itself, 0 a guess; nan where nothing was rebuilt."""
        skill = self._attack(attack).get("skill")
        return float("nan") if skill is None else float(skill)

    def pictures(self) -> dict[str, list[Any]]:
        """Originals, what each attack makes of them, and the guess, agent by agent."""
        known = {name: self._attack(name).get("agents", []) for name in ("naive", "MAP")}
        originals = [own["records"][0] for own in self.played.reconstructions["originals"]]
        made = {name: {one["agent"]: one for one in agents} for name, agents in known.items()}
        rows = {name: [_first(own.get(i), "rebuilt") for i in range(AGENTS)] for name, own in made.items()}
        return {"original": originals, **rows, "guess": [_first(made["MAP"].get(i), "guess") for i in range(AGENTS)]}

    def _attack(self, name: str) -> dict[str, Any]:
        attacks: list[dict[str, Any]] = self.played.reconstructions["attacks"]
        return next(one for one in attacks if one["attack"] == name)


def noisy(scale: float) -> Noisy:
    """Run it at this Laplace scale."""
    return Noisy(scale, play(words(scale)))


def _first(own: "dict[str, Any] | None", what: str) -> Any:
    return None if own is None or what not in own else own[what][0]


def records(noisy: Noisy) -> int:
    """Of the agent that has fewest."""
    return min(noisy.played.experiment.problem.records)
