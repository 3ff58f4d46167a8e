"""The relay: what lies between two agents. It carries out the link's law in real time, and taps sit on it.

It sees what any box between two machines sees: frames in the clear, or TLS records. Each is a packet that goes over
the simulator's own wires and channels (`netsim.network`), so that delay, loss, bandwidth, outages, retransmission and
active adversaries are the scenario's. What their taps capture is written as TCP packets (`CaptureFile`).
"""

import asyncio
import hmac
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from netsim.adversary import Adversary, Tap
from netsim.clock import VirtualEnvironment
from netsim.errors import NetsimError, ProtocolError
from netsim.network.links import AccessLaw, LinkLaw
from netsim.network.network import Edge, Network
from netsim.randomness import Streams
from netsim.readers.deployed.capture import RECORD, CaptureFile, Parcel
from netsim.readers.deployed.ends import AGAIN, PATIENCE, READ, Address, Incoming
from netsim.simulation import Simulation
from netsim.transcript.frames import HELLO, NAMES, FrameReader, encoded
from netsim.transcript.message import Message

_Leave = Callable[[int, Message, bool], None]
"""What comes out of a wire: for whom, what, and whether it may come again."""


class _Wires(Network):
    """The network of a simulation whose far ends are connections in place of inboxes."""

    def __init__(self, environment: VirtualEnvironment, simulation: Simulation, leave: _Leave, *, tls: bool) -> None:
        self.leave = leave
        network, topology = simulation.network, simulation.topology

        def bare(law: LinkLaw) -> LinkLaw:
            """TLS is the agents' own: the wire needs no other."""
            return replace(law, encrypted=False, authenticated=False) if tls else law

        super().__init__(
            environment,
            topology,
            bare(network.links),
            Streams(simulation.seed),
            {edge: bare(law) for edge, law in network.link_laws.items()},
            dict.fromkeys(range(topology.agents), ()),  # somebody looks on everywhere: no inbox knows in advance
            {i: network.access_law(i) for i in range(topology.agents)},
            None,
            None,
            network.active_adversaries,
            simulation.chunk,
            simulation.wire_codec,
        )

    def _door(self, agent: int, *, repeats: bool = False) -> Callable[[Message], None]:
        return lambda message: self.leave(agent, message, repeats)


def link_taps(simulation: Simulation, folder: Path) -> Iterator[tuple[Adversary, Tap, CaptureFile, list[Edge]]]:
    """Every adversary, with its tap, the file that it writes, and the links that it sits on, each once."""
    for adversary in simulation.adversaries:
        tap = Tap(adversary, Streams(simulation.seed).plain("adversary", adversary.name))
        edges = sorted(edge for edge in adversary.tapped(simulation.topology) if edge[0] < edge[1])
        yield adversary, tap, CaptureFile(capture_path(folder, adversary)), edges


