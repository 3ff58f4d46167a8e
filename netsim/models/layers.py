"""Layers: dense layers and their products, activations with two derivatives, and the cross-entropy.

ℓ = (1/m) Σ_s −Σ_c t_sc log p_sc, p = softmax(z), of logits z (…, m, C) and targets t.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from netsim.arrays import Array

ActivationName = Literal["sigmoid", "tanh", "softplus", "relu"]


@dataclass(frozen=True)
class Activation:
    """`value` of z; `slope` of (z, value), the first derivative; `bend` of (z, value, slope), the second.

    `analytic`: whether it is.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    bend: Callable[[Array, Array, Array], Array]
    analytic: bool = True


def sigmoid(z: Array) -> Array:
    """1/(1 + e^{−z}), of complex z too."""
    return 0.5 * (1 + np.tanh(z / 2)) if np.iscomplexobj(z) else expit(z)


def softplus(z: Array) -> Array:
    """log(1 + e^z), of complex z too."""
    if not np.iscomplexobj(z):
        return np.logaddexp(0.0, z)
    sign = np.where(np.real(z) > 0, 1.0, -1.0)
    return np.where(np.real(z) > 0, z, 0.0) + np.log1p(np.exp(-sign * z))


def _relu(z: Array) -> Array:
    return np.where(np.real(z) > 0, z, 0.0)


ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": Activation(
        sigmoid,
        lambda z, a: a * (1 - a),  # noqa: ARG005
        lambda z, a, s: s * (1 - 2 * a),  # noqa: ARG005
    ),
    "tanh": Activation(
        np.tanh,
        lambda z, a: 1 - a**2,  # noqa: ARG005
        lambda z, a, s: -2 * a * s,  # noqa: ARG005
    ),
    "softplus": Activation(
        softplus,
        lambda z, a: sigmoid(z),  # noqa: ARG005
        lambda z, a, s: s * (1 - s),  # noqa: ARG005
    ),
    "relu": Activation(
        _relu,
        lambda z, a: (np.real(z) > 0).astype(np.float64),  # noqa: ARG005
        lambda z, a, s: np.zeros_like(s),  # noqa: ARG005
        analytic=False,
    ),
}
"""By name. A relu's derivative at 0 is taken to be 0."""


def _shifted(logits: Array) -> Array:
    return logits - np.maximum.reduce(np.real(logits), axis=-1, keepdims=True)


def _log_softmax(logits: Array) -> Array:
    """Of the last axis."""
    shifted = _shifted(logits)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=-1, keepdims=True))


def softmax(logits: Array) -> Array:
    """Of the last axis."""
    powers = np.exp(_shifted(logits))
    return powers / np.add.reduce(powers, axis=-1, keepdims=True)


def cross_entropy(logits: Array, targets: Array) -> Array:
    """ℓ, of shape (…)."""
    return -np.mean(np.sum(targets * _log_softmax(logits), axis=-1), axis=-1)


def cross_entropy_slope(logits: Array, targets: Array) -> Array:
    """∂ℓ/∂z = (p Σ_c t_c − t)/m, of shape (…, m, C)."""
    return _slope(softmax(logits), targets)


def cross_entropy_target_slope(logits: Array) -> Array:
    """∂ℓ/∂t = −log p / m, of shape (…, m, C)."""
    return -_log_softmax(logits) / logits.shape[-2]


def cross_entropy_slope_change(logits: Array, targets: Array, motion: Array) -> tuple[Array, Array, Array]:
    """∂ℓ/∂z, and how it and ∂ℓ/∂t change as z moves along `motion`, ż: by ṗ Σ_c t_c / m and −(ż − ⟨p, ż⟩)/m, where
    ṗ = p (ż − ⟨p, ż⟩)."""
    shares = softmax(logits)
    centred = (motion - np.add.reduce(shares * motion, axis=-1, keepdims=True)) / logits.shape[-2]
    mass = np.add.reduce(targets, axis=-1, keepdims=True)
    return _slope(shares, targets), shares * centred * mass, -centred


def _slope(shares: Array, targets: Array) -> Array:
    return (shares * np.add.reduce(targets, axis=-1, keepdims=True) - targets) / shares.shape[-2]


@dataclass(frozen=True)
class Dense:
    """z = W a + b; W is (outputs, inputs). θ holds W row by row from `start` on and, with a `bias`, b behind it.

    `weights` and `intercept` are the slices of θ, or of a gradient of θ; an attack on a dense layer divides by the
    intercept's part.
    """

    start: int
    inputs: int
    outputs: int
    bias: bool = True

    @property
    def stop(self) -> int:
        return self.start + self.outputs * (self.inputs + self.bias)

    @property
    def weights(self) -> slice:
        return slice(self.start, self.start + self.outputs * self.inputs)

    @property
    def intercept(self) -> slice:
        """Empty without a bias."""
        return slice(self.start + self.outputs * self.inputs, self.stop)

    def matrix(self, parameters: Array) -> Array:
        """W of θ, or its part of a gradient: (…, outputs, inputs)."""
        return parameters[..., self.weights].reshape(*parameters.shape[:-1], self.outputs, self.inputs)

    def offset(self, parameters: Array) -> Array:
        """b of θ, or its part of a gradient: (…, outputs), or (…, 0) without a bias."""
        return parameters[..., self.intercept]

    def row(self, parameters: Array) -> Array:
        """b as a row to add to (…, m, outputs); 0 without a bias."""
        return parameters[..., None, self.intercept] if self.bias else np.zeros((1, self.outputs))

    def added(self, products: Array, parameters: Array) -> Array:
        """The intercept on top of W a: (…, m, outputs)."""
        return products + parameters[..., None, self.intercept] if self.bias else products


def forward(features: Array, matrix: Array) -> Array:
    """A Wᵀ: (…, m, p) and (…, h, p) give (…, m, h)."""
    if matrix.ndim > 2:
        return np.einsum("...mp,...hp->...mh", features, matrix, order="C")
    return _flat(features, matrix.T)


def backward(slope: Array, matrix: Array) -> Array:
    """S W: (…, m, h) and (…, h, p) give (…, m, p)."""
    if matrix.ndim > 2:
        return np.einsum("...mh,...hp->...mp", slope, matrix, order="C")
    return _flat(slope, matrix)


def outer(slope: Array, features: Array, *, one_point: bool) -> Array:
    """SᵀA: (…, m, h) and (…, m, p) give (…, h, p); `one_point` where the parameters have no leading axes."""
    if slope.shape[-2] == features.shape[-2] == 1:
        return np.swapaxes(slope, -1, -2) * features
    if one_point:
        return np.matmul(np.swapaxes(slope, -1, -2), features)
    return np.einsum("...mh,...mp->...hp", slope, features, order="C")


def flattened(matrix: Array) -> Array:
    """(…, h, p) as (…, h p), row by row."""
    return matrix.reshape(*matrix.shape[:-2], matrix.shape[-2] * matrix.shape[-1])


def _flat(rows: Array, matrix: Array) -> Array:
    """rows @ matrix, all leading axes in one product."""
    if rows.ndim <= 2:
        return rows @ matrix
    return (rows.reshape(-1, rows.shape[-1]) @ matrix).reshape(*rows.shape[:-1], matrix.shape[-1])
