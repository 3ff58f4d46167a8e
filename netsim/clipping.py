"""Clipping: a private vector is scaled down until its norm is at most a bound that holds for every objective."""

import math
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.norms import ORDERS, Norm


@dataclass(frozen=True)
class Clip:
    """v ↦ v·min(1, bound/‖v‖) per replica, in ℓ1, ℓ2 or ℓ∞.

    In ℓ∞ too the whole vector is scaled and keeps its direction; cutting each coordinate to [−bound, bound] by itself
    has the same bounds, but turns the vector. The norm of what comes out is at most `bound` up to rounding. You get a
    `ScenarioError` for a bound that is not positive and finite, or another norm.
    """

    bound: float
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        if not 0 < self.bound < math.inf:
            raise ScenarioError("bound", self.bound, "a norm", "> 0 and finite")
        if self.norm not in ORDERS:
            raise ScenarioError("norm", self.norm, "no norm to clip in", ", ".join(ORDERS))

    def __call__(self, v: Array) -> Array:
        norm = np.linalg.norm(v, ord=ORDERS[self.norm], axis=-1, keepdims=True)
        return v * (self.bound / np.maximum(norm, self.bound))

    def l1_bound(self, dimension: int) -> float:
        """The largest ℓ1 norm of a clipped vector: C, √d·C or d·C."""
        return {"l1": 1.0, "l2": math.sqrt(dimension), "linf": float(dimension)}[self.norm] * self.bound

    def l2_bound(self, dimension: int) -> float:
        """The largest ℓ2 norm of a clipped vector: C, C or √d·C."""
        return math.sqrt(dimension) * self.bound if self.norm == "linf" else self.bound
