"""A transcript on disk while it is made: what a kill leaves, fields that come later, order, and equality with
what is kept in memory. And files that anybody may have written: read, or refused with the file and the column."""

import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netsim.adversary import Adversary, Tap
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import complete
from netsim.transcript import Transcript, stored
from netsim.transcript.message import COLUMNS, EVERYBODY, Ciphertext, Message, Record, Segment
from netsim.transcript.stored import StreamedTranscript, write_records
from netsim.transcript.stream import TranscriptStream
from tests.fuzz import damaged_table
from tests.worlds import ROUGH, changed, synthetic_problem, tapped_ring

ROOT = Path(__file__).parents[3]
DESCENT = PrivateGradientDescent(12, Constant(0.1), Constant(1.0))
QUEUES = LinkLaw(UniformDelay(0.01, 0.4), loss=0.3, bandwidth=300.0, reliable=True, reordering=True)
RUNS = {
    "at one time": (DESCENT, LinkLaw(), 2), "in steps": (DESCENT, LinkLaw(ConstantDelay(0.5)), 1),
    "lossy": (DESCENT, ROUGH, 3), "air times ahead of the clock": (DESCENT, QUEUES, 1),
    "encrypted": (DESCENT, LinkLaw(UniformDelay(0.01, 0.4), reliable=True, encrypted=True), 1),
    "authenticated": (DESCENT, LinkLaw(UniformDelay(0.01, 0.4), reliable=True, authenticated=True), 2),
    "a walk with two fields": (Recal(0.2, activations=60), ROUGH, 1),
}  # fmt: skip


def flat(rows) -> list[tuple]:
    """Rows that compare by value, bit for bit."""
    return [
        (*row[:-1], *((name, v.shape, v.tobytes()) for name, v in sorted(row.values.items()))) for row in rows
    ]  # fmt: skip


def message(sender: int, number: int, kind="exchange", replicas=2, **values) -> Message:
    return Message(sender, kind, number, {n: np.full((replicas, 2), float(v)) for n, v in values.items()})


def spooled(path: Path, heard=(), doors=(), replicas=2, **options) -> StreamedTranscript:
    """Rows given by hand; doors follow the links."""
    with TranscriptStream(path, replicas, **options) as spool:
        for row in heard:
            spool.capture(row)
        for time, event, receiver, told in doors:
            spool.door((time, event, receiver, told))
    return StreamedTranscript.open(path)


@contextmanager
def listening(monkeypatch, spool: TranscriptStream):
    """While it lasts, taps that miss nothing tell the spool too."""
    receiver, sent, received = Tap.receiver, Tap.sent, Tap.received

    def hears(self):
        keep = receiver(self)

        def hear(heard):
            keep(heard)
            spool.capture(heard)

        return hear

    def leaves(self, time, told, receiver=EVERYBODY):
        sent(self, time, told, receiver)
        spool.door((time, "sent", receiver, told))

    def arrives(self, time, told, receiver):
        received(self, time, told, receiver)
        spool.door((time, "received", receiver, told))

    with monkeypatch.context() as patch:
        patch.setattr(Tap, "receiver", hears)
        patch.setattr(Tap, "sent", leaves)
        patch.setattr(Tap, "received", arrives)
        yield


@pytest.fixture(params=RUNS)
def both(request, monkeypatch, tmp_path):
    """A run's transcript as it was kept in memory, and the spool of the same run."""
    algorithm, links, replicas = RUNS[request.param]
    simulation = tapped_ring(synthetic_problem(), algorithm, links=links, replicas=replicas, seed=5, reader="live")
    spool = TranscriptStream(tmp_path / "run.spool", replicas, batch=7)
    with listening(monkeypatch, spool):
        transcript = simulation.run().views[0].transcript
    return transcript, spool.close()


# ── equality with what is kept in memory ────────────────────────────────────────────────────────────────
def test_a_spool_reads_as_the_transcript_in_memory_and_an_attack_gets_the_same(both):
    transcript, spool = both
    assert len(spool) == len(transcript) > 100
    assert flat(spool) == flat(transcript)
    assert (spool.note, spool.dropped, spool.replicas) == ("", 0, transcript.replicas)
    back = Transcript.stored(spool)
    assert back.replicas == transcript.replicas
    assert flat(back.at_node(1)) == flat(transcript.at_node(1))
    assert flat(back.on_links()) == flat(transcript.on_links())
    with pytest.raises(ValueError, match="read-only"):
        next(r for r in back if r.values).values["x"][0, 0] = 1.0


