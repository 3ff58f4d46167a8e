"""Codecs: what a value becomes on the wire, and how many bytes that takes.

| codec | what receivers decode | bytes of one vector of dimension d |
|---|---|---|
| `Float64` | the value itself | 8 d |
| `Float32`, `Float16` | the nearest number of the format | 4 d, 2 d |
| `FixedPoint` | the nearest point of a grid, or one of the two around it at random | ⌈bits·d/8⌉ |
| `TopK`, `RandomK` | k of the coordinates, zeros for the others | k indices and k float64, or 8 d if that is less |
| `Quantizer` | b-bit levels of the vector's norm, dithered | 8 + ⌈(b + 1) d/8⌉ |
| `ScaledSign` | the signs, times the mean magnitude | 8 + ⌈d/8⌉ |
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Literal, cast

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from netsim.arrays import Array, Mask, whole
from netsim.bounds import Count, Positive
from netsim.errors import ScenarioError, TranscriptError
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

    def contraction(self, dimension: int) -> float:  # noqa: ARG002
        """The least known φ with E‖C(v) − v‖² ≤ φ‖v‖² for all v of this dimension; infinite where none is known.

        Below 1 it is that of Assumption 3 of A. Xie et al. 2023, below which a compressor is said to contract.
        """
        return 0.0 if self.lossless else math.inf

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


_WIRE, _HERE = np.dtype("<f8"), np.dtype(np.float64)


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
        return vector.astype(_WIRE, copy=False).tobytes()

    def unpack(self, data: bytes, dimension: int) -> Array:
        return np.frombuffer(data, _WIRE, dimension).astype(_HERE)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        return _within(encoded, low, high)


FLOAT64 = Float64()


def _within(encoded: Array, low: Array, high: Array) -> Mask:
    """Where low ≤ encoded ≤ high, or all are the same bits, of what is not a number."""
    same = (encoded.view(np.uint64) == low.view(np.uint64)) & (encoded.view(np.uint64) == high.view(np.uint64))
    return ((low <= encoded) & (encoded <= high)) | same


@dataclass(frozen=True)
class Dither:
    """An agent's numbers uniform on [0, 1), from their start: PRIVATE coins, one array a value it sends.

    `generator()` makes the stream afresh; of each draw for `replicas` replicas, those of some (`only`) or all (None)
    are had.
    """

    generator: Callable[[], np.random.Generator]
    replicas: int
    only: slice | None = None

    def part(self, rows: slice) -> "Dither":
        """What some replicas had."""
        return replace(self, only=rows)

    def draws(self, dimension: int) -> Iterator[Array]:
        """One (replicas, dimension) array after the other."""
        generator = self.generator()
        rows = slice(None) if self.only is None else self.only
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
        encoded: Values = {}
        for name in sorted(values):
            encoded[name] = self._codec.encode(values[name], None if self._draws is None else next(self._draws))
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
        return _within(encoded, self.encode(low), self.encode(high))

    def cells(self, encoded: Array) -> tuple[Array, Array]:
        return self._edge(encoded, -np.inf), self._edge(encoded, np.inf)

    def _edge(self, encoded: Array, way: float) -> Array:
        """Halfway to the next number of the format; beyond the last one there would be one more, as far away."""
        here, largest = self._narrow(encoded), np.copysign(np.finfo(self._format).max, way)
        with np.errstate(all="ignore"):
            beyond = np.nextafter(here, self._format.type(way))
            before = largest - np.nextafter(np.full_like(here, largest), self._format.type(-way)).astype(np.float64)
            edge = (encoded + beyond.astype(np.float64)) / 2
        edge = np.where(here == largest, largest + before / 2, edge)
        outer = -np.copysign(np.inf, way)  # an infinity on the other side ends where the largest number begins
        return np.where(here == outer, -(largest + before / 2), edge)

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


_Codes = NDArray[np.int64]


def _packed_bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)


def _pack_codes(codes: _Codes, bits: int) -> bytes:
    """Signed codes in two's complement, one after the other, least significant bit first."""
    digits = (codes[:, None] >> np.arange(bits)) & 1
    return np.packbits(digits.astype(np.uint8).ravel(), bitorder="little").tobytes()


