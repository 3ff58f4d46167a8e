"""Array types of the package, and the checks that constructors make of their arguments.

Arrays are float64 of shape (replicas, dimension) unless a docstring says otherwise. Refusals are `ScenarioError`s.
"""

import math
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import ProtocolError, ScenarioError

Array: TypeAlias = NDArray[np.float64]
"""Float64 values; the leading axis is the replica, the last one the coordinate."""
Mask: TypeAlias = NDArray[np.bool_]
"""Which replicas, or which coordinates."""


def frozen(values: ArrayLike, field: str, ndim: int) -> Array:
    """A read-only, contiguous float64 copy with `ndim` axes, none of them empty, all values finite."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ScenarioError(field, values, "not an array of numbers", "real numbers") from error
    if array.ndim != ndim or array.size == 0:
        raise ScenarioError(field, array.shape, "wrong shape", f"{ndim} axes, none of them empty")
    if not np.isfinite(array).all():
        raise ScenarioError(field, array[~np.isfinite(array)][0], "not finite", "finite numbers")
    array.setflags(write=False)
    return array


def same_length(features: Array, labels: Array, field: str) -> None:
    if len(features) != len(labels):
        raise ScenarioError(field, len(labels), "not one for each record", f"{len(features)} values")


def nonnegative(value: float, field: str) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise ScenarioError(field, value, "negative or not finite", "a number >= 0")
    return float(value)


def whole(value: object, field: str, least: int = 1, most: int | None = None) -> int:
    """`value` if it is an int in [least, most]; a bool is none."""
    allowed = f"an integer >= {least}" + ("" if most is None else f" and <= {most}")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ScenarioError(field, value, "not an integer", allowed)
    if value < least or (most is not None and value > most):
        raise ScenarioError(field, value, "out of range", allowed)
    return value


def unknown(field: str, name: str, names: Iterable[str]) -> ScenarioError:
    """The error for a name that is none of `names`, which it lists with the nearest first."""
    ranked = sorted(names, key=lambda known: -SequenceMatcher(None, name.lower(), known).ratio())
    return ScenarioError(field, name, "unknown", ", ".join(ranked) or "none")


def positive_step(step: float) -> float:
    if not (math.isfinite(step) and step > 0):
        raise ProtocolError(f"proximal: step = {step!r}, but the step is a finite number > 0")
    return step
