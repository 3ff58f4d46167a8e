"""From a view to linear equations: observed = offset + C g + B z, g all private gradients, z noise of variance 1.

The public code runs on zero gradients and what was observed (the offsets); on unit impulses, one unknown per replica,
with everything observed set to zero, in one coordinate (C and B, so that what a distant agent adds is not lost beside
the rest); and on random gradients in all coordinates (is the map affine, and the same in each?). Where it is not the
same in each coordinate the impulses run in all of them on what was observed.

Cost: with U unknowns (queries and hidden releases), M messages and V values on the wire that were observed, impulses
take about U·M floating point operations times the fields and the degree, in runs of `WORLDS` unknowns; the maps are
kept sparse.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from attacks.probe.joint.assumptions import Matrix
from attacks.probe.joint.heard import Heard
from attacks.probe.joint.network import drive
from attacks.probe.joint.passes import Equation, Field, Given, Inputs, Pass, Query, Release, Shape, ShapeError
from attacks.probe.mapping import AFFINE, ROUNDING
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Mechanism

Observed = Callable[[Shape, Field], Array]
"""What was observed, in a shape."""
CHANCES = 3
"""So many other orders of messages and coins that nobody saw are tried."""
WORLDS = 1024
"""So many unknowns are run at once."""
LIMIT = 4e9
"""Bytes: what would need more is refused before it is made."""


@dataclass(frozen=True)
class Map:
    """The equations of one view. `design` C (equations, queries) and `noise` B (equations, releases; per standard
    deviation 1) hold one matrix for all coordinates, or one for each; `stddev` (releases, dimension) is that of the
    noise; `offset` and `observed` (equations, replicas, dimension). `exchanges` (equations,): how many messages of
    its kind the sender had sent before. `gaussian`: whether all noise is."""

    queries: tuple[Query, ...]
    releases: tuple[Release, ...]
    fields: tuple[Field, ...]
    design: tuple[Matrix, ...]
    noise: tuple[Matrix, ...]
    stddev: Array
    offset: Array
    observed: Array
    gaussian: bool

    @property
    def shape(self) -> Shape:
        """(replicas, dimension)."""
        _, replicas, dimension = self.observed.shape
        return replicas, dimension

    @property
    def asked(self) -> dict[int, int]:
        """How many queries each agent makes, by agent."""
        counts: dict[int, int] = {}
        for agent, _ in self.queries:
            counts[agent] = counts.get(agent, 0) + 1
        return counts


class Mapper:
    """Runs the network of one view."""

    def __init__(self, view: AdversaryView) -> None:
        _check(view)
        self.public, self.insiders = view.public, frozenset(view.inside)
        self.heard = Heard.of(view)
        self.shape: Shape = (view.replicas, view.public.dimension)
        zero = np.zeros(self.shape)
        self._zero: Given = lambda agent, k: zero  # noqa: ARG005
        found = self._drive(Inputs(self.shape, self._observed, self._zero, self._zero, None))
        self._carriers = found.carriers
        self.base = self._run(self._zero, self._zero)
        self._query = {q: k for k, q in enumerate(self.base.queries)}
        self._release = {r: k for k, r in enumerate(self.base.releases)}
        _check_size("its random gradients", (len(self._query) + len(self._release)) * zero.nbytes)

    def map(self) -> Map:
        """You get an `AttackError` where what was observed is no affine function of gradients and noise."""
        try:
            return self._mapped(1, self._nothing)
        except (ShapeError, _NotAffineError):
            if self.shape[1] == 1:
                raise
        return self._mapped(self.shape[1], self._first)

    def _mapped(self, dimension: int, observed: Observed) -> Map:
        try:
            found = self._map(*self._maps(dimension, observed))
        except ValueError as error:  # arrays of another dimension that do not go together
            raise ShapeError(f"the code does not run in dimension {dimension}: {error}") from error
        self._check_random(found)
        self._check_chance(found)
        return found

    def points(self, gradients: Array) -> list[Array]:
        """Where every query would be made with these gradients (queries, replicas, dimension) and no hidden noise."""
        points = self._run(self._of(gradients), self._zero).points
        return [points[agent][t] for agent, t in self._query]

    def equations(self, gradients: Array) -> Array:
        """What would have been sent in place of what was observed, with these gradients and no noise."""
        return _values(self._run(self._of(gradients), self._zero).equations)

    def check(self, found: Map, gradients: Array, noises: Array) -> None:
        """With these gradients and noises, (…, replicas, dimension), the code sends what the map says."""
        told = self._run(self._of(gradients), self._noises(noises))
        self._check_alike(told)
        if not np.allclose(self._stddev(told), found.stddev, rtol=1e-9, atol=0.0):
            raise AttackError(
                "how much noise an agent puts on a release depends on gradients: a probe cannot invert it"
            )
        values = _values(told.equations)
        unseen = [self._release[r] for r in self.base.unseen]
        hidden = np.zeros_like(noises)
        hidden[unseen] = noises[unseen]
        moved = _applied(found.design, gradients) + _applied(found.noise, hidden)
        largest = [float(np.max(np.abs(v), initial=1.0)) for v in (values, found.offset)]
        for field, now, before, by in zip(found.fields, values, found.offset, moved, strict=True):
            scale = np.max(np.abs(now)) + np.max(np.abs(before)) + np.max(np.abs(by))
            if not np.max(np.abs(now - before - by)) <= AFFINE * scale + ROUNDING * max(largest):
                raise _NotAffineError(
                    f"what agent {field[0]} sends as {field[3]!r} in its {field[1]} message {field[2]} is no affine "
                    "function of the gradients: a probe cannot invert it"
                )

    # ── passes ──────────────────────────────────────────────────────────────────────────────────────
    def _drive(self, inputs: Inputs) -> Pass:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return drive(self.public, self.heard, self.insiders, inputs)

    def _run(self, gradients: Given, noises: Given, chance: int = 0) -> Pass:
        return self._drive(Inputs(self.shape, self._observed, gradients, noises, self._carriers, chance))

    def _noises(self, noises: Array) -> Given:
        return lambda i, k: noises[self._release[i, k]]

    def _of(self, gradients: Array) -> Given:
        nothing = np.zeros(self.shape)
        return lambda i, t: gradients[self._query[i, t]] if (i, t) in self._query else nothing

    def _observed(self, field: Field) -> Array:
        return self.heard.values[field[:3]][field[3]]

    @staticmethod
    def _nothing(shape: Shape, field: Field) -> Array:  # noqa: ARG004
        return np.broadcast_to(0.0, shape)

    def _first(self, shape: Shape, field: Field) -> Array:
        return np.broadcast_to(self._observed(field)[:1], shape)

    def _check_alike(self, told: Pass) -> None:
        """The same messages, queries and releases as with zero gradients."""
        fields = [e.field for e in told.equations] == [e.field for e in self.base.equations]
        if not (fields and told.queries == self.base.queries and told.releases == self.base.releases):
            raise _NotAffineError(
                "what the agents send is no affine function of their gradients: they send other messages"
            )

    # ── the map ─────────────────────────────────────────────────────────────────────────────────────
    def _maps(self, dimension: int, observed: Observed) -> tuple[tuple[Matrix, ...], tuple[Matrix, ...]]:
        """C and the part of B that hidden releases have; one of each for every coordinate of so many."""
        unknowns: list[tuple[str, Query]] = [("g", q) for q in self._query] + [("z", r) for r in self.base.unseen]
        worlds = max(1, min(WORLDS, int(LIMIT / 16 / (8 * dimension * max(1, len(self.base.equations))))))
        parts: list[list[Matrix]] = [[] for _ in range(dimension)]
        stored = 0
        for start in range(0, len(unknowns), worlds):
            some = unknowns[start : start + worlds]
            for c, change in enumerate(self._impulses(some, dimension, observed)):
                parts[c].append(sparse.csr_array(change))
                stored += 16 * parts[c][-1].nnz
            _check_size("its map", stored)
        rows, queries = len(self.base.equations), len(self._query)
        if not unknowns:
            parts = [[sparse.csr_array((rows, 0))] for _ in parts]
        whole = [sparse.csr_array(sparse.hstack(part, format="csr")) for part in parts]
        return tuple(w[:, :queries] for w in whole), tuple(w[:, queries:] for w in whole)

    def _impulses(self, unknowns: Sequence[tuple[str, Query]], dimension: int, observed: Observed) -> Array:
        """How every equation's value moves with each of these, (dimension, equations, unknowns)."""
        shape = (1 + len(unknowns), dimension)
        place = {unknown: 1 + k for k, unknown in enumerate(unknowns)}
        nothing = np.zeros(shape)

        def given(kind: str, agent: int, k: int) -> Array:
            if (at := place.get((kind, (agent, k)))) is None:
                return nothing
            values = np.zeros(shape)
            values[at] = 1.0
            return values

        told = self._drive(
            Inputs(
                shape,
                partial(observed, shape),
                partial(given, "g"),
                partial(given, "z"),
                self._carriers,
                points=False,
            )
        )
        self._check_alike(told)
        values = np.zeros((len(told.equations), *shape)) if not told.equations else _values(told.equations)
        return np.moveaxis(values[:, 1:] - values[:, :1], -1, 0)

    def _map(self, design: tuple[Matrix, ...], hidden: tuple[Matrix, ...]) -> Map:
        equations = self.base.equations
        empty = np.zeros((0, *self.shape))
        return Map(
            tuple(self._query),
            tuple(self._release),
            tuple(e.field for e in equations),
            design,
            tuple(self._noise(mixing) for mixing in hidden),
            self._stddev(self.base),
            _values(equations) if equations else empty,
            np.array([e.observed for e in equations]) if equations else empty,
            all(isinstance(m, Gaussian) for made in self.base.mechanisms.values() for m in made),
        )

    def _noise(self, mixing: Matrix) -> Matrix:
        """B: the noise of observed releases in their own equation, that of hidden ones where it went."""
        shape = len(self.base.equations), len(self._release)
        seen = [(row, e) for row, e in enumerate(self.base.equations) if e.release is not None]
        columns = [self._release[e.release] for _, e in seen if e.release is not None]
        own = sparse.coo_array(([e.factor for _, e in seen], ([row for row, _ in seen], columns)), shape=shape)
        spread = sparse.coo_array(mixing)
        unseen = np.array([self._release[r] for r in self.base.unseen], dtype=np.intp)
        there = sparse.coo_array((spread.data, (spread.row, unseen[spread.col])), shape=shape)
        return sparse.csr_array(own + there)

    def _stddev(self, told: Pass) -> Array:
        made = [_of_all(m) for _, some in sorted(told.mechanisms.items()) for m in some]
        return np.sqrt(np.array([np.broadcast_to(v, self.shape[1]) for v in made]).reshape(-1, self.shape[1]))

    def _check_random(self, found: Map) -> None:
        self.check(found, *self._random(found))

    def _random(self, found: Map) -> tuple[Array, Array]:
        """Gradients and noises."""
        rng = np.random.default_rng(0)
        gradients = rng.standard_normal((len(found.queries), *self.shape))
        return gradients, rng.standard_normal((len(found.releases), *self.shape))

    def _check_chance(self, found: Map) -> None:
        """What nobody saw, coins and the order of single messages, must make no difference to what was seen."""
        if not self.base.chancy:
            return
        gradients, noises = self._random(found)
        given, drawn = self._of(gradients), self._noises(noises)
        wanted = {e.field: e for e in self._run(given, drawn).equations}
        for chance in range(1, 1 + CHANCES):
            try:
                told = self._run(given, drawn, chance).equations
            except AttackError as error:
                raise AttackError(f"{_BY_CHANCE} ({error})") from error
            for e in told:
                same = e.field in wanted and np.allclose(e.value, wanted[e.field].value, rtol=1e-9, atol=1e-9)
                if not same or len(told) != len(wanted):
                    raise AttackError(f"{_BY_CHANCE}: {e.field[3]!r} in {e.field[1]} message {e.field[2]} of agent "
                                      f"{e.field[0]} does")  # fmt: skip


