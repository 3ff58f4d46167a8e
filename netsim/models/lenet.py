"""LeNet as "Deep Leakage from Gradients" attacks it: convolutions by hand, as products of patches with kernels.

A convolution is one product: of the patches of an image that its kernels see, a row each, with the kernels as
columns. So is its adjoint, by which derivatives come back to the image. Of stride s it is a convolution too, of the
slopes with the kernels' taps that are s apart, each for one of the s × s positions of a pixel between two places;
that saves the many sums of a scatter. Derivatives of all orders that attacks need are such products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from netsim.arrays import Array, whole
from netsim.errors import ScenarioError
from netsim.models.networks import (
    ACTIVATIONS,
    Dense,
    Drawn,
    Pullback,
    entropy_slope,
    log_softmax,
    softmax,
)

CHANNELS, KERNEL = 12, 5
_STRIDES = (2, 2, 1)
_REACH = 0.5
"""The published attack draws all parameters uniformly from ±0.5."""
_SIGMOID = ACTIVATIONS["sigmoid"]


@dataclass(frozen=True)
class _Convolution:
    """z = K ∗ a + b, K (12, channels, 5, 5) in θ from `start` on and b (12,) behind it, padding 2.

    Images are (…, m, height, width, channels), and what comes out (…, m · places, 12), place by place.
    """

    start: int
    height: int
    width: int
    channels: int
    stride: int

    @property
    def size(self) -> tuple[int, int]:
        """Places down and across."""
        return (self.height - 1) // self.stride + 1, (self.width - 1) // self.stride + 1

    @property
    def kernels(self) -> slice:
        return slice(self.start, self.start + CHANNELS * self.channels * KERNEL**2)

    @property
    def intercept(self) -> slice:
        return slice(self.kernels.stop, self.stop)

    @property
    def stop(self) -> int:
        return self.kernels.stop + CHANNELS

    def _tensor(self, parameters: Array) -> Array:
        return parameters[..., self.kernels].reshape(*parameters.shape[:-1], CHANNELS, self.channels, KERNEL, KERNEL)

    def columns(self, parameters: Array) -> Array:
        """K of θ, or of a direction, as columns (…, 25 · channels, 12)."""
        turned = np.moveaxis(self._tensor(parameters), -4, -1)  # (…, channels, 5, 5, 12)
        return np.moveaxis(turned, -4, -2).reshape(*parameters.shape[:-1], -1, CHANNELS)

    def offset(self, parameters: Array) -> Array:
        """b as (…, 1, 12)."""
        return parameters[..., None, self.intercept]

    def patches(self, images: Array) -> Array:
        """(…, m · places, 25 · channels)."""
        return _patches(images, KERNEL, self.stride)

    def shaped(self, values: Array) -> Array:
        """(…, m · places, 12) as images."""
        return values.reshape(*values.shape[:-2], -1, *self.size, CHANNELS)

    def by_kernels(self, patches: Array, slopes: Array) -> list[Array]:
        """The parts of ∇_θ: those of K and b, flat."""
        found = np.matmul(np.swapaxes(slopes, -1, -2), patches)
        found = np.moveaxis(found.reshape(*found.shape[:-1], KERNEL**2, self.channels), -1, -2)
        return [found.reshape(*found.shape[:-3], -1), np.add.reduce(slopes, axis=-2)]

    @property
    def _taps(self) -> int:
        """Of the adjoint, along each axis."""
        return KERNEL // self.stride + 1 if self.stride > 1 else KERNEL

    def back_patches(self, slopes: Array) -> Array:
        """What the adjoint sees of slopes (…, m · places, 12) at each place."""
        return _patches(self.shaped(slopes), self._taps, 1)

    def back_columns(self, parameters: Array) -> Array:
        """K as the adjoint's columns, (…, taps² · 12, stride² · channels).

        Pixel p = s u + e sees place i = u − ⌊taps/2⌋ + k through the tap a = s (taps − 1 − k) + e of K.
        """
        k, taps, s = self._tensor(parameters), self._taps, self.stride
        lead = k.shape[:-4]
        if extra := taps * s - KERNEL:
            wide = np.zeros((*k.shape[:-2], KERNEL + extra, KERNEL + extra), dtype=k.dtype)
            wide[..., :KERNEL, :KERNEL] = k
            k = wide
        k = k.reshape(*lead, CHANNELS, self.channels, taps, s, taps, s)[..., ::-1, :, ::-1, :]
        first = len(lead)
        order = [first + axis for axis in (2, 4, 0, 3, 5, 1)]  # down, across, 12; down, across, channels
        return k.transpose(*range(first), *order).reshape(*lead, taps**2 * CHANNELS, s**2 * self.channels)

    def unfolded(self, values: Array) -> Array:
        """The adjoint's products (…, m · places, stride² · channels) as images."""
        s, (down, across) = self.stride, self.size
        if s > 1:
            values = values.reshape(*values.shape[:-2], -1, down, across, s, s, self.channels).swapaxes(-4, -3)
        images = values.reshape(*values.shape[: -2 if s == 1 else -6], -1, s * down, s * across, self.channels)
        return images[..., : self.height, : self.width, :]


