"""What a scenario can say of methods whose noise decays: DPP² and DMSP."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.algorithms import Algorithm, Dmsp, Dpp2
from netsim.algorithms.dpp2 import Matrix, largest_eigenvalue
from netsim.models.model import Ball, Box
from netsim.schedules import Geometric
from scenarios.schema.algorithms.base import (
    AlgorithmModel,
    Ground,
    PureTarget,
    ScheduleSpec,
    schedule,
    shape_of,
    to_target,
)
from scenarios.schema.base import Count, Model, NonNegative, Positive, built


class Dpp2Spec(AlgorithmModel):
    """DPP². "auto" is α = 1/(2L), β = α/(2λ_max(P)), ρ = 2L/λ_max(P). With a `target` the scales give the shape of
    the noise over the rounds (flat where they are 0), and one factor multiplies both."""

    kind: Literal["dpp2"] = "dpp2"
    name: str = "DPP²"
    rounds: Count
    step: Literal["auto"] | Positive = "auto"
    beta: Literal["auto"] | NonNegative = "auto"
    rho: Literal["auto"] | Positive = "auto"
    eta: ScheduleSpec = 1.0
    scale_w: ScheduleSpec = 0.0
    scale_e: ScheduleSpec = 0.0
    matrix: Matrix = "mixing"
    target: PureTarget | None = None

    def build(self, ground: Ground) -> Algorithm:
        smoothness, largest = ground.problem.smoothness, largest_eigenvalue(self.matrix, ground.topology)
        alpha = 0.5 / smoothness if self.step == "auto" else self.step
        algorithm = Dpp2(
            rounds=self.rounds,
            step=alpha,
            beta=alpha / (2 * largest) if self.beta == "auto" else self.beta,
            rho=2 * smoothness / largest if self.rho == "auto" else self.rho,
            eta=schedule(self.eta, "algorithm.eta"),
            scale_w=shape_of(self.scale_w, self.target),
            scale_e=shape_of(self.scale_e, self.target),
            matrix=self.matrix,
        )
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)


class BallSpec(Model):
    """‖x‖₂ ≤ radius."""

    kind: Literal["ball"] = "ball"
    radius: Positive

    def build(self) -> Ball:
        return Ball(self.radius)


class BoxSpec(Model):
    """Every coordinate from `low` to `high`."""

    kind: Literal["box"] = "box"
    low: Annotated[float, Field(allow_inf_nan=False)]
    high: Annotated[float, Field(allow_inf_nan=False)]

    def build(self) -> Box:
        return Box(self.low, self.high)


DomainSpec = Annotated[BallSpec | BoxSpec, Field(discriminator="kind")]


class DmspSpec(AlgorithmModel):
    """DMSP. The paper's `step` c·q^k and `scale` b·p^k are geometric with 0 < q < p < 1; "auto" is c = 1/L, q = 0.9.
    With a `target` the scale gives the shape of the noise over the rounds, and one factor multiplies it."""

    kind: Literal["dmsp"] = "dmsp"
    name: str = "DMSP"
    rounds: Count
    step: Literal["auto"] | ScheduleSpec = "auto"
    scale: ScheduleSpec = 0.0
    domain: DomainSpec
    target: PureTarget | None = None

    def build(self, ground: Ground) -> Algorithm:
        step = (
            Geometric(1 / ground.problem.smoothness, 0.9)
            if self.step == "auto"
            else schedule(self.step, "algorithm.step")
        )
        domain = built("algorithm.domain", self.domain)
        algorithm = Dmsp(self.rounds, step, domain, shape_of(self.scale, self.target))
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)
