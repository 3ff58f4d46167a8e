# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Stored transcripts, read lazily: a stream on disk or a Parquet file.

A stream is one Arrow IPC stream. Each record batch holds what the taps recorded between two moments, in order of
arrival: first what went over links, then what passed doors. Its columns: `netsim.transcript.message.COLUMNS`
(`place`, `event` and `kind` as dictionaries of strings) and two more:

- ``values``, map<string, list<float64>>: field name → numbers, replica-major. A map, because nobody knows at the
  start which fields there will be. A message that several rows of a batch carry is written with the first only,
  and the map is empty in the others, in acknowledgements and where sealed;
- ``values_at``, int32: the row of the batch whose `values` are this row's, its own or an earlier one.

Each batch names in its metadata (``netsim``, JSON) how many rows are from links, the earliest and latest time at
links and at doors, and the fields. A process killed at any moment leaves every batch it wrote readable.

Anybody may have written a file: types are checked when it is opened, rows as they are read. What cannot be is a
`TranscriptError` that names the file and the column.
"""

import math
import mmap
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.bounds import MOST
from netsim.errors import QUOTED, TranscriptError
from netsim.files import check_regular, parse_json
from netsim.memory import check_memory
from netsim.transcript.message import (
    COLUMNS,
    EVERY,
    LARGEST,
    LEAST,
    WORDS,
    Record,
    RowValues,
    Selection,
    SelectionOptions,
    Values,
)

Column = NDArray[Any]
Rows = dict[str, Column]
"""The columns of `COLUMNS`, and "values": one mapping of field to read-only (replicas, dimension) array a row."""

CODES = {word: code for code, word in enumerate(WORDS["kind"])}
FLOATS, TEXT = pa.list_(pa.float64()), pa.string()
_NUMBERS = {name: pa.float64() if name == "time" else pa.int64() for name in COLUMNS if name not in WORDS}
SCHEMA = pa.schema(
    {
        **{name: _NUMBERS.get(name, pa.dictionary(pa.int8(), TEXT)) for name in COLUMNS},
        "values": pa.map_(TEXT, FLOATS),
        "values_at": pa.int32(),
    }
)
SPOOLED = {
    "values": "field name → list of float64, replica after replica; empty where an earlier row of the batch has the "
    "same message",
    "values_at": "the row of the batch whose `values` are this row's",
}
"""Columns of a spool besides `COLUMNS`."""
VALUES = {
    "value.NAME": "the field NAME as a list of float64, replica after replica; null where the packet has none",
}
"""Columns of a Parquet file in their place, one for each field."""
_PARQUET = b"PAR1"
"""The first and the last bytes of a Parquet file."""
_GIVE = "give transcript-….parquet or ….spool of a results folder"
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
BATCH = 16_384
"""Rows: few enough to be in the processor's cache still when they are written, enough to pay for a batch."""
GROUP = 32_768
"""Rows of a Parquet row group."""
MEMORY = 64 * 2**20
GROWTH = 16
_PAGED = 256
_ROWS_A_BYTE = 1_000
"""More rows in a byte of a file than times that differ can have: a file made to fill the memory, or the day."""


def _read_only(numbers: Any) -> Column:
    flat: Column = numbers.to_numpy()
    flat.flags.writeable = False
    return flat


def _objects(items: Sequence[Values]) -> Column:
    column = np.empty(len(items), object)
    column[:] = items
    return column


def _cut(rows: Rows, first: int, last: int | None) -> Rows:
    return {name: column[first:last] for name, column in rows.items()}


