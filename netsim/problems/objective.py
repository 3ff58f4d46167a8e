"""The private objective f_i of one agent, as its algorithm's oracles see it."""

from typing import Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from netsim.arrays import Array
from netsim.regularizers import Regularizer


class Objective(Protocol):
    """f: R^d → R, smooth, and convex unless it has a `weak_convexity` > 0.

    PRIVATE: only its agent, and whoever scores a run, may call it. `x` and `v` have shape (replicas, dimension)
    except in `hessian`. Every method is a pure function whose row r depends on row r alone, to the last bit: a
    replay may cut the replicas differently.
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

    def batch(self, indices: ArrayLike) -> "Objective":
        """The same objective on these of its records only: the mean over the batch."""
        ...


@runtime_checkable
class Sampled(Objective, Protocol):
    """An objective that is a mean over m private records, so that it has stochastic gradients."""

    @property
    def records(self) -> int:
        """m, public."""
        ...

    def batch(self, indices: ArrayLike) -> Self:
        """The same objective on these records only: its gradient, averaged over all batches of one size, is f's."""
        ...


def weak_convexity(objective: Objective) -> float:
    """ρ >= 0 such that f + ρ/2 ‖x‖² is convex: what the objective says, or 0, that is convex."""
    return float(getattr(objective, "weak_convexity", 0.0))
