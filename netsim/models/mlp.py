"""A dense network of one or more hidden layers with a softmax output, and pullbacks of its gradient to records."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np

from netsim.arrays import Array, unknown, whole
from netsim.errors import ScenarioError
from netsim.models import layers as entropy
from netsim.models.layers import ACTIVATIONS, Activation, ActivationName, Dense, backward, forward, outer
from netsim.models.linear import Softmax
from netsim.models.model import Model, mixed_gradient


@dataclass(frozen=True)
class MLP:
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
        if self.seed is not None:
            whole(self.seed, "seed", 0)

    @property
    def width(self) -> int:
        return self.widths[0]

    @property
    def outputs(self) -> int:
        return self.widths[-1]

    @cached_property
    def layers(self) -> tuple[Dense, ...]:
        """From the input on."""
        found: list[Dense] = []
        for inputs, outputs in zip(self.widths, self.widths[1:], strict=False):
            found.append(Dense(found[-1].stop if found else 0, inputs, outputs))
        return tuple(found)

    @property
    def first(self) -> Dense:
        """The layer whose inputs are the features."""
        return self.layers[0]

    @property
    def last(self) -> Dense:
        """The layer whose outputs are the logits."""
        return self.layers[-1]

    @cached_property
    def origin(self) -> Array:
        """The θ that parameters of 0 stand for, (dimension,), read-only: `drawn` by the seed, or 0."""
        theta = np.zeros(self.dimension) if self.seed is None else self.drawn(np.random.default_rng(self.seed))
        theta.setflags(write=False)
        return theta

    @property
    def dimension(self) -> int:
        return self.last.stop

    @property
    def classes(self) -> tuple[float, ...]:
        return tuple(float(c) for c in range(self.outputs))

    @property
    def analytic(self) -> bool:
        return self._activation.analytic

    @property
    def _activation(self) -> Activation:
        return ACTIVATIONS[self.activation]

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return entropy.cross_entropy(self._pass(parameters, features).logits, targets)

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        run = self._pass(parameters, features)
        slope = entropy.cross_entropy_slope(run.logits, targets)
        found = np.empty((*slope.shape[:-2], self.dimension), dtype=slope.dtype)
        for index, layer in reversed(list(enumerate(self.layers))):
            matrix = layer.matrix(found)  # a view
            matrix[...] = outer(slope, run.inputs[index], one_point=parameters.ndim == 1)
            layer.offset(found)[...] = np.sum(slope, axis=-2)
            if index:
                slope = backward(slope, run.matrices[index]) * run.slopes[index - 1]
        return found

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        run = self._pass(parameters, features)
        slope = entropy.cross_entropy_slope(run.logits, targets)
        for index in range(len(self.layers) - 1, 0, -1):
            slope = backward(slope, run.matrices[index]) * run.slopes[index - 1]
        return backward(slope, run.matrices[0]), entropy.cross_entropy_target_slope(run.logits)

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """The derivative of `input_gradient` as θ moves along the direction, in one forward and one backward pass.

        Exact; at a relu's kink that of the side where its derivative is 0.
        """
        run = self._pass(parameters, features)
        moves = [layer.matrix(direction) for layer in self.layers]
        motions = self._motions(run, direction, moves)
        slope, slope_moved, by_targets = entropy.cross_entropy_slope_change(run.logits, targets, motions[-1])
        for index in range(len(self.layers) - 1, 0, -1):
            below, z, rate = backward(slope, run.matrices[index]), run.sums[index - 1], run.slopes[index - 1]
            moved = backward(slope_moved, run.matrices[index]) + backward(slope, moves[index])
            bend = self._activation.bend(z, run.inputs[index], rate)
            slope_moved, slope = moved * rate + below * bend * motions[index - 1], below * rate
        return backward(slope_moved, run.matrices[0]) + backward(slope, moves[0]), by_targets

    def _motions(self, run: "_Pass", direction: Array, moves: list[Array]) -> list[Array]:
        """How z_1 … z_L move as θ moves along the direction."""
        motions: list[Array] = []
        for index, layer in enumerate(self.layers):
            motion = layer.added(forward(run.inputs[index], moves[index]), direction)
            if index:
                motion = motion + forward(motions[-1] * run.slopes[index - 1], run.matrices[index])
            motions.append(motion)
        return motions

    def targets(self, labels: Array) -> Array:
        return (np.asarray(labels)[..., None] == np.arange(self.outputs)).astype(np.float64)

    def labels(self, targets: Array) -> Array:
        return np.argmax(targets, axis=-1).astype(np.float64)

    def scores(self, parameters: Array, features: Array) -> Array:
        """The logits, (…, m, outputs); the largest is the likeliest class."""
        return self._pass(parameters, features).logits

    def drawn(self, rng: np.random.Generator) -> Array:
        """A random θ (dimension,): W_l uniform in ±√(6/(inputs + outputs)) (Glorot and Bengio 2010), b_l = 0."""
        theta = np.zeros(self.dimension)
        for layer in self.layers:
            reach = np.sqrt(6 / (layer.inputs + layer.outputs))
            theta[layer.weights] = rng.uniform(-reach, reach, layer.inputs * layer.outputs)
        return theta

    def _pass(self, parameters: Array, features: Array) -> "_Pass":
        theta = parameters if self.seed is None else self.origin + parameters
        matrices = [layer.matrix(theta) for layer in self.layers]
        inputs, sums, slopes = [features], list[Array](), list[Array]()
        for layer, matrix in zip(self.layers, matrices, strict=True):
            sums.append(layer.added(forward(inputs[-1], matrix), theta))
            if len(sums) < len(self.layers):
                inputs.append(self._activation.value(sums[-1]))
                slopes.append(self._activation.slope(sums[-1], inputs[-1]))
        return _Pass(matrices, inputs, sums, slopes)


class _Pass(NamedTuple):
    """W_l; what goes into layer l (…, m, widths[l]); z_l; φ'(z_l) of the hidden layers."""

    matrices: list[Array]
    inputs: list[Array]
    sums: list[Array]
    slopes: list[Array]

    @property
    def logits(self) -> Array:
        return self.sums[-1]


