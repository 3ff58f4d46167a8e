"""Objectives of public models: against the losses that are written out, their own derivatives, and their bounds.

And objectives from plain functions: the same as the shipped ones, and what is told when they are wrong.
"""

import numpy as np
import pytest

from netsim.algorithms import Extra
from netsim.errors import ProtocolError, ScenarioError
from netsim.models import MLP, Linear, Logistic, Penalty, Softmax
from netsim.problems import (
    L1,
    LeastSquares,
    LogisticLoss,
    Modelled,
    NonconvexLogistic,
    Problem,
    build,
    load,
    mlp,
    objective,
    scale_for,
    softmax,
)
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.worlds import refusal

RNG = np.random.default_rng(0)
FEATURES = RNG.standard_normal((7, 4))
SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
NUMBERS = np.arange(7.0) % 3
X = RNG.standard_normal((5, 4))
TWINS = [
    (LogisticLoss(FEATURES, SIGNS, 0.3), Modelled(FEATURES, SIGNS, Logistic(4), Penalty(0.3))),
    (
        NonconvexLogistic(FEATURES, SIGNS, 0.2, 2.0, 0.3),
        Modelled(FEATURES, SIGNS, Logistic(4), Penalty(0.3, 0.2, 2.0)),
    ),
    (LeastSquares(FEATURES, SIGNS, 0.3, 5.0), Modelled(FEATURES, SIGNS, Linear(4, 7 / 2.5), Penalty(0.3))),
]
OBJECTIVES = [
    Modelled(FEATURES, NUMBERS, Softmax(4, 3), Penalty(0.1, 0.05, 2.0)),
    Modelled(FEATURES, NUMBERS, Softmax(4, 3, intercept=False)),
    Modelled(FEATURES, NUMBERS, MLP((4, 5, 3), "tanh", 0), Penalty(0.1)),
    Modelled(FEATURES, NUMBERS, MLP((4, 5, 3), "relu", 1)),
]
TEN = list(range(10))


def points(objective, count=5, seed=1):
    return np.random.default_rng(seed).standard_normal((count, objective.dimension))


@pytest.mark.parametrize(("known", "ours"), TWINS, ids=lambda f: type(f).__name__)
def test_it_is_the_loss_that_is_written_out(known, ours):
    close = {"rtol": 1e-12, "atol": 1e-14}
    assert np.allclose(ours.value(X), known.value(X), **close)
    assert np.allclose(ours.gradient(X), known.gradient(X), **close)
    assert np.allclose(ours.data_gradient(X), known.data_gradient(X), **close)
    assert np.allclose(ours.hessian(X[0]), known.hessian(X[0]), **close)
    assert np.allclose(ours.proximal(X, 0.4), known.proximal(X, 0.4), rtol=1e-10, atol=1e-11)
    assert (known.model, known.penalty) == (ours.model, ours.penalty)
    facts = ("smoothness", "records", "dimension")
    assert [getattr(ours, fact) for fact in facts] == pytest.approx([getattr(known, fact) for fact in facts])
    assert ours.weak_convexity == getattr(known, "weak_convexity", 0.0)
    batches = ours.batch([2, 2, 5]), known.batch([2, 2, 5])
    assert batches[0].records == 3
    if not isinstance(known, LeastSquares) or known.divisor is None:
        assert np.allclose(batches[0].gradient(X), batches[1].gradient(X), **close)
    changed = ours.with_record(1, FEATURES[0], 1.0), known.with_record(1, FEATURES[0], 1.0)
    assert np.allclose(changed[0].gradient(X), changed[1].gradient(X), **close)


def test_the_bound_of_softmax_holds_and_is_attained_with_two_classes():
    three, rng = OBJECTIVES[1], np.random.default_rng(3)
    for scale in (0.01, 1.0, 30.0):
        for row in scale * rng.standard_normal((20, three.dimension)):
            assert np.linalg.eigvalsh(three.hessian(row))[-1] <= three.smoothness * (1 + 1e-12)
    two = Modelled(FEATURES, (SIGNS + 1) / 2, Softmax(4, 2), Penalty(0.2))
    at_zero = np.linalg.eigvalsh(two.hessian(np.zeros(two.dimension)))
    assert at_zero[-1] == pytest.approx(two.smoothness, rel=1e-12)
    assert two.strong_convexity == 0.2
    assert at_zero[0] == pytest.approx(0.2, rel=1e-9)


