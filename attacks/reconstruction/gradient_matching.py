"""Gradient matching: the objective, its label variables, fewer unknowns behind a dense layer, and what stays open.

A softmax for models of several classes (DLG's dummy label), a sigmoid for one probability, the value itself for a
regression.

For each row (a case, a replica and a restart) the unknowns are the features A (m, width) and, where the labels are
not fixed, free variables y (m, outputs) of the targets; with the gradients G(A, T) that these records would give at
the round's point, and the g that was inferred there, the misfit is

    squared:  ‖G − g‖²/‖g‖²,       cosine:  1 − ⟨G, g⟩/(‖G‖‖g‖),

over all matched rounds together. Its derivative is a mixed gradient of the model (`netsim.models.mixed_gradient`, in
one pass by `netsim.models.networks.with_pullback`).

Let z = Wa + b be that layer. The gradient by W of any loss is SᵀA with S = ∂ℓ/∂z; that of ‖SᵀA − G‖² by A is S(SᵀA −
G) + (…)W. So descent, and any quasi-Newton method, never leaves the span of the rows of W, G and the start. With an
orthonormal basis Q of that span and A = BQᵀ, the misfit is that of the same model of smaller width, with WQ for W and
GQ for G: ‖SᵀA − G‖ = ‖SᵀB − GQ‖. Nothing is approximated: iterates agree up to rounding. A penalty on the features
themselves (total variation, a box) would leave the span; then this is of no use.

The Jacobian of the matched gradients by the features and, where they are free, the targets; its null space is what no
matching can determine. It is of the model at the point that was found, without noise. Other records far away may give
the same gradient too: `logistic_twins` counts them where there is a closed form.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attacks.reconstruction.attack import Shape
from netsim.arrays import Array
from netsim.models import MLP, Linear, Logistic, Model, Softmax
from netsim.models.networks import Dense, softmax, with_pullback

Kind = Literal["value", "sigmoid", "softmax"]


@dataclass(frozen=True)
class _Link:
    """Map from free variables y (…, m, outputs) to targets of the same shape."""

    kind: Kind

    @classmethod
    def of(cls, model: Model) -> "_Link":
        if not model.classes:
            return cls("value")
        return cls("sigmoid" if model.outputs == 1 else "softmax")

    def targets(self, y: Array) -> Array:
        if self.kind == "value":
            return y
        return expit(y) if self.kind == "sigmoid" else softmax(y)

    def pulled(self, targets: Array, slope: Array) -> Array:
        """The gradient by y, given that by the targets."""
        if self.kind == "value":
            return slope
        if self.kind == "sigmoid":
            return slope * targets * (1 - targets)
        weighted = targets * slope
        return weighted - targets * np.sum(weighted, axis=-1, keepdims=True)

    def moves(self, outputs: int) -> Array:
        """A basis of the directions in which a target can move: (directions, outputs)."""
        if self.kind != "softmax":
            return np.eye(outputs)
        return np.eye(outputs)[:-1] - np.eye(outputs)[-1]


Distance = Literal["squared", "cosine"]
Extra = Callable[[Array], tuple[Array, Array]]
"""A penalty of features (rows, m, width): values (rows,) and gradients of the features' shape."""


