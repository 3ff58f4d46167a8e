"""Kept transcripts: membership, properties and the traffic, scored where the truth can be made again."""

import json

import pytest
from typer.testing import CliRunner

from scenarios.cli.app import app
from scenarios.results.folder import read_results
from scenarios.results.serialize import dumps
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

runner = CliRunner()
SMALL = """\
name: kept
seed: 4
problem: {kind: logistic, data: {name: digits, norm_bound: 4.0}, ridge: 0.1}
topology: {kind: ring, agents: 4}
links: {delay: {kind: uniform, low: 0.01, high: 0.03}}
algorithms:
  - {kind: private_gradient_descent, name: plain, rounds: 3, step: 0.1}
attacks:
  gradients: false
  traffic: true
  holding: 5
  membership: {adjacency: replace, trials: 20, levels: [0.05]}
  property:
    trials: 10
    draws: 60
    hypotheses: [{name: zeros, shares: [0.6, 0.4]}, {name: ones, shares: [0.4, 0.6]}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("kept") / "run"
    (place.parent / "kept.yaml").write_text(SMALL)
    run_scenario(parse(SMALL), place, page=False)
    return place


def attacked(*asked):
    done = runner.invoke(app, ["attack", *map(str, asked), "--json"])
    assert done.exit_code == 0, done.stderr
    (one,) = json.loads(done.stdout)["algorithms"]
    return one


def test_traffic_is_what_the_run_found(folder):
    (entry,) = json.loads(dumps(read_results(folder)))["algorithms"]
    found = attacked(folder, "--attack", "traffic")
    assert found["traffic_analysis"] == entry["traffic_analysis"]
    assert found["sentences"][0].startswith("Times and sizes alone")


def test_without_the_truth_traffic_says_the_same_and_scores_nothing(folder, tmp_path):
    scored = attacked(folder, "--attack", "traffic")["traffic_analysis"]
    told = attacked(folder, "--attack", "traffic", "--no-score", "--out", tmp_path)["traffic_analysis"]
    for part in ("activity", "computing", "repeated", "lost", "dimension"):
        for key in ("events", "counts", "means", "packets", "low", "high", "refused", "slower"):
            assert told[part].get(key) == scored[part].get(key)
        assert told[part]["truth"] is None
    assert told["activity"]["activations"] is None


def test_a_transcript_alone_can_be_scored(folder, tmp_path):
    file, scenario = folder / "transcript-plain.parquet", folder.parent / "kept.yaml"
    asked = [file, "--scenario", scenario, "--out", tmp_path, "--attack", "traffic"]
    assert attacked(*asked)["traffic_analysis"]["activity"]["activations"] is None
    found = attacked(*asked, "--score")["traffic_analysis"]
    assert found["activity"]["activations"] == 12


def test_without_noise_every_record_is_found_and_none_that_is_not_in(folder):
    found = attacked(folder)["membership"]
    (level,) = found["levels"]
    assert found["scored"]
    assert level["found"]["count"] == level["found"]["of"] == len(found["agents"]) == 4
    assert (level["alarms"]["count"], level["alarms"]["of"]) == (0, 4)
    assert "100 %" in found["sentence"]


def test_without_the_truth_it_says_and_does_not_score(folder, tmp_path):
    found = attacked(folder, "--no-score", "--out", tmp_path)
    (level,) = found["membership"]["levels"]
    assert level["accepted"] == [4, 4]
    assert level["found"] is level["alarms"] is None
    assert found["property"]["right"] is None
    assert "not scored" in found["membership"]["sentence"]


def test_a_property_is_that_of_the_agents_own_labels(folder):
    found = attacked(folder)["property"]
    assert len(found["agents"]) == found["right"]["of"] == 4
    likeliest = {one["likeliest"] for one in found["agents"]}
    assert likeliest == {"zeros", "ones"}  # three of five, dealt in turn
    assert found["right"]["count"] >= 3


def test_a_record_alone_needs_no_scenario_word_and_a_property_does(folder, tmp_path):
    text = SMALL[: SMALL.index("  holding")]
    (tmp_path / "bare.yaml").write_text(text)
    file = folder / "transcript-plain.parquet"
    asked = [file, "--scenario", tmp_path / "bare.yaml", "--out", tmp_path]
    found = attacked(*asked, "--attack", "membership", "--score")["membership"]
    assert found["adjacency"] == "remove"
    assert found["levels"][1]["found"]["rate"] == 1
    assert found["levels"][1]["alarms"] is None
    wrong = runner.invoke(app, ["attack", *map(str, asked), "--attack", "property"])
    assert wrong.exit_code == 2
    assert "names no hypotheses to choose between" in wrong.stderr


def test_the_terminal_has_a_sentence_for_each(folder):
    done = runner.invoke(app, ["attack", str(folder)])
    assert done.exit_code == 0
    for words in ("Times and sizes alone", "Membership: ", "Property: named"):
        assert words in done.output