@pytest.mark.few(3)
def test_its_parquet_file_is_the_one_that_a_transcript_writes(both, tmp_path):
    transcript, spool = both
    transcript.write(tmp_path / "a.parquet")
    spool.to_parquet(tmp_path / "b.parquet")
    a, b = pq.read_table(tmp_path / "a.parquet"), pq.read_table(tmp_path / "b.parquet")
    assert a.schema.equals(b.schema, check_metadata=True)
    assert a.equals(b)
    assert flat(Transcript.read(tmp_path / "b.parquet")) == flat(transcript)
    StreamedTranscript.open(tmp_path / "a.parquet").to_parquet(tmp_path / "again.parquet")
    assert a.equals(pq.read_table(tmp_path / "again.parquet"))


# ── any rows ────────────────────────────────────────────────────────────────────────────────────────────
SIX = st.lists(st.floats(width=64), min_size=6, max_size=6)
NAMES = st.dictionaries(st.sampled_from(["x", "u_noisy", "ζ"]), SIX, max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["plain", "segment", "ack", "sealed", "sent", "received"]),
            st.integers(0, 4),  # few times: ties, across batches too
            st.integers(0, 3),
            NAMES,
            st.integers(0, 2),
        ),
        max_size=30,
    ),
    batch=st.integers(1, 9),
    compression=st.sampled_from([None, "zstd", "lz4"]),
)
def test_any_rows_come_back_in_the_order_of_a_transcript(rows, batch, compression, tmp_path):
    messages: list[Message] = []
    links, doors = [], []
    with TranscriptStream(tmp_path / "any.spool", 2, batch=batch, compression=compression) as spool:
        for what, time, sender, values, again in rows:
            fresh = Message(sender, "direct", len(messages), {n: np.reshape(v, (2, 3)) for n, v in values.items()})
            messages.append(messages[-1] if again == 2 and messages else fresh)
            message = messages[-1]
            wrapped = Segment(4, again, None if what == "ack" else message)
            packet = message if what == "plain" else Ciphertext(40 + again) if what == "sealed" else wrapped
            if what in ("sent", "received"):
                doors.append((float(time), what, EVERYBODY if what == "sent" else 3, message))
                spool.door(doors[-1])
            else:
                links.append((float(time), sender, sender + 1, packet))
                spool.capture(links[-1])
    back = StreamedTranscript.open(tmp_path / "any.spool")
    expected = flat(Transcript.captured(links, doors, 2))
    assert flat(back) == expected
    assert len(back) == len(rows)
    since_two = [row for row in expected if row[0] >= 2]
    assert flat(back.select(since=2)) == since_two
    Transcript.captured(links, doors, 2).write(tmp_path / "any.parquet")
    assert flat(Transcript.read(tmp_path / "any.parquet")) == expected


def test_fields_that_nobody_knew_of_at_the_start(tmp_path):
    heard = [
        (float(k), 0, 1, message(0, k, **dict.fromkeys(names, k)))
        for k, names in enumerate([("x",), ("x",), ("y", "x"), (), ("ζ",)])
    ]
    back = spooled(tmp_path / "grows.spool", heard, batch=2)
    assert back.fields == ("x", "y", "ζ")
    assert [sorted(r.values) for r in back] == [["x"], ["x"], ["x", "y"], [], ["ζ"]]
    assert flat(back) == flat(Transcript.captured(heard, [], 2))
    back.to_parquet(tmp_path / "grows.parquet")
    Transcript.captured(heard, [], 2).write(tmp_path / "written.parquet")
    assert pq.read_table(tmp_path / "grows.parquet").equals(pq.read_table(tmp_path / "written.parquet"))


def test_a_message_is_written_once_per_batch_however_many_hear_it(tmp_path):
    told = Message(0, "exchange", 0, {"x": np.arange(1000.0).reshape(1, 1000)})
    heard = [(0.0, 0, j, told) for j in range(1, 101)]
    spooled(tmp_path / "one.spool", [(0.0, 0, j, told) for j in range(1, 20)], replicas=1)
    back = spooled(tmp_path / "many.spool", heard, replicas=1)
    assert all((r.values["x"] == told.values["x"]).all() for r in back)
    assert (tmp_path / "many.spool").stat().st_size < 10 * 8000


