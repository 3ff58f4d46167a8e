"""Gradients of a scenario: each algorithm's own inversion, all agents as one system, leakage by query and agent."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attacks.score import GradientScore
from netsim.adversary import Adversary
from netsim.errors import ScenarioError
from netsim.topology import path
from scenarios import run
from scenarios.papers.figures import reproduced
from scenarios.papers.measures import check_names
from scenarios.papers.outcome import Ran
from scenarios.render.sentences import gradients, traffic
from scenarios.results import curves as leaks
from scenarios.results.attacks import GradientResult
from scenarios.results.base import taken
from scenarios.results.curves import NotMeasuredError
from scenarios.results.folder import read_results
from scenarios.results.tree import AlgorithmResult
from scenarios.schema import Scenario
from scenarios.schema.checks import FigureSpec
from scenarios.schema.load import parse
from scenarios.stages.listening import gradient_scores, leakage_of
from scenarios.stages.runner import run_scenario
from tests.scenarios.filled import filled

SMALL = {
    "name": "small",
    "replicas": 3,
    "problem": {"data": {"name": "digits", "norm_bound": 4.0}, "ridge": 0.1},
    "topology": {"kind": "path", "agents": 4},
    "algorithms": [
        {"kind": "private_gradient_descent", "name": "noisy", "rounds": 6, "scale": 0.01},
        {"kind": "recal", "name": "walk", "activations": 60},
    ],
    "adversary": {"links": [[0, 1]]},
    "attacks": {"gradients": True, "images": True},
}


def entry(**parts):
    return filled(AlgorithmResult, {"name": "one"} | parts)


def score():
    """Agent 0 asked three times, two of which are known; agent 1 twice, one known; agent 2 once, unknown."""
    errors = np.array([[0.1, 0.3], [0.2, 0.4], [1.0, 3.0]])
    return GradientScore(errors, np.arange(3.0), (0, 0, 1), 3, 6, (0, 1, 0), (1, 1, 1), 1.0)


def test_by_query_counts_those_who_asked_it():
    found = leakage_of(score(), path(3), Adversary(links=(), nodes=(0,))).by_query
    assert found.query == (1, 2, 3)
    assert found.identifiable == (2 / 3, 1 / 2, 0.0)
    assert found.median == (pytest.approx(0.65), pytest.approx(0.3), None)
    assert found.low[0] < found.median[0] < found.high[0]


@pytest.mark.parametrize(
    ("made", "hidden", "last"),
    [
        ((0, 1, 0), (1, 1, 1), True),
        ((0, 1, 0), (1, 1, 0), True),  # agent 2 asked for none
        ((0, 2, 0), (1, 1, 1), False),  # agent 0's second is not known
        ((0, 1, 0), (1, 0, 1), False),  # agent 1's only one is known
        ((0, 1, 0), (2, 1, 1), False),
        ((0, 1, 0), (0, 0, 0), False),
    ],
)
def test_that_each_agents_last_gradient_is_the_one_not_known_is_said(made, hidden, last):
    found = gradient_scores(replace(score(), queries=made, hidden=hidden))
    assert found.but_each_last is last
    (said,) = gradients(taken(GradientResult, found, attack=""), "eavesdropper")
    assert ("private gradients (all but each agent's last)" in said) is last


def test_by_agent_has_degree_and_hops():
    rows = leakage_of(score(), path(3), Adversary(links=(), nodes=(2,))).by_agent
    assert [row.hops for row in rows] == [2, 1, 0]
    assert [row.degree for row in rows] == [1, 2, 1]
    assert [row.identifiable for row in rows] == [2 / 3, 1 / 2, 0.0]
    assert rows[0].error == pytest.approx(0.25)
    assert rows[2].error is None


def test_an_insider_is_no_victim():
    told = GradientScore(np.ones((1, 1)), np.zeros(1), (1,), 1, 1, (0,), (0, 0), 1.0)
    assert [row.agent for row in leakage_of(told, path(2), Adversary(links=(), nodes=(0,))).by_agent] == [1]


@pytest.mark.parametrize(
    ("adversary", "hops"),
    [
        (Adversary(links=((0, 1),)), [0, 0, 1]),
        (Adversary(insiders=(2,)), [2, 1, 0]),
        (Adversary(links=()), [None] * 3),
    ],
)
def test_hops_are_to_where_the_adversary_sits(adversary, hops):
    assert [row.hops for row in leakage_of(score(), path(3), adversary).by_agent] == hops


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_scenario(Scenario.model_validate(SMALL), tmp_path_factory.mktemp("leakage"), page=False)


def test_a_run_has_its_leakage(results):
    noisy, walk = results.algorithms
    assert leaks.leakage_at_end(noisy, "identifiable") == noisy.gradients.estimated / noisy.gradients.queries
    by_hops = leaks.leakage_curve(noisy, "identifiable", "hops")
    assert by_hops.x[0] == 0
    assert by_hops.y[0] > 0
    assert by_hops.y[-1] == 0, "nobody hears the far end"
    assert max(leaks.leakage_curve(walk, "gradient_error", "query").high) < 1e-8, "what is inferred of RECAL is exact"
    skills = leaks.leakage_curve(walk, "image_skill", "degree")
    pictured = {one.agent: one.skill for one in walk.images.agents}
    assert min(skills.low) == min(pictured.values())
    assert max(skills.high) == max(pictured.values())


def test_a_figure_draws_it(results):
    spec = FigureSpec(x="hops", y="identifiable", log=False)
    asked = replace(results, scenario=results.scenario.replace(figures=[spec]))
    (drawn,) = reproduced(asked, [Ran("", results)], {"": {}}, finished=True).figures
    assert drawn.points
    assert [one.label for one in drawn.curves] == ["noisy", "walk"]
    assert drawn.curves[0].x == (0, 1, 2)


def test_what_was_not_measured_says_so():
    with pytest.raises(NotMeasuredError, match="no inferred gradients: nothing was captured"):
        leaks.leakage_curve(entry(gradients={"refused": "nothing was captured"}), "gradient_error", "query")
    with pytest.raises(NotMeasuredError, match="no rebuilt images"):
        leaks.leakage_at_end(entry(), "image_skill")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"figures": [{"x": "query", "y": "image_skill"}]}, "figures[0].y"),
        ({"figures": [{"x": "hops", "y": "relative_error"}]}, "figures[0].y"),
        ({"figures": [{"x": "hops", "y": "gradient_error"}], "attacks": {"gradients": False}}, "figures[0].y"),
        ({"figures": [{"x": "degree", "y": "image_skill"}], "attacks": {"images": False}}, "figures[0].y"),
    ],
)
def test_figures_that_cannot_be_drawn_are_refused_before_time_0(change, where):
    scenario = Scenario.model_validate(SMALL | change)
    with pytest.raises(ScenarioError) as caught:
        check_names(scenario)
    assert caught.value.field == where


def test_shares_of_equal_agents_are_averaged():
    rows = [{"agent": i, "hops": 0, "identifiable": share} for i, share in enumerate((1.0, 1.0, 0.0, 0.0, 0.0))]
    found = leaks.leakage_curve(entry(leakage={"by_agent": rows}), "identifiable", "hops")
    assert found.y == (0.4,)
    assert (found.low, found.high) == ((0.0,), (1.0,))


# ── which inversion ─────────────────────────────────────────────────────────────────────────────────────
EACH = """
name: own-inversions
seed: 3
replicas: 2
problem:
  kind: ridge
  data: {name: synthetic, kind: regression, records: 100, dimension: 6, noise: 0.1}
  ridge: 0.5
