"""Kept transcripts attacked: the same numbers as in the run, no truth without the same messages, files that open;
membership, properties and traffic, scored where the truth can be made again."""

import json

import numpy as np
import pandas as pd
import pytest

from scenarios.results.folder import read_results
from scenarios.results.tables import GRADIENT_COLUMNS, RECORD_COLUMNS
from scenarios.results.tree import dumps
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli

SMALL = """
name: small
seed: 5
replicas: {replicas}
problem: {{kind: logistic, data: {{name: digits, norm_bound: 4.0}}}}
topology: {{kind: ring, agents: 4}}
adversary: {adversary}
algorithms:
  - {{kind: recal, name: plain, activations: 40}}
  - {{kind: dp_recal, name: told, reading: sent_state, per_agent: 4, ratio: 1.05}}
attacks: {{reconstruct: [{{kind: posterior}}]}}
transcript: {{replicas: all}}
"""


def text(replicas=1, adversary="{}"):
    return SMALL.format(replicas=replicas, adversary=adversary)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("attacked") / "run"
    (place.parent / "small.yaml").write_text(text(3))
    run_scenario(parse(text(3)), place, page=False)
    return place


def found_by_run(folder):
    return json.loads(dumps(read_results(folder)))["algorithms"]


def attacked(*asked):
    done = cli("attack", *asked, "--json", ends=0)
    return json.loads(done.stdout)["algorithms"]


@pytest.mark.slow
def test_it_finds_what_the_run_found_and_the_truth_is_made_again(folder):
    for report, entry in zip(attacked(folder), found_by_run(folder), strict=True):
        assert report["truth"]["remade"]
        assert report["gradients"]["attack"] == entry["gradients"].pop("attack")
        assert report["gradients"]["scores"] == entry["gradients"]
        ours, theirs = report["reconstructions"]["attacks"][0], entry["reconstructions"]["attacks"][0]
        for name in ("verdict", "verdicts", "skill", "mse", "success"):
            assert ours[name] == theirs[name]


def test_estimates_open_in_pandas_with_the_documented_columns(folder):
    (report, _) = attacked(folder)
    frame = pd.read_parquet(report["gradients"]["estimates"])
    assert list(frame.columns) == list(GRADIENT_COLUMNS)
    assert len(frame) == sum(report["gradients"]["inferred"])
    assert frame["error"].max() == report["gradients"]["scores"]["worst"]
    assert len(frame["gradient"][0]) == 64
    records = pd.read_parquet(report["reconstructions"]["records"])
    assert list(records.columns) == list(RECORD_COLUMNS)
    assert set(records["agent"]) == {0, 1, 2, 3}
    assert set(records["seen"]) == {"recovered"}


@pytest.mark.slow
def test_without_the_truth_there_are_the_same_estimates_and_no_scores(folder, tmp_path):
    (scored, _), (report, _) = attacked(folder), attacked(folder, "--no-score", "--out", tmp_path)
    assert report["truth"] == {"remade": False, "seconds": None, "why_not": "not asked for"}
    assert report["gradients"]["scores"] is None
    one, two = (pd.read_parquet(each["gradients"]["estimates"]) for each in (scored, report))
    assert two["error"].isna().all()
    assert np.array_equal(np.stack(one["gradient"]), np.stack(two["gradient"]))
    (attack,) = report["reconstructions"]["attacks"]
    assert attack["verdict"] is None
    assert attack["seen"] == {"recovered": 4}
    assert report["reconstructions"]["originals"] is None


def test_other_attacks_can_be_named_and_the_informed_adversary_knows_all_but_one(folder):
    report, _ = attacked(folder, "--attack", "one-record", "--attack", "informed", "--algorithm", "plain") * 2
    names = [one["attack"] for one in report["reconstructions"]["attacks"]]
    assert names == ["one_record", "informed"]
    assert report["reconstructions"]["attacks"][0]["verdict"] == "recovered"
    assert attacked(folder, "--attack", "gradients")[0]["reconstructions"] is None
    cli("attack", folder, "--attack", "posterio", ends=2, stderr="did you mean 'posterior'?")
    asked = [folder, "--attack", "gradients", "--algorithm", "plain"]
    lines = cli("attack", *asked, ends=0, env={"COLUMNS": "40"}).stdout.splitlines()
    begun = [one for one in lines if one.startswith("·")]
    assert begun[1].startswith(f"{begun[0]} of the second")
    assert len(begun) == len({*begun})
    assert not [one for one in lines if len(one) > 40 and " " in one.strip()]


def test_a_transcript_alone_needs_its_scenario_and_is_scored_where_the_seed_makes_it_again(folder, tmp_path):
    file, scenario = folder / "transcript-plain.parquet", folder.parent / "small.yaml"
    asked = [file, "--scenario", scenario, "--out", tmp_path, "--algorithm"]
    (report,) = attacked(*asked, "plain")
    assert (sum(report["gradients"]["inferred"]), report["truth"]["remade"]) == (40, False)
    (report,) = attacked(*asked, "plain", "--score")
    assert report["truth"]["remade"]
    assert report["gradients"]["scores"]["worst"] < 1e-9
    cli("attack", *map(str, asked), "told", ends=2, stderr="'u_noisy' and 'x', the file has 'u' and 'x'")
    cli("attack", file, ends=2, stderr="--scenario")
    asked = [file, "--scenario", scenario, "-o", "seed=6", "--score", "--out", tmp_path, "--algorithm", "plain"]
    (report,) = attacked(*asked)
    assert not report["truth"]["remade"]
    assert "the seed makes another transcript here" in report["truth"]["why_not"]
    assert report["gradients"]["scores"] is None
    (report,) = attacked(
        file, "--scenario", scenario, "--out", tmp_path, "--algorithm", "plain", "--attack", "row_space"
    )
    assert "32 at most" in report["reconstructions"]["attacks"][0]["refused"]


