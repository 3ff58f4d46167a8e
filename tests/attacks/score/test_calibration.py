"""Stated covariances against errors: right ones pass, a fifth more noise is found out, what is exact is exact."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.descent import through_differences
from attacks.inference import Evidence, evidence
from attacks.score import calibration
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.models import Logistic
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.noisy import correlated, noisy_evidence, white_noise
from tests.attacks.score.truths import truth_of
from tests.worlds import synthetic_problem, tapped_ring


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_right_covariances_pass_and_wrong_ones_do_not(law):
    rng = np.random.default_rng(0)
    features, labels, points = rng.standard_normal((3, 6)), np.array([1.0, -1, 1]), rng.standard_normal((4, 200, 6))
    noise = correlated(0.3, 4, 6, rng) if law == "gaussian" else white_noise(0.3, 4, 6)
    model = Logistic(6)
    found = noisy_evidence(model, points, features, model.targets(labels), noise, law, rng)
    truth = truth_of(features, labels, points)
    right = calibration(found, truth)
    assert right.degrees == 24
    assert right.p_value > 1e-3
    assert right.ratio == pytest.approx(1, abs=0.1)
    for factor in (0.8, 1.2):
        assert calibration(replace(found, covariance=factor * found.covariance), truth).p_value < 1e-6


def test_p_values_are_uniform():
    rng = np.random.default_rng(1)
    features, labels, model = rng.standard_normal((2, 3)), np.array([1.0, -1]), Logistic(3)
    points = rng.standard_normal((2, 5, 3))
    truth, noise = truth_of(features, labels, points), correlated(1.0, 2, 3, rng)
    values = [
        calibration(
            noisy_evidence(model, points, features, model.targets(labels), noise, "gaussian", rng), truth
        ).p_value
        for _ in range(300)
    ]
    assert 0.3 < np.median(values) < 0.7
    assert np.mean(np.array(values) < 0.1) < 0.2


def test_of_a_tapped_run():
    """Released states: the errors are Laplace noise, as large as stated. RECAL's duals are exact."""
    problem = synthetic_problem()
    algorithm = PrivateGradientDescent(8, Constant(0.3), Constant(0.05), state="released")
    run = Simulation(problem, ring(5), algorithm, adversaries=(Adversary(),), replicas=20, seed=1).run()
    for agent in range(5):
        estimates = [e for e in through_differences(run.views[0]) if e.agent == agent]
        found = calibration(Evidence.of(estimates, "laplace"), run.truth)
        assert found.p_value > 1e-4
        assert found.ratio == pytest.approx(1, abs=0.2)
    plain = tapped_ring(problem, Recal(step=0.2, activations=60)).run()
    for each in evidence(plain.views[0]):
        exact = calibration(each, plain.truth)
        assert exact.degrees == 0
        assert np.max(exact.exact_error) < 1e-10