def test_the_documented_columns_are_those_of_the_file(tmp_path):
    told = message(0, 0, x=1)
    spooled(tmp_path / "a.spool", [(1.0, 0, 1, told), (1.0, 0, 2, told)], [(1.0, "received", 1, told)], batch=3)
    with pa.ipc.open_stream(str(tmp_path / "a.spool")) as stream:
        assert stream.schema.names == [*COLUMNS, "values", "values_at"]
        assert stream.schema.metadata == {b"replicas": b"2"}
        table = stream.read_all()
    assert table["place"].to_pylist() == ["link", "link", "node"]
    assert table["receiver"].to_pylist() == [1, 2, 1]
    assert table["values"].to_pylist()[0] == [("x", [1.0] * 4)]


# ── bounded ─────────────────────────────────────────────────────────────────────────────────────────────
def held(spool: TranscriptStream) -> int:
    return len(spool._captured) + len(spool._doors)


def test_no_more_than_a_batch_is_in_memory(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 2, batch=10)
    most = 0
    for k in range(1000):
        spool.capture((float(k), 0, 1, message(0, k, x=k)))
        spool.door((float(k), "received", 1, message(0, k, x=k)))
        most = max(most, held(spool))
    assert most < 20
    assert len(StreamedTranscript.open(spool.path)) == 2000 - held(spool)


def test_heavy_messages_make_short_batches(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 100, memory=2**20)
    most = 0
    for k in range(100):
        spool.capture((float(k), 0, 1, Message(0, "direct", k, {"x": np.zeros((100, 500))})))  # 400 kB each
        most = max(most, held(spool))
    assert most <= 3
    assert len(spool.close()) == 100


def test_parquet_row_groups_are_bounded_by_what_they_weigh(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "MEMORY", 10_000)
    told = Message(0, "exchange", 0, {"x": np.arange(100.0).reshape(1, 100)})  # 820 bytes
    back = spooled(tmp_path / "a.spool", [(0.0, 0, j, told) for j in range(1, 101)], replicas=1)
    back.to_parquet(tmp_path / "a.parquet")
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        assert max(file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)) <= 13
    lazy = StreamedTranscript.open(tmp_path / "a.parquet")
    assert max(len(part["time"]) for part in lazy._rows()) <= 13
    assert flat(lazy) == flat(back)


@pytest.mark.slow
def test_the_parquet_file_does_not_depend_on_the_batches(tmp_path, monkeypatch):
    """Neither in what it says nor in its bytes: row groups end where the rows say so."""
    monkeypatch.setattr(stored, "MEMORY", 4_000)
    monkeypatch.setattr(stored, "GROUP", 37)
    heard = [(k / 4, 0, 1, message(0, k, **dict.fromkeys("xyz"[: 1 + k % 3], k))) for k in range(300)]
    doors = [(k / 3, "received", 1, message(0, k, x=k)) for k in range(200)]
    written = set()
    for batch in (1, 7, 50, 1000):
        back = spooled(tmp_path / "a.spool", heard, doors, batch=batch)
        back.to_parquet(tmp_path / "a.parquet")
        written.add((tmp_path / "a.parquet").read_bytes())
    assert len(written) == 1
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        groups = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    assert sum(groups) == 500
    assert max(groups) <= 37


def test_batches_outside_the_times_are_not_read(tmp_path, monkeypatch):
    heard = [(float(k), 0, 1, message(0, k, x=k)) for k in range(100)]
    back = spooled(tmp_path / "a.spool", heard, batch=10)
    read, load = [], stored._StreamFile._load
    monkeypatch.setattr(stored._StreamFile, "_load", lambda self, *a: read.append(a[1]) or load(self, *a))
    assert len(back) == 100
    assert read == []
    assert [r.number for r in back.select(41, 43)] == [41, 42]
    assert 1 <= len(read) <= 2


