"""What one norm says of another, and what an adjacency says of its gradients in each."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.algorithms.algorithm import Setting
from netsim.claims import ORDERS, SYMBOLS, Adjacency, Claim, Clip, length
from netsim.problems.objective import direction


@pytest.mark.parametrize("known", ORDERS)
@pytest.mark.parametrize("wanted", ORDERS)
def test_the_bound_in_another_norm_is_attained_and_never_exceeded(known, wanted):
    d, rng = 7, np.random.default_rng(0)
    v = np.concatenate([rng.standard_normal((200, d)), np.eye(d), np.ones((1, d))])
    ratio = length(v, wanted) / length(v, known)
    assert np.max(ratio) == pytest.approx(Adjacency.within(1.0, known, d, "").in_norm(wanted, d), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.sampled_from(sorted(ORDERS)), st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_an_adjacency_bounds_every_norm_of_what_it_allows(dimension, norm, change, seed):
    adjacency = Adjacency.within(change, norm, dimension, "moved")
    v = np.random.default_rng(seed).standard_normal((20, dimension))
    v *= change / length(v, norm)[:, None]
    for other in ORDERS:
        assert np.max(length(v, other)) <= adjacency.in_norm(other, dimension) * (1 + 1e-12)
    assert adjacency.gradient_change == adjacency.in_norm("l2", dimension)


def test_a_bound_in_l2_is_worth_what_it_was():
    adjacency = Adjacency(0.3, "one record")
    assert adjacency.in_norm("l1", 7) == math.sqrt(7) * 0.3
    assert adjacency.in_norm("l2", 7) == adjacency.in_norm("linf", 7) == 0.3


def test_directions_have_norm_one_in_every_norm():
    for norm in ORDERS:
        for name in ("even", "coordinate", "random"):
            assert length(direction(name, 9, 4, norm), norm) == pytest.approx(1.0, rel=1e-12)


def test_a_setting_is_loosened_by_what_a_bend_adds():
    setting = Setting(2, 3, (1.0, 2.0))
    assert setting.loosened(0.0) is setting
    assert setting.loosened(0.5).smoothness == (1.5, 2.5)


@pytest.mark.parametrize(("name", "symbol"), SYMBOLS.items())
def test_either_spelling_of_a_norm_is_the_same(name, symbol):
    assert Clip(1.0, symbol) == Clip(1.0, name)
    assert Clip(1.0, symbol).l1_bound(4) == Clip(1.0, name).l1_bound(4)
    one, other = (Claim(1.0, 0.0, "T", Adjacency(1.0, "moved"), norm) for norm in (name, symbol))
    assert one == other
    assert one.norm == symbol
