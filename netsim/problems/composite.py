"""argmin f(x) + r(x) + ‖x − v‖² / (2 step): the proximal map of an objective and a regularizer together."""

from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.checks import positive_step
from netsim.errors import ProtocolError, SimulationError
from netsim.problems.objective import Objective, weak_convexity
from netsim.problems.optimum import minimizer, uncertainty
from netsim.regularizers import L1, Regularizer, Zero

TOLERANCE = 1e-12
STEPS, ROUNDS = 10, 2000
"""Accelerated steps between two attempts on a face, and how often at most."""


def regularized_proximal(objective: Objective, v: Array, step: float, regularizer: Regularizer) -> Array:
    """argmin_x f(x) + r(x) + ‖x − v‖² / (2 step) for each replica; v has shape (replicas, dimension).

    To ‖x − prox_{step r}(v − step ∇f(x))‖∞ <= 1e-12 ((1 + step L) ‖v‖∞ + step ‖∇f(0)‖∞). With `Zero` it is
    `objective.proximal(v, step)`, to the last bit. Row after row: row r of the result depends on row r alone, to the
    last bit; a row that is not finite gives NaN. You get a `SimulationError` where the tolerance is missed, and a
    `ProtocolError` for a step that is not positive or at which a nonconvex objective has no single minimizer.
    """
    if isinstance(regularizer, Zero):
        return objective.proximal(v, step)
    if positive_step(step) * (bending := weak_convexity(objective)) >= 1:
        raise ProtocolError(
            f"proximal: step = {step!r}, but the minimizer is unique only at steps < {1 / bending:.6g}"
        )
    x = np.full_like(v, np.nan)
    for row in np.flatnonzero(np.isfinite(v).all(axis=1)):
        x[row] = _Row(objective, np.ascontiguousarray(v[row : row + 1]), step, regularizer).solution()[0]
    return x


@dataclass(frozen=True)
class _Row:
    """One replica's problem in units of its scale: x = scale · y, minimized over y of shape (1, dimension)."""

    objective: Objective
    v: Array
    step: float
    regularizer: Regularizer

    def solution(self) -> Array:
        f, step = self.objective, self.step
        scale = float(
            (1 + step * f.smoothness) * np.abs(self.v).max() + step * np.abs(f.gradient(np.zeros_like(self.v))).max()
        )
        scale = scale or 1.0
        near = _in_units(self.regularizer, step, scale)

        def gradient(y: Array) -> Array:
            return (step * f.gradient(scale * y) + (scale * y - self.v)) / scale

        def hessian(y: Array) -> Array:
            return step * f.hessian(scale * y[0]) + np.eye(f.dimension)

        start = near.proximal(self.v / scale, 1.0)
        smoothness = 1 + step * f.smoothness
        y = minimizer(gradient, hessian, smoothness, near, start, steps=STEPS, rounds=ROUNDS)
        if not (reached := uncertainty(gradient, near, y)) <= TOLERANCE:
            raise SimulationError(
                f"regularized proximal of {f!r}: known to {reached:.1e} of its scale only at step = {step!r}"
            )
        return scale * y


def _in_units(regularizer: Regularizer, step: float, scale: float) -> Regularizer:
    """y ↦ step r(scale y) / scale²."""
    if isinstance(regularizer, L1):
        return L1(step * regularizer.weight / scale)
    return _Scaled(regularizer, step, scale)


@dataclass(frozen=True)
class _Scaled:
    regularizer: Regularizer
    step: float
    scale: float

    def value(self, x: Array) -> Array:
        return self.step * self.regularizer.value(self.scale * x) / self.scale**2

    def proximal(self, v: Array, step: float) -> Array:
        return self.regularizer.proximal(self.scale * v, step * self.step) / self.scale
