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

from netsim.transcript.message import Ciphertext, Kind, Message, Packet, Tagged, Values, contents

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
        return cls(since, until, **{name: _chosen(options.get(one)) for name, one in _SELECTED_COLUMNS.items()})

    def narrowed(self, by: "Selection") -> "Selection":
        """What both choose."""
        sets = {name: _both(getattr(self, name), getattr(by, name)) for name in _SELECTED_COLUMNS}
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


def _chosen(given: Any) -> frozenset[Any] | None:
    return None if given is None else frozenset((given,) if isinstance(given, str | int) else given)


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


def on_air(time: float, sender: int, receiver: int, packet: Packet | Tagged | Ciphertext) -> Record:
    """The row of a packet that a link tap captured."""
    kind, number, sequence, attempt, size, message = contents(packet)
    values = {} if message is None else message.values
    return Record(time, "link", "air", sender, receiver, kind, number, sequence, attempt, size, values)


def at_door(time: float, event: DoorEvent, receiver: int, message: Message) -> Record:
    """The row of a message at an agent's door."""
    kind, number, size, values = message.kind, message.number, message.size, message.values
    return Record(time, "node", event, message.sender, receiver, kind, number, -1, 0, size, values)
