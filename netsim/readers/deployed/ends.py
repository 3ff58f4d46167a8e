"""An agent's ends of its links: TCP connections on which frames go out and come in, and certificates for TLS on them.

Of two neighbors the one with the larger number dials. Both begin with a `HELLO`, which says what each has had of the
other's messages, so that a connection that breaks is taken up again without loss or repetition: everything that was
sent is kept, and what the neighbor has not had goes again. An agent that was killed and runs its code anew has had
nothing: it gets every message again, and what it sends again its neighbors leave.
"""

import asyncio
import hmac
import socket
import ssl
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from netsim.clock import VirtualEnvironment
from netsim.codecs import Codec
from netsim.errors import ProtocolError, UnsupportedError, install
from netsim.network.inbox import Inbox
from netsim.network.links import ExchangePolicy
from netsim.readers.deployed.capture import CaptureFile
from netsim.transcript.frames import (
    CODES,
    HEAD,
    HELLO,
    NAMES,
    Frame,
    FrameReader,
    Layouts,
    encoded,
    head,
    kind_of,
    named,
    values_of,
)  # fmt: skip
from netsim.transcript.message import HEADER_BYTES, Kind, Message

RUN_BYTES = 16
GREETING = struct.Struct(f"<{RUN_BYTES}sqq")
"""The run's number, and of which number on the sender of this wants exchanges and direct messages."""
GREETING_BYTES = HEADER_BYTES + GREETING.size
PATIENCE = 10.0
"""Real seconds that a stranger, or a neighbor that dials, has for its greeting."""
HANDSHAKE = 60.0
"""Real seconds that one of TLS may take."""
AGAIN = 0.05
"""Real seconds until who dials tries again."""
READ = 1 << 18
"""Bytes that are read at once."""
Address = tuple[str, int]
Sent = tuple[int, int, bytes]
"""The third word of a message's header, its number, and its values as they go on the wire."""
Enter = Callable[[Message], None]
"""The way into the inbox."""


def _name_of(agent: int) -> str:
    """What an agent is called in its certificate."""
    return f"agent-{agent}.netsim"


class Door:
    """An agent's own door, where its process writes what passes in the clear, whatever TLS makes of it outside.

    Streams are those of the links, with everything that was sent and what came for the first time.
    """

    def __init__(self, agent: int, paths: Sequence[Path], now: Callable[[], float]) -> None:
        self._agent, self._now = agent, now
        self._files = [CaptureFile(path, append=True) for path in paths]
        self._lives, self._places = dict[int, int](), dict[tuple[int, int], int]()

    def opened(self, neighbor: int) -> None:
        """A connection with this neighbor begins."""
        self._lives[neighbor] = life = self._lives.get(neighbor, 0) + 1
        dials, listens = max(self._agent, neighbor), min(self._agent, neighbor)
        self._places[dials, listens] = self._places[listens, dials] = 0
        for file in self._files:
            file.opened(dials, listens, self._now(), life)

    def sent(self, neighbor: int, data: bytes) -> None:
        """Frames of the agent's own."""
        self._passed(self._agent, neighbor, data, self._lives[neighbor])

    def received(self, neighbor: int, data: bytes) -> None:
        """A frame that came in."""
        self._passed(neighbor, self._agent, data, self._lives[neighbor])

    def _passed(self, sender: int, receiver: int, data: bytes, life: int) -> None:
        at = self._places[sender, receiver]
        self._places[sender, receiver] = at + len(data)
        for file in self._files:
            file.said(sender, receiver, self._now(), at, data, life)


