"""Noise on a grid: discrete Laplace and Gaussian; and uniform noise modulo p, exact in float64.

Values are rounded to the grid step·Z, and the noise is a whole number of steps. Additive secret shares are made of
the uniform noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms.continuous import LOG_TWO_PI
from netsim.mechanisms.mechanism import Scale, check_scale, none

_FINEST = 2.0**46
"""The largest scale in steps: up to it whole numbers of steps are exact."""


def _check_grid(what: str, scale: Scale, step: float) -> None:
    """You get a `PrivacyError` for a step that is not positive and finite, or too fine for the scale."""
    if not 0 < step < np.inf:
        raise PrivacyError(f"{what} step = {step!r}: must be positive and finite")
    if not np.all(np.asarray(scale) <= _FINEST * step):
        raise PrivacyError(f"{what} step = {step!r}: too fine for {scale!r}; at most 2**46 steps make a scale")


def rounded(value: Array, scale: Scale, step: float) -> Array:
    """The value on the grid, halves to even; where the scale is 0, as it is."""
    return np.where(np.equal(scale, 0), value, step * np.rint(value / step))


@dataclass(frozen=True)
class _Steps:
    """What explains an observation: `noise` in steps, possible only where `on_grid`; both in its shape."""

    noise: Array
    on_grid: Array

    @classmethod
    def of(cls, observed: Array, value: Array, step: float) -> "_Steps":
        there = np.rint(observed / step)
        on_grid = np.logical_not(np.abs(observed - step * there) > np.spacing(np.abs(observed)))  # NaN stays NaN
        return cls(there - np.rint(value / step), on_grid)


def _released(value: Array, noise: Array, scale: Scale, step: float) -> Array:
    """The value on the grid and so many steps further; where the scale is 0, as it is."""
    return np.where(np.equal(scale, 0), value, step * (np.rint(value / step) + noise))


def _summed_probability(observed: Array, value: Array, scale: Array, steps: _Steps, logs: Array) -> Array:
    """Σ of log-probabilities over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    noisy = np.where(steps.on_grid, logs, -np.inf)
    return np.sum(np.where(scale == 0, np.where(observed == value, 0.0, -np.inf), noisy), axis=-1)


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
        _check_grid("DiscreteLaplace", self.scale, self.step)

    @property
    def noiseless(self) -> bool:
        return none(self.scale)

    def rounded(self, value: Array) -> Array:
        """The value on the grid: all that a release depends on."""
        return rounded(value, self.scale, self.step)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        success = -np.expm1(-np.broadcast_to(self._rate(), value.shape))
        noise = rng.geometric(success) - rng.geometric(success)
        return _released(value, noise.astype(np.float64), self.scale, self.step)

    def log_density(self, observed: Array, value: Array) -> Array:
        a, b = self._rate(), np.broadcast_to(self.scale, observed.shape)
        steps = _Steps.of(observed, value, self.step)
        size = np.abs(steps.noise)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = np.log(np.tanh(a / 2)) - np.where(size == 0, 0.0, a * size)
        return _summed_probability(observed, value, b, steps, logs)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return self._distribution(_Steps.of(observed, value, self.step).noise)

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        return self._distribution(_Steps.of(observed, value, self.step).noise - 1)

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


SMOOTH = 32.0
"""From so many steps per σ on, sums over the grid are integrals with two corrections, to 1e-8 relative within 8 σ."""
_REACH = 40
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
        _check_grid("DiscreteGaussian", self.stddev, self.step)

    @property
    def noiseless(self) -> bool:
        return none(self.stddev)

    def rounded(self, value: Array) -> Array:
        """The value on the grid: all that a release depends on."""
        return rounded(value, self.stddev, self.step)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        noise = _inverted(rng.random(size=value.shape) - 0.5, self._sigma(value))
        return _released(value, noise, self.stddev, self.step)

    def log_density(self, observed: Array, value: Array) -> Array:
        steps, s = _Steps.of(observed, value, self.step), self._sigma(observed)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            scores = np.where(steps.noise == 0, 0.0, steps.noise / s)
            logs = -0.5 * scores**2 - _log_normalizer(s)
        return _summed_probability(observed, value, s, steps, logs)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return _distribution(_Steps.of(observed, value, self.step).noise, self._sigma(observed))

    def quantiles_below(self, observed: Array, value: Array) -> Array:
        return _distribution(_Steps.of(observed, value, self.step).noise - 1, self._sigma(observed))

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
        found[here] = _table(float(one))[np.minimum(-k[here], _REACH * one + _REACH).astype(np.int64)]
    return found


def _table(s: float) -> Array:
    """P(K ≤ −k) at k = 0, 1, …: the smallest terms are added first."""
    k = np.arange(0, int(_REACH * s + _REACH) + 2, dtype=np.float64)
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
        _check_modulus(self.modulus)

    @property
    def noiseless(self) -> bool:
        return False

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        share = rng.integers(self.modulus, size=value.shape).astype(np.float64)
        return _added(unwrap(value, self.modulus), share, self.modulus)

    def log_density(self, observed: Array, value: Array) -> Array:
        """−d ln p, a probability; −∞ for what is no residue."""
        _check_whole(value)
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
        return _added(unwrap(observed, self.modulus), unwrap(-value, self.modulus), self.modulus)


def unwrap(value: Array, modulus: int) -> Array:
    """Whole numbers of either sign → their residues in {0, …, p − 1}, exactly.

    You get a `PrivacyError` for a number that is not whole or beyond 2^53.
    """
    _check_modulus(modulus)
    _check_whole(value)
    return np.remainder(value, float(modulus)) + 0.0  # never −0


def wrap(value: Array, modulus: int) -> Array:
    """Whole numbers → the signed representative of their residue in (−p/2, p/2], exactly.

    Undoes `unwrap` for signed numbers there: a sum of numbers that lies in (−p/2, p/2] is `wrap` of the sum of their
    residues.
    """
    residue = unwrap(value, modulus)
    return np.where(2 * residue > modulus, residue - modulus, residue)


def sum_modulo(values: Iterable[Array], modulus: int) -> Array:
    """The sum of arrays of whole numbers, modulo p, in {0, …, p − 1}: exact, however many they are."""
    total: Array | None = None
    for value in values:
        residue = unwrap(value, modulus)
        total = residue if total is None else _added(total, residue, modulus)
    if total is None:
        raise PrivacyError("a sum modulo p needs at least one array")
    return total


def _added(a: Array, b: Array, modulus: int) -> Array:
    """Residues: a + b may exceed 2^53, but a − (p − b) does not."""
    difference = a - (modulus - b)
    return np.where(difference < 0, difference + modulus, difference)


def _check_modulus(modulus: int) -> None:
    if isinstance(modulus, bool) or not isinstance(modulus, int) or not 2 <= modulus <= LARGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PrivacyError(f"modulus = {modulus!r}: must be a whole number from 2 to 2**53")


def _check_whole(value: Array) -> None:
    whole = (np.abs(value) <= LARGEST) & (np.floor(value) == value)
    if not np.all(whole):
        worst = value[~whole].flat[0]
        raise PrivacyError(f"{worst!r} modulo p: must be a whole number, at most 2**53; round to fixed point first")