@dataclass(frozen=True)
class Matching:
    """The misfit of each row, an `Objective`.

    `parameters`, `wanted` (rows, rounds, dimension); `fixed` (rows, m, outputs) targets, or None where they are free;
    `extra` is added. x is A and then y, flat.
    """

    model: Model
    parameters: Array
    wanted: Array
    records: int
    fixed: Array | None = None
    distance: Distance = "squared"
    extra: Extra | None = None

    @cached_property
    def link(self) -> _Link:
        return _Link.of(self.model)

    @cached_property
    def _norms(self) -> Array:
        return _sizes(self.wanted)

    def __call__(self, x: Array) -> tuple[Array, Array]:
        features, targets = self.parts(x)
        held, aims = features[:, None], targets[:, None]
        gradients, pullback = with_pullback(self.model, self.parameters, held, aims)
        value, direction = self._misfit(gradients)
        by_features, by_targets = pullback(direction)
        slope = _over_rounds(by_features)
        if self.extra is not None:
            more, push = self.extra(features)
            value, slope = value + more, slope + push
        flat = slope.reshape(len(x), -1)
        if self.fixed is None:
            moved = self.link.pulled(targets, _over_rounds(by_targets))
            flat = np.concatenate([flat, moved.reshape(len(x), -1)], axis=-1)
        return value, flat

    def take(self, rows: NDArray[np.intp]) -> "Matching":
        fixed = None if self.fixed is None else self.fixed[rows]
        return replace(self, parameters=self.parameters[rows], wanted=self.wanted[rows], fixed=fixed)

    def parts(self, x: Array) -> tuple[Array, Array]:
        """Features (rows, m, width) and targets (rows, m, outputs)."""
        size = self.records * self.model.width
        features = x[:, :size].reshape(len(x), self.records, self.model.width)
        if self.fixed is not None:
            return features, self.fixed
        return features, self.link.targets(x[:, size:].reshape(len(x), self.records, self.model.outputs))

    def misfit(self, x: Array) -> Array:
        """The distance alone, without what is added, (rows,)."""
        features, targets = self.parts(x)
        return self._misfit(self.model.gradient(self.parameters, features[:, None], targets[:, None]))[0]

    def _misfit(self, gradients: Array) -> tuple[Array, Array]:
        """The distance (rows,), and its derivative by the gradients."""
        norms = self._norms
        if self.distance == "squared":
            away = (gradients - self.wanted) / norms
            return _squares(away), away * (2 / norms)
        size = _sizes(gradients)
        ours, theirs = gradients / size, self.wanted / norms
        value = _squares(ours - theirs) / 2
        return value, ((1 - value)[:, None, None] * ours - theirs) / size


def _squares(values: Array) -> Array:
    found: Array = np.einsum("ntd,ntd->n", values, values)
    return found


def _sizes(values: Array) -> Array:
    """The norm of each row, over rounds and coordinates, with all axes; 1 for 0."""
    found = np.sqrt(_squares(values))
    return np.where(found > 0, found, 1.0)[:, None, None]


def _over_rounds(values: Array) -> Array:
    return values[:, 0] if values.shape[1] == 1 else np.sum(values, axis=1)


WORTH = 0.7
"""A basis of more than this share of the width is not worth its products."""
LOST = 1e-13
"""Relative: a gradient of which less is outside a span lies in it."""


@dataclass(frozen=True)
class _Narrowed:
    """The model of width k = k₀ + m, its parameters and wanted gradients (pairs, T, ·).

    `plane` (pairs, width, k₀) is a basis of the rows of W and G; `beside` (pairs, restarts, width, m) of what a start
    has outside: there W and G are 0.
    """

    plane: Array
    beside: Array
    model: Model
    parameters: Array
    wanted: Array

    def down(self, features: Array) -> Array:
        """(pairs, restarts, m, width) → (pairs, restarts, m, k); exact for features in the span."""
        return np.concatenate([np.matmul(features, self.plane[:, None]), np.matmul(features, self.beside)], axis=-1)

    def up(self, features: Array) -> Array:
        """(pairs, restarts, m, k) → (pairs, restarts, m, width)."""
        k = self.plane.shape[-1]
        inside = np.matmul(features[..., :k], np.swapaxes(self.plane, -1, -2)[:, None])
        return inside + np.matmul(features[..., k:], np.swapaxes(self.beside, -1, -2))


def _first_layer(model: Model) -> Dense | None:
    """The dense layer through which alone the features enter; None where there is none."""
    if isinstance(model, Linear | Logistic):
        return Dense(0, model.width, 1, bias=False)
    return model.first if isinstance(model, Softmax | MLP) else None


def narrowed(model: Model, parameters: Array, wanted: Array, start: Array) -> _Narrowed | None:
    """The problem in the span of W, G (pairs, T, dimension) and of each start (pairs, restarts, m, width); None where
    that saves nothing."""
    layer = _first_layer(model)
    if layer is None:
        return None
    records = start.shape[2]
    weights = _merged(layer.matrix(parameters))
    span = np.concatenate([weights, _spanning(_merged(layer.matrix(wanted)), records)], axis=1)
    if span.shape[1] + records > WORTH * model.width:
        return None
    plane = _basis(span)
    across = np.swapaxes(plane, -1, -2)[:, None]
    outside = start - np.matmul(np.matmul(start, plane[:, None]), across)
    beside = _basis(outside - np.matmul(np.matmul(outside, plane[:, None]), across))
    inside = (np.matmul(layer.matrix(values), plane[:, None]) for values in (parameters, wanted))
    parts = [_with_first(v, layer, m, records) for v, m in zip((parameters, wanted), inside, strict=True)]
    return _Narrowed(plane, beside, _of_width(model, span.shape[1] + records), *parts)


