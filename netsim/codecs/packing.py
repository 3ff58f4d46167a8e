"""Whole numbers in as few bits as they need."""

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def packed_bytes(count: int, bits: int) -> int:
    """How many bytes `count` codes of `bits` bits each take, filled up to whole bytes."""
    return -(-count * bits // 8)


def pack_codes(codes: Codes, bits: int) -> bytes:
    """Signed codes in two's complement, one after the other, least significant bit first."""
    digits = (codes[:, None] >> np.arange(bits)) & 1
    return np.packbits(digits.astype(np.uint8).ravel(), bitorder="little").tobytes()


def unpack_codes(data: bytes, count: int, bits: int) -> Codes:
    """The codes that `pack_codes` made these bytes of."""
    digits = np.unpackbits(np.frombuffer(data, np.uint8), count=count * bits, bitorder="little")
    codes = digits.reshape(count, bits).astype(np.int64) @ (1 << np.arange(bits, dtype=np.int64))
    return np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes)


def round_up_or_down(t: NDArray[np.float64], dither: NDArray[np.float64]) -> NDArray[np.float64]:
    """⌊t⌋ or ⌊t⌋ + 1, the mean being t; a whole number stays what it is.

    The law is that of ⌊t + u⌋ for u uniform on [0, 1), without the rounding of that sum.
    """
    below = np.floor(t)
    return below + (dither < t - below)
