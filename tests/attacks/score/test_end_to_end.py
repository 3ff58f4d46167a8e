"""From a tapped run to a verdict: exact tokens are recovered, noise defends, and a batch of squares stays open."""

import math

import numpy as np
import pytest

from attacks.inference import evidence
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.one_record import LogisticRecord
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.verdict import seen
from attacks.score import score_records, success
from attacks.score.robustness import Robustness, gaussian_bound, simulated_kappa, verdict, zcdp_bound
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
    verdicts = [
        verdict(case, one, seen(case, one), score, run.truth)
        for case, one, score in zip(cases, found, scores, strict=True)
    ]
    return scores, verdicts, data.features[100:]


def test_recal_is_recovered_and_says_so_with_and_without_the_truth():
    scores, verdicts, _ = judged(lambda p: Recal(step=1 / (p.smoothness + 1), activations=300), LogisticRecord())
    assert len(scores) == 8
    for score, each in zip(scores, verdicts, strict=True):
        assert score.mse < 1e-12
        assert score.ssim == pytest.approx(1, abs=1e-6)
        assert score.psnr > 100
        assert score.label_accuracy == 1
        assert each.name == "recovered"
        assert set(each.seen.names) == {"recovered"}
    rate = success(scores, 0.01)
    assert (rate.estimate, rate.upper) == (1, 1)
    assert rate.lower == pytest.approx(0.025 ** (1 / 8))


def test_sent_state_is_defended_with_the_bound_beside_it():
    """DP-RECAL's repair at ε = 1: no better than the best guess, and within what its μ allows."""
    scores, verdicts, public = judged(lambda p: dp_recal(p, "sent_state", 15), PosteriorMode(), replicas=10)
    names = [name for each in verdicts for name in each.names]
    assert names.count("defended") >= len(names) - 2  # 80 trials, each called failed with probability 1e-3
    assert {name for each in verdicts for name in each.seen.names} <= {"defended", "failed to optimize"}
    assert np.mean([score.skill for score in scores]) < 0.05
    distance = 0.1
    kappa = simulated_kappa(public, distance)
    rho = zcdp_rho(1.0, DELTA)  # what Theorem 4 calibrates; for Gaussian releases μ² = 2ρ
    rate = success(scores, distance)
    for bound in (gaussian_bound(kappa.upper, math.sqrt(2 * rho)), zcdp_bound(kappa.upper, rho)):
        assert kappa.upper < bound < 1
        assert not Robustness(rate, kappa.upper, bound).above