class Relay:
    """All links of a deployment that need one: those that are tapped, or whose law is not that of bare loopback.

    `failed` is done, with the error, once an agent sent what none of this run does. An agent that dials shows its
    `ticket` first: whoever has none is turned away (`relay.log`), and no link breaks for him.
    """

    def __init__(
        self, simulation: Simulation, folder: Path, host: str, speed: float, *, tls: bool, taps: bool = True
    ) -> None:
        """`taps`: whether they sit here; or else the kernel captures, and no link needs a relay."""
        self._host, self.speed, self.tls = host, speed, tls
        self.ticket, self._log = secrets.token_bytes(16), (folder / "relay.log").open("w", buffering=1)
        self.connections, self.buffer = set[asyncio.Transport](), memoryview(bytearray(READ))
        self.over = False
        """Whether the walk has ended: what comes out of a wire now, comes after the run."""
        self._loop = asyncio.get_running_loop()
        self.environment, self._timer = VirtualEnvironment(), cast("asyncio.TimerHandle | None", None)
        topology, network = simulation.topology, simulation.network
        self.dimension, self.codec = simulation.problem.dimension, simulation.wire_codec
        self.wires = _Wires(self.environment, simulation, self._leave, tls=tls)
        self.files: list[CaptureFile] = []
        self.taps: dict[Edge, list[CaptureFile]] = {}
        self.doors: dict[int, list[CaptureFile]] = {}
        for adversary, tap, file, edges in link_taps(simulation, folder) if taps else ():
            self.files.append(file)
            for i, j in edges:
                receiver = tap.receiver(file.capture)
                self.wires.wires[i, j].tap(receiver)
                self.wires.wires[j, i].tap(receiver)
                self.taps.setdefault((i, j), []).append(file)
            for agent in () if tls else adversary.doors:  # under TLS an agent's process has its own
                door = CaptureFile(doors_path(folder, adversary, agent))
                self.files.append(door)
                self.doors.setdefault(agent, []).append(door)
        everywhere = any(network.access_law(i) != AccessLaw() for i in range(topology.agents))
        lawful = {
            (i, j)
            for i, j in (topology.edges if taps else ())
            for edge in ((i, j), (j, i))
            if everywhere or network.link_law(edge) != LinkLaw() or edge in self.wires.interception.edges
        }
        around = {(min(i, j), max(i, j)) for i in self.doors for j in topology.neighbors(i)}
        self.links = {edge: _Link(self, *edge) for edge in sorted(lawful | around | set(self.taps))}
        self.failed: asyncio.Future[None] = self._loop.create_future()

    async def open(self, port: int | None = None) -> None:
        """Listen for the agents that dial: on this port and those that follow; None: the system chooses."""
        for k, link in enumerate(self.links.values()):
            await link.open(self._host, 0 if port is None else port + k)

    def address(self, dials: int, to: int, else_: Address) -> tuple[str, int, str]:
        """Where an agent reaches a neighbor with a smaller number, and the ticket that it shows there."""
        link = self.links.get((to, dials))
        if link is None:
            return *else_, ""
        link.beyond = else_
        return *link.address, self.ticket.hex()

    def act(self, what: Callable[[], object]) -> None:
        """Do something on the wires, once all that is due there was done."""
        self._catch_up()
        what()
        self._catch_up()

    def close(self) -> None:
        """Let go of everything; captures are whole."""
        if self._timer is not None:
            self._timer.cancel()
        for link in self.links.values():
            link.close()
        for connection in self.connections:  # strangers' too
            connection.abort()
        for file in self.files:
            file.close()
        self._log.close()

    def refused(self, who: object, link: "_Link") -> None:
        """A stranger was turned away."""
        self._log.write(f"{who} was turned away from the link {link.low} – {link.high}: it has no ticket\n")

    def fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_exception(error)

    def _catch_up(self) -> None:
        environment, now = self.environment, self._loop.time()
        try:
            while environment.peek() <= now:
                environment.step()
        except NetsimError as error:
            self.fail(error)
            return
        environment.now = max(environment.now, now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (then := environment.peek()) < float("inf"):
            self._timer = self._loop.call_at(then, self._catch_up)

    def _leave(self, receiver: int, message: Message, repeats: bool) -> None:
        """A message comes out of its wire; a stream has each once, and none of a connection that is over."""
        i, j = sorted((message.sender, receiver))
        link = self.links[i, j]
        side, which = link.sides.get(receiver), (message.sender, message.kind, message.number)
        former = isinstance(message, Parcel) and message.life != link.life
        if side is None or former or (repeats and which in link.had):
            return
        link.had.add(which)
        if not isinstance(message, Parcel):  # an active adversary's own
            side.write(encoded(message, receiver, self.codec))
            return
        for file in () if self.over else self.doors.get(receiver, ()):
            file.said(message.sender, receiver, self.environment.now, message.at, message.data, message.life)
        side.write(message.data)


class _Link:
    """One link: agent `high` dials the relay, and the relay agent `low`; what one side says goes to the other."""

    def __init__(self, relay: Relay, low: int, high: int) -> None:
        self.relay, self.low, self.high = relay, low, high
        self.sides: dict[int, asyncio.Transport] = {}
        self.address: Address = ("", 0)
        self.beyond: Address = ("", 0)
        self._server: asyncio.Server | None = None
        self.life, self.had = 0, set[tuple[int, str, int]]()
        self._readers: dict[int, FrameReader | _Records] = {}
        self._dialing: asyncio.Task[None] | None = None
        self._early = list[bytes]()

    async def open(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(partial(_Side, self, self.high), host, port)
        self.address = host, self._server.sockets[0].getsockname()[1]

    def came(self, agent: int, transport: asyncio.Transport) -> None:
        """A side is there. With that of the one that dials a connection begins."""
        if agent == self.high:
            self.drop()
            self._early.clear()
            self.had.clear()
            self.life += 1
            self._dialing = asyncio.get_running_loop().create_task(self._dial())
        self.sides[agent] = transport
        if agent == self.low:
            relay = self.relay
            for each, other in ((self.high, self.low), (self.low, self.high)):
                if relay.tls:
                    self._readers[each] = _Records(each, other, self.life)
                else:
                    self._readers[each] = FrameReader(each, other, relay.dimension, relay.codec)
            for file in self._files():
                file.opened(self.high, self.low, relay.environment.now, self.life)
            early, self._early = b"".join(self._early), []
            if early:
                self.said(self.high, early)

    async def _dial(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.create_connection(partial(_Side, self, self.low), *self.beyond)
            except OSError:
                await asyncio.sleep(AGAIN * self.relay.speed)
            else:
                return

    def said(self, agent: int, data: bytes) -> None:
        """Bytes from one side."""
        if self.low not in self.sides:
            self._early.append(data)
            return
        other = self.low if agent == self.high else self.high
        try:
            for parcel in self._parcels(agent, data):
                self.relay.act(partial(self._onto, agent, other, parcel))
        except ProtocolError as error:
            self.relay.fail(error)
            self.drop()

    def _parcels(self, agent: int, data: bytes) -> "Iterator[Parcel | tuple[int, bytes]]":
        """The packets in a stream; greetings and names as their place and bytes."""
        reader = self._readers[agent]
        if isinstance(reader, _Records):
            yield from reader.feed(data)
            return
        for frame in reader.feed(data):
            if frame.kind in (NAMES, HELLO):
                yield frame.at, frame.bytes
            else:
                yield Parcel(reader.message(frame), frame.bytes, frame.at, self.life)

    def _onto(self, agent: int, other: int, parcel: "Parcel | tuple[int, bytes]") -> None:
        now = self.relay.environment.now
        if isinstance(parcel, Parcel):
            for file in self.relay.doors.get(agent, ()):
                file.said(agent, other, now, parcel.at, parcel.data, parcel.life)
            self.relay.wires.channels[agent, other].send(parcel)
            return
        at, data = parcel  # of no message: no law loses what a connection begins with
        for file in self._files():
            file.said(agent, other, now, at, data, self.life)
        if (side := self.sides.get(other)) is not None:
            side.write(data)

    def _files(self) -> "list[CaptureFile]":
        """Everybody's who hears this link."""
        relay = self.relay
        return [
            *relay.taps.get((self.low, self.high), ()),
            *relay.doors.get(self.low, ()),
            *relay.doors.get(self.high, ()),
        ]

    def drop(self) -> None:
        """Both sides go when one does: the agents take the link up again."""
        if self._dialing is not None:
            self._dialing.cancel()
        sides, self.sides = self.sides, {}
        for transport in sides.values():
            transport.abort()

    def close(self) -> None:
        self.drop()
        if self._server is not None:
            self._server.close()


class _Side(Incoming):
    """The relay's connection with one agent of a link."""

    def __init__(self, link: _Link, agent: int) -> None:
        super().__init__(link.relay.buffer)
        self._link, self._agent = link, agent
        self._transport: asyncio.Transport | None = None
        self._ticket: bytes | None = b"" if agent == link.high else None  # whom the relay dials shows none
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._link.relay.connections.add(self._transport)
        if self._ticket is None:
            self._link.came(self._agent, self._transport)
        else:
            patience = PATIENCE * self._link.relay.speed
            self._timer = asyncio.get_running_loop().call_later(patience, self._refuse)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._ticket is not None:
            right, shown = self._link.relay.ticket, self._ticket + data
            self._ticket, data = shown[: len(right)], shown[len(right) :]
            if len(self._ticket) < len(right):
                return
            if not hmac.compare_digest(self._ticket, right):
                self._refuse()
                return
            self._ticket = None
            self._cancel()
            self._link.came(self._agent, self._transport)
            if not data:
                return
        if self._link.sides.get(self._agent) is self._transport:
            self._link.said(self._agent, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._cancel()
        assert self._transport is not None
        self._link.relay.connections.discard(self._transport)
        if self._link.sides.get(self._agent) is self._transport:
            self._link.drop()

    def _refuse(self) -> None:
        assert self._transport is not None
        self._link.relay.refused(self._transport.get_extra_info("peername"), self._link)
        self._transport.abort()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Records:
    """Reads TLS records, each as a packet that nobody can read."""

    def __init__(self, sender: int, receiver: int, life: int) -> None:
        self._sender, self._receiver, self._life = sender, receiver, life
        self._buffer, self._at, self._count = bytearray(), 0, 0

    def feed(self, data: bytes) -> Iterator[Parcel]:
        self._buffer += data
        while len(self._buffer) >= RECORD:
            end = RECORD + int.from_bytes(self._buffer[3:5])
            if self._buffer[0] not in range(20, 25) or self._buffer[1] != 3:
                raise ProtocolError(f"agent {self._sender} sent agent {self._receiver} what is no TLS record")
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[:end])
            del self._buffer[:end]
            yield Parcel(Message(self._sender, "direct", self._count, {}, end), body, self._at, self._life)
            self._at += end
            self._count += 1


def capture_path(folder: Path, adversary: Adversary) -> Path:
    """The packets that an adversary's taps on links captured."""
    return folder / f"capture-{adversary.name}.pcapng"


def doors_path(folder: Path, adversary: Adversary, agent: int) -> Path:
    """The packets that passed an agent's door, where the adversary sits: as it said them, and as they reached it."""
    return folder / f"door-{adversary.name}-{agent}.pcapng"
