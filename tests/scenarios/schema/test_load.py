"""A wrong scenario file gets one clear message: file, line, field, value, what is allowed."""

import pytest

from netsim.errors import AbsentDataError, ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.runner import checked
from tests.scenarios.files import mistaken
from tests.worlds import refusal

GOOD = mistaken.GOOD.replace(
    "audit: ",
    """\
  - kind: private_gradient_descent
    rounds: 5
    clip: {bound: 1.0}
    scale: {kind: geometric, first: 2.0, ratio: 0.9}
audit: """,
)


def refused(text: str) -> ScenarioError:
    """The error of a file that is wrong, at whatever stage before time 0 it is found."""
    return refusal(lambda: checked(parse(text, "small.yaml")))


def test_the_good_file_is_good():
    scenario = parse(GOOD, "small.yaml").scenario
    assert Experiment.of(scenario).topology.agents == 6
    assert scenario.algorithms[1].noise.delta == 1e-3  # YAML 1.2: a number


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "value", "said"),
    [
        # unknown field
        ("per_agent: 10", "peragent: 10", 14, "algorithms[1].peragent", 10, "did you mean 'per_agent'"),
        ("low: 0.01", "lo: 0.01", 7, "links.delay.lo", 0.01, "kind, low, high"),
        # wrong type
        ("links:\n  delay: {kind: uniform, low: 0.01, high: 0.03}\n  loss: 0.1", "links: fast", 6, "links", "fast",
         "a mapping of fields"),
        ("norm_bound: 4.0", "norm_bound: true", 4, "problem.data.norm_bound", True, "a number"),
        # out of range
        ("low: 0.01", "low: 0.5", 7, "links.delay.high", 0.03, ">= 0.5"),
        # not one of
        ("kind: dp_recal", "kind: mine", 13, "algorithms[1].kind", "mine",
         "unknown kind (an algorithm of your own: kind: python, path: FILE.py:CLASS"),
        ("kind: logistic", "kind: logit", 3, "problem.kind", "logit", "'softmax' or 'mlp'"),
        # missing
        ("rounds: 5", "name: five", 16, "algorithms[2].rounds", None, "missing"),
        ("topology: {kind: ring, agents: 6}", "", 1, "topology", None, "missing"),
        # what depends on other parts
        ("{kind: ring, agents: 6}", "{kind: edges, agents: 6, edges: [[0, 1], [1, 2], [3, 4]]}", 5, "topology",
         None, "disconnected: 3 components"),
        ("[1, 2]]", "[1, 4]]", 10, "adversary.links[1]", [1, 4], "not there; allowed: [0, 1], [0, 5]"),
        ("activations: 50", "activations: 50, step: 3.0", 12, "algorithms[0].step", 3.0, "0 < step < 2/(L+1)"),
        ("activations: 50", "first: 9, activations: 50", 12, "algorithms[0].first", 9, "0 … 5"),
        ("activations: 50", "first: 0", 12, "algorithms[0].activations", None, "a walk needs an end"),
        ("{agent: 1", "{agent: 6", 20, "audit.agent", 6, "0 … 5"),
        ("rounds: 5", "rounds: 5\n    step: 50.0", 18, "algorithms[2].step", 50.0, "0 < η_k < (1 + λ_min(W))/L"),
        ("name: plain", "name: DP-RECAL", 13, "algorithms[1].name", "DP-RECAL", "used twice"),
        ("{bound: 1.0}", "{bound: 1.0}\n    step: {kind: geometric, first: 0.5, ratio: 0}", 19,
         "algorithms[2].step.ratio", 0, "> 0"),
        ("    clip: {bound: 1.0}\n    scale: {kind: geometric, first: 2.0, ratio: 0.9}", "    scale: {epsilon: 1.0}",
         18, "algorithms[2].scale", None, "cannot be calibrated without clipping"),
        ("name: digits, norm_bound: 4.0", "name: synthetic", 15, "algorithms[1].noise", None, "norm_bound"),
        # a member of a union whose name is a field's name too
        ("{kind: ring, agents: 6}", "{kind: edges, edges: [[0, 1], [1, 2]]}", 5, "topology.agents", None, "missing"),
        ("{kind: ring, agents: 6}", "{kind: edges, agents: 3}", 5, "topology.edges", None, "missing"),
        ("{kind: ring, agents: 6}", "{kind: edges, agents: 3, edges: [[0, 1], [1]]}", 5, "topology.edges[1]", [1],
         "at least 2 entries"),
        ("{kind: ring, agents: 6}", "{agents: 6}", 5, "topology.kind", None, "missing; allowed: ring, complete"),
        # a field that may take several forms
        ("{epsilon: 1.0, delta: 1e-3}", "{foo: 1}", 15, "algorithms[1].noise.foo", 1,
         "unknown field; allowed: epsilon, delta; or stddev"),
        ("{epsilon: 1.0, delta: 1e-3}", "{}", 15, "algorithms[1].noise.epsilon", None, "epsilon, delta; or stddev"),
        ("{epsilon: 1.0, delta: 1e-3}", "loud", 15, "algorithms[1].noise", "loud",
         "allowed: {epsilon: …, delta: …} or {stddev: …}"),
        ("rounds: 5", "rounds: 5\n    step: big", 18, "algorithms[2].step", "big",
         "allowed: 'auto', a number, {kind: geometric, …}, {kind: polynomial, …} or {kind: uniform_draws, …}"),
        ("rounds: 5", "rounds: 5\n    step: -1", 18, "algorithms[2].step", -1, "out of range; allowed: >= 0"),
        ("rounds: 5", "rounds: 5\n    step: {kind: geo}", 18, "algorithms[2].step.kind", "geo", "geometric, poly"),
        ("rounds: 5", "rounds: 5\n    step: {kind: uniform_draws, low: 0.2, high: 0.1}", 18,
         "algorithms[2].step.high", 0.1, "> low = 0.2"),
        ("[[0, 1], [1, 2]]", "some", 10, "adversary.links", "some", "'all', a list, {kind: around, …}"),
        # agents and what they have
        ("{kind: ring, agents: 6}", "{kind: ring, agents: 361}", 5, "topology.agents", 361, "has 360; allowed: <="),
        ("{kind: ring, agents: 6}", "{kind: edges, agents: 3, edges: [[0, 1], [1, 2], [2, 2]]}", 5,
         "topology.edges[2]", [2, 2], "an agent is not its own neighbor; allowed: two different agents"),
        ("{kind: ring, agents: 6}", "{kind: ring, agents: 358}\nattacks: {images: true}", 6, "attacks.images", True,
         "358 agents cannot hold an image each"),
    ],
)  # fmt: skip
def test_one_clear_message(old, new, line, field, value, said):
    assert old in GOOD
    error = refused(GOOD.replace(old, new, 1))
    assert (error.field, error.line) == (field, line)
    assert value is None or error.value == value
    text = str(error)
    assert text.startswith(f"small.yaml:{line}: {field}")
    assert said in text
    assert "it has no default" not in text
    assert "\n" not in text
    assert len(text) < 700  # the longest names every kind of algorithm


@pytest.mark.parametrize("name", sorted(library()))
def test_shipped_scenarios_are_valid_and_described(name):
    scenario = load_scenario(name).scenario
    assert scenario.name == name
    assert scenario.title
    assert scenario.description
    try:
        Experiment.of(scenario)
    except AbsentDataError as error:
        pytest.skip(f"data set not present: {error}")


def test_a_name_used_twice_is_said_with_the_other_mistakes():
    twice = GOOD.replace("kind: dp_recal", "kind: private_gradient_descent").replace(
        "activations: 50", "activations: -1"
    )
    found = [(one.line, one.field) for one in refused(twice).each()]
    assert "algorithms[2].name" in [field for _, field in found]
    assert found == sorted(found)
    assert len(found) > 1
