"""Sequences of positive numbers indexed by round or by an agent's own activation, counted from 0."""

from dataclasses import dataclass, replace
from typing import Protocol

from netsim.errors import ScenarioError


class Schedule(Protocol):
    """k ↦ the value at round (or activation) k = 0, 1, …"""

    def __call__(self, k: int) -> float: ...


@dataclass(frozen=True)
class Constant:
    """k ↦ value."""

    value: float

    def __call__(self, k: int) -> float:  # noqa: ARG002
        return self.value


@dataclass(frozen=True)
class Geometric:
    """k ↦ first · ratio^k."""

    first: float
    ratio: float

    def __post_init__(self) -> None:
        if self.ratio <= 0:
            raise ScenarioError("ratio", self.ratio, "a geometric schedule needs a positive ratio", "> 0")

    def __call__(self, k: int) -> float:
        return self.first * self.ratio**k


@dataclass(frozen=True)
class Scaled:
    """k ↦ factor · schedule(k)."""

    schedule: Schedule
    factor: float

    def __call__(self, k: int) -> float:
        return self.factor * self.schedule(k)


@dataclass(frozen=True)
class Polynomial:
    """k ↦ first · (k + 1)^(−power)."""

    first: float
    power: float

    def __call__(self, k: int) -> float:
        return self.first * (k + 1) ** -self.power


def scaled(schedule: Schedule, factor: float) -> Schedule:
    """k ↦ factor · schedule(k)."""
    match schedule:
        case Constant():
            return Constant(factor * schedule.value)
        case Geometric() | Polynomial():
            return replace(schedule, first=factor * schedule.first)
        case _:
            return Scaled(schedule, factor)
