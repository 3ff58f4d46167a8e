"""Captures of a deployed run: TCP packets in a pcapng file, and the transcript that is rebuilt from them alone.

An agent has the address 10.x.y.z of its number (`netsim.transcript.pcapng`). Of a link's ends the one with the
smaller number listens on port `LISTENS`, the other speaks from `DIALS`, and in each connection that follows from the
next port. Every connection begins with a SYN, and the sequence numbers of the packets are places in what each side
said since: a retransmission has those of what it repeats, and a packet that the tap missed leaves a gap.
"""

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from netsim.adversary import PublicKnowledge
from netsim.errors import ProtocolError
from netsim.transcript import pcapng
from netsim.transcript.frames import HELLO, NAMES, FrameReader, Layouts
from netsim.transcript.message import EVERYBODY, Capture, Message, Record, Segment

LISTENS, DIALS, LIVES = 61000, 61001, 4000
TCP = 6
TCP_BYTES = 20
SYN, PUSH, ACK = 0x02, 0x08, 0x10
EARLIER = 3600
"""Seconds that a tap's clock may be behind the run's beginning: timestamps count from then, with an offset that says
what time it was."""
RECORD, APPLICATION_DATA = 5, 23
"""Bytes of a TLS record's header, and the type of those that may be messages."""


class Parcel(Message):
    """A message on its way, or a TLS record, with its bytes and their place in what its sender said; `life` counts
    the connections of the link."""

    __slots__ = ("at", "data", "life")

    def __init__(self, message: Message, data: bytes, at: int, life: int) -> None:
        super().__init__(message.sender, message.kind, message.number, message.values, len(data))
        self.data, self.at, self.life = data, at, life