# ── cut short ───────────────────────────────────────────────────────────────────────────────────────────
CHILD = """
import sys
from pathlib import Path
import numpy as np
from netsim.transcript.message import Message
from netsim.transcript.stream import TranscriptStream
spool = TranscriptStream(Path(sys.argv[1]), 2, batch=50)
k = 0
while True:
    told = Message(k % 5, "exchange", k, {"x" if k < 500 else "y": np.full((2, 3), float(k))})
    spool.door((k / 8, "sent", -1, told))
    for j in range(4):
        spool.capture((k / 8, k % 5, 5 + j, told))
    k += 1
    if k % 100 == 0:
        print(spool.rows, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_process_killed_in_the_middle_leaves_what_it_wrote(tmp_path):
    path = tmp_path / "killed.spool"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    written = [int(child.stdout.readline()) for _ in range(30)]
    child.send_signal(signal.SIGKILL)
    last = [int(line) for line in child.stdout.read().split("\n")[:-1]]
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    back = StreamedTranscript.open(path)
    assert "not closed" in back.note
    assert back.fields == ("x", "y")
    rows = list(back)
    assert len(rows) == len(back) >= [*written, *last][-1] > 5000
    per_message = 5
    for index, row in enumerate(rows[: len(rows) // 5 * 5 - 5]):  # what two taps say of one moment is together
        assert row.time * 8 == row.number
        assert (row.values["x" if row.number < 500 else "y"] == row.number).all()
        assert index // per_message == row.number


@pytest.mark.slow
def test_cut_anywhere_it_gives_the_whole_batches_before_the_cut(tmp_path):
    heard = [(float(k), 0, 1, message(0, k, **{"x" if k < 5 else "y": k})) for k in range(12)]
    whole = spooled(tmp_path / "whole.spool", heard, batch=4)
    expected = flat(whole)
    data, stops = whole.path.read_bytes(), [batch.stop for batch in whole._source.index]
    rows = np.cumsum([0, *(batch.rows for batch in whole._source.index)]).tolist()
    start = whole._source.index[0].start
    cut = tmp_path / "cut.spool"
    for length in range(0, len(data), 7):
        cut.write_bytes(data[:length])
        if length < start:
            with pytest.raises(TranscriptError, match=r"cut\.spool: neither"):
                StreamedTranscript.open(cut)
            continue
        back = StreamedTranscript.open(cut)
        complete = sum(stop <= length for stop in stops)
        assert len(back) == rows[complete]
        assert flat(back) == expected[: rows[complete]]
        assert back.dropped == length - [start, *stops][complete]
        assert "may be missing" in back.note
        assert (f"; {back.dropped:,} bytes of an unfinished batch" in back.note) == (back.dropped > 0)
    assert len(data) == stops[-1] + 8


def test_a_spool_that_still_grows_is_read_as_it_was(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 2, batch=1)
    spool.capture((0.0, 0, 1, message(0, 0, x=0)))
    early = StreamedTranscript.open(spool.path)
    spool.capture((1.0, 0, 1, message(0, 1, x=1)))
    assert [r.time for r in early] == [0.0]
    assert early.note == "not closed: its run was killed or goes on, and what was captured last may be missing"
    assert [r.time for r in spool.close()] == [0.0, 1.0]


def test_a_spool_of_nothing(tmp_path):
    back = spooled(tmp_path / "a.spool", replicas=3)
    assert (len(back), list(back), back.fields, back.note, back.replicas) == (0, [], (), "", 3)
    back.to_parquet(tmp_path / "a.parquet")
    assert len(Transcript.read(tmp_path / "a.parquet")) == 0
    assert list(StreamedTranscript.open(tmp_path / "a.parquet")) == []


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────
def test_interrupted_while_it_writes_it_writes_nothing_twice(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 2, batch=1)
    write = spool._stream.write_batch

    class Interrupted:
        def write_batch(self, *batch, **metadata):
            write(*batch, **metadata)
            raise KeyboardInterrupt

    stream, spool._stream = spool._stream, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        spool.capture((0.0, 0, 1, message(0, 0, x=0)))
    spool._stream = stream
    spool.capture((1.0, 0, 1, message(0, 1, x=1)))
    assert [r.time for r in spool.close()] == [0.0, 1.0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_with_the_file_and_the_rows():
    with pytest.raises(TranscriptError, match=r"/dev/full: cannot be written"):
        TranscriptStream(Path("/dev/full"), 1)


def test_a_write_that_fails_says_what_is_on_disk(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 2, batch=1)
    spool.capture((0.0, 0, 1, message(0, 0, x=0)))

    class Full:
        def write_batch(self, *_, **__):
            raise OSError(28, "No space left on device")

    spool._stream = Full()
    with pytest.raises(TranscriptError, match=r"after 1 rows.*No space"):
        spool.capture((1.0, 0, 1, message(0, 1, x=1)))
    with pytest.raises(TranscriptError, match="after 1 rows"):
        spool.capture((2.0, 0, 1, message(0, 1, x=1)))
    assert [r.time for r in spool.close()] == [0.0]


def test_what_is_heard_after_the_end_is_an_error(tmp_path):
    spool = TranscriptStream(tmp_path / "a.spool", 2, batch=1)
    assert list(spool.close()) == list(spool.close()) == []
    with pytest.raises(TranscriptError, match="closed after 0 rows"):
        spool.capture((0.0, 0, 1, message(0, 0, x=0)))


@pytest.mark.parametrize("numbers", [{"replicas": 0}, {"batch": 0}, {"memory": 0}])
def test_numbers_below_one_are_an_error(tmp_path, numbers):
    with pytest.raises(TranscriptError, match="at least 1"):
        TranscriptStream(tmp_path / "a.spool", **({"replicas": 1} | numbers))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(TranscriptError, match=r"a\.spool: cannot be written"):
        TranscriptStream(tmp_path / "none" / "a.spool", 1)
    with pytest.raises(TranscriptError, match=r"a\.spool: cannot be read"):
        StreamedTranscript.open(tmp_path / "none" / "a.spool")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"hello, world, this is no transcript", b"\x00" * 100])
def test_a_file_that_is_neither(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(TranscriptError, match="neither a spool nor a transcript"):
        StreamedTranscript.open(tmp_path / "a")


# ── asked afterwards ────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def forms(both, tmp_path):
    """One transcript in memory, as a spool, as Parquet, and as an attack gets it from disk."""
    transcript, spool = both
    spool.to_parquet(tmp_path / "a.parquet")
    return transcript, spool, StreamedTranscript.open(tmp_path / "a.parquet"), Transcript.stored(spool)


CHOICES = [
    ({"until": 0.8}, lambda r: r.time < 0.8), ({"since": 0.3, "until": 0.8}, lambda r: 0.3 <= r.time < 0.8),
    ({"sender": (0, 1), "receiver": EVERYBODY}, lambda r: r.sender in (0, 1) and r.receiver == EVERYBODY),
    ({"place": "link", "sender": 3}, lambda r: (r.place, r.sender) == ("link", 3)), ({"sender": 99}, lambda r: False),
    ({"kind": "ack"}, lambda r: r.kind == "ack"),
    ({"kind": ["exchange", "direct"], "sender": 1}, lambda r: r.kind in ("exchange", "direct") and r.sender == 1),
    ({"number": 3}, lambda r: r.number == 3),
    ({"number": range(2, 5), "place": "link"}, lambda r: 2 <= r.number < 5 and r.place == "link"),
    ({"sender": ()}, lambda r: False),
    ({"place": ("link", "node"), "since": 0.3, "receiver": 2}, lambda r: r.time >= 0.3 and r.receiver == 2),
]  # fmt: skip


@pytest.mark.slow
def test_the_same_words_choose_the_same_rows_everywhere(forms):
    for words, rule in CHOICES:
        expected = flat(filter(rule, forms[0]))
        for form in forms:
            assert flat(form.select(**words)) == expected, words
            assert len(form.select(**words)) == len(expected), words


def test_a_selection_of_what_no_row_has_is_told(forms):
    for form in forms:
        with pytest.raises(ScenarioError, match="sendr = 1: a transcript has no such column; did you mean 'sender'"):
            form.select(sendr=1)
        with pytest.raises(ScenarioError, match="until = 'x': is a text; allowed: a number"):
            form.select(until="x")


@pytest.mark.few(2)
def test_a_second_selection_narrows_the_first(forms):
    for form in forms:
        twice = form.select(0.2, sender=(0, 1)).select(until=1.0, sender=(1, 2), kind=("direct", "exchange"))
        rows = [r for r in forms[0] if 0.2 <= r.time < 1.0 and r.sender == 1 and r.kind in ("direct", "exchange")]
        assert flat(twice) == flat(rows)
        assert list(form.select(place="link").select(place="node")) == []


@pytest.mark.few(1)
def test_columns_without_values_are_those_of_the_rows(forms):
    for form in forms[1:3]:
        some = form.select(sender=(0, 1))
        parts = list(some.columns())
        assert all(set(part) == set(COLUMNS) for part in parts)
        rows = list(some)
        for name in COLUMNS:
            assert [value for part in parts for value in part[name].tolist()] == [getattr(r, name) for r in rows]


@pytest.mark.few(1)
def test_one_replica_is_written_without_the_others_in_memory(forms, tmp_path):
    transcript, *lazy = forms
    for index in range(transcript.replicas):
        expected = transcript.replica(index)
        expected.write(tmp_path / "expected.parquet")
        for form in lazy:
            one = form.replica(index)
            assert one.replicas == 1
            assert flat(one) == flat(expected)
        lazy[-1].replica(index).write(tmp_path / "one.parquet")
        assert pq.read_table(tmp_path / "one.parquet").equals(pq.read_table(tmp_path / "expected.parquet"))
    with pytest.raises(TranscriptError, match="replica 9 was requested"):
        lazy[0].replica(9)


@pytest.mark.few(3)
def test_a_transcript_on_disk_is_not_loaded_to_be_asked_or_written(both, tmp_path, monkeypatch):
    _, spool = both
    transcript = Transcript.stored(spool)
    monkeypatch.setattr(Transcript, "records", property(lambda self: pytest.fail("loaded")))
    transcript.select(kind="direct", sender=1).replica(0).write(tmp_path / "some.parquet")
    assert len(StreamedTranscript.open(tmp_path / "some.parquet")) == len(spool.select(kind="direct", sender=1))


# ── broadcasts ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("heard_on", ["all", ((0, 1), (1, 2), (3, 4))])
@pytest.mark.parametrize("misses", [{}, {"capture_loss": 0.3}, {"clock_error": 0.01}])
def test_a_spooled_run_is_the_run_in_memory(tmp_path, heard_on, misses):
    """Broadcasts too, which a spool hears once for all links that are tapped."""
    simulation = Simulation(
        synthetic_problem(), complete(5), DESCENT, NetworkSettings(LinkLaw(ConstantDelay(0.5))), replicas=2, seed=5,
        adversaries=(Adversary("ears", heard_on, nodes=(1,), **misses), Adversary("others", ((1, 4),))),
    )  # fmt: skip
    memory, disk = simulation.run(), changed(simulation, spool=tmp_path).run()
    for seen, spooled_view in zip(memory.views, disk.views, strict=True):
        assert flat(spooled_view.transcript) == flat(seen.transcript)
    assert memory.traffic == disk.traffic


def test_fans_count_as_the_rows_that_they_are(tmp_path):
    spool, told = TranscriptStream(tmp_path / "a.spool", 2, batch=100), [message(0, k, x=k) for k in range(200)]
    most = 0
    for k, one in enumerate(told):
        spool.fan((float(k), 0, tuple(range(1, 41)), one))
        most = max(most, sum(np.size(row[2]) for row in spool._captured))
        spool.capture((float(k), 0, 99, one))
    assert most < 140
    expected = [(float(k), 0, j, one) for k, one in enumerate(told) for j in [*range(1, 41), 99]]
    assert flat(spool.close()) == flat(Transcript.captured(expected, [], 2))
    assert spool.rows == len(expected)


ROWS = [
    Record(0.1 * k, "link", "air", k % 3, (k + 1) % 3, "exchange", k, -1, 0, 36, {"x": np.full((2, 2), float(k))})
    for k in range(9)
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A Parquet file of nine rows of two replicas."""
    path = tmp_path_factory.mktemp("whole") / "whole.parquet"
    write_records(ROWS, 2, path)
    return path