def _in_order(parts: list[Rows]) -> Rows:
    """One after the other, then stably by time."""
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(rows["time"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def _merged(air: Iterator[Rows], doors: Iterator[Rows]) -> Iterator[Rows]:
    """Two sequences in order of time as one; at one time what was on the air comes first."""
    a, d = next(air, None), next(doors, None)
    while a is not None and d is not None:
        if a["time"][-1] <= d["time"][-1]:  # doors at the last time on the air wait: there may be more on the air
            ready = int(np.searchsorted(d["time"], a["time"][-1], side="left"))
            yield _in_order([a, _cut(d, 0, ready)])
            a, d = next(air, None), _cut(d, ready, None)
        else:
            ready = int(np.searchsorted(a["time"], d["time"][-1], side="right"))
            yield _in_order([_cut(a, 0, ready), d])
            a, d = _cut(a, ready, None), next(doors, None)
    yield from (rows for rows in (a, d) if rows is not None)
    yield from chain(air, doors)


def _pieces(parts: Iterator[Rows], replicas: int) -> Iterator[tuple[tuple[int, int], Rows]]:
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
                yield (int(keys[0, first]), int(keys[1, first])), _cut(part, first, last)
        seen, weight = seen + rows, int(heavy[-1]) if rows else weight


def _write(parts: Iterator[Rows], replicas: int, fields: tuple[str, ...], path: Path) -> None:
    types = _NUMBERS | dict.fromkeys(WORDS, TEXT)
    columns = {name: types[name] for name in COLUMNS} | {f"value.{name}": FLOATS for name in fields}
    schema: Any = pa.schema(columns, metadata={"replicas": str(replicas)})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _, group in groupby(_pieces(parts, replicas), key=itemgetter(0)):
            tables = [_table_of(part, fields, schema) for _, part in group]
            writer.write_table(pa.concat_tables(tables).combine_chunks(), row_group_size=GROUP)


def write_records(records: Sequence[Record], replicas: int, path: Path) -> None:
    """Write rows in memory, in order of time, as one Parquet file."""
    rows: Rows = {name: np.array([getattr(row, name) for row in records]) for name in COLUMNS}
    rows["values"] = _objects([row.values for row in records])
    fields = sorted({name for row in records for name in row.values})
    _write(iter([rows]), replicas, tuple(fields), path)


def _table_of(rows: Rows, fields: tuple[str, ...], schema: Any) -> Any:
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


@dataclass(frozen=True)
class StreamedTranscript:
    """A transcript on disk, read a batch at a time. Who may see it: whoever placed the taps.

    `note` says what a spool that was not closed lacks ("" where nothing is missing), `dropped` how many bytes of
    an unfinished batch at its end were ignored. A spool that still grows is read as it was when it was opened.
    """

    path: Path
    replicas: int
    fields: tuple[str, ...]
    dropped: int
    note: str
    _source: "_StreamFile | _ParquetFile"
    _selection: Selection = EVERY
    _replica: int | None = None

    @classmethod
    def open(cls, path: Path) -> "StreamedTranscript":
        """A spool, or what `Transcript.write` or `to_parquet` wrote.

        Reads no row. You get a `TranscriptError` for a file that is neither.
        """
        try:
            check_regular(path)
            with path.open("rb") as file:
                begins = file.read(4)
                file.seek(-min(4, path.stat().st_size), os.SEEK_END)
                ends = file.read()
        except OSError as error:
            raise TranscriptError(f"{path}: cannot be read ({error.strerror or error}); {_GIVE}") from error
        try:
            source = _ParquetFile.open(path) if begins == _PARQUET else _StreamFile.open(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError, pa.ArrowException) as error:
            why = "" if begins else " (an empty file)"
            if begins == _PARQUET != ends:
                why = " (a Parquet file that is cut off)"
            raise TranscriptError(f"{path}: neither a spool nor a transcript{why}; {_GIVE}") from error
        return cls(path, source.replicas, source.fields, source.dropped, source.note, source)

    def select(
        self, since: float = -math.inf, until: float = math.inf, **options: Unpack[SelectionOptions]
    ) -> "StreamedTranscript":
        """As `Transcript.select`; the rows stay on disk, and batches outside the times are not read."""
        return self.narrowed(Selection.of(since, until, **options))

    def narrowed(self, by: Selection) -> "StreamedTranscript":
        """The rows among these that `by` chooses too."""
        return replace(self, _selection=self._selection.narrowed(by))

    def replica(self, index: int) -> "StreamedTranscript":
        """The same rows with one replica's values. You get a `TranscriptError` where there is no such replica."""
        if not 0 <= index < self.replicas:
            raise TranscriptError(f"{self.path}: replica {index} was requested; it has 0 … {self.replicas - 1}")
        return replace(self, replicas=1, _replica=index if self._replica is None else self._replica)

    def __len__(self) -> int:
        """Known without reading rows; of a selection, counted by reading them."""
        if self._selection == EVERY:
            return self._source.rows
        return sum(len(rows["time"]) for rows in self.columns())

    def __iter__(self) -> Iterator[Record]:
        """Rows in order of time; at one time links before doors, each in order of arrival, as in a `Transcript`."""
        for rows in self._rows():
            yield from map(Record._make, zip(*(rows[name].tolist() for name in Record._fields), strict=True))

    def columns(self) -> Iterator[Rows]:
        """The same rows as columns (`COLUMNS`), some thousands at a time; their values are not read."""
        with _reading(self.path):
            yield from self._source.read(self._selection, values=False)

    def to_parquet(self, path: Path) -> None:
        """Write the layout of `Transcript.write`, a batch at a time, with a column for every field of the file.

        The same rows give the same bytes, however they were spooled.
        """
        _write(self._rows(), self.replicas, self.fields, path)

    def _rows(self) -> Iterator[Rows]:
        with _reading(self.path):
            yield from self._cut_to_replica(self._source.read(self._selection), self._replica)

    @staticmethod
    def _cut_to_replica(rows: Iterator[Rows], index: int | None) -> Iterator[Rows]:
        for part in rows:
            if index is None:
                yield part
                continue
            values: list[Values] = part["values"].tolist()
            # a message that several rows carry is cut once
            known = {id(value): value for value in values}
            cut = {key: RowValues.of_replica(index, value) for key, value in known.items()}
            yield part | {"values": _objects([cut[id(value)] for value in values])}


class _Batch(NamedTuple):
    """Where a batch lies (bytes in the file) and what is known about it without reading it."""

    start: int
    stop: int
    rows: int
    links: int
    air: list[float]
    doors: list[float]


@dataclass(frozen=True)
class _StreamFile:
    """The batches of one spool; `head` is the stream up to the first of them."""

    path: Path
    head: bytes
    index: tuple[_Batch, ...]
    replicas: int
    fields: tuple[str, ...]
    dropped: int
    note: str

    @classmethod
    def open(cls, path: Path) -> "_StreamFile":
        """Walk over the batches' metadata; their rows are not read."""
        with path.open("rb") as opened:
            pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        file = pa.BufferReader(pa.py_buffer(pages))
        while pa.ipc.read_message(file).type != "record batch":
            pass
        stop: int = file.tell()
        head = pages[:stop]
        file.seek(0)
        stream: Any = pa.ipc.open_stream(file, options=pa.ipc.IpcReadOptions(included_fields=[0]))
        replicas = _replicas_of(path, stream.schema.metadata)
        _check_spool(path, pa.ipc.open_stream(head).schema)
        stream.read_next_batch()
        index: list[_Batch] = []
        fields: set[str] = set()
        while True:
            start = stop
            try:
                batch, metadata = stream.read_next_batch_with_custom_metadata()
            except (StopIteration, OSError, ValueError):  # the end, or a batch that was not finished
                break
            stop = file.tell()
            facts = _Facts.of(path, metadata, batch.num_rows)
            _check_counts(path, batch.num_rows)
            fields.update(facts.fields)
            index.append(_Batch(start, stop, batch.num_rows, facts.links, facts.air, facts.doors))
            if hasattr(mmap, "MADV_DONTNEED") and len(index) % _PAGED == 0:
                pages.madvise(mmap.MADV_DONTNEED)  # what was looked at need not stay in memory
        rest = len(pages) - stop
        closed = pages[stop : stop + len(_END)] == _END
        dropped = 0 if closed else rest
        torn = f"; {dropped:,} bytes of an unfinished batch were ignored" if dropped else ""
        note = f"not closed: its run was killed or goes on, and what was captured last may be missing{torn}"
        return cls(path, head, tuple(index), replicas, tuple(sorted(fields)), dropped, "" if closed else note)

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.index)

    def read(self, selection: Selection, *, values: bool = True) -> Iterator[Rows]:
        """Two readers of the file, one ahead of the other where many rows have one time."""
        places = WORDS["place"] if selection.places is None else selection.places
        air = self._part("air", selection, values) if "link" in places else iter(())
        doors = self._part("doors", selection, values) if "node" in places else iter(())
        return _merged(air, doors)

    def _part(self, part: Literal["air", "doors"], selection: Selection, values: bool) -> Iterator[Rows]:
        """Rows of links or of doors in order of time. A row waits while a later batch holds an earlier one."""
        spans: list[list[float]] = [getattr(batch, part) for batch in self.index]
        chosen = [(b, s) for b, s in zip(self.index, spans, strict=True) if s and selection.meets(*s)]
        horizons = np.minimum.accumulate([math.inf, *(first for _, (first, _) in reversed(chosen))])[::-1]
        held: list[Rows] = []
        with self.path.open("rb") as file:
            for (batch, _), horizon in zip(chosen, horizons[1:], strict=True):
                rows = _in_order([*held, self._load(file, batch, part, selection, values)])
                ready = int(np.searchsorted(rows["time"], horizon, side="right"))
                held = [_cut(rows, ready, None)]
                if ready:
                    yield _cut(rows, 0, ready)

    def _load(
        self, file: Any, batch: _Batch, part: Literal["air", "doors"], selection: Selection, values: bool
    ) -> Rows:
        file.seek(batch.start)
        options: Any = pa.ipc.IpcReadOptions(included_fields=None if values else list(range(len(COLUMNS))))
        stream: Any = pa.ipc.open_stream(
            pa.py_buffer(self.head + file.read(batch.stop - batch.start)), options=options
        )
        stream.read_next_batch()
        table = stream.read_next_batch()
        table.validate(full=True)  # offsets and indices of others lead out of the memory
        _check_rows(self.path, table)
        first, last = (0, batch.links) if part == "air" else (batch.links, batch.rows)
        every: Rows = {name: table[name].to_numpy()[first:last] for name in _NUMBERS}
        for name in WORDS:
            words: Column = np.array(table[name].dictionary.to_pylist(), object)
            every[name] = words[table[name].indices.to_numpy()[first:last]]
        chosen = selection.among(every)
        rows = {name: column[chosen] for name, column in every.items()}
        if values:
            at = table["values_at"].to_numpy(zero_copy_only=False)[first:last][chosen]
            owners, owner = np.unique(at, return_inverse=True)
            maps = table["values"].take(pa.array(owners))
            names, bounds, ends = maps.keys.to_pylist(), maps.offsets.to_pylist(), maps.items.offsets.to_numpy()
            _check_values(self.path, "values", maps.items.values, ends, self.replicas)
            flat = _read_only(maps.items.values)
            arrays = [flat[a:b].reshape(self.replicas, -1) for a, b in pairwise(ends.tolist())]
            each = [dict(zip(names[a:b], arrays[a:b], strict=True)) for a, b in pairwise(bounds)]
            rows["values"] = _objects(each)[owner]
        return rows


def _check_spool(path: Path, schema: Any) -> None:
    """You get a `TranscriptError` for columns that are not those of `SCHEMA`."""
    for name in SCHEMA.names:
        found = schema.field(name).type if schema.names.count(name) == 1 else "nothing"
        if found != SCHEMA.field(name).type:
            wanted = SCHEMA.field(name).type
            raise TranscriptError(f"{path}: column {name!r} has {str(found)[:200]}; allowed: {wanted}")


@dataclass(frozen=True)
class _ParquetFile:
    """A Parquet file in the layout of `Transcript.write`: rows in order of time already."""

    path: Path
    replicas: int
    fields: tuple[str, ...]
    rows: int
    dropped: int = 0
    note: str = ""

    @classmethod
    def open(cls, path: Path) -> "_ParquetFile":
        with pq.ParquetFile(path) as file:
            schema: Any = file.schema_arrow
            values = [name for name in schema.names if name.startswith("value.")]
            _check_types(path, schema, values)
            replicas = _replicas_of(path, schema.metadata)
            _check_counts(path, file.metadata.num_rows)
            fields = [name.removeprefix("value.") for name in values]
            return cls(path, replicas, tuple(fields), file.metadata.num_rows)

    def read(self, selection: Selection, *, values: bool = True) -> Iterator[Rows]:
        with pq.ParquetFile(self.path, read_dictionary=list(WORDS)) as file:
            groups, heaviest = list[int](), 1
            places = {file.metadata.schema.column(k).path: k for k in range(file.metadata.num_columns)}
            for group in range(file.num_row_groups):
                facts = file.metadata.row_group(group)
                times, sizes = (facts.column(places[name]).statistics for name in ("time", "size"))
                if times is None or not times.has_min_max or selection.meets(times.min, times.max):
                    groups.append(group)
                    heaviest = max(heaviest, sizes.max if sizes is not None and sizes.has_min_max else 1)
                    # a few bytes may stand for any number of equal values
                    held = sum(facts.column(k).num_values for name, k in places.items() if name.startswith("value."))
                    check_memory(8 * held if values else 0, str(self.path), f"{held:,} numbers in a row group")
            rows = max(1, min(GROUP, MEMORY // (self.replicas * heaviest))) if values else GROUP
            names = [*COLUMNS, *(f"value.{name}" for name in self.fields if values)]
            for batch in file.iter_batches(rows, row_groups=groups, columns=names):
                _check_rows(self.path, batch)
                every: Rows = {name: batch[name].to_numpy(zero_copy_only=False) for name in COLUMNS}
                chosen = selection.among(every)
                if len(chosen):
                    found = {name: column[chosen] for name, column in every.items()}
                    yield found | ({"values": self._values(batch.take(pa.array(chosen)))} if values else {})

    def _values(self, batch: Any) -> Column:
        values: list[Values] = [RowValues() for _ in range(batch.num_rows)]
        for field in self.fields:
            column = batch[f"value.{field}"]
            starts = column.offsets.to_numpy()
            _check_values(self.path, f"value.{field}", column.values, starts, self.replicas)
            flat, ends = _read_only(column.values), starts.tolist()
            for row in np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist():
                values[row][field] = flat[ends[row] : ends[row + 1]].reshape(self.replicas, -1)
        return _objects(values)


@contextmanager
def _reading(path: Path) -> Generator[None]:
    """A `TranscriptError` in place of errors of Arrow: a file that is damaged, or cut off, further in."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TranscriptError(f"{path}: damaged ({why[:QUOTED]}); a new run writes another") from error


def _replicas_of(path: Path, metadata: Any) -> int:
    """How many a file has by its metadata."""
    text = (metadata or {}).get(b"replicas", b"none")
    number = int(text) if text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= MOST:
        allowed = f"1 … {MOST:,}, as every transcript of netsim has them"
        raise TranscriptError(f"{path}: replicas = {text[:40]!r} in its metadata; allowed: {allowed}")
    return number


def _check_types(path: Path, schema: Any, values: Sequence[str]) -> None:
    """Columns of `COLUMNS` with types that can hold them, and lists of float64 as `values`."""
    for name in COLUMNS:
        if name not in schema.names:
            raise TranscriptError(f"{path}: neither a spool nor a transcript: it has no column {name!r}; {_GIVE}")
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


def _check_counts(path: Path, rows: int) -> None:
    """As many rows as a file of such a length can have."""
    if not 0 <= rows <= _ROWS_A_BYTE * (size := path.stat().st_size):
        raise TranscriptError(f"{path}: says that it has {rows:,} rows, in {size:,} bytes")


def _check_rows(path: Path, batch: Any) -> None:
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


def _check_values(path: Path, name: str, flat: Any, ends: "np.ndarray[Any, Any]", replicas: int) -> None:
    """Values that have as many numbers as replicas, or a multiple of it; none is missing."""
    if flat.null_count:
        raise TranscriptError(f"{path}: column {name[:QUOTED]!r} has values without a number")
    if (odd := np.flatnonzero(np.diff(ends) % replicas)).size:
        count = int(np.diff(ends)[odd[0]])
        why = f"a value of {count:,} numbers, which {replicas:,} replicas cannot share"
        raise TranscriptError(f"{path}: column {name[:QUOTED]!r} has {why}")


class _Facts(NamedTuple):
    """_Facts about a batch of a spool, from its metadata: rows that are of links, spans of time, fields."""

    links: int
    air: list[float]
    doors: list[float]
    fields: list[str]

    @classmethod
    def of(cls, path: Path, metadata: Any, rows: int) -> "_Facts":
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