_BY_CHANCE = (
    "what was seen depends on private coins, or on an order in which messages to single agents came, that nobody saw"
)


class _NotAffineError(AttackError):
    """The map found does not say what the code sends."""


def _check(view: AdversaryView) -> None:
    public = view.public
    if not public.codec.lossless:
        raise AttackError(f"{public.codec} changes what is sent: the inversion is for float64 on the wire")
    outside = set(range(public.agents)) - view.inside.keys()
    if forgetful := sorted(public.forgetful & outside):
        raise AttackError(f"agents {forgetful} may begin anew without their state: when is not known")
    if not public.patience.endless and outside:
        raise AttackError(
            "exchanges may end without some messages, and which came in time is known at a tapped door alone: probe "
            "each agent with a tap at its door by itself (attacks.inference)"
        )


def _check_size(what: str, size: float) -> None:
    if size > LIMIT:
        raise AttackError(f"a joint probe would need {size / 1e9:.1f} GB for {what}: probe fewer rounds or replicas")


def _values(equations: Sequence[Equation]) -> Array:
    return np.array([e.value for e in equations])


def _applied(matrices: tuple[Matrix, ...], unknowns: Array) -> Array:
    """Matrix by vector, (rows, replicas, dimension), in every replica and coordinate."""
    count, replicas, dimension = unknowns.shape
    if len(matrices) == 1:
        return np.asarray(matrices[0] @ unknowns.reshape(count, replicas * dimension)).reshape(
            -1, replicas, dimension
        )
    return np.stack([np.asarray(m @ unknowns[..., c]) for c, m in enumerate(matrices)], axis=-1)


def _of_all(mechanism: Mechanism) -> Array:
    """Its variance, one per coordinate; you get an `AttackError` for a sweep, in which replicas differ."""
    flat = np.atleast_2d(np.asarray(mechanism.variance(), dtype=np.float64))
    if len(flat) > 1 and np.any(flat != flat[:1]):
        raise AttackError("replicas have noise of different scales: probe them one by one")
    return flat[0]
