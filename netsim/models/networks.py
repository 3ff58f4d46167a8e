"""Networks of dense layers with a softmax output: softmax regression, and the MLP.

ℓ = (1/m) Σ_s −Σ_c t_sc log p_sc, p = softmax(z), of logits z (…, m, C) and targets t; gradients by hand, and
pullbacks of a gradient to its records.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from netsim.arrays import Array, product, unknown, whole
from netsim.errors import ScenarioError
from netsim.models.model import Model, mixed_gradient, sigmoid, softplus

ActivationName = Literal["sigmoid", "tanh", "softplus", "relu"]


@dataclass(frozen=True)
class _Activation:
    """`value` of z; `slope` of (z, value), the first derivative; `bend` of (z, value, slope), the second.

    `analytic`: whether it is.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    bend: Callable[[Array, Array, Array], Array]
    analytic: bool = True


ACTIVATIONS: dict[str, _Activation] = {
    "sigmoid": _Activation(
        sigmoid,
        lambda z, a: a * (1 - a),  # noqa: ARG005
        lambda z, a, s: s * (1 - 2 * a),  # noqa: ARG005
    ),
    "tanh": _Activation(
        np.tanh,
        lambda z, a: 1 - a**2,  # noqa: ARG005
        lambda z, a, s: -2 * a * s,  # noqa: ARG005
    ),
    "softplus": _Activation(
        softplus,
        lambda z, a: sigmoid(z),  # noqa: ARG005
        lambda z, a, s: s * (1 - s),  # noqa: ARG005
    ),
    "relu": _Activation(
        lambda z: np.where(np.real(z) > 0, z, 0.0),
        lambda z, a: (np.real(z) > 0).astype(np.float64),  # noqa: ARG005
        lambda z, a, s: np.zeros_like(s),  # noqa: ARG005
        analytic=False,
    ),
}
"""By name. A relu's derivative at 0 is taken to be 0."""


def _shifted(logits: Array) -> Array:
    return logits - np.maximum.reduce(np.real(logits), axis=-1, keepdims=True)


def log_softmax(logits: Array) -> Array:
    """Of the last axis."""
    shifted = _shifted(logits)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=-1, keepdims=True))


def softmax(logits: Array) -> Array:
    """Of the last axis."""
    powers = np.exp(_shifted(logits))
    return powers / np.add.reduce(powers, axis=-1, keepdims=True)


def entropy_slope(shares: Array, targets: Array) -> Array:
    """∂ℓ/∂z = (p Σ_c t_c − t)/m, of shape (…, m, C)."""
    return (shares * np.add.reduce(targets, axis=-1, keepdims=True) - targets) / shares.shape[-2]


Pullback = Callable[[Array], tuple[Array, Array]]
"""direction (…, dimension) → ∂⟨direction, ∇_θ ℓ⟩ by features (…, m, width) and by targets (…, m, outputs)."""


def with_pullback(model: Model, parameters: Array, features: Array, targets: Array) -> tuple[Array, Pullback]:
    """∇_θ ℓ (…, dimension) at real arguments, and its pullback: the model's own, in one pass, where it has one.
    Leading axes broadcast."""
    own: Callable[..., tuple[Array, Pullback]] | None = getattr(model, "with_pullback", None)
    if own is not None:
        return own(parameters, features, targets)
    held = model.gradient(parameters, features, targets)
    return held, lambda direction: mixed_gradient(model, parameters, features, targets, direction)


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

    def added(self, products: Array, parameters: Array) -> Array:
        """The intercept on top of W a: (…, m, outputs)."""
        return products + parameters[..., None, self.intercept] if self.bias else products


def _forward(features: Array, matrix: Array) -> Array:
    """A Wᵀ: (…, m, p) and (…, h, p) give (…, m, h)."""
    if matrix.ndim > 2:
        return product(features, np.swapaxes(matrix, -1, -2))
    return _flat(features, matrix.T)


