"""Sequences of positive numbers indexed by round or by an agent's own activation, counted from 0."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from netsim.arguments import check_types
from netsim.bounds import Index, NonNegative, Positive
from netsim.errors import ScenarioError
from netsim.randomness import Streams


class Schedule(Protocol):
    """k ↦ the value at round (or activation) k = 0, 1, …"""

    def __call__(self, k: int) -> float: ...


@dataclass(frozen=True)
class Constant:
    """k ↦ value."""

    value: float

    def __post_init__(self) -> None:
        check_types(self, arrays=True)

    def __call__(self, k: int) -> float:  # noqa: ARG002
        return self.value


SILENT = Constant(0.0)
"""The scale of no noise."""


@dataclass(frozen=True)
class Geometric:
    """k ↦ first · ratio^k."""

    first: Positive
    """The value at k = 0."""
    ratio: Positive
    """By what the value is multiplied from one k to the next."""

    def __post_init__(self) -> None:
        check_types(self, arrays=True)
        if self.ratio <= 0:
            raise ScenarioError("ratio", self.ratio, "a geometric schedule needs a positive ratio", "> 0")

    def __call__(self, k: int) -> float:
        try:
            return self.first * self.ratio**k
        except OverflowError:  # whoever takes the value has bounds for it, and words
            return math.inf


@dataclass(frozen=True)
class _Scaled:
    """k ↦ factor · schedule(k)."""

    schedule: Schedule
    factor: float

    def __call__(self, k: int) -> float:
        return self.factor * self.schedule(k)


@dataclass(frozen=True)
class Polynomial:
    """k ↦ first · (k + 1)^(−power)."""

    first: Positive
    """The value at k = 0."""
    power: NonNegative
    """How fast the value falls."""

    def __call__(self, k: int) -> float:
        return self.first * (k + 1) ** -self.power


@dataclass(frozen=True)
class UniformDraws:
    """k ↦ a public coin, uniform on [low, high): a pure function of (seed, k), in any order of evaluation.

    The coins are a parameter of the algorithm: every agent and every adversary knows them, all replicas share them,
    and no other seed changes them. Bounds at least 0 and finite, or you get a `ScenarioError`.
    """

    low: NonNegative
    """The least value that is drawn."""
    high: Positive
    """Where draws end, itself never drawn."""
    seed: Index = 0
    """The seed of the draws."""

    def __post_init__(self) -> None:
        if not 0 <= self.low < math.inf:
            raise ScenarioError("low", self.low, "not where draws can begin", ">= 0 and finite")
        if not self.low < self.high < math.inf:
            raise ScenarioError("high", self.high, "not where draws can end", f"> low = {self.low!r}, and finite")
        if self.seed < 0:
            raise ScenarioError("seed", self.seed, "not a seed", ">= 0")

    def __call__(self, k: int) -> float:
        return min(self.low + (self.high - self.low) * _coin(self.seed, k), math.nextafter(self.high, self.low))


@lru_cache(1 << 14)
def _coin(seed: int, k: int) -> float:
    """A public coin, which every agent and every replay of one asks for."""
    return Streams(seed).plain("public coin", k).random()


def first_outside(schedule: Schedule, count: int, low: float, high: float) -> int | None:
    """The first k < `count` whose value is not in [low, high], or None.

    Schedules of this module that rise or fall all the way are looked at where they begin and end, others everywhere.
    """
    if type(schedule) in (Constant, Geometric, Polynomial) and count:
        if low <= schedule(0) <= high and low <= schedule(count - 1) <= high:
            return None
    elif type(schedule) is UniformDraws and low <= schedule.low and schedule.high <= high:
        return None
    return next((k for k in range(count) if not low <= schedule(k) <= high), None)


def scaled(schedule: Schedule, factor: float) -> Schedule:
    """k ↦ factor · schedule(k)."""
    match schedule:
        case Constant():
            return Constant(factor * schedule.value)
        case Geometric() | Polynomial():
            return replace(schedule, first=factor * schedule.first)
        case _:
            return _Scaled(schedule, factor)
