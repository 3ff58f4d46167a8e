# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Transcript stream: written to disk while the run goes on, in bounded memory (`stored` has the format)."""

import json
from collections.abc import Callable, Collection
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from netsim.errors import TranscriptError
from netsim.transcript.message import WORDS, Capture, Ciphertext, Door, Fan, Message, Packet, Tagged, contents
from netsim.transcript.stored import (
    BATCH,
    CODES,
    GROWTH,
    MEMORY,
    SCHEMA,
    TEXT,
    Column,
    StreamedTranscript,
    offsets,
)


class TranscriptStream:
    """Writes what taps capture to one file, `batch` rows at a time, or `memory` bytes of values if that is less.

    Batches start with one row and grow as the size of messages becomes known. A file that is already there is
    overwritten. At any moment the file holds a prefix of what was captured, and at most one batch is in memory. Who
    may see the file: whoever placed the taps. A context manager: leaving closes it. You get a `TranscriptError` where
    the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        replicas: int,
        batch: int = BATCH,
        memory: int = MEMORY,
        compression: Literal["zstd", "lz4"] | None = "lz4",
    ) -> None:
        if replicas < 1 or batch < 1 or memory < 1:
            raise TranscriptError(f"replicas={replicas}, batch={batch}, memory={memory}: each must be at least 1")
        self.path, self.replicas, self.rows = path, replicas, 0
        self._batch, self._memory, self._limit, self._open = batch, memory, 1, True
        self._captured: list[Capture | Fan] = []
        self._doors: list[Door] = []
        self._schema: Any = SCHEMA.with_metadata({"replicas": str(replicas)})
        try:
            self._file: Any = pa.OSFile(str(path), "wb")
            options: Any = pa.ipc.IpcWriteOptions(compression=compression)
            self._stream: Any = pa.ipc.new_stream(self._file, self._schema, options=options)
            self._stream.write_batch(_batch([], [], self._schema)[0])  # writes the schema and the dictionaries
        except OSError as error:
            raise TranscriptError(f"{path}: cannot be written ({error})") from error
        # closures, for they run once per packet and tap; `room` is at most what the next batch has left, in rows
        keep, flush, room = self._captured.append, self.flush, self._limit

        def capture(row: Capture) -> None:
            nonlocal room
            keep(row)
            room -= 1
            if room <= 0:
                flush()
                room = self._limit

        def fan(rows: Fan) -> None:
            nonlocal room
            keep(rows)
            room -= len(rows[2])
            if room <= 0:
                flush()
                room = self._limit

        self.capture: Callable[[Capture], None] = capture
        """Called when a packet goes on the air of a tapped link."""
        self.fan: Callable[[Fan], None] = fan
        """Called when a message goes on the air of several tapped links at once: as many rows, in their order."""

    def door(self, door: Door) -> None:
        """A message passes the door of a tapped agent, or an exchange of its is over."""
        self._doors.append(door)
        if len(self._doors) >= self._limit:
            self.flush()

    @property
    def held(self) -> int:
        """How many rows are in memory and not written yet."""
        return sum(len(row[2]) if isinstance(row[2], tuple) else 1 for row in self._captured) + len(self._doors)

    @property
    def bytes(self) -> int:
        """How long the file is."""
        return self.path.stat().st_size

    def flush(self) -> None:
        """Write what is in memory. Interrupted (Ctrl-C), it has written all of it or nothing."""
        captured, doors = self._captured, self._doors
        if not captured and not doors:
            return
        if not self._open:
            raise TranscriptError(f"{self.path}: closed after {self.rows:,} rows, and something was captured since")
        batch, metadata = _batch(captured, doors, self._schema)
        try:
            self._stream.write_batch(batch, custom_metadata=metadata)
        except OSError as error:
            raise self._failed(error) from error
        finally:
            self.rows += batch.num_rows if self._open else 0
            del captured[:], doors[:]
        weight = max(1, batch["values"].nbytes // batch.num_rows)
        self._limit = max(1, min(self._batch, self._memory // weight, GROWTH * self._limit))

    def close(self) -> "StreamedTranscript":
        """Write the rest and finish the file; a second time changes nothing. Returns what was written."""
        if self._open:
            self.flush()
            try:
                self._stream.close()
                self._file.close()
            except OSError as error:
                raise self._failed(error) from error
            self._open = False
        return StreamedTranscript.open(self.path)

    def _failed(self, error: OSError) -> TranscriptError:
        self._open = False
        self._file.close()
        return TranscriptError(f"{self.path}: cannot be written after {self.rows:,} rows ({error})")

    def __enter__(self) -> "TranscriptStream":
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self.close()


def _batch(captured: list[Capture | Fan], doors: list[Door], schema: Any) -> tuple[Any, dict[str, str]]:
    """A record batch and its metadata. Packets and messages are looked into once, however many rows carry them."""
    receivers, entry = _spread(captured)
    links = len(entry)
    rows, entries = links + len(doors), len(captured) + len(doors)
    entry = np.concatenate([entry, np.arange(len(captured), entries)])
    packets: list[Packet | Tagged | Ciphertext] = [row[3] for row in captured]
    packets += [row[3] for row in doors]
    places = {packet: place for place, packet in enumerate(dict.fromkeys(packets))}
    which = np.fromiter(map(places.__getitem__, packets), np.intp, entries)[entry]
    kind, number, sequence, attempt, size, message, author, messages = _looked_into(places)
    place, event, sender = np.zeros(rows, np.int8), np.zeros(rows, np.int8), author[which]
    place[links:] = 1
    event[links:] = [WORDS["event"].index(row[1]) for row in doors]
    sender[:links] = np.array([row[1] for row in captured], np.int64)[entry[:links]]
    time = np.array([row[0] for row in captured] + [row[0] for row in doors], np.float64)[entry]
    # for each row, the first row with its message (its own if it has none); and whether that is itself
    mine, places_of_rows = message[which], np.arange(rows, dtype=np.int32)
    first = np.empty(len(messages) + 1, np.int32)
    first[mine[::-1]] = places_of_rows[::-1]  # of several assignments the last one stays
    at = np.where(mine < 0, places_of_rows, first[mine])
    owns = (at == places_of_rows) & (mine >= 0)
    columns = {
        "time": time,
        "place": place,
        "event": event,
        "sender": sender,
        "receiver": np.concatenate([receivers, np.array([row[2] for row in doors], np.int64)]),
        "kind": kind.astype(np.int8)[which],
        "number": number[which],
        "sequence": sequence[which],
        "attempt": attempt[which],
        "size": size[which],
    }
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column), WORDS[name]) if name in WORDS else pa.array(column)
        for name, column in columns.items()
    ]
    values, fields = _maps(messages, owns)
    facts = {"links": links, "air": _span(time[:links]), "doors": _span(time[links:]), "fields": fields}
    batch: Any = pa.RecordBatch.from_arrays([*arrays, values, pa.array(at)], schema=schema)
    return batch, {"netsim": json.dumps(facts)}


def _spread(captured: list[Capture | Fan]) -> tuple[Column, Column]:
    """For each row on the air, whom it is for and which entry it comes from: a fan is several rows."""
    receivers = [row[2] for row in captured]
    if tuple not in set(map(type, receivers)):
        return np.array(receivers, np.int64), np.arange(len(receivers))
    each = [one if isinstance(one, tuple) else (one,) for one in receivers]
    names = list(map(id, each))  # an agent's fans share one tuple, and hashing it would take longer
    known = dict(zip(names, each, strict=True))
    places = {name: place for place, name in enumerate(known)}
    lengths = np.fromiter(map(len, known.values()), np.intp, len(known))
    targets = np.fromiter(chain.from_iterable(known.values()), np.int64, lengths.sum())
    which = np.fromiter(map(places.__getitem__, names), np.intp, len(names))
    counts = lengths[which]
    ahead = (np.cumsum(lengths) - lengths)[which] - (np.cumsum(counts) - counts)
    return targets[np.repeat(ahead, counts) + np.arange(counts.sum())], np.repeat(np.arange(len(each)), counts)


def _looked_into(places: dict[Packet | Tagged | Ciphertext, int]) -> tuple[Any, ...]:
    """Columns of the packets: `contents`, the place among the distinct messages (-1: none) and the sender; and those
    messages."""
    plain = [packet for packet in places if isinstance(packet, Message)]
    if len(plain) == len(places):  # bare links: a message is its own packet
        count = len(plain)
        kind = np.array([CODES[message.kind] for message in plain], np.int64)
        number = np.array([message.number for message in plain], np.int64)
        size = np.array([message.size for message in plain], np.int64)
        author = np.array([message.sender for message in plain], np.int64)
        return kind, number, np.full(count, -1), np.zeros(count, np.int64), size, np.arange(count), author, plain
    messages: dict[Message, int] = {}
    rows: list[tuple[int, ...]] = []
    for packet in places:
        kind, number, sequence, attempt, size, message = contents(packet)
        known, sender = (-1, -1) if message is None else (messages.setdefault(message, len(messages)), message.sender)
        rows.append((CODES[kind], number, sequence, attempt, size, known, sender))
    return (*np.array(rows, np.int64).reshape(-1, 7).T, messages)


def _maps(messages: Collection[Message], owns: Column) -> tuple[Any, list[str]]:
    """The `values` column: the messages in their order, each in the row that owns it. And which fields there are."""
    counts = np.zeros(len(owns) + 1, np.int64)
    counts[1:][owns] = [len(message.values) for message in messages]
    names = [name for message in messages for name in message.values]
    arrays = [value for message in messages for value in message.values.values()]
    ends = np.zeros(len(arrays) + 1, np.int64)
    ends[1:] = [value.size for value in arrays]
    flat = np.concatenate(arrays, axis=None) if arrays else np.zeros(0)
    items: Any = pa.ListArray.from_arrays(offsets(ends), pa.array(flat))
    maps: Any = pa.MapArray.from_arrays(offsets(counts), pa.array(names, TEXT), items)
    return maps, sorted(set(names))


def _span(times: Column) -> list[float]:
    return [float(times.min()), float(times.max())] if len(times) else []
