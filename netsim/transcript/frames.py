"""Frames: a message as bytes, a header of five words and its encoded values, and the reader of a stream of them.

    sender, receiver, kind, number, length     4 bytes each, little-endian; `length` counts what follows
    values                                     each encoded by the run's codec, in the order of their names

The low byte of `kind` is the place of the word in `Kind`; the three above it are the `layout`, a checksum of the
values' names, so that whoever knows the names (a receiver that runs the algorithm) knows which values come. A frame
of kind `NAMES` says them, once for a connection and layout, before the first message that has them; one of kind
`HELLO` opens a connection. Neither is a message, and no count of messages has them.
"""

import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, get_args

import numpy as np

from netsim.codecs import FLOAT64, Codec
from netsim.errors import ProtocolError
from netsim.transcript.message import HEADER_BYTES, Kind, Message, Values

CODES: dict[Kind, int] = {kind: code for code, kind in enumerate(get_args(Kind))}
KINDS: dict[int, Kind] = {code: kind for kind, code in CODES.items()}
HEAD = struct.Struct("<iiIii")
NAMES, HELLO = 254, 255
_CONSTANT, _VARYING = 12, struct.Struct("<ii")
"""Bytes of a header that are the same in all messages of a kind and layout, and what follows them."""
MOST_NAMES = 4096
"""Bytes that the names of one message's values may have."""
MOST_LAYOUTS = 1000
"""Layouts that the messages of one run may have."""


def layout(names: Sequence[str]) -> int:
    """Which values a message has, as 24 bits of the CRC-32 of their names in order, joined by zero bytes."""
    return zlib.crc32("\0".join(sorted(names)).encode()) & 0xFFFFFF


_layout = lru_cache(maxsize=256)(layout)


def head(sender: int, receiver: int, kind: int, number: int, length: int, bytes_: int = HEADER_BYTES) -> bytes:
    """A header of so many bytes: cut off, or with zeros after its five words."""
    return HEAD.pack(sender, receiver, kind, number, length)[:bytes_].ljust(bytes_, b"\0")


def encoded(message: Message, receiver: int, codec: Codec = FLOAT64) -> bytes:
    """The frame of a message of one replica: as many bytes as its `size`, where a header has `HEADER_BYTES`."""
    values = values_of(message, codec)
    return HEAD.pack(message.sender, receiver, kind_of(message), message.number, len(values)) + values


def values_of(message: Message, codec: Codec) -> bytes:
    """What follows the header in every receiver's frame of a message."""
    values = message.values
    if len(values) == 1:
        return codec.pack(next(iter(values.values()))[0])
    return b"".join([codec.pack(values[name][0]) for name in sorted(values)])


def kind_of(message: Message) -> int:
    """The third word of its header."""
    return CODES[message.kind] | _layout(tuple(message.values)) << 8


def named(sender: int, receiver: int, names: Sequence[str]) -> bytes:
    """The frame that says these names of values."""
    text = "\0".join(sorted(names)).encode()
    return head(sender, receiver, NAMES | layout(names) << 8, 0, len(text)) + text


class Frame(NamedTuple):
    """One frame of a stream: its header's words, all its bytes, and its place in the stream."""

    sender: int
    receiver: int
    kind: int
    layout: int
    number: int
    bytes: bytes
    at: int

    @property
    def body(self) -> "bytes":
        """What follows the header."""
        return self.bytes[HEADER_BYTES:]


