"""Linear models of gradients g: what is assumed of them, and their estimates from C g + B z = y.

*Assumptions* say how gradients change over an agent's queries; each is named in the result. Every gradient is a fixed
combination of coefficients, g = A c, the same for each coordinate; a prior adds rows D c = noise of known deviation.
With `Free` every query is an unknown of its own. An assumption that is wrong makes estimates wrong:
`ProbedNetwork.residual` and `.misfit` show where the observations contradict it.

*Estimates*, with z independent noise of variance 1, are the best linear ones, and the likeliest. The best linear
unbiased estimate is weighted least squares; some rows may have no noise at all (`solve`). Where all noise is Laplace,
the likeliest g has the least Σ|z|: weighted absolute values in place of squares, a linear program,

    min Σ (p + q)  over h, p, q ≥ 0   with   C S h + B (p − q) = what the best linear estimate leaves of y,

h in standard deviations of that estimate (S is the factor of its covariance), one for every column. It is the best
linear estimate plus a function of what that leaves of y, which does not depend on g: so its errors have the same law
whatever g is, and their covariance is simulated from the known noise, whatever the number of releases. Asymptotically
(Fisher) it is half the best linear one's. Where one or two releases bear on each gradient it is as large or larger:
the likeliest of two is the less noisy of them alone. From three on it is smaller.

Source: this project; weighted ℓ1 regression as a linear program is classical (Koenker & Bassett 1978).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import linalg, sparse

from netsim.arrays import Array, Mask, whole
from netsim.errors import AttackError, ScenarioError

Matrix: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
"""Sparse, float64."""
SILENT = 1e-26
"""A row's variance below this share of the largest counts as none."""
DEPENDENT = 1e-13
"""Noises of rows that share them: a singular value below this share of the largest counts as none."""
RANK = 1e-11
"""A singular value below this share of the largest counts as zero."""
HIDDEN = 1e-7
"""An unknown that can change by this much, of 1, while nothing observed does is not identifiable."""
AT_ONCE = 20
"""So many linear programs are handed over together."""


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


class _Solution(NamedTuple):
    """`estimate` (unknowns, columns); `covariance` (unknowns, unknowns) of each column's errors; `identifiable`
    (unknowns,); `rank` of C; `residual` (columns,): what is left of rows without noise, 0 up to rounding where the
    model is right; `spread` (unknowns, directions): S of the covariance S Sᵀ.
    """

    estimate: Array
    covariance: Array
    identifiable: Mask
    rank: int
    residual: Array
    spread: Array


def solve(design: Array, noise: Array, observed: Array, rounding: float = 0.0) -> _Solution:
    """C = `design` (rows, unknowns), B = `noise` (rows, noises; standard deviations), `observed` (rows, columns).

    `rounding` is the deviation that rounding adds to a row with noise; rows without any are taken at their word. What
    moves the observations by less than `RANK` of what other unknowns do is taken for rounding.
    """
    variances, axes = independent(noise, whole=True)
    design_, observed_ = (design, observed) if axes is None else (axes.T @ design, axes.T @ observed)
    exact = variances <= SILENT * max(float(np.max(variances, initial=0.0)), np.finfo(float).tiny)
    largest = float(np.linalg.norm(design_, 2)) if design.size else 0.0
    left, sizes, right, exact_rank = _decomposed(design_[exact], largest)
    fixed, free = (right.T / sizes) @ (left.T @ observed_[exact]), _complement(right, design_.shape[1])
    noisy, rest = design_[~exact] @ free, observed_[~exact] - design_[~exact] @ fixed
    _, _, seen, noisy_rank = _decomposed(noisy, largest)  # whatever the noise, if it is finite
    spread, found = _weighted(noisy @ seen.T, np.sqrt(variances[~exact] + rounding * rounding), rest)
    spread = free @ seen.T @ spread
    hidden = free @ _complement(seen, free.shape[1])
    return _Solution(
        fixed + free @ seen.T @ found,
        spread @ spread.T,
        np.linalg.norm(hidden, axis=1) <= HIDDEN,
        exact_rank + noisy_rank,
        np.max(np.abs(design_[exact] @ fixed - observed_[exact]), axis=0, initial=0.0),
        spread,
    )


def silent(noise: Array) -> Array:
    """The part of B = `noise` (rows, noises) that `solve` takes for none."""
    if _apart(noise):
        variances = np.sum(noise**2, axis=1, keepdims=True)
        return np.where(variances <= SILENT * np.max(variances, initial=0.0), noise, 0.0)
    axes, sizes, others = np.linalg.svd(noise, full_matrices=False)
    counted = sizes**2 > max(DEPENDENT**2, SILENT) * sizes[0] ** 2
    return (axes[:, ~counted] * sizes[~counted]) @ others[~counted]


def independent(noise: Array, *, whole: bool = False) -> tuple[Array, Array | None]:
    """The variances (axes,) of independent noises, and the axes (rows, axes) that make them so; None: the rows.

    Axes without noise are among them where these are fewer noises than rows, and of the `whole` space in any case.
    """
    if _apart(noise):
        return np.sum(noise**2, axis=1), None
    axes, sizes, _ = np.linalg.svd(noise, full_matrices=whole or noise.shape[1] < len(noise))
    sizes = np.where(sizes > DEPENDENT * sizes[0], sizes, 0.0)
    return np.pad(sizes**2, (0, len(noise) - len(sizes))), axes


