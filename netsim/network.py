"""The network between the agents: wires, transports and one inbox per agent.

An agent that exchanges is woken once, when the last of its neighbors' messages has arrived, not once per
message: `Inbox` counts. Messages that are an exchange ahead wait in their own slot.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MethodType

from netsim.clock import VirtualEnvironment
from netsim.errors import ProtocolError
from netsim.laws import ConstantDelay
from netsim.links import AccessLaw, LinkLaw
from netsim.messages import Fan, Message, Packet
from netsim.outages import Switch
from netsim.randomness import Streams
from netsim.reliable import ReliableChannel
from netsim.topology import Topology
from netsim.wires import Channel, Ear, Pipe, PlainWire, RoughWire, Tally, Wire, fan_out

Edge = tuple[int, int]
Observer = Callable[[Message], None]
UNUSED = random.Random(0)
"""The stream of wires that draw nothing: seeding one each would take longer than a short run."""


class Inbox:
    """What has arrived at one agent and was not asked for yet, and what the agent waits for."""

    __slots__ = (
        "_collected",
        "_degree",
        "_direct",
        "_exchanges",
        "_future",
        "_loop",
        "_wanted",
        "neighbors",
        "owner",
    )

    def __init__(self, owner: int, neighbors: tuple[int, ...]) -> None:
        self.owner, self.neighbors = owner, neighbors
        self._degree = len(neighbors)
        self._exchanges: dict[int, dict[int, Message]] = {}
        self._collected = 0
        self._direct: deque[Message] | None = None  # made for the first: an empty one takes 600 bytes
        self._future: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted: int | None = None

    def entrance(self, tally: Tally, *, repeats: bool = False) -> Callable[[Message], None]:
        """Where messages come in; each is counted in `tally`, which has no other entrance.

        Where messages come in repeatedly (`repeats`), those of an exchange that is over are counted and left.
        """
        tally.inbox = self
        return MethodType(self._enter_once if repeats else self._enter, tally)

    @staticmethod
    def _enter(tally: Tally, message: Message) -> None:
        tally.received += 1
        tally.received_bytes += message.size
        inbox = tally.inbox
        if message.kind != "exchange":
            if inbox._direct is None:
                inbox._direct = deque()
            inbox._direct.append(message)
            if inbox._future is not None and inbox._wanted is None:
                inbox._wake()
            return
        number = message.number
        slot = inbox._exchanges.get(number)
        if slot is None:
            slot = inbox._exchanges[number] = {}
        slot[message.sender] = message
        if len(slot) == inbox._degree and number == inbox._wanted:
            inbox._wake()

    @staticmethod
    def _enter_once(tally: Tally, message: Message) -> None:
        if message.kind == "exchange" and message.number < tally.inbox._collected:
            tally.received += 1
            tally.received_bytes += message.size
        else:
            Inbox._enter(tally, message)

    def _wake(self) -> None:
        future, self._future = self._future, None
        if future is not None and not future.done():
            future.set_result(None)

    def has(self, number: int) -> bool:
        """Whether every neighbor's message of exchange `number` is here."""
        slot = self._exchanges.get(number)
        return slot is not None and len(slot) == self._degree

    def collect(self, number: int) -> dict[int, Message]:
        """The messages of exchange `number`, once they are all here."""
        self._collected = number + 1
        return self._exchanges.pop(number)

    async def take(self) -> Message:
        """Wait for the next direct message."""
        if not self._direct:
            await self.woken(None)
        assert self._direct is not None
        return self._direct.popleft()

    def woken(self, wanted: int | None) -> asyncio.Future[None]:
        """Done when the exchange `wanted` is complete; for None, when a direct message is here."""
        if self._waits():
            raise ProtocolError(f"agent {self.owner} waits twice at once: {self.waits_for()}; await one at a time")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._wanted = wanted
        self._future = self._loop.create_future()
        return self._future

    def _waits(self) -> bool:
        return self._future is not None and not self._future.done()

    def waits_for(self) -> str | None:
        """A sentence for a deadlock's message, or None if the agent does not wait here."""
        if not self._waits():
            return None
        if self._wanted is None:
            return f"agent {self.owner} waits for any message from {_agents(self.neighbors)}"
        here = self._exchanges.get(self._wanted, {})
        missing = tuple(j for j in self.neighbors if j not in here)
        return f"agent {self.owner} waits for exchange {self._wanted} from {_agents(missing)}"


