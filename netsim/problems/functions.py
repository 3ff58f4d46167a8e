"""An objective made of plain functions of one point, with what they promise checked before anything runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from netsim.arrays import Array, nonnegative, whole
from netsim.errors import ProtocolError, ScenarioError
from netsim.models.model import Regularizer
from netsim.problems.minimizers import proximal_point, regularized_proximal
from netsim.problems.objective import checked_step

POINTS = 6
"""Random points at which the functions are asked, beside 0."""
AGREES = 1e-4
"""How near, relative to its size, a gradient is to the differences of its function."""
ROUNDING = 1e-6
"""Slack before a constant counts as missed."""


@dataclass(frozen=True, eq=False)
class FromFunctions:
    """f: R^d → R from `function`, `slope` and, if there is one, `bending`, each of one point of shape (d,). PRIVATE.

    `function(x)` is a number, `slope(x)` = ∇f(x) of shape (d,), `bending(x)` = ∇²f(x) of shape (d, d), or None: then
    central differences of the gradient, good to about 1e-9 of its size, stand for it. A function is called once for
    each replica, so that none feels another, and must return the same for the same x. `smoothness` = L,
    `strong_convexity` = μ and `weak_convexity` = ρ (f + ρ/2 ‖x‖² is convex) are yours to promise: steps and claims
    are computed from them. `objective` makes one, and says what is checked.
    """

    function: Callable[[Array], float]
    slope: Callable[[Array], ArrayLike]
    dimension: int
    smoothness: float
    strong_convexity: float = 0.0
    bending: Callable[[Array], ArrayLike] | None = None
    weak_convexity: float = 0.0
    name: str = field(default="f")

    def value(self, x: Array) -> Array:
        """f(x), shape (replicas,)."""
        return np.array([float(_asked(self.function, row, "value", ())) for row in x], dtype=np.float64)

    def gradient(self, x: Array) -> Array:
        """∇f(x), shape (replicas, dimension)."""
        rows = [_asked(self.slope, row, "gradient", (self.dimension,)) for row in x]
        return np.stack(rows) if rows else np.zeros((0, self.dimension))

    def hessian(self, x: Array) -> Array:
        """∇²f at the single point x, shape (dimension, dimension)."""
        if self.bending is not None:
            return _asked(self.bending, x, "hessian", (self.dimension, self.dimension))
        step = np.cbrt(np.finfo(float).eps) * max(1.0, float(np.abs(x).max()))
        moves = step * np.eye(self.dimension)
        columns = (self.gradient(x + moves) - self.gradient(x - moves)) / (2 * step)
        return (columns + columns.T) / 2

    def hessians(self, x: Array) -> Array:
        """∇²f at each row of x; shape (replicas, dimension, dimension)."""
        return np.array([self.hessian(row) for row in x]).reshape(len(x), self.dimension, self.dimension)

    @property
    def records(self) -> int:
        """1: it is no mean over records that could be sampled."""
        return 1

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """argmin f(x) + r(x) + ‖x − v‖² / (2 step), by damped Newton to about 1e-13 of the size of its terms.

        A step at which that is not strongly convex (step·ρ >= 1) is a `ProtocolError`.
        """
        checked_step(step, self.weak_convexity)
        if regularizer is not None:
            return regularized_proximal(self, v, step, regularizer)
        base = float(np.abs(self.gradient(np.zeros((1, self.dimension)))).max())
        largest = np.abs(np.where(np.isfinite(v), v, 0.0)).max(axis=1, initial=0.0)
        rows = [
            proximal_point(self, v[r : r + 1], step, step * (base + self.smoothness * float(most)))
            for r, most in enumerate(largest)
        ]  # one by one: the tolerance of a row is its own
        return np.concatenate(rows) if rows else v.copy()

    def batch(self, indices: ArrayLike) -> "FromFunctions":
        """There are no records: a `ProtocolError`."""
        del indices
        raise ProtocolError(f"batch: {self.name} is given by functions, and has no records to sample")


def objective(
    value: Callable[[Array], float],
    gradient: Callable[[Array], ArrayLike],
    dimension: int,
    *,
    smoothness: float,
    strong_convexity: float = 0.0,
    hessian: Callable[[Array], ArrayLike] | None = None,
    weak_convexity: float = 0.0,
    name: str = "f",
) -> FromFunctions:
    """A private objective from any callables of one point x of shape (dimension,).

    At 0 and some random points you get a `ScenarioError` that names the field where a shape is wrong, a value is not
    finite or is another one the second time, x is changed, the gradient is not that of the function, the Hessian not
    that of the gradient, or L, μ or ρ is contradicted. Points that were not asked prove nothing: L and μ stay
    promises.
    """
    if not 0 < smoothness < inf:
        raise ScenarioError("smoothness", smoothness, "not positive and finite", "a number > 0")
    made = FromFunctions(
        value, gradient, whole(dimension, "dimension"), float(smoothness),
        nonnegative(strong_convexity, "strong_convexity"), hessian,
        nonnegative(weak_convexity, "weak_convexity"), name,
    )  # fmt: skip
    points = np.random.default_rng(0).normal(size=(POINTS + 1, dimension))
    points[0] = 0.0
    _evaluated("value", made.value, points)
    slopes = _evaluated("gradient", made.gradient, points)
    if hessian is not None:
        _evaluated("hessian", made.hessians, points)
    _check_derivatives(made, points, slopes)
    _check_constants(made, points, slopes)
    return made


def _evaluated(field_name: str, ask: Callable[[Array], Array], points: Array) -> Array:
    """The answer at these points, the same twice."""
    try:
        first, again = ask(points), ask(points)
    except ScenarioError:
        raise
    except Exception as error:
        allowed = f"a function of one x of shape ({points.shape[1]},) that does not write to it"
        raise ScenarioError(field_name, f"{type(error).__name__}: {error}", "cannot be computed", allowed) from error
    if not np.isfinite(first).all():
        raise ScenarioError(field_name, first[~np.isfinite(first)][0], "not finite", "finite numbers everywhere")
    if not np.array_equal(first, again):
        raise ScenarioError(field_name, "two answers at one x", "not a function", "the same for the same x")
    return first


def _check_derivatives(made: FromFunctions, points: Array, slopes: Array) -> None:
    """The gradient along a random direction, and the Hessian along the diagonal, by central differences."""
    directions = np.random.default_rng(1).normal(size=points.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    step = np.cbrt(np.finfo(float).eps)
    found = (made.value(points + step * directions) - made.value(points - step * directions)) / (2 * step)
    said = np.einsum("rd,rd->r", slopes, directions)
    worst = int(np.argmax(np.abs(found - said)))
    if abs(found[worst] - said[worst]) > AGREES * (np.linalg.norm(slopes[worst]) + made.smoothness):
        allowed = f"{found[worst]:.6g} there, as the function's own differences are"
        raise ScenarioError(
            "gradient", f"{said[worst]:.6g} along a direction", "is not the function's gradient", allowed
        )
    if made.bending is None:
        return  # the Hessian is made from the gradient
    direction = np.full(made.dimension, made.dimension**-0.5)
    turned = (made.gradient(points + step * direction) - made.gradient(points - step * direction)) / (2 * step)
    if np.abs(turned - np.einsum("rij,j->ri", made.hessians(points), direction)).max() > (
        AGREES * made.smoothness * made.dimension**0.5
    ):
        raise ScenarioError("hessian", made.name, "is not that of the gradient", "∇²f, of shape (d, d), symmetric")


def _check_constants(made: FromFunctions, points: Array, slopes: Array) -> None:
    moved, turned = np.diff(points, axis=0), np.diff(slopes, axis=0)
    length = np.linalg.norm(moved, axis=1)
    steepest = float((np.linalg.norm(turned, axis=1) / length).max())
    if steepest > made.smoothness * (1 + ROUNDING):
        raise ScenarioError(
            "smoothness", made.smoothness, "is not a Lipschitz constant of the gradient",
            f"at least {steepest:.6g}, as between two points that were asked",
        )  # fmt: skip
    flattest = float((np.einsum("rd,rd->r", turned, moved) / length**2).min())
    least = made.strong_convexity - made.weak_convexity
    if flattest < least - ROUNDING * made.smoothness:
        which = "strong_convexity" if made.strong_convexity else "weak_convexity"
        allowed = f"μ − ρ at most {flattest:.6g}, as between two points that were asked"
        raise ScenarioError(which, getattr(made, which), "is contradicted by the gradients", allowed)


def _asked(function: Callable[[Array], ArrayLike], x: Array, field_name: str, shape: tuple[int, ...]) -> Array:
    """What a function answers at a copy of x that cannot be written to, as float64 of this shape."""
    lent = np.array(x, dtype=np.float64)
    lent.setflags(write=False)
    answer = function(lent)
    try:
        array = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ScenarioError(field_name, answer, "not numbers", f"real numbers of shape {shape}") from error
    if array.shape != shape:
        raise ScenarioError(field_name, array.shape, "wrong shape", f"{shape}, for one point of shape (dimension,)")
    return array
