"""MAP estimates of one record or a small batch from noisy gradients, by Gauss-Newton, with their uncertainty.

With the whitening R of the errors between rounds the mode minimizes

    J(x) = ½ ‖R (G − slope(x) ⊗ x)‖² + ½ (x − m)ᵀ V⁻¹ (x − m).

Its Jacobian is dx ↦ slope ⊗ dx + (S Θ dx) ⊗ x with S_t = ℓ''; the Gauss-Newton matrix is pI + V⁻¹, p = ‖R slope‖²,
and terms whose rank is the number of rounds, so that conjugate gradients with that diagonal need few steps. Points
and gradients are read, never copied per label: all labels are solved at once.

For records x_i and targets τ_i the gradient is (1/m) Σ_i slope_i ⊗ x_i; J is as above, with one more sum, and is
minimized by the same steps: its derivatives here are for x of all records side by side, (rows, hypotheses,
m·entries). A hypothesis is one label for each record.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attacks.reconstruction.attack import Case, Whitener
from netsim.arrays import Array, Mask
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Model, Softmax
from netsim.models.networks import softmax

MODELS = ("linear", "logistic", "softmax")
Positions = NDArray[np.intp]


class Product(NamedTuple):
    """Gradients of agents that hold one record each; a row is one replica of one agent.

    `points` (rows, rounds, outputs, entries) and `gradients` (rows, rounds, outputs, seen): entries of x beyond
    `seen` show in no gradient; `free` (entries,) are unknown, the others fixed. `between` (rows, rounds, rounds): R
    of each row, of the mean covariance where coordinates have their own; these are in `own` (dimension, rounds,
    rounds), and there is one agent then. `unit` (rows,): as in `Whitener`.
    """

    model: Model
    points: Array
    gradients: Array
    free: Mask
    between: Array
    unit: Array
    own: Array | None

    @property
    def seen(self) -> int:
        return self.gradients.shape[-1]

    @property
    def entries(self) -> int:
        return self.points.shape[-1]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> "Product":
        """Product of cases with one linear, logistic or softmax model, as many rounds, and, where there are several,
        one covariance for all coordinates of each. You get an `AttackError` for another model."""
        model = cases[0].known.model
        gradients = _rows([case.evidence.without(case.known.penalty) for case in cases])
        points = _rows([case.evidence.points for case in cases])
        whiteners = [Whitener.of(case.evidence) for case in cases]
        counts = [case.evidence.replicas for case in cases]
        unit = np.concatenate([w.unit for w in whiteners])
        between = np.repeat(np.array([w.between for w in whiteners]), counts, axis=0)
        own = None if whiteners[0].common else whiteners[0].factor
        free = np.ones(model.width, dtype=np.bool_)
        if isinstance(model, Softmax):
            free = np.append(free, False) if model.intercept else free
            points, gradients = with_intercept(model, points), with_intercept(model, gradients)
            return cls(model, points, gradients, free, between, unit, own)
        if not isinstance(model, Linear | Logistic):
            raise AttackError(f"gradients of a {model.name} model are no product of slope and record")
        if isinstance(model, Linear):
            points = np.concatenate([points, np.full((*points.shape[:-1], 1), -1.0)], axis=-1)
            free = np.append(free, cases[0].known.labels is None)
        return cls(model, points[:, :, None], gradients[:, :, None], free, between, unit, own)

    def only(self, rows: Positions) -> "Product":
        """Some of the rows."""
        points, gradients, between, unit = (v[rows] for v in (self.points, self.gradients, self.between, self.unit))
        return self._replace(points=points, gradients=gradients, between=between, unit=unit)

    def slope(self, logits: Array, targets: Array) -> Array:
        """ℓ' of logits and targets (…, outputs)."""
        if isinstance(self.model, Linear):
            return self.model.scale * logits
        if isinstance(self.model, Logistic):
            return expit(logits) - targets
        return softmax(logits) - targets

    def bend(self, logits: Array) -> Callable[[Array], Array]:
        """v ↦ ℓ'' v, symmetric, (…, outputs)."""
        if isinstance(self.model, Linear):
            scale = self.model.scale
            return lambda v: scale * v
        if isinstance(self.model, Logistic):
            weight = expit(logits) * expit(-logits)
            return lambda v: weight * v
        p = softmax(logits)
        return lambda v: p * (v - np.sum(p * v, axis=-1, keepdims=True))


