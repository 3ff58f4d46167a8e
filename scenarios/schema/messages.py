"""What a scenario can say of its messages."""

from typing import Annotated, Literal

from pydantic import Field

from netsim import codecs
from scenarios.schema.base import Count, Index, Model, Positive


class Float64(Model):
    """The value itself."""

    kind: Literal["float64"] = "float64"

    def build(self) -> codecs.Codec:
        return codecs.Float64()


class Float32(Model):
    """The nearest single-precision number."""

    kind: Literal["float32"] = "float32"

    def build(self) -> codecs.Codec:
        return codecs.Float32()


class Float16(Model):
    """The nearest half-precision number; beyond 65,504 that is infinite."""

    kind: Literal["float16"] = "float16"

    def build(self) -> codecs.Codec:
        return codecs.Float16()


class FixedPoint(Model):
    """A grid of `bits` bits between −`limit` and `limit`; the nearest point, or one of the two around."""

    kind: Literal["fixed_point"] = "fixed_point"
    bits: Annotated[int, Field(ge=2, le=32)] = 16
    limit: Positive
    rounding: Literal["nearest", "stochastic"] = "nearest"

    def build(self) -> codecs.Codec:
        return codecs.FixedPoint(self.bits, self.limit, self.rounding)


class _Sparse(Model):
    k: Count | None = None
    fraction: Annotated[float, Field(gt=0, le=1)] | None = None


class TopK(_Sparse):
    """The `k` coordinates of largest magnitude, or that `fraction` of them."""

    kind: Literal["top_k"] = "top_k"

    def build(self) -> codecs.Codec:
        return codecs.TopK(self.k, self.fraction)


class RandomK(_Sparse):
    """`k` random coordinates, or that `fraction` of them; times d/k if `unbiased`."""

    kind: Literal["random_k"] = "random_k"
    unbiased: bool = True

    def build(self) -> codecs.Codec:
        return codecs.RandomK(self.k, self.fraction, self.unbiased)


class Quantizer(Model):
    """Dithered levels of the vector's norm, b + 1 bits each on the wire; E C(v) = v if `unbiased`, else v/ξ."""

    kind: Literal["quantizer"] = "quantizer"
    bits: Annotated[int, Field(ge=1, le=16)] = 4
    norm: Literal["l2", "linf"] = "l2"
    unbiased: bool = False

    def build(self) -> codecs.Codec:
        return codecs.Quantizer(self.bits, self.norm, self.unbiased)


class ScaledSign(Model):
    """The signs, times the mean magnitude."""

    kind: Literal["scaled_sign"] = "scaled_sign"

    def build(self) -> codecs.Codec:
        return codecs.ScaledSign()


CodecSpec = Annotated[
    Float64 | Float32 | Float16 | FixedPoint | TopK | RandomK | Quantizer | ScaledSign, Field(discriminator="kind")
]


class MessageSpec(Model):
    """How values go on the wire, and the bytes of a message besides them."""

    codec: CodecSpec = Float64(kind="float64")
    header: Index = 20
