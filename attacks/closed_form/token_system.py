"""Linear system of RECAL's visits: everything that the observed tokens determine, with the covariance of errors.

Of visit k of agent i, with token (u, x) in and (u⁺, x⁺) out, the state (y, λ) before and (y⁺, λ⁺) after:

    change  u⁺ − u = λ⁺ − λ                     u moves as the dual does
    move    x⁺ = x − ũ − β(x − y)               line 2, where r = 0
    dual    λ⁺ = λ + β(x⁺ − y⁺)                 line 4
    sum     u = Σ_i λ_i                         wherever it is certain how many visits each agent had made
    step    ∇f(y) = λ + β(x − y) − (y⁺ − y)/α_i line 3

with λ = 0 and the public y_i¹ before an agent's first visit. Unknown are every y and λ, every gradient, and the
tokens that were missed. A line may hold up to Gaussian noise. The lines are the same for each coordinate. Which of
them hold, and up to which noise, depends on what is on the wire:

| on the wire                | change        | move (r = 0)  | sum   | gradient's own noise |
|----------------------------|---------------|---------------|-------|----------------------|
| RECAL, the exact u         | exact         | exact         | exact | none                 |
| DP-RECAL as deployable     | not used      | exact         |       | none                 |
| DP-RECAL, fresh noise      | σ_τ           | σ_τ           |       | none                 |
| DP-RECAL, sent state       | exact         | exact         | exact | σ_τ/(αβ)             |

Under sent_state y and λ are the agent's own messages, which determine them exactly; its step to y⁺, before it forgot,
is off by its noise. Under fresh_noise every y is on the wire twice, in the noisy change of u when it is made and in
the next visit's x⁺; the two are weighed, and the errors of an agent's gradients are correlated, for λ keeps them.

A token that was missed is an unknown more: as long as it is certain which visit it brought, the visits before and
after it hang together, and where r = 0 two equations of each message that was observed bear on one gradient. Where
several ways are possible (`attacks.closed_form.token_ways`), those with which the lines do not hold are dropped.
Where r ≠ 0, a lost λ leaves the *differences* of the later gradients.

*Solution.* Lines without noise that have one unknown left are solved at once, in order; those with two tie one to the
other, so that of an agent whose λ is lost one unknown is left. What remains falls into groups that share no unknown,
each solved by generalized least squares (`attacks.probe.linear`). Groups of more than `LARGEST` unknowns are left out
whole. Rounding is measured on copies of what was observed that are disturbed a little; an estimate that it moves by
more than `EXACT`, and than its noise, is left out.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attacks.closed_form.token_walk import START, observed_walk
from attacks.closed_form.token_ways import Id, Way
from attacks.estimates import Evidence, GradientEstimate
from attacks.probe import EXACT
from attacks.probe.linear import solve
from netsim.adversary import AdversaryView
from netsim.algorithms.recal import Walk, coupling
from netsim.arrays import Array
from netsim.transcript.message import Values

Name = tuple[str, int, int]
"""What, of which agent or sender, of which visit or number."""

NOTHING = 1e-12
"""A coefficient below this share of the largest that went into it has cancelled."""
STEEP = 1e6
"""No unknown is tied to another by a larger factor, or by less than its inverse."""


class _Tie(NamedTuple):
    """value = factor · (value of `root`) + `rest`."""

    root: Name
    factor: float
    rest: Array


class _Ties:
    """All unknowns by class; what is found of a class's root is found of all its members.

    `values` is added to. Small classes are put into large ones, so that an unknown moves a few times only.
    """

    def __init__(self, values: dict[Name, Array]) -> None:
        self.values = values
        self.members: dict[Name, list[Name]] = {}
        """Of each root all unknowns that are tied to it, itself included."""
        self._zero = np.zeros_like(next(iter(values.values())))
        self._ties: dict[Name, _Tie] = {}

    def tie(self, name: Name) -> _Tie:
        """Tie of an unknown; its own root, if nothing ties it."""
        if name not in self._ties:
            self._ties[name] = _Tie(name, 1.0, self._zero)
            self.members[name] = [name]
        return self._ties[name]

    def roots(self, terms: Mapping[Name, float]) -> dict[Name, float]:
        """The unknown roots of Σ coefficient · value, with their coefficients."""
        found: dict[Name, float] = defaultdict(float)
        largest: dict[Name, float] = defaultdict(float)
        for name, coefficient in terms.items():
            if name not in self.values:
                root, factor, _ = self.tie(name)
                found[root] += coefficient * factor
                largest[root] = max(largest[root], abs(coefficient * factor))
        return {root: c for root, c in found.items() if abs(c) > NOTHING * largest[root]}

    def constant(self, terms: Mapping[Name, float]) -> Array:
        """Known part of Σ coefficient · value."""
        total = self._zero
        for name, coefficient in terms.items():
            known = self.values[name] if name in self.values else self.tie(name).rest
            total = total + coefficient * known
        return total

    def settle(self, lines: Iterable[Mapping[Name, float]]) -> None:
        """Σ coefficient · value = 0 for all lines: whatever follows from those with one or two roots."""
        all_lines = list(lines)
        holding: dict[Name, set[int]] = defaultdict(set)
        queue = deque(range(len(all_lines)))
        waiting = set(queue)
        for index, line in enumerate(all_lines):
            for root in self.roots(line):
                holding[root].add(index)
        while queue:
            index = queue.popleft()
            waiting.discard(index)
            roots = self.roots(all_lines[index])
            moved = self._use(roots, all_lines[index])
            if moved is None:
                continue
            for other in holding.pop(moved, set()):
                for root in roots.keys() - {moved}:
                    holding[root].add(other)
                if other not in waiting:
                    waiting.add(other)
                    queue.append(other)

    def _use(self, roots: dict[Name, float], line: Mapping[Name, float]) -> Name | None:
        """The root that is a root no more."""
        if len(roots) == 1:
            ((root, coefficient),) = roots.items()
            self.find(root, -self.constant(line) / coefficient)
            return root
        if len(roots) != 2:
            return None
        kept, moved = sorted(roots, key=lambda root: len(self.members[root]), reverse=True)
        factor = -roots[kept] / roots[moved]
        if not 1 / STEEP < abs(factor) < STEEP:
            return None
        rest = -self.constant(line) / roots[moved]
        for name in self.members.pop(moved):
            _, own, before = self._ties[name]
            self._ties[name] = _Tie(kept, own * factor, own * rest + before)
            self.members[kept].append(name)
        return moved

    def find(self, root: Name, value: Array) -> None:
        """The value of a root, and so of all that is tied to it."""
        for name in self.members.pop(root):
            _, factor, rest = self._ties.pop(name)
            self.values[name] = factor * value + rest


AROUND, TRIED = 400, 600
"""Lines that decide which way a token went, and ways that are tried: some 0.02 s each."""
LARGEST = 1200
"""Unknowns of a group that is solved at once: some seconds."""


class Line(NamedTuple):
    """Σ coefficient · value = noise of standard deviation `stddev`."""

    terms: dict[Name, float]
    stddev: float = 0.0


class _Found(NamedTuple):
    """`values` of all that is determined, each (replicas, dimension); `groups`: of what noise touches, its place and
    factor in the unknowns of a group, with the covariance of their errors."""

    values: dict[Name, Array]
    groups: list[tuple[dict[Name, tuple[int, float]], Array]]
    ties: _Ties

    def covariance(self, names: Sequence[Name]) -> Array:
        """(names, names), 0 where exact."""
        total = np.zeros((len(names), len(names)))
        for places, covariance in self.groups:
            here = [k for k, name in enumerate(names) if name in places]
            there = [places[names[k]][0] for k in here]
            factors = np.array([places[names[k]][1] for k in here])
            total[np.ix_(here, here)] = covariance[np.ix_(there, there)] * np.multiply.outer(factors, factors)
        return total


def determined(lines: Sequence[Line], known: dict[Name, Array], combined: Sequence[Line] = ()) -> _Found:
    """All that the lines and what is known determine; `known` is not changed.

    `combined` are lines that name combinations: asked for only where what they combine is not found at once.
    """
    values = _propagated(lines, dict(known))
    ties = _Ties(values)
    left = [line for line in lines if any(name not in values for name in line.terms)]
    left += [line for line in combined if sum(name not in values for name in line.terms) > 2]
    ties.settle(line.terms for line in left if line.stddev == 0)
    groups: list[tuple[dict[Name, tuple[int, float]], Array]] = []
    for group in _groups(left, ties):
        if len({root for _, roots in group for root in roots}) <= LARGEST:
            groups.append(_solved(group, ties))
    return _Found(values, groups, ties)


def _propagated(lines: Sequence[Line], values: dict[Name, Array]) -> dict[Name, Array]:
    exact = [line for line in lines if line.stddev == 0]
    holding: dict[Name, list[int]] = defaultdict(list)
    left: list[set[Name]] = []
    for index, line in enumerate(exact):
        left.append({name for name in line.terms if name not in values})
        for name in left[-1]:
            holding[name].append(index)
    ready = deque(index for index, names in enumerate(left) if len(names) == 1)
    while ready:
        index = ready.popleft()
        if not left[index]:
            continue
        (name,) = left[index]
        terms = exact[index].terms
        rest = [coefficient * values[other] for other, coefficient in terms.items() if other != name]
        values[name] = sum(rest[1:], rest[0]) / -terms[name]
        for other in holding[name]:
            left[other].discard(name)
            if len(left[other]) == 1:
                ready.append(other)
    return values


_Rooted = tuple[Line, dict[Name, float]]
"""A line with the unknowns that are left of it."""


def _groups(lines: Sequence[Line], ties: _Ties) -> list[list[_Rooted]]:
    """Lines with unknowns, those together that share one, directly or through others."""
    parent: dict[Name, Name] = {}

    def top(name: Name) -> Name:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    rooted: list[_Rooted] = [(line, roots) for line in lines if (roots := ties.roots(line.terms))]
    for _, roots in rooted:
        first, *others = roots
        for other in others:
            parent[top(other)] = top(first)
    groups: dict[Name, list[_Rooted]] = defaultdict(list)
    for line, roots in rooted:
        groups[top(next(iter(roots)))].append((line, roots))
    return list(groups.values())


def _solved(group: Sequence[_Rooted], ties: _Ties) -> tuple[dict[Name, tuple[int, float]], Array]:
    """Adds what the group determines to the values; places, factors and covariance of its unknowns."""
    unknowns = sorted({root for _, roots in group for root in roots})
    places = {root: k for k, root in enumerate(unknowns)}
    design, observed = np.zeros((len(group), len(unknowns))), list[Array]()
    for row, (line, roots) in enumerate(group):
        for root, coefficient in roots.items():
            design[row, places[root]] = coefficient
        observed.append(-ties.constant(line.terms))
    noise = np.diag([line.stddev for line, _ in group])
    found = solve(design, noise, np.array([values.ravel() for values in observed]))
    members: dict[Name, tuple[int, float]] = {}
    for root, k in places.items():
        members |= {name: (k, ties.tie(name).factor) for name in ties.members.get(root, ())}
    for root, k in places.items():
        if found.identifiable[k]:
            ties.find(root, found.estimate[k].reshape(observed[0].shape))
    return members, found.covariance


_ByVisit = Callable[[int, int], float]
"""A standard deviation at an agent's visit 0, 1, …, by agent and visit."""


