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


def exact(lower, upper=None):
    return {"exact_lower": lower, "exact_upper": lower if upper is None else upper}


BARE = {"uncovered": "agent 3, activation 7: y", "failed_conditions": ("step too large",)}
FAILED = {"failed_conditions": ("q < 1 fails: q = 1.2", "c ≤ 0")}
NOT_JUDGED = {"not_judged": "the agent sent nothing"}
OPEN = exact(0.003, math.inf) | {"audited": game(0.0)}
LOOSE = Bound(3.0001, (), worst="agent 1, record 7")
SAYS = {
    "refuted": [
        (1.0, exact(1.5, 1.6), "at least 1.5|claimed ε = 1 "), (1.0, {"audited": game(2.25)}, "2.25"),
        (1.0, exact(math.inf), "ε is ∞, above|!at least"),
        (0.3, exact(0.3001), ""), (25.0, exact(26.0), ""), (0.0, exact(0.1, 0.2), ""),
        (1.0, exact(1.5, math.inf) | {"bound": Bound(1.5, ("a condition",))}, "a claim of 1.5 would|!∞"),
        (1.0, exact(1.5, math.inf) | {"bound": Bound(1.60001, ("a condition",))}, "a claim of 1.601 would|!∞"),
    ],
    "unprotected": [(claimed, BARE, "agent 3, activation 7: y|∞") for claimed in (1.0, None, math.inf)],
    "undefined": [(1.0, FAILED | exact(7.5), "q < 1 fails: q = 1.2|c ≤ 0|7.5")],  # and tells what was measured
    "no claim": [
        (None, NOT_JUDGED | {"failed_conditions": failed}, "no ε is claimed|the agent sent nothing")
        for failed in ((), (UNCLAIMED,))
    ],
    "vacuous": [(25.0, exact(24.0), ""), (25.0, {}, "7.2 × 10¹⁰"), (1e4, {}, ""), (math.inf, exact(math.inf), "")],
    "underpowered": [
        (9.0, {"audited": game(5.0, reaches=8.0)}, ""), (2.0, {}, "Nothing was measured"),
        (2.0, exact(0.1, math.inf), ""), (2.0, {"exact_upper": 1.0}, "between ? and 1"),
        (4.0, OPEN, "between 0.003 and ∞|From above nothing is proven: what was never seen may cost more.|!narrow"),
        (4.0, OPEN, "the proven lower bound is less than 1 % of the claim"),
        (4.0, exact(0.0, math.inf) | {"audited": game(0.0)}, "the proven lower bound is 0 % of the claim"),
        (9.0, exact(9.0, math.inf) | {"audited": game(0.5, reaches=4.0)}, ""),
        # a bound above the claim: another pair may cost as much
        (2.0, exact(2.0, math.inf) | {"delta": 0.0, "bound": LOOSE}, "2 and 3|at most 3.001 (agent 1, record 7)"),
        (2.0, exact(1.8, 1.9) | {"bound": LOOSE}, "try more pairs of data sets|at most 3.001 for every pair|!narrow"),
        (2.0, exact(1.8, 1.9) | {"bound": LOOSE, "doubt": "It is rare."}, "It is rare.|at most 3.001 for every pair"),
        # and no upper end of the pair's own
        (8.0, exact(0.3, math.inf) | {"bound": Bound(9.0, ()), "loose": "for who"}, "could not have been refuted"),
    ],
    "consistent": [
        (0.3, exact(0.1 * 3), ""), (20.0, exact(20.0), ""), (25.0, exact(24.0) | {"vacuous_above": 30.0}, ""),
        (8.0, {"audited": game(5.0, reaches=8.0)}, ""), (9.0, exact(8.0, 8.5) | {"audited": game(5.0)}, ""),
        (2.0, exact(1.8, 1.9) | {"audited": game(1.5)}, "90\u202f%|!narrow"), (0.0, exact(0.0), ""),
        (2.0, exact(1.8, 2.3), "more transcripts would narrow it|!one of them is wrong"),
        (3.0, exact(1.0) | {"audited": game(2.5)}, "one of them is wrong"),
        (3.0, exact(1.0) | {"audited": game(0.5)}, "!one of them is wrong"),
        (2.0, exact(1.8, 1.9) | {"bound": LOOSE, "loose": "for who knows"}, "at most 3.001, for who|!all pairs"),
        # any transcript could have refuted: what did not is consistent, whatever the game could have proven
        (9.0, exact(9.0, math.inf) | {"delta": 0.0, "audited": game(0.5, 4.0, 0.0)}, "nothing is proven"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("verdict", SAYS)
def test_each_verdict_and_its_reason(verdict):
    """Words that the reason has, or, after an exclamation mark, has not."""
    for claimed, evidence, words in SAYS[verdict]:
        found = judged(claimed, **evidence)
        assert found.verdict == verdict
        assert all((word.lstrip("!") in found.reason) is (word[:1] != "!") for word in words.split("|")), found.reason


def test_the_share_that_is_proven_is_that_of_the_claim():
    cases = ((1.0, exact(1.5), 1.5), (2.0, exact(1.8, 1.9), 0.9), (0.0, exact(0.0), 1), (0.0, exact(0.1), math.inf))
    for claimed, evidence, share in cases:
        assert judged(claimed, **evidence).proven_share == pytest.approx(share)
    assert (
        judged(1.0, **FAILED, **exact(7.5)).proven_share is judged(math.inf, **exact(math.inf)).proven_share is None
    )


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


@pytest.mark.parametrize(
    "evidence",
    [
        {"exact_lower": 2.0, "exact_upper": 1.0}, {"exact_lower": math.nan}, {"exact_upper": -1.0}, {"delta": 2.0},
        {"audited": game(0.5, delta=1e-3)}, {"claimed": -1.0},
    ],
)  # fmt: skip
def test_evidence_that_contradicts_itself_is_refused(evidence):
    with pytest.raises(PrivacyError):
        judged(**evidence)


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


@pytest.mark.parametrize(("lower", "verdict"), [(7.8, Verdict.CONSISTENT), (6.0, Verdict.UNDERPOWERED)])
def test_above_delta_zero_a_lower_end_that_follows_the_estimate_has_none_either(lower, verdict):
    """With tilted noise a hundred transcripts would have refuted a smaller claim, whatever the game's ceiling."""
    evidence = {"audited": game(0.5, reaches=4.0), "exact_upper": math.inf, "exact_estimate": 7.9}
    assert judged(8.0, exact_lower=lower, **evidence).verdict is verdict
    assert judged(100.0, exact_lower=lower, vacuous_above=200.0, **evidence).verdict is Verdict.UNDERPOWERED
