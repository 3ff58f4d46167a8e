"""The token system: the batons of a walk that were observed, and everything they determine.

A baton is named (sender, number): an agent sends one at each of its visits, so `number` is the visit's too,
and a
visit that was missed leaves a gap in the numbers. Heard in order, the batons *to* an agent lie between the
batons
*from* it, and both have to fit:

    visits made before < number of a visit ≤ visits made after,

counted from the start upwards and from the next number that was heard downwards. Where both counts agree,
the baton
brought that visit, whatever was missed elsewhere; where they do not, nothing is said. The same counts say
how many
visits each agent had made when a baton was sent.

A tap that misses packets may hear a repetition and not the first transmission: such a baton's values hold,
its place
does not, until the visit that sent it has one. Where clocks err, only what follows by number from the start
is in
order.

Which lines of `attacks.closed_form.token_equations` hold, and up to which noise, is the reading's:

| on the wire                | told          | moved (r = 0) | sum   | gradient's own noise |
|----------------------------|---------------|---------------|-------|----------------------|
| RECAL, the exact u         | exact         | exact         | exact | none                 |
| DP-RECAL as deployable     | not used      | exact         |       | none                 |
| DP-RECAL, fresh noise      | σ_τ           | σ_τ           |       | none                 |
| DP-RECAL, told state       | exact         | exact         | exact | σ_τ/(αβ)             |

Under sent_state y and λ are what an agent told, and its messages tell those exactly; its step to y⁺ before
it forgot
is off by its noise. Under fresh_noise every y is told twice, by the noisy change of u when it is made and by
the
next visit's x⁺; the two are weighed, and the errors of an agent's gradients are correlated, for λ keeps them.

What a gap costs, where r = 0: a visit whose baton in was missed loses that gradient; one whose baton out was
missed
loses nothing, the next visit says it again; both together lose the agent's λ, until at some baton the duals
of all
others are known. Where r ≠ 0, a lost λ leaves the *differences* of the later gradients.
"""

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attacks.closed_form.token_equations import Found, Line, Name, determined
from attacks.estimates import NOBODY, Evidence, GradientEstimate, in_order
from netsim.adversary import AdversaryView
from netsim.algorithms.recal import Walk, coupling
from netsim.arrays import Array
from netsim.transcript.message import Values
from netsim.transcript.record import Record

Id = tuple[int, int]
"""Sender and number of a baton; agent and number of the visit that sent it. Of a sender that may begin anew, and
count anew, the number is negative and of this row only."""
START: Id = (-1, 0)
"""The baton that the first holder begins with: the public zeros."""


@dataclass(frozen=True)
class _ObservedToken:
    """`values` of each baton that was heard, `START` too; `came[visit]`: the baton that brought it, where that is
    certain; `made[baton]`: how many visits each agent had made when it was sent, its sender's included, where all are
    certain; `visits[agent]`: how many are known of."""

    values: dict[Id, Values]
    came: dict[Id, Id]
    made: dict[Id, tuple[int, ...]]
    visits: tuple[int, ...]


def observed_walk(view: AdversaryView, first: int, names: tuple[str, ...]) -> _ObservedToken:
    """What a view tells of a walk from `first` on; `names` are the baton's fields, zeros at the start."""
    public = view.public
    values: dict[Id, Values] = {START: {name: np.zeros((view.replicas, public.dimension)) for name in names}}
    doors = _at_doors(view, first, values)
    rows = [_Sent.of(row, index, public.forgetful) for index, row in enumerate(view.messages())]
    for row in rows:
        values.setdefault(row.name, row.record.values)
    order = _Order(public.agents, first, [])
    if first not in public.forgetful:
        order = _placed(view, first, rows)
    certain = {visit: baton for visit, baton in order.came.items() if visit[0] not in doors}
    came = certain | {visit: baton for found in doors.values() for visit, baton in found.items()}
    counts = [0] * public.agents
    for sender, number in values.keys() - {START}:
        counts[sender] = max(counts[sender], number + 1)
    made = {} if public.forgetful else order.made
    return _ObservedToken(values, came, made, tuple(counts))


class _Sent(NamedTuple):
    """A baton as it was heard, and its name."""

    record: Record
    name: Id

    @classmethod
    def of(cls, row: Record, index: int, forgetful: Container[int]) -> "_Sent":
        return cls(row, (row.sender, ~index if row.sender in forgetful else row.number))


def _at_doors(view: AdversaryView, first: int, values: dict[Id, Values]) -> dict[int, dict[Id, Id]]:
    """A door tap misses nothing, and an agent passes its batons on in the order in which it got them."""
    forgetful = view.public.forgetful
    doors = {agent: dict[Id, Id]() for agent in view.adversary.doors if agent not in forgetful}
    held = {agent: deque([START] if agent == first else []) for agent in doors}
    for index, row in enumerate(view.transcript):
        name = row.sender, -(10**9) - index if row.sender in forgetful else row.number
        if row.event == "received" and row.receiver in held:
            held[row.receiver].append(name)
        elif row.event == "sent" and row.sender in held and held[row.sender]:
            doors[row.sender][name] = held[row.sender].popleft()
        else:
            continue
        values.setdefault(name, row.values)
    return doors


