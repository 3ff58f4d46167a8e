"""What a scenario can say of algorithms in which a baton walks the graph."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from netsim.algorithms import Algorithm, DPRecal, Recal
from netsim.errors import ScenarioError
from scenarios.schema.algorithms.base import AlgorithmModel, Ground, Target
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive


class Stddev(Model):
    """Noise given outright: σ of the first activation."""

    stddev: NonNegative


def baton_step(step: Literal["auto"] | float, ground: Ground) -> float:
    """ "auto" is 1/(L + 1)."""
    return 1 / (ground.problem.smoothness + 1) if step == "auto" else step


class RecalSpec(AlgorithmModel):
    """RECAL, no noise. `step` "auto" is 1/(L + 1)."""

    kind: Literal["recal"] = "recal"
    name: str = "RECAL"
    step: Literal["auto"] | Positive = "auto"
    activations: Count | None = None
    per_agent: Count | None = None
    first: Index = 0

    def build(self, ground: Ground) -> Algorithm:
        return Recal(baton_step(self.step, ground), self.activations, self.per_agent, self.first)


class DPRecalSpec(AlgorithmModel):
    """DP-RECAL in one of its readings; the walk ends when one agent has been active `per_agent` times (Θ)."""

    kind: Literal["dp_recal"] = "dp_recal"
    name: str = "DP-RECAL"
    reading: Literal["as_analysed", "as_deployable", "fresh_noise", "sent_state"] = "as_deployable"
    step: Literal["auto"] | Positive = "auto"
    per_agent: Count
    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    noise: Target | Stddev = Target(epsilon=1.0)
    first: Index = 0

    def build(self, ground: Ground) -> Algorithm:
        algorithm = DPRecal(
            step=baton_step(self.step, ground),
            per_agent=self.per_agent,
            first=self.first,
            stddev=self.noise.stddev if isinstance(self.noise, Stddev) else 0.0,
            ratio=self.ratio,
            reading=self.reading,
        )
        if isinstance(self.noise, Stddev):
            return algorithm
        if not np.isfinite(ground.adjacency.gradient_change):
            raise ScenarioError(
                "algorithm.noise", self.noise.model_dump(),
                "noise cannot be calibrated: no bound on one record's gradient",
                "problem.kind: logistic or softmax with problem.data.norm_bound, or noise: {stddev: …}",
            )  # fmt: skip
        setting = ground.setting(self.per_agent)
        return algorithm.calibrated(self.noise.epsilon, self.noise.delta, ground.adjacency, setting)

    @property
    def delta(self) -> float | None:
        return self.noise.delta if isinstance(self.noise, Target) else None
