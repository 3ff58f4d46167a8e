"""What is foretold of a game, against games that are played."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.audit.games.game import ceiling, coins_for, looks, play
from attacks.audit.games.power import FACTORS, Plan, percent, power
from netsim.errors import PrivacyError
from netsim.shown import show
from tests.attacks.audit import known

RNG = np.random.default_rng(29)


@pytest.mark.parametrize(("trials", "printed"), [(10**3, 5.8), (10**4, 8.1), (10**5, 10.4), (10**6, 12.7)])
def test_the_ceiling_has_the_printed_digits(trials, printed):
    plan = Plan.of(trials, 1.0)
    assert round(plan.ceiling, 1) == printed
    assert plan.summary.startswith(f"{trials:,} guesses can prove ε up to {show(plan.ceiling, 4)}; ")


def proven(right: int, guesses: int, delta: float, confidence: float) -> float:
    """ε of so many right guesses, by the formula of METHODS, with none of `power`'s code."""
    p = clopper_pearson(right, guesses, confidence, "lower").lower if guesses else 0.0
    return max(math.log((p - delta) / (1 - p)), 0.0) if p > delta else 0.0


@pytest.mark.few("2000-3.0-0.0")
@pytest.mark.parametrize(("trials", "claim", "delta"), [(300, 0.5, 0.0), (1000, 1.0, 0.01), (2000, 3.0, 0.0)])
def test_power_and_mean_of_randomized_response_agree_with_simulated_games(trials, claim, delta):
    for factor in (1.25, 2.0):
        prospect = Plan.of(trials, claim, delta).prospect("randomized response", factor)
        p = (math.exp(prospect.epsilon) + delta) / (1 + math.exp(prospect.epsilon))
        found = np.array([proven(int(k), trials, delta, 0.95) for k in RNG.binomial(trials, p, 2000)])
        refuted = int((found > claim).sum())
        assert stats.binomtest(refuted, 2000, min(prospect.power, 1.0)).pvalue > 1e-4
        assert prospect.epsilon_expected == pytest.approx(
            found.mean(), abs=4.5 * found.std() / math.sqrt(2000) + 1e-3
        )


@pytest.mark.few(3)
@pytest.mark.parametrize("trials", [1, 4, 12, 40])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_few_trials_are_forecast_by_counting_every_outcome(trials, delta):
    claim, truth = 0.3, 0.6
    plan = Plan.of(trials, claim, delta)
    p = (math.exp(truth) + delta) / (1 + math.exp(truth))
    outcomes = [(stats.binom.pmf(k, trials, p), proven(k, trials, delta, 0.95)) for k in range(trials + 1)]
    answered = plan.prospect("randomized response", 2.0)
    assert answered.power == pytest.approx(sum(chance for chance, found in outcomes if found > claim), abs=1e-11)
    assert answered.epsilon_expected == pytest.approx(sum(chance * found for chance, found in outcomes), abs=1e-11)
    if delta == 0:
        p = math.exp(truth) / (1 + math.exp(truth))
        outcomes = [
            (stats.binom.pmf(g, trials, (1 + math.exp(-truth)) / 2) * stats.binom.pmf(k, g, p), proven(k, g, 0, 0.95))
            for g in range(trials + 1)
            for k in range(g + 1)
        ]
        shown = plan.prospect("Laplace", 2.0)
        assert shown.power == pytest.approx(sum(chance for chance, found in outcomes if found > claim), abs=1e-11)
        expected = sum(chance * found for chance, found in outcomes)
        assert shown.epsilon_expected == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("each", [30, 1000, 2500])
def test_a_plan_is_of_the_coins_that_the_game_tosses(each):
    rng = np.random.default_rng(each)
    game = play(*known.laplace(1.0, each, rng), delta=0.0, confidence=0.95, rng=rng)
    assert Plan.of_transcripts(each, 1.0).trials == game.trials


