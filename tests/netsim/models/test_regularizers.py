import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.errors import ProtocolError, ScenarioError
from netsim.problems import L1, Zero

numbers = st.floats(-100, 100)


def test_zero_returns_the_very_same_array() -> None:
    v = np.ones((2, 3))
    assert Zero().proximal(v, 0.5) is v
    assert Zero().value(v).tolist() == [0, 0]


@given(v=numbers, x=numbers, weight=st.floats(0, 10), step=st.floats(0.01, 10))
@settings(max_examples=200)
def test_no_point_beats_the_soft_threshold(v: float, x: float, weight: float, step: float) -> None:
    regularizer = L1(weight)
    proximal = regularizer.proximal(np.array([[v]]), step)

    def cost(at: np.ndarray) -> float:
        return float(regularizer.value(at)[0]) + float(((at - v) ** 2).sum()) / (2 * step)

    for other in (np.array([[x]]), proximal + 1e-3, proximal - 1e-3, np.zeros((1, 1))):
        assert cost(proximal) <= cost(other) + 1e-9


def test_the_soft_threshold_by_hand() -> None:
    v = np.array([[3.0, -3.0, 0.4, -0.5], [0.0, 0.6, -1.0, 1.0]])
    assert L1(0.25).proximal(v, 2.0).tolist() == [[2.5, -2.5, 0, 0], [0, pytest.approx(0.1), -0.5, 0.5]]
    assert L1(0.25).value(v).tolist() == [pytest.approx(1.725), pytest.approx(0.65)]


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_is_not_negative(weight: float) -> None:
    with pytest.raises(ScenarioError, match="weight"):
        L1(weight)


def test_a_step_is_positive() -> None:
    with pytest.raises(ProtocolError, match="step"):
        L1(1.0).proximal(np.ones((1, 1)), -1.0)
