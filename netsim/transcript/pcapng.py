"""Export of a transcript as a pcapng file, for Wireshark and tshark: what was on the air, packet for packet."""

import struct
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from netsim.codecs import FLOAT64, Codec
from netsim.errors import TranscriptError
from netsim.transcript.frames import CODES, head, layout
from netsim.transcript.message import ACK_BYTES, EVERYBODY, HEADER_BYTES, TAG_BYTES, Kind, Place, Record

PORTS: dict[Kind, int] = {kind: 61001 + code for kind, code in CODES.items()}
_BROADCAST = 0x0AFFFFFF
MOST = 65_500
"""Bytes of payload: the header and the whole values that fit in 65,507."""

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
RAW = 101
"""LINKTYPE_RAW: a packet begins with its IP header."""
COMMENT, APPLICATION, NAME, RESOLUTION, OFFSET = 1, 4, 2, 9, 14
IP_BYTES, UDP_BYTES, UDP = 20, 8, 17


def export(
    rows: Iterable[Record],
    path: Path,
    *,
    replica: int = 0,
    place: Place = "link",
    epoch: int = 0,
    comments: bool = True,
    codec: Codec = FLOAT64,
    header_bytes: int = HEADER_BYTES,
) -> int:
    """Write the rows captured at this place, one at a time; returns how many. The file is overwritten.

    `rows` is a `Transcript` or, without loading it, a `StreamedTranscript`. `epoch` is what virtual time 0 is called,
    in seconds since 1970. `codec` and `header_bytes` are those of the run. Who may see the file: whoever placed the
    taps. You get a `TranscriptError` for a replica or an address that there is not, a time that no timestamp can say,
    a size that is not the packet's, and a value that the codec cannot have made.
    """
    count = 0
    payload = partial(_payload, replica=replica, codec=codec, header=header_bytes)
    with path.open("wb") as file:
        file.write(opening(place))
        for row in rows:
            if row.place == place:
                file.write(_packet(row, payload(row), epoch, comments))
                count += 1
    return count


def _address(agent: int) -> int:
    """An agent's IPv4 address. You get a `TranscriptError` for a number of more than three bytes."""
    if agent == EVERYBODY:
        return _BROADCAST
    if not 0 <= agent < 0xFFFFFF:
        raise TranscriptError(f"agent {agent} has no address in 10.0.0.0/8; agents 0 … {0xFFFFFF - 1} have")
    return 0x0A000000 | agent


# ── blocks ──────────────────────────────────────────────────────────────────────────────────────────────


def opening(place: str, offset: int = 0) -> bytes:
    """What a file begins with: a section, and one interface whose packets begin with an IP header, and whose
    timestamps count from so many seconds since 1970."""
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)  # byte order, version 1.0, length of the section not said
    named = _option(NAME, place.encode()) + _option(RESOLUTION, b"\x09")
    named += (_option(OFFSET, struct.pack("<q", offset)) if offset else b"") + _option(0, b"")
    section = _block(SECTION, body + _option(APPLICATION, b"netsim") + _option(0, b""))
    return section + _block(INTERFACE, struct.pack("<HHI", RAW, 0, 0) + named)


def packet(time: float, data: bytes, *, left_out: int = 0, epoch: int = 0, comment: str = "") -> bytes:
    """The block of one packet, from its IP header on; so many bytes at its end were not captured."""
    when = round(time * 1e9) + epoch * 10**9
    if not 0 <= when < 2**64:
        raise TranscriptError(f"a packet at {time:g} s with epoch {epoch} s has no timestamp; choose another `epoch`")
    body = struct.pack("<IIIII", 0, when >> 32, when & 0xFFFFFFFF, len(data), len(data) + left_out) + _padded(data)
    if comment:
        body += _option(COMMENT, comment.encode()) + _option(0, b"")
    return _block(PACKET, body)


_BLOCK, _PACKET = struct.Struct("<II"), struct.Struct("<IIIII")
_MOST_OF_A_BLOCK = 1 << 20


