"""What a scenario can say of its graph and weights."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from netsim import topology
from netsim.errors import ScenarioError
from scenarios.schema.base import MOST_AGENTS, Edge, Index, Model, Place, Positive

Weight = Annotated[float, Field(ge=0, le=1)]


class Graph(Model):
    """What all topologies share: `weights`, a rule or the matrix itself, row by row; `positions`, a place for each
    agent, instead of those that the kind has."""

    weights: topology.Rule | list[list[Weight]] = "metropolis"
    positions: list[Place] | None = None

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


class Ring(Graph):
    """Agent i talks to i ± 1."""

    kind: Literal["ring"] = "ring"
    agents: Annotated[int, Field(ge=3, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.ring(self.agents, weights=self.mixing)


class Complete(Graph):
    """Everybody talks to everybody."""

    kind: Literal["complete"] = "complete"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.complete(self.agents, weights=self.mixing)


class Path(Graph):
    """A line of agents."""

    kind: Literal["path"] = "path"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.path(self.agents, weights=self.mixing)


class Star(Graph):
    """Agent 0 in the middle."""

    kind: Literal["star"] = "star"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.star(self.agents, weights=self.mixing)


class Grid(Graph):
    """A sheet: agent r·columns + c in row r and column c."""

    kind: Literal["grid"] = "grid"
    rows: Annotated[int, Field(ge=1, le=1_000)]
    columns: Annotated[int, Field(ge=1, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.grid(self.rows, self.columns, weights=self.mixing)


class Torus(Graph):
    """A grid whose opposite sides touch."""

    kind: Literal["torus"] = "torus"
    rows: Annotated[int, Field(ge=3, le=1_000)]
    columns: Annotated[int, Field(ge=3, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.torus(self.rows, self.columns, weights=self.mixing)


class Hypercube(Graph):
    """2^dimension agents; neighbors differ in one binary digit."""

    kind: Literal["hypercube"] = "hypercube"
    dimension: Annotated[int, Field(ge=1, le=16)]

    def build(self) -> topology.Topology:
        return topology.hypercube(self.dimension, weights=self.mixing)


class BalancedTree(Graph):
    """Agent 0 is the root; `branching` children each, `height` levels below it."""

    kind: Literal["balanced_tree"] = "balanced_tree"
    branching: Annotated[int, Field(ge=1, le=1_000)]
    height: Annotated[int, Field(ge=1, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.balanced_tree(self.branching, self.height, weights=self.mixing)


class RandomTree(Graph):
    """Each tree on the agents with the same probability."""

    kind: Literal["random_tree"] = "random_tree"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_tree(self.agents, self.seed, weights=self.mixing)


class RandomRegular(Graph):
    """Every agent has `degree` neighbors, drawn by `seed`."""

    kind: Literal["random_regular"] = "random_regular"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    degree: Annotated[int, Field(ge=1, le=1_000)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_regular(self.agents, self.degree, self.seed, weights=self.mixing)


class ErdosRenyi(Graph):
    """Every edge with `probability`."""

    kind: Literal["erdos_renyi"] = "erdos_renyi"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    probability: Annotated[float, Field(gt=0, le=1)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.erdos_renyi(self.agents, self.probability, self.seed, weights=self.mixing)


class WattsStrogatz(Graph):
    """A ring of the `nearest` (even) closest agents, each link rewired with `probability`."""

    kind: Literal["watts_strogatz"] = "watts_strogatz"
    agents: Annotated[int, Field(ge=3, le=MOST_AGENTS)]
    nearest: Annotated[int, Field(ge=2, le=1_000)]
    probability: Annotated[float, Field(ge=0, le=1)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.watts_strogatz(self.agents, self.nearest, self.probability, self.seed, weights=self.mixing)


class BarabasiAlbert(Graph):
    """Each new agent talks to `attach` others, popular ones more likely."""

    kind: Literal["barabasi_albert"] = "barabasi_albert"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    attach: Annotated[int, Field(ge=1, le=1_000)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.barabasi_albert(self.agents, self.attach, self.seed, weights=self.mixing)


class RandomGeometric(Graph):
    """Agents uniform in the unit square, edges up to `radius`."""

    kind: Literal["random_geometric"] = "random_geometric"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    radius: Positive
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_geometric(self.agents, self.radius, self.seed, weights=self.mixing)


class Edges(Graph):
    """Exactly these undirected edges."""

    kind: Literal["edges"] = "edges"
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    edges: list[Edge]

    def build(self) -> topology.Topology:
        return topology.from_edges(self.agents, [(i, j) for i, j in self.edges], weights=self.mixing)


class GraphFile(Graph):
    """The graph of a file, GraphML or two names a line; a relative `path` starts at the working directory."""

    kind: Literal["file"] = "file"
    path: Annotated[str, Field(min_length=1)]
    format: Literal["auto", "graphml", "edges"] = "auto"

    def build(self) -> topology.Topology:
        return topology.from_file(self.path, self.format, weights=self.mixing)


TopologySpec = Annotated[
    Ring
    | Complete
    | Path
    | Star
    | Grid
    | Torus
    | Hypercube
    | BalancedTree
    | RandomTree
    | RandomRegular
    | ErdosRenyi
    | WattsStrogatz
    | BarabasiAlbert
    | RandomGeometric
    | Edges
    | GraphFile,
    Field(discriminator="kind"),
]
