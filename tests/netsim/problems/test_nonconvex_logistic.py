"""The logistic loss with the bounded regularizer, against definitions, and where it stops being convex."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from netsim.errors import ProtocolError
from netsim.problems import (
    L1,
    LogisticLoss,
    NonconvexLogistic,
    Problem,
    Zero,
    load,
    nonconvex_logistic,
    scale_for,
    weak_convexity,
)
from netsim.problems.minimizers import stationary_point
from tests.worlds import refusal


def make(
    seed: int = 0, records: int = 9, dimension: int = 5, weight: float = 0.3, shape: float = 2.0, ridge: float = 0.03
) -> NonconvexLogistic:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], size=records)
    return NonconvexLogistic(rng.normal(size=(records, dimension)), labels, weight, shape, ridge)


def test_without_weight_it_is_the_logistic_loss() -> None:
    loss = make(weight=0.0)
    plain = LogisticLoss(loss.features, loss.labels, loss.ridge)
    x = np.random.default_rng(2).normal(size=(4, 5))
    assert np.array_equal(loss.value(x), plain.value(x))
    assert np.array_equal(loss.gradient(x), plain.gradient(x))
    assert np.array_equal(loss.data_gradient(x), plain.data_gradient(x))
    assert (loss.smoothness, loss.weak_convexity) == (plain.smoothness, 0.0)
    np.testing.assert_allclose(loss.proximal(x, 0.7), plain.proximal(x, 0.7), atol=1e-13)


@given(weight=st.floats(0, 5), shape=st.floats(0.01, 50), ridge=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_curvature_lies_between_its_bounds(weight: float, shape: float, ridge: float, seed: int) -> None:
    loss = make(seed, weight=weight, shape=shape, ridge=ridge)
    points = np.random.default_rng(seed).normal(size=(40, 5)) * np.logspace(-2, 2, 40)[:, None] / np.sqrt(shape)
    curvature = np.linalg.eigvalsh(loss.hessians(points))
    assert curvature.max() <= loss.smoothness * (1 + 1e-12)
    assert curvature.min() >= loss.strong_convexity - loss.weak_convexity - 1e-12
    assert weak_convexity(loss) == loss.weak_convexity


def test_the_bounds_are_attained() -> None:
    loss = make(ridge=0.0)
    assert np.linalg.eigvalsh(loss.hessian(np.zeros(5)))[-1] == pytest.approx(loss.smoothness, rel=1e-12)
    blind = NonconvexLogistic(np.zeros((3, 1)), np.ones(3), 0.3, 2.0)
    assert blind.hessian(np.array([2.0**-0.5]))[0, 0] == pytest.approx(-blind.weak_convexity, rel=1e-12)
    assert make(weight=0.3, shape=2.0, ridge=0.5).weak_convexity == 0
    assert make(weight=0.3, shape=2.0, ridge=0.5).strong_convexity == pytest.approx(0.2)


def test_a_step_with_several_minimizers_is_refused_and_says_how_long_it_may_be() -> None:
    loss = make(ridge=0.05)  # weak convexity 0.3 − 0.05
    assert loss.weak_convexity == pytest.approx(0.25)
    loss.proximal(np.ones((1, 5)), 3.99)
    with pytest.raises(ProtocolError, match=r"steps < 4"):
        loss.proximal(np.ones((1, 5)), 4.01)
    with pytest.raises(ProtocolError, match="step"):
        loss.proximal(np.ones((1, 5)), -1.0)
    make(ridge=0.5).proximal(np.ones((1, 5)), 1e4)  # convex


def test_adjacent_objectives_differ_by_their_losses() -> None:
    loss = make()
    other = loss.with_record(4, np.arange(5.0), -1.0)
    assert (type(other), other.weight, other.shape, other.ridge) == (NonconvexLogistic, 0.3, 2.0, 0.03)
    convex = LogisticLoss(loss.features, loss.labels, loss.ridge)
    other_convex = LogisticLoss(other.features, other.labels, other.ridge)
    assert loss.gradient_difference_bound(other) == convex.gradient_difference_bound(other_convex)
    x = 5 * np.random.default_rng(0).normal(size=(500, 5))
    moved = np.linalg.norm(loss.gradient(x) - other.gradient(x), axis=1)
    assert moved.max() <= loss.gradient_difference_bound(other) * (1 + 1e-12)
    assert loss.gradient_difference_bound(make(weight=0.2)) == np.inf


@pytest.mark.parametrize(("change", "field"), [({"weight": -1.0}, "weight"), ({"shape": 0.0}, "shape")])
def test_bad_parameters_are_named(change: dict, field: str) -> None:
    assert refusal(make, **change).field == field


# [D]'s problem ---------------------------------------------------------------------------------------------


def dpp2(agents: int = 50, records: int = 200) -> Problem:
    """N = 50, d = 10, m = 200, λ = 0.001, ω = 1, features scaled so that max_i L_i = 5.03."""
    data = load("synthetic", records=agents * records, dimension=10)
    factor = scale_for(nonconvex_logistic(data.split(agents)), 5.03)
    return nonconvex_logistic(data.scaled(factor).split(agents))


def test_the_problem_of_the_paper_has_its_constants_and_a_stationary_point() -> None:
    problem = dpp2()
    assert (problem.agents, problem.dimension, problem.objectives[0].records) == (50, 10, 200)
    assert problem.smoothness == pytest.approx(5.03, rel=1e-12)
    assert problem.strong_convexity == 0
    assert not problem.convex
    optimum = problem.optimum()
    assert optimum.stationary_only
    assert optimum.residual <= 1e-12
    assert np.abs(problem.mean_gradient(optimum.point[None])).max() <= 1e-12
    hessian = sum(f.hessian(optimum.point) for f in problem.objectives)
    assert np.linalg.eigvalsh(hessian)[0] > 0  # here a strict local minimizer

    def value(x: np.ndarray) -> float:
        return float(problem.value(x[None])[0])

    def slope(x: np.ndarray) -> np.ndarray:
        return 50 * problem.mean_gradient(x[None])[0]

    found = minimize(value, np.zeros(10), jac=slope, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-16})
    np.testing.assert_allclose(optimum.point, found.x, atol=1e-5)


def test_a_convex_problem_does_not_say_so() -> None:
    parts = load("synthetic", records=40, dimension=3).split(4)
    assert not nonconvex_logistic(parts, ridge=0.1).optimum().stationary_only
    assert nonconvex_logistic(parts, ridge=0.1).convex


def test_descent_never_ends_above_where_it_began() -> None:
    """A strong bump: several stationary points; that from 0 is lower than 0 and flat."""
    rng = np.random.default_rng(5)
    loss = NonconvexLogistic(3 * rng.normal(size=(30, 4)), np.ones(30), 2.0, 5.0)
    problem = Problem((loss,))
    optimum = problem.optimum()
    assert optimum.stationary_only
    assert optimum.value < float(problem.value(np.zeros((1, 4)))[0])
    assert optimum.residual <= 1e-12
    assert np.linalg.eigvalsh(loss.hessian(optimum.point))[0] > 0


@pytest.mark.parametrize("regularizer", [Zero(), L1(1e-3)])
def test_a_maximum_near_the_start_does_not_attract(regularizer) -> None:
    """cos falls from near 0 to π, slowly at first; Newton's method alone would climb back to 0."""
    found = stationary_point(
        lambda x: np.cos(x[:, 0]) + regularizer.value(x), lambda x: -np.sin(x), lambda x: -np.cos(x), 100.0,
        regularizer, np.array([[0.1]]),
    )  # fmt: skip
    slope = 0.0 if isinstance(regularizer, Zero) else 1e-3
    np.testing.assert_allclose(found, [[np.pi - np.arcsin(slope)]], atol=1e-11)
