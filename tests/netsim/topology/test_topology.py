"""Graphs, their weights, and errors that say what is wrong with them."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from netsim.errors import ScenarioError
from netsim.topology import (
    DENSE_AGENTS,
    RULES,
    Topology,
    balanced_tree,
    barabasi_albert,
    complete,
    erdos_renyi,
    from_edges,
    from_file,
    from_graph,
    grid,
    hypercube,
    path,
    random_geometric,
    random_regular,
    random_tree,
    ring,
    star,
    torus,
    watts_strogatz,
)
from tests.worlds import refusal


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
def test_numpy_integers_make_the_same_graph_as_ints():
    """Streams are named by agents: an agent that prints as `np.int64(1)` would draw other delays."""
    topology = from_edges(3, np.array([[0, 1], [1, 2]]))
    numbers = [i for edge in topology.edges for i in edge] + [j for i in range(3) for j in topology.neighbors(i)]
    assert {type(i) for i in numbers} == {int}


def numbered(graph: nx.Graph) -> nx.Graph:
    """Nodes as 0 … n−1 in the order of their names (coordinates, bits)."""
    return nx.convert_node_labels_to_integers(graph, ordering="sorted")


def drawn(build, draw, *sizes, seeds=4):
    """A graph from each of several seeds, but for those that are disconnected; and networkx's."""
    for seed in range(seeds):
        graph = draw(seed)
        if nx.is_connected(graph):
            yield build(*sizes, seed=seed), graph


FAMILIES = [
    (from_edges(4, [(3, 0), (0, 1), (2, 0)]), nx.star_graph(3)), (ring(3), nx.cycle_graph(3)),
    (ring(8), nx.cycle_graph(8)), (complete(2), nx.complete_graph(2)), (complete(7), nx.complete_graph(7)),
    (path(2), nx.path_graph(2)), (path(9), nx.path_graph(9)), (star(2), nx.star_graph(1)),
    (star(6), nx.star_graph(5)), (grid(3, 4), numbered(nx.grid_2d_graph(3, 4))), (grid(5, 1), nx.path_graph(5)),
    (grid(1, 5), nx.path_graph(5)), (torus(3, 5), numbered(nx.grid_2d_graph(3, 5, periodic=True))),
    (torus(4, 3), numbered(nx.grid_2d_graph(4, 3, periodic=True))), (hypercube(1), nx.path_graph(2)),
    (hypercube(4), numbered(nx.hypercube_graph(4))), (balanced_tree(3, 2), nx.balanced_tree(3, 2)),
    (balanced_tree(1, 4), nx.path_graph(5)), (random_tree(30, seed=2), nx.random_labeled_tree(30, seed=2)),
    (watts_strogatz(30, 4, 0.2, seed=1), nx.watts_strogatz_graph(30, 4, 0.2, seed=1)),
    (barabasi_albert(40, 2, seed=3), nx.barabasi_albert_graph(40, 2, seed=3)),
    *drawn(random_regular, lambda seed: nx.random_regular_graph(3, 20, seed=seed), 20, 3),
    *drawn(random_regular, lambda seed: nx.random_regular_graph(7, 8, seed=seed), 8, 7),
    *drawn(random_regular, lambda seed: nx.random_regular_graph(60, 100, seed=seed), 100, 60, seeds=1),
    *drawn(random_regular, lambda seed: nx.random_regular_graph(6, 2_000, seed=seed), 2_000, 6, seeds=1),
    *drawn(erdos_renyi, lambda seed: nx.gnp_random_graph(30, 0.3, seed=seed), 30, 0.3),
    *drawn(erdos_renyi, lambda seed: nx.gnp_random_graph(9, 1.0, seed=seed), 9, 1.0),
    *drawn(erdos_renyi, lambda seed: nx.fast_gnp_random_graph(5_000, 0.004, seed=seed), 5_000, 0.004, seeds=1),
    *drawn(random_geometric, lambda seed: nx.random_geometric_graph(40, 0.4, seed=seed), 40, 0.4),
]  # fmt: skip


