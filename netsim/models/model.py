"""Model: the public side of an objective, its loss per record and its penalty, regularizer and convex set.

The proximal map of a regularizer needs no oracle. Iterates are kept in bounded sets that all agents share. The
simplest models, linear ones of one output, stand here too.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from scipy.special import expit

from netsim.arrays import Array, nonnegative, positive_step
from netsim.bounds import Checked, NonNegative, Positive, check
from netsim.errors import ScenarioError


class Regularizer(Protocol):
    """r: R^d → R, convex; `x` and `v` have shape (replicas, dimension)."""

    def value(self, x: Array) -> Array:
        """r(x), shape (replicas,)."""
        ...

    def proximal(self, v: Array, step: float) -> Array:
        """argmin_x r(x) + ‖x − v‖² / (2 step), step > 0, for each replica."""
        ...


@dataclass(frozen=True)
class Zero:
    """r = 0. Its proximal map returns `v` itself, the same object."""

    def value(self, x: Array) -> Array:
        return np.zeros(len(x))

    def proximal(self, v: Array, step: float) -> Array:  # noqa: ARG002
        return v


@dataclass(frozen=True)
class L1:
    """r(x) = weight ‖x‖₁; its proximal map is the soft threshold at step · weight."""

    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative(self.weight, "weight"))

    def value(self, x: Array) -> Array:
        return self.weight * np.abs(x).sum(axis=1)

    def proximal(self, v: Array, step: float) -> Array:
        return np.sign(v) * np.maximum(np.abs(v) - positive_step(step) * self.weight, 0.0)


@dataclass(frozen=True)
class ElasticNet(Checked):
    """r(x) = l1 ‖x‖₁ + square ‖x‖²; its proximal map is the soft threshold at step · l1, over 1 + 2 step · square.

    Public, as every r. Source of the three forms beside ℓ1: DP-RECAL, version 1, Table I. `ScenarioError` for a
    weight that is negative or not finite.
    """

    l1: NonNegative
    """The weight of ‖x‖₁."""
    square: NonNegative
    """The weight of ‖x‖², which is not halved."""

    def value(self, x: Array) -> Array:
        return L1(self.l1).value(x) + self.square * (x**2).sum(axis=1)

    def proximal(self, v: Array, step: float) -> Array:
        return L1(self.l1).proximal(v, step) / (1 + 2 * step * self.square)


@dataclass(frozen=True)
class LInf(Checked):
    """r(x) = weight ‖x‖∞; its proximal map is v less its projection on the ℓ1 ball of radius step · weight (Moreau).

    That clips |v| at the t where Σ max(|v_j| − t, 0) is the radius, and is 0 inside the ball.
    """

    weight: NonNegative
    """The weight of the largest |x_j|."""

    def value(self, x: Array) -> Array:
        return self.weight * np.abs(x).max(axis=1, initial=0.0)

    def proximal(self, v: Array, step: float) -> Array:
        radius = positive_step(step) * self.weight
        falling: Array = -np.sort(-np.abs(v), axis=1)
        counts = np.arange(1, v.shape[1] + 1, dtype=np.float64)
        levels = np.divide(np.cumsum(falling, axis=1) - radius, counts)  # t, if the k largest exceed it
        level = np.maximum(levels.max(axis=1, keepdims=True, initial=0.0), 0.0)
        return np.clip(v, -level, level)


@dataclass(frozen=True)
class FusedLasso(Checked):
    """r(x) = l1 ‖x‖₁ + variation Σ_j |x_j − x_{j+1}|, neighbors being coordinates next to each other.

    Its proximal map is that of the variation, then the soft threshold (Friedman, Hastie, Höfling, Tibshirani 2007);
    that of the variation is the slope of a taut string, in time proportional to the dimension.
    """

    l1: NonNegative
    """The weight of ‖x‖₁."""
    variation: NonNegative
    """The weight of the total variation."""

    def value(self, x: Array) -> Array:
        return L1(self.l1).value(x) + self.variation * np.abs(np.diff(x, axis=1)).sum(axis=1)

    def proximal(self, v: Array, step: float) -> Array:
        width = positive_step(step) * self.variation
        smoothed = [_taut_string(row, width) if np.isfinite(row).all() else np.full_like(row, np.nan) for row in v]
        return L1(self.l1).proximal(np.array(smoothed).reshape(v.shape), step)


_Gate = tuple[int, float, int]
"""An end of a gate, as position, height and side: −1 the lower, 1 the upper, 0 where the string ends."""


def _taut_string(v: Array, width: float) -> Array:
    """argmin_x ‖x − v‖²/2 + width Σ_j |x_j − x_{j+1}| for v of shape (d,).

    With r_k = v_1 + … + v_k it is the slope of the shortest string from (0, 0) to (d, r_d) through all the gates
    [r_k − width, r_k + width]. Two chains begin where the string last bent, at the apex: the least concave one over
    the gates' lower ends, the greatest convex one under the upper ends. Where one leaves the other's side, it bends.
    """
    last = len(v)
    if width == 0 or last < 2:
        return v.copy()
    sums = np.cumsum(v - v.mean())
    apex: _Gate = (0, 0.0, 0)
    bends: list[_Gate] = [apex]
    chains: dict[int, deque[_Gate]] = {-1: deque([apex]), 1: deque([apex])}
    for k in range(1, last + 1):
        for side in (-1, 1):
            own, other = chains[side], chains[-side]
            end = (k, float(sums[k - 1]) + (side * width if k < last else 0.0), side if k < last else 0)
            while len(own) > 1 and side * (_slope(own[-2], own[-1]) - _slope(own[-1], end)) >= 0:
                own.pop()
            while len(own) == 1 < len(other) and side * (_slope(other[0], other[1]) - _slope(other[0], end)) > 0:
                other.popleft()
                bends.append(other[0])
                own[0] = other[0]
            own.append(end)
    x = np.empty_like(v)
    for (start, _, left), (stop, _, right) in zip(bends, [*bends[1:], (last, 0.0, 0)], strict=True):
        x[start:stop] = v[start:stop].mean() + width * (right - left) / (stop - start)
    return x


def _slope(start: _Gate, end: _Gate) -> float:
    return (end[1] - start[1]) / (end[0] - start[0])


@dataclass(frozen=True)
class Ball:
    """{x : ‖x‖₂ ≤ radius}. You get a `ScenarioError` for a radius that is not positive and finite."""

    radius: Positive
    """The largest ‖x‖₂."""

    def __post_init__(self) -> None:
        check(self)

    def project(self, x: Array) -> Array:
        """The nearest point, of each replica; a point inside is not changed in any bit."""
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        return x * (self.radius / np.maximum(norm, self.radius))


@dataclass(frozen=True)
class Box:
    """[low, high] in every coordinate. You get a `ScenarioError` unless low < high, both finite."""

    low: float
    """The least value of a coordinate."""
    high: float
    """The greatest value of a coordinate."""

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ScenarioError("high", self.high, "no interval", f"> low = {self.low!r}, both finite")

    def project(self, x: Array) -> Array:
        """The nearest point, of each replica; a point inside is not changed in any bit."""
        return np.clip(x, self.low, self.high)


@dataclass(frozen=True)
class Penalty:
    """ridge/2·‖x‖² + Σ_t λω x_t²/(1 + ω x_t²), λ = weight, ω = shape. Public."""

    ridge: float = 0.0
    weight: float = 0.0
    shape: float = 1.0

    def value(self, x: Array) -> Array:
        """(…) of x (…, dimension)."""
        found = self.ridge / 2 * np.sum(np.ascontiguousarray(x) ** 2, axis=-1)
        if self.weight:
            squares = self.shape * np.ascontiguousarray(x) ** 2
            found = found + self.weight * np.sum(squares / (1 + squares), axis=-1)
        return found

    def gradient(self, x: Array) -> Array:
        """Of the shape of x."""
        found = self.ridge * x
        if self.weight:
            found = found + 2 * self.weight * self.shape * x / (1 + self.shape * x**2) ** 2
        return found

    def curvature(self, x: Array) -> Array:
        """The diagonal of the Hessian, which has no other entries; of the shape of x."""
        squares = self.shape * x**2
        return self.ridge + 2 * self.weight * self.shape * (1 - 3 * squares) / (1 + squares) ** 3

    @property
    def most(self) -> float:
        """The largest curvature, at 0."""
        return self.ridge + 2 * self.weight * self.shape

    @property
    def least(self) -> float:
        """The smallest, which may be negative, at ω x_t² = 1."""
        return self.ridge - self.weight * self.shape / 2


NOTHING = Penalty()


STEP = 1e-20
"""Of the complex step: its square is lost beside 1, so that the derivative has no truncation error."""
REAL_STEP = 1e-5
"""Of central differences, relative, where a model is not analytic."""


class Model(Protocol):
    """ℓ(θ; A, T): the mean loss over m records A with targets T.

    θ `parameters` (…, dimension), A `features` (…, m, width), T `targets` (…, m, outputs); leading axes broadcast.
    Targets are what the loss compares with: the value of a regression, the probability of class +1 (one output), or
    a probability for each class; they need not be a label's, so that an attack can move them. Methods take complex
    arrays too where the model is `analytic`: then `mixed_gradient` is exact to rounding.
    """

    @property
    def name(self) -> str: ...

    @property
    def width(self) -> int:
        """Features of a record."""
        ...

    @property
    def outputs(self) -> int:
        """Columns of the targets."""
        ...

    @property
    def dimension(self) -> int:
        """Length of θ."""
        ...

    @property
    def classes(self) -> tuple[float, ...]:
        """The labels there are; empty for a regression."""
        ...

    @property
    def analytic(self) -> bool:
        """Whether the loss is an analytic function of θ."""
        ...

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        """ℓ, shape (…)."""
        ...

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        """∇_θ ℓ, shape (…, dimension)."""
        ...

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        """∇_A ℓ (…, m, width) and ∇_T ℓ (…, m, outputs)."""
        ...

    def targets(self, labels: Array) -> Array:
        """Labels (…, m) as targets (…, m, outputs)."""
        ...

    def labels(self, targets: Array) -> Array:
        """The likeliest label of each target, (…, m)."""
        ...


def mixed_gradient(
    model: Model, parameters: Array, features: Array, targets: Array, direction: Array
) -> tuple[Array, Array]:
    """∇_A and ∇_T of ⟨direction, ∇_θ ℓ(θ; A, T)⟩, the shapes of `Model.input_gradient`; direction (…, dimension).

    It is the derivative of `input_gradient` along the direction: the model's own where it has one, faster or more
    exact, else as `stepped` finds it.
    """
    own: Callable[..., tuple[Array, Array]] | None = getattr(model, "mixed_gradient", None)
    if own is None:
        return stepped(model, parameters, features, targets, direction)
    return own(parameters, features, targets, direction)


def stepped(
    model: Model, parameters: Array, features: Array, targets: Array, direction: Array
) -> tuple[Array, Array]:
    """`mixed_gradient` from `input_gradient` alone: Im ∇_A ℓ(θ + ih·r)/h for an analytic model, exact to rounding,
    else a central difference, whose error is of second order in the step but for kinks."""
    if model.analytic:
        moved = cast(Array, parameters + 1j * STEP * direction)
        by_features, by_targets = model.input_gradient(moved, features, targets)
        return np.imag(by_features) / STEP, np.imag(by_targets) / STEP
    size = np.linalg.norm(direction, axis=-1, keepdims=True)
    step = REAL_STEP * (1 + np.linalg.norm(parameters, axis=-1, keepdims=True)) / np.where(size > 0, size, 1.0)
    ahead = model.input_gradient(parameters + step * direction, features, targets)
    behind = model.input_gradient(parameters - step * direction, features, targets)
    wide = 2 * step[..., None]
    return (ahead[0] - behind[0]) / wide, (ahead[1] - behind[1]) / wide


def sigmoid(z: Array) -> Array:
    """1/(1 + e^{−z}), of complex z too."""
    return 0.5 * (1 + np.tanh(z / 2)) if np.iscomplexobj(z) else expit(z)


def softplus(z: Array) -> Array:
    """log(1 + e^z), of complex z too."""
    if not np.iscomplexobj(z):
        return np.logaddexp(0.0, z)
    sign = np.where(np.real(z) > 0, 1.0, -1.0)
    return np.where(np.real(z) > 0, z, 0.0) + np.log1p(np.exp(-sign * z))


@dataclass(frozen=True)
class Linear:
    """ℓ = scale · (1/m) Σ_s ½(a_sᵀθ − t_s)²; one output, the value."""

    width: int
    scale: float = 1.0
    name = "linear"
    outputs = 1
    analytic = True
    classes: tuple[float, ...] = ()

    @property
    def dimension(self) -> int:
        return self.width

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return self.scale * np.mean(self._residual(parameters, features, targets) ** 2, axis=-1) / 2

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        residual = self._residual(parameters, features, targets)
        return self.scale * np.einsum("...m,...mp->...p", residual, features) / features.shape[-2]

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        residual = self.scale * self._residual(parameters, features, targets)[..., None] / features.shape[-2]
        return residual * parameters[..., None, :], -residual

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """scale · [⟨a, r⟩ θ + (aᵀθ − t) r]/m and −scale · ⟨a, r⟩/m, r the direction."""
        factor = self.scale / features.shape[-2]
        along = factor * np.einsum("...mp,...p->...m", features, direction)
        residual = factor * self._residual(parameters, features, targets)
        by_features = along[..., None] * parameters[..., None, :] + residual[..., None] * direction[..., None, :]
        return by_features, -along[..., None]

    def targets(self, labels: Array) -> Array:
        return np.asarray(labels, dtype=np.float64)[..., None]

    def labels(self, targets: Array) -> Array:
        return targets[..., 0]

    def _residual(self, parameters: Array, features: Array, targets: Array) -> Array:
        return np.einsum("...mp,...p->...m", features, parameters) - targets[..., 0]


@dataclass(frozen=True)
class Logistic:
    """ℓ = scale · (1/m) Σ_s [log(1 + e^{z_s}) − t_s z_s], z_s = a_sᵀθ; t_s, the one output, is the probability of +1.

    For a label b = ±1 that is log(1 + exp(−b aᵀθ)).
    """

    width: int
    scale: float = 1.0
    name = "logistic"
    outputs = 1
    analytic = True
    classes: tuple[float, ...] = (-1.0, 1.0)

    @property
    def dimension(self) -> int:
        return self.width

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        z = self._margins(parameters, features)
        return self.scale * np.mean(softplus(z) - targets[..., 0] * z, axis=-1)

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        slope = sigmoid(self._margins(parameters, features)) - targets[..., 0]
        return self.scale * np.einsum("...m,...mp->...p", slope, features) / features.shape[-2]

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        z = self._margins(parameters, features)
        mass = features.shape[-2] / self.scale
        slope = (sigmoid(z) - targets[..., 0]) / mass
        return slope[..., None] * parameters[..., None, :], -z[..., None] / mass

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """scale/m times σ'(z) ⟨a, r⟩ θ + (σ(z) − t) r and −⟨a, r⟩, r the direction."""
        likely, mass = sigmoid(self._margins(parameters, features)), features.shape[-2] / self.scale
        along = self._margins(direction, features) / mass
        bent, slope = likely * (1 - likely) * along, (likely - targets[..., 0]) / mass
        by_features = bent[..., None] * parameters[..., None, :] + slope[..., None] * direction[..., None, :]
        return by_features, -along[..., None]

    def targets(self, labels: Array) -> Array:
        return (np.asarray(labels, dtype=np.float64)[..., None] + 1) / 2

    def labels(self, targets: Array) -> Array:
        return np.where(targets[..., 0] >= 0.5, 1.0, -1.0)

    def _margins(self, parameters: Array, features: Array) -> Array:
        return np.einsum("...mp,...p->...m", features, parameters)
