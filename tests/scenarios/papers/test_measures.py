"""Measures of made curves whose numbers are known, and claims that the formula gives by itself."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim import topology
from netsim.algorithms import Clip, DPRecal, PrivateGradientDescent, Recal, RwAdmm
from netsim.claims import Adjacency
from netsim.problems import load, logistic
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation
from scenarios.papers.measures import claimed, cost, diverged, measured, vacuous_from
from scenarios.results.curves import NotMeasuredError, curve
from scenarios.results.over_time import budget
from scenarios.results.tree import AlgorithmResult
from scenarios.schema.checks import Slope
from scenarios.schema.load import parse
from tests.scenarios.filled import filled

BARE = parse("name: bare\ntopology: {kind: ring, agents: 4}\nalgorithms: [{kind: recal, activations: 4}]\n").scenario
ADJACENCY = Adjacency(1.0, "one record")


def entry(errors, unit="rounds", counts=None, **more):
    counts = counts or list(range(1, len(errors) + 1))
    curve = {"unit": unit, "count": counts, "median": list(map(float, errors))}
    return filled(AlgorithmResult, {"name": "A", "convergence": curve} | more)


def claiming(simulation):
    """An algorithm of which only the claimed ε is known."""
    return filled(AlgorithmResult, {"name": "A", "budget": budget(simulation, ADJACENCY, 1e-3, BARE)})


def falling(ratio, rounds=50):
    return [ratio**k for k in range(1, rounds + 1)]


@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.99])
def test_the_slope_of_a_geometric_curve_is_its_ratio(ratio):
    found = measured(Slope(says="falls", of="A", below=0), entry(falling(ratio)))
    assert found.low == found.high == pytest.approx(math.log10(ratio), rel=1e-12)


def test_the_cost_is_counted_from_where_the_error_stays_below():
    errors = [1.0, 0.1, 0.5, 0.09, 0.08]
    found = cost(entry(errors), 0.1, "rounds")
    assert (found.low, found.high) == (4, 4)
    assert cost(entry(errors), 0.1, "plf") == found  # in rounds, an agent is active once each
    assert cost(entry(errors), 2.0, "rounds").high == 1


def test_a_run_that_ends_before_gives_a_lower_bound():
    found = cost(entry([1.0, 0.5, 0.4]), 0.1, "rounds")
    assert (found.low, found.high) == (3, math.inf)
    assert str(found) == "more than 3"


def test_other_axes_come_with_the_measures():
    def measured(**measures):
        return entry([1.0, 0.5, 0.01], "activations", measures=measures)

    def ends(one, accuracy, axis, *of):
        found = cost(one, accuracy, axis, *of)
        return found.low, found.high

    with pytest.raises(NotMeasuredError, match="by activations, not by messages"):
        cost(entry([1.0, 0.5, 0.01], "activations"), 0.1, "messages")
    one = measured(costs={"count": [1, 2, 3], "messages": [6, 12, 18], "time": [0.5, 1.5, 2.5]})
    assert ends(one, 0.1, "messages") == (18, 18)
    assert ends(one, 0.6, "time") == (1.5, 1.5)
    assert ends(one, 1e-9, "time") == (2.5, math.inf)
    assert curve(one, "relative_error", "messages").x == (6, 12, 18)
    costs = {"count": [1, 3], "messages": [6, 18]}
    one = measured(costs=costs)
    assert ends(one, 0.6, "messages") == (6, 18)  # not known at 2
    assert curve(one, "relative_error", "messages").x == (6, 12, 18)
    low, high, late = ({"count": k, "messages": m} for k, m in ((3, 17), (4, 19), (5, 21)))
    reached = [
        {"curve": "relative_error", "accuracy": 0.1, "low": low, "high": high},
        {"curve": "relative_error", "accuracy": 1e-9, "low": late, "high": None},
    ]
    gap = {"objective_gap": {"count": [1, 3], "median": [3.0, 1.0]}}
    one = measured(costs=costs, exact={"to_accuracy": reached}, curves=gap)
    assert ends(one, 0.1, "messages") == (17, 19)
    assert ends(one, 0.1, "activations") == (3, 4)
    assert ends(one, 1e-9, "messages") == (21, math.inf)
    with pytest.raises(NotMeasuredError, match="by activations, not by rounds"):
        cost(one, 0.1, "rounds")
    assert cost(one, 2.0, "messages", "objective_gap").high == 18
    assert curve(one, "objective_gap", "messages").x == (6, 18)
    with pytest.raises(NotMeasuredError, match="no consensus error"):
        curve(one, "consensus_error", "activations")


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([1, 0.5, 0.1], False), ([1, 50, 900], False), ([1, 50, 1001], True), ([1, "nan"], True),
        ([1, "inf", 1], True), ([0, 0.1], False),
    ],
)  # fmt: skip
def test_divergence(errors, expected):
    assert diverged(entry(errors)) is expected


# ── the claimed ε over rounds ───────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def world():
    problem = logistic(load("synthetic", records=40, dimension=3, norm_bound=1.0).split(4), ridge=0.5)
    return problem, topology.ring(4)


def test_the_budget_of_a_descent_is_its_composition_round_by_round(world):
    step, scale = 0.1, Geometric(2.0, 0.9)
    algorithm = PrivateGradientDescent(30, Constant(step), scale, Clip(1.0))
    one = claiming(Simulation(*world, algorithm))
    by_hand = np.cumsum([0.0] + [2 * step / scale(k) for k in range(1, 30)])
    assert curve(one, "epsilon_claimed", "rounds").y == pytest.approx(by_hand, rel=1e-12)
    assert claimed(one) == pytest.approx(by_hand[-1])
    assert vacuous_from(one, 20.0).low == 1 + np.flatnonzero(by_hand > 20)[0]


def test_where_a_budget_becomes_vacuous(world):
    algorithm = PrivateGradientDescent(5000, Constant(0.1), Constant(1.0), Clip(1.0))  # 0.2 a round, but the first
    one = claiming(Simulation(*world, algorithm))
    assert len(one.budget.count) <= 60
    assert vacuous_from(claiming(Simulation(*world, replace(algorithm, rounds=101))), 20.0).high == math.inf
    assert vacuous_from(one, 20.0).low == 102  # ε = 0.2 (k − 1) is 20 at 101
    with pytest.raises(NotMeasuredError, match="after 7"):
        claimed(one, 7)


def test_the_budget_of_a_walk_is_by_activations_of_one_agent(world):
    simulation = Simulation(*world, DPRecal(step=0.2, per_agent=25, stddev=0.5, ratio=1.1))
    one = claiming(simulation)
    points = curve(one, "epsilon_claimed", "plf")
    assert points.x == tuple(range(1, 26))
    assert points.y == tuple(simulation.claim(ADJACENCY, k, 1e-3).epsilon for k in range(1, 26))
    with pytest.raises(NotMeasuredError, match="by plf, not by rounds"):
        curve(one, "epsilon_claimed", "rounds")


def test_everybody_active_in_every_round_has_a_budget_of_rounds(world):
    algorithm = RwAdmm(0.3, "everybody", per_agent=20, noise="laplace", scale=Constant(1.0))
    simulation = Simulation(*world, algorithm)
    found = budget(simulation, ADJACENCY, 1e-3, BARE)
    assert (found.unit, found.last, found.count) == ("rounds", 20, tuple(range(1, 21)))
    assert found.epsilon == tuple(simulation.claim(ADJACENCY, k, 1e-3).epsilon for k in range(1, 21))


def test_who_claims_nothing_has_no_budget(world):
    assert budget(Simulation(*world, Recal(step=0.2, activations=9)), ADJACENCY, 1e-3, BARE) is None


def test_a_failed_condition_has_no_number(world):
    algorithm = PrivateGradientDescent(9, Constant(0.1), Constant(1.0))
    one = claiming(Simulation(*world, algorithm))
    with pytest.raises(NotMeasuredError, match="no clipping"):
        claimed(one)
