"""Wires: one direction of a link, from the sender's queue to the receiver's end, with the taps on it."""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from netsim.clock import VirtualEnvironment
from netsim.network.inbox import Inbox, Way
from netsim.network.laws import ConstantDelay, Switch
from netsim.network.links import LinkLaw
from netsim.transcript.message import Capture, Ciphertext, Fan, Message, Packet, Tagged

Listener = Callable[[Capture], object]
FanListeners = Mapping[Listener, Callable[[Fan], object]]
"""For a tap on single links, what to call once with a broadcast that it would capture on several."""


class Channel(Protocol):
    """What carries messages from one agent to one neighbor: a bare wire, or a reliable channel above two."""

    def send(self, message: Message, /) -> None: ...


class _PacketObserver(Protocol):
    """Whoever follows packets over the wires of a run: the owner's packet log."""

    def passed(
        self, edge: tuple[int, int], packet: Packet | Tagged, start: float, end: float | None, *, copy: bool = False
    ) -> object: ...

    def dropped(self, edge: tuple[int, int], packet: Packet | Tagged, now: float) -> None: ...

    def held(self, wire: "Wire", packet: Packet | Tagged, start: float, *, copy: bool) -> None: ...

    def handed(self, wire: "Wire", packet: Packet | Tagged, at: float, now: float) -> None: ...


class Air:
    """What a whole network has put on the air so far: packets and their bytes, acknowledgements and repeats too.

    Its wires share one, so that what was sent can be read at any moment without a look at each of them. On links a
    packet counts as `Wire.sent` does, when it is handed to its wire; on radio when its transmission begins, once.
    """

    __slots__ = ("bytes", "packets")

    def __init__(self) -> None:
        self.packets = self.bytes = 0


class Pipe:
    """Serializes packets first in first out at `rate` bytes per second: `free_at` is when it is done, in seconds.

    A wire has one of its own; an agent's uplink and downlink are pipes that its wires share.
    """

    __slots__ = ("free_at", "rate")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.free_at = 0.0

    def push(self, now: float, size: int) -> tuple[float, float]:
        """When a packet that comes now begins to pass, and when it is through."""
        begun = max(now, self.free_at)
        self.free_at = begun + size / self.rate
        return begun, self.free_at


class Counts(NamedTuple):
    """What became of the packets of a wire, or of their bytes: sent + duplicated is the sum of the others."""

    sent: int
    """Handed to the wire, alone or in a broadcast."""
    duplicated: int
    received: int
    """Those that have arrived."""
    lost: int
    dropped: int
    in_flight: int
    """On the way, or waiting for it."""


