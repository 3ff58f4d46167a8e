"""What a scenario can say of gradient descent with noise on what is sent."""

from typing import Literal

from netsim.algorithms import Algorithm, PrivateGradientDescent, stable_step
from netsim.errors import ScenarioError
from netsim.schedules import Constant
from scenarios.schema.algorithms.base import (
    AlgorithmModel,
    ClipSpec,
    Ground,
    PureTarget,
    ScheduleSpec,
    schedule,
    to_target,
)
from scenarios.schema.base import Count


class PrivateGradientDescentSpec(AlgorithmModel):
    """Gradient descent with Laplace noise on what is sent. `step` "auto" is half of what is stable,
    (1 + λ_min(W))/(2L). With a `batch`, each gradient is that of so many of the agent's records, drawn afresh.
    With `state: released` an agent goes on with the noisy state that it sent, and takes its gradient there."""

    kind: Literal["private_gradient_descent"] = "private_gradient_descent"
    name: str = "private gradient descent"
    rounds: Count
    step: Literal["auto"] | ScheduleSpec = "auto"
    scale: ScheduleSpec | PureTarget = 0.0
    clip: ClipSpec | None = None
    batch: Count | None = None
    state: Literal["exact", "released"] = "exact"

    def build(self, ground: Ground) -> Algorithm:
        clip = None if self.clip is None else self.clip.build()
        half = stable_step(ground.problem.smoothness, ground.topology) / 2
        step = Constant(half) if self.step == "auto" else schedule(self.step, "algorithm.step")
        if not isinstance(self.scale, PureTarget):
            scale = schedule(self.scale, "algorithm.scale")
            return PrivateGradientDescent(self.rounds, step, scale, clip, self.batch, self.state)
        if clip is None and self.state == "exact":
            raise ScenarioError(
                "algorithm.scale", self.scale.model_dump(), "noise cannot be calibrated without clipping",
                "clip: {bound: …}, or a scale",
            )  # fmt: skip
        shape = PrivateGradientDescent(self.rounds, step, Constant(1.0), clip, self.batch, self.state)
        return to_target(shape, ground, self.rounds, self.scale, "scale")
