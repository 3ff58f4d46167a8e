# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""A graph with its weights, stored sparsely: n agents and m links take memory of the order of n + m."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from scipy.sparse import csgraph

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.topology import weights as distances
from netsim.topology import weights as spectra
from netsim.topology.weights import Sparse, Weights, adjacency_matrix, mixing_matrix

Graph: TypeAlias = Any
"""A `networkx.Graph` (networkx ships no types)."""

Places: TypeAlias = Array | Sequence[Sequence[float]]
"""A row (x, y) for each agent, in order."""

DENSE_AGENTS = 10_000
"""From this many agents on there is no dense weight matrix (800 MB at this size): see `Topology.row`."""


class Topology:
    """An undirected, connected graph on agents 0 … n−1 with symmetric weights whose rows and columns sum to 1.

    `weights` is the name of a rule (`netsim.topology.RULES`; default Metropolis, w_ij = 1/(1 + max(d_i, d_j)))
    or a symmetric doubly stochastic matrix, dense or sparse, with w_ij > 0 only on edges and the diagonal.
    `labels` names the agents, in order; `positions` are their places in the plane, (n, 2), if they have any. Public:
    everybody knows all of it. Neither the graph nor the weights may be changed afterwards. You get a
    `ScenarioError` for a disconnected graph (it lists the parts), self-loops, weights that are not stochastic (it
    names the row and its sum), or places that are not two finite numbers for each agent.
    """

    def __init__(
        self,
        graph: Graph,
        name: str = "graph",
        weights: Weights = "metropolis",
        labels: Sequence[str] | None = None,
        positions: Places | None = None,
    ) -> None:
        self.graph: Final = graph
        self.name: Final = name
        self.agents: Final = int(graph.number_of_nodes())
        """n."""
        self.labels: Final = tuple(map(str, range(self.agents)) if labels is None else labels)
        """The agents' names, in order: those of the file, or their numbers."""
        _check(graph, self.labels)
        self.positions: Final = None if positions is None else _places(positions, self.agents)
        """Where the agents are, (n, 2), read-only, in whatever unit of length; None where they are nowhere."""
        self.adjacency: Final = adjacency_matrix(graph)
        """A, n × n, sparse: 1 where there is a link."""
        _check_connected(self.adjacency, name, self.labels)
        self.weighting: Final = weights if isinstance(weights, str) else "given"
        """The name of the weights' rule, or "given"."""
        self.mixing: Final = mixing_matrix(weights, self.adjacency)
        """W, n × n, sparse, read-only; holds an entry for each link and each agent, even where it is 0."""

    def __repr__(self) -> str:
        return f"Topology({self.name}: {self.agents} agents, {self.adjacency.nnz // 2} links, {self.weighting})"

    def placed(self, positions: Places) -> "Topology":
        """The same graph and weights, with agents at these places, (n, 2)."""
        weights = self.mixing if self.weighting == "given" else self.weighting
        return Topology(self.graph, self.name, weights, self.labels, positions)

    # ── who talks to whom ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Undirected edges (i, j) with i < j, sorted."""
        return tuple((i, j) for i, neighbors in enumerate(self._neighbors) for j in neighbors if i < j)

    def neighbors(self, agent: int) -> tuple[int, ...]:
        """The neighbors of an agent, ascending."""
        return self._neighbors[agent]

    def has_edge(self, i: int, j: int) -> bool:
        """Whether i and j are neighbors; the order does not matter."""
        if not (0 <= i < self.agents and 0 <= j < self.agents):
            return False
        neighbors = self._neighbors[i]
        place = bisect_left(neighbors, j)
        return place < len(neighbors) and neighbors[place] == j

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """d_i, the number of neighbors of each agent."""
        return tuple(map(len, self._neighbors))

    @cached_property
    def _neighbors(self) -> tuple[tuple[int, ...], ...]:
        columns: list[int] = self.adjacency.indices.tolist()
        return tuple(tuple(columns[a:b]) for a, b in pairwise(self.adjacency.indptr.tolist()))

    # ── with what weight ────────────────────────────────────────────────────────────────────────────────

    def row(self, agent: int) -> Array:
        """w_ij for j in (i, *neighbors(i)), in this order: all of row i that is not 0; the same bits as `weights`."""
        first, last = self.mixing.indptr[agent : agent + 2]
        columns, values = self.mixing.indices[first:last], self.mixing.data[first:last]
        own = int(np.searchsorted(columns, agent))
        return np.concatenate([values[own : own + 1], values[:own], values[own + 1 :]])

    @cached_property
    def weights(self) -> Array:
        """W as a dense (n, n) array, read-only; built when first asked for.

        You get a `ScenarioError` from `DENSE_AGENTS` agents on: `row` and `mixing` have the same numbers.
        """
        if self.agents >= DENSE_AGENTS:
            size = 8 * self.agents**2 / 1e9
            raise ScenarioError(
                "weights", self.agents, f"a dense matrix would take {size:,.1f} GB",
                f"fewer than {DENSE_AGENTS:,} agents, or Topology.row(agent), or Topology.mixing",
            )  # fmt: skip
        dense = self.mixing.toarray()
        dense.flags.writeable = False
        return dense

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether all w_ij ≥ 0, so that W is doubly stochastic. Only "best_constant" can say no."""
        return bool(self.mixing.data.min() >= 0)

    # ── how fast it mixes ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def spectral_gap(self) -> float:
        """1 − the second largest |eigenvalue| of W: how fast mixing forgets. 0: it never does."""
        return spectra.gap(self.mixing)

    @cached_property
    def least_eigenvalue(self) -> float:
        """λ_n, the smallest eigenvalue of W: how far a round of mixing swings over, if it is negative."""
        return spectra.least_eigenvalue(self.mixing)

    @property
    def second_eigenvalue_modulus(self) -> float:
        """max |λ| over the eigenvalues of W without the 1 of the constant vector: the factor of one round."""
        return 1 - self.spectral_gap

    @cached_property
    def algebraic_connectivity(self) -> float:
        """The second smallest eigenvalue of the Laplacian D − A (Fiedler 1973): of the graph, not of W."""
        return spectra.algebraic_connectivity(self.adjacency)

    @cached_property
    def diameter(self) -> int:
        """The largest number of hops between two agents, exactly.

        Few searches on most graphs, up to one from each agent where all see the graph alike (random regular,
        torus): minutes for 10,000 of them. `diameter_bounds` is always quick.
        """
        return distances.diameter_bounds(self.adjacency)[0]

    @cached_property
    def diameter_bounds(self) -> tuple[int, int]:
        """Two bounds on the diameter, from at most 16 searches; equal on trees and wherever that is enough."""
        return distances.diameter_bounds(self.adjacency, searches=16)


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────


def _check(graph: Graph, labels: tuple[str, ...]) -> None:
    n = graph.number_of_nodes()
    if graph.is_directed() or graph.is_multigraph():
        kind = "directed" if graph.is_directed() else "a multigraph"
        raise ScenarioError("graph", type(graph).__name__, f"it is {kind}", "an undirected networkx.Graph")
    if not all(i in graph for i in range(n)):
        raise ScenarioError(
            "graph", list(graph.nodes)[:5], "agents must be numbered", "0 … n−1, or from_graph for names"
        )
    if n < 2:
        raise ScenarioError("agents", n, "a network needs at least two agents", ">= 2")
    if len(labels) != n or len(set(labels)) != n:
        raise ScenarioError("labels", len(set(labels)), "not one name for each agent", f"{n} different names")
    loops = sorted(labels[i] for i in graph if graph.has_edge(i, i))
    if loops:
        raise ScenarioError("graph", loops[:5], "self-loop: an agent is not its own neighbor", "no self-loops")


def _places(positions: Places, agents: int) -> Array:
    try:
        places = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScenarioError("positions", positions, "no numbers", "one place [x, y] for each agent") from None
    if places.shape != (agents, 2):
        shape = list(places.shape)
        raise ScenarioError("positions", shape, "not one place [x, y] for each agent", f"shape [{agents}, 2]")
    for agent in np.flatnonzero(~np.isfinite(places).all(axis=1))[:1]:
        raise ScenarioError(
            f"positions[{agent}]", places[agent].tolist(), "a place that is nowhere", "finite numbers"
        )
    places.flags.writeable = False
    return places


def _check_connected(adjacency: Sparse, name: str, labels: tuple[str, ...]) -> None:
    count, part = csgraph.connected_components(adjacency, directed=False)
    if count > 1:
        order, starts = np.argsort(part, kind="stable"), np.searchsorted(np.sort(part), range(1, min(count, 5)))
        parts = [[labels[i] for i in group] for group in np.split(order, starts)[: min(count, 4)]]
        raise ScenarioError(
            "topology", name, f"the graph is disconnected: {_shown(count, parts)}", "a connected graph"
        )


def _shown(count: int, parts: list[list[str]]) -> str:
    shown = [f"{{{', '.join(part[:6])}{', …' if len(part) > 6 else ''}}}" for part in parts]
    return f"{count} components, " + " | ".join(shown) + (" | …" if count > 4 else "")