class _Order:
    """Batons in the order in which they were sent, and what follows from it (`came` and `made`)."""

    def __init__(self, agents: int, first: int, batons: list[_Sent]) -> None:
        self.agents, self.first, self.batons = agents, first, batons
        self.came: dict[Id, Id] = {(first, 0): START}
        self.made: dict[Id, tuple[int, ...]] = {}
        after = list(self._downwards())[::-1]
        for (row, name), low, high in zip(batons, self._upwards(), after, strict=True):
            if low[row.receiver] == high[row.receiver]:
                self.came[row.receiver, low[row.receiver]] = name
            if low == high:
                self.made[name] = low

    def _upwards(self) -> Iterator[tuple[int, ...]]:
        """The least number of visits each agent had made when a baton was sent."""
        made = [0] * self.agents
        made[self.first] = 1
        for row, _ in self.batons:
            made[row.sender] = row.number + 1
            yield tuple(made)
            made[row.receiver] += 1  # before whatever is sent next

    def _downwards(self) -> Iterator[tuple[int | None, ...]]:
        """The greatest, from the last baton to the first; None where none is known."""
        most: list[int | None] = [None] * self.agents
        follower = NOBODY
        for row, _ in reversed(self.batons):
            known = most[row.receiver]
            if known is not None and row.receiver != follower:  # a follower's own visit is taken off already
                most[row.receiver] = known - 1
            most[row.sender] = row.number + 1
            yield tuple(most)
            most[row.sender] = row.number
            follower = row.sender


def _placed(view: AdversaryView, first: int, rows: Sequence[_Sent]) -> _Order:
    agents = view.public.agents
    if view.adversary.clock_error > 0:
        return _Order(agents, first, _by_number(rows, first))
    names = {id(record): name for record, name in rows}
    complete = view.adversary.capture_loss == 0
    certain = [
        _Sent(row, names[id(row)])
        for row in in_order([record for record, _ in rows], first)
        if row.receiver != NOBODY and (complete or row.attempt == 0)
    ]
    inside = {name for _, name in certain}
    floating = {} if complete else {row.name: row for row in rows if row.name not in inside}
    order = _Order(agents, first, certain)
    while found := [visit for visit in order.came if visit in floating]:
        after = {order.came[visit]: floating.pop(visit) for visit in found}
        order = _Order(agents, first, list(_inserted(order.batons, after)))
    return order


def _inserted(batons: Sequence[_Sent], after: dict[Id, _Sent]) -> Iterator[_Sent]:
    if START in after:
        yield after[START]
    for baton in batons:
        yield baton
        if baton.name in after:
            yield after[baton.name]


def _by_number(rows: Sequence[_Sent], first: int) -> list[_Sent]:
    """From the start on, as long as the next baton was heard: its sender and number are known before it is."""
    known = {row.name: row for row in rows}
    counts: dict[int, int] = {}
    chain: list[_Sent] = []
    holder = first
    while (row := known.get((holder, counts.get(holder, 0)))) is not None:
        counts[holder] = row.record.number + 1
        chain.append(row)
        holder = row.record.receiver
    return chain


ByVisit = Callable[[int], float]
"""A standard deviation at an agent's visit 0, 1, …"""


def exactly(visit: int) -> float:  # noqa: ARG001
    """No noise, at any visit."""
    return 0.0


class Wire(NamedTuple):
    """What is on the wire and how far the lines hold: `u` names the field that `told` is about, `noisy` the one in
    `moved`. `told` and `moved` are the noise's standard deviation at an agent's visit 0, 1, …, None where the line
    does not hold; `step` that of a gradient itself."""

    u: str
    noisy: str
    told: ByVisit | None
    moved: ByVisit | None
    step: ByVisit
    sums: bool


class Difference(NamedTuple):
    """∇f(points[1]) − ∇f(points[0]) ≈ gradient of two queries of one agent, (replicas, dimension).

    `stddev` is that of one coordinate's error, 0: exact up to rounding.
    """

    agent: int
    queries: tuple[int, int]
    points: tuple[Array, Array]
    gradient: Array
    stddev: float


