"""Linear equations from observations: observed = offset + C u + B z, read off the victims' own code.

u is what is unknown and may be anything: all private gradients, and values that were received and not observed
(gaps). z is noise of known law: of releases, and of gaps on which there is a prior. The code runs with all unknowns 0
on what was observed (the offsets); on unit impulses, one unknown per replica, with everything observed set to zero,
in one coordinate, or of a single agent in all if they are few (C and B, so that what a distant agent adds is not lost
beside the rest, and coordinates are not stored many times); and on random values in all coordinates (is the map
affine, and the same in each?). Where it is not the same in each coordinate the impulses run in all of them on what
was observed. A single agent's equations are few: they are read on what was observed in any case, and both readings
have to agree.

Cost: with U unknowns, M messages and V values on the wire that were observed, impulses take about U·M floating point
operations times the fields and the degree, in runs of `WORLDS` unknowns; the maps are kept sparse.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import numpy as np
from scipy import sparse

from attacks.probe.linear import Matrix
from attacks.probe.node import Field, Gap, Inputs, Pass, Query, Release, Seed, Shape, Unknown
from netsim.arrays import Array, Mask
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace, Mechanism

AFFINE = 1e-7
"""Relative: what an affine map may miss by rounding, of a value's own size."""
ROUNDING = 1e-12
"""And of the largest of all values."""
ALIKE = 1e-12
"""Relative: coefficients of two readings of a map that are the same."""
LOST = 64
"""And how many units in the last place of the largest number they may differ by."""
SAME = 1e-9
"""Relative: coefficients of coordinates that count as the same."""
CHANCES = 3
"""So many other orders of messages and coins that nobody saw are tried."""
WORLDS = 1024
"""So many unknowns are run at once."""
FEW = 64
"""Coordinates that a single agent's code has in every pass: it may need as many as its run has."""
LIMIT = 4e9
"""Bytes: what would need more is refused before it is made."""

Law = Literal["gaussian", "laplace"]
Prior = Callable[[Gap], tuple[Array, float] | None]
"""Knowledge of a value that was not observed: its mean, which broadcasts against (replicas, dimension), and the
standard deviation of a coordinate (Gaussian); None: nothing, it may be any."""
Observe = Callable[[Shape, Array], Array]
"""Brings what was observed to a shape."""


@dataclass(frozen=True)
class Map:
    """The equations. `design` C (equations, unknowns) and `noise` B (equations, noises; per standard deviation 1)
    hold one matrix for all coordinates, or one for each; or, `mixed`, one in which every row and column stands for
    `dimension` of them in a row, coordinate by coordinate. Unknowns: of `queries`, then of those `gaps` without a
    prior. Noises: of `releases`, of gaps with a prior, of draws of shared `seeds`; `stddev` (noises, dimension), and
    `laws` where they are Laplace or Gaussian. `offset` and `observed` (equations, replicas, dimension) are of the
    values in `fields`."""

    queries: tuple[Query, ...]
    gaps: tuple[Gap, ...]
    releases: tuple[Release, ...]
    fields: tuple[Field, ...]
    design: tuple[Matrix, ...]
    noise: tuple[Matrix, ...]
    stddev: Array
    laws: tuple[Law | None, ...]
    offset: Array
    observed: Array
    mixed: bool = False
    seeds: tuple[Seed, ...] = ()

    @property
    def shape(self) -> Shape:
        """(replicas, dimension)."""
        _, replicas, dimension = self.observed.shape
        return replicas, dimension

    def applied(self, unknowns: Array) -> Array:
        """By how much the unknowns (unknowns, replicas, dimension) move the equations, (equations, …)."""
        return (_applied_mixed if self.mixed else _applied)(self.design, unknowns)

    @property
    def counts(self) -> dict[int, int]:
        """Number of queries, by agent."""
        counts: dict[int, int] = {}
        for agent, _ in self.queries:
            counts[agent] = counts.get(agent, 0) + 1
        return counts


class _Victims(Protocol):
    """One agent or many, whose public code can be run."""

    shape: Shape
    """(replicas, dimension) of what was observed."""
    alone: bool
    """One agent, of which everything that it received is either observed or a gap."""
    substituted: bool
    """Whether the code goes on with what was observed."""

    def run(self, inputs: Inputs) -> Pass:
        """You get an `AttackError` where the code sends other messages than were recorded."""
        ...