class Network:
    """All wires of one run. `laws` gives directed links their own law; the others get `default`. `access` gives
    agents an access line that their links share.

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
    ) -> None:
        self._environment = environment
        self._default, self._laws = default, laws or {}
        rates = (access or {}).items()
        self._uplinks = {i: Pipe(law.uplink) for i, law in rates if law.uplink is not None}
        self._downlinks = {i: Pipe(law.downlink) for i, law in rates if law.downlink is not None}
        self._observers = observers or {}
        self.inboxes = [Inbox(i, topology.neighbors(i)) for i in range(topology.agents)]
        self.fans: dict[Ear, Callable[[Fan], object]] = {}
        """Ears that would rather hear a broadcast once than on each of its links (`netsim.wires.FanEars`)."""
        both = [(i, j) for i, j in topology.edges] + [(j, i) for i, j in topology.edges]
        self.wires = {edge: self._wire(edge, streams) for edge in sorted(both)}
        self.channels: Mapping[Edge, Channel] = self.wires
        if default.reliable or any(law.reliable for law in self._laws.values()):
            self.channels = {edge: self._channel(edge) for edge in self.wires}
        for edge, wire in self.wires.items():
            self._connect(edge, wire)

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        """Sends a message to all neighbors of an agent, in ascending order; tap its wires before asking for it."""
        return fan_out(self._environment, [self.channels[agent, j] for j in self.inboxes[agent].neighbors], self.fans)

    def waiting(self) -> str:
        """Who waits for what, for a deadlock's message."""
        sentences = [s for inbox in self.inboxes if (s := inbox.waits_for()) is not None]
        lost = sum(wire.lost for wire in self.wires.values())
        hint = f" ({lost} packets were lost; links that are `reliable` send them again)" if lost else ""
        shown = "; ".join(sentences[:8]) + (f"; and {len(sentences) - 8} more" if len(sentences) > 8 else "")
        return (shown or "no agent waits for a message") + hint

    def _law(self, edge: Edge) -> LinkLaw:
        return self._laws.get(edge, self._default)

    def _wire(self, edge: Edge, streams: Streams) -> Wire:
        source, target = edge
        law = self._law(edge)
        up, down = self._uplinks.get(source), self._downlinks.get(target)
        if law.plain and up is None and down is None and isinstance(law.delay, ConstantDelay):
            return PlainWire(self._environment, source, target, law.delay.seconds)
        rng = streams.plain("link", source, target) if law.random else UNUSED
        outages = None if law.outages is None else Switch(law.outages.changes(streams.plain("outage", *_link(edge))))
        return RoughWire(self._environment, source, target, law, rng, switch=outages, uplink=up, downlink=down)

    def _channel(self, edge: Edge) -> Channel:
        wire, law = self.wires[edge], self._law(edge)
        if not law.reliable:
            return wire
        backward = self.wires[edge[1], edge[0]]
        return ReliableChannel(self._environment, wire, backward, law, self._door(wire.target, Tally()))

    def _door(self, agent: int, tally: Tally, *, repeats: bool = False) -> Callable[[Message], None]:
        """Where messages enter an agent: its inbox, behind whoever watches that door."""
        enter, watchers = self.inboxes[agent].entrance(tally, repeats=repeats), tuple(self._observers.get(agent, ()))
        if not watchers:
            return enter

        def watched(message: Message) -> None:
            for watch in watchers:
                watch(message)
            enter(message)

        return watched

    def _connect(self, edge: Edge, wire: Wire) -> None:
        """What happens to a packet at the far end of a wire."""
        out, back = self.channels[edge], self.channels[edge[1], edge[0]]
        if not isinstance(out, ReliableChannel) and not isinstance(back, ReliableChannel):
            wire.arrive = self._door(edge[1], wire, repeats=self._law(edge).duplication > 0)
            return  # the inbox counts for the wire
        door = self._door(edge[1], Tally())

        def leave(packet: Packet) -> None:
            if isinstance(packet, Message):
                door(packet)
            elif packet.message is None:
                assert isinstance(back, ReliableChannel)
                back.on_ack(packet)
            else:
                assert isinstance(out, ReliableChannel)
                out.on_data(packet)

        wire.deliver = leave


def _link(edge: Edge) -> Edge:
    """The link of a direction: both directions are down together."""
    return min(edge), max(edge)


def _agents(ids: tuple[int, ...]) -> str:
    return ("agent " if len(ids) == 1 else "agents ") + ", ".join(map(str, ids))
