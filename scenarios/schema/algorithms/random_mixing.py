"""What a scenario can say of descent that hides in random mixing or in secret shares."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.algorithms import Algorithm, GroupedDescent, NeighborRange, RandomPenaltyAdmm, SecretSharing
from netsim.algorithms.secret_sharing import PRIME
from netsim.schedules import Constant, Geometric, Schedule
from scenarios.schema.algorithms.base import (
    AlgorithmModel,
    Ground,
    PureTarget,
    ScheduleSpec,
    Target,
    schedule,
    shape_of,
    to_target,
)
from scenarios.schema.base import Count, Index, NonNegative, Positive

Step = Literal["auto"] | ScheduleSpec


def inverse_smoothness(step: Step, ground: Ground, factor: float) -> Schedule:
    """ "auto" is factor/L."""
    return Constant(factor / ground.problem.smoothness) if step == "auto" else schedule(step, "algorithm.step")


class RandomPenaltyAdmmSpec(AlgorithmModel):
    """ADMM with random penalties. `penalty` D and `dual_step` ζ; without `scale` the noise is the source's, 1.02^−k.
    With a `target` the scale gives the shape of the noise over the rounds, and one factor multiplies it."""

    kind: Literal["random_penalty_admm"] = "random_penalty_admm"
    name: str = "random-penalty ADMM"
    rounds: Count
    penalty: Positive = 10.0
    dual_step: NonNegative = 0.5
    scale: ScheduleSpec | None = None
    target: PureTarget | None = None

    def build(self, ground: Ground) -> Algorithm:
        scale = Geometric(1.0, 1 / 1.02) if self.scale is None else shape_of(self.scale, self.target)
        algorithm = RandomPenaltyAdmm(self.rounds, self.penalty, self.dual_step, scale)
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)


class GroupedDescentSpec(AlgorithmModel):
    """Descent by 2·rounds groups of agents that act once each, on a complete graph. `step` "auto" is 1/L; `low` and
    `high` are the coordinates of the two public references at the start, `shuffle` the seed of the public deal."""

    kind: Literal["grouped_descent"] = "grouped_descent"
    name: str = "grouped descent"
    rounds: Count
    step: Step = "auto"
    scale: ScheduleSpec = 0.0
    low: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    high: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    shuffle: Index = 0
    target: PureTarget | None = None

    def build(self, ground: Ground) -> Algorithm:
        algorithm = GroupedDescent(
            self.rounds,
            inverse_smoothness(self.step, ground, 1.0),
            shape_of(self.scale, self.target),
            low=self.low,
            high=self.high,
            shuffle=self.shuffle,
        )
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)


class NeighborRangeSpec(AlgorithmModel):
    """Descent from a random point between the least and the greatest value nearby. `step` "auto" is 1/(2L)."""

    kind: Literal["neighbor_range"] = "neighbor_range"
    name: str = "neighbor range"
    rounds: Count
    step: Step = "auto"
    scale: ScheduleSpec = 0.0
    target: PureTarget | None = None

    def build(self, ground: Ground) -> Algorithm:
        step = inverse_smoothness(self.step, ground, 0.5)
        algorithm = NeighborRange(self.rounds, step, shape_of(self.scale, self.target))
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)


class SecretSharingSpec(AlgorithmModel):
    """Descent over additive secret shares, on a complete graph whose links should be encrypted. `step` "auto" is
    1/(2L); `stddev` is the noise of each agent, `resolution` a fixed-point step, `modulus` p."""

    kind: Literal["secret_sharing"] = "secret_sharing"
    name: str = "secret sharing"
    rounds: Count
    step: Step = "auto"
    stddev: ScheduleSpec = 0.0
    resolution: Positive = 2.0**-20
    modulus: Annotated[int, Field(ge=3, le=2**53)] = PRIME
    target: Target | None = None

    def build(self, ground: Ground) -> Algorithm:
        step = inverse_smoothness(self.step, ground, 0.5)
        stddev = shape_of(self.stddev, self.target)
        algorithm = SecretSharing(self.rounds, step, stddev, self.resolution, self.modulus)
        return algorithm if self.target is None else to_target(algorithm, ground, self.rounds, self.target)

    @property
    def delta(self) -> float | None:
        return None if self.target is None else self.target.delta
