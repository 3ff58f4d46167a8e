"""Laplace noise on a grid."""

from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array
from netsim.mechanisms.grid import Steps, check_grid, released, rounded, summed_probability
from netsim.mechanisms.protocol import Scale
from netsim.mechanisms.scales import check_scale, none


@dataclass(frozen=True)
class DiscreteLaplace:
    """The value rounded to step·Z, plus step·K per coordinate: P(K = k) = tanh(a/2) e^{−a|k|}, a = step/b.

    `scale` is b ≥ 0 and `step` the public grid's, both in the units of the value. Protects ℓ1 distances of the
    rounded values: loss ≤ ‖Δ‖₁/b, attained; rounding may make a distance longer by up to one step per coordinate.
    Where the scale is 0 nothing is added nor rounded. Sampled as a difference of two of NumPy's geometric numbers: a
    model for experiments. You get a `PrivacyError` for a negative or non-finite scale, a step that is not positive
    and finite, and a scale of more than 2^46 steps.

    Source: Ghosh, Roughgarden, Sundararajan 2009, the two-sided geometric mechanism.
    """

    scale: Scale
    step: float = 1.0

    def __post_init__(self) -> None:
        check_scale("DiscreteLaplace scale", self.scale)
        check_grid("DiscreteLaplace", self.scale, self.step)

    @property
    def noiseless(self) -> bool:
        return none(self.scale)

    def rounded(self, value: Array) -> Array:
        """The value on the grid: all that a release depends on."""
        return rounded(value, self.scale, self.step)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        success = -np.expm1(-np.broadcast_to(self._rate(), value.shape))
        noise = rng.geometric(success) - rng.geometric(success)
        return released(value, noise.astype(np.float64), self.scale, self.step)

    def log_density(self, observed: Array, value: Array) -> Array:
        a, b = self._rate(), np.broadcast_to(self.scale, observed.shape)
        steps = Steps.of(observed, value, self.step)
        size = np.abs(steps.noise)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = np.log(np.tanh(a / 2)) - np.where(size == 0, 0.0, a * size)
        return summed_probability(observed, value, b, steps, logs)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return self._distribution(Steps.of(observed, value, self.step).noise)

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        return self._distribution(Steps.of(observed, value, self.step).noise - 1)

    def variance(self) -> Scale:
        with np.errstate(over="ignore"):
            variance = self.step**2 / (2 * np.sinh(self._rate() / 2) ** 2)
        return variance if variance.ndim else float(variance)

    def _rate(self) -> Array:
        """a = step/b, ∞ for no noise."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.step / np.asarray(self.scale, dtype=np.float64))

    def _distribution(self, k: Array) -> Array:
        """P(K ≤ k)."""
        a = np.broadcast_to(self._rate(), k.shape)
        exponent = np.where(k < 0, -k, k + 1)
        with np.errstate(over="ignore"):
            tail = np.exp(-a * exponent) / (1 + np.exp(-a))
        return np.where(k < 0, tail, 1 - tail)
