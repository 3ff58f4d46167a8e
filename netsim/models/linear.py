"""Linear models: least squares, logistic regression without an intercept, and softmax regression."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.arrays import Array
from netsim.models import layers as entropy
from netsim.models.layers import Dense, backward, flattened, forward, outer, sigmoid, softplus


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
    """ℓ = (1/m) Σ_s [log(1 + e^{z_s}) − t_s z_s], z_s = a_sᵀθ; t_s, the one output, is the probability of +1.

    For a label b = ±1 that is log(1 + exp(−b aᵀθ)).
    """

    width: int
    name = "logistic"
    outputs = 1
    analytic = True
    classes: tuple[float, ...] = (-1.0, 1.0)

    @property
    def dimension(self) -> int:
        return self.width

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        z = self._margins(parameters, features)
        return np.mean(softplus(z) - targets[..., 0] * z, axis=-1)

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        slope = sigmoid(self._margins(parameters, features)) - targets[..., 0]
        return np.einsum("...m,...mp->...p", slope, features) / features.shape[-2]

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        z = self._margins(parameters, features)
        slope = (sigmoid(z) - targets[..., 0]) / features.shape[-2]
        return slope[..., None] * parameters[..., None, :], -z[..., None] / features.shape[-2]

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """[σ'(z) ⟨a, r⟩ θ + (σ(z) − t) r]/m and −⟨a, r⟩/m, r the direction."""
        likely = sigmoid(self._margins(parameters, features))
        along = self._margins(direction, features) / features.shape[-2]
        bent, slope = likely * (1 - likely) * along, (likely - targets[..., 0]) / features.shape[-2]
        by_features = bent[..., None] * parameters[..., None, :] + slope[..., None] * direction[..., None, :]
        return by_features, -along[..., None]

    def targets(self, labels: Array) -> Array:
        return (np.asarray(labels, dtype=np.float64)[..., None] + 1) / 2

    def labels(self, targets: Array) -> Array:
        return np.where(targets[..., 0] >= 0.5, 1.0, -1.0)

    def _margins(self, parameters: Array, features: Array) -> Array:
        return np.einsum("...mp,...p->...m", features, parameters)


@dataclass(frozen=True)
class Softmax:
    """ℓ = (1/m) Σ_s −Σ_c t_sc log p_sc, p = softmax(W a + b); labels are 0 … outputs − 1.

    θ is W (outputs, width), row by row, and then, with an `intercept`, b (outputs,). `first` and `last`, the one
    layer that there is, have the slices.
    """

    width: int
    outputs: int
    intercept: bool = True
    name = "softmax"
    analytic = True

    @property
    def layers(self) -> tuple[Dense, ...]:
        return (self.first,)

    @cached_property
    def first(self) -> Dense:
        """The layer whose inputs are the features."""
        return Dense(0, self.width, self.outputs, self.intercept)

    @property
    def last(self) -> Dense:
        """The layer whose outputs are the logits: the same one."""
        return self.first

    @property
    def dimension(self) -> int:
        return self.outputs * (self.width + self.intercept)

    @property
    def classes(self) -> tuple[float, ...]:
        return tuple(float(c) for c in range(self.outputs))

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return entropy.cross_entropy(self.scores(parameters, features), targets)

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        slope = entropy.cross_entropy_slope(self.scores(parameters, features), targets)
        flat = flattened(outer(slope, features, one_point=parameters.ndim == 1))
        return np.concatenate([flat, np.sum(slope, axis=-2)], axis=-1) if self.intercept else flat

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        logits = self.scores(parameters, features)
        by_features = backward(entropy.cross_entropy_slope(logits, targets), self.first.matrix(parameters))
        return by_features, entropy.cross_entropy_target_slope(logits)

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """The derivative of `input_gradient` as θ moves along the direction, in closed form."""
        logits = self.scores(parameters, features)
        slope, slope_moved, by_targets = entropy.cross_entropy_slope_change(
            logits, targets, self.scores(direction, features)
        )
        matrix, move = self.first.matrix(parameters), self.first.matrix(direction)
        return backward(slope_moved, matrix) + backward(slope, move), by_targets

    def targets(self, labels: Array) -> Array:
        return (np.asarray(labels)[..., None] == np.arange(self.outputs)).astype(np.float64)

    def labels(self, targets: Array) -> Array:
        return np.argmax(targets, axis=-1).astype(np.float64)

    def scores(self, parameters: Array, features: Array) -> Array:
        """The logits, (…, m, outputs); the largest is the likeliest class."""
        return self.first.added(forward(features, self.first.matrix(parameters)), parameters)

    def hessian(self, parameters: Array, features: Array, targets: Array) -> Array:
        """∇²_θ ℓ at the one point θ (dimension,), of the records A (m, width): (dimension, dimension).

        (1/m) Σ_s (Σ_c t_sc)(diag p_s − p_s p_sᵀ) ⊗ ã_s ã_sᵀ, ã = (a, 1) with an intercept.
        """
        shares = entropy.softmax(self.scores(parameters, features))
        mass = np.sum(targets, axis=-1) / len(features)
        rows = np.hstack([features, np.ones((len(features), 1))]) if self.intercept else features
        wide = rows.shape[1]
        blocks = np.empty((self.outputs, wide, self.outputs, wide))
        for c in range(self.outputs):
            for other in range(c, self.outputs):
                weight = mass * shares[:, c] * ((c == other) - shares[:, other])
                blocks[c, :, other] = blocks[other, :, c] = rows.T @ (weight[:, None] * rows)
        place = [c * wide + p for c in range(self.outputs) for p in range(self.width)]
        place += [c * wide + p for c in range(self.outputs) for p in range(self.width, wide)]
        return blocks.reshape(len(place), len(place))[np.ix_(place, place)]
