"""One record's gradients as a product of slope and record, for the models where they are one.

For one record x the gradient at θ_t is slope_t ⊗ x, with slope_t = ℓ'(θ_t x) of every output: a residual (linear),
σ(θᵀa) − τ (logistic), softmax − τ (softmax).

The record is written with what belongs to it: x = (a, 1) for a model with an intercept, where the last entry is
fixed; x = (a, t) for least squares with an unknown target t, whose entry no gradient shows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attacks.reconstruction.attack import Case
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array, Mask
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Model, Softmax

MODELS = ("linear", "logistic", "softmax")


class Product(NamedTuple):
    """What the gradients of agents are, each for one record; a row is one replica of one agent.

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
        """Of cases with one linear, logistic or softmax model, as many rounds, and, where there are several, one
        covariance for all coordinates of each. You get an `AttackError` for another model."""
        model = cases[0].known.model
        gradients = _rows([case.evidence.without(case.known.penalty) for case in cases])
        points = _rows([case.evidence.points for case in cases])
        whiteners = [Whitener.of(case.evidence) for case in cases]
        counts = [case.evidence.replicas for case in cases]
        unit = np.concatenate([w.unit for w in whiteners])
        between = np.repeat(np.array([w.between for w in whiteners]), counts, axis=0)
        own = None if whiteners[0].common else whiteners[0].factor
        free = np.ones(model.width, dtype=np.bool_)
        if isinstance(model, Linear):
            ones = np.full((*points.shape[:-1], 1), -1.0)
            points = np.concatenate([points, ones], axis=-1)
            known = cases[0].known.labels is not None
            return cls(
                model, points[:, :, None], gradients[:, :, None], np.append(free, not known), between, unit, own
            )
        if isinstance(model, Logistic):
            return cls(model, points[:, :, None], gradients[:, :, None], free, between, unit, own)
        if isinstance(model, Softmax):
            free = np.append(free, False) if model.intercept else free
            points, gradients = with_intercept(model, points), with_intercept(model, gradients)
            return cls(model, points, gradients, free, between, unit, own)
        raise AttackError(f"gradients of a {model.name} model are no product of slope and record")

    def only(self, rows: NDArray[np.intp]) -> "Product":
        """Some of the rows."""
        parts = self.points[rows], self.gradients[rows], self.free, self.between[rows], self.unit[rows], self.own
        return Product(self.model, *parts)

    def slope(self, logits: Array, targets: Array) -> Array:
        """ℓ' of logits and targets (…, outputs)."""
        if isinstance(self.model, Linear):
            return self.model.scale * logits
        if isinstance(self.model, Logistic):
            return expit(logits) - targets
        return _softmax(logits) - targets

    def bend(self, logits: Array) -> Callable[[Array], Array]:
        """v ↦ ℓ'' v, symmetric, (…, outputs)."""
        if isinstance(self.model, Linear):
            scale = self.model.scale
            return lambda v: scale * v
        if isinstance(self.model, Logistic):
            weight = expit(logits) * expit(-logits)
            return lambda v: weight * v
        p = _softmax(logits)
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


def _softmax(logits: Array) -> Array:
    raised = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return raised / np.sum(raised, axis=-1, keepdims=True)