def _backward(slope: Array, matrix: Array) -> Array:
    """S W: (…, m, h) and (…, h, p) give (…, m, p)."""
    if matrix.ndim > 2:
        return product(slope, matrix)
    return _flat(slope, matrix)


def _flat(rows: Array, matrix: Array) -> Array:
    """rows @ matrix, all leading axes in one product."""
    if rows.ndim <= 2:
        return rows @ matrix
    return (rows.reshape(-1, rows.shape[-1]) @ matrix).reshape(*rows.shape[:-1], matrix.shape[-1])


class _Classifier(ABC):
    """A model of records in classes 0 … outputs − 1; targets are their probabilities."""

    @cached_property
    @abstractmethod
    def last(self) -> Dense:
        """The layer whose outputs are the logits."""

    @property
    def dimension(self) -> int:
        return self.last.stop

    @property
    def classes(self) -> tuple[float, ...]:
        return tuple(float(c) for c in range(self.last.outputs))

    def targets(self, labels: Array) -> Array:
        return (np.asarray(labels)[..., None] == np.arange(self.last.outputs)).astype(np.float64)

    def labels(self, targets: Array) -> Array:
        return np.argmax(targets, axis=-1).astype(np.float64)


class Drawn(_Classifier):
    """A classifier that with a `seed` counts its parameters from a public random point, θ = `origin` + parameters."""

    seed: int | None

    def check_seed(self) -> None:
        if self.seed is not None:
            whole(self.seed, "seed", 0)

    @cached_property
    def origin(self) -> Array:
        """The θ that parameters of 0 stand for, (dimension,), read-only: `drawn` by the seed, or 0."""
        theta = np.zeros(self.dimension) if self.seed is None else self.drawn(np.random.default_rng(self.seed))
        theta.setflags(write=False)
        return theta

    def from_origin(self, parameters: Array) -> Array:
        """θ."""
        return parameters if self.seed is None else self.origin + parameters

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> Array:
        """A random θ (dimension,)."""


