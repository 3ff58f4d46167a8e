"""Directions in which a change of the gradient moves one transcript's releases most.

What the releases do about one place is measured along coordinates: a matrix of coordinates by numbers released. The
vector of norm 1 that moves these farthest is found by turning: what a vector moves says, by its signs or by itself,
which vector moves that more. So directions are found that are no coordinates and no vectors of signs, such as the
leading singular one of a matrix that mixes coordinates. It suggests pairs, and proves nothing.
"""

from dataclasses import dataclass

import numpy as np

from netsim.arrays import Array, product
from netsim.claims import Norm, length

PROBED = 512
"""Directions in which changes are measured, at most: of more coordinates groups of them, at signs that are drawn."""
NUMBERS = 2e7
"""Numbers measured, at most: fewer directions where much is released."""
TURNS = 24
"""Times that a vector is turned to what it moves."""
STARTS, FEW = 64, 2
"""Vectors drawn from which that begins, and the best of those found that are tried."""


def probes(dimension: int, numbers: int) -> Array:
    """Orthonormal directions (directions, dimension) in which releases of so many numbers are measured."""
    count = max(1, min(PROBED, dimension, int(NUMBERS / max(1, numbers))))
    if count == dimension:
        return np.eye(dimension)
    rng = np.random.default_rng(4)
    group = rng.permutation(np.arange(dimension) % count)
    signs = rng.choice((-1.0, 1.0), dimension) / np.sqrt(np.bincount(group))[group]
    return np.where(np.arange(count)[:, None] == group, signs, 0.0)


@dataclass(frozen=True, eq=False)
class Response:
    """What releases do about one place: `values` (directions, numbers), in deviations of their noise, is by how much
    they move for each unit along one of `directions` (directions, dimension); `order` is the norm that counts."""

    values: Array
    directions: Array
    order: int

    def uphill(self, apart: Array) -> Array:
        """The unit vector (dimension,) along which releases that are `apart` (numbers,) from others go farther away;
        0 where none moves them."""
        return _of_norm(self._back(apart[None]), "l2")[0]

    def steepest(self, norm: Norm) -> Array:
        """At most `FEW` vectors of norm 1 (vectors, dimension) along which releases move farthest; none where nothing
        moves them."""
        if not np.any(self.values):
            return self.directions[:0]
        rng = np.random.default_rng(5)
        drawn = rng.standard_normal((STARTS, len(self.values)))
        longest = np.argsort(-np.linalg.norm(self.values, ord=self.order, axis=1), kind="stable")[:STARTS]
        starts = product(np.concatenate([np.eye(len(self.values))[longest], drawn]), self.directions)
        vectors = _of_norm(starts, norm)
        for _ in range(TURNS):
            vectors = _of_norm(self._back(self._moved(vectors)), norm)
        far = np.linalg.norm(self._moved(vectors), ord=self.order, axis=1)
        best = vectors[np.argsort(-far, kind="stable")]
        turned = np.abs(product(best[1:], best[:1].T)[:, 0]) < 1 - 1e-3  # another one than the best
        return np.concatenate([best[:1], best[1:][turned][: FEW - 1]])

    def _moved(self, vectors: Array) -> Array:
        """What vectors (vectors, dimension) move, (vectors, numbers)."""
        return product(product(vectors, np.ascontiguousarray(self.directions.T)), self.values)

    def _back(self, apart: Array) -> Array:
        """Which vectors (vectors, dimension) add most to what is `apart` (vectors, numbers)."""
        signs = apart if self.order == 2 else np.sign(apart)
        return product(product(signs, np.ascontiguousarray(self.values.T)), self.directions)


def _of_norm(vectors: Array, norm: Norm) -> Array:
    """For each vector (vectors, dimension) the one of norm 1 whose product with it is largest; 0 for 0."""
    if norm == "linf":
        return np.sign(vectors)
    if norm == "l1":
        return np.eye(vectors.shape[1])[np.argmax(np.abs(vectors), axis=1)] * np.sign(vectors)
    size = length(vectors, "l2")[:, None]
    return np.divide(vectors, size, out=np.zeros_like(vectors), where=size > 0)
