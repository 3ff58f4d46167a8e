"""Packet log: what became of every packet, for the owner of the run; no adversary sees it."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from netsim.network.wires import LossyWire, PlainWire, Wire
from netsim.transcript.message import Capture, Kind, Message, Packet, Segment, Tagged, contents

Edge = tuple[int, int]
FIRST, LAST = 60_000, 4_000
"""Packets that a log keeps: so many from the beginning, and so many before the end."""
_AROUND = 600
"""Packets that it keeps before and after a message that is sought."""
PacketKey = tuple[int, Kind, int]
"""A message: its sender, its kind, and the sender's count of messages of that kind."""


class PacketFate:
    """One packet on one link, in virtual seconds: on the air from `start`, at the receiver at `end` (None: never).

    On radio there is one for each neighbor that a frame is for. `kind`, `number`, `sequence` and `attempt` are as in
    a transcript, but for what is encrypted, which is known here. `activation` is that of its sender, from 1; of an
    acknowledgement, and of a repetition, the one in which it happens to be sent. `dropped`: it found no room in a
    buffer and was never on the air. `copy`: a link delivered the packet a second time, or somebody in the middle
    sent it.
    """

    __slots__ = (
        "activation", "attempt", "copy", "dropped", "end", "kind", "number", "receiver", "sender", "sequence", "size",
        "start",
    )  # fmt: skip

    def __init__(self, start: float, end: float | None, wire: tuple[int, int], packet: Packet | Tagged) -> None:
        self.start, self.end = start, end
        self.sender, self.receiver = wire
        self.kind, self.number, self.sequence, self.attempt, self.size, _ = contents(packet)
        self.activation = 0
        self.dropped = self.copy = False


class LinkCount:
    """What one direction of a link carried: packets and bytes as its wire counts them (`netsim.network.wires.Wire`).

    `repeated` are second and later attempts to carry a message, `acknowledgements` packets without one; `arrived`
    packets took `seconds` in all from when they began to go on the air until they were there.
    """

    __slots__ = (
        "acknowledgements", "arrived", "bytes", "dropped", "duplicated", "lost", "packets", "repeated", "seconds",
    )  # fmt: skip

    def __init__(self) -> None:
        self.packets = self.bytes = self.lost = self.dropped = self.duplicated = 0
        self.repeated = self.acknowledgements = self.arrived = 0
        self.seconds = 0.0


class PacketLog:
    """Attends one run: the first `FIRST` packets are in `head`, the last `LAST` in `tail`; `total` is how many there
    were. Where a message is `sought`, the packets around the first that carries it are in `middle`, too.

    `begun` has, for an agent and its activation from 1, the first message that the agent sent in it. `ended` is when
    the run ended, in virtual seconds; what had not arrived by then never did.
    """

    def __init__(
        self, first: int = FIRST, last: int = LAST, sought: PacketKey | None = None, around: int = _AROUND
    ) -> None:
        self.total = 0
        self.begins = 0
        """How many packets there were before the middle."""
        self._sought, self._around, self._after = sought, around, 0
        self._before: deque[PacketFate] = deque(maxlen=around)
        self.middle: list[PacketFate] = []
        """Those around the message that was sought, some of which may be in the head or the tail, too."""
        self.ended = 0.0
        self.links: dict[Edge, LinkCount] = {}
        self.begun: dict[tuple[int, int], PacketFate] = {}
        self._first = first
        self.head: list[PacketFate] = []
        """The first packets, in the order in which they began."""
        self.tail: deque[PacketFate] = deque(maxlen=last)
        """The last ones, which are not in the head."""
        self._held: dict[tuple[int, int], PacketFate] = {}
        self._activations: Sequence[int] = ()
        self._wires: Mapping[Edge, Wire] = {}

    def attend(self, wires: Mapping[Edge, Wire], activations: Sequence[int]) -> None:
        """Follow all wires, from before the run. `activations` counts what each agent has closed, and goes on."""
        self._wires, self._activations = wires, activations
        for edge, wire in wires.items():
            self.links[edge] = LinkCount()
            if isinstance(wire, PlainWire):
                wire.tap(partial(self._on_air, wire.seconds))
            elif isinstance(wire, LossyWire):
                wire.packet_log = self

    def close(self, now: float) -> None:
        """After the run: what is still on its way stays there, and the wires' own counts are taken over."""
        self.ended = now
        self._held.clear()
        for edge, count in self.links.items():
            wire = self._wires[edge]
            count.packets, count.bytes = wire.packets.sent, wire.bytes.sent
            count.lost, count.dropped, count.duplicated = wire.lost, wire.dropped, wire.duplicated
        self._wires, self._activations = {}, ()

    def _on_air(self, seconds: float, captured: Capture) -> None:
        """A packet on a wire on which every one arrives after so many seconds."""
        start, sender, receiver, packet = captured
        assert isinstance(packet, Message | Segment)
        self.passed((sender, receiver), packet, start, start + seconds)

    # ── from the wires ──────────────────────────────────────────────────────────────────────────────
    def passed(
        self, edge: Edge, packet: Packet | Tagged, start: float, end: float | None, *, copy: bool = False
    ) -> PacketFate:
        """A packet goes on the air at `start`, and will be there at `end`, or never."""
        fate = PacketFate(start, end, edge, packet)
        fate.copy = copy
        fate.activation = self._activations[edge[0]] + 1
        self.total += 1
        (self.head if len(self.head) < self._first else self.tail).append(fate)
        if self._sought is not None:
            self._look(fate, self._sought)
        count = self.links[edge]
        if fate.kind == "ack":
            count.acknowledgements += not copy
        elif fate.attempt:
            count.repeated += not copy
        else:
            own = edge[0], fate.activation
            if own not in self.begun or start < self.begun[own].start:  # on another link it may have waited
                self.begun[own] = fate
        if end is not None:
            count.arrived += 1
            count.seconds += end - start
        return fate

    def dropped(self, edge: Edge, packet: Packet | Tagged, now: float) -> None:
        """A packet found the buffer full."""
        self.passed(edge, packet, now, None).dropped = True

    def held(self, wire: Wire, packet: Packet | Tagged, start: float, *, copy: bool) -> None:
        """A packet reached the far end of a link, but something there may still hold it back (`handed`)."""
        edge = wire.source, wire.target
        self._held[id(wire), id(packet)] = self.passed(edge, packet, start, None, copy=copy)

    def handed(self, wire: Wire, packet: Packet | Tagged, at: float, now: float) -> None:
        """What held a packet hands it on: it is with the receiver at `at`. Or it never passed the link: somebody in
        the middle made it."""
        fate = self._held.pop((id(wire), id(packet)), None)
        if fate is None:
            self.passed((wire.source, wire.target), packet, now, at, copy=True)
            return
        fate.end = at
        count = self.links[wire.source, wire.target]
        count.arrived += 1
        count.seconds += at - fate.start

    def _look(self, fate: PacketFate, sought: PacketKey) -> None:
        """Keep it, if it is near the message that is sought."""
        if self.middle:
            if self._after > 0:
                self._after -= 1
                self.middle.append(fate)
            return
        self._before.append(fate)
        if (fate.sender, fate.kind, fate.number) == sought and fate.attempt == 0:
            self.middle = list(self._before)
            self.begins, self._after = self.total - len(self.middle), self._around
