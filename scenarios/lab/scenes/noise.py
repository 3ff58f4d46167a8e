"""Lessons 3 and 4: effects of Laplace noise, and DP-RECAL's unprotected second number."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attacks.closed_form.recal import published_inversion_of
from attacks.inference import infer
from attacks.score import GradientScore, score_gradients
from netsim.arrays import Array
from netsim.errors import AttackError
from scenarios.build.experiment import adjacency_of
from scenarios.lab.live import AGENTS as AGENTS
from scenarios.lab.live import Played, digits, play, results
from scenarios.results.audit import AuditResult
from scenarios.schema import Attacks, Audit, DpRecal, Own, PrivateGradientDescent, Scenario, Target

ROUNDS, STEP, REPLICAS = 16, 0.1, 2
NORM = 4.0
"""The public bound on the norm of an image."""
SCALES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Laplace scales b of the slider."""
BEATEN = 0.1
"""A skill above this is better than a guess."""


@dataclass(frozen=True)
class _Noisy:
    """Descent whose state carries Laplace noise of one scale, attacked with one image an agent. `played` has all
    records split among the agents; in its second run every agent holds one image."""

    scale: float
    played: Played

    @property
    def score(self) -> GradientScore:
        """How well gradients are inferred: `median` relative error, and `baseline`, that of ρx, the public part."""
        assert self.played.inferred is not None
        return self.played.inferred

    @cached_property
    def distances(self) -> Array:
        """‖ĝ − g‖₂ of every inferred gradient and replica."""
        assert self.played.run.truth is not None
        queries, found = self.played.run.truth.queries, infer(self.played.view)
        errors = [one.gradient - queries[one.agent][one.query].gradient for one in found]
        return np.array([np.linalg.norm(one, axis=-1) for one in errors])

    @property
    def distance(self) -> float:
        """Their root mean square."""
        return float(np.sqrt(np.mean(self.distances**2)))

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


def noisy(scale: float) -> _Noisy:
    """Run it at this Laplace scale."""
    naive = Own(kind="logistic_record", name="naive", rounds="all")
    likeliest = Own(kind="one_record", name="MAP", rounds="all")
    descent = PrivateGradientDescent(rounds=ROUNDS, step=STEP, scale=scale, state="released")
    attacks = Attacks(reconstruct=[naive, likeliest])
    return _Noisy(scale, play(digits("what-noise-buys", descent, replicas=REPLICAS, attacks=attacks)))


AUDITED, PER_AGENT, DELTA = 2, 16, 1e-3
TRIALS = 200
READINGS: Mapping[str, str] = {
    "published: ũ with noise, and x⁺": "as_deployable",
    "attempt: fresh noise in x⁺ too": "fresh_noise",
    "repair: sent state": "sent_state",
}
EPSILONS = (0.1, 1.0, 10.0, 100.0)


def _second_message_scenario(reading: str, epsilon: float, *, audit: bool = False) -> Scenario:
    """With noise for this claimed ε: attacked with one image an agent, or audited with all records."""
    algorithm = DpRecal(reading=reading, per_agent=PER_AGENT, ratio=1.02, noise=Target(epsilon=epsilon, delta=DELTA))
    published = Own(kind="one_record", name="through ũ", inversion="published", rounds="first")
    strongest = Own(kind="one_record", name="strongest", rounds="all")
    return digits(
        "why-the-second-message-kills-it",
        algorithm,
        replicas=REPLICAS,
        attacks=Attacks() if audit else Attacks(reconstruct=[published, strongest]),
        audit=Audit(agent=AUDITED, trials=TRIALS, chunk=TRIALS) if audit else None,
    )


@dataclass(frozen=True)
class _Leakage:
    """One reading of DP-RECAL at one claimed ε: the leakage of either message, and its audit."""

    reading: str
    epsilon: float
    played: Played

    @property
    def stddev(self) -> float:
        """σ₁ of the noise on ũ, at an agent's first activation."""
        return float(getattr(self.played.subject.simulation.algorithm, "stddev", 0.0))

    @property
    def inferred(self) -> int:
        """Gradients that the best inversion estimates, exactly or not."""
        return 0 if self.played.inferred is None else self.played.inferred.estimated

    @property
    def best_error(self) -> float:
        """Median relative error of a gradient, by the best inversion of both messages."""
        return float("nan") if self.played.inferred is None else self.played.inferred.median

    @cached_property
    def error_by_noisy_message(self) -> float:
        """Median relative error of a gradient inferred as the paper infers it: from ũ⁺ − ũ."""
        view, truth = self.played.view, self.played.run.truth
        assert truth is not None
        try:
            return score_gradients(published_inversion_of(view.public.algorithm)(view), truth).median
        except AttackError:
            return float("nan")

    @cached_property
    def audit(self) -> AuditResult:
        """The audit of one agent. Its `epsilon_exact` is of the examined pair by replay, for both messages; ∞ where a
        message has no noise on it. Its `growth` has that up to each activation of the agent."""
        found = results(_second_message_scenario(self.reading, self.epsilon, audit=True)).algorithms[0].audit
        assert isinstance(found, AuditResult)
        return found


def leakage(reading: str, epsilon: float) -> _Leakage:
    """Run this reading (a key of `READINGS`) with noise for this claimed ε."""
    kind = READINGS[reading]
    return _Leakage(kind, epsilon, play(_second_message_scenario(kind, epsilon)))