def _unpack_codes(data: bytes, count: int, bits: int) -> _Codes:
    digits = np.unpackbits(np.frombuffer(data, np.uint8), count=count * bits, bitorder="little")
    codes = digits.reshape(count, bits).astype(np.int64) @ (1 << np.arange(bits, dtype=np.int64))
    return np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes)


def _round_up_or_down(t: NDArray[np.float64], dither: NDArray[np.float64]) -> NDArray[np.float64]:
    """⌊t⌋ or ⌊t⌋ + 1, the mean being t; a whole number stays what it is.

    The law is that of ⌊t + u⌋ for u uniform on [0, 1), without the rounding of that sum.
    """
    below = np.floor(t)
    return below + (dither < t - below)


@dataclass(frozen=True)
class FixedPoint(Codec):
    """k·step for whole |k| ≤ 2^(bits−1) − 1, step = limit/(2^(bits−1) − 1): `bits` bits a coordinate.

    What is beyond ±`limit` saturates. `rounding` "nearest" (ties to even) is off by half a step at most,
    "stochastic" by less than a step, and unbiased within the limit. The code −2^(bits−1) says: not a number.
    """

    bits: Annotated[int, Ge(2), Le(32)] = 16
    """Bits of a coordinate."""
    limit: Positive = 1.0
    """The largest magnitude of a coordinate; what is larger becomes this."""
    rounding: Literal["nearest", "stochastic"] = "nearest"
    """To the nearest point of the grid, or to one of the two around so that the mean is right."""

    def __post_init__(self) -> None:
        whole(self.bits, "bits", 2, 32)
        if not 0 < self.limit < math.inf or self.step < np.finfo(float).tiny:
            raise ScenarioError("limit", self.limit, "no range of numbers", "> 0, finite, its step not denormal")
        if self.rounding not in ("nearest", "stochastic"):
            raise ScenarioError("rounding", self.rounding, "unknown", "nearest, stochastic")

    @property
    def random(self) -> bool:
        return self.rounding == "stochastic"

    @property
    def step(self) -> float:
        """The distance between two numbers of the grid."""
        return self.limit / self.levels

    @property
    def levels(self) -> int:
        """The grid has so many points above 0, and below."""
        return (1 << (self.bits - 1)) - 1

    def size(self, dimension: int) -> int:
        return _packed_bytes(dimension, self.bits)

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        steps = self._steps(value)
        if not self.random:
            return np.rint(steps) * self.step + 0.0
        assert dither is not None
        return _round_up_or_down(steps, dither) * self.step + 0.0

    def pack(self, vector: Array) -> bytes:
        unknown = np.isnan(vector)
        codes = np.rint(np.where(unknown, 0.0, vector) / self.step).astype(np.int64)
        return _pack_codes(np.where(unknown, -self.levels - 1, codes), self.bits)

    def unpack(self, data: bytes, dimension: int) -> Array:
        codes = _unpack_codes(data, dimension, self.bits)
        return np.where(codes < -self.levels, np.nan, codes * self.step)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        if not self.random:
            return _within(encoded, self.encode(low), self.encode(high))
        return _within(encoded, np.floor(self._steps(low)) * self.step, np.ceil(self._steps(high)) * self.step)

    def cells(self, encoded: Array) -> tuple[Array, Array] | None:
        if self.random:
            return None
        codes = np.rint(encoded / self.step)
        low = np.where(codes == -self.levels, -np.inf, (codes - 0.5) * self.step)
        return low, np.where(codes == self.levels, np.inf, (codes + 0.5) * self.step)

    def _steps(self, value: Array) -> Array:
        with np.errstate(over="ignore"):
            steps = np.clip(value / self.step, -self.levels, self.levels)
        return np.where(np.isnan(steps), np.nan, steps)  # one not-a-number for all


SLACK = 1e-9
"""Relative: what rounding may do to a bound on what a codec can have made."""
_MANTISSA = 53
_TINY = float(np.finfo(float).tiny)
"""Below it float64 has fewer bits."""


