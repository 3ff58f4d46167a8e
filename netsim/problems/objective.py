"""The private objective f_i of one agent, as its algorithm's oracles see it."""

from collections.abc import Sequence
from typing import Protocol

from netsim.arrays import Array
from netsim.regularizers import Regularizer


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

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """argmin_x f(x) + ‖x − v‖² / (2 step), step > 0, for each replica; with + r(x), if there is one."""
        ...

    def batch(self, indices: Sequence[int]) -> "Objective":
        """The mean over these of its records, with the same regularization."""
        ...
