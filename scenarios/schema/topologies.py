"""Graphs and mixing weights of a scenario."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from netsim import topology
from netsim.errors import ScenarioError
from scenarios.schema.base import Edge, Place
from scenarios.schema.spec import Spec, kinds_of

Weight = Annotated[float, Field(ge=0, le=1)]


class Graph(Spec):
    """What all topologies share."""

    weights: topology.Rule | list[list[Weight]] = "metropolis"
    """A rule for the mixing weights, or the matrix itself, row by row."""
    positions: list[Place] | None = None
    """A place [x, y] for each agent, in units of your own; none: those of the kind."""

    @property
    def mixing(self) -> topology.Weights:
        """The rule, or the matrix. You get a `ScenarioError` for rows of different lengths."""
        if isinstance(self.weights, str):
            return self.weights
        n = len(self.weights)
        for index, row in enumerate(self.weights):
            if len(row) != n:
                raise ScenarioError(f"weights[{index}]", len(row), f"{n} rows need as many columns", f"{n} weights")
        return np.array(self.weights, dtype=np.float64).reshape(n, n)

    def build(self) -> topology.Topology:
        return self.made(weights=self.mixing)


class Ring(Graph, of=topology.ring, kind="ring"): ...


class Complete(Graph, of=topology.complete, kind="complete"): ...


class Path(Graph, of=topology.path, kind="path"): ...


class Star(Graph, of=topology.star, kind="star"): ...


class Grid(Graph, of=topology.grid, kind="grid"): ...


class Torus(Graph, of=topology.torus, kind="torus"): ...


class Hypercube(Graph, of=topology.hypercube, kind="hypercube"): ...


class BalancedTree(Graph, of=topology.balanced_tree, kind="balanced_tree"): ...


class RandomTree(Graph, of=topology.random_tree, kind="random_tree"): ...


class RandomRegular(Graph, of=topology.random_regular, kind="random_regular"): ...


class ErdosRenyi(Graph, of=topology.erdos_renyi, kind="erdos_renyi"): ...


class WattsStrogatz(Graph, of=topology.watts_strogatz, kind="watts_strogatz"): ...


class BarabasiAlbert(Graph, of=topology.barabasi_albert, kind="barabasi_albert"): ...


class RandomGeometric(Graph, of=topology.random_geometric, kind="random_geometric"): ...


class Edges(Graph, of=topology.from_edges, kind="edges"):
    edges: list[Edge]
    """The undirected edges, as pairs of agents."""


class GraphFile(Graph, of=topology.from_file, kind="file"):
    path: Annotated[str, Field(min_length=1)]
    """The file; a relative path starts at the working directory."""
    format: Literal["auto", "graphml", "edges"] = "auto"
    """How the file is written."""


if TYPE_CHECKING:
    TopologySpec = Graph
else:
    TopologySpec = kinds_of(Graph)
