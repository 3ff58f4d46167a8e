"""What a codec is, and the one that changes nothing."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array, Mask
from netsim.messages import FLOAT_BYTES, as_sent


class Codec(ABC):
    """How vectors go on the wire. Frozen parameters; public.

    Values and bytes agree: `pack` makes exactly `size` bytes of what `encode` returned, and `unpack` gives the very
    bits back. So the bytes say nothing that the decoded vector does not.
    """

    @property
    def lossless(self) -> bool:
        """Whether receivers decode the value itself, to the last bit."""
        return False

    @property
    def random(self) -> bool:
        """Whether it needs a dither."""
        return False

    @abstractmethod
    def size(self, dimension: int) -> int:
        """Bytes of one encoded vector."""

    @abstractmethod
    def encode(self, value: Array, dither: Array | None = None) -> Array:
        """What receivers decode of `value`, (replicas, dimension), a new array; zeros have no sign.

        `dither` holds independent numbers uniform on [0, 1) in the shape of `value`; a codec that is not `random`
        looks at none. Nothing in a replica depends on another one.
        """

    @abstractmethod
    def pack(self, vector: Array) -> bytes:
        """The `size(dimension)` bytes of an encoded vector, (dimension,)."""

    @abstractmethod
    def unpack(self, data: bytes, dimension: int) -> Array:
        """The vector that `pack` made these bytes of."""

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:  # noqa: ARG002
        """Where `encoded` may be what a value between `low` and `high` became, whatever the dither. All have shape
        (replicas, dimension).

        True where that is not known, as here: what could be is never held against anybody.
        """
        return np.ones(encoded.shape, dtype=bool)

    def cells(self, encoded: Array) -> tuple[Array, Array] | None:  # noqa: ARG002
        """The least and greatest number that becomes `encoded`, coordinate by coordinate, ±∞ included.

        None for a codec that is random or looks at more than one coordinate.
        """
        return None


@dataclass(frozen=True)
class Float64(Codec):
    """IEEE 754 double precision: the value itself."""

    @property
    def lossless(self) -> bool:
        return True

    def size(self, dimension: int) -> int:
        return FLOAT_BYTES * dimension

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        return as_sent(value)

    def pack(self, vector: Array) -> bytes:
        return vector.astype("<f8", copy=False).tobytes()

    def unpack(self, data: bytes, dimension: int) -> Array:
        return np.frombuffer(data, "<f8", dimension).astype(np.float64)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        return within(encoded, low, high)


FLOAT64 = Float64()


def within(encoded: Array, low: Array, high: Array) -> Mask:
    """Where low ≤ encoded ≤ high, or all are the same bits, of what is not a number."""
    same = (encoded.view(np.uint64) == low.view(np.uint64)) & (encoded.view(np.uint64) == high.view(np.uint64))
    return ((low <= encoded) & (encoded <= high)) | same
