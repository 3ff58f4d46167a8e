"""Transcripts that anybody may have written: read, or refused with the file and the column; nothing else."""

import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netsim.errors import NetsimError, TranscriptError
from netsim.transcript.message import Record
from netsim.transcript.stored import StreamedTranscript, write_records
from tests.fuzz import damaged_table

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


COLUMNS = {
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
CASES = {**COLUMNS, **{f"value.x {name}": case for name, case in VALUES.items()}}


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
