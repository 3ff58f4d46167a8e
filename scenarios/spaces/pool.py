"""Records that may come in the place of an agent's, and what they do to a gradient."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from netsim.arrays import Array
from netsim.problems import Problem
from scenarios.problem import AnyLogistic

COORDINATES = 2**12
"""Of points of a run, together: more coordinates, fewer points."""


@dataclass(frozen=True)
class Pool:
    """Records that may come in: features (m, d), labels (m,) and what each is called."""

    features: Array
    labels: Array
    words: tuple[str, ...]

    @classmethod
    def of(cls, agent: int, problem: Problem) -> "Pool":
        """Those of all other agents, with their labels and with the others."""
        parts = [(i, f) for i, f in enumerate(problem.objectives) if i != agent and isinstance(f, AnyLogistic)]
        words = [f"record {k} of agent {i}" for i, f in parts for k in range(f.records)]
        if not parts:
            return cls(np.empty((0, problem.dimension)), np.empty(0), ())
        features = np.concatenate([f.features for _, f in parts] * 2)
        labels = np.concatenate([f.labels for _, f in parts] + [-f.labels for _, f in parts])
        return cls(features, labels, (*words, *(f"{word}, its label flipped" for word in words)))

    @property
    def signed(self) -> Array:
        """z = b·a, (m, d)."""
        return self.labels[:, None] * self.features


def few(points: Array, dimension: int) -> Array:
    """Some of the points, spread over them; the origin, where all algorithms start, if there are none."""
    if not len(points):
        return np.zeros((1, dimension))
    most = max(1, COORDINATES // dimension)
    return points[sorted({int(k) for k in np.linspace(0, len(points) - 1, min(len(points), most))})]


def weights(signed: Array, points: Array) -> Array:
    """σ(−zᵀx) of every record z at every point x: (records, points)."""
    return np.asarray(expit(-np.einsum("md,pd->mp", signed, points)), dtype=np.float64)


def gradients_at(signed: Array, points: Array) -> Array:
    """−σ(−zᵀx) z of every record z at every point x: (records, points·dimension)."""
    return (-weights(signed, points)[:, :, None] * signed[:, None, :]).reshape(len(signed), -1)


def strongest(signed: Array, points: Array, most: int) -> NDArray[np.int64]:
    """The positions, rising, of the records whose gradients are largest at the points, in the mean square."""
    size = np.sum(signed**2, axis=1) * np.mean(weights(signed, points) ** 2, axis=1)
    return np.sort(np.argsort(-size, kind="stable")[:most])
