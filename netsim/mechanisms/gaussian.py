"""Gaussian noise."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.mechanisms.protocol import Scale
from netsim.mechanisms.scales import check_scale, none, summed, summed_mass

LOG_TWO_PI = float(np.log(2 * np.pi))
THIN = 1e-2
"""A slice of the normal density so thin, times its distance, is a parabola to 1e-11."""


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise per coordinate, N(0, σ²); protects ℓ2 distances: ρ-zCDP with ρ = ‖Δ‖₂²/(2σ²).

    `stddev` is σ ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    stddev: Scale

    def __post_init__(self) -> None:
        check_scale("Gaussian stddev", self.stddev)

    @property
    def noiseless(self) -> bool:
        return none(self.stddev)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.standard_normal(size=value.shape) * self.stddev

    def log_density(self, observed: Array, value: Array) -> Array:
        s = np.broadcast_to(self.stddev, observed.shape)
        return summed(s, observed - value, lambda t, s: -0.5 * (t / s) ** 2 - np.log(s) - 0.5 * LOG_TWO_PI)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return np.asarray(special.ndtr((observed - value) / self.stddev), dtype=np.float64)

    def log_mass(self, low: Array, high: Array, value: Array) -> Array:
        return summed_mass(np.broadcast_to(self.stddev, value.shape), low, high, value, gaussian_log_mass)

    def variance(self) -> Scale:
        return self.stddev**2


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
