"""Rates of attacks that decide: intervals cover, and what a claim allows is attained by what spends it all."""

import math

import numpy as np
import pytest
from scipy import special

from attacks.reconstruction.informed import Choice
from attacks.reconstruction.membership import Decision, GaussianRatio
from attacks.score.inference import (
    allowed_advantage,
    allowed_right,
    breaks,
    of_group,
    score_membership,
    score_property,
)
from attacks.score.robustness import approximate_bound


def decisions(mu, trials, seed=0):
    """Exact Gaussian log likelihood ratios, in and out."""
    rng, law = np.random.default_rng(seed), GaussianRatio(np.full((trials, 1), mu))
    scores = [mu * rng.standard_normal((trials, 1)) + sign * mu**2 / 2 for sign in (1, -1)]
    return [[Decision("membership", 0, one, law, (0,))] for one in scores]


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_gaussian_rates_are_the_closed_forms(mu):
    inside, out = decisions(mu, 4000)
    found = score_membership(inside, out, [0.01, 0.1], 0.9999)
    assert 2 * special.ndtr(mu / 2) - 1 in found.advantage
    assert special.ndtr(mu / math.sqrt(2)) in found.auc
    assert found.auc.upper - found.auc.lower < 2.001 * math.sqrt(math.log(2e4) / 8000)  # Hoeffding
    for one in found.levels:
        power = special.ndtr(special.ndtri(one.level) + mu)
        assert one.power == pytest.approx(power)
        assert power in one.found
        assert one.level in one.alarms
    alarms, power = found.roc
    assert np.all(np.diff(alarms) >= 0)
    assert (alarms[0], power[0], alarms[-1], power[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(power, alarms) == pytest.approx(found.auc.estimate, abs=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("hypotheses", [2, 3, 7])
def test_randomized_response_spends_all_that_is_allowed(epsilon, hypotheses):
    """It says the true one of k with probability e^ε/(e^ε + k − 1), any other with 1/(e^ε + k − 1)."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + hypotheses - 1)
    lie = 1 / (math.exp(epsilon) + hypotheses - 1)
    assert allowed_right(hypotheses, epsilon, 0.0) == pytest.approx(truth)
    if hypotheses == 2:
        assert allowed_advantage(epsilon, 0.0) == pytest.approx(truth - lie)
        assert approximate_bound(lie, epsilon, 0.0) == pytest.approx(truth)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3])
def test_a_mechanism_that_leaks_all_with_probability_delta_spends_it(delta):
    """Randomized response of two with probability 1 − δ, else the truth with a mark: (ε, δ), with nothing left."""
    epsilon = 0.7
    truth = math.exp(epsilon) / (math.exp(epsilon) + 1)
    right = delta + (1 - delta) * truth
    assert allowed_right(2, epsilon, delta) == pytest.approx(right)
    assert allowed_advantage(epsilon, delta) == pytest.approx(2 * right - 1)
    assert approximate_bound(1 - right, epsilon, delta) == pytest.approx(right)


def test_a_group_costs_the_sum_of_its_steps():
    assert of_group(1, 0.5, 1e-3) == pytest.approx((0.5, 1e-3))
    assert of_group(3, 0.5, 0.0) == pytest.approx((1.5, 0.0))
    epsilon, delta = of_group(3, 0.5, 1e-3)
    assert epsilon == pytest.approx(1.5)
    assert delta == pytest.approx(1e-3 * (1 + math.exp(0.5) + math.exp(1.0)))
    assert of_group(2000, 5.0, 1e-3)[1] == 1.0


def test_a_claim_is_broken_by_what_exceeds_it_and_not_by_what_attains_it():
    """μ = 1 against what (ε, δ) allows where δ(ε) is exactly that of μ = 1, and against half of it."""
    epsilon = 1.0
    delta = special.ndtr(0.5 - epsilon) - math.exp(epsilon) * special.ndtr(-0.5 - epsilon)
    broken = 0
    for seed in range(10):
        score = score_membership(*decisions(1.0, 2000, seed), [0.01, 0.05, 0.2], 0.95)
        broken += breaks(score, epsilon, delta, 0.95)
        assert breaks(score, 0.3, 0.0, 0.95)
    assert broken <= 1


def test_properties_are_counted_by_replica_and_trial():
    rows = np.log([[0.8, 0.2], [0.4, 0.6]])
    found = score_property([Choice("property", 0, ("a", "b"), rows, (0,))] * 2, [0, 1], 0.95)
    assert (found.count, found.trials) == (2, 4)
    assert found.confusion.tolist() == [[1, 1], [1, 1]]
    assert found.stated == pytest.approx(0.7)
    assert found.bits == pytest.approx(np.mean(np.log2([1.6, 0.8, 0.4, 1.2])))
