"""Many problems at once against one at a time, and against SciPy."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from attacks.reconstruction.optimizers import LBFGS, WINDOW, Adam


@dataclass
class Each:
    """A function of one row, given by its row number, on all rows; it counts how many rows it was asked for."""

    function: object
    rows: np.ndarray
    asked: int = 0

    def __call__(self, x):
        self.asked += len(x)
        values = [self.function(row, v) for row, v in zip(self.rows, x, strict=True)]
        return np.array([f for f, _ in values]), np.array([g for _, g in values])

    def take(self, rows):
        return Each(self.function, self.rows[rows])


def rosenbrock(row, x):
    """With a valley of its own for each row."""
    a, b = 1 + 0.1 * row, 10.0 * (1 + row)
    r = x[1:] - x[:-1] ** 2
    f = np.sum(b * r**2 + (a - x[:-1]) ** 2)
    g = np.zeros_like(x)
    g[1:] += 2 * b * r
    g[:-1] += -4 * b * r * x[:-1] - 2 * (a - x[:-1])
    return f, g


def quadratic(row, x):
    h = 1.0 + np.arange(len(x)) ** 2 * (1 + row)
    return 0.5 * np.sum(h * (x - row) ** 2), h * (x - row)


@pytest.mark.parametrize("size", [2, 6, 15])
def test_it_finds_what_scipy_finds(size):
    rng = np.random.default_rng(size)
    start = rng.standard_normal((7, size))
    found = LBFGS(iterations=500, tolerance=1e-10).minimize(Each(rosenbrock, np.arange(7)), start)
    assert found.converged.all()
    for row in range(7):
        options = {"maxiter": 1000, "ftol": 1e-16, "gtol": 1e-9}
        end = minimize(lambda x, k=row: rosenbrock(k, x), start[row], jac=True, method="L-BFGS-B", options=options)
        assert found.value[row] <= end.fun + 1e-9 or found.value[row] == pytest.approx(end.fun, rel=1e-6)
        assert np.max(np.abs(rosenbrock(row, found.x[row])[1])) < 1e-6


def test_rows_are_independent_to_the_last_bit():
    start = np.random.default_rng(0).standard_normal((9, 4))
    many = LBFGS().minimize(Each(rosenbrock, np.arange(9)), start)
    for row in range(9):
        one = LBFGS().minimize(Each(rosenbrock, np.array([row])), start[row : row + 1])
        assert np.array_equal(many.x[row], one.x[0])
        assert many.iterations[row] == one.iterations[0]


def test_what_has_ended_costs_nothing():
    """Three rows begin at their minimum; the fourth works alone."""
    objective = Each(quadratic, np.arange(4))
    start = np.array([[0.0] * 5, [1.0] * 5, [2.0] * 5, [9.0] * 5])
    found = LBFGS(floor=1e-20).minimize(objective, start)
    assert objective.asked == 4
    assert list(found.iterations[:3]) == [0, 0, 0]
    assert found.iterations[3] > 3
    assert found.converged.all()


def test_it_does_not_claim_what_it_has_not_reached():
    start = np.full((1, 6), -3.0)
    assert not LBFGS(iterations=3).minimize(Each(rosenbrock, np.arange(1)), start).converged[0]
    cliff = LBFGS().minimize(Each(lambda _, x: (np.nan, x), np.arange(1)), start)
    assert not cliff.converged[0]
    assert np.array_equal(cliff.x, start)
    downhill = LBFGS(iterations=50).minimize(
        Each(lambda _, x: (float(x.sum()), np.ones_like(x)), np.arange(1)), start
    )
    assert not downhill.converged[0]


def test_starts_of_one_problem_race():
    """Once one is below the floor the others end, and say that they have not converged."""
    start = np.concatenate(
        [np.full((1, 5), 1e-3), np.full((1, 5), 40.0), np.full((1, 5), 50.0), np.full((1, 5), 60.0)]
    )
    each = Each(lambda _, x: rosenbrock(0, 1 + x), np.zeros(4, dtype=int))
    alone = LBFGS(floor=1e-16).minimize(each, start)
    raced = LBFGS(floor=1e-16, racing=4).minimize(each, start)
    assert alone.converged.all()
    assert raced.converged[0]
    assert not raced.converged[1:].any()
    assert raced.iterations.max() == raced.iterations[0] < alone.iterations.max()
    assert np.array_equal(raced.x[0], alone.x[0])
    won = LBFGS(floor=1e-16, racing=4, won=1e-3).minimize(each, start)
    assert np.array_equal(won.x[0], raced.x[0])  # it goes on alone
    assert won.iterations[0] == raced.iterations[0]
    assert (won.iterations[1:] < raced.iterations[1:]).all()


def test_a_search_ends_where_it_makes_no_progress():
    """Not before: of a valley in which it creeps on, and of one in which it rests above the floor."""

    def resting(row, x):
        value, slope = rosenbrock(row, x)
        return (1 + 1e-6 * value, 1e-6 * slope)

    start = np.full((1, 150), -3.0)
    judged, patient = LBFGS(iterations=3000, least_fall=0.01), LBFGS(iterations=3000)
    ends = [one.minimize(Each(rosenbrock, np.arange(1)), start) for one in (judged, patient)]
    assert ends[1].iterations[0] > 2 * WINDOW
    assert np.array_equal(ends[0].x, ends[1].x)
    rested = LBFGS(iterations=3000, tolerance=0.0, least_fall=0.01).minimize(Each(resting, np.arange(1)), start)
    assert rested.iterations[0] <= 2 * WINDOW


def test_adam_is_adam():
    """Three steps by the paper's formulas, of gradients and of signs."""
    for signed in (False, True):
        x, m, v = np.array([3.0, -2.0]), np.zeros(2), np.zeros(2)
        for t in range(1, 4):
            d = quadratic(0, x)[1]
            d = np.sign(d) if signed else d
            m, v = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * d**2
            x = x - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        adam = Adam(0.1, 8, signed, "steps")
        slow = Adam(0.1, 3, signed, "cosine")
        assert [adam.rate(t) for t in range(8)] == pytest.approx([0.1] * 3 + [0.01] * 2 + [1e-3] * 2 + [1e-4])
        raised = Each(lambda _, y: (1 + quadratic(0, y)[0], quadratic(0, y)[1]), np.zeros(1, int))
        found = Adam(0.1, 1000, signed).minimize(raised, np.array([[3.0, -2.0]]))
        assert found.value[0] < 1 + 1e-6
        assert not Adam(0.01, 20, signed, tolerance=0.01).minimize(raised, np.array([[3.0, -2.0]])).converged[0]
        assert found.converged[0]
        assert slow.rate(0) == pytest.approx(0.1)
        path = walked(signed)
        np.testing.assert_allclose(path[3], x, rtol=1e-12)


def walked(signed):
    """Where Adam has asked for the function."""
    path = []

    def seen(_, x):
        path.append(x.copy())
        return quadratic(0, x)

    Adam(0.1, 20, signed).minimize(Each(seen, np.zeros(1, int)), np.array([[3.0, -2.0]]))
    return path


def test_adam_stays_in_its_box():
    seen = []

    def watched(_, x):
        seen.append(x.copy())
        return quadratic(3, x)

    adam = Adam(0.5, 50, box=(0.0, 1.0), boxed=2)
    found = adam.minimize(Each(watched, np.zeros(1, int)), np.array([[-5.0, 5.0, 0.0]]))
    inside = np.array(seen)[:, :2]
    assert inside.min() >= 0
    assert inside.max() <= 1
    np.testing.assert_allclose(found.x[0], [1, 1, 3], atol=0.1)