def test_softmax_of_two_classes_is_logistic_regression():
    """With weights ±x/2 and no intercept."""
    two = Modelled(FEATURES, (SIGNS + 1) / 2, Softmax(4, 2, intercept=False))
    both = np.hstack([-X / 2, X / 2])
    assert np.allclose(two.value(both), LogisticLoss(FEATURES, SIGNS).value(X), rtol=1e-13)


def test_the_measured_curvature_of_a_network_is_that_of_its_start():
    objective = OBJECTIVES[2]
    at_zero = np.abs(np.linalg.eigvalsh(objective.hessian(np.zeros(objective.dimension)))).max()
    assert at_zero * (1 - 1e-2) <= objective.smoothness < 20 * at_zero
    x = np.zeros((1, objective.dimension))
    values = [objective.value(x)[0]]
    for _ in range(30):
        x = x - objective.gradient(x) / objective.smoothness
        values.append(objective.value(x)[0])
    assert (np.diff(values) < 0).all()


def test_without_a_hessian_the_proximal_map_is_the_same(monkeypatch):
    objective = OBJECTIVES[0]
    v = points(objective, 3)
    dense = objective.proximal(v, 0.7)
    monkeypatch.setattr("netsim.problems.modelled.DENSE", 0)
    assert np.allclose(objective.proximal(v, 0.7), dense, atol=1e-11)


@pytest.mark.parametrize("step", [1e-6, 1.0])
def test_a_network_has_no_proximal_map(step):
    with pytest.raises(ProtocolError, match="at no step for a mlp: it is not convex"):
        OBJECTIVES[2].proximal(points(OBJECTIVES[2]), step)


def test_softmax_has_its_optimum(monkeypatch):
    parts = load("digits", classes=[0, 1, 2]).split(4)
    problem = softmax(parts, 0.1)
    optimum = problem.optimum()
    assert (problem.dimension, problem.model) == (195, Softmax(64, 3))
    assert optimum.residual <= 1e-12
    assert not optimum.stationary_only
    sparse = softmax(parts, 0.1, L1(0.02)).optimum()
    assert sparse.residual <= 1e-12
    assert 0 < np.count_nonzero(sparse.point) < 150
    monkeypatch.setattr("netsim.problems.problem.DENSE", 100)
    assert np.allclose(softmax(parts, 0.1).optimum().point, optimum.point, atol=1e-10)
    with pytest.raises(ScenarioError, match="no optimum is sought in 195 coordinates"):
        softmax(parts, 0.0).optimum()


def test_a_network_goes_down_from_its_public_start():
    parts = load("digits", classes=[0, 1, 2]).split(3)
    problem = mlp(parts, [6], "tanh", ridge=0.01, start=4)
    assert problem.model == MLP((64, 6, 3), "tanh", 4)
    zero = np.zeros((1, problem.dimension))
    assert np.abs(problem.mean_gradient(zero)).max() > 1e-3
    optimum = problem.optimum()
    assert optimum.stationary_only
    assert not problem.convex
    assert optimum.value < problem.value(zero)[0] / 3
    residual = np.abs(problem.mean_gradient(optimum.point[None])).max()
    assert optimum.residual == pytest.approx(residual, rel=1e-5)
    assert residual < 1e-6
    right = sum(f.right(optimum.point[None])[0] for f in problem.objectives)
    assert right / sum(problem.records) > 0.98
    other = mlp(parts, [6], "tanh", start=5)
    assert not np.array_equal(other.model.origin, problem.model.origin)
    with pytest.raises(ScenarioError, match="losses without a bound on curvature"):
        Problem(problem.objectives, L1(0.1)).optimum()


