"""Export of a transcript as a pcapng file, for Wireshark and tshark: what was on the air, packet for packet."""

import struct
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import get_args

from netsim.codecs import FLOAT64, Codec
from netsim.errors import TranscriptError
from netsim.transcript.message import ACK_BYTES, HEADER_BYTES, TAG_BYTES, Kind
from netsim.transcript.record import EVERYBODY, Place, Record

CODES: dict[Kind, int] = {kind: code for code, kind in enumerate(get_args(Kind))}
PORTS: dict[Kind, int] = {kind: 61001 + code for kind, code in CODES.items()}
_BROADCAST = 0x0AFFFFFF
MOST = 65_500
"""Bytes of payload: the header and the whole values that fit in 65,507."""

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
_RAW = 101
"""LINKTYPE_RAW: a packet begins with its IP header."""
COMMENT, APPLICATION, NAME, RESOLUTION = 1, 4, 2, 9
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
        body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)  # byte order, version 1.0, length of the section not said
        file.write(_block(SECTION, body + _option(APPLICATION, b"netsim") + _option(0, b"")))
        named = _option(NAME, place.encode()) + _option(RESOLUTION, b"\x09") + _option(0, b"")
        file.write(_block(INTERFACE, struct.pack("<HHI", _RAW, 0, 0) + named))
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


def _packet(row: Record, payload: bytes, epoch: int, comments: bool) -> bytes:
    datagram = _datagram(row, payload)
    when = round(row.time * 1e9) + epoch * 10**9
    if not 0 <= when < 2**64:
        raise TranscriptError(
            f"a packet at {row.time:g} s with epoch {epoch} s has no timestamp; choose another `epoch`"
        )
    original = len(datagram) + row.size - len(payload)
    body = struct.pack("<IIIII", 0, when >> 32, when & 0xFFFFFFFF, len(datagram), original) + _padded(datagram)
    if comments:
        body += _option(COMMENT, _comment(row).encode()) + _option(0, b"")
    return _block(PACKET, body)


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
    head = struct.pack("<iiiii", row.sender, row.receiver, CODES[row.kind], number, len(numbers))
    return (head[:length].ljust(length, b"\0") + numbers + bytes(tag))[:MOST]


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


def _datagram(row: Record, payload: bytes) -> bytes:
    source, target, length = _address(row.sender), _address(row.receiver), UDP_BYTES + len(payload)
    # version 4 and five words; length; identification; don't fragment; time to live
    first = struct.pack(">BBHHHBB", 0x45, 0, IP_BYTES + length, 0, 0x4000, 64, UDP)
    ends, port = struct.pack(">II", source, target), PORTS[row.kind]
    header = first + struct.pack(">H", _checksum(first + ends)) + ends
    ports = struct.pack(">HHH", port, port, length)
    covered = ends + struct.pack(">HH", UDP, length) + ports + payload
    return header + ports + struct.pack(">H", _checksum(covered) or 0xFFFF) + payload  # 0 would mean: none


def _checksum(data: bytes) -> int:
    """Complement of the one's complement sum of 16-bit words, which is the number they spell modulo 2^16 − 1."""
    return 0xFFFF - (int.from_bytes(data + bytes(len(data) % 2)) % 0xFFFF or 0xFFFF)
