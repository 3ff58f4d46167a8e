"""The game on mechanisms whose ε is known: never above it too often, not far below, and with how many trials."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.accounting.formulas import gaussian_delta, gaussian_epsilon
from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.games.game import (
    GameResult,
    ceiling,
    coins_for,
    looks,
    play,
)
from netsim.errors import PrivacyError
from tests.attacks.audit import known


def randomized_response(epsilon: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The answer itself as the score: 1 with probability e^ε/(1 + e^ε) in world 1, the rest in world 0."""
    truth = 1 / (1 + math.exp(-epsilon))
    return (rng.random(n) > truth).astype(float), (rng.random(n) < truth).astype(float)


def laplace(epsilon: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The release of 0 or 1 with noise of scale 1/ε, scored by itself."""
    return rng.laplace(0, 1 / epsilon, n), rng.laplace(1, 1 / epsilon, n)


def leaky(epsilon: float, delta: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Randomized response that with probability δ tells its world outright: (ε, δ) and not less."""
    told = rng.random((2, n)) < delta
    zero, one = randomized_response(epsilon, n, rng)
    return np.where(told[0], -9.0, zero), np.where(told[1], 9.0, one)


def shy(epsilon: float, delta: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`leaky`, but what it does not tell outright it keeps to itself half the time, at a score of ½."""
    quiet = rng.random((2, n)) < 0.5
    zero, one = leaky(epsilon, delta, n, rng)
    return np.where(quiet[0] & (zero > -9), 0.5, zero), np.where(quiet[1] & (one < 9), 0.5, one)


def games(worlds, repetitions: int, *, delta: float = 0.0, confidence: float = 0.95, **more) -> list[GameResult]:
    """Independent games; `worlds` draws both worlds' scores from a generator."""
    rngs = [np.random.default_rng([7, seed]) for seed in range(repetitions)]
    return [play(*worlds(rng), delta=delta, confidence=confidence, rng=rng, **more) for rng in rngs]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worlds", "delta", "truth"),
    [
        pytest.param(lambda rng: randomized_response(1.0, 500, rng), 0.0, 1.0, id="randomized response"),
        pytest.param(lambda rng: laplace(1.0, 500, rng), 0.0, 1.0, id="Laplace"),
        pytest.param(lambda rng: leaky(1.0, 0.05, 500, rng), 0.05, 1.0, id="leaky"),
        pytest.param(lambda rng: shy(1.0, 0.05, 2000, rng), 0.05, 1.0, id="shy"),
        pytest.param(
            lambda rng: (rng.normal(0, 1, 500), rng.normal(1, 1, 500)), 0.1, gaussian_epsilon(1.0, 0.1),
            id="Gaussian",
        ),
    ],
)  # fmt: skip
def test_false_alarms_stay_at_or_below_nominal(worlds, delta, truth):
    """400 games at 90 %: more than the allowance with probability below 1e-4, if each errs at most 10 %."""
    results = games(worlds, 400, delta=delta, confidence=0.9)
    allowance = stats.binom.isf(1e-4, 400, 0.1)
    assert sum(g.epsilon_audited > truth for g in results) <= allowance
    assert sum(g.rates.epsilon > truth for g in results) <= allowance
    assert np.median([g.epsilon_audited for g in results]) > 0.2 * truth


@pytest.mark.slow
def test_false_alarms_are_not_far_below_nominal_where_the_bound_is_exact():
    """Randomized response claims all of the bound: an auditor that never errs there wastes its confidence."""
    results = games(lambda rng: randomized_response(1.0, 500, rng), 400, confidence=0.9)
    assert sum(g.epsilon_audited > 1.0 for g in results) >= stats.binom.ppf(1e-4, 400, 0.06)


def test_ignoring_delta_would_be_a_false_alarm():
    """(1, δ) is not (1, 0): the same scores played at δ = 0 are caught, so the test above has teeth."""
    assert games(lambda rng: leaky(1.0, 0.05, 5000, rng), 1)[0].epsilon_audited > 1.3
    assert games(lambda rng: leaky(1.0, 0.05, 5000, rng), 1, delta=0.05)[0].epsilon_audited < 1.0


def test_noise_half_as_large_as_declared_is_caught():
    """A Laplace release with half its scale: ε is 2, the claim 1."""
    assert games(lambda rng: laplace(2.0, 5000, rng), 1)[0].epsilon_audited > 1.5


def test_abstaining_beats_guessing_always():
    """Guessing every Laplace coin proves at most ln(2e^{ε/2} − 1), the band proves more."""
    result = games(lambda rng: laplace(4.0, 5000, rng), 1)[0]
    assert result.threshold_0 < result.threshold_1
    assert result.guesses < result.trials
    assert result.epsilon_audited > math.log(2 * math.exp(2) - 1) + 0.5


def test_ceiling_is_reached_by_worlds_that_never_meet():
    for low, high in ((-1.0, 1.0), (-math.inf, math.inf)):
        result = games(lambda rng, a=low, b=high: (np.full(1000, a), np.full(1000, b)), 1, delta=1e-5)[0]
        assert result.guesses == result.correct == result.trials
        assert result.epsilon_audited == result.ceiling == ceiling(result.trials, 1e-5, 0.95)


def test_separated_but_continuous_worlds_reach_the_ceiling():
    """The threshold lies in the middle of the gap, not on the outermost score that happened to choose it."""
    result = games(lambda rng: (rng.normal(0, 1, 5000), rng.normal(20, 1, 5000)), 1)[0]
    assert result.epsilon_audited == result.ceiling


@given(trials=st.integers(1, 10**6), delta=st.floats(0, 0.5), confidence=st.floats(0.5, 0.999))
def test_ceiling_rises_with_trials_and_falls_with_delta_and_confidence(trials, delta, confidence):
    here = ceiling(trials, delta, confidence)
    assert ceiling(2 * trials, delta, confidence) >= here
    assert ceiling(trials, delta + 0.1, confidence) <= here
    assert ceiling(trials, delta, (1 + confidence) / 2) <= here


scores = st.lists(st.floats(allow_nan=False), min_size=40, max_size=80).map(np.array)


@pytest.mark.slow
@given(zero=scores, one=scores, delta=st.sampled_from([0.0, 1e-5, 0.05]), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_any_scores_give_a_bound_between_zero_and_the_ceiling(zero, one, delta, seed):
    result = play(zero, one, delta=delta, confidence=0.95, rng=np.random.default_rng(seed))
    assert 0 <= result.epsilon_audited <= result.ceiling
    assert result.correct <= result.guesses <= result.trials
    assert result.threshold_0 <= result.threshold_1
    again = play(zero, one, delta=delta, confidence=0.95, rng=np.random.default_rng(seed))
    assert again == result


def test_thresholds_come_from_the_first_part_and_wins_from_the_rest():
    first, rest = np.full(300, 1.0), np.full(700, 0.0)
    result = games(lambda rng: (np.concatenate([-first, rest]), np.concatenate([first, rest])), 1)[0]
    assert -1 < result.threshold_1 < 1
    assert result.epsilon_audited == 0  # what separated the worlds while choosing does not while playing


def test_coins_are_fair_and_do_not_outrun_the_trials():
    """A rule that says 1 whatever it sees is right as often as the coin says 1."""
    first_0, first_1 = np.full(300, -1.0), np.full(300, 1.0)
    rest = np.full(700, 5.0)
    results = games(lambda rng: (np.concatenate([first_0, rest]), np.concatenate([first_1, rest])), 100)
    trials = results[0].trials
    ones = sum(g.correct for g in results)
    assert abs(ones - 50 * trials) < 4.5 * math.sqrt(25 * trials)  # probability below 1e-5 for fair coins
    assert len({g.correct for g in results}) > 10
    assert trials / 2 + 1.5 * math.sqrt(trials) <= 700 < (trials + 1) / 2 + 1.5 * math.sqrt(trials + 1)


class OnlyOnes(np.random.Generator):
    """A generator whose coins all show 1."""

    def integers(self, *args, **kwargs):
        return np.ones(args[2], dtype=np.int64)


def test_coins_that_find_no_trial_left_count_as_wrong_guesses():
    """All coins show 1, and world 1 has 700 trials for them: less is proven than by 700 right guesses alone."""
    rng = OnlyOnes(np.random.PCG64(0))
    result = play(np.zeros(1000), np.ones(1000), delta=0.0, confidence=0.95, rng=rng)
    assert (result.correct, result.guesses) == (700, result.trials)
    p = clopper_pearson(700, result.trials, 0.95, "lower").lower
    assert result.epsilon_audited == pytest.approx(math.log(p / (1 - p)))
    silent = play(np.zeros(1000), np.r_[np.ones(300), np.zeros(700)], delta=0.1, confidence=0.95, rng=rng)
    assert silent.epsilon_audited == silent.correct == 0


def test_one_world_alone_can_give_itself_away():
    """World 1 shows a mark that world 0 never does: the rule speaks for world 1 only."""

    def worlds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(5000), (rng.random(5000) < 0.3).astype(float)

    result = games(worlds, 1)[0]
    assert result.direction == "world 1"
    assert result.correct == result.guesses < result.trials
    assert result.epsilon_audited > 5
    assert (result.rates.world, result.rates.alarm_rate_upper) == (1, pytest.approx(0.0, abs=2e-3))
    mirrored = play(
        *(-w for w in reversed(worlds(np.random.default_rng(0)))), delta=0.0, confidence=0.95,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert mirrored.direction == "world 0"
    assert mirrored.rates.world == 0


def test_rates_are_the_logarithm_of_their_own_bounds():
    result = games(lambda rng: laplace(2.0, 5000, rng), 1, delta=0.01)[0]
    rates = result.rates
    assert rates.epsilon == math.log((rates.hit_rate_lower - 0.01) / rates.alarm_rate_upper)
    assert 1.4 < rates.epsilon < 2.0


@pytest.mark.parametrize(
    ("zero", "one", "more"),
    [
        (np.array([np.nan] * 20), np.zeros(20), {}), (np.zeros(20), np.array([np.nan] * 20), {}),
        (np.zeros(0), np.zeros(20), {}), (np.zeros(1), np.zeros(20), {}),
        (np.zeros(5), np.zeros(5), {"holdout": 0.2}), (np.zeros(20), np.zeros(20), {"holdout": 1.0}),
        (np.zeros(20), np.zeros(20), {"delta": 1.0}), (np.zeros(20), np.zeros(20), {"confidence": 1.0}),
    ],
)  # fmt: skip
def test_unplayable_games_are_refused(zero, one, more):
    with pytest.raises(PrivacyError):
        play(zero, one, **{"delta": 0.0, "confidence": 0.95, "rng": np.random.default_rng(0), **more})


def test_a_ceiling_needs_a_trial():
    with pytest.raises(PrivacyError, match="at least one"):
        ceiling(0, 0.0, 0.95)


@pytest.mark.parametrize(("delta", "trials"), [(0.5, 4000), (0.3, 10_000)])
def test_a_leak_in_exactly_delta_of_one_world_proves_nothing(delta, trials):
    """World 1 scores +∞ with probability δ, all else is equal: (0, δ)-DP. A rule that says 0 below ∞ abstains there.
    Each game errs with at most 5 %: 9 or more of 60 with probability below 0.002."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(60):
        leaked = np.where(rng.random(trials) < delta, np.inf, 0.0)
        wrong += play(np.zeros(trials), leaked, delta=delta, confidence=0.95, rng=rng).epsilon_audited > 1e-12
    assert wrong < 9


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.3), (1.0, 0.1)])
def test_leaks_in_both_worlds_beside_randomized_response(epsilon, delta):
    """Tight (ε, δ): each world gives itself away with probability δ, else tells itself with odds e^ε. Of 60 games
    9 or more are above ε with probability below 0.002."""
    rng = np.random.default_rng(2)
    wrong, trials = 0, 4000
    for _ in range(60):
        scores = []
        for world in (0, 1):
            right = rng.random(trials) < 1 / (1 + math.exp(-epsilon))
            told = np.where(right == bool(world), epsilon, -epsilon)
            scores.append(np.where(rng.random(trials) < delta, np.inf if world else -np.inf, told))
        wrong += play(*scores, delta=delta, confidence=0.95, rng=rng).epsilon_audited > epsilon
    assert wrong < 9


EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)


@pytest.mark.few(6)
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


@pytest.mark.slow
def test_bounds_stay_below_the_truth_at_their_confidence():
    """300 games at 80 %, small ones so that the choosing matters: more misses have probability below 1e-4."""
    for mechanism in (known.randomized_response, known.laplace, known.two_laplaces):
        found = games(lambda rng, m=mechanism: m(1.0, 300, rng), 300, confidence=0.8)
        assert sum(g.epsilon_audited > 1.0 for g in found) <= stats.binom.isf(1e-4, 300, 0.2)


@pytest.mark.few("0.3")
@pytest.mark.parametrize("odds", [1.0, 0.3])
def test_thresholds_chosen_on_other_trials_leave_all_to_be_played(odds):
    """300 games at 80 %, with scores that keep their odds and such that do not."""
    found = []
    for seed in range(300):
        rng = np.random.default_rng([8, seed])
        other, scores = ([odds * s for s in known.two_laplaces(1.0, n, rng)] for n in (100, 300))
        found.append(play(*scores, delta=0.0, confidence=0.8, rng=rng, chosen_on=(other[0], other[1])))
    assert {(game.choosing, game.trials) for game in found} == {(0, coins_for(300))}
    assert 0 < sum(g.epsilon_audited > 1.0 for g in found) <= stats.binom.isf(1e-4, 300, 0.2)


def test_losses_choose_with_few_trials_and_other_scores_with_more():
    def raw(rng):
        return rng.laplace(0, 1, 10_000), rng.laplace(1, 1, 10_000)

    assert {g.choosing for g in games(lambda rng: known.laplace(1.0, 10_000, rng), 5)} == {400}
    assert {g.choosing for g in games(raw, 5)} == {1800}
    assert {g.choosing for g in games(lambda rng: known.laplace(1.0, 300, rng), 5)} == {90}
    assert {g.choosing for g in games(raw, 5, holdout=0.5)} == {5000}
    assert looks(10**6) == [20_200, 100_800]


def test_scores_that_boast_are_not_taken_at_face_value():
    """Where the trials of a first look show it, a second one chooses, by what was seen."""

    def looked(factor, more=0.0, epsilon=1.0):
        return games(lambda rng: tuple(factor * s + more for s in known.laplace(epsilon, 10_000, rng)), 10)

    assert {g.choosing for g in looked(1.0)} == {400}
    for lie in (3.0, 0.3, -1.0):
        assert {g.choosing for g in looked(lie)} == {1800}
    assert {g.choosing for g in looked(1.0, more=1.0)} == {1800}
    honest, boasting = looked(1.0, epsilon=2.0), looked(9.0, epsilon=2.0)
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
    chosen_on = known.laplace(2.0, 400, rng)
    (game,) = games(lambda rng: known.laplace(2.0, 9600, rng), 1, chosen_on=chosen_on)
    assert -2.0 < game.threshold_0 < -1.8
    assert 1.8 < game.threshold_1 < 2.0
    assert game.direction == "both worlds"


def tells(share: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """World 1 gives itself away with probability `share`, world 0 never: (0, share) and not less."""
    return np.zeros(n), (rng.random(n) < share).astype(float)


@pytest.mark.slow
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


def test_coins_leave_three_deviations_in_reserve_and_rarely_run_dry():
    for pool in (1, 8, 700, 9600):
        trials = coins_for(pool)
        assert trials / 2 + 1.5 * math.sqrt(trials) <= pool
        assert 2 * stats.binom.sf(pool, trials, 0.5) < 0.003
    assert ceiling(coins_for(9600), 0.0, 0.95) > 8.7


def test_too_few_scores_are_refused():
    with pytest.raises(PrivacyError, match="need some to choose"):
        play(np.zeros(1), np.zeros(9), delta=0.0, confidence=0.95, rng=np.random.default_rng(0))
