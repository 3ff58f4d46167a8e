"""The network between the agents: wires, channels on top of them, and one inbox per agent that wakes it.

A reliable channel has acknowledgements, retransmission with back-off, and order. The sender of an authenticated link
tags every packet together with its number on the wire; who holds no key can neither change one nor make one. What was
altered is rejected for its tag, what came before for its number. On a reliable link the sender then sends again as if
the packet had been lost; on a datagram link it is gone.

Source: RFC 4303 (IPsec ESP), section 3.4.3, the sliding window; DTLS 1.3 (RFC 9147) has the same.
"""

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from netsim.adversary import Edge, Tap
from netsim.clock import Timer, VirtualEnvironment
from netsim.codecs import FLOAT64, Codec
from netsim.errors import SimulationError
from netsim.network.active_adversaries import ActiveAdversary, Interception
from netsim.network.inbox import Inbox
from netsim.network.laws import ConstantDelay, Outages, Switch
from netsim.network.links import AccessLaw, ExchangePolicy, LinkLaw
from netsim.network.wires import Air, Channel, Listener, LossyWire, Pipe, PlainWire, Wire, fan_out
from netsim.randomness import Streams
from netsim.topology import Topology
from netsim.transcript.message import Fan, Message, Packet, Segment, Tagged

MAX_BACKOFF = 6
_MOST_ATTEMPTS = 10_000
"""How often a message is sent before the run ends with an error, where an active adversary may have cut the link."""
UNACKNOWLEDGED = 100
"""How often a message is sent where no acknowledgement can come back any more."""
WINDOW = 1024
"""How many of the last numbers are known to have come or not. A packet from before them is rejected, for it may be a
repeat; what it carried is sent again on a reliable link."""
Observer = Callable[[Message], None]
UNUSED = random.Random(0)
"""The stream of wires that draw nothing: seeding one each would take longer than a short run."""


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


class _Wires(Mapping[Edge, Wire]):
    """Wires by source and target, in ascending order; in `rows` by source. A dict takes four times as much memory."""

    def __init__(self, topology: Topology, made: Callable[[Edge], Wire]) -> None:
        self._near = topology.neighbors
        self.rows = [tuple([made((i, j)) for j in self._near(i)]) for i in range(topology.agents)]

    def __getitem__(self, edge: Edge) -> Wire:
        i, j = edge
        near = self._near(i) if 0 <= i < len(self.rows) else ()
        place = bisect_left(near, j)
        if place == len(near) or near[place] != j:
            raise KeyError(edge)
        return self.rows[i][place]

    def each(self) -> Iterator[Wire]:
        """The values, each without a look for it."""
        return (wire for row in self.rows for wire in row)

    def __iter__(self) -> Iterator[Edge]:
        return ((wire.source, wire.target) for wire in self.each())

    def __len__(self) -> int:
        return sum(map(len, self.rows))