class _Network(_Classifier):
    """Dense layers with an activation between them."""

    @cached_property
    @abstractmethod
    def layers(self) -> tuple[Dense, ...]:
        """From the input on."""

    @cached_property
    def activations(self) -> tuple[_Activation, ...]:
        """φ after each layer but the last."""
        return ()

    @property
    def first(self) -> Dense:
        """The layer whose inputs are the features."""
        return self.layers[0]

    @cached_property
    def last(self) -> Dense:
        return self.layers[-1]

    def from_origin(self, parameters: Array) -> Array:
        """θ."""
        return parameters

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return -np.mean(np.sum(targets * log_softmax(self.scores(parameters, features)), axis=-1), axis=-1)

    def scores(self, parameters: Array, features: Array) -> Array:
        """The logits, (…, m, outputs); the largest is the likeliest class."""
        return self.passed(parameters, features).sums[-1]

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        run = self.passed(parameters, features)
        slope = entropy_slope(softmax(run.sums[-1]), targets)
        found = np.empty((*slope.shape[:-2], self.dimension), dtype=slope.dtype)
        for index, layer in reversed(list(enumerate(self.layers))):
            matrix = layer.matrix(found)  # a view
            entering, turned = run.inputs[index], np.swapaxes(slope, -1, -2)
            if slope.shape[-2] == entering.shape[-2] == 1:
                matrix[...] = turned * entering
            else:
                matrix[...] = product(turned, entering)
            if layer.bias:
                layer.offset(found)[...] = np.sum(slope, axis=-2)
            if index:
                slope = _backward(slope, run.matrices[index]) * run.slopes[index - 1]
        return found

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        run = self.passed(parameters, features)
        slope = entropy_slope(softmax(run.sums[-1]), targets)
        for index in range(len(self.layers) - 1, 0, -1):
            slope = _backward(slope, run.matrices[index]) * run.slopes[index - 1]
        return _backward(slope, run.matrices[0]), -log_softmax(run.sums[-1]) / features.shape[-2]

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """The derivative of `input_gradient` as θ moves along the direction, in one forward and one backward pass.

        Exact; at a relu's kink that of the side where its derivative is 0.
        """
        return self.with_pullback(parameters, features, targets)[1](direction)

    def with_pullback(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Pullback]:
        """∇_θ ℓ (…, dimension) at real arguments, and its pullback. Products run through BLAS for each row of the
        parameters alone."""
        run, records = self.passed(parameters, features, _times), features.shape[-2]
        matrices, inputs, sums, rates = run
        shares = softmax(sums[-1])
        mass = np.sum(targets, axis=-1, keepdims=True)
        slopes, above = [(shares * mass - targets) / records], list[Array]()  # ∂ℓ/∂z_l, and what comes back before φ'
        for index in range(len(matrices) - 1, 0, -1):
            above.append(np.matmul(slopes[-1], matrices[index]))
            slopes.append(above[-1] * rates[index - 1])
        slopes, above = slopes[::-1], above[::-1]
        parts: list[Array] = []
        for layer, slope, entering in zip(self.layers, slopes, inputs, strict=True):
            matrix = np.matmul(np.swapaxes(slope, -1, -2), entering)
            parts.append(matrix.reshape(*matrix.shape[:-2], -1))
            if layer.bias:
                parts.append(slope.sum(axis=-2))
        lead = parts[0].shape[:-1]
        wide = [part if part.shape[:-1] == lead else np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts]

        def pulled(direction: Array) -> tuple[Array, Array]:
            moves, motions = self.motions(run, direction)
            centred = motions[-1] - np.sum(shares * motions[-1], axis=-1, keepdims=True)
            moved = shares * centred * (mass / records)
            for index in range(len(matrices) - 1, 0, -1):
                moved = np.matmul(moved, matrices[index]) + np.matmul(slopes[index], moves[index])
                bend = self.activations[index - 1].bend(sums[index - 1], inputs[index], rates[index - 1])
                moved = moved * rates[index - 1] + above[index - 1] * bend * motions[index - 1]
            return np.matmul(moved, matrices[0]) + np.matmul(slopes[0], moves[0]), centred / -records

        return np.concatenate(wide, axis=-1), pulled

    def passed(self, parameters: Array, features: Array, times: "_Product | None" = None) -> "_Pass":
        """One forward pass, its products A Wᵀ by `times`."""
        times, theta = times or _forward, self.from_origin(parameters)
        matrices = [layer.matrix(theta) for layer in self.layers]
        inputs, sums, slopes = [features], list[Array](), list[Array]()
        for layer, matrix in zip(self.layers, matrices, strict=True):
            sums.append(layer.added(times(inputs[-1], matrix), theta))
            if len(sums) < len(matrices):
                law = self.activations[len(slopes)]
                inputs.append(law.value(sums[-1]))
                slopes.append(law.slope(sums[-1], inputs[-1]))
        return _Pass(matrices, inputs, sums, slopes)

    def motions(self, run: "_Pass", direction: Array) -> tuple[list[Array], list[Array]]:
        """The direction's part in each W_l, and how z_1 … z_L move as θ moves along it."""
        motions, moves = list[Array](), [layer.matrix(direction) for layer in self.layers]
        for index, layer in enumerate(self.layers):
            motion = layer.added(_times(run.inputs[index], moves[index]), direction)
            if index:
                motion = motion + _times(motions[-1] * run.slopes[index - 1], run.matrices[index])
            motions.append(motion)
        return moves, motions


_Product = Callable[[Array, Array], Array]


class _Pass(NamedTuple):
    """W_l; what goes into layer l (…, m, widths[l]); z_l; φ'(z_l) of the hidden layers."""

    matrices: list[Array]
    inputs: list[Array]
    sums: list[Array]
    slopes: list[Array]


