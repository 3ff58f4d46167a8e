"""Reliable radio: a broadcast goes on the air once, and again, alone, for each neighbor that does not acknowledge it.

Acknowledgements are frames of their own, for the transmitter alone, as in IEEE 802.11; other than there, a broadcast
is acknowledged too. An agent numbers its messages, whoever they are for; each neighbor gets those for it exactly
once and in order.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from netsim.clock import VirtualEnvironment
from netsim.links import LinkLaw
from netsim.messages import Message, Segment
from netsim.reliable import MAX_BACKOFF, UNHEARD, ReliableChannel
from netsim.transmitters import Reception
from netsim.wires import Wire


class Acknowledged(ReliableChannel):
    """What a transmitter and one of its neighbors do about it.

    A timeout counts from when the frame is off the air: a transmitter knows that, and waits its turn first. Every
    frame for a neighbor says which number came before it there, so it knows the order (in the header's bytes).
    """

    def __init__(
        self,
        environment: VirtualEnvironment,
        forward: Reception,
        backward: Wire,
        law: LinkLaw,
        deliver: Callable[[Message], None],
    ) -> None:
        super().__init__(environment, forward, backward, law, deliver)
        self.transmitter, self._reception = forward.transmitter, forward
        self._ahead: deque[int] = deque()

    def send(self, message: Message) -> None:
        """Take responsibility for a message to this neighbor alone."""
        sequence = next(self.transmitter.numbers)
        self.expect(sequence, message)
        self._attempt((sequence, 0))

    def expect(self, sequence: int, message: Message) -> None:
        """Message `sequence` is for this neighbor, alone or not."""
        self._unacknowledged[sequence] = message
        self._ahead.append(sequence)

    def wait(self, attempt: tuple[int, int], since: float) -> None:
        """Unless it is acknowledged, try again some time after this attempt was over."""
        sequence, count = attempt
        message = self._unacknowledged.get(sequence)
        if message is None:  # an earlier attempt was acknowledged while this one waited for its turn
            return
        if self._forward.gone or (self._backward.gone and count >= UNHEARD):
            return  # it would transmit for ever, and no deadlock would be seen
        due = since + self._timeout(message) * 2 ** min(count, MAX_BACKOFF)
        self._timers[sequence] = self._environment.timer(due, self._attempt, (sequence, count + 1))

    def _attempt(self, attempt: tuple[int, int]) -> None:
        sequence, count = attempt
        segment = Segment(sequence, count, self._unacknowledged[sequence])
        self.transmitter.transmit(segment, self._reception, partial(self.wait, attempt))

    def on_data(self, segment: Segment) -> None:
        """A segment reached the neighbor: acknowledge it, hand on what is in order."""
        self._backward.send(Segment(segment.sequence, segment.attempt, None))
        ahead, early = self._ahead, self._early
        if not ahead or segment.sequence < ahead[0] or segment.sequence in early:
            return
        assert segment.message is not None
        early[segment.sequence] = segment.message
        while ahead and (message := early.pop(ahead[0], None)) is not None:
            ahead.popleft()
            self._deliver(message)


def broadcaster(channels: Sequence[Acknowledged]) -> Callable[[Message], None]:
    """How a message goes to all neighbors of one transmitter, whose channels these are."""
    transmitter = channels[0].transmitter

    def broadcast(message: Message) -> None:
        sequence = next(transmitter.numbers)
        for channel in channels:
            channel.expect(sequence, message)

        def left(done: float) -> None:
            for channel in channels:
                channel.wait((sequence, 0), done)

        transmitter.transmit(Segment(sequence, 0, message), None, left)

    return broadcast
