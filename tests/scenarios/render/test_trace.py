"""`netsim trace`: rows of a folder or a file, chosen, counted, exported; and what it refuses."""

import json
import os
import shutil
import struct
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from netsim.transcript import Transcript
from netsim.transcript import stored as reading
from netsim.transcript.message import COLUMNS, Kind, Message, Segment
from netsim.transcript.stored import StreamedTranscript
from netsim.transcript.stream import TranscriptStream
from scenarios.cli.report import KindName
from scenarios.render.terminal import console
from scenarios.render.trace import Totals
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli
from tests.scenarios.small import SMALL

WIDE = {"COLUMNS": "500"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("traced") / "small"
    text = SMALL.replace("attacks: {images: true}", "attacks: {gradients: false}").split("audit:")[0]
    run_scenario(parse(text), path)
    return path


@pytest.fixture(scope="module")
def rows(folder):
    return Transcript.read(folder / "transcript-leaky.parquet").records


def trace(*words, status=0):
    done = cli("trace", *words, env=WIDE, ends=status)
    return done.stdout if status == 0 else done.stderr


def remarks(*words):
    """What is said apart, of a command that succeeds."""
    done = cli("trace", *words, env=WIDE, ends=0)
    return done.stderr


def objects(*words):
    lines = [json.loads(line) for line in trace(*words, "--jsonl", "--limit", 0).splitlines()]
    document = trace(*words, "--json", "--limit", 0)
    assert json.loads(document) == lines
    assert not [line for line in document.splitlines() if line.startswith(",")]
    return lines


def test_json_is_every_row_of_the_transcript(folder, rows):
    printed = objects(folder, "--algorithm", "leaky", "--values")
    assert len(printed) == len(rows) > 40
    for one, row in zip(printed, rows, strict=True):
        assert {name: one[name] for name in COLUMNS} == {name: getattr(row, name) for name in COLUMNS}
        assert {name: np.array(value).tobytes() for name, value in one["values"].items()} == {
            name: value.tobytes() for name, value in row.values.items()
        }


def test_an_algorithm_is_chosen_by_its_name_too(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "named")
    manifest = tmp_path / "named" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"told"', '"Told!"'))
    assert objects(tmp_path / "named", "--algorithm", "Told!") == objects(folder, "--algorithm", "told")


CHOICES = [
    (["--from", 3, "--to", 4], lambda r: (r.sender, r.receiver) == (3, 4)),
    (["--from", 3, "--from", 1, "--kind", "ack"], lambda r: r.sender in (1, 3) and r.kind == "ack"),
    (["--since", 0.5, "--until", 1], lambda r: 0.5 <= r.time < 1),
    (["--number", 2, "--number", 3, "--kind", "direct"], lambda r: r.kind == "direct" and r.number in (2, 3)),
    (["--place", "node"], lambda r: False),
]


@pytest.mark.parametrize(("words", "rule"), CHOICES, ids=lambda one: str(one) if isinstance(one, list) else "")
def test_what_is_asked_is_what_is_told(folder, rows, words, rule):
    chosen = [r for r in rows if rule(r)]
    printed = objects(folder, "--algorithm", "leaky", *words)
    assert [(one["time"], one["sender"], one["number"]) for one in printed] == [
        (r.time, r.sender, r.number) for r in chosen
    ]
    for one, row in zip(printed, chosen, strict=True):
        assert one["norms"] == {name: [pytest.approx(np.linalg.norm(v), rel=1e-12)] for name, v in row.values.items()}
    size = sum(r.size for r in chosen)
    assert f"{len(chosen):,} rows, {size:,} bytes" in trace(folder, "--algorithm", "leaky", *words, "--limit", 0)
    assert f"{len(chosen):,} rows, {size:,} bytes" in trace(folder, "--algorithm", "leaky", *words, "--summary")


def test_a_row_reads_who_what_when(folder, rows):
    row = next(r for r in rows if r.kind == "direct")
    text = trace(folder, "--algorithm", "leaky", "--kind", "direct", "--limit", 1)
    line = next(line for line in text.splitlines() if f"{row.time:.6f}" in line)
    assert line.split()[1:7] == [str(row.sender), str(row.receiver), "on", "air", "direct", "0"]
    assert f"x={np.linalg.norm(row.values['x']):.4g}" in text
    assert "1 row, 1,044 bytes" in text
    assert "more match: --limit 0" in text
    narrow = cli("trace", folder, "--algorithm", "leaky", "--limit", 1, env={"COLUMNS": "60"}, ends=0).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    assert f"[{row.values['x'][0, 0]:.6g}, " in trace(folder, "--algorithm", "leaky", "--limit", 1, "--values")


def test_a_summary_counts_every_link_and_kind(folder, rows):
    printed = json.loads(trace(folder, "--algorithm", "leaky", "--summary", "--json"))
    assert (printed["rows"], printed["closed"], set(printed["events"])) == (len(rows), 0, {"air"})
    assert printed["span"] == [rows[0].time, rows[-1].time]
    air = printed["events"]["air"]
    assert (air["rows"], air["bytes"]) == (len(rows), sum(r.size for r in rows))
    for link in air["links"]:
        mine = [r.size for r in rows if (r.sender, r.receiver) == (link["sender"], link["receiver"])]
        assert (link["rows"], link["bytes"]) == (len(mine), sum(mine))
    assert sum(link["rows"] for link in air["links"]) == len(rows)
    assert air["kinds"]["ack"]["rows"] == sum(r.kind == "ack" for r in rows)
    sizes = [link["bytes"] for link in air["links"]]
    assert sizes == sorted(sizes, reverse=True)
    narrow = cli("trace", folder, "--algorithm", "leaky", "--summary", env={"COLUMNS": "40"}, ends=0).stdout
    assert max(map(len, narrow.splitlines())) <= 40
    assert "…" not in narrow.replace(" … ", "")  # no number is cut
    assert {"event", "from", "rows", "bytes", "share", f"{sizes[0]:,}"} <= {*narrow.split()}
    one_by_one = Totals()
    for row in rows:
        one_by_one.add(row)
    assert json.loads(one_by_one.as_json()) == printed


def test_spools_are_traced_as_files_are(tmp_path):
    with TranscriptStream(tmp_path / "a.spool", 2) as spool:
        for k in range(30):
            spool.capture(
                (k / 8, k % 3, 7, Message(k % 3, "direct", k, {"x": np.full((2, 2), np.nan if k == 3 else k)}))
            )
            spool.capture((k / 8, 7, k % 3, Segment(k, 0, None)))
        spool.door((9.0, "sent", -1, Message(2, "exchange", 0, {})))
    StreamedTranscript.open(tmp_path / "a.spool").to_parquet(tmp_path / "a.parquet")
    for words in ([], ["--kind", "direct", "--values"], ["--summary"], ["--json"], ["--to", -1], ["--replica", 1]):
        assert trace(tmp_path / "a.spool", *words) == trace(tmp_path / "a.parquet", *words)
    (broken,) = objects(tmp_path / "a.spool", "--number", 3)
    assert broken["norms"] == {"x": ["nan", "nan"]}
    assert "all" in trace(tmp_path / "a.spool", "--place", "node")


def test_a_few_rows_of_very_many_are_not_all_read(tmp_path, monkeypatch):
    with TranscriptStream(tmp_path / "a.spool", 1, batch=100) as spool:
        for k in range(20_000):
            spool.capture((float(k), 0, 1, Message(0, "direct", k, {"x": np.zeros((1, 1))})))
    read, load = [], reading._StreamFile._load
    monkeypatch.setattr(reading._StreamFile, "_load", lambda self, *a: read.append(a[1].rows) or load(self, *a))
    assert "20 rows" in trace(tmp_path / "a.spool")
    assert sum(read) <= 300
    spool.close().to_parquet(tmp_path / "a.parquet")
    size = (tmp_path / "a.parquet").stat().st_size
    assert "1 row, 28 bytes, 19999" in trace(tmp_path / "a.parquet", "--since", 19_999)
    assert size > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithm", "leaky", "--to", "9"], "--to = 9: no such agent; allowed: 0 … 5"),
        (["--algorithm", "none"], "--algorithm = 'none': no transcript of it; allowed: leaky, plain, told"),
        (["--algorithm", "leaky", "--from", "-1"], "--from = -1: out of range; allowed: >= 0"),
        ([], "several transcripts; choose one with --algorithm: leaky, plain, told"),
        (["--algorithm", "leaky", "--replica", "4"], "`transcript.replicas: all` in the scenario keeps them all"),
        (["--since", "5", "--until", "1"], "--until = 1.0: not after --since = 5"),
        (["--since", "nan"], "--since = nan: not a time"),
        (["--number", "-5"], "--number = -5: out of range; allowed: >= -1"),
        (["--summary", "--values"], "--values is of no use with --summary"),
        (["--summary", "--limit", "20"], "--limit is of no use with --summary"),
        (["--summary", "--replica", "0"], "--replica is of no use with --summary"),
        (["--json", "--replica", "0"], "--replica is of no use with --json"),
        (["--pcapng", "a", "--json"], "--json is of no use with --pcapng"),
        (["--pcapng", "a", "--summary"], "--summary is of no use with --pcapng"),
        (["--algorithm", "leaky", "--pcapng", "none/a.pcapng"], "--pcapng = 'none/a.pcapng': cannot be written"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(folder, words, message):
    printed = trace(folder, *words, status=2)
    assert message in printed
    assert printed.strip().count("\n") == 0


def test_places_that_hold_no_transcript(folder, tmp_path):
    assert "no results folder: it has no results.json" in trace(tmp_path, status=2)
    (tmp_path / "20260101-000000").mkdir()
    (tmp_path / "20260101-000000" / "results.json").touch()
    assert "a folder in it: 20260101-000000" in trace(tmp_path, status=2)
    assert "no such file or folder" in trace(tmp_path / "none", status=2)
    printed = trace(folder / "metrics-leaky.parquet", status=2)
    assert "the metrics of a run; its transcript is transcript-leaky.parquet" in printed
    (tmp_path / "empty.spool").touch()
    (tmp_path / "a.yaml").write_text("name: a scenario\n" * 100)
    (tmp_path / "cut.parquet").write_bytes((folder / "transcript-leaky.parquet").read_bytes()[:-40])
    files = [folder / "report.html", tmp_path / "a.yaml", tmp_path / "cut.parquet", tmp_path / "empty.spool"]
    for file in files:
        what = "give transcript-….parquet or ….spool of a results folder"
        what = f"a scenario is run first: `netsim run {file}`" if file.suffix == ".yaml" else what
        printed = trace(file, status=2)
        why = {"empty": " (an empty file)", "cut": " (a Parquet file that is cut off)"}.get(file.stem, "")
        assert printed.strip().endswith(f"neither a spool nor a transcript{why}; {what}"), printed
    printed = trace(folder / "transcript-leaky.parquet", "--algorithm", "leaky", status=2)
    assert "--algorithm chooses among those of a folder" in printed


def test_a_folder_whose_run_was_killed_is_traced_from_its_spools(tmp_path):
    for name in ("walk/eavesdropper", "talk/ear", "talk/eye"):
        (tmp_path / f"transcript-{name}.spool").parent.mkdir(exist_ok=True)
        with TranscriptStream(tmp_path / f"transcript-{name}.spool", 1) as spool:
            spool.capture((1.0, 0, 1, Message(0, "direct", len(name), {})))
    assert "choose one with --algorithm: talk.ear, talk.eye, walk" in trace(tmp_path, status=2)
    assert objects(tmp_path, "--algorithm", "talk.eye")[0]["number"] == len("talk/eye")
    assert objects(tmp_path / "transcript-walk") == objects(tmp_path, "--algorithm", "walk")
    assert objects(tmp_path / "transcript-walk", "--algorithm", "walk") == objects(tmp_path, "--algorithm", "walk")
    assert "choose one with --algorithm: ear, eye" in trace(tmp_path / "transcript-talk", status=2)
    (tmp_path / "transcript-talk" / "ear.spool").rename(tmp_path / "cut.spool")
    (tmp_path / "cut.spool").write_bytes((tmp_path / "cut.spool").read_bytes()[:-12])
    for words in ([], ["--summary"], ["--json"], ["--pcapng", tmp_path / "a.pcapng"]):
        assert "The spool was not closed" in remarks(tmp_path / "cut.spool", *words)
        assert "not closed" not in trace(tmp_path / "cut.spool", *words)


def test_without_a_manifest_agents_are_those_that_were_heard(folder, tmp_path):
    alone = shutil.copy(folder / "transcript-leaky.parquet", tmp_path)
    assert "--from = 9: no such agent; allowed: 0 … 5" in trace(alone, "--from", 9, status=2)
    assert "0 rows" in trace(alone, "--from", 3, "--since", 1e9)


def test_export_is_what_tshark_reads(folder, rows, tmp_path):
    tshark = shutil.which("tshark")
    printed = trace(folder, "--algorithm", "leaky", "--from", 3, "--pcapng", tmp_path / "a.pcapng")
    chosen = [r for r in rows if r.sender == 3]
    assert f"{len(chosen)} packets in " in printed
    if tshark is None:
        pytest.skip("tshark is not installed")
    done = subprocess.run(
        [tshark, "-n", "-r", str(tmp_path / "a.pcapng"), "-T", "fields",
         "-e", "ip.src", "-e", "ip.dst", "-e", "udp.length"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["10.0.0.3", f"10.0.0.{r.receiver}", str(8 + r.size)] for r in chosen
    ]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_who_has_seen_enough_is_no_error(folder):
    command = [sys.executable, "-c", "from scenarios.cli.app import main; main()", "trace", str(folder), "--json"]
    done = subprocess.Popen(
        [*command, "--algorithm", "plain", "--limit", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    done.stdout.close()
    errors = done.stderr.read()
    assert (done.wait(timeout=60), errors) == (0, b"")
    done.stderr.close()


def test_kinds_are_those_of_messages():
    assert tuple(map(str, KindName)) == get_args(Kind)


# ── what was heard in several ways ──────────────────────────────────────────────────────────────────────
DOORS = """\
name: doors
seed: 1
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 60, dimension: 4, noise: 0.1}, ridge: 0.5}
topology: {kind: complete, agents: 6}
links: {delay: {kind: uniform, low: 0.01, high: 0.05}, loss: 0.1}
exchange: {deadline: 0.04, instead: last_received}
messages: MESSAGES
adversary: {links: LINKS, nodes: [2, 4]}
algorithms:
  - {kind: private_gradient_descent, name: plain, rounds: 12}
attacks: {gradients: false}
"""
CODECS = [
    "{codec: {kind: float32}}", "{codec: {kind: quantizer, bits: 4}, header: 12}",
    "{codec: {kind: top_k, k: 2}, header: 33}", "{codec: {kind: fixed_point, bits: 10, limit: 8.0}, header: 0}",
]  # fmt: skip


def ran(path, messages="{}", links="all"):
    run_scenario(parse(DOORS.replace("MESSAGES", messages).replace("LINKS", links)), path, page=False)
    return Transcript.read(path / "transcript-plain.parquet").records


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    path = tmp_path_factory.mktemp("doors") / "both"
    ran(path)
    return path


def test_each_way_to_hear_is_counted_apart(doors):
    rows = Transcript.read(doors / "transcript-plain.parquet").records
    printed = json.loads(trace(doors, "--summary", "--json"))
    assert set(printed["events"]) == {"air", "sent", "received"}
    assert printed["closed"] == sum(r.event == "closed" for r in rows) > 0
    for event, one in printed["events"].items():
        mine = [r for r in rows if r.event == event]
        assert (one["rows"], one["bytes"]) == (len(mine), sum(r.size for r in mine))
        assert sum(link["rows"] for link in one["links"]) == len(mine)
        assert all(link["sender"] != link["receiver"] for link in one["links"])
    one_by_one = Totals()
    for row in rows:
        one_by_one.add(row)
    assert json.loads(one_by_one.as_json()) == printed


def test_shares_of_one_way_to_hear_add_up_and_say_how_many_links_are_left(doors):
    text = trace(doors, "--summary")
    printed = json.loads(trace(doors, "--summary", "--json"))
    assert f"… and {len(printed['events']['air']['links']) - 10} more links" in text
    links, kinds = text.split("kind ")
    for table in (links, kinds):
        for way in ("on air", "sent", "received"):
            lines = [line for line in table.splitlines() if f"  {way} " in line]
            assert sum(float(line.split()[-1].rstrip("%")) for line in lines) == pytest.approx(100, abs=1)
    assert f"{printed['closed']} exchanges closed" in text


@pytest.mark.few(1)
@pytest.mark.parametrize("messages", CODECS)
def test_any_codec_and_header_is_exported_as_it_was_sent(messages, tmp_path):
    rows = ran(tmp_path / "a", messages)
    for place, event in (("link", ("air",)), ("node", ("sent", "received"))):
        count = sum(r.event in event for r in rows)
        out = tmp_path / f"{place}.pcapng"
        assert f"{count} packets" in trace(tmp_path / "a", "--place", place, "--pcapng", out)
    sizes = [20 + 8 + r.size for r in rows if r.place == "link"]
    assert captured(tmp_path / "link.pcapng") == sizes
    whole = (tmp_path / "link.pcapng").read_bytes()
    trace(tmp_path / "a" / "transcript-plain.parquet", "--place", "link", "--pcapng", tmp_path / "b.pcapng")
    assert (tmp_path / "b.pcapng").read_bytes() == whole
    alone = shutil.copy(tmp_path / "a" / "transcript-plain.parquet", tmp_path)
    printed = trace(alone, "--pcapng", tmp_path / "c.pcapng", status=2)
    assert "float64 with a header of 20 bytes; trace it in its results folder" in printed


def captured(path):
    """The lengths of a capture's packets, read from its blocks."""
    data, at, lengths = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            lengths.append(struct.unpack_from("<I", data, at + 20)[0])
        at += length
    return lengths


def test_a_spool_in_its_folder_is_exported_by_the_manifest_one_further_up(tmp_path):
    text = DOORS.replace("MESSAGES", CODECS[0]).replace("LINKS", "all") + "transcript: {spool: kept}\n"
    run_scenario(parse(text), tmp_path / "a", page=False)
    for name, place in (("spool", tmp_path / "a" / "transcript-plain"), ("file", tmp_path / "a")):
        trace(place, "--pcapng", tmp_path / name)
    assert (tmp_path / "spool").read_bytes() == (tmp_path / "file").read_bytes()


def test_doors_alone_are_exported_when_that_is_asked(tmp_path):
    rows = ran(tmp_path / "a", links="[]")
    printed = trace(tmp_path / "a", "--pcapng", tmp_path / "a.pcapng", status=2)
    assert "none of these rows was captured on a link; --place node exports the others" in printed
    count = sum(r.event != "closed" for r in rows)
    assert f"{count} packets" in trace(tmp_path / "a", "--place", "node", "--pcapng", tmp_path / "a.pcapng")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--from", 3, "--to", 5], "no such link: 3 was captured sending to 2, 4"),
        (["--to", -1], "no such link: nothing for -1 was captured"),
        (["--place", "node"], "Nothing was captured at doors"),
        (["--kind", "sealed"], "no such kind; it has ack, direct"),
        (["--since", 1e9], "no such times; it goes from 0 to "),
        (["--from", 3, "--to", 2, "--number", 10_000], "but not together"),
    ],
)
def test_an_empty_answer_says_why(folder, words, why):
    for way in ([], ["--json"], ["--summary"]):
        assert why in remarks(folder, "--algorithm", "leaky", *words, *way)
    assert remarks(folder, "--algorithm", "leaky") == ""


# ── how it looks ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(6)
@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("place", [None, "link", "node"])
def test_nothing_is_cut_in_a_narrow_terminal(doors, width, place, monkeypatch):
    monkeypatch.setattr(console, "_width", width)
    words = [] if place is None else ["--place", place]
    printed = cli("trace", doors, "--limit", "60", *words)
    assert max(map(len, printed.stdout.splitlines()[:-1])) <= width
    assert "…" not in printed.stdout.splitlines()[1]
    rows = Transcript.read(doors / "transcript-plain.parquet").records
    for row in [r for r in rows if place in (None, r.place)][:60]:
        assert f"{row.time:.6f}" in printed.stdout  # and its fields, on one line or below it, unbroken
        for name, value in row.values.items():
            assert f"{name}={np.linalg.norm(value[0]):.4g}" in printed.stdout


def test_what_a_narrow_table_leaves_out_is_the_same_in_every_row(folder, monkeypatch):
    words = ["trace", str(folder), "--algorithm", "leaky", "--kind", "direct", "--values"]
    for width, left_out in ((45, True), (200, False)):
        monkeypatch.setattr(console, "_width", width)
        printed = cli(*words).stdout
        assert ("every row: event on air" in printed) == left_out
        assert ("on air  direct" in printed) != left_out