class FrameReader:
    """Reads what one agent sends to another, as the bytes come, in whatever pieces.

    You get a `ProtocolError`, which names the sender, for what no agent of this run sends: another sender or
    receiver, an unknown kind or layout, a length that is not that of the values. Nothing of a frame is kept before
    its header is right, and no frame is longer than the algorithm's own.
    """

    def __init__(
        self, sender: int, receiver: int, dimension: int, codec: Codec = FLOAT64, *, known: "Layouts | None" = None
    ) -> None:
        """`known`: layouts that were learned elsewhere; those that come are added."""
        self.sender, self.receiver = sender, receiver
        self.layouts = Layouts() if known is None else known
        self._dimension, self._codec, self._each = dimension, codec, codec.size(dimension)
        self._plain = sys.byteorder == "little" and codec == FLOAT64
        self._buffer, self._at = bytearray(), 0
        self._usual: dict[bytes, tuple[Kind, tuple[str, ...], int]] = {}
        """By the first 12 bytes of a header: kind, names and bytes of the messages that begin so."""

    def whole(self, data: bytes) -> Message | None:
        """The message that these bytes are, where they are one and nothing else, and one with such a header was read
        before: most often they are. None: `feed` reads them."""
        usual = self._usual.get(data[:_CONSTANT])
        if usual is None or self._buffer:
            return None
        kind, names, size = usual
        if len(data) != size:
            return None
        number, length = _VARYING.unpack_from(data, _CONSTANT)
        if length != size - HEADER_BYTES or number < 0:
            return None
        self._at += size
        if self._plain and len(names) == 1:  # read-only, as the bytes are
            value = np.frombuffer(data[HEADER_BYTES:])[None]
            return Message(self.sender, kind, number, {names[0]: value}, size)
        return self._decoded(kind, number, names, data)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with these bytes; names are learned on the way, and come too."""
        if self._buffer:
            data = bytes(self._buffer + data)
            self._buffer.clear()
        at, view = 0, data
        try:
            while len(view) - at >= HEADER_BYTES:
                sender, receiver, kind, number, length = HEAD.unpack_from(view, at)
                self._check(sender, receiver, kind, number, length)
                end = at + HEADER_BYTES + length
                if len(view) < end:
                    break
                whole = view[at:end]
                frame = Frame(sender, receiver, kind & 0xFF, kind >> 8, number, whole, self._at + at)
                at = end
                if frame.kind == NAMES:
                    self._learn(frame)
                yield frame
        finally:
            self._buffer += view[at:]
            self._at += at

    @property
    def read(self) -> int:
        """How many bytes the frames so far had."""
        return self._at

    @property
    def held(self) -> int:
        """How many bytes of a frame that is not complete are kept."""
        return len(self._buffer)

    def find(self, data: bytes, at: int) -> int:
        """The first place from `at` on where a frame may begin; the end of the data where there is none."""
        ends = HEAD.pack(self.sender, self.receiver, 0, 0, 0)[:8]
        while (at := data.find(ends, at)) >= 0 and at + HEADER_BYTES <= len(data):
            try:
                self._check(*HEAD.unpack_from(data, at))
            except ProtocolError:
                at += 1
            else:
                return at
        return len(data)

    def message(self, frame: Frame) -> Message:
        """The message in a frame whose kind is one of `Kind`. You get a `ProtocolError` for values that the codec
        never makes."""
        kind, names = KINDS[frame.kind], self.layouts[frame.layout]
        self._usual[frame.bytes[:_CONSTANT]] = kind, names, len(frame.bytes)
        return self._decoded(kind, frame.number, names, frame.bytes)

    def _decoded(self, kind: Kind, number: int, names: tuple[str, ...], data: bytes) -> Message:
        values: Values = {}
        at, each = HEADER_BYTES, self._each
        for name in names:
            try:
                value = self._codec.unpack(data[at : at + each], self._dimension)[None]
            except (IndexError, ValueError):  # a coordinate that is none
                raise self._error(f"bytes of {name!r} that {self._codec} never makes") from None
            values[name] = value
            value.setflags(write=False)
            at += each
        return Message(self.sender, kind, number, values, len(data))

    def _check(self, sender: int, receiver: int, kind: int, number: int, length: int) -> None:
        if (sender, receiver) != (self.sender, self.receiver):
            raise self._error(f"a frame from agent {sender} to agent {receiver}")
        code, names = kind & 0xFF, kind >> 8
        if code in (NAMES, HELLO):
            if not 0 <= length <= MOST_NAMES:
                raise self._error(f"a frame of {length:,} bytes that says names; at most {MOST_NAMES:,}")
        elif code not in (CODES["exchange"], CODES["direct"]):
            raise self._error(f"a frame of the unknown kind {code}")
        elif names not in self.layouts:
            raise self._error(f"values of the unknown layout {names:06x}")
        elif length != (right := len(self.layouts[names]) * self._each):
            raise self._error(
                f"a frame of {length:,} bytes; {', '.join(self.layouts[names]) or 'no values'} have {right:,}"
            )
        if number < 0:
            raise self._error(f"a message of number {number}")

    def _learn(self, frame: Frame) -> None:
        try:
            names = frame.body.decode().split("\0") if frame.body else []
        except UnicodeDecodeError:
            raise self._error("names that are no text") from None
        if names != sorted(set(names)) or not all(map(str.isidentifier, names)):
            raise self._error(f"names that no message has: {names!r:.80}")
        if layout(names) != frame.layout:
            raise self._error(f"names of another layout than {frame.layout:06x}")
        if frame.layout not in self.layouts and len(self.layouts) == MOST_LAYOUTS:
            raise self._error(f"more than {MOST_LAYOUTS:,} layouts")
        self.layouts[frame.layout] = tuple(names)

    def _error(self, what: str) -> ProtocolError:
        return ProtocolError(f"agent {self.sender} sent agent {self.receiver} {what}: nobody of this run does")


class Layouts(dict[int, tuple[str, ...]]):
    """Names of values by layout."""
