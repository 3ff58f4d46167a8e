"""Honest but curious agents, alone and as a coalition: what they know, and what follows from it."""

import numpy as np
import pytest

from attacks.inference import infer
from attacks.score import score_gradients
from netsim.adversary import Adversary
from netsim.algorithms import DPRecal, PrivateGradientDescent, Recal
from netsim.errors import ScenarioError, TranscriptError
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import LogisticLoss, load, logistic
from netsim.schedules import Constant
from netsim.simulation import Run
from netsim.topology import path, ring
from tests.architecture.test_truth_free_views import reachable
from tests.worlds import simulated

SEALED = LinkLaw(UniformDelay(0.01, 0.05), loss=0.2, reliable=True, encrypted=True)
DESCENT = PrivateGradientDescent(12, Constant(0.1))


def run_with(algorithm, insiders: tuple[int, ...], topology=None, **options) -> Run:
    graph = topology or ring(6)
    problem = logistic(load("digits").split(graph.agents), ridge=1.0)
    return simulated(
        problem, graph, algorithm, SEALED, adversaries=(Adversary("curious", insiders=insiders),), **options
    ).run()


def inferred(run: Run) -> set[int]:
    return {e.agent for e in infer(run.views[0])}


def largest_error(run: Run) -> float:
    assert run.truth is not None
    return score_gradients(infer(run.views[0]), run.truth, run.views[0].inside).worst


def visits_between(run: Run, members: set[int]) -> list[int]:
    """How many of each agent's first visits lie between two members; the public start is known to all."""
    holders = [agent for _, agent in sorted((q.time, i) for i, asked in enumerate(run.truth.queries) for q in asked)]
    whole, broken = [0] * len(run.truth.queries), set(members)
    for place, holder in enumerate(holders[:-1]):
        known = (place == 0 or holders[place - 1] in members) and holders[place + 1] in members
        broken |= set() if known else {holder}
        whole[holder] += holder not in broken
    return whole


@pytest.mark.few("insiders1")
@pytest.mark.parametrize("insiders", [(2, 4), (2,), (0, 2, 4)])
def test_encryption_hides_nothing_from_those_who_take_part(insiders):
    run = run_with(Recal(step=0.2, activations=300), insiders, compute=ConstantDelay(0.001))
    found = [sum(e.agent == i for e in infer(run.views[0])) for i in range(6)]
    assert found == visits_between(run, set(insiders))
    assert largest_error(run) < 1e-10
    for i in {(2, 4): (3,), (2,): (), (0, 2, 4): (1, 3, 5)}[insiders]:  # all links end at a member
        assert found[i] >= len(run.truth.queries[i]) - 1
    if insiders == (2,):
        assert sum(found) < 10  # one neighbor of two: a few visits at the start


def test_a_neighbor_who_is_the_only_one_infers_all():
    run = run_with(DPRecal(step=0.2, per_agent=60, stddev=0.5, reading="as_deployable"), (1,), path(4), replicas=2)
    estimates = [e for e in infer(run.views[0]) if e.agent == 0]  # a leaf: all it gets and sends passes its neighbor
    assert len(estimates) == len(run.truth.queries[0]) - 1
    assert largest_error(run) < 1e-9


@pytest.mark.few(2)
@pytest.mark.parametrize("insiders", [(2, 4), (2, 3), (0, 2, 4), (1, 3, 4), (5,)])
def test_a_coalition_infers_those_whose_neighborhood_it_hears(insiders):
    """Descent mixes what all neighbors told: a victim's gradient follows where a member hears each of them."""
    run = run_with(DESCENT, insiders)
    heard = {j for i in insiders for j in (i, (i - 1) % 6, (i + 1) % 6)}
    victims = {i for i in range(6) if i not in insiders and {i, (i - 1) % 6, (i + 1) % 6} <= heard}
    assert victims == {(2, 4): {3}, (2, 3): set(), (0, 2, 4): {1, 3, 5}, (1, 3, 4): {0, 2, 5}, (5,): set()}[insiders]
    assert inferred(run) == victims
    if victims:
        assert largest_error(run) < 1e-10


def test_members_unite_what_they_know():
    one, two = run_with(DESCENT, (2,)), run_with(DESCENT, (4,))
    both = run_with(DESCENT, (2, 4))
    assert inferred(one) | inferred(two) == set()
    assert inferred(both) == {3}
    rows = [{(r.event, r.sender, r.receiver, r.number) for r in run.views[0].transcript} for run in (one, two, both)]
    assert rows[0] | rows[1] == rows[2]


def test_an_insider_knows_its_own_state_and_nobody_elses():
    run = run_with(PrivateGradientDescent(12, Constant(0.1), Constant(0.3)), (2, 4), replicas=3, private="nothing")
    view, objectives = run.views[0], run.simulation.problem.objectives
    assert sorted(view.inside) == [2, 4]
    for agent, inside in view.inside.items():
        assert inside.objective is objectives[agent]
        assert len(inside.queries) == len(inside.releases) == 12
        told = [r.values["x"] for r in view.at_node(agent) if r.event == "sent"]
        assert all(np.array_equal(a, b) for a, b in zip(inside.releases, told, strict=True))
        for query in inside.queries:
            np.testing.assert_array_equal(query.gradient, objectives[agent].gradient(query.point))
    held = [item for item in reachable(view) if isinstance(item, LogisticLoss)]
    assert {id(f) for f in held} == {id(objectives[2]), id(objectives[4])}
    others = [f.features for i, f in enumerate(objectives) if i not in view.inside]
    arrays = [item for item in reachable(view) if isinstance(item, np.ndarray)]
    assert not any(np.shares_memory(array, secret) for array in arrays for secret in others)
    with pytest.raises(TranscriptError, match="agent 3"):
        view.at_node(3)


def test_an_insider_changes_nothing_of_the_run():
    with_them, without = run_with(DESCENT, (2, 4)), run_with(DESCENT, ())
    for one, other in zip(with_them.truth.queries, without.truth.queries, strict=True):
        assert all(np.array_equal(a.point, b.point) and a.time == b.time for a, b in zip(one, other, strict=True))


def test_their_own_gradients_are_no_question():
    run = run_with(DESCENT, (2, 4))
    score = score_gradients(infer(run.views[0]), run.truth, run.views[0].inside)
    assert (score.asked, score.estimated) == (4 * 12, 11)
    assert score.hidden[2] == score.hidden[4] == 0


def test_insiders_are_agents():
    with pytest.raises(ScenarioError, match=r"adversaries\[0\].insiders\[1\] = 6: no such agent"):
        run_with(DESCENT, (2, 6))


def test_an_outsider_hears_all_links_where_nothing_is_said_and_an_insider_none():
    assert len(Adversary().tapped(ring(5))) == 10
    assert Adversary(insiders=(1,)).tapped(ring(5)) == frozenset()
    assert len(Adversary(links="all", insiders=(1,)).tapped(ring(5))) == 10
