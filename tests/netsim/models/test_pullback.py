"""One pass against two: the gradient and its derivative along any direction."""

import numpy as np
import pytest

from netsim.models import MLP, Linear, Logistic, Softmax, mixed_gradient, stepped
from netsim.models.networks import with_pullback

MODELS = [
    Linear(5, 0.3), Logistic(5), Softmax(5, 3), Softmax(5, 3, intercept=False), MLP((5, 4, 3)),
    MLP((5, 4, 6, 3), "tanh"), MLP((5, 7, 2), "softplus", seed=3), MLP((5, 4, 3), "relu"),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("lead", [(2,), (2, 3)])
def test_it_is_the_gradient_and_the_mixed_gradient(model, lead):
    rng = np.random.default_rng(0)
    theta, r = rng.standard_normal((2, *lead, model.dimension))
    features, targets = rng.standard_normal((*lead, 2, 5)), rng.random((*lead, 2, model.outputs))
    gradient, pullback = with_pullback(model, theta, features, targets)
    np.testing.assert_allclose(gradient, model.gradient(theta, features, targets), atol=1e-13)
    for ours, theirs, plain in zip(
        pullback(r),
        mixed_gradient(model, theta, features, targets, r),
        stepped(model, theta, features, targets, r),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        np.testing.assert_allclose(ours, plain, atol=1e-12 if model.analytic else 1e-6)


@pytest.mark.parametrize("model", MODELS[2:], ids=str)
def test_a_row_depends_on_that_row_alone(model):
    """To the last bit: alone, or among others."""
    rng = np.random.default_rng(1)
    theta, r = rng.standard_normal((2, 6, 1, model.dimension))
    features, targets = rng.standard_normal((6, 1, 2, 5)), rng.random((6, 1, 2, model.outputs))
    gradient, pullback = with_pullback(model, theta, features, targets)
    alone, pulled = with_pullback(model, theta[4:5], features[4:5], targets[4:5])
    assert np.array_equal(gradient[4:5], alone)
    for many, one in zip(pullback(r), pulled(r[4:5]), strict=True):
        assert np.array_equal(many[4:5], one)
