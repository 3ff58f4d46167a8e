"""The two losses against mpmath, against definitions, and at the edges of their claims."""

from collections.abc import Callable
from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from netsim.errors import ProtocolError, ScenarioError
from netsim.problems import (
    L1,
    LeastSquares,
    LInf,
    LogisticLoss,
    NonconvexLogistic,
    Objective,
    PoissonLoss,
    Sampled,
    Tilted,
    build,
    load,
    weak_convexity,
)
from netsim.problems.objective import BATCHES
from tests.worlds import refusal


def logistic(seed: int = 0, records: int = 9, dimension: int = 5, ridge: float = 0.03) -> LogisticLoss:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], size=records)
    return LogisticLoss(rng.normal(size=(records, dimension)), labels, ridge)


def squares(seed: int = 0, records: int = 9, dimension: int = 5, ridge: float = 0.03) -> LeastSquares:
    rng = np.random.default_rng(seed)
    return LeastSquares(rng.normal(size=(records, dimension)), rng.normal(size=records), ridge)


def divided(seed: int = 0, records: int = 9, dimension: int = 5, ridge: float = 0.03) -> LeastSquares:
    loss = squares(seed, records, dimension, ridge)
    return LeastSquares(loss.features, loss.targets, ridge, 36.0)


def nonconvex(seed: int = 0, records: int = 9, dimension: int = 5, ridge: float = 0.03) -> NonconvexLogistic:
    loss = logistic(seed, records, dimension)
    return NonconvexLogistic(loss.features, loss.labels, 0.3, 2.0, ridge)


def poisson(seed: int = 0, records: int = 9, dimension: int = 5, ridge: float = 0.03) -> PoissonLoss:
    rng = np.random.default_rng(seed)
    return PoissonLoss(rng.normal(size=(records, dimension)), rng.poisson(2.0, records), ridge, 9.0)


EACH = [logistic, squares, divided, nonconvex, poisson]
both = pytest.mark.parametrize("make", EACH[:3])
each_loss = pytest.mark.parametrize("make", EACH)
Make = Callable[..., LogisticLoss | LeastSquares | PoissonLoss]


