"""The game that may stop at any trial: never wrong too often, soon right, and the same however the trials arrive."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.games.sequential_test import (
    AtFaceValue,
    Block,
    Learner,
    SequentialTest,
    SequentialTestResult,
    tossed,
)
from netsim.errors import PrivacyError
from tests.attacks.audit import known

DELTA = gaussian_delta(1.0, 1.0)  # the δ at which a Gaussian release with μ = 1 costs ε = 1


def games(
    worlds, repetitions: int, claim: float, *, delta: float = 0.0, alpha: float = 0.05, **more
) -> list[SequentialTestResult]:
    """Independent games; `worlds` draws both worlds' scores from a generator."""
    rngs = [np.random.default_rng([17, seed]) for seed in range(repetitions)]
    return [SequentialTestResult.play(*worlds(rng), claim, delta, alpha, rng, **more) for rng in rngs]


@pytest.mark.few("the loss itself")
@pytest.mark.parametrize(
    "disguise",
    [
        pytest.param(lambda loss: loss, id="the loss itself"),
        pytest.param(lambda loss: 5 * loss + 20, id="a score that is no loss"),
    ],
)
def test_half_the_noise_is_refuted_within_a_few_hundred_trials(disguise):
    """Laplace at half its declared scale, claim 1, true 2: 40 games; the loss itself needs fewer trials."""

    def worlds(rng):
        return tuple(map(disguise, known.laplace(2.0, 1000, rng)))

    found = games(worlds, 40, 1.0)
    at = [game.refuted_at for game in found]
    assert None not in at
    assert np.median(at) <= 200 if disguise(1.0) != 1.0 else np.median(at) <= 110
    assert max(at) <= 1500
    assert all(game.trials == game.refuted_at and game.refuted for game in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worlds", "claim", "delta"),
    [
        pytest.param(lambda rng: known.laplace(1.0, 150, rng), 1.0, 0.0, id="Laplace"),
        pytest.param(lambda rng: known.randomized_response(1.0, 150, rng), 1.0, 0.0, id="randomized response"),
        pytest.param(lambda rng: known.gaussian(1.0, 150, rng), 1.0, DELTA, id="Gaussian"),
    ],
)
def test_true_claims_are_ever_refuted_in_at_most_alpha_of_the_games(worlds, claim, delta):
    """80 games at α = 0.2: more than the allowance with probability below 1e-4, if each errs at most 20 %.

    That expected wealth is at most 1, of which this is the consequence, is tested below without chance.
    """
    found = games(worlds, 80, claim, delta=delta, alpha=0.2)
    assert sum(game.refuted for game in found) <= stats.binom.isf(1e-4, 80, 0.2)
    assert np.mean([game.e_value for game in found]) < 2


@pytest.mark.slow
def test_the_bound_stays_below_a_truth_that_is_above_the_claim():
    """The claim is refuted, the bound goes on to rise, and exceeds the truth in at most α of the games."""
    found = games(lambda rng: known.randomized_response(2.0, 400, rng), 40, 0.5, alpha=0.2, to_the_end=True)
    assert sum(game.epsilon_audited >= 2.0 for game in found) <= stats.binom.isf(1e-4, 40, 0.2)
    assert np.median([game.epsilon_audited for game in found]) > 1.5
    assert all(game.refuted and game.refuted_at < game.trials for game in found)


@pytest.mark.slow
def test_ignoring_delta_would_be_a_false_alarm():
    """The Gaussian release is (1, δ) but not (1, 0): the games above have teeth."""
    found = games(lambda rng: known.gaussian(1.0, 4000, rng), 4, 1.0)
    assert all(game.refuted for game in found)
    assert not any(game.refuted for game in games(lambda rng: known.gaussian(1.0, 4000, rng), 4, 1.0, delta=DELTA))


def test_a_gaussian_release_with_half_its_noise_is_refuted_at_its_delta():
    found = games(lambda rng: known.gaussian(2.0, 2000, rng), 10, 1.0, delta=DELTA)
    assert np.median([game.refuted_at or math.inf for game in found]) < 1000


def outcomes(law_0: dict[float, float], law_1: dict[float, float]) -> list[tuple[int, float, float]]:
    """(coin, score, probability) of one trial, for scores with these laws."""
    return [(coin, s, p / 2) for coin, law in enumerate((law_0, law_1)) for s, p in law.items()]


