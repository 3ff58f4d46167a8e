"""Many unknown victims at once: from all that a coalition or an eavesdropper saw to every agent's gradients.

The public code of all agents that are no insiders runs together, its private gradients unknown (`network`). Each
value that was seen on a tapped link or at a door is one linear equation for them (`maps`): a packet that was missed
is a missing row, a tap that came late leaves the gradients before it as unknowns more, noise that is on the wire is a
row's own and noise that is not is an unknown of known law. Generalized least squares gives the best linear unbiased
estimate of each gradient of each agent, or the linear combinations that are determined where single ones are not.

A law that no attack can beat: for gradients that change freely at least one message must be heard for each of them.
With one message a round (descent, EXTRA) every agent must be heard. With two that are linked, as in DIGing and DPP²,
hidden agents follow from their neighbors: of 50 agents on a path, ten doors see all where descent takes seventeen.

Cost: with U unknowns (gradients and hidden noise), R rounds and M messages a round, U/1024 runs of U ≤ 1024 worlds of
R·M messages, one coordinate each, and then O(rows · unknowns²) for each set of unknowns that hang together. 50 agents
× 60 rounds seen from one end: 1,800 unknowns and some seconds. What would need more than about 4 GB is refused with
an `AttackError` that names the size.

Source: this project. Who may run it: whoever has a view; of exchanges that wait for everybody (no deadline), tokens
whose way was seen, and messages whose order was seen or makes no difference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from attacks.estimates import Evidence, GradientEstimate
from attacks.probe.joint.assumptions import Assumption, Free, Model
from attacks.probe.joint.functionals import Functional, independent
from attacks.probe.joint.maps import Map, Mapper
from attacks.probe.joint.system import Solved, coordinates, solve_coordinate
from attacks.probe.joint.victim import Victim
from attacks.probe.probe import NEAR
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

FREE = Free()
FAR = 5.0
"""How far around the estimates, in their standard deviations and those of all noise, the map must be affine."""
DRAWN = 2
"""So many random patterns of signs of these are tried."""


@dataclass(frozen=True, eq=False)
class Joint:
    """What one view tells of every agent that is no insider.

    `agents` by their number. `distances[i]`: hops from agent i to the nearest at which the adversary listens. `law`:
    that of the errors, None where noise is not Gaussian. `per_coordinate`: coordinates have maps or noises of their
    own. `assumption` is what was assumed of the gradients. `residual`: the largest misfit of what no noise covers,
    relative to what was observed; `misfit`: mean squared whitened residual of what noise covers, with its `degrees`
    of freedom per replica and coordinate (nan without any). A residual far above rounding, or a misfit far from 1,
    refutes the assumption. `rank` and `condition` are those of the `equations`.
    """

    assumption: Assumption
    agents: Mapping[int, Victim]
    rank: int
    equations: int
    condition: float
    residual: float
    misfit: float
    degrees: float
    per_coordinate: bool
    distances: Mapping[int, int]
    law: Literal["gaussian"] | None
    _map: Map = field(repr=False)
    _model: Model = field(repr=False)
    _solved: tuple[Solved, ...] = field(repr=False)

    @property
    def seen(self) -> dict[int, tuple[int, ...]]:
        """The identifiable queries of each agent; agents without any are left out."""
        return {i: victim.seen for i, victim in self.agents.items() if victim.seen}

    @property
    def identified(self) -> int:
        """How many queries are identifiable, of all agents."""
        return sum(map(len, self.seen.values()))

    @property
    def asked(self) -> int:
        """How many queries there are, of all agents."""
        return len(self._map.queries)

    def covariance(self, one: int, other: int) -> Array:
        """Of the errors of two agents' estimates in each coordinate, (queries of one, of the other, dimension); of
        identifiable queries alone."""
        first, second = (self._model.spread[self._rows[i]] for i in (one, other))
        parts = [np.asarray((first @ s.covariance @ second.T).toarray()) for s in self._solved]
        return np.stack(parts * (self._map.shape[1] // len(parts)), axis=-1)

    def evidence(self) -> list[Evidence]:
        """What a reconstruction starts from, one for each agent with an identifiable gradient at a known point."""
        return [victim.evidence(self.law) for victim in self.agents.values() if victim.usable]

    def estimates(self) -> list[GradientEstimate]:
        """One for each identifiable gradient at a known point, agent by agent."""
        return [estimate for victim in self.agents.values() for estimate in victim.estimates()]

    def functionals(self) -> list[Functional]:
        """Linear combinations of gradients that are determined though none of their terms is by itself.

        They span, with the identifiable gradients, all that the view determines; in the order of the messages that
        tell them. You get an `AttackError` where coordinates have maps of their own, or something was assumed.
        """
        if not isinstance(self.assumption, Free):
            raise AttackError("combinations of gradients are those of free gradients: leave the assumption out")
        if len(self._solved) != 1:
            raise AttackError("coordinates have maps or noises of their own: no combination is the same for all")
        return independent(self._map, self._solved[0])

    def alternative(self, seed: int = 0, size: float = 1.0) -> dict[int, Array]:
        """Other gradients with which everything observed would have been the same, by agent (queries, replicas,
        dimension): the estimates, and a random change of deviation about `size` of all that is hidden."""
        rng = np.random.default_rng(seed)
        changed = _estimates(self._solved, self._map) + size * self._free(rng)
        return {i: changed[rows] for i, rows in self._rows.items()}

    def _free(self, rng: np.random.Generator) -> Array:
        """A random change of the gradients that nothing observed tells, (queries, replicas, dimension)."""
        return _hidden(self._map, self._solved, rng)

    @cached_property
    def _rows(self) -> dict[int, slice]:
        return _slices(self._map.asked)


def joint(view: AdversaryView, *, gradients: Assumption = FREE) -> Joint:
    """Estimate every private gradient of every agent that is no insider, from everything the adversary saw.

    You get an `AttackError` where what was sent is no affine function of gradients and noise, where the code sends
    other messages than were sent, where what came of it depends on private coins, or on the order or the way of
    messages, that nobody saw (tokens whose hops were missed, exchanges with a deadline, agents that begin anew), and
    for what would not fit in memory.
    """
    mapper = Mapper(view)
    found = mapper.map()
    model = gradients.model(found.asked)
    solved = tuple(solve_coordinate(found, model, c) for c in coordinates(found))
    estimates = _estimates(solved, found)
    identifiable = np.all([s.identifiable for s in solved], axis=0)
    _check_near(mapper, found, estimates, identifiable)
    deviations = np.stack([s.stddev for s in solved] * (found.shape[1] // len(solved)), axis=-1)
    _check_plausible(mapper, found, estimates, np.where(identifiable[:, None], deviations, 0.0))
    points = mapper.points(estimates)
    located = _located(mapper, found, solved, estimates, points)
    return _packed(mapper, found, model, solved, gradients, np.array(points), located)


def _check_near(mapper: Mapper, found: Map, estimates: Array, identifiable: Mask) -> None:
    """What clips is affine where it does nothing: at the estimates and a little around them, and for hidden gradients
    as large as those that are seen."""
    rng = np.random.default_rng(1)
    size = float(np.max(np.abs(estimates[identifiable]), initial=0.0)) or 1.0
    spread = np.where(identifiable, NEAR * size, size)[:, None, None]
    silent = np.zeros((len(found.releases), *estimates.shape[1:]))
    around = (1 + NEAR) * np.where(identifiable[:, None, None], estimates, 0.0)
    mapper.check(found, estimates, silent)
    mapper.check(found, around + spread * rng.standard_normal(estimates.shape), silent)


def _check_plausible(mapper: Mapper, found: Map, estimates: Array, stddev: Array) -> None:
    """Wherever the truth may be, too: behind noise, what clipped may look as if it had done nothing.

    `stddev` (queries, dimension) is that of the estimates, 0 where they mean nothing; signs: all up, outwards, each
    with its opposite, and random.
    """
    far = FAR * stddev[:, None]
    if not np.any(far):
        return
    rng = np.random.default_rng(3)
    noises = FAR * found.stddev[:, None] * np.ones((len(found.releases), *estimates.shape[1:]))
    up, outwards = np.ones(estimates.shape), np.where(estimates < 0, -1.0, 1.0)
    chosen = [(sign * by, sign * np.ones(noises.shape)) for by in (up, outwards) for sign in (1.0, -1.0)]
    drawn = [(_signs(rng, estimates.shape), _signs(rng, noises.shape)) for _ in range(DRAWN)]
    for by, hidden in [*chosen, *drawn]:
        mapper.check(found, estimates + far * by, noises * hidden)


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def _located(mapper: Mapper, found: Map, solved: tuple[Solved, ...], estimates: Array, points: list[Array]) -> Mask:
    """Whether a query's point stays where it is when all that is hidden changes."""
    change = _hidden(found, solved, np.random.default_rng(2))
    if not np.any(change):
        return np.ones(len(points), dtype=bool)
    moved = mapper.points(estimates + change)
    return np.array([
        bool(np.max(np.abs(after - before)) <= 1e-6 * max(1.0, float(np.max(np.abs(before)))))
        for before, after in zip(points, moved, strict=True)
    ])  # fmt: skip


