"""Codecs that send one number for the whole vector, and a few bits a coordinate."""

import math
from dataclasses import dataclass
from functools import reduce
from typing import Literal, get_args

import numpy as np

from netsim.arrays import Array, Mask
from netsim.checks import whole
from netsim.codecs.codec import FLOAT64, Codec
from netsim.codecs.packing import pack_codes, packed_bytes, round_up_or_down, unpack_codes
from netsim.errors import ScenarioError
from netsim.messages import FLOAT_BYTES, as_sent

Norm = Literal["l2", "linf"]
SLACK = 1e-9
"""Relative: what rounding may do to a bound on what a codec can have made."""
MANTISSA = 53
TINY = float(np.finfo(float).tiny)
"""Below it float64 has fewer bits."""


@dataclass(frozen=True)
class Quantizer(Codec):
    """The dithered b-bit quantizer, s = 2^(b−1) levels of the norm:

        C(v) = (‖v‖/ξ)·sign(v)·⌊s|v|/‖v‖ + u⌋/s,   u uniform on [0, 1) for each coordinate.

    ξ = 1 + min(d/s², √d/s) for the ℓ2 norm and 1 + d/(4s²) for ℓ∞, where the first coordinate that has the norm
    always reaches level s. Then E C(v) = v/ξ and E‖C(v) − v‖² ≤ (1 − 1/ξ)‖v‖². With `unbiased` ξ is left out:
    E C(v) = v.

    On the wire: ‖v‖/(ξ s) as a float64, and each coordinate's level, −s … s. These are 2^b + 1 levels, one more than
    b bits can tell apart, so a coordinate takes b + 1 bits. The scale is rounded up to 53 − b bits: a multiple of it
    is then exact. Common factors of all levels go into the scale, so that the bytes say no more than the decoded
    vector. What is not finite makes the vector nowhere a number.

    Source: the quantizer of CPGT; with ℓ2 that of Alistarh et al. 2017, as scaled by Koloskova et al. 2019.
    """

    bits: int = 4
    norm: Norm = "l2"
    unbiased: bool = False

    def __post_init__(self) -> None:
        whole(self.bits, "bits", 1, 16)
        if self.norm not in get_args(Norm):
            raise ScenarioError("norm", self.norm, "unknown", ", ".join(get_args(Norm)))

    @property
    def random(self) -> bool:
        return True

    @property
    def _levels(self) -> int:
        return 1 << (self.bits - 1)

    def shrinkage(self, dimension: int) -> float:
        """ξ."""
        s = self._levels
        if self.unbiased:
            return 1.0
        return 1 + (dimension / (4 * s**2) if self.norm == "linf" else min(dimension / s**2, dimension**0.5 / s))

    def size(self, dimension: int) -> int:
        return FLOAT_BYTES + packed_bytes(dimension, self.bits + 1)

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        assert dither is not None
        shrinkage = self.shrinkage(value.shape[-1])
        with np.errstate(all="ignore"):
            unit = _rounded_up(self._norm(value) / (shrinkage * self._levels), MANTISSA - self.bits)
            exact = np.where(unit > 0, np.abs(value) / shrinkage / unit, 0.0)
            level = round_up_or_down(np.minimum(exact, self._levels), dither)
            return np.where(np.isfinite(unit), as_sent(np.copysign(level * unit, value)), np.nan)

    def pack(self, vector: Array) -> bytes:
        if not np.isfinite(vector).all():
            return FLOAT64.pack(np.array([np.nan])) + bytes(packed_bytes(vector.size, self.bits + 1))
        unit = _common_measure(vector)
        levels = np.rint(vector / unit).astype(np.int64) if unit else np.zeros(vector.size, np.int64)
        return FLOAT64.pack(np.array([unit])) + pack_codes(levels, self.bits + 1)

    def unpack(self, data: bytes, dimension: int) -> Array:
        unit = FLOAT64.unpack(data, 1)
        levels = unpack_codes(data[FLOAT_BYTES:], dimension, self.bits + 1)
        return np.where(np.isfinite(unit), unit * levels, np.nan)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        """By |ξ·C(v) − v| < ‖v‖/s: a bound that holds, not the set itself."""
        shrinkage, largest = self.shrinkage(encoded.shape[-1]), np.fmax(np.abs(low), np.abs(high))
        with np.errstate(all="ignore"):
            reach = self._norm(largest) * (1 / self._levels + SLACK) + TINY
            near = (low - reach <= shrinkage * encoded) & (shrinkage * encoded <= high + reach)
        return near | ~np.isfinite(encoded) | ~np.isfinite(reach)

    def _norm(self, value: Array) -> Array:
        """(replicas, 1)."""
        largest = np.max(np.abs(value), axis=-1, keepdims=True)
        if self.norm == "linf":
            return largest
        unit = np.where(largest > 0, value / largest, 0.0)
        return largest * np.sqrt(np.sum(np.ascontiguousarray(unit) ** 2, axis=-1, keepdims=True))


