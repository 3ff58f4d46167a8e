"""LeNet as "Deep Leakage from Gradients" attacks it; needs PyTorch, the optional extra `torch`.

PyTorch is imported when a network is made, and never by importing this file. Numbers go in and come out as NumPy
arrays of float64, computed on the processor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from math import prod
from typing import Any, cast

import numpy as np

from netsim.arrays import Array, whole
from netsim.errors import ScenarioError, install
from netsim.models.networks import Dense, Drawn

CHANNELS, KERNEL = 12, 5
_STRIDES = (2, 2, 1)
_REACH = 0.5
"""The published attack draws all parameters uniformly from ±0.5."""
_Function = Callable[..., Any]


@dataclass(frozen=True)
class LeNet(Drawn):
    """Three 5×5 convolutions of 12 channels (strides 2, 2, 1; padding 2), a sigmoid after each, one dense layer, and
    the cross-entropy of its softmax. Source: Zhu, Liu, Han 2019, as their code has it.

    `image_shape`: (height, width) or (height, width, channels), which is how a row of features is read. θ is, layer
    by layer, the kernels (12, channels, 5, 5) in C order and the 12 intercepts, then the dense W row by row and b:
    `last` has the slices of the dense layer. With a `seed` the parameters that all methods take are counted from a
    public random point, θ = `origin` + parameters. Constructor: `ScenarioError`, also where PyTorch is not installed.
    Its methods take no complex arrays: `analytic` is False, though the loss is; mixed gradients are exact.
    """

    image_shape: tuple[int, int] | tuple[int, int, int]
    outputs: int
    seed: int | None = None
    name = "lenet"
    analytic = False

    def __post_init__(self) -> None:
        if len(self.image_shape) not in (2, 3):
            allowed = "(height, width) or (height, width, channels)"
            raise ScenarioError("image_shape", self.image_shape, "no image", allowed)
        for index, length in enumerate(self.image_shape):
            whole(length, f"image_shape[{index}]")
        whole(self.outputs, "outputs", 2)
        self.check_seed()
        _torch()

    @property
    def width(self) -> int:
        return prod(self.image_shape)

    @property
    def channels(self) -> int:
        return self.image_shape[2] if len(self.image_shape) == 3 else 1

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the parts of θ, in order: kernels and intercept of each convolution, W and b."""
        height, width = self.image_shape[:2]
        found: list[tuple[int, ...]] = []
        channels = self.channels
        for stride in _STRIDES:
            found += [(CHANNELS, channels, KERNEL, KERNEL), (CHANNELS,)]
            channels, height, width = CHANNELS, (height - 1) // stride + 1, (width - 1) // stride + 1
        return (*found, (self.outputs, CHANNELS * height * width), (self.outputs,))

    @cached_property
    def last(self) -> Dense:
        return Dense(sum(map(prod, self.shapes[:-2])), self.shapes[-2][1], self.outputs)

    def drawn(self, rng: np.random.Generator) -> Array:
        """A random θ (dimension,), uniform in ±0.5."""
        return rng.uniform(-_REACH, _REACH, self.dimension)

    def value(self, parameters: Array, features: Array, targets: Array) -> Array:
        return self._mapped(self._loss, parameters, features, targets)[0]

    def gradient(self, parameters: Array, features: Array, targets: Array) -> Array:
        return self._mapped(_torch().func.grad(self._loss), parameters, features, targets)[0]

    def input_gradient(self, parameters: Array, features: Array, targets: Array) -> tuple[Array, Array]:
        slopes = _torch().func.grad(self._loss, (1, 2))
        by_features, by_targets = self._mapped(slopes, parameters, features, targets)
        return by_features, by_targets

    def mixed_gradient(
        self, parameters: Array, features: Array, targets: Array, direction: Array
    ) -> tuple[Array, Array]:
        """∇_A and ∇_T of ⟨direction, ∇_θ ℓ⟩, by differentiating twice."""
        grad = _torch().func.grad

        def along(theta: Any, rows: Any, answers: Any, move: Any) -> Any:
            return (grad(self._loss)(theta, rows, answers) * move).sum()

        found = self._mapped(grad(along, (1, 2)), parameters, features, targets, direction)
        return found[0], found[1]

    def scores(self, parameters: Array, features: Array) -> Array:
        """The logits, (…, m, outputs); the largest is the likeliest class."""
        return self._mapped(self._logits, parameters, features)[0]

    def _loss(self, theta: Any, rows: Any, answers: Any) -> Any:
        logs = _torch().nn.functional.log_softmax(self._logits(theta, rows), -1)
        return -(answers * logs).sum(-1).mean()

    def _logits(self, theta: Any, rows: Any) -> Any:
        torch = _torch()
        split = theta.split([prod(shape) for shape in self.shapes])
        parts = [part.reshape(shape) for part, shape in zip(split, self.shapes, strict=True)]
        height, width = self.image_shape[:2]
        images = rows.reshape(-1, height, width, self.channels).permute(0, 3, 1, 2)
        for index, stride in enumerate(_STRIDES):
            kernels, intercept = parts[2 * index : 2 * index + 2]
            images = torch.sigmoid(
                torch.nn.functional.conv2d(images, kernels, intercept, stride=stride, padding=KERNEL // 2)
            )
        return images.reshape(len(images), -1) @ parts[-2].T + parts[-1]

    def _mapped(self, function: _Function, parameters: Array, features: Array, *others: Array) -> list[Array]:
        """The function of each entry of the leading axes, which broadcast; all at once."""
        torch = _torch()
        arrays = [self.from_origin(parameters), features, *others]
        axes = [1, 2, 2, 1][: len(arrays)]
        lead = np.broadcast_shapes(*(a.shape[: a.ndim - n] for a, n in zip(arrays, axes, strict=True)))
        flat: list[Array] = []
        for array, n in zip(arrays, axes, strict=True):  # with one leading axis, or none; contiguous and writable
            wide = array if array.ndim == n else np.broadcast_to(array, (*lead, *array.shape[array.ndim - n :]))
            copy = np.array(wide, dtype=np.float64, order="C")
            flat.append(copy if array.ndim == n else copy.reshape(-1, *array.shape[array.ndim - n :]))
        places = tuple(None if a.ndim == n else 0 for a, n in zip(flat, axes, strict=True))
        tensors = [torch.from_numpy(a) for a in flat]
        everywhere = torch.func.vmap(function, places) if any(place == 0 for place in places) else function
        found: Any = everywhere(*tensors)
        several = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
        numbers: list[Array] = [one.detach().numpy() for one in several]
        return [one.reshape(*lead, *one.shape[1:]) if lead else one for one in numbers]


@cache
def _torch() -> Any:
    """PyTorch. You get a `ScenarioError` that names the extra where it is not installed."""
    try:
        return import_module("torch")
    except ImportError:
        raise ScenarioError("model", "lenet", "needs PyTorch, which is not installed", install("torch")) from None