class _End:
    """One link as this agent has it: what it sent, what it has had, and the connection of the moment."""

    def __init__(self, agent: int, neighbor: int, home: "Home") -> None:
        self.agent, self.neighbor, self._home = agent, neighbor, home
        self.sent: list[Sent] = []
        self._wants: dict[Kind, int] = {"exchange": 0, "direct": 0}
        self._had: dict[Kind, set[int]] = {"exchange": set(), "direct": set()}
        enter = home.inbox.enter
        self._enter = enter if home.door is None else partial(self._through, home.door, enter)
        self.transport: asyncio.Transport | None = None
        self._said = set[int]()
        self._layouts = Layouts()

    def send(self, message: Message) -> None:
        """Takes responsibility for a message."""
        self._home.pass_on((self,), message)

    def greeting(self) -> bytes:
        """What this end begins a connection with."""
        body = GREETING.pack(self._home.run, *self._wants.values())
        return head(self.agent, self.neighbor, HELLO, 0, len(body)) + body

    def begins(self, transport: asyncio.Transport, frame: Frame) -> FrameReader:
        """The neighbor has greeted: it gets what it has not had, and then everything as it is sent."""
        if self.transport is not None:
            self.transport.abort()  # of its former life
        if self._home.door is not None:
            self._home.door.opened(self.neighbor)
        _, exchanges, directs = GREETING.unpack(frame.body)
        self._said.clear()
        wanted = {CODES["exchange"]: exchanges, CODES["direct"]: directs}
        for one in self.sent:
            kind, number, _ = one
            if number >= wanted[kind & 0xFF]:
                self.write(transport, one)
        self.transport = transport
        return FrameReader(self.neighbor, self.agent, self._home.dimension, self._home.codec, known=self._layouts)

    def ends(self, transport: asyncio.Transport) -> None:
        """A connection is over."""
        if self.transport is transport:
            self.transport = None

    def came(self, reader: FrameReader, frame: Frame) -> None:
        """A frame came in."""
        if frame.kind == NAMES:
            if self._home.door is not None:
                self._home.door.received(self.neighbor, frame.bytes)
            return
        if frame.kind == HELLO:
            raise ProtocolError(f"agent {self.neighbor} sent agent {self.agent} a second greeting")
        self.received(reader.message(frame))

    def received(self, message: Message) -> None:
        """A message came in; one that was here before is left."""
        kind, number = message.kind, message.number
        had = self._had[kind]
        if number in had:
            return
        had.add(number)
        if number >= self._wants[kind] and not self._home.reordered:
            self._wants[kind] = number + 1
        if kind == "exchange":
            self._enter(message)
        else:
            self._home.received(message, self._enter)

    def _through(self, door: Door, enter: Enter, message: Message) -> None:
        """A message comes through the door, in its turn."""
        door.received(self.neighbor, encoded(message, self.agent, self._home.codec))
        enter(message)

    def write(self, transport: asyncio.Transport, sent: "Sent") -> None:
        """Puts a message, and before the first of its layout the names, on a connection."""
        kind, number, values = sent
        if kind not in self._said:
            self._said.add(kind)
            names = named(self.agent, self.neighbor, self._home.names[kind])
            transport.write(names)
            if self._home.door is not None:
                self._home.door.sent(self.neighbor, names)
        frame = HEAD.pack(self.agent, self.neighbor, kind, number, len(values)) + values
        transport.write(frame)
        if self._home.door is not None:
            self._home.door.sent(self.neighbor, frame)


class _Arrived(Inbox):
    """An inbox that knows of no message before it is here."""

    __slots__ = ()

    foresees = False

    def has(self, number: int) -> bool:
        return len(self._exchanges.get(number, ())) == self._degree

    def _await_last(self, number: int) -> None:  # noqa: ARG002
        self._wake()