class Network:
    """All wires of one run. `laws` gives directed links their own law; the others get `default`. `access` gives
    agents an access line that their links share, `downtimes` says when all links of an agent are down, `policy`
    what an exchange makes of missing messages (None: it waits for all). `active_adversaries` sit in the middle of
    some links.

    `observers` are called with every message as it is delivered to an agent, before the agent has it.
    """

    def __init__(
        self,
        environment: VirtualEnvironment,
        topology: Topology,
        default: LinkLaw,
        streams: Streams,
        laws: Mapping[Edge, LinkLaw] | None = None,
        observers: Mapping[int, Sequence[Observer]] | None = None,
        access: Mapping[int, AccessLaw] | None = None,
        policy: ExchangePolicy | None = None,
        downtimes: Mapping[int, Outages] | None = None,
        active_adversaries: Sequence[ActiveAdversary] = (),
        chunk: int = 0,
        codec: Codec = FLOAT64,
    ) -> None:
        self._environment, self._topology = environment, topology
        self._default, self._laws = default, laws or {}
        rates = (access or {}).items()
        self._uplinks = {i: Pipe(law.uplink) for i, law in rates if law.uplink is not None}
        self._downlinks = {i: Pipe(law.downlink) for i, law in rates if law.downlink is not None}
        self._observers = observers or {}
        self._downtimes = downtimes or {}
        self.inboxes = [Inbox.of(environment, i, topology.neighbors(i), policy) for i in range(topology.agents)]
        self.interception = Interception(active_adversaries, topology, streams, chunk, codec)
        self.fans: dict[Listener, Callable[[Fan], object]] = {}
        """Listeners that take a broadcast once, not on each of its links (`netsim.network.wires.FanListeners`)."""
        self.air = Air()
        """What all wires, or on radio all transmitters, have put on the air so far."""
        self.wires = _Wires(topology, lambda edge: self._wire(edge, streams))
        reliable = [edge for edge in self.wires if self._law(edge).reliable]
        above = {edge: self._reliable(edge, self._door(edge[1])) for edge in reliable}
        self.channels: Mapping[Edge, Channel] = {**self.wires, **above} if above else self.wires
        for wire in self.wires.each():
            edge, reverse = (wire.source, wire.target), (wire.target, wire.source)
            self._connect(edge, wire, above.get(edge), above.get(reverse))

    def listen(self, tap: Tap) -> None:
        """Let an adversary tap its links: one tap for both directions of each."""
        for i, j in sorted(edge for edge in tap.adversary.tapped(self._topology) if edge[0] < edge[1]):
            receiver = tap.receiver()
            self.fans |= tap.fan_of(receiver)
            self.wires[i, j].tap(receiver)
            self.wires[j, i].tap(receiver)

    def drain(self) -> None:
        """At the end of a run: taps capture what is still to go on the air. On wires they have."""

    def on_air(self) -> dict[str, int]:
        """What was on the air once for several receivers; nothing on wires."""
        return {}

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        """Sends a message to all neighbors of an agent, in ascending order; tap its wires before asking for it."""
        neighbors, plain = self.inboxes[agent].neighbors, self.channels is self.wires
        channels = self.wires.rows[agent] if plain else [self.channels[agent, j] for j in neighbors]
        return fan_out(self._environment, channels, self.fans)

    def last_arrival(self) -> float:
        """When the last message arrives of which only an inbox knows; −∞ for none."""
        return max([inbox.last_arrival for inbox in self.inboxes])

    def waiting(self) -> str:
        """Who waits for what, for a deadlock's message."""
        sentences = [s for inbox in self.inboxes if (s := inbox.waits_for()) is not None]
        shown = ";\n".join(sentences[:8]) + (f"; and {len(sentences) - 8} more" if len(sentences) > 8 else "")
        wires, dropped = self.wires, sum(report.dropped for report in self.interception.reports)
        lost, rejected = sum(wire.lost for wire in wires.each()), sum(wire.rejected for wire in wires.each())
        whose = f" ({dropped} to active adversaries)" if dropped else ""
        whose += f", {rejected} were rejected" if rejected else ""
        count, them = ("1 packet was", "it") if lost == 1 else (f"{lost:,} packets were", "them")
        hint = f" ({count} lost{whose}; links that are `reliable` send {them} again)"
        return (shown or "no agent waits for a message") + (hint if lost + rejected else "")

    def _law(self, edge: Edge) -> LinkLaw:
        return self._laws.get(edge, self._default)

    def _wire(self, edge: Edge, streams: Streams) -> Wire:
        source, target = edge
        law = self._law(edge)
        up, down = self._uplinks.get(source), self._downlinks.get(target)
        switch = self._switch(edge, streams)
        alone = up is None and down is None and switch is None and edge not in self.interception.edges
        if law.plain and alone and isinstance(law.delay, ConstantDelay):
            return PlainWire(self._environment, source, target, law.delay.seconds, self.air)
        rng = streams.plain("link", source, target) if law.random else UNUSED
        wire = LossyWire(
            self._environment, source, target, law, rng, switch=switch, uplink=up, downlink=down, air=self.air
        )
        self.interception.sit(self._environment, wire)
        return wire

    def _switch(self, edge: Edge, streams: Streams) -> Switch | None:
        """A direction is down when the link is, or one of its ends."""
        outages = self._law(edge).outages
        flips = [] if outages is None else [outages.changes(streams.plain("outage", *sorted(edge)))]
        flips += [downs(i, self._downtimes[i], streams) for i in edge if i in self._downtimes]
        return Switch(*flips) if flips else None

    def _reliable(self, edge: Edge, deliver: Callable[[Message], None]) -> ReliableChannel:
        forward, backward, law = self.wires[edge], self.wires[edge[1], edge[0]], self._law(edge)
        cut_by = self.interception.who_cuts(edge, tagged=law.tagged)
        return ReliableChannel(self._environment, forward, backward, law, deliver, cut_by)

    def _door(self, agent: int, *, repeats: bool = False) -> Callable[[Message], None]:
        """Where messages enter an agent: its inbox, behind whoever watches that door."""
        inbox, watchers = self.inboxes[agent], tuple(self._observers.get(agent, ()))
        enter = inbox.enter_once if repeats else inbox.enter
        if not watchers:
            return _once(enter) if repeats else enter

        def watched(message: Message) -> None:
            for watch in watchers:
                watch(message)
            enter(message)

        return _once(watched) if repeats else watched

    def _connect(self, edge: Edge, wire: Wire, out: ReliableChannel | None, back: ReliableChannel | None) -> None:
        """What happens to a packet at the far end of a wire, above which and against which these channels are."""
        law = self._law(edge)
        repeats = law.duplication > 0 or edge in self.interception.edges
        door = self._door(edge[1], repeats=repeats)
        if out is None and back is None and not law.tagged:
            wire.deliver, inbox = door, self.inboxes[edge[1]]
            if inbox.foresees and not repeats and edge[1] not in self._observers and edge[1] not in self._downlinks:
                wire.foreseen_by = inbox
            return

        def leave(packet: Packet) -> None:
            if isinstance(packet, Message):
                door(packet)
            elif packet.message is None:
                assert back is not None
                back.on_ack(packet)
            else:
                assert out is not None
                out.on_data(packet)

        wire.deliver = Guard(wire, leave).check if law.tagged else leave


def downs(agent: int, outages: Outages, streams: Streams) -> Iterator[float]:
    """When an agent goes down and comes back: the same flips for whoever asks."""
    return outages.changes(streams.plain("outage", "agent", agent))


def _once(deliver: Callable[[Message], None]) -> Callable[[Message], None]:
    """Of the copies of a direct message the first is delivered, by its sender's number.

    For one link, so for one sender. A baton that a link repeats stays one baton.
    """
    had = set[int]()

    def first(message: Message) -> None:
        if message.kind == "direct":
            if message.number in had:
                return
            had.add(message.number)
        deliver(message)

    return first
