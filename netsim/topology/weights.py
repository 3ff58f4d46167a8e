# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Mixing weights W: symmetric, rows and columns sum to 1, nothing off the edges and the diagonal.

| rule | w_ij on an edge; the rest of each row stays with the agent | source |
|---|---|---|
| metropolis | 1/(1 + max(d_i, d_j)) | Xiao, Boyd, Lall 2005 |
| lazy_metropolis | 1/(2 max(d_i, d_j)): w_ii ≥ 1/2, no negative eigenvalue | Olshevsky 2014 |
| uniform | 1/(1 + d_i), "equal neighbor": 1/n on a complete graph | Blondel et al. 2005 |
| max_degree | 1/max_k d_k | Xiao, Boyd 2004 |
| best_constant | 2/(λ_1 + λ_{n−1}) of the Laplacian, the fastest single constant | Xiao, Boyd 2004 |

Equal-neighbor weights keep the mean only where all degrees are equal (there they are Metropolis'), and
maximum-degree weights settle only where the graph is not both bipartite and regular: elsewhere they are
refused. The best constant may leave an agent a *negative* weight for itself (star, tree): W is then symmetric,
keeps the mean and converges, but it is no stochastic matrix; `Topology.is_nonnegative` says so.
"""

import difflib
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.topology import distances, spectra

Sparse: TypeAlias = "csr_array[np.float64, tuple[int, int]]"
"""A sparse (n, n) matrix of float64, by rows."""
Rule = Literal["metropolis", "lazy_metropolis", "uniform", "max_degree", "best_constant"]
Weights: TypeAlias = "Rule | Array | Sparse"
"""The name of a rule, or the matrix itself, symmetric and doubly stochastic."""

TOLERANCE = 1e-9
"""How far a given row may sum from 1, and two mirrored weights from each other (absolute)."""


def mixing_matrix(weights: Weights, adjacency: Sparse) -> Sparse:
    """W on this graph, read-only. You get a `ScenarioError` for an unknown rule, or one that is refused here."""
    if isinstance(weights, str):
        if weights not in RULES:
            near = difflib.get_close_matches(weights, RULES, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ScenarioError("weights", weights, f"no such rule{hint}", f"{', '.join(RULES)}, or a matrix")
        matrix = RULES[weights](adjacency)
    else:
        matrix = _given(weights, adjacency)
    matrix.data.flags.writeable = False
    return matrix


def adjacency_matrix(graph: Any) -> Sparse:
    """1 where there is a link, rows sorted; agents are numbered 0 … n−1."""
    n = graph.number_of_nodes()
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    matrix: Any = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    matrix.sort_indices()
    return matrix


def metropolis(graph: Any) -> Array:
    """Metropolis weights of a networkx graph on 0 … n−1, dense (n, n): w_ij = 1/(1 + max(d_i, d_j))."""
    return _metropolis(adjacency_matrix(graph)).toarray()


# ── rules ───────────────────────────────────────────────────────────────────────────────────────────────


def _metropolis(adjacency: Sparse) -> Sparse:
    return _filled(adjacency, 1 / (1 + _larger_degree(adjacency)))


def _lazy_metropolis(adjacency: Sparse) -> Sparse:
    return _filled(adjacency, 1 / (2 * _larger_degree(adjacency)))


def _uniform(adjacency: Sparse) -> Sparse:
    degrees = _degrees(adjacency)
    if degrees.min() < degrees.max():
        columns = (adjacency @ (1 / (1 + degrees))) + 1 / (1 + degrees)
        worst = int(np.argmax(np.abs(columns - 1)))
        raise ScenarioError(
            "weights", "uniform",
            f"not doubly stochastic: degrees are {int(degrees.min())} … {int(degrees.max())}, and column {worst} "
            f"of 1/(1 + d_i) sums to {columns[worst]:.6g}",
            "graphs whose degrees are all equal, or metropolis",
        )  # fmt: skip
    return _filled(adjacency, 1 / (1 + degrees[_rows(adjacency)]))


def _max_degree(adjacency: Sparse) -> Sparse:
    degrees = _degrees(adjacency)
    if degrees.min() == degrees.max() and _is_bipartite(adjacency):
        raise ScenarioError(
            "weights", "max_degree",
            f"W has the eigenvalue −1 and never settles: the graph is bipartite and all degrees are "
            f"{int(degrees.max())}",
            "lazy_metropolis, metropolis or best_constant",
        )  # fmt: skip
    return _filled(adjacency, np.full(adjacency.nnz, 1 / degrees.max()))


def _best_constant(adjacency: Sparse) -> Sparse:
    largest = spectra.largest_laplacian_eigenvalue(adjacency)
    constant = 2 / (largest + spectra.algebraic_connectivity(adjacency))
    return _filled(adjacency, np.full(adjacency.nnz, constant))


RULES: dict[str, Callable[[Sparse], Sparse]] = {
    "metropolis": _metropolis,
    "lazy_metropolis": _lazy_metropolis,
    "uniform": _uniform,
    "max_degree": _max_degree,
    "best_constant": _best_constant,
}
"""From the adjacency matrix to W, by name."""


def _filled(adjacency: Sparse, values: Array) -> Sparse:
    """W with these weights on the links, in the order of the adjacency's entries, and the rest on the diagonal.

    The sum of a row is rounded once, so W does not depend on how the agents are numbered.
    """
    rest = [1 - math.fsum(values[a:b].tolist()) for a, b in pairwise(adjacency.indptr.tolist())]
    return _on_links(adjacency, values, np.array(rest))


def _on_links(adjacency: Sparse, values: Array, own: Array) -> Sparse:
    n = len(own)
    rows = np.concatenate([_rows(adjacency), np.arange(n)])
    columns = np.concatenate([adjacency.indices, np.arange(n)])
    matrix: Any = csr_array((np.concatenate([values, own]), (rows, columns)), shape=(n, n))
    matrix.sort_indices()
    return matrix


def _degrees(adjacency: Sparse) -> Array:
    return np.diff(adjacency.indptr).astype(float)


def _rows(adjacency: Sparse) -> Any:
    return np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))


def _larger_degree(adjacency: Sparse) -> Array:
    """max(d_i, d_j) for each entry of the adjacency matrix."""
    degrees = _degrees(adjacency)
    return np.maximum(degrees[_rows(adjacency)], degrees[adjacency.indices])


def _is_bipartite(adjacency: Sparse) -> bool:
    """Two colors by the parity of the hops from agent 0; no link may join equal ones."""
    hops = distances.hops(adjacency, 0)
    return bool(np.all((hops[_rows(adjacency)] + hops[adjacency.indices]) % 2 == 1))


# ── given matrices ──────────────────────────────────────────────────────────────────────────────────────


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
        if not abs(sums[worst] - 1) <= TOLERANCE:
            raise ScenarioError(
                f"weights[{worst}]" if line == "row" else "weights", float(sums[worst]),
                f"not doubly stochastic: {line} {worst} sums to {sums[worst]:.12g}",
                "rows and columns that sum to 1",
            )  # fmt: skip
    _check_places(W, rows, adjacency)
    links: Any = W[_rows(adjacency), adjacency.indices]
    return _on_links(adjacency, np.asarray(links.todense() if hasattr(links, "todense") else links), W.diagonal())


def _check_places(W: Any, rows: Any, adjacency: Sparse) -> None:
    skew: Any = abs(W - W.T).tocoo()
    if skew.nnz and skew.data.max() > TOLERANCE:
        worst = int(np.argmax(skew.data))
        i, j = sorted((int(skew.row[worst]), int(skew.col[worst])))
        raise ScenarioError(
            f"weights[{i}][{j}]", float(W[i, j]), f"not symmetric: the mirrored weight is {float(W[j, i]):.12g}",
            "w_ij = w_ji",
        )  # fmt: skip
    n = adjacency.shape[0]
    there = np.isin(rows * n + W.indices, _rows(adjacency) * n + adjacency.indices)
    for place in np.flatnonzero(~there & (rows != W.indices) & (W.data > 0))[:1]:
        i, j = int(rows[place]), int(W.indices[place])
        raise ScenarioError(f"weights[{i}][{j}]", [i, j], "a weight where there is no edge", "edges only")
