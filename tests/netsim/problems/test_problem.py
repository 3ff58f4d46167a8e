"""The optimum against other people's solvers, the KKT conditions, and problems that have none."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.problems import (
    L1,
    Dataset,
    LeastSquares,
    LogisticLoss,
    Problem,
    Zero,
    build,
    least_squares,
    load,
    logistic,
)
from tests.worlds import refusal

digits = load("digits")
real = load("synthetic", records=80, dimension=12, seed=1, kind="regression")
wide = load("synthetic", records=40, dimension=70, seed=2, kind="regression")


def test_the_value_counts_every_agent_and_the_regularizer_once_each() -> None:
    parts = real.split(3)
    problem = build("lasso", parts, ridge=0.5, l1=0.2)
    x = np.random.default_rng(0).normal(size=(4, 12))
    expected = sum(
        ((x @ part.features.T - part.labels) ** 2).mean(axis=1) / 2 + 0.25 * (x**2).sum(axis=1) for part in parts
    )
    np.testing.assert_allclose(problem.value(x), expected + 3 * 0.2 * np.abs(x).sum(axis=1), rtol=1e-13)
    assert (problem.agents, problem.dimension) == (3, 12)
    constants = [(f.smoothness, f.strong_convexity) for f in problem.objectives]
    assert problem.smoothness == max(smoothness for smoothness, _ in constants)
    assert problem.strong_convexity == min(convexity for _, convexity in constants)


def test_logistic_regression_is_what_scikit_learn_finds() -> None:
    optimum = logistic(digits.split(10), ridge=0.01).optimum()
    model = LogisticRegression(C=1 / (0.01 * 360), fit_intercept=False, tol=1e-13, solver="newton-cg")
    found = model.fit(digits.features, digits.labels).coef_[0]
    np.testing.assert_allclose(optimum.point, found, atol=1e-7)


@pytest.mark.parametrize("data", [real, wide])
def test_ridge_regression_is_what_scikit_learn_finds(data: Dataset) -> None:
    optimum = build("ridge", data.split(4), ridge=0.05).optimum()
    model = Ridge(alpha=0.05 * data.records, fit_intercept=False, solver="svd")
    np.testing.assert_allclose(optimum.point, model.fit(data.features, data.labels).coef_, atol=1e-11)


@pytest.mark.parametrize("data", [real, wide])
@pytest.mark.parametrize("l1", [1e-3, 0.02])
def test_the_lasso_is_what_scikit_learn_finds(data: Dataset, l1: float) -> None:
    optimum = build("lasso", data.split(4), l1=l1).optimum()
    model = Lasso(alpha=l1, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    found = model.fit(data.features, data.labels).coef_
    np.testing.assert_allclose(optimum.point, found, atol=1e-6)
    assert np.array_equal(optimum.point != 0, found != 0)


def test_unequal_agents_weigh_the_same() -> None:
    parts = real.take(range(60)), real.take(range(60, 80))
    problem = least_squares(parts, ridge=0.1)

    def mean(x: Array) -> float:
        return float(problem.value(x[None])[0])

    found = minimize(mean, np.zeros(12), method="Powell", options={"xtol": 1e-10, "ftol": 1e-15})
    np.testing.assert_allclose(problem.optimum().point, found.x, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "data", "ridge", "l1"),
    [
        ("logistic", digits, 0.0, 0.01), ("logistic", digits, 1e-4, 1e-3), ("lasso", real, 0.0, 0.02),
        ("lasso", real, 0.1, 0.02), ("lasso", wide, 0.0, 1e-3),
    ],
)  # fmt: skip
def test_the_optimality_conditions_hold_coordinate_by_coordinate(
    kind: str, data: Dataset, ridge: float, l1: float
) -> None:
    problem = build(kind, data.split(5), ridge, l1)
    optimum = problem.optimum()
    x, slope = optimum.point, problem.mean_gradient(optimum.point[None])[0]
    assert 0 < (x != 0).sum() < len(x)
    assert not optimum.is_zero
    np.testing.assert_allclose(slope[x != 0], -l1 * np.sign(x[x != 0]), rtol=0, atol=1e-12)
    assert (np.abs(slope[x == 0]) <= l1 + 1e-12).all()
    assert optimum.residual <= 1e-12
    assert optimum.residual == problem.residual(x[None])[0]
    assert optimum.value == problem.value(x[None])[0]


def test_a_heavy_l1_leaves_nothing_and_says_so() -> None:
    parts = digits.split(4)
    slopes = logistic(parts).mean_gradient(np.zeros((1, 64)))
    edge = float(np.abs(slopes).max())
    assert build("logistic", parts, l1=edge * (1 + 1e-9)).optimum().is_zero
    assert not build("logistic", parts, l1=edge * (1 - 1e-3)).optimum().is_zero


def test_data_without_signal_have_a_degenerate_optimum() -> None:
    pair = LogisticLoss([[1.0, 2.0], [1.0, 2.0]], [1.0, -1.0], 0.1)
    optimum = Problem((pair,)).optimum()
    assert optimum.is_zero
    assert optimum.value == pytest.approx(np.log(2))


@pytest.mark.parametrize("data", [digits, load("synthetic", records=20, dimension=30, noise=0.0)])
def test_separable_classes_without_a_ridge_have_no_optimum(data: Dataset) -> None:
    with pytest.raises(ScenarioError, match="not attained") as caught:
        logistic(data.split(4)).optimum()
    assert "ridge > 0" in caught.value.allowed


def test_overlapping_classes_without_a_ridge_have_one() -> None:
    tumours = load("breast_cancer")
    problem = logistic(tumours.split(1))
    assert problem.strong_convexity == 0
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1000)
    found = model.fit(tumours.features, tumours.labels).coef_[0]
    np.testing.assert_allclose(problem.optimum().point, found, rtol=1e-4)


def test_a_residual_that_rounding_hides_is_not_reported_as_zero() -> None:
    far = LeastSquares([[1.0]], [1e12])
    with pytest.raises(ScenarioError, match="known to"):
        Problem((far,)).optimum()


def test_a_least_squares_optimum_with_flat_directions_is_near_the_origin() -> None:
    optimum = least_squares(wide.split(2)).optimum()
    shortest = np.linalg.pinv(wide.features) @ wide.labels
    np.testing.assert_allclose(optimum.point, shortest, atol=1e-4)


def test_the_optimum_is_found_once_and_cannot_be_written() -> None:
    problem = build("ridge", real.split(2), 0.1)
    assert problem.optimum() is problem.optimum()
    with pytest.raises(ValueError, match="read-only"):
        problem.optimum().point[0] = 0.0


def test_a_replaced_objective_makes_another_world() -> None:
    problem = build("ridge", real.split(3), 0.1)
    before, second = problem.optimum(), problem.objectives[1]
    assert isinstance(second, LeastSquares)
    other = problem.replace(1, second.with_record(0, np.ones(12), 9.0))
    assert other.objectives[::2] == problem.objectives[::2]
    assert problem.objectives[1] is second
    assert not np.array_equal(other.optimum().point, before.point)
    with pytest.raises(ScenarioError, match="agent"):
        problem.replace(3, second)


@pytest.mark.parametrize(
    ("kind", "l1", "field", "allowed"),
    [
        ("ridg", 0.0, "kind", "ridge, "), ("Lasso", 0.1, "kind", "lasso, "), ("lasso", 0.0, "l1", "l1 > 0"),
        ("ridge", 0.1, "l1", "l1 = 0"), ("logistic", -1.0, "l1", ">= 0"),
    ],
)  # fmt: skip
def test_a_kind_says_what_it_needs(kind: str, l1: float, field: str, allowed: str) -> None:
    error = refusal(build, kind, digits.split(2), l1=l1)
    assert error.field == field
    assert allowed in error.allowed


def test_kinds_differ_in_loss_and_regularizer() -> None:
    parts = digits.split(2)
    ridge, lasso, classes = (
        build("ridge", parts, 0.1), build("lasso", parts, l1=0.1), build("logistic", parts),
    )  # fmt: skip
    assert (ridge.name, lasso.name, classes.name) == ("ridge", "lasso", "logistic")
    assert (ridge.regularizer, lasso.regularizer, classes.regularizer) == (Zero(), L1(0.1), Zero())
    assert [type(p.objectives[0]) for p in (ridge, lasso, classes)] == [
        LeastSquares, LeastSquares, LogisticLoss,
    ]  # fmt: skip


def test_agents_share_one_dimension() -> None:
    with pytest.raises(ScenarioError, match="dimensions differ"):
        Problem((LeastSquares([[1.0]], [1.0]), LeastSquares([[1.0, 2.0]], [1.0])))
    with pytest.raises(ScenarioError, match="no agent"):
        Problem(())
