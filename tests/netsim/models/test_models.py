"""A model is what its objective computes, and its derivatives are those of its value."""

import numpy as np
import pytest

from netsim.models import MLP, Linear, Logistic, Penalty, Softmax, mixed_gradient
from tests.worlds import refusal

MODELS = [Linear(4), Linear(4, 0.3), Logistic(4), Softmax(4, 3), Softmax(4, 3, intercept=False)]
MODELS += [
    MLP((4, 6, 3), "sigmoid"), MLP((4, 5, 3, 2), "tanh"), MLP((4, 5, 3), "softplus"), MLP((4, 7, 5, 3), "relu"),
]  # fmt: skip
STEP = 1e-6


def drawn(model, seed=0, lead=(2,)):
    rng = np.random.default_rng(seed)
    targets = rng.dirichlet(np.ones(model.outputs), (*lead, 5)) if model.outputs > 1 else rng.random((*lead, 5, 1))
    return rng.standard_normal((*lead, model.dimension)), rng.standard_normal((*lead, 5, model.width)), targets


def differences(function, x, step=STEP):
    """Central differences of a scalar function by every entry of x."""
    found = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += step
        ahead = function(moved)
        moved[index] -= 2 * step
        found[index] = (ahead - function(moved)) / (2 * step)
    return found


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_gradients_are_those_of_the_value(model):
    theta, features, targets = drawn(model)
    close = {"rtol": 1e-6, "atol": 1e-8}
    assert np.allclose(
        model.gradient(theta, features, targets),
        differences(lambda x: model.value(x, features, targets).sum(), theta),
        **close,
    )
    by_features, by_targets = model.input_gradient(theta, features, targets)
    assert np.allclose(by_features, differences(lambda a: model.value(theta, a, targets).sum(), features), **close)
    assert np.allclose(by_targets, differences(lambda t: model.value(theta, features, t).sum(), targets), **close)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_leading_axes_broadcast(model):
    theta, _, targets = drawn(model, 6, ())
    rng = np.random.default_rng(7)
    many = rng.standard_normal((3, 2, 5, model.width))
    thetas, directions = rng.standard_normal((2, 3, 1, model.dimension))
    for at in (theta, thetas):
        lead = np.broadcast_to(at, (3, 2, model.dimension))
        wide = np.broadcast_to(targets, (3, 2, *targets.shape))
        along = np.broadcast_to(directions, lead.shape)
        answers = [
            (model.value(at, many, targets), model.value),
            (model.gradient(at, many, targets), model.gradient),
            (model.input_gradient(at, many, targets)[0], lambda *a: model.input_gradient(*a)[0]),
            (np.broadcast_to(model.input_gradient(at, many, targets)[1], wide.shape),
             lambda *a: model.input_gradient(*a)[1]),
        ]  # fmt: skip
        for found, function in answers:
            assert np.allclose(found, each(function, (3, 2), lead, many, wide), rtol=1e-12, atol=1e-14)
        mixed = mixed_gradient(model, at, many, targets, directions)
        for index in (0, 1):
            alone = each(lambda *a, i=index: mixed_gradient(model, *a)[i], (3, 2), lead, many, wide, along)
            assert np.allclose(np.broadcast_to(mixed[index], alone.shape), alone, rtol=1e-12, atol=1e-13)


def each(function, lead, *arrays):
    """The function of each entry of the leading axes by itself."""
    found = [function(*(array[index] for array in arrays)) for index in np.ndindex(lead)]
    return np.reshape(found, (*lead, *np.shape(found[0])))


def test_an_mlp_is_a_softmax_of_its_units_and_its_layers_tell_where_they_are():
    model = MLP((4, 6, 3), "tanh")
    theta, features, targets = drawn(model, 10, ())
    first, last = model.layers
    assert (first.weights, first.intercept) == (slice(0, 24), slice(24, 30))
    assert (last.weights, last.intercept) == (slice(30, 48), slice(48, 51))
    assert model.dimension == 51
    units = np.tanh(features @ theta[first.weights].reshape(6, 4).T + theta[first.intercept])
    assert np.isclose(model.value(theta, features, targets), Softmax(6, 3).value(theta[30:], units, targets))
    one = model.gradient(theta, features[:1], targets[:1])
    by_weights, by_intercept = first.matrix(one), first.offset(one)
    assert np.allclose(by_weights / by_intercept[:, None], features[0], rtol=1e-9)


def test_an_mlp_starts_with_units_that_differ():
    model = MLP((40, 30, 20, 5))
    theta = model.drawn(np.random.default_rng(0))
    assert np.array_equal(theta, MLP((40, 30, 20, 5), seed=0).origin)
    for layer in model.layers:
        assert not layer.offset(theta).any()
        assert np.var(layer.matrix(theta)) == pytest.approx(2 / (layer.inputs + layer.outputs), rel=0.2)


def test_parameters_are_counted_from_the_origin():
    plain, counted = MLP((4, 6, 3), "tanh"), MLP((4, 6, 3), "tanh", seed=3)
    theta, features, targets = drawn(plain, 11)
    moved = counted.origin + theta
    direction = np.random.default_rng(12).standard_normal(theta.shape)
    assert np.array_equal(counted.value(theta, features, targets), plain.value(moved, features, targets))
    assert np.array_equal(counted.gradient(theta, features, targets), plain.gradient(moved, features, targets))
    ours, theirs = (
        mixed_gradient(model, at, features, targets, direction) for model, at in ((counted, theta), (plain, moved))
    )
    assert np.array_equal(ours[0], theirs[0])
    assert counted.gradient(np.zeros(counted.dimension), features, targets).any()


def test_the_hessian_of_softmax_is_the_derivative_of_its_gradient():
    for model in (Softmax(4, 3), Softmax(3, 2, intercept=False)):
        theta, features, targets = drawn(model, 13, ())
        step = 1e-20
        columns = [
            np.imag(model.gradient(theta + 1j * step * unit, features, targets)) / step
            for unit in np.eye(model.dimension)
        ]
        assert np.allclose(model.hessian(theta, features, targets), np.array(columns), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("widths", "activation", "field"),
    [((4, 3), "tanh", "widths"), ((4, 5, 1), "tanh", "widths[2]"), ((4, 0, 3), "tanh", "widths[1]"),
     ((4, 5, 3), "sine", "activation")],
)  # fmt: skip
def test_no_network(widths, activation, field):
    assert refusal(MLP, widths, activation).field == field


def test_labels_and_targets_are_inverse():
    for model, labels in ((Logistic(2), [1.0, -1.0]), (Softmax(2, 3), [2.0, 0.0]), (Linear(2), [0.5, -3.0])):
        assert np.array_equal(model.labels(model.targets(np.array(labels))), labels)


def test_a_penalty_is_its_own_gradient():
    penalty, x = Penalty(0.3, 0.1, 2.0), np.random.default_rng(3).standard_normal((1, 4))

    def value(x):
        return 0.15 * np.sum(x**2) + 0.1 * np.sum(2 * x**2 / (1 + 2 * x**2))

    assert np.isclose(penalty.value(x)[0], value(x), rtol=1e-14)
    assert np.allclose(penalty.gradient(x), differences(value, x), rtol=1e-6)
    bent = differences(lambda y: penalty.gradient(y).sum(), x)
    assert np.allclose(penalty.curvature(x), bent, rtol=1e-6)
    wide = penalty.curvature(np.linspace(-3, 3, 10_001))
    assert wide.max() == pytest.approx(penalty.most)
    assert wide.min() == pytest.approx(penalty.least, rel=1e-5)