@dataclass(frozen=True)
class ScaledSign(Codec):
    """(‖v‖₁/d)·sign(v), where the sign of 0 is +: ‖C(v) − v‖² = ‖v‖² − ‖v‖₁²/d. One bit a coordinate.

    On the wire: the mean magnitude as a float64 and the signs. What is not finite makes the vector nowhere a number.
    """

    def size(self, dimension: int) -> int:
        return FLOAT_BYTES + packed_bytes(dimension, 1)

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        with np.errstate(all="ignore"):
            mean = _mean_magnitude(value)
        return np.where(np.isfinite(mean), as_sent(np.where(value < 0, -mean, mean)), np.nan)

    def pack(self, vector: Array) -> bytes:
        signs = -(vector < 0).astype(np.int64)
        return FLOAT64.pack(np.abs(vector[:1])) + pack_codes(signs, 1)

    def unpack(self, data: bytes, dimension: int) -> Array:
        mean = FLOAT64.unpack(data, 1)
        signs = unpack_codes(data[FLOAT_BYTES:], dimension, 1)
        return as_sent(np.where(np.isnan(mean), np.nan, np.where(signs < 0, -mean, mean)))

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        across = (low <= 0) & (high >= 0)
        least = np.where(across, 0.0, np.fmin(np.abs(low), np.abs(high)))
        with np.errstate(all="ignore"):
            most = _mean_magnitude(np.fmax(np.abs(low), np.abs(high))) * (1 + SLACK)
            mean = np.abs(encoded)
            sized = (_mean_magnitude(least) * (1 - SLACK) <= mean + TINY) & (mean <= most + TINY)
        signed = np.where(encoded < 0, low < 0, high >= 0) | (encoded == 0)
        return (sized & signed) | ~np.isfinite(encoded) | ~np.isfinite(most)


def _mean_magnitude(value: Array) -> Array:
    """‖v‖₁/d, (replicas, 1), without overflow."""
    magnitude = np.ascontiguousarray(np.abs(value))
    largest = np.max(magnitude, axis=-1, keepdims=True)
    return largest * np.mean(np.where(largest > 0, magnitude / largest, 0.0), axis=-1, keepdims=True)


def _rounded_up(number: Array, bits: int) -> Array:
    """The next number ≥ 0 of so many significant bits; near the least float64 of fewer."""
    mantissa, exponent = np.frexp(number)
    return np.ldexp(np.ceil(np.ldexp(mantissa, bits)), exponent - bits)


def _common_measure(vector: Array) -> float:
    """The largest float64 of which every coordinate is a whole multiple; 0 for zeros."""
    mantissa, exponent = np.frexp(vector[vector != 0])
    if not mantissa.size:
        return 0.0
    least = int(np.min(exponent)) - MANTISSA
    wholes = np.ldexp(np.abs(mantissa), MANTISSA).astype(np.int64).tolist()
    shifts = (exponent - MANTISSA - least).tolist()
    measure = reduce(math.gcd, (number << shift for number, shift in zip(wholes, shifts, strict=True)))
    return math.ldexp(measure, least)
