# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Who talks to whom, and with what weight."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from netsim.arrays import Array
from netsim.errors import ScenarioError

Graph = Any
"""A `networkx.Graph` (networkx ships no types)."""


@dataclass(frozen=True)
class Topology:
    """An undirected, connected graph on agents 0 … n−1 with a doubly stochastic weight matrix.

    `weights` W has shape (n, n), is symmetric, and w_ij > 0 only on edges and the diagonal (default:
    Metropolis, w_ij = 1/(1 + max(d_i, d_j))). Public: everybody knows it. You get a `ScenarioError` for a
    disconnected graph, self-loops, or weights that are not stochastic.
    """

    graph: Graph
    name: str = "graph"
    weights: Array = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        graph = self.graph
        n = graph.number_of_nodes()
        if sorted(graph.nodes) != list(range(n)):
            raise ScenarioError("graph", list(graph.nodes)[:5], "agents must be numbered", "0 … n−1")
        if n < 2:
            raise ScenarioError("agents", n, "a network needs at least two agents", ">= 2")
        if any(i == j for i, j in graph.edges):
            raise ScenarioError("graph", "self-loop", "an agent is not its own neighbor", "no self-loops")
        if not nx.is_connected(graph):
            parts = [sorted(part) for part in nx.connected_components(graph)]
            raise ScenarioError(
                "topology", self.name, f"the graph is disconnected: {_shown(parts)}", "a connected graph"
            )
        if self.weights.size == 0:
            object.__setattr__(self, "weights", metropolis(graph))
        _check_weights(self.weights, graph)
        frozen = self.weights.copy()
        frozen.flags.writeable = False
        object.__setattr__(self, "weights", frozen)

    @property
    def agents(self) -> int:
        """n."""
        return int(self.graph.number_of_nodes())

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Undirected edges (i, j) with i < j, sorted."""
        return tuple(sorted((int(min(i, j)), int(max(i, j))) for i, j in self.graph.edges))

    def neighbors(self, agent: int) -> tuple[int, ...]:
        """The neighbors of an agent, ascending."""
        return tuple(sorted(int(j) for j in self.graph.neighbors(agent)))

    @property
    def spectral_gap(self) -> float:
        """1 − the second largest |eigenvalue| of W: how fast mixing forgets."""
        magnitudes = np.sort(np.abs(np.linalg.eigvalsh(self.weights)))
        return float(1 - magnitudes[-2])


def metropolis(graph: Graph) -> Array:
    """Metropolis–Hastings weights: w_ij = 1/(1 + max(d_i, d_j)) on edges, the rest of each row on the diagonal."""
    n = graph.number_of_nodes()
    weights = np.zeros((n, n))
    degree = dict(graph.degree)
    for i, j in graph.edges:
        weights[i, j] = weights[j, i] = 1 / (1 + max(degree[i], degree[j]))
    np.fill_diagonal(weights, 1 - weights.sum(axis=1))
    return weights


def ring(agents: int) -> Topology:
    """Agent i talks to i − 1 and i + 1 (modulo n)."""
    _at_least("agents", agents, 3)
    return Topology(nx.cycle_graph(agents), f"ring of {agents}")


def complete(agents: int) -> Topology:
    """Everybody talks to everybody."""
    _at_least("agents", agents, 2)
    return Topology(nx.complete_graph(agents), f"complete graph of {agents}")


def path(agents: int) -> Topology:
    """A line: agent i talks to i ± 1."""
    _at_least("agents", agents, 2)
    return Topology(nx.path_graph(agents), f"path of {agents}")


def star(agents: int) -> Topology:
    """Agent 0 talks to all others, and they only to it."""
    _at_least("agents", agents, 2)
    return Topology(nx.star_graph(agents - 1), f"star of {agents}")


def erdos_renyi(agents: int, probability: float, seed: int = 0) -> Topology:
    """Every edge independently with `probability`."""
    _at_least("agents", agents, 2)
    if not 0 < probability <= 1:
        raise ScenarioError("probability", probability, "an edge probability", "0 < probability <= 1")
    graph = nx.gnp_random_graph(agents, probability, seed=seed)
    return Topology(graph, f"Erdős–Rényi graph of {agents}, p = {probability:g}, seed {seed}")


def random_geometric(agents: int, radius: float, seed: int = 0) -> Topology:
    """Agents uniform in the unit square, an edge up to distance `radius`."""
    _at_least("agents", agents, 2)
    if radius <= 0:
        raise ScenarioError("radius", radius, "a distance in the unit square", "> 0")
    graph = nx.random_geometric_graph(agents, radius, seed=seed)
    return Topology(graph, f"random geometric graph of {agents}, radius {radius:g}, seed {seed}")


def from_edges(agents: int, edges: Iterable[tuple[int, int]]) -> Topology:
    """The graph with exactly these undirected edges."""
    _at_least("agents", agents, 2)
    graph = nx.Graph()
    graph.add_nodes_from(range(agents))
    for index, (i, j) in enumerate(edges):
        if not (0 <= i < agents and 0 <= j < agents):
            raise ScenarioError(f"edges[{index}]", [i, j], "an agent that is not there", f"0 … {agents - 1}")
        graph.add_edge(i, j)
    return Topology(graph, f"graph of {agents} with {graph.number_of_edges()} edges")


BUILDERS: dict[str, Callable[..., Topology]] = {
    "ring": ring,
    "complete": complete,
    "path": path,
    "star": star,
    "erdos_renyi": erdos_renyi,
    "random_geometric": random_geometric,
    "edges": from_edges,
}


def _at_least(name: str, value: int, bound: int) -> None:
    if value < bound:
        raise ScenarioError(name, value, "too few", f">= {bound}")


def _check_weights(weights: Array, graph: Graph) -> None:
    n = graph.number_of_nodes()
    if weights.shape != (n, n):
        raise ScenarioError("weights", weights.shape, "wrong shape", f"({n}, {n})")
    rows, columns = weights.sum(axis=1), weights.sum(axis=0)
    if np.any(weights < 0) or not (np.allclose(rows, 1) and np.allclose(columns, 1)):
        raise ScenarioError("weights", float(rows.max()), "not doubly stochastic", "rows and columns sum to 1")
    if not np.allclose(weights, weights.T):
        raise ScenarioError("weights", float(np.abs(weights - weights.T).max()), "not symmetric", "w_ij = w_ji")
    present = {(i, j) for i, j in graph.edges} | {(j, i) for i, j in graph.edges}
    for i, j in np.argwhere(weights > 0):
        if i != j and (int(i), int(j)) not in present:
            raise ScenarioError("weights", [int(i), int(j)], "a weight where there is no edge", "edges only")


def _shown(parts: list[list[int]]) -> str:
    shown = [f"{{{', '.join(map(str, part[:6]))}{', …' if len(part) > 6 else ''}}}" for part in parts[:4]]
    return f"{len(parts)} components, " + " | ".join(shown) + (" | …" if len(parts) > 4 else "")