LAWS = {
    "randomized response": ({-1.0: 0.75, 1.0: 0.25}, {-1.0: 0.25, 1.0: 0.75}, math.log(3), 0.0),
    "one side only": ({-0.1: 0.9, 3.0: 0.1}, {-0.1: 0.7, 3.0: 0.3}, math.log(3), 0.0),
    "an outright answer": ({-math.inf: 0.1, 0.0: 0.9}, {0.0: 0.9, math.inf: 0.1}, 0.0, 0.1),
    "both": (
        {-5.0: 0.1, -1.0: 0.6, 1.0: 0.3}, {-1.0: 0.3, 1.0: 0.6, 5.0: 0.1}, math.log(2), 0.1,
    ),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(("law_0", "law_1", "epsilon", "delta"), LAWS.values(), ids=LAWS)
def test_expected_wealth_is_at_most_one_whatever_was_learned(law_0, law_1, epsilon, delta):
    """Exactly, over all outcomes of one trial, for bettors taught by 100 different pasts."""
    grid = np.array([epsilon, epsilon + 0.5, epsilon + 2])
    bold = AtFaceValue.bold(grid, delta)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        coins, n = rng.integers(0, 2, 60), rng.integers(1, 60)
        scores = np.where(rng.random(60) < 0.7, coins * 2.0 - 1, rng.normal(0, 3, 60)) * rng.choice([1, 3])
        past = Block.of(coins[:n], scores[:n])
        for bettor in (bold, bold.taught(past), Learner.taught(grid, delta, past)):
            mean = sum(
                p * np.exp(bettor.settle(Block.of(np.array([coin]), np.array([score]))).gain)
                for coin, score, p in outcomes(law_0, law_1)
            )
            assert np.all(mean <= 1 + 1e-9)


def test_expected_wealth_would_exceed_one_below_the_truth():
    """The laws above are tight: at a smaller ε somebody gains."""
    law_0, law_1, epsilon, _ = LAWS["randomized response"]
    past = Block.of(np.repeat([0, 1], 50), np.repeat([-1.0, 1.0], 50))
    bettor = Learner.taught(np.array([epsilon - 0.2]), 0.0, past)
    gains = [(p, bettor.settle(Block.of(np.array([c]), np.array([s]))).gain[0]) for c, s, p in outcomes(law_0, law_1)]
    assert sum(p * math.exp(gain) for p, gain in gains) > 1.01


@given(seed=st.integers(0, 999), epsilon=st.floats(0, 3), delta=st.sampled_from([0.0, 0.05]))
@settings(max_examples=40, deadline=None)
def test_a_block_is_settled_as_its_trials_one_by_one(seed, epsilon, delta):
    """Against a plain loop that knows only the formula of a stake."""
    rng = np.random.default_rng(seed)
    coins, scores = rng.integers(0, 2, 40), rng.normal(0, 3, 40).round(1)
    scores[:2] = np.inf, -np.inf
    past, grid = Block.of(coins[:20], scores[:20]), np.array([epsilon])
    face, learner = AtFaceValue.bold(grid, delta).taught(past), Learner.taught(grid, delta, past)
    block = Block.of(coins[20:], scores[20:])
    x, q = math.exp(-epsilon), 1 / (1 + math.exp(epsilon))
    most = max(float(face.most[0]), epsilon)

    def stake(size: float) -> float:
        return 0.0 if size <= epsilon else min(1 - 1 / (1 + math.exp(min(size, most, 700))) / q, 1 - 1e-6)

    by_hand = learned = 0.0
    for coin, score in zip(coins[20:], scores[20:], strict=True):
        right = (score > 0) == coin
        factor = 1 + stake(abs(score)) * x if right else 1 - stake(abs(score))
        by_hand += math.log(factor if score != 0 else 1) - math.log1p(stake(math.inf) * x * delta)
        for world, says, c in (
            (0, score < learner.low[0], learner.stake_0[0]),
            (1, learner.high[0] < math.inf and score >= learner.high[0], learner.stake_1[0]),
        ):
            learned += math.log((1 + c * x if coin == world else 1 - c) if says else 1)
        learned -= math.log1p((learner.stake_0[0] + learner.stake_1[0]) * x * delta / 2)
    assert face.settle(block).gain[0] == pytest.approx(by_hand, abs=1e-9)
    assert learner.settle(block).gain[0] == pytest.approx(learned, abs=1e-9)


@pytest.mark.slow
@given(cuts=st.lists(st.integers(0, 600), max_size=6), seed=st.integers(0, 9), to_the_end=st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_portions_in_which_trials_arrive_change_nothing(cuts, seed, to_the_end):
    rng = np.random.default_rng(seed)
    coins = rng.integers(0, 2, 600)
    scores = np.where(coins == 1, *reversed(known.laplace(2.0, 600, rng)))
    whole, parts = (SequentialTest(1.0, 0.0, 0.05, to_the_end=to_the_end) for _ in range(2))
    whole.update(coins, scores)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 600], strict=True):
        parts.update(coins[start:end], scores[start:end])
        parts.result()  # looking at it changes nothing
    assert parts.result() == whole.result()
    assert parts.decided == whole.decided <= whole.result().refuted


