"""What a scenario can say of its algorithms."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.clipping import Norm
from netsim.schedules import Constant, Geometric, Polynomial, Schedule, UniformDraws
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Probability, built


class GeometricSpec(Model):
    """first · ratio^k."""

    kind: Literal["geometric"]
    first: Positive
    ratio: Positive

    def build(self) -> Schedule:
        return Geometric(self.first, self.ratio)


class PolynomialSpec(Model):
    """first · (k + 1)^(−power)."""

    kind: Literal["polynomial"]
    first: Positive
    power: NonNegative

    def build(self) -> Schedule:
        return Polynomial(self.first, self.power)


class UniformDrawsSpec(Model):
    """Public coins, uniform from `low` to `high`: known to everybody, the same in every run with this `seed`."""

    kind: Literal["uniform_draws"]
    low: NonNegative
    high: Positive
    seed: Index = 0

    def build(self) -> Schedule:
        return UniformDraws(self.low, self.high, self.seed)


ScheduleSpec = NonNegative | Annotated[GeometricSpec | PolynomialSpec | UniformDrawsSpec, Field(discriminator="kind")]


def schedule(spec: ScheduleSpec, field: str = "algorithm") -> Schedule:
    """A number is a constant schedule; an error is one of `field`."""
    return built(field, spec) if isinstance(spec, Model) else Constant(spec)


class Target(Model):
    """Noise from the claim backwards: the scale at which the paper's formula gives this (ε, δ)."""

    epsilon: Positive
    delta: Probability = 1e-3


class Stddev(Model):
    """Noise given outright: σ of the first activation."""

    stddev: NonNegative


class RecalSpec(Model):
    """RECAL, no noise. `step` "auto" is 1/(L + 1)."""

    kind: Literal["recal"]
    name: str = "RECAL"
    step: Literal["auto"] | Positive = "auto"
    activations: Count | None = None
    per_agent: Count | None = None
    first: Index = 0


class DPRecalSpec(Model):
    """DP-RECAL in one of its readings; the walk ends when one agent has been active `per_agent` times (Θ)."""

    kind: Literal["dp_recal"]
    name: str = "DP-RECAL"
    reading: Literal["as_analysed", "as_deployable", "fresh_noise", "told_state"] = "as_deployable"
    step: Literal["auto"] | Positive = "auto"
    per_agent: Count
    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    noise: Target | Stddev = Target(epsilon=1.0)
    first: Index = 0


class ClipSpec(Model):
    """Gradients are clipped to this norm."""

    bound: Positive
    norm: Norm = "l1"


class PureTarget(Model):
    """The constant Laplace scale at which composition gives this pure ε."""

    epsilon: Positive


class PrivateGradientDescentSpec(Model):
    """Gradient descent with Laplace noise on what is sent. `step` "auto" is half of what is stable,
    (1 + λ_min(W))/(2L)."""

    kind: Literal["private_gradient_descent"]
    name: str = "private gradient descent"
    rounds: Count
    step: Literal["auto"] | ScheduleSpec = "auto"
    scale: ScheduleSpec | PureTarget = 0.0
    clip: ClipSpec | None = None


AlgorithmSpec = Annotated[RecalSpec | DPRecalSpec | PrivateGradientDescentSpec, Field(discriminator="kind")]
