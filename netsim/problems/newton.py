"""Damped Newton, x ← x − t H(x)⁻¹ g(x), for many independent convex problems at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array

STEPS, HALVINGS = 100, 40


def newton(
    gradient: Callable[[Array], Array],
    hessian: Callable[[Array], Array],
    start: Array,
    tolerance: Array,
) -> Array:
    """Points x of shape (replicas, dimension) where ‖gradient(x)‖∞ <= tolerance, or as near as rounding lets.

    `hessian` gives shape (replicas, dimension, dimension). A replica that is done, stuck or not finite stays
    where it is: none feels another. The caller checks what was reached.
    """
    x, g = start, gradient(start)
    going = np.abs(g).max(axis=1) > tolerance
    for _ in range(STEPS):
        if not going.any():
            break
        t = _length(gradient, x, g, direction := _direction(hessian(x), g), going)
        x = _moved(x, t, direction)
        g = gradient(x)
        going = (t > 0) & (np.abs(g).max(axis=1) > tolerance)
    return x


def _direction(hessians: Array, g: Array) -> Array:
    """−H⁻¹ g or, where some H is singular, the shortest such direction."""
    try:
        return -np.linalg.solve(hessians, g[..., None])[..., 0].astype(np.float64)
    except np.linalg.LinAlgError:
        return -np.einsum("rij,rj->ri", np.linalg.pinv(hessians, hermitian=True), g)


def _length(
    gradient: Callable[[Array], Array], x: Array, g: Array, direction: Array, going: NDArray[np.bool_]
) -> Array:
    """t = 1, halved until ‖g‖₂ falls by the factor 1 − t/4, as it must for small t; 0 stays put."""
    t, size = np.where(going, 1.0, 0.0), np.linalg.norm(g, axis=1)
    for _ in range(HALVINGS):
        falls = np.linalg.norm(gradient(_moved(x, t, direction)), axis=1) <= (1 - t / 4) * size
        if np.all(falls | (t == 0)):
            return t
        t = np.where(falls, t, t / 2)
    return np.where(t < 0.5**HALVINGS * 1.5, 0.0, t)


def _moved(x: Array, t: Array, direction: Array) -> Array:
    return np.where(t[:, None] > 0, x + t[:, None] * direction, x)
