"""Losses over records: least squares, logistic, logistic with a bounded nonconvex regularizer, and Poisson.

Each has its proximal map, and how far one record can move its gradient. The nonconvex one is [D]'s problem.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import inf, log, sqrt
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from netsim.arrays import Array, nonnegative, positive_step
from netsim.errors import ProtocolError, ScenarioError
from netsim.models import Linear, Logistic, Penalty
from netsim.models.model import Regularizer, Zero
from netsim.problems.minimizers import SMALL, proximal_point, regularized_proximal
from netsim.problems.objective import OfRecords, checked_step, half_square, times

Places: TypeAlias = NDArray[np.int64]
"""Of every agent, which of several losses is its own; all in order where they are as many."""


def _spread(of_losses: Sequence[ArrayLike], which: Places) -> Array:
    """What belongs to several losses, agent by agent, each in its own memory: that decides the order of sums."""
    arrays = np.array(of_losses, dtype=np.float64, order="C")
    return arrays if len(arrays) == len(which) else arrays[which]


def _each(numbers: Sequence[float], which: Places) -> Array:
    """A number of each agent, to go with (agents, replicas, dimension)."""
    return _spread(numbers, which)[:, None, None]


class _Loss(OfRecords, ABC):
    """The mean loss of records plus ridge/2 ‖x‖²."""

    ridge: float

    def __post_init__(self) -> None:
        self.freeze()
        object.__setattr__(self, "ridge", nonnegative(self.ridge, "ridge"))

    @property
    def penalty(self) -> Penalty:
        """What is added to the mean loss, public."""
        return Penalty(self.ridge)

    @property
    def _mass(self) -> float:
        """By what a sum over records is divided."""
        return self.records

    @cached_property
    def _spectral_norm(self) -> float:
        return float(np.linalg.norm(self.features, 2))

    @abstractmethod
    def data_gradient(self, x: Array) -> Array:
        """The gradient without what is public; shape (replicas, dimension)."""

    def gradient(self, x: Array) -> Array:
        return self.data_gradient(x) + self.ridge * x


class _OfResiduals(_Loss):
    """A loss whose gradient is Σ_s (g(a_sᵀx) − b_s) a_s / mass + ridge x, linear in the answers b."""

    def gradient_difference_bound(self, other: Self, order: int = 2) -> float:
        """sup_x ‖∇f(x) − ∇f'(x)‖ in the norm of this order.

        Exact if only answers differ: the difference is Aᵀ(b' − b) / mass wherever x is. Else inf, and truly so for
        most.
        """
        same = (self.features.shape, self.ridge, self._mass) == (other.features.shape, other.ridge, other._mass)
        if not (same and (self.features == other.features).all()):
            return inf
        difference = self.features.T @ (getattr(other, self.answers) - getattr(self, self.answers)) / self._mass
        return float(np.linalg.norm(difference, order))


@dataclass(frozen=True, eq=False)
class LeastSquares(_OfResiduals):
    """f(x) = ‖Ax − b‖² / D + ridge/2 ‖x‖²; A = features (m, d), b = targets (m,), D = divisor.

    Without a divisor D = 2m: half the mean square. Features and targets are private, m, ridge and divisor public.
    Constructor: `ScenarioError`.
    """

    features: Array = field(repr=False)
    targets: Array = field(repr=False)
    ridge: float = 0.0
    divisor: float | None = None

    answers = "targets"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.divisor is not None and not 0 < self.divisor < inf:
            raise ScenarioError("divisor", self.divisor, "not positive and finite", "a number > 0")

    @cached_property
    def model(self) -> Linear:
        """The loss of a record, public."""
        return Linear(self.dimension, self.records / self._mass)

    @property
    def _mass(self) -> float:
        """D / 2: by what a sum over records is divided."""
        return self.records if self.divisor is None else self.divisor / 2

    @property
    def smoothness(self) -> float:
        """Exact: 2 λ_max(AᵀA) / D + ridge."""
        return float(self._spectrum[0][-1]) + self.ridge

    @property
    def strong_convexity(self) -> float:
        """Exact: 2 λ_min(AᵀA) / D + ridge."""
        return float(self._spectrum[0][0]) + self.ridge

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues λ of 2 AᵀA / D, rising, and their vectors Q in columns."""
        eigenvalues, vectors = np.linalg.eigh(self.features.T @ self.features / self._mass)
        if self.records < self.dimension:
            eigenvalues[: self.dimension - self.records] = 0.0
        return np.maximum(eigenvalues, 0.0), np.ascontiguousarray(vectors)

    @cached_property
    def _basis(self) -> tuple[Array, Array]:
        """Qᵀ and Q; in more than 64 coordinates without the vectors that no record has a part in."""
        null = max(0, self.dimension - self.records) if self.dimension > SMALL else 0
        vectors = self._spectrum[1][:, null:]
        return np.ascontiguousarray(vectors.T), np.ascontiguousarray(vectors)

    @cached_property
    def _condensed(self) -> "LeastSquares":
        """The same function but for a constant, of no more records than coordinates: A = QR, ‖Rx − Qᵀb‖² / D."""
        if not self.records > self.dimension > SMALL:
            return self
        q, r = np.linalg.qr(self.features)
        return LeastSquares(r, q.T @ self.targets, self.ridge, 2 * self._mass)

    def value(self, x: Array) -> Array:
        return half_square(times(x, self.features) - self.targets) / self._mass + self.ridge * half_square(x)

    def data_gradient(self, x: Array) -> Array:
        """2 Aᵀ(Ax − b) / D: the gradient without the public ridge; shape (replicas, dimension)."""
        return times(times(x, self.features) - self.targets, self.features.T) / self._mass

    @staticmethod
    def stacked(losses: "Sequence[LeastSquares]", which: Places) -> Callable[[Array], Array]:
        """Gradients of many agents at as many points, (agents, replicas, dimension) both; `which` says whose loss is
        which, and all are of equally many records. The bits are those of `gradient`."""
        rows, targets = _spread([f.features for f in losses], which), _spread([f.targets for f in losses], which)
        targets, columns = targets[:, None], rows.swapaxes(-1, -2)
        mass, ridge = _each([f._mass for f in losses], which), _each([f.ridge for f in losses], which)

        def gradients(x: Array) -> Array:
            return times(times(x, rows) - targets, columns) / mass + ridge * x

        return gradients

    def hessian(self, x: Array) -> Array:  # noqa: ARG002  # the same everywhere
        return self.features.T @ self.features / self._mass + self.ridge * np.eye(self.dimension)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """v − step (I + step H)⁻¹ ∇f(v), exact for a quadratic, in the eigenbasis of H: of few records in many
        coordinates the vectors of the ridge alone are left out."""
        if regularizer is not None and not isinstance(regularizer, Zero):
            return regularized_proximal(self._condensed, v, step, regularizer)
        rows, columns = self._basis
        slope, eigenvalues = self.gradient(v), self._spectrum[0][-len(rows) :]
        shrink = positive_step(step) / (1 + step * (eigenvalues + self.ridge))
        if len(rows) < self.dimension:
            rest = step / (1 + step * self.ridge)
            v, shrink = v - rest * slope, shrink - rest
        return v - times(times(slope, rows) * shrink, columns)

    def batch(self, indices: ArrayLike) -> Self:
        """The same loss on these records only, a record named twice counting twice.

        The divisor shrinks with the records, so that the mean of the batches' gradients is the gradient.
        """
        part = super().batch(indices)
        return part if self.divisor is None else replace(part, divisor=self.divisor * part.records / self.records)


class _LogisticLoss(_Loss):
    """`scale` times the mean of log(1 + exp(−b_s a_sᵀx)), ridge/2 ‖x‖² and Σ_t λω x_t² / (1 + ω x_t²), λ = weight,
    ω = shape."""

    labels: Array
    weight: float
    shape: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if (strange := self.labels[np.abs(self.labels) != 1]).size:
            raise ScenarioError("labels", float(strange[0]), "not a class", "-1 and +1")
        if not 0 < self.scale < inf:
            raise ScenarioError("scale", self.scale, "not positive and finite", "a number > 0")

    @cached_property
    def model(self) -> Logistic:
        """The loss of a record, public."""
        return Logistic(self.dimension, self.scale)

    @property
    def _mass(self) -> float:
        """m / scale: by what a sum over records is divided."""
        return self.records / self.scale

    @property
    def penalty(self) -> Penalty:
        return Penalty(self.ridge, self.weight, self.shape)

    @property
    def smoothness(self) -> float:
        """Exact: scale λ_max(AᵀA) / (4m) + ridge + 2λω, the Hessian's largest eigenvalue, reached at x = 0."""
        return self._spectral_norm**2 / (4 * self._mass) + self.ridge + 2 * self.weight * self.shape

    @property
    def strong_convexity(self) -> float:
        """ridge − λω/2, since the loss flattens far away from 0, or 0 where that is negative."""
        return max(0.0, self.ridge - self.weight * self.shape / 2)

    @property
    def weak_convexity(self) -> float:
        """ρ = max(0, λω/2 − ridge): f + ρ/2 ‖x‖² is convex."""
        return max(0.0, self.weight * self.shape / 2 - self.ridge)

    @cached_property
    def _away(self) -> Array:
        """−z_s = −b_s a_s, shape (m, d)."""
        return -self.labels[:, None] * self.features

    def value(self, x: Array) -> Array:
        return self.scale * np.logaddexp(0.0, times(x, self._away)).mean(axis=1) + self.ridge * half_square(x)

    def data_gradient(self, x: Array) -> Array:
        """−(scale/m) Σ_s σ(−z_sᵀx) z_s: the gradient without what is public; shape (replicas, dimension)."""
        return times(expit(times(x, self._away)), self._away.T) / self._mass

    def hessian(self, x: Array) -> Array:
        return self.hessians(x[None])[0]

    def hessians(self, x: Array) -> Array:
        """∇²f at each row of x; shape (replicas, dimension, dimension)."""
        margins = times(x, self._away)
        curvature = expit(margins) * expit(-margins) / self._mass
        weighted = self._away.T * curvature[:, None, :]
        return weighted @ self._away + self.ridge * np.eye(self.dimension)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """By damped Newton, to ‖step ∇f(x) + x − v‖∞ <= 1e-13 (‖v‖∞ + step (max|a| + λ√ω)).

        A step at which the inner problem is not strongly convex (1/step <= λω/2 − ridge) is a `ProtocolError`.
        A row of v that is not finite gives NaN; a tolerance not reached is a `SimulationError`.
        """
        if regularizer is not None:
            return regularized_proximal(self, v, step, regularizer)
        size = self.scale * float(np.abs(self.features).max()) + self.weight * sqrt(self.shape)
        return proximal_point(self, v, checked_step(step, self.weak_convexity), step * size)

    def gradient_difference_bound(self, other: Self, order: int = 2) -> float:
        """sup_x ‖∇f(x) − ∇f'(x)‖ in the norm of this order, exact where f, f' differ in one record; else inf.

        With z = b a and z' = b' a' the two records, the difference is −(s z − s' z') scale/m with s = σ(−zᵀx),
        s' = σ(−z'ᵀx). If z and z' are linearly independent, x can bring (s, s') anywhere in (0, 1)², and a norm,
        being convex, is largest at the corners: scale/m max(‖z‖, ‖z'‖, ‖z − z'‖). If z' = c z, x reaches
        only a curve of (s, s'), and the corners say too much: with a flipped label (c = −1), s + s' = 1,
        hence ‖z‖ / m and not 2‖z‖ / m. See `_collinear_supremum`.
        """
        public = (self.features.shape, self.penalty, self.scale)
        if public != (other.features.shape, other.penalty, other.scale):
            return inf
        changed = np.flatnonzero(np.any(self._away != other._away, axis=1))
        if len(changed) == 0:
            return 0.0
        if len(changed) > 1:
            return inf
        z, z_other = self._away[changed[0]], other._away[changed[0]]
        norms = [float(np.linalg.norm(row, order)) for row in (z, z_other, z - z_other)]
        if not _collinear(z, z_other):
            return max(norms) / self._mass
        pivot = int(np.argmax(np.abs(z) + np.abs(z_other)))
        short, long = sorted((float(z[pivot]), float(z_other[pivot])), key=abs)
        return max(norms[:2]) * _collinear_supremum(short / long) / self._mass


_EPSILON = float(np.finfo(np.float64).eps)


def _collinear(z: Array, z_other: Array) -> bool:
    """Whether the two are linearly dependent, in exact arithmetic: a rounded yes would be an unsafe bound."""
    a, b = [Fraction(float(t)) for t in z], [Fraction(float(t)) for t in z_other]
    pivot = int(np.argmax(np.abs(z)))
    return all(p * b[pivot] == q * a[pivot] for p, q in zip(a, b, strict=True)) or not z_other.any()


def _collinear_supremum(c: float) -> float:
    """sup_t |h(t)|, h(t) = σ(−t) − c σ(−ct), for |c| <= 1: at t → ±∞ or where h' = 0.

    h'(t) = 0 reads cosh(ct/2) = |c| cosh(t/2), and log cosh(ct/2) − log cosh(t/2) falls from 0 at t = 0 to
    −∞: exactly one root ±t, bracketed with t/2 − log 2 <= log cosh(t/2) <= t/2.
    """
    ends = 1.0 if c <= 0 else max(1 - c, _EPSILON)  # c = 1 is only rounding: equal records never come here
    if c == 0 or abs(c) == 1:
        return ends

    def excess(t: float) -> float:
        return float(np.logaddexp(c * t / 2, -c * t / 2) - np.logaddexp(t / 2, -t / 2)) - log(abs(c))

    from scipy.optimize import brentq  # takes its time to load

    root = float(brentq(excess, 0.0, 2 * (log(2) - log(abs(c))) / (1 - abs(c)) + 1, xtol=1e-12))
    return max(ends, *(abs(float(expit(-t) - c * expit(-c * t))) for t in (root, -root)))


@dataclass(frozen=True, eq=False)
class LogisticLoss(_LogisticLoss):
    """f(x) = scale/m · Σ_s log(1 + exp(−b_s a_sᵀx)) + ridge/2 ‖x‖²; a = features (m, d), b = labels (m,) in ±1.

    Features and labels are private, m, ridge and scale public. Constructor: `ScenarioError`.
    """

    features: Array = field(repr=False)
    labels: Array = field(repr=False)
    ridge: float = 0.0
    scale: float = 1.0

    weight, shape = 0.0, 1.0

    @staticmethod
    def stacked(losses: "Sequence[LogisticLoss]", which: Places) -> Callable[[Array], Array]:
        """Gradients of many agents at as many points, (agents, replicas, dimension) both; `which` says whose loss is
        which, and all are of equally many records. The bits are those of `gradient`."""
        rows = _spread([f._away for f in losses], which)
        columns = rows.swapaxes(-1, -2)
        mass, ridge = _each([f._mass for f in losses], which), _each([f.ridge for f in losses], which)

        def gradients(x: Array) -> Array:
            shares = np.asarray(expit(times(x, rows)), dtype=np.float64)
            return times(shares, columns) / mass + ridge * x

        return gradients


@dataclass(frozen=True, eq=False)
class NonconvexLogistic(_LogisticLoss):
    """f(x) = (1/m) Σ_s log(1 + exp(−b_s a_sᵀx)) + Σ_t λω x_t² / (1 + ω x_t²) + ridge/2 ‖x‖².

    a = features (m, d), b = labels (m,) in ±1, λ = weight, ω = shape > 0. The curvature of the regularizer lies in
    [−λω/2, 2λω]: the lower end at x_t² = 1/ω, the upper at 0. Features and labels are private, m, λ, ω and ridge
    public. Constructor: `ScenarioError`. Source: the numerical section of DPP², λ = 0.001, ω = 1, no ridge.
    """

    features: Array = field(repr=False)
    labels: Array = field(repr=False)
    weight: float = 0.001
    shape: float = 1.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weight", nonnegative(self.weight, "weight"))
        if not 0 < self.shape < inf:
            raise ScenarioError("shape", self.shape, "not positive and finite", "a number > 0")
        object.__setattr__(self, "shape", float(self.shape))

    def value(self, x: Array) -> Array:
        squares = self.shape * x**2
        return super().value(x) + self.weight * np.ascontiguousarray(squares / (1 + squares)).sum(axis=1)

    def gradient(self, x: Array) -> Array:
        return super().gradient(x) + 2 * self.weight * self.shape * x / (1 + self.shape * x**2) ** 2

    def hessians(self, x: Array) -> Array:
        squares = self.shape * x**2
        bending = 2 * self.weight * self.shape * (1 - 3 * squares) / (1 + squares) ** 3
        return super().hessians(x) + bending[:, :, None] * np.eye(self.dimension)


@dataclass(frozen=True, eq=False)
class PoissonLoss(_OfResiduals):
    """f(x) = (1/m) Σ_s [exp(a_sᵀx) − b_s a_sᵀx] + ridge/2 ‖x‖²; a = features (m, d), b = counts (m,) in {0, 1, 2, …}.

    The negative log-likelihood of counts of mean exp(aᵀx), less what depends on no x. Its gradient has NO Lipschitz
    constant on R^d: `smoothness` is that of the points where every mean exp(a_sᵀx) is at most `largest_rate`, and ∞
    without one. Conditions on steps that are computed from it hold as long as all iterates stay there, which nobody
    checks; outside a run may diverge. Features and counts are private, m, ridge and the rate public. Constructor:
    `ScenarioError`. Source of the loss: DP-RECAL, version 1, Table I (a sum over records there, a mean here).
    """

    features: Array = field(repr=False)
    counts: Array = field(repr=False)
    ridge: float = 0.0
    largest_rate: float = inf

    answers = "counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (strange := self.counts[(self.counts < 0) | (self.counts % 1 != 0)]).size:
            raise ScenarioError("counts", float(strange[0]), "not a count", "0, 1, 2, …")
        if not self.largest_rate > 0:
            raise ScenarioError("largest_rate", self.largest_rate, "not positive", "a number > 0")

    @property
    def smoothness(self) -> float:
        """largest_rate λ_max(AᵀA) / m + ridge, which bounds the curvature where no mean exceeds the rate."""
        return self.largest_rate * self._spectral_norm**2 / self.records + self.ridge

    @property
    def strong_convexity(self) -> float:
        """The ridge: far out, where means vanish, the loss is straight."""
        return self.ridge

    def _means(self, x: Array) -> Array:
        """exp(a_sᵀx), shape (replicas, m); ∞ where it overflows."""
        with np.errstate(over="ignore"):
            return np.exp(times(x, self.features))

    def value(self, x: Array) -> Array:
        terms = self._means(x) - self.counts * times(x, self.features)
        return terms.mean(axis=1) + self.ridge * half_square(x)

    def data_gradient(self, x: Array) -> Array:
        """(1/m) Σ_s (exp(a_sᵀx) − b_s) a_s: the gradient without what is public; shape (replicas, dimension)."""
        with np.errstate(invalid="ignore"):
            return times(self._means(x) - self.counts, self.features.T) / self.records

    def hessian(self, x: Array) -> Array:
        return self.hessians(x[None])[0]

    def hessians(self, x: Array) -> Array:
        """∇²f at each row of x; shape (replicas, dimension, dimension)."""
        weighted = self.features.T * (self._means(x) / self.records)[:, None, :]
        return weighted @ self.features + self.ridge * np.eye(self.dimension)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """By damped Newton, to ‖step ∇f(x) + x − v‖∞ <= 1e-13 (‖v‖∞ + step max|a| (1 + the mean count)).

        A row of v that is not finite gives NaN; a tolerance not reached, as where means overflow, is a
        `SimulationError`. With an r ≠ 0 steps are those of the promised `smoothness`: they may miss the tolerance too
        where means exceed the rate, and without a `largest_rate` there are none: `ProtocolError`.
        """
        if regularizer is not None and not isinstance(regularizer, Zero):
            if self.largest_rate == inf:
                raise ProtocolError("proximal: a Poisson loss with an r ≠ 0 needs a largest_rate to take steps with")
            return regularized_proximal(self, v, step, regularizer)
        size = float(np.abs(self.features).max() * (1 + self.counts.mean()))
        return proximal_point(self, v, step, step * size)