@dataclass(frozen=True)
class Softmax(_Network):
    """ℓ = (1/m) Σ_s −Σ_c t_sc log p_sc, p = softmax(W a + b); labels are 0 … outputs − 1.

    θ is W (outputs, width), row by row, and then, with an `intercept`, b (outputs,). `first` and `last`, the one
    layer that there is, have the slices.
    """

    width: int
    outputs: int
    intercept: bool = True
    name = "softmax"
    analytic = True

    @cached_property
    def layers(self) -> tuple[Dense, ...]:
        return (Dense(0, self.width, self.outputs, self.intercept),)

    def hessian(self, parameters: Array, features: Array, targets: Array) -> Array:
        """∇²_θ ℓ at the one point θ (dimension,), of the records A (m, width): (dimension, dimension).

        (1/m) Σ_s (Σ_c t_sc)(diag p_s − p_s p_sᵀ) ⊗ ã_s ã_sᵀ, ã = (a, 1) with an intercept.
        """
        shares = softmax(self.scores(parameters, features))
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


@dataclass(frozen=True)
class MLP(Drawn, _Network):
    """ℓ = (1/m) Σ_s −Σ_c t_sc log p_sc, p = softmax(z_L), z_l = W_l φ(z_{l−1}) + b_l, φ(z_0) = a.

    `widths`: features, hidden units of each layer, outputs (2 or more); `activation` φ: sigmoid, tanh or softplus,
    with which the loss is analytic, or relu, with which it is not. Labels are 0 … outputs − 1. θ is, layer by layer
    from the input on, W_l (widths[l], widths[l − 1]) row by row, then b_l (widths[l]): `layers` has the slices, of θ
    and of gradients, `first` those of the layer that sees the records and `last` those of the logits.

    With a `seed` the parameters that all methods take are counted from a public random point, θ = `origin` +
    parameters: algorithms start from 0, where without it all units of a layer would be and stay alike. Gradients are
    the same by either. Constructor: `ScenarioError`.
    """

    widths: tuple[int, ...]
    activation: ActivationName = "sigmoid"
    seed: int | None = None
    name = "mlp"

    def __post_init__(self) -> None:
        if len(self.widths) < 3:
            raise ScenarioError("widths", self.widths, "no hidden layer", "features, hidden units, outputs")
        for index, width in enumerate(self.widths):
            whole(width, f"widths[{index}]", 2 if index == len(self.widths) - 1 else 1)
        if self.activation not in ACTIVATIONS:
            raise unknown("activation", self.activation, get_args(ActivationName))
        object.__setattr__(self, "widths", tuple(self.widths))
        self.check_seed()

    @property
    def width(self) -> int:
        return self.widths[0]

    @property
    def outputs(self) -> int:
        return self.widths[-1]

    @cached_property
    def layers(self) -> tuple[Dense, ...]:
        found: list[Dense] = []
        for inputs, outputs in zip(self.widths, self.widths[1:], strict=False):
            found.append(Dense(found[-1].stop if found else 0, inputs, outputs))
        return tuple(found)

    @cached_property
    def activations(self) -> tuple[_Activation, ...]:
        return (ACTIVATIONS[self.activation],) * (len(self.layers) - 1)

    @property
    def analytic(self) -> bool:
        return ACTIVATIONS[self.activation].analytic

    def drawn(self, rng: np.random.Generator) -> Array:
        """A random θ (dimension,): W_l uniform in ±√(6/(inputs + outputs)) (Glorot and Bengio 2010), b_l = 0."""
        theta = np.zeros(self.dimension)
        for layer in self.layers:
            reach = np.sqrt(6 / (layer.inputs + layer.outputs))
            theta[layer.weights] = rng.uniform(-reach, reach, layer.inputs * layer.outputs)
        return theta


def _times(rows: Array, matrix: Array) -> Array:
    return np.matmul(rows, np.swapaxes(matrix, -1, -2))
