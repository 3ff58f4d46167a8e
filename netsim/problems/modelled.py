"""The objective of any public model: the mean loss of an agent's records plus a public penalty."""

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import cast

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.models import MLP, NOTHING, Linear, Logistic, Model, Penalty, Softmax
from netsim.models.model import REAL_STEP, STEP, Regularizer
from netsim.problems.minimizers import (
    DENSE,
    PROXIMAL_TOLERANCE,
    Map,
    newton_cg,
    proximal_point,
    regularized_proximal,
)
from netsim.problems.objective import OfRecords, checked_step

PATH, STRIDE = 3, 10
"""Where the curvature of a loss without a bound is measured: so many points of a descent, so many steps apart."""


@dataclass(frozen=True, eq=False)
class Modelled(OfRecords):
    """f(x) = ℓ(x; A, T) + penalty(x) of a `model` ℓ: A = features (m, width), T the model's targets of labels (m,).

    Features and labels are private; m, the model and the penalty are public. Labels are those of `Model.classes`, or
    real numbers for a regression. Rows of x are independent of each other to the last bit: a model's products run
    through einsum where every row has parameters of its own. Constructor: `ScenarioError`.
    """

    features: Array = field(repr=False)
    labels: Array = field(repr=False)
    model: Model
    penalty: Penalty = NOTHING

    def __post_init__(self) -> None:
        self.freeze()
        if self.features.shape[1] != self.model.width:
            raise ScenarioError(
                "features", self.features.shape, "not as wide as the model", f"{self.model.width} columns"
            )
        if self.model.classes and (strange := self.labels[~np.isin(self.labels, self.model.classes)]).size:
            allowed = ", ".join(f"{c:g}" for c in self.model.classes)
            raise ScenarioError("labels", float(strange[0]), "not a class", allowed)

    @cached_property
    def targets(self) -> Array:
        """T (m, outputs), PRIVATE."""
        return self.model.targets(self.labels)

    @property
    def dimension(self) -> int:
        return self.model.dimension

    @cached_property
    def convex(self) -> bool:
        """Whether the mean loss is a convex function of x: it is for linear models."""
        return isinstance(self.model, Linear | Logistic | Softmax)

    @property
    def smoothness(self) -> float:
        """L. With ã = a, or (a, 1) with an intercept, and M = λ_max(ÃᵀÃ)/m: M times the scale for `Linear`, M/4 for
        `Logistic`, both exact, and M/2 for `Softmax`, since diag p − ppᵀ <= ½ I: the least such bound, attained at
        x = 0 with two outputs. The penalty's largest curvature on top.

        The gradient of a deep network has NO Lipschitz constant: its curvature grows with the weights. What is
        returned then is measured, not proven: the largest |eigenvalue| of ∇²f at x = 0, and at 3 points of a gradient
        descent from there, 10 steps of 1/L apart. A condition on steps that is met with it is met near the start; far
        from there a run may diverge, which is a result.
        """
        return self._curvature + self.penalty.most if self.convex else self._curvature

    @cached_property
    def _curvature(self) -> float:
        """The largest of the mean loss, for a network that of f where it is measured."""
        if not self.convex:
            x = np.zeros((1, self.dimension))
            most = _largest_curvature(lambda v: self.product(x, v), self.dimension)
            for _ in range(PATH):
                for _ in range(STRIDE):
                    x = x - self.gradient(x) / max(most, np.finfo(np.float64).tiny)
                most = max(most, _largest_curvature(lambda v, x=x: self.product(x, v), self.dimension))
            return most
        rows = self.features
        if isinstance(self.model, Softmax) and self.model.intercept:
            rows = np.hstack([rows, np.ones((len(rows), 1))])
        factor = 0.25 if isinstance(self.model, Logistic) else 0.5
        if isinstance(self.model, Linear):
            factor = self.model.scale
        return factor * (float(np.linalg.norm(rows, 2)) ** 2 / self.records)

    @property
    def strong_convexity(self) -> float:
        """What the penalty has of it, for a convex loss: the losses of classes flatten far away. 0 for a network."""
        return max(0.0, self.penalty.least) if self.convex else 0.0

    @property
    def weak_convexity(self) -> float:
        """ρ = max(0, −least curvature of the penalty) for a convex loss; ∞ for a network, which has no such ρ."""
        return max(0.0, -self.penalty.least) if self.convex else inf

    def value(self, x: Array) -> Array:
        return self.model.value(np.ascontiguousarray(x), self.features, self.targets) + self.penalty.value(x)

    def data_gradient(self, x: Array) -> Array:
        """∇ of the mean loss, without the public penalty; shape (replicas, dimension)."""
        return self.model.gradient(np.ascontiguousarray(x), self.features, self.targets)

    def gradient(self, x: Array) -> Array:
        return self.data_gradient(x) + self.penalty.gradient(x)

    def product(self, x: Array, v: Array) -> Array:
        """∇²f(x) v, row by row: exact to rounding for an analytic model and for a relu network, which is analytic
        between its kinks; else by central differences of gradients."""
        bent = self.penalty.curvature(x) * v
        if self.model.analytic or isinstance(self.model, MLP):
            moved = self.model.gradient(x + 1j * STEP * v, self.features, self.targets)  # pyright: ignore[reportArgumentType]
            return np.imag(moved) / STEP + bent
        size = np.linalg.norm(v, axis=-1, keepdims=True)
        step = REAL_STEP * (1 + np.linalg.norm(x, axis=-1, keepdims=True)) / np.where(size > 0, size, 1.0)
        return (self.data_gradient(x + step * v) - self.data_gradient(x - step * v)) / (2 * step) + bent

    def hessian(self, x: Array) -> Array:
        """In closed form for `Softmax`, else column by column from `product`."""
        if isinstance(self.model, Softmax):
            found = self.model.hessian(x, self.features, self.targets)
            found[np.diag_indices_from(found)] += self.penalty.curvature(x)
            return found
        columns = np.concatenate([self.product(x[None], unit[None]) for unit in np.eye(self.dimension)])
        return (columns + columns.T) / 2

    def hessians(self, x: Array) -> Array:
        """∇²f at each row of x; shape (replicas, dimension, dimension)."""
        return np.stack([self.hessian(row) for row in x])

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """By damped Newton, to ‖step ∇f(x) + x − v‖∞ <= 1e-13 (‖v‖∞ + step · size of the gradient's terms); beyond
        2000 parameters with conjugate gradients in place of a Hessian, row after row.

        A row of v that is not finite gives NaN; a tolerance not reached is a `SimulationError`. A `ProtocolError`
        for a step at which the inner problem is not strongly convex: for a network that is every step.
        """
        checked_step(step, self.weak_convexity, f"at no step for a {self.model.name}: it is not convex")
        if regularizer is not None:
            return regularized_proximal(self, v, step, regularizer)
        size = step * (max(1.0, float(np.abs(self.features).max())) + self.penalty.weight)
        if self.dimension <= DENSE:
            return proximal_point(self, v, step, size)
        found = np.full(v.shape, np.nan)
        for r in np.flatnonzero(np.isfinite(v).all(axis=1)):
            row = np.ascontiguousarray(v[r : r + 1])
            found[r] = newton_cg(
                lambda x, row=row: step * self.gradient(x) + (x - row),
                lambda x, w: step * self.product(x, w) + w,
                row,
                PROXIMAL_TOLERANCE * (float(np.abs(row).max()) + size),
                f"proximal of {self!r} at step = {step!r}",
            )
        return found

    def right(self, x: Array) -> Array:
        """How many records each row of x gives its largest score to the class they are of, (replicas,). A regression
        has no classes: 0; so has a row that is no number."""
        scores = getattr(self.model, "scores", None)
        if scores is None:
            return np.zeros(len(x))
        found: Array = scores(np.ascontiguousarray(x), self.features)
        known = np.isfinite(found).all(axis=-1)
        return np.sum(known & (self.model.labels(found) == self.labels), axis=-1).astype(np.float64)


_SMALL = 20
"""Up to so many coordinates the Hessian is written out."""
_PRECISION = 1e-2


def _largest_curvature(product: Map, dimension: int) -> float:
    """max |λ| of a symmetric matrix from its products (1, d) → (1, d), to 1e-2 of itself (Lanczos, from a fixed
    start)."""
    if dimension <= _SMALL:
        matrix = np.concatenate([product(unit[None]) for unit in np.eye(dimension)])
        return float(np.abs(np.linalg.eigvalsh((matrix + matrix.T) / 2)).max())
    operator = LinearOperator(
        (dimension, dimension), matvec=lambda v: product(np.reshape(v, (1, -1)))[0], dtype=np.float64
    )
    start = np.random.default_rng(0).standard_normal(dimension)
    try:
        found = eigsh(operator, 1, which="LM", v0=start, tol=_PRECISION, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        found = cast(Array, error.eigenvalues)
        if not len(found):
            raise
    return float(np.abs(found).max())