def _rows(values: Sequence[Array]) -> Array:
    """(rounds, replicas, dimension) of each case to (rows, rounds, dimension), contiguous."""
    if len(values) == 1:
        return np.ascontiguousarray(np.moveaxis(values[0], 0, 1))
    return np.concatenate([np.moveaxis(one, 0, 1) for one in values])


def with_intercept(model: Softmax, vectors: Array) -> Array:
    """(…, dimension) as (…, outputs, width), or with a last column for the intercept."""
    layer = model.layers[0]
    matrix = layer.matrix(vectors)
    return np.concatenate([matrix, layer.offset(vectors)[..., None]], axis=-1) if model.intercept else matrix


FEW = 4
"""Hypotheses: for so many, a product of each alone is faster than one of all."""
STEPS, INNER = 40, 25
"""Gauss-Newton steps, and of conjugate gradients in each, at most."""
TOLERANCE = 0.1
"""Relative, of conjugate gradients."""
SHORTER = 20
"""Times that a step that raises J is made four times shorter."""
ROUNDED = 1e-13
"""Share of ‖RG‖²: J is not known better."""
SETTLED, EXACT = 1e-4, 1e-10
"""Converged: the step is so small in units of the posterior deviation, or relative to the record."""


class Gaussian(NamedTuple):
    """A prior of x for each hypothesis: `mean`, `precision` (hypotheses, entries); precision 0 is none."""

    mean: Array
    precision: Array


class _Place(NamedTuple):
    """J and its derivatives at some x: `value` (rows, hypotheses), `gradient` (…, entries), `product`, the
    Gauss-Newton matrix times a vector, and `diagonal`, its part that is one, both (…, entries)."""

    value: Array
    gradient: Array
    product: Callable[[Array], Array]
    diagonal: Array
    strength: Array
    """p of each observed entry, (rows, hypotheses, entries)."""


@dataclass(frozen=True)
class MAPEstimate:
    """`record` (rows, hypotheses, entries) with its `value` J, the data's `strength` p of each entry, whether the
    optimizer `converged`, and `reach`, what its last step promised to take off J, (rows, hypotheses)."""

    record: Array
    value: Array
    strength: Array
    converged: Mask
    reach: Array

    def put(self, rows: Positions, hypotheses: Positions, other: "MAPEstimate") -> None:
        """Put in the estimates of `other` for one hypothesis of some rows."""
        for mine, its in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[rows, hypotheses] = its[:, 0]

    def improve(self, rows: Positions, other: "MAPEstimate") -> None:
        """Put in the estimates of `other` for some rows, where its J is lower."""
        better = other.value < self.value[rows]
        for mine, its in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[rows] = np.where(better.reshape(*better.shape, *[1] * (its.ndim - 2)), its, mine[rows])


