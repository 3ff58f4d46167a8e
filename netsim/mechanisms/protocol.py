"""What every mechanism can do."""

from typing import Protocol, runtime_checkable

import numpy as np

from netsim.arrays import Array

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
