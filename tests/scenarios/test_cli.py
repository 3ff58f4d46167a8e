"""The command line: what it prints, and its exit status."""

import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from scenarios.cli import app
from scenarios.loader import library
from tests.scenarios.small import SMALL

runner = CliRunner()


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_list_names_every_shipped_scenario():
    done = runner.invoke(app, ["list"])
    assert done.exit_code == 0
    for name in library():
        assert name in done.output


def test_show_prints_the_file_as_it_is():
    for name, text in library().items():
        assert runner.invoke(app, ["show", name]).output == text
    wrong = runner.invoke(app, ["show", "nothing"])
    assert wrong.exit_code == 2


def test_run_says_the_verdicts_and_where_the_report_is(file):
    done = runner.invoke(app, ["run", str(file), "--out", "out"])
    assert done.exit_code == 1  # a claim is unprotected
    assert "unprotected" in done.output
    assert "consistent" in done.output
    assert "600 of 600 private gradients recovered" in done.output
    assert "6 of 6 training images rebuilt" in done.output
    assert "No training image rebuilt" in done.output
    assert "out/report.html" in done.output
    assert (file.parent / "out" / "report.html").exists()


def test_without_a_false_claim_the_status_is_0(file):
    sound = [line for line in SMALL.splitlines(keepends=True) if "name: leaky" not in line]
    file.write_text("".join(sound))
    assert runner.invoke(app, ["run", str(file)]).exit_code == 0
    assert len(list((file.parent / "results" / "small").iterdir())) == 1  # a folder of its own per run


def test_wrong_input_is_one_line_and_status_2(file):
    file.write_text(SMALL.replace("loss: 0.1", "loss: 2"))
    done = runner.invoke(app, ["run", str(file)])
    assert done.exit_code == 2
    message = done.stderr.strip()
    assert message.count("\n") == 0
    assert "small.yaml:12: links.loss = 2: out of range; allowed: < 1" in message
    assert not (file.parent / "results").exists()


def test_a_lost_baton_is_told_and_status_70(file):
    file.write_text(SMALL.replace("reliable: true", "reliable: false"))
    done = runner.invoke(app, ["run", str(file)])
    assert done.exit_code == 70
    assert "DeadlockError" in done.stderr
    assert "waits for any message from" in done.stderr
    assert "packets were lost" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_keeps_the_folder_and_gives_status_130(file):
    file.write_text(SMALL.replace("activations: 600", "activations: 10000000"))
    command = [sys.executable, "-c", "from scenarios.cli import main; main()", "run", str(file), "--out", "out"]
    process = subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (file.parent / "out" / "results.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, output + errors
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    assert '"status": "interrupted"' in (file.parent / "out" / "results.json").read_text()
    assert (file.parent / "out" / "transcript-plain.parquet").exists()
