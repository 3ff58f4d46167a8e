"""The network of the stacked reader: all links at once, sums over neighbors, and what adversaries hear.

Links, receiver after receiver, are the entries of the adjacency matrix; a sum adds neighbor after neighbor in
ascending order, as the live reader does, so that the bits agree.

*Order.* The same coroutine runs for every agent, so all take the same steps. At a step an agent begins, is woken by
the last message of an exchange or by a timer, or (where all that it waits for is here already) simply goes on in
the moment of its step before. The heap orders by (time, deliveries before timers, sequence number), and sequence
numbers are given as messages and timers are pushed: by the order of the moments in which agents pushed them, then
by the receiver's place among the sender's neighbors. So at one time

- first is what was pushed before: the deliveries, and what they cause without delay;
- then one timer after the other, each followed by what it causes without delay (its *phase*);
- within a phase deliveries, and among each other the timers, are in the order in which they were pushed.

Every moment has a number in the order of all (`Moments`), which only grows, and its key is made of its pusher's.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from netsim.arrays import Array
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems.problem import MANY
from netsim.randomness import Streams
from netsim.settings import NetworkSettings
from netsim.topology import Sparse, Topology
from netsim.transcript.message import EVERYBODY, TAG_BYTES, Capture, Ciphertext, Door, Message, Tagged, Values

Whole: TypeAlias = NDArray[np.int64]
BEGUN, TIMER, DELIVERED = 0, 1, 2


@dataclass(frozen=True)
class Rows:
    """Moments by column, and what happens in each: `after` orders what happens in one moment.

    `parent`: the moment in which it was pushed, at the step before `born`, for the agent's neighbor number `place`;
    `phase`: the moment of the timer that it comes of without delay, -1 for none.
    """

    time: Array
    kind: NDArray[Any]
    born: Whole
    parent: Whole
    place: Whole
    phase: Whole
    after: Whole

    @staticmethod
    def joined(parts: "Sequence[Rows]") -> "Rows":
        """All rows, one part after the other."""
        return Rows(*(np.concatenate([getattr(one, name) for one in parts]) for name in Rows.__dataclass_fields__))


class Moments:
    """The steps of all agents: `now` (agents,) in virtual seconds. `ordered`: their order is kept too, for who
    records (in memory of steps times agents)."""

    def __init__(self, agents: int, *, ordered: bool) -> None:
        self.now: Array = np.zeros(agents)
        self.ordered = ordered
        every = np.arange(agents, dtype=np.int64)
        none = np.zeros(agents, dtype=np.int64)
        self._count = agents
        self._all = Rows(
            self.now.copy(), none.astype(np.int8), none, every, every.copy(), none - 1, np.empty(0, dtype=np.int64)
        )
        """Every moment by its name, the number of those that were known before it."""
        self._number: Whole = every.copy()
        """The place of each in the order of those that are known."""
        self._steps: list[Whole] = [every]
        self._open: Whole = every
        """Those from the earliest moment of any agent on, in order: only among them may others come yet."""
        self._instant = True
        """Whether all has happened at time 0, by deliveries alone: then step after step."""

    @property
    def step(self) -> int:
        """How many steps all have taken."""
        return len(self._steps) - 1

    def acted(self, step: int, agents: Whole, after: Whole) -> Rows:
        """Rows of what these agents do at a step."""
        return self._rows(self._steps[step][agents], after)

    def delivered(self, step: int, time: Array, senders: Whole, places: Whole) -> Rows:
        """Rows of the arrival of what these agents sent at a step."""
        after = np.full(len(senders), -1, dtype=np.int64)
        return self._pushed(step, time, DELIVERED, self._steps[step][senders], places, after)

    # ── steps ───────────────────────────────────────────────────────────────────────────────────────────
    def wait(self, seconds: Array, who: NDArray[np.bool_]) -> None:
        """These agents sleep, each for so many seconds; the others go on."""
        then = np.where(who, self.now + seconds, self.now)
        self._instant = False
        if self.ordered:
            parents, none = self._steps[-1][who], np.zeros(np.count_nonzero(who), dtype=np.int64)
            self._take(who, self._pushed(self.step, then[who], TIMER, parents, none, none))
        self.now = then

    def receive(self, arrival: Array, senders: Whole, places: Whole, starts: Whole) -> None:
        """Every agent waits for all its messages, whose `arrival` (links,) stands agent by agent from `starts` on."""
        last = np.maximum.reduceat(arrival, starts)
        if not self.ordered:
            self.now = np.maximum(self.now, last)
            return
        here, width = self._steps[-1], int(places.max()) + 1
        code = self._number[here[senders]] * width + places
        degrees = np.diff(np.append(starts, len(arrival)))
        code[arrival != np.repeat(last, degrees)] = -1
        newest = np.flatnonzero(code == np.repeat(np.maximum.reduceat(code, starts), degrees))
        rows = self.delivered(self.step, last, senders[newest], places[newest])
        waits = last > self.now
        self._instant &= not last.any()
        if self._instant:
            waits[:] = True
        elif len(close := np.flatnonzero(~waits & (last == self.now))):  # is it here before the agent waits for it?
            both = Rows.joined([self._rows(here[close], np.zeros_like(close)), _chosen(rows, close)])
            place = np.empty(len(both.time), dtype=np.int64)
            place[self.order(both)] = np.arange(len(place))
            waits[close] = place[: len(close)] < place[len(close) :]
        self._take(waits, _chosen(rows, waits))
        self.now = np.where(waits, last, self.now)

    def _take(self, who: NDArray[np.bool_], rows: Rows) -> None:
        """A step, at which these agents have a new moment."""
        first, self._count = self._count, self._count + len(rows.time)
        names = np.arange(first, self._count, dtype=np.int64)
        if self._count > len(self._number):
            more = max(self._count, len(self._number) * 3 // 2) - len(self._number)
            self._all = replace(self._all, **{name: np.pad(getattr(self._all, name), (0, more)) for name in STORED})
            self._number = np.pad(self._number, (0, more))
        for name in STORED:
            getattr(self._all, name)[names] = getattr(rows, name)
        timers = rows.kind == TIMER
        self._all.phase[names[timers]] = names[timers]
        ordered = self._open
        if self._instant:
            ordered = np.concatenate((ordered, names[np.lexsort((rows.place, self._number[rows.parent]))]))
        elif len(names):
            ordered = np.concatenate((ordered, names))
            ordered = ordered[self.order(self._rows(ordered, np.zeros_like(ordered)))]
        begin = first - len(self._open)
        self._number[ordered] = np.arange(begin, self._count)
        step = self._steps[-1].copy()
        step[who] = names
        self._open = ordered[int(self._number[step].min()) - begin :]
        self._steps.append(step)

    # ── order ───────────────────────────────────────────────────────────────────────────────────────────
    def order(self, rows: Rows) -> Whole:
        """The places of rows in the order in which they happened."""
        if self._instant:
            return np.lexsort((rows.after, rows.place, self._number[rows.parent], rows.born))
        order = np.argsort(rows.time, kind="stable")
        time = rows.time[order]
        alike = time[1:] == time[:-1]
        if alike.any():  # only what happens at one time needs more than its time
            tied = np.append(alike, False) | np.append(False, alike)
            some = order[tied]
            order[tied] = some[self._tied(_chosen(rows, some))]
        return order

    def _tied(self, rows: Rows) -> Whole:
        known, late = self._number, rows.phase >= 0
        timer = np.where(late, rows.phase, 0)
        phase, since = np.where(late, known[self._all.parent[timer]], -1), np.where(late, self._all.born[timer], -1)
        return np.lexsort((rows.after, rows.place, rows.born, known[rows.parent], rows.kind, since, phase, rows.time))

    def _rows(self, moments: Whole, after: Whole) -> Rows:
        a = self._all
        known = a.kind[moments], a.born[moments], a.parent[moments], a.place[moments], a.phase[moments]
        return Rows(a.time[moments], *known, after)

    def _pushed(self, step: int, time: Array, kind: int, parents: Whole, places: Whole, after: Whole) -> Rows:
        """Rows of what is pushed at a step, in moments of it."""
        born = np.full(len(time), step + 1, dtype=np.int64)
        phase = np.where(self._all.time[parents] == time, self._all.phase[parents], -1)
        return Rows(time, np.full_like(born, kind), born, parents, places, phase, after)


STORED = tuple(name for name in Rows.__dataclass_fields__ if name != "after")
"""What is kept of every moment: what happens in it is known when it is asked for."""


def _chosen(rows: Rows, which: NDArray[Any]) -> Rows:
    return Rows(*(getattr(rows, name)[which] for name in Rows.__dataclass_fields__))


class StackedLinks:
    """All directed links, receiver after receiver and by ascending sender. Public."""

    def __init__(self, topology: Topology, laws: Sequence[LinkLaw]) -> None:
        """`laws`: one for each link, or one for all."""
        self.starts: Whole = topology.adjacency.indptr[:-1].astype(np.int64)
        self.senders, self.receivers = _ends(topology)
        self.degrees: Whole = np.diff(topology.adjacency.indptr).astype(np.int64)
        turned: Any = csr_array((np.arange(len(self.senders)), *_pattern(topology.adjacency))).tocsc()
        self.back: Whole = turned.data
        """The link in the other direction, of each."""
        self.places: Whole = self.back - self.starts[self.senders]
        """The receiver's place among the sender's neighbors."""
        shape = len(self.senders)
        self.sealed = np.broadcast_to(np.array([law.encrypted for law in laws]), shape)
        signed = np.broadcast_to(np.array([law.authenticated for law in laws]), shape)
        self.tags: Whole = TAG_BYTES * (self.sealed | signed)
        """What authentication adds to a packet, in bytes."""

    def of(self, edges: Sequence[tuple[int, int]]) -> Whole:
        """The places of directed links (sender, receiver) among all."""
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        n = len(self.starts)
        return np.searchsorted(self.receivers * n + self.senders, ends[:, 1] * n + ends[:, 0])

    def into(self, agents: Whole) -> Whole:
        """The places of all links to these agents, agent after agent."""
        degrees = self.degrees[agents]
        before = np.cumsum(degrees) - degrees
        return np.repeat(self.starts[agents] - before, degrees) + np.arange(int(degrees.sum()))


def _pattern(matrix: Sparse) -> tuple[Any, Any]:
    return matrix.indices, matrix.indptr


def _ends(topology: Topology) -> tuple[Whole, Whole]:
    """Senders and receivers of all directed links, receiver after receiver."""
    adjacency = topology.adjacency
    return adjacency.indices.astype(np.int64), np.repeat(np.arange(topology.agents), np.diff(adjacency.indptr))


def laws_of(topology: Topology, network: NetworkSettings) -> list[LinkLaw]:
    """One law for each directed link in that order, or one for all."""
    if not network.link_laws:
        return [network.links]
    senders, receivers = _ends(topology)
    own, usual = network.link_laws, network.links
    return [own.get(edge, usual) for edge in zip(senders.tolist(), receivers.tolist(), strict=True)]


class Travel:
    """When what is sent on the links arrives."""

    def __init__(self, links: StackedLinks, laws: Sequence[LinkLaw], streams: Streams) -> None:
        self._links, self._laws, self._streams = links, laws, streams
        shape, seconds = (
            len(links.senders),
            [law.delay.seconds for law in laws if isinstance(law.delay, ConstantDelay)],
        )
        self._delays = np.broadcast_to(np.array(seconds), shape) if len(seconds) == len(laws) else None
        rates = [math.inf if law.bandwidth is None else law.bandwidth for law in laws]
        self._rates = None if min(rates) == math.inf else np.broadcast_to(np.array(rates), shape)
        self._free, self._latest = np.zeros(shape), np.zeros(shape)

    def of(self, now: Array, size: int) -> tuple[Array, Array]:
        """When what all agents send `now` begins to pass each link, and when it arrives."""
        begun = done = now[self._links.senders]
        if self._rates is not None:
            begun = np.where(np.isinf(self._rates), begun, np.maximum(begun, self._free))
            passed = begun + (size + self._links.tags) / self._rates
            self._free = done = np.where(np.isinf(self._rates), begun, passed)
        if self._delays is not None:
            return begun, done + self._delays
        arrival = np.array([one + draw() for one, draw in zip(done.tolist(), self._draws, strict=True)])
        self._latest = arrival = np.where(self._overtakes, arrival, np.maximum(arrival, self._latest))
        return begun, arrival

    @cached_property
    def _draws(self) -> list[Callable[[], float]]:
        links = self._links
        laws = list(self._laws) * (len(links.senders) if len(self._laws) == 1 else 1)
        along = zip(links.senders.tolist(), links.receivers.tolist(), laws, strict=True)
        return [partial(law.delay.draw, self._rng(i, j) if law.random else random.Random(0)) for i, j, law in along]

    def _rng(self, sender: int, receiver: int) -> random.Random:
        return self._streams.plain("link", sender, receiver)

    @cached_property
    def _overtakes(self) -> Any:
        keeps = [law.reordering or isinstance(law.delay, ConstantDelay) for law in self._laws]
        return np.broadcast_to(np.array(keeps), len(self._links.senders))


class _Term(NamedTuple):
    """The p-th neighbor of all agents that have so many: agents (None: all), the neighbor of each, its weight."""

    agents: Whole | None
    neighbors: Whole
    weights: Array


FEW = 4
"""Of so few agents with more neighbors than the others the rest of a sum is one agent at a time."""


class StackedSums:
    """Sums over neighbors in ascending order, one term after the other, of all agents at once."""

    def __init__(self, topology: Topology, links: StackedLinks) -> None:
        n, degrees = topology.agents, links.degrees
        mixing = topology.mixing
        rows = np.repeat(np.arange(n), np.diff(mixing.indptr))
        self.own = np.asarray(mixing.diagonal())[:, None]
        weights = np.asarray(mixing.data)[rows != mixing.indices]
        self._links, self._weights = links, weights
        self._terms: list[_Term] = []
        for p in range(int(degrees.max())):
            agents = np.flatnonzero(degrees > p)
            if len(agents) <= FEW < n:
                break
            at = links.starts[agents] + p
            self._terms.append(_Term(None if len(agents) == n else agents, links.senders[at], weights[at][:, None]))
        longer, first = np.flatnonzero(degrees > len(self._terms)), len(self._terms)
        spans = [(i, slice(links.starts[i] + first, links.starts[i] + degrees[i])) for i in longer.tolist()]
        self._tails = [(i, links.senders[span], weights[span][:, None]) for i, span in spans]

    def mix(self, x: Array) -> Array:
        """Σ_j w_ij x_j, x (agents, numbers): the own term first."""
        if x.shape[1] >= MANY:
            return self._mixed(x)
        return self._summed(self.own * x, lambda _, near, weights: _scaled(_rows(x, near), weights))

    def sum(self, x: Array) -> Array:
        """Σ_j x_j over neighbors."""
        return self._summed(None, lambda _, near, __: _rows(x, near))

    def apart(self, x: Array) -> Array:
        """Σ_j (x_i − x_j)."""
        return self._summed(None, lambda own, near, _: x[own] - _rows(x, near))

    def gathered(self, x: Array) -> list[Array]:
        """The p-th neighbor's x, for all p; where all have as many."""
        return [_rows(x, term.neighbors) for term in self._terms]

    def _mixed(self, x: Array) -> Array:
        """One agent's sum after the other."""
        links, totals, term = self._links, self.own * x, np.empty(x.shape[1])
        near, weights = links.senders.tolist(), self._weights.tolist()
        for total, first, count in zip(totals, links.starts.tolist(), links.degrees.tolist(), strict=True):
            for k in range(first, first + count):
                total += np.multiply(x[near[k]], weights[k], out=term)
        return totals

    def _summed(self, total: Array | None, term: Callable[[Any, Any, Array], Array]) -> Array:
        every = slice(None)
        for agents, neighbors, weights in self._terms:
            part = term(every if agents is None else agents, neighbors, weights)
            if total is None:
                total = part
            elif agents is None:
                total += part
            else:
                total[agents] += part
        assert total is not None
        for agent, neighbors, weights in self._tails:
            parts = term(agent, neighbors, weights)
            total[agent] = np.add.accumulate(np.concatenate((total[agent][None], parts)), axis=0)[-1]
        return total


