"""Lessons 3 and 4: effects of Laplace noise, and DP-RECAL's unprotected second number."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attacks import inference as gradients
from attacks.closed_form.recal import published_inversion_of
from attacks.score import score_gradients
from netsim.arrays import Array
from netsim.errors import AttackError
from scenarios.build.experiment import adjacency_of
from scenarios.lab.live import Played, Words, play, results
from scenarios.results.numbers import number

AGENTS, ROUNDS, STEP, REPLICAS = 6, 16, 0.1, 2
NORM = 4.0
"""The public bound on the norm of an image."""
SCALES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Laplace scales b of the slider."""
BEATEN = 0.1
"""A skill above this is better than a guess."""


def _noise_words(scale: float) -> Words:
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
class _Noisy:
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


def noisy(scale: float) -> _Noisy:
    """Run it at this Laplace scale."""
    return _Noisy(scale, play(_noise_words(scale)))


def _first(own: "dict[str, Any] | None", what: str) -> Any:
    return None if own is None or what not in own else own[what][0]


def records(noisy: _Noisy) -> int:
    """Of the agent that has fewest."""
    return min(noisy.played.experiment.problem.records)


SECOND_MESSAGE_AGENTS, AUDITED, SECOND_MESSAGE_REPLICAS, PER_AGENT, DELTA = 6, 2, 2, 16, 1e-3
TRIALS = 200
READINGS: Mapping[str, str] = {
    "published: ũ with noise, and x⁺": "as_deployable",
    "attempt: fresh noise in x⁺ too": "fresh_noise",
    "repair: sent state": "sent_state",
}
EPSILONS = (0.1, 1.0, 10.0, 100.0)


def _second_message_words(reading: str, epsilon: float, *, audit: bool = False) -> Words:
    """The scenario, with noise for this claimed ε: attacked with one image an agent, or audited with all records."""
    published = {"kind": "one_record", "name": "through ũ", "inversion": "published", "rounds": "first"}
    strongest = {"kind": "one_record", "name": "strongest", "rounds": "all"}
    attacks = {"gradients": True, "holding": 1, "success": 0.1, "reconstruct": [published, strongest]}
    asked = {"agent": AUDITED, "adjacency": "record", "trials": TRIALS, "chunk": TRIALS}
    return {
        "name": "why-the-second-message-kills-it",
        "seed": 3,
        "replicas": SECOND_MESSAGE_REPLICAS,
        "problem": {
            "kind": "logistic",
            "data": {"name": "digits", "classes": [0, 1], "norm_bound": 4.0},
            "ridge": 1.0,
        },
        "topology": {"kind": "ring", "agents": SECOND_MESSAGE_AGENTS},
        "adversary": {"links": "all"},
        "algorithms": [
            {
                "kind": "dp_recal",
                "reading": reading,
                "per_agent": PER_AGENT,
                "ratio": 1.02,
                "noise": {"epsilon": epsilon, "delta": DELTA},
            }
        ],
        **({"audit": asked} if audit else {"attacks": attacks}),
    }


@dataclass(frozen=True)
class _Told:
    """One reading of DP-RECAL at one claimed ε: what it tells by either message, and what an audit says."""

    reading: str
    epsilon: float
    played: Played

    @property
    def stddev(self) -> float:
        """σ₁ of the noise on ũ, at an agent's first activation."""
        return float(getattr(self.played.subject.simulation.algorithm, "stddev", 0.0))

    @property
    def asked(self) -> int:
        """Gradients that the agents computed."""
        return sum(self.played.run.queries)

    @property
    def inferred(self) -> int:
        """Of them those that the best inversion estimates, exactly or not."""
        return 0 if self.played.inferred is None else self.played.inferred.estimated

    @property
    def best_error(self) -> float:
        """Median relative error of a gradient, by the best inversion of both messages."""
        return float("nan") if self.played.inferred is None else self.played.inferred.median

    @property
    def worst_error(self) -> float:
        """The largest one."""
        return float("nan") if self.played.inferred is None else self.played.inferred.worst

    @cached_property
    def error_by_noisy_message(self) -> float:
        """Median relative error of a gradient inferred as the paper infers it: from ũ⁺ − ũ."""
        view, truth = self.played.view, self.played.run.truth
        assert truth is not None
        try:
            return score_gradients(published_inversion_of(view.public.algorithm)(view), truth).median
        except AttackError:
            return float("nan")

    def skill(self, attack: str) -> float:
        """Median over agents and replicas: 1 the image itself, 0 a guess."""
        return number(self._attack(attack).get("skill"))

    def pictures(self) -> dict[str, list[Any]]:
        """Originals, each attack's pictures and the guess, agent by agent."""
        found = self.played.reconstructions
        known = {name: {one["agent"]: one for one in self._attack(name).get("agents", [])} for name in NAMES}
        rows = {
            NAMES[name]: [own[i]["rebuilt"][0] if i in own else None for i in range(SECOND_MESSAGE_AGENTS)]
            for name, own in known.items()
        }
        guesses = known["strongest"]
        guess = [guesses[i]["guess"][0] if i in guesses else None for i in range(SECOND_MESSAGE_AGENTS)]
        return {"original": [own["records"][0] for own in found["originals"]], **rows, "guess": guess}

    @property
    def final_error(self) -> float:
        """‖x − x*‖/‖x*‖ at the end; 1 is where it began."""
        return float(np.median(self.played.errors[-1]))

    @cached_property
    def audit(self) -> dict[str, Any]:
        """The audit of one agent, as in results.json."""
        found = results(_second_message_words(self.reading, self.epsilon, audit=True))["algorithms"][0]["audit"]
        assert found["verdict"]
        return found

    @property
    def exact(self) -> float:
        """ε of the examined pair by replay, for both messages: an estimate; ∞ where a message has no noise on it."""
        return number(self.audit["epsilon_exact"]["estimate"])

    @property
    def by_activation(self) -> list[tuple[int, float]]:
        """ε of that pair up to each activation of the audited agent."""
        spent = {int(level["activation"]): number(level["estimate"]) for level in self.audit["growth"]}
        return list(spent.items())

    def _attack(self, name: str) -> dict[str, Any]:
        attacks: list[dict[str, Any]] = self.played.reconstructions["attacks"]
        return next(one for one in attacks if one["attack"] == name)


NAMES = {"through ũ": "from ũ alone", "strongest": "from both"}
"""Attacks of the scenario, and what their pictures are called."""


def told(reading: str, epsilon: float) -> _Told:
    """Run this reading (a key of `READINGS`) with noise for this claimed ε."""
    kind = READINGS[reading]
    return _Told(kind, epsilon, play(_second_message_words(kind, epsilon)))
