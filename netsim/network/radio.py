"""Radio beside links: one transmission, serialized once, reaches all neighbors and every tap in range.

A transmitter sends one frame at a time. On reliable radio a broadcast goes on the air once and again, alone, for each
neighbor that does not acknowledge it.
"""

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from netsim.adversary import Edge, Tap, Within
from netsim.clock import VirtualEnvironment
from netsim.errors import ScenarioError
from netsim.network.laws import Outages, Switch
from netsim.network.links import AccessLaw, ExchangePolicy, LinkLaw
from netsim.network.network import (
    MAX_BACKOFF,
    UNACKNOWLEDGED,
    UNUSED,
    Network,
    Observer,
    ReliableChannel,
    downs,
)
from netsim.network.wires import Air, Listener, LossyWire, Wire
from netsim.randomness import Streams
from netsim.topology import Topology
from netsim.transcript.message import EVERYBODY, Ciphertext, Message, Packet, Segment, Tagged


class _Reception(LossyWire):
    """Reception of a transmitter by one neighbor: its own losses, delays, copies and outages.

    It keeps the counts and the conservation law of a wire; a frame counts as sent to each agent that it is for.
    `send` transmits a frame for this neighbor alone.
    """

    __slots__ = ("transmitter",)

    _sent: int
    _sent_bytes: int

    def __init__(
        self,
        transmitter: "_Transmitter",
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

    def receive(self, packet: Packet | Tagged, start: float, done: float) -> None:
        """It is on the air from `start` to `done`, in seconds."""
        self._carry(packet, start, done, inf if self.switch is None else self.switch.down_from(start))


class _Frame(NamedTuple):
    """A packet on its way to the air. `left` is called once, with when it is off the air, or was dropped.

    Acknowledgements are `urgent`: they go before all that waits, as in IEEE 802.11 (SIFS < DIFS).
    """

    packet: Packet | Tagged
    urgent: bool
    receptions: Sequence[_Reception]
    receiver: int
    since: float
    left: Callable[[float], None] | None


class _Transmitter:
    """One agent's transmitter: serializes frames at its bandwidth, and takes turns with those that are `near`.

    A frame that finds no room in the buffer is dropped before it is on the air; one whose turn comes while the agent
    is down (`off`) is lost, and not captured. What was on the air counts once in `air`, whoever received it; every
    tap captures it then, whatever the neighbors lose.
    """

    def __init__(self, environment: VirtualEnvironment, agent: int, law: LinkLaw, off: Switch | None = None) -> None:
        self.agent, self.receptions = agent, list[_Reception]()
        self.numbers = count()
        """Sequence numbers of the messages that neighbors acknowledge."""
        self.air = Air()
        self._environment: VirtualEnvironment = environment
        self._rate, self._buffer, self._encrypted = law.bandwidth, law.buffer, law.encrypted
        self._tags = count() if law.tagged else None
        self._off = off
        self._taps: list[Listener] = []
        self.near: list[_Transmitter] = []
        """Those that are never on the air at the same time, and yield to this one in turn."""
        self._urgent = deque[_Frame]()
        self._waiting = deque[_Frame]()
        self._waiting_bytes = 0
        self._on_air = False
        self._done = 0.0
        self._busy_nearby = 0  # transmitters nearby that are on the air

    def tap(self, receiver: Listener) -> None:
        """Call `receiver` with every frame that goes on the air."""
        self._taps.append(receiver)

    def transmit(
        self, packet: Packet, to: _Reception | None = None, left: Callable[[float], None] | None = None
    ) -> None:
        """Put a frame on the air when it is its turn: for one neighbor, or for all."""
        receptions, receiver = (self.receptions, EVERYBODY) if to is None else ((to,), to.target)
        urgent = isinstance(packet, Segment) and packet.message is None
        sealed = packet if self._tags is None else Tagged(packet, next(self._tags))
        frame = _Frame(sealed, urgent, receptions, receiver, self._environment.now, left)
        for reception in receptions:
            reception.expect(sealed.size)
        if self._rate is None:
            self._begin(frame, frame.since)
            return
        waiting = self._waiting_bytes
        if self._on_air:
            waiting += max(0.0, self._done - frame.since) * self._rate
        if self._buffer is not None and waiting > 0 and waiting + sealed.size > self._buffer:
            for reception in receptions:
                reception.dropped += 1
                reception.dropped_bytes += sealed.size
            if left is not None:
                left(frame.since)
        else:
            (self._urgent if urgent else self._waiting).append(frame)
            self._waiting_bytes += sealed.size
            if self._may_begin():
                self._next()

    def drain(self, environment: VirtualEnvironment) -> None:
        """Put what waits on the air of an environment in which no agent lives: only taps capture it."""
        self._environment = environment
        self._urgent = deque(frame._replace(receptions=(), left=None) for frame in self._urgent)
        self._waiting = deque(frame._replace(receptions=(), left=None) for frame in self._waiting)
        if self._on_air:  # who waits and may begin has begun: all that waits comes after somebody's end
            environment.call_at(self._done, self._end, None)

    # ── turns ───────────────────────────────────────────────────────────────────────────────────────
    def _may_begin(self) -> bool:
        return not self._on_air and not self._busy_nearby and bool(self._urgent or self._waiting)

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
        for other in self.near:
            other._busy_nearby += 1
        self._begin(frame, self._done)
        self._environment.call_at(self._done, self._end, None)

    def _taken(self) -> _Frame:
        frame = (self._urgent or self._waiting).popleft()
        self._waiting_bytes -= frame.packet.size
        return frame

    def _end(self, _: None) -> None:
        self._on_air = False
        for other in self.near:
            other._busy_nearby -= 1
        turns: list[tuple[bool, float, int, _Transmitter]] = []
        for transmitter in (self, *self.near):  # acknowledgements, then who has waited longest, then the lower number
            if transmitter._may_begin():
                frame = (transmitter._urgent or transmitter._waiting)[0]
                turns.append((not frame.urgent, frame.since, transmitter.agent, transmitter))
        for transmitter in [turn[-1] for turn in sorted(turns)]:
            if transmitter._may_begin():  # nobody before it took the air
                transmitter._next()

    def _is_off(self) -> bool:
        return self._off is not None and self._off.is_down(self._environment.now)

    def _begin(self, frame: _Frame, done: float) -> None:
        start, packet = self._environment.now, frame.packet
        if not self._is_off():
            self.air.packets += 1
            self.air.bytes += packet.size
            captured = Ciphertext(packet.size) if self._encrypted else packet
            for tap in self._taps:
                tap((start, self.agent, frame.receiver, captured))
        for reception in frame.receptions:
            reception.receive(packet, start, done)
        if frame.left is not None:
            frame.left(done)


class _Acknowledged(ReliableChannel):
    """What a transmitter and one of its neighbors do about it.

    A timeout counts from when the frame is off the air: a transmitter knows that, and waits its turn first. Every
    frame for a neighbor says which number came before it there, so it knows the order (in the header's bytes).
    """

    def __init__(
        self,
        environment: VirtualEnvironment,
        forward: _Reception,
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
        if self._forward.gone or (self._backward.gone and count >= UNACKNOWLEDGED):
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


_TRANSMITTERS = ("bandwidth", "buffer", "encrypted", "authenticated", "reliable")
"""What in a law is the transmitter's, the same whoever listens."""


@dataclass(frozen=True)
class Radio:
    """The broadcast medium: `NetworkSettings(medium=Radio())`.

    `carrier_sense`: agents at most this many hops apart take turns on the air, in the order in which their frames
    came, acknowledgements first. 0: each has a channel of its own. 1: an agent waits while it receives a neighbor. 2:
    no agent ever receives two at once, so that nothing could collide.
    """

    carrier_sense: Annotated[int, Ge(0), Le(2)] = 0
    """Agents at most so many hops apart take turns on the air; 0: no one waits."""

    def __post_init__(self) -> None:
        if type(self.carrier_sense) is not int or not 0 <= self.carrier_sense <= 2:
            raise ScenarioError("carrier_sense", self.carrier_sense, "a number of hops", "0, 1 or 2")

    def check(
        self,
        links: LinkLaw,
        link_laws: Mapping[Edge, LinkLaw],
        access: Sequence[AccessLaw],
        active_adversaries: Sequence[str] = (),
    ) -> None:
        """You get a `ScenarioError` for laws that no radio follows, and for who sits in the middle of a link."""
        if active_adversaries:
            why = "an active adversary sits in the middle of a link, and radio has none"
            raise ScenarioError(
                "active_adversaries", list(active_adversaries), why, "medium: links, or no active_adversaries"
            )
        if self.carrier_sense and links.bandwidth is None:
            raise ScenarioError(
                "medium.carrier_sense", self.carrier_sense,
                "there are no turns to take: without a bandwidth no frame takes time on the air", "a bandwidth too",
            )  # fmt: skip
        for (i, j), law in link_laws.items():
            for name in _TRANSMITTERS:
                own, common = getattr(law, name), getattr(links, name)
                if own != common:
                    why = (
                        f"({i}, {j}) differs from the default law, but on radio this is the transmitter's own affair"
                    )
                    raise ScenarioError(f"link_laws.{name}", own, why, f"{common}, as in the default law")
        for law in access:
            if law != AccessLaw():
                raise ScenarioError(
                    "access", law, "radio has no access lines", "the links' bandwidth, or medium: links"
                )


class RadioNetwork(Network):
    """The network of agents with radios. `wires` are what each neighbor gets of each transmitter."""

    def __init__(
        self,
        radio: Radio,
        environment: VirtualEnvironment,
        topology: Topology,
        default: LinkLaw,
        streams: Streams,
        laws: Mapping[Edge, LinkLaw] | None = None,
        observers: Mapping[int, Sequence[Observer]] | None = None,
        policy: ExchangePolicy | None = None,
        downtimes: Mapping[int, Outages] | None = None,
    ) -> None:
        off = {i: Switch(downs(i, outages, streams)) for i, outages in (downtimes or {}).items()}
        self.transmitters = [_Transmitter(environment, i, default, off.get(i)) for i in range(topology.agents)]
        for i, transmitter in enumerate(self.transmitters):
            within = {i}
            for _ in range(radio.carrier_sense):
                within |= {j for near in within for j in topology.neighbors(near)}
            transmitter.near = [self.transmitters[j] for j in sorted(within - {i})]
        super().__init__(environment, topology, default, streams, laws, observers, policy=policy, downtimes=downtimes)
        for transmitter in self.transmitters:
            transmitter.air = self.air

    def listen(self, tap: Tap) -> None:
        """Let an adversary tap its transmitters: with a receiver at each, or one for all where it has a place."""
        tapped = sorted(tap.adversary.transmitters(self._topology))
        shared = tap.receiver() if isinstance(tap.adversary.links, Within) else None
        for agent in tapped:
            self.transmitters[agent].tap(shared or tap.receiver())

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        """Sends a message to all neighbors of an agent in one frame."""
        transmitter = self.transmitters[agent]
        found = [self.channels[agent, j] for j in self.inboxes[agent].neighbors]
        channels = [channel for channel in found if isinstance(channel, _Acknowledged)]
        if not channels:
            return transmitter.transmit

        def broadcast(message: Message) -> None:
            sequence = next(transmitter.numbers)
            for channel in channels:
                channel.expect(sequence, message)

            def left(done: float) -> None:
                for channel in channels:
                    channel.wait((sequence, 0), done)

            transmitter.transmit(Segment(sequence, 0, message), None, left)

        return broadcast

    def drain(self) -> None:
        """At the end of a run: let what waits for its turn go on the air, where taps capture it.

        So it is with what waits for a wire. It reaches no agent any more: it stays in flight.
        """
        after = VirtualEnvironment(self._environment.now)
        for transmitter in self.transmitters:
            transmitter.drain(after)
        after.run()

    def on_air(self) -> dict[str, int]:
        """Frames and bytes that were on the air, counted once each, whoever received them."""
        return {"transmissions": self.air.packets, "transmitted_bytes": self.air.bytes}

    def _wire(self, edge: Edge, streams: Streams) -> Wire:
        law, transmitter = self._law(edge), self.transmitters[edge[0]]
        rng = streams.plain("link", *edge) if law.random else UNUSED
        reception = _Reception(transmitter, self._environment, edge[1], law, rng, self._switch(edge, streams))
        transmitter.receptions.append(reception)
        return reception

    def _reliable(self, edge: Edge, deliver: Callable[[Message], None]) -> ReliableChannel:
        forward, backward = self.wires[edge], self.wires[edge[1], edge[0]]
        assert isinstance(forward, _Reception)
        return _Acknowledged(self._environment, forward, backward, self._law(edge), deliver)
