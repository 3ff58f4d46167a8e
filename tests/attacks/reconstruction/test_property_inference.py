"""Property inference: right more often than chance, and as often as it says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.closed_form.descent import through_differences
from attacks.inference import Evidence
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.informed import BatchLaw, Population, PropertyInference
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.errors import AttackError
from netsim.models import Logistic
from netsim.problems import LogisticLoss, Problem, load
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.noisy import noisy_evidence, white_noise

SHARES = {"mostly zeros": {-1.0: 0.8, 1.0: 0.2}, "even": {-1.0: 0.5, 1.0: 0.5}, "mostly ones": {-1.0: 0.2, 1.0: 0.8}}


def answers(stddev, trials, m=10, seed=0):
    """Posterior (trials, 3) and which is true; agents' records are held out from the public ones."""
    data = load("digits", norm_bound=4.0)
    rng = np.random.default_rng(seed)
    prior, model = Prior.of(data.features[::2], data.labels[::2]), Logistic(64)
    held = {label: data.features[1::2][data.labels[1::2] == label] for label in (-1.0, 1.0)}
    true = rng.integers(0, 3, trials)
    names = list(SHARES)
    labels = np.array([rng.choice([-1.0, 1.0], m, p=[SHARES[names[k]][b] for b in (-1.0, 1.0)]) for k in true])
    features = np.array([[held[b][rng.integers(len(held[b]))] for b in row] for row in labels])
    points = rng.standard_normal((2, trials, 64)) / 8
    found = noisy_evidence(
        model, points, features, model.targets(labels), white_noise(stddev, 2, 64), "gaussian", rng
    )
    attack = PropertyInference({name: replace(prior, share=share) for name, share in SHARES.items()}, draws=200)
    return attack.decide([Case(found, Known(model, m, prior=prior))], rng)[0], true


@pytest.mark.slow
def test_right_above_chance_and_calibrated():
    """60 agents of ten records: accuracy far above a third; said and done agree within three standard errors."""
    choice, true = answers(0.02, 60)
    posterior = choice.posterior
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    right = np.argmax(posterior, axis=1) == true
    assert stats.binomtest(int(right.sum()), 60, 1 / 3, "greater").pvalue < 1e-6
    said = posterior.max(axis=1)
    spread = np.sqrt(np.sum(said * (1 - said)))
    assert abs(right.sum() - said.sum()) < 3 * spread + 1
    assert choice.chosen[0] in SHARES


def test_much_noise_gives_the_even_posterior():
    choice, _ = answers(100.0, 20)
    assert np.max(np.abs(choice.posterior - 1 / 3)) < 0.1


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_from_a_tapped_run(share):
    """Released states with a little Laplace noise: which class dominates agent 0's ten records."""
    data = load("digits", norm_bound=4.0)
    prior = Prior.of(data.features[::2], data.labels[::2])
    rows = [data.features[1::2][data.labels[1::2] == label] for label in (-1.0, 1.0)]
    ones = round(10 * share)
    mine = LogisticLoss(
        np.concatenate([rows[0][: 10 - ones], rows[1][:ones]]), np.repeat([-1.0, 1.0], [10 - ones, ones]), 0.1
    )
    others = [LogisticLoss(data.features[k : k + 10], data.labels[k : k + 10], 0.1) for k in (20, 40, 60)]
    algorithm = PrivateGradientDescent(5, Constant(0.1), Constant(0.002), state="released")
    problem = Problem((mine, *others), name="logistic", ridge=0.1)
    view = Simulation(problem, ring(4), algorithm, adversaries=(Adversary(),), replicas=4, seed=2).run().views[0]
    evidence = Evidence.of([e for e in through_differences(view) if e.agent == 0], "laplace")
    hypotheses = {name: replace(prior, share=SHARES[name]) for name in ("mostly zeros", "mostly ones")}
    attack = PropertyInference(hypotheses, draws=200)
    choice = attack.decide([Case(evidence, Known.of(view.public, 0, prior))], np.random.default_rng(0))[0]
    assert set(choice.chosen) == {"mostly zeros" if share < 0.5 else "mostly ones"}
    assert np.min(choice.posterior.max(axis=1)) > 0.9


def test_law_of_a_batch_is_that_of_its_records():
    """Log densities against a dense covariance, without shrinkage and with it."""
    rng = np.random.default_rng(1)
    rows, weights = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)), np.full(40, 1 / 40)
    law = BatchLaw.of(rows, weights)
    dense = np.einsum("kp,k,kq->pq", law.directions, law.sizes, law.directions) + law.rest * np.eye(6)
    sample = np.cov(rows, rowvar=False, bias=True)
    assert np.trace(dense) == pytest.approx(np.trace(sample))
    value, others = rng.standard_normal(6), rng.standard_normal(6)
    for spread in (0.0, 0.5):
        normal = stats.multivariate_normal(law.mean, np.eye(6) + spread * dense)
        difference = normal.logpdf(value) - normal.logpdf(others)
        found = law.log_density(np.array([value, others]), law.mean, spread)
        assert found[0] - found[1] == pytest.approx(difference)


def test_shrinkage_is_that_of_ledoit_and_wolf():
    from sklearn.covariance import ledoit_wolf

    rng = np.random.default_rng(2)
    rows = rng.standard_normal((30, 12)) * np.linspace(0.5, 2, 12)
    law = BatchLaw.of(rows, np.full(30, 1 / 30))
    dense = np.einsum("kp,k,kq->pq", law.directions, law.sizes, law.directions) + law.rest * np.eye(12)
    np.testing.assert_allclose(dense, ledoit_wolf(rows)[0], rtol=1e-9, atol=1e-12)


def test_batches_drawn_have_the_mean_and_covariance_that_the_law_states():
    data = load("digits", norm_bound=4.0)
    population = Population.of(Prior.of(data.features, data.labels), Logistic(64))
    rng = np.random.default_rng(3)
    gradients = population.gradients(Logistic(64), np.zeros((1, 64)))[0]
    batches = population.draw(gradients, 4000, 5, rng)
    mean = population.weights @ gradients
    assert np.max(np.abs(batches.mean(axis=0) - mean)) < 0.02
    within = population.weights @ (gradients - mean) ** 2 / 5
    assert np.sum(batches.var(axis=0)) == pytest.approx(np.sum(within), rel=0.05)


def test_refusals():
    evidence = Evidence(0, (0,), np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), np.zeros((1, 1, 3)))
    rng = np.random.default_rng(0)
    prior = Prior({1.0: np.zeros(3)}, {1.0: np.ones(3)}, {1.0: 1.0})
    with pytest.raises(AttackError, match="nothing to choose"):
        PropertyInference({"one": prior}).decide([Case(evidence, Known(Logistic(3), 1))], rng)
    with pytest.raises(AttackError, match="without its public records"):
        PropertyInference({"one": prior, "two": prior}).decide([Case(evidence, Known(Logistic(3), 1))], rng)