def _merged(matrices: Array) -> Array:
    """(rows, rounds, h, width) as (rows, rounds · h, width)."""
    return matrices.reshape(len(matrices), -1, matrices.shape[-1])


def _spanning(matrix: Array, records: int) -> Array:
    """Rows that span those of a gradient (pairs, n, width): m mixtures of them where these do, as they do for the
    exact gradient SᵀA of m records; else all of them."""
    if matrix.shape[1] <= records:
        return matrix
    mixing = np.random.default_rng(0).standard_normal((records, matrix.shape[1]))
    few = np.matmul(mixing, matrix)
    basis = _basis(few)
    left = matrix - np.matmul(np.matmul(matrix, basis), np.swapaxes(basis, -1, -2))
    within = np.linalg.norm(left, axis=(1, 2)) <= LOST * np.linalg.norm(matrix, axis=(1, 2))
    return few if within.all() else matrix


def _basis(span: Array) -> Array:
    """Orthonormal columns whose span holds the rows of each matrix (…, n, width)."""
    sizes = np.linalg.norm(span, axis=-1, keepdims=True)
    return np.linalg.qr(np.swapaxes(span / np.where(sizes > 0, sizes, 1.0), -1, -2))[0]


def _with_first(values: Array, layer: Dense, matrix: Array, beside: int) -> Array:
    """θ with another matrix in its first layer, and so many features more whose weights are 0."""
    wide = np.concatenate([matrix, np.zeros((*matrix.shape[:-1], beside))], axis=-1)
    flat = wide.reshape(*wide.shape[:-2], -1)
    return np.concatenate([values[..., : layer.start], flat, values[..., layer.weights.stop :]], axis=-1)


def _of_width(model: Model, width: int) -> Model:
    if isinstance(model, MLP):
        return replace(model, widths=(width, *model.widths[1:]))
    assert isinstance(model, Linear | Logistic | Softmax)
    return replace(model, width=width)


SMALL = 1e-12
"""Relative to the largest of JᵀJ: eigenvalues below are zero."""
STEP, REAL_STEP = 1e-20, 1e-6
EDGE = 1e-4
"""A target below is at the edge of the simplex."""
AT_ONCE = 32
"""Unknowns whose derivatives are found together: what they take stays in the processor's cache."""
LARGEST = 20_000_000
"""Numbers in a Jacobian: larger ones are not examined."""


def free_directions(
    model: Model, parameters: Array, features: Array, targets: Array, soft: bool, beyond: int = 0
) -> int | None:
    """Count of free directions; None where it is too much work.

    `parameters` (rounds, dimension), `features` (m, width), `targets` (m, outputs); `soft`: targets are unknown too;
    `beyond`: so many more features whose weights and values are 0. A target at the edge of the simplex can only move
    inwards: where no open direction does, those that move it do not count.
    """
    moves = _Link.of(model).moves(model.outputs) if soft else np.zeros((0, model.outputs))
    size = len(features) * (model.width + len(moves))
    if size * max(parameters.size, features.size) > LARGEST:
        return None
    count = _open(_null(_jacobian(model, parameters, features, targets, moves, model.width)), targets, moves)
    if not beyond:
        return count
    layer = _first_layer(model)
    assert layer is not None
    wide = _with_first(parameters, layer, layer.matrix(parameters), 1)  # 1 for any direction outside the span
    wider, held = _of_width(model, model.width + 1), np.pad(features, ((0, 0), (0, 1)))
    return count + beyond * len(_null(_jacobian(wider, wide, held, targets, moves[:0], 1)))


def _jacobian(model: Model, parameters: Array, features: Array, targets: Array, moves: Array, last: int) -> Array:
    """(unknowns, rounds · dimension): by the `last` features of each record, then by its targets."""
    records, width = features.shape
    by_features = np.eye(records * width).reshape(-1, records, width)
    by_features = by_features.reshape(records, width, records, width)[:, width - last :].reshape(-1, records, width)
    by_targets = np.einsum("st,ko->skto", np.eye(records), moves).reshape(-1, records, model.outputs)
    a, t, at = features[None, None], targets[None, None], parameters[None]
    moves_a, moves_t = by_features[:, None], by_targets[:, None]

    def first(some: Array) -> Array:
        if model.analytic:
            return np.imag(model.gradient(at, cast(Array, a + 1j * STEP * some), t)) / STEP
        step = REAL_STEP * (1 + float(np.max(np.abs(features))))
        ahead, behind = (model.gradient(at, a + s * step * some, t) for s in (1, -1))
        return (ahead - behind) / (2 * step)

    parts = [first(moves_a[k : k + AT_ONCE]) for k in range(0, len(moves_a), AT_ONCE)]
    if len(by_targets):
        parts.append(model.gradient(at, a, t + moves_t) - model.gradient(at, a, t))
    return np.concatenate([part.reshape(-1, parameters.size) for part in parts])


