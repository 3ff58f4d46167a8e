"""Links: the wire (delay, loss, bandwidth, taps) and, above it, what makes it reliable.

A `Wire` is one direction of a link. It serializes packets first in first out (`free = max(now, free) +
bytes/rate`), then each travels for a drawn delay, unless it is lost. By default packets of one wire do not
overtake each other. `ReliableChannel` adds acknowledgements, retransmission with exponential back-off, and
in-order delivery exactly once; every attempt and every acknowledgement is on the air, where taps see it.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappush
from typing import Any, Protocol

from netsim.clock import DELIVERY, Timer, VirtualEnvironment
from netsim.errors import ScenarioError
from netsim.messages import Message, Packet, Segment

# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────


def _at_least_zero(field: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ScenarioError(field, value, "must be finite and at least 0", ">= 0")


class DelayLaw(Protocol):
    """How long a packet travels, in seconds."""

    def draw(self, rng: random.Random) -> float: ...

    def mean(self) -> float: ...


@dataclass(frozen=True)
class ConstantDelay:
    """Always `seconds`."""

    seconds: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("seconds", self.seconds)

    def draw(self, rng: random.Random) -> float:  # noqa: ARG002
        return self.seconds

    def mean(self) -> float:
        return self.seconds


@dataclass(frozen=True)
class UniformDelay:
    """Uniform between `low` and `high` seconds."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _at_least_zero("low", self.low)
        if not self.low <= self.high < math.inf:
            raise ScenarioError("high", self.high, "below `low`, or not finite", f">= {self.low}")

    def draw(self, rng: random.Random) -> float:
        return self.low + (self.high - self.low) * rng.random()

    def mean(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class LognormalDelay:
    """exp(N(ln median, sigma²)) seconds: a median and a heavy right tail."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        if not 0 < self.median < math.inf:
            raise ScenarioError("median", self.median, "must be positive and finite", "> 0")
        _at_least_zero("sigma", self.sigma)

    def draw(self, rng: random.Random) -> float:
        return self.median * math.exp(self.sigma * rng.gauss(0.0, 1.0))

    def mean(self) -> float:
        return self.median * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True)
class LinkLaw:
    """Everything a link is: delay law, loss probability per packet, bytes per second, and its transport.

    `bandwidth` None is unlimited. `reliable` links retransmit after `timeout` seconds (None: four mean delays
    and four times the time to serialize a packet, at least 1 ms), doubling at every attempt up to `timeout`·2^6.
    `reordering` lets packets of one wire overtake each other; a reliable link still delivers in order.
    """

    delay: DelayLaw = ConstantDelay()
    loss: float = 0.0
    bandwidth: float | None = None
    reliable: bool = False
    timeout: float | None = None
    reordering: bool = False

    @property
    def random(self) -> bool:
        """Whether a wire of this law draws random numbers."""
        return self.loss > 0 or not isinstance(self.delay, ConstantDelay)

    def __post_init__(self) -> None:
        if not 0 <= self.loss < 1:
            raise ScenarioError("loss", self.loss, "a loss probability", "0 <= loss < 1")
        if self.bandwidth is not None and not 0 < self.bandwidth < math.inf:
            raise ScenarioError("bandwidth", self.bandwidth, "bytes per second", "> 0, or leave it out")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ScenarioError("timeout", self.timeout, "seconds before a retransmission", "> 0")


# ── the wire ────────────────────────────────────────────────────────────────────────────────────────────

Heard = tuple[float, int, int, Packet]
"""What a tap hears: when the packet went on the air (seconds), from whom, for whom, and the packet."""


class Channel(Protocol):
    """What carries messages from one agent to one neighbor: a bare wire, or a reliable channel above two."""

    def send(self, message: Message, /) -> None: ...


class Tally:
    """Packets and bytes that arrived somewhere."""

    __slots__ = ("received", "received_bytes")

    def __init__(self) -> None:
        self.received: int = 0
        self.received_bytes: int = 0


class Broadcasts:
    """Packets and bytes that each of an agent's wires sent because the agent told all its neighbors at once."""

    __slots__ = ("sent", "sent_bytes")

    def __init__(self) -> None:
        self.sent: int = 0
        self.sent_bytes: int = 0


class Wire(Tally):
    """One direction of a link, from `source` to `target`; counts what it carried.

    A packet's end is `arrive`, which counts it and hands it to `deliver`; where nothing lies between wire and
    inbox, the network puts the inbox's own entrance there.
    Conservation: `sent_bytes = delivered_bytes + lost_bytes + in_flight_bytes` at every moment.
    """

    __slots__ = (
        "_delay", "_environment", "_fifo", "_free_at", "_last_arrival", "_loss", "_rate", "_rng", "_sent",
        "_sent_bytes", "arrive", "broadcasts", "constant", "deliver", "lost", "lost_bytes", "plain", "source", "taps",
        "target",
    )  # fmt: skip

    def __init__(
        self, environment: VirtualEnvironment, source: int, target: int, law: LinkLaw, rng: random.Random
    ) -> None:
        super().__init__()
        self.source, self.target = source, target
        self.taps: list[Callable[[Heard], object]] = []
        self.broadcasts: list[Broadcasts] = []
        self._sent = self.lost = 0
        self._sent_bytes = self.lost_bytes = 0
        self.deliver: Callable[[Any], None] = _nowhere
        self.arrive: Callable[[Any], None] = self._arrive
        self.constant = law.delay.seconds if isinstance(law.delay, ConstantDelay) else None
        self.plain = self.constant is not None and not law.loss and law.bandwidth is None
        self._environment, self._rng = environment, rng
        self._delay, self._loss, self._rate = law.delay, law.loss, law.bandwidth
        self._fifo = not law.reordering and self.constant is None
        self._free_at = self._last_arrival = 0.0

    def send(self, packet: Packet) -> None:
        """Put a packet on the air; it arrives, or is lost, later."""
        environment = self._environment
        start = environment.now
        size = packet.size
        self._sent += 1
        self._sent_bytes += size
        done = start
        if self._rate is not None:
            start = max(start, self._free_at)
            self._free_at = done = start + size / self._rate
        for tap in self.taps:
            tap((start, self.source, self.target, packet))
        if self._loss and self._rng.random() < self._loss:
            self.lost += 1
            self.lost_bytes += size
            return
        arrival = done + (self._delay.draw(self._rng) if self.constant is None else self.constant)
        if self._fifo:
            arrival = self._last_arrival = max(arrival, self._last_arrival)
        environment.call_at(arrival, self.arrive, packet)

    def _arrive(self, packet: Packet) -> None:
        self.received += 1
        self.received_bytes += packet.size
        self.deliver(packet)

    @property
    def sent(self) -> int:
        """Packets put on the air, alone or in a broadcast."""
        return self._sent + sum(told.sent for told in self.broadcasts)

    @property
    def sent_bytes(self) -> int:
        """Their bytes."""
        return self._sent_bytes + sum(told.sent_bytes for told in self.broadcasts)

    @property
    def in_flight_bytes(self) -> int:
        """Bytes on the way: sent, not yet arrived, not lost."""
        return self.sent_bytes - self.received_bytes - self.lost_bytes


def _nowhere(packet: Packet) -> None:
    raise AssertionError(f"{packet!r} arrived at a wire that nobody connected")


def fan_out(environment: VirtualEnvironment, channels: Sequence[Channel]) -> Callable[[Message], None]:
    """How a message goes to all of one agent's channels, in their order.

    Where every channel is a plain wire (constant delay, no loss, no queue) `at_once` is `Wire.send` of them all,
    what they have in common done once: broadcasting is the innermost loop of a synchronous run. The wires are
    taken as they are now, so connect and tap them first.
    """
    wires = [channel for channel in channels if isinstance(channel, Wire)]
    delays = [wire.constant for wire in wires if wire.plain and wire.constant is not None]
    if len(delays) < len(channels):
        sends = [channel.send for channel in channels]

        def one_by_one(message: Message) -> None:
            for send in sends:
                send(message)

        return one_by_one

    queue, numbers = environment.heap()
    arrivals = [wire.arrive for wire in wires]
    taps = [(tap, wire.source, wire.target) for wire in wires for tap in wire.taps]
    told = Broadcasts()
    for wire in wires:
        wire.broadcasts.append(told)

    def at_once(message: Message) -> None:
        now = environment.now
        told.sent += 1
        told.sent_bytes += message.size
        for tap, source, target in taps:
            tap((now, source, target, message))
        for delay, arrive, number in zip(delays, arrivals, numbers, strict=False):  # the numbers never end
            heappush(queue, (now + delay, DELIVERY, number, arrive, message))

    return at_once


# ── the transports ──────────────────────────────────────────────────────────────────────────────────────

MAX_BACKOFF = 6


class ReliableChannel:
    """Carries the messages of one direction exactly once and in order over two lossy wires.

    The sender keeps every unacknowledged message and sends it again after a timeout that doubles; the
    receiver acknowledges each segment by its sequence number, also the ones it already has, and hands on
    what is in order.
    """

    def __init__(
        self,
        environment: VirtualEnvironment,
        forward: Wire,
        backward: Wire,
        law: LinkLaw,
        deliver: Callable[[Message], None],
    ) -> None:
        self._environment, self._forward, self._backward = environment, forward, backward
        self._law, self._deliver = law, deliver
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
        message = self._unacknowledged[sequence]
        self._forward.send(Segment(sequence, count, message))
        wait = self._timeout(message) * 2 ** min(count, MAX_BACKOFF)
        due = self._environment.now + wait
        self._timers[sequence] = self._environment.timer(due, self._attempt, (sequence, count + 1))

    def _timeout(self, message: Message) -> float:
        if self._law.timeout is not None:
            return self._law.timeout
        serialization = message.size / self._law.bandwidth if self._law.bandwidth else 0.0
        return max(1e-3, 4 * self._law.delay.mean() + 4 * serialization)

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
