"""Interval bounds of gradients, where a proximal map, a compressor or a random weight leaves an interval.

A codec's preimage is one source: what a vector may have been, given what receivers decoded.
"""

import math
from typing import NamedTuple

import numpy as np

from netsim.arrays import Array, Mask
from netsim.codecs import FLOAT64, Codec, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import AttackError
from netsim.transcript.message import FLOAT_BYTES

SLACK = 1e-11
"""Relative: how much rounding may move an end of an interval; each end is moved outwards by it."""


class GradientBounds(NamedTuple):
    """low ≤ ∇f_agent(y) ≤ high, coordinate by coordinate, for a y between the `points`; all (replicas, dimension).

    `query` counts the agent's gradient queries from 0. `stddev`, (replicas, dimension) or 0: of noise that the bounds
    do not hold, mean 0: gradient + noise lies between them. Nothing else is assumed: without noise the true gradient
    is inside, rounding included.
    """

    agent: int
    query: int
    points: tuple[Array, Array]
    low: Array
    high: Array
    stddev: Array | float = 0.0

    @property
    def exact(self) -> Mask:
        """Mask of where low and high are one, up to 1e-8."""
        return self._narrower(1e-8)

    def _narrower(self, share: float) -> Mask:
        size = np.maximum(1.0, np.maximum(np.abs(self.low), np.abs(self.high)))
        with np.errstate(invalid="ignore"):
            return np.isfinite(size) & (self.high - self.low <= share * size)

    @property
    def middle(self) -> Array:
        """Halfway; ±∞ where one side is open, and not a number where both are."""
        with np.errstate(invalid="ignore"):
            return (self.low + self.high) / 2

    @property
    def uniform(self) -> Array:
        """The standard deviations of the middles' errors, were all numbers between the bounds equally likely.

        Bounds that rounding alone keeps apart count as one number.
        """
        with np.errstate(invalid="ignore"):
            width = np.where(self._narrower(10 * SLACK), 0.0, self.high - self.low)
        return np.sqrt(width**2 / 12 + np.square(self.stddev))


def root_mean_square(values: Array) -> float:
    """Over all of them."""
    return math.sqrt(float(np.mean(np.square(values))))


class Interval(NamedTuple):
    """Numbers between `low` and `high`, (replicas, dimension) each."""

    low: Array
    high: Array

    @classmethod
    def at(cls, value: Array) -> "Interval":
        return cls(value, value)


CODEC_SLACK = 1e-9
"""Relative: how much a scale on the wire may be rounded."""


def preimage(codec: Codec, decoded: Array) -> Interval:
    """low ≤ v ≤ high for every v that becomes `decoded`, (replicas, dimension), whatever the dither; ±∞ included.

    - lossless: v itself. Codecs of single coordinates: their cells.
    - `TopK`: what was sent is v; of the others |v| is at most the least magnitude that was sent, 0 if fewer than k
      were.
    - `RandomK`: what was sent is v; of the others nothing is known.
    - `Quantizer`: within one level of ξ·decoded, with its sign, the level being on the wire.
    - `ScaledSign`: the sign, and |v| at most the ℓ1 norm.

    You get an `AttackError` for another codec.
    """
    if codec.lossless:
        return Interval.at(decoded)
    if isinstance(codec, TopK):
        sent = decoded != 0
        full = np.sum(sent, axis=-1, keepdims=True) >= codec.kept(decoded.shape[-1])
        least = np.min(np.where(sent, np.abs(decoded), np.inf), axis=-1, keepdims=True)
        room = np.where(sent | ~full, 0.0, least)
        return Interval(decoded - room, decoded + room)
    if isinstance(codec, RandomK):
        open_ = np.where(decoded == 0, np.inf, 0.0)
        sent = decoded / (decoded.shape[-1] / codec.kept(decoded.shape[-1])) if codec.unbiased else decoded
        slack = CODEC_SLACK * np.abs(sent) if codec.unbiased else 0.0
        return Interval(sent - open_ - slack, sent + open_ + slack)
    if isinstance(codec, Quantizer):
        # v/(ξ·unit) lies within one of the level; a scale with a common factor put in only makes the bounds wider
        shrinkage = codec.shrinkage(decoded.shape[-1])
        unit = shrinkage * np.array([FLOAT64.unpack(codec.pack(row)[:FLOAT_BYTES], 1) for row in decoded])
        value, room = shrinkage * decoded, unit * (1 + CODEC_SLACK)
        with np.errstate(invalid="ignore"):
            low, high = value - room, value + room
        low, high = (
            np.where(decoded > 0, np.maximum(low, 0.0), low),
            np.where(decoded < 0, np.minimum(high, 0.0), high),
        )
        nothing = (unit == 0) & (codec.norm == "l2")  # all levels 0: of any norm
        return Interval(np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high))
    if isinstance(codec, ScaledSign):
        most = np.abs(decoded) * decoded.shape[-1] * (1 + CODEC_SLACK)
        return Interval(np.where(decoded < 0, -most, 0.0), np.where(decoded < 0, 0.0, most))
    if (cells := codec.cells(decoded)) is not None:
        return Interval(*cells)
    raise AttackError(f"{codec}: no bounds are known of what was sent before it")
