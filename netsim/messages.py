"""What travels: an agent's message, and the segment that a reliable link wraps it in.

A size is what one replica's copy would weigh on a wire: replicas are parallel worlds, not one large packet.
"""

from typing import Literal

from netsim.arrays import Array

HEADER_BYTES = 20
"""Sender, receiver, kind, number and length: 4 bytes each."""
ACK_BYTES = 20
FLOAT_BYTES = 8

Kind = Literal["exchange", "direct", "ack", "sealed"]
Values = dict[str, Array]


def as_sent(value: Array) -> Array:
    """A copy as the wire carries it: zeros have no sign, for it could tell what the value does not."""
    return value + 0.0


class Message:
    """Named values from one agent. `number` counts the sender's messages of that kind, from 0.

    Its arrays are read-only from the moment it is sent; who may see it: whoever taps the link.
    """

    __slots__ = ("kind", "number", "sender", "size", "values")

    def __init__(self, sender: int, kind: Kind, number: int, values: Values) -> None:
        self.sender = sender
        self.kind: Kind = kind
        self.number = number
        self.values = values
        size = HEADER_BYTES
        for value in values.values():
            size += FLOAT_BYTES * value.shape[-1]
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
    """What a tap makes of a packet on an encrypted link: its size in bytes, and that it passed."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


Packet = Message | Segment
Heard = tuple[float, int, int, Packet | Ciphertext]
"""What a tap hears: when the packet went on the air (seconds), from whom, for whom, and the packet."""
Fan = tuple[float, int, tuple[int, ...], Message]
"""A broadcast that a tap hears on several links at once: when, from whom, for whom in this order, and the message."""
