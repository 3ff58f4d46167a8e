"""Each measure against its definition written out in plain loops, or in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.metrics import course as formulas
from netsim.problems import L1, Problem, least_squares, load, logistic

RNG = np.random.default_rng(8)
AGENTS, DIMENSION = 5, 4
DATA = load("synthetic", records=43, dimension=DIMENSION, seed=4)


def problem(l1: float = 0.0) -> Problem:
    return logistic(DATA.split(AGENTS), 0.2, L1(l1) if l1 else None)


def points(rows: int = 3) -> np.ndarray:
    return 0.7 * RNG.standard_normal((rows, DIMENSION))


def exact_spread(estimates: list[np.ndarray]) -> tuple[list[float], float]:
    """x̄ and (1/n) Σ ‖x_i − x̄‖² of one replica, in rational numbers."""
    rows = [[Fraction(float(v)) for v in x] for x in estimates]
    mean = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
    total = sum(((v - m) ** 2 for x in rows for v, m in zip(x, mean, strict=True)), Fraction(0))
    return [float(m) for m in mean], float(total / len(rows))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_spread_is_that_of_exact_arithmetic(offset):
    """Far from 0 too, where the mean of squares minus the square of the mean would have no digit left."""
    estimates = offset + RNG.standard_normal((2, DIMENSION, AGENTS))
    mean, consensus = formulas.spread(estimates)
    running = formulas.RunningSpread((2, DIMENSION))
    for i in range(AGENTS):
        running.add(estimates[:, :, i])
    for r in range(2):
        wanted, square = exact_spread([estimates[r, :, i] for i in range(AGENTS)])
        for found in (mean[r], running.mean[r]):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
        for found in (consensus[r], running.mean_square[r]):
            assert found == pytest.approx(square, rel=1e-9)


def test_agreement_is_no_spread():
    same = np.repeat(points(2)[:, :, None], 4, axis=2)
    assert (formulas.spread(same)[1] == 0).all()


def test_distance_is_absolute_where_the_optimum_is_zero():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert list(formulas.distance(x, np.zeros(2))) == [5.0, 0.0]
    assert formulas.distance(x, np.array([0.0, 2.0]))[0] == pytest.approx(np.hypot(3, 2) / 2)


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_the_objective_gap_is_the_sum_over_all_records(l1):
    """Objectives weigh their records by 1/m_i: written out record by record."""
    p, x = problem(l1), points()
    best = p.optimum().point

    def value(y: np.ndarray) -> float:
        total = AGENTS * l1 * np.abs(y).sum()
        for part in DATA.split(AGENTS):
            losses = [np.log1p(np.exp(-b * (a @ y))) for a, b in zip(part.features, part.labels, strict=True)]
            total += np.mean(losses) + 0.1 * (y @ y)
        return float(total)

    found = formulas.objective_gap(p, x)
    np.testing.assert_allclose(found, [value(row) - value(best) for row in x], rtol=1e-10)
    assert (found > 0).all()


def test_the_stationarity_gap_by_differences():
    """∇F from central differences of F, at a point that agents scatter around."""
    p, x, h = problem(), points(1), 1e-5
    slope = [(p.value(x + h * e) - p.value(x - h * e))[0] / (2 * h * AGENTS) for e in np.eye(DIMENSION)]
    found = formulas.stationarity_gap(p.mean_gradient(x), np.array([0.25]))
    assert found[0] == pytest.approx(np.sum(np.square(slope)) + 0.25, rel=1e-8)


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_the_proximal_residual_is_zero_at_the_optimum_and_nowhere_near_it(l1):
    p = problem(l1)
    best = p.optimum().point[None]
    assert formulas.proximal_residual(p, best, p.mean_gradient(best))[0] < 1e-12
    x = points()
    moved = x - p.mean_gradient(x)
    proximal = np.sign(moved) * np.maximum(np.abs(moved) - l1, 0)
    found = formulas.proximal_residual(p, x, p.mean_gradient(x))
    np.testing.assert_allclose(found, np.linalg.norm(x - proximal, axis=1), rtol=1e-12)


def test_accuracy_counts_records_and_not_agents():
    x, parts = points(), DATA.split(4)
    losses = logistic(parts, 0.1).objectives
    for row, found in zip(x, formulas.accuracy(losses, x), strict=True):
        right = sum(np.sign(a @ row) == b for a, b in zip(DATA.features, DATA.labels, strict=True))
        assert found == right / DATA.records
    np.testing.assert_array_equal(formulas.accuracy([DATA], x), formulas.accuracy(losses, x))


def test_no_answer_is_a_wrong_answer():
    assert list(formulas.accuracy([DATA], np.array([[0.0] * DIMENSION, [np.nan] * DIMENSION]))) == [0.0, 0.0]


def test_a_row_depends_on_itself_alone_to_the_last_bit(monkeypatch):
    p, x = problem(0.05), points(7)
    estimates = RNG.standard_normal((7, DIMENSION, AGENTS))
    whole = formulas.by_rows(lambda rows: formulas.objective_gap(p, rows), x[None], 20)[0]
    monkeypatch.setattr(formulas, "BLOCK", 40)  # two rows at once
    cut = formulas.by_rows(lambda rows: formulas.objective_gap(p, rows), x[None], 20)[0]
    np.testing.assert_array_equal(whole, cut)
    mean, consensus = formulas.spread(estimates)
    for r in range(7):
        alone = formulas.spread(estimates[r : r + 1])
        np.testing.assert_array_equal(alone[0][0], mean[r])
        assert alone[1][0] == consensus[r]
        row = x[r : r + 1]
        assert formulas.accuracy([DATA], row)[0] == formulas.accuracy([DATA], x)[r]
        residual = formulas.proximal_residual(p, x, p.mean_gradient(x))[r]
        assert formulas.proximal_residual(p, row, p.mean_gradient(row))[0] == residual


def test_a_regression_has_no_classes():
    data = load("synthetic", records=20, dimension=3, kind="regression")
    assert not any(isinstance(f, formulas.Classified) for f in least_squares(data.split(2)).objectives)


class TestReserve:
    def test_it_is_a_partition(self):
        left, held = DATA.reserve(0.3, seed=5)
        assert (left.records, held.records) == (30, 13)
        rows = sorted(map(tuple, np.vstack([left.features, held.features]).tolist()))
        assert rows == sorted(map(tuple, DATA.features.tolist()))
        again = DATA.reserve(0.3, seed=5)[1]
        np.testing.assert_array_equal(held.features, again.features)
        assert (held.features != DATA.reserve(0.3, seed=6)[1].features).any()

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.999, 1.0])
    def test_neither_part_is_empty(self, share):
        with pytest.raises(ScenarioError, match="share"):
            DATA.reserve(share)
