# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""A graph with its mixing weights W and its spectra, as sparse arrays: n agents and m links take memory of n + m.

W is symmetric, its rows and columns sum to 1, and it has nothing off the edges and the diagonal. Eigenvalues are
computed densely up to 512 agents, sparsely above. Objects for single agents and links are made when they are asked
for: a million agents are three arrays.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array, diags_array, eye_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, cg, eigsh, splu

from netsim.arrays import Array
from netsim.errors import ScenarioError, meant, what

Graph: TypeAlias = Any
"""A `networkx.Graph` (networkx ships no types)."""


def networkx() -> Any:
    """The library of graphs, loaded when it is first needed."""
    import networkx  # takes its time to load

    return networkx


def _no_name(name: str) -> str | None:
    """Why a text would be mistaken, as an agent's name, in a table or in "a → b"; None where it is fine."""
    if not name or name != name.strip():
        return "is empty" if not name.strip() else "begins or ends with a blank"
    if "→" in name:
        return "has an arrow, which stands between two names"
    bad = next((one for one in name if not one.isprintable()), None)
    return None if bad is None else f"has a character that is not printable: U+{ord(bad):04X}"


Places: TypeAlias = Array | Sequence[Sequence[float]]
"""A row (x, y) for each agent, in order."""

Sparse: TypeAlias = "csr_array[np.float64, tuple[int, int]]"
"""A sparse (n, n) matrix of float64, by rows."""
Rule = Literal["metropolis", "lazy_metropolis", "uniform", "max_degree", "best_constant"]
RULES: tuple[str, ...] = get_args(Rule)
Weights: TypeAlias = "Rule | Array | Sparse"
"""The name of a rule, or the matrix itself, symmetric and doubly stochastic."""

DENSE_AGENTS = 10_000
"""From this many agents on there is no dense weight matrix (800 MB at this size): see `Topology.row`."""
_TOLERANCE = 1e-9
"""How far a given row may sum from 1, and two mirrored weights from each other (absolute)."""
_DENSE = 512
"""Up to this many agents all eigenvalues are computed, by LAPACK."""
RESTARTS = 60
"""How often Lanczos may restart before M is inverted."""
_STEPS = 300
"""How many steps of conjugate gradients are still quick."""