class Wire(ABC):
    """One direction of a link, from `source` to `target`; counts what it carried: a `PlainWire`, or a `LossyWire`.

    A packet's end is `arrive`, which counts it and hands it to `deliver`; where nothing lies between wire and
    inbox, messages of exchanges go to the inbox as they are sent, with when they arrive (`foreseen_by`).
    """

    __slots__ = (
        "_entered", "_entered_bytes", "_environment", "_sent", "_sent_bytes", "air", "broadcasts", "deliver",
        "foreseen_by", "source", "taps", "target",
    )  # fmt: skip

    lost: int = 0
    lost_bytes: int = 0
    dropped: int = 0
    dropped_bytes: int = 0
    duplicated: int = 0
    duplicated_bytes: int = 0
    foreseen: int = 0
    foreseen_bytes: int = 0
    switch: Switch | None = None
    """When the link is down; None: never."""
    rejected: int = 0
    """Of those that arrived, how many the receiver rejected as altered or repeated (`netsim.network.network`)."""

    def __init__(self, environment: VirtualEnvironment, source: int, target: int, air: Air | None = None) -> None:
        self.air = Air() if air is None else air
        self._environment, self.source, self.target = environment, source, target
        self.taps: tuple[Callable[[Capture], object], ...] = ()
        self.broadcasts: tuple[_Broadcast, ...] = ()
        self._sent = self._sent_bytes = self._entered = self._entered_bytes = 0
        self.foreseen_by: Inbox | None = None  # the network sets it where nothing lies between wire and inbox
        self.deliver: Callable[[Any], None]  # the network sets it

    @abstractmethod
    def send(self, packet: Packet) -> None:
        """Put a packet on the air; it arrives, is dropped, or is lost."""

    def idle_at(self) -> float:
        """When all that it was given has left the sender, in seconds."""
        return self._environment.now

    @property
    def gone(self) -> bool:
        """Whether the last packet found the link down for good."""
        return self.switch is not None and self.switch.gone

    def tap(self, receiver: Listener) -> None:
        """Call `receiver` with every packet that goes on the air."""
        self.taps = (*self.taps, receiver)

    def arrive(self, packet: Packet | Tagged) -> None:
        """A packet has come to the far end."""
        self._entered += 1
        self._entered_bytes += packet.size
        self.deliver(packet)

    @property
    def packets(self) -> Counts:
        """How many packets there were and what became of them."""
        sent, foreseen, coming = self._sent, self.foreseen, len(self._coming())
        for count in self.broadcasts:
            sent, foreseen = sent + count.sent, foreseen + count.foreseen
        received = self._entered + foreseen - coming
        left = sent + self.duplicated - received - self.lost - self.dropped
        return Counts(sent, self.duplicated, received, self.lost, self.dropped, left)

    @property
    def bytes(self) -> Counts:
        """The same in bytes."""
        sent, foreseen, coming = self._sent_bytes, self.foreseen_bytes, sum([one.size for one in self._coming()])
        for count in self.broadcasts:
            sent, foreseen = sent + count.sent_bytes, foreseen + count.foreseen_bytes
        received = self._entered_bytes + foreseen - coming
        left = sent + self.duplicated_bytes - received - self.lost_bytes - self.dropped_bytes
        return Counts(sent, self.duplicated_bytes, received, self.lost_bytes, self.dropped_bytes, left)

    def _coming(self) -> list[Message]:
        """What the inbox knows of and has not arrived."""
        return [] if self.foreseen_by is None else self.foreseen_by.coming(self.source)


class PlainWire(Wire):
    """A wire on which every packet arrives, once and `seconds` after it was sent. Large networks have many."""

    __slots__ = ("seconds",)

    def __init__(
        self, environment: VirtualEnvironment, source: int, target: int, seconds: float, air: Air | None = None
    ) -> None:
        super().__init__(environment, source, target, air)
        self.seconds = seconds

    def send(self, packet: Packet) -> None:
        now, air = self._environment.now, self.air
        self._sent += 1
        self._sent_bytes += packet.size
        air.packets += 1
        air.bytes += packet.size
        for tap in self.taps:
            tap((now, self.source, self.target, packet))
        self._environment.call_at(now + self.seconds, self.arrive, packet)


