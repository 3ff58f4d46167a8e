"""Each verdict, the order between them, and the numbers in the sentence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.games.game import GameResult, play
from attacks.audit.verdict import RESOLUTION, ROUNDING, Bound, Judgement, Verdict, exceeds, judge
from netsim.claims import UNCLAIMED
from netsim.errors import PrivacyError


def game(proves: float, reaches: float = 8.0, delta: float = 1e-5) -> GameResult:
    """A real game's result with the two numbers that decide replaced."""
    rng = np.random.default_rng(0)
    result = play(np.zeros(100), np.ones(100), delta=delta, confidence=0.95, rng=rng)
    return GameResult(**{**vars(result), "epsilon_audited": proves, "ceiling": reaches})


def judged(claimed: float | None = 1.0, **evidence) -> Judgement:
    return judge(epsilon_claimed=claimed, **{"delta": 1e-5, **evidence})


def test_refuted_by_the_exact_loss():
    judgement = judged(1.0, exact_lower=1.5, exact_upper=1.6)
    assert judgement.verdict is Verdict.REFUTED
    assert judgement.proven_share == 1.5
    assert "at least 1.5" in judgement.reason
    assert "claimed ε = 1 " in judgement.reason


def test_refuted_by_the_game():
    judgement = judged(1.0, audited=game(2.25))
    assert judgement.verdict is Verdict.REFUTED
    assert "2.25" in judgement.reason


def test_refuted_by_an_infinite_exact_loss():
    assert judged(1.0, exact_lower=math.inf, exact_upper=math.inf).verdict is Verdict.REFUTED


def test_equal_to_the_claim_but_for_rounding_is_not_refuted():
    assert judged(0.3, exact_lower=0.1 * 3, exact_upper=0.1 * 3).verdict is Verdict.CONSISTENT
    assert judged(0.3, exact_lower=0.3001, exact_upper=0.3001).verdict is Verdict.REFUTED


@pytest.mark.parametrize("claimed", [1.0, None, math.inf])
def test_unprotected_whatever_was_claimed(claimed):
    judgement = judged(claimed, uncovered="agent 3, activation 7: y", failed_conditions=("step too large",))
    assert judgement.verdict is Verdict.UNPROTECTED
    assert "agent 3, activation 7: y" in judgement.reason
    assert "∞" in judgement.reason


def test_undefined_lists_the_conditions_and_still_tells_what_was_measured():
    judgement = judged(1.0, failed_conditions=("q < 1 fails: q = 1.2", "c ≤ 0"), exact_lower=7.5, exact_upper=7.5)
    assert judgement.verdict is Verdict.UNDEFINED
    assert judgement.proven_share is None
    for words in ("q < 1 fails: q = 1.2", "c ≤ 0", "7.5"):
        assert words in judgement.reason


@pytest.mark.parametrize("failed", [(), (UNCLAIMED,)])
def test_without_a_claim_the_word_is_no_claim_and_what_was_not_judged_is_named(failed):
    judgement = judged(None, failed_conditions=failed, not_judged="the agent sent nothing")
    assert judgement.verdict is Verdict.NO_CLAIM
    assert "no ε is claimed" in judgement.reason
    assert "the agent sent nothing" in judgement.reason


@pytest.mark.parametrize(("most", "words"), [(1.5, "a claim of 1.5 would"), (1.60001, "a claim of 1.601 would")])
def test_of_a_refuted_claim_the_bound_is_what_would_hold(most, words):
    judgement = judged(1.0, exact_lower=1.5, exact_upper=math.inf, bound=Bound(most, ("a condition",)))
    assert judgement.verdict is Verdict.REFUTED
    assert words in judgement.reason
    assert "∞" not in judgement.reason


