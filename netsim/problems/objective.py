"""The private objective f_i of one agent, as its algorithm's oracles see it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from netsim.arrays import Array
from netsim.errors import ProtocolError


class Objective(Protocol):
    """f: R^d → R, convex and smooth. PRIVATE: only its agent, and whoever scores a run, may call it.

    `x` and `v` have shape (replicas, dimension) except in `hessian`. Every method is a pure function whose
    row r depends on row r alone, to the last bit: a replay may cut the replicas differently.
    """

    @property
    def dimension(self) -> int:
        """d, the number of coordinates."""
        ...

    @property
    def smoothness(self) -> float:
        """L, a Lipschitz constant of the gradient in the Euclidean norm."""
        ...

    @property
    def strong_convexity(self) -> float:
        """μ >= 0 such that f − μ/2 ‖x‖² is still convex."""
        ...

    def value(self, x: Array) -> Array:
        """f(x), shape (replicas,)."""
        ...

    def gradient(self, x: Array) -> Array:
        """∇f(x), shape (replicas, dimension)."""
        ...

    def hessian(self, x: Array) -> Array:
        """∇²f at the single point x of shape (dimension,); shape (dimension, dimension)."""
        ...

    def proximal(self, v: Array, step: float) -> Array:
        """argmin_x f(x) + ‖x − v‖² / (2 step), step > 0, for each replica."""
        ...


@runtime_checkable
class Sampled(Protocol):
    """An objective that is a mean over records."""

    def batch(self, indices: Sequence[int]) -> Objective:
        """The mean over these records, with the same regularization."""
        ...


def batched(objective: Objective, batch: Sequence[int] | None) -> Objective:
    """The objective, or its mean over a batch of its records; a `ProtocolError` if it has no records to choose."""
    if batch is None:
        return objective
    if not isinstance(objective, Sampled):
        raise ProtocolError(f"{type(objective).__name__} is no mean over records: it has no batches")
    return objective.batch(batch)
