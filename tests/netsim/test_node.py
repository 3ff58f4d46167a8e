"""What an agent makes of what it hears: every replica as if it travelled alone."""

import pydoc
from types import SimpleNamespace

import numpy as np
import pytest

from netsim.node import Exchange, together
from netsim.transcript.message import Message

REPLICAS = 9


def heard(values, replicas: slice) -> Exchange:
    """An exchange of `values`, (1 + degree, replicas, dimension), of which some replicas travel."""
    told, *messages = (
        Message(j, "exchange", 0, {"x": np.ascontiguousarray(value[replicas])}) for j, value in enumerate(values)
    )
    rng = np.random.default_rng(len(values))
    weights = rng.dirichlet(np.ones(len(values)))
    node = SimpleNamespace(neighbors=tuple(range(1, len(values))), weights=weights)
    return Exchange(node, told, messages)


@pytest.mark.parametrize("what", [lambda h: h.mix("x"), lambda h: h.sum("x")], ids=["mix", "sum"])
@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 8, 10, 13])
@pytest.mark.parametrize("degree", [1, 2, 3, 7, 10, 31])
def test_no_replica_feels_another(degree, dimension, what):
    values = np.random.default_rng(dimension).standard_normal((1 + degree, REPLICAS, dimension))
    together = what(heard(values, slice(None)))
    for first, last in [(0, 1), (4, 5), (8, 9), (0, 2), (5, 9), (1, 8)]:
        np.testing.assert_array_equal(what(heard(values, slice(first, last))), together[first:last])


@pytest.mark.parametrize("replicas", [1, REPLICAS])
def test_a_mix_is_the_weighted_sum_and_its_own_weight_comes_first(replicas):
    values = np.random.default_rng(0).standard_normal((6, replicas, 4))
    exchange = heard(values, slice(None))
    expected = np.einsum("j,jrc->rc", exchange._node.weights, values)
    assert exchange.mix("x").shape == (replicas, 4)
    np.testing.assert_allclose(exchange.mix("x"), expected, rtol=1e-13, atol=1e-15)


def test_a_sum_leaves_out_what_the_agent_told():
    values = np.random.default_rng(0).standard_normal((6, REPLICAS, 4))
    np.testing.assert_allclose(heard(values, slice(None)).sum("x"), values[1:].sum(axis=0), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "made",
    [np.ascontiguousarray, np.asfortranarray, lambda x: x[:, ::2], np.float32, lambda x: x.astype(object)],
    ids=["in order", "by columns", "with gaps", "float32", "objects"],
)
@pytest.mark.parametrize("place", [0, 2])
def test_vectors_are_put_together_however_they_lie(made, place):
    vectors = [made(x) for x in np.random.default_rng(0).standard_normal((4, 3, 6))]
    vectors[place] = np.ascontiguousarray(vectors[place])
    found = together(vectors)
    assert found.dtype == vectors[0].dtype
    np.testing.assert_array_equal(found, np.stack(vectors))
    found += 1  # nobody else's
    assert not np.shares_memory(found, vectors[0])


def test_its_help_is_of_the_port_and_not_of_numpy():
    shown = pydoc.plain(pydoc.render_doc("netsim.node"))
    assert "class Node(" in shown
    assert "∇f_i(x), PRIVATE" in shown
    assert "standard_gamma" not in shown