def test_vacuous_above_the_threshold_unless_refuted():
    assert judged(25.0, exact_lower=24.0, exact_upper=24.0).verdict is Verdict.VACUOUS
    assert "7.2 × 10¹⁰" in judged(25.0).reason
    assert judged(25.0, exact_lower=26.0, exact_upper=26.0).verdict is Verdict.REFUTED
    assert judged(25.0, exact_lower=24.0, exact_upper=24.0, vacuous_above=30.0).verdict is Verdict.CONSISTENT
    assert judged(20.0, exact_lower=20.0, exact_upper=20.0).verdict is Verdict.CONSISTENT
    assert judged(math.inf, exact_lower=math.inf, exact_upper=math.inf).proven_share is None
    assert judged(1e4).verdict is Verdict.VACUOUS


def test_underpowered_where_nothing_could_have_refuted():
    assert judged(9.0, audited=game(5.0, reaches=8.0)).verdict is Verdict.UNDERPOWERED
    assert judged(8.0, audited=game(5.0, reaches=8.0)).verdict is Verdict.CONSISTENT
    nothing = judged(2.0)
    assert nothing.verdict is Verdict.UNDERPOWERED
    assert "Nothing was measured" in nothing.reason
    assert judged(2.0, exact_lower=0.1, exact_upper=math.inf).verdict is Verdict.UNDERPOWERED
    half = judged(2.0, exact_upper=1.0)
    assert half.verdict is Verdict.UNDERPOWERED
    assert "between ? and 1" in half.reason
    assert judged(9.0, audited=game(5.0), exact_lower=8.0, exact_upper=8.5).verdict is Verdict.CONSISTENT


def test_consistent_says_how_tight():
    judgement = judged(2.0, audited=game(1.5), exact_lower=1.8, exact_upper=1.9)
    assert judgement.verdict is Verdict.CONSISTENT
    assert judgement.proven_share == pytest.approx(0.9)
    assert "90%" in judgement.reason
    assert "narrow" not in judgement.reason
    assert "more transcripts would narrow it" in judged(2.0, exact_lower=1.8, exact_upper=2.3).reason


@pytest.mark.parametrize(
    ("used", "share", "verdict"),
    [
        (None, 0.1, "consistent"), (None, 0.0999, "underpowered"), (0.25, 0.9, "consistent"),
        (0.2499, 0.9, "underpowered"), (1.0, 0.05, "underpowered"), (0.1, 1.01, "refuted"),
    ],
)  # fmt: skip
def test_a_weak_pair_or_a_small_proven_share_is_no_comfort(used, share, verdict):
    found = judged(2.0, delta=0.0, exact_lower=2 * share, exact_upper=2 * share, change_used=used)
    assert found.verdict == verdict
    assert found.proven_share == pytest.approx(share)
    if verdict == "underpowered":
        assert "more pairs of data sets" in found.reason  # the remedy


def test_an_upper_end_that_is_nowhere_is_no_interval_to_narrow():
    open_above = judged(4.0, exact_lower=0.003, exact_upper=math.inf, audited=game(0.0)).reason
    assert "between 0.003 and ∞" in open_above
    assert "From above nothing is proven: what was never seen may cost more." in open_above
    assert "narrow" not in open_above
    assert "the proven lower bound is less than 1% of the claim" in open_above
    nothing = judged(4.0, exact_lower=0.0, exact_upper=math.inf, audited=game(0.0)).reason
    assert "the proven lower bound is 0% of the claim" in nothing


def test_a_claim_of_zero():
    assert judged(0.0, exact_lower=0.0, exact_upper=0.0).proven_share == 1
    refuted = judged(0.0, exact_lower=0.1, exact_upper=0.2)
    assert (refuted.verdict, refuted.proven_share) == (Verdict.REFUTED, math.inf)


def test_a_game_above_the_exact_loss_is_pointed_out():
    assert "one of them is wrong" in judged(3.0, audited=game(2.5), exact_lower=1.0, exact_upper=1.0).reason
    assert "one of them is wrong" not in judged(3.0, audited=game(0.5), exact_lower=1.0, exact_upper=1.0).reason


