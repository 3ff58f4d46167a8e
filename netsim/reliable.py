"""The transport that makes a lossy link reliable: acknowledgements, retransmission with back-off, order.

Every attempt and every acknowledgement is on the air, where taps see it.
"""

from collections.abc import Callable

from netsim.clock import Timer, VirtualEnvironment
from netsim.errors import SimulationError
from netsim.links import LinkLaw
from netsim.messages import Message, Segment
from netsim.wires import Wire

MAX_BACKOFF = 6
MOST_ATTEMPTS = 10_000
"""Where a meddler may have cut the link for good: how often a message is sent before the run ends with an error."""


UNHEARD = 100
"""How often a message is sent where no acknowledgement can come back any more."""


class ReliableChannel:
    """Carries the messages of one direction exactly once and in order over two lossy wires.

    The sender keeps every unacknowledged message and sends it again after a timeout that doubles, and that counts
    from when the packet has left: what waits in the sender's own queue is not sent twice. The receiver acknowledges
    each segment by its sequence number, also the ones it already has, and hands on what is in order. It gives up
    where the link is down for good, and where somebody may be keeping packets from getting through for ever
    (`cut_by`, a name): then you get a `SimulationError` after `MOST_ATTEMPTS`.
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
        self._may_go = forward.may_go or backward.may_go
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
        if self._cut_by and count >= MOST_ATTEMPTS:
            raise SimulationError(
                f"link {self._forward.source} → {self._forward.target}: packet {sequence} was sent {count:,} "
                f"times and never acknowledged; meddler {self._cut_by} drops or alters what passes there. A "
                "reliable link outlives a meddler that ends, or whose probability is lower"
            )
        message = self._unacknowledged[sequence]
        self._forward.send(Segment(sequence, count, message))
        if self._may_go and (self._forward.gone or (self._backward.gone and count >= UNHEARD)):
            return  # it would send for ever, and no deadlock would be seen
        wait = self._timeout(message) * 2 ** min(count, MAX_BACKOFF)
        due = self._forward.idle_at() + wait
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
