"""What somebody meant: a value in the wrong form gets the right form, and nothing that would be wrong, too."""

import pytest

from netsim.errors import ScenarioError
from scenarios.schema.load import parse
from scenarios.sweep.points import load_sweep, points
from tests.scenarios.command import cli
from tests.scenarios.files.mistaken import GOOD

DESCENT = "{kind: private_gradient_descent, rounds: 5, clip: {bound: 1.0}}"
ONE = GOOD.replace("{kind: recal, name: plain, activations: 50}", DESCENT)
DELAY = "{kind: uniform, low: 0.01, high: 0.03}"
RING = "{kind: ring, agents: 6}"
PYTHON = "{kind: python, path: no.py:Mine, "
OWN = GOOD.replace("{kind: recal, name: plain, activations: 50}", PYTHON + "WHAT: 2}")


def delayed(law):
    """The good file with another delay."""
    return GOOD.replace(DELAY, law)


@pytest.mark.parametrize(
    ("text", "setting", "meant"),
    [
        (ONE, "algorithms[0].epsilon=1.0", "unknown field; did you mean scale: {epsilon: 1.0}?"),
        (ONE, "attacks={data: [dlg]}", "did you mean 'reconstruct'?"),
        (GOOD, "adversary.loss=0.1", "did you mean 'capture_loss'?"),
        (ONE, "algorithms[0].clip=1.0", "wrong type: a number; did you mean {bound: 1.0}?"),
        (ONE, "algorithms[0].rounds=.inf", "wrong type: no finite number"),
        (delayed("{kind: uniform, low: 0,01, high: 0.03}"), None, "; did you mean low: 0.01, with a decimal point?"),
        (GOOD.replace("loss: 0.1", "loss: 0,02"), None, "did you mean 0.02, with a decimal point?"),
        (GOOD.replace(DELAY, "10ms"), None, "in seconds; did you mean {kind: constant, seconds: 0.01}?"),
        (delayed("{kind: constant, seconds: 10ms}"), None, "text; in seconds; did you mean 0.01?; allowed: a number"),
        (GOOD, "links.bandwidth=1MB", "wrong type: text; in bytes; did you mean 1000000?; allowed: a number"),
        (ONE, "algorithms[0]={kind: python, path: 'a:B', claim: 1.0}", "a number; did you mean {epsilon: 1.0}?"),
        (ONE, "topology.kind=graphml", "unknown kind; did you mean {kind: file, path: …}?"),
        (ONE, "topology={kind: ring}", "topology.agents: missing; allowed: a whole number"),
        (ONE, "links.delay={kind: lognormal, median: 0.1}", "links.delay.sigma: missing; allowed: a number"),
        (GOOD, "algorithms={kind: recal}", "a list of one, with a hyphen and a space before its first field?"),
        (
            delayed("{kind:uniform, low: 1, high: 2}"),
            None,
            "missing; did you mean 'kind', with a space after the colon?",
        ),
        (
            delayed("{kind:uniform, low:1, high:2}"),
            None,
            "missing; did you mean 'kind', with a space after the colon?",
        ),
        (
            delayed("{law: uniform, low: 1, high: 2}"),
            None,
            "kind: missing; did you mean kind: uniform?; allowed: const",
        ),
        (
            delayed("{knd: uniform, low: 1, high: 2}"),
            None,
            "kind: missing; did you mean kind: uniform?; allowed: const",
        ),
        (
            delayed("{uniform: 1, low: 1, high: 2}"),
            None,
            "kind: missing; did you mean kind: uniform?; allowed: const",
        ),
        (GOOD.replace(RING, "{name: ring, agents: 6}"), None, "topology.kind: missing; did you mean kind: ring?"),
        (GOOD, "problem.data={kind: digits}", "problem.data.name: missing; did you mean name: digits?"),
        (
            GOOD.replace("kind: dp_recal", "kind:dp_recal"),
            None,
            ":13: not valid YAML: no space after 'kind'; allowed: ki",
        ),
        (
            ONE,
            "algorithms[0].scale={knd: geometric, first: 1, ratio: 0.5}",
            "scale.kind: missing; did you mean kind: geometric?",
        ),
        (
            ONE,
            "algorithms[0].scale={kind: laplace, scale: 1}",
            "unknown kind; allowed: a number, {kind: geometric, …}",
        ),
        (ONE, "algorithms[0].scale={kind: constant, value: 2}", "unknown kind; did you mean 2 alone?"),
        (ONE, "algorithms[0].scale={eps: 1.0}", "unknown field; did you mean 'epsilon'?"),
        (ONE, "algorithms[0].sigma=1.0", "unknown field; did you mean 'scale'?"),
        (
            ONE,
            "algorithms[0].scale=",
            "there is no value after the sign; allowed: algorithms[0].scale=VALUE; ",
        ),
        (
            GOOD.replace("name: small", "name = small"),
            None,
            ":1: not valid YAML: no colon after 'name'; allowed: name: s",
        ),
        (GOOD + "trials: 3\n", None, "unknown field; did you mean 'audit.trials' or 'attacks.membership.trials'?"),
        (GOOD + "agents: 3\n", None, "unknown field; did you mean 'access.agents' or 'topology.agents'?"),
        (GOOD.replace("agents: 6", "agents: 6, nodes: 6"), None, "nodes = 6: unknown field; did you mean 'agents'?"),
        (GOOD, "adversary=all", "wrong type: text; did you mean {links: all}?"),
        (GOOD, "problem=logistic", "wrong type: text; did you mean {kind: logistic}?"),
        (GOOD, "algorithms=[recal]", "wrong type: text; did you mean {kind: recal}?"),
        (GOOD, "algorithms=recal", "wrong type: text; did you mean [{kind: recal}]?"),
        (GOOD, "attacks={reconstruct: dlg}", "wrong type: text; did you mean [{kind: dlg}]?"),
        (GOOD, "attacks=[dlg]", "wrong type: a list; allowed: a mapping"),
        (GOOD, "links.outages=[[1, 2]]", "not one of the allowed values; allowed: {kind: scheduled"),
        (
            GOOD,
            "variants=[{name: a, set: {seed: 1}, links: 3}]",
            "links = 3: unknown field; did you mean set: {links: 3}?",
        ),
        (GOOD, "variants=[{name: a}]", "variants[0].set: missing"),
        (GOOD, "downtimes=3", "wrong type: a number; allowed: a list of {outages: …, effect: …, agents: …}"),
        (GOOD, "downtimes={agent: 1, end: 2}", "wrong type: a mapping; allowed: a list of {outages: …, effect: …"),
        (GOOD, "downtimes=[3]", "wrong type: a number; allowed: {outages: …, effect: …, agents: …}"),
        (GOOD, "topology.end=2", "topology.end = 2: unknown field; allowed: "),
        (GOOD, "adversary.between=[0, 1]", "unknown field; allowed: links, nodes,"),
        (GOOD, "link_overrides=[{between: 0, law: {}}]", "wrong type: a number; allowed: a list"),
        (
            GOOD,
            "link_overrides=[{between: [0, 1, 2], law: {}}]",
            "wrong type: a list of no lists; allowed: a list of",
        ),
        (
            GOOD,
            "link_overrides=[{between: [0, 1], law: {}}]",
            "wrong type: a list of no lists; did you mean [[0, 1]]?",
        ),
        (
            GOOD + "title: *plain\n",
            None,
            "small.yaml:17: not valid YAML: there is no anchor &plain above; allowed: an alias",
        ),
        (
            "a: &base {b: 1}\nc: *bsae\n",
            None,
            ":2: not valid YAML: there is no anchor &bsae above; did you mean 'base'?",
        ),
        (GOOD.replace("links: [[0, 1], [1, 2]]", "links: *"), None, ":10: not valid YAML: a * or & without a name"),
    ],
)
def test_the_right_form_is_offered(text, setting, meant):
    with pytest.raises(ScenarioError) as caught:
        parse(text, "small.yaml", [setting] if setting else [])
    (one,) = caught.value.each()
    assert meant in one.sentence()


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("options", "did you mean 'parameters'?"),
        ("file", "did you mean 'path'?"),
        ("rounds", "did you mean parameters: {rounds: 2}?"),
        ("epsilon", "did you mean claim: {epsilon: 2}, or parameters: {epsilon: 2}?"),
    ],
)
def test_a_field_beside_code_of_ones_own(word, meant):
    with pytest.raises(ScenarioError) as caught:
        parse(OWN.replace("WHAT", word), "small.yaml")
    assert meant in str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "grid: {links: {loss: [0.1, 0.2]}}",
            "wrong type: a mapping; did you mean links.loss: [0.1, 0.2]?; allowed: a",
        ),
        (
            "grid: [{links.loss: [0.1]}]",
            "wrong type: a list; did you mean the same without hyphens or brackets?; allo",
        ),
        ("grid: {links.loss: {low: 0, high: 1}}", "wrong type: a mapping; allowed: a list"),
        ("random: {links: {loss: {law: uniform, low: 0, high: 1}}}", "missing; did you mean links.loss: {law: …}?"),
        ("random: {links.loss: {kind: uniform, low: 0, high: 1}}", "law: missing; did you mean law: uniform?"),
        ("random: {links.loss: {law: normal, low: 0, high: 1}}", "unknown law; allowed: uniform, loguniform, choice"),
        ("random: {links.loss: {law: uniform, min: 0, high: 1}}", "unknown field; did you mean 'low'?"),
        ("random: {links.loss: [0, 1]}", "allowed: {law: uniform, …}, {law: loguniform, …} or {law: choice, …}"),
        (
            "random: {topology.agents: {law: uniform, low: 3, high: 9}}",
            "drawn with a fraction; did you mean {law: unif",
        ),
        (
            "random: {links.loss: {law: uniform, low: 0, high: 0.5, whole: true}}",
            "between ends of which high = 0.5 is",
        ),
    ],
)
def test_the_right_form_of_a_sweep_is_offered(text, meant):
    with pytest.raises(ScenarioError) as caught:
        points(load_sweep(f"scenario: small\n{text}\n", "sweep.yaml"), parse(GOOD, "small.yaml"))
    assert meant in str(caught.value)


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
