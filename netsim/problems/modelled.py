"""Objectives of any public model, the mean loss of an agent's records plus a public penalty, and of plain functions.

What functions of one point promise is checked before anything runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from netsim.arguments import checked
from netsim.arrays import Array, nonnegative, whole
from netsim.errors import ProtocolError, ScenarioError
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
POINTS = 6
"""Random points at which the functions are asked, beside 0."""
AGREES = 1e-4
"""How near, relative to its size, a gradient is to the differences of its function."""
ROUNDING = 1e-6
"""Slack before a constant counts as missed."""


@dataclass(frozen=True, eq=False)
class Modelled(OfRecords):
    """f(x) = ℓ(x; A, T) + penalty(x) of a `model` ℓ: A = features (m, width), T the model's targets of labels (m,).

    Features and labels are private; m, the model and the penalty are public. Labels are those of `Model.classes`, or
    real numbers for a regression. Rows of x are independent of each other to the last bit: where every row has
    parameters of its own a model multiplies by `netsim.arrays.product`. Constructor: `ScenarioError`.
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


@checked
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
