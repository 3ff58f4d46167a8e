"""Algorithms in rounds under traffic analysis."""

from dataclasses import replace

import pytest

from netsim.adversary import Adversary
from netsim.algorithms import GradientTracking
from netsim.network.laws import ConstantDelay, ExponentialDelay
from netsim.network.links import ExchangePolicy
from tests.attacks.traffic.worlds import ACKNOWLEDGED, LOSSY, MISSING, ROUNDS, SEALED, SLOW, listened


@pytest.mark.parametrize("law", [SEALED, ACKNOWLEDGED, LOSSY], ids=["datagrams", "acknowledged", "lossy"])
def test_when_each_agent_began_each_round(law):
    found, score, _, diary = listened(ROUNDS, law)
    truth = sorted((p.start, agent) for (agent, _), p in diary.begun.items())
    assert [tuple(one) for one in found.activity.events] == truth
    assert found.activity.complete
    assert score.events_wrong == 0
    assert score.activations.baseline == 0  # rounds are public


@pytest.mark.few("datagrams")
@pytest.mark.parametrize("law", [SEALED, ACKNOWLEDGED, LOSSY], ids=["datagrams", "acknowledged", "lossy"])
def test_the_straggler_is_ranked_rightly(law):
    wrong = held = asked = 0
    slow = {SLOW: ExponentialDelay(0.4)}
    for seed in range(4):
        found, score, _, _ = listened(replace(ROUNDS, rounds=100), law, seed=seed, compute_laws=slow)
        assert found.computing.slowest == score.slowest == SLOW
        wrong += score.ranked - score.rightly
        held, asked = held + score.computing.held, asked + score.computing.estimated
    assert wrong == 0
    assert asked == 20
    assert held >= 16  # of 95 %: fewer has probability 0.003


@pytest.mark.parametrize("law", [ACKNOWLEDGED, LOSSY], ids=["acknowledged", "lossy"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_computing_time_that_is_said_to_be_seen_is_the_one_that_was_drawn(law, seed):
    """Constant times: one gap that holds anything else would move the mean, and open the interval."""
    laws = {agent: ConstantDelay(0.02 * (agent + 1)) for agent in range(5)}
    found, _, _, _ = listened(ROUNDS, law, seed=seed, compute=None, compute_laws=laws)
    assert min(found.computing.samples) > 5
    for agent, mean in enumerate(found.computing.means):
        assert tuple(mean) == pytest.approx([0.02 * (agent + 1)] * 3, abs=1e-9)


def test_a_difference_below_the_travel_of_a_message_is_not_said():
    """Without acknowledgements a fast agent's gap holds its messages' travel, a straggler's does not: that alone must
    not turn the order round."""
    for seed in range(4):
        _, score, _, _ = listened(ROUNDS, SEALED, compute=None, compute_laws={}, seed=seed)
        assert (score.ranked, score.computing.held) == (0, 5)


def test_repetitions_are_what_is_more_than_the_public_number_of_exchanges():
    found, score, _, diary = listened(ROUNDS, LOSSY)
    assert {e: one.value for e, one in found.links.repeated.items()} == {
        e: one.repeated for e, one in diary.links.items()
    }
    assert score.lost.held == 10


def test_a_tap_that_misses_packets_gives_intervals():
    held = 0
    for seed in range(6):
        found, score, _, _ = listened(ROUNDS, LOSSY, MISSING, seed=seed)
        assert found.activity.events == ()
        assert found.computing.refused
        assert not any(one.exact for one in found.links.repeated.values())
        held += score.repeated.held
    assert held >= 51  # of 60 at 95 %: fewer has probability 0.004


def test_one_packet_of_an_exchange_is_enough_where_nothing_is_repeated():
    found, score, _, _ = listened(ROUNDS, SEALED, Adversary(links="all", capture_loss=0.02))
    known = {event.agent for event in found.activity.events}
    assert known
    assert score.events_found == 40 * len(known)
    assert score.events_wrong == 0


def test_a_deadline_hides_what_was_waited_for():
    found, _, _, _ = listened(ROUNDS, SEALED, exchange_policy=ExchangePolicy(0.05))
    assert "deadline" in found.computing.refused
    assert found.activity.complete


def test_several_vectors_and_exchanges_a_round():
    found, score, _, _ = listened(GradientTracking(20, 0.05), ACKNOWLEDGED)
    assert score.events_found == score.events == 100
    assert found.dimension.value == score.dimension
    assert found.computing.slowest == SLOW
