"""Laplace noise."""

from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.mechanisms.protocol import Scale
from netsim.mechanisms.scales import check_scale, none, summed, summed_mass


@dataclass(frozen=True)
class Laplace:
    """Laplace noise per coordinate, density exp(−|t|/b)/(2b); protects ℓ1 distances: loss ≤ ‖Δ‖₁/b.

    `scale` is b ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    scale: Scale

    def __post_init__(self) -> None:
        check_scale("Laplace scale", self.scale)

    @property
    def noiseless(self) -> bool:
        return none(self.scale)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.laplace(size=value.shape) * self.scale

    def log_density(self, observed: Array, value: Array) -> Array:
        b = np.broadcast_to(self.scale, observed.shape)
        return summed(b, observed - value, lambda t, b: -np.abs(t) / b - np.log(2 * b))

    def quantiles(self, observed: Array, value: Array) -> Array:
        from scipy import stats  # takes its time to load

        return np.asarray(stats.laplace.cdf(observed - value, scale=self.scale), dtype=np.float64)

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        return summed_mass(np.broadcast_to(self.scale, value.shape), low, high, value, laplace_log_mass)

    def variance(self) -> Scale:
        return 2 * self.scale**2


def laplace_log_mass(low: Array, width: Array) -> Array:
    """log ∫ e^{−|t|}/2 from `low` to low + width, without cancellation."""
    high = low + width
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near = np.where(low >= 0, low, np.where(high <= 0, -high, 0.0))
        one_side = -near + np.log(-np.expm1(-width)) - np.log(2)
        both_sides = np.log(-(np.expm1(low) + np.expm1(-high)) / 2)
    return np.where((low < 0) & (high > 0), both_sides, one_side)
