"""Solve the equations, component by component: estimates, covariance, misfit, and what rounding makes of them.

Unknowns that share no equation, and no noise, are independent: each connected component is solved by itself with
`attacks.probe.linear.solve`, in coordinates in which nothing is hidden.
The estimator is a matrix G, ĉ = G·(observed − offset). How good it is follows without any further assumption:

- H, the projector on what changes nothing observed (singular values of C below `RANK` of the largest count as zero),
  is how an unknown is mixed with hidden ones: |H| ≤ `HIDDEN` in the row of what is identifiable.
- rounding: each of the numbers observed is off by at most about `OPERATIONS`·ε of the largest number that went into
  it, in a network for each round before it. Through |G| that bounds the error of each estimate (`rounding`); to it
  |I − G C|, which is |H| but for rounding, adds the share of unknowns that are hidden, taken to be no larger than the
  largest that is determined; and noise so small beside other that it counts as none adds its deviation.
- misfit: what the solution leaves of the equations, row by row, each judged by its own noise, however much larger
  that of others is. In coordinates in which the noises are independent a row with noise counts in `squares`, in units
  of its deviation, and one without, or with less than rounding makes, in `residual`. A row in which no coefficient is
  left (the assumption cancels every gradient) is judged too: all of it is residual.

An estimate whose rounding is larger than `WORTHLESS` of the largest gradient determined, and than its own noise, is
called drowned, and is not identifiable: the structure allows it, the precision of the numbers on the wire does not.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from attacks.probe.linear import HIDDEN, RANK, SILENT, Matrix, Model, independent, outlook, powers, silent, solve
from attacks.probe.mapping import LIMIT, SAME, Law, Map
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

OPERATIONS = 8
"""Rounded operations on the largest numbers, for each value on the wire."""
WORTHLESS = 1e-2
"""Relative to the largest gradient determined."""
DROWNED = 1e-13
"""Noise below this share of the largest value is lost in rounding, which takes its place."""
ALONE = 1e-12
"""A coefficient that is determined by itself but for so much of others, of 1, is a coordinate of its own."""

Indices = NDArray[np.intp]
Place = tuple[Indices, Indices, Indices]
"""Rows, coefficients and noises of one component."""


class _Misfit(NamedTuple):
    """`residual`: the largest of what is left of rows without noise; `squares`: the sum over the others, whitened,
    mean over columns; `degrees`: what `squares` is expected to be."""

    residual: float
    squares: float
    degrees: float

    @property
    def mean(self) -> float:
        """Squares per degree of freedom, nan without any."""
        return self.squares / self.degrees if self.degrees > 0.5 else float("nan")


@dataclass(frozen=True)
class _Block:
    """One component: its rows, coefficients and noises, and its solution. `factor` S (coefficients, directions): the
    covariance is S Sᵀ; `sizes`: the singular values of its map from gradients, less what gaps can explain;
    `neglected` (coefficients,): the deviation by noise that counts as none."""

    place: Place
    estimate: Array
    estimator: Array
    hidden: Array
    factor: Array
    sizes: Array
    neglected: Array
    misfit: _Misfit


@dataclass(frozen=True)
class Solved:
    """One coordinate, or all that have the same map and noise; rows of priors come after those of equations.

    `design` C (rows, coefficients) and `noise` B (rows, noises; standard deviations), `spread` A (unknowns,
    coefficients) and `prior` as in `Model`. `coefficients` (coefficients, columns) are the estimates; `estimator` G
    (unknowns, rows) makes those of unknowns of what was observed; `mixed` A H and `bent` A − G C (unknowns,
    coefficients); `covariance` (coefficients, coefficients). `structural` (unknowns,): determined, whatever rounding
    does. `misfit` is in units of what was observed.
    """

    design: Matrix
    noise: Matrix
    spread: Matrix
    prior: Matrix
    blocks: tuple[_Block, ...]
    coefficients: Array
    estimator: Matrix
    mixed: Matrix
    bent: Matrix
    covariance: Matrix
    structural: Mask
    misfit: _Misfit

    @property
    def estimate(self) -> Array:
        """(unknowns, columns)."""
        return np.asarray(self.spread @ self.coefficients)

    @property
    def stddev(self) -> Array:
        """(unknowns,)."""
        variance = np.asarray((self.spread @ self.covariance).multiply(self.spread).sum(axis=1)).ravel()
        return np.sqrt(np.maximum(variance, 0.0))

    def correction(self, left: Array) -> Array:
        """Change of the estimates where the code leaves this of what was observed, (equations, columns)."""
        prior = np.asarray(self.prior @ self.coefficients)
        return np.asarray(self.estimator @ np.concatenate([left, -prior]))

    def with_covariances(self, covariances: Sequence[Array]) -> "Solved":
        """The same with other covariances of the errors, one for each component."""
        places = [block.place[1] for block in self.blocks]
        blocks = list(zip(places, places, covariances, strict=True))
        return replace(self, covariance=_scattered(blocks, self.covariance.shape))

    @cached_property
    def amplification(self) -> Array:
        """Amplification of a relative error of the observations in each estimate: ‖G‖·‖C‖, row by column."""
        length = np.sqrt(np.asarray(self.design.multiply(self.design).sum(axis=0)).ravel())
        weight = np.sqrt(np.asarray(self.estimator.multiply(self.estimator).sum(axis=1)).ravel())
        return weight * _largest_of_rows(sparse.csr_array(abs(self.spread).sign() @ sparse.diags_array(length)))

    @cached_property
    def _extremes(self) -> tuple[Array, Array]:
        """The largest singular value of each coefficient's component, and the least; 0 and ∞ without any."""
        count = self.design.shape[1]
        largest, least = np.zeros(count), np.full(count, np.inf)
        for block in self.blocks:
            largest[block.place[1]] = np.max(block.sizes, initial=0.0)
            least[block.place[1]] = np.min(block.sizes, initial=np.inf)
        return largest, least

    def condition(self, rows: slice) -> float:
        """The ratio of the extreme singular values of the components that bear on these unknowns; ∞ without any."""
        touched = np.unique(self.spread[rows].indices)
        largest, least = (one[touched] for one in self._extremes)
        known = largest > 0
        return float(np.max(largest[known]) / np.min(least[known])) if np.any(known) else float("inf")

    def rank(self, rows: slice) -> int:
        """Number of independent combinations of these unknowns that are determined."""
        hidden = self.mixed[rows][~self.structural[rows]].toarray()
        count = len(self.structural[rows])
        if not len(hidden):
            return count
        scaled = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
        return count - int(np.count_nonzero(np.linalg.svd(scaled, compute_uv=False) > HIDDEN))


