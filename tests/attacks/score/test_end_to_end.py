"""From a tapped run to a verdict: exact tokens are recovered, noise defends, and a batch of squares stays open."""

import math

import numpy as np
import pytest
from scipy import stats

from attacks.inference import evidence
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.one_record import LogisticRecord
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.verdict import seen
from attacks.score import score_records, success
from attacks.score.robustness import outcomes, simulated_kappa
from netsim.algorithms import Recal
from netsim.problems import load
from tests.oracles.zcdp import zcdp_rho
from tests.worlds import DELTA, ROUGH, digits_problem, dp_recal, tapped_ring


def judged(algorithm, attack, replicas=1):
    """One digit per agent on a ring of 8, all links tapped."""
    data, problem = load("digits", norm_bound=4.0), digits_problem(records=1)
    made = algorithm(problem)
    run = tapped_ring(problem, made, links=ROUGH, replicas=replicas, value_range=(0.0, 1.0)).run()
    view = run.views[0]
    prior = Prior.of(data.features[100:], data.labels[100:])
    cases = [Case(each, Known.of(view.public, each.agent, prior, (8, 8))) for each in evidence(view)]
    found = attack.reconstruct(cases, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    scores = [score_records(one, run.truth, case.known, rng) for one, case in zip(found, cases, strict=True)]
    words = [
        outcomes(case, one, score, run.truth, 0.1) for case, one, score in zip(cases, found, scores, strict=True)
    ]
    own = [seen(case, one).names for case, one in zip(cases, found, strict=True)]
    return scores, words, own, data.features[100:]


def test_recal_is_recovered_and_says_so_with_and_without_the_truth():
    scores, words, own, _ = judged(lambda p: Recal(step=1 / (p.smoothness + 1), activations=300), LogisticRecord())
    assert len(scores) == 8
    for score in scores:
        assert score.mse < 1e-12
        assert score.ssim == pytest.approx(1, abs=1e-6)
        assert score.psnr > 100
        assert score.label_accuracy == 1
    assert {name for each in words + own for name in each} == {"recovered"}
    rate = success(scores, 0.01)
    assert (rate.estimate, rate.upper) == (1, 1)
    assert rate.lower == pytest.approx(0.025 ** (1 / 8))


def test_sent_state_is_defended_with_the_bound_beside_it():
    """DP-RECAL's repair at ε = 1: no better than the best guess, and within what its μ allows."""
    scores, words, own, public = judged(lambda p: dp_recal(p, "sent_state", 15), PosteriorMode(), replicas=10)
    names = [name for each in words for name in each]
    assert set(names) <= {"defended", "recovered in part", "failed to optimize"}  # one replica's luck is in part
    assert names.count("defended") > 0.8 * len(names)
    assert {name for each in own for name in each} <= {"defended", "failed to optimize"}
    assert np.mean([score.skill for score in scores]) < 0.05
    distance = 0.1
    kappa = simulated_kappa(public, distance)
    rho = zcdp_rho(1.0, DELTA)  # what Theorem 4 calibrates; for Gaussian releases μ² = 2ρ
    rate = success(scores, distance)
    bound = stats.norm.cdf(stats.norm.ppf(kappa.upper) + math.sqrt(2 * rho))
    assert kappa.upper < bound < 1
    assert rate.lower <= bound
