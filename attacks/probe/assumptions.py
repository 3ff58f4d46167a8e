"""Assumptions on how gradients change over an agent's queries. Each is named in the result.

Every gradient is a fixed combination of coefficients, g = A c, the same for each coordinate; a prior adds rows
D c = noise of known deviation. With `Free` every query is an unknown of its own. An assumption that is wrong makes
estimates wrong: `ProbedNetwork.residual` and `.misfit` show where the observations contradict it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from netsim.arrays import Array, whole
from netsim.errors import ScenarioError

Matrix: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
"""Sparse, float64."""


class Model(NamedTuple):
    """`spread` A (queries, coefficients), queries agent by agent; `prior` D (rows, coefficients) and the standard
    deviation of each of its rows, `stddev` (rows,), in units of a gradient's coordinate."""

    spread: Matrix
    prior: Matrix
    stddev: Array


class Assumption(Protocol):
    """Relation between the gradients of one agent."""

    def model(self, queries: Mapping[int, int]) -> Model:
        """For agents, ascending, with so many queries each."""
        ...


@dataclass(frozen=True)
class Free:
    """Nothing: the gradients of all queries are unknowns of their own, and may change as they like."""

    def model(self, queries: Mapping[int, int]) -> Model:
        return _without_prior(sparse.eye_array(sum(queries.values()), format="csr"))


@dataclass(frozen=True)
class Constant:
    """Each agent's gradient is the same at all its queries, as the older studies have it."""

    def model(self, queries: Mapping[int, int]) -> Model:
        return Basis().model(queries)


@dataclass(frozen=True)
class Basis:
    """A polynomial of this `degree` in the query's number, on each of so many `pieces` of equal length.

    Degree 0 with several pieces is piecewise constant. The coefficients are those of Legendre polynomials.
    """

    degree: int = 0
    pieces: int = 1

    def __post_init__(self) -> None:
        whole(self.degree, "degree", 0)
        whole(self.pieces, "pieces", 1)

    def model(self, queries: Mapping[int, int]) -> Model:
        return _without_prior(_diagonal([self._of_one(count) for count in queries.values()]))

    def _of_one(self, queries: int) -> Matrix:
        pieces: list[Matrix] = []
        for size in (part.size for part in np.array_split(np.arange(queries), self.pieces) if part.size):
            times = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
            vander = np.polynomial.legendre.legvander(times, min(self.degree, size - 1))
            pieces.append(sparse.csr_array(np.asarray(vander, dtype=np.float64)))
        return _diagonal(pieces)


@dataclass(frozen=True)
class RandomWalk:
    """Random walk: from one query to the next every coordinate of a gradient changes by N(0, stddev²).

    The first gradient is N(0, start²), or without `start` may be anything. The estimate is the most likely one (MAP)
    and the covariance that of the posterior, where noise is Gaussian.
    """

    stddev: float
    start: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("stddev", self.stddev), ("start", self.start)):
            if value is not None and not 0 < value < math.inf:
                raise ScenarioError(name, value, "no standard deviation", "> 0 and finite")

    def model(self, queries: Mapping[int, int]) -> Model:
        steps: list[Matrix] = []
        stddev = [np.zeros(0)]
        for count in queries.values():
            changes = np.eye(count) - np.eye(count, k=-1)
            steps.append(sparse.csr_array(changes if self.start is not None else changes[1:]))
            first = [] if self.start is None else [self.start]
            stddev.append(np.array([*first, *[self.stddev] * (count - 1)])[: count - (self.start is None)])
        size = sum(queries.values())
        return Model(sparse.eye_array(size, format="csr"), _diagonal(steps), np.concatenate(stddev))


def _without_prior(spread: Matrix) -> Model:
    return Model(spread, sparse.csr_array((0, spread.shape[1])), np.zeros(0))


def _diagonal(blocks: list[Matrix]) -> Matrix:
    return sparse.csr_array(sparse.block_diag(blocks, format="csr")) if blocks else sparse.csr_array((0, 0))
