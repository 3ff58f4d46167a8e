"""Lesson 2: from the messages of an algorithm to its private gradients, and from those to the images behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attacks import gradients
from attacks.gradients import GradientEstimate
from netsim.arrays import Array
from netsim.errors import AttackError
from scenarios.lab.live import Played, Words, play

AGENTS, ROUNDS = 6, 12
SECRET = 3
"""Images per agent in the run of the first question."""
ALGORITHMS: Mapping[str, dict[str, Any]] = {
    "gradient descent": {"kind": "private_gradient_descent", "rounds": ROUNDS, "step": 0.1},
    "EXTRA": {"kind": "extra", "rounds": ROUNDS},
    "gradient tracking": {"kind": "gradient_tracking", "rounds": ROUNDS},
    "NIDS": {"kind": "nids", "rounds": ROUNDS},
    "RECAL, a walking baton": {"kind": "recal", "activations": AGENTS * ROUNDS},
}
RANK = 1e-9
"""Singular values below this share of the largest are rounding."""


def words(algorithm: str, images: int = 1, miss: float = 0.0) -> Words:
    """The scenario: every agent holds so many `images`, and the tap on every link misses a share of the packets."""
    attack = {"kind": "one_record" if images == 1 else "row_space", "name": "rebuilt", "rounds": "all"}
    return {
        "name": "from-messages-to-pictures",
        "seed": 3,
        "problem": {
            "kind": "logistic",
            "data": {"name": "digits", "classes": [0, 1], "norm_bound": 4.0},
            "ridge": 1.0,
        },
        "topology": {"kind": "ring", "agents": AGENTS},
        "adversary": {"links": "all", "capture_loss": miss},
        "algorithms": [ALGORITHMS[algorithm]],
        "attacks": {"gradients": True, "holding": images, "success": 0.05, "reconstruct": [attack]},
    }


@dataclass(frozen=True)
class Attacked:
    """What came of one run: gradients from the messages, images from the gradients."""

    played: Played
    found: dict[str, Any]
    """`reconstructions` of results.json."""

    @cached_property
    def estimates(self) -> list[GradientEstimate]:
        """The gradients that follow from the recording; none where every inversion refuses."""
        try:
            return gradients.infer(self.played.view)
        except AttackError:
            return []

    @property
    def asked(self) -> int:
        """How many gradients the agents computed."""
        return sum(self.played.run.queries)

    @property
    def worst(self) -> float:
        """The largest relative error of an inferred gradient; nan where there is none."""
        score = self.played.inferred
        return score.worst if score is not None and score.estimated else float("nan")

    @property
    def inversion(self) -> str:
        """How the gradients were inferred."""
        try:
            used, _ = gradients.inferred(self.played.view)
        except AttackError:
            return "every inversion refuses"
        return "a probe of its public code" if used is gradients.through_probe else "the algebra of its own update"

    @property
    def attack(self) -> dict[str, Any]:
        """What the attack on the images found, as in results.json."""
        return self.found["attacks"][0]

    @property
    def rebuilt(self) -> int:
        """How many agents' images were rebuilt, all of an agent's to a root mean square error of 0.05 of 1."""
        return int(self.attack.get("success", {}).get("count", 0))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an image, in pixels."""
        return tuple(self.found["shape"])

    @property
    def value_range(self) -> tuple[float, float]:
        """Of a pixel."""
        low, high = self.found["range"]
        return low, high

    @property
    def originals(self) -> list[list[float]]:
        """All images, agent after agent."""
        return [image for own in self.found["originals"] for image in own["records"]]

    def pictured(self, what: str) -> list[list[float] | None]:
        """ "rebuilt" or "guess", in the places of the originals; None where nothing could be."""
        images = int(self.found["holding"])
        known = {own["agent"]: own for own in self.attack.get("agents", []) if what in own}
        return [known[i][what][k] if i in known else None for i in range(AGENTS) for k in range(images)]

    def errors(self, what: str) -> list[float]:
        """Root mean square error of each picture, in units of a pixel's range; nan where there is none."""
        low, high = self.value_range
        pairs = zip(self.originals, self.pictured(what), strict=True)
        return [
            float("nan") if made is None else float(np.sqrt(np.mean(np.subtract(made, own) ** 2))) / (high - low)
            for own, made in pairs
        ]

    @cached_property
    def first_gradients(self) -> list[Array | None]:
        """Of each agent the first gradient that follows, without the public term ρx: (pixels,)."""
        ridge = self.played.view.public.ridge
        first: dict[int, Array] = {}
        for one in self.estimates:
            first.setdefault(one.agent, (one.gradient - ridge * one.point)[0])
        return [first.get(agent) for agent in range(AGENTS)]

    @cached_property
    def singular_values(self) -> list[float]:
        """Of agent 0's inferred gradients, below each other, without ρx: relative to the largest."""
        ridge = self.played.view.public.ridge
        own = [(one.gradient - ridge * one.point)[0] for one in self.estimates if one.agent == 0]
        if not own:
            return []
        values = np.linalg.svd(np.array(own), compute_uv=False)
        return [float(v) for v in values / values[0]]

    @property
    def rank(self) -> int:
        """How many of them are not rounding: the number of images that agent 0 holds, if enough gradients follow."""
        return sum(value > RANK for value in self.singular_values)

    @property
    def half(self) -> float:
        """|⟨∇f, a⟩|/⟨a, a⟩ of agent 0's first gradient that follows, and its first image a."""
        gradient, image = self._first()
        return float(abs(np.dot(gradient, image)) / np.dot(image, image))

    @property
    def beside(self) -> float:
        """The share of that gradient that is orthogonal to a, in ℓ2."""
        gradient, image = self._first()
        along = np.dot(gradient, image) / np.dot(image, image) * image
        return float(np.linalg.norm(gradient - along) / np.linalg.norm(gradient))

    def _first(self) -> tuple[Array, Array]:
        first = next(one for one in self.estimates if one.agent == 0)
        return first.gradient[0], np.array(self.originals[0])


def attacked(algorithm: str, images: int = 1, miss: float = 0.0) -> Attacked:
    """Run it, infer the gradients, rebuild the images."""
    played = play(words(algorithm, images, miss))
    return Attacked(played.second, played.reconstructions)
