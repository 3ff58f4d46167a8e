"""Results of a probe: the gradients of one agent, or of a network and how they depend on each other."""

from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.probe.linear import Assumption, Free
from attacks.probe.mapping import Law, Map, check_size
from attacks.probe.node import Field, Gap
from attacks.probe.system import Bounds, System
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

EXACT = 1e-6
"""An estimate of which rounding alone may move a coordinate by this share of the largest one is not called exact."""
UNMIXED = 1e-6
"""The share of an error's variance below which the noise of other laws does not change its law."""
NEGLIGIBLE = 1e-12
"""A weight below this share of the largest counts as none."""
DEPENDENT = 1e-9
"""A combination of which so little, of 1, is left when those before it are taken out follows from them."""


@dataclass(frozen=True, eq=False)
class MessageMap:
    """Every message of a network as a function of all private answers and all noise: O = o + C g + B z.

    `found` has C and B, one row for each field of each message that was observed; `public` (queries,): whether the
    point of a query depends on no answer and no noise, so that its answer is the same whatever the others hold.
    `points` (queries, replicas, dimension) are where these were made; elsewhere they mean nothing.
    """

    found: Map
    public: Mask
    points: Array

    @property
    def width(self) -> int:
        """Rows for each field, and columns for each query and noise: the dimension where coordinates mix, else 1."""
        return self.found.shape[1] if self.found.mixed else 1

    def queries_of(self, agent: int) -> slice:
        """The columns of C that are of this agent's queries."""
        own = [k for k, (i, _) in enumerate(self.found.queries) if i == agent]
        return slice(own[0] * self.width, (own[-1] + 1) * self.width) if own else slice(0)

    def seen_by(self, view: AdversaryView, law: Law = "gaussian") -> tuple[Array, Array, Array]:
        """`selected` for what this view of the same run recorded in the clear."""
        return self.selected(recorded(view), view.inside, law)

    def selected(
        self, fields: AbstractSet[Field], inside: Container[int], law: Law = "gaussian"
    ) -> tuple[Array, Array, Array]:
        """C (rows, columns of queries), B (rows, columns of noises) and the `scale` (rows,) of these fields, for a
        listener that is `inside` these agents, where all its noise has this law. Rows are in the order of the map.

        The noise of insiders is known to them and leaves, with that from the seeds of their edges, and so do their
        answers: their columns of C are 0. What
        the largest numbers of each answer and noise, of any message, lose to rounding may be in each row: they make
        its scale. You get an `AttackError` where coordinates have maps or noises of their own, where a field is not
        in the map, and where its noise has another law.
        """
        found, width = self.found, self.width
        if len(found.design) != 1 or np.any(found.stddev != found.stddev[:, :1]):
            raise AttackError("coordinates have maps or noises of their own: there is no price for all of them")
        if missing := fields - set(found.fields):
            sender, kind, number, name = min(missing)
            raise AttackError(
                f"the map lacks {name!r} of {kind} message {number} of agent {sender}, which this view has"
            )
        check_size("this view", 24.0 * len(fields) * len(found.laws) * width**2)
        rows = _each([one in fields for one in found.fields], width)
        answers = _each([agent not in inside for agent, _ in found.queries], width)
        ends = [*((agent,) for agent, _ in found.releases), *((i, j) for i, j, _ in found.seeds)]
        unknown = _each([not any(agent in inside for agent in agents) for agents in ends], width)
        whole, deviations = abs(found.noise[0]), np.repeat(found.stddev[:, 0], width)
        largest = whole.max(axis=0).toarray().ravel() * deviations if whole.shape[0] else deviations
        noise, design = found.noise[0][rows].toarray() * deviations, found.design[0][rows].toarray()
        heard = unknown & np.any(noise, axis=0)
        if laws := {str(found.laws[k // width]) for k in np.flatnonzero(heard).tolist()} - {law}:
            raise AttackError(f"noise in this view is {' and '.join(sorted(laws))}, not {law} alone")
        scale = np.linalg.norm(np.where(noise[:, unknown] != 0, largest[unknown], 0.0), axis=1)
        return np.where(answers, design, 0.0), np.compress(unknown, noise, axis=1), scale


def _each(chosen: list[bool], width: int) -> Mask:
    return np.repeat(np.array(chosen, dtype=bool), width)


def recorded(view: AdversaryView) -> frozenset[Field]:
    """The fields of messages that a view recorded in the clear."""
    return frozenset(
        (row.sender, row.kind, row.number, name)
        for row in view.transcript
        if row.event != "closed" and row.kind in ("exchange", "direct")
        for name in row.values
    )


@dataclass(frozen=True, eq=False)
class Probed:
    """Every private query of one agent, in order: of a recorded agent up to its last message that was observed, in a
    network to the end of its code.

    `gradients` and `points` (queries, replicas, dimension): the estimates, and where the queries were made;
    `covariance` (queries, queries, dimension) of the errors of each coordinate, between queries. `identifiable`
    (queries,): where the observations leave a gradient open, its estimate means nothing; `located` (queries,):
    whether they determine the point, up to noise. `drowned` (queries,): what the equations determine but rounding
    makes worthless, so that it is not called identifiable.

    `rank`: how many independent combinations of the gradients are determined. `condition` is the ratio of the extreme
    singular values of the equations that bear on them, less what may be due to gaps, of the worst coordinate;
    `amplification` the largest factor by which a relative error of what was observed can grow in an identifiable
    estimate, ∞ without any. `residual`: the largest misfit of what no noise covers, or less than
    rounding makes, relative to what was observed, of all equations.

    `rounding` (queries,): how far rounding alone may move a coordinate, absolute, if no hidden gradient is larger
    than the largest that is determined; with the deviation of noise so small beside other that it counts as none.
    `mixing` (queries, noises, dimension): each error is this combination of independent noises of variance 1, so that
    the covariance is its square, up to rounding; `laws` (noises,) has their laws, where it is Laplace or Gaussian.
    `gaps`: the values that were received and not observed. `likeliest`: the estimates are those of maximum
    likelihood, and the covariance was simulated.
    """

    agent: int
    gradients: Array
    points: Array
    covariance: Array
    identifiable: Mask
    located: Mask
    drowned: Mask
    rank: int
    condition: float
    amplification: float
    residual: float
    rounding: Array
    mixing: Array
    laws: tuple[Law | None, ...]
    gaps: tuple[Gap, ...] = ()
    likeliest: bool = False

    @classmethod
    def nothing(cls, agent: int, shape: tuple[int, int]) -> "Probed":
        """Result for an agent that, as far as it was observed, has made no query."""
        none, nowhere = np.zeros((0, *shape)), np.zeros(0, dtype=bool)
        square, far = np.zeros((0, 0, shape[1])), float("inf")
        return cls(agent, none, none, square, nowhere, nowhere, nowhere, 0, far, far, 0.0, np.zeros(0), square, ())

    @property
    def stddev(self) -> Array:
        """Deviation of each estimate's error, (queries, dimension); ∞ where it is not identifiable."""
        spread = np.sqrt(np.maximum(np.einsum("ttc->tc", self.covariance), 0.0))
        return np.where(self.identifiable[:, None], spread, np.inf)

    @property
    def law(self) -> tuple[Law | None, ...]:
        """The law of each estimate's error, None where it is none of these: that of a mixture, of another mechanism,
        of maximum likelihood. An error without noise is Gaussian of variance 0."""
        return tuple(self._law(t, deviation) for t, deviation in enumerate(self.stddev))

    @property
    def exact(self) -> Mask:
        """(queries,): identifiable, without noise, and rounding is below `EXACT` of its largest coordinate."""
        size = np.max(np.abs(self.gradients), axis=(1, 2), initial=0.0)
        silent = np.all(self.stddev <= self.rounding[:, None], axis=-1)
        return self.identifiable & silent & (self.rounding <= EXACT * size)

    @property
    def seen(self) -> tuple[int, ...]:
        """The identifiable queries."""
        return tuple(np.flatnonzero(self.identifiable).tolist())

    @property
    def usable(self) -> tuple[int, ...]:
        """The identifiable queries at known points: what a reconstruction can start from."""
        return tuple(np.flatnonzero(self.identifiable & self.located).tolist())

    def _law(self, t: int, deviation: Array) -> Law | None:
        if np.max(deviation, initial=0.0) <= self.rounding[t]:
            return "gaussian"
        shares = np.max(np.square(self.mixing[t]), axis=-1, initial=0.0)
        counted = np.flatnonzero(shares > UNMIXED * np.sum(shares))
        laws = {self.laws[k] for k in counted.tolist()}
        if laws == {"gaussian"}:
            return "gaussian"
        return "laplace" if laws == {"laplace"} and len(counted) == 1 and not self.likeliest else None


class Functional(NamedTuple):
    """Σ weight · gradient, of `terms` (agent, query, weight), the largest weight 1.

    `estimate` (replicas, dimension) is its best linear unbiased estimate, `stddev` (dimension,) that of its error and
    `rounding` a bound of what rounding adds.
    """

    terms: tuple[tuple[int, int, float], ...]
    estimate: Array
    stddev: Array
    rounding: float

    def of(self, gradients: Mapping[int, Array]) -> Array:
        """The same combination of other gradients, by agent (queries, replicas, dimension)."""
        return np.sum([weight * gradients[i][t] for i, t, weight in self.terms], axis=0)


class Visible(NamedTuple):
    """One agent, for reports. `hops` to the nearest agent at which the adversary listens (None: it listens nowhere);
    of so many `queries` so many are `identified` and `drowned` in rounding; `amplification` is the worst factor by
    which relative errors of the observations grow in its identifiable gradients, `stddev` the median standard
    deviation of their coordinates and `rounding` the largest bound of what rounding adds: ∞ where none is
    identifiable."""

    agent: int
    hops: int | None
    identified: int
    queries: int
    drowned: int
    amplification: float
    stddev: float
    rounding: float


@dataclass(frozen=True, eq=False)
class ProbedNetwork:
    """Gradients of every agent that is no insider, as far as one view determines them.

    `agents` by their number. `distances[i]`: hops from agent i to the nearest at which the adversary listens.
    `assumption` is what was assumed of the gradients. `residual`: the largest misfit of what no noise covers,
    relative to what was observed; `misfit`: mean squared whitened residual of what noise covers, 1 where the model is
    right, with its `degrees` of freedom per replica and coordinate (nan without any). A residual far above rounding,
    or a misfit far from 1, refutes the assumption. `rank` is that of all `equations`.
    """

    assumption: Assumption
    agents: Mapping[int, Probed]
    rank: int
    equations: int
    residual: float
    misfit: float
    degrees: float
    distances: Mapping[int, int]
    _rows: Mapping[int, slice] = field(repr=False)
    _system: System = field(repr=False)
    _estimate: Array = field(repr=False)
    _bounds: tuple[Bounds, ...] = field(repr=False)

    @property
    def seen(self) -> dict[int, tuple[int, ...]]:
        """The identifiable queries of each agent; agents without any are left out."""
        return {i: victim.seen for i, victim in self.agents.items() if victim.seen}

    @property
    def identified(self) -> int:
        """Number of identifiable queries, of all agents."""
        return sum(map(len, self.seen.values()))

    @property
    def queries(self) -> int:
        """Number of queries, of all agents."""
        return len(self._system.found.queries)

    def covariance(self, one: int, other: int) -> Array:
        """Covariance of the errors of two agents' estimates in each coordinate, (queries of one, of the other,
        dimension); of identifiable queries alone."""
        return self._system.covariance(self._rows[one], self._rows[other])

    def functionals(self) -> list[Functional]:
        """Linear combinations of gradients that are determined though none of their terms is by itself.

        They span, with the identifiable gradients, all that the view determines; in the order of the messages that
        carry them. You get an `AttackError` where coordinates have maps of their own, or something was assumed.
        """
        if not isinstance(self.assumption, Free):
            raise AttackError("combinations of gradients are those of free gradients: leave the assumption out")
        if len(self._system.parts) != 1:
            raise AttackError("coordinates have maps or noises of their own: no combination is the same for all")
        return _independent(self._system, self._estimate, self._bounds[0])

    def alternative(self, seed: int = 0, size: float = 1.0) -> dict[int, Array]:
        """Other gradients with which everything observed would have been the same, by agent (queries, replicas,
        dimension): the estimates, and a random change of deviation about `size` of all that is hidden."""
        changed = self._estimate + size * self._system.hidden_change(np.random.default_rng(seed))
        return {i: changed[rows] for i, rows in self._rows.items()}

    def visibility(self) -> list[Visible]:
        """Visibility of every agent that is no insider, in order."""
        found: list[Visible] = []
        for victim in self.agents.values():
            known = victim.identifiable
            some = bool(np.any(known))
            one = Visible(
                victim.agent,
                self.distances.get(victim.agent),
                int(np.count_nonzero(known)),
                len(known),
                int(np.count_nonzero(victim.drowned)),
                victim.amplification,
                float(np.median(victim.stddev[known])) if some else float("inf"),
                float(np.max(victim.rounding[known])) if some else float("inf"),
            )
            found.append(one)
        return found


def _independent(system: System, estimate: Array, bounds: Bounds) -> list[Functional]:
    """Combinations that the equations determine of queries that are not identifiable: rows that do not follow from
    others."""
    hidden = np.flatnonzero(~system.structural)
    design = system.found.design[0]
    touched = np.flatnonzero(np.asarray(abs(design[:, hidden]).sum(axis=1)).ravel() > 0)
    basis = np.zeros((0, len(hidden)))
    functionals: list[Functional] = []
    for row in design[touched][:, hidden].toarray():
        weights = row / row[np.argmax(np.abs(row))]
        weights = np.where(np.abs(weights) > NEGLIGIBLE, weights, 0.0)
        rest = weights / np.linalg.norm(weights)
        for _ in range(2):  # Gram-Schmidt: twice is enough
            rest = rest - basis.T @ (basis @ rest)
        if (length := float(np.linalg.norm(rest))) <= DEPENDENT:
            continue
        basis = np.concatenate([basis, rest[None] / length])
        functionals.append(_functional(system, estimate, bounds, hidden, weights))
    return functionals


def _functional(
    system: System, estimate: Array, bounds: Bounds, hidden: NDArray[np.intp], weights: Array
) -> Functional:
    chosen = np.flatnonzero(weights)
    columns, values = hidden[chosen], weights[chosen]
    part, queries = system.parts[0], system.found.queries
    terms = tuple((*queries[int(c)], float(w)) for c, w in zip(columns, values, strict=True))
    variance = float(values @ np.asarray(part.covariance[columns][:, columns] @ values))
    stddev = np.full(system.shape[1], np.sqrt(max(variance, 0.0)))
    weighed, mixed = (np.abs(np.asarray(m[columns].T @ values)) for m in (part.estimator, part.bent))
    rounding = float(weighed @ bounds.error + bounds.size * np.sum(mixed))
    return Functional(terms, np.einsum("t,trd->rd", values, estimate[columns]), stddev, rounding)
