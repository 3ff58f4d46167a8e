# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""A transcript on disk, read lazily: a spool, or a Parquet file."""

import json
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from netsim.errors import TranscriptError
from netsim.messages import Values
from netsim.selection import EVERY, Asked, Selection
from netsim.spool.layout import END, FLOATS, GROUP, MEMORY, NUMBERS, PAGED, TEXT, WORDS, Column, Rows
from netsim.spool.rows import (
    cut,
    in_order,
    merged,
    objects,
    one_replica,
    pieces,
    read_only,
    records_of,
    table_of,
    value_range,
    values_of,
)
from netsim.transcript import COLUMNS, Record, Transcript


@dataclass(frozen=True)
class SpooledTranscript:
    """A transcript on disk, read a batch at a time. Who may see it: whoever placed the taps.

    `note` says what a spool that was not closed lacks ("" where nothing is missing), `dropped` how many bytes of
    an unfinished batch at its end were ignored. A spool that still grows is read as it was when it was opened.
    """

    path: Path
    replicas: int
    fields: tuple[str, ...]
    dropped: int
    note: str
    _source: "_SpoolFile | _ParquetFile"
    _selection: Selection = EVERY
    _replica: int | None = None

    @classmethod
    def open(cls, path: Path) -> "SpooledTranscript":
        """A spool, or what `Transcript.write` or `to_parquet` wrote.

        Reads no row. You get a `TranscriptError` for a file that is neither.
        """
        try:
            with path.open("rb") as file:
                begins = file.read(4)
        except OSError as error:
            raise TranscriptError(f"{path}: cannot be read ({error.strerror or error})") from error
        try:
            source = _ParquetFile.open(path) if begins == b"PAR1" else _SpoolFile.open(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            empty = "" if begins else " (an empty file)"
            raise TranscriptError(f"{path}: neither a spool nor a transcript{empty}") from error
        return cls(path, source.replicas, source.fields, source.dropped, source.note, source)

    def select(
        self, since: float = -math.inf, until: float = math.inf, **asked: Unpack[Asked]
    ) -> "SpooledTranscript":
        """As `Transcript.select`; the rows stay on disk, and batches outside the times are not read."""
        return self.narrowed(Selection.of(since, until, **asked))

    def narrowed(self, by: Selection) -> "SpooledTranscript":
        """The rows among these that `by` chooses too."""
        return replace(self, _selection=self._selection.narrowed(by))

    def replica(self, index: int) -> "SpooledTranscript":
        """The same rows with one replica's values. You get a `TranscriptError` where there is no such replica."""
        if not 0 <= index < self.replicas:
            raise TranscriptError(f"{self.path}: replica {index} was asked for; it has 0 … {self.replicas - 1}")
        return replace(self, replicas=1, _replica=index if self._replica is None else self._replica)

    def __len__(self) -> int:
        """Known without reading rows; of a selection, counted by reading them."""
        if self._selection == EVERY:
            return self._source.rows
        return sum(len(rows["time"]) for rows in self.columns())

    def __iter__(self) -> Iterator[Record]:
        """Rows in order of time; at one time links before doors, each in order of arrival, as in a `Transcript`."""
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[tuple[Record, ...]]:
        """The same rows, some thousands at a time. Their arrays are read-only."""
        for rows in self._rows():
            yield records_of(rows)

    def columns(self) -> Iterator[Rows]:
        """The same rows as columns (`COLUMNS`), some thousands at a time; their values are not read."""
        return self._source.read(self._selection, values=False)

    def transcript(self) -> Transcript:
        """All chosen rows in memory, for attacks."""
        return Transcript(tuple(self), self.replicas)

    def to_parquet(self, path: Path) -> None:
        """Write the layout of `Transcript.write`, a batch at a time, with a column for every field of the file.

        The same rows give the same bytes, however they were spooled.
        """
        types = NUMBERS | dict.fromkeys(WORDS, TEXT)
        columns = {name: types[name] for name in COLUMNS} | {f"value.{name}": FLOATS for name in self.fields}
        schema: Any = pa.schema(columns, metadata={"replicas": str(self.replicas)})
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for _, group in groupby(pieces(self._rows(), self.replicas), key=itemgetter(0)):
                tables = [table_of(part, self.fields, schema) for _, part in group]
                writer.write_table(pa.concat_tables(tables).combine_chunks(), row_group_size=GROUP)

    def _rows(self) -> Iterator[Rows]:
        rows = self._source.read(self._selection)
        return rows if self._replica is None else (one_replica(part, self._replica) for part in rows)


class _Batch(NamedTuple):
    """Where a batch lies (bytes in the file) and what is known about it without reading it."""

    start: int
    stop: int
    rows: int
    links: int
    air: list[float]
    doors: list[float]


@dataclass(frozen=True)
class _SpoolFile:
    """The batches of one spool; `head` is the stream up to the first of them."""

    path: Path
    head: bytes
    index: tuple[_Batch, ...]
    replicas: int
    fields: tuple[str, ...]
    dropped: int
    note: str

    @classmethod
    def open(cls, path: Path) -> "_SpoolFile":
        """Walk over the batches' metadata; what they hold is not read."""
        with path.open("rb") as opened:
            pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        file = pa.BufferReader(pa.py_buffer(pages))
        while pa.ipc.read_message(file).type != "record batch":
            pass
        stop: int = file.tell()
        head = pages[:stop]
        file.seek(0)
        stream: Any = pa.ipc.open_stream(file, options=pa.ipc.IpcReadOptions(included_fields=[0]))
        replicas = int(stream.schema.metadata[b"replicas"])
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
            facts = json.loads(metadata[b"netsim"])
            fields.update(facts["fields"])
            index.append(_Batch(start, stop, batch.num_rows, facts["links"], facts["air"], facts["doors"]))
            if hasattr(mmap, "MADV_DONTNEED") and len(index) % PAGED == 0:
                pages.madvise(mmap.MADV_DONTNEED)  # what was looked at need not stay in memory
        rest = len(pages) - stop
        closed = pages[stop : stop + len(END)] == END
        dropped = 0 if closed else rest
        names = tuple(sorted(fields))
        return cls(path, head, tuple(index), replicas, names, dropped, "" if closed else _unclosed(dropped))

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.index)

    def read(self, selection: Selection, *, values: bool = True) -> Iterator[Rows]:
        """Two readers of the file, one ahead of the other where many rows have one time."""
        places = WORDS["place"] if selection.places is None else selection.places
        air = self._part("air", selection, values) if "link" in places else iter(())
        doors = self._part("doors", selection, values) if "node" in places else iter(())
        return merged(air, doors)

    def _part(self, part: Literal["air", "doors"], selection: Selection, values: bool) -> Iterator[Rows]:
        """Rows of links or of doors in order of time. A row waits while a later batch holds an earlier one."""
        spans: list[list[float]] = [getattr(batch, part) for batch in self.index]
        chosen = [(b, s) for b, s in zip(self.index, spans, strict=True) if s and selection.meets(*s)]
        horizons = np.minimum.accumulate([math.inf, *(first for _, (first, _) in reversed(chosen))])[::-1]
        held: list[Rows] = []
        with self.path.open("rb") as file:
            for (batch, _), horizon in zip(chosen, horizons[1:], strict=True):
                rows = in_order([*held, self._load(file, batch, part, selection, values)])
                ready = int(np.searchsorted(rows["time"], horizon, side="right"))
                held = [cut(rows, ready, None)]
                if ready:
                    yield cut(rows, 0, ready)

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
        first, last = (0, batch.links) if part == "air" else (batch.links, batch.rows)
        every: Rows = {name: table[name].to_numpy()[first:last] for name in NUMBERS}
        for name in WORDS:
            words: Column = np.array(table[name].dictionary.to_pylist(), object)
            every[name] = words[table[name].indices.to_numpy()[first:last]]
        chosen = selection.among(every)
        rows = {name: column[chosen] for name, column in every.items()}
        if values:
            owners, owner = np.unique(table["values_at"].to_numpy()[first:last][chosen], return_inverse=True)
            rows["values"] = values_of(table["values"].take(pa.array(owners)), self.replicas)[owner]
        return rows


