"""Views of a scenario: which there are, what is written of them, and how they are shown."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.classifier import recorded_ids
from attacks.inference import infer
from netsim import topology
from netsim.algorithms import PrivateGradientDescent
from netsim.network.laws import RandomOutages
from netsim.network.links import ExchangePolicy, LinkLaw
from netsim.network.radio import Radio
from netsim.problems import LeastSquares, Problem
from netsim.readers.live import Downtime
from netsim.schedules import Constant
from scenarios.render import sentences
from scenarios.render.page.report import page
from scenarios.results.audited import views_result
from scenarios.results.base import Refused
from scenarios.results.numbers import e_to
from scenarios.stages.worlds import MOST_LINKS, MOST_NODES, MOST_PAIRS, look, seen_by, views_of
from tests.attacks.audit.test_views import TellsOneNeighbor, claim_of, world
from tests.scenarios.filled import tree
from tests.worlds import changed, simulated


def simulation(graph, **options):
    problem = Problem(tuple(LeastSquares(np.eye(2), np.full(2, float(i)), 0.5) for i in range(graph.agents)))
    return simulated(problem, graph, PrivateGradientDescent(2, Constant(0.1), Constant(1.0)), **options)


def names(simulation, agent, wanted):
    return [view.name for view in views_of(simulation, agent, wanted)]


class TestWhichThereAre:
    def test_a_path(self):
        path = simulation(topology.path(4))
        assert names(path, 1, "none") == []
        assert names(path, 1, "links") == ["link 0-1", "link 1-2", "link 2-3"]
        assert names(path, 1, "nodes") == ["door 1", "node 0", "node 2", "node 3"]
        assert names(path, 1, "coalitions") == ["coalition 0+2", "coalition 0+3", "coalition 2+3", "outsider"]
        assert names(path, 1, "all") == [n for w in ("links", "nodes", "coalitions") for n in names(path, 1, w)]

    def test_the_nearest_of_many(self):
        ring = simulation(topology.ring(60))
        links, nodes, coalitions = (names(ring, 30, w) for w in ("links", "nodes", "coalitions"))
        assert links[:4] == ["link 29-30", "link 30-31", "link 28-29", "link 31-32"]
        assert nodes[:3] == ["door 30", "node 29", "node 31"]
        assert coalitions[0] == "coalition 29+31"
        assert (len(links), len(nodes), len(coalitions)) == (MOST_LINKS, 1 + MOST_NODES, MOST_PAIRS + 1)

    def test_what_contains_what(self):
        views = {view.name: view for view in views_of(simulation(topology.path(4)), 1, "all")}
        assert views["link 0-1"].knows < views["door 1"].knows
        assert views["door 1"].knows < views["coalition 0+2"].knows
        assert views["node 0"].knows < views["coalition 0+2"].knows
        assert all(views[name].knows < views["outsider"].knows for name in ("link 2-3", "door 1"))
        assert not views["node 0"].knows < views["outsider"].knows  # it knows its own objective
        assert not views["link 1-2"].knows < views["node 0"].knows

    @pytest.mark.parametrize(
        "options",
        [
            {"exchange_policy": ExchangePolicy(deadline=1.0), "links": LinkLaw(loss=0.1)},
            {"downtimes": {2: Downtime(RandomOutages(2.0, 0.5))}},
        ],
        ids=["a deadline", "downtimes"],
    )
    def test_who_is_at_a_door_knows_what_got_there(self, options):
        views = {view.name: view for view in views_of(simulation(topology.path(4), **options), 1, "all")}
        assert not views["door 1"].knows < views["outsider"].knows
        assert not views["link 0-1"].knows < views["node 0"].knows
        assert views["link 0-1"].knows < views["outsider"].knows
        assert views["node 0"].knows < views["coalition 0+2"].knows

    def test_radio_has_transmitters(self):
        air = simulation(topology.path(3), medium=Radio())
        assert names(air, 1, "links") == ["transmitter 1", "transmitter 0", "transmitter 2"]
        views = {view.name: view for view in views_of(air, 1, "all")}
        assert views["transmitter 0"].knows < views["outsider"].knows
        assert not views["node 0"].knows < views["outsider"].knows


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"links": LinkLaw(loss=0.2, reliable=True)},
        {"links": LinkLaw(loss=0.2), "exchange_policy": ExchangePolicy(deadline=1.0)},
        {"links": LinkLaw(encrypted=True)},
        {"medium": Radio()},
    ],
    ids=["repeated", "lost", "encrypted", "radio"],
)
def test_every_network_can_be_looked_at(options):
    """Wherever a view is drawn within another one, it recorded nothing that the other one did not."""
    sim, pair = world(PrivateGradientDescent(3, Constant(0.2), Constant(0.5)), topology.path(3))
    sim = changed(sim, **options)
    seen = look(
        sim, "all", pair, pair.hypotheses[1], claim_of(1.0), trials=60, chunk=20, confidence=0.9, name="it",
        infer=infer,
    )  # fmt: skip
    views = {one.view.name: one.view for one in seen.views}
    assert all(views[a].knows < views[b].knows for a, b in seen.order.edges)
    sealed = options.get("links") == LinkLaw(encrypted=True)
    assert (seen["outsider"].score == "classifier: nothing varies") == sealed
    run = seen_by(sim, 1, pair.hypotheses[1], 5, tuple(views.values()))(0, 0)
    recorded = {name: recorded_ids(view) for name, view in zip(views, run, strict=True)}
    assert all(recorded[a] <= recorded[b] for a, b in seen.order.edges)


@pytest.fixture(scope="module")
def found():
    simulation, pair = world(TellsOneNeighbor(2), topology.path(4))
    claim = claim_of(2 * 2 * 0.2 * 0.5)
    return look(simulation, "all", pair, pair.hypotheses[1], claim, trials=300, chunk=100, confidence=0.95, name="it")


class TestWhatIsWritten:
    def test_every_view_is_in_results(self, found):
        result = views_result(found)
        assert result.refuted == tuple(one.view.name for one in found.refuted) != ()
        assert result.smallest == ("link 1-2",)
        assert result.false_discovery_rate == pytest.approx(0.05)
        by_name = {one.name: one for one in result.views}
        assert by_name["link 1-2"].refuted
        assert by_name["link 1-2"].epsilon_audited <= by_name["link 1-2"].ceiling
        assert ("link 1-2", "door 1") in result.order

    def test_the_terminal_names_the_smallest(self, found):
        lines = sentences.views(views_result(found))
        count = len(found.refuted)
        assert lines[0] == (
            f"The claim is refuted by black-box scores for {count} of 11 views "
            "(false discovery rate at most 5\u202f%):"
        )
        assert lines[1].startswith("  the link of agents 1 and 2, both ways: e-value 10^")
        assert lines[-1] == f"  and {count - 1} more, which contain one of these"

    def test_the_terminal_says_when_nothing_could_be_found(self, found):
        result = views_result(found)
        nothing = replace(result, views=tuple(replace(one, refuted=False) for one in result.views))
        (line,) = sentences.views(nothing)
        assert line.startswith("The claim is refuted for none of 11 views. Views are played with black-box scores")
        assert line.endswith("weaker than the exact loss for who has all that the agent sends and receives.")
        (line,) = sentences.views(nothing, by_exact_loss=True)
        assert line.endswith("for who has all that the agent sends and receives, which does refute the claim.")
        assert "could not have" in sentences.views(replace(nothing, powered=False))[0]
        assert sentences.views(Refused(refused="no number")) == ["No views: no number"]
        assert sentences.views(None) == []


class TestThePage:
    def results(self, found):
        places = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        net = {"name": "path", "edges": [[0, 1], [1, 2], [2, 3]], "positions": places}
        algorithm = {"name": "tells <one>", "views": views_result(found)}
        return {"name": "it", "network": net, "algorithms": [algorithm]}

    def test_it_shows_from_where_the_claim_breaks(self, found):
        text = page(tree(self.results(found)))
        assert "The claim, view by view" in text
        assert f"refuted for {len(found.refuted)} of 11 views" in text
        assert "1 of 3 links break the claim by themselves" in text
        assert "tells &lt;one&gt;: 11 views" in text
        assert text.count("</tr>") > 11
        assert "weaker than the exact loss for who has all that the agent sends and receives." in text
        assert "refuted; the smallest such view" in text
        assert text == page(tree(self.results(found)))

    @pytest.mark.few(1)
    @pytest.mark.parametrize(("lower", "does"), [(1.5, True), ("inf", True), (0.5, False)])
    def test_it_says_whether_the_exact_loss_refutes_the_claim(self, found, lower, does):
        results = self.results(found)
        results["algorithms"][0]["audit"] = {
            "verdict": "refuted", "epsilon_claimed": 1.0, "epsilon_exact": {"lower": lower},
        }  # fmt: skip
        assert ("sends and receives, which does refute the claim" in page(tree(results))) == does

    def test_no_views_no_section(self):
        assert "The claim, view by view" not in page(tree({"name": "it", "algorithms": [{"name": "a"}]}))

    def test_refuted_views_come_first(self, found):
        cell = r'<td class="text"[^>]*>(?:<span class="sign bad"[^>]*>✕</span> )?(refuted|not refuted)'
        said = re.findall(cell, page(tree(self.results(found))))
        assert len(said) == 11
        assert said == sorted(said, reverse=True) != said[::-1]

    def test_evidence_beyond_all_floats_is_shown(self):
        assert [e_to(log_e) for log_e in (2000.0, 0.0, 11.0)] == ["3.9 × 10⁸⁶⁸", "1", "6 × 10⁴"]