def test_an_insider_knows_its_own_state_with_the_truth_and_its_door_without(tmp_path):
    run_scenario(parse(text(1, "{insiders: [0]}")), tmp_path / "run", page=False)
    entry = found_by_run(tmp_path / "run")[0]
    scored, unscored = attacked(tmp_path / "run")[0], attacked(tmp_path / "run", "--no-score")[0]
    assert scored["gradients"]["inferred"] == entry["gradients"]["inferred"]
    assert scored["gradients"]["scores"]["worst"] == entry["gradients"]["worst"]
    assert unscored["gradients"]["refused"] is None


@pytest.mark.slow
def test_a_scenario_is_run_without_its_audit_and_attacked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(text() + "audit: {trials: 50}\n")
    cli(
        "attack", "small.yaml", "--attack", "one_record", "--out", "out", ends=0,
        output="Scored: the truth was simulated again from the seed",
    )  # fmt: skip
    entry = found_by_run(tmp_path / "out")[0]
    assert entry["audit"] is None
    assert entry["reconstructions"]["attacks"][0]["attack"] == "one_record"
    assert (tmp_path / "out" / "estimates-plain.parquet").exists()
    (tmp_path / "other.yaml").write_text("extends: small.yaml\nname: other\n")
    cli(
        "attack", "other.yaml", "--attack", "one_record", "--out", "out", ends=2,
        stderr="--out = 'out': holds the results of another scenario, 'small'",
    )  # fmt: skip
    assert (tmp_path / "out" / "estimates-plain.parquet").exists()


# ── membership, properties, traffic ────────────────────────────────────────────────────────────────────
KEPT = """\
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


def decided(*asked):
    (one,) = attacked(*asked)
    return one


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    place = tmp_path_factory.mktemp("kept") / "run"
    (place.parent / "kept.yaml").write_text(KEPT)
    run_scenario(parse(KEPT), place, page=False)
    return place


def test_traffic_is_what_the_run_found(kept):
    (entry,) = json.loads(dumps(read_results(kept)))["algorithms"]
    found = decided(kept, "--attack", "traffic")
    assert found["traffic_analysis"] == entry["traffic_analysis"]
    assert found["sentences"][0].startswith("Times and sizes alone")


def test_without_the_truth_traffic_says_the_same_and_scores_nothing(kept, tmp_path):
    scored = decided(kept, "--attack", "traffic")["traffic_analysis"]
    report = decided(kept, "--attack", "traffic", "--no-score", "--out", tmp_path)["traffic_analysis"]
    for part in ("activity", "computing", "repeated", "lost", "dimension"):
        for key in ("events", "counts", "means", "packets", "low", "high", "refused", "slower"):
            assert report[part].get(key) == scored[part].get(key)
        assert report[part]["truth"] is None
    assert report["activity"]["activations"] is None


def test_a_transcript_alone_can_be_scored(kept, tmp_path):
    file, scenario = kept / "transcript-plain.parquet", kept.parent / "kept.yaml"
    asked = [file, "--scenario", scenario, "--out", tmp_path, "--attack", "traffic"]
    assert decided(*asked)["traffic_analysis"]["activity"]["activations"] is None
    found = decided(*asked, "--score")["traffic_analysis"]
    assert found["activity"]["activations"] == 12


def test_without_noise_every_record_is_found_and_none_that_is_not_in(kept):
    found = decided(kept)["membership"]
    (level,) = found["levels"]
    assert found["scored"]
    assert level["found"]["count"] == level["found"]["of"] == len(found["agents"]) == 4
    assert (level["alarms"]["count"], level["alarms"]["of"]) == (0, 4)
    assert "100\u202f%" in found["sentence"]


def test_without_the_truth_it_says_and_does_not_score(kept, tmp_path):
    found = decided(kept, "--no-score", "--out", tmp_path)
    (level,) = found["membership"]["levels"]
    assert level["accepted"] == [4, 4]
    assert level["found"] is level["alarms"] is None
    assert found["property"]["right"] is None
    assert "not scored" in found["membership"]["sentence"]


def test_a_property_is_that_of_the_agents_own_labels(kept):
    found = decided(kept)["property"]
    assert len(found["agents"]) == found["right"]["of"] == 4
    likeliest = {one["likeliest"] for one in found["agents"]}
    assert likeliest == {"zeros", "ones"}  # three of five, dealt in turn
    assert found["right"]["count"] >= 3


def test_a_record_alone_needs_no_scenario_word_and_a_property_does(kept, tmp_path):
    text = KEPT[: KEPT.index("  holding")]
    (tmp_path / "bare.yaml").write_text(text)
    file = kept / "transcript-plain.parquet"
    asked = [file, "--scenario", tmp_path / "bare.yaml", "--out", tmp_path]
    found = decided(*asked, "--attack", "membership", "--score")["membership"]
    assert found["adjacency"] == "remove"
    assert found["levels"][1]["found"]["rate"] == 1
    assert found["levels"][1]["alarms"] is None
    cli("attack", *asked, "--attack", "property", ends=2, stderr="names no hypotheses to choose between")


def test_the_terminal_has_a_sentence_for_each(kept):
    done = cli("attack", kept, ends=0)
    for words in ("Times and sizes alone", "Membership: ", "Property: named"):
        assert words in done.output
