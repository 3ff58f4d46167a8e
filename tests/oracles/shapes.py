"""What the oracles of whole rounds share: gradients stacked over agents, noise checked, sums over neighbors."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Gradient = Callable[[Array], Array]  # ∇f_i at one (d,) point
Gradients = Sequence[Gradient]
Noise = Sequence[Array] | Array | None  # by round or activation; None is none
History = dict[str, Array]
Prox = Callable[[Array, float], Array]  # (v, step) ↦ argmin r + ‖· − v‖²/(2 step)
Exact = Callable[[Array, float], Array]  # (v, step) ↦ argmin f_i + r + ‖· − v‖²/(2 step)


def stacked(gradients: Gradients, points: Array) -> Array:
    """Row i is gradients[i](points[i]); each function gets its own copy."""
    return np.array([gradient(point.copy()) for gradient, point in zip(gradients, points, strict=True)])


def by_row(prox: Prox | None, points: Array, step: float) -> Array:
    """prox_{step·r} of every row; None is r = 0."""
    if prox is None:
        return points.copy()
    return np.array([prox(point.copy(), step) for point in points])


def drawn(values: Noise, shape: tuple[int, ...]) -> Array:
    """`values` as an array of exactly `shape`; None is zeros."""
    if values is None:
        return np.zeros(shape)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"shape {array.shape} where {shape} is needed")
    return array


def square(weights: Array, agents: int) -> Array:
    """`weights` as an (agents, agents) array."""
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.shape != (agents, agents):
        raise ValueError(f"a matrix of shape {matrix.shape} for {agents} agents")
    return matrix


def edges_of(adjacency: Array) -> Array:
    """A 0/1 symmetric matrix without self-loops and without isolated agents, as floats."""
    matrix = np.asarray(adjacency, dtype=np.float64)
    simple = np.isin(matrix, (0.0, 1.0)).all() and not matrix.diagonal().any()
    if not simple or not np.array_equal(matrix, matrix.T) or not matrix.sum(axis=1).all():
        raise ValueError("an undirected graph without self-loops, in which every agent has a neighbor, is needed")
    return matrix


def differences(adjacency: Array, points: Array) -> Array:
    """Row i is Δ_i = Σ_{j∈N_i}(points_i − points_j)."""
    return adjacency.sum(axis=1)[:, None] * points - adjacency @ points


def pair_sums(adjacency: Array, points: Array) -> Array:
    """Row i is S_i = Σ_{j∈N_i}(points_i + points_j)."""
    return adjacency.sum(axis=1)[:, None] * points + adjacency @ points