def exactly(agent: int, visit: int) -> float:  # noqa: ARG001
    """No noise, at any visit."""
    return 0.0


class Wire(NamedTuple):
    """Fields on the wire and noise of the lines: `u` names the field of the line `change`, `noisy` the one of
    `move`. `change` and `move` are the noise's standard deviation at an agent's visit 0, 1, …, None where the line
    does not hold; `step` that of a gradient itself."""

    u: str
    noisy: str
    change: _ByVisit | None
    move: _ByVisit | None
    step: _ByVisit
    sums: bool


DRAWS, DISTURBED, ULPS, MISFIT = 4, 2.0**-34, 16, 1e-9
"""Rounding is measured: behind the replicas `DRAWS` copies of the first one are carried along, with what was observed
disturbed by `DISTURBED` of its largest number. As many times 2⁻⁵² are `ULPS` of rounding. A line of which more than
`MISFIT` of its largest part is left, rounding apart, does not hold."""


def _perturbed(tokens: Mapping[Id, Values], fields: Sequence[str]) -> dict[Name, Array]:
    """Values of all fields of tokens, (replicas + `DRAWS`, dimension)."""
    rng = np.random.default_rng(0)
    known: dict[Name, Array] = {}
    for token, field in [(token, field) for token in tokens for field in fields]:
        value = tokens[token][field]
        size = 0.0 if token == START else DISTURBED * float(np.max(np.abs(value), initial=0.0))
        drawn = value[:1] + size * rng.standard_normal((DRAWS, value.shape[1]))
        known[field, *token] = np.concatenate([value, drawn])
    return known


