"""Topologies of a scenario file: each kind is its builder, and what is wrong is said at its line."""

import networkx as nx
import numpy as np
import pytest

from netsim import topology
from netsim.errors import ScenarioError
from scenarios.schema.load import parse
from scenarios.stages.runner import checked

FILE = """\
name: small
problem: {{kind: ridge, data: {{name: synthetic, kind: regression, records: 200, dimension: 2}}}}
topology: {{{topology}}}
algorithms:
  - {{kind: recal, activations: 5}}
"""


def network(text: str) -> topology.Topology:
    """The topology of a file; errors come with their line."""
    return checked(parse(FILE.format(topology=text), "small.yaml")).topology


KINDS = {
    "kind: ring, agents: 5": topology.ring(5),
    "kind: complete, agents: 4": topology.complete(4),
    "kind: path, agents: 4": topology.path(4),
    "kind: star, agents: 4": topology.star(4),
    "kind: grid, rows: 3, columns: 4": topology.grid(3, 4),
    "kind: torus, rows: 3, columns: 4": topology.torus(3, 4),
    "kind: hypercube, dimension: 3": topology.hypercube(3),
    "kind: balanced_tree, branching: 2, height: 3": topology.balanced_tree(2, 3),
    "kind: random_tree, agents: 9, seed: 3": topology.random_tree(9, 3),
    "kind: random_regular, agents: 8, degree: 3, seed: 3": topology.random_regular(8, 3, 3),
    "kind: erdos_renyi, agents: 8, probability: 0.6, seed: 3": topology.erdos_renyi(8, 0.6, 3),
    "kind: erdos_renyi, agents: 8, links: 12, seed: 3": topology.erdos_renyi(8, seed=3, links=12),
    "kind: watts_strogatz, agents: 9, nearest: 4, probability: 0.5, seed: 3": topology.watts_strogatz(9, 4, 0.5, 3),
    "kind: barabasi_albert, agents: 9, attach: 2, seed: 3": topology.barabasi_albert(9, 2, 3),
    "kind: random_geometric, agents: 9, radius: 0.8, seed: 3": topology.random_geometric(9, 0.8, 3),
    "kind: edges, agents: 3, edges: [[0, 1], [1, 2]]": topology.from_edges(3, [(0, 1), (1, 2)]),
}


@pytest.mark.parametrize("weights", ["metropolis", "lazy_metropolis"])
@pytest.mark.parametrize(("text", "expected"), KINDS.items())
def test_each_kind_is_its_builder(text, expected, weights):
    built = network(f"{text}, weights: {weights}")
    assert (built.name, built.edges, built.weighting) == (expected.name, expected.edges, weights)
    assert built.agents == expected.agents
    assert np.array_equal(built.weights, topology.Topology(expected.graph, weights=weights).weights)


def test_each_builder_has_a_kind():
    kinds = {text.split(",")[0].removeprefix("kind: ") for text in KINDS}
    assert kinds | {"file"} == set(topology.BUILDERS)


def test_a_matrix_in_the_file():
    built = network("kind: path, agents: 3, weights: [[0.5, 0.5, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]]")
    assert built.weights.tolist() == [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]


def test_lazy_weights_in_the_file():
    built = network("kind: ring, agents: 6, laziness: 0.85")
    assert np.allclose(np.diag(built.weights), 0.9)
    assert built.weights[0, 1] == pytest.approx(0.05)


def test_a_graph_from_a_file(tmp_path, monkeypatch):
    nx.write_graphml(nx.Graph([("Ada", "Bob"), ("Bob", "Cy")]), tmp_path / "friends.graphml")
    (tmp_path / "friends.links").write_text("Ada Bob\nBob Cy\n")
    monkeypatch.chdir(tmp_path)
    for text in ("path: friends.graphml", "path: friends.links, format: edges"):
        built = network(f"kind: file, {text}, weights: best_constant")
        assert built.labels == ("Ada", "Bob", "Cy")
        assert built.edges == ((0, 1), (1, 2))
        assert built.weights[0, 1] == pytest.approx(0.5)  # λ = 0, 1, 3


