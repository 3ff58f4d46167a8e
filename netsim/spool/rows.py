# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Rows as columns: cut, merged in order of time, turned into records and tables."""

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from netsim.errors import TranscriptError
from netsim.messages import Values
from netsim.spool.layout import GROUP, MEMORY, Column, Rows
from netsim.transcript import COLUMNS, Record


def value_range(file: Any, group: int, column: str) -> tuple[Any, Any] | None:
    """Least and greatest of one column of a row group, where the file says so."""
    statistics = file.metadata.row_group(group).column(file.schema_arrow.names.index(column)).statistics
    return (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else None


def values_of(maps: Any, replicas: int) -> Column:
    """One mapping of field to array per entry of a `values` column."""
    names, bounds, ends = maps.keys.to_pylist(), maps.offsets.to_pylist(), maps.items.offsets.to_pylist()
    flat = read_only(maps.items.values)
    arrays = [flat[a:b].reshape(replicas, -1) for a, b in pairwise(ends)]
    return objects([dict(zip(names[a:b], arrays[a:b], strict=True)) for a, b in pairwise(bounds)])


def read_only(numbers: Any) -> Column:
    flat: Column = numbers.to_numpy()
    flat.flags.writeable = False
    return flat


def objects(items: list[Values]) -> Column:
    column = np.empty(len(items), object)
    column[:] = items
    return column


def one_replica(rows: Rows, index: int) -> Rows:
    """The same rows; a message that several of them carry is cut once."""
    values: list[Values] = rows["values"].tolist()
    known: dict[int, Values] = {}
    for value in values:
        if id(value) not in known:
            known[id(value)] = {name: array[index : index + 1] for name, array in value.items()}
    return rows | {"values": objects([known[id(value)] for value in values])}


def records_of(rows: Rows) -> tuple[Record, ...]:
    return tuple(map(Record._make, zip(*(rows[name].tolist() for name in Record._fields), strict=True)))


def cut(rows: Rows, first: int, last: int | None) -> Rows:
    return {name: column[first:last] for name, column in rows.items()}


def in_order(parts: list[Rows]) -> Rows:
    """One after the other, then stably by time."""
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(rows["time"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def merged(air: Iterator[Rows], doors: Iterator[Rows]) -> Iterator[Rows]:
    """Two sequences in order of time as one; at one time what was on the air comes first."""
    a, d = next(air, None), next(doors, None)
    while a is not None and d is not None:
        if a["time"][-1] <= d["time"][-1]:  # doors at the last time on the air wait: there may be more on the air
            ready = int(np.searchsorted(d["time"], a["time"][-1], side="left"))
            yield in_order([a, cut(d, 0, ready)])
            a, d = next(air, None), cut(d, ready, None)
        else:
            ready = int(np.searchsorted(a["time"], d["time"][-1], side="right"))
            yield in_order([cut(a, 0, ready), d])
            a, d = cut(a, ready, None), next(doors, None)
    yield from (rows for rows in (a, d) if rows is not None)
    yield from chain(air, doors)


def pieces(parts: Iterator[Rows], replicas: int) -> Iterator[tuple[tuple[int, int], Rows]]:
    """The rows cut where row groups end, each piece with the key of its group.

    A group is at most `GROUP` rows, and about `MEMORY` bytes with the values written out in every row. Where it ends
    depends on the rows alone, not on the parts in which they come.
    """
    seen = weight = 0
    for part in parts:
        rows = len(part["time"])
        heavy = weight + np.cumsum(part["size"]) * replicas
        keys = np.stack([(seen + np.arange(rows)) // GROUP, heavy // MEMORY])
        ends = np.flatnonzero(np.diff(keys).any(axis=0)) + 1
        for first, last in pairwise([0, *ends.tolist(), rows]):
            if first < last:
                yield (int(keys[0, first]), int(keys[1, first])), cut(part, first, last)
        seen, weight = seen + rows, int(heavy[-1]) if rows else weight


def table_of(rows: Rows, fields: tuple[str, ...], schema: Any) -> Any:
    values: list[Values] = rows["values"].tolist()
    columns = [pa.array(rows[name], type=schema.field(name).type) for name in COLUMNS]
    for field in fields:
        arrays = [value.get(field) for value in values]
        present = [array for array in arrays if array is not None]
        counts = np.array([0, *(0 if array is None else array.size for array in arrays)], np.int64)
        flat = np.concatenate(present, axis=None) if present else np.zeros(0)
        absent = np.array([array is None for array in arrays], np.bool_)
        columns.append(pa.ListArray.from_arrays(offsets(counts), pa.array(flat), mask=pa.array(absent)))
    return pa.table(columns, schema=schema)


def offsets(counts: Column) -> Any:
    ends = np.cumsum(counts)
    if ends[-1] > np.iinfo(np.int32).max:
        raise TranscriptError(f"{ends[-1]:,} numbers in one batch; give the spool less `memory`")
    return pa.array(ends.astype(np.int32))
