# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Mixing weights W and what follows from them: hops, and eigenvalues of the graph.

W is symmetric, its rows and columns sum to 1, and it has nothing off the edges and the diagonal. Eigenvalues are
computed densely up to 512 agents, sparsely above.
"""

import difflib
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csgraph, csr_array, diags_array, eye_array, issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, cg, eigsh, splu

from netsim.arrays import Array
from netsim.errors import ScenarioError


def hops(adjacency: "Sparse", agent: int) -> Array:
    """The number of hops from one agent to each."""
    search: Any = csgraph.dijkstra
    return search(adjacency, unweighted=True, indices=agent)


def diameter_bounds(adjacency: "Sparse", searches: int | None = None) -> tuple[int, int]:
    """Bounds on the diameter, equal unless `searches` ran out.

    Each search from v bounds the eccentricity e of every w by max(d, e(v) − d) ≤ e(w) ≤ e(v) + d, d = d(v, w);
    an agent whose upper bound is no larger than an eccentricity already found needs no search of its own
    (Takes, Kosters 2011). The next v has, in turn, the largest upper and the smallest lower bound.
    """
    n = adjacency.shape[0]
    lower, upper = np.zeros(n), np.full(n, np.inf)
    found, done = 0.0, 0
    while upper.max() > found and (searches is None or done < searches):
        is_open = upper > found
        v = int(np.argmax(np.where(is_open, upper if done % 2 == 0 else -lower, -np.inf)))
        d = hops(adjacency, v)
        eccentricity = float(d.max())
        lower = np.maximum(lower, np.maximum(d, eccentricity - d))
        upper = np.minimum(upper, eccentricity + d)
        upper[v] = eccentricity
        found, done = max(found, float(lower.max())), done + 1
    return int(found), int(max(found, upper.max()))


DENSE = 512
"""Up to this many agents all eigenvalues are computed, by LAPACK."""
RESTARTS = 60
"""How often Lanczos may restart before M is inverted."""
_STEPS = 300
"""How many steps of conjugate gradients are still quick."""
_Apply: TypeAlias = Callable[[Array], Array]
"""A linear map."""


def gap(mixing: "Sparse") -> float:
    """min(1 − λ_2, 1 + λ_n) of a symmetric W with W·1 = 1 and eigenvalues in [−1, 1]."""
    one: Any = eye_array(mixing.shape[0], format="csr")
    upper = _least(one - mixing, constants=False)
    if 2 * float(mixing.diagonal().min()) >= upper:  # Gershgorin: λ_n ≥ 2 min w_ii − 1
        return upper
    return min(upper, 1 + least_eigenvalue(mixing))


def least_eigenvalue(mixing: "Sparse") -> float:
    """λ_n of a symmetric W with eigenvalues in [−1, 1]."""
    return _least(eye_array(mixing.shape[0], format="csr") + mixing, constants=True) - 1


def algebraic_connectivity(adjacency: "Sparse") -> float:
    """λ_{n−1}, the second smallest eigenvalue of the Laplacian."""
    return _least(csgraph.laplacian(adjacency), constants=False)


def largest_laplacian_eigenvalue(adjacency: "Sparse") -> float:
    """λ_1 of the Laplacian; at most max (d_i + d_j) over the links (Anderson, Morley 1985)."""
    degrees = np.diff(adjacency.indptr)
    bound = float(np.max(np.repeat(degrees, degrees) + degrees[adjacency.indices]))
    one: Any = eye_array(adjacency.shape[0], format="csr")
    return bound - _least(bound * one - csgraph.laplacian(adjacency), constants=True)


def largest_walk_eigenvalue(adjacency: "Sparse") -> float:
    """That of I − Deg⁻¹A, in (1, 2] for a connected graph of two agents or more, 2 where it is bipartite."""
    root: Any = diags_array(1 / np.sqrt(np.diff(adjacency.indptr)))
    return 1 - least_eigenvalue(root @ adjacency @ root)


def _least(M: Any, constants: bool) -> float:
    """The least eigenvalue of a positive semidefinite M; without `constants`, of M off its null vector 1."""
    n = int(M.shape[0])
    if n <= DENSE:
        return max(0.0, float(np.linalg.eigvalsh(M.toarray())[0 if constants else 1]))
    try:
        return max(0.0, _by_lanczos(M, constants))
    except ArpackNoConvergence:
        solve = _gradient_solver(M, constants) or _factor_solver(M, constants)
        return 0.0 if solve is None else 1 / _dominant(solve, n, 10 * RESTARTS)


def _by_lanczos(M: Any, constants: bool) -> float:
    """The largest eigenvalue of s − M, where s bounds M's, the constant vector taken out."""
    bound = float(abs(M).sum(axis=1).max())

    def apply(x: Array) -> Array:
        x = x.ravel() if constants else _centered(x.ravel())
        y = bound * x - M @ x
        return y if constants else _centered(y)

    return bound - _dominant(apply, int(M.shape[0]), RESTARTS)


def _gradient_solver(M: Any, constants: bool) -> _Apply | None:
    """M's (pseudo-)inverse by conjugate gradients scaled by M's diagonal; None where they are slow."""
    if M.diagonal().min() <= 0:
        return None
    n = int(M.shape[0])
    scale = 1 / M.diagonal()
    scaled: Any = LinearOperator((n, n), matvec=lambda r: scale * r.ravel(), dtype=np.float64)
    iterate: Any = cg

    def solve(b: Array) -> tuple[Array, int]:
        b = b.ravel() if constants else _centered(b.ravel())
        x, failed = iterate(M, b, rtol=1e-12, atol=0.0, maxiter=_STEPS, M=scaled)
        return x if constants else _centered(x), failed

    return None if solve(_start(n))[1] else lambda b: solve(b)[0]


def _factor_solver(M: Any, constants: bool) -> _Apply | None:
    """M's (pseudo-)inverse by factors, without the first row and column; None where M is singular."""
    first = 0 if constants else 1
    options = {"SymmetricMode": True}
    try:
        factor: Any = splu(
            M.tocsc()[first:, first:], permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
        )
    except RuntimeError:  # "Factor is exactly singular"
        return None

    def solve(b: Array) -> Array:
        if constants:
            return factor.solve(b.ravel())
        return _centered(np.concatenate([[0.0], factor.solve(_centered(b.ravel())[1:])]))

    return solve


def _dominant(apply: _Apply, n: int, restarts: int) -> float:
    """The eigenvalue of largest magnitude, from a start that is always the same."""
    operator: Any = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    values = eigsh(operator, k=1, which="LM", v0=_start(n), ncv=40, maxiter=restarts, return_eigenvectors=False)
    return float(values[0])


def _start(n: int) -> Array:
    return np.random.default_rng(0).normal(size=n)


def _centered(x: Array) -> Array:
    return x - x.mean()


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
    largest = largest_laplacian_eigenvalue(adjacency)
    constant = 2 / (largest + algebraic_connectivity(adjacency))
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
    distance = hops(adjacency, 0)
    return bool(np.all((distance[_rows(adjacency)] + distance[adjacency.indices]) % 2 == 1))


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
