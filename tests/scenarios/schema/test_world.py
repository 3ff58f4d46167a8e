"""Worlds as scenarios describe them: laws of links, exceptions, access lines, taps by rule; topologies; codecs."""

import json

import networkx as nx
import numpy as np
import pytest

from netsim import topology
from netsim.codecs import FixedPoint, Float16, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import ScenarioError
from netsim.network.laws import ConstantDelay, ExponentialDelay, GilbertElliott, RandomOutages, Scheduled, TraceDelay
from netsim.network.links import AccessLaw, ExchangePolicy
from netsim.readers.live import Downtime, PoissonClock
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario
from tests.worlds import refusal

FORM = """\
name: rough
seed: 3
problem:
  data: {{name: digits, norm_bound: 4.0}}
topology: {{kind: ring, agents: 5}}
{network}
algorithms:
  - {{kind: recal, activations: 40}}
"""
ROUGH = """\
links:
  delay: {kind: exponential, mean_excess: 0.01, least: 0.002}
  loss: {kind: gilbert_elliott, good_to_bad: 0.1, bad_to_good: 0.4}
  bandwidth: 1e5
  buffer: 4000
  duplication: 0.1
  outages: {kind: random, mean_up: 5.0, mean_down: 0.2}
  reordering: true
link_overrides:
  - between: [[0, 1]]
    law: {encrypted: true}
  - between: [[2, 1]]
    directed: true
    law: {outages: {kind: scheduled, intervals: [[1.0, 2.0], [5.0, .inf]]}, reliable: false}
access: {uplink: 1e6, agents: [2, 4]}
adversary: {links: {kind: around, agents: [1]}, clock_error: 1e-4}
"""
ACTIVITY = """\
exchange: {deadline: 0.2, instead: own_value}
activation: {kind: poisson, rate: 4}
compute: {kind: exponential, mean_excess: 0.01}
stragglers: [{agents: [3], compute: {kind: constant, seconds: 0.5}}]
downtimes:
  - {agents: [1, 2], outages: {kind: scheduled, intervals: [[1.0, 2.0]]}, effect: restart_without_state}
  - {agents: [4], outages: {kind: random, mean_up: 5, mean_down: 1}, effect: offline}
adversary: {insiders: [0, 2]}
"""


def experiment(network: str) -> Experiment:
    return Experiment.of(parse(FORM.format(network=network), "rough.yaml").scenario)


def refused(network: str) -> ScenarioError:
    return refusal(lambda: checked(parse(FORM.format(network=network), "rough.yaml")))


def test_everything_a_file_says_reaches_the_simulation():
    simulation = experiment(ROUGH).subjects[0].simulation
    law = simulation.network.links
    assert law.delay == ExponentialDelay(0.01, 0.002)
    assert law.loss == GilbertElliott(0.1, 0.4)
    assert (law.bandwidth, law.buffer, law.duplication) == (1e5, 4000, 0.1)
    assert law.outages == RandomOutages(5.0, 0.2)
    assert law.reordering
    assert law.reliable
    assert set(simulation.network.link_laws) == {(0, 1), (1, 0), (2, 1)}
    assert simulation.network.link_laws[1, 0].encrypted
    assert simulation.network.link_laws[2, 1].outages == Scheduled(((1.0, 2.0), (5.0, float("inf"))))
    assert simulation.network.access_laws == {2: AccessLaw(uplink=1e6), 4: AccessLaw(uplink=1e6)}
    assert simulation.adversaries[0].tapped(simulation.topology) == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_when_agents_act_reaches_the_simulation():
    simulation = experiment(ACTIVITY).subjects[0].simulation
    assert simulation.network.exchange_policy == ExchangePolicy(0.2, "own_value")
    assert simulation.timing.activation == PoissonClock(4.0)
    assert simulation.timing.compute_law(0) == ExponentialDelay(0.01)
    assert simulation.timing.compute_law(3) == ConstantDelay(0.5)
    away = Downtime(Scheduled(((1.0, 2.0),)), "restart_without_state")
    assert simulation.timing.downtimes == {1: away, 2: away, 4: Downtime(RandomOutages(5.0, 1.0), "offline")}
    assert simulation.adversaries[0].insiders == (0, 2)
    assert simulation.adversaries[0].tapped(simulation.topology) == frozenset()