class LossyWire(Wire):
    """A wire of any law.

    A packet that finds no room in the buffer is dropped before it goes on the air; taps capture one
    on the air, also if it is lost on its way, unless the link is down. What is left of it at the far end goes to
    `middle`, where active adversaries sit, if there is one; they hand it, or what they make of it, `onward` to the
    receiver. A `packet_log` records what becomes of each.
    """

    __slots__ = (
        "_buffer",
        "_constant",
        "_delay",
        "_downlink",
        "_duplication",
        "_encrypted",
        "_fifo",
        "_last_arrival",
        "_lost",
        "_pipe",
        "_rng",
        "_tagged",
        "_uplink",
        "dropped",
        "dropped_bytes",
        "duplicated",
        "duplicated_bytes",
        "foreseen",
        "foreseen_bytes",
        "lost",
        "lost_bytes",
        "middle",
        "packet_log",
        "rejected",
        "switch",
    )  # fmt: skip

    def __init__(
        self,
        environment: VirtualEnvironment,
        source: int,
        target: int,
        law: LinkLaw,
        rng: random.Random,
        *,
        switch: Switch | None = None,
        uplink: Pipe | None = None,
        downlink: Pipe | None = None,
        air: Air | None = None,
    ) -> None:
        super().__init__(environment, source, target, air)
        self.lost = self.dropped = self.duplicated = self.rejected = 0
        self.lost_bytes = self.dropped_bytes = self.duplicated_bytes = 0
        self.foreseen = self.foreseen_bytes = 0
        self._constant = law.delay.seconds if isinstance(law.delay, ConstantDelay) else None
        self._rng = rng
        self._delay, self._duplication = law.delay, law.duplication
        self._encrypted, self._tagged = law.encrypted, law.tagged
        self.middle: Callable[[Packet | Tagged], None] | None = None
        self.packet_log: _PacketObserver | None = None
        losses = law.losses
        self._lost = None if losses is None else losses.process(rng)
        self._pipe = None if law.bandwidth is None else Pipe(law.bandwidth)
        self._buffer = law.buffer
        self.switch, self._uplink, self._downlink = switch, uplink, downlink
        self._fifo = not law.reordering and (self._constant is None or law.duplication > 0)
        self._last_arrival = 0.0

    def send(self, packet: Packet | Tagged) -> None:
        if self._tagged:
            assert not isinstance(packet, Tagged)
            packet = Tagged(packet, self._sent)
        now, size = self._environment.now, packet.size
        self._sent += 1
        self._sent_bytes += size
        self.air.packets += 1
        self.air.bytes += size
        if self._uplink is not None:
            _, now = self._uplink.push(now, size)
        start = done = now
        if self._pipe is not None:
            backlog = max(0.0, self._pipe.free_at - now) * self._pipe.rate  # bytes that are not through yet
            if self._buffer is not None and backlog > max(0.0, self._buffer - size):
                self.dropped += 1
                self.dropped_bytes += size
                if self.packet_log is not None:
                    self.packet_log.dropped((self.source, self.target), packet, now)
                return
            start, done = self._pipe.push(now, size)
        down_at = math.inf if self.switch is None else self.switch.down_from(start)
        if down_at > start:
            captured = Ciphertext(size) if self._encrypted else packet
            for tap in self.taps:
                tap((start, self.source, self.target, captured))
        self._carry(packet, start, done, down_at)

    def _carry(self, packet: Packet | Tagged, start: float, done: float, down_at: float) -> None:
        """What becomes of a packet that goes on the air at `start` and is off it at `done`."""
        if self._lost is not None and self._lost(start):
            self._lose(packet, start)
            return
        self._travel(packet, start, done, down_at)
        if self._duplication and self._rng.random() < self._duplication:
            self.duplicated += 1
            self.duplicated_bytes += packet.size
            self._travel(packet, start, done, down_at, copy=True)

    def _travel(
        self, packet: Packet | Tagged, start: float, done: float, down_at: float, *, copy: bool = False
    ) -> None:
        arrival = done + (self._delay.draw(self._rng) if self._constant is None else self._constant)
        if self._fifo:
            arrival = self._last_arrival = max(arrival, self._last_arrival)
        if arrival >= down_at:
            self._lose(packet, start, copy=copy)
            return
        end = self.middle or (self.arrive if self._downlink is None else self._come_down)
        if self.packet_log is not None:
            if self.middle is None and self._downlink is None:
                self.packet_log.passed((self.source, self.target), packet, start, arrival, copy=copy)
            else:  # something at the far end may hold it back
                self.packet_log.held(self, packet, start, copy=copy)
        if self.foreseen_by is not None and isinstance(packet, Message) and packet.kind == "exchange":
            self.foreseen += 1
            self.foreseen_bytes += packet.size
            self.foreseen_by.expect(packet, arrival, next(self._environment.numbers))
        else:
            self._environment.call_at(arrival, end, packet)

    def _lose(self, packet: Packet | Tagged, start: float, *, copy: bool = False) -> None:
        self.lost += 1
        self.lost_bytes += packet.size
        if self.packet_log is not None:
            self.packet_log.passed((self.source, self.target), packet, start, None, copy=copy)

    def idle_at(self) -> float:
        idle = self._environment.now
        for pipe in (self._uplink, self._pipe):
            if pipe is not None and pipe.free_at > idle:
                idle = pipe.free_at
        return idle

    def onward(self, packet: Packet | Tagged) -> None:
        """The rest of a packet's way, from `middle` to the receiver; now."""
        if self.packet_log is not None and self._downlink is None:
            now = self._environment.now
            self.packet_log.handed(self, packet, now, now)
        (self.arrive if self._downlink is None else self._come_down)(packet)

    def _come_down(self, packet: Packet | Tagged) -> None:
        assert self._downlink is not None
        _, done = self._downlink.push(self._environment.now, packet.size)
        if self.packet_log is not None:
            self.packet_log.handed(self, packet, done, self._environment.now)
        self._environment.call_at(done, self.arrive, packet)