@pytest.mark.parametrize(("topology", "graph"), FAMILIES, ids=lambda x: getattr(x, "name", None) or "")
def test_families_are_those_of_networkx_link_for_link(topology, graph):
    assert topology.agents == graph.number_of_nodes()
    assert topology.edges == tuple(sorted((min(edge), max(edge)) for edge in graph.edges))
    assert topology.degrees == tuple(graph.degree[i] for i in range(topology.agents))
    assert topology.links == len(topology.edges)
    assert topology.pairs.tolist() == [list(edge) for edge in topology.edges]
    assert nx.utils.graphs_equal(topology.graph, nx.Graph(list(graph.edges)))
    assert list(topology.graph) == list(range(topology.agents))
    for key, place in nx.get_node_attributes(graph, "pos").items():
        assert topology.positions[key].tolist() == place
    if topology.agents <= 1_000:
        assert topology.diameter == nx.diameter(graph)
        there = [topology.has_edge(i, j) for i in range(topology.agents) for j in range(topology.agents)]
        assert there == nx.to_numpy_array(graph, nodelist=range(len(graph)), dtype=bool).ravel().tolist()


def test_a_sparse_matrix_is_a_graph():
    graph = erdos_renyi(20, 0.3, seed=4).graph
    for matrix in (
        nx.to_scipy_sparse_array(graph, nodelist=range(20)),
        nx.to_scipy_sparse_array(graph).tocoo() * -2.5,
    ):
        assert Topology(matrix).edges == Topology(graph).edges
        assert (Topology(matrix).mixing != Topology(graph).mixing).nnz == 0
    first = nx.to_scipy_sparse_array(graph, nodelist=range(20), format="csr")
    topology = Topology(first)
    first.data[:] = 0
    assert topology.adjacency.sum() == 2 * topology.links > 0  # a copy


@pytest.mark.parametrize(
    ("entries", "field", "said"),
    [
        ([[0, 1, 0], [1, 0, 1], [0, 0, 0]], "graph", "[1, 2]: it is directed: there is no entry back"),
        ([[0, 1, 0], [1, 0, 0]], "graph", "not a square matrix"),
        ([[0, 1], [1, 2]], "graph", "self-loop"),
        ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], "topology", "2 components, {0, 1} | {2}"),
        ([[0]], "agents", "at least two agents"),
    ],
)
def test_a_sparse_matrix_that_is_no_network(entries, field, said):
    error = refusal(Topology, csr_array(np.array(entries, dtype=float)))
    assert error.field == field
    assert said in str(error)


@pytest.mark.parametrize(("agents", "links"), [(6, 15), (10, 9), (100, 200)])
def test_a_random_graph_has_as_many_links_as_it_is_told(agents, links):
    assert len(erdos_renyi(agents, links=links, seed=2 if agents == 10 else 1).edges) == links


def test_who_is_not_there_has_no_link():
    assert not ring(4).has_edge(0, 4)
    assert not ring(4).has_edge(-1, 0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: random_tree(30, seed), lambda seed: random_regular(30, 4, seed),
        lambda seed: watts_strogatz(30, 4, 0.5, seed), lambda seed: barabasi_albert(30, 2, seed),
        lambda seed: erdos_renyi(5_000, 0.004, seed), lambda seed: erdos_renyi(30, seed=seed, links=60),
        lambda seed: random_geometric(20, 0.6, 2 * seed - 1),
    ],
)  # fmt: skip
def test_a_seed_is_a_graph(draw):
    assert draw(1).edges == draw(1).edges
    assert draw(1).edges != draw(2).edges


@pytest.mark.parametrize(
    ("draw", "remedy"),
    [
        (lambda: erdos_renyi(100, 0.001), r"ln\(n\)/n = 0.0461"),
        (lambda: random_geometric(100, 0.01), r"radius well above .* = 0.121"),
        (lambda: random_regular(20, 1), "degree of 3 or more"),
        (lambda: erdos_renyi(200, links=210), r"n ln\(n\)/2 = 530"),
        (lambda: watts_strogatz(200, 2, 1.0), "more nearest"),
    ],
)
def test_a_disconnected_draw_lists_its_parts_and_says_what_helps(draw, remedy):
    with pytest.raises(ScenarioError, match=rf"components, \{{0.*allowed: another seed, or .*{remedy}") as caught:
        draw()
    assert caught.value.field == "topology"


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────
@given(connected_graphs())
def test_graphs_survive_files(tmp_path_factory, graph):
    folder = tmp_path_factory.mktemp("graphs")
    nx.write_graphml(graph, folder / "a.graphml")
    nx.write_edgelist(graph, folder / "a.edges")  # with a column of attributes
    for name in ("a.graphml", "a.edges"):
        again = from_file(folder / name)
        assert again.edges == Topology(graph).edges
        assert again.labels == tuple(map(str, range(len(graph))))


