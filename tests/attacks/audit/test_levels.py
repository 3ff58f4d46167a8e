"""The game on the way: never above the true ε, spread over the run, and the same as the whole at its end."""

import numpy as np
import pytest

from attacks.audit.games.game import play
from attacks.audit.loss_breakdown import MOST_LEVELS, audited_levels
from netsim.algorithms import PrivateGradientDescent
from netsim.algorithms.planted_faults import SentBefore
from netsim.schedules import Constant
from tests.attacks.audit.test_loss_breakdown import dpp2
from tests.attacks.auditing import claim_of, judged, quadratic_world

CONFIDENCE = 0.999


@pytest.fixture(scope="module")
def audited():
    simulation, pair = quadratic_world(dpp2(rounds=30), 4)
    return judged(simulation, pair, claim_of(1.0, 0.0), trials=1000, attack=None)


def test_it_proves_no_more_than_is_true_at_any_activation(audited):
    """The differences are constant, so the true pure ε by the end of round k is the sum of prices until then."""
    prices = {k: part.spent.most for k, part in audited.anatomy.breakdown.activations.items()}
    levels = audited_levels(audited.exact, 0.0, CONFIDENCE, np.random.default_rng(1))
    for level in levels:
        true = sum(price for k, price in prices.items() if k <= level.activation)
        assert 0 <= level.epsilon <= min(true, level.ceiling)
    assert levels[-1].epsilon > 2  # and it does prove something


def test_it_is_played_at_some_activations_up_to_the_last(audited):
    levels = audited.anatomy.audited
    at = [level.activation for level in levels]
    assert len(levels) == MOST_LEVELS
    assert at[0] == 1
    assert at[-1] == audited.activations == 30
    assert at == sorted(set(at))
    assert levels[-1].trials == audited.white_box.trials


def test_the_scores_are_those_of_the_exact_loss(audited):
    """At δ = 0 what is known of ε on the way grows, and the estimate is the sum of prices."""
    prices = np.cumsum([part.spent.mean for part in audited.anatomy.breakdown.activations.values()])
    estimates = {level.activation: level.estimate for level in audited.exact[0].growth}
    np.testing.assert_allclose([estimates[k] for k in sorted(estimates)], prices, rtol=1e-9)


def test_it_changes_no_number_of_the_audit(audited):
    """The games on the way are played after the others, so these have the first coins."""
    first, second = audited.exact
    alone = play(-first.losses, second.losses, delta=0.0, confidence=1 - 0.05 / 2, rng=np.random.default_rng(0))
    assert audited.white_box == alone


def test_after_an_uncovered_message_only_the_trials_limit_it():
    simulation, pair = quadratic_world(SentBefore(rounds=4, step=0.2, scale=0.8, bound=0.5))
    levels = judged(simulation, pair, claim_of(1.0, 0.0), trials=200, attack=None).anatomy.audited
    assert levels[0].epsilon < 0.5
    assert all(level.epsilon == pytest.approx(level.ceiling) for level in levels[1:])


def test_an_agent_whose_data_never_left_it_has_lost_nothing():
    simulation, pair = quadratic_world(PrivateGradientDescent(1, Constant(0.2), Constant(0.5)))
    levels = judged(simulation, pair, claim_of(1.0, 0.0), trials=200, attack=None).anatomy.audited
    assert [level.epsilon for level in levels] == [0.0]


def test_few_transcripts_prove_nothing_and_do_no_harm():
    simulation, pair = quadratic_world(dpp2(rounds=3), 3)
    found = judged(simulation, pair, claim_of(1.0, 0.0), trials=50, attack=None)
    assert all(level.epsilon <= level.ceiling for level in found.anatomy.audited)
