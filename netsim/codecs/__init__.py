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

from netsim.codecs.codec import FLOAT64, Codec, Dither, Encoder, Float16, Float32, Float64
from netsim.codecs.compression import FixedPoint, Quantizer, RandomK, ScaledSign, TopK

__all__ = [
    "FLOAT64",
    "Codec",
    "Dither",
    "Encoder",
    "FixedPoint",
    "Float16",
    "Float32",
    "Float64",
    "Quantizer",
    "RandomK",
    "ScaledSign",
    "TopK",
]