@dataclass(frozen=True)
class Quantizer(Codec):
    """The dithered b-bit quantizer: each coordinate becomes one of the two multiples of ‖v‖/2^(b−1) beside it, by
    chance.

    With s = 2^(b−1):

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

    bits: Annotated[int, Ge(1), Le(16)] = 4
    """Bits of a coordinate's level; its sign takes one more."""
    norm: Literal["l2", "linf"] = "l2"
    """The norm whose levels are sent."""
    unbiased: bool = False
    """Whether the mean of what arrives is what was sent."""

    def __post_init__(self) -> None:
        whole(self.bits, "bits", 1, 16)
        if self.norm not in ("l2", "linf"):
            raise ScenarioError("norm", self.norm, "unknown", "l2, linf")

    @property
    def random(self) -> bool:
        return True

    @property
    def levels(self) -> int:
        """s, the level of the norm."""
        return 1 << (self.bits - 1)

    def shrinkage(self, dimension: int) -> float:
        """ξ."""
        s, d = self.levels, dimension
        return 1.0 if self.unbiased else 1 + (d / (4 * s**2) if self.norm == "linf" else min(d / s**2, d**0.5 / s))

    def contraction(self, dimension: int) -> float:
        if not self.unbiased:
            return 1 - 1 / self.shrinkage(dimension)
        return min(dimension / 4, self.levels * math.sqrt(dimension)) / self.levels**2

    def size(self, dimension: int) -> int:
        return FLOAT_BYTES + _packed_bytes(dimension, self.bits + 1)

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        assert dither is not None
        shrinkage = self.shrinkage(value.shape[-1])
        with np.errstate(all="ignore"):
            unit, bits = self._norm(value) / (shrinkage * self.levels), _MANTISSA - self.bits
            mantissa, exponent = np.frexp(unit)
            unit = np.ldexp(np.ceil(np.ldexp(mantissa, bits)), exponent - bits)  # rounded up to so many bits
            exact = np.where(unit > 0, np.abs(value) / shrinkage / unit, 0.0)
            level = _round_up_or_down(np.minimum(exact, self.levels), dither)
            sent = np.copysign(level * unit, value)  # may be ∞ where the unit is not
            return np.where(np.isfinite(sent).all(axis=-1, keepdims=True), as_sent(sent), np.nan)

    def pack(self, vector: Array) -> bytes:
        if not np.isfinite(vector).all():
            return FLOAT64.pack(np.array([np.nan])) + bytes(_packed_bytes(vector.size, self.bits + 1))
        unit = common_measure(vector)
        levels = np.rint(vector / unit).astype(np.int64) if unit else np.zeros(vector.size, np.int64)
        return FLOAT64.pack(np.array([unit])) + _pack_codes(levels, self.bits + 1)

    def unpack(self, data: bytes, dimension: int) -> Array:
        unit = FLOAT64.unpack(data, 1)
        levels = _unpack_codes(data[FLOAT_BYTES:], dimension, self.bits + 1)
        return np.where(np.isfinite(unit), unit * levels, np.nan)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        """By |ξ·C(v) − v| < ‖v‖/s: a bound that holds, not the set itself."""
        shrinkage, largest = self.shrinkage(encoded.shape[-1]), np.fmax(np.abs(low), np.abs(high))
        with np.errstate(all="ignore"):
            reach = self._norm(largest) * (1 / self.levels + SLACK) + _TINY
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

    def contraction(self, dimension: int) -> float:
        return 1 - 1 / dimension

    def size(self, dimension: int) -> int:
        return FLOAT_BYTES + _packed_bytes(dimension, 1)

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        with np.errstate(all="ignore"):
            mean = _mean_magnitude(value)
        return np.where(np.isfinite(mean), as_sent(np.where(value < 0, -mean, mean)), np.nan)

    def pack(self, vector: Array) -> bytes:
        signs = -(vector < 0).astype(np.int64)
        return FLOAT64.pack(np.abs(vector[:1])) + _pack_codes(signs, 1)

    def unpack(self, data: bytes, dimension: int) -> Array:
        mean = FLOAT64.unpack(data, 1)
        signs = _unpack_codes(data[FLOAT_BYTES:], dimension, 1)
        return as_sent(np.where(np.isnan(mean), np.nan, np.where(signs < 0, -mean, mean)))

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        across = (low <= 0) & (high >= 0)
        least = np.where(across, 0.0, np.fmin(np.abs(low), np.abs(high)))
        with np.errstate(all="ignore"):
            most = _mean_magnitude(np.fmax(np.abs(low), np.abs(high))) * (1 + SLACK)
            mean = np.abs(encoded)
            sized = (_mean_magnitude(least) * (1 - SLACK) <= mean + _TINY) & (mean <= most + _TINY)
        signed = np.where(encoded < 0, low < 0, high >= 0) | (encoded == 0)
        return (sized & signed) | ~np.isfinite(encoded) | ~np.isfinite(most)


