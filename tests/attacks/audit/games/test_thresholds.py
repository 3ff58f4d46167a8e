"""How the game spends its trials: losses choose with few, other scores with more, and the rest is played."""

import math

import numpy as np
import pytest
from scipy import special, stats

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.games.game import (
    GameResult,
    Table,
    Thresholds,
    ceiling,
    choose,
    coins_for,
    keeps_its_odds,
    looks,
    play,
)
from netsim.errors import PrivacyError
from tests.attacks.audit import known

EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)


def games(worlds, repetitions: int, *, delta: float = 0.0, confidence: float = 0.95, **more) -> list[GameResult]:
    """Independent games; `worlds` draws both worlds' scores from a generator."""
    rngs = [np.random.default_rng([31, seed]) for seed in range(repetitions)]
    return [play(*worlds(rng), delta=delta, confidence=confidence, rng=rng, **more) for rng in rngs]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mechanism", [known.randomized_response, known.laplace, known.discrete_laplace])
def test_ten_thousand_trials_of_each_world_find_nine_tenths_of_epsilon(mechanism, epsilon):
    """In at least 90 % of the games (91 % for Laplace at 0.5, else more), and above it in at most 5 %: 30 games,
    which miss either allowance with probability below 1e-4."""
    found = np.array([g.epsilon_audited for g in games(lambda rng: mechanism(epsilon, 10_000, rng), 30)])
    assert (found >= 0.9 * epsilon).sum() >= stats.binom.ppf(1e-4, 30, 0.9)
    assert (found > epsilon).sum() <= stats.binom.isf(1e-4, 30, 0.05)
    assert np.median(found) > 0.92 * epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_composition_shows_its_whole_loss_more_seldom(epsilon):
    """Two releases of ε/2 each: both are in their tails in 25 to 40 % of the transcripts."""
    found = np.array([g.epsilon_audited for g in games(lambda rng: known.two_laplaces(epsilon, 10_000, rng), 30)])
    assert np.median(found) >= 0.88 * epsilon
    assert (found > epsilon).sum() <= stats.binom.isf(1e-4, 30, 0.05)


def test_bounds_stay_below_the_truth_at_their_confidence():
    """300 games at 80 %, small ones so that the choosing matters: more misses have probability below 1e-4."""
    for mechanism in (known.randomized_response, known.laplace, known.two_laplaces):
        found = games(lambda rng, m=mechanism: m(1.0, 300, rng), 300, confidence=0.8)
        assert sum(g.epsilon_audited > 1.0 for g in found) <= stats.binom.isf(1e-4, 300, 0.2)


def test_losses_choose_with_few_trials_and_other_scores_with_more():
    def raw(rng):
        return rng.laplace(0, 1, 10_000), rng.laplace(1, 1, 10_000)

    assert {g.choosing for g in games(lambda rng: known.laplace(1.0, 10_000, rng), 5)} == {400}
    assert {g.choosing for g in games(raw, 5)} == {1800}
    assert {g.choosing for g in games(lambda rng: known.laplace(1.0, 300, rng), 5)} == {90}
    assert {g.choosing for g in games(raw, 5, holdout=0.5)} == {5000}
    assert looks(10**6) == [20_200, 100_800]


def test_scores_that_boast_are_not_taken_at_face_value():
    rng = np.random.default_rng(0)
    zero, one = known.laplace(1.0, 1000, rng)
    everything = Thresholds(0.0, 0.0)
    assert keeps_its_odds(zero, one, everything)
    for lie in (3.0, 0.3, -1.0):
        assert not keeps_its_odds(lie * zero, lie * one, everything)
    assert not keeps_its_odds(zero + 1, one + 1, everything)
    honest, boasting = (
        games(lambda rng, k=k: tuple(k * s for s in known.laplace(2.0, 10_000, rng)), 10) for k in (1.0, 9.0)
    )
    assert np.median([g.epsilon_audited for g in boasting]) > 0.85 * 2
    assert {g.choosing for g in boasting} == {1800}
    assert {g.choosing for g in honest} == {400}


