"""Graphs, their weights, and errors that say what is wrong with them."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netsim.errors import ScenarioError
from netsim.topology import (
    BUILDERS,
    Topology,
    complete,
    erdos_renyi,
    from_edges,
    path,
    random_geometric,
    ring,
    star,
)


@st.composite
def connected_graphs(draw):
    """A random spanning tree and random further edges, numbered at random."""
    n = draw(st.integers(2, 12))
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    order = draw(st.permutations(range(n)))
    for k in range(1, n):
        graph.add_edge(order[k], order[draw(st.integers(0, k - 1))])
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    graph.add_edges_from(draw(st.lists(pairs, max_size=20)))
    return graph


@given(connected_graphs())
def test_metropolis_weights_are_doubly_stochastic_symmetric_and_on_edges_only(graph):
    W = Topology(graph).weights
    n = len(W)
    assert np.allclose(W.sum(axis=0), 1, atol=1e-14)
    assert np.allclose(W.sum(axis=1), 1, atol=1e-14)
    assert (W.T == W).all()
    assert (np.diag(W) > 0).all()
    for i in range(n):
        for j in range(n):
            if i != j:
                degree = max(graph.degree[i], graph.degree[j])
                assert W[i, j] == (1 / (1 + degree) if graph.has_edge(i, j) else 0)


@given(connected_graphs(), st.integers(0, 2**32))
def test_mixing_keeps_the_mean_and_contracts_to_it_by_the_gap(graph, seed):
    topology = Topology(graph)
    x = np.random.default_rng(seed).normal(size=(topology.agents, 3))
    mixed = topology.weights @ x
    assert np.allclose(mixed.mean(axis=0), x.mean(axis=0))
    before, after = np.linalg.norm(x - x.mean(axis=0)), np.linalg.norm(mixed - x.mean(axis=0))
    assert 0 < topology.spectral_gap <= 1 + 1e-12
    assert after <= (1 - topology.spectral_gap) * before + 1e-12


@given(connected_graphs())
def test_neighbors_and_edges_agree(graph):
    topology = Topology(graph)
    assert list(topology.edges) == sorted(topology.edges)
    assert all(i < j for i, j in topology.edges)
    for i in range(topology.agents):
        neighbors = topology.neighbors(i)
        assert list(neighbors) == sorted(set(neighbors))
        assert set(neighbors) == {a + b - i for a, b in topology.edges if i in (a, b)}


# ── builders ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("topology", "edges"),
    [
        (ring(4), ((0, 1), (0, 3), (1, 2), (2, 3))),
        (complete(3), ((0, 1), (0, 2), (1, 2))),
        (path(4), ((0, 1), (1, 2), (2, 3))),
        (star(4), ((0, 1), (0, 2), (0, 3))),
        (from_edges(4, [(3, 0), (0, 1), (2, 0), (1, 0)]), ((0, 1), (0, 2), (0, 3))),
        (erdos_renyi(3, 1.0), ((0, 1), (0, 2), (1, 2))),
        (random_geometric(3, 2.0), ((0, 1), (0, 2), (1, 2))),
    ],
)
def test_builders_build_what_they_say(topology, edges):
    assert topology.edges == edges


def test_random_builders_depend_on_their_seed_only():
    assert erdos_renyi(20, 0.4, seed=1).edges == erdos_renyi(20, 0.4, seed=1).edges
    assert erdos_renyi(20, 0.4, seed=1).edges != erdos_renyi(20, 0.4, seed=2).edges
    assert random_geometric(20, 0.6, seed=1).edges == random_geometric(20, 0.6, seed=1).edges
    assert random_geometric(20, 0.6, seed=1).edges != random_geometric(20, 0.6, seed=3).edges


def test_every_builder_is_listed_under_its_name():
    assert {name: f.__name__ for name, f in BUILDERS.items()} == {
        "ring": "ring", "complete": "complete", "path": "path", "star": "star", "erdos_renyi": "erdos_renyi",
        "random_geometric": "random_geometric", "edges": "from_edges",
    }  # fmt: skip


def test_numpy_integers_make_the_same_graph_as_ints():
    """Streams are named by agents: an agent that prints as `np.int64(1)` would draw other delays."""
    topology = from_edges(3, np.array([[0, 1], [1, 2]]))
    numbers = [i for edge in topology.edges for i in edge] + [j for i in range(3) for j in topology.neighbors(i)]
    assert {type(i) for i in numbers} == {int}


# ── spectra ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_complete_graph_mixes_in_one_step(n):
    assert (complete(n).weights == pytest.approx(np.full((n, n), 1 / n))) is True
    assert complete(n).spectral_gap == pytest.approx(1.0)


@pytest.mark.parametrize("n", [4, 5, 8, 31])
def test_the_gap_of_a_ring(n):
    """W = (I + P + Pᵀ)/3 has eigenvalues (1 + 2cos 2πk/n)/3; the second largest magnitude is k = 1's."""
    assert ring(n).spectral_gap == pytest.approx(1 - (1 + 2 * math.cos(2 * math.pi / n)) / 3)


