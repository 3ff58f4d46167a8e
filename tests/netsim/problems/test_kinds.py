"""Problems by kind: sensors, nonconvex losses, a given smoothness, and a degenerate one."""

import numpy as np
import pytest
from scipy.optimize import minimize

from netsim import topology
from netsim.algorithms import DAdmm, PgExtra, Recal, stable_step
from netsim.errors import ScenarioError
from netsim.problems import (
    L1,
    Dataset,
    ElasticNet,
    FusedLasso,
    LeastSquares,
    LInf,
    NonconvexLogistic,
    build,
    load,
    nonconvex_logistic,
    scale_for,
    sensors,
)
from netsim.simulation import Simulation
from tests.worlds import refusal


def test_sensors_are_gaussian_and_measure_one_point() -> None:
    exact = sensors(noise=0.0, seed=3)
    assert (exact.agents, exact.dimension, exact.name, exact.ridge) == (6, 10, "sensors", 0.0)
    assert {(f.records, f.divisor) for f in exact.objectives} == {(6, 36.0)}
    optimum = exact.optimum()
    assert optimum.value < 1e-24
    for f in exact.objectives:
        assert f.strong_convexity == 0  # 6 rows, 10 coordinates
        np.testing.assert_allclose(f.features @ optimum.point, f.targets, atol=1e-10)
    many = np.concatenate([f.features for f in sensors(agents=50, rows=20).objectives]).ravel()
    assert (many.mean(), many.std()) == pytest.approx((0, 1), abs=0.03)


def test_sensors_have_the_value_of_the_paper_s_formula() -> None:
    problem, x = sensors(noise=0.5), np.random.default_rng(0).normal(size=(3, 10))
    squared = sum(((x @ f.features.T - f.targets) ** 2).sum(axis=1) for f in problem.objectives)
    np.testing.assert_allclose(problem.value(x), squared / 36, rtol=1e-13)
    stacked = np.concatenate([f.features for f in problem.objectives])
    targets = np.concatenate([f.targets for f in problem.objectives])
    np.testing.assert_allclose(problem.optimum().point, np.linalg.lstsq(stacked, targets, rcond=None)[0], atol=1e-11)


def test_sensors_are_drawn_by_their_seed() -> None:
    first, again, other = (sensors(seed=seed).objectives[0].features for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    with pytest.raises(ScenarioError, match="rows"):
        sensors(rows=0)
    with pytest.raises(ScenarioError, match="divisor"):
        sensors(divisor=0.0)


def test_build_knows_the_new_kinds_and_their_parameters() -> None:
    parts = load("digits").split(3)
    bent = build("nonconvex_logistic", parts, 0.1, 0.2, nonconvex_weight=0.5, nonconvex_shape=3.0)
    first = bent.objectives[0]
    assert isinstance(first, NonconvexLogistic)
    assert (first.weight, first.shape, first.ridge, bent.ridge, bent.regularizer) == (0.5, 3.0, 0.1, 0.1, L1(0.2))
    squares = build("sensors", load("sensors").split(6), divisor=9.0).objectives[0]
    assert isinstance(squares, LeastSquares)
    assert squares.divisor == 9.0
    assert refusal(build, "nonconvex_logistic", parts, nonconvex_shape=-1.0).field == "nonconvex_shape"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("logistic", {"ridge": 0.5}),
        ("nonconvex_logistic", {"nonconvex_weight": 0.4, "nonconvex_shape": 2.0, "ridge": 0.1}),
        ("ridge", {"ridge": 0.2}),
        ("sensors", {"divisor": 36.0}),
    ],
)
@pytest.mark.parametrize("smoothness", [2.0, 5.03, 400.0])
def test_features_are_scaled_to_a_smoothness(kind: str, options: dict, smoothness: float) -> None:
    data = load("digits")
    factor = scale_for(build(kind, data.split(5), **options), smoothness)
    scaled = build(kind, [part.scaled(factor) for part in data.split(5)], **options)
    assert scaled.smoothness == pytest.approx(smoothness, rel=1e-12)


def test_a_smoothness_below_that_of_the_public_parts_is_refused() -> None:
    parts = load("digits").split(5)
    with pytest.raises(ScenarioError, match=r"a number > 1\.7"):
        scale_for(nonconvex_logistic(parts, 0.4, 2.0, 0.1), 1.7)
    with pytest.raises(ScenarioError, match="features are 0"):
        scale_for(build("logistic", [Dataset("blank", np.zeros((2, 2)), [1.0, -1.0])]), 1.0)