class Mapper:
    """All passes of the victims' code.

    You get an `AttackError` where the code, on what was observed, sends other messages than were sent.
    """

    def __init__(self, victims: _Victims, prior: Prior | None = None) -> None:
        self.victims, self.shape = victims, victims.shape
        self._places: dict[Release, Field] | None = None
        self._verbatim: dict[Field, Release] = {}
        self._expected: dict[Unknown, tuple[Array, float]] = {}
        """Mean and standard deviation of each gap with a prior."""
        self._unknowns: dict[Unknown, int] = {}
        """The columns of C."""
        self._noises: dict[Unknown, int] = {}
        """The columns of B."""
        trace = self.at()
        carriers = trace.carriers if victims.substituted else {}
        self._places = {release: fields[0] for release, fields in carriers.items()}
        self._verbatim = {field: release for release, fields in carriers.items() for field in fields}
        gaps: list[Unknown] = [("gap", gap.sender, k) for k, gap in enumerate(trace.gaps)]
        for one, gap in zip(gaps, trace.gaps, strict=True):
            if prior is not None and (known := prior(gap)) is not None:
                self._expected[one] = known
        self.base = self.at()
        """With all unknowns 0."""
        queries, releases = self.base.queries, self.base.releases
        unknowns: list[Unknown] = [
            *(("gradient", *q) for q in queries),
            *(g for g in gaps if g not in self._expected),
        ]
        seeds: list[Unknown] = [("seed", *s) for s in self.base.seeds]
        noises: list[Unknown] = [*(("noise", *r) for r in releases), *self._expected]
        noises += seeds
        self._unknowns = {one: k for k, one in enumerate(unknowns)}
        self._noises = {one: k for k, one in enumerate(noises)}
        hidden: list[Unknown] = [*(("noise", *r) for r in self.base.unseen), *self._expected]
        hidden += [seed for seed, unseen in zip(seeds, self.base.seeds.values(), strict=True) if unseen]
        self._hidden = {one: self._noises[one] for one in hidden}
        """Those of them that are in other equations than their own."""
        self._variances = [np.asarray(m.variance(), dtype=np.float64) for m in _made(self.base)]
        check_size("its random gradients", 8.0 * (len(unknowns) + len(noises)) * self.shape[0] * self.shape[1])

    def map(self) -> Map:
        """You get an `AttackError` where what was observed is no affine function of gradients and noise."""
        found = self._on_zeros()
        if found is None:
            found = self._mapped(self.shape[1], _first)
            self.check(found, *self._random())
        self._check_chance()
        return found

    def mixed(self) -> Map:
        """The map where coordinates mix, as Hessians do. You get an `AttackError` as from `map`."""
        found = self._mixed()
        self.check(found, *self._random())
        self._check_chance()
        return found

    def at(
        self,
        unknowns: Array | None = None,
        noises: Array | None = None,
        copies: int = 1,
        *,
        chance: int = 0,
        points: bool = True,
        seen: Callable[[Array], Array] | None = None,
    ) -> Pass:
        """The pass with these unknowns (unknowns, copies · replicas, dimension), gaps less what a prior expects of
        them, and noises (noises, …), 0 if not given; of so many `copies` of all replicas, one after the other.
        `chance` draws what nobody saw; `points` as in `Inputs`. `seen` makes another value of each that was observed,
        (copies · replicas, dimension)."""
        shape = copies * self.shape[0], self.shape[1]
        nothing = np.zeros(shape)

        def given(unknown: Unknown) -> Array:
            value = nothing
            if unknowns is not None and unknown in self._unknowns:
                value = unknowns[self._unknowns[unknown]]
            elif noises is not None and unknown in self._noises:
                value = noises[self._noises[unknown]]
            if unknown in self._expected:
                return value + np.tile(np.broadcast_to(self._expected[unknown][0], self.shape), (copies, 1))
            return value

        def observe(value: Array) -> Array:
            copied = value if copies == 1 else np.tile(value, (copies, 1))
            return copied if seen is None else seen(copied)

        return self._run(Inputs(shape, observe, given, self._places, self._verbatim, chance, points))

    def points(self, found: Pass) -> Array:
        """Points of all queries in a pass, (queries, replicas, dimension)."""
        return np.array([found.points[i][t] for i, t in self.base.queries]).reshape(-1, *self.shape)

    def public(self) -> Mask:
        """Whether each query is made at a point that depends on no gradient and no noise, (queries,)."""
        points, moved = self.points(self.base), self.points(self.at(*self._random()))
        return np.all(np.abs(moved - points) <= ROUNDING * (1 + np.abs(points)), axis=(1, 2))

    def left(self, found: Pass) -> Array:
        """Remainder of what was observed in a pass, (equations, replicas, dimension). You get an `AttackError` where
        it has other messages."""
        self.check_alike(found)
        return np.array([e.observed - e.value for e in found.equations]).reshape(-1, *self.shape)

    def check(
        self, found: Map, unknowns: Array, noises: Array | None = None, copies: int = 1, *, points: bool = True
    ) -> Pass:
        """The pass with these unknowns and noises, as in `at`; the code sends there what the map predicts."""
        there = self.at(unknowns, noises, copies, points=points)
        self.check_alike(there)
        tiled = (v if v.ndim < 2 or len(v) == 1 else np.tile(v, (copies, 1)) for v in self._variances)
        self._check_noise(there, tiled)
        applied = _applied_mixed if found.mixed else _applied
        moved = applied(found.design, unknowns)
        if noises is not None:
            hidden = np.zeros_like(noises)
            kept = list(self._hidden.values())
            hidden[kept] = noises[kept]
            moved = moved + applied(found.noise, hidden)
        largest = max((float(np.max(np.abs(e.value), initial=1.0)) for e in there.equations), default=1.0)
        largest = max(largest, float(np.max(np.abs(found.offset), initial=1.0)))
        for e, offset, by in zip(there.equations, found.offset, moved, strict=True):
            before = np.tile(offset, (copies, 1))
            scale = np.max(np.abs(e.value)) + np.max(np.abs(before)) + np.max(np.abs(by))
            if not np.max(np.abs(e.value - before - by)) <= AFFINE * scale + ROUNDING * largest:
                for again, first in zip(self.at().equations, self.base.equations, strict=True):
                    if not np.array_equal(again.value, first.value, equal_nan=True):
                        raise AttackError(
                            f"what {_name(again.field)} is not the same twice: something random did not come through "
                            "its node"
                        )
                raise AttackError(
                    f"what {_name(e.field)} is no affine function of {self._unknown}: a probe cannot invert it"
                )
        return there

    def check_alike(self, found: Pass) -> None:
        """The same messages, at the same time, to the same, releases as made, by the same kinds of mechanisms,
        queries, batches, and gaps as with all unknowns 0."""
        ours, theirs = (
            (
                *([e.field for e in p.equations], p.queries, p.releases, p.gaps, p.seeds, p.overran, p.batches),
                *(p.chosen, p.sent, list(map(type, _made(p)))),
            )
            for p in (found, self.base)
        )
        if ours != theirs:
            raise AttackError(f"what is sent is no affine function of {self._unknown}: other messages are sent")

    # ── passes ──────────────────────────────────────────────────────────────────────────────────────
    def _run(self, inputs: Inputs) -> Pass:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                return self.victims.run(inputs)
            except AttackError:
                raise
            except Exception as error:  # a guard, `if size < 1e-6: raise`, at answers that no objective gave
                raise AttackError(f"the code fails at made-up answers: {type(error).__name__}: {error}") from error

    @property
    def _unknown(self) -> str:
        owner = "its" if self.victims.alone else "the"
        return f"{owner} gradients and what was not observed" if self.base.gaps else f"{owner} gradients"

    def _random(self) -> tuple[Array, Array]:
        """Unknowns and noises."""
        rng = np.random.default_rng(0)
        unknowns = rng.standard_normal((len(self._unknowns), *self.shape))
        return unknowns, rng.standard_normal((len(self._noises), *self.shape))

    def _check_noise(self, found: Pass, variances: Iterable[Array]) -> None:
        for (agent, k), mechanism, before in zip(self.base.releases, _made(found), variances, strict=True):
            if not np.allclose(np.asarray(mechanism.variance()), before, rtol=1e-9, atol=0.0):
                raise AttackError(
                    f"how much noise agent {agent} puts on its release {k} depends on {self._unknown}: a probe "
                    "cannot invert it"
                )

    def _check_chance(self) -> None:
        """Refuse where coins or the order of single messages, which nobody saw, make a difference to what was
        seen."""
        if not self.base.chancy:
            return
        unknowns, noises = self._random()
        wanted = {e.field: e for e in self.at(unknowns, noises).equations}
        for chance in range(1, 1 + CHANCES):
            try:
                there = self.at(unknowns, noises, chance=chance).equations
            except AttackError as error:
                raise AttackError(f"{_BY_CHANCE} ({error})") from error
            for e in there:
                same = e.field in wanted and np.allclose(e.value, wanted[e.field].value, rtol=1e-9, atol=1e-9)
                if not same or len(there) != len(wanted):
                    raise AttackError(f"{_BY_CHANCE}: what {_name(e.field)} does")

    # ── the map ─────────────────────────────────────────────────────────────────────────────────────
    def _on_zeros(self) -> Map | None:
        """The map with zeros for all that was observed; None where it is another one."""
        few = self.victims.alone and self.shape[1] <= FEW
        try:
            found = self._mapped(self.shape[1] if few else 1, _zeros)
            agrees = not self.victims.alone or self._agrees(found)
            if agrees:
                self.check(found, *self._random())
        except AttackError:  # arrays of another dimension do not go together
            return None
        return found if agrees else None

    def _agrees(self, found: Map) -> bool:
        """Whether the impulses move what was observed as they move zeros, up to digits lost beside large values."""
        rounding = LOST * float(np.finfo(np.float64).eps) * max([1.0, *(e.size for e in self.base.equations)])
        columns = list(self._hidden.values())
        pairs = zip(found.design, found.noise, strict=True)
        whole, start = [sparse.csc_array(sparse.hstack([one, noise[:, columns]])) for one, noise in pairs], 0
        for change in self._impulses(self.shape[1], _first):
            end = start + change.shape[-1]
            clean, start = np.array([one[:, start:end].toarray() for one in whole]), end
            if not np.all(np.abs(change - clean) <= ALIKE * np.abs(change) + rounding):
                return False
        return True

    def _mapped(self, dimension: int, observe: Observe) -> Map:
        equations = self.base.equations
        parts: list[list[Matrix]] = [[sparse.csr_array((len(equations), 0))] for _ in range(dimension)]
        stored = 0
        for change in self._impulses(dimension, observe):
            for part, values in zip(parts, change, strict=True):
                part.append(sparse.csr_array(values))
                stored += 16 * part[-1].nnz
            check_size("its map", stored)
        whole = [sparse.csr_array(sparse.hstack(part, format="csr")) for part in parts]
        bound = SAME * max([1.0, *(float(abs(m).max()) for m in whole if m.nnz)])
        if all(not (m - whole[0]).nnz or float(abs(m - whole[0]).max()) <= bound for m in whole[1:]):
            whole = whole[:1]
        return self._assembled(whole)

    def _mixed(self) -> Map:
        """Impulses in one coordinate after the other."""
        d, rows, columns = self.shape[1], len(self.base.equations), len(self._unknowns) + len(self._hidden)
        parts: list[Matrix] = [sparse.csr_array((rows * d, 0))]
        for c in range(d):
            for change in self._impulses(d, _zeros, c):
                parts.append(sparse.csr_array(np.moveaxis(change, 0, 1).reshape(rows * d, change.shape[-1])))
            check_size("its map", sum(16.0 * part.nnz for part in parts))
        whole = sparse.csc_array(sparse.hstack(parts, format="csc"))
        return self._assembled([sparse.csr_array(whole[:, np.arange(d * columns).reshape(d, columns).T.ravel()])], d)

    def _assembled(self, whole: list[Matrix], width: int = 1) -> Map:
        """The map of these matrices, in which everything stands for `width` rows and columns."""
        equations, unknowns = self.base.equations, len(self._unknowns) * width
        values, observed = ([e.value for e in equations], [e.observed for e in equations])
        flat = [np.atleast_2d(variance) for variance in self._variances]
        if any(len(one) > 1 and np.any(one != one[:1]) for one in flat):
            raise AttackError("replicas have noise of different scales: probe them one by one")
        made = [np.broadcast_to(np.sqrt(one[0]), self.shape[1]) for one in flat]
        expected = [np.full(self.shape[1], deviation) for _, deviation in self._expected.values()]
        expected += [np.ones(self.shape[1]) for _ in self.base.seeds]
        return Map(
            tuple(self.base.queries),
            tuple(self.base.gaps),
            tuple(self.base.releases),
            tuple(e.field for e in equations),
            tuple(w[:, :unknowns] for w in whole),
            tuple(self._noise(w[:, unknowns:], width) for w in whole),
            np.array([*made, *expected]).reshape(-1, self.shape[1]),
            (*map(_law, _made(self.base)), *("gaussian" for _ in expected)),
            np.array(values).reshape(-1, *self.shape),
            np.array(observed).reshape(-1, *self.shape),
            width > 1,
            tuple(self.base.seeds),
        )

    def _impulses(self, dimension: int, observe: Observe, at: int | None = None) -> Iterator[Array]:
        """Change of every equation's value with each unknown and then with what is hidden of the noise, some at a
        time, (dimension, equations, some); of all their coordinates, or of this one."""
        unknowns = [*self._unknowns, *self._hidden]
        worlds = max(1, min(WORLDS, int(LIMIT / 16 / (8 * dimension * max(1, len(self.base.equations))))))
        for start in range(0, len(unknowns), worlds):
            place = {unknown: 1 + k for k, unknown in enumerate(unknowns[start : start + worlds])}
            shape = 1 + len(place), dimension
            given = partial(self._impulse, place, shape, observe, at)
            inputs = Inputs(shape, partial(observe, shape), given, self._places, self._verbatim, points=False)
            found = self._run(inputs)
            self.check_alike(found)
            values = np.array([e.value for e in found.equations]).reshape(-1, *shape)
            yield np.moveaxis(values[:, 1:] - values[:, :1], -1, 0)

    def _impulse(
        self, place: dict[Unknown, int], shape: Shape, observe: Observe, at: int | None, unknown: Unknown
    ) -> Array:
        """1 in its own world."""
        value = np.zeros(shape)
        if (world := place.get(unknown)) is not None:
            value[world, slice(None) if at is None else at] = 1.0
        if unknown in self._expected:
            return value + observe(shape, np.broadcast_to(self._expected[unknown][0], self.shape))
        return value

    def _noise(self, mixing: Matrix, width: int = 1) -> Matrix:
        """B: the noise of observed releases in their own equation, what is hidden where it went."""
        shape = len(self.base.equations) * width, len(self._noises) * width
        own = sparse.lil_array(shape)
        for row, e in enumerate(self.base.equations):
            if e.release is not None:
                column = self._noises["noise", *e.release]
                for c in range(width):
                    own[width * row + c, width * column + c] = e.factor
            for seed, by in e.seeds:
                column = self._noises["seed", *seed]
                for c in range(width):
                    own[width * row + c, width * column + c] = by
        spread, hidden = sparse.coo_array(mixing), np.array(list(self._hidden.values()), dtype=np.intp)
        places = (width * hidden[:, None] + np.arange(width)).ravel()
        there = sparse.coo_array((spread.data, (spread.row, places[spread.col])), shape=shape)
        return sparse.csr_array(sparse.csr_array(own) + there)