class _Broadcast:
    """`PlainWire.send` of all wires of one agent.

    What they have in common is done once: broadcasting is the innermost loop of a synchronous run. `sent` and
    `sent_bytes` are what each of the wires sent in this way, `foreseen` and its bytes what of it their inboxes knew
    at once. The wires are taken as they are now, so connect and tap them first; they share their `Air`.
    """

    __slots__ = (
        "_air", "_environment", "_numbers", "_taps", "_ways", "_wires", "foreseen", "foreseen_bytes", "sent",
        "sent_bytes",
    )  # fmt: skip

    def __init__(self, environment: VirtualEnvironment, wires: Sequence[PlainWire], fans: FanListeners) -> None:
        self._environment = environment
        self._numbers = environment.numbers
        self._wires = wires
        foreseen = all(wire.foreseen_by is not None for wire in wires)
        self._ways = cast(Sequence[Way], wires) if foreseen else None
        """Where messages of exchanges go; None where some go the way of direct ones."""
        taps: list[tuple[Callable[[Any], object], int, Any]] = []
        together: dict[Listener, list[int]] = {}
        for wire in wires:
            for tap in wire.taps:
                if tap in fans:
                    together.setdefault(tap, []).append(wire.target)
                else:
                    taps.append((tap, wire.source, wire.target))
        taps += [(fans[tap], wires[0].source, tuple(targets)) for tap, targets in together.items()]
        self._taps = tuple(taps)
        """Receiver, source, and one target, or all targets at once of a receiver that takes a broadcast as one."""
        self._air = wires[0].air if wires else Air()
        self.sent = self.sent_bytes = self.foreseen = self.foreseen_bytes = 0
        all_of_them = (*wires[0].broadcasts, self) if wires else ()
        for wire in wires:
            wire.broadcasts = all_of_them

    def send(self, message: Message) -> None:
        """Put a message on the air of every wire."""
        environment, air, copies, size = self._environment, self._air, len(self._wires), message.size
        now = environment.now
        self.sent += 1
        self.sent_bytes += size
        air.packets += copies
        air.bytes += copies * size
        for tap, source, target in self._taps:
            tap((now, source, target, message))
        if self._ways is not None and message.kind == "exchange":
            self.foreseen += 1
            self.foreseen_bytes += size
            Inbox.expect_all(message, now, self._ways, self._numbers)
        else:
            for wire in self._wires:
                environment.call_at(now + wire.seconds, wire.arrive, message)


def fan_out(
    environment: VirtualEnvironment, channels: Sequence[Channel], fans: FanListeners
) -> Callable[[Message], None]:
    """How a message goes to all of one agent's channels, in their order: a `_Broadcast`, where they allow it."""
    if all(isinstance(channel, PlainWire) for channel in channels):
        return _Broadcast(environment, cast(Sequence[PlainWire], channels), fans).send
    sends = [channel.send for channel in channels]

    def one_by_one(message: Message) -> None:
        for send in sends:
            send(message)

    return one_by_one
