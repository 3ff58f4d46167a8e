"""Frames: a message comes back as it was, in whatever pieces it comes; what no agent of the run sends is refused."""

import random
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsim.codecs import FLOAT64, Codec, FixedPoint, Float16, ScaledSign, TopK
from netsim.errors import ProtocolError
from netsim.transcript.frames import (
    CODES,
    HEAD,
    MOST_LAYOUTS,
    MOST_NAMES,
    NAMES,
    FrameReader,
    encoded,
    head,
    layout,
    named,
)
from netsim.transcript.message import HEADER_BYTES, Message

SENDER, RECEIVER, DIMENSION = 3, 5, 7
CODECS: list[Codec] = [FLOAT64, Float16(), FixedPoint(8, 4.0), TopK(k=2), ScaledSign()]


def message(codec: Codec = FLOAT64, names=("x", "y"), number=4, kind="direct", seed=0) -> Message:
    rng = np.random.default_rng(seed)
    values = {name: codec.encode(rng.normal(size=(1, DIMENSION))) for name in names}
    return Message(SENDER, kind, number, values, HEADER_BYTES + codec.size(DIMENSION) * len(values))


def reader(codec: Codec = FLOAT64) -> FrameReader:
    return FrameReader(SENDER, RECEIVER, DIMENSION, codec)


def stream(*messages: Message, codec: Codec = FLOAT64) -> bytes:
    said, data = set(), b""
    for one in messages:
        if (names := tuple(sorted(one.values))) not in said:
            said.add(names)
            data += named(one.sender, RECEIVER, tuple(one.values))
        data += encoded(one, RECEIVER, codec)
    return data


def messages_in(reader: FrameReader, pieces) -> list[Message]:
    frames = [frame for piece in pieces for frame in reader.feed(piece)]
    return [reader.message(frame) for frame in frames if frame.kind != NAMES]


@pytest.mark.few(2)
@pytest.mark.parametrize("codec", CODECS, ids=str)
@given(cuts=st.lists(st.integers(0, 2000), max_size=12), seed=st.integers(0, 99))
def test_messages_come_back_to_the_last_bit_from_any_pieces(codec, cuts, seed):
    sent = [message(codec, ("x", "y"), k, "exchange", seed + k) for k in range(3)]
    sent += [message(codec, (), 7), message(codec, ("baton",), 9, seed=seed)]
    data = stream(*sent, codec=codec)
    assert sum(one.size for one in sent) == len(data) - len(
        named(sent[0].sender, 0, tuple(sent[0].values))
    ) - 20 - len(named(sent[4].sender, 0, tuple(sent[4].values)))
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    came = messages_in(reader(codec), [data[a:b] for a, b in pairwise(places)])
    assert [(m.kind, m.number, m.sender, m.size) for m in came] == [(m.kind, m.number, 3, m.size) for m in sent]
    for one, other in zip(came, sent, strict=True):
        assert {n: v.tobytes() for n, v in one.values.items()} == {n: v.tobytes() for n, v in other.values.items()}


LIES = {
    "another sender": head(4, RECEIVER, CODES["direct"], 0, 0),
    "another receiver": head(SENDER, 4, CODES["direct"], 0, 0),
    "an unknown kind": head(SENDER, RECEIVER, 99, 0, 0),
    "an acknowledgement": head(SENDER, RECEIVER, CODES["ack"], 0, 0),
    "four gigabytes": head(SENDER, RECEIVER, CODES["direct"] | layout(["x"]) << 8, 0, 2**31 - 1),
    "a length below zero": head(SENDER, RECEIVER, CODES["direct"] | layout(["x"]) << 8, 0, -1),
    "a byte less than its values": head(SENDER, RECEIVER, CODES["direct"] | layout(["x"]) << 8, 0, 55),
    "a layout that nobody has said": head(SENDER, RECEIVER, CODES["direct"] | layout(["z"]) << 8, 0, 56),
    "a number below zero": head(SENDER, RECEIVER, CODES["direct"] | layout(["x"]) << 8, -1, 56),
    "names without end": head(SENDER, RECEIVER, NAMES, 0, MOST_NAMES + 1),
    "names of another layout": head(SENDER, RECEIVER, NAMES | layout(["y"]) << 8, 0, 1) + b"z",
    "names that are no names": head(SENDER, RECEIVER, NAMES | layout(["a b"]) << 8, 0, 3) + b"a b",
    "names that are no text": head(SENDER, RECEIVER, NAMES, 0, 2) + b"\xff\xfe",
}


