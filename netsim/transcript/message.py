"""Messages: an agent's message, its bytes, and the segment in which a reliable link wraps it."""

from typing import Literal, Protocol

from netsim.arrays import Array

HEADER_BYTES = 20
"""Sender, receiver, kind, number and length: 4 bytes each."""
ACK_BYTES = 20
TAG_BYTES = 16
"""What authentication adds to every packet: the tag of AES-GCM or ChaCha20-Poly1305."""
FLOAT_BYTES = 8

Kind = Literal["exchange", "direct", "ack", "sealed"]
Values = dict[str, Array]


def as_sent(value: Array) -> Array:
    """A copy as the wire carries it: zeros have no sign, for it could say what the value does not."""
    return value + 0.0


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
