"""The informed adversary: all records but one are known, and that one is found by any attack for one record."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.inference import Evidence, evidence
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.informed import FinitePrior, Informed, Population, alone
from attacks.reconstruction.one_record import LogisticRecord, SoftmaxRecord
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.verdict import seen
from attacks.score import score_records
from attacks.score.robustness import outcomes
from netsim.algorithms import Recal
from netsim.errors import AttackError
from netsim.models import Logistic, Penalty, Softmax
from tests.attacks.noisy import correlated, noisy_evidence, white_noise
from tests.worlds import digits_problem, tapped_ring

RNG = np.random.default_rng


def batch(model, m=5, rounds=4, replicas=3, stddev=0.0, law="gaussian", seed=0):
    """Records in [0, 1], all but the first known, and a penalty."""
    rng = RNG(seed)
    features, labels = rng.random((m, model.width)), rng.choice(model.classes, m)
    points = rng.standard_normal((rounds, replicas, model.dimension)) / 4
    penalty = Penalty(0.5, 0.2)
    noise = white_noise(stddev, rounds, model.dimension)
    found = noisy_evidence(model, points, features, model.targets(labels), noise, law, rng, penalty)
    return (
        Case(found, Known(model, m, penalty, None, None, (0.0, 1.0), None, (features[1:], labels[1:]))),
        features,
        labels,
    )


@pytest.mark.parametrize(("model", "then"), [(Logistic(12), LogisticRecord()), (Softmax(12, 3), SoftmaxRecord())])
def test_closed_forms_find_the_one_that_is_left(model, then):
    case, features, labels = batch(model)
    attack = Informed(then)
    assert attack.needs.others
    assert not attack.needs.one_record
    found = attack.reconstruct([case], RNG(0))[0]
    assert found.features.shape == (3, 1, 12)
    np.testing.assert_allclose(found.features[:, 0], np.repeat(features[:1], 3, axis=0), atol=1e-8)
    assert np.all(found.labels(model) == labels[0])
    assert found.attack == f"informed-{then.name}"


def test_what_is_left_is_a_case_of_one_record_with_m_times_the_noise():
    case, features, labels = batch(Logistic(6), m=4, stddev=0.3)
    left = alone(case)
    model = case.known.model
    own = model.gradient(case.evidence.points, features[:1], model.targets(labels[:1]))
    whole = model.gradient(case.evidence.points, features, model.targets(labels))
    error = case.evidence.without(case.known.penalty) - whole
    np.testing.assert_allclose(left.evidence.gradients - own, 4 * error, atol=1e-12)
    np.testing.assert_allclose(left.evidence.covariance, 16 * case.evidence.covariance)
    assert left.known.records == 1
    assert left.evidence.without(left.known.penalty) is not None


def test_a_shared_covariance_stays_shared():
    case, _, _ = batch(Logistic(6), stddev=0.2)
    shared = np.broadcast_to(case.evidence.covariance[..., :1], case.evidence.covariance.shape)
    left = alone(Case(replace(case.evidence, covariance=shared), case.known))
    assert left.evidence.alike
    np.testing.assert_allclose(left.evidence.covariance, 25 * shared)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_finite_prior_is_bayes_rule(law):
    """Against densities of scipy, record by record: the same posterior, its mode and its standard deviation."""
    rng = RNG(1)
    model, rounds = Logistic(4), 2
    rows = {-1.0: rng.standard_normal((3, 4)), 1.0: rng.standard_normal((2, 4))}
    prior = Prior({}, {}, {-1.0: 0.3, 1.0: 0.7}, rows)
    points = rng.standard_normal((rounds, 5, 4))
    noise = correlated(0.4, rounds, 4, rng) if law == "gaussian" else white_noise(0.4, rounds, 4)
    given = noisy_evidence(model, points, rows[1.0][:1], model.targets(np.array([1.0])), noise, law, rng)
    found = FinitePrior().reconstruct([Case(given, Known(model, 1, prior=prior))], rng)[0]
    population = Population.of(prior, model)
    for r in range(5):
        logs = []
        for record, target, weight in zip(population.features, population.targets, population.weights, strict=True):
            error = given.gradients[:, r] - model.gradient(points[:, r], record[None], target[None])
            if law == "gaussian":
                logs.append(
                    sum(stats.multivariate_normal.logpdf(error[:, c], cov=noise[..., c]) for c in range(4))
                    + np.log(weight)
                )
            else:
                logs.append(float(np.sum(stats.laplace.logpdf(error, scale=0.4 / np.sqrt(2)))) + np.log(weight))
        posterior = np.exp(np.array(logs) - max(logs))
        posterior /= posterior.sum()
        best = int(np.argmax(posterior))
        np.testing.assert_array_equal(found.features[r, 0], population.features[best])
        mean = posterior @ population.features
        spread = np.sqrt(posterior @ (population.features - mean) ** 2)
        np.testing.assert_allclose(found.spread[r, 0], spread, atol=1e-7)


def test_from_a_tapped_run_of_agents_with_many_records():
    """RECAL on a ring: from agent 3's batch of 12 the unknown digit to 1e-6, and with a prior too."""
    problem = digits_problem(records=12)
    run = tapped_ring(
        problem, Recal(step=1 / (problem.smoothness + 1), activations=200), value_range=(0.0, 1.0)
    ).run()
    given = next(each for each in evidence(run.views[0]) if each.agent == 3)
    mine = problem.objectives[3]
    known = replace(Known.of(run.views[0].public, 3, None, (8, 8)), others=(mine.features[1:], mine.labels[1:]))
    found = Informed(LogisticRecord()).reconstruct([Case(given, known)], RNG(0))[0]
    np.testing.assert_allclose(found.features[0, 0], mine.features[0], atol=1e-6)
    score = score_records(found, run.truth, known, RNG(0))
    assert score.truth.shape == (1, 64)
    assert score.skill > 1 - 1e-9
    assert score.label_accuracy == 1
    case = Case(given, known)
    assert seen(case, found).names == outcomes(case, found, score, run.truth, 0.01) == ("recovered",)
    strange = replace(known, others=(mine.features[1:] + 1, mine.labels[1:]))
    with pytest.raises(AttackError, match="12 of the agent's records are left"):
        score_records(found, run.truth, strange, RNG(0))


def test_refusals():
    case, _, _ = batch(Logistic(4))
    with pytest.raises(AttackError, match="all records but one"):
        Informed(LogisticRecord()).reconstruct([Case(case.evidence, replace(case.known, others=None))], RNG(0))
    few = replace(case.known, others=(case.known.others[0][:2], case.known.others[1][:2]))
    with pytest.raises(AttackError, match="2 other records are known, and agent 0 has 5"):
        Informed(LogisticRecord()).reconstruct([Case(case.evidence, few)], RNG(0))
    with pytest.raises(AttackError, match="a prior from public records"):
        Informed(PosteriorMode()).reconstruct([case], RNG(0))
    noisy, _, _ = batch(Logistic(4), stddev=0.1, law="laplace")
    prior = Prior({}, {}, {1.0: 1.0}, {1.0: np.ones((2, 4))})
    tied = Evidence(
        0, noisy.evidence.queries, noisy.evidence.points, noisy.evidence.gradients,
        noisy.evidence.covariance + 0.001, "laplace",
    )  # fmt: skip
    with pytest.raises(AttackError, match="correlated between rounds"):
        Informed().reconstruct([Case(tied, replace(noisy.known, prior=prior))], RNG(0))