def test_scaled_data_keep_what_is_known_of_them() -> None:
    data = load("digits").scaled(3.0)
    assert data.value_range == (0.0, 3.0)
    assert np.array_equal(data.features, 3 * load("digits").features)
    for factor in (0.0, -1.0, np.inf):
        with pytest.raises(ScenarioError, match="factor"):
            data.scaled(factor)


@pytest.mark.few("ElasticNet(l1=0.05, square=0.2)-nonconvex_logistic")
@pytest.mark.parametrize("kind", ["ridge", "logistic", "nonconvex_logistic", "sensors"])
@pytest.mark.parametrize("r", [ElasticNet(0.05, 0.2), LInf(0.1), FusedLasso(0.03, 0.05)], ids=repr)
def test_every_regularizer_goes_with_every_loss(kind, r):
    """The optimum, which Powell's method does not beat, is where the agents of PG-EXTRA, D-ADMM and RECAL go."""
    task = {"kind": "regression"} if kind in ("ridge", "sensors") else {}
    data = load("synthetic", records=40, dimension=4, seed=3, **task)
    problem = build(kind, data.split(4), ridge=0.5, regularizer=r)
    optimum = problem.optimum()
    assert not optimum.is_zero
    found = minimize(lambda x: problem.value(x[None])[0], optimum.point, method="Powell", options={"xtol": 1e-10})
    assert optimum.value <= found.fun + 1e-12
    graph, step = topology.ring(4), 0.5 * stable_step(problem.smoothness, topology.ring(4))
    walk = Recal(1 / (problem.smoothness + 1), activations=2000)
    for algorithm in (PgExtra(300, step), DAdmm(150, penalty=1.0), walk):
        if kind == "nonconvex_logistic" and isinstance(algorithm, DAdmm):
            continue
        assert Simulation(problem, graph, algorithm).run().metrics.worst_by_round(4)[-1, 0] < 1e-7


def test_one_regularizer_is_enough():
    parts = load("synthetic", records=8, dimension=2).split(2)
    for kind, options, field in (
        ("logistic", {"l1": 0.1, "regularizer": LInf(0.1)}, "regularizer"),
        ("mlp", {"regularizer": LInf(0.1)}, "regularizer"),
        ("lasso", {"regularizer": FusedLasso(0.1, 0.1)}, "l1"),
    ):
        assert refusal(build, kind, parts, **options).field == field


@pytest.mark.parametrize(("kind", "l1"), [("logistic", 0.1), ("ridge", 0.0), ("lasso", 0.1)])
def test_a_scale_multiplies_every_part_of_the_problem(kind: str, l1: float) -> None:
    parts = load("breast_cancer", norm_bound=2.0).split(4)
    one, eighth = (build(kind, parts, 0.5, l1, scale=scale) for scale in (1.0, 0.125))
    x = np.random.default_rng(0).standard_normal((3, one.dimension))
    assert eighth.smoothness == pytest.approx(one.smoothness / 8, rel=1e-12)
    np.testing.assert_allclose(eighth.value(x), one.value(x) / 8, rtol=1e-12)
    np.testing.assert_allclose(eighth.optimum().point, one.optimum().point, atol=1e-9)
    for small, large in zip(eighth.objectives, one.objectives, strict=True):
        np.testing.assert_allclose(small.gradient(x), large.gradient(x) / 8, rtol=1e-12)
        np.testing.assert_allclose(small.hessian(x[0]), large.hessian(x[0]) / 8, rtol=1e-12)
        np.testing.assert_allclose(small.proximal(x, 8.0), large.proximal(x, 1.0), atol=1e-11)
        answers = small.model.targets(getattr(small, small.answers))
        of_model = small.model.gradient(x[0], small.features, answers)
        np.testing.assert_allclose(of_model, small.data_gradient(x[:1])[0], rtol=1e-12)
        other_row = -small.features[0]
        pair = [f.with_record(0, other_row, 1.0) for f in (small, large)]
        bounds = [f.gradient_difference_bound(g) for f, g in zip((small, large), pair, strict=True)]
        assert bounds[0] == pytest.approx(bounds[1] / 8)


@pytest.mark.parametrize(("kind", "scale"), [("softmax", 0.5), ("ridge", 0.0), ("ridge", np.inf)])
def test_a_scale_that_cannot_be_is_refused(kind: str, scale: float) -> None:
    with pytest.raises(ScenarioError, match="scale"):
        build(kind, load("breast_cancer").split(2), 0.1, scale=scale)
