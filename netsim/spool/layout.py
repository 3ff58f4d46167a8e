# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""What a spool looks like on disk: columns, types, sizes."""

from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from netsim.transcript import COLUMNS

Column = NDArray[Any]
Rows = dict[str, Column]
"""The columns of `COLUMNS`, and "values": one mapping of field to read-only (replicas, dimension) array a row."""

KINDS = ("exchange", "direct", "ack", "sealed")
WORDS = {"place": ("link", "node"), "event": ("air", "sent", "received", "closed"), "kind": KINDS}
CODES = {word: code for code, word in enumerate(KINDS)}
FLOATS, TEXT = pa.list_(pa.float64()), pa.string()
NUMBERS = {name: pa.float64() if name == "time" else pa.int64() for name in COLUMNS if name not in WORDS}
SCHEMA = pa.schema(
    {
        **{name: NUMBERS.get(name, pa.dictionary(pa.int8(), TEXT)) for name in COLUMNS},
        "values": pa.map_(TEXT, FLOATS),
        "values_at": pa.int32(),
    }
)
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
BATCH = 16_384
"""Rows: few enough to be in the processor's cache still when they are written, enough to pay for a batch."""
GROUP = 32_768
"""Rows of a Parquet row group."""
MEMORY = 64 * 2**20
GROWTH = 16
PAGED = 256
