"""The PUBLIC regularizer r, the same at every agent; its proximal map needs no oracle."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from netsim.arrays import Array
from netsim.checks import nonnegative, positive_step


class Regularizer(Protocol):
    """r: R^d → R, convex; `x` and `v` have shape (replicas, dimension)."""

    def value(self, x: Array) -> Array:
        """r(x), shape (replicas,)."""
        ...

    def proximal(self, v: Array, step: float) -> Array:
        """argmin_x r(x) + ‖x − v‖² / (2 step), step > 0, for each replica."""
        ...


@dataclass(frozen=True)
class Zero:
    """r = 0. Its proximal map returns `v` itself, the same object."""

    def value(self, x: Array) -> Array:
        return np.zeros(len(x))

    def proximal(self, v: Array, step: float) -> Array:  # noqa: ARG002
        return v


@dataclass(frozen=True)
class L1:
    """r(x) = weight ‖x‖₁; its proximal map is the soft threshold at step · weight."""

    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative(self.weight, "weight"))

    def value(self, x: Array) -> Array:
        return self.weight * np.abs(x).sum(axis=1)

    def proximal(self, v: Array, step: float) -> Array:
        return np.sign(v) * np.maximum(np.abs(v) - positive_step(step) * self.weight, 0.0)
