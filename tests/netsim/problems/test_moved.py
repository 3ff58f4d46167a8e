"""Objectives whose gradient is moved: by a constant slope, or by a bend that stays below it in every norm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.claims import SYMBOLS, length
from netsim.problems import Bent, LeastSquares, NonconvexLogistic, Surrounded, Tilted, weak_convexity
from netsim.problems.objective import direction
from tests.worlds import refusal, synthetic_problem

RNG = np.random.default_rng(7)
OWN = synthetic_problem().objectives[0]
SLOPE = RNG.standard_normal(OWN.dimension)


@pytest.fixture(params=[-1.5, 0.0, 2.0])
def bent(request):
    return Bent(OWN, SLOPE, 0.7, request.param)


@pytest.fixture(params=[-1.5, 0.0, 2.0, None])
def moved(request):
    return Tilted(OWN, SLOPE) if request.param is None else Bent(OWN, SLOPE, 0.7, request.param)


@pytest.mark.parametrize("kind", [Tilted, lambda own, slope, record: Bent(own, slope, 0.7, 0.4, record=record)])
def test_one_record_that_is_moved_moves_the_batches_that_hold_it(kind):
    """The mean over its batches of one is the whole, and no other record's loss is moved."""
    moved = kind(OWN, SLOPE, record=2)
    x = RNG.standard_normal((3, OWN.dimension))
    for part in ("value", "gradient"):
        ones = [getattr(moved.batch([k]), part)(x) for k in range(OWN.records)]
        np.testing.assert_allclose(np.mean(ones, axis=0), getattr(moved, part)(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(ones[1], getattr(OWN.batch([1]), part)(x))
    pair = moved.batch([0, 2]).gradient(x)
    np.testing.assert_allclose(pair, (moved.batch([0]).gradient(x) + moved.batch([2]).gradient(x)) / 2, atol=1e-12)


def test_among_others_every_record_moves_by_its_own():
    """The oracle is a tilt of each record in turn; a batch has the moves of its records, one named twice twice."""
    others = RNG.standard_normal((OWN.records, OWN.dimension))
    among = Surrounded(OWN, SLOPE, record=2, others=others)
    each = OWN
    for k, slope in enumerate(others + OWN.records * np.eye(OWN.records)[:, 2:3] * SLOPE):
        each = Tilted(each, slope / OWN.records, record=k)
    x = RNG.standard_normal((3, OWN.dimension))
    for part in ("value", "gradient"):
        np.testing.assert_allclose(getattr(among, part)(x), getattr(each, part)(x), rtol=1e-10)
        for batch in ([0], [2], [1, 2, 2]):
            one, other = (getattr(objective.batch(batch), part)(x) for objective in (among, each))
            np.testing.assert_allclose(one, other, rtol=1e-10)


def test_its_constants_hold_and_are_reached():
    bent = Bent(LeastSquares(np.eye(3), np.zeros(3), 0.2), 2 * np.ones(3), 0.3)
    eigenvalues = np.linalg.eigvalsh(bent.hessian(np.zeros(3)))
    assert eigenvalues[-1] == pytest.approx(bent.smoothness, rel=1e-12)
    assert np.linalg.eigvalsh(bent.hessian(1e3 * np.ones(3)))[0] == pytest.approx(bent.strong_convexity, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(-3, 3))
def test_the_gradient_moves_by_less_than_the_slope_in_every_norm(seed, size, offset):
    rng = np.random.default_rng(seed)
    bent = Bent(OWN, size * rng.standard_normal(OWN.dimension), 0.5, offset)
    x = 10.0 ** rng.uniform(-2, 5) * rng.standard_normal((50, OWN.dimension))
    moved = bent.gradient(x) - OWN.gradient(x)
    for norm in SYMBOLS:
        slack = 1e-9 * length(bent.slope, norm) + 1e-12 * np.max(length(OWN.gradient(x), norm))
        assert np.max(length(moved, norm)) <= length(bent.slope, norm) + slack


def test_far_away_it_reaches_the_slope_and_turns_round(bent):
    far = 1e3 * SLOPE[None]
    np.testing.assert_allclose(bent.gradient(far) - OWN.gradient(far), SLOPE[None], rtol=1e-9)
    np.testing.assert_allclose(bent.gradient(-far) - OWN.gradient(-far), -SLOPE[None], rtol=1e-9)


def test_batches_are_moved_too(moved):
    x = RNG.standard_normal((2, OWN.dimension))
    expected = OWN.batch([0, 2]).gradient(x) + (moved.gradient(x) - OWN.gradient(x))
    np.testing.assert_allclose(moved.batch([0, 2]).gradient(x), expected, rtol=1e-12)


def test_a_tilt_is_the_slope_to_the_last_bit():
    x, tilted = RNG.standard_normal((3, OWN.dimension)), Tilted(OWN, SLOPE)
    np.testing.assert_array_equal(tilted.gradient(x), OWN.gradient(x) + SLOPE)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize(("name", "values"), [("even", 1), ("coordinate", 2), ("random", 9)])
def test_directions_have_norm_one(name, values, norm):
    slope = direction(name, 9, norm=norm)
    assert length(slope, norm) == pytest.approx(1.0)
    assert len(set(slope)) == values


def test_what_is_not_convex_stays_as_far_from_it():
    own = NonconvexLogistic(RNG.standard_normal((4, 3)), np.ones(4), 0.5)
    assert weak_convexity(own) > 0
    assert weak_convexity(Bent(own, np.ones(3), 0.1)) == weak_convexity(own)
    assert weak_convexity(Tilted(own, np.ones(3))) == weak_convexity(own)


@pytest.mark.parametrize(
    ("field", "made"),
    [
        ("slope", lambda: Bent(OWN, np.ones(OWN.dimension + 1), 1.0)),
        ("slope", lambda: Tilted(OWN, np.ones(OWN.dimension + 1))),
        ("slope", lambda: Bent(OWN, np.zeros(OWN.dimension), 1.0)),
        ("curvature", lambda: Bent(OWN, SLOPE, 0.0)),
        ("others", lambda: Surrounded(OWN, SLOPE, others=np.ones((2, OWN.dimension)))),
        ("offset", lambda: Bent(OWN, SLOPE, 1.0, float("inf"))),
    ],
)
def test_what_does_not_fit_is_refused(field, made):
    assert refusal(made).field == field