topology: {kind: ring, agents: 5}
links: {delay: {kind: constant, seconds: 0.01}}
adversary: {links: all}
attacks: {gradients: true}
algorithms:
  - {kind: recal, activations: 60}
  - {kind: dp_recal, reading: fresh_noise, per_agent: 8, noise: {stddev: 0.01}}
  - kind: dpp2
    rounds: 10
    step: 0.1
    beta: 0.02
    rho: 1.0
    scale_w: {kind: geometric, first: 0.1, ratio: 0.8}
    scale_e: {kind: geometric, first: 0.1, ratio: 0.8}
  - {kind: diadsp, rounds: 10, step: 0.1, scale_x: 0.01, scale_y: 0.01, ratio: 0.8}
  - kind: cpgt
    rounds: 10
    step: 0.1
    scale_x: 0
    scale_y: 0
    ratio: 0.8
    gamma: 0.3
    compressor: {kind: top_k, k: 3}
  - {kind: random_penalty_admm, rounds: 10, penalty: 10, dual_step: 0.5, scale: 0.001}
"""
OWN = [
    ("closed_form.recal.through_duals", 1e-10), ("closed_form.recal.through_iterates", 2.0),
    ("inference.through_probe", 0.2),
    ("inference.through_probe", 0.2), ("closed_form.descent.through_tracking", 0.05),
    ("closed_form.random_penalty_admm.through_penalties", 0.1),
]  # fmt: skip


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    run_scenario(parse(EACH), folder)
    return read_results(folder).algorithms


@pytest.mark.parametrize("index", range(len(OWN)))
def test_the_own_inversion_ran_and_found_nearly_everything(entries, index):
    attack, most = OWN[index]
    found = entries[index].gradients
    assert found.attack == f"attacks.{attack}"
    assert found.estimated >= 0.9 * found.queries
    assert found.median < most


JOINTLY = """\
name: jointly
seed: 3
problem: {kind: logistic, data: {name: synthetic, records: 40, dimension: 2}}
topology: {kind: path, agents: 7}
adversary: {links: [], nodes: [1, 5]}
algorithms:
  - {kind: gradient_tracking, rounds: 10, step: 0.02}