def test_an_audited_agent_keeps_its_state():
    audit = "audit: {agent: 2, trials: 100}"
    assert experiment(f"{ACTIVITY.replace('[1, 2]', '[1]')}{audit}").pair is not None
    error = refused(f"{ACTIVITY}{audit}")
    assert error.field == "downtimes[0].effect"
    assert "audit follows one life of agent 2" in str(error)


def test_such_a_network_runs_and_its_tap_sees_what_it_can():
    gone = "outages: {kind: scheduled, intervals: [[1.0, 2.0], [5.0, .inf]]}, reliable: false"
    run = experiment(ROUGH.replace(gone, "loss: 0.5")).subjects[0].simulation.run()
    assert sum(run.activations) == 40
    assert run.traffic["packets_lost"] > 0
    kinds = {}
    for row in run.views[0].transcript:
        kinds.setdefault((min(row.sender, row.receiver), max(row.sender, row.receiver)), set()).add(row.kind)
    assert kinds[0, 1] == {"sealed"}
    assert kinds[1, 2] == {"direct", "ack"}


def test_traces_are_read_and_their_lines_are_named(tmp_path):
    good, bad = tmp_path / "delays.csv", tmp_path / "bad.csv"
    good.write_text("delay\n0.01\n0.02\n")
    bad.write_text("delay\n0.01\n-0.02\n")
    law = experiment(f"links: {{delay: {{kind: trace, file: {good}}}}}").subjects[0].simulation.network.links
    assert law.delay == TraceDelay(str(good))
    error = refused(f"links:\n  delay: {{kind: trace, file: {bad}}}")
    assert (error.file, error.line) == (str(bad), 3)
    error = refused("links:\n  delay: {kind: trace, file: none.csv}")
    assert (error.field, error.file, error.line) == ("links.delay.file", "rough.yaml", 7)


@pytest.mark.parametrize(
    ("network", "field", "said"),
    [
        ("links: {loss: {kind: gilbert_elliott, good_to_bad: 0.1}}", "links.loss.bad_to_good", "missing"),
        ("links: {loss: {kind: gilbert_elliott, good_to_bad: 2, bad_to_good: 0.1}}",
         "links.loss.good_to_bad", "0.0 … 1.0"),
        ("links: {buffer: 100}", "links.buffer", "a bandwidth too"),
        ("links: {duplication: 1.0}", "links.duplication", "< 1"),
        ("links: {delay: {kind: uniform, low: 2.0, high: 1.0}}", "links.delay.high", ">= 2"),
        ("links: {outages: {kind: scheduled, intervals: [[2.0, 1.0]]}}", "links.outages.intervals[0]", "to > 2"),
        ("link_overrides: [{between: [[0, 2]], law: {}}]", "link_overrides[0].between[0]", "an edge of the topology"),
        ("link_overrides: [{between: [[0, 1]], law: {buffer: 9}}]", "link_overrides[0].law.buffer", "a bandwidth"),
        ("access: {uplink: 0}", "access.uplink", "> 0"),
        ("access: {uplink: 10, agents: [1, 7]}", "access.agents[1]", "0 … 4"),
        ("adversary: {links: {kind: around, agents: [9]}}", "adversary.links.around[0]", "0 … 4"),
        ("adversary: {links: {kind: cut, agents: [0, 1, 2, 3, 4]}}", "adversary.links.cut", "not all"),
        ("adversary: {links: {kind: random, share: 1.5}}", "adversary.links.share", "0.0 … 1.0"),
        ("adversary: {clock_error: -1}", "adversary.clock_error", ">= 0"),
        ("adversary: {insiders: [1, 5]}", "adversary.insiders[1]", "0 … 4"),
        ("stragglers: [{agents: [1], compute: &c {kind: constant, seconds: 1}}, {agents: [2, 1], compute: *c}]",
         "stragglers[1].agents[1]", "named before"),
        ("downtimes: [{agents: [2, 2], outages: {kind: random, mean_up: 2, mean_down: 1}}]",
         "downtimes[0].agents[1]", "named before"),
        ("link_overrides: [{between: [[0, 1]], law: {}}, {between: [[1, 0]], directed: true, law: {}}]",
         "link_overrides[1].between[0]", "a law of its own already"),
        ("exchange: {deadline: -0.5}", "exchange.deadline", ">= 0"),
        ("exchange: {deadline: 1, instead: zero}", "exchange.instead", "own_value"),
        ("activation: {kind: poisson, rate: 0}", "activation.rate", "> 0"),
        ("activation: sometimes", "activation", "rounds"),
        ("compute: {kind: uniform, low: 2, high: 1}", "compute.high", ">= 2"),
        ("stragglers: [{agents: [5], compute: {kind: constant, seconds: 1}}]", "stragglers[0].agents[0]", "0 … 4"),
        ("downtimes: [{agents: [1], outages: {kind: scheduled, intervals: [[2, 1]]}}]",
         "downtimes[0].outages.intervals[0]", "to > 2"),
        ("downtimes: [{agents: [1, 9], outages: {kind: random, mean_up: 2, mean_down: 1}}]",
         "downtimes[0].agents[1]", "0 … 4"),
        ("downtimes: [{agents: [1], outages: {kind: random, mean_up: 2, mean_down: 1}, effect: gone}]",
         "downtimes[0].effect", "restart_with_state"),
    ],
)  # fmt: skip
def test_one_clear_message(network, field, said):
    error = refused(network)
    assert error.field == field
    assert said in str(error)
    assert error.line == 6