def test_the_gap_of_given_weights():
    graph = nx.path_graph(2)
    assert Topology(graph, weights=np.array([[0.9, 0.1], [0.1, 0.9]])).spectral_gap == pytest.approx(0.2)
    assert Topology(graph, weights=np.array([[0.1, 0.9], [0.9, 0.1]])).spectral_gap == pytest.approx(0.2)


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_disconnected_graph_names_its_components():
    with pytest.raises(ScenarioError, match="disconnected") as caught:
        from_edges(6, [(0, 1), (2, 4)])
    assert caught.value.field == "topology"
    assert "4 components, {0, 1} | {2, 4} | {3} | {5}" in str(caught.value)


@given(connected_graphs(), connected_graphs())
def test_two_graphs_side_by_side_are_never_accepted(one, other):
    both = nx.disjoint_union(one, other)
    with pytest.raises(ScenarioError, match="2 components"):
        Topology(both)


def test_long_components_are_cut_short():
    with pytest.raises(ScenarioError) as caught:
        from_edges(30, [(0, i) for i in range(1, 20)])
    assert "11 components, {0, 1, 2, 3, 4, 5, …} | {20} | {21} | {22} | …" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: ring(2), "agents"),
        (lambda: complete(1), "agents"),
        (lambda: path(1), "agents"),
        (lambda: star(1), "agents"),
        (lambda: from_edges(1, []), "agents"),
        (lambda: erdos_renyi(5, 0.0), "probability"),
        (lambda: erdos_renyi(5, 1.5), "probability"),
        (lambda: random_geometric(5, 0.0), "radius"),
        (lambda: from_edges(3, [(0, 1), (1, 3)]), "edges[1]"),
        (lambda: from_edges(3, [(0, 1), (1, -1)]), "edges[1]"),
        (lambda: from_edges(2, [(0, 1), (1, 1)]), "graph"),
        (lambda: Topology(nx.Graph([(1, 2)])), "graph"),
        (lambda: Topology(nx.empty_graph(1)), "agents"),
    ],
)
def test_what_is_no_network_is_a_scenario_error(make, field):
    with pytest.raises(ScenarioError) as caught:
        make()
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (np.full((2, 2), 0.5), "wrong shape"),
        ([[0.5, 0.25, 0.25], [0.25, 0.75, 0], [0.25, 0, 0.75]], "no edge"),
        ([[0.5, 0.4, 0], [0.4, 0.3, 0.3], [0, 0.3, 0.7]], "not doubly stochastic"),
        ([[1.5, -0.5, 0], [-0.5, 1.0, 0.5], [0, 0.5, 0.5]], "not doubly stochastic"),
        ([[math.nan, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], "not doubly stochastic"),
    ],
)
def test_weights_that_are_not_a_mixing_on_the_graph_are_rejected(weights, problem):
    with pytest.raises(ScenarioError, match=problem) as caught:
        Topology(nx.path_graph(3), weights=np.array(weights))
    assert caught.value.field == "weights"


def test_weights_that_are_not_symmetric_are_rejected():
    around = 0.5 * np.eye(3) + 0.5 * np.roll(np.eye(3), 1, axis=1)
    with pytest.raises(ScenarioError, match="not symmetric"):
        Topology(nx.complete_graph(3), weights=around)


def test_weights_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        ring(3).weights[0, 0] = 2.0


@given(connected_graphs(), st.data())
def test_a_weight_where_there_is_no_edge_is_named(graph, data):
    n = graph.number_of_nodes()
    missing = [(i, j) for i in range(n) for j in range(i) if not graph.has_edge(i, j)]
    assume(missing)
    i, j = data.draw(st.sampled_from(missing))
    W = np.eye(n)
    W[i, i] = W[j, j] = W[i, j] = W[j, i] = 0.5
    with pytest.raises(ScenarioError, match="no edge") as caught:
        Topology(graph, weights=W)
    assert sorted(caught.value.value) == [j, i]