def _unclosed(dropped: int) -> str:
    torn = f"; {dropped:,} bytes of an unfinished batch were ignored" if dropped else ""
    return f"not closed: its run was killed or goes on, and what was heard last may be missing{torn}"


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
            replicas = int(schema.metadata[b"replicas"])
            missing = [name for name in COLUMNS if name not in schema.names]
            if missing:
                raise ValueError(f"no column {missing[0]!r}")
            fields = [name.removeprefix("value.") for name in schema.names if name.startswith("value.")]
            return cls(path, replicas, tuple(fields), file.metadata.num_rows)

    def read(self, selection: Selection, *, values: bool = True) -> Iterator[Rows]:
        with pq.ParquetFile(self.path) as file:
            groups = [group for group in range(file.num_row_groups) if self._meets(file, group, selection)]
            size = self._batch(file, groups) if values else GROUP
            names = [*COLUMNS, *(f"value.{name}" for name in self.fields if values)]
            for batch in file.iter_batches(size, row_groups=groups, columns=names):
                every: Rows = {name: batch[name].to_numpy(zero_copy_only=False) for name in COLUMNS}
                chosen = selection.among(every)
                if len(chosen):
                    rows = {name: column[chosen] for name, column in every.items()}
                    yield rows | ({"values": self._values(batch.take(pa.array(chosen)))} if values else {})

    def _meets(self, file: Any, group: int, selection: Selection) -> bool:
        times = value_range(file, group, "time")
        return times is None or selection.meets(*times)

    def _batch(self, file: Any, groups: list[int]) -> int:
        """How many rows weigh about `MEMORY` at most."""
        sizes = [value_range(file, group, "size") or (0, 1) for group in groups]
        return max(1, min(GROUP, MEMORY // (self.replicas * max((most for _, most in sizes), default=1))))

    def _values(self, batch: Any) -> Column:
        values: list[Values] = [{} for _ in range(batch.num_rows)]
        for field in self.fields:
            column = batch[f"value.{field}"]
            flat, ends = read_only(column.values), column.offsets.to_pylist()
            for row in np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist():
                values[row][field] = flat[ends[row] : ends[row + 1]].reshape(self.replicas, -1)
        return objects(values)