@pytest.mark.parametrize(
    ("text", "field", "value", "said"),
    [
        ("kind: grid, rows: 3", "topology.columns", None, "missing"),
        ("kind: grid, rows: 3, column: 4", "topology.column", 4, "did you mean 'columns'"),
        ("kind: grid, rows: 3, columns: 1001", "topology.columns", 1001, "<= 1000"),
        ("kind: grid, rows: 1, columns: 1", "topology.columns", 1, ">= 2"),
        ("kind: torus, rows: 2, columns: 4", "topology.rows", 2, ">= 3"),
        ("kind: hypercube, dimension: 17", "topology.dimension", 17, "<= 16"),
        ("kind: balanced_tree, branching: 1000, height: 9", "topology.height", 9, "links"),
        ("kind: random_tree, agents: 1", "topology.agents", 1, ">= 2"),
        ("kind: ring, agents: 1000001", "topology.agents", 1000001, "<= 1000000"),
        ("kind: complete, agents: 5000", "topology.agents", 5000, "up to 5,000,000 links"),
        ("kind: random_regular, agents: 5, degree: 3", "topology.degree", 3, "an even product"),
        ("kind: random_regular, agents: 4, degree: 4", "topology.degree", 4, "<= 3"),
        ("kind: random_regular, agents: 20, degree: 1", "topology", None, "10 components, {0, "),
        ("kind: watts_strogatz, agents: 9, nearest: 3, probability: 0.1", "topology.nearest", 3, "even, 2 … 8"),
        ("kind: watts_strogatz, agents: 9, nearest: 2, probability: 1.1", "topology.probability", 1.1, "<= 1"),
        ("kind: barabasi_albert, agents: 4, attach: 4", "topology.attach", 4, "1 … 3"),
        ("kind: erdos_renyi, agents: 9, probability: 0.01", "topology", None, "another seed, or a probability"),
        ("kind: erdos_renyi, agents: 9, probability: 0.5, seed: -1", "topology.seed", -1, ">= 0"),
        ("kind: edges, agents: 4, edges: [[0, 1], [2, 3]]", "topology", None, "2 components, {0, 1} | {2, 3}"),
        ("kind: file, path: nowhere.graphml", "topology.path", "nowhere.graphml", "no readable file"),
        ("kind: file, path: nowhere", "topology.format", "auto", "allowed: graphml, edges"),
        ("kind: file, path: ''", "topology.path", "", "text that is not empty"),
        ("kind: ring, agents: 4, weights: metropole", "topology.weights", "metropole", "'metropolis', 'lazy_me"),
        ("kind: star, agents: 4, weights: uniform", "topology.weights", "uniform", "column 0"),
        ("kind: ring, agents: 4, weights: max_degree", "topology.weights", "max_degree", "eigenvalue −1"),
        ("kind: path, agents: 2, weights: [[0.5, 0.5], [0.5, 0.4]]", "topology.weights[1]", 0.9, "row 1 sums to 0.9"),
        ("kind: path, agents: 2, weights: [[0.5, 0.5], [0.5]]", "topology.weights[1]", 1, "2 weights"),
        ("kind: path, agents: 2, weights: [[1.5, -0.5], [-0.5, 1.5]]", "topology.weights[0][0]", 1.5, "<= 1"),
        ("kind: path, agents: 2, weights: [[1.0]]", "topology.weights", (1, 1), "wrong shape"),
        ("kind: path, agents: 2, weights: []", "topology.weights", (0, 0), "wrong shape"),
    ],
)  # fmt: skip
def test_one_clear_message(text, field, value, said):
    with pytest.raises(ScenarioError) as caught:
        network(text)
    error = caught.value
    assert (error.field, error.line) == (field, 3)
    assert value is None or error.value == value
    first = str(error).partition("\n")[0]
    assert first.startswith(f"small.yaml:3: {field}" + (" = " if said != "missing" else ": "))
    assert said in first


def test_the_line_of_a_row_of_weights_is_its_own():
    rows = "kind: path, agents: 2, weights: [\n    [0.5, 0.5],\n    [0.5, 0.4]]"
    with pytest.raises(ScenarioError, match=r"row 1 sums to 0\.9") as caught:
        network(rows)
    assert caught.value.line == 5