def _rounding(value: Array) -> float:
    """How far rounding may move a coordinate of this value."""
    largest = float(np.max(np.abs(value[-DRAWS:] - value[:1]), initial=0.0))
    return 3 * largest * ULPS * 2.0**-52 / DISTURBED


class _Neighborhoods:
    """Lines without noise, by the unknowns that they share."""

    def __init__(self, lines: Sequence[Line], values: Mapping[Name, Array]) -> None:
        self._values, self._lines = values, [line for line in lines if line.stddev == 0]
        self._holding: dict[Name, list[int]] = defaultdict(list)
        for index, line in enumerate(self._lines):
            for name in self._unknown(line):
                self._holding[name].append(index)

    def around(self, own: Sequence[Line]) -> list[Line]:
        """These and the lines that share an unknown with them, directly or through others: at least `AROUND`, the
        nearest."""
        found, inside = [line for line in own if line.stddev == 0], set[int]()
        for line in found:  # grows
            if len(found) > AROUND:
                break
            for index in sorted({k for name in self._unknown(line) for k in self._holding[name]} - inside):
                inside.add(index)
                found.append(self._lines[index])
        return found

    def _unknown(self, line: Line) -> list[Name]:
        return [name for name in line.terms if name not in self._values]


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
        self._wire, self._algorithm = wire, algorithm
        self._skipped = view.inside.keys() | view.public.forgetful
        self._known_agents = [i for i in range(view.public.agents) if i not in view.public.forgetful]
        fields = tuple(dict.fromkeys((wire.u, wire.noisy, "x")))
        x_first, y_first = algorithm.starts(view.public.agents, view.public.dimension)
        self._beta = coupling(view.public.agents)
        walk = observed_walk(view, algorithm.first, fields, x_first)
        self._visits = walk.visits
        known = _perturbed(walk.values, fields)
        for agent, y in enumerate(y_first):
            known["y", agent, 0] = np.zeros_like(known["x", *START]) + y
            known["dual", agent, 0] = np.zeros_like(known["x", *START])
        came = dict(walk.came)
        places: Sequence[Sequence[Way]] = walk.open
        while True:
            lines = list(self._lines(came, walk.made))
            self._found = determined(lines, known, list(self._differences()))
            left = self._narrowed(places, lines)
            if sum(map(len, left)) == sum(map(len, places)):
                break
            for ways in left:
                both = (pair for pair in ways[0].items() if all(way.get(pair[0]) == pair[1] for way in ways))
                came |= {visit: token for visit, token in both if token is not None}
            places = [ways for ways in left if len(ways) > 1]

    def _lines(self, came: Mapping[Id, Id], made: Mapping[Id, Sequence[int]]) -> Iterator[Line]:
        wire, beta = self._wire, self._beta
        for i, k in [(agent, k) for agent in self._known_agents for k in range(self._visits[agent])]:
            alpha = self._algorithm.step_of(i)
            y, y_new, dual, dual_new = ("y", i, k), ("y", i, k + 1), ("dual", i, k), ("dual", i, k + 1)
            x_new: Name = ("x", i, k)
            yield Line({dual_new: 1.0, dual: -1.0, x_new: -beta, y_new: beta})
            token = came.get((i, k))
            x: Name = ("x", *token) if token else ("x in", i, k)
            yield from self._brought((i, k), token)
            gradient: Name = ("gradient", i, k)
            yield Line({gradient: 1.0, dual: -1.0, x: -beta, y: beta - 1 / alpha, y_new: 1 / alpha})
        for token, counts in made.items() if wire.sums else ():
            terms: dict[Name, float] = {("dual", i, k): -1.0 for i, k in enumerate(counts) if k > 0}
            yield Line({(wire.u, *token): 1.0} | terms)

    def _brought(self, visit: Id, token: Id | None) -> Iterator[Line]:
        """Lines `change` and `move`."""
        if token is None:
            return
        wire, (i, k) = self._wire, visit
        if wire.change is not None:
            dual = {("dual", i, k + 1): -1.0, ("dual", i, k): 1.0}
            yield Line({(wire.u, i, k): 1.0, (wire.u, *token): -1.0} | dual, wire.change(i, k))
        if wire.move is not None:
            x: Name = ("x", *token)
            state = {x: self._beta - 1, (wire.noisy, *token): 1.0, ("y", i, k): -self._beta}
            yield Line({("x", i, k): 1.0} | state, wire.move(i, k))

    def _differences(self) -> Iterator[Line]:
        for i in self._agents():
            for k in range(1, self._visits[i]):
                yield Line({("difference", i, k): 1.0, ("gradient", i, k): -1.0, ("gradient", i, k - 1): 1.0})

    def _narrowed(self, places: Sequence[Sequence[Way]], lines: Sequence[Line]) -> list[Sequence[Way]]:
        """At each place the ways with which the lines around it hold; where there are several, fewest first."""
        near, tried = _Neighborhoods(lines, self._found.values), 0
        left = list[Sequence[Way]]()
        for ways in sorted(places, key=len):
            tried += len(ways)
            kept = ways if tried > TRIED else [way for way in ways if not self._contradicted(way, near)]
            left.append(kept or ways)
        return left

    def _contradicted(self, way: Way, near: _Neighborhoods) -> bool:
        around = near.around([line for visit, token in way.items() for line in self._brought(visit, token)])
        found = determined(around, self._found.values)
        ties = found.ties
        for line in around:
            if not ties.roots(line.terms):
                parts = [ties.constant({name: coefficient}) for name, coefficient in line.terms.items()]
                left, size = sum(parts[1:], parts[0]), max(float(np.max(np.abs(part))) for part in parts)
                if np.max(np.abs(left[:-DRAWS])) > MISFIT * size + 100 * _rounding(left):
                    return True
        return False

    def estimates(self) -> list[GradientEstimate]:
        """Agent by agent in order of time; `stddev` is one estimate's own, errors may be correlated."""
        found = list[GradientEstimate]()
        for agent in self._agents():
            queries = self._queries(agent)
            deviations = np.sqrt(np.diag(self._covariance(agent, queries))).tolist()
            for k, stddev in zip(queries, deviations, strict=True):
                point, gradient = self._value(("y", agent, k)), self._value(("gradient", agent, k))
                found.append(GradientEstimate(agent, k, point, gradient, stddev))
        return found

    def evidence(self) -> list[Evidence]:
        """The same with the covariance of each agent's errors; what is not determined is counted as hidden."""
        found = list[Evidence]()
        for agent in self._agents():
            if queries := self._queries(agent):
                points = np.array([self._value(("y", agent, k)) for k in queries])
                gradients = np.array([self._value(("gradient", agent, k)) for k in queries])
                covariance = np.repeat(self._covariance(agent, queries)[..., None], points.shape[-1], axis=-1)
                hidden = self._visits[agent] - len(queries)
                found.append(Evidence(agent, tuple(queries), points, gradients, covariance, "gaussian", hidden))
        return found

    def differences(self) -> list[Difference]:
        """Differences of gradients that are not determined themselves, each to the agent's last before it that allows
        it."""
        values, step, ties = self._found.values, self._wire.step, self._found.ties
        found: list[Difference] = []
        for agent in self._agents():
            visits = range(self._visits[agent])
            lost = {k for k in visits if ("y", agent, k) in values and ("gradient", agent, k) not in values}
            last: dict[tuple[Name, float], int] = {}
            for k in sorted(lost):
                root, factor, rest = ties.tie(("gradient", agent, k))
                before = last.get((root, factor), k - 1)
                name: Name = ("difference", agent, k)
                if (root, factor) in last:
                    change, variance = rest - ties.tie(("gradient", agent, before)).rest, 0.0
                elif before in lost and name in values:
                    change, variance = values[name], float(self._found.covariance([name])[0, 0])
                else:
                    change, variance = None, 0.0
                if change is not None:
                    points = self._value(("y", agent, before)), self._value(("y", agent, k))
                    stddev = (variance + step(agent, k) ** 2 + step(agent, before) ** 2) ** 0.5
                    found.append(Difference(agent, (before, k), points, change[:-DRAWS], stddev))
                last[root, factor] = k
        return found

    def _agents(self) -> list[int]:
        return [agent for agent in range(len(self._visits)) if agent not in self._skipped]

    def _value(self, name: Name) -> Array:
        return self._found.values[name][:-DRAWS]

    def _queries(self, agent: int) -> list[int]:
        """Visits whose gradient and point are determined, and neither is lost in rounding."""
        visits = [
            k
            for k in range(self._visits[agent])
            if {("gradient", agent, k), ("y", agent, k)} <= self._found.values.keys()
        ]
        return [k for k in visits if self._sharp(("gradient", agent, k)) and self._sharp(("y", agent, k))]

    def _sharp(self, name: Name) -> bool:
        """Whether rounding is no more than noise, or a small share of the value."""
        value, noise = self._found.values[name], float(self._found.covariance([name])[0, 0]) ** 0.5
        return _rounding(value) <= max(noise, EXACT * float(np.max(np.abs(value))))

    def _covariance(self, agent: int, queries: Sequence[int]) -> Array:
        """Of the errors at these visits, (visits, visits), the same for every coordinate."""
        own = np.diag([self._wire.step(agent, k) ** 2 for k in queries])
        return self._found.covariance([("gradient", agent, k) for k in queries]) + own
