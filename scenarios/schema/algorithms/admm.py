"""What a scenario can say of the ADMM family and of Walkman.

Noise is a `scale` per coordinate and release, as given or from a target. `penalty` "auto" makes the curvature that
neighbors add to an agent's objective about as large as its own: L/(2·mean degree).
"""

from typing import Annotated, Literal

from pydantic import Field

from netsim.algorithms import Algorithm, DAdmm, DpAdmm, IcAdmm, MrAdmm, RAdmm, RwAdmm, Walkman
from netsim.errors import ScenarioError
from netsim.schedules import Constant, Geometric, Schedule
from scenarios.schema.algorithms.base import AlgorithmModel, Ground, ScheduleSpec, Target, schedule, to_target
from scenarios.schema.base import Count, Index, Positive

Auto = Literal["auto"]
Law = Literal["laplace", "gaussian"]


class NoisyModel(AlgorithmModel):
    """Laplace or Gaussian noise of this scale: b or σ per coordinate."""

    noise: Law = "laplace"
    scale: ScheduleSpec | Target = 0.0

    def shape(self) -> Schedule:
        """The scale as given, 1 where it comes from a target."""
        return Constant(1.0) if isinstance(self.scale, Target) else schedule(self.scale)

    def noised(self, algorithm: Algorithm, ground: Ground, releases: int | None) -> Algorithm:
        """The algorithm with its noise at the target, if there is one."""
        if not isinstance(self.scale, Target):
            return algorithm
        if releases is None:
            raise ScenarioError(
                "algorithm.scale", self.scale.model_dump(), "how often an agent releases something is not bounded",
                "per_agent, or a scale",
            )  # fmt: skip
        return to_target(algorithm, ground, releases, self.scale, "scale")

    @property
    def delta(self) -> float | None:
        return self.scale.delta if isinstance(self.scale, Target) else None


def balanced(penalty: Auto | float, ground: Ground) -> float:
    """ "auto" is L/(2·mean degree)."""
    if penalty != "auto":
        return penalty
    degrees = [len(ground.topology.neighbors(i)) for i in range(ground.topology.agents)]
    return ground.problem.smoothness * len(degrees) / (2 * sum(degrees))


def at_least_smooth(value: Auto | float, ground: Ground) -> float:
    """ "auto" is L."""
    return ground.problem.smoothness if value == "auto" else value


class IcAdmmSpec(NoisyModel):
    """IC-ADMM: one gradient a round, noise on what is sent. `proximal` b "auto" is L, `penalty` is c."""

    kind: Literal["ic_admm"] = "ic_admm"
    name: str = "IC-ADMM"
    rounds: Count
    penalty: Auto | Positive = "auto"
    proximal: Auto | Positive = "auto"

    def build(self, ground: Ground) -> Algorithm:
        c, b = balanced(self.penalty, ground), at_least_smooth(self.proximal, ground)
        return self.noised(IcAdmm(self.rounds, c, b, noise=self.noise, scale=self.shape()), ground, self.rounds)


class DAdmmSpec(NoisyModel):
    """D-ADMM, exact inner problems; noise on the primal that is sent (PVP), or on the dual (DVP, no ℓ1)."""

    kind: Literal["d_admm"] = "d_admm"
    name: str = "D-ADMM"
    rounds: Count
    penalty: Auto | Positive = "auto"
    perturbation: Literal["primal", "dual"] = "primal"

    def build(self, ground: Ground) -> Algorithm:
        eta = balanced(self.penalty, ground)
        algorithm = DAdmm(self.rounds, eta, self.perturbation, noise=self.noise, scale=self.shape())
        return self.noised(algorithm, ground, self.rounds)


class DpAdmmSpec(NoisyModel):
    """DP-ADMM on a star around agent 0, one gradient a round. `penalty` ρ "auto" is L, `step` η_k "auto" 1/L."""

    kind: Literal["dp_admm"] = "dp_admm"
    name: str = "DP-ADMM"
    rounds: Count
    penalty: Auto | Positive = "auto"
    step: Auto | ScheduleSpec = "auto"
    noise: Law = "gaussian"

    def build(self, ground: Ground) -> Algorithm:
        step = Constant(1 / ground.problem.smoothness) if self.step == "auto" else schedule(self.step)
        rho = at_least_smooth(self.penalty, ground)
        algorithm = DpAdmm(self.rounds, rho, step, noise=self.noise, scale=self.shape())
        return self.noised(algorithm, ground, self.rounds)