class Home:
    """The network as one agent has it: one inbox, and an end of each of its links.

    `speed` is how many seconds of its loop pass in a real one. `reordered`: a message may come before one that was
    sent earlier, so that after a break no number says what is still missing. `order` has the senders of the direct
    messages that a former life of the agent read, in their order: this one gets them in that order; `noted` is called
    with those that come after. `refused` is called with a sentence for every stranger that was turned away.
    `admitted`, of a walk: whether it goes on, asked at every direct message that comes; what an agent sends goes out
    once it has closed its activation, so that who is asked knows of that. `door` gets all that passes, in the clear.
    """

    def __init__(
        self,
        agent: int,
        neighbors: tuple[int, ...],
        run: bytes,
        dimension: int,
        codec: Codec,
        policy: ExchangePolicy,
        *,
        speed: float = 1.0,
        reordered: bool = False,
        order: tuple[int, ...] = (),
        noted: Callable[[int], None] = lambda _: None,
        refused: Callable[[str], None] = lambda _: None,
        admitted: Callable[[], bool] | None = None,
        door: "Door | None" = None,
    ) -> None:
        self.door = door
        self.agent, self.run, self.dimension, self.codec = agent, run, dimension, codec
        self.refused, self._noted, self._admitted = refused, noted, admitted
        self.speed, self.reordered = speed, reordered
        self.buffer = memoryview(bytearray(READ))
        self._held = list[Callable[[], None]]()
        self._kinds = dict[tuple[str, ...], int]()
        self.names: dict[int, tuple[str, ...]] = {}
        """Of the values in what it sent, by the third word of a header."""
        clock = VirtualEnvironment()  # which is asked only whether −∞ has passed
        self.inbox = (
            _Arrived(clock, agent, neighbors)
            if policy.deadline is None
            else Inbox.of(clock, agent, neighbors, policy)
        )
        self.ends = {j: _End(agent, j, self) for j in neighbors}
        self.channels = {(agent, j): end for j, end in self.ends.items()}
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._order, self._waiting = list(reversed(order)), dict[int, list[tuple[Message, Enter]]]()

    @property
    def inboxes(self) -> Mapping[int, Inbox]:
        """Its own alone."""
        return {self.agent: self.inbox}

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        assert agent == self.agent
        return partial(self.pass_on, tuple(self.ends.values()))

    def pass_on(self, ends: tuple[_End, ...], message: Message) -> None:
        """Send a message on these links: now, or in a walk after all that the agent does before it waits."""
        values = message.values
        kind = self._kinds.get((message.kind, *values))
        if kind is None:
            self._kinds[message.kind, *values] = kind = kind_of(message)
            self.names[kind] = tuple(sorted(values))
        sent = kind, message.number, values_of(message, self.codec)
        for end in ends:
            end.sent.append(sent)
            transport = end.transport
            if transport is None:
                continue
            if self._admitted is None:
                end.write(transport, sent)
            else:
                self._hold(partial(end.write, transport, sent))

    def _hold(self, write: Callable[[], None]) -> None:
        if not self._held:
            asyncio.get_running_loop().call_soon(self._release)
        self._held.append(write)

    def _release(self) -> None:
        held, self._held = self._held, []
        for write in held:
            write()

    def received(self, message: Message, enter: Enter) -> None:
        """A direct message came in, whose turn it may not be."""
        if self._admitted is not None and not self._admitted():
            return
        if not self._order:
            self._noted(message.sender)
            enter(message)
        else:
            self._waiting.setdefault(message.sender, []).append((message, enter))
            while self._order and self._waiting.get(self._order[-1]):
                one, its = self._waiting[self._order.pop()].pop(0)
                its(one)
            if not self._order:
                left = [pair for each in self._waiting.values() for pair in each]
                self._waiting.clear()
                for one, its in left:
                    self.received(one, its)

    def fail(self, error: Exception) -> None:
        """What a neighbor sent cannot be: the agent's run ends with this error."""
        if not self.failed.done():
            self.failed.set_exception(error)

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None) -> asyncio.Server:
        """Wait for the neighbors that dial."""
        loop = asyncio.get_running_loop()
        handshake = None if context is None else HANDSHAKE * self.speed
        return await loop.create_server(
            partial(Connection, self), host, port, ssl=context, ssl_handshake_timeout=handshake
        )

    async def dial(
        self,
        neighbor: int,
        address: Address,
        context: ssl.SSLContext | None,
        ticket: bytes = b"",
        source: str | None = None,
    ) -> None:
        """Keep the link to a neighbor up, for as long as this runs. A relay lets nobody in who does not begin with
        its `ticket`. `source`: the agent's own address, if others know it by that."""
        loop, end = asyncio.get_running_loop(), self.ends[neighbor]
        server, handshake = (None, None) if context is None else (_name_of(neighbor), HANDSHAKE * self.speed)
        while True:
            link = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
            try:
                link.setblocking(False)
                if source is not None:
                    link.bind((source, 0))
                await loop.sock_connect(link, address)
                await loop.sock_sendall(link, ticket)
                _, connection = await loop.create_connection(
                    partial(Connection, self, end),
                    sock=link,
                    ssl=context,
                    server_hostname=server,
                    ssl_handshake_timeout=handshake,
                )
                await connection.over
            except ssl.SSLCertVerificationError as error:
                self.fail(ProtocolError(f"agent {neighbor} has no certificate of this run: {error.verify_message}"))
                return
            except OSError:
                link.close()  # it is not there yet, or not any more
            await asyncio.sleep(AGAIN * self.speed)


