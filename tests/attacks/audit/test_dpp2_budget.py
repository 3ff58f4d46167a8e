"""DPP²'s budget over the rounds: the release of k = 0, its growth, where it is vacuous."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from netsim import topology
from netsim.algorithms import Dpp2
from netsim.algorithms.algorithm import Setting
from netsim.claims import Adjacency
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.schedules import Geometric
from netsim.simulation import Simulation
from scenarios.build.experiment import Experiment
from scenarios.results.over_time import budget
from scenarios.schema.load import load_scenario
from tests.attacks import auditing
from tests.attacks.auditing import judged

DIMENSION, ALPHA, CHANGE = 10, 0.1, 0.3
EVEN = Adjacency(CHANGE, "a constant change", constant=True)


def dpp2(rounds, ratio, scale=1.0):
    decay = Geometric(scale, ratio)
    return Dpp2(rounds, step=ALPHA, beta=0.05, rho=1.0, scale_w=decay, scale_e=decay)


def world(rounds, ratio, scale=1.0):
    """Three agents with quadratic objectives; the gradient of agent 1 is moved evenly, by ‖Δ‖₂ = CHANGE."""
    rng = np.random.default_rng(4)
    objectives = [LeastSquares(rng.normal(size=(20, DIMENSION)), rng.normal(size=20), 0.1) for _ in range(3)]
    moved = Tilted(objectives[1], CHANGE * direction("even", DIMENSION))
    simulation = Simulation(Problem(tuple(objectives)), topology.complete(3), dpp2(rounds, ratio, scale))
    return simulation, Pair(1, (objectives[1], moved), "the gradient of agent 1 moved")


def by_hand(objective, rounds, ratio):
    """Σ ‖Δ_t‖₁/b_t of each round. What came from outside and y are the same in both worlds, so that only the agent's
    own gradient moves its state: Δx⁰ = 0, Δg = c + HΔx, Δx⁺ = −αΔg; y carries Δx under u r^k, z carries Δg."""
    hessian = objective.features.T @ objective.features / objective.records + objective.ridge * np.eye(DIMENSION)
    moved, spent = np.zeros(DIMENSION), []
    for k in range(rounds):
        told = CHANGE * direction("even", DIMENSION) + hessian @ moved
        spent.append((np.abs(moved).sum() + np.abs(told).sum()) / ratio**k)
        moved = -ALPHA * told
    return np.array(spent)


@cache
def explained(rounds, ratio):
    simulation, pair = world(rounds, ratio)
    return auditing.explained((simulation, pair)), simulation, pair


def spent_by_round(rounds, ratio):
    """(rounds,) Σ‖Δ‖₁/b of the two releases of each round, the same in all transcripts."""
    found, _, _ = explained(rounds, ratio)
    assert len(found.laws) == 2 * rounds
    np.testing.assert_allclose(found.cost, np.repeat(found.cost[:, :1], 20, axis=1), rtol=1e-5, atol=1e-9)
    return found.cost[:, 0].reshape(rounds, 2).sum(axis=1)


def test_the_first_release_tells_what_the_claim_does_not_count():
    """K = 0 by Algorithm 1's count, which Theorem 3 excludes (K > 0): the claim is 0. Of z⁰ = ∇f(x⁰) + e⁰, the exact
    loss is ‖Δ∇f‖₁/u_e = √10·0.3 = 0.949."""
    simulation, pair = world(1, 0.9)
    claim = simulation.claim(EVEN, 1, 0.0)
    assert claim.epsilon == 0
    assert claim.failed_conditions == ()
    found = judged(simulation, pair, claim, attack=None, trials=1000)
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.epsilon_exact == pytest.approx(math.sqrt(DIMENSION) * CHANGE, rel=1e-9)
    assert found.first_violation == 1
    assert 0 < found.epsilon_audited < found.epsilon_exact
    assert found.witness is not None


@pytest.mark.few("1.0")
@pytest.mark.parametrize("ratio", [0.8, 0.9, 0.95, 1.0])
def test_the_exact_sum_grows_as_one_over_the_ratio_to_the_rounds(ratio):
    """Each round's share is that of the recursion by hand, and a line through their logarithms has slope −ln r."""
    rounds = 30
    _, simulation, pair = explained(rounds, ratio)
    spent = spent_by_round(rounds, ratio)
    np.testing.assert_allclose(spent, by_hand(pair.hypotheses[0], rounds, ratio), rtol=1e-6)
    later = np.arange(12, rounds)
    assert np.polyfit(later, np.log(spent[later]), 1)[0] == pytest.approx(-math.log(ratio), abs=1e-4)
    assert spent[-1] / spent[-2] == pytest.approx(1 / ratio, rel=1e-4)
    claims = [replace(simulation, algorithm=dpp2(k, ratio)).claim(EVEN, k, 0.0).epsilon for k in (28, 29, 30)]
    assert (claims[2] - claims[1]) / (claims[1] - claims[0]) == pytest.approx(1 / ratio, rel=1e-6)


@pytest.mark.slow
def test_the_audit_shows_this_growth_release_by_release():
    """Its levels are the running sums of the recursion by hand, after y and after z of each round."""
    simulation, pair = world(12, 0.9)
    found = judged(simulation, pair, simulation.claim(EVEN, 12, 0.0), attack=None, trials=100)
    levels = np.array([level.estimate for level in found.exact[0].growth])
    assert len(levels) == 24
    np.testing.assert_allclose(levels[1::2], np.cumsum(by_hand(pair.hypotheses[0], 12, 0.9)), rtol=1e-6)
    assert all(b >= a for a, b in pairwise(levels))