class TokenSystem:
    """All that a view of a walk determines."""

    def __init__(self, view: AdversaryView, algorithm: Walk, wire: Wire) -> None:
        self._wire, self._alpha, self._beta = wire, algorithm.step, coupling(view.public.agents)
        self._skipped = view.inside.keys() | view.public.forgetful
        fields = tuple(dict.fromkeys((wire.u, wire.noisy, "x")))
        heard = observed_walk(view, algorithm.first, fields)
        self._visits = heard.visits
        known = {(field, *baton): value[field] for baton, value in heard.values.items() for field in fields}
        zeros = np.zeros((view.replicas, view.public.dimension))
        for agent in range(view.public.agents):
            known["y", agent, 0] = known["dual", agent, 0] = zeros
        forgetful = view.public.forgetful
        lines = [line for i in range(view.public.agents) if i not in forgetful for line in self._of_agent(heard, i)]
        if wire.sums:
            lines += _sums(heard, wire.u)
        differences = [
            Line({("difference", i, k): 1.0, ("gradient", i, k): -1.0, ("gradient", i, k - 1): 1.0})
            for i in self._agents()
            for k in range(1, self._visits[i])
        ]
        self._found: Found = determined(lines, known, differences)

    def estimates(self) -> list[GradientEstimate]:
        """Agent by agent in order of time; `stddev` is one estimate's own, errors may be correlated."""
        return [estimate for agent in self._agents() for estimate in self._estimates(agent)]

    def evidence(self) -> list[Evidence]:
        """The same with the covariance of each agent's errors; what is not determined is counted as hidden."""
        found: list[Evidence] = []
        for agent in self._agents():
            if queries := self._queries(agent):
                values = self._found.values
                points = np.array([values["y", agent, k] for k in queries])
                covariance = np.repeat(self._covariance(agent, queries)[..., None], points.shape[-1], axis=-1)
                gradients = np.array([values["gradient", agent, k] for k in queries])
                hidden = self._visits[agent] - len(queries)
                found.append(Evidence(agent, tuple(queries), points, gradients, covariance, "gaussian", hidden))
        return found

    def differences(self) -> list[Difference]:
        """Of gradients that are not determined themselves, each to the agent's last before it that allows it."""
        return [found for agent in self._agents() for found in self._differences(agent)]

    def _differences(self, agent: int) -> Iterator[Difference]:
        last: dict[tuple[Name, float], int] = {}
        for k in range(self._visits[agent]):
            if not self._lost(agent, k):
                continue
            root, factor, rest = self._found.tie(("gradient", agent, k))
            before = last.get((root, factor), k - 1)
            if (root, factor) in last:
                yield self._difference(
                    agent, before, k, rest - self._found.tie(("gradient", agent, before)).rest, 0.0
                )
            elif self._lost(agent, before) and (name := ("difference", agent, k)) in self._found.values:
                variance = float(self._found.covariance([name])[0, 0])
                yield self._difference(agent, before, k, self._found.values[name], variance)
            last[root, factor] = k

    def _lost(self, agent: int, k: int) -> bool:
        values = self._found.values
        return ("y", agent, k) in values and ("gradient", agent, k) not in values

    def _difference(self, agent: int, before: int, k: int, change: Array, variance: float) -> Difference:
        step, values = self._wire.step, self._found.values
        stddev = (variance + step(k) ** 2 + step(before) ** 2) ** 0.5
        points = values["y", agent, before], values["y", agent, k]
        return Difference(agent, (before, k), points, change, stddev)

    def _agents(self) -> list[int]:
        return [agent for agent in range(len(self._visits)) if agent not in self._skipped]

    def _queries(self, agent: int) -> list[int]:
        values = self._found.values
        seen = range(self._visits[agent])
        return [k for k in seen if ("gradient", agent, k) in values and ("y", agent, k) in values]

    def _covariance(self, agent: int, queries: Sequence[int]) -> Array:
        own = np.diag([self._wire.step(k) ** 2 for k in queries])
        return self._found.covariance([("gradient", agent, k) for k in queries]) + own

    def _estimates(self, agent: int) -> Iterator[GradientEstimate]:
        queries, values = self._queries(agent), self._found.values
        stddev = np.sqrt(np.diag(self._covariance(agent, queries)))
        for k, deviation in zip(queries, stddev.tolist(), strict=True):
            yield GradientEstimate(agent, k, values["y", agent, k], values["gradient", agent, k], deviation)

    def _of_agent(self, heard: _ObservedToken, i: int) -> Iterator[Line]:
        alpha, beta, wire = self._alpha, self._beta, self._wire
        for k in range(heard.visits[i]):
            y, y_new, dual, dual_new = ("y", i, k), ("y", i, k + 1), ("dual", i, k), ("dual", i, k + 1)
            x_new: Name = ("x", i, k)
            yield Line({dual_new: 1.0, dual: -1.0, x_new: -beta, y_new: beta})
            baton = heard.came.get((i, k))
            x: Name = ("x", *baton) if baton else ("x in", i, k)
            u: Name = (wire.u, *baton) if baton else ("u in", i, k)
            noisy: Name = (wire.noisy, *baton) if baton else ("u in", i, k)
            if wire.told is not None and baton:
                yield Line({(wire.u, i, k): 1.0, u: -1.0, dual_new: -1.0, dual: 1.0}, wire.told(k))
            if wire.moved is not None and baton:
                yield Line({x_new: 1.0, x: beta - 1, noisy: 1.0, y: -beta}, wire.moved(k))
            gradient: Name = ("gradient", i, k)
            yield Line({gradient: 1.0, dual: -1.0, x: -beta, y: beta - 1 / alpha, y_new: 1 / alpha})


def _sums(heard: _ObservedToken, u: str) -> Iterator[Line]:
    for baton, made in heard.made.items():
        terms: dict[Name, float] = {("dual", i, k): -1.0 for i, k in enumerate(made) if k > 0}
        yield Line({(u, *baton): 1.0} | terms)