def _mean_magnitude(value: Array) -> Array:
    """‖v‖₁/d, (replicas, 1), without overflow."""
    magnitude = np.ascontiguousarray(np.abs(value))
    largest = np.max(magnitude, axis=-1, keepdims=True)
    return largest * np.mean(np.where(largest > 0, magnitude / largest, 0.0), axis=-1, keepdims=True)


def common_measure(vector: Array) -> float:
    """The largest float64 of which every coordinate is a whole multiple; 0 for zeros."""
    mantissa, exponent = np.frexp(vector[vector != 0])
    if not mantissa.size:
        return 0.0
    least = int(np.min(exponent)) - _MANTISSA
    wholes = np.ldexp(np.abs(mantissa), _MANTISSA).astype(np.int64).tolist()
    shifts = (exponent - _MANTISSA - least).tolist()
    measure = reduce(math.gcd, (number << shift for number, shift in zip(wholes, shifts, strict=True)))
    return math.ldexp(measure, least)


@dataclass(frozen=True)
class _Sparse(Codec):
    """At most `k` coordinates, or the `fraction` of them (rounded up): give one of the two.

    On the wire: k indices in ascending order, each of as few whole bytes as d needs, then their float64 values;
    where fewer differ from zero the first zeros fill up. The plain vector, if that is not more bytes.
    """

    k: Count | None = None
    """How many coordinates are sent."""
    fraction: Annotated[float, Gt(0), Le(1)] | None = None
    """Which share of the coordinates is sent."""

    def __post_init__(self) -> None:
        if (self.k is None) == (self.fraction is None):
            raise ScenarioError("k", self.k, "one of k and fraction is needed", "k, or a fraction")
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

    def contraction(self, dimension: int) -> float:
        return 1 - self.kept(dimension) / dimension

    def encode(self, value: Array, dither: Array | None = None) -> Array:  # noqa: ARG002
        magnitude = np.where(np.isnan(value), np.inf, np.abs(value))
        return self._first(np.argsort(-magnitude, axis=-1, kind="stable"), value)

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        return _within(encoded, low, high) | (encoded == 0)


@dataclass(frozen=True)
class RandomK(_Sparse):
    """k coordinates drawn uniformly for each vector, times d/k: unbiased, E‖C(v) − v‖² = (d/k − 1)‖v‖².

    With `unbiased` false they are sent as they are: E‖C(v) − v‖² = (1 − k/d)‖v‖².
    """

    unbiased: bool = True
    """Whether the mean of what arrives is what was sent."""

    @property
    def random(self) -> bool:
        return True

    def contraction(self, dimension: int) -> float:
        kept = self.kept(dimension) / dimension
        return 1 / kept - 1 if self.unbiased else 1 - kept

    def encode(self, value: Array, dither: Array | None = None) -> Array:
        assert dither is not None
        return self._first(np.argsort(dither, axis=-1, kind="stable"), value, self.factor(value.shape[-1]))

    def could_be(self, encoded: Array, low: Array, high: Array) -> Mask:
        factor = self.factor(encoded.shape[-1])
        with np.errstate(over="ignore"):
            return _within(encoded, low * factor, high * factor) | (encoded == 0)

    def factor(self, dimension: int) -> float:
        """What a coordinate that is sent is multiplied by."""
        return dimension / self.kept(dimension) if self.unbiased else 1.0


def _index_bytes(dimension: int) -> int:
    return max(1, -(-(dimension - 1).bit_length() // 8))