def claimed(rounds, ratio, weight):
    """Theorem 3 as a geometric series: weight · Σ_{k=1}^{K} r^{−k}, K = rounds − 1."""
    return weight * (rounds - 1 if ratio == 1 else (ratio ** (1 - rounds) - 1) / (1 - ratio))


WEIGHT = math.sqrt(10) * (1 / (0.1 * 1.0) + 1 / 1.0) * 0.1 * 0.1 / (1 - 0.1 * 5.03)
"""√d(1/(αu_e) + 1/u_w) αδ/(1 − αM̄) of d = 10, α = .1, M̄ = 5.03, u = 1, δ = 0.1."""


@pytest.mark.parametrize(("number", "ratio", "first"), [(0, 0.9, 14), (1, 0.95, 19), (2, 1.0, 30)])
def test_the_claim_is_vacuous_from_this_round_on(number, ratio, first):
    """Above 20: computed from the series, from the algorithm, and said by the tool."""
    experiment = Experiment.of(load_scenario("dpp2-growing-budget").scenario)
    simulation = experiment.subjects[number].simulation

    def formula(rounds):
        shorter = replace(simulation, algorithm=replace(simulation.algorithm, rounds=rounds))
        return shorter.claim(experiment.adjacency, rounds, 0.0).epsilon

    for rounds in (2, first - 1, first, 100):
        assert formula(rounds) == pytest.approx(claimed(rounds, ratio, WEIGHT), rel=1e-6)
    assert formula(first - 1) < 20 < formula(first)
    found = budget(simulation, experiment.adjacency, 0.0, experiment.scenario)
    assert {level.epsilon: level.count for level in found.vacuous_from}[20.0] == first


def test_what_is_lost_is_above_20_soon_after():
    """r = 0.9: the prices Σ‖Δ‖₁/b of 20 transcripts of 22 rounds. The claim says 20 from round 14 on; the least and
    the largest loss that could have been seen are at 20 from round 19 on at the latest."""
    experiment = Experiment.of(load_scenario("dpp2-growing-budget").scenario)
    shipped = experiment.subjects[0].simulation
    simulation = replace(shipped, algorithm=replace(shipped.algorithm, rounds=22))
    own = simulation.problem.objectives[1]
    moved = Tilted(own, 0.1 * direction("even", DIMENSION))
    found = auditing.explained((simulation, Pair(1, (own, moved), "moved")))
    prices = np.cumsum(found.cost, axis=0)[1::2]
    claims = np.array([claimed(k, 0.9, WEIGHT) for k in range(1, 23)])
    assert (prices[0] > claims[0]).all()  # the first release, which the sum has not, by Algorithm 1's count
    assert (prices[1:] < claims[1:, None]).all()
    above = 1 + np.argmax(prices > 20, axis=0)
    assert (prices[-1] > 20).all()
    assert 14 < above.min() <= above.max() <= 20
    assert (np.abs(np.cumsum(found.steps, axis=0)) <= np.cumsum(found.cost, axis=0) * (1 + 1e-9)).all()


@given(ratio=st.floats(0.01, 1.0), asked=st.floats(0.1, 1e4))
def test_no_ratio_up_to_1_has_a_finite_budget_for_all_rounds(ratio, asked):
    """Whatever ε is asked for, after ⌈ε/weight⌉ + 2 rounds the claim is above it."""
    weight = math.sqrt(10) * 11 * 0.1 * CHANGE / (1 - 0.5)
    rounds = min(math.ceil(asked / weight) + 2, 140)
    setting = Setting(agents=3, dimension=10, smoothness=(5.0,))
    epsilon = dpp2(rounds, ratio).claim(EVEN, setting, 0.0).epsilon
    assert epsilon >= (rounds - 1) * weight * (1 - 1e-12)
    assert epsilon > min(asked, 138 * weight)


@pytest.mark.few("1.0")
@pytest.mark.parametrize("ratio", [0.9, 0.99, 1.0])
def test_nor_is_the_exact_loss_of_all_rounds_finite(ratio):
    """No round costs less than a quarter of the first: after enough rounds the sum is above any number."""
    spent = spent_by_round(40, ratio)
    assert spent[0] == pytest.approx(math.sqrt(DIMENSION) * CHANGE)
    assert spent.min() > spent[0] / 4
    assert spent.sum() > 10 * spent[0]


def test_only_noise_that_grows_would_have_one():
    """At r = 1.1 all rounds together claim at most weight/(r − 1), and the iterates are the worse for it."""
    simulation, _ = world(60, 1.1)
    falling, _ = world(60, 0.9)
    weight = simulation.claim(EVEN, 60, 0.0).epsilon / claimed(60, 1.1, 1.0)
    for rounds in (60, 200, 1000):
        assert replace(simulation, algorithm=dpp2(rounds, 1.1)).claim(EVEN, rounds, 0.0).epsilon < weight / 0.1
    errors = [one.run().metrics.worst_by_round(3)[-1, 0] for one in (simulation, falling)]
    assert errors[0] > 30 * errors[1]
