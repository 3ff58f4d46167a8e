"""The least-squares loss; its Hessian is constant, so that its proximal map is a closed formula."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from netsim.arrays import Array
from netsim.checks import frozen, nonnegative, positive_step, same_length
from netsim.problems.composite import regularized_proximal
from netsim.problems.records import half_square, replaced, times
from netsim.regularizers import Regularizer, Zero


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """f(x) = ‖Ax − b‖² / (2m) + ridge/2 ‖x‖²; A = features (m, d), b = targets (m,).

    Features and targets are private, m and ridge public. Constructor: `ScenarioError`.
    """

    features: Array = field(repr=False)
    targets: Array = field(repr=False)
    ridge: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", frozen(self.features, "features", 2))
        object.__setattr__(self, "targets", frozen(self.targets, "targets", 1))
        object.__setattr__(self, "ridge", nonnegative(self.ridge, "ridge"))
        same_length(self.features, self.targets, "targets")

    @property
    def records(self) -> int:
        """m, public."""
        return len(self.features)

    @property
    def dimension(self) -> int:
        return self.features.shape[1]

    @property
    def smoothness(self) -> float:
        """Exact: λ_max(AᵀA) / m + ridge."""
        return float(self._spectrum[0][-1]) + self.ridge

    @property
    def strong_convexity(self) -> float:
        """Exact: λ_min(AᵀA) / m + ridge."""
        return float(self._spectrum[0][0]) + self.ridge

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues λ of AᵀA / m, rising, and their vectors Q in columns."""
        eigenvalues, vectors = np.linalg.eigh(self.features.T @ self.features / self.records)
        if self.records < self.dimension:
            eigenvalues[: self.dimension - self.records] = 0.0
        return np.maximum(eigenvalues, 0.0), np.ascontiguousarray(vectors)

    @cached_property
    def _columns(self) -> Array:
        return np.ascontiguousarray(self.features.T)

    def value(self, x: Array) -> Array:
        return half_square(times(x, self.features) - self.targets) / self.records + self.ridge * half_square(x)

    def data_gradient(self, x: Array) -> Array:
        """Aᵀ(Ax − b) / m: the gradient without the public ridge; shape (replicas, dimension)."""
        return times(times(x, self.features) - self.targets, self._columns) / self.records

    def gradient(self, x: Array) -> Array:
        return self.data_gradient(x) + self.ridge * x

    def hessian(self, x: Array) -> Array:  # noqa: ARG002  # the same everywhere
        return self.features.T @ self.features / self.records + self.ridge * np.eye(self.dimension)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """v − step (I + step H)⁻¹ ∇f(v), exact for a quadratic, in the eigenbasis of H; with an r, by iteration."""
        if regularizer is not None and not isinstance(regularizer, Zero):
            return regularized_proximal(self, v, positive_step(step), regularizer)
        eigenvalues, vectors = self._spectrum
        shrink = positive_step(step) / (1 + step * (eigenvalues + self.ridge))
        return v - times(times(self.gradient(v), np.ascontiguousarray(vectors.T)) * shrink, vectors)

    def batch(self, indices: Sequence[int]) -> Self:
        chosen = list(indices)
        return type(self)(self.features[chosen], self.targets[chosen], self.ridge)

    def with_record(self, index: int, features_row: ArrayLike, label: float) -> Self:
        """An adjacent objective: record `index` replaced, as many records as before."""
        return type(self)(*replaced(self.features, self.targets, index, features_row, label), self.ridge)

    def gradient_difference_bound(self, other: "LeastSquares", order: int = 2) -> float:
        """sup_x ‖∇f(x) − ∇f'(x)‖ in the norm of this order.

        Exact if only targets differ: the difference is Aᵀ(b' − b) / m wherever x is. Else inf.
        """
        same = self.features.shape == other.features.shape and self.ridge == other.ridge
        if not (same and (self.features == other.features).all()):
            return inf
        difference = self.features.T @ (other.targets - self.targets) / self.records
        return float(np.linalg.norm(difference, order))
