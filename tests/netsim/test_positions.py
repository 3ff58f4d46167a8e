"""Where agents are: every family with places, places of one's own, places from files, and who has none."""

import math

import networkx as nx
import numpy as np
import pytest

from netsim.adversary import Within
from netsim.topology import Topology, from_edges, from_file, from_graph, grid, path, ring, torus
from tests.worlds import refusal


def test_neighbors_on_a_sheet_and_a_line_are_one_apart():
    for topology in (grid(3, 4), path(5)):
        lengths = [math.dist(topology.positions[i], topology.positions[j]) for i, j in topology.edges]
        assert lengths == [1.0] * len(lengths)
    assert grid(2, 3).positions.tolist() == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]  # (column, row)
    assert torus(3, 4).positions.tolist() == grid(3, 4).positions.tolist()


def test_a_shape_without_a_place_has_none():
    assert ring(4).positions is None
    assert from_edges(2, [(0, 1)]).positions is None


def test_places_of_ones_own_change_nothing_else():
    plain = ring(3, weights="lazy_metropolis")
    placed = plain.placed([[0, 0], [3, 4], [-1, 2.5]])
    assert placed.positions.tolist() == [[0, 0], [3, 4], [-1, 2.5]]
    assert (placed.edges, placed.labels, placed.weighting) == (plain.edges, plain.labels, plain.weighting)
    assert np.array_equal(placed.weights, plain.weights)
    given = Topology(nx.path_graph(2), weights=np.array([[0.9, 0.1], [0.1, 0.9]])).placed([[0, 0], [1, 1]])
    assert given.weighting == "given"
    assert given.weights.tolist() == [[0.9, 0.1], [0.1, 0.9]]


def test_places_are_read_only_and_a_copy():
    mine = np.zeros((3, 2))
    topology = ring(3).placed(mine)
    mine[0] = 7.0
    assert topology.positions.tolist() == [[0, 0]] * 3
    with pytest.raises(ValueError, match="read-only"):
        topology.positions[0] = 1.0


@pytest.mark.parametrize(
    ("places", "field"),
    [
        ([[0, 0], [1, 1]], "positions"), ([[0, 0, 0]] * 3, "positions"), ([[0, 0], [1], [2, 2]], "positions"),
        ([["a", "b"]] * 3, "positions"), ([[0, 0], [1, math.inf], [2, 2]], "positions[1]"),
        ([[0, 0], [1, 1], [math.nan, 2]], "positions[2]"),
    ],
)  # fmt: skip
def test_what_is_no_place_for_each_agent_is_refused(places, field):
    assert refusal(ring(3).placed, places).field == field


class TestFiles:
    def graph(self, **places) -> nx.Graph:
        graph = nx.cycle_graph(["b", "a", "c"])
        for name, attributes in places.items():
            graph.nodes[name].update(attributes)
        return graph

    def test_graphml_keeps_places_in_the_order_of_the_agents(self, tmp_path):
        graph = self.graph(a={"x": 1.5, "y": 2}, b={"x": 0.0, "y": -1.0}, c={"x": 3.0, "y": 1.0, "height": 7.0})
        nx.write_graphml(graph, tmp_path / "town.graphml")
        topology = from_file(tmp_path / "town.graphml")
        found = dict(zip(topology.labels, topology.positions.tolist(), strict=True))
        assert found == {"a": [1.5, 2], "b": [0, -1], "c": [3, 1]}

    @pytest.mark.parametrize("last", [{}, {"x": 1.0}, {"x": "east", "y": "west"}, {"x": math.nan, "y": 0.0}])
    def test_unless_every_node_has_one_none_has(self, last):
        graph = self.graph(a={"x": 1.0, "y": 2.0}, b={"x": 0.0, "y": 0.0}, c=last)
        assert from_graph(graph).positions is None


# ── within ──────────────────────────────────────────────────────────────────────────────────────────────
def test_the_boundary_of_a_disc_is_in_it():
    sheet = grid(3, 3)
    assert Within((0.0, 0.0), 1.0).transmitters(sheet) == {0, 1, 3}
    assert Within((0.0, 0.0), math.sqrt(2)).transmitters(sheet) == {0, 1, 3, 4}
    assert Within((0.0, 0.0), math.nextafter(1.0, 0.0)).transmitters(sheet) == {0}
    assert Within((5.0, 5.0), 1.0).transmitters(sheet) == frozenset()


def test_on_links_it_is_every_link_of_an_agent_in_the_disc():
    sheet = grid(3, 3)
    inside = Within((0.0, 0.0), 1.0).transmitters(sheet)
    assert Within((0.0, 0.0), 1.0).pick(sheet) == {(i, j) for i, j in sheet.edges if i in inside or j in inside}


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Within((0.0, math.nan), 1.0), "at"), (lambda: Within((0.0, 0.0, 0.0), 1.0), "at"),
        (lambda: Within((0.0, 0.0), -1.0), "range"), (lambda: Within((0.0, 0.0), math.inf), "range"),
        (lambda: Within((0.0, 0.0), 1.0).pick(ring(4)), "within"),
        (lambda: Within((0.0, 0.0), 1.0).transmitters(ring(4)), "within"),
    ],
)  # fmt: skip
def test_a_disc_that_is_none_is_refused(make, field):
    assert refusal(make).field == field
