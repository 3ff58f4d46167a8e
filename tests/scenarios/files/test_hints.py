"""What somebody meant: a value in the wrong form gets the right form, and nothing that would be wrong, too."""

import pytest

from netsim.errors import ScenarioError
from scenarios.schema.load import parse
from tests.scenarios.command import cli
from tests.scenarios.files.mistaken import GOOD

DESCENT = "{kind: private_gradient_descent, rounds: 5, clip: {bound: 1.0}}"
ONE = GOOD.replace("{kind: recal, name: plain, activations: 50}", DESCENT)
DELAY = "{kind: uniform, low: 0.01, high: 0.03}"


@pytest.mark.parametrize(
    ("text", "setting", "meant"),
    [
        (ONE, "algorithms[0].epsilon=1.0", "unknown field; did you mean scale: {epsilon: 1.0}?"),
        (ONE, "attacks={data: [dlg]}", "did you mean 'reconstruct'?"),
        (GOOD, "adversary.loss=0.1", "did you mean 'capture_loss'?"),
        (ONE, "algorithms[0].clip=1.0", "wrong type: a number; did you mean {bound: 1.0}?"),
        (ONE, "algorithms[0].rounds=.inf", "wrong type: no finite number"),
        (GOOD.replace("loss: 0.1", "loss: 0,02"), None, "did you mean 0.02, with a decimal point?"),
        (GOOD.replace(DELAY, "10ms"), None, "in seconds; did you mean {kind: constant, seconds: 0.01}?"),
        (ONE, "topology.kind=graphml", "unknown kind; did you mean {kind: file, path: …}?"),
        (ONE, "topology={kind: ring}", "topology.agents: missing; allowed: a whole number"),
        (ONE, "links.delay={kind: lognormal, median: 0.1}", "links.delay.sigma: missing; allowed: a number"),
        (GOOD, "algorithms={kind: recal}", "a list of one, with a hyphen and a space before its first field?"),
    ],
)
def test_the_right_form_is_offered(text, setting, meant):
    with pytest.raises(ScenarioError) as caught:
        parse(text, "small.yaml", [setting] if setting else [])
    (one,) = caught.value.each()
    assert meant in one.sentence()


def test_a_claim_out_of_range_is_not_told_to_be_a_schedule():
    with pytest.raises(ScenarioError) as caught:
        parse(ONE, "small.yaml", ["algorithms[0].scale={epsilon: 0}"])
    assert [one.field for one in caught.value.each()] == ["-o algorithms[0].scale.epsilon"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["report", "r/nothing"], "no such folder"),
        (["report", "."], "no results folder: it has no results.json"),
        (["attack", "r/nothing"], "no such folder or file"),
    ],
)
def test_a_missing_folder_is_said_to_be_one(tmp_path, monkeypatch, words, why):
    monkeypatch.chdir(tmp_path)
    done = cli(*words, ends=2, stderr=why)
    assert "shipped scenario of this name" not in done.stderr
