"""`netsim deploy`: the folder of a run whose agents were processes, and what is refused before they start."""

import json

import pytest
from typer.testing import CliRunner

from netsim.transcript.transcript import Transcript
from scenarios.cli.app import app

runner = CliRunner()
SCENARIO = """
name: small
seed: 3
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 40, dimension: 3}, ridge: 0.5}
topology: {kind: ring, agents: 4}
adversary: {links: all}
algorithms: [{kind: extra, rounds: 6}]
replicas: 5
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.slow
def test_a_deployed_run_leaves_the_folder_of_a_simulated_one(file):
    """The same files and messages, beside captures and logs; both are compared."""
    simulated = runner.invoke(app, ["run", str(file), "--out", "run", "-o", "replicas=1"])
    done = simulated, runner.invoke(app, ["deploy", str(file), "--out", "deploy"])
    assert [one.exit_code for one in done] == [0, 0], done[1].output
    assert "between processes, captured on TCP" in " ".join(done[1].output.split())
    names = {word: {one.name for one in (file.parent / word).iterdir()} for word in ("run", "deploy")}
    assert names["deploy"] - names["run"] == {"deployed-extra"}
    assert names["run"] <= names["deploy"]
    rows = [Transcript.read(file.parent / word / "transcript-extra.parquet").on_links() for word in ("run", "deploy")]
    said = [
        sorted((r.sender, r.receiver, r.number, {n: v.tobytes() for n, v in r.values.items()}) for r in one)
        for one in rows
    ]
    assert said[0] == said[1]
    found = json.loads((file.parent / "deploy" / "results.json").read_text())["algorithms"][0]
    assert found["run"]["deployed"] is True
    assert found["gradients"]["estimated"] > 0
    both = runner.invoke(app, ["compare", "run", "deploy"])
    assert both.exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "timing.activation={rate: 1.0}"], "timing"),
        (["-o", "links.encrypted=true", "--clear"], "encrypted or authenticated"),
        (["--tls", "-o", "links.loss=0.1", "-o", "links.reliable=false"], "one stream"),
        (["--speed", "0"], "--speed"),
    ],
)
def test_what_cannot_be_deployed_is_said_before_anything_starts(file, options, words):
    done = runner.invoke(app, ["deploy", str(file), "--out", "out", *options])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert not (file.parent / "out").exists()