_Pullback = Callable[[Array], tuple[Array, Array]]
"""direction (…, dimension) → ∂⟨direction, ∇_θ ℓ⟩ by features (…, m, width) and by targets (…, m, outputs)."""


def with_pullback(model: Model, parameters: Array, features: Array, targets: Array) -> tuple[Array, _Pullback]:
    """∇_θ ℓ (…, dimension) at real arguments, and its pullback. Leading axes broadcast; `parameters` has at least
    one, and products run through BLAS for each row of them alone."""
    if not isinstance(model, Softmax | MLP):
        held = model.gradient(parameters, features, targets)
        return held, lambda direction: mixed_gradient(model, parameters, features, targets, direction)
    run = _forward(model, parameters, features, targets)
    return run.gradient(), run.pulled


class _Run(NamedTuple):
    """Of layer l: the matrix W_l, what enters it h_{l−1}, z_l, ∂ℓ/∂z_l; and between layers φ'(z_l) and what comes
    back from above before φ'."""

    model: Softmax | MLP
    matrices: list[Array]
    inputs: list[Array]
    sums: list[Array]
    rates: list[Array]
    slopes: list[Array]
    above: list[Array]
    shares: Array
    mass: Array

    def gradient(self) -> Array:
        parts: list[Array] = []
        for layer, slope, entering in zip(self.model.layers, self.slopes, self.inputs, strict=True):
            matrix = np.matmul(np.swapaxes(slope, -1, -2), entering)
            parts.append(matrix.reshape(*matrix.shape[:-2], -1))
            if layer.bias:
                parts.append(slope.sum(axis=-2))
        lead = parts[0].shape[:-1]
        return np.concatenate([part if part.shape[:-1] == lead else _wide(part, lead) for part in parts], axis=-1)

    def pulled(self, direction: Array) -> tuple[Array, Array]:
        model, records = self.model, self.shares.shape[-2]
        moves = [layer.matrix(direction) for layer in model.layers]
        motions: list[Array] = []
        for index, layer in enumerate(model.layers):
            motion = layer.added(_times(self.inputs[index], moves[index]), direction)
            if index:
                motion += _times(motions[-1] * self.rates[index - 1], self.matrices[index])
            motions.append(motion)
        centred = motions[-1] - np.sum(self.shares * motions[-1], axis=-1, keepdims=True)
        moved = self.shares * centred * (self.mass / records)
        for index in range(len(model.layers) - 1, 0, -1):
            moved = np.matmul(moved, self.matrices[index]) + np.matmul(self.slopes[index], moves[index])
            bend = _activation(model).bend(self.sums[index - 1], self.inputs[index], self.rates[index - 1])
            moved = moved * self.rates[index - 1] + self.above[index - 1] * bend * motions[index - 1]
        return np.matmul(moved, self.matrices[0]) + np.matmul(self.slopes[0], moves[0]), centred / -records


def _forward(model: Softmax | MLP, parameters: Array, features: Array, targets: Array) -> _Run:
    if isinstance(model, MLP) and model.seed is not None:
        parameters = model.origin + parameters
    matrices = [layer.matrix(parameters) for layer in model.layers]
    inputs, sums, rates = [features], list[Array](), list[Array]()
    for layer, matrix in zip(model.layers, matrices, strict=True):
        sums.append(layer.added(_times(inputs[-1], matrix), parameters))
        if len(sums) < len(matrices):
            act = _activation(model)
            inputs.append(act.value(sums[-1]))
            rates.append(act.slope(sums[-1], inputs[-1]))
    grown = np.exp(sums[-1] - np.max(sums[-1], axis=-1, keepdims=True))
    shares = grown / np.sum(grown, axis=-1, keepdims=True)
    mass = np.sum(targets, axis=-1, keepdims=True)
    slopes, above = [(shares * mass - targets) / features.shape[-2]], list[Array]()
    for index in range(len(matrices) - 1, 0, -1):
        above.append(np.matmul(slopes[-1], matrices[index]))
        slopes.append(above[-1] * rates[index - 1])
    return _Run(model, matrices, inputs, sums, rates, slopes[::-1], above[::-1], shares, mass)


def _activation(model: Softmax | MLP) -> Activation:
    assert isinstance(model, MLP)
    return ACTIVATIONS[model.activation]


def _times(rows: Array, matrix: Array) -> Array:
    return np.matmul(rows, np.swapaxes(matrix, -1, -2))


def _wide(part: Array, lead: tuple[int, ...]) -> Array:
    return np.broadcast_to(part, (*lead, part.shape[-1]))
