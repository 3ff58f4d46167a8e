# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Transcript records: what taps recorded, nothing that was not on the wire, and the selection of rows.

A selection means the same for rows in memory and for rows on disk.
"""

import math
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.errors import TranscriptError
from netsim.transcript.message import Capture, Ciphertext, Kind, Message, Packet, Tagged, Values

Column = NDArray[Any]
Words = str | Collection[str] | None
Numbers = int | Collection[int] | None
_SELECTED_COLUMNS = {
    "senders": "sender",
    "receivers": "receiver",
    "places": "place",
    "kinds": "kind",
    "numbers": "number",
}
"""What a selection's sets choose among; times are apart, for they have an order."""
_COMPARED = tuple(_SELECTED_COLUMNS.items())


class SelectionOptions(TypedDict, total=False):
    """What rows are chosen by besides their time."""

    sender: Numbers
    receiver: Numbers
    place: Words
    kind: Words
    number: Numbers


@dataclass(frozen=True)
class Selection:
    """since <= time < until (virtual seconds), and one of these senders, receivers, places, kinds and numbers.

    None is any; an empty set is none.
    """

    since: float = -math.inf
    until: float = math.inf
    senders: frozenset[int] | None = None
    receivers: frozenset[int] | None = None
    places: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    numbers: frozenset[int] | None = None

    @classmethod
    def of(
        cls, since: float = -math.inf, until: float = math.inf, **options: Unpack[SelectionOptions]
    ) -> "Selection":
        """Each one value, several, or (None) any."""
        sender, receiver, number = (_numbers(options.get(name)) for name in ("sender", "receiver", "number"))
        place, kind = (_words(options.get(name)) for name in ("place", "kind"))
        return cls(since, until, sender, receiver, place, kind, number)

    def narrowed(self, by: "Selection") -> "Selection":
        """What both choose."""
        sets = {name: _both(getattr(self, name), getattr(by, name)) for name in _SELECTED_COLUMNS}
        return Selection(max(self.since, by.since), min(self.until, by.until), **sets)

    def meets(self, first: float, last: float) -> bool:
        """Whether anything between two times can be among them."""
        return last >= self.since and first < self.until

    def holds(self, row: Any) -> bool:
        """Whether a row (`netsim.transcript.record.Record`) is among them."""
        return self.since <= row.time < self.until and all(
            getattr(row, column) in chosen
            for name, column in _COMPARED
            if (chosen := getattr(self, name)) is not None
        )

    def among(self, columns: dict[str, Column]) -> Column:
        """Their indices among rows given as columns, as far as the columns that are given decide."""
        time = columns["time"]
        chosen = (time >= self.since) & (time < self.until)
        for name, column in _COMPARED:
            wanted: frozenset[Any] | None = getattr(self, name)
            if wanted is not None and column in columns:
                chosen &= np.isin(columns[column], sorted(wanted))
        return np.flatnonzero(chosen)


EVERY = Selection()


def _numbers(given: Numbers) -> frozenset[int] | None:
    return frozenset((given,)) if isinstance(given, int) else None if given is None else frozenset(given)


def _words(given: Words) -> frozenset[str] | None:
    return frozenset((given,)) if isinstance(given, str) else None if given is None else frozenset(given)