def _apart(noise: Array) -> bool:
    """Whether no two rows share a noise, and none has two."""
    return all(np.max(np.count_nonzero(noise, axis=axis), initial=0) <= 1 for axis in (0, 1))


def powers(design: Array) -> Array:
    """The size of each column, a power of two; 1 for one of zeros."""
    sizes = np.linalg.norm(design, axis=0)
    return np.where(sizes > 0, np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0)))), 1.0)


def outlook(design: Array, nuisance: Array) -> Array:
    """The nonzero singular values of C less all that unknowns with the map `nuisance` (rows, others) can explain."""
    left, _, _, _ = _decomposed(nuisance / powers(nuisance))
    units = powers(design)
    scaled = design / units
    largest = float(np.linalg.norm(scaled, 2)) if design.size else 0.0
    rest = scaled - left @ (left.T @ scaled)
    rank = _decomposed(rest, largest)[3]
    return np.asarray(np.linalg.svd(rest * units, compute_uv=False)[:rank] if rank else [], dtype=np.float64)


def _weighted(design: Array, stddev: Array, observed: Array) -> tuple[Array, Array]:
    """A factor S of the covariance S Sᵀ, and the estimate, by weighted least squares of full column rank.

    Deviations may span many orders of magnitude: rows are sorted by weight and columns pivoted, for then the QR of
    Householder is stable row by row (Powell & Reid 1969; Cox & Higham 1998).
    """
    if 0 in design.shape:
        return np.zeros((design.shape[1], 0)), np.zeros((design.shape[1], observed.shape[1]))
    order = np.argsort(stddev, kind="stable")
    weights = 1 / stddev[order]
    q, r, columns = linalg.qr(weights[:, None] * design[order], mode="economic", pivoting=True)
    back = np.argsort(columns)
    found = linalg.solve_triangular(r, q.T @ (weights[:, None] * observed[order]))
    return linalg.solve_triangular(r, np.eye(len(r)))[back], found[back]


def _decomposed(matrix: Array, largest: float = 0.0) -> tuple[Array, Array, Array, int]:
    """The singular value decomposition, without what counts as zero beside its own or another `largest` value."""
    if 0 in matrix.shape:
        return np.zeros((matrix.shape[0], 0)), np.ones(0), np.zeros((0, matrix.shape[1])), 0
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int(np.count_nonzero(sizes > RANK * max(sizes[0], largest)))
    return left[:, :rank], sizes[:rank], right[:rank], rank


def _complement(rows: Array, dimension: int) -> Array:
    """An orthonormal basis, in columns, of what is orthogonal to these orthonormal rows."""
    if len(rows) == 0:
        return np.eye(dimension)
    return np.linalg.svd(rows, full_matrices=True)[2][len(rows) :].T


# ── maximum likelihood under Laplace noise ──────────────────────────────────────────────────────────
def most_likely(design: Array, noise: Array, left: Array, spread: Array) -> Array:
    """Change of the best linear estimates to the likeliest, (unknowns, columns).

    C = `design` (rows, unknowns), B = `noise` (rows, noises), `left` (rows, columns): y less C times the estimate;
    `spread` (unknowns, directions): S. Rows without noise hold for the estimate, and S does not touch them. You get
    an `AttackError` where the program has no solution: `left` is then none that this noise can have made.
    """
    sizes = np.linalg.norm(noise, axis=1)
    noisy = sizes > 0
    along = design[noisy] @ spread / sizes[noisy, None]
    mixing, rest = noise[noisy] / sizes[noisy, None], left[noisy] / sizes[noisy, None]
    directions, noises = along.shape[1], mixing.shape[1]
    if directions == 0 or len(along) <= directions:
        return np.zeros((len(spread), left.shape[1]))
    program = sparse.csr_array(np.hstack([along, mixing, -mixing]))
    cost = np.concatenate([np.zeros(directions), np.ones(2 * noises)])
    bounds = [(None, None)] * directions + [(0, None)] * (2 * noises)
    columns = left.shape[1]
    parts = [rest[:, k : k + AT_ONCE].T for k in range(0, columns, AT_ONCE)]
    solved = [_solved(program, cost, bounds, part)[:, :directions] for part in parts]
    return spread @ np.concatenate(solved).T


def _solved(program: Any, cost: Array, bounds: list[tuple[float | None, None]], sides: Array) -> Array:
    """Programs that differ in their right sides, (programs, rows), next to each other: (programs, variables)."""
    from scipy.optimize import linprog  # takes its time to load

    many = len(sides)
    blocks: Any = sparse.block_diag([program] * many, format="csr")
    solved: Any = linprog(
        np.tile(cost, many), A_eq=blocks, b_eq=sides.ravel(), bounds=bounds * many, method="highs-ds"
    )
    if solved.status != 0:
        raise AttackError(f"no likeliest estimate: {solved.message}")
    return np.asarray(solved.x).reshape(many, -1)


def simulated(design: Array, noise: Array, gain: Array, spread: Array, draws: int, rng: np.random.Generator) -> Array:
    """The covariance (unknowns, unknowns) of the likeliest estimates' errors, from so many `draws` of the noise.

    `gain` (unknowns, rows) is A of the best linear estimate A y. An entry's relative error is about √(5/draws).
    """
    values = noise @ rng.laplace(scale=2**-0.5, size=(noise.shape[1], draws))
    linear = gain @ values
    error = linear + most_likely(design, noise, values - design @ linear, spread)
    return error @ error.T / draws
