"""A walking token under traffic analysis: exact where nothing is missed, uncertain and not wrong elsewhere."""

import math
from dataclasses import replace

import pytest

from attacks.score import computing_times
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Recal
from netsim.network.laws import LognormalDelay
from netsim.network.links import LinkLaw
from netsim.readers.live import PoissonClock
from tests.attacks.traffic.worlds import ACKNOWLEDGED, DELAY, EARS, LOSSY, MISSING, SEALED, SLOW, WALK, listened

BANDS = (None, 1e4, 1e5)
"""Bytes per second."""
SHORT = LinkLaw(LognormalDelay(0.02, 1.0), encrypted=True, reliable=True, timeout=0.04)


@pytest.mark.parametrize("law", [SEALED, ACKNOWLEDGED, LOSSY], ids=["datagrams", "acknowledged", "lossy"])
@pytest.mark.parametrize("seed", [1, 2])
def test_who_held_the_token_when_is_recovered_exactly(law, seed):
    found, score, run, diary = listened(WALK, law, seed=seed)
    truth = sorted((p.start, agent) for (agent, _), p in diary.begun.items())
    assert found.activity.complete
    assert found.activity.refused is None
    assert [tuple(one)[::1] for one in found.activity.events] == truth
    assert tuple(one.value for one in found.activity.counts) == run.activations
    assert (score.events_found, score.events_wrong) == (score.events, 0) == (200, 0)
    assert score.activations.error == 0 < score.activations.baseline


def test_on_another_graph_with_heavy_delays_too():
    law = replace(LOSSY, delay=LognormalDelay(0.02, 0.3), timeout=0.5)
    graph = topology.complete(5)
    found, score, _, _ = listened(WALK, law, graph=graph)
    assert found.activity.complete
    assert (score.events_found, score.events_wrong) == (200, 0)


def test_acknowledgements_tell_computing_times_to_the_last_digit():
    found, score, run, _ = listened(WALK, ACKNOWLEDGED)
    assert found.computing.kind == "measured"
    assert [one.value for one in found.computing.means] == pytest.approx(computing_times(run), rel=1e-9)
    assert score.computing.exact == 5
    assert found.computing.slowest == score.slowest == SLOW


def test_without_acknowledgements_times_are_bounded_the_straggler_is_named_and_losses_are_not_identifiable():
    found, score, _, _ = listened(WALK, SEALED)
    assert found.computing.kind == "bounded"
    assert score.computing.held == score.computing.estimated == 5
    assert score.computing.exact == 0
    assert found.computing.slower == {(SLOW, i) for i in range(5) if i != SLOW}
    assert found.links.losses_refused
    assert (found.links.lost, score.lost.estimated) == ({}, 0)


def test_agents_of_one_law_are_not_ranked():
    for seed in range(5):
        found, _, _, _ = listened(WALK, ACKNOWLEDGED, compute_laws={}, seed=seed)
        assert found.computing.slower == frozenset()
        assert found.computing.slowest is None


def test_a_clock_is_subtracted_in_the_mean():
    found, score, _, _ = listened(WALK, ACKNOWLEDGED, activation=PoissonClock(20.0))
    assert found.computing.kind == "estimated"
    assert score.computing.held == 5
    assert found.computing.slowest == SLOW


def test_repetitions_are_counted_and_losses_bracketed():
    found, score, _, diary = listened(WALK, LOSSY)
    assert {link: one.value for link, one in found.links.repeated.items()} == {
        link: one.repeated for link, one in diary.links.items()
    }
    assert sum(one.repeated for one in diary.links.values()) > 50
    assert score.repeated.exact == score.repeated.held == 10
    assert score.lost.held == score.lost.asked == 10
    assert score.lost.error < 1 < score.lost.baseline


@pytest.mark.slow
def test_a_tap_that_misses_packets_is_uncertain_and_not_wrong():
    held = asked = 0
    for seed in range(12):
        found, score, _, _ = listened(WALK, SEALED, MISSING, seed=seed)
        assert not found.activity.complete
        assert found.activity.refused
        assert score.events_wrong == 0 < score.events_found < score.events
        assert not any(one.exact for one in found.activity.counts)
        assert found.computing.refused
        assert not any(found.computing.means)
        held, asked = held + score.activations.held, asked + score.activations.estimated
    assert asked == 60
    assert held >= 52  # 60 of 95 %: 52 or fewer has probability 0.01


def test_with_repetitions_besides_it_names_nobody():
    found, score, _, _ = listened(WALK, LOSSY, MISSING)
    assert found.activity.events == ()
    assert "repetition" in found.activity.refused
    assert found.links.repeats_refused
    assert score.activations.held == 5
    assert all(one.value is None and one.low < one.high for one in found.activity.counts)


def test_taps_on_some_links_give_the_counts_of_agents_they_surround():
    found, score, run, _ = listened(WALK, SEALED, Adversary(links=((0, 1), (1, 2))))
    assert found.activity.counts[1].exact
    assert found.activity.counts[1].value == run.activations[1]
    assert all(one.low <= true <= one.high for one, true in zip(found.activity.counts, run.activations, strict=True))
    assert found.activity.counts[4].low == 0 < found.activity.counts[4].high < math.inf
    assert score.events_wrong == 0 < score.events_found


@pytest.mark.parametrize("adversary", [replace(EARS, clock_error=0.01), replace(EARS, start=1.0)])
def test_clocks_that_differ_and_late_taps_are_refused(adversary):
    found, score, run, _ = listened(WALK, ACKNOWLEDGED, adversary)
    assert found.activity.refused
    assert score.events_wrong == 0
    assert all(one.low <= true <= one.high for one, true in zip(found.activity.counts, run.activations, strict=True))


def test_queues_only_bound_the_work():
    found, score, _, _ = listened(WALK, LinkLaw(DELAY, encrypted=True, reliable=True, bandwidth=1e5))
    assert found.activity.complete
    assert found.computing.kind == "bounded"
    assert score.computing.held == 5


def test_two_walks_that_explain_the_times_are_none():
    """Datagrams of a walk with few activations and travels longer than the timeout: a late repetition looks like the
    token's return. Of 120 such worlds some are decoded, and none wrongly."""
    complete = 0
    for seed in range(120):
        law = replace(SHORT, bandwidth=BANDS[seed % 3])
        found, score, _, _ = listened(Recal(0.2, 3 + seed % 4), law, compute=None, compute_laws={}, seed=seed)
        assert score.events_wrong == 0
        assert score.events_found == score.events or not found.activity.complete
        complete += found.activity.complete
    assert complete > 40
