"""Fixed point: whole multiples of a step."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from netsim.arrays import Array, Mask
from netsim.checks import whole
from netsim.codecs.codec import Codec, within
from netsim.codecs.packing import pack_codes, packed_bytes, round_up_or_down, unpack_codes
from netsim.errors import ScenarioError

Rounding = Literal["nearest", "stochastic"]


@dataclass(frozen=True)
class FixedPoint(Codec):
    """k·step for whole |k| ≤ 2^(bits−1) − 1, step = limit/(2^(bits−1) − 1): `bits` bits a coordinate.

    What is beyond ±`limit` saturates. `rounding` "nearest" (ties to even) is off by half a step at most,
    "stochastic" by less than a step, and unbiased within the limit. The code −2^(bits−1) says: not a number.
    """

    bits: int = 16
    limit: float = 1.0
    rounding: Rounding = "nearest"

    def __post_init__(self) -> None:
        whole(self.bits, "bits", 2, 32)
        if not 0 < self.limit < math.inf or self.step < np.finfo(float).tiny:
            raise ScenarioError("limit", self.limit, "no range of numbers", "> 0, finite, its step not denormal")
        if self.rounding not in get_args(Rounding):
            raise ScenarioError("rounding", self.rounding, "unknown", ", ".join(get_args(Rounding)))

    @property
    def random(self) -> bool:
        return self.rounding == "stochastic"

    @property
    def step(self) -> float:
        """The distance between two numbers that can be said."""
        return self.limit / self._most

    @property
    def _most(self) -> int:
        return (1 << (self.bits - 1)) - 1

    def size(self, dimension: int) -> int:
        return packed_bytes(dimension, self.bits)

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        steps = self._steps(value)
        if self.random:
            assert dither is not None
            return round_up_or_down(steps, dither) * self.step + 0.0
        return np.rint(steps) * self.step + 0.0

    def pack(self, vector: Array) -> bytes:
        unknown = np.isnan(vector)
        codes = np.rint(np.where(unknown, 0.0, vector) / self.step).astype(np.int64)
        return pack_codes(np.where(unknown, -self._most - 1, codes), self.bits)

    def unpack(self, data: bytes, dimension: int) -> Array:
        codes = unpack_codes(data, dimension, self.bits)
        return np.where(codes < -self._most, np.nan, codes * self.step)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        if not self.random:
            return within(encoded, self.encode(low), self.encode(high))
        return within(encoded, np.floor(self._steps(low)) * self.step, np.ceil(self._steps(high)) * self.step)

    def cells(self, encoded: Array) -> tuple[Array, Array] | None:
        if self.random:
            return None
        codes = np.rint(encoded / self.step)
        low = np.where(codes == -self._most, -np.inf, (codes - 0.5) * self.step)
        return low, np.where(codes == self._most, np.inf, (codes + 0.5) * self.step)

    def _steps(self, value: Array) -> Array:
        with np.errstate(over="ignore"):
            steps = np.clip(value / self.step, -self._most, self._most)
        return np.where(np.isnan(steps), np.nan, steps)  # one not-a-number for all
