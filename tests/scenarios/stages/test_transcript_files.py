"""What a run leaves of its transcript: at the end, after a kill, after Ctrl-C, after an error."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from netsim.errors import DeadlockError, TranscriptError
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from netsim.transcript.stored import StreamedTranscript
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.netsim.transcript.test_stored import flat
from tests.scenarios.small import SMALL

ROOT = Path(__file__).parents[3]
QUICK = """\
name: quick
replicas: 3
topology: {kind: ring, agents: 4}
links: {delay: {kind: uniform, low: 0.01, high: 0.03}, loss: 0.1, reliable: true}
problem: {data: {name: synthetic, norm_bound: 1.0, records: 40, dimension: 3}}
algorithms: [{kind: dp_recal, name: walk, per_agent: 12}]
"""
LONG = QUICK.replace("{kind: dp_recal, name: walk, per_agent: 12}", "{kind: recal, name: walk, activations: ACT}")


def ran(tmp_path, spec="", text=QUICK):
    folder = tmp_path / "out"
    run_scenario(parse(text + (f"transcript: {spec}\n" if spec else "")), folder, page=False)
    return folder, {path.name for path in folder.glob("transcript*")}


def test_a_finished_run_leaves_the_file_and_no_spool(tmp_path):
    folder, names = ran(tmp_path)
    assert names == {"transcript-walk.parquet"}
    assert Transcript.read(folder / "transcript-walk.parquet").replicas == 1


def test_the_file_is_the_same_with_and_without_a_spool(tmp_path):
    written, _ = ran(tmp_path / "a")
    memory, names = ran(tmp_path / "b", "{spool: none}")
    assert names == {"transcript-walk.parquet"}
    ours, theirs = (Transcript.read(folder / "transcript-walk.parquet") for folder in (written, memory))
    assert flat(ours) == flat(theirs)
    assert (written / "results.json").read_text().replace("temporary", "none") == (
        memory / "results.json"
    ).read_text()


def test_all_replicas_and_the_spool_too_if_asked(tmp_path):
    folder, names = ran(tmp_path, "{replicas: all, spool: kept}")
    assert names == {"transcript-walk.parquet", "transcript-walk"}
    whole = Transcript.read(folder / "transcript-walk.parquet")
    assert whole.replicas == 3
    assert flat(StreamedTranscript.open(folder / "transcript-walk" / "eavesdropper.spool")) == flat(whole)
    first, _ = ran(tmp_path / "first")
    assert flat(Transcript.read(first / "transcript-walk.parquet")) == flat(whole.replica(0))


def test_a_run_that_deadlocks_keeps_what_was_recorded_and_says_the_last_of_it(tmp_path):
    with pytest.raises(DeadlockError) as caught:
        ran(tmp_path, text=SMALL.replace("reliable: true", "reliable: false"))
    folder = tmp_path / "out"
    assert {path.name for path in folder.glob("transcript*")} == {"transcript-plain.parquet"}
    last = Transcript.read(folder / "transcript-plain.parquet").records[-1]
    words = f"last recorded: t={last.time:g} s, {last.sender} → {last.receiver}, direct {last.number}, attempt 0"
    assert words in caught.value.__notes__


def test_little_that_was_heard_is_on_disk_soon_too(tmp_path, monkeypatch):
    """After every look here, so that batches come where real time puts them; the file does not depend on it."""
    usual, _ = ran(tmp_path / "usual")
    monkeypatch.setattr("scenarios.stages.runner.FLUSH", 0.0)
    monkeypatch.setattr("scenarios.stages.runner.EVERY", 0.0)
    often, _ = ran(tmp_path / "often")
    first, second = (folder / "transcript-walk.parquet" for folder in (usual, often))
    assert first.read_bytes() == second.read_bytes()


def test_drafts_of_a_run_that_was_killed_go_with_the_next_one(tmp_path):
    """Also those of one that was killed before its manifest was there; what looks alike stays."""
    draft = f"manifest.json.{'0af' * 10}00.part"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / draft).touch()
    folder, _ = ran(tmp_path)
    assert not (folder / draft).exists()
    (folder / draft.replace("manifest.json", "transcript-walk.parquet")).touch()
    (folder / "mine.part").touch()
    ran(tmp_path)
    assert [path.name for path in folder.glob("*.part")] == ["mine.part"]


def test_a_former_runs_files_are_not_taken_for_this_ones(tmp_path, monkeypatch):
    folder, _ = ran(tmp_path, "{spool: kept}")
    monkeypatch.setattr(
        "scenarios.stages.runner._Session._watched", lambda *_: (_ for _ in ()).throw(ZeroDivisionError)
    )
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path)
    assert list(folder.glob("transcript*")) == []


def test_no_spool_is_removed_before_its_file_is_whole(tmp_path, monkeypatch):
    def full(*_):
        raise TranscriptError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(StreamedTranscript, "to_parquet", full)
        with pytest.raises(TranscriptError, match="no space"):
            ran(tmp_path)
    folder = tmp_path / "out"
    assert {path.name for path in folder.glob("transcript*")} == {"transcript-walk"}
    left = StreamedTranscript.open(folder / "transcript-walk" / "eavesdropper.spool")
    whole, _ = ran(tmp_path / "whole")
    assert flat(left.replica(0)) == flat(Transcript.read(whole / "transcript-walk.parquet"))


# ── cut short ───────────────────────────────────────────────────────────────────────────────────────────
def started(folder: Path, activations: int):
    file = folder / "long.yaml"
    file.write_text(LONG.replace("ACT", str(activations)))
    command = [sys.executable, "-c", "from scenarios.cli.app import main; main()", "run", str(file), "--out", "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def wait_for(path: Path, size: int) -> None:
    deadline = time.monotonic() + 60
    while (not path.exists() or path.stat().st_size < size) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.stat().st_size >= size


def begins_as_the_complete_run(left, place):
    """Its first 2,000 rows; that a file which was cut holds whole rows is a test of `netsim.transcript`."""
    folder, _ = ran(place, text=LONG.replace("ACT", "2000"))
    complete = StreamedTranscript.open(folder / "transcript-walk.parquet")
    return flat(islice(left, 2000)) == flat(islice(complete, 2000))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_a_killed_command_leaves_a_prefix_of_the_complete_run(tmp_path):
    process = started(tmp_path, 10_000_000)
    spool = tmp_path / "out" / "transcript-walk" / "eavesdropper.spool"
    wait_for(spool, 200_000)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "transcript-walk.parquet").exists()
    left = StreamedTranscript.open(spool)
    assert "not closed" in left.note
    assert len(left) > 2_000
    assert begins_as_the_complete_run(left, tmp_path / "whole")


def test_many_rows_of_a_run_that_somebody_ended_stay_in_the_spool(tmp_path, monkeypatch):
    run = Simulation.run

    def ended(self, watch=None, **options):
        return replace(run(self, watch, **options), interrupted=True)

    monkeypatch.setattr(Simulation, "run", ended)
    names = []
    for most in (3, 10**6):
        monkeypatch.setattr("scenarios.stages.outputs.LEFT", most)
        folder, _ = ran(tmp_path / str(most))
        names.append({path.name for path in folder.glob("transcript*")})
    assert names == [{"transcript-walk"}, {"transcript-walk.parquet"}]
    whole = Transcript.read(tmp_path / str(10**6) / "out" / "transcript-walk.parquet")
    left = StreamedTranscript.open(tmp_path / "3" / "out" / "transcript-walk" / "eavesdropper.spool")
    assert flat(left.replica(0)) == flat(whole)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_ctrl_c_leaves_the_file_and_no_spool(tmp_path):
    process = started(tmp_path, 10_000_000)
    wait_for(tmp_path / "out" / "transcript-walk" / "eavesdropper.spool", 200_000)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, output + errors
    assert {path.name for path in (tmp_path / "out").glob("transcript*")} == {"transcript-walk.parquet"}
    kept = StreamedTranscript.open(tmp_path / "out" / "transcript-walk.parquet")
    assert begins_as_the_complete_run(kept, tmp_path / "whole")
