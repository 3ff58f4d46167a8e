"""Directions in which a gradient may be moved by at most 1 in ℓ1, ℓ2 or ℓ∞, for a search of the one that costs most.

What a change costs depends on the norm that the noise protects, on what the agent's code does with a gradient, and on
the agent's own data, which turn one change into the next. Of a convex cost on a ball an extreme point is a worst one:
of ℓ1 the coordinates, of ℓ∞ the signs, of ℓ2 every direction.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from netsim.arrays import Array
from netsim.norms import Norm, length

STEPS = (0.5, 0.125)
"""Of the largest coordinate, by which one is moved."""


class Direction(NamedTuple):
    """A vector (dimension,) of norm 1, and what it is in words."""

    words: str
    vector: Array


def families(
    norm: Norm, dimension: int, suggested: Mapping[str, Array], rng: np.random.Generator
) -> dict[str, Iterator[Direction]]:
    """Directions by family; `suggested` are vectors, by name, that somebody has a reason for (zeros are left out).

    "signs" and "random" never end.
    """
    return {
        "even": _both("even", np.ones(dimension), norm),
        "signs": _signs(norm, dimension, rng),
        "coordinates": _coordinates(norm, dimension),
        "data": _suggested(norm, suggested),
        "random": _random(norm, dimension, rng),
    }


def near(direction: Direction, norm: Norm) -> Iterator[Direction]:
    """Coordinate by coordinate: its sign changed; then moved by a share of the largest, up and down; norm 1 again.

    In ℓ1 the other extreme points come first, for none is near another.
    """
    words, vector = direction
    if norm == "l1":
        yield from _coordinates(norm, len(vector))
    for c in np.flatnonzero(vector):
        yield Direction(_refined(words), np.where(np.arange(len(vector)) == c, -vector, vector))
    largest = float(np.max(np.abs(vector)))
    for step in STEPS:
        for c in range(len(vector)):
            for move in (step * largest, -step * largest):
                moved = vector + move * (np.arange(len(vector)) == c)
                if np.any(moved):
                    yield Direction(_refined(words), scaled(moved, norm))


def scaled(vector: Array, norm: Norm) -> Array:
    """Of norm 1."""
    return vector / length(vector, norm)


def _refined(words: str) -> str:
    return words if words.endswith(", refined") else f"{words}, refined"


def _both(words: str, vector: Array, norm: Norm) -> Iterator[Direction]:
    unit = scaled(vector, norm)
    yield Direction(words, unit)
    yield Direction(f"minus {words}", -unit)


def _signs(norm: Norm, dimension: int, rng: np.random.Generator) -> Iterator[Direction]:
    while dimension > 1:
        yield Direction("signs drawn", scaled(rng.choice((-1.0, 1.0), dimension), norm))


def _coordinates(norm: Norm, dimension: int) -> Iterator[Direction]:
    for c in range(dimension):
        yield from _both(f"coordinate {c}", np.eye(dimension)[c], norm)


def _suggested(norm: Norm, suggested: Mapping[str, Array]) -> Iterator[Direction]:
    """Each as it is, and the signs of it."""
    for words, vector in suggested.items():
        if np.all(np.isfinite(vector)) and np.any(vector):
            yield from _both(words, vector, norm)
            yield from _both(f"signs of {words}", np.where(vector < 0, -1.0, 1.0), norm)


def _random(norm: Norm, dimension: int, rng: np.random.Generator) -> Iterator[Direction]:
    while dimension > 1:
        yield Direction("drawn", scaled(rng.standard_normal(dimension), norm))