def exact_value(loss: LogisticLoss | LeastSquares | PoissonLoss, x: list[mpmath.mpf]) -> mpmath.mpf:
    """The docstring's formula, in mpmath."""
    rows = [[mpmath.mpf(float(t)) for t in row] for row in loss.features]
    products = [mpmath.fdot(row, x) for row in rows]
    ridge = mpmath.mpf(loss.ridge) / 2 * mpmath.fdot(x, x)
    if isinstance(loss, NonconvexLogistic):
        squared = [mpmath.mpf(loss.shape) * t**2 for t in x]
        ridge += mpmath.mpf(loss.weight) * mpmath.fsum(t / (1 + t) for t in squared)
    if isinstance(loss, PoissonLoss):
        terms = [mpmath.exp(p) - float(b) * p for b, p in zip(loss.counts, products, strict=True)]
        return mpmath.fsum(terms) / loss.records + ridge
    if not isinstance(loss, LeastSquares):
        terms = [mpmath.log1p(mpmath.exp(-float(b) * p)) for b, p in zip(loss.labels, products, strict=True)]
        return mpmath.fsum(terms) / loss.records + ridge
    terms = [(p - float(b)) ** 2 / 2 for b, p in zip(loss.targets, products, strict=True)]
    return mpmath.fsum(terms) / (loss.divisor / 2 if loss.divisor else loss.records) + ridge


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("make", "size"), [(make, size) for make in EACH for size in (0.1, 1.0, 6.0 if make is poisson else 60.0)]
)
def test_value_and_derivatives_agree_with_fifty_digits(make: Make, size: float) -> None:
    loss = make()
    x = size * np.random.default_rng(1).normal(size=loss.dimension)
    with mpmath.workdps(50):
        h, point = mpmath.mpf(10) ** -15, [mpmath.mpf(float(t)) for t in x]

        def at(*moves: tuple[int, int]) -> mpmath.mpf:
            moved = list(point)
            for axis, sign in moves:
                moved[axis] += sign * h
            return exact_value(loss, moved)

        axes = range(loss.dimension)
        gradient = [(at((i, 1)) - at((i, -1))) / (2 * h) for i in axes]
        hessian = [[(at((i, 1), (j, 1)) - at((i, 1)) - at((j, 1)) + at()) / h**2 for j in axes] for i in axes]
        expected = float(at()), np.array(gradient, dtype=float), np.array(hessian, dtype=float)
    assert loss.value(x[None])[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(loss.gradient(x[None])[0], expected[1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(loss.hessian(x), expected[2], rtol=1e-11, atol=1e-13)


def test_the_logistic_loss_neither_overflows_nor_loses_its_tail() -> None:
    loss = LogisticLoss(np.array([[1.0]]), np.array([1.0]))
    x = np.array([[-800.0], [800.0], [30.0]])
    with np.errstate(all="raise", under="ignore"):
        value, gradient = loss.value(x), loss.gradient(x)
    np.testing.assert_allclose(value, [800.0, 0.0, np.exp(-30.0)], rtol=1e-12)
    np.testing.assert_allclose(gradient[:, 0], [-1.0, 0.0, -np.exp(-30.0)], rtol=1e-12)


@both
def test_the_data_gradient_lacks_the_ridge_and_nothing_else(make: Make) -> None:
    x = np.random.default_rng(2).normal(size=(3, 5))
    assert np.array_equal(make(ridge=0.7).data_gradient(x), make(ridge=0.0).gradient(x))
    assert np.abs(make(ridge=0.7).gradient(x) - make(ridge=0.0).gradient(x) - 0.7 * x).max() < 1e-15


def test_blocks_of_replicas_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    loss, v = logistic(), np.random.default_rng(5).normal(size=(11, 5))
    whole = loss.proximal(v, 0.5)
    monkeypatch.setattr("netsim.problems.minimizers.BLOCK", 3 * 5 * 9)
    assert np.array_equal(whole, loss.proximal(v, 0.5))
    assert loss.proximal(v[:0], 0.5).shape == (0, 5)


@both
@pytest.mark.parametrize("dimension", [5, 14])
def test_the_constants_are_attained(make: Make, dimension: int) -> None:
    loss = make(7, dimension=dimension)
    curvature = np.linalg.eigvalsh(loss.hessian(np.zeros(dimension)))
    assert loss.smoothness == pytest.approx(curvature[-1], rel=1e-12)
    far = 1e6 * np.random.default_rng(8).normal(size=dimension)
    assert loss.strong_convexity == pytest.approx(np.linalg.eigvalsh(loss.hessian(far))[0], rel=1e-12)


def test_fewer_records_than_coordinates_are_not_strongly_convex() -> None:
    for seed in range(50):
        assert squares(seed, records=4, dimension=5, ridge=0.0).strong_convexity == 0


@pytest.mark.parametrize("make", EACH[:4])
@given(
    seed=st.integers(0, 10_000), log_step=st.floats(-5, 5), log_size=st.floats(-4, 4),
    ridge=st.sampled_from([0.0, 0.2]), dimension=st.sampled_from([1, 5, 12]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_the_proximal_point_is_optimal(
    make: Make, seed: int, log_step: float, log_size: float, ridge: float, dimension: int
) -> None:
    loss = make(seed, 9, dimension, ridge)
    step = min(10**log_step, 0.97 / (weak_convexity(loss) or 1e-9))
    v = 10**log_size * np.random.default_rng(seed).normal(size=(3, dimension))
    x = loss.proximal(v, step)
    residual = np.abs(step * loss.gradient(x) + x - v).max(axis=1)
    scale = np.abs(v).max(axis=1) + step * np.abs(loss.features).max()
    if isinstance(loss, LeastSquares):
        scale = scale + step * np.abs(loss.gradient(v)).max()
    if isinstance(loss, NonconvexLogistic):
        scale = scale + step * loss.weight * loss.shape**0.5
    assert (residual <= 1e-13 * scale).all()


# one record replaced ---------------------------------------------------------------------------------------


@each_loss
def test_an_adjacent_objective_differs_in_one_record(make: Make) -> None:
    loss = make()
    other = loss.with_record(4, np.arange(5.0), 1.0)
    assert type(other) is type(loss)
    assert (other.records, other.ridge) == (9, loss.ridge)
    assert np.flatnonzero((loss.features != other.features).any(axis=1)).tolist() == [4]
    assert other.features[4].tolist() == [0, 1, 2, 3, 4]
    assert loss.features[4].tolist() != [0, 1, 2, 3, 4]


def searched(loss: LogisticLoss, other: LogisticLoss, order: int, x: np.ndarray) -> float:
    return float(np.linalg.norm(loss.gradient(x) - other.gradient(x), order, axis=1).max())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_difference_bound_holds_and_is_approached(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    loss = logistic(seed)
    other = loss.with_record(2, rng.normal(size=5), rng.choice([-1.0, 1.0]))
    bound = loss.gradient_difference_bound(other, order)
    assert bound == other.gradient_difference_bound(loss, order)
    assert searched(loss, other, order, 300 * rng.normal(size=(4000, 5))) <= bound * (1 + 1e-12)
    z, z_other = loss.labels[2] * loss.features[2], other.labels[2] * other.features[2]
    corners = np.array([[-1, 1], [1, -1], [-1, -1]]) * 60.0
    x = np.linalg.lstsq(np.stack([z, z_other]), corners.T, rcond=None)[0].T
    assert searched(loss, other, order, x) >= bound * (1 - 1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, -0.5, 2.0, -2.0, 63 / 64, -63 / 64, 2.0**-20, -64.0, 1.0])
def test_the_bound_is_exact_for_collinear_records_too(factor: float, order: int) -> None:
    few_bits = logistic(1).features.astype(np.float32)  # so that a multiple is exactly one
    loss = LogisticLoss(few_bits, logistic(1).labels)
    other = loss.with_record(2, factor * loss.features[2], loss.labels[2])
    bound = loss.gradient_difference_bound(other, order)
    z = loss.features[2] / np.linalg.norm(loss.features[2]) ** 2
    line = np.concatenate([np.linspace(-60, 60, 120_001), [-1e9, 1e9]])
    size = np.linalg.norm(loss.features[2], order)
    reached = size * np.abs(expit(-line) - factor * expit(-factor * line)).max() / loss.records
    assert reached <= bound * (1 + 1e-12)
    assert bound <= reached * (1 + 1e-6)
    assert searched(loss, other, order, np.outer(line[::400], z)) <= bound * (1 + 1e-9) + 1e-15


def test_a_flipped_label_moves_the_gradient_by_one_record_not_by_two() -> None:
    loss = logistic(2)
    other = loss.with_record(0, loss.features[0], -loss.labels[0])
    expected = np.linalg.norm(loss.features[0]) / 9
    assert loss.gradient_difference_bound(other) == pytest.approx(expected, rel=1e-14)
    x = np.random.default_rng(0).normal(size=(5, 5))
    differences = np.linalg.norm(loss.gradient(x) - other.gradient(x), axis=1)
    np.testing.assert_allclose(differences, expected, rtol=1e-12)


def test_collinear_records_a_rounding_apart_differ_by_that_rounding() -> None:
    loss = LogisticLoss([[1.0], [3.0]], [1.0, 1.0])
    other = loss.with_record(1, [np.nextafter(3.0, 4.0)], 1.0)
    apart = (np.nextafter(3.0, 4.0) - 3.0) / 2
    for bound in (loss.gradient_difference_bound(other), other.gradient_difference_bound(loss)):
        assert apart <= bound <= 8 * apart


def test_the_bound_is_zero_for_the_same_and_infinite_where_it_is_not_known() -> None:
    loss = logistic(3)
    assert loss.gradient_difference_bound(logistic(3)) == 0
    assert loss.gradient_difference_bound(logistic(3, ridge=0.5)) == np.inf
    assert loss.gradient_difference_bound(logistic(4)) == np.inf
    assert loss.gradient_difference_bound(logistic(3, records=8)) == np.inf


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("make", [squares, divided, poisson])
def test_answers_move_the_gradient_by_a_constant(make: Make, order: int) -> None:
    """Of least squares and of Poisson's loss; how far other features move it is not bounded."""
    loss = make(4)
    other = loss.with_record(1, loss.features[1], 7.0)
    x = np.random.default_rng(5).normal(size=(20, 5))
    differences = np.linalg.norm(loss.gradient(x) - other.gradient(x), order, axis=1)
    np.testing.assert_allclose(differences, loss.gradient_difference_bound(other, order), rtol=1e-12)
    assert loss.gradient_difference_bound(loss.with_record(1, np.ones(5), 7.0)) == np.inf
    assert loss.gradient_difference_bound((squares if make is divided else divided)(4)) == np.inf


# some records only, and another divisor -----------------------------------------------------------------------


@each_loss
def test_the_gradients_of_all_batches_of_a_size_have_the_gradient_as_their_mean(make: Callable[..., Sampled]) -> None:
    loss, x = make(records=6), np.random.default_rng(0).normal(size=(3, 5))
    assert isinstance(loss, Sampled)
    for size in (1, 2, 5, 6):
        batches = [loss.batch(chosen) for chosen in combinations(range(6), size)]
        assert {type(batch) for batch in batches} == {type(loss)}
        assert {batch.records for batch in batches} == {size}
        mean = np.mean([batch.gradient(x) for batch in batches], axis=0)
        np.testing.assert_allclose(mean, loss.gradient(x), rtol=1e-12, atol=1e-14)


@each_loss
def test_a_batch_of_all_records_is_the_objective_and_a_repeat_counts_twice(make: Callable[..., Sampled]) -> None:
    loss, x = make(), np.random.default_rng(0).normal(size=(3, 5))
    assert np.array_equal(loss.batch(range(9)).gradient(x), loss.gradient(x))
    once, twice, both = loss.batch([4]).gradient(x), loss.batch([4, 4]).gradient(x), loss.batch([4, 7, 4])
    np.testing.assert_allclose(twice, once, rtol=1e-14)
    np.testing.assert_allclose(both.gradient(x), (2 * once + loss.batch([7]).gradient(x)) / 3, rtol=1e-12, atol=1e-15)


def test_a_batch_that_is_asked_for_again_is_the_same_and_few_are_kept():
    """Per-record clipping asks for the same records in each round, and a replay for those of all rounds."""
    loss = LogisticLoss(np.ones((70, 2)), np.ones(70), 0.1)
    tilted = Tilted(loss, np.ones(2), record=3)
    for one in (loss, tilted):
        assert one.batch([3]) is one.batch(np.array([3], dtype=np.int8)) is not one.batch([4])
        for k in range(70):
            one.batch([k])
        assert len(vars(one)["_batches"]) == BATCHES
    assert np.array_equal(
        tilted.batch([3]).gradient(np.zeros((1, 2))), loss.batch([3]).gradient(np.zeros((1, 2))) + 70
    )


@each_loss
@pytest.mark.parametrize("indices", [[], [9], [-1], [0.5], [[0]], 3])
def test_a_batch_is_of_records_that_are_there(make: Callable[..., Sampled], indices: object) -> None:
    with pytest.raises(ScenarioError, match="batch"):
        make().batch(indices)


def test_a_divisor_divides_the_sum_of_squares_and_nothing_else() -> None:
    loss, plain = divided(), squares()
    x = np.random.default_rng(0).normal(size=(4, 5))
    squared = ((x @ loss.features.T - loss.targets) ** 2).sum(axis=1)
    np.testing.assert_allclose(loss.value(x), squared / 36 + 0.015 * (x**2).sum(axis=1), rtol=1e-13)
    same = LeastSquares(plain.features, plain.targets, 0.03, 18.0)  # 2m
    for method in ("value", "gradient", "data_gradient"):
        assert np.array_equal(getattr(same, method)(x), getattr(plain, method)(x))
    assert np.array_equal(same.hessian(x[0]), plain.hessian(x[0]))
    assert np.array_equal(same.proximal(x, 0.4), plain.proximal(x, 0.4))
    assert (same.smoothness, same.strong_convexity) == (plain.smoothness, plain.strong_convexity)


@pytest.mark.parametrize("divisor", [0.0, -1.0, np.inf, np.nan])
def test_a_divisor_is_positive(divisor: float) -> None:
    with pytest.raises(ScenarioError, match="divisor"):
        LeastSquares([[1.0]], [1.0], 0.0, divisor)


# what is refused -------------------------------------------------------------------------------------------


@both
def test_records_cannot_be_written_nor_changed_from_outside(make: Make) -> None:
    loss = make()
    with pytest.raises(ValueError, match="read-only"):
        loss.features[0, 0] = 1.0
    features = np.ones((2, 2))
    loss = LogisticLoss(features, [1, -1])
    features[0, 0] = 9.0
    assert loss.features[0, 0] == 1.0


@pytest.mark.parametrize("kind", [LogisticLoss, LeastSquares])
@pytest.mark.parametrize(
    ("features", "labels", "ridge", "name"),
    [
        (np.ones(3), np.ones(3), 0.0, "features"), (np.ones((0, 3)), np.ones(0), 0.0, "features"),
        ([[np.nan]], [1.0], 0.0, "features"), ([["a"]], [1.0], 0.0, "features"),
        ([[1.0]], [np.inf], 0.0, "labels|targets"), ([[1.0]], [1.0, 1.0], 0.0, "labels|targets"),
        ([[1.0]], [1.0], -0.1, "ridge"), ([[1.0]], [1.0], np.nan, "ridge"),
    ],
)  # fmt: skip
def test_bad_records_are_refused_by_name(
    kind: Callable[..., Objective], features: object, labels: object, ridge: float, name: str
) -> None:
    with pytest.raises(ScenarioError, match=name) as caught:
        kind(features, labels, ridge)
    assert caught.value.allowed


def test_a_label_is_plus_or_minus_one() -> None:
    with pytest.raises(ScenarioError, match=r"labels = 0\.0"):
        LogisticLoss([[1.0], [2.0]], [1.0, 0.0])


@each_loss
@pytest.mark.parametrize(
    ("index", "row", "name"),
    [(9, np.ones(5), "index"), (-1, np.ones(5), "index"), (0, np.ones(4), "features_row")],
)
def test_a_replaced_record_must_fit(make: Make, index: int, row: np.ndarray, name: str) -> None:
    assert refusal(make().with_record, index, row, 1.0).field == name


def test_private_records_do_not_show_in_a_message() -> None:
    assert repr(logistic()) == "LogisticLoss(ridge=0.03, scale=1.0)"


def test_the_poisson_loss_is_smooth_below_the_rate_and_nowhere_else() -> None:
    f = PoissonLoss([[1.0, 0.0], [0.0, 2.0]], [3.0, 0.0], 0.1, 5.0)
    inside = np.array([[np.log(5.0), np.log(5.0) / 2], [0.0, 0.0], [-9.0, 0.3]])
    largest = [np.linalg.eigvalsh(h)[-1] for h in f.hessians(inside)]
    assert max(largest) == pytest.approx(f.smoothness)  # attained where all means are the rate
    assert f.smoothness == pytest.approx(5.0 * 4 / 2 + 0.1)
    assert np.linalg.eigvalsh(f.hessian(np.array([0.0, 2.0])))[-1] > 10 * f.smoothness
    assert PoissonLoss([[1.0]], [1.0]).smoothness == np.inf
    assert (f.strong_convexity, PoissonLoss([[1.0]], [1.0]).strong_convexity) == (0.1, 0.0)
    assert np.isinf(f.value(np.array([[0.0, 800.0]]))[0])


@pytest.mark.parametrize("step", [1e-3, 1.0, 300.0])
def test_the_proximal_point_of_a_poisson_loss_is_optimal(step: float) -> None:
    f, v = poisson(3), 3 * np.random.default_rng(3).normal(size=(4, 5))
    x = f.proximal(v, step)
    limit = 1e-13 * (np.abs(v).max() + step * np.abs(f.features).max() * (1 + f.counts.mean()))
    assert np.abs(step * f.gradient(x) + x - v).max() <= limit
    short, inside = min(step, 1.0), v[:1] / 10
    for r in (L1(0.1), LInf(0.2)):
        near = f.proximal(inside, short, r)
        np.testing.assert_allclose(near, r.proximal(inside - short * f.gradient(near), short), atol=1e-10)
        with pytest.raises(ProtocolError, match="largest_rate"):
            PoissonLoss(f.features, f.counts).proximal(inside, short, r)


@pytest.mark.parametrize("counts", [[-1.0, 0.0], [0.5, 1.0], [np.nan, 1.0]])
def test_counts_are_counts(counts: list[float]) -> None:
    with pytest.raises(ScenarioError, match="counts"):
        PoissonLoss(np.eye(2), counts)


@pytest.mark.parametrize("regularizer", [None, L1(0.05), LInf(0.1)], ids=repr)
def test_the_optimum_of_a_poisson_problem_is_what_another_solver_finds(regularizer: L1 | LInf | None) -> None:
    data = load("synthetic", records=80, dimension=5, kind="counts", seed=4)
    assert {0.0, 1.0, 2.0, 3.0} <= set(data.labels)
    problem = build("poisson", data.split(4), 0.1, largest_rate=20.0, regularizer=regularizer)
    optimum = problem.optimum()
    assert optimum.residual <= 1e-12
    assert np.exp(data.features @ optimum.point).max() < 20.0
    found = minimize(lambda x: problem.value(x[None])[0], optimum.point + 0.1, method="Powell", tol=1e-12)
    assert optimum.value <= found.fun + 1e-10
    np.testing.assert_allclose(found.x, optimum.point, atol=1e-3)
    with pytest.raises(ScenarioError, match="largest_rate"):
        build("poisson", data.split(4))
