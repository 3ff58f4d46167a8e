"""What an agent transmits with: one frame at a time, heard by all in range; and what each neighbor makes of it."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from math import inf
from typing import NamedTuple

from netsim.clock import VirtualEnvironment
from netsim.links import LinkLaw
from netsim.messages import Ciphertext, Heard, Packet, Segment, Tagged
from netsim.outages import Switch
from netsim.transcript import EVERYBODY
from netsim.wires import Air, RoughWire


class Reception(RoughWire):
    """How one neighbor hears a transmitter: its own losses, delays, copies and outages.

    It keeps the counts and the conservation law of a wire; a frame counts as sent to each agent that it is for.
    `send` transmits a frame for this neighbor alone.
    """

    __slots__ = ("transmitter",)

    _sent: int
    _sent_bytes: int

    def __init__(
        self,
        transmitter: "Transmitter",
        environment: VirtualEnvironment,
        target: int,
        law: LinkLaw,
        rng: random.Random,
        switch: Switch | None,
    ) -> None:
        super().__init__(environment, transmitter.agent, target, law, rng, switch=switch)
        self.transmitter = transmitter

    def send(self, packet: Packet | Tagged) -> None:
        assert not isinstance(packet, Tagged)  # the transmitter tags
        self.transmitter.transmit(packet, self)

    def expect(self, size: int) -> None:
        """A frame for this neighbor was handed to the transmitter."""
        self._sent += 1
        self._sent_bytes += size

    def miss(self, size: int) -> None:
        """It was dropped there."""
        self.dropped += 1
        self.dropped_bytes += size

    def hear(self, packet: Packet | Tagged, start: float, done: float) -> None:
        """It is on the air from `start` to `done`, in seconds."""
        self._carry(packet, start, done, inf if self._switch is None else self._down_at(self._switch, start))


class Frame(NamedTuple):
    """A packet on its way to the air. `left` is called once, with when it is off the air, or was dropped.

    Acknowledgements are `urgent`: they go before all that waits, as in IEEE 802.11 (SIFS < DIFS).
    """

    packet: Packet | Tagged
    urgent: bool
    receptions: Sequence[Reception]
    receiver: int
    since: float
    left: Callable[[float], None] | None


class Transmitter:
    """One agent's transmitter: serializes frames at its bandwidth, and takes turns with those it must `yield_to`.

    A frame that finds no room in the buffer is dropped before it is on the air; one whose turn comes while the agent
    is down (`off`) is lost, and not heard. `transmissions` and
    `transmitted_bytes` count what was on the air, once each, whoever heard it; every ear hears it then, whatever
    the neighbors lose.
    """

    def __init__(self, environment: VirtualEnvironment, agent: int, law: LinkLaw, off: Switch | None = None) -> None:
        self.agent, self.receptions = agent, list[Reception]()
        self.numbers = count()
        """Sequence numbers of the messages that neighbors acknowledge."""
        self.transmissions = self.transmitted_bytes = 0
        self.air = Air()
        self._environment: VirtualEnvironment = environment
        self._rate, self._buffer, self._encrypted = law.bandwidth, law.buffer, law.encrypted
        self._tags = count() if law.tagged else None
        self._off = off
        self._ears: list[Callable[[Heard], object]] = []
        self._near: tuple[Transmitter, ...] = ()
        self._urgent = deque[Frame]()
        self._waiting = deque[Frame]()
        self._waiting_bytes = 0
        self._on_air = False
        self._done = 0.0
        self._heard_busy = 0  # transmitters nearby that are on the air

    def tap(self, ear: Callable[[Heard], object]) -> None:
        """Call `ear` with every frame that goes on the air."""
        self._ears.append(ear)

    def yield_to(self, near: Sequence["Transmitter"]) -> None:
        """Never be on the air at the same time as these, who yield to this one in turn."""
        self._near = tuple(near)

    def transmit(
        self, packet: Packet, to: Reception | None = None, left: Callable[[float], None] | None = None
    ) -> None:
        """Put a frame on the air when it is its turn: for one neighbor, or for all."""
        receptions, receiver = (self.receptions, EVERYBODY) if to is None else ((to,), to.target)
        urgent = isinstance(packet, Segment) and packet.message is None
        sealed = packet if self._tags is None else Tagged(packet, next(self._tags))
        frame = Frame(sealed, urgent, receptions, receiver, self._environment.now, left)
        for reception in receptions:
            reception.expect(sealed.size)
        if self._rate is None:
            self._begin(frame, frame.since)
        elif self._is_full(sealed.size):
            self._drop(frame)
        else:
            (self._urgent if urgent else self._waiting).append(frame)
            self._waiting_bytes += sealed.size
            if self._may_begin():
                self._next()

    def speak_to_nobody(self, environment: VirtualEnvironment) -> None:
        """Put what waits on the air of an environment in which no agent lives: only ears hear it."""
        self._environment = environment
        self._urgent = deque(frame._replace(receptions=(), left=None) for frame in self._urgent)
        self._waiting = deque(frame._replace(receptions=(), left=None) for frame in self._waiting)
        if self._on_air:  # who waits and may begin has begun: all that waits comes after somebody's end
            environment.call_at(self._done, self._end, None)

    def _is_full(self, size: int) -> bool:
        assert self._rate is not None
        rest = max(0.0, self._done - self._environment.now) * self._rate if self._on_air else 0.0
        waiting = self._waiting_bytes + rest
        return self._buffer is not None and waiting > 0 and waiting + size > self._buffer

    def _drop(self, frame: Frame) -> None:
        for reception in frame.receptions:
            reception.miss(frame.packet.size)
        if frame.left is not None:
            frame.left(self._environment.now)

    # ── turns ───────────────────────────────────────────────────────────────────────────────────────
    def _may_begin(self) -> bool:
        return not self._on_air and not self._heard_busy and bool(self._urgent or self._waiting)

    def _turn(self) -> tuple[bool, float, int]:
        """Who comes first: acknowledgements, then the one that has waited longest, then the lower number."""
        frame = (self._urgent or self._waiting)[0]
        return not frame.urgent, frame.since, self.agent

    def _next(self) -> None:
        """Begin with what comes first; what is lost because the agent is down takes no time."""
        frame = self._taken()
        while self._is_off():
            self._begin(frame, self._environment.now)
            if not self._may_begin():
                return
            frame = self._taken()
        assert self._rate is not None
        self._on_air, self._done = True, self._environment.now + frame.packet.size / self._rate
        for other in self._near:
            other._heard_busy += 1
        self._begin(frame, self._done)
        self._environment.call_at(self._done, self._end, None)

    def _taken(self) -> Frame:
        frame = (self._urgent or self._waiting).popleft()
        self._waiting_bytes -= frame.packet.size
        return frame

    def _end(self, _: None) -> None:
        self._on_air = False
        for other in self._near:
            other._heard_busy -= 1
        ready = [transmitter for transmitter in (self, *self._near) if transmitter._may_begin()]
        for transmitter in sorted(ready, key=Transmitter._turn):
            if transmitter._may_begin():  # nobody before it took the air
                transmitter._next()

    def _is_off(self) -> bool:
        return self._off is not None and self._off.is_down(self._environment.now)

    def _begin(self, frame: Frame, done: float) -> None:
        start, packet = self._environment.now, frame.packet
        if not self._is_off():
            self.transmissions += 1
            self.transmitted_bytes += packet.size
            self.air.packets += 1
            self.air.bytes += packet.size
            heard = Ciphertext(packet.size) if self._encrypted else packet
            for ear in self._ears:
                ear((start, self.agent, frame.receiver, heard))
        for reception in frame.receptions:
            reception.hear(packet, start, done)
        if frame.left is not None:
            frame.left(done)
