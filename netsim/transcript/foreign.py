# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Checks of a stored transcript that anybody may have written: types when it is opened, rows as they are read.

Each raises a `TranscriptError` that names the file and the column.
"""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from netsim.bounds import MOST
from netsim.errors import QUOTED, TranscriptError
from netsim.files import parse_json
from netsim.transcript.message import COLUMNS, Event, Kind, Place

WORDS = {"place": get_args(Place), "event": get_args(Event), "kind": get_args(Kind)}
LEAST = {"sender": 0, "receiver": -1, "number": -1, "sequence": -1, "attempt": 0, "size": 0}
"""Columns of whole numbers, with the least that a row may have."""
LARGEST = 2**53
_ROWS_A_BYTE = 1_000
"""More rows in a byte of a file than times that differ can have: a file made to fill the memory, or the day."""


@contextmanager
def reading(path: Path) -> Generator[None]:
    """A `TranscriptError` in place of errors of Arrow: a file that is damaged, or cut off, further in."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TranscriptError(f"{path}: damaged ({why[:QUOTED]})") from error


def replicas_of(path: Path, metadata: Any) -> int:
    """How many a file has by its metadata."""
    text = (metadata or {}).get(b"replicas", b"none")
    number = int(text) if text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= MOST:
        raise TranscriptError(f"{path}: replicas = {text[:40]!r} in its metadata; allowed: 1 … {MOST:,}")
    return number


def check_types(path: Path, schema: Any, values: Sequence[str]) -> None:
    """Columns of `COLUMNS` with types that can hold them, and lists of float64 as `values`."""
    for name in COLUMNS:
        if name not in schema.names:
            raise TranscriptError(f"{path}: neither a spool nor a transcript: it has no column {name!r}")
    for name in dict.fromkeys((*COLUMNS, *values)):
        if schema.names.count(name) > 1:
            raise TranscriptError(f"{path}: column {name[:QUOTED]!r} is there twice")
        kind, fits, wanted = schema.field(name).type, _is_numbers, "lists of float64"
        if name in COLUMNS:
            fits, wanted = _FITS.get(name, (pa.types.is_integer, "whole numbers"))
        if not fits(kind):
            raise TranscriptError(f"{path}: column {name[:QUOTED]!r} has {str(kind)[:QUOTED]}; allowed: {wanted}")


def _is_numbers(kind: Any) -> bool:
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and kind.value_type == pa.float64()


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


_FITS = dict.fromkeys(WORDS, (_is_text, "texts")) | {"time": (pa.types.is_floating, "float64")}


def check_counts(path: Path, rows: int) -> None:
    """As many rows as a file of such a length can have."""
    if not 0 <= rows <= _ROWS_A_BYTE * (size := path.stat().st_size):
        raise TranscriptError(f"{path}: says that it has {rows:,} rows, in {size:,} bytes")


def check_rows(path: Path, batch: Any) -> None:
    """Rows of a batch: nothing is missing, words are known, and numbers and times are possible."""
    for name in COLUMNS:
        column = batch[name]
        if column.null_count:
            raise TranscriptError(f"{path}: column {name!r} has rows without a value")
        if name in WORDS:
            known = column.dictionary if pa.types.is_dictionary(column.type) else column.unique()
            for word in known.to_pylist():
                if word not in WORDS[name]:
                    allowed = ", ".join(WORDS[name])
                    raise TranscriptError(f"{path}: column {name!r} has {str(word)[:QUOTED]!r}; allowed: {allowed}")
            continue
        numbers = column.to_numpy(zero_copy_only=False)
        if name == "time" and not np.isfinite(numbers).all():
            raise TranscriptError(f"{path}: column 'time' has a time that is not finite")
        if name in LEAST and len(numbers) and not (LEAST[name] <= numbers.min() and numbers.max() <= LARGEST):
            ends = f"{numbers.min()} … {numbers.max()}"
            raise TranscriptError(f"{path}: column {name!r} has {ends}; allowed: {LEAST[name]} … {LARGEST}")


def check_values(path: Path, name: str, flat: Any, ends: "np.ndarray[Any, Any]", replicas: int) -> None:
    """Values that have as many numbers as replicas, or a multiple of it; none is missing."""
    if flat.null_count:
        raise TranscriptError(f"{path}: column {name[:QUOTED]!r} has values without a number")
    if (odd := np.flatnonzero(np.diff(ends) % replicas)).size:
        count = int(np.diff(ends)[odd[0]])
        why = f"a value of {count:,} numbers, which {replicas:,} replicas cannot share"
        raise TranscriptError(f"{path}: column {name[:QUOTED]!r} has {why}")


class Facts(NamedTuple):
    """Facts about a batch of a spool, from its metadata: rows that are of links, spans of time, fields."""

    links: int
    air: list[float]
    doors: list[float]
    fields: list[str]

    @classmethod
    def of(cls, path: Path, metadata: Any, rows: int) -> "Facts":
        try:
            tree: Any = parse_json(metadata[b"netsim"].decode())
            links, air, doors, fields = (tree[name] for name in cls._fields)
            fits = type(links) is int and 0 <= links <= rows
            fits &= all(isinstance(span, list) and len(span) in (0, 2) for span in (air, doors))
            fits &= all(type(time) is float and math.isfinite(time) for span in (air, doors) for time in span)
            fits &= isinstance(fields, list) and all(isinstance(name, str) for name in fields)
            found = cls(links, air, doors, fields)
        except (ValueError, LookupError, TypeError, AttributeError):
            fits, found = False, cls(0, [], [], [])
        if not fits:
            raise TranscriptError(f"{path}: damaged (metadata of a batch of {rows:,} rows)")
        return found