def read(path):
    transcript = StreamedTranscript.open(path)
    rows = list(transcript)
    sum(len(part["time"]) for part in transcript.columns())
    return rows


WRONG_COLUMNS = {
    "time": (pa.array(["text"] * 9), "column 'time' has string; allowed: float64"),
    "sender": (pa.array([1.5] * 9), "column 'sender' has double; allowed: whole numbers"),
    "receiver": (pa.array([None] * 9, pa.int64()), "column 'receiver' has rows without a value"),
    "number": (pa.array([-5] * 9), r"column 'number' has -5 … -5; allowed: -1 …"),
    "size": (pa.array([2**62] * 9), "column 'size' has 4611686018427387904 …"),
    "kind": (pa.array(["exchange"] * 8 + ["letter"]), "column 'kind' has 'letter'; allowed: exchange, direct"),
    "place": (pa.array([["link"]] * 9), "column 'place' has list<.*>; allowed: texts"),
    "value.x": (pa.array([1.0] * 9), "column 'value.x' has double; allowed: lists of float64"),
}
VALUES = {
    "text": (pa.array(["text"] * 9), "allowed: lists of float64"),
    "nested": (pa.array([[[[1.0]]]] * 9), "allowed: lists of float64"),
    "uneven": (pa.array([[1.0, 2.0, 3.0]] * 9), "a value of 3 numbers, which 2 replicas cannot share"),
    "missing": (pa.array([[1.0, None]] * 9), "values without a number"),
}
CASES = {**WRONG_COLUMNS, **{f"value.x {name}": case for name, case in VALUES.items()}}