class RAdmmSpec(NoisyModel):
    """R-ADMM: every other round touches no data; noise in the objective (no ℓ1). `linearization` γ "auto" is L."""

    kind: Literal["r_admm"] = "r_admm"
    name: str = "R-ADMM"
    rounds: Count
    penalty: Auto | Positive = "auto"
    linearization: Auto | Positive = "auto"

    def build(self, ground: Ground) -> Algorithm:
        gamma, eta = at_least_smooth(self.linearization, ground), balanced(self.penalty, ground)
        return self.noised(RAdmm(self.rounds, gamma, eta, noise=self.noise, scale=self.shape()), ground, self.rounds)


class MrAdmmSpec(NoisyModel):
    """MR-ADMM: R-ADMM with penalties η_i(t) = min(most, factor_i·penalty(t)) that grow. "auto" grows by 1 % a pair
    of rounds from L/(2·mean degree) to `most`, four times that if nothing is said. `dual_step` θ "auto" is the least
    η_i(0).
    """

    kind: Literal["mr_admm"] = "mr_admm"
    name: str = "MR-ADMM"
    rounds: Count
    penalty: Auto | ScheduleSpec = "auto"
    factors: list[Positive] = []
    most: Positive | None = None
    dual_step: Auto | Positive = "auto"
    linearization: Auto | Positive = "auto"

    def build(self, ground: Ground) -> Algorithm:
        first = balanced("auto", ground)
        penalty = Geometric(first, 1.01) if self.penalty == "auto" else schedule(self.penalty)
        most = 4 * first if self.most is None and self.penalty == "auto" else self.most
        least = penalty(0) * min(self.factors, default=1.0)
        theta = min(least, least if most is None else most) if self.dual_step == "auto" else self.dual_step
        algorithm = MrAdmm(
            self.rounds,
            at_least_smooth(self.linearization, ground),
            penalty,
            theta,
            tuple(self.factors),
            most,
            noise=self.noise,
            scale=self.shape(),
        )
        return self.noised(algorithm, ground, self.rounds)


class RwAdmmSpec(NoisyModel):
    """RW-ADMM: D-ADMM in which a walker, or everybody, is active; noise on what is sent."""

    kind: Literal["rw_admm"] = "rw_admm"
    name: str = "RW-ADMM"
    penalty: Auto | Positive = "auto"
    activation: Literal["walk", "everybody"] = "walk"
    activations: Count | None = None
    per_agent: Count | None = None
    first: Index = 0

    def build(self, ground: Ground) -> Algorithm:
        algorithm = RwAdmm(
            balanced(self.penalty, ground),
            self.activation,
            self.activations,
            self.per_agent,
            self.first,
            noise=self.noise,
            scale=self.shape(),
        )
        return self.noised(algorithm, ground, self.per_agent)


class WalkmanSpec(NoisyModel):
    """Walkman: a token walks; noise on the token. `penalty` β "auto" is 3 L by gradients, L by proximal steps."""

    kind: Literal["walkman"] = "walkman"
    name: str = "Walkman"
    version: Literal["gradient", "prox"] = "gradient"
    penalty: Auto | Positive = "auto"
    activations: Count | None = None
    per_agent: Count | None = None
    first: Index = 0

    def build(self, ground: Ground) -> Algorithm:
        factor = 3.0 if self.version == "gradient" else 1.0
        beta = factor * ground.problem.smoothness if self.penalty == "auto" else self.penalty
        algorithm = Walkman(
            beta, self.version, self.activations, self.per_agent, self.first, noise=self.noise, scale=self.shape()
        )
        return self.noised(algorithm, ground, self.per_agent)


AdmmSpec = Annotated[
    IcAdmmSpec | DAdmmSpec | DpAdmmSpec | RAdmmSpec | MrAdmmSpec | RwAdmmSpec | WalkmanSpec,
    Field(discriminator="kind"),
]