class Bounds(NamedTuple):
    """Bounds of rounding. `error` (rows,) bounds that of each number observed and `rounding` (unknowns,) that of
    each estimate, absolute; `size` is that of the largest unknown that is determined. `identifiable` (unknowns,)."""

    error: Array
    size: float
    rounding: Array
    identifiable: Mask


class System:
    """The equations of a map under a model of the gradients, solved. Shapes are (unknowns, replicas, dimension)."""

    def __init__(self, found: Map, model: Model, *, scaled: bool) -> None:
        """`scaled`: coefficients of different units are brought to one scale first (one agent's steps may shrink by
        many digits); otherwise what moves the observations by less than `RANK` of what others do is taken for
        rounding (a distant agent's gradient does). You get an `AttackError` for what would not fit in memory."""
        spread = np.ptp(found.stddev, axis=1) <= SAME * np.max(found.stddev, axis=1, initial=0.0)
        shared = len(found.design) == 1 and bool(np.all(spread))
        self.found, self.shape = found, found.shape
        self.laws: tuple[Law | None, ...] = (*found.laws, *("gaussian" for _ in model.stddev))
        """Laws of all noises: those of the map, then of priors."""
        self.parts = tuple(
            _solve_coordinate(found, model, c, scaled) for c in ([None] if shared else range(found.stddev.shape[1]))
        )
        """One for all coordinates, or one for each."""

    @property
    def estimate(self) -> Array:
        return self.joined([part.estimate for part in self.parts])

    @property
    def structural(self) -> Mask:
        """(unknowns,): determined in all coordinates, whatever rounding does."""
        return np.all([part.structural for part in self.parts], axis=0)

    def correction(self, left: Array) -> Array:
        """Change of the estimates where the code leaves this of what was observed."""
        return self.joined([part.correction(y) for part, y in zip(self.parts, self.split(left), strict=True)])

    def errors(self, noises: Array) -> Array:
        """The errors of the estimates by such noises, (noises, columns, dimension), in standard deviations."""
        parts = zip(self.parts, self.split(noises), strict=True)
        found = [np.asarray(part.estimator @ (part.noise @ z)) for part, z in parts]
        return self.joined(found, noises.shape[1])

    def outwards(self, unknowns: Array) -> Array:
        """The signs of the noises, (noises, dimension), whose errors have the signs of these unknowns."""
        parts = zip(self.parts, self.split(np.sign(unknowns)[:, None]), strict=True)
        found = [np.asarray(part.noise.T @ (part.estimator.T @ signs)) for part, signs in parts]
        return np.where(self.joined(found, 1)[:, 0] > 0, 1.0, -1.0)

    def hidden_change(self, rng: np.random.Generator) -> Array:
        """A random change of the unknowns that nothing observed shows, of deviation about 1 where all is hidden."""
        columns = self.shape[0] * self.shape[1] // len(self.parts)
        drawn = [np.asarray(p.mixed @ rng.standard_normal((p.mixed.shape[1], columns))) for p in self.parts]
        return self.joined([np.where(p.structural[:, None], 0.0, d) for p, d in zip(self.parts, drawn, strict=True)])

    def bounds(self, estimate: Array, sizes: Array, growth: Array) -> tuple[Bounds, ...]:
        """Bounds of what rounding makes of the estimates, for each of the parts; `sizes` (equations,): the largest
        number that went into each, and `growth` how many roundings in a row did."""
        parts = zip(self.parts, self.split(estimate), strict=True)
        return tuple(_rounding(part, values, sizes, growth) for part, values in parts)

    def covariance(self, one: slice, other: slice) -> Array:
        """Covariance of the errors of these unknowns, (one, other, dimension); of identifiable ones alone."""
        parts = self.parts
        return self.stacked([np.asarray((p.spread[one] @ p.covariance @ p.spread[other].T).toarray()) for p in parts])

    def with_parts(self, parts: Sequence[Solved]) -> "System":
        """The same, solved otherwise."""
        other = copy.copy(self)
        other.parts = tuple(parts)
        return other

    def split(self, values: Array) -> list[Array]:
        """(…, columns, dimension) as columns of each of the parts."""
        if len(self.parts) == 1:
            return [values.reshape(len(values), values.shape[1] * values.shape[2])]
        return [values[..., c] for c in range(values.shape[-1])]

    def stacked(self, parts: Sequence[Array]) -> Array:
        """One array for each of the parts, side by side along a last axis of all coordinates; read-only."""
        if len(parts) == 1:
            return np.broadcast_to(parts[0][..., None], (*parts[0].shape, self.shape[1]))
        return np.stack(parts, axis=-1)

    def joined(self, parts: Sequence[Array], columns: int = 0) -> Array:
        """One array for each of the parts, (…, columns), as (…, replicas, dimension) or with so many columns."""
        width = self.shape[1] // len(parts)
        return np.concatenate([part.reshape(len(part), columns or self.shape[0], width) for part in parts], axis=-1)


