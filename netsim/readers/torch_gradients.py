"""Gradients of all agents' networks at once by PyTorch: the stacked reader's `backend="torch"`.

Records stay on the device, a GPU where PyTorch sees one; parameters go there, and gradients come back, once a query.
What else a run does (sums over neighbors, noise, codecs, times, records of what happened) is the stacked reader's
own, in NumPy: so orders, times and counts are those of the other backend. Values are not, to the bit: everything is
in double precision, but sums are in the order that the device likes. `TOLERANCE` says how near they are.

A convolution is a product of patches with kernels, as in `netsim.models.lenet`; derivatives are PyTorch's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.errors import install
from netsim.models.lenet import CHANNELS, KERNEL, LeNet
from netsim.models.networks import MLP, Softmax
from netsim.node import Device
from netsim.problems.modelled import Modelled
from netsim.problems.objective import Objective

TOLERANCE = 1e-12
"""|a − b| of a value by either backend, at most, in the largest |value| of its kind in the run, where nothing rounds
it (a codec that does may once round it the other way) and the algorithm is stable."""
ROOM = {"cpu": 2**20, "cuda": 2**27}
"""Of so many hidden numbers and patches at once: they stay in a processor's cache, or in a GPU's memory."""
_Tensor = Any
_Scores = Callable[[_Tensor, _Tensor], _Tensor]
"""θ (agents, replicas, dimension), features (agents, m, width) ↦ logits (agents, replicas, m, outputs)."""


def obstacle(objectives: Sequence[Objective]) -> str | None:
    """Why PyTorch does not compute these gradients; None where it does."""
    for one in objectives:
        model = getattr(one, "model", None)
        if type(one) is not Modelled or not isinstance(model, Softmax | MLP | LeNet):
            kind = type(one).__name__ if type(one) is not Modelled else f"loss of the model {one.model.name!r}"
            return f"torch computes gradients of softmax, mlp and lenet, not of a {kind}"
    return None if find_spec("torch") else f"PyTorch is not installed: {install('torch')}"


def device() -> Device:
    """Where gradients are computed: on a GPU where PyTorch sees one."""
    return "cuda" if import_module("torch").cuda.is_available() else "cpu"


class TorchGradients:
    """x (agents, replicas, dimension) ↦ ∇f_i(x_i), the same shape. PRIVATE, as the objectives are.

    Agents of one model and penalty who hold equally many records are one batch, or a few one after the other where
    their hidden numbers need more room than there is.
    """

    def __init__(self, objectives: Sequence[Objective], on: Device | None = None) -> None:
        alike = dict[tuple[Any, ...], list[int]]()
        for i, f in enumerate(objectives):
            assert isinstance(f, Modelled), f
            alike.setdefault((f.model, f.penalty, f.records), []).append(i)
        self.device: Device = on or device()
        self._groups = [_Group.of(np.array(who), [objectives[i] for i in who], self.device) for who in alike.values()]

    def __call__(self, x: Array) -> Array:
        if len(self._groups) == 1:
            return self._groups[0](x)
        found = np.empty_like(x)
        for group in self._groups:
            found[group.agents] = group(x[group.agents])
        return found


@dataclass(frozen=True, eq=False)
class _Group:
    """Agents who are one batch, with their records on the device."""

    agents: NDArray[np.int64]
    example: Modelled
    features: _Tensor
    targets: _Tensor
    """(agents, 1, m, outputs)."""
    scores: _Scores
    size: int
    """Hidden numbers and patches of one agent and replica."""
    device: Device

    @classmethod
    def of(cls, agents: NDArray[np.int64], objectives: Sequence[Any], on: Device) -> "_Group":
        torch, first = import_module("torch"), objectives[0]
        features = torch.from_numpy(np.stack([f.features for f in objectives])).to(on)
        targets = torch.from_numpy(np.stack([f.targets for f in objectives])[:, None]).to(on)
        model: Any = first.model
        by = _convolved if isinstance(model, LeNet) else _dense
        size = first.records * _hidden(model)
        return cls(agents, first, features, targets, partial(by, torch, model), size, on)

    def __call__(self, x: Array) -> Array:
        torch, step = import_module("torch"), max(1, ROOM[self.device] // (x.shape[1] * self.size))
        found = np.empty_like(x)
        for first in range(0, len(x), step):
            some = slice(first, first + step)
            parameters = torch.from_numpy(self._theta(x[some])).to(self.device).requires_grad_()
            logits = self.scores(parameters, self.features[some])
            losses = -(self.targets[some] * torch.log_softmax(logits, -1)).sum(-1).mean(-1)
            (gradient,) = torch.autograd.grad(losses.sum(), parameters)  # no agent's loss has another's parameters
            found[some] = gradient.cpu().numpy()
        found += self.example.penalty.gradient(x)
        return found

    def _theta(self, x: Array) -> Array:
        model: Any = self.example.model
        return np.require(model.from_origin(x), requirements=("C", "W"))


def _hidden(model: Any) -> int:
    """Numbers that one record has on its way through a model, patches included."""
    if isinstance(model, LeNet):
        return sum((KERNEL**2 * c.channels + CHANNELS) * c.size[0] * c.size[1] for c in model.convolutions)
    return sum(layer.outputs for layer in model.layers)


def _parts(theta: _Tensor, *layers: tuple[int, int]) -> list[_Tensor]:
    """Weights and intercept of each layer, that has so many of each: views, whose derivatives are joined at once."""
    return list(theta.split([count for layer in layers for count in layer], -1))


def _product(torch: Any, values: _Tensor, matrix: _Tensor) -> _Tensor:
    """A Wᵀ of every agent and replica; `values` that all replicas share have an axis less."""
    return torch.einsum("amp,arop->armo" if values.ndim == 3 else "armp,arop->armo", values, matrix)


def _dense(torch: Any, model: Softmax | MLP, theta: _Tensor, values: _Tensor) -> _Tensor:
    lead, last = theta.shape[:2], len(model.layers) - 1
    parts = _parts(theta, *((one.outputs * one.inputs, one.outputs * one.bias) for one in model.layers))
    for k, layer in enumerate(model.layers):
        values = _product(torch, values, parts[2 * k].reshape(*lead, layer.outputs, layer.inputs))
        if layer.bias:
            values = values + parts[2 * k + 1].unsqueeze(-2)
        if k < last:
            assert isinstance(model, MLP)
            values = _activation(torch, model.activation)(values)
    return values


def _activation(torch: Any, name: str) -> Callable[[_Tensor], _Tensor]:
    if name == "softplus":  # torch's own is z itself from z = 20 on
        return lambda z: -torch.nn.functional.logsigmoid(-z)
    return getattr(torch, name)


def _convolved(torch: Any, model: LeNet, theta: _Tensor, features: _Tensor) -> _Tensor:
    lead, records, last = tuple(theta.shape[:2]), features.shape[1], model.last
    kernels = [(CHANNELS * c.channels * KERNEL**2, CHANNELS) for c in model.convolutions]
    parts = _parts(theta, *kernels, (last.outputs * last.inputs, last.outputs))
    height, width = model.image_shape[:2]
    values = features.reshape(-1, height, width, model.channels).permute(0, 3, 1, 2)
    shared = lead[:1]  # the records, by all replicas
    for k, layer in enumerate(model.convolutions):
        patches = torch.nn.functional.unfold(values, KERNEL, padding=KERNEL // 2, stride=layer.stride)
        patches = patches.reshape(*shared, records, *patches.shape[-2:])
        kernel = parts[2 * k].reshape(*lead, CHANNELS, -1)
        rule = "ampl,arcp->armcl" if k == 0 else "armpl,arcp->armcl"
        sums = torch.einsum(rule, patches, kernel) + parts[2 * k + 1][:, :, None, :, None]
        values = torch.sigmoid(sums)
        shared, images = lead, (-1, CHANNELS, *layer.size)
        values = values.reshape(images)
    entering = values.reshape(*lead, records, last.inputs)
    matrix = parts[-2].reshape(*lead, last.outputs, last.inputs)
    return _product(torch, entering, matrix) + parts[-1].unsqueeze(-2)