class Topology:
    """An undirected, connected graph on agents 0 … n−1 with symmetric weights whose rows and columns sum to 1.

    `graph` is a networkx graph, or a sparse symmetric (n, n) matrix with an entry that is not 0 for each link; what
    is kept are arrays of its own. `weights` is the name of a rule (`netsim.topology.RULES`; default Metropolis,
    w_ij = 1/(1 + max(d_i, d_j))) or a symmetric doubly stochastic matrix, dense or sparse, with w_ij > 0 only on
    edges and the diagonal. `labels` names the agents, in order; `positions` are their places in the plane, (n, 2), if
    they have any. Public: everybody knows all of it. The arrays may not be changed. You get a `ScenarioError` for a
    disconnected graph (it lists the parts), self-loops, weights that are not stochastic (it names the row and its
    sum), or places that are not two finite numbers for each agent.
    """

    def __init__(
        self,
        graph: "Graph | Sparse",
        name: str = "graph",
        weights: Weights = "metropolis",
        labels: Sequence[str] | None = None,
        positions: Places | None = None,
    ) -> None:
        self.name: Final = name
        self.adjacency: Final = _adjacency(graph)
        """A, n × n, sparse: 1 where there is a link."""
        self.agents: Final = int(self.adjacency.shape[0])
        """n."""
        self._labels: Final = None if labels is None else tuple(labels)
        self._check()
        self.positions: Final = None if positions is None else _places(positions, self.agents)
        """Where the agents are, (n, 2), read-only, in whatever unit of length; None where they are nowhere."""
        self._check_connected()
        self.weighting: Final = weights if isinstance(weights, str) else "given"
        """The name of the weights' rule, or "given"."""
        self.mixing: Final = _mixing(weights, self.adjacency)
        """W, n × n, sparse, read-only; holds an entry for each link and each agent, even where it is 0."""
        self._near: Final = dict[int, tuple[int, ...]]()

    def __repr__(self) -> str:
        return f"Topology({self.name}: {self.agents} agents, {self.adjacency.nnz // 2} links, {self.weighting})"

    def placed(self, positions: Places) -> "Topology":
        """The same graph and weights, with agents at these places, (n, 2)."""
        weights = self.mixing if self.weighting == "given" else self.weighting
        return Topology(self.adjacency, self.name, weights, self._labels, positions)

    def lazy(self, share: float) -> "Topology":
        """The same graph with the weights (1 − share)W + share · I, 0 <= share < 1.

        You get a `ScenarioError` for another share.
        """
        if not 0 <= share < 1:
            raise ScenarioError("laziness", share, "no share of an agent's own", ">= 0 and < 1")
        one: Any = eye_array(self.agents, format="csr")
        mixing: Any = (1 - share) * self.mixing + share * one
        return Topology(self.adjacency, self.name, mixing, self._labels, self.positions)

    @property
    def named(self) -> bool:
        """Whether agents have other names than their numbers."""
        return self._labels is not None and any(name != str(i) for i, name in enumerate(self._labels))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The agents' names, in order: those of the file, or their numbers."""
        return tuple(map(str, range(self.agents))) if self._labels is None else self._labels

    @cached_property
    def graph(self) -> Graph:
        """The graph as a `networkx.Graph` with the nodes 0 … n−1, made when it is first asked for."""
        graph: Any = networkx().empty_graph(self.agents)
        graph.add_edges_from(self.edges)
        return graph

    # ── who talks to whom ───────────────────────────────────────────────────────────────────────────────

    @property
    def links(self) -> int:
        """m, how many undirected edges there are."""
        return self.adjacency.nnz // 2

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Undirected edges (i, j) with i < j, sorted, as an array, (m, 2), made anew."""
        rows, columns = _rows(self.adjacency), self.adjacency.indices
        once = rows < columns
        return np.column_stack((rows[once], columns[once])).astype(np.int64)

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Undirected edges (i, j) with i < j, sorted; of very many agents take `pairs`."""
        number = self._numbers.__getitem__
        return tuple(zip(*(map(number, ends) for ends in self.pairs.T.tolist()), strict=True))

    def neighbors(self, agent: int) -> tuple[int, ...]:
        """The neighbors of an agent, ascending."""
        if (known := self._near.get(agent)) is not None:
            return known
        first, last = self.adjacency.indptr[agent : agent + 2]
        near = self._near[agent] = tuple(map(self._numbers.__getitem__, self.adjacency.indices[first:last].tolist()))
        return near

    @cached_property
    def _numbers(self) -> list[int]:
        """0 … n−1, each one object wherever it is named: tuples of neighbors are most of what many agents weigh."""
        return list(range(self.agents))

    def has_edge(self, i: int, j: int) -> bool:
        """Whether i and j are neighbors; the order does not matter."""
        if not (0 <= i < self.agents and 0 <= j < self.agents):
            return False
        neighbors = self.neighbors(i)
        place = bisect_left(neighbors, j)
        return place < len(neighbors) and neighbors[place] == j

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """d_i, the number of neighbors of each agent."""
        return tuple(np.diff(self.adjacency.indptr).tolist())

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

    # ── how fast it mixes, and how far it is across ─────────────────────────────────────────────────────

    @cached_property
    def spectral_gap(self) -> float:
        """1 − the second largest |eigenvalue| of W, symmetric, W1 = 1: how fast mixing forgets. 0: never."""
        one: Any = eye_array(self.agents, format="csr")
        upper = _least(one - self.mixing, constants=False)
        if 1 + self.least_eigenvalue_bound >= upper:
            return upper
        return min(upper, 1 + self.least_eigenvalue)

    @cached_property
    def least_eigenvalue(self) -> float:
        """λ_n, the smallest eigenvalue of W: how far a round of mixing swings over, if it is negative."""
        return _least(eye_array(self.agents, format="csr") + self.mixing, constants=True) - 1

    @property
    def least_eigenvalue_bound(self) -> float:
        """2 min w_ii − 1 <= λ_n (Gershgorin): it takes no search."""
        return 2 * float(self.mixing.diagonal().min()) - 1

    @cached_property
    def algebraic_connectivity(self) -> float:
        """The second smallest eigenvalue of the Laplacian D − A (Fiedler 1973): of the graph, not of W."""
        return _least(csgraph.laplacian(self.adjacency), constants=False)

    @cached_property
    def largest_laplacian_eigenvalue(self) -> float:
        """λ_1 of the Laplacian; at most max (d_i + d_j) over the links (Anderson, Morley 1985)."""
        return _largest_laplacian(self.adjacency)

    @cached_property
    def largest_walk_eigenvalue(self) -> float:
        """That of I − Deg⁻¹A, in (1, 2] for a connected graph of two agents or more, 2 where it is bipartite."""
        root: Any = diags_array(1 / np.sqrt(_degrees(self.adjacency)))
        scaled = root @ self.adjacency @ root
        return 1 - (_least(eye_array(self.agents, format="csr") + scaled, constants=True) - 1)

    def hops(self, agent: int) -> Array:
        """The number of hops from one agent to each."""
        return _hops(self.adjacency, agent)

    @cached_property
    def diameter(self) -> int:
        """The largest number of hops between two agents, exactly: by bounds on eccentricities (Takes, Kosters 2011),
        with few searches on most graphs, up to one from each agent where all see the graph alike (random regular,
        torus)."""
        least, most = np.zeros(self.agents), np.full(self.agents, np.inf)
        farthest, nearest = True, 0.0
        while (open_ := np.flatnonzero(most > nearest)).size:
            agent = int(open_[np.argmax(most[open_]) if farthest else np.argmin(least[open_])])
            hops, farthest = self.hops(agent), not farthest
            own = hops.max()
            least, most = np.maximum(least, np.maximum(hops, own - hops)), np.minimum(most, own + hops)
            least[agent] = most[agent] = own
            nearest = least.max()
        return int(nearest)

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────────

    def _check(self) -> None:
        n, adjacency = self.agents, self.adjacency
        if n < 2:
            raise ScenarioError("agents", n, "a network needs at least two agents", ">= 2")
        if self._labels is not None and (len(self._labels) != n or len(set(self._labels)) != n):
            count = len(set(self._labels))
            raise ScenarioError("labels", count, "not one name for each agent", f"{n} different names")
        for name in self._labels or ():
            if (why := _no_name(name)) is not None:
                allowed = "a name of one line, without → and with nothing blank around it"
                raise ScenarioError("labels", name, f"an agent's name that {why}", allowed)
        loops = sorted(self.labels[i] for i in np.flatnonzero(adjacency.diagonal()).tolist())
        if loops:
            raise ScenarioError("graph", loops[:5], "self-loop: an agent is not its own neighbor", "no self-loops")

    def _check_connected(self) -> None:
        count, part = csgraph.connected_components(self.adjacency, directed=False)
        if count > 1:
            shown = min(count, 4)
            order, starts = np.argsort(part, kind="stable"), np.searchsorted(np.sort(part), range(1, shown + 1))
            parts = [[self.labels[i] for i in group[:7].tolist()] for group in np.split(order, starts)[:shown]]
            listed = " | ".join(f"{{{', '.join(one[:6])}{', …' if len(one) > 6 else ''}}}" for one in parts)
            problem = f"the graph is disconnected: {count} components, {listed}{' | …' if count > 4 else ''}"
            raise ScenarioError("topology", self.name, problem, "a connected graph")


