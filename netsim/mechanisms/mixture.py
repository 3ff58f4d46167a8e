"""Uniform plus Laplace noise, the release of an ADMM with random penalties, and what it loses on average.

Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, chapter 2: per coordinate
x_i⁺ = θ x_i + (1 − θ) mean_j x_j − (∇f_i − λ_i)/D_i + Lap(b) with θ ~ U(0, 1). Here `value` is all but θ and the
noise (mean_j x_j − (∇f_i − λ_i)/D_i) and `width` is x_i − mean_j x_j.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import integrate

from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms.protocol import Scale
from netsim.mechanisms.scales import check_scale, none

TAIL = 60.0
"""In scales; what lies beyond it has probability below 1e-26."""
NO_WIDTH = 1e-290
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
        size, b = self._shapes(observed)
        below, above = self._to_ends(observed, value)
        silent = b == 0
        unit = np.where(silent, 1.0, b)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            r, p, q = size / unit, below / unit, above / unit
            outside = np.maximum(0.0, np.maximum(-p, -q))
            inside = (p > 0) & (q > 0)
            mass = np.where(inside, -(np.expm1(-p) + np.expm1(-q)), -np.expm1(-r)) / 2
            thin = np.where(r > NO_WIDTH, np.log(mass / r), -math.log(2)) - np.log(unit)
            logs = np.where(r < 1, thin, np.log(mass) - np.log(size)) - outside
            plain = self._plain(observed, value, size, below, above)
        return np.sum(np.where(silent, plain, logs), axis=-1)

    def quantiles(self, observed: Array, value: Array) -> Array:
        size, b = self._shapes(observed)
        below, above = self._to_ends(observed, value)
        silent = b == 0
        unit = np.where(silent, 1.0, b)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            r, p, q = size / unit, below / unit, above / unit
            share = np.where(r > NO_WIDTH, -np.expm1(-r) / r, 1.0) / 2
            within = below / size + (np.expm1(-p) - np.expm1(-q)) / (2 * r)
            noisy = np.where(p <= 0, share * np.exp(p), np.where(q <= 0, 1 - share * np.exp(q), within))
            plain = np.where(size > 0, np.clip(below / size, 0.0, 1.0), np.where(below >= 0, 1.0, 0.0))
        return np.where(silent, plain, noisy)

    def mean(self) -> Scale:
        """Of width·U: half the width."""
        return self.width / 2

    def variance(self) -> Scale:
        return self.width**2 / 12 + 2 * self.scale**2

    def _shapes(self, observed: Array) -> tuple[Array, Array]:
        """|ω| and b in the shape of what was observed."""
        return np.abs(np.broadcast_to(self.width, observed.shape)), np.broadcast_to(self.scale, observed.shape)

    def _to_ends(self, observed: Array, value: Array) -> tuple[Array, Array]:
        """How far it is from the lower end of the interval of means up to the noise, and on to the upper end."""
        noise = observed - value
        return noise - np.minimum(self.width, 0.0), np.maximum(self.width, 0.0) - noise

    def _plain(self, observed: Array, value: Array, size: Array, below: Array, above: Array) -> Array:
        """Without Laplace noise: uniform, its ends as far out as the rounding of value + ω U may go."""
        rounding = 2 * np.spacing(np.maximum(np.abs(observed), np.abs(value)))
        possible = np.where(size > 0, (below >= -rounding) & (above >= -rounding), below == 0)
        return np.where(possible, np.where(size > 0, -np.log(np.where(size > 0, size, 1.0)), 0.0), -np.inf)


def average_loss(shift: float, width: float, scale: float) -> float:
    """E|ln p(T | 0)/p(T | shift)| of one coordinate, T = width·U + Laplace(scale), in nats, by quadrature.

    The worst case is |shift|/scale. You get a `PrivacyError` for a scale that is not positive.
    """
    if not 0 < scale < math.inf or not (math.isfinite(shift) and math.isfinite(width)):
        raise PrivacyError(f"shift {shift!r}, width {width!r}, scale {scale!r}: finite, and the scale above 0")
    r, s = abs(width) / scale, abs(shift) / scale  # the mixture is symmetric about the middle of its interval
    law = UniformLaplace(r, 1.0)

    def log_density(t: float) -> float:
        return float(law.log_density(np.array([[t]]), np.zeros((1, 1)))[0])

    def integrand(t: float) -> float:
        here = log_density(t)
        return math.exp(here) * abs(here - log_density(t - s))

    ends = {e + d for e in (0.0, s, r, r + s) for d in (-TAIL, -4.0, 0.0, 4.0, TAIL)}
    cuts = sorted(ends | {(r + s) / 2})
    pieces = (integrate.quad(integrand, a, b, limit=200, epsabs=1e-14, epsrel=1e-10) for a, b in pairwise(cuts))
    return math.fsum(found[0] for found in pieces)


def average_ratio(shift: float, width: float, scale: float) -> float:
    """γ = E|loss|/(worst-case loss) for a shift that is not 0: between 0 and 1, 1 for width 0.

    The loss is taken without its sign: with it the average is a divergence, whose ratio goes to 0 with the shift.
    """
    return average_loss(shift, width, scale) * scale / abs(shift)


def small_shift_ratio(width: Scale, scale: Scale) -> Scale:
    """The limit of `average_ratio` for shifts to 0: γ = 2(1 − e^{−βω/2})/(βω), β = 1/scale, ω = |width|.

    ω is the whole length of the interval. Width and scale broadcast. Of larger shifts it is no bound: their γ may be
    above it (ω = 5, shift 5, scale 1: 0.61, not 0.37) and below it (ω = 0, shift 1: 0.85, not 1). Why: the density f
    rises to the middle of its interval and falls after it, so E|f'/f| = ∫|f'| = 2 max f = 2(1 − e^{−βω/2})/ω.
    """
    half = np.abs(np.asarray(width, dtype=np.float64)) / (2 * np.asarray(scale, dtype=np.float64))
    ratio = np.where(half > 0, -np.expm1(-half) / np.where(half > 0, half, 1.0), 1.0)
    return ratio if ratio.ndim else float(ratio)
