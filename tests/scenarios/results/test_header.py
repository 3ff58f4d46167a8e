"""What results say of the network, in words and in sets of links."""

import pytest

from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.render.page.plan import Marks
from scenarios.render.sentences import MARKS
from scenarios.results.header import SETTINGS, header, network, settings_in_words
from scenarios.schema.load import parse

FORM = """\
name: set
topology: {{kind: ring, agents: 5}}
problem: {{data: {{name: synthetic, records: 20, dimension: 3}}}}
{network}
algorithms: [{{kind: recal, activations: 20}}]
"""


def scenario(network=""):
    return parse(FORM.format(network=network), "set.yaml").scenario


def said(network):
    return [text for _, text in settings_in_words(scenario(network))]


@pytest.mark.parametrize("attacks", ["", "attacks: {images: true}"])
def test_no_note_speaks_of_a_verdict_which_nobody_has_yet(attacks):
    digits = FORM.replace("{{name: synthetic, records: 20, dimension: 3}}", "{{name: digits, classes: [0, 1]}}")
    found = header(Experiment.of(parse(digits.format(network=attacks), "set.yaml").scenario), "")
    assert len(found.notes) == (3 if attacks else 1)
    assert not [word for word in MARKS if word in " ".join(found.notes).replace("'", " ").split()]


def test_defaults_are_not_told():
    assert settings_in_words(scenario()) == []
    assert settings_in_words(scenario("links: {loss: 0.0}")) == []


@pytest.mark.parametrize(
    ("network", "text"),
    [
        (
            "links: {delay: {kind: uniform, low: 0.01, high: 0.03}, loss: 0.1}",
            "delay: uniform, low 0.01 s, high 0.03 s; loss 0.1; reliable",
        ),
        ("links: {reliable: false, bandwidth: 125e3}", "bandwidth 125,000 bytes/s; not reliable"),
        ("medium: {kind: radio, carrier_sense: 1}", "radio; carrier sense 1"),
        ("medium: radio", "radio"),
        (
            "link_overrides: [{between: [[0, 1], [1, 2]], directed: true, law: {encrypted: true}}]",
            "between 0–1, 1–2; directed; law: reliable, encrypted",
        ),
        ("access: {uplink: 1e6, agents: [1]}", "uplink 1,000,000 bytes/s; agents 1"),
        ("messages: {codec: {kind: top_k, k: 3}, header: 4}", "codec: top k, k 3; header 4 bytes"),
        ("exchange: {deadline: 0.1, instead: own_value}", "deadline 0.1 s; instead own value"),
        ("activation: {kind: poisson, rate: 3.0}", "poisson; rate 3"),
        ("compute: {kind: constant, seconds: 0.5}", "constant; 0.5 s"),
        ("stragglers: [{agents: [4], compute: {kind: constant, seconds: 2.0}}]", "agents 4; compute: constant, 2 s"),
        (
            "downtimes: [{agents: [1], outages: {kind: scheduled, intervals: [[1.0, 2.5]]}}]",
            "outages: scheduled, intervals 1–2.5 s; agents 1",
        ),
        (
            "adversary: {links: [[0, 1]], insiders: [2, 4], capture_loss: 0.02, clock_error: 1e-3}",
            "links 0–1; insiders 2, 4; capture loss 0.02; clock error 0.001 s",
        ),
        (
            "active_adversaries: [{links: all, end: 2.0, actions: [{kind: alter, how: {kind: scale, factor: 2.0}}]}]",
            "links all; actions: alter (how (scale, factor 2)); end 2 s",
        ),
    ],
)
def test_what_is_not_by_default_is_told_in_words(network, text):
    assert said(network) == [text]


def test_every_entry_of_a_list_has_a_row_and_long_lists_are_cut():
    rows = settings_in_words(scenario("stragglers: [{agents: [4], compute: {kind: constant, seconds: 2.0}}, "
                             "{agents: [1], compute: {kind: constant, seconds: 1.0}}]"))  # fmt: skip
    assert [term for term, _ in rows] == ["stragglers", "stragglers"]
    places = ", ".join(f"[{i}.0, {i}.5]" for i in range(20))
    (text,) = said(f"downtimes: [{{agents: [1], outages: {{kind: scheduled, intervals: [{places}]}}}}]")
    assert text.endswith("10–10.5, 11–11.5 s and 8 more; agents 1")


@pytest.mark.slow
def test_every_shipped_scenario_can_be_told():
    for name, text in library().items():
        rows = settings_in_words(parse(text, name).scenario)
        assert {term.replace(" ", "_") for term, _ in rows} <= set(SETTINGS)
        assert not [text for _, text in rows if any(sign in text for sign in "{}[]'\"")]


def net(network_text):
    return network(Experiment.of(scenario(network_text)))


def test_links_that_are_sealed_and_meddled_with():
    """An override with one direction leaves the other one open; a meddler in one direction is one."""
    assert net("links: {encrypted: true}").sealed == ((0, 1), (0, 4), (1, 2), (2, 3), (3, 4))
    one_way = "link_overrides: [{between: [[1, 0]], directed: true, law: {encrypted: true}}]"
    assert net(one_way).sealed == ()
    assert net(one_way.replace("directed: true, ", "")).sealed == ((0, 1),)
    opened = "links: {encrypted: true}\nlink_overrides: [{between: [[3, 2]], law: {}}]"
    assert (2, 3) not in net(opened).sealed
    assert len(net(opened).sealed) == 4
    dropped = "active_adversaries: [{links: [[4, 0]], directed: true, actions: [{kind: drop, probability: 0.1}]}]"
    assert net(dropped).intercepted == ((0, 4),)


def words(network_text):
    return [one.label for one in Marks.of(net(network_text)).key]


def test_the_legend_has_what_occurs():
    assert words("") == ["tapped link"]
    assert words("links: {encrypted: true}") == ["tapped, but encrypted: the tap gets sizes and times"]
    inside = ["recorded by an agent at its end", "link without a tap", "insider: honest but curious agent"]
    assert words("adversary: {insiders: [2]}") == inside
    door = ["recorded at one of its ends", "link without a tap", "agent tapped at its door"]
    assert words("adversary: {links: [], nodes: [2]}") == door
    assert "active adversary in the middle" in words(
        "active_adversaries: [{links: [[4, 0]], actions: [{kind: drop, probability: 0.1}]}]"
    )
    assert words("medium: radio") == ["neighbors", "agent whose transmissions are recorded"]


def test_links_of_who_listens_are_no_links_that_nobody_hears():
    marks = Marks.of(net("adversary: {links: [[0, 1]], insiders: [2], nodes: [4]}"))
    assert marks.at_ends == {frozenset(e) for e in ((1, 2), (2, 3), (3, 4), (0, 4))}