def _solve_coordinate(found: Map, model: Model, coordinate: int | None, scaled: bool) -> Solved:
    """All coordinates at once (None), or one of them."""
    chosen = slice(None) if coordinate is None else slice(coordinate, coordinate + 1)
    which = 0 if len(found.design) == 1 or coordinate is None else coordinate
    open_gaps = found.design[which].shape[1] - len(found.queries)
    gaps = sparse.eye_array(open_gaps, format="csr")
    spread = _diagonal([model.spread, gaps])
    prior = sparse.csr_array(sparse.hstack([model.prior, sparse.csr_array((len(model.stddev), open_gaps))]))
    rows = found.design[which].shape[0]
    design = sparse.csr_array(sparse.vstack([found.design[which] @ spread, prior], format="csr"))
    own = sparse.csr_array(found.noise[which] * found.stddev[:, coordinate or 0])
    noise = _diagonal([own, sparse.csr_array(sparse.diags_array(model.stddev))])
    observed = (found.observed - found.offset)[..., chosen]
    observed = observed.reshape(rows, observed.shape[1] * observed.shape[2])
    observed = np.concatenate([observed, np.zeros((len(model.stddev), observed.shape[1]))])
    largest = float(np.max(np.abs(found.observed), initial=0.0))
    rounding = DROWNED * largest
    moved, unmoved = _components(design, noise)
    squares = np.asarray(design.multiply(design).sum(axis=0)).reshape(1, -1)
    units = powers(np.sqrt(squares)) if scaled else np.ones(design.shape[1])
    of_gap = np.arange(design.shape[1]) >= model.spread.shape[1]
    dense = zip(moved, _dense(design, moved, 1), _dense(noise, moved, 2), strict=True)
    blocks = [_solved(C, B, observed[p[0]], p, rounding, units[p[1]], of_gap[p[1]]) for p, C, B in dense]
    left = [*(b.misfit for b in blocks), *_left_over(noise, observed, unmoved, rounding)]
    together = _Misfit(
        max((m.residual for m in left), default=0.0) / max(largest, np.finfo(float).tiny),
        sum(m.squares for m in left),
        sum(m.degrees for m in left),
    )
    return _assembled(design, noise, spread, prior, blocks, observed.shape[1], units, together)