def test_the_future_does_not_change_what_was_proven():
    rng = np.random.default_rng(3)
    coins = rng.integers(0, 2, 500)
    scores = np.where(coins == 1, *reversed(known.laplace(1.5, 500, rng)))
    early, late = SequentialTest(1.0, 0.0, 0.05, to_the_end=True), SequentialTest(1.0, 0.0, 0.05, to_the_end=True)
    early.update(coins[:200], scores[:200])
    late.update(coins, scores)
    late.update(coins, -scores)  # from here on every guess is wrong
    assert late.result().epsilon_audited >= early.result().epsilon_audited
    assert late.result().trials == 1000


def test_worlds_that_never_meet_are_told_apart_nearly_as_well_as_can_be():
    """All right, N coins prove what solves N ln(1 + e^{−ε}) = ln 1/α, but for what the stakes hold back."""
    for low, high in ((-1.0, 1.0), (-math.inf, math.inf)):
        result = games(lambda rng, a=low, b=high: (np.full(5000, a), np.full(5000, b)), 1, 3.0, to_the_end=True)[0]
        assert result.refuted
        best = -math.log(math.expm1(-math.log(0.05) / result.trials))
        assert best - 0.4 < result.epsilon_audited <= best


@pytest.mark.slow
def test_nothing_is_proven_of_scores_that_know_nothing():
    found = games(lambda rng: (rng.normal(0, 5, 500), rng.normal(0, 5, 500)), 20, 0.0)
    assert sum(game.epsilon_audited > 0 for game in found) <= stats.binom.isf(1e-4, 20, 0.05)
    same = games(lambda rng: (np.zeros(500), np.zeros(500)), 1, 0.0)[0]
    assert (same.epsilon_audited, same.refuted) == (0.0, False)
    assert same.e_value < 3


def test_coins_end_when_a_world_is_empty_and_not_before():
    rng = np.random.default_rng(0)
    for size_0, size_1 in ((5, 5), (1, 9), (100, 40)):
        coins = tossed(size_0, size_1, rng)
        used = int((coins == 0).sum()), int((coins == 1).sum())
        assert used[0] == size_0 or used[1] == size_1
        assert used[0] <= size_0
        assert used[1] <= size_1
    assert tossed(0, 5, rng).size == 0


def test_the_sentence_says_what_happened():
    refuted = games(lambda rng: known.laplace(2.0, 1000, rng), 1, 1.0)[0]
    assert f"refuted after {refuted.refuted_at:,} coins" in refuted.sentence
    holds = games(lambda rng: known.laplace(1.0, 1000, rng), 1, 1.0)[0]
    assert holds.trials >= 1000
    assert holds.sentence.startswith(f"{holds.trials:,} coins did not refute ε ≤ 1 ")


@pytest.mark.parametrize(
    ("claim", "delta", "alpha"),
    [
        (-1.0, 0.0, 0.05), (math.inf, 0.0, 0.05), (math.nan, 0.0, 0.05), (1.0, 1.0, 0.05), (1.0, 0.0, 0.0),
        (1.0, 0.0, 1),
    ],
)  # fmt: skip
def test_impossible_wagers_are_refused(claim, delta, alpha):
    with pytest.raises(PrivacyError):
        SequentialTest(claim, delta, alpha)


@pytest.mark.parametrize(
    ("coins", "scores"), [([0, 1], [1.0]), ([0, 2], [1.0, 2.0]), ([0.5], [1.0]), ([1], [math.nan])]
)
def test_trials_without_a_coin_or_a_score_are_refused(coins, scores):
    with pytest.raises(PrivacyError):
        SequentialTest(1.0, 0.0, 0.05).update(np.array(coins), np.array(scores))