# ── links and places, checked ───────────────────────────────────────────────────────────────────────────


def linked(agents: int, i: Any, j: Any) -> Sparse:
    """The adjacency matrix of links between i[k] and j[k], (m,) both; parallel ones are one, loops are kept."""
    rows, columns = np.concatenate((i, j)), np.concatenate((j, i))
    matrix: Any = csr_array((np.ones(len(rows)), (rows, columns)), shape=(agents, agents))
    matrix.sort_indices()
    matrix.data[:] = 1.0
    return matrix


def _adjacency(graph: Any) -> Sparse:
    """1 where there is a link, rows sorted; agents are numbered 0 … n−1."""
    if issparse(graph):
        return _symmetric(graph)
    if not isinstance(graph, networkx().Graph):
        allowed = "a networkx.Graph, or ring(5) and others of netsim.topology; of pairs, from_edges(agents, pairs)"
        raise ScenarioError("graph", graph, what(graph), allowed)
    n = graph.number_of_nodes()
    if graph.is_directed() or graph.is_multigraph():
        kind = "directed" if graph.is_directed() else "a multigraph"
        raise ScenarioError("graph", type(graph).__name__, f"it is {kind}", "an undirected networkx.Graph")
    if not all(i in graph for i in range(n)):
        raise ScenarioError(
            "graph", list(graph.nodes)[:5], "agents must be numbered", "0 … n−1, or from_graph for names"
        )
    return linked(n, *np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2).T)


