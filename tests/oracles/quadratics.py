"""A small strongly convex problem whose solution linear algebra gives, and the graphs to solve it on."""

from collections.abc import Callable

import numpy as np

from tests.oracles.shapes import Array, Prox

GRAPHS = ("ring", "complete", "geometric")


class Quadratics:
    """f_i(x) = ½ xᵀH_i x − b_iᵀx with eigenvalues of H_i in [½, 2], so L = 2; `optimum` minimizes Σ f_i."""

    largest = 2.0
    prox: Prox | None = None  # r = 0

    def __init__(self, seed: int, n: int = 6, d: int = 3) -> None:
        rng = np.random.default_rng(seed)
        bases = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n)]
        self.H = np.array([q @ np.diag(rng.uniform(0.5, 2, d)) @ q.T for q in bases])
        self.b = rng.normal(size=(n, d))
        self.gradients = [lambda x, H=H, b=b: H @ x - b for H, b in zip(self.H, self.b, strict=True)]
        self.exacts = [_exact(H, b) for H, b in zip(self.H, self.b, strict=True)]
        self.bare_exacts = self.exacts  # without r
        self.optimum = np.linalg.solve(self.H.sum(axis=0), self.b.sum(axis=0))

    def gap(self, points: Array) -> float:
        """The largest distance of a coordinate of `points` (..., d) from the optimum."""
        return float(np.abs(points - self.optimum).max())


class SparseDiagonal(Quadratics):
    """Diagonal H_i and r = weight·‖x‖₁: coordinates apart, so min Σ f_i + n·r is closed form."""

    def __init__(self, seed: int, weight: float, n: int = 6, d: int = 3) -> None:
        super().__init__(seed, n, d)
        curvature = np.random.default_rng(seed).uniform(0.5, 2, (n, d))
        self.H = np.array([np.diag(h) for h in curvature])
        self.gradients = [lambda x, h=h, b=b: h * x - b for h, b in zip(curvature, self.b, strict=True)]
        self.exacts = [
            lambda v, s, h=h, b=b: _soft(b + v / s, weight) / (h + 1 / s)
            for h, b in zip(curvature, self.b, strict=True)
        ]
        self.bare_exacts = [_exact(H, b) for H, b in zip(self.H, self.b, strict=True)]
        self.prox = lambda v, step: _soft(v, step * weight)
        self.optimum = _soft(self.b.sum(axis=0), n * weight) / curvature.sum(axis=0)


def _soft(v: Array, threshold: float) -> Array:
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)


def _exact(H: Array, b: Array) -> Callable[[Array, float], Array]:
    return lambda v, step: np.linalg.solve(H + np.eye(len(b)) / step, b + v / step)


def adjacency(graph: str, n: int = 6) -> Array:
    """A 0/1 matrix; "geometric" joins points of a fixed draw in the unit square that lie closer than 0.5."""
    if graph == "complete":
        return np.ones((n, n)) - np.eye(n)
    if graph == "ring":
        return np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    places = np.random.default_rng(3).uniform(size=(n, 2))
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    A = ((apart < 0.5) & ~np.eye(n, dtype=bool)).astype(np.float64)
    reach = np.linalg.matrix_power(A + np.eye(n), n)
    if not reach.all():
        raise AssertionError("the fixed draw of the geometric graph is not connected")
    return A


def metropolis(A: Array) -> Array:
    """W_ij = 1/(1 + max(d_i, d_j)) on edges, the rest on the diagonal."""
    degree = A.sum(axis=1)
    W = A / (1 + np.maximum(degree[:, None], degree[None]))
    return W + np.diag(1 - W.sum(axis=1))


def walk(A: Array, steps: int, seed: int) -> list[int]:
    """A simple random walk from agent 0."""
    rng = np.random.default_rng(seed)
    route = [0]
    while len(route) < steps:
        route.append(int(rng.choice(np.flatnonzero(A[route[-1]]))))
    return route
