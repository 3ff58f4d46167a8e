"""Random networks: what a traffic analysis states of them as certain is so, and what holds at 95 % mostly holds."""

import pytest

from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.network.laws import ConstantDelay, LognormalDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from tests.attacks.traffic.drawn import analysed_world, degenerate, drawn, faults
from tests.attacks.traffic.worlds import ACKNOWLEDGED, LOSSY, MISSING, ROUNDS, listened


def checked(simulation):
    found, run, diary = analysed_world(simulation)
    return found, run, None if found is None else faults(found, run, diary)


@pytest.mark.slow
def test_nothing_that_is_stated_is_wrong():
    chances = []
    known = complete = lost = 0
    for seed in range(20_000, 20_250):
        found, _, wrong = checked(drawn(seed))
        if found is None:
            continue
        assert not wrong.certain, f"world {seed}"
        chances += wrong.chances
        known += len(found.activity.events)
        complete += found.activity.complete
        lost += len(found.links.lost)
    assert sum(chances) / len(chances) >= 0.95
    assert len(chances) > 300
    assert known > 700
    assert complete > 30
    assert lost > 400


@pytest.mark.slow
def test_nor_where_times_coincide():
    complete = 0
    for seed in range(20_000, 20_030):
        found, _, wrong = checked(degenerate(seed))
        assert not wrong.certain, f"world {seed}"
        complete += found.activity.complete
    assert complete > 8


@pytest.mark.parametrize("seed", [122, 427, 501, 1177, 1297, 1382, 1915])
def test_repetitions_at_the_moments_of_exchanges_are_not_taken_for_them(seed):
    """The timeout is what computing takes, or nothing takes time: repetitions of all links coincide."""
    _, _, wrong = checked(degenerate(seed))
    assert not wrong.certain


def test_of_two_messages_due_at_one_moment_either_may_be_the_one():
    """Sent once and twice they are due again at other times: both readings of a walk are followed."""
    found, _, wrong = checked(degenerate(633))
    assert isinstance(degenerate(633).algorithm, Recal)
    assert not wrong.certain
    assert not found.activity.complete


@pytest.mark.parametrize("world", [degenerate(1119), degenerate(1295), degenerate(753), drawn(2079), drawn(11_127)])
def test_a_gap_that_is_said_to_be_computing_is_that(world):
    """With no travel an acknowledgement at the next packet's moment may be that packet's; the least gap bounds the
    travel only where it holds some, and with more than one of them; a copy is acknowledged a second time."""
    _, _, wrong = checked(world)
    assert not wrong.certain


def test_a_timeout_before_the_acknowledgement_can_be_back_is_no_loss():
    law = LinkLaw(LognormalDelay(0.02, 1.0), encrypted=True, reliable=True, timeout=0.02)
    for seed in range(3):
        for algorithm in (Recal(0.2, 30), PrivateGradientDescent(5, Constant(0.1))):
            found, score, _, diary = listened(algorithm, law, seed=seed)
            assert sum(one.lost for one in diary.links.values()) == 0
            assert all(one.low == 0 for one in found.links.lost.values())
            assert score.lost.held == score.lost.estimated


def test_a_copied_packet_is_acknowledged_twice():
    for seed in range(8):
        law = LinkLaw(ConstantDelay(0.01), reliable=True, loss=0.1, duplication=0.4)
        found, score, _, _ = listened(ROUNDS, law, seed=seed)
        assert all(0 <= one.low <= one.high for one in found.links.lost.values())
        assert score.lost.held == score.lost.estimated == 10


def test_losses_of_a_network_that_repeats_in_time_are_known_within_a_few_packets():
    found, _, _, _ = listened(ROUNDS, LOSSY)
    assert all(one.high - one.low < 20 for one in found.links.lost.values())
    assert all(one.low > 0 for one in found.links.lost.values())


def test_no_repetition_heard_is_not_none_repeated_where_packets_were_missed():
    for seed in range(6):
        found, _, _, _ = listened(ROUNDS, ACKNOWLEDGED, MISSING, seed=seed)
        assert all(one.low < one.high for one in found.links.repeated.values())
