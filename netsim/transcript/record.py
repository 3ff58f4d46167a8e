# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Transcript records: what taps recorded, nothing that was not on the wire, and the selection of rows.

A selection means the same for rows in memory and for rows on disk.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from netsim.transcript.message import Kind, Message, Values

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


class SelectionOptions(TypedDict, total=False):
    """The criteria for rows besides their time."""

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
        sets: dict[str, Any] = {}
        for name, column in _SELECTED_COLUMNS.items():
            given: Any = options.get(column)
            sets[name] = given if given is None else frozenset((given,) if isinstance(given, str | int) else given)
        return cls(since, until, **sets)

    def narrowed(self, by: "Selection") -> "Selection":
        """The rows that both choose."""
        sets: dict[str, Any] = {}
        for name in _SELECTED_COLUMNS:
            one, other = getattr(self, name), getattr(by, name)
            sets[name] = other if one is None else one if other is None else one & other
        return Selection(max(self.since, by.since), min(self.until, by.until), **sets)

    def meets(self, first: float, last: float) -> bool:
        """Whether anything between two times can be among them."""
        return last >= self.since and first < self.until

    def holds(self, row: Any) -> bool:
        """Whether a row, a `Record` for instance, is among them."""
        return self.since <= row.time < self.until and all(
            getattr(row, column) in chosen
            for name, column in _SELECTED_COLUMNS.items()
            if (chosen := getattr(self, name)) is not None
        )

    def among(self, columns: dict[str, Column]) -> Column:
        """Their indices among rows given as columns, as far as the columns that are given decide."""
        time = columns["time"]
        chosen = (time >= self.since) & (time < self.until)
        for name, column in _SELECTED_COLUMNS.items():
            wanted: frozenset[Any] | None = getattr(self, name)
            if wanted is not None and column in columns:
                chosen &= np.isin(columns[column], sorted(wanted))
        return np.flatnonzero(chosen)


EVERY = Selection()


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
