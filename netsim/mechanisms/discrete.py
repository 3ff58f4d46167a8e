"""Noise on a grid: discrete Laplace and Gaussian; and uniform noise modulo p, exact in float64.

Values are rounded to the grid step·Z, and the noise is a whole number of steps. Additive secret shares are made of
the uniform noise.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms.mechanism import LOG_TWO_PI, Scale, check_scale, none, own_arrays

_FINEST = 2.0**46
"""The largest scale in steps: up to it whole numbers of steps are exact."""


class _OnGrid(ABC):
    """A value on step·Z and a whole number of steps of noise, all of it in units of the value.

    What explains an observation is the noise in steps; without a scale nothing is added nor rounded.
    """

    step: float

    @property
    @abstractmethod
    def _size(self) -> Scale:
        """b or σ."""

    @abstractmethod
    def _up_to(self, k: Array) -> Array:
        """P(K ≤ k)."""

    @abstractmethod
    def _log_mass(self, k: Array) -> Array:
        """log P(K = k), where the scale is not 0."""

    @abstractmethod
    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """K."""

    def _check(self, name: str) -> None:
        """You get a `PrivacyError` for no scale, and for a step that is not positive and finite, or too fine."""
        what = type(self).__name__
        check_scale(f"{what} {name}", self._size)
        if not 0 < self.step < np.inf:
            raise PrivacyError(f"{what} step = {self.step!r}: must be positive and finite")
        if not np.all(np.asarray(self._size) <= _FINEST * self.step):
            problem = f"too fine for {self._size!r}; at most 2**46 steps make a scale"
            raise PrivacyError(f"{what} step = {self.step!r}: {problem}")
        own_arrays(self, name)

    @property
    def noiseless(self) -> bool:
        return none(self._size)

    def rounded(self, value: Array) -> Array:
        """The value on the grid, halves to even: all that a release depends on. Where the scale is 0, as it is."""
        return np.where(np.equal(self._size, 0), value, self.step * np.rint(value / self.step))

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        noise = self._drawn(value.shape, rng)
        return np.where(np.equal(self._size, 0), value, self.step * (np.rint(value / self.step) + noise))

    def log_density(self, observed: Array, value: Array) -> Array:
        """Σ of log-probabilities over coordinates; where the scale is 0 the noise is 0, or the release impossible."""
        there = np.rint(observed / self.step)
        on_grid = np.logical_not(np.abs(observed - self.step * there) > np.spacing(np.abs(observed)))  # NaN stays NaN
        logs = np.where(on_grid, self._log_mass(there - np.rint(value / self.step)), -np.inf)
        silent = np.broadcast_to(np.equal(self._size, 0), observed.shape)
        return np.sum(np.where(silent, np.where(observed == value, 0.0, -np.inf), logs), axis=-1)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return self._up_to(np.rint(observed / self.step) - np.rint(value / self.step))

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        return self._up_to(np.rint(observed / self.step) - np.rint(value / self.step) - 1)


@dataclass(frozen=True)
class DiscreteLaplace(_OnGrid):
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
        self._check("scale")

    @property
    def _size(self) -> Scale:
        return self.scale

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        success = -np.expm1(-np.broadcast_to(self._rate(), shape))
        return (rng.geometric(success) - rng.geometric(success)).astype(np.float64)

    def _log_mass(self, k: Array) -> Array:
        a, size = self._rate(), np.abs(k)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.log(np.tanh(a / 2)) - np.where(size == 0, 0.0, a * size)

    def variance(self) -> Scale:
        with np.errstate(over="ignore"):
            variance = self.step**2 / (2 * np.sinh(self._rate() / 2) ** 2)
        return variance if variance.ndim else float(variance)

    def _rate(self) -> Array:
        """a = step/b, ∞ for no noise."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.step / np.asarray(self.scale, dtype=np.float64))

    def _up_to(self, k: Array) -> Array:
        a = np.broadcast_to(self._rate(), k.shape)
        exponent = np.where(k < 0, -k, k + 1)
        with np.errstate(over="ignore"):
            tail = np.exp(-a * exponent) / (1 + np.exp(-a))
        return np.where(k < 0, tail, 1 - tail)


SMOOTH = 32.0
"""From so many steps per σ on, sums over the grid are integrals with two corrections, to 1e-8 relative within 8 σ."""
_REACH = 40
"""Below that, tables reach so many σ, and beyond the support for σ of a fraction of a step."""


