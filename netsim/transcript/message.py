"""Messages, and the rows that taps record of them: nothing that was not on the wire.

An agent's message, its bytes, and the segment in which a reliable link wraps it; the row of a transcript, and the
selection of rows, which means the same for rows in memory and for rows on disk.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from netsim.arguments import expect
from netsim.arrays import Array
from netsim.errors import ScenarioError, TranscriptError, meant

HEADER_BYTES = 20
"""Sender, receiver, kind, number and length: 4 bytes each."""
ACK_BYTES = 20
TAG_BYTES = 16
"""What authentication adds to every packet: the tag of AES-GCM or ChaCha20-Poly1305."""
FLOAT_BYTES = 8

Kind = Literal["exchange", "direct", "ack", "sealed"]
Values = dict[str, Array]


class RowValues(dict[str, Array]):
    """Values of a row by name. You get a `TranscriptError` for a name that its message has not, with those it has."""

    @classmethod
    def of_replica(cls, index: int, values: Values) -> "RowValues":
        """One replica's alone."""
        return cls({name: value[index : index + 1] for name, value in values.items()})

    def __missing__(self, name: str) -> Array:
        has = f"it has {', '.join(map(repr, self))}" if self else "it has no values"
        raise TranscriptError(f"values[{name!r}]: the message has none of this name{meant(name, self)} ({has})")


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
WORDS = {"place": get_args(Place), "event": get_args(Event), "kind": get_args(Kind)}
LEAST = {"sender": 0, "receiver": -1, "number": -1, "sequence": -1, "attempt": 0, "size": 0}
"""Columns of whole numbers, with the least that a row may have."""
LARGEST = 2**53
EVERYBODY = -1
ZERO = np.zeros(())  # an array: NumPy takes longer over a number than over ten


def as_sent(value: Array) -> Array:
    """A copy as the wire carries it: zeros have no sign, for it could say what the value does not."""
    return value + ZERO


class Message:
    """Named values from one agent. `number` counts the sender's messages of that kind, from 0.

    Its arrays are what receivers decode, read-only from the moment it is sent; who may see it: whoever taps the
    link. `size` is in bytes, that of a header and float64 values where none is given (`netsim.codecs`).
    """

    __slots__ = ("kind", "number", "sender", "size", "values")

    def __init__(self, sender: int, kind: Kind, number: int, values: Values, size: int | None = None) -> None:
        self.sender = sender
        self.kind: Kind = kind
        self.number = number
        self.values = values
        if size is None:
            size = HEADER_BYTES + FLOAT_BYTES * sum(value.shape[-1] for value in values.values())
        self.size = size

    def __repr__(self) -> str:
        return f"Message({self.kind} {self.number} from agent {self.sender}: {', '.join(self.values)})"


class Segment:
    """One attempt of a reliable link to carry a message, or (without a message) the acknowledgement of one."""

    __slots__ = ("attempt", "message", "sequence", "size")

    def __init__(self, sequence: int, attempt: int, message: Message | None) -> None:
        self.sequence = sequence
        self.attempt = attempt
        self.message = message
        self.size = ACK_BYTES if message is None else message.size


class Ciphertext:
    """A packet on an encrypted link as a tap sees it: its size in bytes, and that it passed."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


Packet = Message | Segment


class _RejectionCount(Protocol):
    """The count of who altered or replayed packets, as far as receivers add to it."""

    rejected: int


class Tagged:
    """A packet on an authenticated link, its number on that wire, and a tag over both (`TAG_BYTES`).

    The number travels in the header. `genuine`: whether the tag fits what the packet carries now; `by`: the count of
    the active adversary that altered or replayed it, so that what was caught can be laid at its door. On the
    air, where taps are, every packet is genuine and by nobody.
    """

    __slots__ = ("by", "genuine", "number", "packet", "size")

    def __init__(
        self, packet: Packet, number: int, *, genuine: bool = True, by: "_RejectionCount | None" = None
    ) -> None:
        self.packet = packet
        self.number = number
        self.genuine = genuine
        self.by = by
        self.size = packet.size + TAG_BYTES


def contents(packet: Packet | Tagged | Ciphertext) -> tuple[Kind, int, int, int, int, Message | None]:
    """Kind, number, sequence, attempt, size and message of a packet, as far as it is in the clear."""
    if isinstance(packet, Message):
        return packet.kind, packet.number, -1, 0, packet.size, packet
    if isinstance(packet, Ciphertext):
        return "sealed", -1, -1, 0, packet.size, None
    if isinstance(packet, Tagged):
        kind, number, sequence, attempt, _, message = contents(packet.packet)
        return kind, number, sequence, attempt, packet.size, message
    message, sequence, attempt, size = packet.message, packet.sequence, packet.attempt, packet.size
    if message is None:
        return "ack", -1, sequence, attempt, size, None
    return message.kind, message.number, sequence, attempt, size, message


Capture = tuple[float, int, int, Packet | Tagged | Ciphertext]
"""A packet at a tap: when the packet went on the air (seconds), from whom, for whom, and the packet."""
Fan = tuple[float, int, tuple[int, ...], Message]
"""A broadcast at a tap on several links at once: when, from whom, for whom in this order, and the message."""


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
        """Each one value, several, or (None) any. You get a `ScenarioError` for another name, or no time."""
        columns = [*_SELECTED_COLUMNS.values()]
        for name, value in options.items():
            if name not in columns:
                why = f"a transcript has no such column{meant(name, columns)}"
                raise ScenarioError(name, value, why, ", ".join(["since", "until", *columns]))
        for name, time in (("since", since), ("until", until)):
            expect(time, name, float)
        sets: dict[str, frozenset[Any] | None] = {}
        for name, column in _SELECTED_COLUMNS.items():
            given: Any = options.get(column)
            sets[name] = given if given is None else frozenset((given,) if isinstance(given, str | int) else given)
        return cls(since, until, **sets)

    def narrowed(self, by: "Selection") -> "Selection":
        """The rows that both choose."""
        sets: dict[str, frozenset[Any] | None] = {}
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