class Common:
    """J where one covariance serves every coordinate: what is computed once is R G, and no residual is formed."""

    def __init__(self, product: Product, targets: Array, prior: Gaussian) -> None:
        """`targets` (hypotheses, outputs), ignored where they are unknown."""
        self.it, self.targets = product, targets[None, :, None]
        self.prior = Gaussian(prior.mean[None], prior.precision[None])
        rows, rounds, outputs, _ = product.points.shape
        factor = product.between / product.unit[:, None, None]
        diagonal = np.einsum("rtt->rt", factor)
        lone = np.count_nonzero(factor) == np.count_nonzero(diagonal)
        self.factor = np.ascontiguousarray(diagonal) if lone else factor
        self.points = product.points.reshape(rows, rounds * outputs, product.entries)
        flat = product.gradients.reshape(rows, rounds, -1)
        white = self.factor[..., None] * flat if lone else np.matmul(factor, flat)
        self.white = white.reshape(rows, rounds * outputs, product.seen)
        numbers = self.white.reshape(rows, -1)
        self.total = np.matmul(numbers[:, None], numbers[:, :, None])[:, 0]
        self.slack = ROUNDED * self.total

    def only(self, rows: Positions, hypotheses: Positions) -> "Common":
        """One hypothesis for each of some rows."""
        found = copy(self)
        if len(rows) < len(self.points):
            found.points, found.white, found.factor = self.points[rows], self.white[rows], self.factor[rows]
            found.total, found.slack = self.total[rows], self.slack[rows]
        found.targets = self.targets[0, hypotheses, None]
        found.prior = Gaussian(*(part[0, hypotheses, None] for part in self.prior))
        return found

    def at(self, x: Array) -> _Place:
        seen, it = self.it.seen, self.it
        a = x[..., :seen]
        logits = self._forward(self.points, x)
        bend = it.bend(logits)
        slope = self._whiten(it.slope(logits, self.targets))
        size = np.sum(a * a, axis=-1)
        strength = np.sum(slope * slope, axis=(-2, -1))
        observed = self._forward(self.white, a)
        value = 0.5 * (self.total - 2 * np.sum(slope * observed, axis=(-2, -1)) + strength * size)
        gradient = self._back(self.points, bend(self._unwhiten(slope * size[..., None, None] - observed)))
        gradient[..., :seen] += strength[..., None] * a - self._back(self.white, slope)
        off = x - self.prior.mean
        value = value + 0.5 * np.sum(self.prior.precision * off * off, axis=-1)
        gradient += self.prior.precision * off
        spread = np.zeros_like(x)
        spread[..., :seen] = strength[..., None]

        def product(d: Array) -> Array:
            moved = self._whiten(bend(self._forward(self.points, d)))
            along = np.sum(d[..., :seen] * a, axis=-1)[..., None, None]
            found = self._back(self.points, bend(self._unwhiten(slope * along + moved * size[..., None, None])))
            found[..., :seen] += np.sum(slope * moved, axis=(-2, -1))[..., None] * a
            return (found + (spread + self.prior.precision) * d) * it.free

        return _Place(value, gradient * it.free, product, spread + self.prior.precision, spread)

    def factors(self, x: Array, replica: int, hypothesis: int) -> tuple[Array, Array, float]:
        """B (rows, entries), a (entries,) and p of the Gauss-Newton matrix pI + V⁻¹ + BᵀB − (p/‖a‖²) aaᵀ at x."""
        a = np.where(np.arange(len(x)) < self.it.seen, x, 0.0)
        logits = (self.points[replica] @ x).reshape(-1, self.it.points.shape[2])
        white = self.factor[replica] if self.factor.ndim == 3 else np.diag(self.factor[replica])
        slope = (white @ self.it.slope(logits, self.targets[0, hypothesis])).ravel()
        bend = np.moveaxis(
            self.it.bend(logits)(np.eye(logits.shape[1])[:, None]), 0, -1
        )  # (rounds, outputs, outputs)
        turned = np.einsum("tcd,tdn->tcn", bend, self.it.points[replica])
        bent = np.einsum("st,tcn->scn", white, turned).reshape(len(slope), -1)
        size = float(np.linalg.norm(a))
        return size * (bent + np.outer(slope, a) / size**2), a, float(slope @ slope)

    def _forward(self, matrix: Array, x: Array) -> Array:
        """Matrix times x, (rows, hypotheses, rounds, outputs)."""
        if x.shape[1] <= FEW:
            found = np.matmul(matrix[:, None], x[..., None])
        else:
            found = np.matmul(x, matrix.swapaxes(-1, -2))
        return found.reshape(*x.shape[:2], -1, self.it.points.shape[2])

    def _back(self, matrix: Array, values: Array) -> Array:
        """Transposed matrix times values (rows, hypotheses, rounds, outputs), (rows, hypotheses, entries)."""
        flat = values.reshape(*values.shape[:2], -1)
        few = len(flat[0]) <= FEW
        return np.matmul(flat[:, :, None], matrix[:, None])[:, :, 0] if few else np.matmul(flat, matrix)

    def _whiten(self, values: Array) -> Array:
        """R times values (rows, hypotheses, rounds, outputs)."""
        if self.factor.ndim == 2:
            return self.factor[:, None, :, None] * values
        return np.einsum("rst,rltc->rlsc", self.factor, values)

    def _unwhiten(self, values: Array) -> Array:
        """Rᵀ times values (rows, hypotheses, rounds, outputs)."""
        if self.factor.ndim == 2:
            return self.factor[:, None, :, None] * values
        return np.einsum("rst,rlsc->rltc", self.factor, values)


