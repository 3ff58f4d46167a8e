"""Mechanism: the operations that every noise law has; Laplace, Gaussian, and uniform plus Laplace noise.

The mixture is the release of an ADMM with random penalties. The average privacy loss of a coordinate is
E|ln p(T | v)/p(T | v')|.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, cast, runtime_checkable

import numpy as np
from scipy import special

from netsim.arrays import Array
from netsim.bounds import LARGEST
from netsim.errors import PrivacyError
from netsim.errors import what as kind_of

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
        """Variance of one coordinate's noise; of a law that has none (Cauchy) the square of its scale."""
        ...


class Releasing(np.random.Generator):
    """A noise stream that makes releases in a way of its own, whatever the law: as an audit asks for."""

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        """What goes on the wire for a private `value` (replicas, dimension), same shape."""
        raise NotImplementedError


def released(mechanism: Mechanism, value: Array, rng: np.random.Generator) -> Array:
    """Release of a private `value` (replicas, dimension): as the mechanism makes it, or the stream in its own way."""
    return rng.released(mechanism, value) if isinstance(rng, Releasing) else mechanism.release(value, rng)


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
    """At least 0, with a square that is a number, or a `PrivacyError`. A number is compared as one: every round makes
    mechanisms."""
    if isinstance(scale, float | int):
        sound = 0 <= scale <= LARGEST
    else:
        try:
            if np.asarray(scale).dtype.kind in "SU":  # which NumPy would read as numbers
                raise TypeError
            values = np.asarray(scale, dtype=float)
        except (TypeError, ValueError):
            why = (
                f"{what} = {scale!r} {kind_of(scale)}; allowed: a number >= 0, or one for each replica or coordinate"
            )
            raise PrivacyError(why) from None
        sound = bool(np.all(values >= 0) and np.all(values <= LARGEST))
    if not sound:
        raise PrivacyError(f"{what} = {scale!r}: must be finite and at least 0; at most {LARGEST:g}")


def own_arrays(mechanism: object, *names: str) -> None:
    """Make each of these fields that is an array a read-only copy: code may go on to change the one it handed in."""
    for name in names:
        if isinstance(value := getattr(mechanism, name), np.ndarray):
            own = cast(Array, value).copy()
            own.setflags(write=False)
            object.__setattr__(mechanism, name, own)


def none(scale: Scale) -> bool:
    """Whether no coordinate has any noise."""
    return scale == 0 if isinstance(scale, float | int) else not np.any(scale)


def _summed(scale: Array, noise: Array, density: Callable[[Array, Array], Array]) -> Array:
    """Σ over coordinates; where the scale is 0 the noise is 0, or the release is impossible."""
    if np.all(scale > 0):
        return np.sum(density(noise, scale), axis=-1)
    silent = scale == 0
    logs = density(noise, np.where(silent, 1.0, scale))
    return np.sum(np.where(silent, np.where(noise == 0, 0.0, -np.inf), logs), axis=-1)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise per coordinate, density exp(−|t|/b)/(2b); protects ℓ1 distances: loss ≤ ‖Δ‖₁/b.

    `scale` is b ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    scale: Scale

    def __post_init__(self) -> None:
        check_scale("Laplace scale", self.scale)
        own_arrays(self, "scale")

    @property
    def noiseless(self) -> bool:
        return none(self.scale)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.laplace(size=value.shape) * self.scale

    def log_density(self, observed: Array, value: Array) -> Array:
        b = np.broadcast_to(self.scale, observed.shape)
        return _summed(b, observed - value, lambda t, b: -np.abs(t) / b - np.log(2 * b))

    def quantiles(self, observed: Array, value: Array) -> Array:
        from scipy import stats  # takes its time to load

        return np.asarray(stats.laplace.cdf(observed - value, scale=self.scale), dtype=np.float64)

    def variance(self) -> Scale:
        return 2 * self.scale**2


LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise per coordinate, N(0, σ²); protects ℓ2 distances: ρ-zCDP with ρ = ‖Δ‖₂²/(2σ²).

    `stddev` is σ ≥ 0, in the units of the value. You get a `PrivacyError` for a negative or non-finite one.
    """

    stddev: Scale

    def __post_init__(self) -> None:
        check_scale("Gaussian stddev", self.stddev)
        own_arrays(self, "stddev")

    @property
    def noiseless(self) -> bool:
        return none(self.stddev)

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return value + rng.standard_normal(size=value.shape) * self.stddev

    def log_density(self, observed: Array, value: Array) -> Array:
        s = np.broadcast_to(self.stddev, observed.shape)
        return _summed(s, observed - value, lambda t, s: -0.5 * (t / s) ** 2 - np.log(s) - 0.5 * LOG_TWO_PI)

    def quantiles(self, observed: Array, value: Array) -> Array:
        return np.asarray(special.ndtr((observed - value) / self.stddev), dtype=np.float64)

    def variance(self) -> Scale:
        return self.stddev**2


_NO_WIDTH = 1e-290
"""In scales; below it numbers lose digits, and the mixture is the Laplace law."""


@dataclass(frozen=True)
class UniformLaplace:
    """value + width·U + Laplace noise, U ~ U(0, 1), independent per coordinate.

    `scale` is b ≥ 0 and `width` ω of either sign, both in the units of the value. A width that is an array is data,
    as the value is: it is not checked, and no branch depends on it. For two worlds with values v, v' and widths ω, ω'
    the loss of a coordinate is at most max(|v − v'|, |v + ω − v' − ω'|)/b: U is the same in both, and a mixture loses
    no more than its worst part. With b = 0 the noise is uniform on an interval, and outside it the density is 0.
    You get a `PrivacyError` for a negative or non-finite scale, or a width that is a float and not finite.
    """

    width: Scale
    scale: Scale

    def __post_init__(self) -> None:
        check_scale("UniformLaplace scale", self.scale)
        own_arrays(self, "width", "scale")
        if not isinstance(self.width, np.ndarray) and not math.isfinite(self.width):
            raise PrivacyError(f"UniformLaplace width = {self.width!r}: must be finite")

    @property
    def noiseless(self) -> bool:
        """Whether the release is the value itself: scale 0, and a width that is the float 0."""
        return none(self.scale) and not isinstance(self.width, np.ndarray) and self.width == 0

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        mixed = value + rng.random(size=value.shape) * self.width
        return mixed + rng.laplace(size=value.shape) * self.scale

    def log_density(self, observed: Array, value: Array) -> Array:
        """log of the Laplace probability of an interval of length |ω|, over |ω|."""
        size, silent, unit, below, above = self._parts(observed, value)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            r, p, q = size / unit, below / unit, above / unit
            outside = np.maximum(0.0, np.maximum(-p, -q))
            inside = (p > 0) & (q > 0)
            mass = np.where(inside, -(np.expm1(-p) + np.expm1(-q)), -np.expm1(-r)) / 2
            thin = np.where(r > _NO_WIDTH, np.log(mass / r), -math.log(2)) - np.log(unit)
            logs = np.where(r < 1, thin, np.log(mass) - np.log(size)) - outside
        # without Laplace noise: uniform, its ends as far out as the rounding of value + ω U may go
        rounding = 2 * np.spacing(np.maximum(np.abs(observed), np.abs(value)))
        possible = np.where(size > 0, (below >= -rounding) & (above >= -rounding), below == 0)
        flat = np.where(size > 0, -np.log(np.where(size > 0, size, 1.0)), 0.0)
        return np.sum(np.where(silent, np.where(possible, flat, -np.inf), logs), axis=-1)

    def quantiles(self, observed: Array, value: Array) -> Array:
        size, silent, unit, below, above = self._parts(observed, value)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            r, p, q = size / unit, below / unit, above / unit
            share = np.where(r > _NO_WIDTH, -np.expm1(-r) / r, 1.0) / 2
            within = below / size + (np.expm1(-p) - np.expm1(-q)) / (2 * r)
            noisy = np.where(p <= 0, share * np.exp(p), np.where(q <= 0, 1 - share * np.exp(q), within))
            plain = np.where(size > 0, np.clip(below / size, 0.0, 1.0), np.where(below >= 0, 1.0, 0.0))
        return np.where(silent, plain, noisy)

    def mean(self) -> Scale:
        """Of width·U: half the width."""
        return self.width / 2

    def variance(self) -> Scale:
        return self.width**2 / 12 + 2 * self.scale**2

    def _parts(self, observed: Array, value: Array) -> tuple[Array, Array, Array, Array, Array]:
        """|ω|; where b is 0; b, but 1 there; how far it is from the lower end of the interval of means up to the
        noise, and on to the upper end. All in the shape of what was observed."""
        b, noise = np.broadcast_to(self.scale, observed.shape), observed - value
        size, silent = np.abs(np.broadcast_to(self.width, observed.shape)), b == 0
        below, above = noise - np.minimum(self.width, 0.0), np.maximum(self.width, 0.0) - noise
        return size, silent, np.where(silent, 1.0, b), below, above


def average_ratio(shift: float, width: float, scale: float) -> float:
    """E|loss|/(worst-case loss) of width·U + Laplace(scale), shift ≠ 0: between 0 and 1, 1 for width 0.

    Of one pair; the γ of Xiao 2019 averages the supremum over all pairs (`average_supremum_ratio`). The loss is
    taken without its sign: with it the average is a divergence, whose ratio goes to 0 with the shift. You get a
    `PrivacyError` for a scale that is not positive.
    """
    s, r = _finite_in_scales(shift, width, scale)
    return float(mixture_average_loss(s, r, 1.0)) / s


def average_supremum_ratio(shift: float, width: float, scale: float) -> float:
    """γ of Xiao 2019, Definition 2, for width·U + Laplace(scale): E sup|loss|/(worst-case loss), 1 for width 0.

    The supremum is that of (2.5), over all shifts of at most |shift| = B∞/D, shift ≠ 0; the expectation that over
    releases. The density's logarithm is concave, and symmetric around the middle of its interval: at a distance u
    from there the largest loss is ln f(u) − ln f(u + |shift|), where Appendix D has the smaller ln f(u − |shift|) −
    ln f(u) for most u. Gauss–Legendre quadrature, to 1e-8. A supremum over *both* hypotheses, as in (2.4), may move
    the interval away from the release, where gradients have no bound of their own, and is 1 for every width. You get
    a `PrivacyError` for a scale that is not positive.
    """
    s, r = _finite_in_scales(shift, width, scale)
    half, found = r / 2, 0.0
    cuts = np.unique(np.clip(np.concatenate([half + _CUTS, half - s + _CUTS]), 0.0, half))
    for low, high in pairwise(cuts.tolist()):
        u = half + (high - low) / 2 * _NODES[None] + (high + low) / 2
        here = _log_density(u, np.array(r))
        found += (high - low) / 2 * float(np.sum(_WEIGHTS * np.exp(here) * (here - _log_density(u + s, np.array(r)))))
    beyond = -math.expm1(-r) / r if r > _NO_WIDTH else 1.0
    return 2 * found / s + beyond


def _finite_in_scales(shift: float, width: float, scale: float) -> tuple[float, float]:
    """|shift|/scale and |width|/scale of finite numbers, the first above 0."""
    if not 0 < scale < math.inf or not (0 < abs(shift) < math.inf and math.isfinite(width)):
        raise PrivacyError(f"shift {shift!r}, width {width!r}, scale {scale!r}: finite, and the scale above 0")
    return abs(shift) / scale, abs(width) / scale


_LAYER = 20.0  # scales; farther from an end of a density it is flat, or nothing, to 2e-9
_CUTS = np.array([-_LAYER, -8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0, _LAYER])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def laplace_average_loss(shift: Scale, scale: Scale) -> Array:
    """s − (1 − e^{−s/2})², s = |shift|/scale: E||T − s| − |T|| for T ~ Lap(1). The worst case is s.

    Where the scale is 0 it is 0: a shift that no noise protects has no loss that is a number.
    """
    s = _in_scales(shift, scale)
    return s - np.expm1(-s / 2) ** 2


def gaussian_average_loss(shift: Scale, stddev: Scale) -> Array:
    """The mean of |N(μ²/2, μ²)|, μ = |shift|/stddev: μ√(2/π) e^{−μ²/8} + μ²/2·erf(μ/√8). There is no worst case.

    Where the deviation is 0 it is 0.
    """
    mu = _in_scales(shift, stddev)
    far: Array = np.asarray(special.erf(mu / np.sqrt(8)), dtype=np.float64)
    return mu * np.sqrt(2 / np.pi) * np.exp(-(mu**2) / 8) + mu**2 / 2 * far


def mixture_average_loss(shift: Scale, width: Scale, scale: Scale) -> Array:
    """The same of width·U + Laplace(scale), of the same width in both worlds; they broadcast. The worst case is
    |shift|/scale.

    Beyond both ends the loss is the worst case, with a probability that is known; between them the integral is
    Gauss–Legendre's, cut at the ends, at the layers around them and in the middle, where the loss changes its sign:
    1e-8 of it and better. Where the scale is 0 it is 0.
    """
    s, r = np.broadcast_arrays(_in_scales(shift, scale), _in_scales(width, scale))
    ends = np.stack([np.zeros_like(s), s, r, r + s])
    last = r + s
    cuts = np.concatenate([ends + cut for cut in _CUTS] + [last[None] / 2])
    cuts = np.sort(np.clip(cuts, 0.0, last), axis=0)
    flat = r.reshape(-1, 1)
    found = np.zeros(s.size)
    for low, high in pairwise(cuts):
        half = ((high - low) / 2).reshape(-1, 1)
        if not np.any(half > 0):
            continue
        t = half * _NODES + ((high + low) / 2).reshape(-1, 1)
        here = _log_density(t, flat)
        found += np.sum(
            half * _WEIGHTS * np.exp(here) * np.abs(here - _log_density(t - s.reshape(-1, 1), flat)), axis=1
        )
    below = UniformLaplace(flat, 1.0).quantiles(np.zeros_like(flat), np.zeros_like(flat))[:, 0]
    above = 1 - UniformLaplace(flat, 1.0).quantiles(last.reshape(-1, 1), np.zeros_like(flat))[:, 0]
    return (found + s.ravel() * (below + above)).reshape(s.shape)


def _log_density(t: Array, width: Array) -> Array:
    """log of the density of width·U + Lap(1) at each number, without summing over coordinates."""
    flat = t.reshape(-1, 1)
    wide = np.broadcast_to(width, t.shape).reshape(-1, 1)
    return UniformLaplace(wide, 1.0).log_density(flat, np.zeros_like(flat)).reshape(t.shape)


def _in_scales(value: Scale, scale: Scale) -> Array:
    """|value|/scale, 0 where the scale is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(scale, 0), 0.0, np.abs(value) / np.asarray(scale, dtype=np.float64))