@pytest.mark.parametrize("lie", LIES)
def test_what_no_agent_sends_is_refused_with_the_senders_name(lie):
    listening = reader()
    list(listening.feed(stream(message(names=("x",)))))
    with pytest.raises(ProtocolError, match=f"agent {SENDER} sent agent {RECEIVER}"):
        list(listening.feed(LIES[lie]))


def test_names_without_end_are_refused():
    listening = reader()
    said = b"".join(named(SENDER, RECEIVER, (f"x{k}",)) for k in range(MOST_LAYOUTS))
    assert len(list(listening.feed(said))) == MOST_LAYOUTS
    assert list(listening.feed(named(SENDER, RECEIVER, ("x0",)))), "known ones may be said again"
    with pytest.raises(ProtocolError, match=f"agent {SENDER} sent agent {RECEIVER} more than 1,000 layouts"):
        list(listening.feed(named(SENDER, RECEIVER, ("y",))))


def test_bytes_that_the_codec_never_makes_are_refused():
    """A coordinate that the vector does not have."""
    codec, one = TopK(k=2), message(TopK(k=2), ("x",))
    data = bytearray(stream(one, codec=codec))
    data[-codec.size(DIMENSION)] = DIMENSION
    with pytest.raises(ProtocolError, match=f"agent {SENDER} sent agent {RECEIVER} bytes of 'x' that"):
        messages_in(reader(codec), [bytes(data)])


def test_ten_thousand_altered_streams_raise_nothing_else_and_keep_no_more_than_a_frame():
    rng, sound = random.Random(8), stream(*(message(number=k, seed=k) for k in range(3)))
    longest, refused = HEADER_BYTES + max(MOST_NAMES, 2 * 8 * DIMENSION), 0
    others = 0
    for _ in range(10_000):
        data, listening = bytearray(sound), reader()
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[place] = rng.randrange(256)
                case 1:
                    del data[place : place + rng.randint(1, 40)]
                case 2:
                    data[place:place] = rng.randbytes(rng.randint(1, 40))
                case _:
                    word = place // 4 * 4
                    data[word : word + 4] = struct.pack("<i", rng.choice((-1, 0, 1, 2**31 - 1, 1 << 24)))
            data = data or bytearray(b"\0")
        try:
            for begin in range(0, len(data), 50):
                for frame in listening.feed(bytes(data[begin : begin + 50])):
                    if frame.kind in (CODES["exchange"], CODES["direct"]):
                        assert all(v.shape == (1, DIMENSION) for v in listening.message(frame).values.values())
                assert listening.held <= longest
        except ProtocolError as error:
            refused += f"agent {SENDER} sent agent {RECEIVER}" in str(error)
            others += f"agent {SENDER}" not in str(error)
    assert refused > 5_000
    assert not others


def test_a_frame_is_found_again_after_a_gap():
    data = stream(*(message(number=k, seed=k) for k in range(4)))
    listening = reader()
    list(listening.feed(data[: data.index(encoded(message(number=1, seed=1), RECEIVER))]))
    late = FrameReader(SENDER, RECEIVER, DIMENSION, known=listening.layouts)
    begin = data.index(encoded(message(number=1, seed=1), RECEIVER)) + 30
    found = late.find(data, begin)
    assert [m.number for m in messages_in(late, [data[found:]])] == [2, 3]
    assert late.find(b"\1" * 500, 0) == 500


def test_a_header_has_its_words_where_the_format_says():
    data = encoded(message(names=("x",), kind="exchange"), RECEIVER)
    assert HEAD.unpack(data[:HEADER_BYTES]) == (SENDER, RECEIVER, 0 | layout(["x"]) << 8, 4, 8 * DIMENSION)
    assert data[:8] == bytes.fromhex("03000000 05000000")
    assert layout(["b", "a"]) == layout(["a", "b"]) != layout(["ab"])