def _rows(x: Array, which: Whole) -> Array:
    """x[which], which indexing would take thrice as long to make."""
    return x.take(which, axis=0)


def _scaled(term: Array, weights: Array) -> Array:
    term *= weights
    return term


class Sent(NamedTuple):
    """One exchange of all agents: at which step, what each had done before, bytes of a message without its tag, and
    of each link on which somebody listens when it began to pass and when it arrived. `values` by name, (senders,
    replicas, dimension), of those who are heard in the clear."""

    step: int
    done: int
    size: int
    begun: Array
    arrival: Array
    values: Mapping[str, Array]

    def of(self, senders: Whole) -> "Sent":
        """The same with the values of these only, by their places, read-only."""
        chosen = {name: value[senders] for name, value in self.values.items()}
        for value in chosen.values():
            value.setflags(write=False)
        return self._replace(values=chosen)


class Heard:
    """What passed some links (by their places among all, with their clocks' errors) and doors, in order. Times of
    what was sent are of the links `kept` only, which ascend."""

    def __init__(
        self,
        sent: Sequence[Sent],
        senders: Whole,
        moments: Moments,
        links: StackedLinks,
        kept: Whole,
        on: Whole,
        late: Array,
        doors: Sequence[int],
    ) -> None:
        self._sent, self._moments, self._links, self._kept = sent, moments, links, kept
        self._on, self._late = on, late
        self._place = {sender: place for place, sender in enumerate(senders.tolist())}
        self._doors = np.array(doors, dtype=np.int64)
        self._width = int(links.degrees.max()) + 1
        self._messages: dict[tuple[int, int], Message] = {}

    @property
    def door_rows(self) -> int:
        """How many rows the doors have."""
        return int((1 + self._links.degrees[self._doors]).sum()) * len(self._sent)

    def captured(self) -> Iterator[tuple[float, Capture]]:
        """Packets on the links, with when they began to pass."""
        if not len(self._on) or not self._sent:
            return
        links, moments, on = self._links, self._moments, self._on
        senders, receivers, places = links.senders[on], links.receivers[on], links.places[on]
        order = moments.order(
            Rows.joined([moments.acted(s.step, senders, s.done * self._width + places) for s in self._sent])
        )
        at = np.searchsorted(self._kept, on)
        begun = np.concatenate([s.begun[at] for s in self._sent])
        when, tags, sealed = begun + np.tile(self._late, len(self._sent)), links.tags[on], links.sealed[on]
        hidden_by: list[bool] = sealed.tolist()
        ends = list(zip(_ints(senders), _ints(receivers), _ints(tags), hidden_by, strict=True))
        times, starts, count = when.tolist(), begun.tolist(), len(on)
        for row in _ints(order):
            number, k = divmod(row, count)
            sender, receiver, tag, hidden = ends[k]
            if hidden:
                yield starts[row], (times[row], sender, receiver, Ciphertext(self._sent[number].size + tag))
            else:
                message = self._message(number, sender)
                yield starts[row], (times[row], sender, receiver, Tagged(message, number) if tag else message)

    def at_doors(self) -> list[Door]:
        """Messages at the doors, as they leave and as they are delivered."""
        if not len(self._doors) or not self._sent:
            return []
        links, moments, parts = self._links, self._moments, list[Rows]()
        into = links.into(self._doors)
        at = np.searchsorted(self._kept, into)
        rows: list[tuple[int, int, int | None]] = []
        for number, s in enumerate(self._sent):
            left = np.full(len(self._doors), s.done * self._width)
            parts.append(moments.acted(s.step, self._doors, left))
            parts.append(moments.delivered(s.step, s.arrival[at], links.senders[into], links.places[into]))
            rows += [(number, i, None) for i in _ints(self._doors)]
            ends = zip(_ints(links.senders[into]), _ints(links.receivers[into]), strict=True)
            rows += [(number, i, j) for i, j in ends]
        together = Rows.joined(parts)
        times, doors = together.time.tolist(), list[Door]()
        for place in _ints(moments.order(together)):
            number, sender, receiver = rows[place]
            message = self._message(number, sender)
            if receiver is None:
                doors.append((times[place], "sent", EVERYBODY, message))
            else:
                doors.append((times[place], "received", receiver, message))
        return doors

    def _message(self, number: int, sender: int) -> Message:
        key = number, sender
        if key not in self._messages:
            sent = self._sent[number]
            values: Values = {name: value[self._place[sender]] for name, value in sent.values.items()}
            self._messages[key] = Message(sender, "exchange", number, values, sent.size)
        return self._messages[key]


def _ints(numbers: Whole) -> list[int]:
    return numbers.tolist()
