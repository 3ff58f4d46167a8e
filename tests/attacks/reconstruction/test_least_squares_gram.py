"""A batch of least squares: its second moments exactly, its records not, and it says so."""

import numpy as np
import pytest

from attacks.reconstruction import Prior
from attacks.reconstruction.row_space import NOT_IDENTIFIABLE, LeastSquaresGram
from netsim.models import Linear, Penalty
from tests.attacks.reconstruction.records import case_of

RNG = np.random.default_rng


def second_moment(model, features, targets):
    """H (…, width, width) and h (…, width)."""
    scale = model.scale / features.shape[-2]
    h = np.einsum("...mp,...mo->...p", features, targets)
    return scale * np.einsum("...mp,...mq->...pq", features, features), scale * h


def gram_error(found, features):
    """‖AᵀA − truth‖/‖truth‖ of each replica."""
    ours, truth = (np.einsum("...mp,...mq->...pq", a, a) for a in (found.features, features))
    return np.linalg.norm(ours - truth, axis=(-2, -1)) / np.linalg.norm(truth, axis=(-2, -1))


def world(m=4, rounds=6, width=40, replicas=3, seed=0, known=None, **noise):
    rng, model = RNG(seed), Linear(width, 0.8)
    features, targets = rng.uniform(0, 1, (replicas, m, width)), rng.choice([-1.0, 1.0], (1, m)).repeat(replicas, 0)
    points = rng.standard_normal((rounds, replicas, width))
    case = case_of(model, features, targets, points, penalty=Penalty(0.2), known=known, rng=rng, **noise)
    return model, features, targets[..., None], case


def one(case):
    return LeastSquaresGram().reconstruct([case], RNG(0))[0]


@pytest.mark.parametrize(("m", "rounds"), [(2, 3), (4, 5), (4, 12), (10, 20)])
def test_the_second_moments_are_exact_from_m_plus_1_gradients(m, rounds):
    model, features, targets, case = world(m, rounds)
    found = one(case)
    assert found.open == NOT_IDENTIFIABLE
    assert np.max(gram_error(found, features)) < 1e-8
    ours, theirs = second_moment(model, found.features, found.targets), second_moment(model, features, targets)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-8)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-8)
    assert np.max(np.abs(found.features - features)) > 0.1  # and they are not the records


def test_too_few_gradients_are_said_to_be():
    assert "it takes one more" in one(world(4, 4)[3]).open


def test_two_batches_with_the_same_gradients_everywhere():
    """Why: an orthogonal mixture of records and targets changes no gradient."""
    model, features, targets, case = world(4, 6)
    turn = np.linalg.qr(RNG(1).standard_normal((4, 4)))[0]
    same = model.gradient(case.evidence.points, turn @ features, turn @ targets)
    np.testing.assert_allclose(same, model.gradient(case.evidence.points, features, targets), atol=1e-10)


def test_a_prior_turns_towards_records_of_its_labels():
    """Nearer to the records than without, and no less exact in the second moments."""
    rng = RNG(5)
    means = {-1.0: np.repeat([0.2, 0.8], 20), 1.0: np.repeat([0.8, 0.2], 20)}
    labels = np.array([-1.0, 1.0, 1.0])
    features = np.array([[means[b] + 0.1 * rng.standard_normal(40) for b in labels]])
    pool = np.array([means[b] + 0.1 * rng.standard_normal(40) for b in np.tile([-1.0, 1.0], 50)])
    prior = Prior.of(pool, np.tile([-1.0, 1.0], 50))
    model, points = Linear(40), rng.standard_normal((6, 1, 40))
    blind = one(case_of(model, features, labels, points))
    told = one(case_of(model, features, labels, points, known={"prior": prior, "labels": labels}))
    assert np.mean((told.features - features) ** 2) < 0.03 < np.mean((blind.features - features) ** 2)
    assert np.max(gram_error(told, features)) < 1e-8
    assert np.sum((told.targets[..., 0] - labels) ** 2) < 0.1


def test_under_noise_all_rounds_are_used():
    """χ² of the fit as of T·d equations less the m·d + m − m(m−1)/2 unknowns that count."""
    _, features, _, case = world(3, 12, replicas=20, stddev=1e-2)
    found = one(case)
    degrees = 12 * 40 - (3 * 40 + 3 - 3)
    assert np.all(found.converged)
    assert abs(np.mean(found.objective) - degrees) < 5 * np.sqrt(2 * degrees / 20)
    assert np.max(gram_error(found, features)) < 0.05
