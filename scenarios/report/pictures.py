"""Images as PNG inside the page."""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from scenarios.report.formats import number, numbers


def picture(values: Any, shape: Sequence[int], value_range: Sequence[Any]) -> str:
    """A data URI of a PNG: `shape` is (height, width) in grey or (height, width, 3) in colour.

    Values beyond `value_range` are clipped; one that is not a number is mid-grey.
    """
    low, high = (number(end) for end in value_range)
    pixels = (np.array(numbers(values)).reshape(shape) - low) / ((high - low) or 1.0)
    pixels = np.clip(np.nan_to_num(pixels, nan=0.5), 0, 1)
    return "data:image/png;base64," + base64.b64encode(_png(np.round(255 * pixels).astype(np.uint8))).decode()


def _png(pixels: "np.ndarray[Any, np.dtype[np.uint8]]") -> bytes:
    height, width = pixels.shape[:2]
    kind = 2 if pixels.ndim == 3 and pixels.shape[2] == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