def _rounding(solved: Solved, estimate: Array, sizes: Array, growth: Array) -> Bounds:
    """Bounds for one part, with its estimates (unknowns, columns)."""
    prior = np.zeros(solved.design.shape[0] - len(sizes))
    unit = OPERATIONS * np.finfo(float).eps
    alone = abs(solved.estimator) @ np.concatenate([unit * growth * sizes, prior])
    largest = np.max(np.abs(estimate), axis=1, initial=0.0)
    clear = solved.structural & (alone <= WORTHLESS * largest)
    size = float(np.max(largest[clear], initial=0.0)) or 1.0
    inside = np.asarray(abs(solved.design).sum(axis=1)).ravel()[: len(sizes)] * size
    error = np.concatenate([unit * growth * (sizes + inside), prior])
    rounding = abs(solved.estimator) @ error + size * np.asarray(abs(solved.bent).sum(axis=1)).ravel()
    worth = (rounding <= WORTHLESS * size) | (rounding <= solved.stddev)
    neglected = np.zeros(solved.design.shape[1])
    for block in solved.blocks:
        neglected[block.place[1]] = block.neglected
    return Bounds(error, size, rounding + abs(solved.spread) @ neglected, solved.structural & worth)


def _components(design: Matrix, noise: Matrix) -> tuple[list[Place], list[Place]]:
    """Rows, coefficients and noises that hang together: with coefficients, and without; those without a row are left
    out."""
    rows, columns = design.shape
    right = sparse.coo_array(sparse.hstack([design, noise], format="coo"))
    size = rows + columns + int(noise.shape[1])
    links = sparse.csr_array((right.data != 0, (right.row, rows + right.col)), shape=(size, size))
    links.eliminate_zeros()
    _, label = csgraph.connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if order.size else []
    split = [
        (part[part < rows], part[(part >= rows) & (part < rows + columns)] - rows, part[part >= rows + columns])
        for part in parts
    ]
    places = [(r, c, z - rows - columns) for r, c, z in split if r.size]
    return [p for p in places if p[1].size], [p for p in places if not p[1].size]