class Incoming(asyncio.BufferedProtocol):
    """A connection that reads into a buffer which stays: an `asyncio.Protocol` has a new one of 256 KiB made, and its
    pages mapped, for every read. Connections of one loop share the buffer, since what is read is copied at once."""

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Bytes came in."""
        raise NotImplementedError


class Connection(Incoming):
    """One TCP connection, of a neighbor or (until it has greeted) of anybody. `end`: whom this agent dialed."""

    def __init__(self, home: Home, end: _End | None = None) -> None:
        super().__init__(home.buffer)
        self._home, self._end, self._dialed = home, end, end is not None
        self._begun, self._reader = bytearray(), cast("FrameReader | None", None)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(
            PATIENCE * self._home.speed, self._refuse, "no greeting came"
        )
        if self._end is not None:
            self._transport.write(self._end.greeting())

    def buffer_updated(self, nbytes: int) -> None:
        data, reader, end = bytes(self._buffer[:nbytes]), self._reader, self._end
        if reader is not None and end is not None and (message := reader.whole(data)) is not None:
            end.received(message)
        else:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self._reader is None:
            self._begun += data
            if len(self._begun) < GREETING_BYTES or not self._greeted(bytes(self._begun[:GREETING_BYTES])):
                return
            data = bytes(self._begun[GREETING_BYTES:])
            self._begun.clear()
        reader, end = self._reader, self._end
        assert reader is not None
        assert end is not None
        try:
            for frame in reader.feed(data):
                end.came(reader, frame)
        except ProtocolError as error:
            self._home.fail(error)
            self._abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._timer is not None:
            self._timer.cancel()
        if self._end is not None and self._transport is not None:
            self._end.ends(self._transport)
        if not self.over.done():
            self.over.set_result(None)

    def _greeted(self, data: bytes) -> bool:
        """Whether this is a neighbor's greeting; nobody else is heard further."""
        transport, end = self._transport, self._end
        assert transport is not None
        frame = _greeting_in(data)
        if frame is None or frame.receiver != self._home.agent:
            return self._refuse("it greets as no agent does")
        if not hmac.compare_digest(frame.body[:RUN_BYTES], self._home.run):
            return self._refuse(f"it greets as agent {frame.sender} of another run")
        if end is None:
            end = self._home.ends.get(frame.sender)
        if end is None or end.neighbor != frame.sender:
            return self._refuse(f"it greets as agent {frame.sender}, which is no neighbor here")
        certificate = transport.get_extra_info("peercert")
        if certificate is not None and ("DNS", _name_of(frame.sender)) not in certificate.get("subjectAltName", ()):
            return self._refuse(f"it greets as agent {frame.sender} with another's certificate")
        if self._timer is not None:
            self._timer.cancel()
        if not self._dialed:
            transport.write(end.greeting())
        self._end, self._reader = end, end.begins(transport, frame)
        return True

    def _refuse(self, why: str) -> bool:
        assert self._transport is not None
        self._home.refused(f"{self._transport.get_extra_info('peername')} was turned away: {why}")
        self._abort()
        return False

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _greeting_in(data: bytes) -> Frame | None:
    """The greeting that these bytes are, or None."""
    sender, receiver, kind, number, length = HEAD.unpack(data[:HEADER_BYTES])
    if kind != HELLO or number or length != GREETING.size:
        return None
    body = data[HEADER_BYTES:GREETING_BYTES]
    if min(GREETING.unpack(body)[1:]) < 0:
        return None
    return Frame(sender, receiver, HELLO, 0, 0, data, 0)


# ── TLS ─────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Certificate:
    """An agent's certificate with its key, PRIVATE, and the authority that both ends trust, each as PEM."""

    own: bytes
    authority: bytes

    def server(self) -> ssl.SSLContext:
        """For those who dial: they have to show a certificate of this run too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return self._filled(context)

    def client(self) -> ssl.SSLContext:
        """For dialing: whoever answers has to show the certificate of that agent."""
        return self._filled(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def _filled(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=self.authority.decode())
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # the module reads chains from files alone
            file.write(self.own)
            file.flush()
            context.load_cert_chain(file.name)
        return context


def certificates(agents: int) -> list[Certificate]:
    """One for each agent, of an authority that nobody has after this. You get an `UnsupportedError` where the
    library is missing."""
    try:
        import trustme
    except ModuleNotFoundError:
        raise UnsupportedError(f"TLS between agents needs trustme: {install('deploy')}") from None
    authority = trustme.CA()
    found: list[Certificate] = []
    for agent in range(agents):
        one = authority.issue_cert(_name_of(agent))
        chain = b"".join(blob.bytes() for blob in one.cert_chain_pems)
        found.append(Certificate(one.private_key_pem.bytes() + chain, authority.cert_pem.bytes()))
    return found