def _symmetric(given: Any) -> Sparse:
    """A copy of a sparse matrix with 1 for what is not 0. You get a `ScenarioError` unless it is its own mirror."""
    n = given.shape[0]
    if given.shape != (n, n):
        raise ScenarioError("graph", given.shape, "not a square matrix", f"({n}, {n})")
    matrix: Any = csr_array(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data[:] = 1.0
    mirror: Any = matrix.T.tocsr()
    if (mirror.indptr != matrix.indptr).any() or (mirror.indices != matrix.indices).any():
        i, j = (int(line[0]) for line in (matrix > mirror).nonzero())
        raise ScenarioError("graph", [i, j], "it is directed: there is no entry back", "a symmetric matrix")
    return matrix


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


# ── weights ─────────────────────────────────────────────────────────────────────────────────────────────


def _mixing(weights: Weights, adjacency: Sparse) -> Sparse:
    """W on this graph, read-only. You get a `ScenarioError` for an unknown rule, or one that is refused here."""
    if not isinstance(weights, str):
        matrix = _given(weights, adjacency)
    elif weights in RULES:
        values = _by_rule(weights, adjacency)
        # A row's sum is rounded once, so W does not depend on how the agents are numbered.
        rest = [1 - math.fsum(values[a:b].tolist()) for a, b in pairwise(adjacency.indptr.tolist())]
        matrix = _on_links(adjacency, values, np.array(rest))
    else:
        why = f"no such rule{meant(weights, RULES)}"
        raise ScenarioError("weights", weights, why, f"{', '.join(RULES)}, or a matrix")
    matrix.data.flags.writeable = False
    return matrix


def _by_rule(rule: Rule, adjacency: Sparse) -> Array:
    """w_ij of the links, in the order of the adjacency's entries."""
    degrees, rows = _degrees(adjacency), _rows(adjacency)
    most, regular = degrees.max(), degrees.min() == degrees.max()
    larger = np.maximum(degrees[rows], degrees[adjacency.indices])
    match rule:
        case "metropolis":
            return 1 / (1 + larger)
        case "lazy_metropolis":
            return 1 / (2 * larger)
        case "uniform":
            if not regular:
                columns = (adjacency @ (1 / (1 + degrees))) + 1 / (1 + degrees)
                worst = int(np.argmax(np.abs(columns - 1)))
                column = f"column {worst} of 1/(1 + d_i) sums to {columns[worst]:.6g}"
                problem = f"not doubly stochastic: degrees are {int(degrees.min())} … {int(most)}, and {column}"
                allowed = "graphs whose degrees are all equal, or metropolis"
                raise ScenarioError("weights", rule, problem, allowed)
            return 1 / (1 + degrees[rows])
        case "max_degree":
            distance = _hops(adjacency, 0) if regular else degrees
            if regular and np.all((distance[rows] + distance[adjacency.indices]) % 2 == 1):  # all links: bipartite
                why = f"the graph is bipartite and all degrees are {int(most)}"
                problem = f"W has the eigenvalue −1 and never settles: {why}"
                raise ScenarioError("weights", rule, problem, "lazy_metropolis, metropolis or best_constant")
            return np.full(adjacency.nnz, 1 / most)
        case "best_constant":
            connectivity = _least(csgraph.laplacian(adjacency), constants=False)
            return np.full(adjacency.nnz, 2 / (_largest_laplacian(adjacency) + connectivity))


def _given(weights: Any, adjacency: Sparse) -> Sparse:
    """The matrix on the graph's links, checked: in [0, 1], rows and columns sum to 1, symmetric, edges only."""
    n = adjacency.shape[0]
    weights = weights if issparse(weights) else np.asarray(weights, dtype=np.float64)
    if weights.shape != (n, n):
        raise ScenarioError("weights", weights.shape, "wrong shape", f"({n}, {n})")
    W: Any = csr_array(weights, dtype=np.float64)
    W.sum_duplicates()
    rows = _rows(W)
    for place in np.flatnonzero(~(W.data >= 0))[:1]:
        i, j, value = int(rows[place]), int(W.indices[place]), float(W.data[place])
        problem = "not a number" if math.isnan(value) else "negative"
        raise ScenarioError(f"weights[{i}][{j}]", value, f"not doubly stochastic: {problem}", "0 <= w_ij <= 1")
    for axis, line in ((1, "row"), (0, "column")):
        sums = np.asarray(W.sum(axis=axis))
        worst = int(np.argmax(np.abs(sums - 1)))
        if not abs(sums[worst] - 1) <= _TOLERANCE:
            field = f"weights[{worst}]" if line == "row" else "weights"
            problem = f"not doubly stochastic: {line} {worst} sums to {sums[worst]:.12g}"
            raise ScenarioError(field, float(sums[worst]), problem, "rows and columns that sum to 1")
    skew: Any = abs(W - W.T).tocoo()
    if skew.nnz and skew.data.max() > _TOLERANCE:
        worst = int(np.argmax(skew.data))
        i, j = sorted((int(skew.row[worst]), int(skew.col[worst])))
        problem = f"not symmetric: the mirrored weight is {float(W[j, i]):.12g}"
        raise ScenarioError(f"weights[{i}][{j}]", float(W[i, j]), problem, "w_ij = w_ji")
    there = np.isin(rows * n + W.indices, _rows(adjacency) * n + adjacency.indices)
    for place in np.flatnonzero(~there & (rows != W.indices) & (W.data > 0))[:1]:
        i, j = int(rows[place]), int(W.indices[place])
        raise ScenarioError(f"weights[{i}][{j}]", [i, j], "a weight where there is no edge", "edges only")
    links: Any = W[_rows(adjacency), adjacency.indices]
    return _on_links(adjacency, np.asarray(links.todense() if hasattr(links, "todense") else links), W.diagonal())


def _on_links(adjacency: Sparse, values: Array, own: Array) -> Sparse:
    n = len(own)
    rows = np.concatenate([_rows(adjacency), np.arange(n)])
    columns = np.concatenate([adjacency.indices, np.arange(n)])
    matrix: Any = csr_array((np.concatenate([values, own]), (rows, columns)), shape=(n, n))
    matrix.sort_indices()
    return matrix


def _degrees(adjacency: Sparse) -> Array:
    return np.diff(adjacency.indptr).astype(float)


def _rows(matrix: Sparse) -> Any:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _hops(adjacency: Sparse, agent: int) -> Array:
    search: Any = csgraph.dijkstra
    return search(adjacency, unweighted=True, indices=agent)


# ── eigenvalues ─────────────────────────────────────────────────────────────────────────────────────────

_Apply: TypeAlias = Callable[[Array], Array]
"""A linear map."""


def _largest_laplacian(adjacency: Sparse) -> float:
    degrees = np.diff(adjacency.indptr)
    bound = float(np.max(np.repeat(degrees, degrees) + degrees[adjacency.indices]))
    one: Any = eye_array(adjacency.shape[0], format="csr")
    return bound - _least(bound * one - csgraph.laplacian(adjacency), constants=True)


def _least(M: Any, constants: bool) -> float:
    """The least eigenvalue of a positive semidefinite M; without `constants`, of M off its null vector 1.

    By Lanczos on s − M, where s bounds M's; where it does not converge, on M's (pseudo-)inverse.
    """
    n = int(M.shape[0])
    if n <= _DENSE:
        return max(0.0, float(np.linalg.eigvalsh(M.toarray())[0 if constants else 1]))
    start, bound = np.random.default_rng(0).normal(size=n), float(abs(M).sum(axis=1).max())

    def centered(x: Array) -> Array:
        x = x.ravel()
        return x if constants else x - x.mean()

    def shifted(x: Array) -> Array:
        x = centered(x)
        return centered(bound * x - M @ x)

    def dominant(apply: _Apply, restarts: int) -> float:
        """The eigenvalue of largest magnitude, from a start that is always the same."""
        operator: Any = LinearOperator((n, n), matvec=apply, dtype=np.float64)
        values = eigsh(operator, k=1, which="LM", v0=start, ncv=40, maxiter=restarts, return_eigenvectors=False)
        return float(values[0])

    try:
        return max(0.0, bound - dominant(shifted, RESTARTS))
    except ArpackNoConvergence:
        solve = _solver(M, start, centered, 0 if constants else 1)
        return 0.0 if solve is None else 1 / dominant(solve, 10 * RESTARTS)


def _solver(M: Any, start: Array, centered: _Apply, first: int) -> _Apply | None:
    """M's (pseudo-)inverse by conjugate gradients scaled by M's diagonal or, where they are slow, by factors without
    its `first` rows and columns; None where M is singular."""
    if M.diagonal().min() > 0:
        scale = 1 / M.diagonal()
        iterate: Any = cg
        scaled: Any = LinearOperator(M.shape, matvec=lambda r: scale * r.ravel(), dtype=np.float64)

        def solved(b: Array) -> tuple[Array, int]:
            x, failed = iterate(M, centered(b), rtol=1e-12, atol=0.0, maxiter=_STEPS, M=scaled)
            return centered(x), failed

        if not solved(start)[1]:
            return lambda b: solved(b)[0]
    options = {"SymmetricMode": True}
    try:
        factor: Any = splu(
            M.tocsc()[first:, first:], permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
        )
    except RuntimeError:  # "Factor is exactly singular"
        return None
    return lambda b: centered(np.concatenate([np.zeros(first), factor.solve(centered(b)[first:])]))