@pytest.mark.parametrize(
    "evidence",
    [
        {"exact_lower": 2.0, "exact_upper": 1.0}, {"exact_lower": math.nan}, {"exact_upper": -1.0}, {"delta": 2.0},
        {"audited": game(0.5, delta=1e-3)},
    ],
)  # fmt: skip
def test_evidence_that_contradicts_itself_is_refused(evidence):
    with pytest.raises(PrivacyError):
        judged(1.0, **evidence)


def test_a_negative_claim_is_refused():
    with pytest.raises(PrivacyError, match="epsilon_claimed"):
        judged(-1.0)


def test_verdicts_are_their_words():
    assert {str(v) for v in Verdict} == {
        "refuted", "unprotected", "proven", "consistent", "underpowered", "vacuous", "undefined", "no claim",
    }  # fmt: skip


@given(claimed=st.floats(0.01, 50), low=st.floats(0, 50), width=st.floats(0, 5), more=st.floats(1, 3))
def test_a_larger_claim_is_never_newly_refuted(claimed, low, width, more):
    evidence = {"exact_lower": low, "exact_upper": low + width}
    here, there = judged(claimed, **evidence), judged(claimed * more, **evidence)
    assert (here.verdict is Verdict.REFUTED) == (low > claimed * (1 + ROUNDING) + RESOLUTION)
    if there.verdict is Verdict.REFUTED:
        assert here.verdict is Verdict.REFUTED


@pytest.mark.parametrize("upper", [2.2, math.inf])
def test_an_estimate_above_the_claim_is_never_consistent(upper):
    evidence = {"exact_lower": 1.7, "exact_upper": upper, "audited": game(1.0, reaches=4.0)}
    found = judged(1.8, exact_estimate=2.0, **evidence)
    assert found.verdict is Verdict.UNDERPOWERED
    assert "estimated at 2" in found.reason
    assert judged(2.0, exact_estimate=2.0, **evidence).verdict is Verdict.CONSISTENT
    assert judged(1.6, exact_estimate=2.0, **evidence).verdict is Verdict.REFUTED


@settings(max_examples=200, deadline=None)
@given(
    ends=st.tuples(*[st.floats(0, 20)] * 3).map(sorted), open_above=st.booleans(), delta=st.sampled_from([0.0, 1e-5]),
    used=st.floats(0, 1),
)  # fmt: skip
def test_whatever_else_is_known_an_estimate_above_the_claim_is_not_consistent(ends, open_above, delta, used):
    lower, claimed, estimate = ends
    upper = math.inf if open_above else estimate
    found = judge(
        epsilon_claimed=claimed, delta=delta, exact_lower=lower, exact_upper=upper, exact_estimate=estimate,
        change_used=used, vacuous_above=100.0,
    )  # fmt: skip
    assert found.verdict is Verdict.UNDERPOWERED or not exceeds(estimate, claimed)


def test_at_delta_zero_the_exact_loss_has_no_ceiling():
    """Any transcript could have refuted: what did not is consistent, whatever the game could have proven."""
    evidence = {"exact_lower": 9.0, "exact_upper": math.inf}
    found = judged(9.0, delta=0.0, audited=game(0.5, reaches=4.0, delta=0.0), **evidence)
    assert found.verdict is Verdict.CONSISTENT
    assert "nothing is proven" in found.reason
    assert judged(9.0, audited=game(0.5, reaches=4.0), **evidence).verdict is Verdict.UNDERPOWERED


@pytest.mark.parametrize(("lower", "verdict"), [(7.8, Verdict.CONSISTENT), (6.0, Verdict.UNDERPOWERED)])
def test_above_delta_zero_a_lower_end_that_follows_the_estimate_has_none_either(lower, verdict):
    """With tilted noise a hundred transcripts would have refuted a smaller claim, whatever the game's ceiling."""
    evidence = {"audited": game(0.5, reaches=4.0), "exact_upper": math.inf, "exact_estimate": 7.9}
    assert judged(8.0, exact_lower=lower, **evidence).verdict is verdict
    assert judged(100.0, exact_lower=lower, vacuous_above=200.0, **evidence).verdict is Verdict.UNDERPOWERED
