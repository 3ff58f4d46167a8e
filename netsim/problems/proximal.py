"""The proximal map of a smooth loss over records, by damped Newton, for many replicas at once."""

from typing import Protocol

import numpy as np

from netsim.arrays import Array
from netsim.checks import positive_step
from netsim.errors import SimulationError
from netsim.problems.newton import newton

PROXIMAL_TOLERANCE = 1e-13
BLOCK = 2**21
"""Numbers held at once by a stack of Hessians: 16 MB."""


class TwiceSmooth(Protocol):
    """A loss over records with its derivatives at each replica's point."""

    @property
    def records(self) -> int: ...

    @property
    def dimension(self) -> int: ...

    def gradient(self, x: Array) -> Array: ...

    def hessians(self, x: Array) -> Array:
        """∇²f at each row of x; shape (replicas, dimension, dimension)."""
        ...


def proximal_point(loss: TwiceSmooth, v: Array, step: float, size: float) -> Array:
    """argmin f(x) + ‖x − v‖² / (2 step) where that is strongly convex: ‖step ∇f(x) + x − v‖∞ <=
    1e-13 (‖v‖∞ + size); `size` is that of step ∇f before its terms cancel.

    A row of v that is not finite gives NaN; a tolerance not reached is a `SimulationError`.
    """
    positive_step(step)
    v = np.ascontiguousarray(v)
    count = max(1, BLOCK // (loss.dimension * max(loss.dimension, loss.records)))
    blocks = [_block(loss, v[i : i + count], step, size) for i in range(0, len(v), count)]
    return np.concatenate(blocks) if blocks else v.copy()


def _block(loss: TwiceSmooth, v: Array, step: float, size: float) -> Array:
    finite = np.isfinite(v).all(axis=1, keepdims=True)
    centre = np.where(finite, v, 0.0)
    allowed = PROXIMAL_TOLERANCE * (np.abs(centre).max(axis=1) + size)

    def residual(x: Array) -> Array:
        return step * loss.gradient(x) + (x - centre)

    x = newton(residual, lambda x: step * loss.hessians(x) + np.eye(loss.dimension), centre, allowed / 10)
    if (np.abs(residual(x)).max(axis=1) > allowed).any():
        raise SimulationError(f"proximal of {loss!r}: Newton missed its tolerance at step = {step!r}")
    return np.where(finite, x, np.nan)