@pytest.mark.parametrize("case", CASES)
def test_a_column_of_another_kind_is_named(whole, tmp_path, case):
    table, (column, problem), name = pq.read_table(whole), CASES[case], case.partition(" ")[0]
    pq.write_table(table.set_column(table.column_names.index(name), name, column), tmp_path / "f.parquet")
    with pytest.raises(TranscriptError, match=f"f.parquet: .*{problem}"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("replicas", [b"", b"0", b"-1", b"x", b"1e9", b"9" * 5000, b"99999999999"])
def test_a_number_of_replicas_that_none_has(whole, tmp_path, replicas):
    table = pq.read_table(whole)
    pq.write_table(table.replace_schema_metadata({b"replicas": replicas}), tmp_path / "f.parquet")
    with pytest.raises(TranscriptError, match="replicas = "):
        read(tmp_path / "f.parquet")


def test_columns_of_other_programs_are_read(whole, tmp_path):
    table = pq.read_table(whole)
    larger = {"place": pa.large_string(), "value.x": pa.large_list(pa.float64()), "sender": pa.int32()}
    fields = [pa.field(one.name, larger.get(one.name, one.type)) for one in table.schema]
    pq.write_table(table.cast(pa.schema(fields, metadata=table.schema.metadata)), tmp_path / "f.parquet")
    for one, other in zip(read(tmp_path / "f.parquet"), ROWS, strict=True):
        assert one[:-1] == other[:-1]
        assert np.array_equal(one.values["x"], other.values["x"])


def test_few_bytes_that_stand_for_more_than_the_memory_are_not_unfolded(whole, tmp_path, monkeypatch):
    table = pq.read_table(whole)
    flat = pa.array(np.zeros(9 * 2_000_000))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(10, dtype=np.int32) * 2_000_000), flat)
    pq.write_table(table.set_column(table.num_columns - 1, "value.x", lists), tmp_path / "f.parquet")
    assert (tmp_path / "f.parquet").stat().st_size < 100_000
    monkeypatch.setenv("NETSIM_MEMORY", str(10**8))
    with pytest.raises(NetsimError, match="asks for about 144 MB of memory"):
        list(StreamedTranscript.open(tmp_path / "f.parquet"))


def test_a_pipe_or_a_device_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    for place in (tmp_path / "pipe.parquet", tmp_path.parent.joinpath("/dev/zero")):
        with pytest.raises(TranscriptError, match="a pipe or a device"):
            StreamedTranscript.open(place)


@pytest.mark.slow
def test_damaged_files_are_read_or_refused(whole, tmp_path):
    data, ends = whole.read_bytes(), set()
    for k in range(250):
        rng = random.Random(k)
        (tmp_path / "f.parquet").write_bytes(damaged_table(data, rng))
        try:
            read(tmp_path / "f.parquet")
            ends.add("read")
        except NetsimError as error:
            ends.add("refused" if "f.parquet" in str(error) else f"without a name: {error}")
    assert ends == {"read", "refused"}