class Weighted:
    """J of any number of records, and where coordinates have covariances of their own; `root` and `back` are R and
    Rᵀ on residuals (rows, hypotheses, rounds, outputs, seen). Residuals are formed: slower, and exact for tiny noise
    too. `targets` (hypotheses, records, outputs); `prior` of x of all records side by side."""

    def __init__(self, product: Product, targets: Array, prior: Gaussian, weights: Array | None = None) -> None:
        """With the evidence's covariance between rounds, or one weight 1/deviation for every number, (rows,
        hypotheses, rounds, outputs, seen)."""
        self.it, self.records, self.targets = product, targets.shape[1], targets[None, :, None]
        self.prior = Gaussian(prior.mean[None], prior.precision[None])
        self.slack = np.zeros((1, 1))
        self.free = np.tile(product.free, self.records)

        def weighed(m: Array) -> Array:
            return m if weights is None else weights * m

        self.root, self.back = _whitening(product) if weights is None else (weighed, weighed)

    def residual(self, x: Array) -> Array:
        """G − (1/m) Σ slope ⊗ x, (rows, hypotheses, rounds, outputs, seen)."""
        x = self._apart(x)
        slope = self.it.slope(self._logits(x), self.targets) / self.records
        return self.it.gradients[:, None] - _outer(slope, x[..., : self.it.seen])

    def at(self, x: Array) -> _Place:
        it, m, seen = self.it, self.records, self.it.seen
        off, x = x - self.prior.mean, self._apart(x)
        a = x[..., :seen]
        logits = self._logits(x)
        bend, slope = it.bend(logits), it.slope(logits, self.targets) / m
        white = self.root(it.gradients[:, None] - _outer(slope, a))
        value = 0.5 * np.sum(white**2, axis=(-3, -2, -1)) + 0.5 * np.sum(self.prior.precision * off * off, axis=-1)

        def adjoint(e: Array) -> Array:
            turned = bend(np.einsum("rltcp,rlmp->rltmc", e, a, optimize=True)) / m
            found = np.einsum("rltmc,rtcn->rlmn", turned, it.points, optimize=True)
            found[..., :seen] += np.einsum("rltmc,rltcp->rlmp", slope, e, optimize=True)
            return found.reshape(off.shape)

        def forward(d: Array) -> Array:
            d = d.reshape(x.shape)
            return _outer(slope, d[..., :seen]) + _outer(bend(self._logits(d)) / m, a)

        def product(d: Array) -> Array:
            return (adjoint(self.back(self.root(forward(d)))) + self.prior.precision * d) * self.free

        spread = np.zeros_like(x)
        for i in range(m):
            lifted = self.root(np.broadcast_to(slope[:, :, :, i, :, None], white.shape))
            spread[:, :, i, :seen] = np.sum(lifted**2, axis=(-3, -2))
        spread = spread.reshape(off.shape)
        gradient = (-adjoint(self.back(white)) + self.prior.precision * off) * self.free
        return _Place(value, gradient, product, spread + self.prior.precision, spread)

    def _apart(self, x: Array) -> Array:
        return x.reshape(*x.shape[:2], self.records, self.it.entries)

    def _logits(self, x: Array) -> Array:
        return np.einsum("rlmn,rtcn->rltmc", x, self.it.points, optimize=True)


