"""One record in closed form: exact without noise, what stays open is said, least squares beats the mean of ratios."""

import numpy as np
import pytest

from attacks.reconstruction import Prior
from attacks.reconstruction.one_record import (
    NO_LENGTH,
    TWO_LENGTHS,
    DenseLayerRecord,
    LeastSquaresRecord,
    LogisticRecord,
    MeanOfRatios,
    SoftmaxRecord,
)
from attacks.reconstruction.record_hypotheses import MIRRORED
from netsim.errors import AttackError
from netsim.models import MLP, Linear, Logistic, Penalty, Softmax
from tests.attacks.reconstruction.records import case_of

RNG = np.random.default_rng
RIDGE = Penalty(0.3, 0.2, 1.5)
IMAGES = {"value_range": (0.0, 1.0)}


def one(attack, case):
    return attack.reconstruct([case], RNG(0))[0]


def world(model, replicas=4, rounds=1, scale=1.0, seed=0):
    """Features in 0 … 1, labels of the model, random points."""
    rng = RNG(seed)
    features = rng.uniform(0, 1, (replicas, 1, model.width))
    labels = rng.choice(model.classes, (replicas, 1)) if model.classes else rng.standard_normal((replicas, 1))
    return features, labels, scale * rng.standard_normal((rounds, replicas, model.dimension))


def test_least_squares_from_two_gradients():
    model = Linear(12, 0.7)
    features, targets, points = world(model, rounds=2)
    found = one(LeastSquaresRecord(), case_of(model, features, targets, points, penalty=RIDGE, known=IMAGES))
    np.testing.assert_allclose(found.features, features, atol=1e-9)
    np.testing.assert_allclose(found.targets[..., 0], targets, atol=1e-9)
    assert found.open == ""
    blind = one(LeastSquaresRecord(), case_of(model, features, targets, points, penalty=RIDGE))
    sign = np.sign(np.sum(blind.features * features, axis=-1, keepdims=True))
    np.testing.assert_allclose(sign * blind.features, features, atol=1e-9)
    np.testing.assert_allclose(sign * blind.targets, targets[..., None], atol=1e-9)
    assert blind.open == MIRRORED
    told = one(
        LeastSquaresRecord(), case_of(model, features[:1], targets[0], points[:, :1], known={"labels": targets[0]})
    )
    np.testing.assert_allclose(told.features, features[:1], atol=1e-9)


def test_least_squares_from_one_gradient_is_refused_and_from_one_point_twice_open():
    model = Linear(12)
    features, targets, points = world(model, rounds=1)
    with pytest.raises(AttackError, match="2 estimates"):
        one(LeastSquaresRecord(), case_of(model, features, targets, points))
    again = case_of(model, features, targets, np.repeat(points, 3, axis=0), known=IMAGES)
    assert one(LeastSquaresRecord(), again).open == NO_LENGTH


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rounds", [1, 3])
def test_logistic(scale, rounds):
    model = Logistic(9)
    features, labels, points = world(model, 6, rounds, scale)
    found = one(LogisticRecord(), case_of(model, features, labels, points, penalty=RIDGE, known=IMAGES))
    right = np.max(np.abs(found.features - features), axis=(1, 2)) < 1e-8
    if rounds > 1 or scale == 0:
        assert right.all()
        assert found.open == ""
        np.testing.assert_array_equal(found.labels(model), labels)
    else:
        assert right.sum() >= 4  # where two lengths fit, the shorter one was taken
        assert right.all() or found.open == TWO_LENGTHS
    blind = one(LogisticRecord(), case_of(model, features, labels, points))
    assert blind.open in (MIRRORED, TWO_LENGTHS)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("outputs", [3, 10])
@pytest.mark.parametrize("rounds", [1, 4])
def test_softmax(intercept, outputs, rounds):
    model = Softmax(16, outputs, intercept)
    features, labels, points = world(model, 5, rounds, 0.5)
    found = one(SoftmaxRecord(), case_of(model, features, labels, points, penalty=RIDGE, known=IMAGES))
    np.testing.assert_allclose(found.features, features, atol=1e-7)
    np.testing.assert_array_equal(found.labels(model), labels)
    assert found.open == ""


def test_two_softmax_outputs_without_intercept_mirror_each_other():
    model = Softmax(8, 2, intercept=False)
    features, labels, points = world(model, 5, 3, 0.5)
    case = case_of(model, features, labels, points)
    blind = one(SoftmaxRecord(), case)
    assert blind.open == MIRRORED
    sign = np.where(blind.labels(model) == labels, 1.0, -1.0)[..., None]
    np.testing.assert_allclose(sign * blind.features, features, atol=1e-7)