def test_right_counts_what_the_largest_score_says():
    objective = OBJECTIVES[2]
    x = points(objective, 4)
    x[3] = np.nan
    counts = []
    for row in x[:3] + objective.model.origin:
        first, last = objective.model.layers
        units = np.tanh(FEATURES @ row[first.weights].reshape(5, 4).T + row[first.intercept])
        logits = units @ row[last.weights].reshape(3, 5).T + row[last.intercept]
        counts.append(np.sum(np.argmax(logits, axis=1) == NUMBERS))
    assert np.array_equal(objective.right(x), [*counts, 0])
    assert not np.array_equal(counts, [7, 7, 7])


@pytest.mark.parametrize("kind", ["softmax", "mlp"])
def test_two_classes_are_counted_0_and_1(kind):
    part = load("digits", classes=[3, 8])
    objective = build(kind, [part]).objectives[0]
    assert np.array_equal(objective.labels, part.labels > 0)


def test_a_smoothness_is_reached_by_scaling_features():
    parts = load("digits", classes=[0, 1, 2]).split(3)
    factor = scale_for(softmax(parts, 0.1), 4.0)
    assert softmax([part.scaled(factor) for part in parts], 0.1).smoothness == pytest.approx(4.0, rel=1e-12)
    with pytest.raises(ScenarioError, match=r"a number > 0\.6"):  # half the intercept's, and the ridge
        scale_for(softmax(parts, 0.1), 0.5)
    with pytest.raises(ScenarioError, match="no Lipschitz constant"):
        scale_for(mlp(parts), 4.0)


@pytest.mark.parametrize(
    ("kind", "data", "options", "field"),
    [
        ("softmax", {"name": "synthetic", "kind": "regression"}, {}, "data"),
        ("mlp", {"name": "digits"}, {"l1": 0.1}, "l1"),
        ("mlp", {"name": "digits"}, {"hidden": [4, 0]}, "hidden[1]"),
        ("mlp", {"name": "digits"}, {"hidden": []}, "hidden"),
        ("mlp", {"name": "digits"}, {"activation": "sine"}, "activation"),
        ("mlp", {"name": "digits"}, {"start": -1}, "start"),
        ("logistic", {"name": "digits", "classes": TEN}, {}, "kind"),
        ("nonconvex_logistic", {"name": "digits", "classes": TEN}, {}, "kind"),
        ("softmax", {"name": "digits"}, {"ridge": -1.0}, "ridge"),
    ],
)
def test_what_does_not_fit_is_named(kind, data, options, field):
    assert refusal(build, kind, [load(**data)], **options).field == field


@pytest.mark.parametrize(
    ("features", "labels", "field"),
    [(FEATURES[:, :3], NUMBERS, "features"), (FEATURES, NUMBERS + 1, "labels"), (FEATURES, NUMBERS[:5], "labels")],
)
def test_records_fit_the_model(features, labels, field):
    assert refusal(Modelled, features, labels, Softmax(4, 3)).field == field


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
        return (a.T * (p * (1 - p))) @ a / len(b) + 0.1 * np.eye(a.shape[1])

    return objective(
        value, gradient, a.shape[1], smoothness=loss.smoothness, strong_convexity=0.1,
        hessian=second if hessian else None,
    )  # fmt: skip


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
        ("value", "wrong shape", {"value": lambda x: x}), ("value", "not finite", {"value": lambda x: np.log(x[0])}),
        ("value", "not a function", {"value": Noisy()}), ("value", "not numbers", {"value": lambda x: "much"}),
        ("gradient", "cannot be computed", {"gradient": writes}),
        ("gradient", "is not the function's gradient", {"gradient": lambda x: 2.01 * x, "smoothness": 3.0}),
        ("hessian", "is not that of the gradient", {"hessian": lambda x: np.eye(3)}),
        ("hessian", "wrong shape", {"hessian": lambda x: np.eye(2)}),
        ("smoothness", "is not a Lipschitz constant of the gradient", {"smoothness": 1.9, "strong_convexity": 0.0}),
        ("smoothness", "not positive and finite", {"smoothness": 0.0}),
        ("strong_convexity", "is contradicted by the gradients", {"strong_convexity": 2.1}),
        ("dimension", "not an integer", {"dimension": 3.0}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_is_told_before_anything_runs(field, problem, change):
    error = refusal(objective, **{**GOOD, **change})
    assert (error.field, error.problem) == (field, problem)


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
