"""Private objective f_i of one agent: its oracles, its records, and objectives whose gradient is moved.

The move is a constant vector (`Tilted`), as in papers that bound a gradient's change, or one that varies with x and
never exceeds a bound (`Bent`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, log
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.arrays import Array, frozen, positive_step, product, same_length, whole
from netsim.claims import Norm, length
from netsim.errors import ProtocolError, ScenarioError
from netsim.models.model import Regularizer

T = TypeVar("T")


def times(rows: Array, matrix: Array) -> Array:
    """rows @ matrixᵀ, (…, r, k) and (…, m, k) give (…, r, m), each row's bits independent of the other rows.

    `matrix` is contiguous, or its transpose is.
    """
    columns = matrix.T if matrix.ndim == 2 else matrix.swapaxes(-1, -2)[..., None, :, :]
    return product(np.ascontiguousarray(rows)[..., None, :], columns)[..., 0, :]


def half_square(x: Array) -> Array:
    """‖x‖² / 2 of each row."""
    x = np.ascontiguousarray(x)
    return 0.5 * np.einsum("rd,rd->r", x, x)


def sampled(indices: ArrayLike, records: int, name: str = "indices") -> NDArray[np.int64]:
    """Positions of records, one or more, repeats allowed; an argument of that `name`."""
    chosen = np.asarray(indices)
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not chosen.size:
        raise ScenarioError(name, indices, "not a list of positions", "one integer or more")
    if chosen.min() < 0 or chosen.max() >= records:
        raise ScenarioError(name, indices, "out of range", f"0 to {records - 1}")
    return chosen.astype(np.int64)


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


BATCHES, _SMALL = 64, 2**14
"""Batches of one objective that are kept, and how many numbers each may have: code asks for the same ones again."""


def _kept(objective: object, dimension: int, indices: ArrayLike, make: Callable[[], T]) -> T:
    """What was made of these records of an objective, or is made now."""
    some = np.asarray(indices)
    if some.size * dimension > _SMALL:
        return make()
    whole = some.astype(np.int64) if some.dtype.kind in "iu" else some
    key = whole.dtype.str, whole.shape, whole.tobytes()
    kept = cast("dict[Any, T]", vars(objective).setdefault("_batches", {}))
    if key not in kept:
        if len(kept) == BATCHES:
            del kept[next(iter(kept))]
        kept[key] = make()
    return kept[key]


class OfRecords:
    """A loss over private records: `features` (m, d), and their labels or targets in the field named by `answers`.

    What makes it has `features` and the answers as arrays that nobody can write to (`freeze`).
    """

    features: Array
    answers: ClassVar[str] = "labels"

    def freeze(self) -> None:
        """Check and freeze the records. `ScenarioError` for what is no table, or not one answer for each row."""
        object.__setattr__(self, "features", frozen(self.features, "features", 2))
        object.__setattr__(self, self.answers, frozen(getattr(self, self.answers), self.answers, 1))
        same_length(self.features, getattr(self, self.answers), self.answers)

    @property
    def records(self) -> int:
        """m, public."""
        return len(self.features)

    @property
    def dimension(self) -> int:
        return self.features.shape[1]

    def with_records(self, features: Array, answers: Array) -> Self:
        """The same loss of other records, such as those that no agent has."""
        return replace(cast(Any, self), features=features, **{self.answers: answers})

    def with_record(self, index: int, features_row: ArrayLike, label: float) -> Self:
        """An adjacent objective: record `index` replaced, as many records as before."""
        index, new_row = whole(index, "index", 0, self.records - 1), frozen(features_row, "features_row", 1)
        if new_row.shape != self.features[0].shape:
            raise ScenarioError("features_row", new_row.shape, "wrong shape", str(self.features[0].shape))
        features, answers = self.features.copy(), getattr(self, self.answers).copy()
        features[index], answers[index] = new_row, label
        return self.with_records(features, answers)

    def batch(self, indices: ArrayLike) -> Self:
        """The same loss on these records only, a record named twice counting twice: the mean over the batch."""
        chosen = sampled(indices, self.records, "batch")

        def part() -> Self:
            return self.with_records(self.features[chosen], getattr(self, self.answers)[chosen])

        return _kept(self, self.dimension, chosen, part)


def weak_convexity(objective: Objective) -> float:
    """ρ >= 0 such that f + ρ/2 ‖x‖² is convex: what the objective says, or 0, that is convex."""
    return float(getattr(objective, "weak_convexity", 0.0))


def checked_step(step: float, bending: float, never: str = "") -> float:
    """A step at which f(x) + ‖x − v‖² / (2 step) is strongly convex, ρ = `bending`. A longer one is a
    `ProtocolError`, which says `never` where there is no such step."""
    if positive_step(step) * bending >= 1:
        where = f"only at steps < {1 / bending:.6g}" if 1 / bending or not never else never
        raise ProtocolError(f"proximal: step = {step!r}, but the minimizer is unique {where}")
    return step


@dataclass(frozen=True, eq=False)
class _Moved:
    """Another objective whose gradient is moved. Constructor: `ScenarioError` for a slope of another dimension.

    `record`: the one record whose loss is moved, so that the mean of all moves by `slope`; None: all alike.
    """

    objective: Objective
    slope: Array = field(repr=False)
    record: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", frozen(self.slope, "slope", 1))
        if len(self.slope) != self.objective.dimension:
            raise ScenarioError(
                "slope", len(self.slope), "not one for each coordinate", str(self.objective.dimension)
            )

    @property
    def dimension(self) -> int:
        return self.objective.dimension

    @property
    def smoothness(self) -> float:
        return self.objective.smoothness

    @property
    def strong_convexity(self) -> float:
        return self.objective.strong_convexity

    @property
    def weak_convexity(self) -> float:
        return weak_convexity(self.objective)

    @property
    def records(self) -> int:
        """As many as f has."""
        return int(getattr(self.objective, "records", 1))

    def batch(self, indices: ArrayLike) -> Self:
        """The same loss on these records only; a batch of a batch is moved alike."""
        part = self.objective.batch(indices)

        def moved() -> Self:
            if self.record is None:
                return replace(cast(Any, self), objective=part)
            share = self.records * float(np.mean(np.equal(indices, self.record)))
            return cast(Self, self._of(part, share) if share else part)

        return _kept(self, self.dimension, indices, moved)

    def _of(self, part: Objective, share: float) -> Self:
        """The batch `part`, moved by so many times the slope."""
        return replace(self, objective=part, slope=share * self.slope, record=None)


@dataclass(frozen=True, eq=False)
class Tilted(_Moved):
    """x ↦ f(x) + ⟨slope, x⟩: ∇f moves by `slope` (dimension,) everywhere, its Hessian stays. PRIVATE, as f is.

    Of the objectives whose gradients differ from ∇f by at most δ in some norm, for all x, it is the one with a
    constant difference ("Assumption 4" of CPGT).
    """

    def value(self, x: Array) -> Array:
        return self.objective.value(x) + np.sum(x * self.slope, axis=-1)

    def gradient(self, x: Array) -> Array:
        return self.objective.gradient(x) + self.slope

    def hessian(self, x: Array) -> Array:
        return self.objective.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self.objective.proximal(v - step * self.slope, step, regularizer)


@dataclass(frozen=True, eq=False)
class Surrounded(Tilted):
    """`Tilted`, among records that are other ones too: x ↦ f(x) + ⟨slope, x⟩ + Σ_k ⟨others_k, x⟩ / m. PRIVATE.

    `others` (records, dimension) moves the loss of each record by a vector of its own, in both of two worlds: what
    one record costs depends on the rest where code does more with several records than to add them.
    """

    others: Array = field(repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "others", frozen(self.others, "others", 2))
        if self.others.shape != (self.records, self.dimension):
            expected = str((self.records, self.dimension))
            raise ScenarioError("others", self.others.shape, "not a vector for each record", expected)

    def _whole(self) -> Tilted:
        return Tilted(self.objective, self.slope + self.others.mean(axis=0))

    def value(self, x: Array) -> Array:
        return self._whole().value(x)

    def gradient(self, x: Array) -> Array:
        return self._whole().gradient(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self._whole().proximal(v, step, regularizer)

    def batch(self, indices: ArrayLike) -> Self:
        part = Tilted(self.objective, self.slope, record=self.record).batch(indices)
        return cast(Self, Tilted(part, self.others[np.asarray(indices)].mean(axis=0)))


def direction(name: str, dimension: int, seed: int = 0, norm: Norm = "l2") -> Array:
    """A vector of norm 1: "even", all coordinates the same, of the largest ℓ1 norm for its ℓ2 norm, √d times it;
    "coordinate", the first one alone, of the smallest; "random", uniform on the Euclidean sphere, then scaled."""
    if name == "even":
        power = {"l1": -1.0, "l2": -0.5, "linf": 0.0}[norm]
        return np.full(dimension, dimension**power)
    if name == "coordinate":
        return np.eye(dimension)[0]
    drawn = np.random.default_rng(seed).standard_normal(dimension)
    return drawn / length(drawn, norm)


_PRECISION = 1e-14
"""To which, relative to ‖slope‖₂, a proximal point knows its own move of the gradient."""
_STEPS = 100


@dataclass(frozen=True, eq=False)
class Bent(_Moved):
    """x ↦ f(x) + (δ²/κ) log cosh(κ⟨u, x⟩/δ + b): ∇f moves by tanh(κ⟨u, x⟩/δ + b)·`slope`. PRIVATE, as f is.

    δ = ‖slope‖₂ > 0, u = slope/δ, κ = `curvature` > 0, b = `offset`. In every norm the move is less than the slope's,
    and comes as near to it as you like far away along ±u; in between it turns round. What is added is convex and
    κ-smooth: its Hessian has the one eigenvalue κ sech²(·), with the vector u, so f's μ stays and L grows by κ at
    most. The move is measured along the very u in which it goes: a multiple of u that grows along another vector has
    a curl, and is no gradient. Constructor: `ScenarioError`.
    """

    curvature: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.any(self.slope):
            raise ScenarioError("slope", 0.0, "moves nothing", "a vector that is not 0")
        if not 0 < self.curvature < inf:
            raise ScenarioError("curvature", self.curvature, "not positive and finite", "a number > 0")
        if not -inf < self.offset < inf:
            raise ScenarioError("offset", self.offset, "not finite", "a number")

    @property
    def smoothness(self) -> float:
        return self.objective.smoothness + self.curvature

    def _of(self, part: Objective, share: float) -> Self:
        return replace(super()._of(part, share), curvature=share * self.curvature)

    @property
    def _size(self) -> float:
        return float(np.linalg.norm(self.slope))

    def _argument(self, x: Array) -> Array:
        """κ⟨u, x⟩/δ + b, (replicas,)."""
        along = np.einsum("rd,d->r", np.ascontiguousarray(x), self.slope)
        return along * (self.curvature / self._size**2) + self.offset

    def value(self, x: Array) -> Array:
        t = np.abs(self._argument(x))
        return self.objective.value(x) + self._size**2 / self.curvature * (t + np.log1p(np.exp(-2 * t)) - log(2))

    def gradient(self, x: Array) -> Array:
        return self.objective.gradient(x) + np.tanh(self._argument(x))[:, None] * self.slope

    def hessian(self, x: Array) -> Array:
        steep = self.curvature * (1 - np.tanh(self._argument(x[None])[0]) ** 2)
        return self.objective.hessian(x) + steep * np.outer(self.slope, self.slope) / self._size**2

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """x = prox_f(v − step·s·slope) for the one s = tanh(κ⟨u, x⟩/δ + b), found between −1 and 1.

        With s the left side's ⟨u, x⟩ does not grow, for proximal maps are monotone: s less the right side grows with
        slope 1 at least. Regula falsi (Illinois), every replica by itself; errors as f's.
        """
        positive_step(step)

        def point(s: Array) -> Array:
            return self.objective.proximal(v - step * s[:, None] * self.slope, step, regularizer)

        def excess(s: Array) -> Array:
            return s - np.tanh(self._argument(point(s)))

        return point(_root(excess, len(v)))


def _root(excess: Callable[[Array], Array], replicas: int) -> Array:
    """Where a rising function on [−1, 1], with a slope of 1 at least, is 0; of shape (replicas,)."""
    low, high = -np.ones(replicas), np.ones(replicas)
    below, above = excess(low), excess(high)
    root, going = np.where(below >= 0, low, high), (below < 0) & (above > 0)
    for _ in range(_STEPS):
        if not going.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            tried = np.where(going, low - below * ((high - low) / (above - below)), root)
        found = excess(tried)
        up = going & (found >= 0)
        down = going & (found < 0)
        above = np.where(up, found, np.where(down, above / 2, above))  # half as large where the other end moved
        below = np.where(down, found, np.where(up, below / 2, below))
        low, high = np.where(down, tried, low), np.where(up, tried, high)
        root = np.where(going, tried, root)
        going &= (np.abs(found) > _PRECISION) & (high - low > _PRECISION)
    return root