def packets(path: Path) -> Iterator[bytes]:
    """The bodies of the packet blocks of a file, in the order in which they were written.

    A file that ends inside a packet ends before it. You get a `TranscriptError` for what is no capture of raw IP.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while len(begun := file.read(_BLOCK.size)) == _BLOCK.size:
                kind, length = _BLOCK.unpack(begun)
                if number == 0 and kind != SECTION:
                    raise TranscriptError(f"{path}: no pcapng file")
                if not 12 <= length <= _MOST_OF_A_BLOCK or length % 4:
                    raise TranscriptError(f"{path}: block {number} has {length:,} bytes, which none has")
                body = file.read(length - _BLOCK.size)
                if len(body) < length - _BLOCK.size:
                    return  # whoever wrote it was stopped
                if kind == INTERFACE and int.from_bytes(body[:2], "little") != RAW:
                    raise TranscriptError(f"{path}: its packets do not begin with an IP header (LINKTYPE_RAW)")
                if kind == PACKET:
                    yield body[:-4]
                number += 1
            if number == 0:  # shorter than the head of a block
                raise TranscriptError(f"{path}: no pcapng file")
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror or error}") from None


def parts(body: bytes) -> tuple[float, int, bytes, str]:
    """Of a packet's block: seconds since the epoch of the file, bytes of payload with those left out, the bytes that
    were captured, and the comment."""
    if len(body) < _PACKET.size:
        return 0.0, 0, b"", ""
    _, high, low, captured, whole = _PACKET.unpack_from(body)
    data, at = body[_PACKET.size : _PACKET.size + captured], _PACKET.size + captured + -captured % 4
    code, length = struct.unpack_from("<HH", body, at) if len(body) >= at + 4 else (0, 0)
    comment = body[at + 4 : at + 4 + length].decode(errors="replace") if code == COMMENT else ""
    return (high << 32 | low) / 1e9, whole - IP_BYTES - UDP_BYTES, data, comment


def _packet(row: Record, payload: bytes, epoch: int, comments: bool) -> bytes:
    port = PORTS[row.kind]
    header = struct.pack(">HHHH", port, port, UDP_BYTES + len(payload), 0)
    data = datagram(row.sender, row.receiver, UDP, header, payload, checksum_at=6)
    comment = _comment(row) if comments else ""
    return packet(row.time, data, left_out=row.size - len(payload), epoch=epoch, comment=comment)


def datagram(sender: int, receiver: int, protocol: int, header: bytes, payload: bytes, *, checksum_at: int) -> bytes:
    """An IPv4 packet between two agents: a transport's header, which gets its checksum at that place, and payload."""
    source, target, length = _address(sender), _address(receiver), len(header) + len(payload)
    # version 4 and five words; length; identification; don't fragment; time to live
    first = struct.pack(">BBHHHBB", 0x45, 0, IP_BYTES + length, 0, 0x4000, 64, protocol)
    ends = struct.pack(">II", source, target)
    covered = ends + struct.pack(">HH", protocol, length) + header + payload
    checksum = struct.pack(">H", _checksum(covered) or 0xFFFF)  # 0 would mean, of UDP: none
    header = header[:checksum_at] + checksum + header[checksum_at + 2 :]
    return first + struct.pack(">H", _checksum(first + ends)) + ends + header + payload


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _comment(row: Record) -> str:
    if row.kind == "sealed":
        return "sealed"
    parts = [row.kind] if row.kind == "ack" else [f"{row.kind} {row.number}"]
    if row.sequence >= 0:
        parts.append(f"sequence {row.sequence}, attempt {row.attempt}")
    if row.values:
        parts.append(", ".join(f"{name}[{row.values[name].shape[-1]}]" for name in sorted(row.values)))
    return "; ".join(parts)[:1000]


# ── the packet itself ───────────────────────────────────────────────────────────────────────────────────


def _payload(row: Record, replica: int, codec: Codec, header: int) -> bytes:
    if row.kind == "sealed":
        return bytes(min(row.size, MOST))
    numbers = b"".join(_numbers(row, name, replica, codec) for name in sorted(row.values))
    length = ACK_BYTES if row.kind == "ack" else header
    tag = row.size - length - len(numbers)
    if tag not in (0, TAG_BYTES):
        raise TranscriptError(
            f"{row.kind} {row.number} of agent {row.sender} at {row.time:g} s: recorded with {row.size} bytes, but a "
            f"header of {length} and values of {len(numbers)} bytes by {codec}, with or without a tag of {TAG_BYTES}"
        )
    number = row.sequence if row.kind == "ack" else row.number
    kind = CODES[row.kind] | layout(list(row.values)) << 8
    return (head(row.sender, row.receiver, kind, number, len(numbers), length) + numbers + bytes(tag))[:MOST]


def _numbers(row: Record, name: str, replica: int, codec: Codec) -> bytes:
    value = row.values[name]
    if not 0 <= replica < len(value):
        raise TranscriptError(f"replica {replica} was requested; the transcript has 0 … {len(value) - 1}")
    vector = value[replica]
    packed = codec.pack(vector)
    if not codec.lossless and codec.unpack(packed, vector.size).tobytes() != vector.tobytes():
        raise TranscriptError(
            f"agent {row.sender}'s {name!r} at {row.time:g} s is nothing that {codec} can have made"
        )
    return packed


def _checksum(data: bytes) -> int:
    """Complement of the one's complement sum of 16-bit words, which is the number they spell modulo 2^16 − 1."""
    return 0xFFFF - (int.from_bytes(data + bytes(len(data) % 2)) % 0xFFFF or 0xFFFF)