# ── topologies ───────────────────────────────────────────────────────────────────────────────────────
SMALL = """\
name: small
problem: {{kind: ridge, data: {{name: synthetic, kind: regression, records: 200, dimension: 2}}}}
topology: {{{topology}}}
algorithms:
  - {{kind: recal, activations: 5}}
"""


def network(text: str) -> topology.Topology:
    """The topology of a file; errors come with their line."""
    return checked(parse(SMALL.format(topology=text), "small.yaml")).topology


KINDS = {
    "kind: ring, agents: 5": topology.ring(5), "kind: complete, agents: 4": topology.complete(4),
    "kind: path, agents: 4": topology.path(4), "kind: star, agents: 4": topology.star(4),
    "kind: grid, rows: 3, columns: 4": topology.grid(3, 4), "kind: torus, rows: 3, columns: 4": topology.torus(3, 4),
    "kind: hypercube, dimension: 3": topology.hypercube(3),
    "kind: balanced_tree, branching: 2, height: 3": topology.balanced_tree(2, 3),
    "kind: random_tree, agents: 9, seed: 3": topology.random_tree(9, 3),
    "kind: random_regular, agents: 8, degree: 3, seed: 3": topology.random_regular(8, 3, 3),
    "kind: erdos_renyi, agents: 8, probability: 0.6, seed: 3": topology.erdos_renyi(8, 0.6, 3),
    "kind: erdos_renyi, agents: 8, links: 12, seed: 3": topology.erdos_renyi(8, seed=3, links=12),
    "kind: watts_strogatz, agents: 9, nearest: 4, probability: 0.5, seed: 3": topology.watts_strogatz(9, 4, 0.5, 3),
    "kind: barabasi_albert, agents: 9, attach: 2, seed: 3": topology.barabasi_albert(9, 2, 3),
    "kind: random_geometric, agents: 9, radius: 0.8, seed: 3": topology.random_geometric(9, 0.8, 3),
    "kind: edges, agents: 3, edges: [[0, 1], [1, 2]]": topology.from_edges(3, [(0, 1), (1, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("weights", ["metropolis", "lazy_metropolis"])
@pytest.mark.parametrize(("text", "expected"), KINDS.items())
def test_each_kind_is_its_builder(text, expected, weights):
    built = network(f"{text}, weights: {weights}")
    assert (built.name, built.edges, built.weighting) == (expected.name, expected.edges, weights)
    assert built.agents == expected.agents
    assert np.array_equal(built.weights, topology.Topology(expected.graph, weights=weights).weights)


def test_each_builder_has_a_kind():
    kinds = {text.split(",")[0].removeprefix("kind: ") for text in KINDS}
    assert kinds | {"file"} == set(topology.BUILDERS)


def test_a_matrix_in_the_file():
    built = network("kind: path, agents: 3, weights: [[0.5, 0.5, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]]")
    assert built.weights.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]


def test_lazy_weights_in_the_file():
    built = network("kind: ring, agents: 6, laziness: 0.85")
    assert np.allclose(np.diag(built.weights), 0.9)
    assert built.weights[0, 1] == pytest.approx(0.05)


def test_a_graph_from_a_file(tmp_path, monkeypatch):
    nx.write_graphml(nx.Graph([("Ada", "Bob"), ("Bob", "Cy")]), tmp_path / "friends.graphml")
    (tmp_path / "friends.links").write_text("Ada Bob\nBob Cy\n")
    monkeypatch.chdir(tmp_path)
    for text in ("path: friends.graphml", "path: friends.links, format: edges"):
        built = network(f"kind: file, {text}, weights: best_constant")
        assert built.labels == ("Ada", "Bob", "Cy")
        assert built.edges == ((0, 1), (1, 2))
        assert built.weights[0, 1] == pytest.approx(0.5)  # λ = 0, 1, 3


@pytest.mark.parametrize(
    ("text", "field", "value", "said"),
    [
        ("kind: grid, rows: 3", "topology.columns", None, "missing"),
        ("kind: grid, rows: 3, column: 4", "topology.column", 4, "did you mean 'columns'"),
        ("kind: grid, rows: 3, columns: 1001", "topology.columns", 1001, "1 … 1000"),
        ("kind: grid, rows: 1, columns: 1", "topology.columns", 1, ">= 2"),
        ("kind: torus, rows: 2, columns: 4", "topology.rows", 2, "3 … 1000"),
        ("kind: hypercube, dimension: 17", "topology.dimension", 17, "1 … 16"),
        ("kind: balanced_tree, branching: 1000, height: 9", "topology.height", 9, "links"),
        ("kind: random_tree, agents: 1", "topology.agents", 1, "2 … 1000000"),
        ("kind: ring, agents: 1000001", "topology.agents", 1000001, "3 … 1000000"),
        ("kind: complete, agents: 5000", "topology.agents", 5000, "up to 5,000,000 links"),
        ("kind: random_regular, agents: 5, degree: 3", "topology.degree", 3, "an even product"),
        ("kind: random_regular, agents: 4, degree: 4", "topology.degree", 4, "<= 3"),
        ("kind: random_regular, agents: 20, degree: 1", "topology", None, "10 components, {0, "),
        ("kind: watts_strogatz, agents: 9, nearest: 3, probability: 0.1", "topology.nearest", 3, "even, 2 … 8"),
        ("kind: watts_strogatz, agents: 9, nearest: 2, probability: 1.1", "topology.probability", 1.1, "0.0 … 1.0"),
        ("kind: barabasi_albert, agents: 4, attach: 4", "topology.attach", 4, "1 … 3"),
        ("kind: erdos_renyi, agents: 9, probability: 0.01", "topology", None, "another seed, or a probability"),
        ("kind: erdos_renyi, agents: 9, probability: 0.5, seed: -1", "topology.seed", -1, ">= 0"),
        ("kind: edges, agents: 4, edges: [[0, 1], [2, 3]]", "topology", None, "2 components, {0, 1} | {2, 3}"),
        ("kind: file, path: nowhere.graphml", "topology.path", "nowhere.graphml", "no such file"),
        ("kind: file, path: nowhere", "topology.format", "auto", "allowed: graphml, edges"),
        ("kind: file, path: ''", "topology.path", "", "text that is not empty"),
        ("kind: ring, agents: 4, weights: metropole", "topology.weights", "metropole", "'metropolis', 'lazy_me"),
        ("kind: star, agents: 4, weights: uniform", "topology.weights", "uniform", "column 0"),
        ("kind: ring, agents: 4, weights: max_degree", "topology.weights", "max_degree", "eigenvalue −1"),
        ("kind: path, agents: 2, weights: [[0.5, 0.5], [0.5, 0.4]]", "topology.weights[1]", 0.9, "row 1 sums to 0.9"),
        ("kind: path, agents: 2, weights: [[0.5, 0.5], [0.5]]", "topology.weights[1]", 1, "2 weights"),
        ("kind: path, agents: 2, weights: [[1.5, -0.5], [-0.5, 1.5]]", "topology.weights[0][0]", 1.5, "<= 1"),
        ("kind: path, agents: 2, weights: [[1.0]]", "topology.weights", (1, 1), "wrong shape"),
        ("kind: path, agents: 2, weights: []", "topology.weights", (0, 0), "wrong shape"),
    ],
)  # fmt: skip
def test_one_clear_message_of_a_topology(text, field, value, said):
    error = refusal(network, text)
    assert (error.field, error.line) == (field, 3)
    assert value is None or error.value == value
    first = str(error).partition("\n")[0]
    assert first.startswith(f"small.yaml:3: {field}" + (" = " if said != "missing" else ": "))
    assert said in first


def test_the_line_of_a_row_of_weights_is_its_own():
    rows = "kind: path, agents: 2, weights: [\n    [0.5, 0.5],\n    [0.5, 0.4]]"
    with pytest.raises(ScenarioError, match=r"row 1 sums to 0\.9") as caught:
        network(rows)
    assert caught.value.line == 5


# ── codecs ───────────────────────────────────────────────────────────────────────────────────────────
CODED = """\
name: coded
seed: 3
problem:
  data: {{name: digits, norm_bound: 4.0}}
topology: {{kind: ring, agents: 5}}
messages: {messages}
algorithms:
  - {{kind: private_gradient_descent, rounds: 6, clip: {{bound: 1.0}}, scale: {{epsilon: 2.0}}}}
"""
AUDIT = "audit: {agent: 1, trials: 200, chunk: 100}\n"


def built(messages: str):
    return Experiment.of(parse(CODED.format(messages=messages), "coded.yaml").scenario).subjects[0].simulation


@pytest.mark.parametrize(
    ("said", "codec"),
    [
        ("{kind: float64}", Float64()), ("{kind: float32}", Float32()), ("{kind: float16}", Float16()),
        ("{kind: fixed_point, bits: 12, limit: 3}", FixedPoint(12, 3.0)),
        ("{kind: fixed_point, limit: 0.5, rounding: stochastic}", FixedPoint(16, 0.5, "stochastic")),
        ("{kind: top_k, k: 6}", TopK(6)), ("{kind: top_k, fraction: 0.1}", TopK(fraction=0.1)),
        ("{kind: random_k, k: 6, unbiased: false}", RandomK(6, unbiased=False)),
        ("{kind: quantizer, bits: 2, norm: linf}", Quantizer(2, "linf")), ("{kind: scaled_sign}", ScaledSign()),
    ],
)  # fmt: skip
def test_every_codec_reaches_the_simulation(said, codec):
    simulation = built(f"{{codec: {said}, header: 12}}")
    assert simulation.network.codec == codec
    assert simulation.public().codec == codec
    assert simulation.network.header_bytes == 12


def test_nothing_said_is_float64_and_the_usual_header():
    simulation = built("{}")
    assert (simulation.network.codec, simulation.network.header_bytes) == (Float64(), 20)


@pytest.mark.parametrize(
    ("messages", "field", "said"),
    [
        ("{codec: {kind: float31}}", "messages.codec.kind", "float32"),
        ("{codec: {kind: fixed_point}}", "messages.codec.limit", "missing"),
        ("{codec: {kind: fixed_point, limit: 1.0, bits: 40}}", "messages.codec.bits", "2 … 32"),
        ("{codec: {kind: fixed_point, limit: 0}}", "messages.codec.limit", "> 0"),
        ("{codec: {kind: fixed_point, limit: 1e-310}}", "messages.codec.limit", "not denormal"),
        ("{codec: {kind: top_k}}", "messages.codec.k", "k, or a fraction"),
        ("{codec: {kind: top_k, k: 3, fraction: 0.5}}", "messages.codec.k", "k, or a fraction"),
        ("{codec: {kind: quantizer, norm: l1}}", "messages.codec.norm", "linf"),
        ("{header: -1}", "messages.header", ">= 0"),
    ],
)
def test_one_clear_message_of_a_codec(messages, field, said):
    error = refusal(lambda: checked(parse(CODED.format(messages=messages), "coded.yaml")))
    assert error.field == field
    assert said in str(error)
    assert error.line == 6


@pytest.mark.slow
def test_a_scenario_under_a_codec_is_run_and_judged(tmp_path):
    text = CODED.format(messages="{codec: {kind: float32}, header: 8}") + AUDIT
    results = run_scenario(parse(text, "coded.yaml"), tmp_path / "out")
    (entry,) = results.algorithms
    assert entry.gradients.refused.startswith("Float32() changes what is sent")
    assert entry.audit.verdict == "consistent"
    assert entry.audit.black_box_refused.startswith("Float32() changes")
    assert not entry.audit.epsilon_exact.upper_bound_only
    assert (tmp_path / "out" / "report.html").exists()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["scenario"]["messages"] == {"codec": {"kind": "float32"}, "header": 8}
