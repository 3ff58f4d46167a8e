"""Noise: what `Node.privatize` adds, and the density by which a reader explains what it saw.

A mechanism is frozen data. `release` draws, `log_density` prices: log p(observed | value), summed over the
coordinates, one number per replica. Both work on arrays of shape (replicas, dimension); a scale is a float or
an array that broadcasts against that shape (one scale per replica makes a sweep one run).

With scale 0 nothing is added and nothing is protected: `noiseless` is true and readers treat the value as sent
in the clear.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import special, stats

from netsim.arrays import Array
from netsim.errors import PrivacyError

Scale = float | Array
LOG_TWO_PI = float(np.log(2 * np.pi))
THIN = 1e-2
"""A slice of the normal density so thin, times its distance, is a parabola to 1e-11."""


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


@runtime_checkable
class IntervalMechanism(Protocol):
    """A mechanism whose rounded releases can be priced: it knows the probability of an interval."""

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        """log P(low ≤ release ≤ high | value) of all coordinates together, (replicas,), in nats."""
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

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        return _summed_mass(np.broadcast_to(self.scale, value.shape), low, high, value, laplace_log_mass)

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

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        return _summed_mass(np.broadcast_to(self.stddev, value.shape), low, high, value, gaussian_log_mass)

    def variance(self) -> Scale:
        return self.stddev**2


def _summed(scale: Array, noise: Array, density: Callable[[Array, Array], Array]) -> Array:
    """Σ over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    if np.all(scale > 0):
        return np.sum(density(noise, scale), axis=-1)
    silent = scale == 0
    logs = density(noise, np.where(silent, 1.0, scale))
    return np.sum(np.where(silent, np.where(noise == 0, 0.0, -np.inf), logs), axis=-1)


def laplace_log_mass(low: Array, width: Array) -> Array:
    """log ∫ e^{−|t|}/2 from `low` to low + width, without cancellation."""
    high = low + width
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near = np.where(low >= 0, low, np.where(high <= 0, -high, 0.0))
        one_side = -near + np.log(-np.expm1(-width)) - np.log(2)
        both_sides = np.log(-(np.expm1(low) + np.expm1(-high)) / 2)
    return np.where((low < 0) & (high > 0), both_sides, one_side)


def gaussian_log_mass(low: Array, width: Array) -> Array:
    """log ∫ of the standard normal density from `low` to low + width, to some 1e-11, also of thin slices."""
    high = low + width
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        flip = low > 0  # by symmetry into the lower tail, where logarithms are exact
        a, b = np.where(flip, -high, low), np.where(flip, -low, high)
        upper, lower = special.log_ndtr(b), special.log_ndtr(a)
        thick = upper + np.log(-np.expm1(lower - upper))
        middle = a + width / 2
        bend = (middle**2 - 1) * width**2 / 24
        thin = -0.5 * middle**2 - 0.5 * LOG_TWO_PI + np.log(width) + np.log1p(bend)
    return np.where(width * np.maximum(1.0, np.abs(middle)) < THIN, thin, thick)


def _summed_mass(
    scale: Array, low: Array, high: Array, value: Array, log_mass: Callable[[Array, Array], Array]
) -> Array:
    """Σ over coordinates; where the scale is 0 the value lies in the interval, or the release is impossible."""
    silent = scale == 0
    unit = np.where(silent, 1.0, scale)
    width = np.where(np.isinf(low) | np.isinf(high), np.inf, (high - low) / unit)
    logs = log_mass(*_oriented((low - value) / unit, (high - value) / unit, width))
    held = np.where((low <= value) & (value <= high), 0.0, -np.inf)
    return np.sum(np.where(silent, held, logs), axis=-1)


def _oriented(low: Array, high: Array, width: Array) -> tuple[Array, Array]:
    """From an end that is finite: an interval from −∞ is turned over."""
    return np.where(np.isneginf(low), -high, low), width


def _check(what: str, scale: Scale) -> None:
    values = np.asarray(scale)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise PrivacyError(f"{what} = {scale!r}: must be finite and at least 0")