def test_names_stay_as_labels(tmp_path):
    graph = nx.Graph([("Zoë", "Ada"), ("Ada", "Bob"), ("Bob", "Zoë"), ("Bob", "Cy")])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    (tmp_path / "g.links").write_text("# friends\nZoë Ada 3.5\n\nAda\tBob # old\nBob Zoë\nZoë Bob\nBob Cy\n", "utf-8")
    (tmp_path / "named.csv").write_text("from,to,km\nZoë,Ada,3.5\n\nAda,Bob\n# old\nBob,Zoë\nBob,Cy\n", "utf-8")
    (tmp_path / "bare.csv").write_text("Zoë; Ada\nAda;Bob\nBob;Zoë\nBob;Cy\n", "utf-8")
    for topology in (
        from_file(tmp_path / "g.graphml"),
        from_file(tmp_path / "g.links", "edges"),
        from_file(tmp_path / "named.csv"),
        from_file(tmp_path / "bare.csv"),
        from_graph(nx.MultiGraph([*graph.edges, ("Ada", "Zoë")])),
    ):
        assert topology.labels == ("Zoë", "Ada", "Bob", "Cy")
        assert topology.edges == ((0, 1), (0, 2), (1, 2), (2, 3))
        assert topology.weights[2, 3] == 1 / 4


def test_a_path_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "two.txt").write_text("1 0\n")
    monkeypatch.chdir(tmp_path)
    assert from_file("two.txt", weights="lazy_metropolis").edges == ((0, 1),)


@pytest.mark.parametrize(
    ("name", "text", "field", "said"),
    [
        ("g.edges", "a b\nc\n", "path", "line 2: 'c' is no link"),
        ("g.csv", "a,b\n\nb,\n", "path", "line 3: 'b,' is no link"),
        ("g.edges", "a b\nc d\n", "topology", "2 components, {a, b} | {c, d}"),
        ("g.edges", "a b 0.5\nb c {'w': 2}\nc x y z\n", "path", "line 3: 'y z' after the two names of a link"),
        ("g.edges", "a b\nb b\n", "path", "line 2: 'b' twice: an agent is not its own neighbor"),
        ("g.edges", "", "path", "has no link"),
        ("g.graph", "a b\n", "format", "does not say what it is"),
        ("g.graphml", "<graphml", "path", "not valid GraphML"),
        ("g.graphml", "<graphml></graphml>", "path", "not valid GraphML"),
        ("g.graphml", "\n".join(nx.generate_graphml(nx.DiGraph([(0, 1)]))), "path", "directed"),
        ("g.graphml", None, "path", "no such file"),
    ],
)
def test_files_that_are_no_network(tmp_path, name, text, field, said):
    if text is not None:
        (tmp_path / name).write_text(text)
    error = refusal(from_file, tmp_path / name)
    assert error.field == field
    assert said in str(error)


# ── weights ─────────────────────────────────────────────────────────────────────────────────────────────
def laplacian(graph) -> np.ndarray:
    return nx.laplacian_matrix(graph, nodelist=range(len(graph))).toarray().astype(float)


def modulus(W) -> float:
    """‖W − 11ᵀ/n‖₂ for symmetric W with W1 = 1: the second largest |eigenvalue|."""
    return float(np.linalg.norm(W - 1 / len(W), 2))


@given(connected_graphs(), st.sampled_from(sorted(RULES)))
def test_every_rule_keeps_the_mean_and_settles_or_is_refused(graph, rule):
    regular = len({d for _, d in graph.degree}) == 1
    if (rule == "uniform" and not regular) or (rule == "max_degree" and regular and nx.is_bipartite(graph)):
        with pytest.raises(ScenarioError, match=rule):
            Topology(graph, weights=rule)
        return
    topology = Topology(graph, weights=rule)
    W = topology.weights
    assert topology.weighting == rule
    assert np.allclose(W.sum(axis=0), 1, atol=1e-14)
    assert np.allclose(W.sum(axis=1), 1, atol=1e-14)
    assert (W == W.T).all()
    assert W.min() >= 0 or (rule == "best_constant" and (W - np.diag(np.diag(W))).min() >= 0)
    assert topology.spectral_gap == pytest.approx(1 - modulus(W), abs=1e-12)
    assert modulus(W) < 1 - 1e-9
    d, edges = dict(graph.degree), topology.edges
    formula = {
        "metropolis": lambda i, j: 1 / (1 + max(d[i], d[j])),
        "lazy_metropolis": lambda i, j: 1 / (2 * max(d[i], d[j])),
        "uniform": lambda i, j: 1 / (1 + d[i]),
        "max_degree": lambda i, j: 1 / max(d.values()),
        "best_constant": lambda i, j: 2 / np.linalg.eigvalsh(laplacian(graph))[[1, -1]].sum(),
    }[rule]
    assert all(W[i, j] == pytest.approx(formula(i, j), rel=1e-12) for i, j in edges)
    assert np.count_nonzero(W - np.diag(np.diag(W))) == 2 * len(edges)
    if rule == "lazy_metropolis":
        assert np.diag(W).min() >= 0.5 - 1e-15
        assert np.linalg.eigvalsh(W).min() >= -1e-12


