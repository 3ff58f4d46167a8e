"""Noise: what `Node.privatize` adds, and the density by which a reader explains what it saw.

A mechanism is frozen data. `release` draws, `log_density` prices: log p(observed | value), summed over the
coordinates, one number per replica. Both work on arrays of shape (replicas, dimension); a scale is a float or
an array that broadcasts against that shape (one scale per replica makes a sweep one run).

With scale 0 nothing is added and nothing is protected: `noiseless` is true and readers treat the value as sent
in the clear.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special, stats

from netsim.arrays import Array
from netsim.errors import PrivacyError

Scale = float | Array
LOG_TWO_PI = float(np.log(2 * np.pi))


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
        """P(release ≤ observed | value) per coordinate: uniform on (0, 1) if this law made the release."""
        ...

    def variance(self) -> Scale:
        """Variance of one coordinate's noise."""
        ...


@dataclass(frozen=True)
class Laplace:
    """Laplace noise per coordinate, density exp(−|t|/b)/(2b); protects ℓ1 distances: loss ≤ ‖Δ‖₁/b.

    `scale` is b ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    scale: Scale

    def __post_init__(self) -> None:
        _check("Laplace scale", self.scale)

    @property
    def noiseless(self) -> bool:
        return not np.any(self.scale)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.laplace(size=value.shape) * self.scale

    def log_density(self, observed: Array, value: Array) -> Array:
        b = np.broadcast_to(self.scale, observed.shape)
        return _summed(b, observed - value, lambda t, b: -np.abs(t) / b - np.log(2 * b))

    def quantiles(self, observed: Array, value: Array) -> Array:
        return np.asarray(stats.laplace.cdf(observed - value, scale=self.scale), dtype=np.float64)

    def variance(self) -> Scale:
        return 2 * self.scale**2


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise per coordinate, N(0, σ²); protects ℓ2 distances: ρ-zCDP with ρ = ‖Δ‖₂²/(2σ²).

    `stddev` is σ ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    stddev: Scale

    def __post_init__(self) -> None:
        _check("Gaussian stddev", self.stddev)

    @property
    def noiseless(self) -> bool:
        return not np.any(self.stddev)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.standard_normal(size=value.shape) * self.stddev

    def log_density(self, observed: Array, value: Array) -> Array:
        s = np.broadcast_to(self.stddev, observed.shape)
        return _summed(s, observed - value, lambda t, s: -0.5 * (t / s) ** 2 - np.log(s) - 0.5 * LOG_TWO_PI)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return np.asarray(special.ndtr((observed - value) / self.stddev), dtype=np.float64)

    def variance(self) -> Scale:
        return self.stddev**2


def _summed(scale: Array, noise: Array, density: Callable[[Array, Array], Array]) -> Array:
    """Σ over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    if np.all(scale > 0):
        return np.sum(density(noise, scale), axis=-1)
    silent = scale == 0
    logs = density(noise, np.where(silent, 1.0, scale))
    return np.sum(np.where(silent, np.where(noise == 0, 0.0, -np.inf), logs), axis=-1)


def _check(what: str, scale: Scale) -> None:
    values = np.asarray(scale)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise PrivacyError(f"{what} = {scale!r}: must be finite and at least 0")