def _both(one: frozenset[Any] | None, other: frozenset[Any] | None) -> frozenset[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


Place = Literal["link", "node"]
Event = Literal["air", "sent", "received", "closed"]
DoorEvent = Literal["sent", "received", "closed"]

COLUMNS = {
    "time": "virtual seconds",
    "place": "where the tap sits: 'link' or 'node'",
    "event": "'air' on a link; 'sent', 'received' or 'closed' (an exchange ended) at a node",
    "sender": "agent that sent the packet",
    "receiver": "agent it is for; -1 is every neighbor (on radio, and as seen at its sender's door)",
    "kind": "'exchange', 'direct' or 'ack'; 'sealed' on an encrypted link",
    "number": "the sender's count of messages of that kind, from 0; -1 for an acknowledgement, and where sealed",
    "sequence": "sequence number on a reliable link; -1 on a datagram link or at a node",
    "attempt": "0 for the first transmission, 1 for the first retransmission, …",
    "size": "bytes on the wire",
}
EVERYBODY = -1


class Record(NamedTuple):
    """One row; `values` are read-only arrays (replicas, dimension), empty for an acknowledgement."""

    time: float
    place: Place
    event: Event
    sender: int
    receiver: int
    kind: Kind
    number: int
    sequence: int
    attempt: int
    size: int
    values: Values


Door = tuple[float, DoorEvent, int, Message]
"""What a node tap sees: when, which way, for whom (`EVERYBODY`, or an agent), and the message.

Where an exchange was closed, the message is empty.
"""


class _Stored(Protocol):
    """Rows on disk, in order of time (`netsim.spool.SpooledTranscript`)."""

    @property
    def replicas(self) -> int: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Record]: ...

    def narrowed(self, by: Selection) -> Self: ...

    def replica(self, index: int) -> Self: ...

    def to_parquet(self, path: Path) -> None: ...


