"""Convex bounded sets in which iterates are kept, the same at all agents and public."""

import math
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.errors import ScenarioError


@dataclass(frozen=True)
class Ball:
    """{x : ‖x‖₂ ≤ radius}. You get a `ScenarioError` for a radius that is not positive and finite."""

    radius: float

    def __post_init__(self) -> None:
        if not 0 < self.radius < math.inf:
            raise ScenarioError("radius", self.radius, "no radius", "> 0 and finite")

    def project(self, x: Array) -> Array:
        """The nearest point, of each replica; a point inside is not changed in any bit."""
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        return x * (self.radius / np.maximum(norm, self.radius))


@dataclass(frozen=True)
class Box:
    """[low, high] in every coordinate. You get a `ScenarioError` unless low < high, both finite."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ScenarioError("high", self.high, "no interval", f"> low = {self.low!r}, both finite")

    def project(self, x: Array) -> Array:
        """The nearest point, of each replica; a point inside is not changed in any bit."""
        return np.clip(x, self.low, self.high)