def _solved(
    design: Array, noise: Array, y: Array, place: Place, rounding: float, unit: Array, of_gap: Mask
) -> _Block:
    """One component, its coefficients in these units."""
    C, B = design / unit, noise
    basis, hidden, sizes = _row_space(C)
    if np.any(of_gap) or np.any(unit != 1):
        sizes = outlook(design[:, ~of_gap], design[:, of_gap])
    found = solve(C @ basis, B, np.concatenate([y, np.eye(len(y))], axis=1), rounding)
    estimate, wanted = basis @ found.estimate, y.shape[1]
    gain = estimate[:, wanted:]
    left = _misfit(B, y - C @ estimate[:, :wanted], C @ basis @ found.spread, np.eye(len(y)) - C @ gain, rounding)
    exact = float(np.max(found.residual[:wanted], initial=0.0))
    return _Block(
        place,
        estimate[:, :wanted] / unit[:, None],
        gain / unit[:, None],
        hidden,
        basis @ found.spread / unit[:, None],
        sizes,
        np.linalg.norm(gain @ silent(B), axis=1) / unit,
        left._replace(residual=max(exact, left.residual)),
    )


def _row_space(design: Array) -> tuple[Array, Array, Array]:
    """A basis (coefficients, rank) of what the rows of C distinguish, the projector on what they do not, and C's
    nonzero singular values.

    What is determined by itself is a coordinate by itself; the others are orthonormal. So nothing in it is hidden,
    what is exact is not mixed with what is not, and of all gradients that explain what was observed the shortest are
    found.
    """
    _, sizes, right = np.linalg.svd(design, full_matrices=False)
    rank = int(np.count_nonzero(sizes > RANK * sizes[0]))
    seen = right[:rank].T
    hidden = np.eye(len(seen)) - seen @ seen.T
    alone = np.linalg.norm(hidden, axis=1) <= ALONE
    mixed, weights, _ = np.linalg.svd(seen[~alone], full_matrices=False)
    kept = weights > 0.5  # the others are 0: its columns are orthonormal
    basis = np.zeros((len(seen), int(np.sum(alone)) + int(np.sum(kept))))
    basis[alone, : np.sum(alone)] = np.eye(int(np.sum(alone)))
    basis[~alone, np.sum(alone) :] = mixed[:, kept]
    return basis, hidden, sizes[:rank]


def _assembled(
    design: Matrix,
    noise: Matrix,
    spread: Matrix,
    prior: Matrix,
    blocks: Sequence[_Block],
    columns: int,
    units: Array,
    together: _Misfit,
) -> Solved:
    rows, count = design.shape
    found, free = np.zeros((count, columns)), np.ones(count)
    for b in blocks:
        found[b.place[1]], free[b.place[1]] = b.estimate, 0.0
    gain = _scattered([(b.place[1], b.place[0], b.estimator) for b in blocks], (count, rows))
    hidden = sparse.csr_array(
        sparse.diags_array(free) + _scattered([(b.place[1], b.place[1], b.hidden) for b in blocks], (count, count))
    )
    inside = [(b.place[1], b.place[1], b.factor @ b.factor.T) for b in blocks]
    of_unknowns = sparse.csr_array(spread @ gain)
    mixed = sparse.csr_array(spread @ sparse.diags_array(1 / units) @ hidden)
    own = _largest_of_rows(sparse.csr_array(spread @ sparse.diags_array(1 / units)))
    return Solved(
        design,
        noise,
        spread,
        prior,
        tuple(blocks),
        found,
        of_unknowns,
        mixed,
        sparse.csr_array(spread - of_unknowns @ design),
        _scattered(inside, (count, count)),
        _largest_of_rows(mixed) <= HIDDEN * own,
        together,
    )


def _left_over(noise: Matrix, observed: Array, places: list[Place], rounding: float) -> list[_Misfit]:
    """Misfits of what was observed where the assumption leaves no coefficient."""
    alone = np.zeros(len(observed), dtype=bool)
    alone[[rows[0] for rows, _, _ in places if len(rows) == 1]] = True
    of_rows = np.asarray(noise.multiply(noise).sum(axis=1)).ravel()[alone]
    parts = [_judged(of_rows, observed[alone], np.zeros(len(of_rows)), rounding)]
    for rows, _, noises in places:
        if len(rows) > 1:
            _check_size(len(rows), 0, len(noises))
            variances, axes = independent(noise[rows][:, noises].toarray())
            turned = observed[rows] if axes is None else axes.T @ observed[rows]
            parts.append(_judged(variances, turned, np.zeros(len(variances)), rounding))
    return parts