def _null(jacobian: Array) -> Array:
    """A basis of the unknowns' directions that leave the gradient alone, (directions, unknowns).

    Each row of the Jacobian is scaled to length 1: features and targets are in units of their own.
    """
    sizes = np.linalg.norm(jacobian, axis=-1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    rows = jacobian / sizes[:, None]
    values, vectors = np.linalg.eigh(rows @ rows.T)
    small = values <= SMALL * max(float(np.max(values, initial=0.0)), 1.0)
    return (vectors[:, small] / sizes[:, None]).T


def _open(null: Array, targets: Array, moves: Array) -> int:
    """Count of those that are possible for targets in the simplex."""
    records, outputs = targets.shape
    if not len(null) or not len(moves) or outputs == 1:
        return len(null)
    by_targets = null[:, null.shape[1] - records * len(moves) :].reshape(len(null), records, len(moves)) @ moves
    pinned = by_targets[:, targets < EDGE]
    if not pinned.shape[1]:
        return len(null)
    scaled = pinned / max(float(np.max(np.abs(pinned))), 1e-300)
    from scipy.optimize import linprog  # takes its time to load

    found = linprog(-scaled.sum(axis=1), A_ub=-scaled.T, b_ub=np.zeros(scaled.shape[1]), bounds=(-1, 1))
    if found.status != 0 or float(np.sum(np.asarray(found.x) @ scaled)) > 1e-6:
        return len(null)
    return len(null) - int(np.linalg.matrix_rank(scaled, tol=1e-6))


def logistic_twins(gradient: Array, point: Array) -> list[tuple[float, float]]:
    """All (label, t) of single records of a logistic loss with this gradient h, (dimension,) at y: the record of
    label b is −b t h, with t ≥ 1 a root of t σ(t q) = 1, q = hᵀy for either label.

    For q ≥ 0 there is one root; for q < 0 two, one, or by noise none.
    """
    from scipy.optimize import brentq  # takes its time to load

    q = float(gradient @ point)

    def excess(t: float) -> float:
        return float(np.log(t) - np.logaddexp(0.0, -t * q))

    if q >= 0:
        roots = [float(brentq(excess, 1.0, 2.0))] if excess(1.0) < 0 else [1.0]
    else:
        # the maximum of log t + log σ(tq) is where 1/t + q σ(−tq) = 0
        top = float(brentq(lambda t: 1 / t + q / (1 + np.exp(t * q)), 1e-12, 4 / -q))
        if excess(top) < 0:
            return []
        far = top
        while excess(far) > 0:
            far *= 2
        roots = [float(brentq(excess, 1e-12, top)), float(brentq(excess, top, far))]
    return [(label, t) for t in roots for label in (-1.0, 1.0)]


@dataclass(frozen=True)
class TotalVariation:
    """mean|∂ᵥa| + mean|∂ₕa| over pixels, colours and records, times `weight`: anisotropic, as the authors' code of
    Inverting Gradients has it. A record of `shape` (height, width) or (height, width, colours) is flat, row by row.
    """

    shape: Shape
    weight: float

    def __call__(self, features: Array) -> tuple[Array, Array]:
        """Penalty of features (rows, m, height · width · colours): values (rows,), and a subgradient of the same
        shape."""
        images = features.reshape(*features.shape[:2], *self.shape)
        slope = np.zeros_like(images)
        value = np.zeros(len(images))
        for axis in (2, 3):
            ahead = (slice(None),) * axis + (slice(1, None),)
            behind = (slice(None),) * axis + (slice(None, -1),)
            change = images[ahead] - images[behind]
            count = max(1, change[0].size)
            value += self.weight * np.sum(np.abs(change).reshape(len(images), -1), axis=-1) / count
            push = np.sign(change) * (self.weight / count)
            slope[ahead] += push
            slope[behind] -= push
        return value, slope.reshape(features.shape)