def _outer(slope: Array, x: Array) -> Array:
    """Σ slope ⊗ x over records: (rows, hypotheses, rounds, records, outputs) by (…, records, seen)."""
    return np.einsum("rltmc,rlmp->rltcp", slope, x, optimize=True)


def _whitening(product: Product) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """R and Rᵀ of residuals (rows, hypotheses, rounds, outputs, seen)."""
    if product.own is None:
        common = product.between / product.unit[:, None, None]
        return (
            lambda e: np.einsum("rst,rltcp->rlscp", common, e, optimize=True),
            lambda e: np.einsum("rst,rlscp->rltcp", common, e, optimize=True),
        )
    factor, model = product.own, product.model
    if isinstance(model, Softmax) and model.intercept:  # coordinates in the order of the product
        order = with_intercept(model, np.arange(model.dimension, dtype=np.float64)).astype(np.int64)
        factor = factor[order.ravel()]
    shaped = factor.reshape(product.points.shape[2], product.seen, *factor.shape[1:])
    return (lambda e: np.einsum("cpst,rltcp->rlscp", shaped, e), lambda e: np.einsum("cpst,rlscp->rltcp", shaped, e))


def objective(product: Product, targets: Array, prior: Gaussian) -> Common | Weighted:
    """J of one record, in the cheapest form that is exact; `targets` (hypotheses, outputs)."""
    return Common(product, targets, prior) if product.own is None else Weighted(product, targets[:, None], prior)


class _Objective(Protocol):
    """J; `slack`: by how much rounding may raise it, (rows, 1)."""

    slack: Array

    def at(self, x: Array) -> _Place: ...


def minimize(j: _Objective, start: Array, steps: int = STEPS) -> MAPEstimate:
    """Minimize from `start` (rows, hypotheses, entries) by damped Gauss-Newton steps that never raise J.

    Each row and hypothesis goes its own way: its bits do not depend on how many others there are.
    """
    x = start.copy()
    place = j.at(x)
    done = np.zeros(x.shape[:2], dtype=np.bool_)
    settled, reach = done.copy(), np.zeros(done.shape)
    for _ in range(steps):
        direction = np.where(done[..., None], 0.0, _conjugate_gradients(place, done))
        reach = np.where(done, reach, -np.sum(direction * place.gradient, axis=-1))
        small = _small(direction, x, place)
        trial, length = x + direction, np.ones(done.shape)
        ahead = j.at(trial)
        worse = ~(ahead.value <= place.value + j.slack) & ~done
        for _ in range(SHORTER):  # the first of 4⁻ᵏ that does not raise J, for each row
            if not worse.any():
                break
            length = np.where(worse, length / 4, length)
            trial = x + length[..., None] * direction
            ahead = j.at(trial)
            worse = ~(ahead.value <= place.value + j.slack) & ~done
        done |= worse
        x = np.where(done[..., None], x, trial)
        settled |= ~done & small
        done |= settled
        place = j.at(x) if worse.any() else ahead
        if done.all():
            break
    stopped = done & ~settled
    if stopped.any():
        settled |= stopped & _small(_conjugate_gradients(place, ~stopped), x, place, 1e2)
    return MAPEstimate(x, place.value, place.strength, settled, reach)


def _small(step: Array, x: Array, place: _Place, slack: float = 1.0) -> Mask:
    """Whether a step matters neither to the posterior nor to the digits of x."""
    spread = np.sqrt(np.sum(step * step * place.diagonal, axis=-1) / x.shape[-1])
    return (spread <= slack * SETTLED) | (np.linalg.norm(step, axis=-1) <= slack * EXACT * np.linalg.norm(x, axis=-1))


