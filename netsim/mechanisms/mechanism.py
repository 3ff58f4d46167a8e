"""Mechanism: the operations that every noise law has, the check of its scale, and sums over coordinates."""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from netsim.arrays import Array
from netsim.errors import PrivacyError

Scale = float | Array
"""One number for all coordinates, or an array that broadcasts against (replicas, dimension)."""


class Mechanism(Protocol):
    """A randomized release of one private value."""

    @property
    def noiseless(self) -> bool:
        """Whether the release is the value itself."""
        ...

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        """A private `value` (replicas, dimension) → what may go on the wire, same shape."""
        ...

    def log_density(self, observed: Array, value: Array) -> Array:
        """log p(observed | value), shape (replicas,), in nats."""
        ...

    def quantiles(self, observed: Array, value: Array) -> Array:
        """P(release ≤ observed | value) per coordinate: uniform on (0, 1) if this law made the release.

        Of a `DiscreteMechanism` it is the upper end of an atom.
        """
        ...

    def variance(self) -> Scale:
        """Variance of one coordinate's noise."""
        ...


@runtime_checkable
class IntervalMechanism(Protocol):
    """A mechanism whose rounded releases can be priced: it knows the probability of an interval."""

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        """log P(low ≤ release ≤ high | value) of all coordinates together, (replicas,), in nats."""
        ...


@runtime_checkable
class OffCenter(Protocol):
    """A mechanism whose noise does not have mean 0."""

    def mean(self) -> Scale:
        """Mean of one coordinate's release, less the value."""
        ...


@runtime_checkable
class DiscreteMechanism(Protocol):
    """A mechanism whose releases have atoms; its `log_density` is a log-probability.

    Under its law a number drawn uniformly from `quantiles_below` to `quantiles` is uniform on (0, 1).
    """

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        """P(release < observed | value) per coordinate."""
        ...


def check_scale(what: str, scale: Scale) -> None:
    """Finite and at least 0, or a `PrivacyError`. A number is compared as one: a mechanism is made in every round."""
    if isinstance(scale, float | int):
        sound = 0 <= scale < math.inf
    else:
        values = np.asarray(scale)
        sound = bool(np.all(np.isfinite(values)) and not np.any(values < 0))
    if not sound:
        raise PrivacyError(f"{what} = {scale!r}: must be finite and at least 0")


def none(scale: Scale) -> bool:
    """Whether no coordinate has any noise."""
    return scale == 0 if isinstance(scale, float | int) else not np.any(scale)


def summed(scale: Array, noise: Array, density: Callable[[Array, Array], Array]) -> Array:
    """Σ over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    if np.all(scale > 0):
        return np.sum(density(noise, scale), axis=-1)
    silent = scale == 0
    logs = density(noise, np.where(silent, 1.0, scale))
    return np.sum(np.where(silent, np.where(noise == 0, 0.0, -np.inf), logs), axis=-1)


def summed_mass(
    scale: Array, low: Array, high: Array, value: Array, log_mass: Callable[[Array, Array], Array]
) -> Array:
    """Σ over coordinates; where the scale is 0 the value lies in the interval, or the release is impossible."""
    silent = scale == 0
    unit = np.where(silent, 1.0, scale)
    width = np.where(np.isinf(low) | np.isinf(high), np.inf, (high - low) / unit)
    start = np.where(np.isneginf(low), -(high - value) / unit, (low - value) / unit)  # from an end that is finite
    logs = log_mass(start, width)
    held = np.where((low <= value) & (value <= high), 0.0, -np.inf)
    return np.sum(np.where(silent, held, logs), axis=-1)
