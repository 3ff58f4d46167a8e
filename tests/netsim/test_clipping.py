"""Clipping shortens what is too long, keeps its direction, and bounds two norms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from netsim.claims import Clip
from tests.worlds import refusal

NORMS = {"l1": 1, "l2": 2, "linf": np.inf}
VECTORS = hnp.arrays(np.float64, (4, 5), elements=st.floats(-1e3, 1e3))


@pytest.mark.parametrize(
    ("norm", "short", "long"),
    [
        ("l1", [[0.5, -0.5]], [[0.75, -1.25]]),
        ("l2", [[0.5, -0.5]], [[6 / math.sqrt(34), -10 / math.sqrt(34)]]),
        ("linf", [[0.5, -0.5]], [[1.2, -2.0]]),
    ],
)
def test_clip_keeps_short_vectors_and_shortens_long_ones(norm, short, long):
    found = Clip(2.0, norm)(np.array([[0.5, -0.5], [3.0, -5.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, np.concatenate([short, long, [[0.0, 0.0]]]), rtol=1e-15)


@pytest.mark.few(1)
@pytest.mark.parametrize("norm", NORMS)
@given(v=VECTORS, bound=st.floats(1e-3, 1e3))
def test_what_comes_out_is_bounded_and_points_the_same_way(norm, v, bound):
    clip = Clip(bound, norm)
    found = clip(v)
    size = np.linalg.norm(v, ord=NORMS[norm], axis=-1)
    np.testing.assert_allclose(
        np.linalg.norm(found, ord=NORMS[norm], axis=-1), np.minimum(size, bound), rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(found * np.maximum(size / bound, 1)[:, None], v, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(found[size <= bound], v[size <= bound])
    assert (np.abs(found).sum(axis=-1) <= clip.l1_bound(5) * (1 + 1e-12)).all()
    assert (np.linalg.norm(found, axis=-1) <= clip.l2_bound(5) * (1 + 1e-12)).all()


@pytest.mark.parametrize(("norm", "corner"), [("l1", [1, 0, 0]), ("l2", [1, 1, 1]), ("linf", [1, 1, 1])])
def test_the_bounds_are_attained(norm, corner):
    """By a corner of the ball; of the ℓ1 ball's corners each has ℓ2 norm C."""
    clip = Clip(0.7, norm)
    found = clip(1e3 * np.array([corner], dtype=float))
    assert np.abs(found).sum() == pytest.approx(clip.l1_bound(3), rel=1e-14)
    assert np.linalg.norm(found) == pytest.approx(clip.l2_bound(3), rel=1e-14)


@pytest.mark.parametrize("norm", NORMS)
def test_a_replica_is_clipped_by_itself_to_the_last_bit(norm):
    v = np.random.default_rng(0).normal(size=(7, 9)) * 10.0 ** np.arange(-3, 4)[:, None]
    clip = Clip(1.0, norm)
    np.testing.assert_array_equal(clip(v), np.concatenate([clip(row[None]) for row in v]))


@pytest.mark.parametrize("norm", NORMS)
def test_the_shortest_and_longest_vectors_are_numbers(norm):
    v = np.array([[5e-324, 0.0], [1e-200, 1e-200], [1e150, -1e150], [1e300, 1e300]])
    with np.errstate(over="ignore"):  # the square of 1e300; the ratio is then 0
        found = Clip(3.0, norm)(v)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[:2], v[:2])


@pytest.mark.parametrize(("bound", "norm"), [(0.0, "l1"), (math.inf, "l2"), (math.nan, "linf"), (1.0, "max")])
def test_a_clip_that_cannot_be_is_a_scenario_error(bound, norm):
    assert refusal(Clip, bound, norm).field == ("norm" if norm == "max" else "bound")
