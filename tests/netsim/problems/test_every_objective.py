"""Laws of every objective that there is, and of every regularizer beside it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import ProtocolError
from netsim.models import MLP, Penalty, Softmax
from netsim.models.lenet import LeNet
from netsim.problems import (
    L1,
    Bent,
    FusedLasso,
    LeastSquares,
    LogisticLoss,
    Modelled,
    NonconvexLogistic,
    PoissonLoss,
    Surrounded,
    Tilted,
    Zero,
)
from tests.netsim.problems.test_composite import Box
from tests.netsim.problems.test_modelled import twin

RNG = np.random.default_rng(0)
FEATURES, SLOPE = RNG.standard_normal((7, 5)), RNG.standard_normal(5)
SIGNS, CLASSES = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0]), np.arange(7.0) % 3
OWN = LogisticLoss(FEATURES, SIGNS, 0.1)
OBJECTIVES = {
    "logistic": OWN, "least squares": LeastSquares(FEATURES, SIGNS, 0.03),
    "a divisor": LeastSquares(FEATURES, SIGNS, 0.03, 36.0),
    "nonconvex": NonconvexLogistic(FEATURES, SIGNS, 0.3, 2.0, 0.03),
    "poisson": PoissonLoss(FEATURES, CLASSES, 0.03, 9.0),
    "softmax": Modelled(FEATURES, CLASSES, Softmax(5, 3), Penalty(0.1, 0.05, 2.0)),
    "softmax, no intercept": Modelled(FEATURES, CLASSES, Softmax(5, 3, intercept=False)),
    "tanh": Modelled(FEATURES, CLASSES, MLP((5, 5, 3), "tanh", 0), Penalty(0.1)),
    "relu": Modelled(FEATURES, CLASSES, MLP((5, 5, 3), "relu", 1)), "tilted": Tilted(OWN, SLOPE),
    "among others": Surrounded(OWN, SLOPE, others=np.outer(np.arange(OWN.records), SLOPE)),
    **{f"bent at {offset:g}": Bent(OWN, SLOPE, 0.7, offset) for offset in (-1.5, 0.0, 2.0)},
    "plain functions": twin(OWN, hessian=False),
}  # fmt: skip
PROXIMAL = {name: f for name, f in OBJECTIVES.items() if name not in ("tanh", "relu")}
PAIRS = [(name, r) for name in PROXIMAL for r in (Zero(), L1(0.2))]
PAIRS += [(name, r) for name in ("logistic", "least squares", "nonconvex") for r in (FusedLasso(0.1, 0.2), Box(0.2))]


def points(f, count, seed=1):
    return np.random.default_rng(seed).standard_normal((count, f.dimension))


def alone(function, x):
    """Row by row, and of a matrix that lies in memory the other way round: the same bits."""
    together = function(x)
    for row in range(len(x)):
        np.testing.assert_array_equal(together[row : row + 1], function(x[row : row + 1]))
    np.testing.assert_array_equal(together, function(np.asfortranarray(x)))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_no_row_feels_another(name):
    f = OBJECTIVES[name]
    for method in ("value", "gradient", "data_gradient", "right"):
        if hasattr(f, method):
            alone(getattr(f, method), points(f, 9))


WIDE = [Softmax(7, 3), Softmax(70, 2), MLP((7, 5, 3), "tanh"), MLP((9, 1, 10)), MLP((33, 17, 9, 2), "softplus")]


@pytest.mark.parametrize("records", [1, 13])
@pytest.mark.parametrize("model", [*WIDE, LeNet((8, 8), 4, seed=1)], ids=str)
def test_nor_where_there_are_many_parameters(model, records):
    rng = np.random.default_rng(9)
    f = Modelled(rng.random((records, model.width)), np.arange(float(records)) % model.outputs, model)
    alone(f.gradient, 0.1 * points(f, 7))


@pytest.mark.few("LeastSquares")
@pytest.mark.parametrize("kind", [LogisticLoss, LeastSquares, NonconvexLogistic, PoissonLoss])
@given(replicas=st.integers(1, 40), records=st.integers(1, 20), dimension=st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_nor_whatever_the_sizes(kind, replicas, records, dimension):
    """Bit for bit, not only to rounding: chunks of any size give the same run."""
    rng = np.random.default_rng(3)
    labels = rng.poisson(2.0, records) if kind is PoissonLoss else rng.choice([-1.0, 1.0], records)
    f = kind(rng.normal(size=(records, dimension)), labels)
    for method in (f.value, f.gradient, f.data_gradient, lambda v: f.proximal(v, 0.8)):
        alone(method, points(f, replicas))


@pytest.mark.parametrize(("name", "r"), PAIRS)
def test_a_proximal_point_is_optimal_and_its_rows_are_alone(name, r):
    """x = prox_{sr}(v − s∇f(x)); and a row that is no number spoils itself alone."""
    f, v, step = PROXIMAL[name], points(PROXIMAL[name], 6), 0.7

    def proximal(v):
        return f.proximal(v, step, r)

    x = proximal(v)
    np.testing.assert_allclose(x, r.proximal(v - step * f.gradient(x), step), atol=1e-11)
    alone(proximal, v)
    v[2] = [np.nan, np.inf, *np.zeros(f.dimension - 2)]
    with np.errstate(invalid="ignore"):
        spoilt = proximal(v)
    assert np.isnan(spoilt[2]).any()
    np.testing.assert_array_equal(np.delete(spoilt, 2, 0), np.delete(x, 2, 0))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_derivatives_are_those_of_the_value(name):
    f, step = OBJECTIVES[name], 1e-5
    x, v = points(f, 1), points(f, 1, 2)
    units = step * np.eye(f.dimension)
    slopes = [(f.value(x + u) - f.value(x - u))[0] / (2 * step) for u in units]
    np.testing.assert_allclose(f.gradient(x)[0], slopes, rtol=1e-6, atol=1e-8)
    rows = [(f.gradient(x + u) - f.gradient(x - u))[0] / (2 * step) for u in units]
    np.testing.assert_allclose(f.hessian(x[0]), rows, rtol=1e-5, atol=1e-7)
    if isinstance(f, Modelled):
        np.testing.assert_allclose(f.product(x, v)[0], f.hessian(x[0]) @ v[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in PROXIMAL if name != "poisson"])
def test_the_gradient_is_as_smooth_and_the_loss_as_convex_as_claimed(name):
    f, rng = PROXIMAL[name], np.random.default_rng(6)
    x, y = 3 * rng.normal(size=(2, 500, f.dimension))
    y[:250] = x[:250] + 1e-3 * y[:250]
    moved, change = x - y, f.gradient(x) - f.gradient(y)
    lengths = np.linalg.norm(moved, axis=1)
    assert (np.linalg.norm(change, axis=1) <= f.smoothness * lengths * (1 + 1e-9)).all()
    least = f.strong_convexity - getattr(f, "weak_convexity", 0.0)
    assert ((moved * change).sum(axis=1) >= (least - 1e-9) * lengths**2).all()


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", PROXIMAL)
def test_a_proximal_step_is_positive(name, step):
    with pytest.raises(ProtocolError, match="step"):
        PROXIMAL[name].proximal(points(PROXIMAL[name], 1), step)
