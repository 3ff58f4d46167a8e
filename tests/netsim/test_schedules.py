"""Schedules, and public coins that depend on nothing but their seed and the round."""

import math

import numpy as np
import pytest
from scipy import stats

from netsim.algorithms import PrivateGradientDescent, stable_step
from netsim.errors import ScenarioError
from netsim.schedules import Constant, Geometric, Polynomial, UniformDraws, first_outside
from netsim.topology import ring
from tests.worlds import refusal, synthetic_problem, tapped_ring


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (Constant(0.3), [0.3, 0.3, 0.3]), (Geometric(2.0, 0.5), [2.0, 1.0, 0.5]),
        (Geometric(1.0, 1.02), [1.0, 1.02, 1.0404]), (Polynomial(6.0, 1.0), [6.0, 3.0, 2.0]),
    ],
)  # fmt: skip
def test_values_by_hand(schedule, values):
    assert [schedule(k) for k in range(3)] == pytest.approx(values, rel=1e-15)


def test_what_grows_beyond_all_numbers_is_infinite():
    assert Geometric(1.0, 1e300)(2) == math.inf


@pytest.mark.parametrize(
    "schedule",
    [Constant(0.3), Geometric(2.0, 0.5), Geometric(0.1, 1.3), Polynomial(6.0, 1.0), UniformDraws(0.1, 3.0, 1)],
)
def test_the_first_value_outside_is_that_of_a_look_at_all(schedule):
    values = [schedule(k) for k in range(12)]
    for low in (0.0, 0.2, 0.3, *values[:3]):
        for high in (0.3, 1.0, *values[-3:], 7.0):
            outside = [k for k, value in enumerate(values) if not low <= value <= high]
            assert first_outside(schedule, 12, low, high) == (outside[0] if outside else None)
    assert first_outside(schedule, 0, 5.0, 4.0) is None


class TestUniformDraws:
    def test_a_coin_depends_on_the_seed_and_the_round_only(self):
        """Three are pinned: coins are public, so they must be the same on every machine and in every version."""
        pinned = [UniformDraws(0.0, 1.0, 7)(k) for k in (0, 1, 1000)]
        assert pinned == [0.7906483969274832, 0.9340680924555368, 0.9962655453980834]
        coins = [UniformDraws(0.0, 1.0, 7)(k) for k in range(50)]
        other = UniformDraws(0.0, 1.0, 7)
        assert [other(k) for k in reversed(range(50))] == coins[::-1]
        assert len(set(coins)) == 50
        assert set(coins).isdisjoint(UniformDraws(0.0, 1.0, 8)(k) for k in range(50))
        assert [UniformDraws(0.5, 1.5, 7)(k) for k in range(50)] == [0.5 + c for c in coins]

    def test_coins_are_uniform_and_independent_of_the_round_before(self):
        """Kolmogorov–Smirnov on 4,000, and their first two autocorrelations within 6.5 standard errors."""
        coins = np.array([UniformDraws(2.0, 5.0, 3)(k) for k in range(4_000)])
        assert stats.kstest(coins, stats.uniform(2.0, 3.0).cdf).pvalue > 1e-9
        for lag in (1, 2):
            assert abs(np.corrcoef(coins[:-lag], coins[lag:])[0, 1]) * math.sqrt(4_000) < 6.5

    def test_the_upper_bound_is_never_reached(self):
        """Where the interval has two numbers the upper one is not drawn."""
        low = 1.0
        high = math.nextafter(low, 2.0)
        assert {UniformDraws(low, high, 0)(k) for k in range(50)} == {low}

    @pytest.mark.parametrize(
        ("low", "high", "seed", "field"),
        [(-0.1, 1.0, 0, "low"), (math.nan, 1.0, 0, "low"), (1.0, 1.0, 0, "high"), (0.0, math.inf, 0, "high"),
         (0.0, 1.0, -1, "seed")],
    )  # fmt: skip
    def test_bounds_are_checked(self, low, high, seed, field):
        assert refusal(UniformDraws, low, high, seed).field == field

    def test_steps_drawn_too_large_in_some_round_are_refused(self):
        """Not the first nor the last round: every one is looked at."""
        problem = synthetic_problem()
        bound = stable_step(problem.smoothness, ring(5))
        values = [UniformDraws(0.0, 1.0)(k) for k in range(12)]
        first, *between, last = values
        assert max(first, last) < max(between)
        draws = UniformDraws(0.0, bound / max(first, last, sorted(between)[-2]) * 0.999)
        with pytest.raises(ScenarioError, match=f"η_{int(np.argmax(values))} ") as caught:
            tapped_ring(problem, PrivateGradientDescent(12, draws))
        assert caught.value.field == "algorithm.step"
        tapped_ring(problem, PrivateGradientDescent(12, UniformDraws(0.0, bound)))


def test_geometric_needs_a_positive_ratio():
    assert refusal(Geometric, 1.0, 0.0).field == "ratio"
