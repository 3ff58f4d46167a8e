"""Objectives from plain functions: the same as the shipped ones, and what is told when they are wrong."""

import numpy as np
import pytest

from netsim.algorithms import Extra
from netsim.errors import ProtocolError, ScenarioError
from netsim.problems import L1, LogisticLoss, Problem, objective
from netsim.simulation import Simulation
from netsim.topology import ring

D = 4


def logistic(seed: int) -> LogisticLoss:
    rng = np.random.default_rng(seed)
    return LogisticLoss(rng.normal(size=(12, D)), rng.choice([-1.0, 1.0], 12), 0.1)


def twin(loss: LogisticLoss, hessian: bool = True):
    """The same function, written for one point by somebody who knows nothing of replicas."""
    a, b = loss.features, loss.labels

    def value(x):
        return float(np.mean(np.logaddexp(0, -b * (a @ x))) + 0.05 * x @ x)

    def gradient(x):
        return -(a.T @ (b / (1 + np.exp(b * (a @ x))))) / len(b) + 0.1 * x

    def second(x):
        p = 1 / (1 + np.exp(-(a @ x)))
        return (a.T * (p * (1 - p))) @ a / len(b) + 0.1 * np.eye(D)

    return objective(
        value, gradient, D, smoothness=loss.smoothness, strong_convexity=0.1, hessian=second if hessian else None
    )


@pytest.mark.parametrize("hessian", [True, False])
def test_the_oracles_are_those_of_the_shipped_loss(hessian):
    loss = logistic(0)
    made, x = twin(loss, hessian), np.random.default_rng(1).normal(size=(5, D))
    np.testing.assert_allclose(made.value(x), loss.value(x), rtol=1e-13)
    np.testing.assert_allclose(made.gradient(x), loss.gradient(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(made.hessian(x[0]), loss.hessian(x[0]), rtol=1e-7, atol=1e-9)
    for step in (0.1, 30.0):
        np.testing.assert_allclose(made.proximal(x, step), loss.proximal(x, step), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(made.proximal(x, 1.0, L1(0.2)), loss.proximal(x, 1.0, L1(0.2)), rtol=1e-8, atol=1e-9)


def test_a_row_depends_on_itself_alone():
    made, x = twin(logistic(0)), np.random.default_rng(2).normal(size=(4, D))
    x[1] *= 100
    together = made.proximal(x, 2.0)
    for r in range(4):
        assert np.array_equal(together[r], made.proximal(x[r : r + 1], 2.0)[0])
    x[1, 0] = np.nan
    assert np.isnan(made.proximal(x, 2.0)[1]).all()


@pytest.mark.parametrize("hessian", [True, False])
def test_a_whole_run_on_them_reaches_the_same_optimum(hessian):
    losses = [logistic(seed) for seed in range(5)]
    shipped, own = Problem(losses), Problem([twin(loss, hessian) for loss in losses])
    np.testing.assert_allclose(own.optimum().point, shipped.optimum().point, rtol=1e-9, atol=1e-11)
    runs = [Simulation(problem, ring(5), Extra(rounds=150, step=0.2)).run() for problem in (own, shipped)]
    errors = [run.metrics.worst_by_round(5)[:, 0] for run in runs]
    assert errors[0][-1] < 1e-3 * errors[0][0]
    np.testing.assert_allclose(*errors, rtol=1e-6, atol=1e-10)


def square(x):
    return float(x @ x)


def slope(x):
    return 2 * x


class Noisy:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, x):
        return float(x @ x + self.rng.normal())


def writes(x):
    x *= 2
    return x


GOOD = {"value": square, "gradient": slope, "dimension": 3, "smoothness": 2.0, "strong_convexity": 2.0}


@pytest.mark.parametrize(
    ("field", "problem", "change"),
    [
        ("gradient", "wrong shape", {"gradient": lambda x: np.zeros(2)}),
        ("value", "wrong shape", {"value": lambda x: x}),
        ("value", "not finite", {"value": lambda x: np.log(x[0])}),
        ("value", "not a function", {"value": Noisy()}),
        ("value", "not numbers", {"value": lambda x: "much"}),
        ("gradient", "cannot be computed", {"gradient": writes}),
        ("gradient", "is not the function's gradient", {"gradient": lambda x: 2.01 * x, "smoothness": 3.0}),
        ("hessian", "is not that of the gradient", {"hessian": lambda x: np.eye(3)}),
        ("hessian", "wrong shape", {"hessian": lambda x: np.eye(2)}),
        ("smoothness", "is not a Lipschitz constant of the gradient", {"smoothness": 1.9, "strong_convexity": 0.0}),
        ("smoothness", "not positive and finite", {"smoothness": 0.0}),
        ("strong_convexity", "is contradicted by the gradients", {"strong_convexity": 2.1}),
        ("dimension", "not an integer", {"dimension": 3.0}),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_is_told_before_anything_runs(field, problem, change):
    with pytest.raises(ScenarioError) as caught:
        objective(**{**GOOD, **change})
    assert (caught.value.field, caught.value.problem) == (field, problem)


def test_a_function_that_is_not_convex_says_how_far():
    def value(x):
        return float(np.sum(x**2 / (1 + x**2)))

    def gradient(x):
        return 2 * x / (1 + x**2) ** 2

    with pytest.raises(ScenarioError, match="weak_convexity"):
        objective(value, gradient, 3, smoothness=2.0)
    made = objective(value, gradient, 3, smoothness=2.0, weak_convexity=0.5)
    with pytest.raises(ProtocolError, match="steps < 2"):
        made.proximal(np.ones((1, 3)), 2.0)
    x = made.proximal(np.ones((1, 3)), 1.0)
    np.testing.assert_allclose(made.gradient(x) + x, np.ones((1, 3)), atol=1e-11)


def test_it_has_no_records():
    made = objective(**GOOD)
    assert (made.records, Problem([made] * 2).model) == (1, None)
    with pytest.raises(ProtocolError, match="no records"):
        made.batch([0])


def test_no_rows_have_no_hessians():
    made = twin(logistic(0))
    assert made.hessians(np.zeros((0, D))).shape == (0, D, D)
