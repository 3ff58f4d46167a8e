"""Codec: how vectors go on the wire and one agent's encoder; full precision and narrower floating-point formats."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, Mask
from netsim.errors import TranscriptError
from netsim.transcript.message import FLOAT_BYTES, Values, as_sent


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


@dataclass(frozen=True)
class Dither:
    """An agent's numbers uniform on [0, 1), from their start: PRIVATE coins, one array a value it sends.

    `generator()` makes the stream afresh; of each draw for `replicas` replicas, `only` one's or (None) all are had.
    """

    generator: Callable[[], np.random.Generator]
    replicas: int
    only: int | None = None

    def replica(self, index: int) -> "Dither":
        """What replica `index` had."""
        return replace(self, only=index)

    def draws(self, dimension: int) -> Iterator[Array]:
        """One (replicas, dimension) array after the other."""
        generator = self.generator()
        rows = slice(None) if self.only is None else slice(self.only, self.only + 1)
        while True:
            yield generator.random((self.replicas, dimension))[rows]


class Encoder:
    """Encodes what one agent sends, each value once; draws in the order of messages, then of the fields' names.

    You get a `TranscriptError` where a random codec is given no dither.
    """

    __slots__ = ("_codec", "_draws")

    def __init__(self, codec: Codec, dimension: int, dither: Dither | None = None) -> None:
        if codec.random and dither is None:
            raise TranscriptError(f"{codec} takes uniform numbers: give the agent's dither")
        self._codec = codec
        self._draws = dither.draws(dimension) if codec.random and dither is not None else None

    def __call__(self, values: Values) -> Values:
        """What receivers decode, field by field; read-only."""
        codec, draws = self._codec, self._draws
        encoded: Values = {}
        for name in sorted(values):
            encoded[name] = codec.encode(values[name], None if draws is None else next(draws))
            encoded[name].setflags(write=False)
        return {name: encoded[name] for name in values}


_Floats = NDArray[np.floating]


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

    def _next(self, numbers: _Floats, way: float) -> _Floats:
        with np.errstate(all="ignore"):
            return np.nextafter(numbers, self._format.type(way))

    def _narrow(self, value: Array) -> _Floats:
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