@pytest.mark.few(1)
@pytest.mark.parametrize(("trials", "claim"), [(300, 0.5), (2000, 3.0)])
def test_power_and_mean_of_laplace_agree_with_simulated_games(trials, claim):
    """A rule that speaks in the tails only, on losses that are drawn."""
    prospect = Plan.of(trials, claim).prospect("Laplace", 1.25)
    found = []
    for _ in range(1500):
        zero, one = known.laplace(prospect.epsilon, trials, RNG)
        coins = RNG.integers(0, 2, trials)
        loss = np.where(coins == 1, one, zero)
        spoken = np.abs(loss) > prospect.epsilon * (1 - 1e-9)
        found.append(proven(int(((loss > 0) == coins)[spoken].sum()), int(spoken.sum()), 0.0, 0.95))
    refuted = int((np.array(found) > claim).sum())
    assert stats.binomtest(refuted, 1500, prospect.power).pvalue > 1e-4
    assert prospect.epsilon_expected == pytest.approx(
        np.mean(found), abs=4.5 * np.std(found) / math.sqrt(1500) + 1e-3
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(("each", "claim", "delta"), [(2000, 1.0, 0.0), (10_000, 2.0, 0.0), (10_000, 1.0, 0.05)])
def test_the_game_that_is_played_does_at_least_as_well_as_its_plan(each, claim, delta):
    """The plan knows one rule; the game chooses, and may be a little better, also for what choosing costs."""
    prospect = Plan.of_transcripts(each, claim, delta).prospect("Laplace", 1.25)
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        game = play(*known.laplace(prospect.epsilon, each, rng), delta=delta, confidence=0.95, rng=rng)
        found.append(game.epsilon_audited)
    assert np.mean(found) > prospect.epsilon_expected - 0.02 * prospect.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("law", ["randomized response", "Laplace"])
def test_the_trials_needed_are_the_turning_point(law):
    """Roughly: a binomial test's power climbs in a saw's teeth."""
    for claim, factor in ((0.5, 1.25), (2.0, 2.0), (6.0, 2.0)):
        needed = Plan.of(1000, claim).prospect(law, factor).trials_needed
        assert Plan.of(int(needed), claim).prospect(law, factor).power >= 0.8
        assert Plan.of(int(0.6 * needed), claim).prospect(law, factor).power < 0.8


@pytest.mark.slow
@given(claim=st.floats(0.01, 9), delta=st.sampled_from([0.0, 1e-5]), trials=st.sampled_from([100, 1000, 10_000]))
@settings(max_examples=8, deadline=None)
def test_laws_of_a_plan(claim, delta, trials):
    plan = Plan.of(trials, claim, delta)
    answered, shown = ([plan.prospect(law, f) for f in FACTORS] for law in ("randomized response", "Laplace"))
    for easy, hard in zip(answered, shown, strict=True):
        assert -1e-9 <= hard.power <= max(easy.power, 0.05) + 2e-3 <= 1 + 3e-3  # the saw's teeth decide so little
        assert hard.epsilon_expected <= easy.epsilon_expected + 1e-6
        assert easy.epsilon_expected <= plan.ceiling + 1e-9
        assert easy.trials_needed <= 1.4 * hard.trials_needed
    for prospects in (answered, shown):
        if plan.underpowered:
            assert max(p.power for p in prospects) <= 1e-9
    assert answered[0].power <= answered[1].power + 1e-9 <= answered[2].power + 2e-9
    if math.isfinite(plan.trials_to_reach):
        assert ceiling(int(plan.trials_to_reach), delta, 0.95) > claim
        if plan.trials_to_reach > 2:
            assert ceiling(int(plan.trials_to_reach) - 1, delta, 0.95) <= claim * (1 + 1e-9)


def test_an_underpowered_claim_is_called_so_before_the_game():
    plan = Plan.of(10_000, 10.0)
    assert plan.underpowered
    assert plan.warning == (
        "underpowered before it starts: 10,000 guesses prove at most ε = 8.113, so the claim of 10 cannot be refuted "
        "by this game, whatever the truth; that takes 65,987 guesses at least"
    )
    assert "The exact ε, which is computed, still can refute it." in plan.summary
    assert not Plan.of(65_987, 10.0).underpowered
    assert Plan.of(65_986, 10.0).underpowered


def test_a_weak_plan_is_warned_of_and_a_strong_one_is_praised_with_numbers():
    weak = Plan.of(30, 0.5)
    assert not weak.underpowered
    assert weak.warning is not None
    assert "low power" in weak.warning
    assert Plan.of(10_000, 1.0).warning is None
    assert Plan.of(10_000, 1.0).summary == (
        "10,000 guesses can prove ε up to 8.113; "
        "a claim of 1 that is really 2 would be refuted in more than 99 % of audits if all of it is in one Laplace "
        "release; many small releases show it less."
    )
    assert "a claim of 0 has no multiple" in Plan.of(10_000, 0.0).summary
    assert "more than 10,000,000,000" in (Plan.of(100, 40.0).warning or "")


def test_where_ten_billion_trials_are_too_few_none_are_named():
    plan = Plan.of(100, 1e-6)
    assert [one.trials_needed for one in plan.prospects] == [math.inf] * 6
    assert "more than 10,000,000,000 guesses" in (plan.warning or "")


def test_a_true_claim_is_refuted_at_most_at_the_error_rate():
    for trials in (10, 100, 1000):
        for epsilon in (0.5, 2.0):
            assert power(trials, epsilon, epsilon) <= 0.05 + 1e-6


def test_compositions_explain_what_ten_thousand_trials_cannot_do():
    """P(ε_audited ≥ 0.9 ε): one release suffices everywhere in [0.5, 6], three in the middle only."""
    coins = coins_for(10_000 - looks(10_000)[0])
    one, two, three = ([power(coins, e, 0.9 * e, releases=r) for e in (0.5, 1, 2, 4, 6)] for r in (1, 2, 3))
    assert min(one) > 0.9
    assert two[0] < 0.7 < 0.95 < min(two[1:4])
    assert three[0] < 0.5 < 0.95 < three[2]


@pytest.mark.parametrize(
    ("share", "words"), [(1.0, "more than 99 %"), (0.994, "more than 99 %"), (0.8, "80 %"), (0.001, "less than 1 %")]
)
def test_percent(share, words):
    assert percent(share) == words


@pytest.mark.parametrize("claim", [-1.0, math.inf, math.nan])
def test_plans_for_no_claim_are_refused(claim):
    with pytest.raises(PrivacyError):
        Plan.of(100, claim)


def test_power_refuses_what_is_no_game():
    for more in ({"trials": 0}, {"releases": 0}, {"truth": math.nan}, {"claim": -1.0}):
        with pytest.raises(PrivacyError):
            power(**{"trials": 10, "truth": 1.0, "claim": 1.0, **more})
