"""Lesson 7's numbers: games, ceilings, power, and the ways to fool oneself, against laws that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from attacks.audit.verdict import Verdict
from scenarios.lab.scenes import audits as scene


def test_what_is_seen_follows_its_law() -> None:
    both = scene.seen(2.0, 20_000)
    assert stats.kstest(both.zero, stats.laplace(0, 0.5).cdf).pvalue > 1e-3
    assert stats.kstest(both.one, stats.laplace(1, 0.5).cdf).pvalue > 1e-3
    middles, zero, one = both.shares()
    assert 0.95 < zero.sum() <= 1
    assert middles[np.argmax(one)] == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 1.0])
def test_a_rule_is_right_as_often_as_its_law_says(threshold: float) -> None:
    game = scene.seen(2.0, 20_000).tally(threshold, 20_000)
    assert game.right <= game.guesses <= game.trials == 20_000
    spread = math.sqrt(game.truth * (1 - game.truth) / game.guesses)
    assert abs(game.accuracy - game.truth) < 4 * spread
    assert game.epsilon_audited < 2.0
    assert game.lower < game.accuracy
    assert math.log(game.lower / (1 - game.lower)) == pytest.approx(game.epsilon_audited)


def test_from_a_half_on_silence_gains_nothing_more_and_a_rule_that_says_nothing_proves_nothing() -> None:
    both = scene.seen(2.0, 20_000)
    odds = [both.true_accuracy(t) for t in (0.0, 0.25, 0.5, 2.0)]
    assert odds[0] < odds[1] < odds[2] == odds[3] == pytest.approx(math.exp(2) / (1 + math.exp(2)))
    silent = both.tally(50.0, 100)
    assert (silent.guesses, silent.epsilon_audited) == (0, 0.0)
    assert math.isnan(silent.accuracy)


def test_more_coins_prove_more_and_never_more_than_the_ceiling() -> None:
    found = scene.by_trials(1.0, (100, 1000), games=60)
    assert found.median[0] < found.median[1] < 1.1
    assert np.all(found.high <= found.ceiling)
    assert found.above < 0.12  # 5 % of 120, and P(15 or more) < 10⁻³


def test_the_fewest_coins_are_the_fewest() -> None:
    for epsilon in (0.5, 1.0, 3.0):
        coins, proven, by_less = scene.fewest_coins(epsilon)
        assert proven > epsilon >= by_less
        right = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert right**coins <= 0.05 < right ** (coins - 1)


def test_power_grows_with_coins_and_falls_with_releases() -> None:
    one = scene.chances(1.0, 1.5, (100, 1000, 10_000))
    four = scene.chances(1.0, 1.5, (100, 1000, 10_000), releases=4)
    assert one == sorted(one)
    assert all(few < many for few, many in zip(four, one, strict=True))


@pytest.mark.slow
def test_one_mechanism_has_two_verdicts_and_what_no_game_can_test_is_proven() -> None:
    one, even, small = scene.three_verdicts().values()
    assert one.judgement.verdict is Verdict.CONSISTENT
    assert even.judgement.verdict is Verdict.REFUTED
    assert small.judgement.verdict is Verdict.PROVEN
    assert one.claim.epsilon == even.claim.epsilon
    assert even.epsilon_exact == pytest.approx(3 * one.epsilon_exact)


@pytest.mark.slow
def test_peeking_accuses_more_often_and_the_anytime_game_does_not() -> None:
    found = scene.alarms(1.0, 20)
    assert found.coins.tolist() == list(range(50, 1001, 50))
    assert np.all(found.fixed < 0.08)  # 5 % of 1000 and five deviations
    assert np.all(np.diff(found.peeking) >= 0)
    assert found.peeking[0] == found.fixed[0]
    assert found.peeking[-1] > 0.11
    assert found.anytime < 0.2  # 5 % of 60, and P(12 or more) < 10⁻⁴
    assert found.refuted.mean() == pytest.approx(found.fixed[-1])
    assert found.any_of(1) == pytest.approx(found.fixed[-1])
    assert found.any_of(20) > 0.3


@pytest.mark.slow
def test_the_small_certificate_counts() -> None:
    row, accused, rate = scene.small_certificate(4)
    assert (row.repetitions, accused) == (4, 0)
    assert rate == pytest.approx(1 - 0.05**0.25)
