"""What a scenario can say of algorithms that mix by W and correct for it: duals, and tracked gradients."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.algorithms import (
    Algorithm,
    Cpgt,
    DiaDSP,
    Extra,
    GradientTracking,
    Nids,
    PgExtra,
    Ppdc,
    adapted_step,
    ppdc_step,
    stable_step,
    tracking_step,
)
from scenarios.schema.algorithms.base import (
    AlgorithmModel,
    Ground,
    PureTarget,
    ScheduleSpec,
    schedule,
    to_target,
)
from scenarios.schema.base import Count, NonNegative, Positive
from scenarios.schema.messages import CodecSpec, Float64

Step = Literal["auto"] | Positive
Decay = Annotated[float, Field(gt=0, lt=1)]


class _OneRelease(AlgorithmModel):
    rounds: Count
    step: Step = "auto"
    scale: ScheduleSpec = 0.0


class ExtraSpec(_OneRelease):
    """EXTRA, with Laplace noise of this `scale` on what is sent; r = 0. `step` "auto" is half of what its theory
    allows, (1 + λ_min(W))/(2L)."""

    kind: Literal["extra"] = "extra"
    name: str = "EXTRA"

    def build(self, ground: Ground) -> Algorithm:
        return Extra(self.rounds, extra_step(self.step, ground), schedule(self.scale))


class PgExtraSpec(_OneRelease):
    """PG-EXTRA: EXTRA with a proximal step for r. `step` "auto" is (1 + λ_min(W))/(2L)."""

    kind: Literal["pg_extra"] = "pg_extra"
    name: str = "PG-EXTRA"

    def build(self, ground: Ground) -> Algorithm:
        return PgExtra(self.rounds, extra_step(self.step, ground), schedule(self.scale))


def extra_step(step: Step, ground: Ground) -> float:
    """ "auto" is half of what EXTRA's theory allows."""
    return stable_step(ground.problem.smoothness, ground.topology) / 2 if step == "auto" else step


class NidsSpec(_OneRelease):
    """NIDS, with Laplace noise of this `scale` on what is sent. `step` "auto" is 1/L."""

    kind: Literal["nids"] = "nids"
    name: str = "NIDS"

    def build(self, ground: Ground) -> Algorithm:
        step = 1 / ground.problem.smoothness if self.step == "auto" else self.step
        return Nids(self.rounds, step, schedule(self.scale))


class GradientTrackingSpec(AlgorithmModel):
    """Gradient tracking, with Laplace noise on x and on the tracked gradient y; r = 0. "diging" sends both in one
    message, "atc" (adapt, then combine) makes two exchanges a round. `step` "auto" is half of the bound that is
    checked, (1 + λ_min(W))²/(4L) for DIGing."""

    kind: Literal["gradient_tracking"] = "gradient_tracking"
    name: str = "gradient tracking"
    rounds: Count
    variant: Literal["diging", "atc"] = "diging"
    step: Step = "auto"
    scale_x: ScheduleSpec = 0.0
    scale_y: ScheduleSpec = 0.0

    def build(self, ground: Ground) -> Algorithm:
        bound = tracking_step if self.variant == "diging" else adapted_step
        step = bound(ground.problem.smoothness, ground.topology) / 2 if self.step == "auto" else self.step
        return GradientTracking(self.rounds, step, schedule(self.scale_x), schedule(self.scale_y), self.variant)


class _DecayingNoise(AlgorithmModel):
    rounds: Count
    step: Step = "auto"
    scale_x: NonNegative = 1.0
    scale_y: NonNegative = 1.0
    ratio: Decay
    target: PureTarget | None = None

    def with_target(self, algorithm: Algorithm, ground: Ground) -> Algorithm:
        """At its target, if it has one."""
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)


class DiaDSPSpec(_DecayingNoise):
    """DiaDSP: gradient tracking, with Laplace noise of scales `scale_x`·ratio^k on x and `scale_y`·ratio^k on y.
    With a `target` both scales are multiplied by what gives this ε. `step` "auto" is (1 + λ_min(W))²/(4L). r = 0."""

    kind: Literal["diadsp"] = "diadsp"
    name: str = "DiaDSP"

    def build(self, ground: Ground) -> Algorithm:
        step = tracking_step(ground.problem.smoothness, ground.topology) / 2 if self.step == "auto" else self.step
        return self.with_target(DiaDSP(self.rounds, step, self.scale_x, self.scale_y, self.ratio), ground)


class CpgtSpec(_DecayingNoise):
    """CPGT: DiaDSP of which only differences go on the wire, made by the `compressor`; `gamma` is the share of the
    way to the neighbors that a round goes. `step` "auto" is (1 + λ_min(W))²/(4L), times gamma. r = 0."""

    kind: Literal["cpgt"] = "cpgt"
    name: str = "CPGT"
    gamma: Annotated[float, Field(gt=0, le=1)] = 1.0
    compressor: CodecSpec = Float64(kind="float64")

    def build(self, ground: Ground) -> Algorithm:
        most = tracking_step(ground.problem.smoothness, ground.topology)
        step = self.gamma * most / 2 if self.step == "auto" else self.step
        compressor = self.compressor.build()
        algorithm = Cpgt(self.rounds, step, self.scale_x, self.scale_y, self.ratio, self.gamma, compressor)
        return self.with_target(algorithm, ground)


class PpdcSpec(AlgorithmModel):
    """PPDC without its compression, with Laplace noise on x, which is sent, and on the dual v, which is not; r = 0.
    `gamma` and `omega` weigh the neighbors' differences and the dual; `step` "auto" meets the conditions that are
    checked, min(1/(L + 2·gamma·λ), gamma/(2·omega²)), λ the Laplacian's largest eigenvalue."""

    kind: Literal["ppdc"] = "ppdc"
    name: str = "PPDC"
    rounds: Count
    step: Step = "auto"
    gamma: Positive = 1.0
    omega: Positive = 1.0
    scale_x: ScheduleSpec = 0.0
    scale_v: ScheduleSpec = 0.0

    def build(self, ground: Ground) -> Algorithm:
        auto = ppdc_step(ground.problem.smoothness, ground.topology, self.gamma, self.omega)
        step = auto if self.step == "auto" else self.step
        return Ppdc(self.rounds, step, self.gamma, self.omega, schedule(self.scale_x), schedule(self.scale_v))