@pytest.mark.slow
@given(connected_graphs())
def test_the_best_constant_is_the_best_of_a_scan(graph):
    best = Topology(graph, weights="best_constant")
    L = laplacian(graph)
    scan = [modulus(np.eye(len(L)) - constant * L) for constant in np.linspace(0.01, 1.2, 120)]
    assert 1 - best.spectral_gap <= min(scan) + 1e-12


def test_uniform_weights_are_refused_where_degrees_differ():
    with pytest.raises(ScenarioError, match=r"degrees are 1 … 3, and column 0 of .* sums to 1.75") as caught:
        star(4, weights="uniform")
    assert caught.value.field == "weights"


def test_maximum_degree_weights_that_would_swing_for_ever_are_refused():
    for swinging in (lambda w: ring(6, weights=w), lambda w: hypercube(3, weights=w), lambda w: path(2, weights=w)):
        with pytest.raises(ScenarioError, match="eigenvalue −1"):
            swinging("max_degree")
    n = 7
    assert ring(n, weights="max_degree").spectral_gap == pytest.approx(1 - math.cos(math.pi / n))


@given(connected_graphs(), st.floats(0, 0.99))
def test_lazy_weights_are_between_the_rule_s_and_the_agents_own(graph, share):
    plain = Topology(graph)
    lazy = plain.lazy(share)
    assert np.allclose(lazy.weights, (1 - share) * plain.weights + share * np.eye(plain.agents), atol=1e-15)
    assert (lazy.labels, lazy.edges) == (plain.labels, plain.edges)


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan])
def test_a_share_of_an_agent_s_own_leaves_something_to_others(share):
    with pytest.raises(ScenarioError, match="laziness"):
        ring(4).lazy(share)


def test_a_rule_that_is_misspelt():
    with pytest.raises(ScenarioError, match=r"did you mean 'metropolis'.*lazy_metropolis, uniform"):
        ring(4, weights="metropolys")


@pytest.mark.slow
@given(connected_graphs(), st.sampled_from(["metropolis", "lazy_metropolis"]))
def test_rows_are_the_dense_matrix_to_the_last_bit(graph, rule):
    topology = Topology(graph, weights=rule)
    for i in range(topology.agents):
        assert (topology.row(i) == topology.weights[i, [i, *topology.neighbors(i)]]).all()


@given(connected_graphs(), st.randoms())
def test_weights_do_not_depend_on_how_agents_are_numbered(graph, random):
    order = list(range(len(graph)))
    random.shuffle(order)
    other = Topology(nx.relabel_nodes(graph, dict(enumerate(order))))
    assert (other.weights[np.ix_(order, order)] == Topology(graph).weights).all()


def test_given_weights_are_kept_dense_or_sparse():
    W = np.array([[0.7, 0.3, 0.0, 0.0], [0.3, 0.5, 0.2, 0.0], [0.0, 0.2, 0.8, 0.0], [0.0, 0.0, 0.0, 1.0]])
    for form in (np.array, csr_array):
        topology = Topology(nx.path_graph(4), weights=form(W))
        assert topology.weighting == "given"
        assert (topology.weights == W).all()
        assert topology.row(2).tolist() == [0.8, 0.2, 0.0]  # a link of weight 0 is still a link
        assert topology.spectral_gap == pytest.approx(0, abs=1e-15)