@pytest.mark.parametrize("model", [Softmax(20, 10), MLP((20, 15, 10)), MLP((20, 12, 8, 10), "relu")])
def test_a_dense_layer_gives_its_record(model):
    features, labels, points = world(model, 4, 1, 0.4)
    found = one(DenseLayerRecord(), case_of(model, features, labels, points, penalty=RIDGE))
    np.testing.assert_allclose(found.features, features, atol=1e-9)
    np.testing.assert_array_equal(found.labels(model), labels)
    ratios = one(MeanOfRatios(), case_of(model, features, labels, points))
    np.testing.assert_allclose(ratios.features, features, atol=1e-6)


@pytest.mark.parametrize("model", [Softmax(784, 10), MLP((784, 64, 10))])
def test_least_squares_beats_the_mean_of_ratios_by_orders_of_magnitude(model):
    """Mean square errors over 40 draws of noise, deviation 1e-4 in each coordinate of one gradient."""
    features, labels, _ = world(model, 1)
    points = np.repeat(0.1 * RNG(1).standard_normal((1, 1, model.dimension)), 40, axis=1)
    case = case_of(model, np.repeat(features, 40, 0), np.repeat(labels, 40, 0), points, stddev=1e-4, rng=RNG(2))
    least, ratios = (np.mean((one(a, case).features - features) ** 2) for a in (DenseLayerRecord(), MeanOfRatios()))
    assert ratios > 100 * least
    assert least < 1e-4


def test_many_noisy_rounds_are_combined_with_their_covariance():
    """Errors shared between rounds: the weighted estimate is far better than one that takes them as independent, and
    meets the deviation that the information promises."""
    rng, model, replicas, rounds = RNG(4), Logistic(30), 40, 8
    features, labels, points = world(model, replicas, rounds, 0.5, seed=4)
    root = np.diag(np.geomspace(1e-4, 3e-2, rounds)) + 3e-2
    roots = np.repeat(root[None], model.dimension, axis=0)
    case = case_of(model, features, labels, points, rng=rng, roots=roots, known=IMAGES)
    found = one(LogisticRecord(), case)
    apart = np.einsum("ttd->td", case.evidence.covariance)
    naive = case.evidence.__class__(
        0, case.evidence.queries, points, case.evidence.gradients, np.einsum("td,tu->tud", apart, np.eye(rounds))
    )
    other = one(LogisticRecord(), case._replace(evidence=naive))
    errors = [np.mean((r.features - features) ** 2) for r in (found, other)]
    assert errors[1] > 20 * errors[0]
    slope = model.gradient(points, features, model.targets(labels)) @ np.ones(30) / features.sum(axis=-1)[:, 0]
    information = np.einsum("tr,tu,ur->r", slope, np.linalg.inv(root @ root.T), slope)
    assert errors[0] == pytest.approx(np.mean(1 / information), rel=0.3)
    assert np.all(found.converged)
    assert abs(np.mean(found.objective) - (rounds - 1) * 30) < 5 * np.sqrt(2 * (rounds - 1) * 30 / replicas)


def test_the_prior_tells_mirror_images_apart():
    model = Logistic(9)
    features, labels, points = world(model, 6, 2, 0.3)
    rng = RNG(3)
    prior = Prior.of(rng.uniform(0, 1, (50, 9)), rng.choice([-1.0, 1.0], 50))
    found = one(LogisticRecord(), case_of(model, features, labels, points, known={"prior": prior}))
    np.testing.assert_allclose(found.features, features, atol=1e-8)
    assert found.open == ""


@pytest.mark.parametrize("attack", [LeastSquaresRecord(), LogisticRecord(), SoftmaxRecord(), DenseLayerRecord()])
def test_refusals(attack):
    rng = RNG(0)
    model = {"least-squares-record": Logistic(3)}.get(attack.name, Linear(3))
    case = case_of(model, rng.standard_normal((1, 1, 3)), np.ones((1, 1)), rng.standard_normal((2, 1, 3)))
    with pytest.raises(AttackError, match="model, and this is"):
        one(attack, case)
    model = model if attack.name == "least-squares-record" else Linear(3)
    plain = Softmax(3, 4, intercept=False)
    case = case_of(plain, rng.uniform(0, 1, (1, 1, 3)), np.ones((1, 1)), rng.standard_normal((2, 1, 12)))
    with pytest.raises(AttackError, match="intercept"):
        one(DenseLayerRecord(), case)


def test_rows_do_not_touch_each_other():
    for model, attack in (
        (Linear(12), LeastSquaresRecord()),
        (Logistic(9), LogisticRecord()),
        (Softmax(6, 3), SoftmaxRecord()),
    ):
        features, labels, points = world(model, 5, 3, 0.5)
        noisy = {"stddev": 1e-2}
        whole = case_of(model, features, labels, points, known=IMAGES, rng=RNG(1), **noisy)
        e = whole.evidence
        alone = whole._replace(evidence=e.__class__(0, e.queries, points[:, 3:4], e.gradients[:, 3:4], e.covariance))
        np.testing.assert_array_equal(one(attack, whole).features[3], one(attack, alone).features[0])
