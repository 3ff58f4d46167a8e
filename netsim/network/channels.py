"""Channels on top of wires: reliable delivery by retransmission, and rejection of forged or repeated packets.

A reliable channel has acknowledgements, retransmission with back-off, and order. The sender of an authenticated link
tags every packet together with its number on the wire; who holds no key can neither change one nor make one. What was
altered is rejected for its tag, what came before for its number. On a reliable link the sender then sends again as if
the packet had been lost; on a datagram link it is gone.

Source: RFC 4303 (IPsec ESP), section 3.4.3, the sliding window; DTLS 1.3 (RFC 9147) has the same.
"""

from collections.abc import Callable

from netsim.clock import Timer, VirtualEnvironment
from netsim.errors import SimulationError
from netsim.network.links import LinkLaw
from netsim.network.wires import Wire
from netsim.transcript.message import Message, Packet, Segment, Tagged

MAX_BACKOFF = 6
_MOST_ATTEMPTS = 10_000
"""How often a message is sent before the run ends with an error, where an active adversary may have cut the link."""
UNACKNOWLEDGED = 100
"""How often a message is sent where no acknowledgement can come back any more."""


class ReliableChannel:
    """Carries the messages of one direction exactly once and in order over two lossy wires.

    The sender keeps every unacknowledged message and sends it again after a timeout that doubles, and that counts
    from when the packet has left: what waits in the sender's own queue is not sent twice. The receiver acknowledges
    each segment by its sequence number, also the ones it already has, and hands on what is in order. It gives up
    where the link is down for good, and where somebody may be keeping packets from getting through for ever
    (`cut_by`, a name): then you get a `SimulationError` after `_MOST_ATTEMPTS`.
    """

    def __init__(
        self,
        environment: VirtualEnvironment,
        forward: Wire,
        backward: Wire,
        law: LinkLaw,
        deliver: Callable[[Message], None],
        cut_by: str = "",
    ) -> None:
        self._environment, self._forward, self._backward = environment, forward, backward
        self._deliver, self._cut_by = deliver, cut_by
        self._given, self._travel = law.timeout, 4 * law.delay.mean()
        self._per_byte = 4 / law.bandwidth if law.bandwidth else 0.0
        self._may_go = forward.switch is not None or backward.switch is not None
        self._next = 0
        self._unacknowledged: dict[int, Message] = {}
        self._timers: dict[int, Timer] = {}
        self._expected = 0
        self._early: dict[int, Message] = {}

    def send(self, message: Message) -> None:
        """Take responsibility for a message."""
        sequence, self._next = self._next, self._next + 1
        self._unacknowledged[sequence] = message
        self._attempt((sequence, 0))

    def _attempt(self, attempt: tuple[int, int]) -> None:
        sequence, count = attempt
        if self._cut_by and count >= _MOST_ATTEMPTS:
            raise SimulationError(
                f"link {self._forward.source} → {self._forward.target}: packet {sequence} was sent {count:,} "
                f"times and never acknowledged; active adversary {self._cut_by} drops or alters what passes there. A "
                "reliable link outlives an adversary that ends, or whose probability is lower"
            )
        message = self._unacknowledged[sequence]
        self._forward.send(Segment(sequence, count, message))
        if self._may_go and (self._forward.gone or (self._backward.gone and count >= UNACKNOWLEDGED)):
            return  # it would send for ever, and no deadlock would be seen
        due = self._forward.idle_at() + self._timeout(message) * 2 ** min(count, MAX_BACKOFF)
        self._timers[sequence] = self._environment.timer(due, self._attempt, (sequence, count + 1))

    def _timeout(self, message: Message) -> float:
        if self._given is not None:
            return self._given
        return max(1e-3, self._travel + self._per_byte * message.size)

    def on_data(self, segment: Segment) -> None:
        """A segment reached the receiver: acknowledge it, hand on what is in order."""
        self._backward.send(Segment(segment.sequence, segment.attempt, None))
        if segment.sequence < self._expected or segment.sequence in self._early:
            return
        assert segment.message is not None
        self._early[segment.sequence] = segment.message
        while (message := self._early.pop(self._expected, None)) is not None:
            self._expected += 1
            self._deliver(message)

    def on_ack(self, segment: Segment) -> None:
        """An acknowledgement came back to the sender."""
        if self._unacknowledged.pop(segment.sequence, None) is not None:
            self._timers.pop(segment.sequence).cancelled = True


WINDOW = 1024
"""How many of the last numbers are known to have come or not. A packet from before them is rejected, for it may be a
repeat; what it carried is sent again on a reliable link."""


class Guard:
    """The receiver's end of an authenticated wire; counts what it rejects in the wire's `rejected`.

    Of the wire's numbers it keeps the newest that came, and a bit for each of the `WINDOW` up to it.
    """

    __slots__ = ("_deliver", "_newest", "_seen", "_wire")

    def __init__(self, wire: Wire, deliver: Callable[[Packet], None]) -> None:
        self._wire, self._deliver = wire, deliver
        self._newest, self._seen = -1, 0

    def check(self, tagged: Tagged) -> None:
        """Hand on a packet that arrived, or reject it. A forged one leaves the window as it is."""
        if tagged.genuine and self._admit(tagged.number):
            self._deliver(tagged.packet)
            return
        self._wire.rejected += 1
        if tagged.by is not None:
            tagged.by.rejected += 1

    def _admit(self, number: int) -> bool:
        """Whether this number is new, and not older than the window; from now on it is not."""
        behind = self._newest - number
        if behind < 0:
            self._seen = ((self._seen << min(-behind, WINDOW)) | 1) & ((1 << WINDOW) - 1)
            self._newest = number
            return True
        if behind >= WINDOW or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True
