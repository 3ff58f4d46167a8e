"""Networks as scenarios describe them: laws of links, exceptions, access lines, taps by rule."""

import pytest

from netsim.errors import ScenarioError
from netsim.network.laws import ConstantDelay, ExponentialDelay, GilbertElliott, RandomOutages, Scheduled, TraceDelay
from netsim.network.links import AccessLaw, ExchangePolicy
from netsim.readers.live import Downtime, PoissonClock
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import checked

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
    with pytest.raises(ScenarioError) as caught:
        checked(parse(FORM.format(network=network), "rough.yaml"))
    return caught.value


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
         "links.loss.good_to_bad", "<= 1"),
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
        ("adversary: {links: {kind: random, share: 1.5}}", "adversary.links.share", "<= 1"),
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
