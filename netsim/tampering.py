"""Meddlers at work: what happens to a packet at the far end of a wire where some of them sit.

Packets are conserved: one that a meddler drops counts as lost on its wire, one that it sends again as duplicated
(from the moment it is copied), one that it holds is in flight. What a tap heard is left as it is: a packet that is
altered or marked is a new object.
"""

import random
from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from netsim.arrays import Array
from netsim.clock import VirtualEnvironment
from netsim.codecs import FLOAT64, Codec
from netsim.meddling import Alter, Deeds, Delay, Drop, Edge, Meddler, Replay
from netsim.messages import Message, Packet, Segment, Tagged, Values
from netsim.randomness import Streams
from netsim.topology import Topology
from netsim.wires import RoughWire

Passing = Packet | Tagged
Onward = Callable[[Passing], None]


class Tally:
    """What one meddler did so far, on all its links."""

    __slots__ = ("altered", "delayed", "dropped", "edges", "meddler", "rejected", "replayed")

    def __init__(self, meddler: Meddler, topology: Topology) -> None:
        self.meddler, self.edges = meddler, meddler.tampered(topology)
        self.dropped = self.delayed = self.replayed = self.altered = self.rejected = 0

    def deeds(self) -> Deeds:
        """As data."""
        counts = (self.dropped, self.delayed, self.replayed, self.altered, self.rejected)
        return Deeds(self.meddler.name, tuple(sorted(self.edges)), *counts, self.meddler.start, self.meddler.end)


class Meddling:
    """All meddlers of one run. Random numbers: a stream for each of them on each directed link; the noise of an
    `AddGaussian` has another, which differs between chunks of replicas as the agents' does. Altered values go on as
    `codec` makes them: there is nothing on the wire that it could not have said."""

    def __init__(
        self, meddlers: Sequence[Meddler], topology: Topology, streams: Streams, chunk: int, codec: Codec = FLOAT64
    ) -> None:
        self._tallies = [Tally(meddler, topology) for meddler in meddlers]
        self._streams, self._chunk, self._codec = streams, chunk, codec
        self._on: dict[Edge, list[Tally]] = {}
        for tally in self._tallies:
            for edge in tally.edges:
                self._on.setdefault(edge, []).append(tally)
        self.edges = self._on.keys()

    def sit(self, environment: VirtualEnvironment, wire: RoughWire) -> None:
        """Put those who sit on a wire there: the first one of the run's meets a packet first."""
        edge = wire.source, wire.target
        onward: Onward = wire.onward
        for tally in reversed(self._on.get(edge, [])):
            name = ("meddler", tally.meddler.name, *edge)
            rng, noise = self._streams.plain(*name), self._streams.generator(*name, "noise", self._chunk)
            wire.middle = onward = _Middle(environment, wire, tally, rng, noise, self._codec, onward).meet

    def who_cuts(self, edge: Edge, *, tagged: bool) -> str:
        """Who may keep a reliable link from ever getting a packet through and acknowledged; empty if nobody.

        `tagged`: whether the receiver checks tags. What comes back are acknowledgements: nobody alters those.
        """
        if not self._on:
            return ""
        there = [tally for tally in self._on.get(edge, []) if tally.meddler.may_cut(tagged=tagged)]
        back = [tally for tally in self._on.get((edge[1], edge[0]), []) if tally.meddler.may_cut(tagged=False)]
        return ", ".join(dict.fromkeys(repr(tally.meddler.name) for tally in there + back))

    @property
    def dropped(self) -> int:
        """Packets that meddlers dropped so far."""
        return sum(tally.dropped for tally in self._tallies)

    def deeds(self) -> tuple[Deeds, ...]:
        """What each of them did, in their order."""
        return tuple(tally.deeds() for tally in self._tallies)


class _Middle:
    """One meddler at the far end of one wire."""

    __slots__ = ("_codec", "_environment", "_noise", "_onward", "_rng", "_tally", "_wire")

    def __init__(
        self,
        environment: VirtualEnvironment,
        wire: RoughWire,
        tally: Tally,
        rng: random.Random,
        noise: np.random.Generator,
        codec: Codec,
        onward: Onward,
    ) -> None:
        self._environment, self._wire, self._tally = environment, wire, tally
        self._rng, self._noise, self._codec, self._onward = rng, noise, codec, onward

    def meet(self, packet: Passing) -> None:
        """A packet comes by."""
        meddler, tally, now = self._tally.meddler, self._tally, self._environment.now
        wait = 0.0
        for action in meddler.actions if meddler.start <= now < meddler.end else ():
            if self._rng.random() >= action.probability:
                continue
            match action:
                case Drop():
                    tally.dropped += 1
                    self._wire.lost += 1
                    self._wire.lost_bytes += packet.size
                    return
                case Delay():
                    tally.delayed += 1
                    wait += action.law.draw(self._rng)
                case Replay():
                    packet = self._copied(packet, action, now)
                case Alter():
                    packet = self._altered(packet, action)
        if wait:
            self._environment.call_at(now + wait, self._onward, packet)
        else:
            self._onward(packet)

    def _copied(self, packet: Passing, action: Replay, now: float) -> Passing:
        """Sends copies after a packet; returns the packet, marked so that what is rejected can be told."""
        packet = self._marked(packet)
        self._tally.replayed += action.copies
        self._wire.duplicated += action.copies
        self._wire.duplicated_bytes += action.copies * packet.size
        for number in range(1, action.copies + 1):
            self._environment.call_at(now + number * action.after, self._onward, packet)
        return packet

    def _altered(self, packet: Passing, action: Alter) -> Passing:
        inner = packet.packet if isinstance(packet, Tagged) else packet
        message = inner.message if isinstance(inner, Segment) else inner
        if message is None:
            return packet
        values = action.rewritten(message.values, self._noise)
        if not self._codec.lossless:
            values = {name: self._encoded(value, message.values[name]) for name, value in values.items()}
        if _same_bits(values, message.values):
            return packet
        self._tally.altered += 1
        told: Packet = _with_values(message, values)
        if isinstance(inner, Segment):
            told = Segment(inner.sequence, inner.attempt, told)
        return Tagged(told, packet.number, genuine=False, by=self._tally) if isinstance(packet, Tagged) else told

    def _encoded(self, value: Array, told: Array) -> Array:
        if value is told:
            return told
        encoded = self._codec.encode(value)
        encoded.setflags(write=False)
        return encoded

    def _marked(self, packet: Passing) -> Passing:
        if not isinstance(packet, Tagged):
            return packet
        return Tagged(packet.packet, packet.number, genuine=packet.genuine, by=self._tally)


def _with_values(message: Message, values: Values) -> Message:
    """The same message, its size too, with other values."""
    other = copy(message)
    other.values = values
    return other


def _same_bits(some: Values, others: Values) -> bool:
    return all(some[name] is value or some[name].tobytes() == value.tobytes() for name, value in others.items())
