"""Radio and places in scenario files: what reaches the simulation, what is refused, what the report draws."""

from itertools import pairwise

import pytest

from netsim.adversary import Within
from netsim.errors import ScenarioError
from netsim.network.radio import Radio
from scenarios.build.experiment import Experiment
from scenarios.results.folder import read_results
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.worlds import worlds

FORM = """\
name: air
seed: 3
problem:
  data: {{name: digits, norm_bound: 4.0}}
topology: {{{topology}}}
{network}
algorithms:
  - {{kind: recal, activations: 40}}
"""
GRID = "kind: grid, rows: 2, columns: 3"


def experiment(network: str, topology: str = GRID) -> Experiment:
    located = parse(FORM.format(network=network, topology=topology), "air.yaml")
    try:
        return Experiment.of(located.scenario)
    except ScenarioError as error:
        raise located.locate(error) from None


@pytest.mark.parametrize(
    ("said", "medium"),
    [
        ("seed: 3", "links"), ("medium: links", "links"), ("medium: radio", Radio()),
        ("medium: {kind: radio}", Radio()),
        ("medium: {kind: radio, carrier_sense: 2}\nlinks: {bandwidth: 1e5}", Radio(2)),
    ],
)  # fmt: skip
def test_the_medium_is_said_in_a_word_or_in_full(said, medium):
    said = "" if said == "seed: 3" else said
    assert experiment(said).subjects[0].simulation.network.medium == medium


def test_places_and_the_eavesdropper_among_them_reach_the_simulation():
    ring = "kind: ring, agents: 3, positions: [[0, 0], [2, 0], [0, 2.5]]"
    built = experiment("adversary: {links: {kind: within, at: [0, 0], range: 2}}", ring).subjects[0].simulation
    assert built.topology.positions.tolist() == [[0, 0], [2, 0], [0, 2.5]]
    adversary = built.adversaries[0]
    assert adversary.links == Within((0.0, 0.0), 2.0)
    assert adversary.tapped(built.topology) == {(i, j) for i in range(3) for j in range(3) if i != j}
    assert adversary.transmitters(built.topology) == {0, 1}


@pytest.mark.parametrize(
    ("network", "topology", "field", "said"),
    [
        ("medium: smoke", GRID, "medium", "'links', 'radio' or {kind: radio, …}"),
        ("medium: {kind: radio, carrier_sense: 3}", GRID, "medium.carrier_sense", "0 … 2"),
        ("medium: {kind: radio, sense: 1}", GRID, "medium.sense", "carrier_sense"),
        ("medium: {kind: radio, carrier_sense: 1}", GRID, "medium.carrier_sense", "a bandwidth too"),
        (
            "medium: radio\nactive_adversaries: [{name: m, links: all, actions: [{kind: drop, probability: 0.1}]}]",
            GRID, "active_adversaries", "radio has none",
        ),
        ("medium: radio\naccess: {uplink: 1e3}", GRID, "access", "medium: links"),
        ("medium: radio\nadversary: {links: [[0, 1]]}", GRID, "adversary.links", "captures transmitters"),
        ("medium: radio\nadversary: {links: {kind: cut, agents: [0]}}", GRID, "adversary.links.cut", "around"),
        (
            "medium: radio\nlink_overrides: [{between: [[0, 1]], law: {encrypted: true}}]",
            GRID, "link_overrides.encrypted", "the transmitter's",
        ),
        ("adversary: {links: {kind: within, at: [0], range: 1}}", GRID, "adversary.links.at", "at least 2"),
        ("adversary: {links: {kind: within, at: [0, 0], range: -1}}", GRID, "adversary.links.range", ">= 0"),
        (
            "adversary: {links: {kind: within, at: [0, 0], range: 1}}",
            "kind: ring, agents: 5", "adversary.links.within", "no places",
        ),
        ("", "kind: ring, agents: 4, positions: [[0, 0]]", "topology.positions", "one place [x, y] for each agent"),
    ],
)  # fmt: skip
def test_one_clear_message(network, topology, field, said):
    with pytest.raises(ScenarioError) as caught:
        experiment(network, topology)
    assert caught.value.field == field
    assert said in str(caught.value)
    line = 5 if field.startswith("topology") else 5 + network.count("\n", 0, network.rindex(field.split(".")[0])) + 1
    assert caught.value.line == line


# ── the shipped scenario ────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def corner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("radio") / "corner"
    return folder, run_scenario(load_scenario("radio-corner"), folder)


@pytest.mark.slow
def test_the_corner_hears_six_agents_and_knows_three(corner):
    results = corner[1]
    net = results.network
    assert net.medium == "radio"
    assert net.tapped_transmitters == (0, 2, 3, 5, 6, 13)
    assert net.tapped == ()
    plain, private = results.algorithms
    known = [i for i, hidden in enumerate(plain.gradients.hidden) if hidden == 1]
    neighbors = {i: {b if a == i else a for a, b in net.edges if i in (a, b)} for i in range(16)}
    assert known == [i for i in net.tapped_transmitters if neighbors[i] <= set(net.tapped_transmitters)] == [0, 6, 13]
    assert plain.gradients.worst < 1e-12
    assert private.gradients.median > private.gradients.baseline


@pytest.mark.slow
def test_its_report_draws_the_field_and_the_disc(corner):
    """Agents within the disc of the picture are those that are recorded."""
    folder, results = corner
    net = results.network
    (x, y), reach = net.disc.at, net.disc.range
    inside = [i for i, (a, b) in enumerate(net.positions) if (a - x) ** 2 + (b - y) ** 2 <= reach**2]
    assert inside == list(net.tapped_transmitters)
    page = (folder / "report.html").read_text()
    assert "Network of 16 agents with radios, 6 of them recorded." in page
    assert "6 of them recorded (37.5" in page
    assert "Transmissions" in page
    assert read_results(folder).network == net


def test_a_network_without_places_keeps_its_picture():
    from scenarios.results.header import header

    net = header(experiment("medium: radio", "kind: ring, agents: 4"), "").network
    assert net.disc is None
    assert len(net.positions) == 4
    circle = header(experiment("adversary: {links: all}"), "").network  # a grid, where nothing depends on places
    assert circle.disc is None
    assert any(a != b for a, b in pairwise(circle.positions))


def test_an_auditor_hears_the_agent_and_its_neighbors():
    """As it hears both directions of the agent's links, where there are links."""
    simulation = experiment("medium: radio").subjects[0].simulation
    sample = worlds(simulation, 1, simulation.problem.objectives[0], 1)(0, 0)
    rows = [r for r in sample.view.transcript if r.place == "link"]
    assert {r.sender for r in rows} == {1, *simulation.topology.neighbors(1)}


@pytest.mark.slow
def test_an_audit_is_valid_on_radio(tmp_path):
    text = FORM.format(network="medium: radio", topology="kind: ring, agents: 4").replace(
        "{kind: recal, activations: 40}", "{kind: dp_recal, per_agent: 6}"
    )
    found = run_scenario(
        parse(text + "audit: {agent: 1, trials: 200, chunk: 100}\n", "air.yaml"), tmp_path / "out", page=False
    )
    audit = found.algorithms[0].audit
    assert audit.verdict == "unprotected"
    assert found.algorithms[0].gradients.worst < 1e-8
