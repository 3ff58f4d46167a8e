"""The proximal map of an objective and a regularizer together."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from netsim.arrays import Array
from netsim.errors import ProtocolError
from netsim.problems import (
    L1,
    ElasticNet,
    FusedLasso,
    LeastSquares,
    LInf,
    LogisticLoss,
    NonconvexLogistic,
    Objective,
    Regularizer,
    Zero,
    regularized_proximal,
)


def objective(kind: type, seed: int = 0, records: int = 9, dimension: int = 5) -> Objective:
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(records, dimension)), rng.choice([-1.0, 1.0], size=records)
    return kind(features, labels)


kinds = pytest.mark.parametrize("kind", [LogisticLoss, LeastSquares, NonconvexLogistic])


@dataclass(frozen=True)
class Box:
    """The indicator of [−size, size]^d."""

    size: float

    def value(self, x: Array) -> Array:
        return np.where((np.abs(x) <= self.size).all(axis=1), 0.0, np.inf)

    def proximal(self, v: Array, step: float) -> Array:
        return np.clip(v, -self.size, self.size)


def residual(f: Objective, v: Array, step: float, r: Regularizer, x: Array) -> Array:
    return np.abs(x - r.proximal(v - step * f.gradient(x), step)).max(axis=1)


@kinds
def test_without_a_regularizer_it_is_the_objective_s_own_map(kind: type) -> None:
    f, v = objective(kind), np.random.default_rng(1).normal(size=(4, 5))
    assert np.array_equal(regularized_proximal(f, v, 0.7, Zero()), f.proximal(v, 0.7))


@kinds
@given(
    seed=st.integers(0, 10_000), log_step=st.floats(-4, 3), log_size=st.floats(-4, 4), log_weight=st.floats(-3, 1),
    dimension=st.sampled_from([1, 5, 14]),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_the_point_is_optimal(kind, seed, log_step, log_size, log_weight, dimension) -> None:
    f, step, r = objective(kind, seed, 9, dimension), 10**log_step, L1(10**log_weight)
    v = 10**log_size * np.random.default_rng(seed).normal(size=(2, dimension))
    x = regularized_proximal(f, v, step, r)
    start = np.abs(f.gradient(np.zeros((1, dimension)))).max()
    scale = (1 + step * f.smoothness) * np.abs(v).max(axis=1) + step * start
    assert (residual(f, v, step, r, x) <= 1.1e-12 * scale).all()


def test_a_quadratic_on_the_line_has_a_closed_formula() -> None:
    """f = (x − 3)²/2, r = w|x|: x = S(v + step·3, step·w) / (1 + step)."""
    f, step, w = LeastSquares([[1.0]], [3.0]), 0.8, 0.6
    v = np.linspace(-8, 8, 33)[:, None]
    inner = v + step * 3
    expected = np.sign(inner) * np.maximum(np.abs(inner) - step * w, 0) / (1 + step)
    np.testing.assert_allclose(regularized_proximal(f, v, step, L1(w)), expected, atol=1e-12)


@kinds
@pytest.mark.parametrize("r", [ElasticNet(0.2, 0.3), LInf(0.4), FusedLasso(0.1, 0.2), Box(0.2)], ids=repr)
def test_with_the_other_regularizers_the_point_is_optimal(kind: type, r: Regularizer) -> None:
    for log_step, size in ((-2, 1.0), (0, 100.0), (1.5, 1.0)):
        f, step, v = objective(kind, 7), 10.0**log_step, size * np.random.default_rng(7).normal(size=(2, 5))
        if kind is NonconvexLogistic and step > 1:
            continue
        x = regularized_proximal(f, v, step, r)
        start = np.abs(f.gradient(np.zeros((1, 5)))).max()
        scale = (1 + step * f.smoothness) * np.abs(v).max(axis=1) + step * start
        assert (residual(f, v, step, r, x) <= 1.1e-12 * scale).all()
        assert np.array_equal(x[:1], regularized_proximal(f, v[:1], step, r))


def test_nothing_at_all_stays_nothing() -> None:
    f = LeastSquares([[1.0, 2.0]], [0.0])
    assert not regularized_proximal(f, np.zeros((2, 2)), 1.0, L1(0.5)).any()
    assert regularized_proximal(f, np.zeros((0, 2)), 1.0, L1(0.5)).shape == (0, 2)


def test_a_step_with_several_minimizers_is_refused() -> None:
    f = NonconvexLogistic([[1.0], [2.0]], [1.0, -1.0], 0.5, 2.0)
    regularized_proximal(f, np.ones((1, 1)), 1.9, L1(0.1))
    with pytest.raises(ProtocolError, match="steps < 2"):
        regularized_proximal(f, np.ones((1, 1)), 2.0, L1(0.1))
    with pytest.raises(ProtocolError, match="step"):
        regularized_proximal(f, np.ones((1, 1)), 0.0, L1(0.1))


# many coordinates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [60, 400])
def test_in_hundreds_of_coordinates_scikit_learn_finds_the_same(records: int) -> None:
    """Its lasso over the stacked rows of f, of the ridge and of ‖x − v‖²/(2 step)."""
    rng, d, ridge, step, weight = np.random.default_rng(5), 250, 0.3, 0.02, 0.4
    features, targets, v = rng.random((records, d)), rng.normal(size=records), 0.1 * rng.normal(size=d)
    found = regularized_proximal(LeastSquares(features, targets, ridge), v[None], step, L1(weight))[0]
    rows = np.vstack([features / records**0.5, ridge**0.5 * np.eye(d), np.eye(d) / step**0.5])
    answers = np.concatenate([targets / records**0.5, np.zeros(d), v / step**0.5])
    lasso = Lasso(alpha=weight / len(rows), fit_intercept=False, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(found, lasso.fit(rows, answers).coef_, atol=1e-9)
    assert 0 < np.count_nonzero(found) < d


@pytest.mark.few(6)
@kinds
@pytest.mark.parametrize("r", [L1(0.3), ElasticNet(0.2, 0.3), FusedLasso(0.1, 0.2), Zero()], ids=repr)
def test_in_hundreds_of_coordinates_plain_gradient_steps_lead_there(
    kind: type, r: Regularizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hessian", "hessians"):  # no Hessian is asked for
        monkeypatch.setattr(kind, name, None, raising=False)
    f, step = objective(kind, 6, 300, 200), 0.5
    v = np.random.default_rng(6).normal(size=(3, 200))
    x = regularized_proximal(f, v, step, r)
    y, short = v, 1 / (1 + step * f.smoothness)
    for _ in range(300):
        y = r.proximal(y - short * (step * f.gradient(y) + y - v), short * step)
    np.testing.assert_allclose(x, y, atol=1e-12)
    for row in range(3):
        assert np.array_equal(x[row : row + 1], regularized_proximal(f, v[row : row + 1], step, r))


@pytest.mark.parametrize("records", [30, 250])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_least_squares_in_hundreds_of_coordinates_solve_the_normal_equations(records: int, ridge: float) -> None:
    rng, d = np.random.default_rng(9), 150
    f, v = LeastSquares(rng.normal(size=(records, d)), rng.normal(size=records), ridge), rng.normal(size=(3, d))
    for step in (1e-3, 1.0, 1e3):
        matrix = np.eye(d) + step * (f.features.T @ f.features / records + ridge * np.eye(d))
        right = v + step * (f.features.T @ f.targets / records)
        x = f.proximal(v, step)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, right.T).T, atol=1e-11)
        assert np.array_equal(x[1:2], f.proximal(v[1:2], step))


class Overpromising(LogisticLoss):
    """It says that it is as convex as it is smooth: gradients alone miss the tolerance."""

    @property
    def strong_convexity(self) -> float:
        return self.smoothness


@pytest.mark.parametrize("r", [L1(0.01), Zero()], ids=repr)
def test_where_gradients_alone_do_not_reach_the_point_newton_does(r: Regularizer) -> None:
    rng = np.random.default_rng(8)
    features, labels = rng.normal(size=(40, 100)), rng.choice([-1.0, 1.0], size=40)
    v, step = rng.normal(size=(2, 100)), 1e4
    f = Overpromising(features, labels, 0.01)
    x = regularized_proximal(f, v, step, r)
    np.testing.assert_allclose(x, regularized_proximal(LogisticLoss(features, labels, 0.01), v, step, r), atol=1e-9)
    scale = (1 + step * f.smoothness) * np.abs(v).max(axis=1)
    assert (residual(f, v, step, r, x) <= 1e-12 * scale).all()