attacks: {victims: VICTIMS}
"""


def inferred(tmp_path, victims: str):
    scenario = parse(JOINTLY.replace("VICTIMS", victims), "jointly.yaml")
    (entry,) = run_scenario(scenario, tmp_path / victims, command="netsim run jointly.yaml").algorithms
    return entry.gradients


@pytest.mark.slow
def test_agents_behind_the_taps_are_seen_jointly_only(tmp_path):
    """Tracking sends two linked values a round: what two doors see determines the agent in between, too."""
    alone, jointly = (inferred(tmp_path, victims) for victims in ("one_by_one", "jointly"))
    assert alone.attack == "attacks.inference.through_probe"
    assert jointly.attack == "attacks.inference.through_network"
    assert alone.inferred[3] == 0  # nobody observed what it sent
    assert min(jointly.inferred) >= 8  # all but the last ones of 11, which no message had time to tell
    assert jointly.estimated > alone.estimated
    assert jointly.worst < 1e-8


def test_another_word_is_refused_with_the_allowed_ones():
    with pytest.raises(Exception, match=r"victims.*one_by_one.*jointly"):
        parse(JOINTLY.replace("VICTIMS", "together"), "jointly.yaml")


# ── traffic ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heard")
    run("traffic-only", folder)
    return read_results(folder), folder


@pytest.fixture(scope="module")
def missed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("missed")
    run("traffic-missed", folder)
    return read_results(folder), folder


def traffic_of(results):
    return [entry.traffic_analysis for entry in results.algorithms]


def test_times_and_sizes_alone_tell_who_acted_and_who_is_slow(heard):
    for found in traffic_of(heard[0]):
        assert found.activity.found == found.activity.activations > 0
        assert found.activity.wrong == 0
        assert found.computing.slowest == found.computing.slowest_truth == 3
        assert found.dimension.low == found.dimension.high == found.dimension.truth == 64
        (sentence,) = traffic(found)
        assert "agent 3 computes slowest; dimension 64" in sentence


def test_a_lossy_tap_leaves_the_dimension(missed):
    for found in traffic_of(missed[0]):
        assert found.activity.found == found.activity.wrong == 0
        assert found.computing.refused
        assert found.dimension.low == found.dimension.high == 64
        first, second = traffic(found)
        assert first == "Times and sizes alone reveal: dimension 64."
        assert second.startswith("Who acted when is not identifiable: the tap missed packets")


def test_the_page_has_a_table_for_each(heard, missed):
    for results, folder in (heard, missed):
        page = (folder / "report.html").read_text()
        assert page.count('<h2 id="traffic-title">') == 1
        tables = page.split("What times and sizes of ")[1:]
        assert len(tables) == len(traffic_of(results))
        for table in tables:
            names = re.findall(r'<th scope="row">([^<]*)</th>', table.partition("</table>")[0])
            assert (names[0], names[-1], len(names)) == ("Who acted when", "Dimension", 7)


@pytest.mark.slow
def test_who_does_not_ask_is_told_nothing(tmp_path):
    run("traffic-only", tmp_path, options=["attacks.traffic=false", "algorithms[0].activations=50"])
    assert traffic_of(read_results(tmp_path)) == [None, None]
    assert "traffic-title" not in (tmp_path / "report.html").read_text()


def test_what_cannot_be_analysed_is_refused_in_words(tmp_path):
    options = ["adversary.links=[]", "adversary.nodes=[1]", "algorithms[0].activations=50"]
    run("traffic-only", tmp_path, options=options, page=False)
    for found in traffic_of(read_results(tmp_path)):
        (sentence,) = traffic(found)
        assert sentence.startswith("No traffic analysis: no packet was observed on a link")
