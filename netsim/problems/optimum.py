"""The minimizer of a smooth convex function plus a regularizer, to the last digits.

The function is given by its gradient, (1, d) → (1, d), and its Hessian, (1, d) → (d, d).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.problems.newton import newton
from netsim.problems.regularizer import L1, Regularizer, Zero

TOLERANCE = 1e-12
_ROUNDS = (100, 1_000, 20_000)
"""Accelerated steps before each attempt at polishing."""

Map = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Optimum:
    """A minimizer of F + n r, shape (d,); the only one where F is strongly convex."""

    point: Array
    value: float
    residual: float
    """‖x − prox_r(x − ∇F(x)/n)‖∞ at step 1; at most 1e-12."""

    @property
    def is_zero(self) -> bool:
        """x* = 0: the experiment is degenerate, since an agent that does nothing is already there."""
        return not self.point.any()


def residual(gradient: Map, regularizer: Regularizer, x: Array) -> Array:
    """‖x − prox_r(x − ∇)‖∞ at step 1, shape (replicas,): 0 at a minimizer, and nowhere else."""
    return np.abs(x - regularizer.proximal(x - gradient(x), 1.0)).max(axis=1)


def minimizer(
    gradient: Map, hessian: Map, smoothness: float, regularizer: Regularizer, start: Array
) -> Array:
    """The minimizer, or the best found: the caller checks its residual.

    Smooth problems by damped Newton; others by accelerated proximal gradient and, with an L1, Newton on the
    support and signs that it found.
    """

    def off(x: Array) -> float:
        return float(residual(gradient, regularizer, x)[0])

    x = start
    if off(x) <= TOLERANCE:
        return x
    if isinstance(regularizer, Zero):
        return _polished(gradient, hessian, x, np.ones(x.shape[1], dtype=np.bool_), np.zeros(x.shape[1]))
    for steps in _ROUNDS:
        x = _accelerated(gradient, smoothness, regularizer, x, steps)
        if isinstance(regularizer, L1):
            signs: Array = np.sign(x[0])
            x = min(x, _polished(gradient, hessian, x, signs != 0, regularizer.weight * signs), key=off)
        if off(x) <= TOLERANCE:
            break
    return x


def attained(gradient: Map, hessian: Map, x: Array) -> bool:
    """Whether one more Newton step stays near: on separable classes every step goes on outwards."""
    step = np.linalg.pinv(hessian(x), rcond=1e-10, hermitian=True) @ gradient(x)[0]
    return bool(np.linalg.norm(step) <= 1e-3 * (1 + np.linalg.norm(x)))


def _accelerated(gradient: Map, smoothness: float, regularizer: Regularizer, x: Array, steps: int) -> Array:
    """FISTA (Beck & Teboulle 2009) with the gradient restart of O'Donoghue & Candès 2015."""
    step, ahead, momentum = 1 / smoothness, x, 1.0
    for _ in range(steps):
        before = x
        x = regularizer.proximal(ahead - step * gradient(ahead), step)
        if float(((ahead - x) * (x - before)).sum()) > 0:
            momentum = 1.0
        grown = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead, momentum = x + (momentum - 1) / grown * (x - before), grown
    return x


def _polished(gradient: Map, hessian: Map, x: Array, support: NDArray[np.bool_], slope: Array) -> Array:
    """The zero of ∇ + slope on the support, by Newton from x; the other coordinates are 0."""
    if not support.any():
        return np.zeros_like(x)

    def spread(y: Array) -> Array:
        full = np.zeros_like(x)
        full[:, support] = y
        return full

    def slopes(y: Array) -> Array:
        return gradient(spread(y))[:, support] + slope[support]

    def curvature(y: Array) -> Array:
        return hessian(spread(y))[np.ix_(support, support)][None]

    return spread(newton(slopes, curvature, x[:, support], np.array([TOLERANCE / 100])))
