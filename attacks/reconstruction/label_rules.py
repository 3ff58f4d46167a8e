"""Labels read off the gradient of the last layer.

For one record and a cross-entropy loss, the gradient by the last layer's intercept is p − t: negative at the label
and positive elsewhere. The row of a class in the gradient by its matrix is (p_c − t_c) h, so that with activations
h ≥ 0 its entries have that sign too. For m records these are means: a class with the sign of a label is the label of
one of them, and where m classes have it, they are the labels. Yin's rule for m records of different classes, the m
rows with the lowest entries, is no theorem: other records' positive parts may hide one.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from attacks.reconstruction.attack import SEVERAL, Known
from netsim.arrays import Array, Mask
from netsim.models import MLP, Logistic, Model, Softmax
from netsim.models.layers import Dense
from netsim.models.lenet import LeNet


@runtime_checkable
class _Layered(Protocol):
    """A model that says where its last dense layer is; a softmax follows."""

    @property
    def last(self) -> Dense: ...


def last_layer(model: Model) -> Dense | None:
    """None where there is none before a cross-entropy."""
    if isinstance(model, Logistic):
        return Dense(0, model.width, 1, bias=False)
    return model.last if isinstance(model, _Layered) else None


def non_negative(known: Known) -> bool:
    """Whether what enters the last layer is known to be ≥ 0."""
    model = known.model
    if isinstance(model, Softmax | Logistic):
        return known.value_range is not None and known.value_range[0] >= 0
    if isinstance(model, MLP):
        return model.activation in ("sigmoid", "softplus", "relu")
    return isinstance(model, LeNet)


def why_no_sign(known: Known) -> str:
    """Why the signs of a gradient tell no labels; empty where they do."""
    layer = last_layer(known.model)
    if layer is None:
        return f"a cross-entropy, and the loss of a {known.model.name} model is none"
    if not layer.bias and not non_negative(known):
        return "an intercept or activations that are not negative before the last layer"
    return ""


def by_sign(known: Known, wanted: Array, deviation: Array) -> tuple[Array, Mask]:
    """The m labels, (pairs, m), from wanted (pairs, rounds, dimension), the first round's; and whether it is sure.

    `deviation` (pairs, dimension): of that round's errors, 0 where it is exact. Sound labels are those of exactly m
    classes `SEVERAL` deviations below 0: these have the sign of a label, so that all labels are different, and known.
    Of a logistic loss the sum has to be so far from 0.
    """
    layer = last_layer(known.model)
    assert layer is not None
    told = wanted[:, 0]
    if layer.bias:
        signs, errors = layer.offset(told), layer.offset(deviation)
    else:
        signs = np.sum(layer.matrix(told), axis=-1)
        errors = np.sqrt(np.sum(np.square(layer.matrix(deviation)), axis=-1))
    if layer.outputs == 1:
        return np.where(signs < 0, 1.0, -1.0), np.abs(signs[:, 0]) > SEVERAL * errors[:, 0]
    lowest = np.sort(np.argsort(signs, axis=-1, kind="stable")[:, : known.records], axis=-1)
    return np.array(known.model.classes)[lowest], np.sum(signs < -SEVERAL * errors, axis=-1) == known.records


def by_lowest(known: Known, wanted: Array, records: int) -> Array:
    """The labels of m records of different classes, (pairs, m), ascending: Yin and others 2021, eq. 7."""
    layer = last_layer(known.model)
    assert layer is not None
    lowest = np.min(layer.matrix(wanted[:, 0]), axis=-1)
    return np.array(known.model.classes)[np.sort(np.argsort(lowest, axis=-1, kind="stable")[:, :records], axis=-1)]
