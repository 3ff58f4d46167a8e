"""One record from its gradients: exact, honest about noise, and never by an oracle's help."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import GradientEstimate, infer
from attacks.reconstruction import Case, Evidence, Known, Prior
from attacks.reconstruction.one_record import OneRecord
from attacks.score import score_image
from netsim.algorithms import Recal
from netsim.errors import AttackError
from netsim.models import MLP
from netsim.problems import LogisticLoss, load
from tests.worlds import ROUGH, digits_problem, dp_recal, synthetic_problem, tapped_ring

PROBLEM = digits_problem(records=1)
PUBLIC = tapped_ring(PROBLEM, dp_recal(PROBLEM, "sent_state")).public()


@pytest.fixture(scope="module")
def prior():
    data = load("digits", norm_bound=4.0)
    return Prior.of(data.features[100:], data.labels[100:])


def rebuild(estimates, public, prior):
    """One agent's record."""
    case = Case(Evidence.of(estimates), Known.of(public, estimates[0].agent, prior))
    return OneRecord().reconstruct([case], np.random.default_rng(0))[0]


def images(reading, prior, per_agent=30, **options):
    step = 1 / (PROBLEM.smoothness + 1)
    algorithm = Recal(step=step, activations=300) if reading == "recal" else dp_recal(PROBLEM, reading, per_agent)
    run = tapped_ring(PROBLEM, algorithm, links=ROUGH, **options).run()
    estimates = infer(run.views[0])
    return [
        score_image(rebuild([e for e in estimates if e.agent == i], run.views[0].public, prior), run.truth, prior)
        for i in range(8)
    ]


@pytest.mark.parametrize("reading", ["recal", "as_analysed", "as_deployable"])
def test_images_are_rebuilt_to_1e_6(reading, prior):
    for score in images(reading, prior):
        assert score.largest_error < 1e-6
        assert score.label_correct == 1
        assert score.skill > 1 - 1e-9


@pytest.mark.few("sent_state")
@pytest.mark.parametrize("reading", ["fresh_noise", "sent_state"])
def test_from_the_repairs_they_are_no_better_than_the_prior(reading, prior):
    """Skill at most 1 % for every agent, mean of 20 noise draws; labels are guessed no better than a coin."""
    scores = images(reading, prior, replicas=20)
    assert max(score.skill for score in scores) < 0.01
    assert 0.3 < np.mean([score.label_correct for score in scores]) < 0.7


def exact_estimates(record, label, points, ridge=1.0):
    loss = LogisticLoss(record[None], np.array([label]), ridge)
    return [GradientEstimate(0, k, y[None], loss.gradient(y[None]), 0.0) for k, y in enumerate(points)]


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_closed_form_at_any_point(label, scale, prior):
    """One gradient at a random point where z·y < 0 (s > ½): the root is unique."""
    rng = np.random.default_rng(5)
    record = np.abs(rng.standard_normal(64))
    y = scale * rng.standard_normal(64) / 8
    y = -y if label * record @ y > 0 else y
    rebuilt = rebuild(exact_estimates(record, label, [y]), PUBLIC, prior)
    np.testing.assert_allclose(rebuilt.features[0, 0], record, atol=1e-10)
    assert rebuilt.labels(PUBLIC.model)[0, 0] == label


def test_little_noise_is_overcome_and_much_noise_gives_the_prior(prior):
    """The posterior mode between its two ends, on the same record."""
    rng = np.random.default_rng(1)
    record, label = PROBLEM.objectives[0].features[0], float(PROBLEM.objectives[0].labels[0])
    points = 0.1 * rng.standard_normal((10, 64))
    clean = exact_estimates(record, label, points)
    errors = []
    for deviation in (1e-3, 1e-1, 1e4):
        noisy = [
            e._replace(gradient=e.gradient + deviation * rng.standard_normal((1, 64)), stddev=deviation)
            for e in clean
        ]
        rebuilt = rebuild(noisy, PUBLIC, prior)
        errors.append(float(np.mean((rebuilt.features - record) ** 2)))
    guess = float(np.mean((prior.mean[int(rebuilt.labels(PUBLIC.model)[0, 0])] - record) ** 2))
    assert errors[0] < 1e-4 < errors[1] < guess
    assert errors[2] == pytest.approx(guess, rel=1e-3)


def test_refusals(prior):
    with pytest.raises(AttackError, match="no gradient estimate"):
        Evidence.of([])
    estimate = exact_estimates(np.ones(64), 1.0, [np.zeros(64)])
    with pytest.raises(AttackError, match=r"\(ridge\) are no mean of one public loss"):
        rebuild(estimate, replace(PUBLIC, loss="ridge", model=None), prior)
    with pytest.raises(AttackError, match="a linear or logistic or softmax model, and this is mlp"):
        rebuild(estimate, replace(PUBLIC, model=MLP((64, 3, 2))), prior)
    with pytest.raises(AttackError, match="one record, and agent 0 has 2"):
        rebuild(estimate, replace(PUBLIC, records=(2,) * 8), prior)
    many = tapped_ring(synthetic_problem(), dp_recal(synthetic_problem(), "sent_state")).run()
    with pytest.raises(AttackError, match="exactly one"):
        score_image(rebuild(estimate, PUBLIC, prior), many.truth, prior)
