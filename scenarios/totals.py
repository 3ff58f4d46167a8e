"""What rows of a transcript come to: rows and bytes by what was heard, link and kind."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from netsim.spool import SpooledTranscript
from netsim.transcript import EVERYBODY, Event, Record

TALKERS = 10
"""Links that a summary names, of each way to hear them."""
HEARD: dict[Event, str] = {"air": "on air", "sent": "sent", "received": "received"}
"""A message passes each of these, so that they are never added up."""
Link = tuple[int, int]


@dataclass
class Sum:
    """Rows and bytes, in all and per link and kind, of what was heard in one way."""

    rows: int = 0
    bytes: int = 0
    links: dict[Link, tuple[int, int]] = field(default_factory=dict[Link, tuple[int, int]])
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def count(self, link: Link, kind: str, rows: int, size: int) -> None:
        """So many rows more, `size` bytes together."""
        self.rows, self.bytes = self.rows + rows, self.bytes + size
        known = self.links.get(link, (0, 0))
        self.links[link] = known[0] + rows, known[1] + size
        known = self.kinds.get(kind, (0, 0))
        self.kinds[kind] = known[0] + rows, known[1] + size

    def talkers(self) -> list[tuple[Link, tuple[int, int]]]:
        """Every link, in order of bytes."""
        return sorted(self.links.items(), key=lambda item: (-item[1][1], item[0]))

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        links = [{"sender": i, "receiver": j, "rows": r, "bytes": b} for (i, j), (r, b) in self.talkers()]
        kinds = {kind: {"rows": r, "bytes": b} for kind, (r, b) in sorted(self.kinds.items())}
        return {"rows": self.rows, "bytes": self.bytes, "links": links, "kinds": kinds}


@dataclass
class Totals:
    """How many rows, from when to when, the sum of each way to hear, and how many exchanges were closed."""

    rows: int = 0
    closed: int = 0
    first: float = math.inf
    last: float = -math.inf
    heard: dict[Event, Sum] = field(default_factory=dict[Event, Sum])

    @classmethod
    def of(cls, rows: SpooledTranscript) -> "Totals":
        """Of all rows, in bounded memory; values are not read."""
        totals = cls()
        for part in rows.columns():
            totals._add_columns(part)
        return totals

    def add(self, row: Record) -> None:
        """One more row."""
        self._meet(1, row.time, row.time)
        if row.event == "closed":
            self.closed += 1
        else:
            self._sum(row.event).count((row.sender, row.receiver), row.kind, 1, row.size)

    def _meet(self, rows: int, first: float, last: float) -> None:
        self.rows, self.first, self.last = self.rows + rows, min(self.first, first), max(self.last, last)

    def _sum(self, event: Event) -> Sum:
        return self.heard.setdefault(event, Sum())

    def _add_columns(self, part: dict[str, Any]) -> None:
        if not len(part["time"]):
            return
        self._meet(len(part["time"]), float(part["time"].min()), float(part["time"].max()))
        self.closed += int(np.count_nonzero(part["event"] == "closed"))
        for event in HEARD:
            chosen = np.flatnonzero(part["event"] == event)
            if len(chosen):
                names = ("sender", "receiver", "kind", "size")
                self._add_heard(self._sum(event), *(part[name][chosen] for name in names))

    @staticmethod
    def _add_heard(to: Sum, sender: Any, receiver: Any, kind: Any, size: Any) -> None:
        kinds, which = np.unique(kind.astype(str), return_inverse=True)
        receivers = int(receiver.max()) - EVERYBODY + 1
        keys, group = np.unique(
            (sender * receivers + receiver - EVERYBODY) * len(kinds) + which, return_inverse=True
        )  # fmt: skip
        sizes = np.zeros(len(keys), np.int64)
        np.add.at(sizes, group, size)
        rows = np.bincount(group, minlength=len(keys))
        for key, count, total in zip(keys.tolist(), rows.tolist(), sizes.tolist(), strict=True):
            link, what = divmod(key, len(kinds))
            i, j = divmod(link, receivers)
            to.count((i, j + EVERYBODY), str(kinds[what]), count, total)

    def _sums(self) -> list[tuple[str, Sum]]:
        return [(word, self.heard[event]) for event, word in HEARD.items() if event in self.heard]

    def sentence(self) -> str:
        """Rows, bytes and span; apart for what was heard on air, sent and received."""
        span = f", {self.first:.6g} … {self.last:.6g} s" if self.rows else ""
        rows, sums = f"{self.rows:,} row{'s' * (self.rows != 1)}", self._sums()
        if not self.closed and len(sums) < 2:
            return f"{rows}, {sum(one.bytes for _, one in sums):,} bytes{span}"
        parts = [f"{one.rows:,} {word} ({one.bytes:,} bytes)" for word, one in sums]
        if self.closed:
            parts.append(f"{self.closed:,} exchange{'s' * (self.closed != 1)} closed")
        return f"{rows}: {', '.join(parts)}{span}"

    def tables(self) -> tuple[Table, Table]:
        """The links with most bytes, and every kind; shares are of the bytes that were heard in the same way."""
        links, kinds = _table("from → to"), _table("kind")
        for word, one in self._sums():
            talkers = one.talkers()
            for (i, j), counts in talkers[:TALKERS]:
                _add(links, word, f"{i} → {'all' if j == EVERYBODY else j}", counts, one)
            if rest := [counts for _, counts in talkers[TALKERS:]]:
                more = sum(rows for rows, _ in rest), sum(size for _, size in rest)
                _add(links, word, f"… and {len(rest):,} more link{'s' * (len(rest) != 1)}", more, one)
            for kind, counts in sorted(one.kinds.items()):
                _add(kinds, word, kind, counts, one)
        return links, kinds

    def as_json(self) -> str:
        """Everything as one JSON object; of each way to hear, its links are in order of bytes."""
        span = [_finite(self.first), _finite(self.last)] if self.rows else None
        heard = {event: self.heard[event].told() for event in HEARD if event in self.heard}
        return json.dumps({"rows": self.rows, "span": span, "heard": heard, "closed": self.closed})


def _table(what: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("heard", no_wrap=True)
    table.add_column(what, no_wrap=True)
    for name in ("rows", "bytes", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, word: str, name: str, counts: tuple[int, int], of: Sum) -> None:
    rows, size = counts
    table.add_row(word, name, f"{rows:,}", f"{size:,}", f"{size / max(1, of.bytes):.1%}")


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
