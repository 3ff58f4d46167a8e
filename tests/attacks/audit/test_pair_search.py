"""The search finds what is known to be worst, stays within the adjacency, and says what it tried."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.comparison import Reproduced, compare_worlds
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.pair import FIRST_CHUNK, estimated, families, near, observed, search
from netsim import topology
from netsim.algorithms import DiaDSP, IcAdmm
from netsim.algorithms.planted_faults import HalfNoise, L1L2MixUp, OneScalar, SecondMessage, WrongClip
from netsim.claims import ORDERS, length
from netsim.errors import PrivacyError
from netsim.problems import LeastSquares, LogisticLoss, Problem, Tilted
from netsim.problems.objective import direction
from netsim.schedules import Constant
from netsim.simulation import Simulation
from scenarios.build import search_spaces as records
from scenarios.build.search_spaces import Data, Moved, Records
from scenarios.stages.worlds import worlds
from tests.worlds import synthetic_problem

DIMENSION, AGENT = 6, 1


def world(algorithm, curvature=1.5):
    """Every agent pulls towards its own point."""
    eye = np.eye(DIMENSION)
    parts = [LeastSquares(eye, np.full(DIMENSION, float(i)), divisor=2 / curvature) for i in range(3)]
    return Simulation(Problem(tuple(parts)), topology.ring(3), algorithm)


def searched(algorithm, delta, budget=80, transcripts=6, change=1.0, norm="l2", seed=0, curvature=1.5):
    simulation = world(algorithm, curvature)
    own = simulation.problem.objectives[AGENT]
    sample = worlds(simulation, AGENT, own, transcripts)(0, FIRST_CHUNK)
    points = observed(sample, AGENT, own)
    space = Moved(AGENT, own, change, norm, None, points, np.random.default_rng(seed))
    return search(sample, AGENT, own, space, delta=delta, budget=budget), simulation


def fault(kind, sound):
    return kind(rounds=4, step=0.2, scale=0.8, bound=0.5, sound=sound)


def best_of(found, name):
    return next(family.epsilon for family in found.families if family.name == name)


@pytest.mark.few("L1L2MixUp-0.0")
@pytest.mark.parametrize(("kind", "delta"), [(WrongClip, 1e-3), (L1L2MixUp, 0.0)])
def test_where_a_fault_shows_in_an_even_direction_the_search_finds_one(kind, delta):
    found, _ = searched(fault(kind, sound=False), delta, change=1e3, curvature=1e-9)
    slope = np.abs(found.winner.candidate.hypothesis.slope)
    assert kind.shows == "even"
    np.testing.assert_allclose(slope, slope[0], rtol=1e-9)
    mu = 3**0.5 * 0.2 * 0.5 / 0.8  # three releases of a gradient clipped to ½ by η, over the noise, in one coordinate
    if kind is WrongClip:
        assert best_of(found, "coordinates") == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-6)
        assert found.winner.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(DIMENSION) * mu, delta), rel=1e-6)
    else:
        assert found.winner.epsilon == pytest.approx(math.sqrt(DIMENSION) * best_of(found, "coordinates"), rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "delta"), [(HalfNoise, 0.0), (WrongClip, 1e-3)])
def test_where_the_clip_fits_the_noise_no_direction_is_worse_than_a_coordinate(kind, delta):
    found, _ = searched(fault(kind, sound=kind is WrongClip), delta, change=1e3, curvature=1e-9)
    assert found.winner.epsilon == pytest.approx(best_of(found, "coordinates"), rel=1e-6)


def test_of_gaussian_noise_every_direction_costs_the_same_and_the_first_one_wins():
    algorithm = IcAdmm(rounds=5, penalty=1.0, proximal=2.0, noise="gaussian", scale=Constant(1.0))
    found, _ = searched(algorithm, 1e-3)
    for name in ("even", "signs", "coordinates", "data", "random"):
        assert best_of(found, name) == pytest.approx(found.winner.epsilon, rel=1e-9)
    assert found.winner.candidate.family == "even"


@pytest.mark.few(1)
@pytest.mark.parametrize("norm", ORDERS)
def test_laplace_noise_costs_the_norm_that_it_protects(norm):
    """All curvatures are the same, so a change costs in proportion to its ℓ1 norm: √d, d and 1 coordinates of it."""
    found, simulation = searched(DiaDSP(rounds=5, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9), 0.0, norm=norm)
    own = simulation.problem.objectives[AGENT]
    one = Tilted(own, direction("coordinate", DIMENSION))
    sample = worlds(simulation, AGENT, own, 3)(0, 0)
    cost, _ = estimated(compare_worlds(sample, AGENT, own, one), 0.0)
    times = {"l1": 1.0, "l2": math.sqrt(DIMENSION), "linf": float(DIMENSION)}[norm]
    assert found.winner.epsilon == pytest.approx(times * cost, rel=1e-6)


def test_of_all_signs_it_finds_the_worst_whatever_the_data():
    """A convex cost on the ℓ∞ ball is largest at signs; all of them are tried here, and few by the search."""
    rng = np.random.default_rng(2)
    parts = [LeastSquares(rng.standard_normal((4, DIMENSION)), rng.standard_normal(4)) for _ in range(3)]
    algorithm = DiaDSP(rounds=5, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9)
    simulation = Simulation(Problem(tuple(parts)), topology.ring(3), algorithm)
    own = parts[AGENT]
    sample = worlds(simulation, AGENT, own, 2)(0, FIRST_CHUNK)
    known = Reproduced.of(sample, AGENT, own)
    all_signs = (np.array(signs) for signs in product((-1.0, 1.0), repeat=DIMENSION))
    costs = [estimated(known.compared(Tilted(own, signs), scored=False), 0.0)[0] for signs in all_signs]
    space = Moved(AGENT, own, 1.0, "linf", None, observed(sample, AGENT, own), rng)
    found = search(sample, AGENT, own, space, delta=0.0, budget=40)
    assert found.winner.epsilon == pytest.approx(max(costs), rel=1e-9)
    assert max(costs) > 1.05 * np.median(costs)


@pytest.mark.parametrize("kind", [OneScalar, SecondMessage])
def test_a_message_that_no_noise_covers_ends_the_search(kind):
    found, _ = searched(fault(kind, sound=False), 0.0)
    assert found.winner.epsilon == math.inf
    assert found.tried < 5
    assert "nothing can cost more" in found.sentence


def test_it_says_all_that_it_tried_and_tries_nothing_twice():
    algorithm = DiaDSP(rounds=4, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9)
    found, _ = searched(algorithm, 0.0, budget=70, transcripts=4)
    assert found.tried == sum(family.tried for family in found.families) <= found.budget == 70
    assert (found.transcripts, found.chunk, found.delta) == (4, FIRST_CHUNK, 0.0)
    assert found.winner.epsilon == pytest.approx(max(family.epsilon for family in found.families), rel=1e-9)
    assert f"the costliest of {found.tried} that were tried" in found.sentence
    again, _ = searched(algorithm, 0.0, budget=70, transcripts=4)
    families = [[(one.name, one.tried, one.best, one.epsilon) for one in run.families] for run in (found, again)]
    assert families[0] == families[1]
    assert again.winner.candidate.key == found.winner.candidate.key


def test_the_search_has_noise_of_its_own():
    simulation = world(DiaDSP(rounds=3, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9))
    simulate = worlds(simulation, AGENT, simulation.problem.objectives[AGENT], 4)
    drawn = [simulate(0, index).releases[0] for index in (0, 1, FIRST_CHUNK)]
    assert not any(np.intersect1d(a, b).size for a, b in [drawn[:2], drawn[1:], drawn[::2]])


@pytest.mark.parametrize(
    ("algorithm", "delta"),
    [
        (DiaDSP(rounds=5, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9), 0.0),
        (IcAdmm(rounds=5, penalty=1.0, proximal=2.0, noise="gaussian", scale=Constant(1.0)), 1e-3),
        (IcAdmm(rounds=5, penalty=1.0, proximal=2.0, noise="laplace", scale=Constant(1.0)), 0.0),
    ],
)
def test_its_estimate_is_the_audits(algorithm, delta):
    simulation = world(algorithm)
    own = simulation.problem.objectives[AGENT]
    other = Tilted(own, direction("random", DIMENSION, 3))
    sample = worlds(simulation, AGENT, other, 5)(0, 0)
    explained = compare_worlds(sample, AGENT, own, other)
    audited = ExactLoss.of([explained], delta, 0.95).epsilon.estimate
    assert estimated(explained, delta)[0] == pytest.approx(audited, rel=1e-6)


def test_one_replay_of_the_truth_serves_all_candidates():
    simulation = world(IcAdmm(rounds=4, penalty=1.0, proximal=2.0, scale=Constant(1.0)))
    own = simulation.problem.objectives[AGENT]
    sample = worlds(simulation, AGENT, own, 5)(0, 0)
    known = Reproduced.of(sample, AGENT, own)
    for seed in (1, 2):
        other = Tilted(own, direction("random", DIMENSION, seed))
        alone, shared = compare_worlds(sample, AGENT, own, other), known.compared(other, scored=False)
        np.testing.assert_array_equal(alone.steps, shared.steps)
        np.testing.assert_array_equal(alone.cost, shared.cost)
        assert alone.sent_in == shared.sent_in


def test_the_points_of_a_run_are_where_its_gradient_is_asked_for():
    simulation = world(DiaDSP(rounds=4, step=0.1, scale_x=1.0, scale_y=1.0, ratio=0.9))
    own = simulation.problem.objectives[AGENT]
    sample = worlds(simulation, AGENT, own, 3)(0, 0)
    asked = []

    class Noting(LeastSquares):
        def gradient(self, x):
            asked.append(x.copy())
            return super().gradient(x)

    Reproduced.of(sample, AGENT, Noting(own.features, own.targets, own.ridge, own.divisor))
    points = observed(sample, AGENT, own)
    rows = np.concatenate(asked)
    assert len(points) > 3
    assert all(np.any(np.all(rows == point, axis=1)) for point in points)


def test_an_empty_space_is_refused():
    class Nothing:
        def families(self):
            return {}

        def near(self, candidate):
            return []

    simulation = world(fault(HalfNoise, sound=True))
    own = simulation.problem.objectives[AGENT]
    with pytest.raises(PrivacyError, match="no adjacent objective"):
        search(worlds(simulation, AGENT, own, 2)(0, 0), AGENT, own, Nothing(), delta=0.0, budget=5)


# ── never outside of the adjacency ──────────────────────────────────────────────────────────────────────
def proposed(space, each=4):
    """Some of every family, and of what is near them."""
    for family in space.families().values():
        for candidate, _ in zip(family, range(each), strict=False):
            yield candidate
            for move in space.near(candidate)[:: max(1, len(space.near(candidate)) // (3 * each))]:
                yield move()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 9), st.sampled_from(sorted(ORDERS)), st.floats(1e-3, 1e3), st.sampled_from([None, 0.01, 3.0]),
    st.integers(0, 10**6),
)  # fmt: skip
def test_no_gradient_is_moved_by_more_than_the_adjacency_allows(dimension, norm, change, curvature, seed):
    rng = np.random.default_rng(seed)
    own = LeastSquares(rng.standard_normal((3, dimension)), rng.standard_normal(3), 0.1)
    space = Moved(0, own, change, norm, curvature, rng.standard_normal((4, dimension)), rng)
    x = 10.0 ** rng.uniform(-1, 2) * rng.standard_normal((20, dimension))
    for candidate in proposed(space, 2):
        other = candidate.hypothesis
        moved = other.gradient(x) - own.gradient(x)
        rounding = 1e-13 * np.max(np.abs(own.gradient(x)), initial=0.0) * dimension
        assert np.max(length(moved, norm)) <= change * (1 + 1e-9) + rounding
        assert length(other.slope, norm) <= change * (1 + 1e-12)
        assert other.smoothness <= own.smoothness + (curvature or 0.0)


def test_directions_have_norm_one():
    rng = np.random.default_rng(0)
    for norm in ORDERS:
        found = families(norm, 5, {"a": rng.standard_normal(5), "zero": np.zeros(5)}, rng)
        for family in found.values():
            for one, _ in zip(family, range(7), strict=False):
                assert length(one.vector, norm) == pytest.approx(1.0, rel=1e-12)
                assert "zero" not in one.words
                for move in near(one, norm):
                    assert length(move().vector, norm) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("kind", [Records, Data])
def test_no_data_change_a_gradient_by_more_than_the_adjacency_allows(kind):
    problem, rng = synthetic_problem(), np.random.default_rng(0)
    own = problem.objectives[0]
    bound = 2 * 1.0 / (own.records if kind is Records else 1)  # every ‖a‖₂ ≤ 1
    x = np.concatenate([s * rng.standard_normal((30, own.dimension)) for s in (0.1, 1.0, 30.0)])
    count = 0
    for candidate in proposed(kind(0, own, problem, x[:3], rng, 20)):
        other = candidate.hypothesis
        assert other.records == own.records
        assert np.max(length(other.gradient(x) - own.gradient(x), "l2")) <= bound * (1 + 1e-9)
        if kind is Records:
            assert own.gradient_difference_bound(other) <= bound * (1 + 1e-9)
        count += 1
    assert count > 20


def test_the_first_record_is_the_one_that_moves_the_gradient_most_at_the_points():
    problem, rng = synthetic_problem(), np.random.default_rng(1)
    own, points = problem.objectives[0], rng.standard_normal((5, 6))
    space = Records(0, own, problem, points, rng, 20)
    found = next(space.families()["farthest on the way, ℓ2"]).hypothesis

    def moved(other):
        return np.sum((other.gradient(points) - own.gradient(points)) ** 2)

    others = [
        own.with_record(out, f.features[k], sign * f.labels[k])
        for out in range(own.records)
        for f in problem.objectives[1:]
        for k in range(f.records)
        for sign in (1.0, -1.0)
    ]
    assert isinstance(found, LogisticLoss)
    assert moved(found) == pytest.approx(max(map(moved, others)), rel=1e-9)


def test_of_too_many_records_the_strongest_at_the_points_are_compared(monkeypatch):
    problem, points = synthetic_problem(), np.random.default_rng(1).standard_normal((5, 6))
    own = problem.objectives[0]
    monkeypatch.setattr(records, "WORK", 9 * points.size)  # three of its own, three of the others
    space = Records(0, own, problem, points, np.random.default_rng(0), 50)
    found = list(space.families()["farthest on the way, ℓ2"])
    assert len(found) == 9
    strength = [np.sum((own.batch([k]).data_gradient(points)) ** 2) for k in range(own.records)]
    assert {candidate.key[0] for candidate in found} == set(np.argsort(strength)[-3:].tolist())