def _patches(images: Array, taps: int, stride: int) -> Array:
    """The `taps` × `taps` pixels around every place of images (…, m, height, width, channels), with zeros beyond the
    edge: (…, m · places, taps² · channels)."""
    *lead, height, width, channels = images.shape
    around = taps // 2
    padded = np.zeros((*lead, height + 2 * around, width + 2 * around, channels), dtype=images.dtype)
    padded[..., around : around + height, around : around + width, :] = images
    down, across = (height - 1) // stride + 1, (width - 1) // stride + 1
    row, pixel, one = padded.strides[-3:]
    seen = np.lib.stride_tricks.as_strided(
        padded,
        (*lead, down, across, taps, taps * channels),
        (*padded.strides[:-3], stride * row, stride * pixel, row, one),
        writeable=False,
    )
    return seen.reshape(*lead[:-1], lead[-1] * down * across, taps**2 * channels)


class _Pass(NamedTuple):
    """Of each convolution: its patches, its columns, σ of what comes out and σ's slope. `entering` (…, m, inputs) the
    dense layer, and the logits."""

    patches: list[Array]
    columns: list[Array]
    values: list[Array]
    rates: list[Array]
    entering: Array
    logits: Array


@dataclass(frozen=True)
class LeNet(Drawn):
    """Three 5×5 convolutions of 12 channels (strides 2, 2, 1; padding 2), a sigmoid after each, one dense layer, and
    the cross-entropy of its softmax. Source: Zhu, Liu, Han 2019, as their code has it.

    `image_shape`: (height, width) or (height, width, channels), which is how a row of features is read. θ is, layer
    by layer, the kernels (12, channels, 5, 5) in C order and the 12 intercepts, then the dense W row by row and b:
    `last` has the slices of the dense layer, whose inputs are channel by channel. With a `seed` the parameters that
    all methods take are counted from a public random point, θ = `origin` + parameters. Constructor: `ScenarioError`.
    """

    image_shape: tuple[int, int] | tuple[int, int, int]
    outputs: int
    seed: int | None = None
    name = "lenet"
    analytic = True

    def __post_init__(self) -> None:
        if len(self.image_shape) not in (2, 3):
            allowed = "(height, width) or (height, width, channels)"
            raise ScenarioError("image_shape", self.image_shape, "no image", allowed)
        for index, length in enumerate(self.image_shape):
            whole(length, f"image_shape[{index}]")
        whole(self.outputs, "outputs", 2)
        self.check_seed()

    @property
    def width(self) -> int:
        return prod(self.image_shape)

    @property
    def channels(self) -> int:
        return self.image_shape[2] if len(self.image_shape) == 3 else 1

    @cached_property
    def convolutions(self) -> tuple[_Convolution, ...]:
        found: list[_Convolution] = []
        (height, width), channels = self.image_shape[:2], self.channels
        for stride in _STRIDES:
            found.append(_Convolution(found[-1].stop if found else 0, height, width, channels, stride))
            (height, width), channels = found[-1].size, CHANNELS
        return tuple(found)

    @cached_property
    def last(self) -> Dense:
        final = self.convolutions[-1]
        return Dense(final.stop, CHANNELS * prod(final.size), self.outputs)

    def drawn(self, rng: np.random.Generator) -> Array:
        """A random θ (dimension,), uniform in ±0.5."""
        return rng.uniform(-_REACH, _REACH, self.dimension)

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return -np.mean(np.sum(targets * log_softmax(self.scores(parameters, features)), axis=-1), axis=-1)

    def scores(self, parameters: Array, features: Array) -> Array:
        """The logits, (…, m, outputs); the largest is the likeliest class."""
        return self._passed(self.from_origin(parameters), features).logits

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        return self.with_pullback(parameters, features, targets)[0]

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        theta = self.from_origin(parameters)
        run = self._passed(theta, features)
        slopes, _ = self._slopes(theta, run, entropy_slope(softmax(run.logits), targets))
        first = self.convolutions[0]
        images = first.unfolded(np.matmul(first.back_patches(slopes[0]), first.back_columns(theta)))
        return _flat(images), -log_softmax(run.logits) / features.shape[-2]

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """The derivative of `input_gradient` as θ moves along the direction, in one forward and one backward pass;
        exact."""
        return self.with_pullback(parameters, features, targets)[1](direction)

    def with_pullback(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Pullback]:
        """∇_θ ℓ (…, dimension), and its pullback."""
        theta, records = self.from_origin(parameters), features.shape[-2]
        run = self._passed(theta, features)
        shares, mass = softmax(run.logits), np.sum(targets, axis=-1, keepdims=True)
        out = entropy_slope(shares, targets)
        slopes, above = self._slopes(theta, run, out)
        parts: list[Array] = []
        for layer, patches, slope in zip(self.convolutions, run.patches, slopes, strict=True):
            parts += layer.by_kernels(patches, slope)
        matrix = np.matmul(np.swapaxes(out, -1, -2), run.entering)
        parts += [matrix.reshape(*matrix.shape[:-2], -1), np.add.reduce(out, axis=-2)]

        def pulled(direction: Array) -> tuple[Array, Array]:
            motions, logits = self._motions(theta, run, direction)
            centred = logits - np.sum(shares * logits, axis=-1, keepdims=True)
            moved = np.matmul(shares * centred * (mass / records), self.last.matrix(theta))
            moved = self._places(moved + np.matmul(out, self.last.matrix(direction)))
            images = moved
            for index in range(len(slopes) - 1, -1, -1):
                layer, value, rate = self.convolutions[index], run.values[index], run.rates[index]
                moved = moved * rate + above[index] * (rate * (1 - 2 * value)) * motions[index]
                back = np.matmul(layer.back_patches(moved), layer.back_columns(theta))
                back = back + np.matmul(layer.back_patches(slopes[index]), layer.back_columns(direction))
                images = layer.unfolded(back)
                moved = images.reshape(*images.shape[:-4], -1, images.shape[-1])
            return _flat(images), centred / -records

        return _joined(parts), pulled

    def _passed(self, theta: Array, features: Array) -> _Pass:
        images = features.reshape(*features.shape[:-1], *self.image_shape[:2], self.channels)
        patches, columns, values, rates = list[Array](), list[Array](), list[Array](), list[Array]()
        for layer in self.convolutions:
            patches.append(layer.patches(images))
            columns.append(layer.columns(theta))
            sums = np.matmul(patches[-1], columns[-1]) + layer.offset(theta)
            values.append(_SIGMOID.value(sums))
            rates.append(_SIGMOID.slope(sums, values[-1]))
            images = layer.shaped(values[-1])
        entering = self._channels(values[-1])
        logits = np.matmul(entering, np.swapaxes(self.last.matrix(theta), -1, -2))
        return _Pass(patches, columns, values, rates, entering, self.last.added(logits, theta))

    def _slopes(self, theta: Array, run: _Pass, out: Array) -> tuple[list[Array], list[Array]]:
        """∂ℓ/∂z of each convolution, and what comes back before σ'."""
        above = [self._places(np.matmul(out, self.last.matrix(theta)))]
        slopes = [above[0] * run.rates[-1]]
        for index in range(len(self.convolutions) - 1, 0, -1):
            layer = self.convolutions[index]
            images = layer.unfolded(np.matmul(layer.back_patches(slopes[0]), layer.back_columns(theta)))
            above.insert(0, images.reshape(*images.shape[:-4], -1, CHANNELS))
            slopes.insert(0, above[0] * run.rates[index - 1])
        return slopes, above

    def _motions(self, theta: Array, run: _Pass, direction: Array) -> tuple[list[Array], Array]:
        """How what comes out of each convolution, and the logits, move as θ moves along the direction."""
        motions = list[Array]()
        for index, layer in enumerate(self.convolutions):
            motion = np.matmul(run.patches[index], layer.columns(direction)) + layer.offset(direction)
            if index:
                images = self.convolutions[index - 1].shaped(motions[-1] * run.rates[index - 1])
                motion = motion + np.matmul(layer.patches(images), run.columns[index])
            motions.append(motion)
        moved = self._channels(motions[-1] * run.rates[-1])
        logits = np.matmul(run.entering, np.swapaxes(self.last.matrix(direction), -1, -2))
        logits = self.last.added(logits, direction)
        return motions, logits + np.matmul(moved, np.swapaxes(self.last.matrix(theta), -1, -2))

    def _channels(self, values: Array) -> Array:
        """(…, m · places, 12) as the dense layer reads it, (…, m, 12 · places)."""
        places = prod(self.convolutions[-1].size)
        each = values.reshape(*values.shape[:-2], -1, places, CHANNELS)
        return np.swapaxes(each, -1, -2).reshape(*each.shape[:-2], -1)

    def _places(self, values: Array) -> Array:
        """The other way round."""
        each = values.reshape(*values.shape[:-1], CHANNELS, prod(self.convolutions[-1].size))
        return np.swapaxes(each, -1, -2).reshape(*values.shape[:-2], -1, CHANNELS)


def _flat(images: Array) -> Array:
    return images.reshape(*images.shape[:-3], -1)


def _joined(parts: Sequence[Array]) -> Array:
    """The parts of one gradient, whose leading axes broadcast."""
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)