@dataclass(frozen=True)
class DiscreteGaussian(_OnGrid):
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
        self._check("stddev")

    @property
    def _size(self) -> Scale:
        return self.stddev

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """By inversion of a uniform number: the least k with P(K ≤ k) ≥ u in the lower half, mirrored."""
        centered, s = rng.random(size=shape) - 0.5, self._sigma(shape)
        u = np.maximum(0.5 - np.abs(centered), 2.0**-54)
        k = np.minimum(np.ceil(s * special.ndtri(u) - 0.5), 0.0)
        with np.errstate(invalid="ignore"):
            while np.any(high := self._up_to(k - 1) >= u):
                k = k - high
            while np.any(low := (k < 0) & (self._up_to(k) < u)):
                k = k + low
        return np.where(centered < 0, k, -k)

    def _log_mass(self, k: Array) -> Array:
        s = self._sigma(k.shape)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return -0.5 * np.where(k == 0, 0.0, k / s) ** 2 - _log_normalizer(s)

    def _up_to(self, k: Array) -> Array:
        lower = _tail(np.where(k < 0, k, -k - 1), self._sigma(k.shape))
        return np.where(k < 0, lower, 1 - lower)

    def variance(self) -> Scale:
        """step² Var K: s² minus what the grid takes off; by Poisson's sum for s ≥ 1."""
        s = np.asarray(self.stddev / self.step, dtype=np.float64)
        fine, coarse = np.maximum(s, 1.0), np.minimum(s, 1.0)
        wide = fine**2 * (1 - (2 * np.pi * fine) ** 2 * _theta(fine, 2) / (1 + _theta(fine, 0)))
        variance = self.step**2 * np.where(s >= 1, wide, _sums(coarse, 2) / _sums(coarse, 0))
        return variance if variance.ndim else float(variance)

    def _sigma(self, shape: tuple[int, ...]) -> Array:
        """σ in steps, in this shape; above 0 where σ is."""
        stddev = np.asarray(self.stddev, dtype=np.float64)
        least = np.where(stddev > 0, np.finfo(float).tiny, 0.0)
        return np.broadcast_to(np.maximum(stddev / self.step, least), shape)


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


def _tail(k: Array, s: Array) -> Array:
    """P(K ≤ k) for k ≤ −1.

    In fine steps by Euler and Maclaurin's sum by midpoints: ∫ f − f'/24 + 7f‴/5760, f the density of N(0, s²). In
    coarse ones from a table of P(K ≤ −k) at k = 0, 1, …, whose smallest terms are added first.
    """
    found, wide = np.where(np.isnan(k), np.nan, 0.0), s >= SMOOTH
    z = (k[wide] + 0.5) / s[wide]
    density = np.exp(-0.5 * (z**2 + LOG_TWO_PI))
    found[wide] = special.ndtr(z) + density * (z / 24 + 7 * (3 * z - z**3) / (5760 * s[wide] ** 2)) / s[wide] ** 2
    rough = ~wide & (s > 0) & ~np.isnan(k)
    for one in map(float, np.unique(s[rough])):
        steps = np.arange(0, int(_REACH * one + _REACH) + 2, dtype=np.float64)
        with np.errstate(over="ignore", divide="ignore"):
            mass = np.exp(np.where(steps > 0, -0.5 * (steps / one) ** 2, 0.0) - _log_normalizer(np.asarray(one)))
        table, here = np.cumsum(mass[::-1])[::-1], rough & (s == one)
        found[here] = table[np.minimum(-k[here], _REACH * one + _REACH).astype(np.int64)]
    return found


LARGEST = 2**53
"""The largest modulus: up to it float64 holds every whole number."""


@dataclass(frozen=True)
class UniformModulo:
    """(value + U) mod p, U uniform on {0, …, p − 1} per coordinate: tells nothing of the value, privacy loss 0.

    `modulus` is p, a whole number from 2 to 2^53. Values are whole numbers held in float64, of either sign, at most
    2^53; releases lie in {0, …, p − 1}. A release together with its U tells everything: what this protects depends on
    who sees both. You get a `PrivacyError` for another modulus, and for a value that is not whole.
    """

    modulus: int

    def __post_init__(self) -> None:
        p = self.modulus
        if isinstance(p, bool) or not isinstance(p, int) or not 2 <= p <= LARGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PrivacyError(f"modulus = {p!r}: must be a whole number from 2 to 2**53")

    @property
    def noiseless(self) -> bool:
        return False

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        share = rng.integers(self.modulus, size=value.shape).astype(np.float64)
        return self._added(_checked(value), share)

    def log_density(self, observed: Array, value: Array) -> Array:
        """−d ln p, a probability; −∞ for what is no residue."""
        _checked(value)
        possible = np.all((observed >= 0) & (observed < self.modulus) & (np.floor(observed) == observed), axis=-1)
        return np.where(possible, -observed.shape[-1] * np.log(float(self.modulus)), -np.inf)

    def quantiles(self, observed: Array, value: Array) -> Array:
        """(U + 1)/p of the U that explains what was observed."""
        return (self._share(observed, value) + 1) / self.modulus

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        """U/p of the U that explains what was observed."""
        return self._share(observed, value) / self.modulus

    def variance(self) -> float:
        """Of U: (p² − 1)/12."""
        return (float(self.modulus) ** 2 - 1) / 12

    def _share(self, observed: Array, value: Array) -> Array:
        return self._added(_checked(observed), np.remainder(_checked(-value), float(self.modulus)) + 0.0)

    def _added(self, value: Array, share: Array) -> Array:
        """A whole number's residue and another, exactly: their sum may exceed 2^53, but a − (p − b) does not."""
        residue = np.remainder(value, float(self.modulus)) + 0.0  # never −0
        difference = residue - (self.modulus - share)
        return np.where(difference < 0, difference + self.modulus, difference)


def _checked(value: Array) -> Array:
    whole = (np.abs(value) <= LARGEST) & (np.floor(value) == value)
    if not np.all(whole):
        worst = value[~whole].flat[0]
        raise PrivacyError(f"{worst!r} modulo p: must be a whole number, at most 2**53; round to fixed point first")
    return value
