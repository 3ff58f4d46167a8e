"""Directions in which a gradient may be moved by at most 1 in ℓ1, ℓ2 or ℓ∞, for a search of the one that costs most.

What a change costs depends on the norm that the noise protects, on what the agent's code does with a gradient, and on
the agent's own data, which turn one change into the next. Of a convex cost on a ball an extreme point is a worst one:
of ℓ1 the coordinates, of ℓ∞ the signs, of ℓ2 every direction.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def near(direction: Direction, norm: Norm) -> list[Callable[[], Direction]]:
    """Moves from one direction to others of norm 1, in the same order for all of one dimension.

    The signs of a half of the coordinates changed, of a quarter, … and of one; then one coordinate moved by a share
    of the largest, up and down. In ℓ1 the other extreme points come first, for none is near another.
    """
    words, vector = direction
    words = words if words.endswith(", refined") else f"{words}, refined"
    moves: list[Callable[[], Direction]] = []
    if norm == "l1":
        moves += [partial(Direction, *one) for one in _coordinates(norm, len(vector))]
    moves += [partial(_flipped, words, vector, block) for block in _blocks(len(vector))]
    return moves + [
        partial(_pushed, words, vector, c, share, norm)
        for step in STEPS
        for c in range(len(vector))
        for share in (step, -step)
    ]


def _blocks(dimension: int) -> Iterator[NDArray[np.intp]]:
    """Halves, quarters, … single coordinates."""
    parts = 2
    while parts < dimension:
        yield from np.array_split(np.arange(dimension), parts)
        parts *= 2
    yield from np.arange(dimension)[:, None]


def _flipped(words: str, vector: Array, block: NDArray[np.intp]) -> Direction:
    flipped = vector.copy()
    flipped[block] = 0.0 - flipped[block]
    return Direction(words, flipped)


def _pushed(words: str, vector: Array, c: int, share: float, norm: Norm) -> Direction:
    pushed = vector.copy()
    pushed[c] += share * float(np.max(np.abs(vector)))
    return Direction(words, scaled(pushed, norm) if np.any(pushed) else vector)


def scaled(vector: Array, norm: Norm) -> Array:
    """Of norm 1."""
    return vector / length(vector, norm)


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
