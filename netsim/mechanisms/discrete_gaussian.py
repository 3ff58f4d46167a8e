"""Gaussian noise on a grid."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.mechanisms.gaussian import LOG_TWO_PI
from netsim.mechanisms.grid import Steps, check_grid, released, rounded, summed_probability
from netsim.mechanisms.protocol import Scale
from netsim.mechanisms.scales import check_scale, none

SMOOTH = 32.0
"""From so many steps per σ on, sums over the grid are integrals with two corrections, to 1e-8 relative within 8 σ."""
REACH = 40
"""Below that, tables reach so many σ, and beyond the support for σ of a fraction of a step."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """The value rounded to step·Z, plus step·K per coordinate: P(K = k) ∝ exp(−k²/(2 s²)), s = σ/step.

    `stddev` is σ ≥ 0, the law's parameter: its standard deviation is a little less, and far less where σ is below
    half a step. `step` is the public grid's; both are in the units of the value. Protects ℓ2 distances of the rounded
    values: ρ-zCDP with ρ = ‖Δ‖₂²/(2σ²), attained at whole orders; rounding may lengthen each coordinate's difference
    by up to one step. Where σ is 0 nothing is added nor rounded. Sampled by inversion of one 53-bit uniform per
    coordinate, so never farther than some 8.3 σ: a model for experiments. You get a `PrivacyError` for a negative or
    non-finite σ, a step that is not positive and finite, and a σ of more than 2^46 steps.

    Source: Canonne, Kamath, Steinke 2020, Definition 1 and Theorem 4.
    """

    stddev: Scale
    step: float = 1.0

    def __post_init__(self) -> None:
        check_scale("DiscreteGaussian stddev", self.stddev)
        check_grid("DiscreteGaussian", self.stddev, self.step)

    @property
    def noiseless(self) -> bool:
        return none(self.stddev)

    def rounded(self, value: Array) -> Array:
        """The value on the grid: all that a release depends on."""
        return rounded(value, self.stddev, self.step)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        noise = _inverted(rng.random(size=value.shape) - 0.5, self._sigma(value))
        return released(value, noise, self.stddev, self.step)

    def log_density(self, observed: Array, value: Array) -> Array:
        steps, s = Steps.of(observed, value, self.step), self._sigma(observed)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            scores = np.where(steps.noise == 0, 0.0, steps.noise / s)
            logs = -0.5 * scores**2 - _log_normalizer(s)
        return summed_probability(observed, value, s, steps, logs)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return _distribution(Steps.of(observed, value, self.step).noise, self._sigma(observed))

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        return _distribution(Steps.of(observed, value, self.step).noise - 1, self._sigma(observed))

    def variance(self) -> Scale:
        variance = self.step**2 * _variance(np.asarray(self.stddev / self.step, dtype=np.float64))
        return variance if variance.ndim else float(variance)

    def _sigma(self, like: Array) -> Array:
        """σ in steps, in this shape; above 0 where σ is."""
        stddev = np.asarray(self.stddev, dtype=np.float64)
        least = np.where(stddev > 0, np.finfo(float).tiny, 0.0)
        return np.broadcast_to(np.maximum(stddev / self.step, least), like.shape)


def _sums(s: Array, power: int) -> Array:
    """Σ_k k^power e^{−k²/(2s²)} over whole k, power 0 or 2, for s ≤ 1: ten terms."""
    k = np.arange(1, 11, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        terms = k**power * np.exp(-0.5 * (k / s[..., None]) ** 2)
    return (power == 0) + 2 * np.sum(terms, axis=-1)


def _theta(s: Array, power: int) -> Array:
    """2 Σ_{j ≥ 1} j^power e^{−2π²s²j²}, for s ≥ 1: what is left of Poisson's sum."""
    root = 2 * (np.pi * s) ** 2
    return 2 * (np.exp(-root) + 2.0**power * np.exp(-4 * root))


def _log_normalizer(s: Array) -> Array:
    """log Σ_k e^{−k²/(2s²)}."""
    fine = np.maximum(s, 1.0)
    wide = np.log(fine) + 0.5 * LOG_TWO_PI + np.log1p(_theta(fine, 0))
    return np.where(s >= 1, wide, np.log(_sums(np.minimum(s, 1.0), 0)))


def _variance(s: Array) -> Array:
    """Of K: s² minus what the grid takes off; by Poisson's sum for s ≥ 1."""
    fine, coarse = np.maximum(s, 1.0), np.minimum(s, 1.0)
    wide = fine**2 * (1 - (2 * np.pi * fine) ** 2 * _theta(fine, 2) / (1 + _theta(fine, 0)))
    return np.where(s >= 1, wide, _sums(coarse, 2) / _sums(coarse, 0))


def _distribution(k: Array, s: Array) -> Array:
    """P(K ≤ k)."""
    lower = _tail(np.where(k < 0, k, -k - 1), s)
    return np.where(k < 0, lower, 1 - lower)


def _tail(k: Array, s: Array) -> Array:
    """P(K ≤ k) for k ≤ −1."""
    found = np.where(np.isnan(k), np.nan, 0.0)
    wide = s >= SMOOTH
    found[wide] = _smooth_tail(k[wide], s[wide])
    rough = ~wide & (s > 0) & ~np.isnan(k)
    for one in np.unique(s[rough]):
        here = rough & (s == one)
        found[here] = _table(float(one))[np.minimum(-k[here], REACH * one + REACH).astype(np.int64)]
    return found


def _table(s: float) -> Array:
    """P(K ≤ −k) at k = 0, 1, …: the smallest terms are added first."""
    k = np.arange(0, int(REACH * s + REACH) + 2, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore"):
        mass = np.exp(np.where(k > 0, -0.5 * (k / s) ** 2, 0.0) - _log_normalizer(np.asarray(s)))
    return np.cumsum(mass[::-1])[::-1]


def _smooth_tail(k: Array, s: Array) -> Array:
    """Euler and Maclaurin's sum by midpoints: ∫ f − f'/24 + 7f'''/5760, f the density of N(0, s²)."""
    z = (k + 0.5) / s
    density = np.exp(-0.5 * (z**2 + LOG_TWO_PI))
    return special.ndtr(z) + density * (z / 24 + 7 * (3 * z - z**3) / (5760 * s**2)) / s**2


def _inverted(centered: Array, s: Array) -> Array:
    """The K of a uniform number, `centered` at 0: the least k with P(K ≤ k) ≥ u in the lower half, mirrored."""
    u = np.maximum(0.5 - np.abs(centered), 2.0**-54)
    k = np.minimum(np.ceil(s * special.ndtri(u) - 0.5), 0.0)
    with np.errstate(invalid="ignore"):
        while np.any(high := _distribution(k - 1, s) >= u):
            k = k - high
        while np.any(low := (k < 0) & (_distribution(k, s) < u)):
            k = k + low
    return np.where(centered < 0, k, -k)