_BY_CHANCE = (
    "what was seen depends on private coins, or on an order in which messages to single agents came, that nobody saw"
)


def _name(field: Field) -> str:
    if field[1] == "release":
        return f"agent {field[0]} releases, as its number {field[2]},"
    return f"agent {field[0]} sends as {field[3]!r} in its {field[1]} message {field[2]}"


def _zeros(shape: Shape, value: Array) -> Array:  # noqa: ARG001
    return np.broadcast_to(0.0, shape)


def _first(shape: Shape, value: Array) -> Array:
    return np.broadcast_to(value[:1], shape)


def _made(found: Pass) -> list[Mechanism]:
    """The mechanism of each release, agent by agent."""
    return [mechanism for _, some in sorted(found.mechanisms.items()) for mechanism in some]


def _law(mechanism: Mechanism) -> Law | None:
    if isinstance(mechanism, Laplace):
        return "laplace"
    return "gaussian" if isinstance(mechanism, Gaussian) else None


def check_size(what: str, size: float) -> None:
    """Raise an `AttackError` for more than `LIMIT` bytes."""
    if size > LIMIT:
        raise AttackError(f"a probe would need {size / 1e9:.1f} GB for {what}: probe fewer rounds or replicas")


def _applied(matrices: tuple[Matrix, ...], values: Array) -> Array:
    """Matrix by vector, (rows, replicas, dimension), in every replica and coordinate."""
    count, replicas, dimension = values.shape
    if len(matrices) == 1:
        return np.asarray(matrices[0] @ values.reshape(count, replicas * dimension)).reshape(-1, replicas, dimension)
    return np.stack([np.asarray(m @ values[..., c]) for c, m in enumerate(matrices)], axis=-1)


def _applied_mixed(matrices: tuple[Matrix, ...], values: Array) -> Array:
    """The same for a matrix in which everything stands for all of its coordinates."""
    _, replicas, dimension = values.shape
    moved = np.asarray(matrices[0] @ np.moveaxis(values, 1, 2).reshape(-1, replicas))
    return np.moveaxis(moved.reshape(-1, dimension, replicas), 1, 2)
