# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Eigenvalues of a graph: dense up to 512 agents, sparse above.

Everything asked for is the least eigenvalue of a positive semidefinite matrix M (I − W, I + W, the Laplacian),
possibly without the constant vector. Lanczos finds it on graphs that mix well. Where it does not converge, the
largest eigenvalue of M's inverse is found instead, with a relative accuracy that survives gaps of 10⁻¹⁰: by
conjugate gradients where those are quick (hubs among an expander), else by a sparse factor of M, which is small
on rings, sheets and trees.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import csgraph, diags_array, eye_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, cg, eigsh, splu

from netsim.arrays import Array

if TYPE_CHECKING:
    from netsim.topology.weights import Sparse

DENSE = 512
"""Up to this many agents all eigenvalues are computed, by LAPACK."""
RESTARTS = 60
"""How often Lanczos may restart before M is inverted."""
STEPS = 300
"""How many steps of conjugate gradients are still quick."""
Apply: TypeAlias = Callable[[Array], Array]
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


def _gradient_solver(M: Any, constants: bool) -> Apply | None:
    """M's (pseudo-)inverse by conjugate gradients scaled by M's diagonal; None where they are slow."""
    if M.diagonal().min() <= 0:
        return None
    n = int(M.shape[0])
    scale = 1 / M.diagonal()
    scaled: Any = LinearOperator((n, n), matvec=lambda r: scale * r.ravel(), dtype=np.float64)
    iterate: Any = cg

    def solve(b: Array) -> tuple[Array, int]:
        b = b.ravel() if constants else _centered(b.ravel())
        x, failed = iterate(M, b, rtol=1e-12, atol=0.0, maxiter=STEPS, M=scaled)
        return x if constants else _centered(x), failed

    return None if solve(_start(n))[1] else lambda b: solve(b)[0]


def _factor_solver(M: Any, constants: bool) -> Apply | None:
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


def _dominant(apply: Apply, n: int, restarts: int) -> float:
    """The eigenvalue of largest magnitude, from a start that is always the same."""
    operator: Any = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    values = eigsh(operator, k=1, which="LM", v0=_start(n), ncv=40, maxiter=restarts, return_eigenvectors=False)
    return float(values[0])


def _start(n: int) -> Array:
    return np.random.default_rng(0).normal(size=n)


def _centered(x: Array) -> Array:
    return x - x.mean()
