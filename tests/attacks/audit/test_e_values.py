"""E-values and e-BH: by hand, by exact expectation, and by many repetitions on claims that hold."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.views import Coins, Rule, Tally, choose_rule, e_bh, log_e_ceiling, log_e_value
from netsim.errors import PrivacyError

ALWAYS = Rule(0.5, 0.5, 0.0)
"""Guesses every coin by a score of 0 or 1."""


@pytest.mark.parametrize(
    ("e_values", "rejected"),
    [
        ([100, 60, 30, 2], [True, True, True, False]),  # needed at α = 0.05: 80, 40, 26.7, 20
        ([30, 2, 100, 60], [True, False, True, True]),  # whatever their order
        ([70, 45, 1, 1], [True, True, False, False]),  # 70 alone is too little, 45 carries it
        ([79, 39, 26, 19], [False, False, False, False]),
        ([80, 1, 1, 1], [True, False, False, False]),
        ([20, 20, 20, 20], [True, True, True, True]),
    ],
)
def test_e_bh_by_hand(e_values, rejected):
    log_e = np.log(e_values) + 1e-12
    assert e_bh(log_e, 0.05).tolist() == rejected


@given(st.lists(st.floats(-5, 8), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=150, deadline=None)
def test_e_bh_is_its_definition(log_e, alpha):
    """The largest k such that k of the e-values are at least K/(αk); these are rejected."""
    found = e_bh(np.array(log_e), alpha)
    ranked = sorted(log_e, reverse=True)
    count = len(log_e)
    sizes = [k for k in range(1, count + 1) if ranked[k - 1] >= math.log(count / alpha) - math.log(k)]
    k = max(sizes, default=0)
    assert found.sum() == k
    assert k == 0 or min(np.array(log_e)[found]) >= ranked[k - 1]


def test_e_bh_refuses_what_is_no_level():
    with pytest.raises(PrivacyError, match="alpha"):
        e_bh(np.zeros(3), 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.05), (3.0, 0.01)])
def test_the_mean_e_value_of_what_spends_all_of_the_claim_is_one(epsilon, delta):
    """It tells outright with probability δ, else by randomized response: exactly, by the binomial law."""
    coins = 60
    right = delta + (1 - delta) / (1 + math.exp(-epsilon))
    tallies = [Tally(k, coins - k, coins, coins) for k in range(coins + 1)]
    chances = stats.binom.pmf(np.arange(coins + 1), coins, right)
    mean = sum(c * math.exp(log_e_value(t, epsilon, delta)) for c, t in zip(chances, tallies, strict=True))
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_coins_are_fair_and_take_every_trial_once():
    for seed in range(20):
        coins = Coins.toss(50, 40, np.random.default_rng(seed))
        for world, trials in ((0, 50), (1, 40)):
            used = coins.trial[coins.world == world]
            assert used.tolist() == list(range(used.size))
            assert used.size <= trials
        assert coins.trials == 90
        left = [50 - int((coins.world == 0).sum()), 40 - int(coins.world.sum())]
        assert min(left) == 0
        assert left[coins.world[-1]] == 0  # no coin was kept after that trial


@pytest.mark.parametrize(("trials_0", "trials_1"), [(5, 5), (8, 2)])
def test_stopping_favors_no_world(trials_0, trials_1):
    """Who always bets on one world gains nothing on average, however few trials that world has."""
    rng = np.random.default_rng(0)
    gains = [2 * int(c.world.sum()) - c.count for c in (Coins.toss(trials_0, trials_1, rng) for _ in range(4000))]
    assert abs(np.mean(gains)) < 4.5 * np.std(gains) / math.sqrt(len(gains))


def test_no_trial_is_no_evidence():
    coins = Coins.toss(0, 0, np.random.default_rng(0))
    assert coins.count == 0
    tally = coins.tally(ALWAYS, np.empty(0), np.empty(0))
    assert log_e_value(tally, 1.0, 0.0) == pytest.approx(0.0)


def test_the_ceiling_is_all_right():
    coins = Coins.toss(300, 300, np.random.default_rng(1))
    tally = coins.tally(ALWAYS, np.zeros(300), np.ones(300))
    assert (tally.right, tally.wrong) == (coins.count, 0)
    assert log_e_value(tally, 1.0, 0.0) == log_e_ceiling(coins, 1.0, 0.0)


def _responses(epsilon: float, shape: tuple[int, ...], rng: np.random.Generator):
    truth = 1 / (1 + math.exp(-epsilon))
    return (rng.random(shape) > truth).astype(float), (rng.random(shape) < truth).astype(float)


@pytest.mark.parametrize("dependent", [False, True], ids=["independent", "all the same noise"])
def test_the_false_discovery_rate_stays_at_or_below_nominal(dependent):
    """Seven sound views that spend all of the claim, three that spend twice as much; 1,000 repetitions at α = 0.2."""
    rng, alpha, repetitions, count = np.random.default_rng(5), 0.2, 1000, 120
    shares, power = [], []
    for _ in range(repetitions):
        zero, one = _responses(1.0, (10, count), rng)
        if dependent:
            zero[:7], one[:7] = zero[0], one[0]
        zero[7:], one[7:] = _responses(2.0, (3, count), rng)
        coins = Coins.toss(count, count, rng)
        log_e = [log_e_value(coins.tally(ALWAYS, z, o), 1.0, 0.0) for z, o in zip(zero, one, strict=True)]
        found = e_bh(np.array(log_e), alpha)
        shares.append(found[:7].sum() / max(found.sum(), 1))
        power.append(found[7:].mean())
    room = 4 * np.std(shares) / math.sqrt(repetitions)
    assert np.mean(shares) <= alpha + room
    assert np.mean(power) > 0.5


def test_a_rule_is_chosen_for_its_claim():
    """Scores of a Laplace release: against a larger claim only rarer, surer guesses pay."""
    rng = np.random.default_rng(2)
    zero, one = rng.laplace(0, 0.25, 4000), rng.laplace(1, 0.25, 4000)
    small, large = choose_rule(zero, one, 1.0, 0.0), choose_rule(zero, one, 3.0, 0.0)
    assert small.low <= small.high
    assert large.high - large.low > small.high - small.low
    assert small.promise > large.promise > 0
    nothing = choose_rule(zero, zero[::-1], 1.0, 0.0)
    assert nothing.promise <= 0


def test_infinite_scores_are_scores_and_nan_is_none():
    zero, one = np.full(50, -np.inf), np.full(50, np.inf)
    rule = choose_rule(zero, one, 2.0, 0.0)
    coins = Coins.toss(50, 50, np.random.default_rng(0))
    assert coins.tally(rule, zero, one).right == coins.count
    with pytest.raises(PrivacyError, match="NaN"):
        choose_rule(np.array([np.nan]), one, 2.0, 0.0)
