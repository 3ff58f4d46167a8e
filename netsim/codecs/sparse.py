"""Some of the coordinates, and zeros for the others."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, Mask
from netsim.checks import whole
from netsim.codecs.codec import FLOAT64, Codec, within
from netsim.errors import ScenarioError
from netsim.messages import FLOAT_BYTES, as_sent


@dataclass(frozen=True)
class _Sparse(Codec):
    """At most `k` coordinates, or the `fraction` of them (rounded up): give one of the two.

    On the wire: k indices in ascending order, each of as few whole bytes as d needs, then their float64 values;
    where fewer differ from zero the first zeros fill up. The plain vector, if that is not more bytes.
    """

    k: int | None = None
    fraction: float | None = None

    def __post_init__(self) -> None:
        if (self.k is None) == (self.fraction is None):
            raise ScenarioError("k", self.k, "one of k and fraction is asked for", "k, or a fraction")
        if self.k is not None:
            whole(self.k, "k")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise ScenarioError("fraction", self.fraction, "no fraction of the coordinates", "0 < fraction <= 1")

    def kept(self, dimension: int) -> int:
        """How many coordinates are sent: all, where k is more than there are."""
        if self.k is not None:
            return min(self.k, dimension)
        return max(1, int(np.ceil(cast(float, self.fraction) * dimension)))

    def size(self, dimension: int) -> int:
        return min(self.kept(dimension) * (_index_bytes(dimension) + FLOAT_BYTES), FLOAT_BYTES * dimension)

    def pack(self, vector: Array) -> bytes:
        dimension = vector.size
        if self.size(dimension) == FLOAT_BYTES * dimension:
            return FLOAT64.pack(vector)
        zeros_last = np.argsort(vector == 0, kind="stable")
        places = np.sort(zeros_last[: self.kept(dimension)])
        indices = places.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : _index_bytes(dimension)]
        return indices.tobytes() + FLOAT64.pack(vector[places])

    def unpack(self, data: bytes, dimension: int) -> Array:
        if self.size(dimension) == FLOAT_BYTES * dimension:
            return FLOAT64.unpack(data, dimension)
        kept, width = self.kept(dimension), _index_bytes(dimension)
        places = np.zeros((kept, 8), np.uint8)
        places[:, :width] = np.frombuffer(data, np.uint8, kept * width).reshape(kept, width)
        vector = np.zeros(dimension)
        vector[places.view("<u8").ravel()] = FLOAT64.unpack(data[kept * width :], kept)
        return vector

    def _first(self, order: NDArray[np.intp], value: Array, factor: float = 1.0) -> Array:
        """The coordinates that come first in each replica's order, times `factor`."""
        chosen = order[:, : self.kept(value.shape[-1])]
        sent = np.zeros(value.shape)
        with np.errstate(over="ignore"):
            np.put_along_axis(sent, chosen, np.take_along_axis(value, chosen, axis=-1) * factor, axis=-1)
        return as_sent(sent)


@dataclass(frozen=True)
class TopK(_Sparse):
    """The k coordinates of largest magnitude as they are; of equal ones the first. What is no number counts as ∞.

    ‖C(v) − v‖² ≤ (1 − k/d)‖v‖².
    """

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        magnitude = np.where(np.isnan(value), np.inf, np.abs(value))
        return self._first(np.argsort(-magnitude, axis=-1, kind="stable"), value)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        return within(encoded, low, high) | (encoded == 0)


@dataclass(frozen=True)
class RandomK(_Sparse):
    """k coordinates drawn uniformly for each vector, times d/k: unbiased, E‖C(v) − v‖² = (d/k − 1)‖v‖².

    With `unbiased` false they are sent as they are: E‖C(v) − v‖² = (1 − k/d)‖v‖².
    """

    unbiased: bool = True

    @property
    def random(self) -> bool:
        return True

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        assert dither is not None
        return self._first(np.argsort(dither, axis=-1, kind="stable"), value, self._factor(value.shape[-1]))

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        factor = self._factor(encoded.shape[-1])
        with np.errstate(over="ignore"):
            return within(encoded, low * factor, high * factor) | (encoded == 0)

    def _factor(self, dimension: int) -> float:
        return dimension / self.kept(dimension) if self.unbiased else 1.0


def _index_bytes(dimension: int) -> int:
    return max(1, -(-(dimension - 1).bit_length() // 8))
