"""Narrower floating-point formats."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, Mask
from netsim.codecs.codec import Codec, within
from netsim.messages import as_sent

Floats = NDArray[np.floating]


class _Narrow(Codec):
    """Round to nearest, ties to even, as the format does; beyond its range that is ±∞."""

    _format: np.dtype[np.floating]

    def size(self, dimension: int) -> int:
        return self._format.itemsize * dimension

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        return as_sent(self._narrow(value).astype(np.float64))

    def pack(self, vector: Array) -> bytes:
        return self._narrow(vector).tobytes()

    def unpack(self, data: bytes, dimension: int) -> Array:
        return np.frombuffer(data, self._format, dimension).astype(np.float64)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        return within(encoded, self.encode(low), self.encode(high))

    def cells(self, encoded: Array) -> tuple[Array, Array]:
        return self._edge(encoded, -np.inf), self._edge(encoded, np.inf)

    def _edge(self, encoded: Array, way: float) -> Array:
        """Halfway to the next number of the format; beyond the last one there would be one more, as far away."""
        here = self._narrow(encoded)
        beyond = self._next(here, way)
        largest = np.copysign(np.finfo(self._format).max, way)
        before = largest - self._next(np.full_like(here, largest), -way).astype(np.float64)
        with np.errstate(invalid="ignore"):
            edge = (encoded + beyond.astype(np.float64)) / 2
        edge = np.where(here == largest, largest + before / 2, edge)
        outer = -np.copysign(np.inf, way)  # an infinity on the other side ends where the largest number begins
        return np.where(here == outer, -(largest + before / 2), edge)

    def _next(self, numbers: Floats, way: float) -> Floats:
        with np.errstate(all="ignore"):
            return np.nextafter(numbers, self._format.type(way))

    def _narrow(self, value: Array) -> Floats:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return value.astype(self._format)


@dataclass(frozen=True)
class Float32(_Narrow):
    """IEEE 754 single precision: 24 bits, up to 3.4e38."""

    _format = np.dtype("<f4")


@dataclass(frozen=True)
class Float16(_Narrow):
    """IEEE 754 half precision: 11 bits, and no more than 65,504: a larger number becomes ±∞."""

    _format = np.dtype("<f2")