def _misfit(noise: Array, left: Array, spread: Array, kept: Array, rounding: float) -> _Misfit:
    """Misfit of one component with `noise` B (rows, noises): `left` is observed − C·estimate (rows, columns),
    `spread` C·S (rows, directions), S Sᵀ the covariance of the estimate, and `kept` I − C·G (rows, rows) what is left
    of an error of the observations: what rounding makes of a row counts as noise. Rows that the solver took for exact
    are left to it.
    """
    variances, axes = independent(noise)
    if axes is not None:
        left, spread, kept = axes.T @ left, axes.T @ spread, axes.T @ kept
    noisy = variances > SILENT * np.max(variances, initial=0.0)
    explained = np.sum(spread[noisy] ** 2, axis=1) / variances[noisy]
    rounded = rounding * rounding * np.sum(kept[noisy] ** 2, axis=1)
    return _judged(variances[noisy], left[noisy], np.minimum(explained, 1.0), rounding, rounded)


def _judged(
    variances: Array, left: Array, explained: Array, rounding: float, rounded: Array | float = 0.0
) -> _Misfit:
    """Rows of independent noise; `explained` (rows,) is the share of it that the estimate takes up, `rounded` what
    rounding adds to its variance."""
    loud = variances > rounding * rounding
    squares = np.sum(left[loud] ** 2 / (variances + rounded)[loud, None]) / max(1, left.shape[1])
    quiet = float(np.max(np.abs(left[~loud]), initial=0.0))
    return _Misfit(quiet, float(squares), float(np.sum(1.0 - explained[loud])))


# ── matrices ────────────────────────────────────────────────────────────────────────────────────────────
def _largest_of_rows(matrix: Matrix) -> Array:
    if 0 in matrix.shape:
        return np.zeros(matrix.shape[0])
    return np.asarray(abs(matrix).max(axis=1).toarray()).ravel()


def _diagonal(blocks: Sequence[Matrix]) -> Matrix:
    return sparse.csr_array(sparse.block_diag(blocks, format="csr"))


def _dense(matrix: Matrix, places: Sequence[Place], axis: Literal[1, 2]) -> Iterator[Array]:
    """One after the other the blocks of these components, at their rows and their coefficients or noises."""
    entries = sparse.coo_array(matrix)
    label, row, column = np.full(matrix.shape[0], -1), np.zeros(matrix.shape[0], int), np.zeros(matrix.shape[1], int)
    for k, place in enumerate(places):
        label[place[0]], row[place[0]], column[place[axis]] = k, np.arange(len(place[0])), np.arange(len(place[axis]))
    some = np.flatnonzero(entries.data)
    order = some[np.argsort(label[entries.row[some]], kind="stable")]
    ends = np.searchsorted(label[entries.row][order], np.arange(len(places) + 1))
    for k, place in enumerate(places):
        _check_size(*map(len, place))
        some, block = order[ends[k] : ends[k + 1]], np.zeros((len(place[0]), len(place[axis])))
        block[row[entries.row[some]], column[entries.col[some]]] = entries.data[some]
        yield block


def _scattered(parts: list[tuple[Indices, Indices, Array]], shape: tuple[int, int]) -> Matrix:
    """A sparse matrix from dense blocks at these rows and columns."""
    if not parts:
        return sparse.csr_array(shape)
    rows = np.concatenate([np.repeat(r, len(c)) for r, c, _ in parts])
    columns = np.concatenate([np.tile(c, len(r)) for r, c, _ in parts])
    return sparse.csr_array((np.concatenate([v.ravel() for _, _, v in parts]), (rows, columns)), shape=shape)


def _check_size(rows: int, unknowns: int, noises: int) -> None:
    size = 8.0 * (6 * unknowns**2 + 4 * rows * unknowns + 3 * rows**2 + 2 * rows * noises)
    if size > LIMIT:
        raise AttackError(
            f"{unknowns} unknowns hang together in {rows} equations: solving them would need {size / 1e9:.1f} GB; "
            "probe fewer rounds, or assume a Basis"
        )