def test_weights_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        ring(3).weights[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        ring(3).mixing.data[0] = 2.0


# ── large graphs ────────────────────────────────────────────────────────────────────────────────────────
def test_a_large_graph_has_no_dense_matrix_but_all_else():
    topology = random_regular(DENSE_AGENTS, 4, seed=1)
    with pytest.raises(ScenarioError, match=r"0\.8 GB.*Topology\.row"):
        _ = topology.weights
    assert topology.row(7).tolist() == pytest.approx([0.2] * 5)
    assert len(topology.neighbors(7)) == 4
    # Friedman 2008: λ_2 of the adjacency matrix is close to 2√3, and no random graph is much better
    assert topology.algebraic_connectivity == pytest.approx(4 - 2 * math.sqrt(3), abs=0.02)
    assert topology.spectral_gap == pytest.approx(topology.algebraic_connectivity / 5, rel=1e-9)


@pytest.mark.few("topology2-0.0003333333333333333-1.0")
@pytest.mark.parametrize(
    ("topology", "gap", "connectivity"),
    [
        (ring(20_000), 4 / 3 * math.sin(math.pi / 20_000) ** 2, 4 * math.sin(math.pi / 20_000) ** 2),
        (grid(100, 120), None, 4 * math.sin(math.pi / 240) ** 2),
        (star(3_000), 1 / 3_000, 1.0),
        (hypercube(11), 2 / 12, 2.0),
        (torus(40, 40), 4 / 5 * math.sin(math.pi / 40) ** 2, 4 * math.sin(math.pi / 40) ** 2),
        (complete(600), 1.0, 600.0),
    ],
)
def test_sparse_spectra_against_closed_forms(topology, gap, connectivity):
    """20,000 agents on a ring: a gap of 3·10⁻⁸, to seven digits, where 1/(1 + 2) has sixteen."""
    assert gap is None or topology.spectral_gap == pytest.approx(gap, rel=1e-7)
    assert topology.algebraic_connectivity == pytest.approx(connectivity, rel=1e-9)


SPARSE = [
    barabasi_albert(600, 2), random_tree(700), watts_strogatz(800, 4, 0.05), star(600, weights="best_constant"),
    ring(601, weights="max_degree"), ring(600, weights="best_constant"), grid(20, 40, weights="best_constant"),
    random_tree(600, weights="max_degree"), path(513, weights="lazy_metropolis"),
]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("topology", "restarts"), [*((one, 60) for one in SPARSE), *((one, 1) for one in (SPARSE[1], SPARSE[5]))]
)
def test_sparse_spectra_against_dense_ones(topology, restarts, monkeypatch):
    monkeypatch.setattr("netsim.topology.graph.RESTARTS", restarts)
    fresh = Topology(topology.graph, weights=topology.weighting)
    assert fresh.spectral_gap == pytest.approx(1 - modulus(topology.weights), rel=1e-6, abs=1e-12)
    L = laplacian(topology.graph)
    assert fresh.algebraic_connectivity == pytest.approx(np.linalg.eigvalsh(L)[1], rel=1e-7, abs=1e-11)
    assert fresh.largest_laplacian_eigenvalue == pytest.approx(np.linalg.eigvalsh(L)[-1], rel=1e-10)


