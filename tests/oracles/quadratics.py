"""A small strongly convex problem whose solution linear algebra gives, and a graph to solve it on."""

import numpy as np

from tests.oracles.shapes import Array, Prox


class Quadratics:
    """f_i(x) = ½ xᵀH_i x − b_iᵀx with eigenvalues of H_i in [½, 2], so L = 2; `optimum` minimizes Σ f_i."""

    prox: Prox | None = None  # r = 0

    def __init__(self, seed: int, n: int = 6, d: int = 3) -> None:
        rng = np.random.default_rng(seed)
        bases = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n)]
        self.H = np.array([q @ np.diag(rng.uniform(0.5, 2, d)) @ q.T for q in bases])
        self.b = rng.normal(size=(n, d))
        self.gradients = [lambda x, H=H, b=b: H @ x - b for H, b in zip(self.H, self.b, strict=True)]
        self.optimum = np.linalg.solve(self.H.sum(axis=0), self.b.sum(axis=0))


class SparseDiagonal(Quadratics):
    """Diagonal H_i and r = weight·‖x‖₁."""

    def __init__(self, seed: int, weight: float, n: int = 6, d: int = 3) -> None:
        super().__init__(seed, n, d)
        curvature = np.random.default_rng(seed).uniform(0.5, 2, (n, d))
        self.gradients = [lambda x, h=h, b=b: h * x - b for h, b in zip(curvature, self.b, strict=True)]
        self.prox = lambda v, step: np.sign(v) * np.maximum(np.abs(v) - step * weight, 0)


def adjacency(n: int = 6) -> Array:
    """A 0/1 matrix that joins points of a fixed draw in the unit square that lie closer than 0.5."""
    places = np.random.default_rng(3).uniform(size=(n, 2))
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    A = ((apart < 0.5) & ~np.eye(n, dtype=bool)).astype(np.float64)
    assert np.linalg.matrix_power(A + np.eye(n), n).all()
    return A


def metropolis(A: Array) -> Array:
    """W_ij = 1/(1 + max(d_i, d_j)) on edges, the rest on the diagonal."""
    degree = A.sum(axis=1)
    W = A / (1 + np.maximum(degree[:, None], degree[None]))
    return W + np.diag(1 - W.sum(axis=1))