class Transcript:
    """Rows in order of time. Who may see it: whoever placed the taps.

    Rows are made when they are first asked for: a run only appends what taps capture.
    """

    def __init__(self, records: Sequence[Record], replicas: int) -> None:
        self._captured: Sequence[Capture] = ()
        self._doors: Sequence[Door] = ()
        self._records: tuple[Record, ...] | None = tuple(records)
        self._stored: _Stored | None = None
        self.replicas = replicas

    @classmethod
    def captured(cls, captured: Sequence[Capture], doors: Sequence[Door], replicas: int) -> "Transcript":
        """What link taps captured and node taps saw, in any order."""
        transcript = cls((), replicas)
        transcript._captured, transcript._doors, transcript._records = captured, doors, None
        return transcript

    @classmethod
    def stored(cls, rows: "_Stored") -> "Transcript":
        """Rows that lie on disk in order of time, and are loaded when they are first asked for."""
        transcript = cls((), rows.replicas)
        transcript._stored, transcript._records = rows, None
        return transcript

    @property
    def records(self) -> tuple[Record, ...]:
        """All rows."""
        if self._records is None and self._stored is not None:
            self._records, self._stored = tuple(self._stored), None
        if self._records is None:
            rows = [_on_air(*captured) for captured in self._captured] + [_at_door(*door) for door in self._doors]
            self._records = tuple(sorted(rows, key=_time))
            self._captured = self._doors = ()
        return self._records

    def __len__(self) -> int:
        if self._stored is not None:
            return len(self._stored)
        return len(self._captured) + len(self._doors) if self._records is None else len(self._records)

    def __iter__(self) -> Iterator[Record]:
        """Row by row; what lies on disk is not loaded for it."""
        return iter(self.records if self._stored is None else self._stored)

    def select(
        self, since: float = -math.inf, until: float = math.inf, **options: Unpack[SelectionOptions]
    ) -> "Transcript":
        """The rows with since <= time < until (virtual seconds), of this `sender`, `receiver`, `place`, `kind` and
        `number`; each one value or several. What lies on disk stays there."""
        chosen = Selection.of(since, until, **options)
        if self._stored is not None:
            return Transcript.stored(self._stored.narrowed(chosen))
        return Transcript(tuple(filter(chosen.holds, self.records)), self.replicas)

    def at_node(self, agent: int) -> tuple[Record, ...]:
        """Messages at an agent's door, in order; none where no tap sat there or nothing passed."""
        return tuple(r for r in self.records if r.place == "node" and _door(r) == agent)

    def on_links(self) -> tuple[Record, ...]:
        """Each message in the clear on a link once, in order of its first attempt that was captured."""
        return self.messages(())

    def messages(self, doors: Container[int]) -> tuple[Record, ...]:
        """Each message in the clear once, captured on a link or at one of these agents' doors, in order.

        A radio broadcast is for `EVERYBODY`; that it was repeated for single neighbors makes it no other message.
        """
        captured: dict[tuple[int, int, str, int], Record] = {}
        on_radio: set[tuple[int, str, int]] = set()
        for r in self.records:
            if r.event == "air" and r.receiver == EVERYBODY:
                on_radio.add((r.sender, r.kind, r.number))
            elif r.event == "air" and (r.sender, r.kind, r.number) in on_radio:
                continue
            known = r.event == "air" or (r.event != "closed" and _door(r) in doors)
            if known and r.kind in ("exchange", "direct"):
                captured.setdefault((r.sender, r.receiver, r.kind, r.number), r)
        return tuple(captured.values())

    def replica(self, index: int) -> "Transcript":
        """The same packets with one replica's values; what lies on disk stays there."""
        if self._stored is not None:
            return Transcript.stored(self._stored.replica(index))
        return Transcript(
            tuple(
                r._replace(values={name: value[index : index + 1] for name, value in r.values.items()})
                for r in self.records
            ),
            1,
        )

    # ── on disk ─────────────────────────────────────────────────────────────────────────────────────
    def write(self, path: Path) -> None:
        """Write one Parquet file; readable by pandas, polars and duckdb. What lies on disk passes in batches."""
        if self._stored is not None:
            self._stored.to_parquet(path)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, object] = {
            name: pa.array([getattr(r, name) for r in self.records], type=kind)
            for name, kind in _arrow_types(pa).items()
        }
        for field in sorted({name for r in self.records for name in r.values}):
            data = [r.values[field].ravel() if field in r.values else None for r in self.records]
            columns[f"value.{field}"] = pa.array(data, type=pa.list_(pa.float64()))
        table: Any = pa.table(columns).replace_schema_metadata({"replicas": str(self.replicas)})
        pq.write_table(table, path, compression="zstd")

    @classmethod
    def read(cls, path: Path) -> "Transcript":
        """Read what `write` wrote. You get a `TranscriptError` for a file that is not a transcript."""
        import pyarrow.parquet as pq

        try:
            table: Any = pq.read_table(path)
            replicas = int(table.schema.metadata[b"replicas"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TranscriptError(f"{path}: not a transcript ({error})") from error
        fields = [name for name in table.column_names if name.startswith("value.")]
        rows: Any = table.to_pylist()
        records: list[Record] = []
        for row in rows:
            values = {
                name.removeprefix("value."): _shaped(row[name], replicas) for name in fields if row[name] is not None
            }
            records.append(Record(**{name: row[name] for name in COLUMNS}, values=values))
        return cls(tuple(records), replicas)


def _arrow_types(pa: Any) -> dict[str, object]:
    text, whole = pa.string(), pa.int64()
    return dict.fromkeys(COLUMNS, whole) | {"time": pa.float64(), "place": text, "event": text, "kind": text}


def _shaped(flat: Sequence[float], replicas: int) -> Array:
    value = np.array(flat, dtype=np.float64).reshape(replicas, -1)
    value.flags.writeable = False
    return value


def _time(record: Record) -> float:
    return record.time


def _at_door(time: float, event: DoorEvent, receiver: int, message: Message) -> Record:
    return _record(time, "node", event, message.sender, receiver, message, -1, 0)


def _on_air(time: float, sender: int, receiver: int, packet: Packet | Tagged | Ciphertext) -> Record:
    if isinstance(packet, Tagged):
        return _on_air(time, sender, receiver, packet.packet)._replace(size=packet.size)
    if isinstance(packet, Ciphertext):
        return Record(time, "link", "air", sender, receiver, "sealed", -1, -1, 0, packet.size, {})
    if isinstance(packet, Message):
        return _record(time, "link", "air", sender, receiver, packet, -1, 0)
    sequence, attempt = packet.sequence, packet.attempt
    if packet.message is None:
        return Record(time, "link", "air", sender, receiver, "ack", -1, sequence, attempt, packet.size, {})
    return _record(time, "link", "air", sender, receiver, packet.message, sequence, attempt)


def _record(
    time: float,
    place: Place,
    event: Event,
    sender: int,
    receiver: int,
    message: Message,
    sequence: int,
    attempt: int,
) -> Record:
    kind, number, size, values = message.kind, message.number, message.size, message.values
    return Record(time, place, event, sender, receiver, kind, number, sequence, attempt, size, values)


def _door(record: Record) -> int:
    return record.receiver if record.event == "received" else record.sender
