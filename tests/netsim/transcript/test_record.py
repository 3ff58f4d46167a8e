"""What taps recorded: order, on disk and back, and each message once."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.adversary import Adversary
from netsim.algorithms import DPRecal, PrivateGradientDescent
from netsim.errors import TranscriptError
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import ring
from netsim.transcript import Transcript
from netsim.transcript.message import ACK_BYTES, COLUMNS, EVERYBODY, Segment
from netsim.transcript.stored import StreamedTranscript
from tests.netsim.transcript.test_stored import message
from tests.worlds import regression_problem


@pytest.fixture(scope="module")
def lossy():
    """A run over reliable links that lose a third, with a tap on every link and at agent 2."""
    problem = regression_problem(4)
    law = LinkLaw(UniformDelay(0.1, 1.0), loss=0.3, reliable=True, bandwidth=500.0)
    return Simulation(
        problem, ring(4), PrivateGradientDescent(5, Constant(0.1), Constant(1.0)), NetworkSettings(links=law),
        adversaries=(Adversary(nodes=(2,)),), replicas=3, seed=1,
    ).run()  # fmt: skip


@pytest.fixture(scope="module")
def walk():
    """A walk whose baton carries two fields, with taps at two agents only."""
    problem = regression_problem(4)
    return Simulation(
        problem, ring(4), DPRecal(0.1, activations=30, stddev=0.5), adversaries=(Adversary(links=(), nodes=(1, 2)),)
    ).run()  # fmt: skip


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────
def test_rows_are_in_order_of_time_and_stable():
    heard = [(2.0, 0, 1, message(0, 1, x=1)), (1.0, 0, 1, message(0, 0, x=0)), (2.0, 1, 0, message(1, 0, x=2))]
    doors = [(1.0, "sent", EVERYBODY, message(1, 0, x=3)), (1.0, "received", 1, message(0, 0, x=0))]
    rows = Transcript.captured(heard, doors, 2).records
    assert [(r.time, r.place, r.event, r.sender, r.receiver, r.number) for r in rows] == [
        (1.0, "link", "air", 0, 1, 0), (1.0, "node", "sent", 1, EVERYBODY, 0), (1.0, "node", "received", 0, 1, 0),
        (2.0, "link", "air", 0, 1, 1), (2.0, "link", "air", 1, 0, 0),
    ]  # fmt: skip


def test_its_length_is_known_before_its_rows_are_made():
    transcript = Transcript.captured([(0.0, 0, 1, message(0, 0, x=1))], [(0.0, "received", 1, message(0, 0, x=1))], 2)
    assert len(transcript) == 2 == len(transcript.records) == len(transcript)


def test_a_segment_and_its_acknowledgement():
    stored = message(0, 7, "direct", x=1)
    heard = [(0.0, 0, 1, Segment(4, 0, stored)), (1.0, 1, 0, Segment(4, 0, None)), (2.0, 0, 1, Segment(4, 1, stored))]
    data, ack, again = Transcript.captured(heard, [], 2)
    assert data[:-1] == (0.0, "link", "air", 0, 1, "direct", 7, 4, 0, stored.size)
    assert ack == (1.0, "link", "air", 1, 0, "ack", -1, 4, 0, ACK_BYTES, {})
    assert again[:-1] == (2.0, "link", "air", 0, 1, "direct", 7, 4, 1, stored.size)
    assert data.values["x"] is stored.values["x"]


def test_each_message_on_a_link_is_listed_once_in_order_of_its_first_attempt():
    first, second = message(0, 0, "direct", x=1), message(0, 1, "direct", x=2)
    heard = [
        (0.0, 0, 1, Segment(0, 0, first)), (0.1, 0, 1, Segment(1, 0, second)), (0.2, 0, 2, Segment(0, 0, first)),
        (0.3, 1, 0, Segment(1, 0, None)), (0.4, 0, 1, Segment(0, 1, first)),
        (0.5, 0, 1, message(0, 0, "exchange", x=9)),
    ]  # fmt: skip
    doors = [(0.0, "sent", 1, first)]
    rows = Transcript.captured(heard, doors, 2).on_links()
    assert [(r.time, r.receiver, r.kind, r.number) for r in rows] == [
        (0.0, 1, "direct", 0), (0.1, 1, "direct", 1), (0.2, 2, "direct", 0), (0.5, 1, "exchange", 0),
    ]  # fmt: skip


def test_a_node_row_belongs_to_the_door_it_passed(lossy, walk):
    rows = lossy.views[0].transcript.at_node(2)
    assert {(r.event, r.sender, r.receiver) for r in rows} == {
        ("sent", 2, EVERYBODY), ("received", 1, 2), ("received", 3, 2),
    }  # fmt: skip
    for agent in (1, 2):
        rows = walk.views[0].transcript.at_node(agent)
        assert all((r.sender if r.event == "sent" else r.receiver) == agent for r in rows)
        assert {r.event for r in rows} == {"sent", "received"}


def test_where_no_tap_sat_is_an_error(lossy):
    with pytest.raises(TranscriptError, match="agent 3"):
        lossy.views[0].at_node(3)


def test_a_value_that_its_message_has_not_is_said_with_those_that_it_has(lossy, tmp_path):
    """In memory and on disk, of all replicas or of one."""
    kept = lossy.views[0].transcript
    kept.write(tmp_path / "rows.parquet")
    on_disk = StreamedTranscript.open(tmp_path / "rows.parquet")
    for rows in (kept, kept.replica(1), on_disk, on_disk.replica(1)):
        row = next(one for one in rows if one.kind == "exchange")
        with pytest.raises(TranscriptError, match=r"values\['xx'\]: the message has none .*'x'\?.*it has 'x'\)"):
            row.values["xx"]
        assert row.values.get("xx") is None


def test_one_replica_of_a_transcript(lossy):
    transcript = lossy.views[0].transcript
    one = transcript.replica(1)
    assert one.replicas == 1
    assert [r[:-1] for r in one] == [r[:-1] for r in transcript]
    assert all((a.values["x"] == b.values["x"][1:2]).all() for a, b in zip(one, transcript, strict=True) if a.values)


# ── on disk ─────────────────────────────────────────────────────────────────────────────────────────────
def test_pandas_reads_the_documented_columns(lossy, tmp_path):
    transcript = lossy.views[0].transcript
    transcript.write(tmp_path / "transcript.parquet")
    frame = pd.read_parquet(tmp_path / "transcript.parquet")
    assert list(frame.columns) == [*COLUMNS, "value.x"]
    assert len(frame) == len(transcript)
    assert frame["time"].dtype == np.float64
    assert all(frame[name].dtype == np.int64 for name in ("sender", "receiver", "number", "attempt", "size"))
    acks = frame[frame["kind"] == "ack"]
    assert len(acks) > 0
    assert acks["value.x"].isna().all()
    row = int(frame.index[frame["kind"] == "exchange"][0])
    values = np.array(frame["value.x"][row]).reshape(transcript.replicas, -1)
    assert (values == transcript.records[row].values["x"]).all()


def test_what_is_not_a_transcript_is_an_error(tmp_path):
    (tmp_path / "text.parquet").write_text("not parquet at all")
    pq.write_table(pa.table({"time": [1.0]}), tmp_path / "other.parquet")
    why = {"missing": "cannot be read", "text": "nor a transcript", "other": "nor a transcript"}
    for name, problem in why.items():
        with pytest.raises(TranscriptError, match=f"{name}.parquet: .*{problem}"):
            Transcript.read(tmp_path / f"{name}.parquet")