# ── spectra ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kept", [0.9, 0.1])
def test_the_gap_of_given_weights(kept):
    weights = np.array([[kept, 1 - kept], [1 - kept, kept]])
    assert Topology(nx.path_graph(2), weights=weights).spectral_gap == pytest.approx(0.2)


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
    error = refusal(from_edges, 30, [(0, i) for i in range(1, 20)])
    assert "11 components, {0, 1, 2, 3, 4, 5, …} | {20} | {21} | {22} | …" in str(error)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: ring(2), "agents"), (lambda: complete(1), "agents"), (lambda: path(1), "agents"),
        (lambda: star(1), "agents"), (lambda: from_edges(1, []), "agents"),
        (lambda: erdos_renyi(5, 0.0), "probability"), (lambda: erdos_renyi(5, 1.5), "probability"),
        (lambda: random_geometric(5, 0.0), "radius"), (lambda: from_edges(3, [(0, 1), (1, 3)]), "edges[1]"),
        (lambda: from_edges(3, [(0, 1), (1, -1)]), "edges[1]"),
        (lambda: from_edges(3, [(0, 1), (1, 2), (1, 0)]), "edges[2]"),
        (lambda: from_edges(2, [(0, 1), (1, 1)]), "graph"),
        (lambda: from_edges(3, [(0, 1, 1), (2, 0, 1)]), "edges"),
        (lambda: from_edges(3, [(0, 1), (1, 2, 1)]), "edges"),
        (lambda: from_edges(3, np.array([0, 1, 1, 2])), "edges"), (lambda: Topology(nx.Graph([(1, 2)])), "graph"),
        (lambda: Topology(nx.Graph([("a", "b")])), "graph"), (lambda: Topology(nx.DiGraph([(0, 1)])), "graph"),
        (lambda: Topology(nx.MultiGraph([(0, 1), (0, 1)])), "graph"),
        (lambda: from_graph(nx.DiGraph([(0, 1)])), "graph"), (lambda: from_graph(nx.Graph([(1, "1")])), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a"]), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a", ""]), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a", " b"]), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a", "b → c"]), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a", "b\nc"]), "labels"),
        (lambda: from_graph(nx.Graph([("a", "b\x1b[31m")])), "labels"),
        (lambda: Topology(nx.path_graph(2), labels=["a", "a"]), "labels"),
        (lambda: ring(5, weights="metropolitan"), "weights"), (lambda: grid(0, 3), "rows"),
        (lambda: grid(1, 1), "columns"), (lambda: torus(2, 3), "rows"), (lambda: torus(3, 2), "columns"),
        (lambda: hypercube(0), "dimension"), (lambda: hypercube(40), "dimension"),
        (lambda: balanced_tree(0, 2), "branching"), (lambda: balanced_tree(2, 0), "height"),
        (lambda: balanced_tree(10, 9), "height"), (lambda: random_tree(1), "agents"),
        (lambda: random_tree(4, seed=-1), "seed"), (lambda: random_regular(5, 3), "degree"),
        (lambda: random_regular(5, 0), "degree"), (lambda: random_regular(4, 4), "degree"),
        (lambda: watts_strogatz(6, 3, 0.1), "nearest"), (lambda: watts_strogatz(6, 0, 0.1), "nearest"),
        (lambda: watts_strogatz(6, 6, 0.1), "nearest"), (lambda: watts_strogatz(6, 2, 1.1), "probability"),
        (lambda: barabasi_albert(5, 0), "attach"), (lambda: barabasi_albert(5, 5), "attach"),
        (lambda: complete(4000), "agents"), (lambda: erdos_renyi(10**6, 0.5), "probability"),
        (lambda: random_geometric(10**6, 1.0), "radius"), (lambda: random_geometric(5, math.nan), "radius"),
        (lambda: Topology(nx.empty_graph(1)), "agents"),
    ],
)  # fmt: skip
def test_what_is_no_network_is_a_scenario_error(make, field):
    assert refusal(make).field == field


@pytest.mark.parametrize(
    ("weights", "field", "value", "problem"),
    [
        (np.full((2, 2), 0.5), "weights", (2, 2), "wrong shape"),
        ([[0.5, 0.25, 0.25], [0.25, 0.75, 0], [0.25, 0, 0.75]], "weights[0][2]", [0, 2], "no edge"),
        ([[0.5, 0.4, 0], [0.4, 0.3, 0.3], [0, 0.3, 0.7]], "weights[0]", 0.9, "doubly stochastic: row 0 sums to 0.9"),
        ([[0.6, 0.4, 0], [0.6, 0.1, 0.3], [0, 0.3, 0.7]], "weights", 1.2, "doubly stochastic: column 0 sums to 1.2"),
        ([[1.5, -0.5, 0], [-0.5, 1.0, 0.5], [0, 0.5, 0.5]], "weights[0][1]", -0.5, "not doubly stochastic: neg"),
        (
            [[math.nan, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], "weights[0][0]", None,
            "not doubly stochastic: not a num",
        ),
        ([[math.inf, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], "weights[0]", math.inf, "row 0 sums to inf"),
        (0.5 * np.eye(3) + 0.5 * np.roll(np.eye(3), 1, axis=1), "weights[0][1]", 0.5, "not symmetric"),
        ([[0.5, 0.5 - 1e-6, 0], [0.5 - 1e-6, 0.3, 0.2], [0, 0.2, 0.8]], "weights[0]", 1 - 1e-6, "sums to 0.999999"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_weights_that_are_not_a_mixing_on_the_graph_are_rejected(weights, field, value, problem, form):
    with pytest.raises(ScenarioError, match=problem) as caught:
        Topology(nx.path_graph(3), weights=form(weights))
    assert caught.value.field == field
    assert value is None or caught.value.value == pytest.approx(value, rel=1e-12)
