"""What Wireshark would read, read by a parser of its own: blocks, lengths, checksums, timestamps, values."""

import ipaddress
import shutil
import subprocess
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.errors import TranscriptError
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.transcript import Transcript
from netsim.transcript.message import EVERYBODY, Ciphertext, Message, Record, Segment
from netsim.transcript.pcapng import PORTS, export
from netsim.transcript.stored import StreamedTranscript
from tests.worlds import ROUGH, synthetic_problem, tapped_ring


# ── a reader that knows nothing of the writer ───────────────────────────────────────────────────────────
@dataclass
class Frame:
    nanoseconds: int
    data: bytes
    original: int
    options: dict[int, bytes]
    ip: dict = field(default_factory=dict)
    payload: bytes = b""


def little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def options_of(data: bytes) -> dict[int, bytes]:
    options, at = {}, 0
    while at < len(data):
        code, length = little(data[at : at + 2]), little(data[at + 2 : at + 4])
        if code == 0:
            assert length == 0
            assert at + 4 == len(data)
            return options
        options[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    assert not data, "options without an end"
    return options


def blocks_of(data: bytes) -> list[tuple[int, bytes]]:
    blocks, at = [], 0
    while at < len(data):
        kind, length = little(data[at : at + 4]), little(data[at + 4 : at + 8])
        assert length % 4 == 0
        assert length >= 12
        assert little(data[at + length - 4 : at + length]) == length
        blocks.append((kind, data[at + 8 : at + length - 4]))
        at += length
    assert at == len(data)
    return blocks


def folded(data: bytes) -> int:
    """RFC 1071, word by word: 0xFFFF over data that holds its own right checksum."""
    total = 0
    for at in range(0, len(data), 2):
        total += big(data[at : at + 2].ljust(2, b"\0"))
        total = (total & 0xFFFF) + (total >> 16)
    return total


def frames_of(path) -> list[Frame]:
    section, interface, *packets = blocks_of(path.read_bytes())
    assert section[0] == 0x0A0D0D0A
    assert section[1][:16] == bytes.fromhex("4d3c2b1a 0100 0000 ffffffffffffffff")
    assert options_of(section[1][16:])[4] == b"netsim"
    assert interface[0] == 1
    assert interface[1][:8] == bytes.fromhex("6500 0000 00000000")  # raw IP, no limit on length
    assert options_of(interface[1][8:])[9] == b"\x09"  # 10^-9 seconds
    frames = []
    for kind, body in packets:
        assert kind == 6
        number, high, low, captured, original = (little(body[at : at + 4]) for at in range(0, 20, 4))
        assert number == 0
        end = 20 + (captured + 3) // 4 * 4
        assert not any(body[20 + captured : end])
        frame = Frame(high << 32 | low, body[20 : 20 + captured], original, options_of(body[end:]))
        dissect(frame)
        frames.append(frame)
    return frames


def dissect(frame: Frame) -> None:
    data = frame.data
    assert data[0] == 0x45
    assert data[9] == 17
    assert big(data[2:4]) == len(data)
    assert folded(data[:20]) == 0xFFFF
    udp = data[20:]
    assert big(udp[4:6]) == len(udp)
    assert big(udp[6:8]) != 0
    assert folded(data[12:20] + bytes([0, 17]) + udp[4:6] + udp) == 0xFFFF
    assert udp[:2] == udp[2:4]
    frame.ip = {"source": str(ipaddress.IPv4Address(data[12:16])), "target": str(ipaddress.IPv4Address(data[16:20]))}
    frame.ip["port"] = big(udp[:2])
    frame.payload = udp[8:]


def header_of(payload: bytes) -> list[int]:
    """The five words; of the third the kind alone."""
    words = np.frombuffer(payload[:20], "<i4").tolist()
    words[2] &= 0xFF
    return words


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module", params=["descent", "walk", "encrypted", "tagged"])
def run(request):
    algorithm = Recal(0.2, activations=60) if request.param == "walk" else descent()
    sealed = LinkLaw(UniformDelay(0.01, 0.2), encrypted=True)
    links = {"encrypted": sealed, "tagged": replace(ROUGH, authenticated=True)}.get(request.param, ROUGH)
    return tapped_ring(synthetic_problem(), algorithm, links=links, replicas=3, seed=2).run()


def descent() -> PrivateGradientDescent:
    return PrivateGradientDescent(8, Constant(0.1), Constant(1.0))


def air(rows) -> list[Record]:
    return [row for row in rows if row.place == "link"]


def dotted(agent: int) -> str:
    return f"10.{agent >> 16}.{agent >> 8 & 255}.{agent & 255}"


def test_every_packet_on_the_air_is_there(run, tmp_path):
    transcript = run.views[0].transcript
    count = export(transcript, tmp_path / "a.pcapng", replica=1)
    rows, frames = air(transcript), frames_of(tmp_path / "a.pcapng")
    assert count == len(frames) == len(rows) > 50
    for row, frame in zip(rows, frames, strict=True):
        assert abs(frame.nanoseconds - row.time * 1e9) < 1
        assert frame.ip == {"source": dotted(row.sender), "target": dotted(row.receiver), "port": PORTS[row.kind]}
        assert len(frame.payload) == row.size
        assert frame.original == len(frame.data) == 28 + row.size
        if row.kind == "sealed":
            assert not any(frame.payload)
            continue
        number = row.sequence if row.kind == "ack" else row.number
        code = ["exchange", "direct", "ack"].index(row.kind)
        carried = b"".join(row.values[name][1].tobytes() for name in sorted(row.values))
        assert header_of(frame.payload) == [row.sender, row.receiver, code, number, len(carried)]
        assert frame.payload[20:] == carried + bytes(row.size - 20 - len(carried))


def test_a_spool_is_exported_without_being_loaded(run, tmp_path):
    transcript = run.views[0].transcript
    transcript.write(tmp_path / "a.parquet")
    lazy = StreamedTranscript.open(tmp_path / "a.parquet")
    assert export(lazy, tmp_path / "a.pcapng") == export(transcript, tmp_path / "b.pcapng") > 0
    assert (tmp_path / "a.pcapng").read_bytes() == (tmp_path / "b.pcapng").read_bytes()


@pytest.mark.few(1)
def test_tshark_counts_the_same_packets(run, tmp_path):
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    count = export(run.views[0].transcript, tmp_path / "a.pcapng")
    done = subprocess.run(
        [tshark, "-n", "-r", str(tmp_path / "a.pcapng"), "-T", "fields", "-e", "udp.length"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lengths = [int(line) for line in done.stdout.split()]
    assert len(lengths) == count
    assert lengths == [8 + row.size for row in air(run.views[0].transcript)]


# ── single packets ──────────────────────────────────────────────────────────────────────────────────────
def exported(tmp_path, heard, doors=(), **options) -> list[Frame]:
    export(Transcript.captured(heard, doors, 1), tmp_path / "a.pcapng", **options)
    return frames_of(tmp_path / "a.pcapng")


def told(number=0, **values) -> Message:
    return Message(0, "direct", number, {n: np.array([v], dtype=float) for n, v in values.items()})


def test_comments_say_what_the_headers_cannot(tmp_path):
    heard = [
        (0.0, 0, 1, told(7, y=[1, 2], x=[3])), (1.0, 0, 1, Segment(4, 2, told(8, x=[1]))),
        (2.0, 1, 0, Segment(4, 2, None)), (3.0, 1, 0, Ciphertext(37)),
    ]  # fmt: skip
    frames = exported(tmp_path, heard)
    assert [frame.options[1].decode() for frame in frames] == [
        "direct 7; x[1], y[2]", "direct 8; sequence 4, attempt 2; x[1]", "ack; sequence 4, attempt 2", "sealed",
    ]  # fmt: skip
    assert np.frombuffer(frames[0].payload[20:]).tolist() == [3, 1, 2]  # in order of names
    assert header_of(frames[2].payload)[2:] == [2, 4, 0]
    assert len(frames[3].payload) == 37  # an odd length: a checksum over padding
    assert all(not frame.options for frame in exported(tmp_path, heard, comments=False))


def test_addresses_are_the_bytes_of_the_agents_number(tmp_path):
    frames = exported(tmp_path, [(0.0, 0x010203, 70_000, told(x=[1]))])
    assert frames[0].ip["source"] == "10.1.2.3"
    assert frames[0].ip["target"] == dotted(70_000)
    frames = exported(tmp_path, [(0.0, 0, EVERYBODY, told(x=[1]))])
    assert frames[0].ip["target"] == "10.255.255.255"
    for agent in (-2, 0xFFFFFF):
        with pytest.raises(TranscriptError, match="no address"):
            exported(tmp_path, [(0.0, 0, agent, told(x=[1]))])


def test_a_door_can_be_exported_instead(tmp_path):
    frames = exported(tmp_path, [(0.0, 0, 1, told(x=[1]))], [(0.0, "sent", EVERYBODY, told(1, x=[2]))], place="node")
    assert [frame.ip["target"] for frame in frames] == ["10.255.255.255"]
    assert header_of(frames[0].payload) == [0, -1, 1, 1, 8]


def test_timestamps_to_the_nanosecond_beyond_32_bits(tmp_path):
    frames = exported(tmp_path, [(t, 0, 1, told(x=[1])) for t in (0.0, 1e-9, 4.294967296, 1000.000000001)])
    assert [frame.nanoseconds for frame in frames] == [0, 1, 2**32, 1_000_000_000_001]
    early = exported(tmp_path, [(-0.25, 0, 1, told(x=[1]))], epoch=1_700_000_000)
    assert early[0].nanoseconds == 1_699_999_999_750_000_000
    with pytest.raises(TranscriptError, match="another `epoch`"):
        exported(tmp_path, [(-0.25, 0, 1, told(x=[1]))])
    with pytest.raises(TranscriptError, match="no timestamp"):
        exported(tmp_path, [(1e12, 0, 1, told(x=[1]))])


@pytest.mark.parametrize(("values", "whole"), [(8185, True), (8186, False), (20_000, False)])
def test_what_fits_in_no_datagram_is_cut_and_says_so(tmp_path, values, whole):
    (frame,) = exported(tmp_path, [(0.0, 0, 1, told(x=np.arange(values)))])
    size = 20 + 8 * values
    assert frame.original == 28 + size
    assert (len(frame.payload) == size) == whole
    assert header_of(frame.payload)[4] == 8 * values
    kept = np.frombuffer(frame.payload[20:])
    assert len(kept) == min(values, 8185)
    assert (kept == np.arange(len(kept))).all()


def test_a_checksum_of_zero_is_sent_as_ones(tmp_path):
    """Some value among 65,536 makes the sum 0xFFFF: zero would mean that there is no checksum."""
    (frame,) = exported(tmp_path, [(0.0, 0, 1, told(x=[0.0]))])
    now = big(frame.data[26:28])
    value = np.frombuffer(int(now).to_bytes(2, "big") + bytes(6), "<f8")  # adds what the sum lacks
    (frame,) = exported(tmp_path, [(0.0, 0, 1, told(x=value))])
    assert frame.data[26:28] == b"\xff\xff"


def test_nothing_heard_is_a_file_without_packets(tmp_path):
    assert exported(tmp_path, []) == []


def test_a_replica_that_is_not_there(tmp_path):
    for replica in (1, -1):
        with pytest.raises(TranscriptError, match=rf"replica {replica} was requested; the transcript has 0 … 0"):
            exported(tmp_path, [(0.0, 0, 1, told(x=[1]))], replica=replica)


def test_a_size_that_is_not_the_packets(tmp_path):
    row = Record(0.0, "link", "air", 0, 1, "direct", 3, -1, 0, 68, {"x": np.zeros((1, 5))})
    with pytest.raises(TranscriptError, match="recorded with 68 bytes"):
        export([row], tmp_path / "a.pcapng")