def _conjugate_gradients(place: _Place, done: Mask) -> Array:
    """−(Gauss-Newton)⁻¹ gradient, to `TOLERANCE`; rows that are done stay 0."""
    scale = 1 / np.where(place.diagonal > 0, place.diagonal, np.max(place.diagonal, axis=-1, keepdims=True) + 1e-300)
    residual = -place.gradient
    found = np.zeros_like(residual)
    precise = scale * residual
    direction = precise.copy()
    rho = np.sum(residual * precise, axis=-1)
    enough = TOLERANCE**2 * rho
    active = ~done & (rho > 0)
    for _ in range(INNER):
        if not active.any():
            break
        image = place.product(direction)
        curvature = np.sum(direction * image, axis=-1)
        step = np.where(active & (curvature > 0), rho / np.where(curvature > 0, curvature, 1.0), 0.0)[..., None]
        found += step * direction
        residual = residual - step * image
        precise = scale * residual
        new = np.sum(residual * precise, axis=-1)
        active &= (new > enough) & (curvature > 0)
        direction = precise + (new / np.where(rho > 0, rho, 1.0))[..., None] * direction
        rho = new
    return found


SMALL = 128
"""Entries up to which all singular vectors are computed."""


def posterior_deviation(j: Common | Weighted, mode: MAPEstimate, chosen: Positions) -> Array:
    """Standard deviations of the chosen hypothesis, (rows, entries); 0 of what is fixed.

    Exact for a Gaussian posterior; never above the prior's, which is the answer where rounding leaves none. Where
    coordinates have covariances of their own, slopes are taken as known: the deviations are then a little too small.
    """
    rows = np.arange(len(chosen))
    precision = j.prior.precision.reshape(-1, j.it.entries)[chosen]
    diagonal = mode.strength[rows, chosen] + precision
    if not isinstance(j, Common):
        return np.where(j.it.free, 1 / np.sqrt(np.where(diagonal > 0, diagonal, np.inf)), 0.0)
    found = np.zeros_like(diagonal)
    free = j.it.free
    for r, k in enumerate(chosen):
        x = mode.record[r, k]
        bent, a, p = j.factors(x, r, int(k))
        before = 1 / np.where(precision[r, free] > 0, precision[r, free], np.finfo(np.float64).tiny)
        size = float(x[: j.it.seen] @ x[: j.it.seen])
        variance = before
        if size > 0 and np.all(np.isfinite(bent)) and np.all(np.isfinite(x)) and np.all(diagonal[r, free] > 0):
            variance = _inverse_diagonal(diagonal[r, free], bent[:, free], a[free], p / size)
        found[r, free] = np.sqrt(np.clip(variance, 0.0, before))
    return found


def _inverse_diagonal(d: Array, b: Array, a: Array, c: float) -> Array:
    """Diagonal of the inverse of D + BᵀB − c aaᵀ, for D > 0, by the singular values of BD^(−1/2), whatever their
    size."""
    root = np.sqrt(d)
    _, sizes, axes = np.linalg.svd(b / root, full_matrices=len(b) < len(d) <= SMALL)
    squares = np.zeros(len(axes))
    squares[: len(sizes)] = sizes**2
    if len(axes) == len(d):  # nothing cancels
        light = axes.T / (1 + squares)
        inverse, moved = np.sum(axes.T * light, axis=1) / d, light @ (axes @ (a / root)) / root
    else:
        light = axes.T * (squares / (1 + squares))
        inverse, moved = (1 - np.sum(axes.T * light, axis=1)) / d, (a / root - light @ (axes @ (a / root))) / root
    left = 1 - c * float(a @ moved)
    return np.where(left > 0, inverse + c * moved**2 / (left if left > 0 else 1.0), np.inf)