def test_atoms_smeared_by_rounding_are_still_atoms():
    """A loss summed in another order differs in its last bits; thresholds lie beside all its copies."""

    def smeared(rng):
        clean = known.randomized_response(4.0, 10_000, np.random.default_rng(rng.integers(99)))
        return tuple(s * (1 + 1e-13 * rng.normal(size=s.size)) for s in clean)

    for game in games(smeared, 5):
        assert abs(game.threshold_0) < 3.9
        assert game.guesses == game.trials


def test_the_chosen_band_is_the_best_for_a_law_that_is_known():
    """Laplace at ε = 2: the losses say where to speak, up to a few per cent of the bound that the best band gets."""
    rng = np.random.default_rng(5)
    zero, one = known.laplace(2.0, 400, rng)
    band = Table.at_face_value(zero, one, 0.0, 9600, 0.95).band()
    assert -2.0 < band.low < -1.8
    assert 1.8 < band.high < 2.0
    assert band.abstains
    assert band.sides == 2


def tells(share: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """World 1 gives itself away with probability `share`, world 0 never: (0, share) and not less."""
    return np.zeros(n), (rng.random(n) < share).astype(float)


def test_a_rule_for_one_world_pays_half_of_delta():
    """P(right) = share/2 of a fair coin's trials, none wrong: at δ = share nothing is proven, a little below much."""
    assert all(g.direction == "world 1" for g in games(lambda rng: tells(0.2, 2000, rng), 5, delta=0.1))
    found = games(lambda rng: tells(0.1, 2000, rng), 300, delta=0.1, confidence=0.8)
    assert sum(g.epsilon_audited > 0 for g in found) <= stats.binom.isf(1e-4, 300, 0.2)
    assert min(g.epsilon_audited for g in games(lambda rng: tells(0.2, 10_000, rng), 20, delta=0.15)) > 2


def test_gaussian_losses_find_most_of_epsilon_at_a_delta_they_can_resolve():
    delta = gaussian_delta(1.0, 1.0)
    found = [g.epsilon_audited for g in games(lambda rng: known.gaussian(1.0, 10_000, rng), 20, delta=delta)]
    assert 0.7 < np.median(found) < 1.0


def test_what_is_promised_at_face_value_is_what_the_losses_say():
    """The shares of a table are means of 1/(1 + e^{−s}), and those of counts are counts."""
    rng = np.random.default_rng(2)
    zero, one = known.laplace(1.0, 50, rng)
    both = np.concatenate([zero, one])
    table = Table.at_face_value(zero, one, 0.0, 1000, 0.95)
    for at, below, above in zip(table.candidates, table.below[1], table.above[1], strict=True):
        assert below == pytest.approx(special.expit(both[both < at]).sum() / 50)
        assert above == pytest.approx(special.expit(both[both >= at]).sum() / 50)
    counted = Table.as_counted(zero, one, 0.0)
    for at, below, above in zip(counted.candidates, counted.below[0], counted.above[0], strict=True):
        assert below == np.mean(zero < at)
        assert above == pytest.approx(np.mean(zero >= at))


def test_rules_name_what_they_say_they_name():
    scores = np.array([-math.inf, -1.0, 0.0, 1.0, math.inf])
    silent, always = Thresholds(-math.inf, math.inf), Thresholds(0.0, 0.0)
    assert not silent.says_0(scores).any()
    assert not silent.says_1(scores).any()
    assert silent.sides == 0
    assert (always.says_0(scores) ^ always.says_1(scores)).all()
    assert not always.abstains


def test_coins_leave_three_deviations_in_reserve_and_rarely_run_dry():
    for pool in (1, 8, 700, 9600):
        trials = coins_for(pool)
        assert trials / 2 + 1.5 * math.sqrt(trials) <= pool
        assert 2 * stats.binom.sf(pool, trials, 0.5) < 0.003
    assert ceiling(coins_for(9600), 0.0, 0.95) > 8.7


def test_too_few_scores_are_refused():
    with pytest.raises(PrivacyError, match="need some to choose"):
        choose(np.zeros(1), np.zeros(9), delta=0.0, confidence=0.95, holdout=None)