class CaptureFile:
    """Writes what taps capture, packet by packet, so that whatever ends the run the file is whole up to there."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        """`append`: what a former life of the agent wrote stays, and this goes on."""
        self._file = path.open("ab" if append else "wb", buffering=0)
        if not self._file.tell():
            self._file.write(pcapng.opening("link", offset=int(time.time()) - EARLIER))
        self.packets = 0

    def opened(self, dials: int, listens: int, now: float, life: int) -> None:
        """A link's connection begins, the first (1) or a later one."""
        self._write(now, dials, listens, life, 0, b"", SYN)
        self._write(now, listens, dials, life, 0, b"", SYN | ACK)

    def said(self, sender: int, receiver: int, now: float, at: int, data: bytes, life: int) -> None:
        """Bytes of a stream, from place `at` on, went on the air; those of a former connection may come again."""
        for begin in range(0, len(data) or 1, pcapng.MOST):
            part = data[begin : begin + pcapng.MOST]
            self._write(now, sender, receiver, life, 1 + at + begin, part, PUSH | ACK if part else ACK)

    def capture(self, captured: Capture) -> None:
        """A packet that a tap captured; one with no bytes of the stream (an acknowledgement) is none of these."""
        now, sender, receiver, packet = captured
        message = packet.message if isinstance(packet, Segment) else packet
        if isinstance(message, Parcel):
            self.said(sender, receiver, now, message.at, message.data, message.life)

    def close(self) -> None:
        self._file.close()

    def _write(
        self, now: float, sender: int, receiver: int, life: int, sequence: int, data: bytes, flags: int
    ) -> None:
        dials = DIALS + (life - 1) % LIVES
        ports = (LISTENS, dials) if sender < receiver else (dials, LISTENS)
        fixed = struct.pack(">HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, 0, 5 << 4, flags, 0xFFFF, 0, 0)
        self._file.write(
            pcapng.packet(now + EARLIER, pcapng.datagram(sender, receiver, TCP, fixed, data, checksum_at=16))
        )
        self.packets += 1


# ── the way back ────────────────────────────────────────────────────────────────────────────────────────
class Packet(NamedTuple):
    """One TCP packet of a capture: seconds, agents, their ports, sequence number, flags, and what it carries."""

    time: float
    sender: int
    receiver: int
    ports: bytes
    sequence: int
    flags: int
    data: bytes


def packets(path: Path) -> Iterator[Packet]:
    """The TCP packets of a capture, in the order in which they were written; other packets are left.

    A file that ends inside a packet ends before it. You get a `TranscriptError` for what is no capture of raw IP.
    """
    return filter(None, map(_packet, pcapng.packets(path)))


def _packet(body: bytes) -> Packet | None:
    seconds, _, data, _ = pcapng.parts(body)
    if (
        len(data) < pcapng.IP_BYTES + TCP_BYTES
        or data[0] != 0x45
        or data[9] != TCP
        or (data[12], data[16]) != (10, 10)
    ):
        return None
    sender, receiver = (int.from_bytes(data[at : at + 4]) - 0x0A000000 for at in (12, 16))
    header = data[pcapng.IP_BYTES :]
    sequence, flags = int.from_bytes(header[4:8]), header[13]
    return Packet(
        seconds - EARLIER,
        sender,
        receiver,
        header[:4],
        sequence,
        flags,
        header[(header[12] >> 4) * 4 :],
    )


@dataclass
class _Stream:
    """What one agent said to another over one connection, as far as it was captured: by place, when and what."""

    sender: int
    receiver: int
    heard: dict[int, tuple[list[float], bytes]] = field(default_factory=dict[int, tuple[list[float], bytes]])

    def add(self, packet: Packet) -> None:
        times, data = self.heard.get(packet.sequence, ([], b""))
        self.heard[packet.sequence] = [*times, packet.time], max(data, packet.data, key=len)

    def runs(self) -> Iterator[tuple[int, bytes]]:
        """The stretches without a gap: where they begin, and their bytes."""
        begin, end, parts = 0, -1, list[bytes]()
        for place in sorted(self.heard):
            data = self.heard[place][1]
            if place > end and parts:
                yield begin, b"".join(parts)
                parts = []
            if not parts:
                begin = end = place
            fresh = data[max(0, end - place) :]
            parts.append(fresh)
            end = max(end, place + len(data))
        if parts:
            yield begin, b"".join(parts)

    def times(self, place: int) -> list[float]:
        """When the byte at this place was captured: more than once where it was sent again."""
        if place in self.heard:
            return self.heard[place][0]
        return self.heard[max(begin for begin in self.heard if begin <= place)][0]


def rebuilt(
    path: Path, public: PublicKnowledge, layouts: Layouts | None = None, *, sealed: bool = False
) -> list[Record]:
    """The rows of a transcript as a tap on links has them, from captured packets and public knowledge.

    Streams are put together again; what was sent twice is a row for each time. After a gap, or where the capture
    begins late, frames are found again by their headers; those whose names are in no part of the capture need
    `layouts`. Where links are TLS (`sealed`), records that may be messages are rows of kind 'sealed', of the size
    that a sealed message has in the simulator.
    """
    known, streams, now = Layouts(layouts or {}), list[_Stream](), dict[tuple[int, int, bytes], _Stream]()
    for packet in packets(path):
        way = packet.sender, packet.receiver, packet.ports
        if packet.flags & SYN or way not in now:
            now[way] = _Stream(packet.sender, packet.receiver)
            streams.append(now[way])
        if packet.data:
            now[way].add(packet)
    found = [(stream, begin, data) for stream in streams for begin, data in stream.runs()]
    rows = list[Record]()
    if sealed:
        for stream, begin, data in found:
            rows += _sealed(stream, begin, data)
    else:
        for stream, begin, data in found:  # names may come in another stream, or later
            for _ in _frames(stream, begin, data, public, known):
                pass
        for stream, begin, data in found:
            rows += _frames(stream, begin, data, public, known)
    return sorted(rows, key=attrgetter("time"))


def _frames(stream: _Stream, begin: int, data: bytes, public: PublicKnowledge, known: Layouts) -> Iterator[Record]:
    at = 0
    while at < len(data):
        reader = FrameReader(stream.sender, stream.receiver, public.dimension, public.codec, known=known)
        at = reader.find(data, at)
        try:
            for frame in reader.feed(data[at:]):
                if frame.kind in (NAMES, HELLO):
                    continue
                try:
                    message = reader.message(frame)
                except ProtocolError:  # values that nobody's codec makes
                    continue
                for attempt, time in enumerate(stream.times(begin + at + frame.at)):
                    yield Record(
                        time, "link", "air", stream.sender, stream.receiver, message.kind, message.number, -1,
                        attempt, message.size, message.values,
                    )  # fmt: skip
            return
        except ProtocolError:
            at += reader.read + 1


def _sealed(stream: _Stream, begin: int, data: bytes) -> Iterator[Record]:
    at = 0
    while len(data) - at >= RECORD:
        length = RECORD + int.from_bytes(data[at + 3 : at + 5])
        if data[at] == APPLICATION_DATA:
            for attempt, time in enumerate(stream.times(begin + at)):
                # a record has its header and the byte of its type more than the packet and its tag
                yield Record(
                    time, "link", "air", stream.sender, stream.receiver, "sealed", -1, -1, attempt,
                    length - RECORD - 1, {},
                )  # fmt: skip
        at += length


def at_door(rows: list[Record], agent: int) -> list[Record]:
    """The rows of a tap at an agent's door, of what was captured on all its links: what it said to several neighbors
    is one row, for everybody."""
    to: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        if row.sender == agent:
            to.setdefault((row.kind, row.number), set()).add(row.receiver)
    seen, found = set[tuple[int, str, int]](), list[Record]()
    for row in rows:
        which = row.sender, row.kind, row.number
        if agent not in (row.sender, row.receiver) or which in seen:
            continue
        seen.add(which)
        if row.sender != agent:
            found.append(row._replace(place="node", event="received", attempt=0))
        else:
            alone = row.kind == "direct" and len(to[row.kind, row.number]) == 1
            receiver = row.receiver if alone else EVERYBODY
            found.append(row._replace(place="node", event="sent", receiver=receiver, attempt=0))
    return found
