"""Attacks and audits where somebody alters messages: who believes the air is wrong, who saw what arrived is not."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.descent import through_differences
from attacks.closed_form.recal import through_duals
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Clip, PrivateGradientDescent, Recal
from netsim.network.active_adversaries import ActiveAdversary, AddGaussian, Alter, Delay, Drop, Replay, ScaleBy
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from tests.attacks.auditing import HELD, RECORD, judged, record_pair, replayed
from tests.worlds import DELTA, ROUGH, changed, digits_problem, synthetic_problem, tapped_ring

NOISELESS = PrivateGradientDescent(12, Constant(0.3), Constant(0.0))
ALTERED = ActiveAdversary("mallory", ((0, 1),), (Alter(AddGaussian(1.0)),), directed=True)


def overheard(meddler, *, links=LinkLaw(), adversary=Adversary()):  # noqa: B008
    problem = synthetic_problem()
    return Simulation(
        problem, topology.ring(5), NOISELESS, NetworkSettings(links, active_adversaries=(meddler,)),
        adversaries=(adversary,), seed=2,
    ).run()  # fmt: skip


def errors_by_agent(run):
    score = score_gradients(through_differences(run.views[0]), run.truth)
    return [score.errors[np.array(score.agents) == i] for i in range(5)]


def test_who_takes_the_air_for_what_arrived_is_wrong_about_the_receiver_alone():
    """Agent 1 mixes what nobody on the air has heard; its every gradient is misjudged, the others' are exact."""
    errors = errors_by_agent(overheard(ALTERED))
    assert errors[1].min() > 0.05
    for agent in (0, 2, 3, 4):
        assert errors[agent].size == 11
        assert errors[agent].max() < 1e-10


def test_who_sits_at_the_receivers_door_sees_what_it_used():
    at_the_door = Adversary(links=(), nodes=(1,))
    errors = errors_by_agent(overheard(ALTERED, adversary=at_the_door))
    assert errors[1].max() < 1e-10


@pytest.mark.parametrize("authenticated", [False, True])
def test_what_only_comes_late_or_twice_or_again_misleads_nobody(authenticated):
    """On a reliable link all that is on the air is delivered in the end; with tags also where somebody alters."""
    actions = (Drop(0.3), Delay(0.2, 0.3), Replay(0.1, 0.3)) + (Alter(ScaleBy(2.0), 0.5),) * authenticated
    run = overheard(ActiveAdversary("m", "all", actions), links=replace(ROUGH, authenticated=authenticated))
    assert max(errors.max() for errors in errors_by_agent(run)) < 1e-10


def test_a_walk_is_misjudged_too():
    problem = synthetic_problem()
    honest = tapped_ring(problem, Recal(step=0.5, activations=200))
    met = changed(honest, active_adversaries=(ActiveAdversary("m", "all", (Alter(AddGaussian(0.5), 0.2),)),))
    scores = [score_gradients(through_duals(run.views[0]), run.truth) for run in (honest.run(), met.run())]
    assert scores[0].worst < 1e-8
    assert scores[1].worst > 0.05


@pytest.mark.parametrize("law", [LinkLaw(), ROUGH], ids=["perfect", "rough"])
@pytest.mark.parametrize(
    "actions",
    [(Alter(AddGaussian(1.0), 0.5),), (Replay(0.0, 0.5), Alter(ScaleBy(3.0), 0.5)), (Delay(0.1), Replay(0.05, 0.5))],
)
def test_a_replay_explains_what_was_sent_by_what_was_delivered(law, actions):
    problem = synthetic_problem()
    algorithm = PrivateGradientDescent(15, Constant(0.3), Constant(0.1), Clip(0.2))
    simulation = tapped_ring(
        problem, algorithm, links=law, replicas=3, active_adversaries=(ActiveAdversary("m", "all", actions),)
    )
    run = simulation.run()
    assert run.interceptions[0].altered + run.interceptions[0].replayed > 20
    found = replayed(run)
    assert found.identical
    assert len(found.releases) == 15


@pytest.mark.slow
def test_an_audit_stays_exact_for_what_the_agent_received():
    """The meddler's own noise says nothing of the data: the loss is that of the agent's releases, claim and all."""
    problem = digits_problem(5)
    pair = record_pair(problem)
    algorithm = PrivateGradientDescent(10, Constant(0.2), Constant(2.0), Clip(0.5, "l1"))
    honest = Simulation(problem, topology.ring(5), algorithm)
    met = changed(honest, active_adversaries=(ActiveAdversary("m", "all", (Alter(AddGaussian(1.0), 0.5),)),))
    claim = algorithm.claim(RECORD, honest.setting(10), DELTA)
    found = [judged(simulation, pair, claim, 400) for simulation in (honest, met)]
    assert {one.judgement.verdict for one in found} <= set(HELD)
    assert 0 < found[1].epsilon_exact <= claim.epsilon
    assert found[1].uncovered is None
    assert found[1].exact[0].self_check.passed