def _packed(
    mapper: Mapper,
    found: Map,
    model: Model,
    solved: tuple[Solved, ...],
    assumption: Assumption,
    points: Array,
    located: Mask,
) -> Joint:
    rows = _slices(found.asked)
    return Joint(
        assumption=assumption,
        agents={i: _victim(i, part, found, model, solved, points, located) for i, part in rows.items()},
        rank=min(s.rank for s in solved),
        equations=len(found.fields),
        condition=max(s.worst_condition for s in solved),
        residual=max(s.residual for s in solved),
        misfit=float(np.mean([s.misfit for s in solved])),
        degrees=float(np.mean([s.degrees for s in solved])),
        per_coordinate=len(solved) > 1,
        distances=_distances(mapper),
        law="gaussian" if found.gaussian else None,
        _map=found,
        _model=model,
        _solved=solved,
    )


def _victim(
    agent: int, part: slice, found: Map, model: Model, solved: tuple[Solved, ...], points: Array, located: Mask
) -> Victim:
    estimates, rows = _estimates(solved, found)[part], model.spread[part]
    known = np.all([s.identifiable[part] for s in solved], axis=0)
    within = [np.asarray((rows @ s.covariance @ rows.T).toarray()) for s in solved]
    worst = max(float(np.max(s.condition[part][known], initial=0.0)) for s in solved)
    return Victim(
        agent=agent,
        gradients=estimates,
        points=points[part],
        covariance=np.stack(within * (estimates.shape[-1] // len(within)), axis=-1),
        identifiable=known,
        located=located[part],
        condition=worst if np.any(known) else float("inf"),
        rounding=np.max([s.rounding[part] for s in solved], axis=0),
        drowned=np.all([s.structural[part] for s in solved], axis=0) & ~known,
    )


def _estimates(solved: tuple[Solved, ...], found: Map) -> Array:
    """(queries, replicas, dimension)."""
    replicas, width = found.shape[0], found.shape[1] // len(solved)
    return np.concatenate([s.estimate.reshape(len(s.estimate), replicas, width) for s in solved], axis=-1)


def _hidden(found: Map, solved: tuple[Solved, ...], rng: np.random.Generator) -> Array:
    """A random change of gradients that nothing observed tells, of deviation about 1 where all is hidden."""
    replicas, width = found.shape[0], found.shape[1] // len(solved)
    parts: list[Array] = []
    for s in solved:
        draws = rng.standard_normal((int(s.mixed.shape[1]), replicas * width))
        kept = np.where(s.structural[:, None], 0.0, np.asarray(s.mixed @ draws))
        parts.append(kept.reshape(len(kept), replicas, width))
    return np.concatenate(parts, axis=-1)


def _slices(asked: Mapping[int, int]) -> dict[int, slice]:
    ends = np.cumsum(list(asked.values()), dtype=int).tolist()
    return {i: slice(end - count, end) for (i, count), end in zip(asked.items(), ends, strict=True)}


def _distances(mapper: Mapper) -> dict[int, int]:
    """Hops from each agent to the nearest one at which the adversary listens."""
    distance = dict.fromkeys(sorted(mapper.heard.reached), 0)
    front: Iterator[int] = iter(list(distance))
    hops = 0
    while True:
        hops += 1
        new = {j for i in front for j in mapper.public.neighbors[i]} - distance.keys()
        if not new:
            return distance
        distance |= {j: hops for j in sorted(new)}  # noqa: C420
        front = iter(sorted(new))
