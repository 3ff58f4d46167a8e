"""The bounds of audits of mechanisms whose ε is known: how often they are wrong, and what is refuted by little."""

import math

import pytest
from scipy import stats

from attacks.audit.verdict import Verdict
from netsim.mechanisms import Laplace
from tests.attacks.audit.releases import COMPOSED, MECHANISMS, RandomizedResponse, audited


@pytest.mark.parametrize("stop", [False, True])
def test_what_is_audited_is_above_the_truth_no_more_often_than_stated(stop):
    """48 small audits at 95 %; more misses than allowed have probability below 1e-4. The claim is the truth, so that
    the anytime game, where it counts, has to be right as well."""
    mechanisms = [*(lambda e, m=m: [m(e)] for m in MECHANISMS.values()), *COMPOSED.values()]
    wrong = 0
    for number, make in enumerate(mechanisms):
        for seed in range(8):
            found = audited(make(1.0), 1.0, 300, 1000 * number + seed, stop=stop)
            wrong += found.epsilon_audited > 1.0
            assert found.judgement.verdict is not Verdict.UNPROTECTED
    assert wrong <= stats.binom.isf(1e-4, 48, 0.05)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_claim_below_the_truth_is_refuted_by_the_exact_loss(name):
    """By 1 %: far less than a game can tell, and one transcript in the tail is enough."""
    found = audited([MECHANISMS[name](2.0)], 2.0 / 1.01, 300, 7)
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.first_violation == 1
    assert found.epsilon_audited < 2.0
    assert found.witness is not None


def laplace_at(epsilon, delta):
    """δ(ε) = 1 − e^{(ε − ε₀)/2}."""
    return epsilon + 2 * math.log(1 - delta)


def response_at(epsilon, delta):
    """δ(ε) = (e^{ε₀} − e^ε)/(1 + e^{ε₀})."""
    return math.log(math.exp(epsilon) - delta * (1 + math.exp(epsilon)))


@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize(
    ("make", "truth"), [(lambda e: Laplace(1 / e), laplace_at), (RandomizedResponse, response_at)], ids=["L", "RR"]
)
def test_at_delta_above_zero_the_exact_interval_has_two_ends_and_the_truth_between(make, truth, epsilon):
    """Three audits; an interval misses at most 1.25 % of the time, more than two of six with probability 4e-5."""
    delta = 0.02
    wanted = truth(epsilon, delta)
    found = [audited([make(epsilon)], epsilon, 5_000, seed, delta=delta) for seed in range(3)]
    intervals = [e.epsilon for one in found for e in one.exact]
    assert sum(not interval.lower <= wanted <= interval.upper for interval in intervals) <= 2
    for interval in intervals:
        assert 0 < interval.lower <= interval.estimate <= interval.upper < epsilon + 0.2
        assert interval.estimate == pytest.approx(wanted, abs=0.15)
