import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from netsim.errors import ProtocolError, ScenarioError
from netsim.problems import L1, ElasticNet, FusedLasso, LInf, Regularizer, Zero


def test_zero_returns_the_very_same_array() -> None:
    v = np.ones((2, 3))
    assert Zero().proximal(v, 0.5) is v
    assert Zero().value(v).tolist() == [0, 0]


REGULARIZERS = [L1(0.6), ElasticNet(0.4, 0.7), LInf(0.9), FusedLasso(0.3, 0.8), FusedLasso(0.0, 2.5)]
every = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)


@every
@given(seed=st.integers(0, 10_000), step=st.floats(0.05, 20))
@settings(max_examples=60, deadline=None)
def test_moreau(regularizer: Regularizer, seed: int, step: float) -> None:
    """p = prox_{step r}(v): (v − p)/step is a subgradient of r at p, so r(x) >= r(p) + ⟨(v − p)/step, x − p⟩ for all
    x; where r is a norm, ⟨v − p, p⟩ = step r(p); and the map is firmly nonexpansive."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(2, 7)) * 3
    p = regularizer.proximal(v, step)
    x, slope = rng.normal(size=(50, 7)) * 3, (v - p) / step
    for row in range(2):
        lower = regularizer.value(p)[row] + (x - p[row]) @ slope[row]
        assert (regularizer.value(x) >= lower - 1e-9 * (1 + np.abs(lower))).all()
    if not isinstance(regularizer, ElasticNet):
        np.testing.assert_allclose(np.sum((v - p) * p, axis=1), step * regularizer.value(p), atol=1e-10)
    apart, moved = v[0] - v[1], p[0] - p[1]
    assert moved @ moved <= apart @ moved + 1e-10


@every
def test_a_row_is_alone(regularizer: Regularizer) -> None:
    v = np.random.default_rng(2).normal(size=(5, 40)) * 2
    together = regularizer.proximal(v, 0.7)
    for row in range(5):
        assert np.array_equal(together[row], regularizer.proximal(v[row : row + 1], 0.7)[0])
    v[1, 3] = np.nan
    spoilt = regularizer.proximal(v, 0.7)
    assert np.isnan(spoilt[1]).any()
    assert np.array_equal(np.delete(spoilt, 1, 0), np.delete(together, 1, 0))


@given(seed=st.integers(0, 10_000), dimension=st.integers(1, 40), log_weight=st.floats(-2, 2), whole=st.booleans())
@example(seed=1, dimension=12, log_weight=5.960464477539063e-08, whole=True)
@settings(max_examples=80, deadline=None)
def test_the_taut_string_solves_the_dual(seed: int, dimension: int, log_weight: float, whole: bool) -> None:
    """x = v − Dᵀu, u the point of the box |u| <= weight for which that is shortest, by an active-set method."""
    v = np.random.default_rng(seed).normal(size=dimension) * 3
    v = np.round(v) if whole else v
    found = FusedLasso(0.0, 10**log_weight).proximal(v[None], 1.0)[0]
    if dimension == 1:
        assert np.array_equal(found, v)
        return
    differences = np.diff(np.eye(dimension), axis=0)
    dual = lsq_linear(differences.T, v, (-(10**log_weight), 10**log_weight), method="bvls", tol=1e-14, max_iter=1000)
    other = v - differences.T @ dual.x  # whose tolerance is of its cost, not of its point

    def cost(x: np.ndarray) -> float:
        return 0.5 * np.sum((x - v) ** 2) + 10**log_weight * np.sum(np.abs(np.diff(x)))

    np.testing.assert_allclose(found, other, atol=1e-6)
    assert cost(found) <= cost(other) + 1e-12 * (1 + cost(other))


def test_thousands_of_coordinates_keep_the_optimality_conditions_of_the_string() -> None:
    """|Σ_{j≤k} (v_j − x_j)| <= weight, with equality on the side to which x jumps, and 0 at the end."""
    v = np.cumsum(np.random.default_rng(3).normal(size=5000)) / 5
    x = FusedLasso(0.0, 2.0).proximal(v[None], 1.0)[0]
    dual, jumps = np.cumsum(v - x), np.diff(x)
    assert np.abs(dual).max() <= 2 + 1e-10
    assert abs(dual[-1]) < 1e-10
    np.testing.assert_allclose(dual[:-1][jumps != 0], -2 * np.sign(jumps[jumps != 0]), atol=1e-10)
    assert 10 < np.count_nonzero(jumps) < 2500


def test_by_hand() -> None:
    v = np.array([[3.0, -2.0, 0.1]])
    assert ElasticNet(0.5, 0.25).proximal(v, 2.0)[0] == pytest.approx([1.0, -0.5, 0.0])
    assert LInf(1.0).proximal(v, 1.0)[0] == pytest.approx([2.0, -2.0, 0.1])
    assert not LInf(1.0).proximal(v, 5.1).any()
    assert FusedLasso(0.0, 100.0).proximal(v, 1.0)[0] == pytest.approx([1.1 / 3] * 3)
    assert FusedLasso(0.2, 100.0).proximal(v, 1.0)[0] == pytest.approx([1.1 / 3 - 0.2] * 3)
    assert FusedLasso(0.0, 1.0).proximal(v, 1.0)[0] == pytest.approx([2.0, -0.45, -0.45])
    assert ElasticNet(0.5, 0.25).value(v) == pytest.approx(2.55 + 13.01 / 4)
    assert LInf(0.5).value(v) == pytest.approx(1.5)
    assert FusedLasso(0.5, 0.25).value(v) == pytest.approx(2.55 + 7.1 / 4)
    for nothing in (ElasticNet(0.0, 0.0), LInf(0.0), FusedLasso(0.0, 0.0)):
        assert np.array_equal(nothing.proximal(v, 1.0), v)


@pytest.mark.parametrize(("made", "field"), [
    (lambda: ElasticNet(-1.0, 0.0), "l1"), (lambda: ElasticNet(0.0, np.nan), "square"),
    *((lambda w=w: L1(w), "weight") for w in (-1.0, np.nan, np.inf)),
    (lambda: LInf(np.inf), "weight"), (lambda: FusedLasso(0.0, -0.1), "variation"),
])  # fmt: skip
def test_weights_are_not_negative(made, field) -> None:
    with pytest.raises(ScenarioError, match=field):
        made()


def test_the_soft_threshold_by_hand() -> None:
    v = np.array([[3.0, -3.0, 0.4, -0.5], [0.0, 0.6, -1.0, 1.0]])
    assert L1(0.25).proximal(v, 2.0).tolist() == [[2.5, -2.5, 0, 0], [0, pytest.approx(0.1), -0.5, 0.5]]
    assert L1(0.25).value(v).tolist() == [pytest.approx(1.725), pytest.approx(0.65)]


def test_a_step_is_positive() -> None:
    with pytest.raises(ProtocolError, match="step"):
        L1(1.0).proximal(np.ones((1, 1)), -1.0)
