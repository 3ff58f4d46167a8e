"""What every algorithm of a scenario is made of: a name, how to build it, noise as given or from a target."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from netsim.algorithms import Algorithm, Setting
from netsim.claims import Adjacency, Clip, Norm
from netsim.errors import PrivacyError, ScenarioError
from netsim.problems import Problem
from netsim.schedules import Constant, Geometric, Polynomial, Schedule, UniformDraws
from netsim.simulation import setting_of
from netsim.topology import Topology
from scenarios.schema.base import Index, Model, NonNegative, Positive, Probability, built

REMEDY = "noise given outright, or conditions that hold (of a constant change: audit: {adjacency: {change: …}})"


@dataclass(frozen=True)
class Ground:
    """What an algorithm of a scenario stands on: the problem, the graph, and which objectives are adjacent."""

    problem: Problem
    topology: Topology
    adjacency: Adjacency

    def setting(self, releases: int) -> Setting:
        """The public facts that conditions and claims depend on."""
        return setting_of(self.problem, self.topology, releases).loosened(self.adjacency.bending)


class GeometricSpec(Model):
    """first · ratio^k."""

    kind: Literal["geometric"] = "geometric"
    first: Positive
    ratio: Positive

    def build(self) -> Schedule:
        return Geometric(self.first, self.ratio)


class PolynomialSpec(Model):
    """first · (k + 1)^(−power)."""

    kind: Literal["polynomial"] = "polynomial"
    first: Positive
    power: NonNegative

    def build(self) -> Schedule:
        return Polynomial(self.first, self.power)


class UniformDrawsSpec(Model):
    """Public coins, uniform from `low` to `high`: known to everybody, the same in every run with this `seed`."""

    kind: Literal["uniform_draws"] = "uniform_draws"
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


class PureTarget(Model):
    """Noise from the claim backwards: the scale at which the paper's formula gives this pure ε."""

    epsilon: Positive


def shape_of(scale: ScheduleSpec, target: PureTarget | Target | None) -> Schedule:
    """The scale as given; with a target the shape to be scaled, which is flat if none is given."""
    return Constant(1.0) if target is not None and scale == 0 else schedule(scale)


class ClipSpec(Model):
    """Gradients are clipped to this norm."""

    bound: Positive
    norm: Norm = "l1"

    def build(self) -> Clip:
        return Clip(self.bound, self.norm)


class AlgorithmModel(Model, ABC):
    """One algorithm of a scenario; `name` is what results call it."""

    name: str
    baseline: bool = False

    @abstractmethod
    def build(self, ground: Ground) -> Algorithm:
        """The algorithm on this problem and graph. A `ScenarioError` has fields under "algorithm"."""

    @property
    def delta(self) -> float | None:
        """The δ of the claim that is looked at, if the scenario names one."""
        return None

    @property
    def code(self) -> str | None:
        """SHA-256 of an algorithm's source that is not netsim's own; None for those that come with it."""
        return None


def to_target(
    algorithm: Algorithm, ground: Ground, releases: int, target: Target | PureTarget, field: str = "target"
) -> Algorithm:
    """The algorithm with its noise at the target; a `ScenarioError` of this field where that cannot be."""
    delta = target.delta if isinstance(target, Target) else 0.0
    try:
        return algorithm.calibrated(target.epsilon, delta, ground.adjacency, ground.setting(releases))
    except PrivacyError as error:
        raise ScenarioError(
            f"algorithm.{field}",
            target.model_dump(),
            str(error),
            REMEDY,
        ) from None
