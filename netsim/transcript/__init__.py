"""Transcript: the rows of one adversary, in memory or on disk, and the messages in them."""

import math
from collections.abc import Callable, Container, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from netsim.shown import Shown
from netsim.transcript.message import (
    EVERYBODY,
    Capture,
    Door,
    Message,
    Record,
    RowValues,
    Selection,
    SelectionOptions,
    contents,
)

if TYPE_CHECKING:
    from netsim.transcript.stored import StreamedTranscript  # pyarrow takes its time to load


class Transcript(Shown):
    """Rows in order of time. Who may see it: whoever placed the taps.

    Rows are made when they are first read: a run only appends what taps capture.
    """

    def __init__(self, records: Sequence[Record], replicas: int) -> None:
        self._captured: Sequence[Capture] = ()
        self._doors: Sequence[Door] = ()
        self._records: tuple[Record, ...] | None = tuple(records)
        self._stored: StreamedTranscript | None = None
        self._made: tuple[Callable[[], tuple[Sequence[Capture], Sequence[Door]]], int] | None = None
        self.replicas = replicas

    @classmethod
    def captured(cls, captured: Sequence[Capture], doors: Sequence[Door], replicas: int) -> "Transcript":
        """What link taps captured and node taps saw, in any order."""
        transcript = cls((), replicas)
        transcript._captured, transcript._doors, transcript._records = captured, doors, None
        return transcript

    @classmethod
    def deferred(
        cls, make: Callable[[], tuple[Sequence[Capture], Sequence[Door]]], count: int, replicas: int
    ) -> "Transcript":
        """What `make` says that taps captured and saw, so many rows: called when they are first read."""
        transcript = cls((), replicas)
        transcript._made, transcript._records = (make, count), None
        return transcript

    @classmethod
    def stored(cls, rows: "StreamedTranscript") -> "Transcript":
        """Rows that lie on disk in order of time, and are loaded when they are first read."""
        transcript = cls((), rows.replicas)
        transcript._stored, transcript._records = rows, None
        return transcript

    @property
    def records(self) -> tuple[Record, ...]:
        """All rows."""
        if self._records is None and self._stored is not None:
            self._records, self._stored = tuple(self._stored), None
        if self._records is None:
            if self._made is not None:
                (self._captured, self._doors), self._made = self._made[0](), None
            rows, known = list[Record](), dict[int, RowValues]()

            def named(message: Message) -> RowValues:
                """Its values, once for all rows that carry it."""
                found = known.get(id(message))
                if found is None:
                    found = known[id(message)] = RowValues(message.values)
                return found

            for time, sender, receiver, packet in self._captured:
                kind, number, sequence, attempt, size, message = contents(packet)
                values = RowValues() if message is None else named(message)
                rows.append(
                    Record(time, "link", "air", sender, receiver, kind, number, sequence, attempt, size, values)
                )
            for time, event, receiver, m in self._doors:
                rows.append(
                    Record(time, "node", event, m.sender, receiver, m.kind, m.number, -1, 0, m.size, named(m))
                )
            self._records = tuple(sorted(rows, key=attrgetter("time")))
            self._captured = self._doors = ()
        return self._records

    def facts(self) -> dict[str, object]:
        """Its rows, replicas, and values by name with their shape; where taps were. Of rows on disk, which are not
        read for it, the first two."""
        if self._stored is not None:
            return {"rows": len(self), "replicas": self.replicas, "kept": "on disk"}
        rows = self.records
        shapes = {f"{name} {value.shape}": None for r in rows for name, value in r.values.items()}
        ways = {(r.sender, r.receiver) for r in rows if r.place == "link"}
        doors = sorted({_door(r) for r in rows if r.place == "node"})
        return {
            "rows": len(rows),
            "messages in the clear": len(self.messages(doors)) or None,
            "replicas": self.replicas,
            "values": _few(list(shapes)),
            "tapped": _few([f"{i} → {'all' if j == EVERYBODY else j}" for i, j in sorted(ways)]),
            "doors of agents": _few([str(one) for one in doors]),
        }

    def __getstate__(self) -> dict[str, object]:
        """What is to be pickled: rows, and not how they are made."""
        if self._made is not None:
            assert self.records is not None
        return vars(self)

    def __len__(self) -> int:
        if self._stored is not None:
            return len(self._stored)
        if self._made is not None:
            return self._made[1]
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
        rows = [row._replace(values=RowValues.of_replica(index, row.values)) for row in self.records]
        return Transcript(rows, 1)

    def write(self, path: Path) -> None:
        """Write one Parquet file; readable by pandas, polars and duckdb. What lies on disk passes in batches."""
        from netsim.transcript.stored import write_records

        if self._stored is not None:
            self._stored.to_parquet(path)
        else:
            write_records(self.records, self.replicas, path)

    @classmethod
    def read(cls, path: Path) -> "Transcript":
        """Read what `write` wrote. You get a `TranscriptError` for a file that is not a transcript."""
        from netsim.transcript.stored import StreamedTranscript

        rows = StreamedTranscript.open(path)
        return cls(tuple(rows), rows.replicas)


def _few(words: list[str]) -> str:
    return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")


def _door(record: Record) -> int:
    return record.receiver if record.event == "received" else record.sender
